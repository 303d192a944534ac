"""By what agents are chosen beside their scores: where they do worst, and false kills."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from failgym import metrics
from failgym.evaluation import Anchors
from failgym.evaluation.ledger import Run
from failgym.worlds.build import split_of

__all__ = ["false_kills_per_job", "mean_of_worst"]

Floats = npt.NDArray[np.float64]


def mean_of_worst(anchors: Sequence[Anchors], runs: Sequence[Run], share: float) -> float:
    """What an agent saves in the mean of the jobs that it does worst in, beside replay.

    It is the conditional value at risk of what is saved in a job (Rockafellar and Uryasev,
    "Optimization of conditional value-at-risk", Journal of Risk 2(3), 2000); of slices, where only
    these have costs of their own.

    Args:
        anchors: of each trace.
        runs: of the agent, on the slices of each.
        share: of the jobs of all traces, above 0; the last of them counts in part.

    Returns:
        In units of cost.
    """
    saved = np.sort(np.concatenate([_saved(*pair) for pair in zip(anchors, runs, strict=True)]))
    wanted = share * len(saved)
    weight = np.clip(wanted - np.arange(len(saved)), 0.0, 1.0)
    return float(weight @ saved / wanted)


def _saved(anchors: Anchors, run: Run) -> Floats:
    """What a run saves in each job, or slice."""
    evidence = anchors.evidence
    member = evidence.units.member
    return np.bincount(member, evidence.replay - evidence.costs(run)).astype(np.float64)


def false_kills_per_job(anchors: Sequence[Anchors], runs: Sequence[Run]) -> float:
    """Tasks that finish in the record and were killed, for each job that has tasks here."""
    killed = jobs = 0
    for each, run in zip(anchors, runs, strict=True):
        job = split_of(each.scenario, each.scenario.split).column("tasks", "job")
        jobs += len(np.unique(job[run.outcomes["task"]]))
        killed += metrics.false_kills(run.outcomes)
    return killed / jobs
