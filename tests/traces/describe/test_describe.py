"""The tables that characterise a trace, worked by hand on a small one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from failgym.cli import run
from failgym.traces import Meta, Trace
from failgym.traces.describe import describe
from tests.traces.traces import make


def test_the_tables_of_a_small_trace() -> None:
    trace = make()
    before = trace.content_hash
    description = describe(trace)
    assert trace.content_hash == before == description.content_hash

    def cell(table: str, row: str, column: str) -> object:
        return description.table(table).cell(row, column)

    assert cell("rows", "attempts", "rows") == 6
    assert cell("dropped", "a reason", "count") == 3
    assert cell("job_outcomes", "KILL", "share") == pytest.approx(1 / 3)
    assert cell("task_outcomes", "FINISH", "tasks") == 2
    assert cell("attempt_outcomes", "CENSORED", "attempts") == 1
    assert cell("attempt_outcomes", "CENSORED", "started") == 0
    assert cell("run_times", "FINISH", "p50") == pytest.approx((0.130 + 0.390) / 2)
    assert cell("run_times", "CENSORED", "p50") is None
    assert cell("requeue_gaps", "EVICT", "p50") == pytest.approx(0.010)
    assert cell("requeue_gaps", "all", "restarts") == 2
    assert cell("success_by_failures", "0", "all: attempts") == 2
    assert cell("success_by_failures", "0", "P(FINISH) all") == pytest.approx(0.5)
    assert cell("success_by_failures", "1", "P(FINISH) multi") == 1.0
    assert cell("success_by_failures", "1", "P(FINISH) single") is None
    assert cell("machine_time", "all", "machine-time [ms]") == 50 + 130 + 294 + 390 + 340
    assert cell("machine_time", "KILL", "share") == pytest.approx(340 / 1204)


def test_a_description_is_json_and_its_tables_are_rectangular() -> None:
    for trace in (make(), Trace(Meta("nothing"))):
        description = describe(trace)
        for table in description.tables:
            assert all(len(row) == len(table.columns) for row in table.rows)
        document = json.loads(json.dumps(description.to_json(), allow_nan=False))
        assert set(document["tables"]) == {table.name for table in description.tables}


def test_what_the_source_says_is_told_in_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    meta = Meta("two\nlines", remarks={"Note": "one\ntwo", "times": "local"})
    Trace(meta).save(tmp_path / "t")
    assert run(["trace", "info", str(tmp_path / "t")]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("two lines, content ")
    assert "What the source says:\n- Note: one two\n- times: local\n" in shown
    assert describe(Trace(meta)).table("remarks").cell("Note", "remark") == "one two"


def test_what_is_not_there_is_an_error() -> None:
    description = describe(make())
    with pytest.raises(KeyError, match="no table 'colours'"):
        description.table("colours")
    with pytest.raises(KeyError, match="no cell 'apples', 'rows'"):
        description.table("rows").cell("apples", "rows")
