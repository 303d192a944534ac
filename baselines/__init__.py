"""The heuristics of the papers, one per file, behind the interface of a stable-baselines3 model."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules

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
from failgym.baselines.decision_tree import DecisionTree
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
from failgym.baselines.reroll import Reroll
from failgym.baselines.retry_cap import RetryCap
from failgym.baselines.size import Size
from failgym.baselines.spark_speculation import SparkSpeculation
from failgym.baselines.young import Young

__all__ = [
    "REGISTRY",
    "STORABLE",
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
    "DecisionTree",
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
    "Reroll",
    "RetryCap",
    "Size",
    "SparkSpeculation",
    "StopOrCopy",
    "Young",
]

_TABLES = (
    "replay",
    "random",
    "retry_cap",
    "back_off",
    "algorithm_1",
    "spark_speculation",
    "late",
    "forking",
    "reroll",
    "give_up",
    "grace_period",
    "optimal_stopping",
    "immediate_kill",
    "blind_kill",
    "young",
    "ml_checkpoint",
    "ml_periodic",
    "daly",
    "prediction_aware",
    "lazy",
    "introspective",
    "expected_loss",
    "before_walltime",
    "checkpoint_all",
    "greedy",
    "size",
    "aware",
    "periodic_outputs",
    "rank_hybd",
    "flaw",
    "lemon_nodes",
    "clone_and_save",
    "kill_or_clone",
    "all_measures",
    "stop_or_copy",
)
"""The order of tables; a baseline that is not named here comes behind, by its name."""


def _rules() -> Iterator[type[Heuristic]]:
    """Every heuristic in a file of this folder that has a ``name`` of its own."""
    for module in iter_modules(__path__, f"{__name__}."):
        for found in vars(import_module(module.name)).values():
            named = isinstance(found, type) and "name" in vars(found)
            if named and issubclass(found, Heuristic) and found.__module__ == module.name:
                yield found


def _place(baseline: type[Heuristic]) -> tuple[int, str]:
    name = baseline.name
    return _TABLES.index(name) if name in _TABLES else len(_TABLES), name


STORABLE: dict[str, type[Heuristic]] = {one.name: one for one in sorted(_rules(), key=_place)}
"""Name -> heuristic that a file may hold (`failgym.baselines.stored`)."""
REGISTRY: dict[str, type[Heuristic]] = {name: one for name, one in STORABLE.items() if one.listed}
"""Name -> baseline, in the order of tables; a new file is found at once, and `docs/extending.md`
says which tables of results are then due."""
