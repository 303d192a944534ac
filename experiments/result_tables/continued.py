"""The page of records that go on: drawn attempts beside recorded ones, copies of stragglers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from experiments import speculation as copies
from experiments.continued_records import SHOWN, outside
from experiments.continued_records import Row as Compared
from experiments.markdown import table
from failgym.sim.shared.continuation import COUNTS

__all__ = ["continued", "speculation"]


def continued(content: dict[str, Any]) -> str:
    """Recorded attempts beside drawn ones, as `experiments.continued_records` wrote them."""
    lines = list[str]()
    for name, found in content["records"].items():
        rows = [Compared(**_numbers(row)) for row in found]
        far, count = outside(rows)
        lines += [f"**{name}**: {far} of {count} rows are outside.", "", *_record(rows), ""]
    return "\n".join(lines[:-1])


def _numbers(row: dict[str, Any]) -> dict[str, Any]:
    """What is not a number is null in the file."""
    return {name: math.nan if value is None else value for name, value in row.items()}


def _record(rows: Sequence[Compared]) -> list[str]:
    """The table of one record, all levels together; * for a row that is outside."""
    every = {(r.measure, r.comparison, r.past): r for r in rows if r.level == "every"}
    pasts = sorted({past for _, _, past in every})
    sizes = [every[SHOWN[0], "one", past] for past in pasts if (SHOWN[0], "one", past) in every]
    pasts = [row.past for row in sizes]
    cells = [["jobs, attempts", *(f"{row.jobs:,}, {row.attempts:,}" for row in sizes)]]
    for measure in SHOWN:
        alone = [every[measure, "one", past] for past in pasts]
        whole = [every.get((measure, "whole", past)) for past in pasts]
        cells.append([f"{measure}: record", *(_short(row.observed) for row in alone)])
        cells.append(["one attempt drawn", *(_drawn(row) for row in alone)])
        cells.append(["whole records drawn", *(_drawn(row) for row in whole)])
    most = COUNTS - 1
    return table(["", *(f"{past} or more" if past == most else f"{past}" for past in pasts)], cells)


def _drawn(row: Compared | None) -> str:
    if row is None:
        return ""
    far = math.isfinite(row.low) and not row.within
    return _short(row.drawn) + (" *" if far else "")


def _short(value: float) -> str:
    """Three digits; nothing where there is no number."""
    if not math.isfinite(value):
        return ""
    return f"{value:,.0f}" if value >= 100.0 else f"{value:.3g}"


def speculation(content: dict[str, Any]) -> str:
    """What rules save that copy stragglers, as `experiments.speculation` wrote it."""
    cells, seen = list[list[str]](), set[tuple[str, ...]]()
    for row in map(copies.cells, copies.rows_of(content)):
        record, rule, *rest = row
        if rule != "late_early" or (record, *rest) not in seen:  # it need not differ from `late`
            cells.append([record, f"`{rule}`", *rest])
        seen.add((record, *rest))
    counts = ", ".join(
        f"{name} {len(found)} {'draws' if name == copies.GOOGLE else 'traces'}"
        for name, found in content["records"].items()
    )
    ends = [
        f"- `{end.rule}` copies {end.copied:,} tasks that end with {end.end} in Google's record:"
        f" {end.overtaken:,} settle earlier, {end.completion:.0f} h of waiting saved,"
        f" {-end.wasted:.0f} machine-h wasted; {end.largest_job:.0%} of the loss are one job's."
        for end in (copies.End(**said) for said in content["ends"])
        if end.rule != "late_early" and end.copied >= copies.FEW
    ]
    shown = table(copies.TITLES, cells)
    return "\n".join([f"{counts}.", "", *shown, *(["", *ends] if ends else [])])
