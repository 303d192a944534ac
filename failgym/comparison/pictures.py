"""A comparison as a picture: a row each, the traces beside each other."""

# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np

from failgym.comparison.compare import Comparison
from failgym.files import replacing

__all__ = ["check", "draw"]

KINDS = (".png", ".svg", ".pdf")


def check(path: Path) -> None:
    """Raise ValueError if no picture can be drawn there."""
    if path.suffix not in KINDS:
        raise ValueError(f"--plot {path}: expected a file that ends in {', '.join(KINDS)}")
    if not path.absolute().parent.is_dir():
        raise ValueError(f"--plot {path}: no such folder: {path.absolute().parent}")
    if importlib.util.find_spec("matplotlib") is None:
        raise ValueError("--plot: needs matplotlib: pip install failgym[plots]")


def draw(made: Comparison, path: Path) -> None:
    """Draw the rows whose values lie between -1 and 1, each with its interval."""
    import matplotlib.pyplot as plt

    rows = [row for row in made.rows if abs(np.nan_to_num(row.others[0].value, nan=9.0)) <= 1.0]
    figure, axes = plt.subplots(figsize=(10, 0.34 * len(rows) + 1.5))
    height = 0.6 / len(made.names)
    for at, name in enumerate(made.names):
        values = [(row.reference, *row.others)[at] for row in rows]
        place = np.arange(len(rows)) + (at - (len(made.names) - 1) / 2.0) * height
        middle = np.array([one.value for one in values])
        ends = np.array([(one.value - one.low, one.high - one.value) for one in values]).T
        axes.errorbar(middle, place, xerr=np.abs(np.nan_to_num(ends)), fmt="o", ms=4, label=name)
    axes.set_yticks(np.arange(len(rows)), [row.what for row in rows])
    axes.invert_yaxis()
    axes.grid(axis="x", alpha=0.3)
    axes.legend(loc="upper center", bbox_to_anchor=(0.3, -0.05))
    with replacing(path) as partial:
        figure.savefig(partial, format=path.suffix[1:], bbox_inches="tight")
    plt.close(figure)
