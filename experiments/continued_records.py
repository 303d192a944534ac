"""Do the laws of attempts beyond a record fit the attempts that records do hold?

    failgym trace import google-2011 ClusterData2011-2 --out google-2011
    failgym trace import rumen 19-jobs.trace.json.gz --out rumen
    failgym trace import swf CTC-SP2-1996-3.1-cln.swf.gz --infer-attempts --out ctc-sp2
    python -m experiments.continued_records google-2011 rumen ctc-sp2 --picture FILE --json FILE
    python -m experiments.results_pages --continued FILE

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
resampled. It holds what chance does among the hidden jobs, not what it does in the fit. A record
speaks if tasks are started again in it; in a log of the Parallel Workloads Archive attempts are
resubmissions of failed jobs, as far as they can be told (`--infer-attempts`).

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
from experiments.reproduction.pictures import legend_below
from failgym.cli.output import Cell, JsonFile, print_line, print_table
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
SHOWN = ("success", "time to failure [s]", "evictions per hour", "duration [s]")
"""What pictures and pages show of them."""
COLUMNS = (
    *("comparison", "level", "failures", "jobs", "attempts", "drawn"),
    *("measure", "record", "drawn less record"),
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


def draw(found: dict[str, list[Row]], path: Path) -> None:
    """A picture: a row of panels for each record, a panel for each measure.

    Args:
        found: by the name of the record.
        path: of the picture; its ending says of which kind.
    """
    import matplotlib.pyplot as plt

    size = (3.3 * len(SHOWN), 2.7 * len(found))
    figure, panels = plt.subplots(
        len(found), len(SHOWN), figsize=size, squeeze=False, layout="constrained"
    )
    for (record, rows), line in zip(found.items(), cast(Any, panels), strict=True):
        for axes, name in zip(line, SHOWN, strict=True):
            axes.set_xlabel("failures before the attempt", fontsize="small")
            of_measure = [r for r in rows if r.measure == name and r.level == ALL_LEVELS]
            _panel(axes, of_measure)
            axes.set_title(f"{record}: {name}", fontsize="medium")
            axes.set_yscale("linear" if name == "success" else "symlog", **_linear_below(name))
            values = [value for r in of_measure for value in (r.observed_high, r.drawn)]
            highest = max((value for value in values if np.isfinite(value)), default=0.0)
            axes.set_ylim(0.0, (1.05 if name == "success" else 2.0) * highest or 1.0)
    legend_below(figure, cast(Any, panels)[0, 0], 3)
    with replacing(path) as partial:
        figure.savefig(partial, format=path.suffix[1:], dpi=80)
    plt.close(figure)


def _linear_below(name: str) -> dict[str, float]:
    """Times and rates may be 0: below this their axes are linear."""
    return {} if name == "success" else {"linthresh": 0.01 if "hour" in name else 1.0}


def _panel(axes: Any, rows: list[Row]) -> None:
    """Recorded attempts with their intervals, and beside them what was drawn."""
    for comparison, shift, mark, label in (
        ("one", 0.12, "C0s", "drawn, one attempt"),
        ("whole", 0.24, "C1^", "drawn, whole records"),
    ):
        some = [row for row in rows if row.comparison == comparison]
        if comparison == "one":
            bars = [(r.observed - r.observed_low, r.observed_high - r.observed) for r in some]
            axes.errorbar(
                [row.past for row in some],
                [row.observed for row in some],
                yerr=np.maximum(np.array(bars).reshape(-1, 2).T, 0.0),
                fmt="ko",
                label="record, 95 % interval over jobs",
            )
        axes.plot(
            [row.past + shift for row in some], [row.drawn for row in some], mark, label=label
        )
    axes.set_xticks(range(COUNTS), [*map(str, range(COUNTS - 1)), f"{COUNTS - 1}+"])
    axes.set_xlim(-0.3, COUNTS - 0.5)
    axes.grid(alpha=0.3)


def outside(rows: list[Row]) -> tuple[int, int]:
    """Rows whose interval of the difference leaves out 0, and how many there are."""
    judged = [row for row in rows if np.isfinite(row.low)]
    return sum(not row.within for row in judged), len(judged)


def main(
    traces: Annotated[list[Path], typer.Argument(help="Stored traces.")],
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
    found = dict[str, list[Row]]()
    for trace in traces:
        rows = measured(Trace.load(trace), cast(Work, work), chance, most, draws, seed, times)
        found[trace.name] = rows
        far, count = outside(rows)
        print_table(f"{trace.name}, work: {work}", COLUMNS, _cells(rows))
        print_line(f"{trace.name}: {far} of {count} rows are outside")
    if picture is not None:
        draw(found, picture)
    records = {name: [asdict(row) for row in rows] for name, rows in found.items()}
    file.write({"work": work, "chance": chance, "draws": draws, "records": records})


def _cells(rows: list[Row]) -> list[list[Cell]]:
    """Of a table."""
    return [
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


if __name__ == "__main__":
    typer.run(main)
