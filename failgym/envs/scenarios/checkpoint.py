"""Checkpoint-v0: when is progress worth saving?

Description
    Jobs of an HPC system with bursts of shared failures. A checkpoint stops a job for a minute;
    when the system fails the job resumes from it instead of from the beginning. After Kumar et al.
    (DSN 2020, section VI-B: Young's interval, checkpoints on a prediction, and both).

Decisions
    WINDOW {CHECKPOINT}: every monitoring window of a minute. A checkpoint and a restore cost 60 s
    each (Kumar et al., Table VIII).

Rewards
    Wasted work and the time of checkpoints and restores weigh the same.

Forecast
    `Calibrated.kumar()`: the binormal model behind Table VIII, alarms ten minutes ahead on average.

Fidelity
    System failures are external: they strike at a time after the start, whatever the progress; a
    job that fails by itself fails again at the same progress. All attempts of a job share one true
    length. `mtbf` is the mean time between system failures of an attempt, 8e4 s in the default
    trace (1e4 to 4e4 s during a spell of failures, 1e6 s outside); Kumar et al. know only the mean.
    So forecasts are read by the time since the start too (``forecast_by="age"``): no checkpoint
    delays an alarm of a system failure. A failure of the job itself comes the sooner the more was
    saved before, and its alarm then too late.
    Jobs do not wait for stable storage: concurrent checkpoints do not slow each other.

Version History
    v0: first version.
"""

from __future__ import annotations

from failgym.vocabulary import MINUTE, SECOND
from failgym.worlds.scenario import Scenario

__all__ = ["CHECKPOINT"]

CHECKPOINT = Scenario(
    name="Checkpoint-v0",
    trace="system-a-harsh",
    jobs=15_000,
    checkpoint=True,
    window=MINUTE,
    decide="every",
    forecast_by="age",
    checkpoint_cost=60 * SECOND,
    restore_cost=60 * SECOND,
    mtbf=80_000 * SECOND,
    forecast="kumar",
    slice_tasks=64,
    weight_wasted=1.0,
    weight_overhead=1.0,
    weight_completion=0.0,
    weight_forfeited=1.0,
)
