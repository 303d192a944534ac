"""Do learned forecasts of attempts err by whole jobs, and what do they know within a job?

    failgym trace import google-2011 ClusterData2011-2 --out google
    python -m experiments.job_errors [google ...] [--profile google-2011-applications]
        [--jobs 20000] [--seeds 3] [--json FILE]

`failgym.predictors.GradientBoosting` learns the risk of attempts from the train split of a trace,
and speaks of its test split; beside it stands a drawn one, `failgym.predictors.Alarms.elsayed`.
An attempt's score is its risk when it starts, or the highest before it ends. Told are, of attempts
that fail and of those that do not, each for themselves:

the job's share of the error
    Scores of one outcome are turned into normal ones by rank. Their correlation in a job, between
    attempts of two tasks, is that of errors given the outcome. If each attempt takes its job's
    number with probability s, else its own, as drawn alarms do (`failgym.predictors.Alarms`, their
    ``job_share``), it is s^2: the share is its root, 0 where the correlation is not positive.

the area within jobs
    How often, of a task whose attempt fails and another of the same job whose attempt does not, the
    first has the higher score; ties count half. Beside it stands the same of any two tasks.

Every job counts alike, however many tasks it has. First attempts of tasks are judged by themselves,
and second ones: that something failed before is no error, and tells more than all else. What the
end of the data cut off does not count. Intervals are over jobs in blocks of time; of a profile over
jobs of all seeds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from statistics import NormalDist
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer

from failgym.cli.output import Cell, JsonFile, print_table
from failgym.comparison.resampling import NOTHING, Measured, blocks, measured
from failgym.predictors import Alarms, Forecast
from failgym.predictors.boosting.gradient_boosting import GradientBoosting
from failgym.traces import Outcome, Trace, generate

__all__ = ["Scored", "Told", "correlation", "job_share", "rows_in", "scored", "told", "within_jobs"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

BOUNDARY = 0.7
NUMBERS = ("first", "second")
START, HIGHEST = SCORES = ("at the start", "highest")


@dataclass(frozen=True)
class Scored:
    """One attempt of each of some tasks, [n]."""

    job: Ints
    """numbered from 0 in order of time, without gaps"""
    bad: Bools
    """does it fail?"""
    score: Floats

    def beside(self, other: Scored) -> Scored:
        """These and those of another trace."""
        shifted = other.job + int(self.job.max(initial=-1)) + 1
        return Scored(
            np.concatenate([self.job, shifted]),
            np.concatenate([self.bad, other.bad]),
            np.concatenate([self.score, other.score]),
        )


@dataclass(frozen=True)
class Told:
    """What is told of one trace by one score."""

    trace: str
    forecast: str
    attempt: str
    """of `NUMBERS`"""
    score: str
    failing: int
    """tasks with an attempt that fails"""
    failing_jobs: int
    """jobs with two or more of them"""
    others_jobs: int
    """jobs with two or more tasks with an attempt that does not"""
    mixed_jobs: int
    """jobs with tasks of both kinds"""
    share_failing: Measured
    share_others: Measured
    area: Measured
    """of any two tasks"""
    area_within: Measured


def scored(trace: Trace, forecast: Forecast, score: str, number: int) -> Scored:
    """The attempts of a trace by which forecasts are judged.

    Args:
        trace: that the forecast speaks of.
        forecast: of a predictor that has not seen it.
        score: of `SCORES`.
        number: started attempts of the task before it.
    """
    outcome = trace.column("attempts", "outcome")
    task = trace.column("attempts", "task").astype(np.int64)
    windows = np.diff(forecast.offset)
    started = trace.present("attempts", "start")
    before = np.cumsum(started) - started
    before -= before[trace.task_first[task]]
    row = np.flatnonzero((windows > 0) & (outcome != Outcome.CENSORED) & (before == number))
    bad = outcome[row] == Outcome.FAIL
    begin = forecast.offset[:-1][row]
    value = forecast.risk[begin]
    if score == HIGHEST:
        some = np.flatnonzero(windows)
        highest = np.zeros(len(windows), dtype=np.float32)
        highest[some] = np.maximum.reduceat(forecast.risk, forecast.offset[:-1][some])
        value = highest[row]
    job = trace.column("tasks", "job").astype(np.int64)[task[row]]
    order = np.argsort(trace.column("jobs", "submit"), kind="stable")
    turn = np.empty(len(order), dtype=np.int64)
    turn[order] = np.arange(len(order))
    _, job = np.unique(turn[job], return_inverse=True)
    return Scored(job.astype(np.int64), bad, value.astype(np.float64))


def correlation(score: Floats, job: Ints) -> Measured:
    """The correlation of normal scores of two members of a job; jobs of one say nothing.

    Each job counts alike, in the ranks too. Of a job of n the mean product of two is
    ((sum of z)^2 - sum of z^2) / (n (n - 1)).

    Args:
        score: [n]
        job: [n] in order of time.
    """
    _, place, size = np.unique(job, return_inverse=True, return_counts=True)
    kept = size[place] >= 2
    _, place, size = np.unique(place[kept], return_inverse=True, return_counts=True)
    if len(size) < 2 or len(np.unique(score[kept])) < 2:
        return NOTHING
    values, rank = np.unique(score[kept], return_inverse=True)
    normal = np.vectorize(NormalDist().inv_cdf)

    def found(weight: Floats) -> float:
        mass = (weight / size)[place]
        share = np.bincount(rank, mass, len(values)) / mass.sum()
        middle = np.cumsum(share) - 0.5 * share
        z = normal(np.clip(middle, 1e-9, 1.0 - 1e-9))[rank]
        z = z - float(mass @ z) / mass.sum()
        both = np.bincount(place, z) ** 2 - np.bincount(place, z * z)
        spread = float(mass @ (z * z)) / weight.sum()
        pairs = both / (size * (size - 1.0))
        return float(weight @ pairs) / weight.sum() / spread if spread > 0.0 else np.nan

    block = blocks(len(size))
    return measured(block, found, possible=(-1.0, 1.0))


def job_share(score: Floats, job: Ints) -> Measured:
    """The share of the error that is the job's: the root of `correlation`."""
    found = correlation(score, job)
    return Measured(*(np.sqrt(max(one, 0.0)) if one == one else one for one in found))


def within_jobs(found: Scored) -> Measured:
    """The area under the curve within jobs that have both kinds; each job counts alike."""
    wins = list[float]()
    for job in np.flatnonzero(_has(found, True) & _has(found, False)).tolist():
        here = found.job == job
        wins.append(_area(found.bad[here], found.score[here]))
    won = np.array(wins)
    if not len(won):
        return NOTHING
    return measured(
        blocks(len(won)), lambda weight: float(weight @ won / weight.sum()), possible=(0.0, 1.0)
    )


def across_jobs(found: Scored) -> Measured:
    """The area of any two tasks, each kind drawn by jobs: a job, then one of its tasks."""
    size = np.zeros(len(found.job))
    for kind in (True, False):
        of = found.bad == kind
        size[of] = np.bincount(found.job[of])[found.job[of]]
    values, rank = np.unique(found.score, return_inverse=True)

    def area(weight: Floats) -> float:
        mass = weight[found.job] / size
        bad, good = (np.bincount(rank[of], mass[of], len(values)) for of in (found.bad, ~found.bad))
        below = np.cumsum(good) - 0.5 * good
        return float(bad @ below / (bad.sum() * good.sum())) if bad.sum() > 0.0 else np.nan

    return measured(blocks(int(found.job.max()) + 1), area, possible=(0.0, 1.0))


def _has(found: Scored, kind: bool) -> Bools:
    """Which jobs have a task of a kind, [jobs]."""
    jobs = int(found.job.max(initial=-1)) + 1
    return np.bincount(found.job[found.bad == kind], minlength=jobs) > 0


def _area(bad: Bools, score: Floats) -> float:
    """Of the scores of one job."""
    values, rank = np.unique(score, return_inverse=True)
    good = np.bincount(rank[~bad], minlength=len(values))
    below = np.cumsum(good) - 0.5 * good
    return float(below[rank[bad]].mean() / good.sum())


def told(trace: str, forecast: str, attempt: str, score: str, found: Scored) -> Told:
    """What a forecast tells of some attempts of one trace by one score."""
    jobs = int(found.job.max(initial=0)) + 1
    fail, others = (np.bincount(found.job[of], minlength=jobs) for of in (found.bad, ~found.bad))
    shares = [job_share(found.score[of], found.job[of]) for of in (found.bad, ~found.bad)]
    return Told(
        trace=trace,
        forecast=forecast,
        attempt=attempt,
        score=score,
        failing=int(found.bad.sum()),
        failing_jobs=int((fail >= 2).sum()),
        others_jobs=int((others >= 2).sum()),
        mixed_jobs=int(((fail > 0) & (others > 0)).sum()),
        share_failing=shares[0],
        share_others=shares[1],
        area=across_jobs(found),
        area_within=within_jobs(found),
    )


def rows_of(name: str, traces: Sequence[Trace]) -> Iterator[Told]:
    """What is told of the test splits of traces of one kind, learned from their train splits."""
    parts: dict[tuple[str, str, str], Scored] = {}
    for trace in traces:
        train, test = (trace.split(half, BOUNDARY) for half in ("train", "test"))
        made = {"learned": GradientBoosting().fit(train), "drawn": Alarms.elsayed()}
        said = {forecast: predictor.predict(test) for forecast, predictor in made.items()}
        for key in product(made, NUMBERS, SCORES):
            found = scored(test, said[key[0]], key[2], NUMBERS.index(key[1]))
            parts[key] = parts[key].beside(found) if key in parts else found
    for key, found in parts.items():
        yield told(name, *key, found)


def rows_in(content: Sequence[dict[str, Any]]) -> list[Told]:
    """The rows that `main` kept."""
    measures = ("share_failing", "share_others", "area", "area_within")
    rows = list[Told]()
    for one in content:
        said: dict[str, Any] = {**one, **{name: _read(one[name]) for name in measures}}
        rows.append(Told(**said))
    return rows


def _read(ends: Sequence[float | None]) -> Measured:
    """A number and its interval, of which JSON has no NaN."""
    return Measured(*(np.nan if one is None else one for one in ends))


def shown(value: Measured) -> str:
    """A number and its interval."""
    return f"{value.value:.2f} [{value.low:.2f}, {value.high:.2f}]"


def cells_of(row: Told) -> list[str]:
    """The cells of a table."""
    jobs = f"{row.failing_jobs:,}, {row.others_jobs:,}, {row.mixed_jobs:,}"
    found = (row.share_failing, row.share_others, row.area, row.area_within)
    return [
        row.trace,
        row.forecast,
        row.attempt,
        row.score,
        f"{row.failing:,}",
        jobs,
        *map(shown, found),
    ]


COLUMNS = (
    *("trace", "forecast", "attempts", "risk", "tasks that fail", "jobs (fail, do not, both)"),
    *("job's share, fail", "job's share, do not", "area", "area within jobs"),
)


def main(
    traces: Annotated[list[Path] | None, typer.Argument(metavar="[DIR]...", exists=True)] = None,
    profile: Annotated[str, typer.Option(help="of generated traces")] = "google-2011-applications",
    jobs: Annotated[int, typer.Option(min=1, help="of each of them")] = 20_000,
    seeds: Annotated[int, typer.Option(min=0, help="how many of them")] = 3,
    json_: Annotated[Path | None, typer.Option("--json", dir_okay=False)] = None,
) -> None:
    """Print how learned risks of attempts err within jobs."""
    file, found = JsonFile.at(json_), list[Told]()
    if seeds:
        made = [generate(profile, jobs=jobs, seed=seed) for seed in range(seeds)]
        found += rows_of(profile, made)
    for folder in traces or []:
        found += rows_of(folder.name, [Trace.load(folder)])
    file.write([asdict(row) for row in found])
    rows: list[tuple[Cell, ...]] = [tuple(cells_of(row)) for row in found]
    print_table("Errors of learned risks of attempts", COLUMNS, rows)


if __name__ == "__main__":
    typer.run(main)
