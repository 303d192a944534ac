"""`compare`: a reference and other traces, row by row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from failgym.comparison import policies
from failgym.comparison.apart import told_apart
from failgym.comparison.jobs import attempts_of, jobs_of, tasks_of
from failgym.comparison.own_predictors import told_by
from failgym.comparison.prediction import predictability
from failgym.comparison.recurrence import recurrence
from failgym.comparison.resampling import NOTHING, Measured
from failgym.traces import Trace, TraceError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Comparison", "Row", "compare"]

LEAST_JOBS = 100
"""Jobs of a trace that are compared, at least."""


@dataclass(frozen=True)
class Row:
    """What is measured, on the reference and on each of the others."""

    what: str
    reference: Measured
    """NaN for what says how far another is from it"""
    others: tuple[Measured, ...]


@dataclass(frozen=True)
class Comparison:
    """A reference and other traces, compared."""

    names: tuple[str, ...]
    """of the traces, the reference first"""
    jobs: int
    """that were compared of each"""
    rows: tuple[Row, ...]

    def row(self, what: str) -> Row:
        """The row of that name. Raises KeyError if there is none."""
        for row in self.rows:
            if row.what == what:
                return row
        raise KeyError(what)

    def to_json(self) -> dict[str, Any]:
        """Plain values; null for what a trace does not say."""
        return {
            "traces": list(self.names),
            "jobs": self.jobs,
            "rows": [
                {"what": row.what, "values": [_plain(one) for one in (row.reference, *row.others)]}
                for row in self.rows
            ],
        }


def compare(
    reference: Trace,
    *others: Trace,
    predictors: Sequence[str] = (),
    environments: Sequence[str] = (),
    episodes: int | None = None,
    seed: int = 0,
    advance: Callable[[str], None] = lambda _: None,
) -> Comparison:
    """Compare traces at equal numbers of jobs: of each the first that came after its data began.

    Args:
        reference: what the others are to be like.
        others: one or more.
        predictors: names of ours that learn the first 70 % of each trace's time and tell the rest.
        environments: ids of environments in which rules are ranked on each; takes a while.
        episodes: slices of each at most that rules are scored on.
        seed: of the rows drawn, and of the intervals.
        advance: is told what has been done.

    Raises:
        TraceError: if a trace has too few jobs to say anything.
        ValueError: for an unknown environment or predictor, a predictor whose package is not
            installed, or an environment in which a trace leaves nothing to gain.
    """
    traces = (reference, *others)
    found = [_frames(trace) for trace in traces]
    number = min(len(frames["jobs"]) for frames in found)
    if number < LEAST_JOBS:
        few = next(t for t, f in zip(traces, found, strict=True) if len(f["jobs"]) == number)
        raise TraceError(
            f"{few.meta.source}: {number} jobs came after its data began,"
            f" expected at least {LEAST_JOBS}"
        )
    found = [_first(frames, number) for frames in found]
    each = [_of_each(frames, advance) for frames in found]
    rows = [Row(what, each[0][what], tuple(one[what] for one in each[1:])) for what in each[0]]
    for name in predictors:
        told = [told_by(trace, name) for trace in traces]
        rows += [Row(what, told[0][what], tuple(one[what] for one in told[1:])) for what in told[0]]
        advance(name)
    rows += _apart(found, seed, advance)
    for env in environments:
        rows += _ranks(traces, env, episodes, seed, advance)
    return Comparison(tuple(trace.meta.source for trace in traces), number, tuple(rows))


def _frames(trace: Trace) -> dict[str, pd.DataFrame]:
    tasks = tasks_of(trace)
    return {"jobs": jobs_of(trace, tasks), "tasks": tasks, "attempts": attempts_of(trace)}


def _first(frames: dict[str, pd.DataFrame], number: int) -> dict[str, pd.DataFrame]:
    """The first jobs, and what belongs to them."""
    jobs = frames["jobs"].iloc[:number]
    last = jobs["submit"].max()
    tasks, attempts = frames["tasks"], frames["attempts"]
    return {
        "jobs": jobs,
        "tasks": tasks[(tasks["submit"] > 0) & (tasks["submit"] <= last)],
        "attempts": attempts[(attempts["submit"] > 0) & (attempts["submit"] <= last)],
    }


def _of_each(
    frames: dict[str, pd.DataFrame], advance: Callable[[str], None]
) -> dict[str, Measured]:
    found = recurrence(frames["jobs"])
    advance("recurrence")
    found |= predictability(frames["tasks"])
    advance("prediction")
    return found


def _apart(
    found: Sequence[dict[str, pd.DataFrame]], seed: int, advance: Callable[[str], None]
) -> list[Row]:
    closed = [
        frames
        | {
            "jobs": frames["jobs"][frames["jobs"]["open"] == 0],
            "tasks": frames["tasks"][~frames["tasks"]["open"]],
        }
        for frames in found
    ]
    distances: list[dict[str, Measured]] = []
    for one in closed[1:]:
        distances.append(told_apart(closed[0], one, seed))
        advance("told apart")
    if not distances:
        return []
    return [Row(what, NOTHING, tuple(one[what] for one in distances)) for what in distances[0]]


def _ranks(
    traces: Sequence[Trace],
    env: str,
    episodes: int | None,
    seed: int,
    advance: Callable[[str], None],
) -> list[Row]:
    """The score of every rule on each trace, and how alike they rank on the reference."""
    found = [
        policies.ranked(trace, env, episodes=episodes, seed=seed, advance=advance)
        for trace in traces
    ]
    rules = [name for name in found[0].scores if all(name in one.scores for one in found)]
    rows = [
        Row(
            f"{env}: score of {name}",
            found[0].scores[name],
            tuple(f.scores[name] for f in found[1:]),
        )
        for name in rules
    ]
    taus = tuple(policies.kendall(found[0], one) for one in found[1:])
    return [*rows, Row(f"{env}: Kendall's tau of {len(rules)} rules' ranks", NOTHING, taus)]


def _plain(measured: Measured) -> list[float | None]:
    return [None if np.isnan(value) else round(float(value), 6) for value in measured]
