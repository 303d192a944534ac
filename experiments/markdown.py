"""Tables in Markdown, and the places of a page that they are written into and read from."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path

from failgym.leaderboard.statistics.bootstrap import Estimate

__all__ = ["generated", "interval", "replaced", "table", "tables"]


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a Markdown table; all columns but the first to the right."""
    rule = ["---", *["---:"] * (len(columns) - 1)]
    lines = ([cell.replace("|", r"\|") for cell in cells] for cells in (columns, rule, *rows))
    return [f"| {' | '.join(cells)} |" for cells in lines]


def interval(estimate: Estimate) -> str:
    """A number and its interval, if it has one."""
    value, low, high = (f"{round(number, 1) + 0.0:.1f}" for number in estimate)
    return value if math.isnan(estimate.low) else f"{value} [{low}, {high}]"


def generated(page: Path, name: str) -> str:
    """What stands between a pair of comments of a page. Raises ValueError, naming the page."""
    text = page.read_text("utf-8")
    found = re.search(rf"<!-- {name} -->\n(.*?)<!-- /{name} -->", text, re.DOTALL)
    if found is None:
        raise ValueError(f"{page}: expected <!-- {name} --> and <!-- /{name} -->")
    return found[1]


def tables(text: str) -> list[list[list[str]]]:
    """The cells of all tables of a text in Markdown, heads first, without the rules below them."""
    found: list[str] = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    return [
        [
            [cell.strip() for cell in line.strip().strip("|").split("|")]
            for at, line in enumerate(block.splitlines())
            if at != 1
        ]
        for block in found
    ]


def replaced(text: str, name: str, content: str) -> str:
    """The text with what stands between a pair of comments replaced. Raises ValueError."""
    pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
    if len(pattern.findall(text)) != 1:
        raise ValueError(f"expected <!-- {name} --> and <!-- /{name} --> once")
    return pattern.sub(lambda match: f"{match[1]}{content}\n{match[2]}", text)
