"""Run a policy on many episodes at once, and score it between replay and a clairvoyant."""

from __future__ import annotations

from failgym.evaluation.anchors import Anchors, evaluate
from failgym.evaluation.ledger import Run
from failgym.evaluation.queries import failure_queries
from failgym.evaluation.result import Evaluation
from failgym.evaluation.room import LEAST_ROOM, Room
from failgym.evaluation.runner import run_policy
from failgym.evaluation.scoring import Score, score
from failgym.evaluation.whole_trace import Comparison, Record, compare, whole_trace_world
from failgym.worlds.world import Bound

__all__ = [
    "LEAST_ROOM",
    "Anchors",
    "Bound",
    "Comparison",
    "Evaluation",
    "Record",
    "Room",
    "Run",
    "Score",
    "compare",
    "evaluate",
    "failure_queries",
    "run_policy",
    "score",
    "whole_trace_world",
]
