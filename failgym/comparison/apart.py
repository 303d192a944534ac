"""How well a classifier tells the jobs, tasks or attempts of one trace from those of another."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingTypeStubs=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from failgym.comparison.jobs import JOB, TASK
from failgym.comparison.outages import Observed
from failgym.comparison.resampling import NOTHING, Measured, area, blocks

__all__ = ["outages_told_apart", "told_apart"]

MOST = 8_000
"""Rows of each trace that are compared."""
LEAST = 50
FEATURES: tuple[tuple[str, str, Sequence[str]], ...] = (
    ("jobs", "13 features", JOB),
    ("jobs", "requests", ("cpu", "memory", "disk")),
    ("jobs", "tasks and run time", ("tasks", "run")),
    ("tasks", "request, width, run time, ending", (*TASK, "finished")),
    ("attempts", "number, wait, run time, ending", ("number", "wait", "run", "outcome")),
)
"""Of what, in words, by which columns."""
OUTAGE = ("machine_gap", "cluster_gap", "repair", "hour", "weekday")
OUTAGES = "told apart: outages by gaps of machine and cluster, repair, hour, day"


def told_apart(
    first: dict[str, pd.DataFrame], second: dict[str, pd.DataFrame], seed: int = 0
) -> dict[str, Measured]:
    """The area under the curve of boosted trees that tell rows of two traces apart; .5: they
    cannot, 1: always. Each row is judged by trees that have not seen it, in three folds.

    What the end of the data cut off is left out, and equally many rows are drawn of both.
    """
    found: dict[str, Measured] = {}
    for table, words, columns in FEATURES:
        rows = [one[table] for one in (first, second)]
        name = f"told apart: {table} by {words}"
        found[name] = _area(rows[0], rows[1], columns, seed)
    return found


def outages_told_apart(
    first: Observed | None, second: Observed | None, seed: int = 0
) -> dict[str, Measured]:
    """The same of the outages of two traces; nothing where one has too few."""
    if first is None or second is None:
        return {OUTAGES: NOTHING}
    return {OUTAGES: _area(first.frame(), second.frame(), OUTAGE, seed)}


def _area(first: pd.DataFrame, second: pd.DataFrame, columns: Sequence[str], seed: int) -> Measured:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    number = min(len(first), len(second), MOST)
    if number < LEAST:
        return NOTHING
    drawn = [one.sample(number, random_state=seed).sort_index() for one in (first, second)]
    rows = pd.concat([one[list(columns)] for one in drawn]).astype(np.float64)
    known = rows.loc[:, rows.notna().any(axis=0).to_numpy()]
    if not known.shape[1]:
        return NOTHING
    label = np.repeat([False, True], number)
    folds = StratifiedKFold(3, shuffle=True, random_state=seed)
    trees = HistGradientBoostingClassifier(max_iter=80, random_state=seed)
    told: Any = cross_val_predict(trees, known, label, cv=folds, method="predict_proba")
    return area(label, told[:, 1], np.ones(2 * number), np.tile(blocks(number), 2))
