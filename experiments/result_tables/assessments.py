"""The page of assessments: of records, and of simulated ones whose truth is known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from experiments.advice_summary import TITLES, Advised, counts
from experiments.markdown import table
from experiments.result_tables.cells import percent, score_of
from failgym.assessment.advice import shown_hours

__all__ = ["FIGURES", "LEARNED", "advice", "assessments", "learned"]

FIGURES = ("jobs", "tasks", "span", "useful", "wasted", "unknown", "content")
"""What is kept of what happened (`failgym.assessment.Happened`)."""
LEARNED = (
    *("measure", "forecast", "saved", "low", "high", "share", "verdict"),
    *("forfeited_per_thousand", "false_kills_per_thousand"),
)
"""What is kept of agents that learned from the past of each fold (`failgym.assessment.Judged`)."""
GIGABYTE = 10**9


def assessments(rows: Sequence[dict[str, Any]]) -> str:
    """What reports say, as `experiments.assessments` kept it, and the command of each."""
    columns = [
        *("record", "tasks", "machine-time [h]", "wasted of what is known"),
        *("could be saved of the later half, net, at most", "with", "rules tried", "advice"),
        *("processor [s]", "memory [GB]"),
    ]
    lines = table(columns, [_cells(number, row) for number, row in enumerate(rows, 1)])
    commands = [f"{number}. `{row['command']}`" for number, row in enumerate(rows, 1)]
    return "\n".join([*lines, "", *commands])


def learned(rows: Sequence[dict[str, Any]]) -> str:
    """Agents of the past of each fold, as `experiments.assessments` kept what reports say."""
    columns = [
        *("record", "measure", "forecasts", "saves net [h]", "between"),
        *("of what these tasks used", "tasks lost (killed in error) of 1,000", "verdict"),
    ]
    lines = [
        [
            *(f"{number}. {row['record']}", f"`{one['measure']}`", one["forecast"]),
            *(shown_hours(one["saved"]), _between(one), percent(one["share"])),
            f"{one['forfeited_per_thousand']:.1f} ({one['false_kills_per_thousand']:.1f})",
            _verdict(one, row["jobs"]),
        ]
        for number, row in enumerate(rows, 1)
        for one in row.get("learned", ())
    ]
    return "\n".join(table(columns, lines))


def _verdict(one: dict[str, Any], jobs: int) -> str:
    """What is concluded on a record of so many jobs, and if nothing is, why."""
    found = one["verdict"]
    if found["answer"] != "no evidence":
        return f"**{found['answer']}**"
    if not found["acts"]:
        return "no evidence: it never acts"
    if one["low"] is None or one["high"] is None:
        return "no evidence: too few jobs decide"
    text = f"no evidence: nothing below {found['smallest']:.1f} % can be told from 0"
    if found["more"] is None:
        return text
    more = math.ceil(found["more"] * max(jobs / found["members"], 1.0))
    return f"{text}; a record with about {more:,} more jobs would decide"


def _between(one: dict[str, Any]) -> str:
    """The interval of a saving, if there is one."""
    if one["low"] is None or one["high"] is None:
        return "too few jobs"
    return f"{shown_hours(one['low'])}, {shown_hours(one['high'])}"


def advice(content: dict[str, Any]) -> str:
    """How often advice was right, abstained or harmed, as `experiments.advice` wrote it."""
    rows: list[dict[str, Any]] = content["advised"]
    truths = [None if row["truth"] is None else score_of(row["truth"]) for row in rows]
    found = [replace(Advised(**row), truth=truth) for row, truth in zip(rows, truths, strict=True)]
    lines = counts(found, [case["name"] for case in content["cases"]])
    return "\n".join(table(TITLES, [[str(cell) for cell in line] for line in lines]))


def _cells(number: int, row: dict[str, Any]) -> list[str]:
    known = row["useful"] + row["wasted"]
    most = max(row["rooms"], key=lambda room: room["hours"], default=None)
    return [
        f"{number}. {row['record']}",
        f"{row['tasks']:,}",
        shown_hours(known + row["unknown"]),
        percent(row["wasted"] / known) if known else "-",
        "-"
        if most is None
        else f"{shown_hours(most['hours'])} h, {percent(most['hours'] / most['whole'])}",
        ", ".join(f"`{room['measure']}`" for room in row["rooms"]) or "-",
        f"{row['rules']}",
        "not asked" if row["answer"] == "not asked" else row["advice"],
        f"{row['processor']:,.0f}",
        f"{row['memory'] / GIGABYTE:.1f}",
    ]
