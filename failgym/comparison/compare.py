"""`compare`: a reference and other traces, row by row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from failgym.comparison import policies
from failgym.comparison.apart import outages_told_apart, told_apart
from failgym.comparison.jobs import attempts_of, jobs_of, tasks_of
from failgym.comparison.outage_rows import outage_rows
from failgym.comparison.outages import LEAST_OUTAGES, Observed, days, observed
from failgym.comparison.own_predictors import check_predictor, told_by
from failgym.comparison.prediction import predictability
from failgym.comparison.recurrence import recurrence
from failgym.comparison.resampling import NOTHING, Measured
from failgym.comparison.result import Comparison, Row
from failgym.comparison.threads import one_thread
from failgym.envs import resolve
from failgym.traces import Trace, TraceError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["compare"]

LEAST_JOBS = 100
"""Jobs of a trace that are compared, at least."""
SEEDS = 2**32
"""How many seeds there are, from 0."""


def compare(
    reference: Trace,
    *others: Trace,
    predictors: Sequence[str] = (),
    environments: Sequence[str] = (),
    episodes: int | None = None,
    seed: int = 0,
    advance: Callable[[str], None] = lambda _: None,
) -> Comparison:
    """Compare traces at equal numbers of jobs, of each the first that came after its data began;
    and outages over equal lengths of time (`failgym.comparison.outages`).

    Where a trace has too few jobs, as one of outages alone has, the rows on jobs are left out.

    Args:
        reference: what the others are to be like.
        others: one or more.
        predictors: names of ours that learn the first 70 % of each trace's time and tell the rest.
        environments: ids of environments in which rules are ranked on each; takes a while.
        episodes: slices of each at most that rules are scored on.
        seed: of the rows drawn, and of the intervals.
        advance: is told what has been done.

    Raises:
        TraceError: if a trace has too few jobs to say anything, and predictors or environments are
            asked for or not all traces have outages to compare.
        ValueError: at once for a seed below 0 or from 2**32 on, an unknown environment or
            predictor, or a predictor whose package is not installed; later for an environment in
            which a trace leaves nothing to gain.
    """
    _check(predictors, environments, seed)
    traces = (reference, *others)
    found, seen = [_frames(trace) for trace in traces], observed(traces)
    number = min(len(frames["jobs"]) for frames in found)
    without = [_no_outages(t) for t, o in zip(traces, seen, strict=True) if o is None]
    left_out: list[str] = []
    rows: list[Row] = []
    if number < LEAST_JOBS:
        few = _too_few(traces, found, number)
        if predictors or environments or None in seen:
            raise TraceError("; ".join([few, *without]))
        number, left_out = 0, [f"{few}: no rows on jobs"]
    with one_thread():
        if number:
            found = [_first(frames, number) for frames in found]
            rows = _of_jobs(traces, found, predictors, seed, advance)
        if len(without) < len(traces):
            rows += _of_outages(seen, seed, advance)
            left_out += without
        for env in environments:
            rows += _ranks(traces, env, episodes, seed, advance)
    names = tuple(trace.meta.source for trace in traces)
    return Comparison(names, number, days(seen), tuple(left_out), tuple(rows))


def _check(predictors: Sequence[str], environments: Sequence[str], seed: int) -> None:
    """What can be told before anything is measured, which takes minutes."""
    if not 0 <= seed < SEEDS:
        raise ValueError(f"seed is {seed}, expected at least 0 and below {SEEDS}")
    for name in predictors:
        check_predictor(name)
    for env in environments:
        resolve(env)


def _too_few(traces: Sequence[Trace], found: Sequence[dict[str, pd.DataFrame]], number: int) -> str:
    few = next(t for t, f in zip(traces, found, strict=True) if len(f["jobs"]) == number)
    return (
        f"{few.meta.source}: {number} jobs came after its data began, expected at least"
        f" {LEAST_JOBS}"
    )


def _no_outages(trace: Trace) -> str:
    return (
        f"{trace.meta.source}: fewer than {LEAST_OUTAGES} outages to compare: no values on outages"
    )


def _of_jobs(
    traces: Sequence[Trace],
    found: Sequence[dict[str, pd.DataFrame]],
    predictors: Sequence[str],
    seed: int,
    advance: Callable[[str], None],
) -> list[Row]:
    rows = _beside([_of_each(frames, advance) for frames in found])
    for name in predictors:
        rows += _beside([told_by(trace, name) for trace in traces])
        advance(name)
    return rows + _apart(found, seed, advance)


def _of_outages(
    seen: Sequence[Observed | None], seed: int, advance: Callable[[str], None]
) -> list[Row]:
    rows = _beside([outage_rows(one) for one in seen])
    distances = [outages_told_apart(seen[0], one, seed) for one in seen[1:]]
    advance("outages")
    return rows + _distances(distances)


def _beside(each: Sequence[dict[str, Measured]]) -> list[Row]:
    """What was measured of each trace, as rows."""
    return [Row(what, each[0][what], tuple(one[what] for one in each[1:])) for what in each[0]]


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
    return _distances(distances)


def _distances(distances: Sequence[dict[str, Measured]]) -> list[Row]:
    """How far each of the others is from the reference, as rows."""
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
