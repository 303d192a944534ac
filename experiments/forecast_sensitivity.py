"""How good a forecast has to be: what each policy that uses one saves, by its recall and precision.

Claim
    None that is published. El-Sayed et al. (ICDCS 2017) state no recall, Kumar et al. (DSN 2020)
    one pair of recall and precision for each cell of Table VIII, and Rosà et al. (IWQoS 2015) two
    error rates; each has one predictor. Shown is the share of what doing nothing costs that a
    policy saves, in percent, by the recall and the precision of its forecast; it is negative where
    the policy does harm. How FLAW depends on its predictions is in its own Figs. 10 to 15.

Kind and band
    New: printed, not judged.

Choices
    Policies in their environments, at the prices there, on generated traces, a seed each; whole
    traces, task by task. An alarm is a risk of 1, so that thresholds do not matter. Recall is the
    share of failed attempts that raise one, precision the share of alarms that a failed attempt
    raises; the rate of false alarms follows from both and from how many attempts fail. Where it
    would be above 1 the cell is empty. Alarms come when those of the papers' forecasts do: at the
    start or later (Cloning-v1), ten minutes ahead on average (Checkpoint-v1, which is asked every
    five minutes, as the model of System A is, Kumar et al., section VI-A). `prediction_aware` is
    told recall and precision; all else is as published.

    In GracePeriod-v1 a forecast says the class of a task. Jobs are told without error; recall is
    the share of tasks that do not finish of which that is said, precision the share of what is said
    that is true, both among the tasks of jobs that do not finish, the only ones that are considered
    (Rosà et al., section III).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.reproduction import BEYOND, Experiment, Kind, Measured, Options, Row
from failgym.baselines import (
    Algorithm1,
    GracePeriod,
    Heuristic,
    ImmediateKill,
    MLCheckpoint,
    MLPeriodic,
    PredictionAware,
    Replay,
)
from failgym.envs import SCENARIOS, Scenario
from failgym.evaluation import run_policy
from failgym.evaluation.progress import Advance
from failgym.predictors import Calibrated, ClassQuality
from failgym.traces import Outcome, Trace
from failgym.vocabulary import MINUTE
from failgym.worlds.build import build_world, split_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENT", "attempt_alarms", "measure", "saved", "task_alarms"]

RECALLS = (0.25, 0.5, 0.75, 0.95)
PRECISIONS = (0.2, 0.4, 0.7, 1.0)
QUICK_SHARE = 0.15
"""Of the jobs, in a quick run."""

Forecasts = Callable[[Scenario, Trace, float, float], Calibrated | None]
"""Environment, trace, recall and precision -> such a forecast, if there can be one."""
Made = Callable[[float, float], Heuristic]
"""Recall and precision -> the policy."""


def attempt_alarms(
    scenario: Scenario, trace: Trace, recall: float, precision: float
) -> Calibrated | None:
    """Alarms of attempts of a stated quality; None if there are too few that do not fail."""
    fails = trace.column("attempts", "outcome") == Outcome.FAIL
    false = _false_alarms(int(fails.sum()), int((~fails).sum()), recall, precision)
    if false is None:
        return None
    lead = 10 * MINUTE if scenario.checkpoint else None
    return Calibrated(
        1.0, recall, false, prior=0.0, lead=lead, window=scenario.window, seed=scenario.seed
    )


def task_alarms(
    scenario: Scenario, trace: Trace, recall: float, precision: float
) -> Calibrated | None:
    """Classes of tasks of a stated quality; None if there are too few that finish."""
    job = trace.column("jobs", "outcome")
    considered = (job != Outcome.FINISH) & (job != Outcome.CENSORED)
    of_tasks = trace.task_outcome[considered[trace.column("tasks", "job")]]
    finish = int((of_tasks == Outcome.FINISH).sum())
    lost = len(of_tasks) - finish - int((of_tasks == Outcome.CENSORED).sum())
    false = _false_alarms(lost, finish, recall, precision)
    if false is None:
        return None
    classes = ClassQuality(
        job_error=0.0, finish_flagged=false, unfinished_flagged=recall, unfinished_confused=0.0
    )
    return Calibrated(1.0, 0.0, 0.0, window=scenario.window, seed=scenario.seed, classes=classes)


def _false_alarms(failing: int, other: int, recall: float, precision: float) -> float | None:
    """The rate of false alarms that makes a precision, if there is one."""
    rate = recall * failing * (1.0 - precision) / precision / max(other, 1)
    return rate if rate <= 1.0 else None


@dataclass(frozen=True)
class Case:
    """An environment, what is forecast there, and the policies that use it."""

    env: str
    jobs: int
    forecast: Forecasts
    policies: dict[str, Made]
    window: int = 5 * MINUTE
    """between decisions, or multiples of it [ms]"""

    def scenario(self, seed: int, quick: bool) -> Scenario:
        """The environment on a trace of that seed, an episode for each task."""
        return SCENARIOS[self.env].override(
            jobs=int(self.jobs * QUICK_SHARE) if quick else self.jobs,
            trace_seed=seed,
            seed=seed,
            split="all",
            slice_tasks=1,
            window=self.window,
        )


def _same(policy: Heuristic) -> Made:
    return lambda recall, precision: policy


CASES = (
    Case("Cloning-v1", 800, attempt_alarms, {"algorithm_1": _same(Algorithm1())}),
    Case(
        "Checkpoint-v1",
        1_200,
        attempt_alarms,
        {
            "ml_checkpoint": _same(MLCheckpoint()),
            "ml_periodic": _same(MLPeriodic()),
            "prediction_aware": lambda recall, precision: PredictionAware(
                recall=recall, precision=precision
            ),
        },
    ),
    Case(
        "GracePeriod-v1",
        800,
        task_alarms,
        {"grace_period": _same(GracePeriod()), "immediate_kill": _same(ImmediateKill())},
    ),
)


def saved(scenario: Scenario, policies: dict[str, Heuristic], before: float) -> dict[str, float]:
    """Share of a cost that each policy saves [%].

    Args:
        scenario: with the forecast.
        policies: by name.
        before: what doing nothing costs.
    """
    world = build_world(scenario)
    runs = {
        name: run_policy(world, scenario, policy, order=scenario.order, threads=1)
        for name, policy in policies.items()
    }
    return {name: 100.0 * (1.0 - float(run.costs.sum()) / before) for name, run in runs.items()}


def measure(options: Options, advance: Advance) -> Measured:
    """Every policy with every forecast, on the same traces."""
    values: dict[tuple[str, float, float], list[float]] = {}
    for seed in range(options.seeds):
        for case in CASES:
            plain = case.scenario(seed, options.quick)
            quiet = plain.override(forecast="none")
            replay = run_policy(build_world(quiet), quiet, Replay(), order=quiet.order, threads=1)
            before, trace = float(replay.costs.sum()), split_of(plain, "all")
            for recall in RECALLS:
                for precision in PRECISIONS:
                    forecast = case.forecast(plain, trace, recall, precision)
                    if forecast is None:
                        continue
                    made = {n: make(recall, precision) for n, make in case.policies.items()}
                    for name, value in saved(
                        plain.override(forecast=forecast), made, before
                    ).items():
                        values.setdefault((name, recall, precision), []).append(value)
            advance(1)
    rows = tuple(
        Row.over(f"{name}: recall {recall}, precision {precision}", found)
        for (name, recall, precision), found in sorted(values.items())
        if len(found) == options.seeds
    )
    return Measured(rows, {row.name: row.ours for row in rows})


def draw(measured: Measured, figure: Figure) -> None:
    """A table in colours for each policy."""
    names = [name for case in CASES for name in case.policies]
    panels: Any = figure.subplots(2, 3, sharex=True, sharey=True)
    for axes, name in zip(panels.flat, names, strict=True):
        cells = [
            [measured.series.get(f"{name}: recall {r}, precision {p}", np.nan) for p in PRECISIONS]
            for r in RECALLS
        ]
        axes.imshow(np.clip(cells, -100, 100), cmap="RdBu", vmin=-100, vmax=100, origin="lower")
        for (y, x), value in np.ndenumerate(np.array(cells)):
            if np.isfinite(value):
                colour = "white" if abs(value) > 60 else "black"
                axes.text(x, y, f"{value:.0f}", ha="center", va="center", color=colour)
        axes.set_xticks(range(len(PRECISIONS)), map(str, PRECISIONS))
        axes.set_yticks(range(len(RECALLS)), map(str, RECALLS))
        axes.set_title(name)
    whole: Any = figure
    whole.supxlabel("precision")
    whole.supylabel("recall")
    whole.suptitle("saved, in % of what doing nothing costs")


EXPERIMENT = Experiment(
    paper=BEYOND,
    item="forecast quality",
    title="what each policy saves, by recall and precision of its forecast [%]",
    kind=Kind.NEW,
    measure=measure,
    draw=draw,
    steps=lambda options: options.seeds * len(CASES),
)

if __name__ == "__main__":
    EXPERIMENT.command()
