"""Nothing of the future leaks: editing what is to come changes no observation, mask or offer.

Where machines are offered only outages are edited: run times are known there. Nor is a task held:
one for which all machines were refused waits as long as an outage is to come (rule 10).

What is known beforehand is held: forecasts, predictions, the requests of tasks, the compute times
of a workflow (`rank_hybd`), the run times that `estimator="oracle"` tells (and "user" where no job
requests a walltime), and what `beyond_record="paper"` makes of a recorded success. Run times that
are drawn because the cluster ended the attempt are drawn from the whole trace: the traces here have
none of them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from failgym.sim.scheduled import ScheduledSimulator
from failgym.sim.shared.fields import INDEX
from failgym.traces import Cause, Outcome, Trace
from failgym.traces.schema import make_table
from failgym.vocabulary import Action, Event, SimOutcome
from tests.sim.random_worlds import random_policy
from tests.sim.scheduled.random_clusters import Cluster, random_cluster
from tests.sim.scheduled.recount import outages_of

FATES = [(Outcome.FINISH, None), (Outcome.FAIL, Cause.INTRINSIC), (Outcome.FAIL, Cause.SHARED)]
LATENT_CAUSES = (Cause.MACHINE, Cause.PREEMPTION, Cause.REQUEUE, Cause.WALLTIME, Cause.USER)
SHORTEST = 20
"""Decisions of an episode that is worth editing."""


def plain_cluster(seed: int) -> Cluster | None:
    """A random cluster of known run times whose rules tell nothing of the future, if it is one."""
    cluster = random_cluster(seed)
    if cluster.rules.scheduler == "rank_hybd" or cluster.trace.rows("costs"):
        return None
    attempts = cluster.trace.table("attempts").to_pydict()
    for i, start in enumerate(attempts["start"]):
        outcome, cause = attempts["outcome"][i], attempts["cause"][i]
        latent = outcome in (Outcome.EVICT, Outcome.LOST) or cause in LATENT_CAUSES
        if start is not None and (latent or outcome == Outcome.CENSORED):
            attempts["outcome"][i], attempts["cause"][i] = int(Outcome.FAIL), int(Cause.INTRINSIC)
        elif start is None:
            attempts["outcome"][i], attempts["cause"][i] = int(Outcome.KILL), int(Cause.REQUEUE)
        attempts["length"][i] = None
    if not cluster.trace.present("jobs", "walltime").any():
        return None
    estimator = "user" if cluster.rules.estimator == "oracle" else cluster.rules.estimator
    rules = replace(cluster.rules, estimator=estimator, beyond_record="ghost")
    return _with(replace(cluster, rules=rules), attempts=make_table("attempts", attempts))


def _with(cluster: Cluster, **tables: Any) -> Cluster:
    """The cluster with other tables, and the forecast held."""
    old = cluster.trace
    names = ("jobs", "tasks", "attempts", "windows", "machines", "outages", "stages", "stage_edges")
    trace = Trace(old.meta, **({name: old.table(name) for name in names} | tables))
    forecast = replace(cluster.context.forecast, trace_hash=trace.content_hash)
    return replace(cluster, trace=trace, context=replace(cluster.context, forecast=forecast))


def play(cluster: Cluster, steps: int, *, hold: bool = True) -> tuple[Any, list[Any]]:
    """Play so many decisions; the simulator, and what was seen at each.

    Args:
        hold: may the last machine be refused?
    """
    sim = cluster.simulator(ScheduledSimulator)
    policy = random_policy(np.random.default_rng(cluster.seed + 3))
    cluster.start(sim)
    seen: list[Any] = []
    while sim.decision is not None:
        seen.append((tuple(sim.decision), sim.offered, sim.mask, sim.observe().tobytes()))
        if len(seen) > steps:
            break
        action, last = policy(sim.mask), sim.observe()[INDEX["next_time"]] == 0.0
        sim.step(Action.CONTINUE if last and sim.offered >= 0 and not hold else action)
    return sim, seen


def edited(cluster: Cluster, sim: Any, rng: np.random.Generator) -> Cluster:
    """Another future: attempts that have not ended run longer and fare otherwise, other outages."""
    attempts = make_table("attempts", _other_attempts(cluster, sim, rng))
    outages = make_table("outages", _other_outages(cluster, sim.decision.time, rng))
    return _with(cluster, attempts=attempts, outages=outages)


def _other_attempts(cluster: Cluster, sim: Any, rng: np.random.Generator) -> dict[str, Any]:
    trace = cluster.trace
    columns = trace.table("attempts").to_pydict()
    numbers = np.diff(trace.task_first)
    cut_off = (SimOutcome.LOST, SimOutcome.EVICT)
    ended = {
        (entry.task, entry.number)
        for entry in sim.log
        if entry.kind == Event.END and entry.detail not in cut_off
    }
    # An end keyed to saved progress, or one that a ghost has shown, is not for us to change.
    fixed = {x.task for x in sim.outcomes() if x.checkpoints}
    fixed |= {task for task, number in ended if number >= numbers[task]}
    for i, task in enumerate(columns["task"]):
        number = i - int(trace.task_first[task])
        if columns["start"][i] is None or task in fixed or (task, number) in ended:
            continue
        columns["end"][i] += int(rng.integers(1, 300))
        outcome, cause = FATES[int(rng.integers(len(FATES)))]
        columns["outcome"][i], columns["cause"][i] = int(outcome), cause
    return columns


def _other_outages(cluster: Cluster, now: int, rng: np.random.Generator) -> dict[str, Any]:
    """Those that have begun by now, ending later if they have not ended, and new ones after."""
    table: dict[str, Any] = {"machine": [], "down": [], "up": []}
    for machine, outages in enumerate(outages_of(cluster.trace, cluster.rules)):
        free_from = now
        for down, up in outages:
            if down <= now:
                table["machine"].append(machine)
                table["down"].append(down)
                later = up > now and not cluster.rules.replace
                table["up"].append(now + 1 + int(rng.integers(0, 300)) if later else up)
                free_from = max(free_from, table["up"][-1])
        for _ in range(int(rng.integers(0, 3))):
            down = free_from + 1 + int(rng.integers(0, 300))
            table["machine"].append(machine)
            table["down"].append(down)
            free_from = down + int(rng.integers(1, 100))
            table["up"].append(free_from)
    return table


@pytest.mark.parametrize(
    "chunk",
    [*range(2), *(pytest.param(n, marks=pytest.mark.campaign) for n in range(2, 8))],
)
def test_editing_the_future_changes_nothing_seen(chunk: int) -> None:
    compared = 0
    for seed in range(300_000 + chunk * 40, 300_000 + (chunk + 1) * 40):
        cluster = plain_cluster(seed)
        if cluster is None:
            continue
        rng = np.random.default_rng(seed)
        sim, seen = play(cluster, int(rng.integers(0, 3 * SHORTEST)))
        if sim.decision is None:
            continue
        other = edited(cluster, sim, rng)
        assert other.trace.content_hash != cluster.trace.content_hash
        _, again = play(other, len(seen) - 1)
        assert again == seen, seed
        compared += 1
    assert compared > 2


@pytest.mark.parametrize(
    "chunk",
    [*range(1), *(pytest.param(n, marks=pytest.mark.campaign) for n in range(1, 2))],
)
def test_offers_tell_nothing_of_outages_to_come(chunk: int) -> None:
    compared = 0
    for seed in range(400_000 + chunk * 200, 400_000 + (chunk + 1) * 200):
        cluster = random_cluster(seed)
        if not cluster.rules.place or cluster.trace.rows("costs"):
            continue
        rng = np.random.default_rng(seed)
        sim, seen = play(cluster, int(rng.integers(0, SHORTEST)), hold=False)
        if sim.decision is None:
            continue
        outages = make_table("outages", _other_outages(cluster, sim.decision.time, rng))
        other = _with(cluster, outages=outages)
        _, again = play(other, len(seen) - 1, hold=False)
        assert again == seen, seed
        compared += any(offered >= 0 for _, offered, *_ in seen)
    assert compared > 2
