"""The heuristics of the papers, one per file, behind the interface of a stable-baselines3 model."""

from __future__ import annotations

from failgym.baselines.algorithm_1 import Algorithm1
from failgym.baselines.aware import Aware
from failgym.baselines.base import Heuristic, ObservationView
from failgym.baselines.before_walltime import BeforeWalltime
from failgym.baselines.blind_kill import BlindKill
from failgym.baselines.checkpoint_all import CheckpointAll
from failgym.baselines.clairvoyant import Clairvoyant
from failgym.baselines.combined import AllMeasures, CloneAndSave, Combined, KillOrClone
from failgym.baselines.daly import Daly
from failgym.baselines.expected_loss import ExpectedLoss
from failgym.baselines.flaw import Flaw
from failgym.baselines.give_up import GiveUp
from failgym.baselines.grace_period import GracePeriod
from failgym.baselines.greedy import Greedy
from failgym.baselines.immediate_kill import ImmediateKill
from failgym.baselines.lazy import Lazy
from failgym.baselines.ml_checkpoint import MLCheckpoint
from failgym.baselines.ml_periodic import MLPeriodic
from failgym.baselines.periodic_outputs import PeriodicOutputs
from failgym.baselines.prediction_aware import PredictionAware
from failgym.baselines.random_policy import RandomPolicy
from failgym.baselines.rank_hybd import RankHybd
from failgym.baselines.replay import Replay
from failgym.baselines.retry_cap import RetryCap
from failgym.baselines.size import Size
from failgym.baselines.young import Young

__all__ = [
    "REGISTRY",
    "Algorithm1",
    "AllMeasures",
    "Aware",
    "BeforeWalltime",
    "BlindKill",
    "CheckpointAll",
    "Clairvoyant",
    "CloneAndSave",
    "Combined",
    "Daly",
    "ExpectedLoss",
    "Flaw",
    "GiveUp",
    "GracePeriod",
    "Greedy",
    "Heuristic",
    "ImmediateKill",
    "KillOrClone",
    "Lazy",
    "MLCheckpoint",
    "MLPeriodic",
    "ObservationView",
    "PeriodicOutputs",
    "PredictionAware",
    "RandomPolicy",
    "RankHybd",
    "Replay",
    "RetryCap",
    "Size",
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
        Daly,
        PredictionAware,
        Lazy,
        ExpectedLoss,
        BeforeWalltime,
        CheckpointAll,
        Greedy,
        Size,
        Aware,
        PeriodicOutputs,
        RankHybd,
        Flaw,
        CloneAndSave,
        KillOrClone,
        AllMeasures,
    )
}
"""Name -> heuristic, in the order of tables."""
