"""What stands beside a score: hours and tasks, figures that do not hang on a few large jobs, ranks.

The names are those of `failgym.evaluation.result.Evaluation`, and mean the same. Where a suite
keeps costs by block of jobs, or by trace, these stand for jobs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from failgym.evaluation.figure import Figure
from failgym.evaluation.stakes import Stakes, iqm_of_sums
from failgym.leaderboard.page.cells import Cell, Field
from failgym.leaderboard.statistics.bootstrap import Bootstrap
from failgym.leaderboard.statistics.estimators import Runs, run_scores
from failgym.leaderboard.statistics.ranks import ROUNDING, ranks

__all__ = ["BESIDE", "MOST_RANKED", "RANK", "beside", "ranks_of", "undefined"]

Floats = npt.NDArray[np.float64]

HOURS: Final = (
    "saved_hours",
    "saved_completion_hours",
    "forfeited_per_thousand",
    "false_kills_per_thousand",
    "drawn_share",
)
ROBUST: Final = ("winsorised_score", "mean_log_cost_ratio", "iqm_of_traces")
BESIDE: Final = (*HOURS, *ROBUST)
"""Figures of a policy in an environment, in the order in which the page reads them."""
RANK: Final = ("rank", "rank_low", "rank_high")
"""A policy's rank by score, and the lowest and highest that it may be."""
MOST_RANKED = 60
"""Policies whose possible ranks are found: all are compared in pairs, and of 1,000 there are half a
million."""


def beside(field: Field, policies: Sequence[str]) -> Floats:
    """[policies, `BESIDE`] in one environment; NaN where a figure is not defined.

    Args:
        field: the environment.
        policies: by name.
    """
    found = np.full((len(policies), len(BESIDE)), np.nan)
    for row, cell in zip(found, map(field.cell, policies), strict=True):
        if cell is not None:
            row[:] = [figure.value for figure in _figures(field, cell).values()]
    return found


def undefined(field: Field, policies: Sequence[str]) -> dict[str, str]:
    """Why a figure is not defined for all policies, by its name; the first reason that is met."""
    found = dict[str, str]()
    for cell in filter(None, map(field.cell, policies)):
        for name, figure in _figures(field, cell).items():
            if figure.reason is not None:
                found.setdefault(name, figure.reason)
    return found


def ranks_of(
    fields: Sequence[Field], policies: Sequence[str], bootstrap: Bootstrap, first: int = 0
) -> Floats:
    """[policies, `RANK`] by the mean score over environments, among those that have all of them.

    Args:
        fields: the environments, all with the same kind of forecast.
        policies: by name.
        bootstrap: of the intervals; all of an environment share its samples.
        first: number of the first environment.

    Returns:
        NaN of a policy without a score somewhere, and where there is nothing to gain; of more than
        `MOST_RANKED` policies only the rank itself is known.
    """
    found = np.full((len(policies), len(RANK)), np.nan)
    cells = [[field.cell(name) for field in fields] for name in policies]
    at = [one for one, each in enumerate(cells) if all(cell is not None for cell in each)]
    runs = [[cell.runs for cell in cells[one] if cell is not None] for one in at]
    if not runs or not any(cell.scored() for cell in runs[0]):
        return found
    if len(runs) <= MOST_RANKED:
        found[at] = ranks(runs, bootstrap, first)
    else:
        found[at, 0] = _places(runs)
    return found


def _places(policies: Sequence[Sequence[Runs]]) -> list[int]:
    """The rank of each by its mean score over environments in which there is something to gain."""
    scored = [at for at, cell in enumerate(policies[0]) if cell.scored()]
    scores = [np.mean([run_scores(of[at]).mean() for at in scored]) for of in policies]
    ordered = np.sort(scores)
    return [1 + len(ordered) - int(np.searchsorted(ordered, one + ROUNDING)) for one in scores]


def _figures(field: Field, cell: Cell) -> dict[str, Figure]:
    """By the names of `BESIDE`."""
    mine, replay = cell.account, field.account
    thousands = replay["tasks"] / 1000.0
    drawn = Figure(math.nan, "nothing is saved and nothing lost")
    if math.isnan(mine["moved_drawn"]):
        drawn = Figure(math.nan, "what is drawn is not known task by task")
    elif mine["moved"] > 0.0:
        drawn = Figure(mine["moved_drawn"] / mine["moved"])
    hours = (
        Figure(replay["replay_waste_hours"] - mine["waste_hours"]),
        Figure(replay["replay_completion_hours"] - mine["completion_hours"]),
        Figure(mine["forfeits"] / thousands),
        Figure(mine["false_kills"] / thousands),
        drawn,
    )
    return dict(zip(BESIDE, (*hours, *_robust(field, cell)), strict=True))


def _robust(field: Field, cell: Cell) -> tuple[Figure, Figure, Figure]:
    """The figures of `ROBUST`, means over training runs."""
    blocks, saved = field.blocks, cell.runs.by_unit().saved
    traces = int(blocks.trace.max()) + 1
    name = "trace" if len(blocks.trace) == traces > 1 else "block"
    spent = float(blocks.spent.sum())
    runs = [Stakes(name, blocks.replay, blocks.replay - of, blocks.possible, spent) for of in saved]

    def by_trace(values: Floats) -> Floats:
        return np.bincount(blocks.trace, values, traces).astype(np.float64)

    sums = by_trace(blocks.possible), by_trace(blocks.spent)
    return (
        _mean(run.winsorised_score() for run in runs),
        _mean(run.mean_log_cost_ratio() for run in runs),
        _mean(iqm_of_sums(by_trace(of), *sums) for of in saved),
    )


def _mean(figures: Iterable[Figure]) -> Figure:
    """Their mean; if one is not defined, why."""
    found = list(figures)
    reasons = [each.reason for each in found if each.reason is not None]
    if reasons:
        return Figure(math.nan, reasons[0])
    return Figure(float(np.mean([each.value for each in found])))
