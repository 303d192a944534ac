"""The heuristics of the papers, one per file, behind the interface of a stable-baselines3 model."""

from __future__ import annotations

from failgym.baselines.algorithm_1 import Algorithm1
from failgym.baselines.aware import Aware
from failgym.baselines.back_off import BackOff
from failgym.baselines.base import Heuristic, ObservationView
from failgym.baselines.before_walltime import BeforeWalltime
from failgym.baselines.blind_kill import BlindKill
from failgym.baselines.checkpoint_all import CheckpointAll
from failgym.baselines.clairvoyant import Clairvoyant
from failgym.baselines.combined import (
    AllMeasures,
    CloneAndSave,
    Combined,
    KillOrClone,
    StopOrCopy,
)
from failgym.baselines.daly import Daly
from failgym.baselines.expected_loss import ExpectedLoss
from failgym.baselines.flaw import Flaw
from failgym.baselines.forking import Forking
from failgym.baselines.give_up import GiveUp
from failgym.baselines.grace_period import GracePeriod
from failgym.baselines.greedy import Greedy
from failgym.baselines.immediate_kill import ImmediateKill
from failgym.baselines.introspective import Introspective
from failgym.baselines.late import Late
from failgym.baselines.lazy import Lazy
from failgym.baselines.lemon_nodes import LemonNodes
from failgym.baselines.ml_checkpoint import MLCheckpoint
from failgym.baselines.ml_periodic import MLPeriodic
from failgym.baselines.optimal_stopping import OptimalStopping
from failgym.baselines.periodic_outputs import PeriodicOutputs
from failgym.baselines.prediction_aware import PredictionAware
from failgym.baselines.random_policy import RandomPolicy
from failgym.baselines.rank_hybd import RankHybd
from failgym.baselines.replay import Replay
from failgym.baselines.retry_cap import RetryCap
from failgym.baselines.size import Size
from failgym.baselines.spark_speculation import SparkSpeculation
from failgym.baselines.young import Young

__all__ = [
    "REGISTRY",
    "Algorithm1",
    "AllMeasures",
    "Aware",
    "BackOff",
    "BeforeWalltime",
    "BlindKill",
    "CheckpointAll",
    "Clairvoyant",
    "CloneAndSave",
    "Combined",
    "Daly",
    "ExpectedLoss",
    "Flaw",
    "Forking",
    "GiveUp",
    "GracePeriod",
    "Greedy",
    "Heuristic",
    "ImmediateKill",
    "Introspective",
    "KillOrClone",
    "Late",
    "Lazy",
    "LemonNodes",
    "MLCheckpoint",
    "MLPeriodic",
    "ObservationView",
    "OptimalStopping",
    "PeriodicOutputs",
    "PredictionAware",
    "RandomPolicy",
    "RankHybd",
    "Replay",
    "RetryCap",
    "Size",
    "SparkSpeculation",
    "StopOrCopy",
    "Young",
]

REGISTRY: dict[str, type[Heuristic]] = {
    baseline.name: baseline
    for baseline in (
        Replay,
        RandomPolicy,
        RetryCap,
        BackOff,
        Algorithm1,
        SparkSpeculation,
        Late,
        Forking,
        GiveUp,
        GracePeriod,
        OptimalStopping,
        ImmediateKill,
        BlindKill,
        Young,
        MLCheckpoint,
        MLPeriodic,
        Daly,
        PredictionAware,
        Lazy,
        Introspective,
        ExpectedLoss,
        BeforeWalltime,
        CheckpointAll,
        Greedy,
        Size,
        Aware,
        PeriodicOutputs,
        RankHybd,
        Flaw,
        LemonNodes,
        CloneAndSave,
        KillOrClone,
        AllMeasures,
        StopOrCopy,
    )
}
"""Name -> heuristic, in the order of tables."""
