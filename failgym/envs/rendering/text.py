"""The text of an episode, as `render_mode` "ansi" gives it."""

from __future__ import annotations

from failgym.envs.rendering.palette import ACCOUNT_COLOURS, FATES, SHORT, fate, rgb
from failgym.envs.rendering.status import Status
from failgym.envs.rendering.timeline import Mark
from failgym.envs.rendering.view import Row, View
from failgym.vocabulary import HOUR, Action, Decision

__all__ = ["COLUMNS", "MOST_ROWS", "write"]

COLUMNS, LABEL = 72, 12
"""Widths of the plot and of the labels [characters]."""
MOST_ROWS = 16
"""Rows that are shown, the latest ones."""
SIGNS = {
    Action.CLONE: "C",
    Action.CHECKPOINT: "*",
    Action.KILL: "X",
    Action.RETRY: "R",
}
"""Character of a decision by what was answered."""
PAUSE, DOWN, NOTHING = "#", "!", " "
Cell = tuple[str, str]
"""A character, and its colour or nothing."""


def write(view: View, status: Status) -> str:
    """The text of a view: a heading, a line per row, and the figures."""
    rows = view.rows if len(view.rows) <= MOST_ROWS or view.relative else _busiest(view)
    lines = [f"{status.title}, {status.clock}: {status.tasks}"]
    lines += [status.cluster] if status.cluster else []
    lines += [_line(row, view) for row in rows]
    hidden = len(view.rows) - len(rows)
    lines += [f"{'':{LABEL}} and {hidden} more on which less happens"] if hidden else []
    begin, end = view.ticks[0][1], view.ticks[-1][1]
    lines.append(f"{'':{LABEL}}|{begin}{end:>{COLUMNS - len(begin)}}|")
    lines.append(", ".join(f"{sign} {name.lower()}" for name, sign in SHORT.items()))
    lines.append(
        f"{PAUSE} checkpoint, restore or transfer, "
        + ", ".join(f"{sign} {action.name.lower()}" for action, sign in SIGNS.items())
        + f", {DOWN} machine down"
    )
    lines.append("machine-time  " + _figures(status))
    costs = [*status.costs.items(), ("all", sum(status.costs.values()))]
    lines.append("cost so far   " + ", ".join(f"{name} {cost:,.3f}" for name, cost in costs))
    lines.append(f"last          {status.last}")
    lines.append(f"decision      {status.decision}: {status.about}" if status.about else "the end")
    lines += [f"legal         {status.legal}"] if status.legal else []
    return "\n".join(lines) + "\n"


def _busiest(view: View) -> list[Row]:
    """Of many machines those that most happens on, in order."""
    kept = sorted(view.rows, key=lambda row: -len(row.attempts) - len(row.outages))[:MOST_ROWS]
    chosen = {id(row) for row in kept}
    return [row for row in view.rows if id(row) in chosen]


def _figures(status: Status) -> str:
    parts: list[str] = []
    for name, time in status.accounts.items():
        if time:
            text = f"{name.replace('_', ' ')} {time / HOUR:,.2f} h"
            parts.append(_coloured(text, ACCOUNT_COLOURS[name]))
    return ", ".join(parts) or "none yet"


def _line(row: Row, view: View) -> str:
    """A row: later attempts over earlier ones, decisions over attempts."""
    cells: list[Cell] = [(NOTHING, "")] * COLUMNS

    def put(start: int, end: int, sign: str, colour: str) -> None:
        scale = COLUMNS / (view.end - view.begin)
        first = int((start - row.offset - view.begin) * scale)
        last = int((end - row.offset - view.begin) * scale)
        for column in range(max(first, 0), min(max(last, first + 1), COLUMNS)):
            cells[column] = (sign, colour)

    for outage in row.outages:
        put(outage.down, row.now if outage.up is None else outage.up, DOWN, "")
    for attempt, _ in row.attempts:
        name = fate(attempt)
        put(attempt.start, attempt.until(row.now), SHORT[name], FATES[name])
        for pause in attempt.pauses:
            put(pause.start, row.now if pause.end is None else pause.end, PAUSE, FATES[name])
    for mark, _ in row.marks:
        sign = _sign(mark)
        if sign:
            put(mark.time, mark.time, sign, "")
    text = "".join(_coloured(sign, colour) for sign, colour in _joined(cells))
    label = row.label if len(row.label) <= LABEL - 2 else row.label.split()[-1]
    return f"{'>' if row.current else ' '} {label:<{LABEL - 2}}|{text}|"


def _sign(mark: Mark) -> str:
    return "" if mark.decision is Decision.DISPATCH else SIGNS.get(mark.action, "")


def _joined(cells: list[Cell]) -> list[Cell]:
    """Neighbours of one colour together."""
    joined: list[Cell] = []
    for sign, colour in cells:
        if joined and joined[-1][1] == colour:
            joined[-1] = (joined[-1][0] + sign, colour)
        else:
            joined.append((sign, colour))
    return joined


def _coloured(text: str, colour: str) -> str:
    """Text between the codes of a terminal for a colour."""
    if not colour:
        return text
    red, green, blue = rgb(colour)
    return f"\x1b[38;2;{red};{green};{blue}m{text}\x1b[0m"
