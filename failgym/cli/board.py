"""Tables of submissions to a suite: scores, ranks, and what stands beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from failgym.cli.output import Cell, print_line, print_table
from failgym.cli.scores import BESIDE, BESIDE_SHARES

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
    from failgym.envs import SCENARIOS
    from failgym.evaluation.room import COSTS, MARK, said_of_room

    first = rows[0]
    title = f"failgym/{first['env']}, forecast {first['forecast']}: {_traces(first['traces'])}"
    print_table(title, SCORES, [_scores(row) for row in rows])
    names = [label for label, name in SHOWN.items() if any(row[name] is not None for row in rows)]
    table: list[list[Cell]] = [
        [row["policy"], *(row[SHOWN[label]] for label in names), _at_prices(row)] for row in rows
    ]
    columns = ["policy", *names, AT_PRICES]
    print_table("beside the scores", columns, table, BESIDE_SHARES, frozenset(names))
    hours = float("nan") if first["room_hours"] is None else first["room_hours"]
    share = float("nan") if first["room_of_cost"] is None else first["room_of_cost"]
    room = said_of_room(share, hours, COSTS)
    print_line(first["reason"] or f"room: in these {first['tasks']:,.0f} tasks {room}")
    if first["warning"] is not None:
        print_line(f"{MARK} {first['warning']}")
    if first["stake_in_top"] is not None:
        top, percent = first["stake_in_top"], first["stake_in_top_percent"]
        of = "slice" if SCENARIOS[first["env"]].world == "scheduled" else "job"
        print_line(
            f"stake: the {of} of a trace that holds most has {100 * top:.1f} % of it, the top 1 %"
            f" {100 * percent:.1f} %"
        )
    if any(row["may_read_prices"] for row in rows):
        print_line(f"{READER} may read prices, and play otherwise at others")


def _traces(count: int) -> str:
    return "1 trace" if count == 1 else f"{count:,} traces"


def _scores(row: Row) -> tuple[Cell, ...]:
    from failgym.evaluation.room import MARK

    failed = row["status"] if row["status"] != "ok" else "-"
    score = failed if row["score"] is None else f"{row['score']:.1f}{MARK * bool(row['warning'])}"
    interval = "-" if row["low"] is None else f"{row['low']:.1f} to {row['high']:.1f}"
    ranks = _range(row, "rank")
    return row["policy"], row["proof"], row["runs"], score, interval, row["rank"], ranks


def _at_prices(row: Row) -> str:
    return _range(row, "rank_at_prices") + READER * row["may_read_prices"]


def _range(row: Row, name: str) -> str:
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    if low is None:
        return "-"
    return str(low) if low == high else f"{low} to {high}"
