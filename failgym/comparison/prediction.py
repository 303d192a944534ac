"""How well the end of a task is told at its arrival, from requests and from what came before."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingTypeStubs=false

from __future__ import annotations

import numpy as np
import pandas as pd

from failgym.comparison.resampling import NOTHING, Flags, Floats, Ints, Measured, area, blocks

__all__ = ["predictability"]

LATER = 0.3
"""Share of the jobs, the last ones, whose tasks are foretold."""
HISTORY = 0.6
"""Share of the earlier jobs from which only their history is taken."""
LEAST = 50
REQUESTS = ("priority", "scheduling_class", "cpu", "memory", "disk", "tasks")
PRIOR = 5.0
"""Tasks that a user's record is filled up with; chosen."""


def predictability(tasks: pd.DataFrame) -> dict[str, Measured]:
    """Areas under the curve of "the task finishes", of the later part of a trace."""
    names = [
        f"end of a task, told at its arrival: {how}"
        for how in ("boosting, by job", "boosting, by task", "user's past alone, by job")
    ]
    tasks = tasks[~tasks["open"]].sort_values("submit", kind="stable")
    if not len(tasks):
        return dict.fromkeys(names, NOTHING)
    submits = tasks.drop_duplicates("job")["submit"].to_numpy()
    border = np.quantile(submits, 1.0 - LATER, method="lower")
    early = tasks[(tasks["submit"] <= border) & (tasks["ended"] <= border)]
    late = tasks[tasks["submit"] > border]
    if min(len(early), len(late)) < LEAST or early["finished"].nunique() < 2:
        return dict.fromkeys(names, NOTHING)
    told, past = _boosted(early, late), _user(early, late)
    by_job = 1.0 / late.groupby("job")["job"].transform("size").to_numpy(np.float64)
    each = np.ones(len(late))
    job = late.groupby("job", sort=False).ngroup().to_numpy()
    block = blocks(int(job.max()) + 1)[job]
    label = late["finished"].to_numpy(np.bool_)
    scores = zip(names, (told, told, past), (by_job, each, by_job), strict=True)
    return {name: _area(label, score, weight, block) for name, score, weight in scores}


def _area(label: Flags, score: Floats, weight: Floats, block: Ints) -> Measured:
    """The area under the curve; nothing if all tasks are told alike: nothing was learned then."""
    if score.min() == score.max():
        return NOTHING
    return area(label, score, weight, block)


def _user(early: pd.DataFrame, late: pd.DataFrame) -> Floats:
    """The share of each user's earlier tasks that finished, shrunk to that of all."""
    mean = early["finished"].mean()
    of = early.groupby("user")["finished"].agg(["sum", "size"])
    share = (of["sum"] + PRIOR * mean) / (of["size"] + PRIOR)
    return late["user"].map(share).fillna(mean).to_numpy(np.float64)


def _boosted(early: pd.DataFrame, late: pd.DataFrame) -> Floats:
    """What boosting says of the later tasks: it learns on the last of the earlier ones, whose
    history the first of them are.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier

    border = early["submit"].quantile(HISTORY)
    first, last = early[early["submit"] <= border], early[early["submit"] > border]
    if len(last) < LEAST or last["finished"].nunique() < 2:
        first = last = early
    weight = 1.0 / last.groupby("job")["job"].transform("size").to_numpy(np.float64)
    trees = HistGradientBoostingClassifier(max_iter=150, learning_rate=0.08, random_state=0)
    rows, later = _features(first, last), _features(early, late)
    known = rows.notna().any(axis=0).to_numpy()
    trees.fit(rows.loc[:, known], last["finished"], sample_weight=weight)
    return trees.predict_proba(later.loc[:, known])[:, 1]


def _features(history: pd.DataFrame, tasks: pd.DataFrame) -> pd.DataFrame:
    columns: dict[str, pd.Series] = {}
    for by in ("name", "user"):
        if not history[by].notna().any():
            continue
        of = history.groupby(by)
        for name, values in (
            ("finished", of["finished"].mean()),
            ("seen", of.size()),
            ("run", of["run"].median()),
        ):
            columns[f"{by}_{name}"] = tasks[by].map(values).astype(np.float64)
    for name in REQUESTS:
        columns[name] = tasks[name].astype(np.float64)
    return pd.DataFrame(columns, index=tasks.index)
