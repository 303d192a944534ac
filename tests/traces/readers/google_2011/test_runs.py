"""Sorted runs of records, sets of task indices, and looking up rows: against plain Python."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from failgym.traces import TraceError
from failgym.traces.readers.google_2011 import runs
from failgym.traces.readers.google_2011.indices import Indices
from failgym.traces.readers.google_2011.lookup import at_or_before
from failgym.traces.readers.google_2011.runs import Run, Spill, gather, ranges

RECORD = np.dtype([("key", np.int64), ("flag", np.bool_), ("in", [("x", np.float32)])])


def spilled(spill: Spill, rng: np.random.Generator, n: int) -> list[Run]:
    written: list[Run] = []
    for number in range(n):
        records = np.zeros(int(rng.integers(0, 60)), dtype=RECORD)
        records["key"] = np.sort(rng.integers(-5, 40, size=len(records)))
        records["flag"], records["in"]["x"] = rng.random(len(records)) < 0.5, rng.random()
        written.append(spill.write(f"r{number}", records, records["key"], {"number": number}))
    return written


@pytest.mark.parametrize("in_memory", [True, False])
def test_ranges_part_all_records_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_memory: bool
) -> None:
    monkeypatch.setattr(runs, "BATCH_ROWS", 4)
    monkeypatch.setattr(runs, "RANGE_ROWS", 16)
    rng, spill = np.random.default_rng(1), Spill(None if in_memory else tmp_path)
    written = spilled(spill, rng, 6)
    pieces = [gather(written, RECORD, "key", *bounds) for bounds in ranges(written)]
    assert max(map(len, pieces)) < 60
    found = np.concatenate([piece[np.argsort(piece["key"], kind="stable")] for piece in pieces])
    whole = np.concatenate([run.records() for run in written])
    assert np.array_equal(found, whole[np.argsort(whole["key"], kind="stable")])
    assert [gather([], RECORD, "key", *bounds).tolist() for bounds in ranges([])] == [[]]


def test_a_run_is_found_again_only_if_it_is_whole(tmp_path: Path) -> None:
    spill = Spill(tmp_path)
    (run,) = spilled(spill, np.random.default_rng(2), 1)
    found = spill.find("r0", RECORD)
    assert found is not None
    assert (found.rows, found.last, found.notes) == (run.rows, run.last, {"number": 0})
    assert np.array_equal(found.records(), run.records())
    assert spill.find("r1", RECORD) is None
    assert spill.find("r0", np.dtype([("other", np.int64)])) is None
    assert Spill().find("r0", RECORD) is None
    file = tmp_path / "r0.arrow"
    file.write_bytes(file.read_bytes()[:-9])
    assert spill.find("r0", RECORD) is None
    with pytest.raises(TraceError, match=r"r0\.arrow: cannot be read back"):
        found.records()


def test_a_run_is_found_again_only_as_it_was_written(tmp_path: Path) -> None:
    spill = Spill(tmp_path)
    (run,) = spilled(spill, np.random.default_rng(2), 1)
    file, records = tmp_path / "r0.arrow", run.records()
    content = file.read_bytes()
    for position in range(0, len(content), 3):
        changed = bytearray(content)
        changed[position] ^= 1 << position % 8
        file.write_bytes(changed)
        found = spill.find("r0", RECORD)
        if found is not None:  # a byte that stands for nothing
            assert (found.rows, found.last, found.notes) == (run.rows, run.last, run.notes)
            assert np.array_equal(found.starts, run.starts)
            assert np.array_equal(found.records(), records)
    (tmp_path / "r1.arrow").write_bytes(content)
    assert spill.find("r1", RECORD) is None


def test_a_run_of_other_types_is_another_run(tmp_path: Path) -> None:
    spill = Spill(tmp_path)
    spilled(spill, np.random.default_rng(2), 1)
    wider = np.dtype([("key", np.int64), ("flag", np.bool_), ("in", [("x", np.float64)])])
    assert spill.find("r0", wider) is None
    run = spill.find("r0", RECORD)
    assert run is not None
    with pytest.raises(TraceError, match=r"r0\.arrow: cannot be read back: its columns are others"):
        replace(run, dtype=wider).records()


def test_indices_are_a_set_of_tasks() -> None:
    rng = np.random.default_rng(3)
    for _ in range(40):
        indices, known = Indices.none(), set[tuple[int, int]]()
        assert not indices.holds(np.array([1]), np.array([0])).any()
        for _ in range(int(rng.integers(1, 6))):
            jobs, tasks = rng.integers(0, 4, size=(2, int(rng.integers(0, 9))))
            indices.add(jobs, tasks)
            known.update(zip(jobs.tolist(), tasks.tolist(), strict=True))
        asked = [(job, task) for job in range(5) for task in range(6)]
        held = indices.holds(*np.array(asked).T.copy())
        assert held.tolist() == [pair in known for pair in asked]
        assert len(indices) == len(known)
        jobs, widths = indices.widths()
        assert dict(zip(jobs.tolist(), widths.tolist(), strict=True)) == {
            job: sum(held == job for held, _ in known) for job in {job for job, _ in known}
        }
        first, last = indices.ranges["first"], indices.ranges["last"]
        same_job = indices.ranges["job"][1:] == indices.ranges["job"][:-1]
        assert not (same_job & (first[1:] <= last[:-1] + 1)).any()


def test_the_largest_index_does_not_overflow() -> None:
    indices = Indices.none()
    indices.add(np.array([7, 7, 7]), np.array([2**63 - 1, 0, 2**63 - 2]))
    assert indices.ranges.tolist() == [(7, 0, 0), (7, 2**63 - 2, 2**63 - 1)]


def test_the_last_row_at_or_before_is_found() -> None:
    rng = np.random.default_rng(4)
    rows = sorted(map(tuple, rng.integers(0, 4, size=(40, 3)).tolist()))
    asked = rng.integers(-1, 5, size=(200, 3))
    found = at_or_before(*np.array(rows).T.copy(), *asked.T.copy())
    expected = [sum(row <= tuple(question) for row in rows) - 1 for question in asked.tolist()]
    assert found.tolist() == expected
