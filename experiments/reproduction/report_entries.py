"""What a report says of each experiment: the rows, how many are within their bands, and the rest.

Both reports, the table (`report_table`) and the page (`report_page`), are made of these.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from experiments.reproduction import BEYOND, Kind, Row, digits
from experiments.reproduction.catalogue import Catalogue
from experiments.reproduction.stored_results import Store

__all__ = ["COLUMNS", "Entry", "by_paper", "cells_of", "entries_of", "time_text", "totals_of"]

COLUMNS = ("claim", "paper", "ours", "band", "verdict", "fitted or predicted", "note")
"""Of the table of an experiment."""
ORDER = {"Table": 0, "Tables": 0, "Figure": 1, "Figures": 1, "Fig.": 1}
"""In which the items of a paper come; what is neither comes after them."""
ABOUT = ("paper", "item", "title", "kind", "seeds", "per", "seconds")
"""Entries of a stored result that are shown as they are."""
ROMAN = {"I": 1, "V": 5, "X": 10}
MINUTE = 60.0
"""[s]"""


@dataclass(frozen=True)
class Entry:
    """An experiment, and what became of it."""

    name: str
    command: str
    description: str
    """its docstring"""
    paper: str = ""
    item: str = ""
    title: str = ""
    kind: str = ""
    seeds: int = 0
    per: str = "seeds"
    """what there are so many of"""
    seconds: float = 0.0
    rows: tuple[Row, ...] = ()
    picture: Path | None = None
    error: str = ""
    """why there are no rows: it failed, and for what reason, or was not run"""
    counts: Counter[str] = field(default_factory=Counter[str])
    """rows by verdict; "" are those that are not judged"""

    @property
    def unexplained(self) -> list[str]:
        """Rows that are outside, and nobody says why."""
        return [r.name for r in self.rows if r.verdict == "outside" and not r.note.strip()]


def entries_of(
    catalogue: Catalogue, store: Store, names: Sequence[str], errors: dict[str, str]
) -> list[Entry]:
    """What there is to say of some experiments, in the order of the papers and their tables."""
    entries = [_entry(catalogue, store, name, errors.get(name, "")) for name in names]
    return sorted(entries, key=_place)


def _entry(catalogue: Catalogue, store: Store, name: str, error: str) -> Entry:
    about = (name, catalogue.command(name), catalogue.description(name))
    found = store.load(name)
    if error or found is None:
        return Entry(*about, error=error or "not run")
    rows = tuple(map(_row, found["rows"]))
    picture = store.file(name, "png")
    return Entry(
        *about,
        **{key: found[key] for key in ABOUT},
        rows=rows,
        picture=picture if picture.is_file() else None,
        counts=Counter(row.verdict for row in rows),
    )


def _row(written: dict[str, Any]) -> Row:
    """A row as it was before it was written; null is what is not a number."""
    given = {f.name: written[f.name] for f in fields(Row)}
    if given["ours"] is None:
        given["ours"] = math.nan
    if given["band"] is not None:
        given["band"] = tuple(given["band"])
    return Row(**given)


def by_paper(entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    """The experiments of each paper; those without a result come last, under "Not there"."""
    papers: dict[str, list[Entry]] = {}
    for entry in entries:
        papers.setdefault(entry.paper or "Not there", []).append(entry)
    return papers


def totals_of(entries: Sequence[Entry]) -> dict[str, int]:
    """Rows of all experiments by verdict, and how many experiments gave none."""
    named = {"within": "within", "outside": "outside", "fitted": "fitted", "": "printed"}
    totals = {name: sum(e.counts[v] for e in entries) for v, name in named.items()}
    return totals | {"failed": sum(bool(e.error) for e in entries)}


def _place(entry: Entry) -> tuple[Any, ...]:
    """Papers by name, tables before figures before what else there is, by number."""
    kind, number = [*entry.item.split(), "", ""][:2]
    last = (not entry.paper, entry.paper == BEYOND, entry.paper.casefold())
    return (*last, ORDER.get(kind, len(ORDER)), _number(number), entry.item, entry.name)


def _number(text: str) -> int:
    """An Arabic or Roman number at the beginning of a word; 0 if there is none."""
    arabic = re.match(r"\d+", text)
    if arabic:
        return int(arabic[0])
    roman = re.match(r"[IVX]+\b", text)
    values = [ROMAN[letter] for letter in roman[0]] if roman else []
    pairs = zip(values, [*values[1:], 0], strict=False)
    return sum(-value if value < after else value for value, after in pairs)


def cells_of(row: Row, kind: str) -> tuple[str, ...]:
    """A row as text, one for each of `COLUMNS`."""
    ours = digits(row.ours)
    if row.low is not None and row.high is not None:
        ours = f"{ours} [{digits(row.low)}, {digits(row.high)}]"
    band = "" if row.band is None else f"{digits(row.band[0])} to {digits(row.band[1])}"
    paper = "" if row.paper is None else digits(row.paper)
    return row.name, paper, ours, band, row.verdict, _origin(row, kind), row.note


def _origin(row: Row, kind: str) -> str:
    """Was it fitted, predicted, or computed without anything to choose?"""
    if row.fitted:
        return "fitted"
    if row.band is None:
        return "printed"
    return "exact" if row.exact or kind == Kind.EXACT else "predicted"


def time_text(seconds: float) -> str:
    """Wall time as text."""
    if seconds < MINUTE:
        return f"{seconds:.1f} s" if seconds < 10.0 else f"{seconds:.0f} s"
    return f"{seconds / MINUTE:.1f} min"
