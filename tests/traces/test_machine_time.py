"""What of a record's machine-time is known, recounted and as the engine accounts for it."""

from __future__ import annotations

import numpy as np
import pytest

from failgym.baselines import Replay
from failgym.envs import resolve
from failgym.evaluation import Record, compare, run_policy
from failgym.evaluation.whole_trace import whole_trace_world
from failgym.traces import Outcome
from failgym.traces.machine_time import fate_known, machine_time
from tests.chains import single_jobs

CENSORED, FINISH = int(Outcome.CENSORED), int(Outcome.FINISH)
CASES = {
    "cut off before": (([0, 100], [60, 200], [CENSORED, FINISH]), 100),
    "cut off beside, before": (([0, 0], [90, 100], [CENSORED, FINISH]), 100),
    "cut off at that moment, served before": (([0, 0], [100, 100], [CENSORED, FINISH]), 100),
    "cut off after": (([0, 0], [60, 100], [FINISH, CENSORED]), 160),
}
"""Attempts of a task [s], and the machine-time that is replayed [s]."""


@pytest.mark.parametrize("case", CASES)
def test_what_is_cut_off_before_its_task_finishes_is_in_no_replay(case: str) -> None:
    (start, end, outcome), replayed = CASES[case]
    times = {"start": [1_000 * s for s in start], "end": [1_000 * s for s in end]}
    trace = single_jobs({"task": [0, 0], **times, "outcome": outcome}, 1)
    parts = machine_time(trace)
    assert parts.replayed == 1_000 * replayed
    assert parts.total == int(np.subtract(times["end"], times["start"]).sum())
    assert fate_known(trace).sum() == (2 if case == "cut off after" else 1)

    scenario = resolve("Cloning-v1")
    world = whole_trace_world(trace, scenario)
    found = compare(run_policy(world, scenario, Replay()), Record.of(trace))
    assert found.mismatches == 0
