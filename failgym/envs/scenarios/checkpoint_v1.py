"""Checkpoint-v1: when is progress worth saving?

Description
    Jobs of an HPC system with bursts of shared failures. A checkpoint stops a job for a minute.
    When the system fails, the job resumes from its last checkpoint and not from the beginning.
    After Kumar et al. (DSN 2020, section VI-B: Young's interval, checkpoints on a prediction, and
    both).

Decisions
    WINDOW {CHECKPOINT}: every monitoring window of a minute. A checkpoint and a restore cost 60 s
    each (Kumar et al., Table VIII).

Rewards
    Wasted machine-time and the time of checkpoints and restores weigh the same. A job that does not
    finish costs four times the machine-time of its work (`task_value`), whatever the record did,
    unless its user kills it in the end.

Forecast
    `Alarms.kumar()`: the binormal model behind Table VIII. Alarms come ten minutes ahead on average
    (chosen: the paper states no lead) and end, and their age tells nothing. On a record
    (`trace=DIR`) forecasts are learned from the train split.

Fidelity
    System failures are external: they strike at a time after the start, whatever the progress. A
    job that fails by itself fails again at the same place of its work. A checkpoint saves work,
    whichever attempt did it. What the record does not hold is drawn once, from what befell jobs
    like them (`failgym.continued`).

    `mtbf` is the mean time between system failures of an attempt (108,000 to 134,000 s in three
    traces; Table VIII has 10,000 s). It does not follow `trace`: set both. Rules know that mean
    alone. So forecasts are read by the time since the start too (``forecast_by="age"``): no
    checkpoint delays an alarm of a system failure. The more was saved before, the sooner a failure
    of the job itself comes, and its alarm is then too late. Jobs do not wait for stable storage:
    concurrent checkpoints do not slow each other.

    The default trace is harsher than the paper's system: failures strike long jobs, with 19 to 22 %
    of node-seconds (five seeds) where Table IV has 4 %. No run takes more than 48 hours of
    machine-time (`longest`), all its nodes together. Without that limit one job held up to a fifth
    of what could be gained; with it the largest holds 2.5 to 3.6 % (seeds 0, 101 and 102). On the
    faithful profile (`trace="system-a-applications"`), which has few failures of the system, it is
    6 to 13 % of the machine-time that they cost (seeds 101 to 104).

Version History
    v1: records go on, checkpoints save work, tasks have a value, forecasts are alarms that end.
    v0: a checkpoint saved a share of each attempt's own length.
"""

from __future__ import annotations

from failgym.vocabulary import MINUTE, SECOND
from failgym.worlds.scenario import Scenario

__all__ = ["AFTER", "CHECKPOINT"]

AFTER = "Kumar et al. 2020: Young's interval, predictions, both"
"""Whom it is after, in the table of environments."""
CHECKPOINT = Scenario(
    name="Checkpoint-v1",
    trace="system-a-harsh-applications",
    jobs=40_000,
    longest=48 * 60 * MINUTE,
    slice_tasks=64,
    beyond_record="continued",
    restarts="record",
    checkpoint=True,
    window=MINUTE,
    decide="every",
    forecast="auto",
    forecast_by="age",
    checkpoint_cost=60 * SECOND,
    restore_cost=60 * SECOND,
    mtbf=120_000 * SECOND,
    task_value=4.0,
    weight_completion=0.0,
)
