"""The pages of intervals and of twins: what simulations and records say of their promises."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from experiments import interval_simulation, period_intervals
from experiments.gate_summary import MOST_HARMFUL, MOST_MISSED, Judged, groups
from experiments.markdown import table
from experiments.ranks_carry_over import ASKED
from experiments.record_twins import shown
from experiments.result_tables.cells import score_of
from failgym.comparison import Measured

__all__ = ["carried_over", "from_generated", "periods", "simulation", "verdicts"]


def simulation(content: dict[str, Any]) -> str:
    """How often intervals held a known truth, as `experiments.interval_simulation` wrote it."""
    rows = [interval_simulation.cells(interval_simulation.Held(**row)) for row in content["rows"]]
    return "\n".join(table(interval_simulation.TITLES, rows))


def periods(content: dict[str, Any]) -> str:
    """How often the intervals of all weeks held, as `experiments.period_intervals` wrote it."""
    rows = [period_intervals.Held(**row) for row in content["rows"]]
    kinds = {(row.error, row.unlike): None for row in rows}
    found = {(_of_weeks(row), row.error, row.unlike): row for row in rows}
    cells = [
        [
            *(law, str(weeks), f"{fewest} to {most}"),
            *(period_intervals.share(found[(law, weeks, fewest, most), *kind]) for kind in kinds),
            *(period_intervals.width(found[(law, weeks, fewest, most), *kind]) for kind in kinds),
        ]
        for law, weeks, fewest, most in dict.fromkeys(map(_of_weeks, rows))
    ]
    asked = [
        f"{100.0 - error:g} asked" + (", weeks unlike" if unlike else "") for error, unlike in kinds
    ]
    widths = [f"half a width: {title}" for title in asked]
    return "\n".join(table([*period_intervals.TITLES[:3], *asked, *widths], cells))


def _of_weeks(row: period_intervals.Held) -> tuple[str, int, int, int]:
    return row.law, row.weeks, row.fewest, row.most


def carried_over(content: dict[str, Any]) -> str:
    """Taus of twins over those of halves, as `experiments.ranks_carry_over` wrote them."""
    cells = [
        [
            f"{row['record']}, `{row['environment'].removeprefix('failgym/')}`",
            *(f"{row['jobs']:,}", str(len(row["rules"]))),
            *(shown(_measured(row[name])) for name in ("halves", "twins", "ratio", "past_ratio")),
            _verdict(_measured(row["halves"]), _measured(row["ratio"])),
        ]
        for row in content["records"].values()
    ]
    titles = ("", "jobs played of the future", "rules", "halves", "twins", "twins / halves")
    return "\n".join(table([*titles, "past / halves", f"{ASKED:g} kept?"], cells))


def verdicts(content: dict[str, Any]) -> str:
    """How often the verdict was wrong, as `experiments.gate` wrote it."""
    rows: list[dict[str, Any]] = content["judged"]
    truths = [score_of(row["truth"]) for row in rows]
    judged = [replace(Judged(**row), truth=truth) for row, truth in zip(rows, truths, strict=True)]
    cells = [
        [
            *(one.name, str(one.verdicts), str(one.adopt), str(one.none), str(one.harm)),
            *(one.harmful_adopted.text, one.harmful_adopted.kept(MOST_HARMFUL)),
            one.losing_adopted.text,
            *(str(one.could), one.missed.text, one.missed_typical.text),
            one.missed.kept(MOST_MISSED),
        ]
        for one in groups(judged)
    ]
    titles = ["", "verdicts", "adopt", "no evidence", "harm", "harmful: adopted"]
    titles += [f"{MOST_HARMFUL:g} % kept?", "below 0 by the estimate: adopted"]
    titles += ["could tell twice the smallest"]
    titles += ["gains of twice the smallest: missed"]
    titles += ["by the typical smallest", f"{MOST_MISSED:g} % kept?"]
    return "\n".join(table(titles, cells))


def from_generated(rows: list[dict[str, Any]]) -> str:
    """Agents on the future of records, as `experiments.generated_to_real` wrote them."""
    cells: list[list[str]] = []
    for row in rows:
        where = f"{row['trace']}, `{row['env']}`"
        if "reason" in row:
            cells.append([where, "", "", "", row["reason"], ""])
            continue
        cells += [
            [
                *(where, name, str(len(one["runs"])), _adopted(one.get("answers"))),
                *(_points(one["score"]), _points(one["above_past"])),
            ]
            for name, one in row["agents"].items()
        ]
        best = max(row["rules"], key=lambda name: _number(row["rules"][name]["score"][0]))
        rule = row["rules"][best]
        points = _points(rule["score"]), _points(rule["above_past"])
        cells.append([where, f"best rule in hindsight: `{best}`", "", "", *points])
    head = ["", "learned on", "seeds", "verdict *adopt*", "score", "above the past"]
    return "\n".join(table(head, cells))


def _adopted(answers: list[str] | None) -> str:
    """Of how many agents the verdict says so."""
    return "" if answers is None else str(answers.count("adopt"))


def _points(found: list[float | None] | None) -> str:
    if found is None or found[0] is None:
        return "-"
    value, low, high = map(_number, found)
    return f"{value:.1f} [{low:.1f}, {high:.1f}]"


def _number(found: float | None) -> float:
    return math.nan if found is None else found


def _measured(found: list[float | None]) -> Measured:
    return Measured(*(math.nan if each is None else each for each in found))


def _verdict(halves: Measured, ratio: Measured) -> str:
    """Is it kept? Where halves may agree no better than chance nothing can be asked."""
    if not halves.low > 0.0:
        return "not told"
    kept = ratio.value >= ASKED
    sure = ratio.low >= ASKED if kept else ratio.high < ASKED
    return ("yes" if kept else "no") + ("" if sure else ", not surely")
