"""A scenario that a trace cannot carry: it is said which field to change, and to what."""

from __future__ import annotations

import re
from typing import Any

import pytest

from failgym.envs import Scenario, resolve
from failgym.traces import Cause, Outcome, Trace
from failgym.worlds.build import build_world
from tests.chains import single_jobs

TASKS = 20
FAILS, FINISHES, CUT = Outcome.FAIL, Outcome.FINISH, Outcome.CENSORED
HOUR = 3_600_000


def recorded(*outcomes: Outcome, width: int = 1) -> Trace:
    """Tasks with such attempts one after the other, an hour each."""
    rows = [(task, number) for task in range(TASKS) for number in range(len(outcomes))]
    attempts: dict[str, list[Any]] = {
        "task": [task for task, _ in rows],
        "start": [2 * HOUR * number for _, number in rows],
        "end": [2 * HOUR * number + HOUR for _, number in rows],
        "outcome": [outcomes[number] for _, number in rows],
        "cause": [Cause.INTRINSIC if outcomes[n] == FAILS else None for _, n in rows],
    }
    return single_jobs(attempts, TASKS)


FINISHED, FAILED_TWICE = recorded(FINISHES), recorded(FAILS, FAILS, FINISHES)
CASES: dict[str, tuple[str, dict[str, Any], str]] = {
    "nothing may be decided": ("GracePeriod-v1", {"kill": False}, "set one of clone,"),
    "no task failed": ("Cloning-v1", {}, "select=all"),
    "too many attempts": (
        "Cloning-v1",
        {"trace": FAILED_TWICE, "max_attempts": 2},
        "max_attempts=3",
    ),
    "only failures are asked about": (
        "Cloning-v1",
        {"clone": False, "select": "all"},
        "set clone, checkpoint or kill to true",
    ),
    "no alarm": ("GracePeriod-v1", {"decide": "alarm", "forecast": "none"}, "decide=geometric"),
    "the alarm is too high": (
        "Cloning-v1",
        {"trace": FAILED_TWICE, "decide": "alarm", "alarm": 1.0, "clone": True, "give_up": False}
        | {"retry": False, "forecast": "elsayed"},
        "alarm=0",
    ),
    "nothing before the boundary": (
        "GracePeriod-v1",
        {"trace": "google-2011", "jobs": 60, "boundary": 1e-6},
        "boundary=0.",
    ),
    "the record begins too late": (
        "Mitigation-v1",
        {"trace": FAILED_TWICE, "load": 0.0, "machines": 30, "begin": 10**9},
        "begin=0",
    ),
}


def scenario_of(case: str) -> Scenario:
    name, changes, _ = CASES[case]
    usual = {"trace": FINISHED, "split": "all" if "boundary" not in changes else "train"}
    usual |= {"forecast": "none"}  # these records teach none
    return resolve(name, {**usual, **changes})


@pytest.mark.parametrize("case", CASES)
def test_it_is_said_which_field_to_change(case: str) -> None:
    scenario = scenario_of(case)
    with pytest.raises(ValueError, match="is ever asked about: ") as caught:
        build_world(scenario)
    assert CASES[case][2] in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("case", [case for case in CASES if "=" in CASES[case][2]])
def test_what_is_said_helps(case: str) -> None:
    """The field is set to the value that is named, and tasks are asked about."""
    scenario = scenario_of(case)
    with pytest.raises(ValueError, match="; set ") as caught:
        build_world(scenario)
    [(name, text)] = re.findall(r"; set (\w+)=([\w.]+)", str(caught.value))
    kind = type(getattr(scenario, name))
    assert build_world(scenario.override(**{name: kind(text)})).slices > 0


def test_a_task_that_is_wider_than_the_cluster_names_the_machines_it_needs() -> None:
    trace = recorded(FAILS, FINISHES)
    wide = {"trace": trace, "machines": 2, "load": 0.0, "slots": 4, "split": "all", "begin": 0}
    wide["forecast"] = "none"
    columns = {"width": trace.column("tasks", "width") * 0 + 9}
    wide["trace"] = Trace.of(
        trace.meta,
        jobs={name: trace.jobs.column(name).to_pylist() for name in trace.jobs.column_names},
        tasks={"job": list(range(TASKS)), "index": [0] * TASKS, **columns},
        attempts={name: trace.attempts.column(name) for name in trace.attempts.column_names},
    )
    with pytest.raises(ValueError, match=r"too few for a task of width 9; set machines=3"):
        build_world(resolve("Mitigation-v1", wide))
    assert build_world(resolve("Mitigation-v1", {**wide, "machines": 3})).slices > 0


def test_a_record_that_a_forecast_learns_nothing_from() -> None:
    """The environment's own is learned from a record: who has set none is told of the field."""
    fields = {"trace": FINISHED, "split": "all"}
    with pytest.raises(ValueError, match=r"^forecast=auto: .* nothing to learn from") as caught:
        build_world(resolve("GracePeriod-v1", fields))
    assert str(caught.value).endswith("; set forecast=none")
    assert "\n" not in str(caught.value)
    assert build_world(resolve("GracePeriod-v1", {**fields, "forecast": "none"})).slices > 0
