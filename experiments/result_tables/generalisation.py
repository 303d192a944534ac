"""The page of generalisation: rules chosen on n traces, on these, on fresh ones and elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.markdown import table
from experiments.result_tables.cells import estimate

__all__ = ["generalisation"]

NAMES = ("seen", "fresh", "above_seen", "above_fresh", "gap")
"""Of each number of traces, in the order of the columns."""


def generalisation(measured: Mapping[str, Any]) -> str:
    """What `experiments.generalisation` wrote, one environment after another."""
    parts = [line for env, found in measured.items() for line in _environment(env, found)]
    return "\n".join(parts[:-1])


def _environment(env: str, found: Mapping[str, Any]) -> list[str]:
    search, best = found["search"], found["best"]
    (first, fresh), score = found["fresh"], estimate(found["best_fresh"])
    columns = ["traces", "seen", "fresh", f"above `{best}`, seen", "above it, fresh", "gap"]
    rows = [[str(row["traces"]), *(estimate(row[name]) for name in NAMES)] for row in found["rows"]]
    lines = [
        f"**`{env}`**, {search['rules']:,} rules, all played on {search['slices']:,} slices; fresh"
        f" are {fresh} traces (seeds {first:,} on), where `{best}` has {score}.",
        *("", *table(columns, rows), ""),
    ]
    if found["elsewhere"]:
        names = list(found["elsewhere"][0]["scores"])
        there = [
            [_place(place), *(estimate(place["scores"][name]) for name in names)]
            for place in found["elsewhere"]
        ]
        lines += [*table(["elsewhere", *names], there), *_refused(found["elsewhere"]), ""]
    return lines


def _place(place: Mapping[str, Any]) -> str:
    count = len(place["seeds"])
    return f"{place['trace']}, {'1 trace' if count == 1 else f'{count} traces'}"


def _refused(places: list[Any]) -> list[str]:
    said = [
        f"{place['trace']}, seed {seed}, makes no world: {reason}."
        for place in places
        for seed, reason in place["refused"].items()
    ]
    return [line for one in said for line in ("", one)]
