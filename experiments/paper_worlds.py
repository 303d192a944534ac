"""The worlds in which figures of the papers are measured, by the rules of version 0.

The papers assume that a task fares as it did: what a record does not hold repeats its last
attempt, and only what the record finishes can be forfeited. So these are no registered
environments, in which records go on (`failgym.continued`). An experiment states what it changes.
The cluster of `CHECKPOINT` fails more than the paper's; `MITIGATION` is no paper's.
"""

from __future__ import annotations

from failgym.vocabulary import MINUTE, SECOND
from failgym.worlds.scenario import Scenario

__all__ = ["CHECKPOINT", "CLONING", "GRACE_PERIOD", "MITIGATION"]

CLONING = Scenario(
    name="cloning of the papers",
    trace="google-2011-failing",
    jobs=6_000,
    select="failing",
    slice_tasks=64,
    clone=True,
    give_up=True,
    retry=True,
    max_extra=1,
    max_clones=1,
    restart_limit=0,
    decide="geometric",
    forecast="elsayed",
    weight_wasted=0.2,
    weight_overhead=0.0,
    weight_completion=1.0,
    weight_forfeited=4.0,
)
"""El-Sayed et al. (ICDCS 2017): clones and retries."""

GRACE_PERIOD = Scenario(
    name="grace period of the papers",
    trace="google-2011",
    jobs=4_000,
    kill=True,
    decide="geometric",
    forecast="rosa",
    weight_wasted=1.0,
    weight_overhead=0.0,
    weight_completion=0.0,
    weight_forfeited=4.0,
)
"""Rosà et al. (IWQoS 2015): kills after a grace period."""

CHECKPOINT = Scenario(
    name="checkpoint of the papers",
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
"""Kumar et al. (DSN 2020): checkpoints."""

MITIGATION = Scenario(
    name="mitigation of the papers",
    world="scheduled",
    order="time",
    trace="google-2011",
    jobs=8_000,
    sampling=0.05,
    longest=24 * 60 * MINUTE,
    load=0.8,
    slots=4,
    outages="lanl-2",
    scheduler="priority",
    preemption=True,
    begin=24 * 60 * MINUTE,
    slice_tasks=256,
    warmup=256,
    followers=768,
    clone=True,
    checkpoint=True,
    kill=True,
    give_up=True,
    retry=True,
    max_extra=2,
    max_clones=1,
    decide="geometric",
    checkpoint_cost=60 * SECOND,
    restore_cost=60 * SECOND,
    storage_streams=16,
    forecast="elsayed",
    weight_wasted=1.0,
    weight_overhead=1.0,
    weight_completion=1.0,
    weight_forfeited=8.0,
)
"""All measures at once, in a loaded cluster."""
