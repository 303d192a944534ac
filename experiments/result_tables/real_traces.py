"""The page of real traces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from experiments.markdown import table
from experiments.result_tables.cells import estimate, percent, shown
from failgym.assessment.advice import MOSTLY
from failgym.evaluation.room import LEAST_ROOM, LITTLE_ROOM, MARK, NOTHING

__all__ = ["condition", "real_traces", "real_traces_refused"]


def real_traces(rows: Sequence[dict[str, Any]]) -> str:
    """Rules on the folds of records, as `experiments.rolling_origin` wrote them."""
    columns = [
        *("trace", "", "counted", "room", "top one, top 1 %", "best rule", "its score"),
        *("its saving", "chosen on the past", "its score", "its saving", "best rule: concluded"),
    ]
    played = [row for row in rows if "reason" not in row and shown(row["env"])]
    return "\n".join(table(columns, [_cells(row) for row in played]))


def real_traces_refused(rows: Sequence[dict[str, Any]]) -> str:
    """Where nothing can be played, and why."""
    refused = [row for row in rows if "reason" in row and shown(row["env"])]
    cells = [[row["trace"], f"`{row['env']}`", row["reason"]] for row in refused]
    return "\n".join(table(["trace", "", "why"], cells))


def _cells(row: dict[str, Any]) -> list[str]:
    best = row["best"]
    return [
        row["trace"],
        f"`{row['env']}`",
        f"{row['count']:,} {row['unit']}s",
        _room(row),
        _shares(row),
        f"`{best}`",
        _score(row, row["scores"][best]),
        _said(row["savings"][best]),
        _chosen(row["chosen"]),
        _score(row, row["chosen_score"]),
        _said(row["chosen_saving"]),
        _concluded(row),
    ]


def _said(value: Sequence[float | None]) -> str:
    """An estimate; a dash where there is none."""
    known = [x for x in value if x is not None]
    return estimate(known) if len(known) == len(value) else "-"


def _score(row: dict[str, Any], value: Sequence[float | None]) -> str:
    """A score, with a sign behind it if the room is little."""
    score, space, limits = _said(value).partition(" ")
    return rf"{score}\{MARK}{space}{limits}" if space and _little(row) else score + space + limits


def _little(row: dict[str, Any]) -> bool:
    return row["room_share"] is not None and LEAST_ROOM <= row["room_share"] < LITTLE_ROOM


def _room(row: dict[str, Any]) -> str:
    share = "-" if row["room_share"] is None else percent(row["room_share"])
    mark = rf"\{MARK}" if _little(row) else ""
    return f"{share}{mark}, {row['room_hours']:,.0f} h"


def _shares(row: dict[str, Any]) -> str:
    """What the largest stake and the top 1 % hold; a dash where there is no stake."""
    return "-" if row["largest"] is None else f"{percent(row['largest'])}, {percent(row['top'])}"


def _chosen(rules: Sequence[str]) -> str:
    """The rules that were chosen, and in how many folds."""
    counts = Counter(rules)
    return ", ".join(f"`{name}` {count}" for name, count in counts.most_common())


def condition(row: dict[str, Any]) -> str:
    """What a conclusion hangs on, as the end of a line; "" if most of it is as recorded."""
    drawn = row["drawn"]
    if drawn is None or not drawn > MOSTLY:
        return ""
    return f" if the drawn attempts fit: {percent(drawn)} rests on them"


def _concluded(row: dict[str, Any]) -> str:
    more, value = row["more"], row["savings"][row["best"]][0]
    if row["room_share"] is None or row["room_share"] < LEAST_ROOM:
        return NOTHING
    if row["unjudged"] is not None:
        return f"not judged: {row['unjudged'].partition(',')[0]}"
    if more is None:
        return ("it saves" if value > 0.0 else "it loses") + condition(row)
    if more < 0:
        return "nothing" if value else "nothing: no rule saves anything"
    return f"nothing: {more:,} more {row['unit']}s needed"
