"""Synthetic traces, calibrated to published statistics, so that nothing has to be downloaded."""

from __future__ import annotations

import numpy as np

from failgym.traces.schema import TraceError
from failgym.traces.synthetic.google_2011 import generate_google_2011
from failgym.traces.synthetic.profiles import (
    FAILING,
    PROFILES,
    Google2011,
    Profile,
    SystemA,
)
from failgym.traces.synthetic.system_a import generate_system_a
from failgym.traces.synthetic.toy import toy
from failgym.traces.trace import Trace

__all__ = ["FAILING", "PROFILES", "Google2011", "Profile", "SystemA", "generate", "toy"]


MOST_JOBS = 10_000_000
"""The largest trace that is generated [jobs]; Google's of 2011 has 672,000."""


def generate(profile: str | Profile, *, jobs: int | None = None, seed: int = 0) -> Trace:
    """A trace after a profile: the same in any process for the same profile, `jobs` and `seed`.

    Args:
        profile: a name in `PROFILES`, or a profile (`dataclasses.replace` changes a field).
        jobs: number of jobs, 1 to `MOST_JOBS`; by default the profile's `default_jobs`.
        seed: at least 0.

    Raises:
        TraceError: for an unknown profile, too few or too many jobs, or a negative seed.

    >>> trace = generate("google-2011", jobs=50, seed=1)
    >>> trace.rows("jobs")
    50
    """
    if isinstance(profile, str):
        if profile not in PROFILES:
            known = ", ".join(sorted(PROFILES))
            raise TraceError(f"unknown profile {profile!r}: expected one of {known}")
        profile = PROFILES[profile]
    jobs = profile.default_jobs if jobs is None else jobs
    if not 1 <= jobs <= MOST_JOBS:
        raise TraceError(f"jobs is {jobs}, expected at least 1 and at most {MOST_JOBS}")
    if seed < 0:
        raise TraceError(f"seed is {seed}, expected at least 0")
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
    if isinstance(profile, Google2011):
        return generate_google_2011(profile, jobs, rng)
    return generate_system_a(profile, jobs, rng)
