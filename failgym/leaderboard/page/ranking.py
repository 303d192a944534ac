"""The numbers of the page's table: scores with intervals, costs, counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from failgym.envs.spaces import TERMS
from failgym.leaderboard.page.cells import Cell, Field
from failgym.leaderboard.statistics.bootstrap import Bootstrap, Estimate
from failgym.leaderboard.statistics.estimators import AGGREGATES

__all__ = ["COUNTS", "aggregates", "costs", "counts", "scores"]

Floats = npt.NDArray[np.float64]

COUNTS = ("runs", "decisions", "illegal", "seconds")
"""Columns that count what a policy did in an environment, over all its training runs."""
NONE = Estimate(np.nan, np.nan, np.nan)


def aggregates(fields: Sequence[Field], policies: Sequence[str], bootstrap: Bootstrap) -> Floats:
    """[policies, aggregates, 3] over environments, of policies that have a score in each.

    Args:
        fields: the environments, all with the same kind of forecast.
        policies: by name.
        bootstrap: of the intervals.
    """
    found = np.full((len(policies), len(AGGREGATES), len(Estimate._fields)), np.nan)
    for at, policy in enumerate(policies):
        cells = [cell.runs for field in fields if (cell := field.cell(policy)) is not None]
        if len(cells) == len(fields):
            found[at] = list(bootstrap.aggregates(cells).values())
    return found


def scores(field: Field, policies: Sequence[str], bootstrap: Bootstrap, number: int) -> Floats:
    """[policies, 3] in one environment, the `number`-th of those with its kind of forecast."""
    return _each(field, policies, lambda cell: bootstrap.score(cell.runs, number), NONE)


def costs(field: Field, policies: Sequence[str]) -> Floats:
    """[policies, terms] cost by term, in per cent of all that replay costs."""
    whole = field.replay.sum()
    share = 100.0 / whole if whole > 0 else np.nan
    return _each(field, policies, lambda cell: cell.costs * share, [np.nan] * len(TERMS))


def counts(field: Field, policies: Sequence[str]) -> Floats:
    """[policies, `COUNTS`]; no runs where there is no score."""

    def of(cell: Cell) -> Sequence[float]:
        return len(cell.runs.saved), cell.decisions, cell.illegal, cell.seconds

    return _each(field, policies, of, [0.0] * len(COUNTS))


def _each(
    field: Field,
    policies: Sequence[str],
    of: Callable[[Cell], Sequence[float] | Floats],
    otherwise: Sequence[float],
) -> Floats:
    cells = (field.cell(policy) for policy in policies)
    return np.array([otherwise if cell is None else of(cell) for cell in cells], dtype=np.float64)
