"""What may come together while a trace is played fits into the engine's numbers, or is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from failgym.baselines import Replay
from failgym.baselines.base import enabled
from failgym.envs import resolve
from failgym.evaluation import Record, compare, run_policy, whole_trace_world
from failgym.sim.pinned.compile import compile_world
from failgym.sim.pinned.simulator import PinnedSimulator
from failgym.sim.reference import ReferenceSimulator
from failgym.sim.shared.context import Context
from failgym.sim.shared.forecast import Forecast
from failgym.sim.shared.rules import LONGEST, Rules
from failgym.sim.shared.totals import LONGEST_LENGTH
from failgym.traces import Cause, Meta, Outcome, Trace
from failgym.traces.schema import LATEST, MOST_TOTAL
from failgym.vocabulary import MINUTE

YEAR = 365 * 24 * 60 * MINUTE


def made(width: int, *rows: tuple[int, int, Outcome, Cause | None]) -> Trace:
    """One task of so many slots, and its attempts: start, end, outcome, cause."""
    columns = ("start", "end", "outcome", "cause")
    attempts = {name: [row[i] for row in rows] for i, name in enumerate(columns)}
    return Trace.of(
        Meta("by hand"),
        jobs={"original_id": ["a"], "submit": [0], "width": [1], "outcome": [0]},
        tasks={"job": [0], "index": [0], "width": [width]},
        attempts={"task": [0] * len(rows), **attempts},
    )


def world(trace: Trace, rules: Rules) -> Any:
    return compile_world(trace, rules, context(trace, rules))


def context(trace: Trace, rules: Rules) -> Context:
    silent = Forecast.none(trace.content_hash, 1, 1, trace.rows("attempts"), rules.window)
    return Context(np.zeros((8, 24, 3)), np.zeros((1, 8), dtype=np.float32), silent)


FULL = made(MOST_TOTAL // LATEST, (0, LATEST, Outcome.FINISH, None))
"""As much as a trace may hold."""


def test_whatever_a_trace_may_hold_is_replayed() -> None:
    scenario = resolve("Cloning-v1")
    played = replace(scenario, forecast="none", **dict.fromkeys(enabled(scenario), False))
    run = run_policy(whole_trace_world(FULL, played), played, Replay())
    comparison = compare(run, Record.of(FULL))
    assert comparison.recorded_work == comparison.work["useful"] == MOST_TOTAL
    assert comparison.mismatches == 0


@pytest.mark.parametrize(
    "rules",
    [
        Rules(retry=True, max_extra=10_000),
        Rules(clone=True),
        Rules(checkpoint=True, checkpoint_cost=MINUTE),
        Rules(checkpoint=True, restore_cost=LONGEST, restart_limit=10_000),
    ],
)
def test_what_rules_allow_beyond_it_is_refused(rules: Rules) -> None:
    with pytest.raises(ValueError, match=r"^task 0: 7\.04e\+13 ms on 16384 slots, tried .* times"):
        world(FULL, rules)


@pytest.mark.parametrize(
    "rules",
    [
        Rules(clone=True, checkpoint=True, kill=True, give_up=True, retry=True),
        Rules(checkpoint=True, checkpoint_cost=MINUTE, restore_cost=60 * MINUTE),
    ],
)
def test_a_decade_of_a_million_slots_may_be_played(rules: Rules) -> None:
    world(made(1_000_000, (0, 10 * YEAR, Outcome.FINISH, None)), rules)


@pytest.mark.parametrize("kind", [PinnedSimulator, ReferenceSimulator])
def test_what_failed_after_ages_is_no_shorter_than_it_was(kind: Any) -> None:
    """Lengths that are drawn are at most so long: a failure comes when it came."""
    rows = [(0, LATEST // 2, Outcome.FAIL, Cause.INTRINSIC)]
    trace = made(1, *rows, (LATEST // 2, LATEST // 2 + 5, Outcome.FINISH, None))
    rules = Rules(checkpoint=True, decide="geometric", factor=100.0)
    for seed in range(40):
        sim = kind(trace, rules, context(trace, rules), None, seed)
        sim.start([0])
        while sim.decision is not None:
            sim.step(0)
        assert [entry.time for entry in sim.log if entry.kind == 0] == [rows[0][1], rows[0][1] + 5]


@pytest.mark.parametrize("d", [1, 5_000, 30 * 24 * 60 * MINUTE, 2**40, 2**40 + 1, LATEST])
def test_lengths_are_as_drawn_up_to_35_years(d: int) -> None:
    for seed in range(50):
        trace = made(1, (0, d, Outcome.EVICT, Cause.PREEMPTION))
        row = compile_world(trace, Rules(), context(trace, Rules()), None, seed).rows[0]
        assert d <= row["length"] <= LONGEST_LENGTH
        assert row["length"] == pytest.approx(d / row["fraction"], rel=1e-12, abs=1)
