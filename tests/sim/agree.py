"""Compares the kernel with the reference on random pinned worlds: logs, accounts, outcomes, masks,
observations, rewards. As many as come until the time is up, with --nasty those of
`tests.sim.nasty_worlds`:

python -m tests.sim.agree --first 3000 --minutes 10 [--nasty]
"""

from __future__ import annotations

import argparse
import re
import time
from collections import Counter
from collections.abc import Callable
from itertools import count

import numpy as np

from failgym.sim.pinned.simulator import PinnedSimulator
from failgym.sim.reference import ReferenceSimulator
from failgym.sim.shared.rules import Order
from tests.sim.close import all_close, close, ulps
from tests.sim.nasty_worlds import nasty_world
from tests.sim.random_worlds import (
    Policy,
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

ROUNDED = 2.0**-50
"""Share of the cost so far by which a reward may be off, as the difference of two such sums."""
MOST_DECISIONS = 2_000
"""After so many in one world the others are not compared."""


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
        context = alarming(np.random.default_rng([seed, 3]), context, trace.column("tasks", "job"))
        weights = valued(np.random.default_rng([seed, 2]), weights)
    given = (trace, rules, context, weights, seed, laws)
    both = ReferenceSimulator(*given), PinnedSimulator(*given)
    order = "time" if seed % 3 == 0 else "task"
    policy = random_policy(np.random.default_rng(seed + 1))
    return _play(*both, trace.rows("tasks"), order, policy)


def compare_nasty(seed: int) -> int:
    """Play one nasty world in both; return how many decisions they agreed on.

    Raises `Refused` if it is none that is played.
    """
    try:
        world = nasty_world(seed)
        given = (world.trace, world.rules, world.context, world.weights, world.seed, world.laws)
        both = ReferenceSimulator(*given), PinnedSimulator(*given)
    except ValueError as error:
        raise Refused(str(error)) from error
    return _play(*both, world.trace.rows("tasks"), world.order, world.policy)


class Refused(Exception):
    """A trace that is none, or a world that no simulator plays."""


def _play(
    slow: ReferenceSimulator, fast: PinnedSimulator, tasks: int, order: Order, policy: Policy
) -> int:
    """Play all tasks in both; return how many decisions they agreed on."""
    slow.on_event = lambda: _check_sum(slow)
    both = (slow, fast)
    for sim in both:
        sim.start(range(tasks), order)
    decisions, cost = 0, 0.0
    while slow.decision is not None:
        assert fast.decision is not None
        assert tuple(slow.decision) == tuple(fast.decision)
        assert slow.mask == fast.mask
        assert ulps(slow.observation(), fast.observation()) <= 1
        _compare_accounts(slow, fast)
        wanted = policy(slow.mask)
        rewards = [sim.step(wanted) for sim in both]
        cost -= rewards[0]
        rounded = ROUNDED * cost
        assert close(rewards[1], rewards[0], least=rounded), rewards
        assert all_close(fast.terms.tolist(), slow.terms, least=rounded), (fast.terms, slow.terms)
        decisions += 1
        if decisions == MOST_DECISIONS:
            return decisions
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

    Each is played as recorded, and with a record that goes on; a nasty one goes on in any case.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--nasty", action="store_true", help="nasty worlds")
    asked = parser.parse_args()
    plays = {"nasty": compare_nasty} if asked.nasty else PLAYS
    end, decisions, refused = time.monotonic() + 60.0 * asked.minutes, 0, Counter[str]()
    for seed in count(asked.first):
        if time.monotonic() >= end:
            print(f"{seed - asked.first} worlds ({', '.join(plays)}), {decisions} decisions")
            for why, worlds in refused.most_common():
                print(f"{worlds} refused: {why}")
            return
        for what, play in plays.items():
            try:
                decisions += play(seed)
            except Refused as error:
                refused[re.sub(r"-?\d[\d.e+-]*", "#", str(error))] += 1
            except Exception as error:
                raise SystemExit(f"seed {seed}, {what}: {type(error).__name__}: {error}") from error


PLAYS: dict[str, Callable[[int], int]] = {
    "as recorded": lambda seed: compare(seed),
    "continued": lambda seed: compare(seed, continued=True),
}
"""The two ways in which a random world is played."""


if __name__ == "__main__":
    main()
