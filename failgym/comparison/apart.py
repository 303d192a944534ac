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
from failgym.comparison.resampling import NOTHING, Ints, Measured, area, blocks, stretched

__all__ = ["outages_told_apart", "told_apart"]

FOLDS = 3
UNTRAINED = (1.0 / FOLDS + 1.0 / (FOLDS - 1)) / (1.0 / FOLDS)
"""By how much larger the variance of what folds say is than it looks, since trees that had other
rows to learn from would say something else: tested over trained rows are added to the 1 / folds
(Nadeau and Bengio, Machine Learning 2003). With it 49 and 48 of 50 intervals held .5 where rows
were of one law (600 of three numbers, continuous or whole); without, 49 and 51 of 60 (1,000)."""
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
    cannot, 1: always. Less: the traces are more alike than two of one law are by chance, as where
    one is a copy. Each row is judged by trees that have seen no row of its job, in three folds.

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
    from sklearn.model_selection import StratifiedGroupKFold, cross_val_predict

    number = min(len(first), len(second), MOST)
    if number < LEAST:
        return NOTHING
    drawn = [one.sample(number, random_state=seed).sort_index() for one in (first, second)]
    rows = pd.concat([one[list(columns)] for one in drawn]).astype(np.float64)
    known = rows.loc[:, rows.notna().any(axis=0).to_numpy()]
    jobs = [_jobs(one) for one in drawn]
    if not known.shape[1] or min(int(of.max()) for of in jobs) + 1 < FOLDS:
        return NOTHING
    label = np.repeat([False, True], number)
    folds = StratifiedGroupKFold(FOLDS, shuffle=True, random_state=seed)
    trees = HistGradientBoostingClassifier(max_iter=80, random_state=seed)
    groups = np.concatenate([jobs[0], jobs[0].max() + 1 + jobs[1]])
    told: Any = cross_val_predict(
        trees, known, label, groups=groups, cv=folds, method="predict_proba"
    )
    block = np.concatenate([blocks(int(of.max()) + 1)[of] for of in jobs])
    found = area(label, told[:, 1], np.ones(2 * number), block)
    return stretched(found, UNTRAINED**0.5, (0.0, 1.0))


def _jobs(rows: pd.DataFrame) -> Ints:
    """The number of the job of each row, in order of time; each row is one where none is said."""
    if "job" not in rows:
        return np.arange(len(rows), dtype=np.int64)
    of: Any = rows.groupby(["submit", "job"]).ngroup()
    return of.to_numpy(np.int64)
