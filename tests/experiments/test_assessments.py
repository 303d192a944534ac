"""Rows of the page of assessments: the figures of a report, and what it took."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from experiments.assessments import main, times
from experiments.markdown import tables
from experiments.result_tables.assessments import assessments, learned
from failgym.assessment.advice import shown_hours
from failgym.cli import run
from tests.assessment.records import doomed


def test_a_row_is_what_the_report_says(tmp_path: Path) -> None:
    doomed(60, long_ones_finish=False).save(tmp_path / "record")
    report, timed, file = tmp_path / "report", tmp_path / "time", tmp_path / "rows.json"
    record = str(tmp_path / "record")
    assert run(["assess", record, "--measures", "kill", "--quick", "--out", str(report)]) == 0
    timed.write_text("9.44 user 1.81 sys 99.32 wall 1048576 kB\n")
    command = "failgym assess record --measures kill --quick"
    for name in ("first", "again"):  # the second takes the place of the first
        main(name, report, timed, command, file)
    main("other", report, timed, "failgym assess other --quick", file)
    rows = json.loads(file.read_text("utf-8"))
    assert [row["record"] for row in rows] == ["again", "other"]
    assert str(tmp_path) not in file.read_text("utf-8")
    content = json.loads((report / "report.json").read_text("utf-8"))
    [shown, _] = tables(assessments(rows) + "\n")[0][1:]
    wasted, useful = content["happened"]["wasted"], content["happened"]["useful"]
    assert shown[:2] == ["1. again", "60"]
    assert shown[3] == f"{100 * wasted / (wasted + useful):.1f} %"
    assert shown[4].startswith(f"{content['rooms'][0]['hours']:,.0f} h, ")
    assert shown[6:] == ["0", "not asked", "11", "1.1"]
    assert assessments(rows).splitlines()[-2:] == [
        f"1. `{command}`",
        "2. `failgym assess other --quick`",
    ]


def test_agents_of_the_past_stand_with_their_verdict(tmp_path: Path) -> None:
    pytest.importorskip("xgboost", reason="no xgboost")
    doomed(400, long_ones_finish=False).save(tmp_path / "record")
    report, timed, file = tmp_path / "report", tmp_path / "time", tmp_path / "rows.json"
    options = ("--measures", "kill", "--no-forecasts", "--policies", "learned")
    assert run(["assess", str(tmp_path / "record"), *options, "--out", str(report)]) == 0
    timed.write_text("9.44 user 1.81 sys 99.32 wall 1048576 kB\n")
    main("mine", report, timed, "failgym assess record", file)
    rows = json.loads(file.read_text("utf-8"))
    content = json.loads((report / "report.json").read_text("utf-8"))
    [one] = [each for each in content["judged"] if each["kind"] == "learned"]
    [shown] = tables(learned([*rows, {"record": "older", "jobs": 9}]) + "\n")[0][1:]
    assert shown[:3] == ["1. mine", "`kill`", "none"]
    assert shown[3] == shown_hours(one["saved"])
    assert shown[5] == f"{100 * one['share']:.1f} %"
    assert shown[7] == f"**{one['verdict']['answer']}**"
    idle: dict[str, Any] = {
        **one,
        "saved": 0.0,
        "verdict": {**one["verdict"], "answer": "no evidence"},
    }
    little: dict[str, Any] = {
        **idle,
        "verdict": {**idle["verdict"], "smallest": 3.14, "more": 1_234},
    }
    for row, why in (
        ({**idle, "verdict": {**idle["verdict"], "acts": False}}, "it never acts"),
        ({**idle, "low": None}, "too few jobs decide"),
        (little, "nothing below 3.1 % can be told from 0; a record with about 2,468 more jobs"),
    ):
        jobs = 2 * one["verdict"]["members"]
        told = learned([{"record": "mine", "jobs": jobs, "learned": [row]}])
        assert f"| no evidence: {why}" in told


def test_what_time_did_not_write_is_refused() -> None:
    with pytest.raises(ValueError, match="expected user, system, elapsed"):
        times("Command exited with non-zero status 2")
