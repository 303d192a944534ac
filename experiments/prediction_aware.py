"""Young with predictions against the prediction-aware period, at a stated quality of predictions.

    python -m experiments.prediction_aware [--tasks 300] [--seeds 3] [--json FILE]

Claim. Checkpoints at Young's interval and at every prediction ("ML + periodic" of Kumar et al., DSN
2020, section VI-A) waste more than they need: what is not predicted comes a mean time M/(1 - r)
apart, and the interval sqrt(2 C M/(1 - r)) (Aupy et al., JPDC 74(2), 2014) wastes 15 to 40 % less.
Without predictions Young's interval is within 5 % of the best one, and Daly's no worse than it.

The first-order wastes of both are C/T + ((1 - r) T/2 + r C/p)/M at T = sqrt(2 C M) and
T = sqrt(2 C M/(1 - r)): checkpoints on predictions come on top of periodic ones.

Assumptions. C = 60 s, restores for nothing, M = 1e4 s and windows of 10 s. Tasks
of one length are struck from outside at exponential times. A share r of the failures is predicted,
a fixed lead before it. False predictions are Poisson, of rate r (1 - p)/(p M). A prediction is a
risk of 1 in one window. Waste is the share of the time on machines that is not useful.

Both policies are shown in several forms. In "model" the periodic method keeps its own clock, which
a checkpoint on a prediction does not restart, and every prediction is answered: so it is in those
formulas. In "restart" any checkpoint restarts the period, which wastes less. In "worth", the
default of the prediction-aware policy, it also ignores predictions with less than C/p of unsaved
work.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from experiments.paper_worlds import CHECKPOINT
from failgym import metrics
from failgym.baselines import Daly, Heuristic, MLPeriodic, PredictionAware, Young
from failgym.evaluation import run_policy
from failgym.evaluation.whole_trace import whole_trace_world
from failgym.predictors import Forecast
from failgym.sim.pinned.compile import with_slices
from failgym.traces import Cause, Meta, Outcome, Trace
from failgym.vocabulary import SECOND
from failgym.worlds.pinned.world import PinnedWorld
from failgym.worlds.scenario import Scenario
from failgym.worlds.world import World

QUALITIES = ((0.76, 0.26), (0.95, 0.11), (0.9, 0.9))
"""Recall and precision: those of Kumar et al., Table VIII, "ML+Periodic" and "ML" of shared
single-node jobs, and of a good predictor."""
FACTORS = (0.5, 0.7, 0.8, 0.9, 0.94, 1.0, 1.1, 1.25, 1.5, 2.0)
"""The grid of intervals, in units of Young's."""
THRESHOLD = 0.5
"""Risk from which failure is predicted: any between that of no prediction, 0, and of one, 1."""


@dataclass(frozen=True)
class Model:
    """A machine that fails at random, and tasks that run through several of its failures."""

    cost: int = 60 * SECOND
    """C: time of a checkpoint [ms]."""
    mtbf: int = 10_000 * SECOND
    """M: mean time between failures [ms]."""
    window: int = 10 * SECOND
    """Time between decisions [ms]."""
    lead: int = 110 * SECOND
    """Time from a true prediction to its failure, whole windows [ms]."""
    length: int = 40_000 * SECOND
    """Work of a task [ms]."""
    failures: int = 40
    """Failures recorded of a task at most: with checkpoints it meets about ``length / mtbf``."""

    def trace(self, tasks: int, rng: np.random.Generator) -> Trace:
        """Tasks that are struck again and again until an attempt is long enough to FINISH."""
        run = rng.exponential(self.mtbf, (tasks, self.failures + 1)).astype(np.int64)
        run[:, -1] = self.length
        over = run >= self.length
        run[over] = self.length
        kept = np.cumsum(over, axis=1) - over == 0
        end = np.cumsum(run, axis=1)
        done = over[kept]
        return Trace.of(
            Meta("exponential failures"),
            jobs={
                "original_id": [f"{i:06}" for i in range(tasks)],
                "submit": 0,
                "width": 1,
                "outcome": 0,
            },
            tasks={"job": list(range(tasks)), "index": [0] * tasks, "width": 1},
            attempts={
                "task": np.nonzero(kept)[0],
                "start": (end - run)[kept],
                "end": end[kept],
                "outcome": np.where(done, Outcome.FINISH, Outcome.EVICT),
                "cause": [None if finished else Cause.MACHINE for finished in done],
                "length": [self.length] * len(done),
            },
        )

    def forecast(
        self, trace: Trace, recall: float, precision: float, rng: np.random.Generator
    ) -> Forecast:
        """Predictions of that quality: a risk of 1 in the window of each, of 0 elsewhere."""
        run = trace.column("attempts", "end") - trace.column("attempts", "start")
        windows = run // self.window + 2  # risks are held at the last one, which says nothing
        offset = np.concatenate([[0], np.cumsum(windows)]).astype(np.int64)
        false = recall * (1.0 - precision) / precision * self.window / self.mtbf
        risk = (rng.random(int(offset[-1])) < false).astype(np.float32)
        # the last window from which the lead is left
        at = (run - 1 - self.lead) // self.window
        failed = trace.column("attempts", "outcome") != Outcome.FINISH
        told = failed & (at >= 0) & (rng.random(len(run)) < recall)
        risk[(offset[:-1] + at)[told]] = 1.0
        risk[offset[1:] - 1] = 0.0
        rows = (trace.rows("jobs"), trace.rows("tasks"), trace.rows("attempts"))
        none = Forecast.none(trace.content_hash, *rows, self.window)
        return Forecast(
            none.trace_hash, self.window, offset, risk, none.confidence, none.job_confidence
        )

    def scenario(self, trace: Trace, forecast: Forecast | str = "none") -> Scenario:
        """The world of checkpoints with these costs, on that trace."""
        return CHECKPOINT.override(
            trace=trace,
            forecast=forecast,
            checkpoint_cost=self.cost,
            restore_cost=0,
            window=self.window,
            mtbf=self.mtbf,
            max_attempts=self.failures + 1,
        )


def waste(scenario: Scenario, trace: Trace, policy: Heuristic) -> float:
    """Share of the machine-time of whole tasks that was of no use."""
    world = _one_by_one(whole_trace_world(trace, scenario), trace.rows("tasks"))
    table = run_policy(world, scenario, policy).outcomes
    if not (table["outcome"] == Outcome.FINISH).all():
        raise RuntimeError("tasks were struck more often than the record says: raise `failures`")
    return 1.0 - float(table["useful"].sum() / metrics.task_work(table).sum())


def _one_by_one(world: World, tasks: int) -> World:
    """Slices of one task, so that all run side by side."""
    return PinnedWorld(with_slices(world.tables, np.arange(tasks), 1))


def forms(recall: float, precision: float) -> dict[str, tuple[Heuristic, ...]]:
    """The two policies, in the forms that there are of them."""
    aware = PredictionAware(THRESHOLD, recall, precision, window=0.0)
    return {
        "model": (
            MLPeriodic(THRESHOLD, own_clock=True),
            replace(aware, own_clock=True, trust_all=True),
        ),
        "restart": (MLPeriodic(THRESHOLD), replace(aware, trust_all=True)),
        "worth": (aware,),
    }


@dataclass(frozen=True)
class Figure:
    """The waste of one policy."""

    recall: float
    """0 where nothing is predicted"""
    precision: float
    form: str
    policy: str
    factor: float
    """Its interval in units of Young's."""
    waste: float
    """mean over the seeds"""
    error: float
    """standard error of that mean; 0 with one seed"""


def cases() -> Iterator[tuple[float, float, str, float, Heuristic]]:
    """Recall, precision, form, interval in units of Young's, policy."""
    for recall, precision in QUALITIES:
        for form, policies in forms(recall, precision).items():
            for policy in policies:
                aware = isinstance(policy, PredictionAware)
                factor = (1.0 - recall) ** -0.5 if aware else 1.0
                yield recall, precision, form, factor, policy
    yield 0.0, 0.0, "", metrics.daly_interval(60, 1e4) / metrics.young_interval(60, 1e4), Daly()
    for factor in FACTORS:
        yield 0.0, 0.0, "", factor, Young(factor)


def measure(model: Model, tasks: int, seeds: int) -> Iterator[Figure]:
    """The waste of every case, on the same traces."""
    traces = [model.trace(tasks, np.random.default_rng([seed, 0])) for seed in range(seeds)]
    for recall, precision, form, factor, policy in cases():
        found: list[float] = []
        for seed, trace in enumerate(traces):
            told: Forecast | str = "none"
            if recall > 0.0:
                rng = np.random.default_rng([seed, 1])
                told = model.forecast(trace, recall, precision, rng)
            found.append(waste(model.scenario(trace, told), trace, policy))
        error = float(np.std(found, ddof=1) / len(found) ** 0.5) if len(found) > 1 else 0.0
        name = policy.name
        yield Figure(recall, precision, form, name, factor, float(np.mean(found)), error)


def main(
    tasks: Annotated[int, typer.Option(min=10, help="Tasks of a trace.")] = 300,
    seeds: Annotated[int, typer.Option(min=1, help="Traces.")] = 3,
    lead: Annotated[
        int, typer.Option(min=70, help="Time from a true prediction to its failure [s].")
    ] = 110,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write it there.")] = None,
) -> None:
    """Measure every policy, line by line."""
    model = Model(lead=lead * SECOND)
    print("recall precision form     policy            interval/Young   waste  +-", flush=True)
    figures: list[Figure] = []
    for x in measure(model, tasks, seeds):
        figures.append(x)
        print(
            f"{x.recall:6.2f} {x.precision:9.2f} {x.form:8} {x.policy:17} {x.factor:14.2f}"
            f"   {x.waste:.4f}  {x.error:.4f}",
            flush=True,
        )
    if json_file is not None:
        effort = {"model": asdict(model), "tasks": tasks, "seeds": seeds}
        written = {"effort": effort, "figures": [asdict(x) for x in figures]}
        json_file.write_text(json.dumps(written, indent=1), "utf-8")


if __name__ == "__main__":
    typer.run(main)
