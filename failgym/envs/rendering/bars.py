"""A row of a picture: attempts as bars, the marks of decisions, outages as shades."""

from __future__ import annotations

from PIL import Image, ImageDraw

from failgym.envs.rendering.letters import write
from failgym.envs.rendering.marks import SIZE, sign, sign_of
from failgym.envs.rendering.palette import FATES, LETTERS, PHASE_COLOURS, fate, rgb
from failgym.envs.rendering.phases import phases
from failgym.envs.rendering.timeline import Attempt
from failgym.envs.rendering.view import Row, View

__all__ = ["DOWN", "PALER", "draw_row"]

DOWN = "#F3D6D6"
"""Shade of a machine that is down."""
BACKGROUND_PALER = 0.62
"""How much white the bars of tasks have that nothing is asked about."""
PALER = "#{:02X}{:02X}{:02X}".format(*rgb(FATES["FINISH"], BACKGROUND_PALER))
"""Colour of one that finished."""
LEAST_BAR = 1.5
"""Bars are at least so wide, to be seen at all [px]."""
LEAST_GAP = 4
"""Height of a lane that is set apart from the next one [px]."""
LEAST_EDGE = 4
"""Width of a bar that its beginning is marked of [px]."""
LETTER = 9
"""Size of the letter of a bar [px]."""
LEAST_TEXT = 10
"""Height of a bar that a letter fits on [px]."""
LEAST_SIGNS = 5
"""Height of a lane that the signs of decisions to continue are shown on [px]."""
Span = tuple[float, float]


class _Scale:
    """From times to pixels, and whether they are in the window at all."""

    def __init__(self, row: Row, view: View, across: Span) -> None:
        self.left, self.right = across
        self._per_ms = (self.right - self.left) / (view.end - view.begin)
        self._zero = self.left - (row.offset + view.begin) * self._per_ms

    def x(self, time: int) -> float:
        return self._zero + time * self._per_ms

    def span(self, start: int, end: int) -> Span | None:
        """The part of a stretch of time that is in the window."""
        low, high = self.x(start), self.x(end)
        if high < self.left or low > self.right:
            return None
        return max(low, self.left), min(max(high, low + LEAST_BAR), self.right)


def draw_row(
    image: Image.Image, draw: ImageDraw.ImageDraw, row: Row, view: View, across: Span, down: Span
) -> None:
    """Draw a row.

    Args:
        image: it is drawn on.
        draw: draws on it.
        row: what is drawn.
        view: the window of time.
        across: left and right edge of the plot [px].
        down: upper and lower edge of the row [px].
    """
    scale = _Scale(row, view, across)
    for outage in row.outages:
        span = scale.span(outage.down, row.now if outage.up is None else outage.up)
        if span:
            draw.rectangle([span[0], down[0], span[1], down[1]], fill=DOWN)
    space = 1.5 if down[1] - down[0] > 3 * row.lanes else 0.0
    height = (down[1] - down[0] - space) / row.lanes
    for attempt, lane in row.attempts:
        top = down[0] + space / 2 + lane * height
        bottom = top + height - (1 if height > LEAST_GAP else 0)
        _bar(image, draw, attempt, row.now, scale, (top, bottom))
    _signs(image, row, scale, down[0] + space / 2, height)
    _beyond(draw, row, scale, down)


def _bar(
    image: Image.Image,
    draw: ImageDraw.ImageDraw,
    attempt: Attempt,
    now: int,
    scale: _Scale,
    down: Span,
) -> None:
    """An attempt: what became of it, and what of its time was not work."""
    top, bottom = down[0], max(down[1] - 1, down[0] + 0.5)
    paler = 0.0 if attempt.own else BACKGROUND_PALER
    span = scale.span(attempt.start, attempt.until(now))
    if span is not None:
        draw.rectangle([span[0], top, span[1], bottom], fill=rgb(FATES[fate(attempt)], paler))
    for phase in phases(attempt, now):
        part = scale.span(phase.start, phase.end)
        if part is not None and phase.name in PHASE_COLOURS:
            colour = rgb(PHASE_COLOURS[phase.name], paler)
            draw.rectangle([part[0], top, part[1], bottom], fill=colour)
    if span is None:
        return
    if span[1] - span[0] >= LEAST_EDGE and bottom - top >= 2:
        draw.line([(span[0], top), (span[0], bottom)], fill="#FFFFFF")
    letter = LETTERS[attempt.kind] + ("G" if attempt.ghost else "")
    if letter and paler == 0.0:
        draw.rectangle([span[0], top, span[0] + 1.5, bottom], fill="#111111")
        if bottom - top >= LEAST_TEXT - 1 and span[1] - span[0] > 8 * len(letter):
            middle = (top + bottom) / 2
            write(image, (span[0] + 4, middle), letter, LETTER, "#FFFFFF")


def _signs(image: Image.Image, row: Row, scale: _Scale, top: float, height: float) -> None:
    """The decisions of a row: those to continue below the others, and one of a kind in a place."""
    taken: set[tuple[str, int, int]] = set()
    marks = sorted(row.marks, key=lambda found: sign_of(found[0]) != "continue")
    for mark, lane in marks:
        name, x = sign_of(mark), scale.x(mark.time)
        place = name, int(x) // 3, lane
        if place in taken or not scale.left <= x <= scale.right:
            continue
        if name == "continue" and height < LEAST_SIGNS:
            continue
        taken.add(place)
        y = top + (lane + 0.5) * height
        image.paste(sign(name), (int(x) - SIZE // 2, int(y) - SIZE // 2), sign(name))


def _beyond(draw: ImageDraw.ImageDraw, row: Row, scale: _Scale, down: Span) -> None:
    """An arrow where a row goes on to the right of the window."""
    last = max((attempt.until(row.now) for attempt, _ in row.attempts), default=0)
    if scale.x(last) > scale.right + 1:
        middle, x = (down[0] + down[1]) / 2, scale.right
        draw.polygon([(x - 7, middle - 4), (x - 1, middle), (x - 7, middle + 4)], fill="#1A1A1A")
