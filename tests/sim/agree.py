"""Compares the kernel with the reference on random pinned worlds: logs, accounts, outcomes, masks,
observations, rewards. As many as come until the time is up:

python -m tests.sim.agree --first 3000 --minutes 10
"""

from __future__ import annotations

import argparse
import time
from itertools import count

import numpy as np

from failgym.sim.pinned.simulator import PinnedSimulator
from failgym.sim.reference import ReferenceSimulator
from tests.sim.close import all_close, close, ulps
from tests.sim.random_worlds import (
    alarming,
    continued_rules,
    random_context,
    random_continuation,
    random_policy,
    random_rules,
    random_trace,
    random_weights,
    valued,
)


def compare(seed: int, continued: bool = False) -> int:
    """Play one random world in both; return how many decisions they agreed on.

    Args:
        seed: of the world.
        continued: does its record go on? The rest of the world is the same.
    """
    rng = np.random.default_rng(seed)
    trace, rules = random_trace(rng), random_rules(rng)
    context, weights = random_context(rng, trace, rules), random_weights(rng)
    laws = None
    if continued:
        rules, laws = continued_rules(rng, rules), random_continuation(rng, trace)
        weights = valued(np.random.default_rng([seed, 2]), weights)
        context = alarming(np.random.default_rng([seed, 3]), context, trace.rows("tasks"))
    given = (trace, rules, context, weights, seed, laws)
    slow, fast = ReferenceSimulator(*given), PinnedSimulator(*given)
    slow.on_event = lambda: _check_sum(slow)
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
        assert close(rewards[1], rewards[0]), rewards
        assert all_close(fast.terms.tolist(), slow.terms), (fast.terms, slow.terms)
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


def main() -> None:
    """Compare worlds until the time is up, or the first that differs.

    Each is played as recorded, and with a record that goes on.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--minutes", type=float, default=10.0)
    asked = parser.parse_args()
    end, decisions = time.monotonic() + 60.0 * asked.minutes, 0
    for seed in count(asked.first):
        if time.monotonic() >= end:
            print(f"{seed - asked.first} worlds, played both ways, {decisions} decisions")
            return
        for continued in (False, True):
            try:
                decisions += compare(seed, continued)
            except Exception as error:
                what = f"seed {seed}, continued={continued}"
                raise SystemExit(f"{what}: {type(error).__name__}: {error}") from error


if __name__ == "__main__":
    main()
