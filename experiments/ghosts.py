"""What Algorithm 1 is worth when attempts that the record does not have cost machine-time.

Claim
    None: the paper did not ask. El-Sayed et al. (ICDCS 2017, section VI) replay recorded attempts;
    where a task has no attempt left, their accounting starts none, except beside an attempt that
    will finish, so that a perfect predictor costs nothing. A cluster that is told to clone or to
    retry does start something. A *ghost* is that attempt: it fares as the last recorded one, so a
    task whose record ends in failure fails again, and its work is lost.

Kind and band
    New: printed, not judged. What counts is the difference of the two accountings on the same
    tasks and forecasts, which were not fitted to Table V or Fig. 11 here.

Choices
    - The profile google-2011, forecasts of the quality that the paper's figures imply
      (`Calibrated.elsayed`), threshold .9, R = 4 extra attempts, each of them a ghost where the
      record is exhausted (``beyond_record="ghost"``) or nothing (``"paper"``).
    - Overhead is the increase of all machine-time. Completion ratios are those of tasks with a
      failed attempt that end as in the record: of those that fail, and of those that succeed.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from experiments.paper_worlds import CLONING
from experiments.reproduction import BEYOND, Experiment, Kind, Measured, Options, Row
from failgym.baselines import Algorithm1, Replay
from failgym.evaluation import run_policy, whole_trace_world
from failgym.evaluation.progress import Advance
from failgym.metrics import cloning_overhead, completion_ratio, task_work
from failgym.traces import Outcome, Trace, generate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Accounting = Literal["ghost", "paper"]
ACCOUNTINGS: tuple[Accounting, ...] = get_args(Accounting)
CLONES = (1, 2, 3)
THRESHOLD = 0.9
RETRIES = 4
"""R, extra attempts (section VI-B)."""
OVERHEAD, FAILED = "overhead", "failed: median completion ratio"


@cache
def traced(seed: int, quick: bool) -> Trace:
    """The jobs of one seed."""
    return generate("google-2011", jobs=200 if quick else 3_000, seed=seed, usage=False)


def played(seed: int, quick: bool, accounting: Accounting, clones: int) -> dict[str, Any]:
    """What becomes of all tasks of a trace under Algorithm 1; without clones, under no policy."""
    trace = traced(seed, quick)
    scenario = CLONING.override(
        trace=trace,
        split="all",
        seed=seed,
        beyond_record=accounting,
        max_extra=RETRIES,
        max_clones=clones,
        decide="alarm",
        alarm=THRESHOLD,
    )
    world = whole_trace_world(trace, scenario, known_only=True)
    rule = Algorithm1(threshold=THRESHOLD, max_extra=RETRIES, max_clones=clones)
    return run_policy(world, scenario, rule if clones else Replay(), threads=1).outcomes


@cache
def replayed(seed: int, quick: bool) -> dict[str, Any]:
    """The record, which is the same by both accountings."""
    return played(seed, quick, "ghost", 0)


def measured(seed: int, quick: bool, accounting: Accounting, clones: int) -> dict[str, float]:
    """Overhead, the part of it that ghosts are, completion of tasks with a failed attempt."""
    trace, replay = traced(seed, quick), replayed(seed, quick)
    policy = played(seed, quick, accounting, clones)
    fails = trace.column("attempts", "outcome") == Outcome.FAIL
    failed = np.bincount(trace.column("attempts", "task")[fails], minlength=trace.rows("tasks")) > 0
    some, ends = failed[policy["task"]], policy["recorded_outcome"]
    return {
        OVERHEAD: cloning_overhead(policy, replay),
        "ghosts / all work": float(policy["ghost"].sum() / task_work(replay).sum()),
        FAILED: completion_ratio(policy, some & (ends == Outcome.FAIL)),
        "succeeded: median completion ratio": completion_ratio(
            policy, some & (ends == Outcome.FINISH)
        ),
    }


def measure(options: Options, advance: Advance) -> Measured:
    """Both accountings, by the number of clones."""
    rows: list[Row] = []
    means: dict[str, dict[str, list[float]]] = {}
    for accounting in ACCOUNTINGS:
        means[accounting] = {}
        for clones in CLONES:
            each = [
                measured(seed, options.quick, accounting, clones) for seed in range(options.seeds)
            ]
            for name in each[0]:
                row = Row.over(f"{accounting}, C={clones}: {name}", [one[name] for one in each])
                rows.append(row)
                means[accounting].setdefault(name, []).append(row.ours)
            advance(1)
    return Measured(tuple(rows), {"clones": CLONES, "mean": means})


def draw(measured: Measured, figure: Figure) -> None:
    """Overhead and completion, by clones."""
    panels: Any = figure.subplots(1, 2)
    for axes, name in zip(panels, (OVERHEAD, FAILED), strict=True):
        for accounting, means in measured.series["mean"].items():
            label = {"ghost": "with ghosts", "paper": "the paper's accounting"}[accounting]
            axes.plot(measured.series["clones"], means[name], marker="o", label=label)
        axes.set_xticks(measured.series["clones"])
        axes.set_xlabel("clones C")
        axes.set_ylabel(name)
        axes.set_ylim(bottom=0.0)
    panels[0].legend()


EXPERIMENT = Experiment(
    paper=BEYOND,
    item="ghosts",
    title="Algorithm 1 with attempts beyond the record, and by the paper's accounting",
    kind=Kind.NEW,
    measure=measure,
    draw=draw,
    steps=lambda _: len(ACCOUNTINGS) * len(CLONES),
)

if __name__ == "__main__":
    EXPERIMENT.command()
