"""Compares the kernel with the reference on random clusters, as many as wanted, of every kind or of
one: as recorded, the same with records that go on, and those of `nasty_clusters`:

python -m tests.sim.scheduled.agree --worlds 50000 [--kind continued] [--minutes 10]
"""

from __future__ import annotations

import argparse
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, fields, replace
from itertools import product
from math import inf
from typing import Any

import numpy as np

from failgym.sim.reference.scheduled import ReferenceScheduledSimulator
from failgym.sim.scheduled import ScheduledSimulator
from failgym.sim.scheduled.rules import ScheduledRules
from failgym.sim.shared.fields import FIELDS
from failgym.traces import Trace
from failgym.traces.schema import make_table
from tests.sim.close import all_close, close, ulps
from tests.sim.nasty_worlds import nasty_policy
from tests.sim.random_worlds import Policy, random_policy
from tests.sim.scheduled.golden import log_text
from tests.sim.scheduled.nasty_clusters import nasty_cluster
from tests.sim.scheduled.random_clusters import Cluster, random_cluster, valued_cluster

DEFAULTS = ScheduledRules()
MOST_DECISIONS = 100_000
ROUNDED = 2.0**-48
"""Share of the cost so far by which a reward may be off, as the difference of two such sums."""
SUMMED = 4
"""One in so many clusters is summed after every event; all of them at every decision."""


class RefusedError(Exception):
    """A cluster that no simulator plays, or whose tables make no trace."""


KINDS: dict[str, Callable[[int], Cluster]] = {
    "recorded": random_cluster,
    "continued": valued_cluster,
    "nasty": nasty_cluster,
}


def compare_seed(kind: str, seed: int, at_most: int | None = None) -> int:
    """Play the cluster of a seed in both; return how many decisions they agreed on.

    Raises AssertionError where they differ, `RefusedError` where a nasty one cannot be played.
    """
    try:
        cluster = KINDS[kind](seed)
        both = _both(cluster)
    except ValueError as error:
        if kind != "nasty":
            raise
        raise RefusedError(str(error)) from error
    return _play(*both, _policy(cluster), at_most)


def compare(cluster: Cluster, at_most: int | None = None) -> int:
    """Play one cluster in both, or its first decisions; return how many they agreed on.

    Raises AssertionError where they differ.
    """
    return _play(*_both(cluster), _policy(cluster), at_most)


def _policy(cluster: Cluster) -> Policy:
    rng = np.random.default_rng(cluster.seed + 1)
    continued = cluster.continuation is not None
    return nasty_policy(rng) if continued and cluster.seed % 2 else random_policy(rng)


def _play(slow: Any, fast: Any, policy: Policy, at_most: int | None) -> int:
    decisions, cost = 0, 0.0
    while slow.decision is not None:
        if decisions == at_most:
            return decisions
        assert fast.decision is not None, f"kernel ends, not so the reference: {slow.decision}"
        assert tuple(fast.decision) == tuple(slow.decision)
        assert fast.offered == slow.offered
        assert fast.mask == slow.mask
        assert_close(fast.observe(), slow.observe())
        _compare_accounts(slow, fast)
        wanted = policy(slow.mask)
        rewards = [sim.step(wanted) for sim in (slow, fast)]
        cost -= rewards[0]
        least = ROUNDED * cost
        assert close(rewards[1], rewards[0], least=least), f"reward {rewards}"
        assert all_close(fast.terms, slow.terms, least), f"terms {fast.terms} {slow.terms}"
        decisions += 1
        assert decisions < MOST_DECISIONS, "the episode does not end"
    assert fast.decision is None, f"the reference ends, not so the kernel: {fast.decision}"
    _compare_accounts(slow, fast)
    if decisions:
        told = fast.batch.output.final_unit_costs
        assert (told == fast.batch.unit_costs()[0]).all(), "final costs of units"
    assert log_text(fast.log) == log_text(slow.log)
    assert [tuple(entry) for entry in fast.log] == [tuple(entry) for entry in slow.log]
    assert [asdict(x) for x in fast.outcomes()] == [asdict(x) for x in slow.outcomes()]
    assert fast.illegal == slow.illegal
    assert [tuple(x) for x in fast.queries] == [tuple(x) for x in slow.queries]
    return decisions


def assert_close(fast: np.ndarray, slow: np.ndarray) -> None:
    """Two observations agree within one unit in the last place, field by field."""
    if ulps(slow, fast) > 1:
        wrong = {
            field.name: (float(slow[i]), float(fast[i]))
            for i, field in enumerate(FIELDS)
            if ulps(slow[i : i + 1], fast[i : i + 1]) > 1
        }
        raise AssertionError(f"observation (reference, kernel): {wrong}")


def _both(cluster: Cluster) -> tuple[Any, Any]:
    slow = cluster.simulator(ReferenceScheduledSimulator)
    if cluster.seed % SUMMED == 0:
        slow.on_event = lambda: _check_sum(slow)
    fast = cluster.simulator(ScheduledSimulator)
    cluster.start(slow)
    cluster.start(fast)
    return slow, fast


def _check_sum(slow: Any) -> None:
    """After every event."""
    assert sum(slow.accounts()) == slow.busy(), "reference: accounts do not sum to busy"


def _compare_accounts(slow: Any, fast: Any) -> None:
    assert tuple(fast.accounts()) == tuple(slow.accounts()), "accounts"
    assert slow.busy() == fast.busy() == sum(fast.accounts()), "busy"
    _compare_units(slow, fast)


def _compare_units(slow: Any, fast: Any) -> None:
    slow_units, fast_units = slow.unit_costs(), fast.unit_costs()
    assert fast_units.keys() == slow_units.keys(), "units"
    assert all(close(fast_units[unit], cost) for unit, cost in slow_units.items()), "costs of units"
    assert min(fast_units.values(), default=0.0) >= 0.0, "costs of units"
    whole = sum(slow.priced(slow.costs()))
    assert close(sum(fast_units.values()), whole, 1e-9), "costs of units do not sum to the cost"


# --- shrinking ----------------------------------------------------------------------------------


def complaint(cluster: Cluster) -> str | None:
    """What goes wrong in a cluster, None if nothing does."""
    try:
        compare(cluster)
    except Exception as error:  # whatever it is, it is to be shown
        return f"{type(error).__name__}: {error}"
    return None


def shrink(cluster: Cluster) -> Cluster:
    """Leave out of a failing cluster whatever it fails without."""
    smaller = True
    while smaller:
        smaller = False
        for candidate in _simpler(cluster):
            if _still_differs(candidate):
                cluster, smaller = candidate(), True
                break
    return cluster


def _still_differs(candidate: Callable[[], Cluster]) -> bool:
    """Tell a difference from a cluster that has become unsound."""
    try:
        compare(candidate())
    except AssertionError:
        return True
    except ValueError:
        return False
    return False


def _simpler(cluster: Cluster) -> Iterator[Callable[[], Cluster]]:
    for task in cluster.tasks:
        if len(cluster.tasks) > 1:
            yield lambda task=task: _without_task(cluster, task)
    if cluster.own is not None:
        yield lambda: replace(cluster, own=None)
    for one in cluster.standing:
        rest = tuple(x for x in cluster.standing if x != one)
        yield lambda rest=rest: replace(cluster, standing=rest)
    if cluster.nodes is not None:
        yield lambda: replace(cluster, nodes=None)
    for table in ("windows", "costs", "outages", "stage_edges"):
        if cluster.trace.rows(table):
            yield lambda table=table: _with_trace(cluster, **{table: make_table(table)})
    for table in ("outages", "stage_edges"):
        for row in range(cluster.trace.rows(table)):
            yield lambda table=table, row=row: _without_row(cluster, table, row)
    for field in fields(ScheduledRules):
        if getattr(cluster.rules, field.name) != getattr(DEFAULTS, field.name):
            value = getattr(DEFAULTS, field.name)
            yield lambda name=field.name, value=value: replace(
                cluster, rules=replace(cluster.rules, **{name: value})
            )


def _without_task(cluster: Cluster, task: int) -> Cluster:
    tasks = tuple(t for t in cluster.tasks if t != task)
    own = cluster.own and (tuple(t for t in cluster.own if t != task) or None)
    return replace(cluster, tasks=tasks, own=own)


def _without_row(cluster: Cluster, table: str, row: int) -> Cluster:
    columns = cluster.trace.table(table).to_pydict()
    kept = {name: values[:row] + values[row + 1 :] for name, values in columns.items()}
    return _with_trace(cluster, **{table: make_table(table, kept)})


def _with_trace(cluster: Cluster, **tables: Any) -> Cluster:
    names = ("jobs", "tasks", "attempts", "windows", "machines", "outages", "stages")
    old = {name: cluster.trace.table(name) for name in (*names, "stage_edges", "costs")}
    trace = Trace(cluster.trace.meta, **(old | tables))
    forecast = replace(cluster.context.forecast, trace_hash=trace.content_hash)
    return replace(cluster, trace=trace, context=replace(cluster.context, forecast=forecast))


# --- reports ------------------------------------------------------------------------------------


def report(cluster: Cluster) -> str:
    """A cluster in words, what is wrong with it, and both logs from a little before they differ."""
    parts = [f"seed {cluster.seed}: {complaint(cluster)}"]
    changed = {
        field.name: getattr(cluster.rules, field.name)
        for field in fields(ScheduledRules)
        if getattr(cluster.rules, field.name) != getattr(DEFAULTS, field.name)
    }
    parts.append(f"rules {changed}")
    parts.append(f"tasks {cluster.tasks} own {cluster.own} standing {cluster.standing}")
    if cluster.nodes is not None:
        parts.append(f"predictions {[x.tolist() for x in cluster.nodes]}")
    for name in ("machines", "outages", "jobs", "tasks", "attempts", "stage_edges", "costs"):
        parts += [name, *_table(cluster, name)]
    return "\n".join([*parts, *_logs(cluster)])


def _table(cluster: Cluster, name: str) -> Iterator[str]:
    played = set(cluster.tasks) | {task for task, _ in cluster.standing}
    for row, values in enumerate(cluster.trace.table(name).to_pylist()):
        task = {"tasks": row, "attempts": values.get("task")}.get(name)
        if task is None or task in played:
            known = ", ".join(f"{key} {x}" for key, x in values.items() if x is not None)
            yield f"  {row}: {known}"


def _logs(cluster: Cluster) -> list[str]:
    """Both logs, played as far as both go."""
    try:
        sims = _both(cluster)
    except Exception as error:  # shown as the complaint
        return [f"no logs: {error!r}"]
    policy = _policy(cluster)
    try:
        while sims[0].decision is not None and sims[1].decision is not None:
            action = policy(sims[0].mask)
            for sim in sims:
                sim.step(action)
    except Exception as error:  # shown as the complaint
        return [f"logs until {error!r}", *_side_by_side(*(log_text(sim.log) for sim in sims))]
    return _side_by_side(*(log_text(sim.log) for sim in sims))


def _side_by_side(slow: Sequence[str], fast: Sequence[str]) -> list[str]:
    width = max(map(len, slow), default=10) + 2
    size = max(len(slow), len(fast))
    left, right = (list(x) + [""] * (size - len(x)) for x in (slow, fast))
    lines = [
        f"  {a:{width}}" + ("" if a == b else f"| {b}") for a, b in zip(left, right, strict=True)
    ]
    return ["reference | kernel, where it differs", *lines]


def main() -> None:
    """Compare many clusters; report the first few that differ, shrunk."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=50_000)
    parser.add_argument("--minutes", type=float, default=inf, help="end after so many")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--reports", type=int, default=1, help="stop after so many differences")
    parser.add_argument("--no-shrink", action="store_true")
    parser.add_argument("--decisions", type=int, help="of a cluster, at most; all by default")
    parser.add_argument("--kind", choices=KINDS, action="append", help="all by default")
    args = parser.parse_args()
    began, differing, decisions, played = time.monotonic(), 0, 0, 0
    refused = Counter[str]()
    seeds = range(args.first, args.first + args.worlds)
    for seed, kind in product(seeds, args.kind or KINDS):
        if time.monotonic() - began > 60.0 * args.minutes or differing >= args.reports:
            break
        try:
            decisions += compare_seed(kind, seed, args.decisions)
        except RefusedError as error:
            refused[re.sub(r"-?\d[\d.e+-]*", "#", str(error))] += 1
            continue
        except Exception as error:
            differing += 1
            print(f"seed {seed}, {kind}: {type(error).__name__}: {str(error)[:300]}", flush=True)
            cluster = KINDS[kind](seed)
            print(report(cluster if args.no_shrink else shrink(cluster)), flush=True)
        played += 1
        if played % 500 == 0:
            rate = played / (time.monotonic() - began)
            print(f"{played} clusters, {decisions} decisions, {rate:.0f}/s", flush=True)
    print(f"{played} clusters, {decisions} decisions")
    for why, clusters in refused.most_common():
        print(f"{clusters} refused: {why}")
    raise SystemExit(f"{differing} clusters differ" if differing else 0)


if __name__ == "__main__":
    main()
