"""Predicting that Google's jobs are killed.

Claim
    Fig. 7 of El-Sayed et al. (ICDCS 2017): random forests predict kills of jobs very accurately
    from what is known at their submission alone; requested CPU, memory and disk and the degree of
    parallelism tell most.

Kind and band
    Original data: the figure is lost and the text has no number. Areas are printed, not judged.

Choices
    Those of `experiments.termination_forecasts`. In the profile the outcome of a job moves its
    width, requests, priority and class, as far as the paper says so; who submits it tells nothing.
    On the real trace the forest knows users and names too, but no usage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.elsayed2017 import PAPER, real_trace, traced
from experiments.reproduction import Experiment, Kind, Measured, Options, Row
from experiments.termination_forecasts import areas, by_ratio, curves, draw_curves, swept
from failgym.evaluation.progress import Advance
from failgym.predictors.forest.sweep import Sweep

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def measure(options: Options, advance: Advance) -> Measured:
    """Both panels; what tells most; the real trace."""
    found: list[dict[str, Sweep]] = []
    for seed in range(options.seeds):
        found.append(swept(traced("Google", seed, options.quick, usage=True), "job", "kill", seed))
        advance(1)
    rows = areas(found, "job killed")
    for name, share in most_telling(found[0]["config"].importance[1.0]):
        rows.append(Row(f"job killed, Config only: importance of {name}", None, share))
    real = real_trace(options)
    if real is not None:
        rows += areas(
            [swept(real, "job", "kill", 0, ("config", "flags"))], "real trace: job killed"
        )
    first = traced("Google", 0, options.quick, usage=True)
    panels = {"by threshold": curves(found), "by sampling ratio": by_ratio(first, "job", "kill")}
    return Measured(tuple(rows), panels)


def most_telling(importance: dict[str, float], number: int = 5) -> list[tuple[str, float]]:
    """The most important features, with their shares."""
    return sorted(importance.items(), key=lambda item: -item[1])[:number]


def draw(measured: Measured, figure: Figure) -> None:
    """Both panels."""
    draw_curves(measured.series, figure)


EXPERIMENT = Experiment(
    paper=PAPER,
    item="Figure 7",
    title="predicting Google job kills using random forests",
    kind=Kind.ORIGINAL,
    measure=measure,
    draw=draw,
    seeds=5,
)

if __name__ == "__main__":
    EXPERIMENT.command()
