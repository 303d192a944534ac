"""Predicting that Google's tasks, and attempts at them, fail.

Claim
    Fig. 10 of El-Sayed et al. (ICDCS 2017). (a) Of tasks, configuration alone tells less than of
    jobs, early usage adds more than it does there, AttemptFailFlag most. (b) Failures of single
    attempts can be predicted with higher precision than those of tasks and jobs.

Kind and band
    Original data: the figure is lost and the text has no number. Areas are printed, not judged.

Choices
    Those of `experiments.termination_forecasts`; flags are AttemptFailFlag of tasks and attempts. A
    trace has 3,000 jobs, some 25,000 tasks. The real trace, where it is there, has no usage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments.elsayed2017 import CLUSTERS, PAPER, real_trace
from experiments.reproduction import Experiment, Kind, Measured, Options, Row
from experiments.termination_forecasts import areas, curves, draw_curves, swept
from failgym.evaluation.progress import Advance
from failgym.predictors.forest.sweep import Sweep
from failgym.traces import generate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEVELS = {"task": "(a) tasks", "attempt": "(b) attempts"}
JOBS, QUICK_JOBS = 3_000, 400
"""Of a trace."""


def measure(options: Options, advance: Advance) -> Measured:
    """A panel for tasks and one for attempts."""
    found: dict[str, list[dict[str, Sweep]]] = {level: [] for level in LEVELS}
    jobs = QUICK_JOBS if options.quick else JOBS
    for seed in range(options.seeds):
        trace = generate(CLUSTERS["Google"].profile, jobs=jobs, seed=seed)
        for level, sweeps in found.items():
            sweeps.append(swept(trace, level, "fail", seed))
        advance(1)
    rows: list[Row] = []
    series: dict[str, Any] = {}
    for level, title in LEVELS.items():
        rows += areas(found[level], f"{title[4:-1]} failed")
        series[title] = curves(found[level])
    real = real_trace(options)
    if real is not None:
        for level in LEVELS:
            sweeps = [swept(real, level, "fail", 0, ("config", "flags"))]
            rows += areas(sweeps, f"real trace: {LEVELS[level][4:-1]} failed")
    return Measured(tuple(rows), series)


def draw(measured: Measured, figure: Figure) -> None:
    """Both panels."""
    draw_curves(measured.series, figure)


EXPERIMENT = Experiment(
    paper=PAPER,
    item="Figure 10",
    title="predicting Google task failures using random forests",
    kind=Kind.ORIGINAL,
    measure=measure,
    draw=draw,
    seeds=2,
)

if __name__ == "__main__":
    EXPERIMENT.command()
