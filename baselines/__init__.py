"""The heuristics of the papers, one per file, behind the interface of a stable-baselines3 model."""

from __future__ import annotations

from failgym.baselines.algorithm_1 import Algorithm1
from failgym.baselines.base import Heuristic, ObservationView
from failgym.baselines.blind_kill import BlindKill
from failgym.baselines.clairvoyant import Clairvoyant
from failgym.baselines.give_up import GiveUp
from failgym.baselines.grace_period import GracePeriod
from failgym.baselines.immediate_kill import ImmediateKill
from failgym.baselines.ml_checkpoint import MLCheckpoint
from failgym.baselines.ml_periodic import MLPeriodic
from failgym.baselines.random_policy import RandomPolicy
from failgym.baselines.replay import Replay
from failgym.baselines.retry_cap import RetryCap
from failgym.baselines.young import Young

__all__ = [
    "REGISTRY",
    "Algorithm1",
    "BlindKill",
    "Clairvoyant",
    "GiveUp",
    "GracePeriod",
    "Heuristic",
    "ImmediateKill",
    "MLCheckpoint",
    "MLPeriodic",
    "ObservationView",
    "RandomPolicy",
    "Replay",
    "RetryCap",
    "Young",
]

REGISTRY: dict[str, type[Heuristic]] = {
    baseline.name: baseline
    for baseline in (
        Replay,
        RandomPolicy,
        RetryCap,
        Algorithm1,
        GiveUp,
        GracePeriod,
        ImmediateKill,
        BlindKill,
        Young,
        MLCheckpoint,
        MLPeriodic,
    )
}
"""Name -> heuristic, in the order of tables."""
