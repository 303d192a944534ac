"""What pictures of several experiments have in common."""

from __future__ import annotations

from typing import Any

__all__ = ["legend_below"]


def legend_below(figure: Any, panel: Any, columns: int) -> None:
    """One legend for all panels, under them, where it covers nothing.

    Args:
        figure: laid out with constraints.
        panel: one that shows everything that is named.
        columns: of the legend.
    """
    shown = panel.get_legend_handles_labels()
    figure.legend(*shown, fontsize="small", loc="outside lower center", ncols=columns)
