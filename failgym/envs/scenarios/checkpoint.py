"""Checkpoint-v0: when is progress worth saving? (Kumar et al., DSN 2020)"""

from __future__ import annotations

from failgym.envs.scenario import Scenario
from failgym.sim.rules import MINUTE, SECOND

__all__ = ["CHECKPOINT"]

CHECKPOINT = Scenario(
    name="Checkpoint-v0",
    trace="system-a",
    checkpoint=True,
    window=MINUTE,
    decide="every",
    checkpoint_cost=60 * SECOND,
    restore_cost=60 * SECOND,
    forecast="kumar",
    weight_wasted=1.0,
    weight_overhead=1.0,
    weight_completion=0.0,
    weight_forfeited=1.0,
    slice_tasks=64,
)
