"""Do the laws of attempts beyond a record fit the attempts that records do hold?

    failgym trace import google-2011 ClusterData2011-2 --out google
    python -m experiments.continued_records google [--picture continued.png] [--json FILE]

Jobs are parted at random into three. The laws are fitted on two parts (`failgym.continued.fit`),
the later attempts of the third are hidden and drawn, by rules C2 to C5, C8 and C9 of
`failgym.sim.reference`; each part is hidden once, so that all jobs are compared. Two comparisons:

one
    Each recorded attempt but the first of its task is drawn anew from its start; all that lies
    before it is as recorded.
whole
    All that follows the first attempt of a task is drawn, where that attempt did not finish: gaps,
    attempts, and whether the cluster gives up; up to `--most` attempts, of the record too.

Both are cut off where the record would be: at the end of the data, and where the user killed the
task, or the last tasks of its job. By level of the stratum and intrinsic failures before the
attempt are compared: the share of successes among attempts that succeed or fail, the median time
to failure, failures and evictions per hour, and the median duration of attempts that ended. In
brackets is an interval of the difference, drawn less observed: 2.5 to 97.5 % when jobs are
resampled. It holds what chance does among the hidden jobs, not what it does in the fit.

`--work` says how the work of a task is drawn that the visible record does not finish: of all
lengths in its cell ("any"), of those longer than what its attempts ran that did not fail by
themselves ("longer", as C2 has it), or of these anew for each number of failures ("anew").
`--chance` lets attempts of such tasks differ by chance too.
"""

# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, cast, get_args

import numpy as np
import numpy.typing as npt
import typer

from experiments.continued_drawing import CUT, EXTERNAL, FAIL, FINISH, Attempts, Hidden, Work
from failgym.cli.output import Cell, JsonFile, print_table
from failgym.continued.strata import LEVELS
from failgym.files import replacing
from failgym.sim.shared.continuation import COUNTS
from failgym.traces import Trace
from failgym.vocabulary import HOUR, SECOND

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Pair = tuple[Attempts, Attempts]

PARTS = 3
ALL_LEVELS = "every"
LEAST_JOBS = 5
"""Jobs of recorded attempts without which a row says nothing and is left out."""
MEASURES = (
    "success",
    "time to failure [s]",
    "failures per hour",
    "evictions per hour",
    "duration [s]",
)


@dataclass(frozen=True)
class Row:
    """A measure of recorded and of drawn attempts."""

    comparison: str
    level: str
    past: int
    measure: str
    jobs: int
    attempts: int
    drawn_attempts: float
    """of one draw"""
    observed: float
    observed_low: float
    observed_high: float
    drawn: float
    low: float
    """of drawn less observed, jobs resampled"""
    high: float

    @property
    def within(self) -> bool:
        """Could the difference be chance?"""
        return self.low <= 0.0 <= self.high


@dataclass(frozen=True)
class _Sample:
    """Attempts, sorted by duration, with what each counts for in ratios."""

    job: Ints
    ending: Ints
    hours: Floats

    @classmethod
    def of(cls, attempts: Attempts) -> _Sample:
        order = np.argsort(attempts.duration, kind="stable")
        hours = attempts.duration[order] / HOUR
        return cls(attempts.job[order], attempts.ending[order], hours)

    def measures(self, weight: Floats) -> Floats:
        """`MEASURES`, each job's attempts counting so many times, [jobs]."""
        w = weight[self.job]
        finish, fail, external = (w * (self.ending == one) for one in (FINISH, FAIL, EXTERNAL))
        hours = float((w * self.hours).sum())
        ended = w * (self.ending != CUT)
        return np.array(
            [
                _ratio(float(finish.sum()), float(finish.sum() + fail.sum())),
                self._median(fail),
                _ratio(float(fail.sum()), hours),
                _ratio(float(external.sum()), hours),
                self._median(ended),
            ]
        )

    def _median(self, weight: Floats) -> float:
        total = np.cumsum(weight)
        if not len(total) or not total[-1] > 0.0:
            return np.nan
        return float(self.hours[np.searchsorted(total, total[-1] / 2.0)]) * HOUR / SECOND


def _ratio(over: float, under: float) -> float:
    return over / under if under > 0.0 else np.nan


def compared(
    comparison: str, level: str, past: int, pair: Pair, draws: int, times: int
) -> list[Row]:
    """The measures of some attempts; none if too few jobs have recorded ones."""
    observed, made = pair
    if len(np.unique(observed.job)) < LEAST_JOBS:
        return []
    ours = np.unique(np.concatenate([observed.job, made.job]))
    samples = [_Sample.of(one) for one in pair]
    samples = [_Sample(np.searchsorted(ours, s.job), s.ending, s.hours) for s in samples]
    rng = np.random.default_rng(0)
    ones = np.ones(len(ours))
    point = [one.measures(ones) for one in samples]
    again = np.empty((times, 2, len(MEASURES)))
    for i in range(times):
        weight = np.bincount(rng.integers(0, len(ours), len(ours)), minlength=len(ours))
        again[i] = [one.measures(weight.astype(np.float64)) for one in samples]
    low, high = _interval(again[:, 1] - again[:, 0])
    observed_low, observed_high = _interval(again[:, 0])
    return [
        Row(
            comparison,
            level,
            past,
            name,
            len(np.unique(observed.job)),
            len(observed.job),
            len(made.job) / draws,
            float(point[0][i]),
            float(observed_low[i]),
            float(observed_high[i]),
            float(point[1][i]),
            float(low[i]),
            float(high[i]),
        )
        for i, name in enumerate(MEASURES)
    ]


def _interval(values: Floats) -> tuple[Floats, Floats]:
    """2.5 and 97.5 % of each column; NaN where it is never a number."""
    bounds = np.full((2, values.shape[1]), np.nan)
    for i, column in enumerate(values.T):
        known = column[np.isfinite(column)]
        if len(known):
            bounds[:, i] = np.quantile(known, (0.025, 0.975))
    return bounds[0], bounds[1]


def rows_of(comparison: str, pair: Pair, draws: int, times: int) -> list[Row]:
    """All rows of a comparison: over all levels, then by level; by past failures."""
    rows = list[Row]()
    for level in (ALL_LEVELS, *LEVELS):
        for past in range(COUNTS):
            chosen = [
                one.where(
                    (one.past == past) & ((level == ALL_LEVELS) | (one.level == _number(level)))
                )
                for one in pair
            ]
            rows += compared(comparison, level, past, (chosen[0], chosen[1]), draws, times)
    return rows


def _number(level: str) -> int:
    return LEVELS.index(cast(Any, level)) if level in LEVELS else -1


def measured(
    trace: Trace, work: Work, chance: bool, most: int, draws: int, seed: int, times: int
) -> list[Row]:
    """Hide each third of the jobs in turn; all rows of both comparisons."""
    part = np.random.default_rng(seed).integers(0, PARTS, trace.rows("jobs"))
    made: dict[str, list[Pair]] = {"one": [], "whole": []}
    for number in range(PARTS):
        hidden = Hidden.of(trace, part == number, work, chance)
        for draw in range(draws):
            made["one"].append(hidden.one_attempt(draw, most))
            made["whole"].append(hidden.whole_records(draw, most))
    rows = list[Row]()
    for name, pairs in made.items():
        observed = Attempts.joined([pairs[number * draws][0] for number in range(PARTS)])
        rows += rows_of(name, (observed, Attempts.joined([b for _, b in pairs])), draws, times)
    return rows


def draw(rows: list[Row], path: Path) -> None:
    """A picture: a panel for each measure, recorded attempts with their intervals beside drawn."""
    import matplotlib.pyplot as plt

    figure, axes_of_all = plt.subplots(1, len(MEASURES), figsize=(18, 3.8))
    panels: Any = axes_of_all
    for axes, name in zip(panels, MEASURES, strict=True):
        of_measure = [row for row in rows if row.measure == name and row.level == ALL_LEVELS]
        one = [row for row in of_measure if row.comparison == "one"]
        whole = [row for row in of_measure if row.comparison == "whole"]
        value = np.array([row.observed for row in one])
        bars = [(row.observed - row.observed_low, row.observed_high - row.observed) for row in one]
        place = np.array([row.past for row in one])
        axes.errorbar(
            place, value, yerr=np.maximum(np.array(bars).T, 0.0), fmt="ko", label="record"
        )
        for shift, some, mark in ((0.12, one, "C0s"), (0.24, whole, "C1^")):
            label = {"C0s": "drawn, one attempt", "C1^": "drawn, whole record"}[mark]
            axes.plot(
                [row.past + shift for row in some], [row.drawn for row in some], mark, label=label
            )
        axes.set_title(name)
        axes.set_xlabel("failures before the attempt")
        axes.set_xticks(range(COUNTS), [*map(str, range(COUNTS - 1)), f"{COUNTS - 1}+"])
        axes.set_yscale("linear" if name == "success" else "log")
    panels[0].legend(fontsize=8)
    figure.tight_layout()
    with replacing(path) as partial:
        figure.savefig(partial, format=path.suffix[1:])
    plt.close(figure)


def main(
    trace: Annotated[Path, typer.Argument(help="A stored trace.")],
    work: Annotated[str, typer.Option(help=" or ".join(get_args(Work)))] = "longer",
    chance: Annotated[bool, typer.Option(help="Drawn work differs by chance too.")] = False,
    most: Annotated[int, typer.Option(min=2, help="Attempts of a task.")] = 60,
    draws: Annotated[int, typer.Option(min=1, help="Draw seeds.")] = 5,
    seed: Annotated[int, typer.Option(help="By which jobs are parted.")] = 0,
    times: Annotated[int, typer.Option(min=10, help="How often jobs are resampled.")] = 400,
    picture: Annotated[Path | None, typer.Option(help="Draw it: .png, .svg or .pdf.")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write it there.")] = None,
) -> None:
    """Hide, fit, draw, compare."""
    file = JsonFile.at(json_file)
    if work not in get_args(Work):
        raise typer.BadParameter(f"--work: expected {', '.join(get_args(Work))}, got {work}")
    rows = measured(Trace.load(trace), cast(Work, work), chance, most, draws, seed, times)
    titles = (
        "comparison",
        "level",
        "failures",
        "jobs",
        "attempts",
        "drawn",
        "measure",
        "record",
        "drawn less record",
    )
    cells: list[list[Cell]] = [
        [
            row.comparison,
            row.level,
            row.past,
            row.jobs,
            row.attempts,
            f"{row.drawn_attempts:.0f}",
            row.measure,
            f"{row.observed:.3g}",
            f"{row.drawn:.3g} [{row.low:+.3g}, {row.high:+.3g}]" + ("" if row.within else " *"),
        ]
        for row in rows
    ]
    print_table(f"work: {work}", titles, cells)
    if picture is not None:
        draw(rows, picture)
    file.write({"work": work, "chance": chance, "rows": [asdict(row) for row in rows]})


if __name__ == "__main__":
    typer.run(main)
