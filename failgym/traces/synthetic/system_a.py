"""The system-a generator: jobs, the hazards that they run into, and every requeue that follows.

Times are seconds (float) while the runs are made, milliseconds (int) in the trace. A job's own end
is what it would come to without failures of the system: success, its own fault, a kill by its
user, its walltime.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from failgym.traces.schema import Cause, Outcome
from failgym.traces.synthetic.hazard import Hazard, Shared, shared_hazard
from failgym.traces.synthetic.profiles import DAY, SECOND, SystemA
from failgym.traces.synthetic.quantiles import (
    Flags,
    Floats,
    Ints,
    QuantileTable,
    allot,
    normal_score,
    quotas,
    stratified,
)
from failgym.traces.synthetic.tables import in_order
from failgym.traces.trace import Meta, Trace

SUCCESS, USER, SIGNAL, WALLTIME = 0, 1, 2, 3
"""A job's own end; SIGNAL is Kumar et al.'s category "user or system"."""
CATEGORIES = ("success", "user", "user/system", "walltime", "system")
"""Exit categories of first runs, in the order of the own ends; then failures of the system."""
OUTCOMES = (Outcome.FINISH, Outcome.FAIL, Outcome.KILL, Outcome.KILL)
CAUSES = (-1, Cause.INTRINSIC, Cause.USER, Cause.WALLTIME)
EXIT_CODES = (0, 1, 271, -11)
"""What TORQUE logs for each own end; 271 is 256 + SIGTERM."""
EXIT_SHARED = 107
"""Exit code of jobs that lost their file system (Kumar et al., section V-C)."""


@dataclass(frozen=True)
class Jobs:
    """One entry per job; times in seconds."""

    submit: Floats
    start: Floats  # of the first run
    environment: Ints
    nodes: Ints
    user: Ints
    memory: Floats  # requested, of a node's
    own_end: Ints
    run: Floats  # from a start to the own end
    length: Floats
    walltime: Floats
    first_failure: Floats  # age of the first run at its system failure; infinite without one
    hazard: Hazard  # of each job, in all of its runs
    span: float  # end of the data


@dataclass(frozen=True)
class Runs:
    """One entry per attempt, in order of (job, number); times in seconds."""

    job: Ints
    queued: Floats
    start: Floats
    end: Floats
    cause: Ints  # of the system's failure; -1 for the own end


def generate_system_a(profile: SystemA, jobs: int, rng: np.random.Generator) -> Trace:
    """A trace of `jobs` jobs after the profile."""
    span = jobs / (profile.jobs_per_day * profile.sampling) * 86_400.0
    shared = shared_hazard(profile, span, rng)
    job = _jobs(profile, jobs, span, shared, rng)
    return _trace(profile, job, _runs(profile, job, rng))


def _jobs(profile: SystemA, n: int, span: float, shared: Shared, rng: np.random.Generator) -> Jobs:
    submit = np.sort(rng.random(n)) * span
    start = submit + profile.queue_minutes.sample(rng, n) * 60.0
    environment = allot(rng, [e.jobs for e in profile.environments], n)
    nodes = np.ones(n, dtype=np.int64)
    wide = np.flatnonzero(np.array([e.multi for e in profile.environments])[environment])
    nodes[wide] = np.rint(profile.multi_nodes.sample(rng, len(wide)))
    user = (rng.random(n) ** profile.user_skew * profile.users).astype(np.int64)
    habit = rng.beta(1.2, 2.5, profile.users)[user]  # jobs of a user request alike
    memory = np.clip(habit + 0.1 * rng.standard_normal(n), 0.01, 1.0)
    hazard = Hazard.of(profile, shared, nodes, memory)
    own_end = np.empty(n, dtype=np.int64)
    run, threshold = np.empty(n), -np.log1p(-stratified(rng, n))
    factor = np.empty(n)
    for number in range(len(profile.environments)):
        here = np.flatnonzero(environment == number)
        if len(here):
            own_end[here], run[here], factor[here] = _first_runs(
                profile, number, hazard.rows(here), start[here], threshold[here], rng
            )
    hazard = hazard.scaled(factor)
    first_failure = hazard.age(start, threshold, run)
    length = run * np.exp(np.where(own_end == SUCCESS, 0.0, rng.exponential(profile.beyond_end, n)))
    walltime = np.ceil(profile.overestimate.sample(rng, n) * length / 60.0) * 60.0
    walltime = np.minimum(walltime, profile.walltime_limit / SECOND)
    walltime = np.where(own_end == WALLTIME, run, np.maximum(walltime, run))
    return Jobs(
        submit,
        start,
        environment,
        nodes,
        user,
        memory,
        own_end,
        run,
        length,
        walltime,
        first_failure,
        hazard,
        span,
    )


def _first_runs(
    profile: SystemA,
    number: int,
    hazard: Hazard,
    start: Floats,
    threshold: Floats,
    rng: np.random.Generator,
) -> tuple[Ints, Floats, float]:
    """Own ends, run times [s] and the factor of the hazard in one environment.

    A first run fails if its accumulated hazard, times the factor, reaches its threshold: so the
    factor is the order statistic of threshold / hazard at the published share of system failures.
    The system hits long jobs, hence some ends more than others: the shares of own ends are raised
    by what it took from each, until those of the other exits are as published.
    """
    environment, n = profile.environments[number], len(start)
    success, system, *others = environment.exits
    published = np.array([success, *others]) / sum(environment.exits)
    failures = round(system / sum(environment.exits) * n)
    order, score = rng.permutation(n), normal_score(stratified(rng, n))
    own_end, run, factor = np.zeros(n, dtype=np.int64), np.ones(n), 0.0
    taken = failures * published / published.sum()
    for _ in range(4):
        counts = quotas((published * n + taken).tolist(), n)
        own_end[order] = np.repeat(np.arange(4), counts)
        run = _run_times(profile, own_end, score) * environment.runtime
        run[own_end == WALLTIME] /= environment.runtime
        ratio = threshold / hazard.accumulated(start, run)
        hit = np.argsort(ratio, kind="stable")[:failures]
        if failures:
            factor = float(ratio[hit[-1]]) * (1 + 1e-9)
        taken = np.bincount(own_end[hit], minlength=4).astype(np.float64)
    return own_end, run, factor


def _run_times(profile: SystemA, own_end: Ints, score: Floats) -> Floats:
    """Run times [s] at normal scores: within each own end, the scores are ranked anew."""
    tables = (profile.run_success, profile.run_user, profile.run_signal, _walltimes(profile))
    run = np.empty(len(score))
    for end, table in enumerate(tables):
        here = own_end == end
        run[here] = table.at_score(score[here])
    return run


def _walltimes(profile: SystemA) -> QuantileTable:
    """The walltimes that are met, as a table that is nearly a step function."""
    shares = np.cumsum(profile.walltime_shares) / sum(profile.walltime_shares)
    points: list[tuple[float, float]] = []
    before = 1e-4
    for hours, share in zip(profile.walltimes, shares.tolist(), strict=True):
        upto = min(share, 1 - 1e-4)
        points += [(before, hours * 3_600.0), (upto - 1e-4, hours * 3_600.0)]
        before = upto
    return QuantileTable(tuple(points), high=profile.walltimes[-1] * 3_600.0)


def _runs(profile: SystemA, job: Jobs, rng: np.random.Generator) -> Runs:
    """All runs: after a failure of the system the job starts again, until its own end."""
    active = np.arange(len(job.run))
    queued, start, failure = job.submit, job.start, job.first_failure
    parts: list[Runs] = []
    for requeues in range(profile.most_requeues + 1):
        if requeues == profile.most_requeues:
            failure = np.full(len(active), np.inf)
        failed = np.isfinite(failure)
        end = start + np.where(failed, failure, job.run[active])
        hazard = job.hazard.rows(active)
        share = hazard.shared_share(start, end - start)
        shared = rng.random(len(active)) < share
        cause = np.where(failed, np.where(shared, Cause.SHARED, Cause.MACHINE), -1)
        parts.append(Runs(active, queued, start, end, cause))
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
    return Runs(*columns)


def _trace(profile: SystemA, job: Jobs, runs: Runs) -> Trace:
    span = int(job.span * SECOND)
    queued, start, end = (_milliseconds(x) for x in (runs.queued, runs.start, runs.end))
    length = _milliseconds(job.length)[runs.job]
    own = runs.cause < 0
    finished = own & (job.own_end == SUCCESS)[runs.job]
    end = np.minimum(np.where(finished, start + length, end), start + length)
    outcome = np.where(own, np.array(OUTCOMES)[job.own_end][runs.job], Outcome.FAIL)
    cause = np.where(own, np.array(CAUSES)[job.own_end][runs.job], runs.cause)
    code = np.where(own, np.array(EXIT_CODES)[job.own_end][runs.job], EXIT_SHARED)
    seen, cut = queued <= span, end > span
    outcome[cut], cause[cut] = Outcome.CENSORED, -1
    return in_order(
        Meta(
            source=f"synthetic: {profile.name}",
            licence="MIT",
            citation="Calibrated to Kumar et al., DSN 2020",
            time_origin=f"synthetic; {span / DAY:.2f} days",
            end=span,
        ),
        jobs=_job_columns(profile, job, runs, outcome, cut, seen),
        tasks={
            "job": np.arange(len(job.run)),
            "index": np.zeros(len(job.run), dtype=np.int64),
            "width": job.nodes,
            "memory": job.memory,
        },
        attempts={
            "task": runs.job,
            "queued": queued,
            "start": np.ma.array(start, mask=start > span),
            "end": np.minimum(end, span),
            "outcome": outcome,
            "cause": np.ma.array(cause, mask=cause < 0),
            "exit_code": np.ma.array(code, mask=cut | (runs.cause == Cause.MACHINE)),
            "length": length,
        },
        seen=seen,
    )


def _job_columns(
    profile: SystemA, job: Jobs, runs: Runs, outcome: Ints, cut: Flags, seen: Flags
) -> dict[str, Any]:
    last = np.zeros(len(job.run), dtype=np.int64)
    last[runs.job[seen]] = outcome[seen]  # the last run of each job stays
    first = np.flatnonzero(np.diff(runs.job, prepend=-1))
    category = np.where(np.isfinite(job.first_failure), len(CATEGORIES) - 1, job.own_end)
    known = ~cut[first]
    environments = profile.environments
    queues = [environment.name for environment in environments]
    return {
        "original_id": [f"{number:09d}" for number in range(len(job.run))],
        "user": [f"u{number:03d}" for number in job.user.tolist()],
        "queue": [queues[number] for number in job.environment.tolist()],
        "shared": np.array([e.shared for e in environments])[job.environment],
        "submit": _milliseconds(job.submit),
        "scheduling_class": job.environment,
        "walltime": _milliseconds(job.walltime),
        "width": 1,
        "outcome": last,
        "exit_category": [
            CATEGORIES[code] if ended else None
            for code, ended in zip(category.tolist(), known.tolist(), strict=True)
        ],
    }


def _milliseconds(seconds: Floats) -> Ints:
    return np.rint(seconds * SECOND).astype(np.int64)
