"""How do forecasts err that were learned from a record: by tasks, by whole jobs, by applications?

    python -m experiments.forecast_errors --trace DIR [--seeds 5] [--episodes 60] [--json FILE]

Predictors learn from the train split of a stored record and speak of its test split. A task is
flagged where its class is not `finish`. Of each kind of task (those that finish, those that do not)
it is told

- how many are flagged;
- the job's share of the error: how much likelier than by chance two tasks of one job are flagged
  alike, its root; 1: jobs are flagged or missed as a whole;
- the application's: the same of jobs of one user and name, each flagged if most of its tasks are;
- the precision of flags by the size of the job.

`failgym.predictors.Calibrated.by_job` draws with these shares. Intervals are over blocks of time,
those of an application over applications.

Then `grace_period` with the networks of Rosà et al., trained with several seeds: its score, and the
job that costs it most. On half a day of Google's record, where they are never trained anew, since
no midnight is in it, jobs are told well (6 % are misclassified), and their tasks not at all: those
of one job have the same requests. So a job of a hundred tasks that its user kills loses those of
its tasks that finish, all of them or none, as the confidence of `kill` comes out just above or just
below that of `finish`. Other seeds decide otherwise; one job has most of the room.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import numpy.typing as npt
import typer

from failgym.baselines import REGISTRY
from failgym.cli.output import JsonFile, print_table
from failgym.comparison.resampling import NOTHING, Measured, blocks, measured
from failgym.envs import resolve
from failgym.evaluation import Anchors
from failgym.predictors import Forecast
from failgym.predictors.base import task_classes
from failgym.predictors.boosting.gradient_boosting import GradientBoosting
from failgym.predictors.drawn.representatives import applications
from failgym.predictors.forest.random_forest import RandomForest
from failgym.predictors.learned import Learned
from failgym.predictors.network.two_level_network import TwoLevelNetwork
from failgym.traces import Trace
from failgym.vocabulary import Outcome
from failgym.worlds.build import split_of

__all__ = ["Errors", "WorstJob", "errors_of", "share_of", "worst_job"]

Flags = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

SIZES = ((1, 1), (2, 10), (11, 100), (101, 10**9))
"""Tasks of a job."""
KINDS = {False: "finish", True: "do not finish"}


@dataclass(frozen=True)
class Errors:
    """How one predictor errs on one kind of task."""

    predictor: str
    tasks: str
    flagged: float
    """share of them"""
    job_share: Measured
    application_share: Measured
    precision: tuple[float | None, ...]
    """of flags, whatever the kind, by `SIZES`"""


@dataclass(frozen=True)
class WorstJob:
    """What `grace_period` makes of networks trained with one seed."""

    seed: int
    misclassified: float
    """share of the jobs"""
    score: float
    low: float
    high: float
    false_kills: int
    job_points: float
    """of the score, that the job with the largest loss costs"""
    job_tasks: int
    job_confidence: float
    """of that job, not to finish"""
    finish: float
    """mean confidence of its tasks to finish"""
    kill: float
    """and to be killed"""
    largest_room: float
    """share of the room that is one job's"""


def share_of(flag: Flags, group: Ints) -> Measured:
    """The share of the error that is common to groups, which come in order of time.

    If each member takes the group's error with probability s, else its own, two of a group are
    flagged alike s^2 of the way from chance to certainty. Each group weighs as many as it has
    members; groups of one say nothing.
    """
    _, order = np.unique(group, return_inverse=True)
    first = np.full(order.max(initial=-1) + 1, len(group))
    np.minimum.at(first, order, np.arange(len(group)))
    size, flagged = np.bincount(order), np.bincount(order, flag)
    kept = np.argsort(first)
    kept = kept[size[kept] >= 2]
    size, flagged = size[kept], flagged[kept]
    if not 0 < flagged.sum() < size.sum():
        return NOTHING
    pairs = flagged * (flagged - 1.0) / (size - 1.0)

    def share(weight: npt.NDArray[np.float64]) -> float:
        rate, both = (float(weight @ of / (weight @ size)) for of in (flagged, pairs))
        chance = rate * (1.0 - rate)
        return max((both - rate**2) / chance, 0.0) ** 0.5 if chance > 0.0 else np.nan

    return measured(blocks(len(size)), share, possible=(0.0, 1.0))


def errors_of(name: str, forecast: Forecast, trace: Trace) -> Iterator[Errors]:
    """How a forecast errs on the tasks of a trace whose end is known."""
    job = trace.column("tasks", "job").astype(np.int64)
    known = trace.task_outcome != Outcome.CENSORED
    unfinished = task_classes(trace) != 0
    flagged = forecast.confidence.argmax(axis=1) != 0
    size = np.bincount(job, minlength=trace.rows("jobs"))[job]
    precise: list[float | None] = []
    for least, most in SIZES:
        here = known & flagged & (size >= least) & (size <= most)
        precise.append(float(unfinished[here].mean()) if here.any() else None)
    application = applications(trace)
    for kind, tasks in KINDS.items():
        of = known & (unfinished == kind)
        jobs, place = np.unique(job[of], return_inverse=True)
        mostly = np.bincount(place, flagged[of]) > 0.5 * np.bincount(place)
        yield Errors(
            *(name, tasks, float(flagged[of].mean())),
            *(share_of(flagged[of], job[of]), share_of(mostly, application[jobs])),
            tuple(precise),
        )


def worst_job(trace: Path, network: TwoLevelNetwork, train: Trace, episodes: int) -> WorstJob:
    """Play `grace_period` on slices of the test split with a network's forecast."""
    scenario = resolve("GracePeriod-v1", {"trace": str(trace), "split": "test"})
    test = split_of(scenario, "test")
    forecast = network.fit(train).predict(test)
    anchors = Anchors.of(replace(scenario, forecast=forecast), split="test", episodes=episodes)
    run = anchors.run(REGISTRY["grace_period"]())
    found, evidence = anchors.measure(run), anchors.evidence
    job = test.column("tasks", "job").astype(np.int64)
    of = job[anchors.replay.outcomes["task"]]
    saved = np.bincount(of, evidence.replay - evidence.costs(run))
    room = np.bincount(of, evidence.possible)
    worst = int(np.argmin(saved))
    confidence = forecast.confidence[job == worst].mean(axis=0)
    outcome = test.column("jobs", "outcome")
    ended = outcome != Outcome.CENSORED
    wrong = (forecast.job_confidence >= 0.5) != (outcome != Outcome.FINISH)
    return WorstJob(
        seed=network.seed,
        misclassified=float(wrong[ended].mean()),
        score=found.score,
        low=found.low,
        high=found.high,
        false_kills=found.false_kills or 0,
        job_points=float(100.0 * saved[worst] / room.sum()),
        job_tasks=int((job == worst).sum()),
        job_confidence=float(forecast.job_confidence[worst]),
        finish=float(confidence[0]),
        kill=float(confidence[3]),
        largest_room=float(room.max() / room.sum()),
    )


def shown(share: Measured) -> str:
    """A share with its interval."""
    return f"{share.value:.2f} [{share.low:.2f}, {share.high:.2f}]"


def show(errors: list[Errors], worst: list[WorstJob]) -> None:
    """Print both tables."""
    sizes = ("1", "2 to 10", "11 to 100", "more")
    print_table(
        "Errors of learned forecasts of how tasks end; precision of flags by the job's tasks",
        ("predictor", "tasks that", "flagged", "job's share", "application's", *sizes),
        [
            (
                *(row.predictor, row.tasks, f"{row.flagged:.3f}"),
                *(shown(row.job_share), shown(row.application_share)),
                *("" if one is None else f"{one:.2f}" for one in row.precision),
            )
            for row in errors
        ],
    )
    print_table(
        "grace_period with two_level_network, by seed, and the job that costs it most",
        (
            *("seed", "jobs misclassified", "score", "", "false kills", "points", "tasks"),
            *("confidence", "finish", "kill", "room in one job"),
        ),
        [
            (
                *(str(row.seed), f"{row.misclassified:.3f}", f"{row.score:.1f}"),
                *(f"[{row.low:.0f}, {row.high:.0f}]", str(row.false_kills)),
                *(f"{row.job_points:.1f}", str(row.job_tasks), f"{row.job_confidence:.3f}"),
                *(f"{row.finish:.2f}", f"{row.kill:.2f}", f"{row.largest_room:.2f}"),
            )
            for row in worst
        ],
    )


def main(
    trace: Annotated[Path, typer.Option(metavar="DIR", help="A stored record.")],
    seeds: Annotated[int, typer.Option(min=0, help="Of the networks.")] = 5,
    episodes: Annotated[int, typer.Option(min=1, help="Slices that are played.")] = 60,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write it there.")] = None,
) -> None:
    """Measure the errors of learned forecasts."""
    file = JsonFile.at(json_file)
    scenario = resolve("GracePeriod-v1", {"trace": str(trace)})
    train, test = (split_of(scenario, split) for split in ("train", "test"))
    learned: tuple[Learned, ...] = (
        GradientBoosting(target="unfinished"),
        RandomForest(scenario="all"),
        TwoLevelNetwork(),
    )
    errors = [
        row
        for predictor in learned
        for row in errors_of(predictor.name, predictor.fit(train).predict(test), test)
    ]
    worst = [worst_job(trace, TwoLevelNetwork(seed=seed), train, episodes) for seed in range(seeds)]
    file.write({"errors": [asdict(row) for row in errors], "worst": [asdict(row) for row in worst]})
    show(errors, worst)


if __name__ == "__main__":
    typer.run(main)
