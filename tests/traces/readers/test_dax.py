"""Pegasus' DAX: workflows made by hand, real ones recounted, hostile XML."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from failgym.traces import Outcome, Trace, TraceError
from failgym.traces.readers.dax import read_dax
from tests.traces.readers.replaying import replayed
from tests.traces.real_data import REPOSITORY, real

FIXTURES = REPOSITORY / "tests" / "data" / "dax"


def edges(trace: Trace, job: int) -> list[tuple[int, int, int]]:
    """(parent, child, bytes) of a job, its stages numbered from 0."""
    first = int(np.flatnonzero(trace.column("stages", "job") == job)[0])
    stages = (trace.column("stages", "job") == job).sum()
    rows = [
        (row["parent"] - first, row["child"] - first, row["bytes"])
        for row in trace.table("stage_edges").to_pylist()
    ]
    return sorted(row for row in rows if 0 <= row[0] < stages)


def test_a_workflow_of_version_2() -> None:
    trace = read_dax(FIXTURES / "diamond.xml")
    (job,) = trace.table("jobs").to_pylist()
    assert (job["original_id"], job["name"], job["width"]) == ("diamond", "diamond", 4)
    assert (job["submit"], job["outcome"]) == (0, Outcome.CENSORED)
    names = trace.column("stages", "name").tolist()
    assert names == ["preprocess", "find", "find", "analyze"]
    assert edges(trace, 0) == [(0, 1, 2000), (0, 2, 5000), (1, 3, 40), (2, 3, 7)]
    assert trace.column("tasks", "output_bytes").tolist() == [5000, 40, 7, 5]
    attempts = trace.table("attempts").to_pylist()
    assert [row["length"] for row in attempts] == [4200, 15_000, 10_000, None]
    assert {(row["queued"], row["start"], row["outcome"]) for row in attempts} == {
        (0, None, Outcome.CENSORED)
    }
    assert trace.meta.rows_read == {"workflows": 1, "tasks": 4, "dependencies": 4}
    assert trace.meta.noted == {"task without a run time": 1}


def test_a_workflow_of_version_3_in_another_encoding() -> None:
    trace = read_dax(FIXTURES / "newer.dax")
    assert trace.column("jobs", "name").tolist() == ["zwölf"]
    assert trace.column("stages", "name").tolist() == ["inner.dax", "keg"]
    assert edges(trace, 0) == [(0, 1, 0)]
    assert trace.column("attempts", "length").tolist() == [-1, 2500]
    assert trace.meta.noted == {
        "file that a task writes, without a size: taken as 0 bytes": 1,
        "task without a run time": 1,
    }
    assert trace.meta.remarks["version"] == "3.6"


def test_a_folder_is_several_jobs(tmp_path: Path) -> None:
    for name in ("a.xml", "b.dax.gz"):
        content = (FIXTURES / "diamond.xml").read_bytes()
        (tmp_path / name).write_bytes(gzip.compress(content) if "gz" in name else content)
    trace = read_dax(tmp_path)
    assert trace.column("jobs", "original_id").tolist() == ["a", "b"]
    assert edges(trace, 0) == edges(trace, 1)


JOB = '<job id="a" name="x" runtime="1"/>'


def adag(inside: str) -> str:
    return f'<?xml version="1.0"?>\n<adag name="w">\n{inside}\n</adag>\n'


BOMB = "<!DOCTYPE adag [" + "".join(
    f'<!ENTITY e{n + 1} "{f"&e{n};" * 10}">' for n in range(1, 10)
) + "]>"  # fmt: skip


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1: not XML: no element found"),
        ("{}", "line 1: not XML: not well-formed"),
        ("<a><b>", "line 1: field 'a.' is 'a', expected the element adag"),
        (adag(JOB)[:-9], "not XML: no element found"),
        (adag(""), "no job, expected a workflow"),
        (adag('<job name="x"/>'), "line 3: field 'job.id' is missing"),
        (adag(JOB + "\n" + JOB), "line 4: field 'job.id' is 'a', expected an id that no other"),
        (adag('<job id="a" runtime="soon"/>'), "field 'job.runtime' is 'soon', expected a number"),
        (adag('<job id="a" runtime="-1"/>'), "field 'job.runtime' is '-1'"),
        (adag('<job id="a" runtime="1e300"/>'), "field 'job.runtime' is '1e300'"),
        (adag('<job id="a" runtime="1_0"/>'), "field 'job.runtime' is '1_0'"),
        (adag('<job id="a"><uses link="input"/></job>'), "field 'uses.file' is missing"),
        (adag('<job id="a"><uses file="f" link="both"/></job>'), "'uses.link' is 'both'"),
        (adag('<job id="a"><uses file="f" link="input" size="x"/></job>'), "'uses.size' is 'x'"),
        (adag(JOB + '\n<child ref="b"/><child ref="a"><parent ref="b"/></child>'), "line 4: field"),
        (adag(JOB + '<child ref="a"><parent ref="a"/></child>'), "wait for each other"),
        (adag("<x>" * 70 + "</x>" * 70), "more than 64 elements in each other"),
        (f'<job id="{"a" * 100_000}"/>', "expected the element adag"),
        (adag(f'<job id="{"a" * 100_000}"/>'), "expected at most 16384 characters"),
        (adag(f'<job id="{"a" * 3_000_000}"/>'), "a tag or comment longer than 1048576 bytes"),
        (BOMB + "<adag>&e10;</adag>", "line 1: a document type, expected a workflow without one"),
        ('<!DOCTYPE a SYSTEM "file:///etc/passwd"><adag/>', "a document type"),
        ('<?xml version="1.0" encoding="rot13"?><adag/>', "line 1: not XML"),
        (adag('<job id="a" runtime="&e;"/>'), "not XML: undefined entity"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "x.xml"
    file.write_text(text)
    with pytest.raises(TraceError) as raised:
        read_dax(file)
    shown = str(raised.value)
    assert shown.startswith(str(file))
    assert said in shown
    assert "\n" not in shown
    assert len(shown) < len(str(file)) + 300


def test_the_workflows_of_pegasus() -> None:
    folder = real("dax")
    trace = read_dax(folder)
    assert trace.rows("jobs") == 3
    row = {name: at for at, name in enumerate(trace.column("jobs", "original_id").tolist())}
    for file in folder.glob("*.xml"):
        job = row[file.stem]
        mine = trace.column("tasks", "job") == job
        expected = recounted(file)
        assert edges(trace, job) == expected["edges"]
        assert trace.column("attempts", "length")[mine].tolist() == expected["runtimes"]
        assert trace.column("tasks", "output_bytes")[mine].tolist() == expected["written"]


def recounted(file: Path) -> dict[str, Any]:
    """Run times, bytes written and edges, by another parser."""
    root = ElementTree.parse(file).getroot()
    space = root.tag.removesuffix("adag")
    jobs = root.findall(f"{space}job")
    place = {job.get("id"): at for at, job in enumerate(jobs)}

    def files(at: int, link: str) -> dict[str | None, int]:
        used = jobs[at].findall(f"{space}uses")
        return {u.get("file"): int(u.get("size", 0)) for u in used if u.get("link") == link}

    found: list[tuple[int, int, int]] = []
    for child in root.findall(f"{space}child"):
        for parent in child.findall(f"{space}parent"):
            one, other = place[parent.get("ref")], place[child.get("ref")]
            written, read = files(one, "output"), files(other, "input")
            found.append((one, other, sum(written[name] for name in written.keys() & read.keys())))
    return {
        "edges": sorted(found),
        "runtimes": [round(float(job.get("runtime", "nan")) * 1000) for job in jobs],
        "written": [sum(files(at, "output").values()) for at in range(len(jobs))],
    }


def test_the_replay_is_the_record() -> None:
    found = replayed(read_dax(FIXTURES / "diamond.xml"))
    assert found == {("diamond", index): [(0, "CENSORED", 0)] for index in range(4)}
