"""Synthetic traces, calibrated to published statistics, so that nothing has to be downloaded.

Each profile has its statistics in `profiles`, with the source of every field, and a generator that
meets them: `google_2011`, `opencloud`, `kumar` (system-a, system-b and their variants), `lanl_2`,
`lanl_20`, `panda_10k`, `panda_das`. What they share:

- all: `quantiles` samples with little noise, `tables` makes the columns a trace, `ranges` says
  which values the fields of a profile may have;
- profiles with applications that recur: `recurrence` (when they run), and for google-2011
  `google_2011_pool` and `google_2011_applications` (which jobs they have);
- google-2011 and opencloud: `batch` makes jobs of many tasks, `failures` counts how often each
  fails, `usage` makes their windows;
- system-a and system-b: `kumar_jobs` makes jobs and requeues from the `hazard`, `kumar_requests`
  what they ask for, `sessions` deals them to users, `kumar_usage` makes their windows; where
  applications recur, `kumar_applications` says in which order jobs have what;
- clusters whose machines fail: `outages`, `gangs` (which machines a job has), `spark_cluster` (the
  simulation behind panda-10k).
"""

from __future__ import annotations

import numpy as np

from failgym.traces.schema import TraceError
from failgym.traces.synthetic.google_2011 import generate_google_2011
from failgym.traces.synthetic.kumar import generate_kumar
from failgym.traces.synthetic.lanl_2 import generate_lanl_2
from failgym.traces.synthetic.lanl_20 import generate_lanl_20
from failgym.traces.synthetic.opencloud import generate_opencloud
from failgym.traces.synthetic.panda_10k import generate_panda_10k
from failgym.traces.synthetic.panda_das import generate_panda_das
from failgym.traces.synthetic.profiles import (
    A_RECURRING,
    B_RECURRING,
    FAILING,
    HARSH,
    HARSH_RECURRING,
    PROFILES,
    RECURRING,
    RECURRING_FAILING,
    RECURRING_NARROW,
    Google2011,
    Lanl2,
    Lanl20,
    OpenCloud,
    Panda10k,
    PandaDas,
    Profile,
    SystemA,
    SystemB,
    independent_jobs,
)
from failgym.traces.synthetic.ranges import check
from failgym.traces.synthetic.toy import toy
from failgym.traces.trace import Trace

__all__ = [
    "A_RECURRING",
    "B_RECURRING",
    "FAILING",
    "HARSH",
    "HARSH_RECURRING",
    "PROFILES",
    "RECURRING",
    "RECURRING_FAILING",
    "RECURRING_NARROW",
    "Google2011",
    "Lanl2",
    "Lanl20",
    "OpenCloud",
    "Panda10k",
    "PandaDas",
    "Profile",
    "SystemA",
    "SystemB",
    "generate",
    "independent_jobs",
    "toy",
]


MOST_JOBS = 10_000_000
"""The largest trace that is generated [jobs]; Google's of 2011 has 672,000."""


def generate(
    profile: str | Profile, *, jobs: int | None = None, seed: int = 0, usage: bool = True
) -> Trace:
    """A trace after a profile: the same in any process for the same profile, `jobs` and `seed`.

    Shares are allotted, not drawn: a trace of thirty jobs has the published mix as far as thirty
    jobs can show it, and never a kind of job that is one in a hundred.

    Args:
        profile: a name in `PROFILES`, or a profile (`dataclasses.replace` changes a field).
        jobs: number of jobs, 1 to `MOST_JOBS`; by default the profile's `default_jobs`.
        seed: at least 0.
        usage: whether windows of resource usage are made, where the profile has a law of them. The
            other tables are the same with and without.

    Raises:
        TraceError: for an unknown profile, a field of it that is out of its range or does not fit
            the others, too few or too many jobs, jobs over more years than a trace can hold, or a
            negative seed.

    >>> trace = generate("google-2011", jobs=50, seed=1)
    >>> trace.rows("jobs")
    50
    """
    if isinstance(profile, str):
        if profile not in PROFILES:
            known = ", ".join(sorted(PROFILES))
            raise TraceError(f"unknown profile {profile!r}: expected one of {known}")
        profile = PROFILES[profile]
    check(profile)
    jobs = profile.default_jobs if jobs is None else jobs
    if not 1 <= jobs <= MOST_JOBS:
        raise TraceError(f"jobs is {jobs}, expected at least 1 and at most {MOST_JOBS}")
    if seed < 0:
        raise TraceError(f"seed is {seed}, expected at least 0")
    seeds = np.random.SeedSequence(seed)
    rng = _generator(seeds)
    usage_rng = _generator(seeds.spawn(1)[0]) if usage else None
    match profile:
        case Google2011():
            return generate_google_2011(profile, jobs, rng, usage_rng)
        case OpenCloud():
            return generate_opencloud(profile, jobs, rng, usage_rng)
        case SystemA() | SystemB():
            return generate_kumar(profile, jobs, rng, usage_rng)
        case Lanl2():
            return generate_lanl_2(profile, jobs, rng)
        case Lanl20():
            return generate_lanl_20(profile, jobs, rng)
        case Panda10k():
            return generate_panda_10k(profile, jobs, rng)
        case PandaDas():
            return generate_panda_das(profile, jobs, rng)


def _generator(seeds: np.random.SeedSequence) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seeds))
