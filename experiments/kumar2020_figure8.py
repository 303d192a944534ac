"""Precision and recall of predicted failures.

Claim
    Fig. 8 and section VI-A of Kumar et al. (DSN 2020): gradient-boosted trees on usage tell jobs
    that the system fails. Precision is better for multi-node jobs than for single-node ones; the
    model of System B's single-node jobs is not usable.

Kind and band
    The curves are not published as numbers, and the jobs are not public. Approximate, on generated
    jobs of system-a and system-b: on each system precision at a recall of .8 is better for
    multi-node jobs; for B's single-node jobs it is below .5, which is fitted, since next to nothing
    was put into their usage. The areas under the ROC curves stand beside those of the binormal
    predictors that Table VIII implies: printed, since the strain in the generated usage was made
    after them.

Choices
    70 % of the runs, by submission, are learned from (`failgym.predictors.GradientBoosting`), the
    rest is judged; usage until the end of each run, as the paper's tail usage; all runs, those of
    requeued jobs too. Of B's 20,000 jobs a fraction of a percent fails.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.kumar2020 import A_MULTI, A_SHARED, A_SINGLE, B_MULTI, B_SINGLE, PAPER, label
from experiments.kumar2020_table8 import auc
from experiments.reproduction import Experiment, Kind, Measured, Options, Row
from failgym.evaluation.progress import Advance
from failgym.metrics.curves import PrecisionRecall
from failgym.predictors import GradientBoosting
from failgym.predictors.boosting.curves import Curve, curves
from failgym.traces import generate
from failgym.vocabulary import MINUTE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SYSTEMS = {"A": ("system-a", 5 * MINUTE, 15_000), "B": ("system-b", MINUTE, 20_000)}
"""Profile, window of the monitor [ms], jobs."""
QUICK_JOBS = 2_000
KINDS = (A_SHARED, A_SINGLE, A_MULTI, B_SINGLE, B_MULTI)
RECALL = 0.8
"""At which precisions are compared."""
USABLE = 0.5
"""A precision below this is of no use: most alarms are false."""
STEPS = 101
"""Of a curve's recall."""
COLOURS = ("#d0743c", "#6a994e", "#2f6690", "#b8c0c8", "#8a6aa0")


BOTH_TOLD = (
    "generated failures are told nearly perfectly in both (areas of .996 and .993; Table VIII"
    " implies .961 and .962): next to nothing is left for one to be above the other"
)


def measure(options: Options, advance: Advance) -> Measured:
    """Curves of every seed, by kind of jobs."""
    areas: dict[str, list[float]] = {kind.name: [] for kind in KINDS}
    precision: dict[str, list[list[float]]] = {kind.name: [] for kind in KINDS}
    for seed in range(options.seeds):
        for system, (profile, window, jobs) in SYSTEMS.items():
            found = fitted(profile, window, QUICK_JOBS if options.quick else jobs, seed)
            for kind in KINDS:
                curve = found.get(kind.group.replace("non-shared", "nonshared"))
                if kind.system == system and curve is not None:
                    areas[kind.name].append(curve.auc)
                    precision[kind.name].append(stepped(curve.points))
            advance(1)
    rows: list[Row] = []
    for kind in KINDS:
        if areas[kind.name]:
            note = "" if kind == B_SINGLE else f"Table VIII implies {auc(kind):.3f}"
            name = f"{kind.name}, area under the ROC curve"
            rows.append(Row.over(name, areas[kind.name], note=note))
    return Measured((*rows, *relations(precision)), drawn(precision))


def fitted(profile: str, window: int, jobs: int, seed: int) -> dict[str, Curve]:
    """The curves of a model fitted on the earlier runs, judged on the later ones."""
    trace = generate(profile, jobs=jobs, seed=seed)
    early, late = trace.split("train"), trace.split("test")
    model = GradientBoosting(target="system", samples="tail", window=window).fit(early)
    return curves(late, model.scores(late), "system")


def stepped(points: PrecisionRecall) -> list[float]:
    """The best precision at each recall or beyond."""
    wanted = np.linspace(0.0, 1.0, STEPS)
    best = np.maximum.accumulate(points.precision[::-1])[::-1]
    return best[np.minimum(np.searchsorted(points.recall, wanted), len(best) - 1)].tolist()


def relations(precision: dict[str, list[list[float]]]) -> list[Row]:
    """Precisions at the recall, and what is said of them."""
    at = round(RECALL * (STEPS - 1))
    mean = {name: [line[at] for line in lines] for name, lines in precision.items() if lines}
    rows = [
        Row.over(f"{name}, precision at recall {RECALL:g}", values) for name, values in mean.items()
    ]
    for single, multi in ((A_SHARED, A_MULTI), (A_SINGLE, A_MULTI), (B_SINGLE, B_MULTI)):
        if single.name in mean and multi.name in mean:
            more = float(np.mean(mean[multi.name]) - np.mean(mean[single.name]))
            name = f"{multi.name}, precision above that of {single.name}"
            rows.append(Row(name, None, more, band=(0.0, 1.0)).because(BOTH_TOLD))
    if B_SINGLE.name in mean:
        name, band = f"{B_SINGLE.name}, precision, not usable", (0.0, USABLE)
        rows.append(Row.over(name, mean[B_SINGLE.name], None, band, fitted=True))
    return rows


def drawn(precision: dict[str, list[list[float]]]) -> dict[str, Any]:
    """The mean curves."""
    lines = {name: np.mean(found, axis=0).tolist() for name, found in precision.items() if found}
    return {"recall": np.linspace(0.0, 1.0, STEPS).tolist(), "precision": lines}


def draw(measured: Measured, figure: Figure) -> None:
    """The curves of each system."""
    shown = measured.series["precision"]
    for place, system in enumerate(SYSTEMS):
        axes: Any = figure.add_subplot(1, 2, place + 1)
        for kind, colour in zip(KINDS, COLOURS, strict=True):
            if kind.system == system and kind.name in shown:
                line = shown[kind.name]
                axes.plot(measured.series["recall"], line, color=colour, label=kind.group)
        axes.set_ylim(0.0, 1.02)
        label(axes, f"System {system}", "recall", "precision")
        axes.legend(fontsize=7)


EXPERIMENT = Experiment(
    paper=PAPER,
    item="Fig. 8",
    title="precision and recall of predicted failures",
    kind=Kind.APPROXIMATE,
    measure=measure,
    draw=draw,
    steps=lambda options: len(SYSTEMS) * max(1, options.seeds),
)

if __name__ == "__main__":
    EXPERIMENT.command()
