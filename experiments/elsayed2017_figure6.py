"""The probability that a task succeeds in a retry, by the number of past failed attempts.

Claim
    Fig. 6 and section IV-C of El-Sayed et al. (ICDCS 2017): first attempts succeed in 98 % (Google)
    and 97 % (OpenCloud) of the cases, first retries in 42 and 28 %, second retries in 2 and 11 %,
    further ones next to never; tasks of single-task jobs in 97 and 90 % at first, then in 13 and
    15 %. 98 and 95 % of failed jobs hold a failed task, .25 and 20 % of completed ones. Of the
    tasks that fail in the end 70 to 90 % were tried more than once, 15 to 30 % more than twice.

Kind and band
    Approximate, on generated traces: chances within a point, jobs with a failed task within two
    points (of Google's completed jobs within .1), tasks tried again within what the paper says. All
    are fitted: the profiles were given the chances and the numbers of attempts. "Up to 70 to 100
    attempts" is printed.

Choices
    An attempt counts if it finishes or fails; kills, evictions and losses say nothing of success.
    The chance after more failures, "negligible", is judged as at most a point. The chances that the
    text gives of all tasks are in the profiles those of tasks of parallel jobs, whose rows stand
    beside them. OpenCloud's single tasks are those of jobs of one mapper, by which the paper
    measures parallelism. "Tried more than once" is read as more than one attempt, not more
    than one retry: in the real trace 86 % of the failed tasks have two attempts or more, 7 % three.

    In the real trace the chance of a first retry rests on a few large jobs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.elsayed2017 import ONLY, PAPER, Cell, cells, traced
from experiments.reproduction import Experiment, Kind, Measured, Options, Row, within
from failgym.evaluation.progress import Advance
from failgym.traces import Outcome, Trace
from failgym.traces.describe.facts import Facts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FAILURES = {"0": "first attempt", "1": "first retry", "2": "second retry", "3+": "further retries"}
"""Our row, and what comes after as many failures."""
CHANCES: dict[str, dict[str, tuple[float | None, ...]]] = {
    "Google": {
        "all": (98.0, 42.0, 2.0, 0.0),
        "multi": (None, None, None, None),
        "single": (97.0, 13.0, None, None),
    },
    "CMU": {"all": (97.0, 28.0, 11.0, 0.0)},
}
"""[%] by failures, of tasks of all, multi-task and single-task jobs; None: not in the text."""
MAPPER: tuple[float | None, ...] = (90.0, 15.0, None, None)
"""The same of OpenCloud's tasks in jobs of one mapper."""
MIXED = (
    "12 % of the first retries are of single-task jobs, where 13 % succeed; the profile gives the"
    " 42 % that the text has of all tasks to those of parallel jobs (row multi)"
)
EVICTED = (
    "attempts that end in evictions and requeues count as well; 14 % of the failed tasks fail more"
    " than twice"
)
JOBS = {
    ("Google", "FAIL"): (98.0, within(98.0, 2.0)),
    ("CMU", "FAIL"): (95.0, within(95.0, 2.0)),
    ("Google", "FINISH"): (0.25, within(0.25, 0.1)),
    ("CMU", "FINISH"): (20.0, within(20.0, 2.0)),
}
"""Jobs with a failed task [%], and the band; "more than" for failed jobs."""
MOST = 100.0
"""Attempts: "some failed tasks tried re-executing up to 70 to 100 times"."""
AGAIN = {"share 2 or more": ("once", (70.0, 90.0)), "share 3 or more": ("twice", (15.0, 30.0))}
"""Failed tasks tried more than so often: the paper's range [%]."""


def chances() -> list[Cell]:
    """The bars of the figure, and the chances of first attempts."""
    return [
        Cell(
            f"{group} tasks, {attempt} succeeds [%]",
            cluster,
            "success_by_failures",
            row,
            f"P(FINISH) {group}",
            paper,
            None if paper is None else within(paper, 1.0),
            scale=100.0,
            real=row if cluster == "Google" else "",
            why=MIXED if group == "all" else "",
        )
        for cluster, groups in CHANCES.items()
        for group, by_failures in groups.items()
        for (row, attempt), paper in zip(FAILURES.items(), by_failures, strict=True)
    ]


def consequences() -> list[Cell]:
    """What section IV-C says beside the figure."""
    return (
        [
            Cell(
                f"{'failed' if outcome == 'FAIL' else 'completed'} jobs with a failed task [%]",
                cluster,
                "jobs_with_failures",
                outcome,
                "share with",
                paper,
                band,
                scale=100.0,
                real=outcome if cluster == "Google" else "",
            )
            for (cluster, outcome), (paper, band) in JOBS.items()
        ]
        + [
            Cell(
                f"failed tasks tried more than {times} [%]",
                cluster,
                "attempts_of_failed",
                ONLY,
                column,
                None,
                band,
                scale=100.0,
                real=ONLY if cluster == "Google" else "",
                why=EVICTED,
            )
            for cluster in CHANCES
            for column, (times, band) in AGAIN.items()
        ]
        + [
            Cell(
                "most attempts of a failed task",
                cluster,
                "attempts_of_failed",
                ONLY,
                "most",
                MOST,
                real=ONLY if cluster == "Google" else "",
            )
            for cluster in CHANCES
        ]
    )


def measure(options: Options, advance: Advance) -> Measured:
    """The figure, and section IV-C."""
    rows = (
        *cells(chances(), options, advance),
        *by_mapper(options),
        *cells(consequences(), options, lambda step: None),
    )
    series: dict[str, Any] = {"attempts": list(FAILURES.values())}
    for cluster in CHANCES:
        for group in ("all", "multi", "single"):
            start = f"{cluster}: {group} tasks"
            series[f"{cluster} {group}"] = [r.ours for r in rows if r.name.startswith(start)]
    return Measured(rows, series)


def by_mapper(options: Options) -> list[Row]:
    """OpenCloud's tasks, apart by the parallelism of their jobs."""
    traces = [traced("CMU", seed, options.quick) for seed in range(options.seeds)]
    rows: list[Row] = []
    for group, published in (("multi", (None,) * len(FAILURES)), ("single", MAPPER)):
        found = [success(trace, single=group == "single") for trace in traces]
        for n, (attempt, paper) in enumerate(zip(FAILURES.values(), published, strict=True)):
            band = None if paper is None else within(paper, 1.0)
            name = f"CMU: {group} tasks, {attempt} succeeds [%]"
            values = [100.0 * made[n] for made in found]
            rows.append(Row.over(name, values, paper, band, fitted=band is not None))
    return rows


def success(trace: Trace, single: bool) -> list[float]:
    """The chance of success by failures before, in jobs of one mapper or in all others."""
    facts = Facts(trace)
    map_stage = trace.column("stages", "name") == "map"
    mappers = np.bincount(
        facts.job[map_stage[trace.column("tasks", "stage")]], minlength=facts.jobs
    )
    counted = ((mappers == 1) == single)[facts.attempt_job]
    counted &= np.isin(facts.outcome, (Outcome.FINISH, Outcome.FAIL))
    failures = np.minimum(facts.past_failures, len(FAILURES) - 1)[counted]
    tried = np.bincount(failures, minlength=len(FAILURES))
    won = np.bincount(failures, facts.outcome[counted] == Outcome.FINISH, len(FAILURES))
    return (won / tried).tolist()


def draw(measured: Measured, figure: Figure) -> None:
    """Bars by retry, as in the paper without the first attempts: a panel for each cluster."""
    axes: Any = figure.subplots(1, len(CHANCES), sharey=True)
    series = measured.series
    for panel, cluster in zip(axes, CHANCES, strict=True):
        for n, group in enumerate(("all", "multi", "single")):
            places = [k + 0.27 * (n - 1) for k in range(1, len(FAILURES))]
            panel.bar(places, series[f"{cluster} {group}"][1:], 0.25, label=f"{group} tasks")
        panel.set_xticks(range(1, len(FAILURES)), ["1", "2", "3 or more"])
        panel.set_xlabel("failed attempts before")
        panel.set_title(cluster)
    axes[0].set_ylabel("next attempt succeeds [%]")
    axes[0].legend()


EXPERIMENT = Experiment(
    paper=PAPER,
    item="Figure 6",
    title="the probability that a task succeeds in a retry",
    kind=Kind.APPROXIMATE,
    measure=measure,
    draw=draw,
)

if __name__ == "__main__":
    EXPERIMENT.command()
