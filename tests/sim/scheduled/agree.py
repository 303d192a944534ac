"""Compares the kernel with the reference on random clusters, as many as wanted:

python -m tests.sim.scheduled.agree --worlds 50000
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, fields, replace
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
from tests.sim.random_worlds import random_policy
from tests.sim.scheduled.golden import log_text
from tests.sim.scheduled.random_clusters import Cluster, random_cluster

DEFAULTS = ScheduledRules()
MOST_DECISIONS = 100_000
SUMMED = 4
"""One in so many clusters is summed after every event; all of them at every decision."""


def compare(cluster: Cluster, at_most: int | None = None) -> int:
    """Play one cluster in both, or its first decisions; return how many they agreed on.

    Raises AssertionError where they differ.
    """
    slow, fast = _both(cluster)
    policy = random_policy(np.random.default_rng(cluster.seed + 1))
    decisions = 0
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
        assert close(rewards[1], rewards[0]), f"reward {rewards}"
        assert all_close(fast.terms, slow.terms), f"terms {fast.terms} {slow.terms}"
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
    policy = random_policy(np.random.default_rng(cluster.seed + 1))
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
    args = parser.parse_args()
    began, differing, decisions = time.monotonic(), 0, 0
    for count, seed in enumerate(range(args.first, args.first + args.worlds), 1):
        if time.monotonic() - began > 60.0 * args.minutes:
            break
        try:
            decisions += compare(random_cluster(seed), args.decisions)
        except Exception as error:
            differing += 1
            print(f"seed {seed}: {type(error).__name__}: {str(error)[:300]}", flush=True)
            if differing <= args.reports:
                cluster = random_cluster(seed)
                print(report(cluster if args.no_shrink else shrink(cluster)), flush=True)
            if differing >= args.reports:
                break
        if count % 500 == 0:
            rate = count / (time.monotonic() - began)
            print(f"{count} clusters, {decisions} decisions, {rate:.0f}/s", flush=True)
    raise SystemExit(f"{differing} clusters differ" if differing else 0)


if __name__ == "__main__":
    main()
