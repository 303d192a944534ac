"""The generator after Kumar et al.: the trace of jobs and attempts, users, machines and usage."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from failgym.traces.synthetic.kumar_applications import Habits, draw_habits
from failgym.traces.synthetic.kumar_jobs import (
    MEMORY,
    SUCCESS,
    SYSTEM,
    Attempts,
    Jobs,
    draw_attempts,
    draw_jobs,
    span_of,
)
from failgym.traces.synthetic.kumar_usage import Measured, window_columns
from failgym.traces.synthetic.outages import domains, draw_outages
from failgym.traces.synthetic.profiles.kumar import Kumar
from failgym.traces.synthetic.quantiles import Flags, Floats, Ints
from failgym.traces.synthetic.sessions import Dealt, deal
from failgym.traces.synthetic.tables import identifiers, in_order, meta_of, texts
from failgym.traces.tables import Meta
from failgym.traces.trace import Trace
from failgym.vocabulary import SECOND, Cause, Outcome

CATEGORIES = ("success", "user", "user/system", "walltime", "system")
"""Exit categories of first runs, in the order of the own ends."""
OUTCOMES = (Outcome.FINISH, Outcome.FAIL, Outcome.KILL, Outcome.KILL, Outcome.FAIL)
CAUSES = (-1, Cause.INTRINSIC, Cause.USER, Cause.WALLTIME, Cause.INTRINSIC)
EXIT_CODES = (0, 1, 271, -11, 137)
"""What TORQUE logs for each own end; 271 is 256 + SIGTERM, 137 is 128 + SIGKILL."""


def generate_kumar(
    profile: Kumar,
    jobs: int,
    rng: np.random.Generator,
    usage_rng: np.random.Generator | None = None,
) -> Trace:
    """A trace of `jobs` jobs after the profile, with usage windows if there is a `usage_rng`."""
    habits = None
    if profile.applications is not None:
        span = span_of(profile, jobs)
        habits = draw_habits(profile, profile.applications, jobs, span, _stream(rng, 4))
    job = draw_jobs(profile, jobs, rng, habits)
    runs = draw_attempts(profile, job, rng)
    dealt = _dealt(profile, job, habits, _stream(rng, 1))
    full = _out_of_memory(profile, job, runs, _stream(rng, 3))
    return _trace(profile, job, runs, dealt, full, _stream(rng, 2), usage_rng)


def _stream(rng: np.random.Generator, number: int) -> np.random.Generator:
    """A stream beside `rng`, the same however much was drawn from it."""
    parent = cast(np.random.SeedSequence, rng.bit_generator.seed_seq)
    seeds = np.random.SeedSequence(parent.entropy, spawn_key=(*parent.spawn_key, number))
    return np.random.Generator(np.random.PCG64(seeds))


def _dealt(profile: Kumar, job: Jobs, habits: Habits | None, rng: np.random.Generator) -> Dealt:
    """The sittings of habits, or sessions that jobs are dealt to."""
    if habits is None:
        return deal(profile.sessions, job.run, job.environment, rng)
    return Dealt(habits.sitting, habits.user, habits.application, habits.level)


def _out_of_memory(profile: Kumar, job: Jobs, runs: Attempts, rng: np.random.Generator) -> Flags:
    """The attempts that run out of memory: by themselves, or as a failure of the machine."""
    share = np.array([e.usage.out_of_memory for e in profile.environments])[job.environment]
    drawn = rng.random(len(runs.job)) < share[runs.job]
    by_itself = (runs.cause < 0) & (job.own_end == MEMORY)[runs.job]
    return by_itself | (drawn & (runs.cause == Cause.MACHINE))


def _trace(
    profile: Kumar,
    job: Jobs,
    runs: Attempts,
    dealt: Dealt,
    full: Flags,
    outage_rng: np.random.Generator,
    usage_rng: np.random.Generator | None,
) -> Trace:
    span = int(job.span * SECOND)
    queued, start, end = (_milliseconds(x) for x in (runs.queued, runs.start, runs.end))
    length = _milliseconds(job.length)[runs.job]
    own = runs.cause < 0
    own_end = job.own_end[runs.job]
    finished = own & (own_end == SUCCESS)
    end = np.minimum(np.where(finished, start + length, end), start + length)
    outcome = np.where(own, np.array(OUTCOMES)[own_end], Outcome.FAIL)
    cause = np.where(own, np.array(CAUSES)[own_end], runs.cause)
    code = np.where(own, np.array(EXIT_CODES)[own_end], profile.exit_shared)
    code = np.where(full, profile.exit_out_of_memory, code)
    no_code = (runs.cause == Cause.MACHINE) & ~full
    seen, cut = queued <= span, end > span
    others: dict[str, Any] = _machines(profile, span, outage_rng)
    if usage_rng is not None:
        measured = Measured(
            session=dealt.session[runs.job],
            job=runs.job,
            environment=job.environment[runs.job],
            duration=np.minimum(end, span) - start,
            cause=np.where(cut, -1, runs.cause),  # what comes after the data has no foreboding
            out_of_memory=full & ~cut,
            level=dealt.level,
        )
        others["windows"] = window_columns(profile, measured, usage_rng)
    outcome[cut], cause[cut] = Outcome.CENSORED, -1
    return in_order(
        _meta(profile, span),
        jobs=_job_columns(profile, job, runs, dealt, outcome, cut, seen),
        tasks={
            "job": np.arange(len(job.run)),
            "index": np.zeros(len(job.run), dtype=np.int64),
            "width": job.nodes,
        }
        | ({} if job.memory is None else {"memory": job.memory}),
        attempts={
            "task": runs.job,
            "queued": queued,
            "start": np.ma.array(start, mask=start > span),
            "end": np.minimum(end, span),
            "outcome": outcome,
            "cause": np.ma.array(cause, mask=cause < 0),
            "exit_code": np.ma.array(code, mask=cut | no_code),
            "length": length,
        },
        seen=seen,
        **others,
    )


def _meta(profile: Kumar, span: int) -> Meta:
    usage, local = profile.usage, profile.usage.local_unit
    rates = f"per node, in units of {usage.remote_unit:g} MB/s"
    return meta_of(
        profile.name,
        "Calibrated to Kumar et al., DSN 2020",
        span,
        {
            "windows: window": f"{usage.window // SECOND} s",
            "windows: kept": f"the first {usage.dense} of an attempt, then one each at "
            f"{usage.thinning:g} times the offset of the one before",
            "windows: cpu, memory, max_memory": "shares of a node's",
            "windows: local_io": "no local storage"
            if local is None
            else f"per node, in units of {local:g} MB/s",
            "windows: remote_io, network": rates,
        },
    )


def _machines(profile: Kumar, span: int, rng: np.random.Generator) -> dict[str, dict[str, Any]]:
    law = profile.outages
    return {
        "machines": {
            "original_id": [f"n{machine:05d}" for machine in range(law.machines)],
            "cpu": 1.0,
            "memory": 1.0,
            "slots": 1,
            "domain": domains(law),
            "speed": 1.0,
        },
        "outages": draw_outages(law, span, rng).columns(),
    }


def _job_columns(
    profile: Kumar,
    job: Jobs,
    runs: Attempts,
    dealt: Dealt,
    outcome: Ints,
    cut: Flags,
    seen: Flags,
) -> dict[str, Any]:
    last = np.zeros(len(job.run), dtype=np.int64)
    last[runs.job[seen]] = outcome[seen]  # the last run of each job stays
    first = np.flatnonzero(np.diff(runs.job, prepend=-1))
    category = np.where(np.isfinite(job.first_failure), SYSTEM, job.own_end)
    users = [f"u{number:03d}" for number in range(profile.sessions.users)]
    if profile.applications is None:
        names = [f"{user}-{n}" for user in users for n in range(profile.sessions.applications)]
        name = dealt.user * profile.sessions.applications + dealt.application
    else:
        names = [f"a{number:06d}" for number in range(int(dealt.application.max()) + 1)]
        name = dealt.application
    return {
        "original_id": identifiers(len(job.run)),
        "user": texts(users, dealt.user[dealt.session]),
        "name": texts(names, name[dealt.session]),
        "queue": texts([e.name for e in profile.environments], job.environment),
        "shared": np.array([e.shared for e in profile.environments])[job.environment],
        "submit": _milliseconds(job.submit),
        "scheduling_class": job.environment,
        "walltime": _milliseconds(job.walltime),
        "width": 1,
        "outcome": last,
        "exit_category": texts(CATEGORIES, category, cut[first]),
    }


def _milliseconds(seconds: Floats) -> Ints:
    return np.rint(seconds * SECOND).astype(np.int64)
