"""Jobs after Kumar et al., the hazards that they run into, and every requeue that follows.

Times are seconds (float) while the runs are made, milliseconds (int) in the trace. A job's own end
is what it would come to without failures of the system: success, its own fault, a kill by its
user, its walltime, or no memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from failgym.traces.schema import LATEST
from failgym.traces.synthetic.hazard import Hazard, shared_hazard
from failgym.traces.synthetic.kumar_applications import Habits, Rows
from failgym.traces.synthetic.kumar_requests import environments, memory_of, nodes_of, walltimes
from failgym.traces.synthetic.profiles.kumar import Environment, Kumar, Runs
from failgym.traces.synthetic.quantiles import (
    Floats,
    Ints,
    QuantileTable,
    evenly,
    normal_score,
    quotas,
    stratified,
)
from failgym.traces.synthetic.ranges import within_reach
from failgym.vocabulary import SECOND, Cause

SUCCESS, USER, SIGNAL, WALLTIME, MEMORY = 0, 1, 2, 3, 4
"""A job's own end; SIGNAL is Kumar et al.'s category "user or system"."""
SYSTEM = MEMORY
"""The exit category of failures of the system, and of jobs that run out of memory."""
ROUNDS = 4
"""How often what depends on each other is corrected."""
LEAST_FACTOR = 0.25
"""Least factor that run times are scaled by."""
LONG = 600.0
"""Only what runs take beyond this is scaled [s]."""


@dataclass(frozen=True)
class Jobs:
    """One entry per job; times in seconds."""

    submit: Floats
    start: Floats  # of the first run
    environment: Ints
    nodes: Ints
    memory: Floats | None  # requested, of a node's
    own_end: Ints
    run: Floats  # from a start to the own end
    length: Floats
    walltime: Floats
    first_failure: Floats  # age of the first run at its system failure; infinite without one
    hazard: Hazard  # of each job, in all of its runs
    span: float  # end of the data


@dataclass(frozen=True)
class Attempts:
    """One entry per attempt, in order of (job, number); times in seconds."""

    job: Ints
    queued: Floats
    start: Floats
    end: Floats
    cause: Ints  # of the system's failure; -1 for the own end


@dataclass(frozen=True)
class Scale:
    """Scales the long runs of an environment, so that node-seconds are as published by own end.

    Runs that meet their walltime stay, so that walltimes stay round; the others are scaled to them,
    or to the environments before.
    """

    environment: Environment
    most: float  # node-seconds
    longest: float  # [s]
    nodes: Ints  # of each job
    before: float | None  # node-seconds of a percent

    def share(self, own_end: Ints, run: Floats) -> float | None:
        """The node-seconds that stand for one percent."""
        if self.before is not None or self.environment.exit_node_seconds is None:
            return self.before
        met = own_end == WALLTIME
        return float((run * self.nodes)[met].sum()) / self.environment.exit_node_seconds[-1]

    def scaled(self, own_end: Ints, run: Floats, wanted: Floats | None = None) -> Floats:
        """The run times [s] scaled, but for the first `LONG` seconds of each.

        To the node-seconds `wanted` of each end; by default to those of the environment, if any.
        """
        most = np.minimum(self.longest, self.most / self.nodes)
        run = np.minimum(run, most)
        if wanted is None:
            share = self.share(own_end, run)
            if share is None or self.environment.exit_node_seconds is None:
                return run
            wanted = np.array([*self.environment.exit_node_seconds, 0.0]) * share
        for _ in range(2):
            beyond = np.maximum(run - LONG, 0.0)
            short = np.bincount(own_end, (run - beyond) * self.nodes, len(wanted))
            long = np.bincount(own_end, beyond * self.nodes, len(wanted))
            factor = np.clip((wanted - short) / np.maximum(long, 1.0), 0.25, 4.0)
            factor[[WALLTIME, MEMORY]] = 1.0
            run = np.minimum(run + beyond * (factor - 1.0)[own_end], most)
        return run


def span_of(profile: Kumar, n: int) -> float:
    """How long `n` jobs take to come [s]."""
    span = n / (profile.jobs_per_day * profile.sampling) * 86_400.0
    within_reach(span * SECOND)
    return span


def draw_jobs(
    profile: Kumar, n: int, rng: np.random.Generator, habits: Habits | None = None
) -> Jobs:
    """`n` jobs in order of submission, with their first runs.

    Which job has what is drawn, unless there are `habits`, which put the jobs in order.
    """
    span = span_of(profile, n)
    shared = shared_hazard(profile, span, rng)
    submit = np.sort(rng.random(n)) * span if habits is None else habits.submit
    start = submit + profile.queue_minutes.sample(rng, n) * 60.0
    environment = environments(profile, n, rng) if habits is None else habits.environment
    nodes = np.ones(n, dtype=np.int64)
    wide = np.flatnonzero(np.array([e.multi for e in profile.environments])[environment])
    nodes[wide] = nodes_of(profile, wide, rng, habits)
    memory = memory_of(profile, n, rng, habits) if profile.requests_memory else None
    hazard = Hazard.of(profile, shared, nodes, np.zeros(n) if memory is None else memory)
    own_end = np.empty(n, dtype=np.int64)
    luck = stratified(rng, n) if habits is None else habits.uniform(habits.failure, rng)
    run, threshold = np.empty(n), -np.log1p(-luck)
    factor, exposure, share = np.empty(n), np.empty(n), None
    for number in _in_order(profile.environments):
        e = profile.environments[number]
        here = np.flatnonzero(environment == number)
        if len(here):
            scale = Scale(
                e, profile.longest / SECOND, profile.walltime_limit / SECOND, nodes[here], share
            )
            own_end[here], run[here], exposure[here], factor[here] = _first_runs(
                e,
                scale,
                hazard.rows(here),
                start[here],
                threshold[here],
                rng,
                None if habits is None else habits.rows(here),
            )
            share = scale.share(own_end[here], run[here])
    hazard = hazard.exposed(exposure).scaled(factor)
    first_failure = hazard.age(start, threshold, run)
    length = run * np.exp(np.where(own_end == SUCCESS, 0.0, rng.exponential(profile.beyond_end, n)))
    length = np.minimum(length, LATEST / SECOND)
    walltime = walltimes(profile, length, run, rng, habits)
    walltime = np.minimum(walltime, profile.walltime_limit / SECOND)
    walltime = np.where(own_end == WALLTIME, run, np.maximum(walltime, run))
    return Jobs(
        submit,
        start,
        environment,
        nodes,
        memory,
        own_end,
        run,
        length,
        walltime,
        first_failure,
        hazard,
        span,
    )


def _in_order(environments: Sequence[Environment]) -> list[int]:
    """The environments, first the one whose jobs at their walltime set the node-seconds of others.

    That is the one with the most such node-seconds: chance moves them least.
    """
    met = [e.exit_node_seconds[-1] if e.exit_node_seconds else 0.0 for e in environments]
    return sorted(range(len(environments)), key=lambda number: -met[number])


def _first_runs(
    environment: Environment,
    scale: Scale,
    hazard: Hazard,
    start: Floats,
    threshold: Floats,
    rng: np.random.Generator,
    habits: Rows | None = None,
) -> tuple[Ints, Floats, float, float]:
    """Own ends, run times [s], exposure to shared hazards and hazard factor in one environment.

    A first run fails if its accumulated hazard, times the factor, reaches its threshold: so the
    factor is the order statistic of threshold / hazard at the published share of system failures.
    The system hits long jobs, hence some ends more than others: the shares of own ends are raised
    by what it took from each, until those of the other exits are as published.
    """
    n, total = len(start), sum(environment.exits)
    success, system, *others = environment.exits
    memory = environment.out_of_memory
    published = np.array([success, *others, memory]) / total
    failures = round((system - memory) / total * n)
    if habits is not None:
        order = habits.in_order(scale.nodes, stratified=environment.multi)
    elif environment.exit_node_seconds is None:
        order = rng.permutation(n)
    else:  # every exit has wide jobs and narrow ones
        order = np.argsort(scale.nodes, kind="stable")[evenly(rng, n)]
    score = normal_score(stratified(rng, n))
    own_end, run, exposure, factor = np.zeros(n, dtype=np.int64), np.ones(n), 1.0, 0.0
    taken = failures * published / published.sum()
    for _ in range(ROUNDS):
        counts = quotas((published * n + taken).tolist(), n)
        own_end[order] = np.repeat(np.arange(len(counts)), counts)
        if habits is None:
            run = scale.scaled(own_end, _run_times(environment, own_end, score))
        else:
            run = _run_times(environment, own_end, habits.scores(own_end))
            run = scale.scaled(own_end, run, _wanted(environment, scale, own_end, run))
        own, common = hazard.own(run), hazard.common(start, run)
        exposure = _exposure(environment.shared_part, own, common)
        ratio = threshold / (hazard.factor * (own + exposure * common))
        hit = np.argsort(ratio, kind="stable")[:failures]
        if failures:
            factor = float(ratio[hit[-1]]) * (1 + 1e-9)
        taken = np.bincount(own_end[hit], minlength=len(counts)).astype(np.float64)
    return own_end, run, exposure, factor


def _wanted(environment: Environment, scale: Scale, own_end: Ints, run: Floats) -> Floats | None:
    """Node-seconds of each end as if nodes and run times were drawn apart, job by job.

    What runs that meet their walltime have too many, the others have too few, so that the
    environment has what it would. None where the environment says what ends have.
    """
    if environment.exit_node_seconds is not None:
        return None
    score = np.empty(len(own_end))
    for end in np.unique(own_end):
        here = np.flatnonzero(own_end == end)
        score[here] = normal_score((np.arange(len(here)) + 0.5) / len(here))
    apart: Floats = np.minimum(_run_times(environment, own_end, score), scale.longest)
    time = np.bincount(own_end, weights=apart, minlength=MEMORY + 1) * float(scale.nodes.mean())
    met = float((run * scale.nodes)[own_end == WALLTIME].sum())
    others = float(time.sum() - time[WALLTIME])
    factor = (others + float(time[WALLTIME]) - met) / max(others, 1.0)
    return np.asarray(time * max(factor, LEAST_FACTOR), dtype=np.float64)


def _exposure(part: float | None, own: Floats, common: Floats) -> float:
    """The exposure that makes the shared hazard this part of the whole."""
    total = float(common.sum())
    if part is None or total == 0:
        return 1.0
    return part / (1 - part) * float(own.sum()) / total


def _run_times(environment: Environment, own_end: Ints, score: Floats) -> Floats:
    """Run times [s] at normal scores, by own end."""
    runs = environment.runs
    tables = (runs.success, runs.user, runs.signal, _walltimes(runs), runs.user)
    run = np.empty(len(score))
    for end, table in enumerate(tables):
        here = own_end == end
        run[here] = table.at_score(score[here])
    scaled = run * environment.runtime
    scaled[own_end == WALLTIME] /= environment.runtime
    return scaled


@cache
def _walltimes(runs: Runs) -> QuantileTable:
    """The walltimes that are met, as a table that is nearly a step function."""
    shares = np.cumsum(runs.walltime_shares) / sum(runs.walltime_shares)
    points: list[tuple[float, float]] = []
    before = 1e-4
    for hours, share in zip(runs.walltimes, shares.tolist(), strict=True):
        upto = min(share, 1 - 1e-4)
        points += [(before, hours * 3_600.0), (upto - 1e-4, hours * 3_600.0)]
        before = upto
    return QuantileTable(tuple(points), high=runs.walltimes[-1] * 3_600.0)


def draw_attempts(profile: Kumar, job: Jobs, rng: np.random.Generator) -> Attempts:
    """All runs: after a failure of the system the job starts again, until its own end."""
    active = np.arange(len(job.run))
    queued, start, failure = job.submit, job.start, job.first_failure
    parts: list[Attempts] = []
    for requeues in range(profile.most_requeues + 1):
        if requeues == profile.most_requeues:
            failure = np.full(len(active), np.inf)
        failed = np.isfinite(failure)
        end = start + np.where(failed, failure, job.run[active])
        hazard = job.hazard.rows(active)
        share = hazard.shared_share(start, end - start)
        shared = rng.random(len(active)) < share
        cause = np.where(failed, np.where(shared, Cause.SHARED, Cause.MACHINE), -1)
        parts.append(Attempts(active, queued, start, end, cause))
        going = failed & (end <= job.span)
        active, queued = active[going], end[going]
        if not len(active):
            break
        start = queued + profile.requeue_minutes.sample(rng, len(active)) * 60.0
        threshold = rng.standard_exponential(len(active))
        failure = job.hazard.rows(active).age(start, threshold, job.run[active])
    order = np.argsort(np.concatenate([part.job for part in parts]), kind="stable")
    columns = (
        np.concatenate([getattr(part, name) for part in parts])[order]
        for name in ("job", "queued", "start", "end", "cause")
    )
    return Attempts(*columns)
