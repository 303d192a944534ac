"""Pictures of worked examples: the log of an example as bars over time, in SVG."""

from __future__ import annotations

import html
from dataclasses import dataclass, field

from failgym.envs.rendering.palette import FATES, PHASE_COLOURS

__all__ = ["Timeline", "drawn", "read_log"]

LABEL, WIDTH, ROW, TOP = 86.0, 560.0, 24.0, 14.0
"""Pixels: of names on the left, of time, of a row, and above the first."""
OUTAGE = "#9a9a9a"
LETTERS = {"CLONE": "C", "CHECKPOINT": "S", "KILL": "K", "RETRY": "R"}
"""What stands in the mark of a decision; S is for save."""


Bar = tuple[int, int, str]
Wait = tuple[int, int]
Mark = tuple[int, str, str]


@dataclass
class Timeline:
    """What a log tells, by row: an attempt such as ``t0/1``, or a machine that fails."""

    bars: dict[str, list[Bar]] = field(default_factory=dict[str, list[Bar]])
    """begin, end and colour"""
    waits: dict[str, list[Wait]] = field(default_factory=dict[str, list[Wait]])
    marks: dict[str, list[Mark]] = field(default_factory=dict[str, list[Mark]])
    """time, letter and what it means"""
    end: int = 1


def read_log(log: str) -> Timeline:
    """Read the log of an example (`tests/golden/rules/README.md` describes its lines).

    Args:
        log: ``time EVENT subject ...`` a line; what follows ``#`` is a comment.
    """
    made = Timeline()
    lines = [line.partition("#")[0].split() for line in log.splitlines()]
    events = [(int(words[0]), words[1], words[2:]) for words in lines if words]
    made.end = max([time for time, *_ in events], default=1) or 1
    begun: dict[str, int] = {}
    queued: dict[str, int] = {}
    down: dict[str, int] = {}
    for time, kind, (subject, *rest) in events:
        if kind == "QUEUED":
            queued[subject] = time
        elif kind == "START":
            begun[subject] = time
            made.bars.setdefault(subject, [])
            if subject in queued:
                made.waits.setdefault(subject, []).append((queued.pop(subject), time))
        elif kind == "END" and subject in begun:
            colour = FATES.get(rest[0], FATES["running"]) if rest else FATES["running"]
            made.bars[subject].append((begun.pop(subject), time, colour))
        elif kind == "MACHINE_DOWN":
            down[subject] = time
        elif kind == "MACHINE_UP" and subject in down:
            made.bars.setdefault(subject, []).append((down.pop(subject), time, OUTAGE))
        else:
            _mark(made, time, kind, subject, rest)
    for subject, time in down.items():
        made.bars.setdefault(subject, []).append((time, made.end, OUTAGE))
    for subject, time in begun.items():
        made.bars[subject].append((time, made.end, FATES["running"]))
    return made


def _mark(made: Timeline, time: int, kind: str, subject: str, rest: list[str]) -> None:
    if kind == "DECISION" and rest and rest[0] in LETTERS:
        made.marks.setdefault(subject, []).append((time, LETTERS[rest[0]], rest[0]))
    elif kind == "DURABLE":
        made.marks.setdefault(subject, []).append((time, "|", "checkpoint durable"))


def drawn(timeline: Timeline, name: str) -> str:
    """The picture, as an element of a page.

    Args:
        timeline: what is shown.
        name: says to those who do not see it what it is.
    """
    rows = sorted(timeline.bars, key=_order)
    height = TOP + ROW * len(rows) + 22.0
    parts = [
        f'<svg class="timeline" viewBox="0 0 {LABEL + WIDTH + 30:g} {height:g}" role="img"'
        f' aria-label="{html.escape(name, quote=True)}">'
    ]
    for at, row in enumerate(rows):
        parts += _row(timeline, row, TOP + ROW * at)
    base = TOP + ROW * len(rows) + 2.0
    parts.append(f'<path class="axis" d="M{LABEL:g} {base:g}h{WIDTH:g}"/>')
    moments = {0, timeline.end, *(time for bars in timeline.bars.values() for time, *_ in bars)}
    moments |= {end for bars in timeline.bars.values() for _, end, _ in bars}
    parts += _ticks(sorted(moments), timeline.end, base)
    return "".join([*parts, "</svg>"])


def _order(row: str) -> tuple[bool, int, str]:
    """Attempts before machines, t2 before t10."""
    task, _, attempt = row.partition("/")
    number = int("".join(c for c in task if c.isdigit()) or 0)
    return row.startswith("m"), number, attempt.zfill(4)


def _x(time: int, end: int) -> float:
    return LABEL + WIDTH * time / end


def _row(timeline: Timeline, row: str, top: float) -> list[str]:
    end, middle = timeline.end, top + ROW / 2
    parts = [f'<text class="label" x="0" y="{middle + 4:g}">{html.escape(row)}</text>']
    for begin, until in timeline.waits.get(row, []):
        path = f"M{_x(begin, end):.1f} {middle:g}H{_x(until, end):.1f}"
        parts.append(f'<path class="wait" d="{path}"/>')
    for begin, until, colour in timeline.bars[row]:
        x, width = _x(begin, end), max(_x(until, end) - _x(begin, end), 2.0)
        parts.append(
            f'<rect x="{x:.1f}" y="{top + 4:g}" width="{width:.1f}" height="{ROW - 8:g}" rx="2"'
            f' fill="{colour}"/>'
        )
    for time, letter, meaning in timeline.marks.get(row, []):
        x = _x(time, end)
        if letter == "|":
            colour = PHASE_COLOURS["checkpoint"]
            parts.append(
                f'<path d="M{x:.1f} {top + 1:g}v{ROW - 2:g}" stroke="{colour}" stroke-width="3">'
                f"<title>{meaning}</title></path>"
            )
            continue
        parts.append(
            f'<circle class="mark" cx="{x:.1f}" cy="{middle:g}" r="8"><title>{meaning}</title>'
            f'</circle><text class="letter" x="{x:.1f}" y="{middle + 4:g}">{letter}</text>'
        )
    return parts


def _ticks(moments: list[int], end: int, base: float) -> list[str]:
    """Times below the axis, those left out that would stand on the one before."""
    parts: list[str] = []
    last = -1e9
    for moment in moments:
        x = _x(moment, end)
        if x - last < 9.0 * max(len(str(moment)), 3):
            continue
        last = x
        parts.append(f'<path class="axis" d="M{x:.1f} {base:g}v4"/>')
        parts.append(f'<text class="tick" x="{x:.1f}" y="{base + 16:g}">{moment}</text>')
    return parts
