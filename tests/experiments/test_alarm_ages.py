"""Alarms are told from windows of risk, and their precision is counted by age."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer import Typer
from typer.testing import CliRunner

from experiments import alarm_ages
from experiments.alarm_ages import AlarmTable, Bin, Group, alarms_of, binned, groups_in
from experiments.result_tables.information import alarms as page
from experiments.visits import Visits
from failgym.traces import Outcome
from failgym.vocabulary import MINUTE

WINDOW = 5 * MINUTE


def windows(*rows: tuple[int, int, float, float, Outcome]) -> Visits:
    """Windows of risk: task, window, risk, life of the attempt in windows, outcome."""
    task, place, risk, life, ended = (np.array(column) for column in zip(*rows, strict=True))
    some: Any = dict.fromkeys(("window", "attempt_fails", "task_finishes", "job_finishes"), task)
    return Visits(
        **some,
        seen=np.stack([risk, np.log2(1.0 + task)], axis=1).astype(np.float32),
        task=task,
        job=task // 2,
        unit=task,
        number=np.zeros_like(task),
        before=task % 2,
        drawn=task > 2,
        age=place * WINDOW,
        life=(life * WINDOW).astype(np.int64),
        ended=ended,
    )


SEEN = windows(
    (0, 3, 0.6, 4.0, Outcome.FAIL),  # out of order; on when it fails, after 4 windows
    (0, 2, 0.9, 4.0, Outcome.FAIL),
    (0, 0, 0.7, 4.0, Outcome.FAIL),  # over before
    (1, 1, 0.5, 1.5, Outcome.EVICT),
    (2, 1, 0.5, 2.5, Outcome.FINISH),
    (3, 5, 0.8, 5.2, Outcome.FAIL),
)


def test_an_alarm_is_a_time_without_a_gap_and_right_if_it_is_on_at_the_end() -> None:
    found = alarms_of(SEEN, 0.5, WINDOW, outside=False)
    assert found.since.tolist() == [0, 2 * WINDOW, WINDOW, WINDOW, 5 * WINDOW]
    assert found.until.tolist() == [0, 3 * WINDOW, WINDOW, WINDOW, 5 * WINDOW]
    assert found.right.tolist() == [False, True, False, False, True]
    assert found.first.tolist() == [True, True, False, True, False]
    assert found.drawn.tolist() == [False, False, False, False, True]
    assert found.failures.tolist() == [0, 0, 1, 2, 3], "shown as log2(1 + n)"
    outside = alarms_of(SEEN, 0.5, WINDOW, outside=True)
    assert outside.right.tolist() == [False, True, True, False, True]
    high = alarms_of(SEEN, 0.75, WINDOW, outside=False)
    assert (high.since.tolist(), high.right.tolist()) == ([2 * WINDOW, 5 * WINDOW], [False, True])


def test_precision_is_that_of_the_alarms_that_are_on() -> None:
    found = alarms_of(SEEN, 0.5, WINDOW, outside=False)
    cells = {(one.by, one.minutes): (one.alarms, one.precision) for one in binned(found, WINDOW)}
    assert cells == {
        ("attempt", 0): (1, 0.0),
        ("attempt", 5): (3, pytest.approx(1 / 3)),  # two at 5, one at 10 min
        ("attempt", 15): (2, 1.0),
        ("alarm", 0): (5, 0.4),
        ("alarm", 5): (1, 1.0),
    }


def alarms(jobs: int, precision: float, each: int = 40, since: int = 0) -> AlarmTable:
    """Alarms of jobs of which all are right or none."""
    job = np.repeat(np.arange(jobs), each)
    same = np.zeros(len(job), dtype=np.int64)
    right = np.repeat(np.random.default_rng(5).random(jobs) < precision, each)
    no = np.zeros(len(job), dtype=np.bool_)
    age = same + since * MINUTE
    return AlarmTable(right, job, no, same, no, age, age)


def test_what_is_known_by_age_is_far_from_the_whole_and_few_jobs_may_be_chance() -> None:
    early, late = alarms(400, 0.3), alarms(400, 0.7, since=60)
    flat = early.beside(alarms(400, 0.3, since=60))
    known = early.beside(late)

    def group(table: AlarmTable) -> Group:
        precision = float(table.right.mean())
        bins = tuple(binned(table, WINDOW))
        return Group(0.5, "recorded", "all", len(table.job), precision, bins)

    assert group(flat).uneven == []
    assert [(one.minutes, one.by_chance) for one in group(known).uneven] == [
        (0, False),
        (60, False),
    ]
    few = alarms(4, 0.5, each=300).beside(alarms(4, 0.3, each=300, since=60))
    few = replace(few, right=np.repeat([True, False, False, True, False, False, False, True], 300))
    assert all(one.by_chance for one in group(few).uneven)


def test_a_small_bin_is_not_held_against_the_whole() -> None:
    one = Bin("alarm", 0, alarm_ages.ENOUGH - 1, 1.0, 0.2, 0.6)
    group = Group(0.5, "drawn", "later", 5_000, 0.5, (one,))
    assert group.uneven == []
    assert replace(group, bins=(replace(one, alarms=alarm_ages.ENOUGH),)).uneven != []


def test_the_command_writes_what_the_page_shows(tmp_path: Path) -> None:
    app = Typer()
    app.command()(alarm_ages.main)
    file = tmp_path / "alarms.json"
    fields = ["trace=google-2011-failing", "jobs=300", "forecast=elsayed_alarms"]
    fields += ["beyond_record=continued", "restarts=record", "task_value=4"]
    words = [word for field in fields for word in ("--set", field)]
    for more in ([], ["--traces", "2", "--set", "max_extra=2"]):
        found = CliRunner().invoke(app, [*words, *more, "--json", str(file)])
        assert found.exit_code == 0, found.output
    one, two = (groups_in(content) for content in json.loads(file.read_text()).values())
    by = {(g.threshold, g.where, g.attempts): g for g in one}
    assert by[0.5, "recorded", "first"].alarms > 30
    assert by[0.5, "drawn", "later"].alarms > 30
    assert by[0.5, "drawn", "first"].alarms == 0, "a first attempt is recorded"
    for where in ("recorded", "drawn"):
        parts = [by[0.5, where, attempts].alarms for attempts in ("first", "later", "all")]
        assert parts[0] + parts[1] == parts[2]
        assert by[0.9, where, "all"].alarms < parts[2]
    past = [by[0.5, "drawn", f"after {past}"].alarms for past in ("1", "2", "3+")]
    assert sum(past) == by[0.5, "drawn", "all"].alarms, "drawn attempts follow failures"
    assert two[0].alarms > one[0].alarms
    lines = page(json.loads(file.read_text())).splitlines()
    assert lines[0].startswith("`failgym/Cloning-v1` with `trace=google-2011-failing`, ")
    assert sum(line.startswith("`failgym/") for line in lines) == 2
