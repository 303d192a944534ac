"""LANL's failure data: every row's fate, the published figures, errors with file and line."""

from __future__ import annotations

import csv
import datetime
import gzip
import io
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from failgym.traces import Trace, TraceError
from failgym.traces.readers.lanl import read_lanl
from failgym.traces.readers.lanl.rows import COLUMNS
from tests.traces.readers.fuzz import complaint
from tests.traces.readers.mutations import mutated
from tests.traces.real_data import real

FIXTURES = Path(__file__).resolve().parents[2] / "data" / "lanl"
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
HEADER = ",".join(COLUMNS)


def outages(trace: Trace) -> list[tuple[str, int, int, str]]:
    """Node, down, up (-1: open) and cause ("": none) of every outage."""
    ids = trace.column("machines", "original_id")
    names = [str(ids[row]) for row in trace.column("outages", "machine")]
    times = (trace.column("outages", name).tolist() for name in ("down", "up", "cause"))
    return list(zip(names, *times, strict=True))


def ms(*when: int) -> int:
    return int(datetime.datetime(*when, tzinfo=datetime.UTC).timestamp() * 1000)  # type: ignore[misc]


def row(**fields: Any) -> str:
    """A row as released, with these fields."""
    given = {
        "System": 2,
        "nodes": 4,
        "procsinnode": 128,
        "nodenum": 1,
        "nodenumz": 1,
        "Prob Started": "1/2/2001 3:04",
        "Prob Fixed": "1/2/2001 4:04",
    }
    given |= {name.replace("_", " "): value for name, value in fields.items()}
    return ",".join(str(given.get(name, "")) for name in COLUMNS)


def write(folder: Path, *lines: str, name: str = "failures.csv") -> Path:
    file = folder / name
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


# --- The fixture ----------------------------------------------------------------------------------


def test_every_row_of_the_fixture() -> None:
    trace = read_lanl(FIXTURES / "failures.csv")
    origin = ms(1997, 1, 8)
    assert trace.meta.unix_origin == origin
    assert trace.meta.time_origin == "1997-01-08 00:00, local time"
    assert trace.meta.end == ms(2005, 9, 1, 7) - origin

    def at(*when: int) -> int:
        return ms(*when) - origin

    eighth = (2001, 1, 8)
    assert outages(trace) == [
        ("17", at(1997, 1, 8, 8, 40), at(1997, 1, 8, 8, 50), "hardware: Other"),
        ("17", at(1997, 1, 9, 8, 40), at(1997, 1, 9, 8, 50), "undetermined: Unresolvable"),
        ("2/0", at(2005, 6, 21, 10, 54), at(2005, 6, 21, 11), "hardware: Graphics Accel Hdwr"),
        ("2/1", at(*eighth, 9), at(*eighth, 9, 20), "hardware: CPU"),
        ("2/1", at(*eighth, 9, 20), at(*eighth, 10), "network"),
        ("2/1", at(*eighth, 10), at(*eighth, 10), "undetermined"),
        ("2/1", at(2004, 10, 31, 1, 40), at(2004, 10, 31, 2, 10), "facilities: Power Outage"),
        ("2/2", at(2001, 1, 9, 23, 50), at(2001, 1, 10, 0, 10), "human error"),
        ("2/2", at(2005, 9, 1, 7), -1, "software: Patch Install, other"),
        ("8/1", at(2002, 12, 31, 23), at(2003, 1, 1, 1), "hardware: Memory Dimm"),
        ("8/9", at(2003, 1, 2, 5), at(2003, 1, 2, 5, 30), ""),
        ("14/130", at(2004, 3, 3, 3, 3), at(2004, 3, 3, 4, 3), "software: OS"),
        ("14/132", at(2004, 3, 4, 3, 3), at(2004, 3, 4, 4, 3), "software: OS"),
    ]
    assert trace.meta.rows_read == {"failures": 15}
    assert trace.meta.dropped == {
        "row fixed before it started, without a down time": 1,
        "row without a start of the problem": 1,
    }
    assert trace.meta.noted == {
        "row fixed before it started: its down time taken": 1,
        "row whose down time is not that of its times: its times taken": 1,
        "row without an end of the problem: its down time taken, if it has one": 1,
        "row without a cause": 1,
        "row of a system that names no nodes: laid to it as one machine": 2,
        "outage that begins while its machine is down, and ends the one before": 1,
        "outage that begins when the one before ends": 1,
        "outage without length": 1,
    }


def test_nodes_that_never_failed_are_machines_too() -> None:
    trace = read_lanl(FIXTURES / "failures.csv")
    names = ("original_id", "slots", "memory", "cpu", "domain")
    columns = (trace.column("machines", name).tolist() for name in names)
    machines = {name: rest for name, *rest in zip(*columns, strict=True)}
    assert list(machines) == [
        *["17", "2/0", "2/1", "2/2", "2/3"],
        *["8/1", "8/2", "8/3", "8/9"],  # 9 is beyond the three nodes from 1
        *["14/129", "14/130", "14/131", "14/132"],  # the four that end with the highest
    ]
    assert machines["2/0"] == [8, 1.0, 8 / 128, "system 2"]
    assert machines["2/3"] == [128, 32 / 80, 1.0, "system 2"]
    assert machines["8/2"] == [2, 16 / 80, 2 / 128, "system 8"]
    assert machines["17"][0] == -1
    assert trace.meta.remarks["production of system 2"] == (
        "installed 5-Apr, from 5-Jun to current (node 0);"
        " installed Nov-96, from Jan-97 to 5-Nov (node 1, 2)"
    )


def test_columns_are_found_by_name_below_title_lines() -> None:
    trace = read_lanl(FIXTURES / "titled.csv")
    assert outages(trace) == [
        ("24/0", 5 * HOUR + 58 * MINUTE, 7 * HOUR + 27 * MINUTE, "hardware: CPU"),
        ("24/0", DAY + 5 * HOUR + 58 * MINUTE, DAY + 7 * HOUR + 27 * MINUTE, "hardware: CPU"),
    ]
    assert trace.column("machines", "slots").tolist() == [32]


def test_a_second_line_of_titles_is_no_failure(tmp_path: Path) -> None:
    form = ",".join("(mm/dd/yy hh:mm)" if name.startswith("Prob") else "" for name in COLUMNS)
    once = read_lanl(write(tmp_path, HEADER, row(), row(nodenum=1), name="once.csv"))
    more = read_lanl(write(tmp_path, HEADER, form, row(), HEADER, row(nodenum=1)))
    assert more.content_hash == once.content_hash
    with pytest.raises(TraceError, match="line 3: column 'system' is '', expected the number"):
        read_lanl(write(tmp_path, HEADER, row(), ",cluster,49" + "," * (len(COLUMNS) - 3)))


def test_a_file_without_column_names_has_those_of_the_release(tmp_path: Path) -> None:
    bare = write(tmp_path, row())
    named = write(tmp_path, HEADER, row(), name="named.csv")
    assert read_lanl(bare).content_hash == read_lanl(named).content_hash


def test_gzip_folder_and_several_files_are_alike(tmp_path: Path) -> None:
    whole = read_lanl(FIXTURES / "failures.csv")
    text = (FIXTURES / "failures.csv").read_bytes()
    (tmp_path / "failures.csv.gz").write_bytes(gzip.compress(text))
    assert read_lanl(tmp_path).content_hash == whole.content_hash
    head, *rows = text.splitlines(keepends=True)
    (tmp_path / "failures.csv.gz").unlink()
    (tmp_path / "a.csv").write_bytes(b"\xef\xbb\xbf" + head + b"".join(rows[:5]))
    (tmp_path / "b.csv").write_bytes((head + b"".join(rows[5:])).replace(b"\n", b"\r\n"))
    assert read_lanl([tmp_path / "a.csv", tmp_path / "b.csv"]).content_hash == whole.content_hash


# --- Systems, nodes and days ----------------------------------------------------------------------


def test_a_system_and_a_range_of_its_nodes() -> None:
    trace = read_lanl(FIXTURES / "failures.csv", system=2, nodes=(2, 7))
    assert trace.column("machines", "original_id").tolist() == ["2/2", "2/3"]
    assert trace.rows("outages") == 2
    assert trace.meta.dropped == {
        "row fixed before it started, without a down time": 1,
        "row without a start of the problem": 1,
        "not of the system asked for": 6,
        "not of the nodes asked for": 5,
    }
    assert trace.meta.source == "lanl system 2"


def test_a_range_of_days_includes_both() -> None:
    day = datetime.date(2001, 1, 8)
    trace = read_lanl(FIXTURES / "failures.csv", system=2, since=day, until=day)
    assert [down for _, down, _, _ in outages(trace)] == [
        9 * HOUR,
        9 * HOUR + 20 * MINUTE,
        10 * HOUR,
    ]
    assert trace.meta.end == DAY
    assert trace.meta.unix_origin == ms(2001, 1, 8)
    assert trace.rows("machines") == 4


def test_a_node_that_is_down_at_the_ends_of_the_range() -> None:
    file = FIXTURES / "failures.csv"
    after = read_lanl(file, system=2, nodes=(2, 2), since=datetime.date(2001, 1, 10))
    assert outages(after)[0] == ("2/2", 0, 10 * MINUTE, "human error")
    assert after.meta.noted["outage under way at the beginning: it begins there"] == 1
    before = read_lanl(file, system=2, nodes=(2, 2), until=datetime.date(2001, 1, 9))
    assert [up for _, _, up, _ in outages(before)] == [-1]
    assert before.meta.noted["outage that goes on after the end"] == 1


def test_of_several_records_under_way_the_last_one_counts(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        HEADER,
        row(Prob_Fixed="1/4/2001 0:00", Hardware="CPU"),
        row(Prob_Started="1/2/2001 5:00", Prob_Fixed="1/3/2001 5:00", Network="Network"),
        row(Prob_Started="1/5/2001 5:00", Prob_Fixed="1/5/2001 6:00"),
    )
    trace = read_lanl(file, since=datetime.date(2001, 1, 3))
    assert outages(trace)[0] == ("2/1", 0, DAY, "network")
    assert trace.rows("outages") == 2
    assert trace.meta.dropped == {"not of the days asked for": 1}


def test_a_failure_at_midnight_belongs_to_the_new_day(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        HEADER,
        row(),
        row(Prob_Started="1/3/2001 0:00", Prob_Fixed="1/3/2001 0:00"),
    )
    assert read_lanl(file, until=datetime.date(2001, 1, 2)).rows("outages") == 1
    assert read_lanl(file, until=datetime.date(2001, 1, 3)).rows("outages") == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"system": 3}, "no system 3: there are 2, 8, 14, 17"),
        ({"system": 2, "nodes": (4, 9)}, "no node from 4 to 9: system 2 has 0 to 3"),
        ({"system": 17, "nodes": (0, 9)}, "system 17 names no nodes"),
        ({"since": datetime.date(2006, 1, 1)}, "expected days within 1997-01-08 to 2005-09-01"),
        ({"until": datetime.date(1997, 1, 7)}, "expected days within 1997-01-08 to 2005-09-01"),
        (
            {"since": datetime.date(2003, 1, 2), "until": datetime.date(2003, 1, 1)},
            "no day from 2003-01-02 to 2003-01-01",
        ),
    ],
)
def test_what_the_file_does_not_have_is_said(options: dict[str, Any], message: str) -> None:
    with pytest.raises(TraceError, match=message):
        read_lanl(FIXTURES / "failures.csv", **options)


# --- Errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (row(System=""), "column 'system' is '', expected the number of a system"),
        (row(System="x"), "column 'system' is 'x', expected an integer"),
        (row(nodenum="1" * 30), "column 'nodenum' is '1{30}', expected an integer"),
        (row(nodenum="-1"), "column 'nodenum' is '-1'"),
        (row(nodes=2**31), "column 'nodes' is '2147483648'"),
        (row(nodes=10_001), "column 'nodes' is '10001', expected at most 10000 nodes"),
        (row(Prob_Started="13/1/2001 1:00"), "column 'prob started' is '13/1/2001 1:00'"),
        (row(Prob_Started="1/1/9999 1:00"), "expected a year from 1970 to 2149"),
        (row(Prob_Fixed="2001-01-01"), "expected a time month/day/year hour:minute"),
        (row(Prob_Fixed="1/2/2001 25:00"), "expected a time month/day/year hour:minute"),
        (row(Down_Time="nan"), "column 'down time' is 'nan'"),
        (row() + ",1", "too many columns: 27, expected 26"),
        ("2,cluster", "too few columns: 2, expected 26"),
        ('2,"open', "not a row of a CSV file"),
    ],
)
def test_a_malformed_row_is_named(tmp_path: Path, line: str, message: str) -> None:
    file = write(tmp_path, HEADER, row(), line)
    with pytest.raises(TraceError, match=rf"failures\.csv, line 3: .*{message}"):
        read_lanl(file)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no line with the columns"),
        ("a,b\n" * 50, "no line with the columns"),
        ("\n" * 50 + HEADER + "\n" + row(), "no line with the columns"),
        (HEADER, "no row below the column names"),
        (HEADER + "\n" + row(Prob_Started=""), "no row that can be used: 1 row without a start"),
    ],
)
def test_a_file_of_no_use_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(TraceError, match=message):
        read_lanl(write(tmp_path, text))


# --- The published figures ------------------------------------------------------------------------


def weibull(gaps: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Maximum likelihood of shape and scale."""
    logs, low, high, shape = np.log(gaps), 0.01, 50.0, 1.0
    for _ in range(100):
        shape = (low + high) / 2
        weights = (gaps / gaps.max()) ** shape
        score = (weights * logs).sum() / weights.sum() - 1 / shape - logs.mean()
        low, high = (shape, high) if score < 0 else (low, shape)
    return shape, float((gaps**shape).mean() ** (1 / shape))


def gaps_of_nodes(trace: Trace) -> npt.NDArray[np.float64]:
    """Between the failures of a node that do not coincide [h]; outages are by machine and time."""
    machine, down = trace.column("outages", "machine"), trace.column("outages", "down")
    gaps = np.diff(down)[np.diff(machine) == 0] / HOUR
    return gaps[gaps > 0]


def minutes_down(trace: Trace) -> npt.NDArray[np.float64]:
    return (trace.column("outages", "up") - trace.column("outages", "down")) / MINUTE


def test_system_2_in_2001_and_2002() -> None:
    first, last = datetime.date(2001, 1, 1), datetime.date(2002, 12, 31)
    trace = read_lanl(real("lanl"), system=2, since=first, until=last)
    assert (trace.rows("machines"), trace.rows("outages")) == (49, 1332)
    machine, down = trace.column("outages", "machine"), trace.column("outages", "down")
    failing = len(np.unique(machine))
    assert failing == 48  # node 0 was installed in 2005
    mtbf = failing * (down.max() - down.min()) / DAY / len(down)
    assert mtbf == pytest.approx(26.2, abs=0.05)
    shape, scale = weibull(gaps_of_nodes(trace))
    assert shape == pytest.approx(0.741, abs=0.01)
    assert scale == pytest.approx(493, rel=0.01)
    between = np.diff(np.sort(down)) / HOUR
    assert weibull(between[between > 0])[0] == pytest.approx(0.883, abs=0.005)
    assert np.median(minutes_down(trace)) == 46
    causes = [cause.split(":")[0] for *_, cause in outages(trace)]
    assert causes.count("hardware") / 1332 == pytest.approx(0.72, abs=0.005)
    assert causes.count("software") / 1332 == pytest.approx(0.15, abs=0.005)


def test_system_20_since_november_2002() -> None:
    trace = read_lanl(real("lanl"), system=20, nodes=(0, 255), since=datetime.date(2002, 11, 21))
    assert (trace.rows("machines"), trace.rows("outages")) == (256, 1212)
    machine, down = trace.column("outages", "machine"), trace.column("outages", "down")
    assert len(np.unique(machine)) == 242
    between = np.diff(np.sort(down)) / HOUR
    assert between.mean() == pytest.approx(20.3, abs=0.05)
    assert weibull(between[between > 0])[0] == pytest.approx(0.765, abs=0.005)
    assert weibull(gaps_of_nodes(trace))[0] == pytest.approx(0.618, abs=0.005)
    assert np.median(minutes_down(trace)) == 62


def test_every_failure_of_all_23_systems() -> None:
    folder = real("lanl")
    trace = read_lanl(folder)
    assert trace.meta.rows_read == {"failures": 23_739}
    assert trace.rows("outages") == 23_739
    assert trace.rows("machines") == 5008
    machine, down = trace.column("outages", "machine"), trace.column("outages", "down")
    up = trace.column("outages", "up")
    same = np.diff(machine) == 0
    assert (up[:-1][same] <= down[1:][same]).all()
    assert set(trace.column("machines", "domain")) == {f"system {n}" for n in range(2, 25)}
    assert recount(next(folder.iterdir())) == {
        domain: int(n)
        for domain, n in zip(
            *np.unique(trace.column("machines", "domain")[machine].astype(str), return_counts=True),
            strict=True,
        )
    }


def recount(file: Path) -> dict[str, int]:
    """Failures by system, straight from the file."""
    counts: dict[str, int] = {}
    with gzip.open(file, "rt", newline="") as text:
        for fields in list(csv.reader(text))[1:]:
            domain = f"system {fields[0]}"
            counts[domain] = counts.get(domain, 0) + 1
    return counts


# --- Random files and damaged ones ----------------------------------------------------------------

FAILURES = st.lists(
    st.tuples(
        st.sampled_from([2, 19]),
        st.integers(0, 5),
        st.integers(0, 400_000),  # minutes after the year 2000 begins
        st.integers(0, 3000),
        st.sampled_from(["", "CPU", "Disk, other", 'a "quoted" one']),
    ),
    min_size=1,
    max_size=20,
)


@settings(max_examples=60, deadline=None)
@given(FAILURES)
def test_what_is_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, failures: list[tuple[int, int, int, int, str]]
) -> None:
    start = datetime.datetime(2000, 1, 1)
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    for system, node, begun, lasted, what in failures:
        down = start + datetime.timedelta(minutes=begun)
        up = down + datetime.timedelta(minutes=lasted)
        fields = dict.fromkeys(COLUMNS, "") | {
            "System": str(system),
            "nodes": "6",
            "nodenum": str(node + 10),
            "nodenumz": str(node),
            "Prob Started": f"{down.month}/{down.day}/{down.year} {down.hour}:{down.minute:02}",
            "Prob Fixed": f"{up:%m/%d/%Y %H:%M}",
            "Hardware": what,
        }
        writer.writerow(fields.values())
    file = tmp_path_factory.mktemp("lanl") / "f.csv"
    file.write_text(text.getvalue(), encoding="utf-8", newline="")
    trace = read_lanl(file)
    base = ms(2000, 1, 1) // MINUTE - (trace.meta.unix_origin or 0) // MINUTE
    assert trace.rows("machines") == 6 * len({system for system, *_ in failures})
    made = sorted((name, down // MINUTE - base) for name, down, *_ in outages(trace))
    assert made == sorted((f"{s}/{n + 10}", begun) for s, n, begun, *_ in failures)
    last = max(begun + lasted for _, _, begun, lasted, _ in failures)
    assert trace.meta.end == (last + base) * MINUTE


@pytest.mark.parametrize("fixture", ["failures.csv", "titled.csv"])
def test_damaged_files_are_read_or_refused(tmp_path: Path, fixture: str) -> None:
    text, file = (FIXTURES / fixture).read_bytes(), tmp_path / "damaged.csv"
    for seed in range(200):
        file.write_bytes(mutated(text, np.random.default_rng(seed)))
        assert complaint("lanl", file, {}) == "", seed
