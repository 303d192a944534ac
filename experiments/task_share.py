"""How much of a task's slowness is the task's own: kappa, `failgym.continued.TASK_SHARE`.

    failgym trace import google-2011 ClusterData2011-2 --out google
    python -m experiments.task_share google [--json FILE]

A task that took longer than its siblings had more to do, or was unlucky. If it runs again, what was
its own persists. Let x be the logarithm of how long a task took over the median of the other
finished tasks of its job, y that of another run of it over the same median. kappa is the slope of y
by x within jobs. Of this two records speak:

runs again
    Tasks of which the user ran a task of the same job and index again after it had finished, and it
    finished again. In Google's record of 2011 the second run takes a median of .21 of the first:
    it is often not the same work once more, so that this slope may be too small.
recurring jobs
    The same index in consecutive jobs of the same name and number of tasks. They may work on other
    data, so that this slope may be too small as well; x is shrunk as `failgym.continued` does.

An interval is that of 2,000 times as many jobs (names) drawn anew; jobs with at least five
other finished tasks; attempts of unknown age left out.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import numpy.typing as npt
import typer

from failgym.cli.output import JsonFile, print_table
from failgym.continued.rows import Rows
from failgym.continued.slowness import LEAST_SIBLINGS, others_median
from failgym.traces import Trace
from failgym.traces.schema import fixed_width
from failgym.vocabulary import Ending

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

TIMES = 2_000


@dataclass(frozen=True)
class Share:
    """An estimate of kappa."""

    source: str
    pairs: int
    groups: int
    """Jobs, or names of jobs, with at least two pairs."""
    share: float
    low: float
    high: float
    ratio: float
    """Median of the other run's duration over the first's."""


@dataclass(frozen=True)
class Runs:
    """Finished tasks, in order of their start, (runs,) each."""

    job: Ints
    index: Ints
    start: Ints
    duration: Ints

    @classmethod
    def of(cls, trace: Trace) -> Runs:
        """The attempts that finish, of known age."""
        rows = Rows.of(trace)
        row = np.flatnonzero((rows.ending == Ending.FINISH) & rows.known)
        row = row[np.argsort(rows.start[row], kind="stable")]
        index = trace.column("tasks", "index")[rows.task[row]]
        return cls(rows.job[row], index, rows.start[row], rows.duration[row])

    def turns(self) -> Ints:
        """Which run of its job and index each is, from 0."""
        order = np.lexsort((np.arange(len(self.job)), self.index, self.job))
        same = np.zeros(len(order), dtype=np.bool_)
        same[1:] = (self.job[order][1:] == self.job[order][:-1]) & (
            self.index[order][1:] == self.index[order][:-1]
        )
        place = np.arange(len(order))
        turn = np.empty(len(order), dtype=np.int64)
        turn[order] = place - np.maximum.accumulate(np.where(same, 0, place))
        return turn


def slope(source: str, group: Ints, x: Floats, y: Floats, ratio: Floats) -> Share:
    """The slope within groups, and its interval when groups are drawn anew."""
    _, place, size = np.unique(group, return_inverse=True, return_counts=True)
    dx = x - np.bincount(place, x)[place] / size[place]
    dy = y - np.bincount(place, y)[place] / size[place]
    both, own = np.bincount(place, dx * dy)[size > 1], np.bincount(place, dx * dx)[size > 1]
    rng = np.random.default_rng(0)
    chosen = rng.integers(0, len(both), (TIMES, len(both)))
    again = both[chosen].sum(axis=1) / own[chosen].sum(axis=1)
    low, high = np.quantile(again, (0.025, 0.975))
    estimate = float(both.sum() / own.sum())
    middle = float(np.median(ratio))
    return Share(source, len(x), len(both), estimate, float(low), float(high), middle)


def runs_again(runs: Runs) -> Share:
    """From tasks that finished twice."""
    turn = runs.turns()
    first, second = np.flatnonzero(turn == 0), np.flatnonzero(turn == 1)
    median, others = others_median(runs.job[first], runs.duration[first])
    key = {(j, i): n for n, (j, i) in enumerate(_pairs(runs, first))}
    at = np.array([key[pair] for pair in _pairs(runs, second)], dtype=np.int64)
    enough = others[at] >= LEAST_SIBLINGS
    at, second = at[enough], second[enough]
    one, other = runs.duration[first][at], runs.duration[second]
    x, y = np.log(one / median[at]), np.log(other / median[at])
    return slope("runs again", runs.job[second], x, y, other / one)


def recurring_jobs(trace: Trace, runs: Runs) -> Share:
    """From the same index in consecutive jobs of a name and number of tasks."""
    first = np.flatnonzero(runs.turns() == 0)
    median, others = others_median(runs.job[first], runs.duration[first])
    enough = others >= LEAST_SIBLINGS
    first, median, others = first[enough], median[enough], others[enough]
    log = np.log(runs.duration[first] / median) * others / (others + LEAST_SIBLINGS)
    key = {pair: n for n, pair in enumerate(_pairs(runs, first))}
    kinds, name = np.unique(fixed_width(trace.column("jobs", "name")), return_inverse=True)
    following, latest = dict[int, int](), dict[tuple[int, int], int]()
    width = trace.column("jobs", "width")
    for job in np.unique(runs.job[first]).tolist():  # rows of jobs are in order of submission
        kind = (int(name[job]), int(width[job]))
        if kinds[kind[0]] and kind in latest:
            following[latest[kind]] = job
        latest[kind] = job
    both = [
        (n, key[(following[j], i)])
        for (j, i), n in key.items()
        if j in following and (following[j], i) in key
    ]
    pairs: Ints = np.array(both, dtype=np.int64)
    one, other = pairs[:, 0], pairs[:, 1]
    ratio = runs.duration[first][other] / runs.duration[first][one]
    group = name[runs.job[first][one]].astype(np.int64)
    return slope("recurring jobs", group, log[one], log[other], ratio)


def _pairs(runs: Runs, row: Ints) -> list[tuple[int, int]]:
    """Job and index of some runs."""
    return list(zip(runs.job[row].tolist(), runs.index[row].tolist(), strict=True))


def main(
    trace: Annotated[Path, typer.Argument(help="A stored trace of Google's record of 2011.")],
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write it there.")] = None,
) -> None:
    """Estimate kappa by both."""
    file = JsonFile.at(json_file)
    loaded = Trace.load(trace)
    runs = Runs.of(loaded)
    shares = [runs_again(runs), recurring_jobs(loaded, runs)]
    print_table(
        "share of log slowness that persists",
        ("record", "pairs", "groups", "share", "interval", "other run / first"),
        [
            [
                one.source,
                one.pairs,
                one.groups,
                f"{one.share:.3f}",
                f"[{one.low:.3f}, {one.high:.3f}]",
                f"{one.ratio:.2f}",
            ]
            for one in shares
        ],
    )
    file.write([asdict(one) for one in shares])


if __name__ == "__main__":
    typer.run(main)
