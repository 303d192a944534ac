"""Forests that predict how jobs, tasks and attempts end (El-Sayed et al., ICDCS 2017, section V).

Figs. 7, 8 and 10 show precision and recall by what is known (four scenarios), on the left by the
decision threshold, on the right by the ratio in which the classes are sampled for training.
`failgym.predictors.forest.sweep` says what is known when; here are the rows and pictures of the
three. 70 % of the jobs are learned from and 30 % are judged; forests have 50 trees.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from experiments.reproduction import Row
from experiments.reproduction.pictures import legend_below
from failgym.predictors.forest.rows import SCENARIOS
from failgym.predictors.forest.sweep import Point, Sweep, sweep
from failgym.traces import Trace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["NAMES", "RATIOS", "areas", "by_ratio", "by_threshold", "curves", "draw_curves", "swept"]

NAMES = {
    "config": "Config only",
    "usage": "Config + 5min Usage",
    "flags": "Config + TaskFailFlag",
    "all": "Config + 5min Usage + TaskFailFlag",
}
"""Our scenario, and the paper's name (section V-A)."""
RATIOS = (1.0, 0.2, 0.05)
"""Shares of the most frequent class that are learned from, on the right."""
MIDDLE = 0.5
"""The threshold on the right."""


def swept(
    trace: Trace, level: str, target: str, seed: int, scenarios: Iterable[str] = SCENARIOS
) -> dict[str, Sweep]:
    """A sweep of thresholds for each scenario."""
    return {name: sweep(trace, level, name, target=target, seed=seed) for name in scenarios}


def by_threshold(sweeps: Sequence[Sweep]) -> list[list[float]]:
    """Threshold, mean precision where anything is predicted, mean recall: a list for each."""
    points = [one.points for one in sweeps]
    return [summary(same) for same in zip(*points, strict=True)]


def summary(points: Sequence[Point]) -> list[float]:
    """The mean of the same point of several sweeps."""
    told = [point.precision for point in points if point.precision == point.precision]
    precision = sum(told) / len(told) if told else float("nan")
    return [points[0].threshold, precision, sum(p.recall for p in points) / len(points)]


def by_ratio(trace: Trace, level: str, target: str) -> dict[str, list[list[float]]]:
    """Ratio, precision and recall at the middle threshold, for each scenario."""
    return {
        name: [
            [point.ratio, point.precision, point.recall]
            for point in sweep(
                trace, level, name, target=target, thresholds=(MIDDLE,), ratios=RATIOS
            ).points
        ]
        for name in SCENARIOS
    }


def areas(found: Sequence[dict[str, Sweep]], what: str) -> list[Row]:
    """The area under the receiver operating characteristic, for each scenario."""
    return [
        Row.over(f"{what}, {NAMES[name]}: area", [made[name].auc[1.0] for made in found])
        for name in found[0]
    ]


def curves(found: Sequence[dict[str, Sweep]]) -> dict[str, list[list[float]]]:
    """The left panel."""
    return {name: by_threshold([made[name] for made in found]) for name in found[0]}


def draw_curves(panels: dict[str, dict[str, list[list[float]]]], figure: Figure) -> None:
    """Recall and precision: a panel for each title, a line for each scenario."""
    axes: Any = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for panel, (title, lines) in zip(axes, panels.items(), strict=True):
        for name, points in lines.items():
            _, precision, recall = zip(*points, strict=True)
            panel.plot(recall, precision, marker="o", markersize=3, label=NAMES[name])
        panel.set_title(title)
        panel.set_xlabel("recall")
        panel.set_xlim(0.0, 1.02)
    axes[0].set_ylabel("precision")
    axes[0].set_ylim(0.0, 1.02)
    legend_below(figure, axes[0], columns=2)
