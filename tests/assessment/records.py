"""Records whose best policy is known."""

from __future__ import annotations

import numpy as np

from failgym.traces import Meta, Trace
from failgym.vocabulary import MINUTE, Cause, Outcome

FINISH, KILL = int(Outcome.FINISH), int(Outcome.KILL)


def doomed(jobs: int, long_ones_finish: bool, seed: int = 0) -> Trace:
    """Jobs of ten minutes that finish, and as many of ten hours that are killed (or finish)."""
    rng = np.random.default_rng(seed)
    submit = np.sort(rng.integers(0, jobs * 10 * MINUTE, jobs))
    lost = rng.random(jobs) < 0.5
    length = np.where(lost, 600, 10) * MINUTE + rng.integers(0, MINUTE, jobs)
    outcome = np.where(lost & (not long_ones_finish), KILL, FINISH)
    cause = [int(Cause.USER) if each == KILL else None for each in outcome]
    return Trace.of(
        Meta("made up"),
        jobs={
            "original_id": [str(i) for i in range(jobs)],
            "submit": submit,
            "width": np.ones(jobs, dtype=np.int32),
            "outcome": outcome.astype(np.int8),
        },
        tasks={
            "job": np.arange(jobs),
            "index": np.zeros(jobs, dtype=np.int64),
            "width": [1] * jobs,
        },
        attempts={
            "task": np.arange(jobs),
            "queued": submit,
            "start": submit,
            "end": submit + length,
            "outcome": outcome.astype(np.int8),
            "cause": cause,
        },
    )
