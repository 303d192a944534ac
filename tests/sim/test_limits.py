"""Large times in the pinned world: what is not asked costs nothing."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest

from failgym.sim.pinned.simulator import PinnedSimulator
from failgym.sim.reference import ReferenceSimulator
from failgym.sim.shared.context import Context
from failgym.sim.shared.forecast import Forecast
from failgym.sim.shared.rules import LONGEST, Rules
from failgym.traces import Cause, Meta, Outcome, Trace
from failgym.vocabulary import Action, Decision

LENGTH = 20
"""Work of the attempt that finishes [ms]."""
SMALL = LONGEST % 3 + 1_998
"""A cost after which every third window comes as soon as after the longest [ms]."""
DECIDE = pytest.mark.parametrize("decide", ["every", "geometric", "alarm"])


def played(kind: Any, cost: int, decide: Literal["every", "geometric", "alarm"]) -> Any:
    """A task that fails and is retried as often as it may be; saved whenever that is legal."""
    trace = Trace.of(
        Meta("long"),
        jobs={"original_id": ["a"], "submit": [0], "width": [1], "outcome": [Outcome.FINISH]},
        tasks={"job": [0], "index": [0], "width": [1]},
        attempts={
            "task": [0, 0],
            "queued": [0, 10],
            "start": [0, 10],
            "end": [10, 10 + LENGTH],
            "outcome": [Outcome.FAIL, Outcome.FINISH],
            "cause": [Cause.INTRINSIC, None],
        },
    )
    rules = Rules(
        checkpoint=True,
        retry=True,
        window=1,
        decide=decide,
        every=3,
        alarm=0.0,
        checkpoint_cost=cost,
        restore_cost=cost,
    )
    forecast = Forecast.none(trace.content_hash, 1, 1, 2, rules.window)
    context = Context(np.zeros((8, 24, 3)), np.zeros((1, 8), dtype=np.float32), forecast)
    sim = kind(trace, rules, context)
    sim.start([0])
    while sim.decision is not None:
        window = sim.decision.kind == Decision.WINDOW
        sim.step(Action.CHECKPOINT if window else Action.RETRY)
    return sim


@DECIDE
def test_windows_within_writes_and_restores(decide: Any) -> None:
    """The reference looks at each of them."""
    fast, slow = (played(kind, SMALL, decide) for kind in (PinnedSimulator, ReferenceSimulator))
    assert [tuple(entry) for entry in fast.log] == [tuple(entry) for entry in slow.log]
    assert fast.outcomes() == slow.outcomes()
    assert tuple(fast.accounts()) == tuple(slow.accounts())


@DECIDE
def test_the_longest_writes_and_restores_end(decide: Any) -> None:
    """Whatever the cost: the same decisions, and as many costs as with a small one."""
    small, large = (played(PinnedSimulator, cost, decide) for cost in (SMALL, LONGEST))
    few, many = small.accounts(), large.accounts()
    assert many.checkpoint // LONGEST == few.checkpoint // SMALL >= 1
    assert many.restore // LONGEST == few.restore // SMALL >= 1
