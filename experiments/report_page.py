"""The results as one HTML file that asks for nothing from elsewhere: tables, pictures, docstrings.

It holds no program: what can be opened and filtered is HTML and CSS.
"""

from __future__ import annotations

import base64
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.report_entries import COLUMNS, Entry, by_paper, cells_of, time_text, totals_of
from failgym.files import replacing

__all__ = ["Part", "parts_of", "write_page"]

TEMPLATE = Path(__file__).with_name("report.html")


@dataclass(frozen=True)
class Part:
    """A paragraph of a docstring, or a heading."""

    text: str
    kind: str = "text"
    """"heading", "text", "item" of a list, or "code" where lines are to stay as they are"""


def parts_of(docstring: str) -> list[Part]:
    """The paragraphs of a docstring, without the breaks of its lines.

    A line that stands out to the left of those below it is a heading; a paragraph that stands in,
    or draws a table, is code.
    """
    first, *rest = re.split(r"\n\s*\n", docstring.strip("\n"))
    parts = [Part(_joined(first))]
    for block in rest:
        lines = block.split("\n")
        if not lines[0].startswith(" ") and len(lines) > 1 and lines[1].startswith("    "):
            parts.append(Part(lines[0].strip(), "heading"))
            lines = lines[1:]
        inside = textwrap.dedent("\n".join(lines))
        depth = len(lines[0]) - len(lines[0].lstrip())
        code = depth > 4 or re.search(r"\S {3,}\S", inside) is not None
        parts += [Part(inside, "code")] if code else _prose(inside)
    return parts


def _prose(text: str) -> list[Part]:
    """A paragraph, and the items of a list in it."""
    before, *items = re.split(r"^- ", text, flags=re.MULTILINE)
    first = [Part(_joined(before))] if before.strip() else []
    return [*first, *(Part(_joined(item), "item") for item in items)]


def _joined(text: str) -> str:
    return " ".join(text.split())


def write_page(entries: Sequence[Entry], path: Path, quick: bool = False) -> None:
    """Write the report.

    Args:
        entries: the experiments, in order.
        path: of the HTML file; replaced if it is there.
        quick: say that nothing is to be judged by it.
    """
    from jinja2 import Environment, StrictUndefined

    made: Any = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    template = made.from_string(TEMPLATE.read_text("utf-8"))
    papers = {paper: [*map(_shown, found)] for paper, found in by_paper(entries).items()}
    text = template.render(
        papers=papers, columns=COLUMNS, totals=totals_of(entries), quick=quick, count=len(entries)
    )
    with replacing(path) as partial:
        partial.write_text(text, "utf-8")


def _shown(entry: Entry) -> dict[str, Any]:
    """What the template shows of an experiment."""
    return {
        "entry": entry,
        "claim": f"{entry.item}: {entry.title}" if entry.item else entry.name,
        "description": parts_of(entry.description) if entry.description else [],
        "rows": [(cells_of(row, entry.kind), row.verdict or "printed") for row in entry.rows],
        "picture": _data(entry.picture),
        "time": time_text(entry.seconds),
        "unexplained": entry.unexplained,
    }


def _data(picture: Path | None) -> str:
    """A picture as a part of the page."""
    if picture is None:
        return ""
    return f"data:image/png;base64,{base64.b64encode(picture.read_bytes()).decode()}"
