"""The results as the tables of a Markdown page: all experiments, then each with its rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from experiments.reproduction.report_entries import (
    COLUMNS,
    Entry,
    by_paper,
    cells_of,
    time_text,
    totals_of,
)

__all__ = ["markdown"]

SUMMARY = ("claim", "kind", "within", "outside", "fitted", "printed", "command", "wall time")
RIGHT = {"within", "outside", "fitted", "printed", "wall time", "paper", "ours", "band"}
"""Columns of numbers."""


def markdown(entries: Sequence[Entry]) -> str:
    """Totals, and all experiments by paper: what they claim, how it came out, and every row."""
    totals = totals_of(entries)
    missing = f", {failed} without a result" if (failed := totals.pop("failed")) else ""
    rows = ", ".join(f"{number} {name}" for name, number in totals.items())
    parts = [f"{len(entries)} experiments{missing}; rows: {rows}."]
    for paper, found in by_paper(entries).items():
        parts += [f"### {paper}", _table(SUMMARY, map(_summary, found))]
        parts += [part for entry in found if not entry.error for part in _rows(entry)]
    return "\n\n".join(parts)


def _summary(entry: Entry) -> list[str]:
    """An experiment in a line."""
    if entry.error:
        return [entry.name, f"**{entry.error}**", "", "", "", "", _code(entry), ""]
    count = [str(entry.counts[verdict]) for verdict in ("within", "outside", "fitted", "")]
    claim = f"{entry.item}: {entry.title}"
    return [claim, entry.kind, *count, _code(entry), time_text(entry.seconds)]


def _rows(entry: Entry) -> Iterator[str]:
    """An experiment's rows, folded away."""
    seeds = f", {entry.seeds} {entry.per}" if entry.seeds else ""
    yield f"<details><summary>{escape(entry.item)}: {escape(entry.title)}{seeds}</summary>"
    yield _table(COLUMNS, (cells_of(row, entry.kind) for row in entry.rows))
    yield "</details>"


def _code(entry: Entry) -> str:
    return f"`{entry.command}`"


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """The lines of a table; what would end a cell, or is markup, is escaped."""
    rule = ["---:" if column in RIGHT else "---" for column in columns]
    lines = [columns, rule, *([_escaped(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _escaped(cell: str) -> str:
    return " ".join(escape(cell, quote=False).replace("|", "\\|").split())
