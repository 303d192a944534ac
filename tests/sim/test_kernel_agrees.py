"""The kernels and the reference agree: logs, accounts, outcomes, masks, observations, rewards."""

from __future__ import annotations

import numpy as np
import pytest

from failgym.sim.pinned import PinnedSimulator
from failgym.sim.reference import ReferenceSimulator
from tests.sim.random_worlds import (
    random_context,
    random_policy,
    random_rules,
    random_trace,
    random_weights,
)

CHUNK = 50


def ulps(a: np.ndarray, b: np.ndarray) -> int:
    """Largest distance between two float32 arrays, in units in the last place."""
    ordered = [x.view(np.int32).astype(np.int64) for x in (a + np.float32(0), b + np.float32(0))]
    ordered = [np.where(x < 0, -(x & 0x7FFFFFFF), x) for x in ordered]
    return int(np.abs(ordered[0] - ordered[1]).max())


def compare(seed: int) -> int:
    """Play one random world in both; return how many decisions they agreed on."""
    rng = np.random.default_rng(seed)
    trace, rules = random_trace(rng), random_rules(rng)
    context, weights = random_context(rng, trace, rules), random_weights(rng)
    slow = ReferenceSimulator(trace, rules, context, weights, seed=seed)
    slow.on_event = lambda: _check_sum(slow)
    fast = PinnedSimulator(trace, rules, context, weights, seed=seed)
    both = (slow, fast)
    policy = random_policy(np.random.default_rng(seed + 1))
    tasks = range(trace.rows("tasks"))
    for sim in both:
        sim.start(tasks, "time" if seed % 3 == 0 else "task")
    decisions = 0
    while slow.decision is not None:
        assert fast.decision is not None
        assert tuple(slow.decision) == tuple(fast.decision)
        assert slow.mask == fast.mask
        assert ulps(slow.observation(), fast.observation()) <= 1
        _compare_accounts(slow, fast)
        wanted = policy(slow.mask)
        rewards = [sim.step(wanted) for sim in both]
        assert rewards[1] == pytest.approx(rewards[0], rel=1e-12, abs=1e-9)
        assert list(fast.terms) == pytest.approx(list(slow.terms), rel=1e-12, abs=1e-9)
        decisions += 1
    assert fast.decision is None
    _compare_accounts(slow, fast)
    assert [tuple(entry) for entry in slow.log] == [tuple(entry) for entry in fast.log]
    assert slow.outcomes() == fast.outcomes()
    assert slow.illegal == fast.illegal
    return decisions


def _check_sum(sim: ReferenceSimulator) -> None:
    """After every event."""
    assert sum(sim.accounts()) == sim.busy()


def _compare_accounts(slow: ReferenceSimulator, fast: PinnedSimulator) -> None:
    assert tuple(slow.accounts()) == tuple(fast.accounts())
    assert slow.busy() == fast.busy() == sum(fast.accounts())


@pytest.mark.parametrize("chunk", range(3_000 // CHUNK))
def test_kernel_and_reference_agree(chunk: int) -> None:
    decisions = sum(compare(seed) for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK))
    assert decisions > CHUNK
