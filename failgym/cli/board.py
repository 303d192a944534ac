"""Tables of submissions to a suite: scores, ranks, and what stands beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from failgym.cli.output import Cell, print_line, print_table
from failgym.cli.scores import BESIDE, BESIDE_SHARES, on_one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["chosen", "print_rows"]

Row = dict[str, Any]

SCORES = ("policy", "proof", "runs", "score", "95 %\ninterval", "rank", "possible\nranks")
AT_PRICES = "ranks at\nprices"
READER = "†"
"""Behind the ranks at prices of a policy that may read prices, as on the page."""
SHOWN = {label: name for label, name in BESIDE.items() if name != "saving_in_top"}
"""Columns beside the scores, and the names of figures; the largest saving is not known by job."""
REASONED = {
    "score": "score",
    "low": "interval",
    "rank_low": "possible ranks",
    "rank_at_prices_low": "ranks at prices",
    **{name: on_one_line(label) for label, name in SHOWN.items()},
}
"""Names of numbers, and what they are called where it is said why they are not defined."""


def chosen(rows: Sequence[Row], env: str | None, forecast: str | None) -> list[Row]:
    """Those of an environment and a kind of forecast.

    Raises:
        ValueError: naming the option, if there are none.
    """
    from failgym.known_names import unknown

    env = env and env.removeprefix("failgym/")
    for option, name in (("env", env), ("forecast", forecast)):
        known = list(dict.fromkeys(row[option] for row in rows))
        if name is not None and name not in known:
            raise ValueError(f"--{option}: {unknown(option, name, known)}")
    found = [
        row for row in rows if env in (None, row["env"]) and forecast in (None, row["forecast"])
    ]
    if not found:
        there = [row["forecast"] for row in rows if row["env"] == env]
        known = ", ".join(dict.fromkeys(there))
        raise ValueError(f"--forecast {forecast}: {env} is played with {known}")
    return found


def print_rows(rows: Sequence[Row]) -> None:
    """Print two tables for each environment and kind of forecast, and what there is to gain."""
    for of in _by_field(rows):
        _print_field(of)


def _by_field(rows: Sequence[Row]) -> Iterator[list[Row]]:
    for key in dict.fromkeys((row["env"], row["forecast"]) for row in rows):
        yield [row for row in rows if (row["env"], row["forecast"]) == key]


def _print_field(rows: Sequence[Row]) -> None:
    from failgym.evaluation.result import FEW, plural
    from failgym.evaluation.room import COSTS, MARK, said_of_room

    first = rows[0]
    title = f"failgym/{first['env']}, forecast {first['forecast']}: {_traces(first)}"
    print_table(title, SCORES, [_scores(row) for row in rows])
    names = [label for label, name in SHOWN.items() if any(row[name] is not None for row in rows)]
    table: list[list[Cell]] = [
        [row["policy"], *(row[SHOWN[label]] for label in names), _at_prices(row)] for row in rows
    ]
    columns = ["policy", *names, AT_PRICES]
    print_table("beside the scores", columns, table, BESIDE_SHARES, frozenset(names))
    _print_undefined(rows)
    hours = float("nan") if first["room_hours"] is None else first["room_hours"]
    share = float("nan") if first["room_of_cost"] is None else first["room_of_cost"]
    room = said_of_room(share, hours, COSTS)
    print_line(first["reason"] or f"room: in these {first['tasks']:,.0f} tasks {room}")
    if first["warning"] is not None:
        print_line(f"{MARK} {first['warning']}")
    print_line(_said_of_stake(first))
    if first["few"] and any(row["low"] is not None for row in rows):
        print_line(f"an interval of fewer than {FEW} {plural(first['unit'], FEW)} says little")
    if any(row["may_read_prices"] for row in rows):
        print_line(f"{READER} may read prices, and play differently at others")


def _print_undefined(rows: Sequence[Row]) -> None:
    """Print why numbers are not defined, each reason once; what follows from no score is not said.

    Nor is it of replay, which is what others are measured by.
    """
    played = [row for row in rows if row["policy"] != "replay"] or list(rows)
    found = dict[tuple[str, str], list[str]]()
    for row in played:
        undefined: dict[str, str] = row["undefined"]
        said = {row["reason"]}
        for name, label in REASONED.items():
            reason = undefined.get(name)
            if reason is None or reason in said:
                continue
            found.setdefault((label, reason), []).append(row["policy"])
            if name == "score":
                said.add(reason)
    for (label, reason), policies in found.items():
        of = "" if len(policies) == len(played) else f" of {', '.join(policies)}"
        print_line(f"no {label}{of}: {reason}")


def _said_of_stake(row: Row) -> str:
    """Who holds what the bound saves, in words."""
    of, top, percent = row["stake_of"], row["stake_in_top"], row["stake_in_top_percent"]
    if top is None:
        return f"no stake: {row['undefined']['stake_in_top']}"
    several = row["traces"] > 1
    held = f"the {of} that holds most has {100 * top:.1f} % of it"
    held = f"of all {_traces(row)} {held}" if several else held
    more = f", the top 1 % of each {_part(row)}, rounded up," if several else ", the top 1 %"
    return f"stake: {held}{more} {100 * percent:.1f} %"


def _part(row: Row) -> str:
    return "fold" if row["folds"] else "trace"


def _traces(row: Row) -> str:
    from failgym.evaluation.result import plural

    return f"{row['traces']:,} {plural(_part(row), row['traces'])}"


def _scores(row: Row) -> tuple[Cell, ...]:
    from failgym.evaluation.result import plural
    from failgym.evaluation.room import MARK

    failed = row["status"] if row["status"] != "ok" else "-"
    score = failed if row["score"] is None else f"{row['score']:.1f}{MARK * bool(row['warning'])}"
    interval = "-" if row["low"] is None else f"{row['low']:.1f} to {row['high']:.1f}"
    if row["few"] and row["score"] is not None:
        interval += f"\n({row['units']} {plural(row['unit'], row['units'])})"
    ranks = _range(row, "rank")
    return row["policy"], row["proof"], row["runs"], score, interval, row["rank"], ranks


def _at_prices(row: Row) -> str:
    return _range(row, "rank_at_prices") + READER * row["may_read_prices"]


def _range(row: Row, name: str) -> str:
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    if low is None:
        return "-"
    return str(low) if low == high else f"{low} to {high}"
