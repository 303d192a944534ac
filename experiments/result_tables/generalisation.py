"""The page of generalisation: what is learned on n traces, on these, on fresh ones, elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from experiments.markdown import table
from experiments.result_tables.cells import estimate

__all__ = ["generalisation"]

NAMES = ("seen", "fresh", "above_seen", "above_fresh", "gap")
"""Of each number of traces, in the order of the columns."""


def generalisation(measured: Sequence[Mapping[str, Any]]) -> str:
    """What `experiments.generalisation` wrote, one environment and learner after another."""
    parts = [line for found in measured for line in _learned(found)]
    return "\n".join(parts[:-1])


def _learned(found: Mapping[str, Any]) -> list[str]:
    best, (first, fresh) = found["best"], found["fresh"]
    columns = ["traces", "seen", "fresh", f"above `{best}`, seen", "above it, fresh", "gap"]
    rows = [[str(row["traces"]), *(estimate(row[name]) for name in NAMES)] for row in found["rows"]]
    lines = [
        f"**`{found['env']}`**, {_learner(found)}. Fresh are {fresh} traces (seeds {first:,} on),"
        f" where `{best}` has {estimate(found['best_fresh'])}.",
        *("", *table(columns, rows), ""),
    ]
    if found["elsewhere"]:
        names = list(found["elsewhere"][0]["scores"])
        there = [
            [_place(place), *(estimate(place["scores"][name]) for name in names)]
            for place in found["elsewhere"]
        ]
        beside = [name for name in names if name in found["elsewhere"][0]["above_own"]]
        lines += [*table(["elsewhere", *names], there), ""]
        if beside:
            above = [
                [_place(place), *(estimate(place["above_own"][name]) for name in beside)]
                for place in found["elsewhere"]
            ]
            lines += [*table(["elsewhere, above own past", *beside], above), ""]
        lines += [line for one in _refused(found["elsewhere"]) for line in (one, "")]
    return lines


def _learner(found: Mapping[str, Any]) -> str:
    search = found["search"]
    if found["learner"] != "rules":
        return f"the {found['learner']} learner"
    return f"the best of {search['rules']:,} rules, all played on {search['slices']:,} slices"


def _place(place: Mapping[str, Any]) -> str:
    count = len(place["seeds"])
    return f"{place['trace']}, {'1 trace' if count == 1 else f'{count} traces'}"


def _refused(places: list[Any]) -> list[str]:
    return [
        f"{place['trace']}, seed {seed}, makes no world: {reason}."
        for place in places
        for seed, reason in place["refused"].items()
    ]
