"""What a policy did on slices, in plain units: beside a score, whoever reads it needs hours too.

The columns of `ACCOUNT` are of the policy, those of `REPLAY_ACCOUNT` of replay and of what there is
to gain: what a policy saves is the difference of the two. All but the last three add up over
slices.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from failgym import metrics
from failgym.evaluation.anchors import Anchors
from failgym.evaluation.evidence import Evidence
from failgym.evaluation.ledger import Run
from failgym.evaluation.repriced import others_by_term
from failgym.evaluation.savings import (
    Replayed,
    by_slice,
    charged_work,
    completion_time,
    moved,
)
from failgym.evaluation.stakes import Stakes
from failgym.vocabulary import HOUR
from failgym.worlds.world import World

__all__ = ["ACCOUNT", "REPLAY_ACCOUNT", "STAKE", "account_of", "replay_account", "stake_of"]

Floats = npt.NDArray[np.float64]

ACCOUNT: Final = (
    "waste_hours",  # wasted work, checkpoints and restores of all that is charged for [machine-h]
    "completion_hours",  # when all that is charged for ends, summed; of others: how long it takes
    "forfeits",  # tasks
    "false_kills",  # tasks
    "moved",  # sum of |replay - policy|, task by task or slice by slice [units of cost]
    "moved_drawn",  # of that, what rests on attempts beyond the record
    "others_wasted",  # of the term "others", what is known by terms [units of cost]
    "others_overhead",
    "others_completion",
)
"""Columns of a policy (`failgym.evaluation.savings`, `failgym.evaluation.repriced`)."""
STAKE: Final = ("stake", "stake_in_top", "stake_in_top_percent")
"""What the bound saves on all jobs of a trace, or slices, on the one where it saves most, and on
the top 1 % of them: of the whole trace, in each of its rows."""
REPLAY_ACCOUNT: Final = (
    "replay_hours",  # machine-time of all that is charged for [machine-h]; 0 where it has no price
    "replay_waste_hours",
    "replay_completion_hours",
    "tasks",  # that are asked about
    *STAKE,
)
"""Columns of replay."""


def account_of(world: World, replayed: Replayed, run: Run) -> Floats:
    """What a policy did on each slice [slices, `ACCOUNT`].

    Args:
        world: of the slices.
        replayed: replay on the same.
        run: of the policy.
    """
    waste = charged_work(world, run).sum(axis=1) / HOUR
    completion = completion_time(world, run, replayed.job) / HOUR
    killed = by_slice(world, run.slices, metrics.falsely_killed(run.outcomes))
    counted = [waste, completion, run.forfeits.astype(np.float64), killed]
    others = others_by_term(world, run)
    return np.column_stack([*counted, moved(world, replayed, run), others])


def replay_account(anchors: Anchors) -> Floats:
    """What replay did on each slice of the anchors [slices, `REPLAY_ACCOUNT` but for `STAKE`]."""
    world, run, price = anchors.world, anchors.replay, anchors.world.work_price
    spent = anchors.spent / (price * HOUR) if price > 0.0 else np.zeros(len(run.slices))
    waste = charged_work(world, run).sum(axis=1) / HOUR
    completion = completion_time(world, run, anchors.replayed.job) / HOUR
    tasks = world.own_sizes[run.slices].astype(np.float64)
    return np.column_stack([spent, waste, completion, tasks])


def stake_of(evidence: Evidence) -> Floats:
    """How what can be gained on a trace is concentrated [`STAKE`: units of cost]."""
    stakes = Stakes.of([evidence], [evidence.replay])
    held = np.sort(np.maximum(stakes.possible, 0.0))[::-1]
    return np.array([held.sum(), held[:1].sum(), held[: stakes.top_count].sum()])
