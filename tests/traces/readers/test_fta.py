"""The Failure Trace Archive's tab files: every event's fate, archives, errors, the real trace."""

from __future__ import annotations

import datetime
import gzip
import io
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from failgym.traces import Trace, TraceError
from failgym.traces.readers.fta import read_fta
from tests.traces.readers.fuzz import complaint
from tests.traces.readers.mutations import mutated
from tests.traces.real_data import real

FIXTURES = Path(__file__).resolve().parents[2] / "data" / "fta"
HEADER = "node_id\tevent_type\tevent_start_time\tevent_stop_time\tevent_end_reason"
DAY = 86_400_000


def outages(trace: Trace) -> list[tuple[str, int, int, str]]:
    """Node, down, up (-1: open) and cause ("": none) of every outage."""
    ids = trace.column("machines", "original_id")
    names = [str(ids[row]) for row in trace.column("outages", "machine")]
    times = (trace.column("outages", name).tolist() for name in ("down", "up", "cause"))
    return list(zip(names, *times, strict=True))


def write(folder: Path, *lines: str) -> Path:
    file = folder / "event_trace.tab"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


# --- The fixtures ---------------------------------------------------------------------------------


def test_events_alone_as_the_archive_aligns_them() -> None:
    trace = read_fta(FIXTURES / "events.tab")
    origin = 1099755300 // 86400 * 86400

    def at(time: int) -> int:
        return (time - origin) * 1000

    assert trace.meta.unix_origin == origin * 1000
    assert trace.meta.end == at(1124714220)
    assert outages(trace) == [
        ("655", at(1099755300), at(1099906200), ""),
        ("655", at(1112096400), at(1112096580), "software (4022)"),
        ("656", at(1124537280), at(1124714220), "undetermined"),
    ]
    assert trace.meta.rows_read == {"events": 5}


def test_every_event_of_a_whole_trace() -> None:
    trace = read_fta(FIXTURES / "whole")
    assert trace.meta.unix_origin == DAY
    assert trace.meta.end == 200_000_000 - DAY  # trace_end of a component
    assert outages(trace) == [
        ("11", 3_600_000, 7_200_000, "hardware (1005)"),
        ("11", 13_600_500, -1, ""),
        ("12", 3_600_000, 3_600_000, "undetermined"),
        ("12", 9_600_000, 10_600_000, "human error (5003)"),
        ("12", 10_600_000, 13_200_000, ""),
        ("14", 10_600_000, 10_601_000, ""),
    ]
    assert trace.meta.rows_read == {"events": 13, "nodes": 3, "components": 2}
    assert trace.meta.dropped == {
        "event of type 2: the node is up": 1,
        "event without a start": 1,
        "event that ends before it begins": 1,
    }
    assert trace.meta.noted == {
        "outage that begins while its machine is down, and ends the one before": 1,
        "outage without length": 1,
    }
    assert trace.meta.source == "fta Test cluster"
    names = ("original_id", "slots", "memory", "domain")
    columns = (trace.column("machines", name, missing=None).tolist() for name in names)
    rows = [[name, *rest] for name, *rest in zip(*columns, strict=True)]
    assert [row[:2] for row in rows] == [["11", 8], ["12", 1], ["13", -1], ["14", -1], ["15", -1]]
    assert [row[2] for row in rows[:2]] == [1.0, 0.25]
    assert [row[3] for row in rows] == [f"platform {n}" for n in (3, 3, 3, 4, 3)]


def test_where_only_availability_is_listed_the_node_is_down_between() -> None:
    trace = read_fta(FIXTURES / "available.tab")
    assert outages(trace) == [("7", 100_000, 160_000, "hardware (1000)")]
    assert trace.column("machines", "original_id").tolist() == ["7", "8"]
    assert trace.meta.noted == {"outage between two times of availability": 1}


def test_odd_events_among_regular_ones_change_nothing(tmp_path: Path) -> None:
    header = "node_id event_type event_start_time event_stop_time event_end_reason platform_id"
    regular = ["1 1 100 200 1005 3", "1 0 200 260 8000 3", "2 0 90 95 8000 4"]
    expected = [("1", 200_000, 260_000, "hardware (1005)"), ("2", 90_000, 95_000, "")]
    assert outages(read_fta(write(tmp_path, header, *regular))) == expected
    odd = ["#3 0 1 2 8000 3", "3 2 1 2 0 3", "3 0 9 8 0 3", "", "3 1 5.5 7 0 3"]
    for line in odd:
        assert outages(read_fta(write(tmp_path, header, line, *regular))) == expected, line
    with pytest.raises(TraceError, match="line 3: 7 fields, expected 6"):
        read_fta(write(tmp_path, header, regular[0], regular[1] + " 7", "2 0 90 95 8000"))


@pytest.mark.parametrize(
    "before",
    [
        ["# failures of a cluster", "#", "", "# " + HEADER, "  # by node"],
        ["# failures of a cluster", HEADER.upper(), "# by node"],
        [],  # the columns as published, which no line names
    ],
)
def test_comments_may_stand_before_the_names_of_the_columns(
    tmp_path: Path, before: list[str]
) -> None:
    rows = ["1\t1\t100\t200\t1005", "1\t0\t200\t260\t8000"]
    if not before:
        rows = [
            "0\t0\t1\t9\ta host\t1\t100\t200\t1005",
            "# one more",
            "1\t0\t1\t9\ta host\t0\t200\t260\t8000",
        ]
    trace = read_fta(write(tmp_path, *before, *rows))
    assert outages(trace) == [("1", 200_000, 260_000, "hardware (1005)")]
    with pytest.raises(TraceError, match=r"event_trace\.tab: no column node_id, event_type"):
        read_fta(write(tmp_path, "# failures of a cluster", "", "#"))


def test_a_node_is_up_as_long_as_any_record_says_so(tmp_path: Path) -> None:
    rows = ["1 1 0 100 1005", "1 1 10 20 3001", "1 1 150 200 8000", "1 1 200 300 0"]
    trace = read_fta(write(tmp_path, HEADER, *rows))
    assert outages(trace) == [("1", 100_000, 150_000, "hardware (1005)")]
    still = read_fta(write(tmp_path, HEADER, "1 1 50 NULL 8000", "1 1 60 70 0", "1 1 90 95 0"))
    assert outages(still) == []


def test_several_tables_of_events_are_noted(tmp_path: Path) -> None:
    file = write(tmp_path, HEADER, "1 0 100 110 0")
    (tmp_path / "trace.tgz").write_bytes(tar({"event_trace.tab": file.read_bytes()}))
    trace = read_fta(tmp_path)
    assert trace.meta.noted["table of events besides another: nodes of one id are the same"] == 1
    assert trace.meta.noted["outage with the times of the one before"] == 1


@pytest.mark.parametrize("third", ["3", "# as odd as any\n3"])
def test_nodes_of_two_platforms_are_noted(tmp_path: Path, third: str) -> None:
    header = "node_id event_type event_start_time event_stop_time event_end_reason platform_id"
    rows = ["1 0 100 110 0 1", "1 0 200 210 0 2", "2 0 100 110 0 2", f"{third} 0 5 6 0 1"]
    trace = read_fta(write(tmp_path, header, *rows, rows[1]))
    noted = "row that lays its node to another platform than one before: the same node"
    assert trace.meta.noted[noted] == 2
    assert trace.column("machines", "domain").tolist() == [f"platform {n}" for n in (1, 2, 1)]


def test_tables_of_a_folder_are_known_by_how_their_names_end(tmp_path: Path) -> None:
    for file in (FIXTURES / "whole").iterdir():
        (tmp_path / f"g5k_{file.name}").write_bytes(file.read_bytes())
    assert read_fta(tmp_path).content_hash == read_fta(FIXTURES / "whole").content_hash


def test_a_range_of_nodes_and_days() -> None:
    day = datetime.date(1970, 1, 2)
    trace = read_fta(FIXTURES / "whole", nodes=(11, 12), since=day, until=day)
    assert trace.column("machines", "original_id").tolist() == ["11", "12"]
    assert trace.meta.end == DAY
    assert trace.meta.dropped["not of the nodes asked for"] == 1
    with pytest.raises(TraceError, match="no node from 20 to 30: there are 11 to 15"):
        read_fta(FIXTURES / "whole", nodes=(20, 30))
    with pytest.raises(TraceError, match="expected days within 1970-01-02 to 1970-01-03"):
        read_fta(FIXTURES / "whole", since=datetime.date(1980, 1, 1))


# --- Archives -------------------------------------------------------------------------------------


def tar(files: dict[str, bytes], mode: str = "w:gz") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:  # type: ignore[call-overload]
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text))
    return out.getvalue()


def whole() -> dict[str, bytes]:
    return {f"lanl/{file.name}": file.read_bytes() for file in (FIXTURES / "whole").iterdir()}


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_a_tar_archive_is_as_good_as_a_folder(tmp_path: Path, mode: str) -> None:
    file = tmp_path / "lanl.tar.x"
    file.write_bytes(tar(whole(), mode))
    assert read_fta(file).content_hash == read_fta(FIXTURES / "whole").content_hash


def test_a_zip_archive_is_as_good_as_a_folder(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "lanl.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in whole().items():
            archive.writestr(name, text)
    assert read_fta(tmp_path).content_hash == read_fta(FIXTURES / "whole").content_hash


def test_a_packed_file_is_as_good_as_a_plain_one(tmp_path: Path) -> None:
    text = (FIXTURES / "events.tab").read_bytes()
    (tmp_path / "event_trace.tab.gz").write_bytes(gzip.compress(text))
    assert read_fta(tmp_path).content_hash == read_fta(FIXTURES / "events.tab").content_hash


def test_an_archive_without_events_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.tar").write_bytes(tar({"creator.tab": b"creator_id\n1\n"}, "w"))
    with pytest.raises(TraceError, match="no event at all"):
        read_fta(tmp_path)


# --- Errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x\t0\t1\t2\t0", "column 'node_id' is 'x', expected an integer"),
        ("-1\t0\t1\t2\t0", "column 'node_id' is '-1', expected an integer of at least 0"),
        ("\t0\t1\t2\t0", "column 'node_id' is '', expected an integer of at least 0"),
        ("1\t\t1\t2\t0", "column 'event_type' is ''"),
        ("1\t0\tnan\t2\t0", "column 'event_start_time' is 'nan', expected a time in seconds"),
        ("1\t0\t1_0\t2\t0", "column 'event_start_time' is '1_0', expected a time in seconds"),
        ("1\t0\t1\t1e400\t0", "column 'event_stop_time' is '1e400', expected a time in seconds"),
        ("1\t0\t1\t999999999999\t0", "expected a time of at most"),
        ("1\t0\t1\t2\tx", "column 'event_end_reason' is 'x', expected an integer"),
        ("1" * 200 + "\t0\t1\t2\t0", "column 'node_id'"),
        ("1\t0\t1", "3 fields, expected 5"),
        ("1\t0\t1\t2\t0\t7", "6 fields, expected 5"),
    ],
)
def test_a_malformed_event_is_named(tmp_path: Path, line: str, message: str) -> None:
    file = write(tmp_path, "# " + HEADER, "1\t0\t1\t2\t0", line)
    with pytest.raises(TraceError, match=rf"event_trace\.tab, line 3: .*{message}"):
        read_fta(file)


@pytest.mark.parametrize("text", ["", "a\tb\n1\t2", "1\t0\t1\t2\t0"])
def test_a_file_without_the_columns_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(TraceError, match="no column node_id"):
        read_fta(write(tmp_path, text))


# --- The real trace -------------------------------------------------------------------------------


def test_the_failures_of_lanl() -> None:
    trace = read_fta(real("fta-lanl"))
    assert trace.meta.rows_read == {"events": 43_325}
    assert (trace.rows("machines"), trace.rows("outages")) == (3577, 23_451)
    text = gzip.decompress((real("fta-lanl") / "event_trace.tab.gz").read_bytes()).decode()
    rows = [line.split() for line in text.splitlines()[1:]]
    origin = (trace.meta.unix_origin or 0) // 1000
    expected = [(f[2], int(f[6]) - origin, int(f[7]) - origin) for f in rows if f[5] == "0"]
    assert sorted((n, d // 1000, u // 1000) for n, d, u, _ in outages(trace)) == sorted(expected)
    causes = [cause for *_, cause in outages(trace)]
    assert causes.count("hardware (1005)") == sum(f[8] == "1005" for f in rows)


# --- Random files and damaged ones ----------------------------------------------------------------

EVENTS = st.dictionaries(
    st.tuples(st.integers(0, 10**12), st.integers(0, 10**6)),
    st.tuples(st.integers(0, 10**6), st.sampled_from([-1, 0, 2, 1005, 4000, 8000])),
    min_size=1,
    max_size=20,
)


@settings(max_examples=60, deadline=None)
@given(EVENTS)
def test_what_is_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, events: dict[tuple[int, int], tuple[int, int]]
) -> None:
    """An outage at (node, time), with the reason that ended the availability before it."""
    folder, lines = tmp_path_factory.mktemp("fta"), ["# " + HEADER]
    for (node, down), (lasts, reason) in events.items():
        if reason >= 0:
            lines.append(f"{node}\t1\t{max(down - 5, 0)}\t{down}\t{reason}")
        lines.append(f"{node}\t0\t{down}\t{down + lasts}\t8000")
    trace = read_fta(write(folder, *lines))
    blocks = [f"{line}\t{'platform_id' if line[0] == '#' else 3}" for line in lines]
    assert outages(read_fta(write(folder, *blocks))) == outages(trace)  # the fast way
    made = {(int(node), down): cause for node, down, _, cause in outages(trace)}
    origin = trace.meta.unix_origin or 0
    assert made == {
        (node, down * 1000 - origin): said(reason) for (node, down), (_, reason) in events.items()
    }


def said(reason: int) -> str:
    named = {0: "undetermined", 2: "infrastructure (2)", 1005: "hardware (1005)"}
    return (named | {4000: "software (4000)"}).get(reason, "")


@pytest.mark.parametrize("name", ["events.tab", "available.tab", "whole.tar", "whole.zip"])
def test_damaged_files_are_read_or_refused(tmp_path: Path, name: str) -> None:
    content: Any = io.BytesIO()
    if name == "whole.tar":
        text = tar(whole(), "w")
    elif name == "whole.zip":
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
            for member, inside in whole().items():
                archive.writestr(zipfile.ZipInfo(member), inside, zipfile.ZIP_DEFLATED)
        text = content.getvalue()
    else:
        text = (FIXTURES / name).read_bytes()
    file = tmp_path / name
    for seed in range(150):
        file.write_bytes(mutated(text, np.random.default_rng(seed)))
        assert complaint("fta", file, {}) == "", seed
