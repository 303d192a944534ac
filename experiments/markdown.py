"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from failgym.leaderboard.statistics.bootstrap import Estimate

__all__ = ["interval", "table"]


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a Markdown table; all columns but the first to the right."""
    rule = ["---", *["---:"] * (len(columns) - 1)]
    lines = ([cell.replace("|", r"\|") for cell in cells] for cells in (columns, rule, *rows))
    return [f"| {' | '.join(cells)} |" for cells in lines]


def interval(estimate: Estimate) -> str:
    """A number and its interval."""
    value, low, high = (f"{round(number, 1) + 0.0:.1f}" for number in estimate)
    return f"{value} [{low}, {high}]"
