"""The picture of an episode, as `render_mode` "rgb_array" and "human" show it."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from failgym.envs.rendering.bars import DOWN, PALER, draw_row
from failgym.envs.rendering.letters import text_width, write
from failgym.envs.rendering.marks import SIGNS, SIZE, sign
from failgym.envs.rendering.palette import ACCOUNT_COLOURS, FATES, PHASE_COLOURS
from failgym.envs.rendering.status import Status
from failgym.envs.rendering.view import View
from failgym.vocabulary import HOUR

__all__ = ["HEIGHT", "WIDTH", "draw", "most_rows"]

WIDTH, HEIGHT = 1024, 576
"""Of a picture [px]; multiples of 16, as video encoders like them."""
LEFT, RIGHT, TOP, BOTTOM = 72, 768, 36, 506
"""Edges of the plot [px]."""
SIDE, EDGE = 784, WIDTH - 12
"""Left and right edge of the figures beside it [px]."""
FIGURES = WIDTH - 60
"""Right end of a column of figures, with room for shares after it [px]."""
INK, FAINT, GRID, FRAME, HERE = "#1A1A1A", "#666666", "#E2E2E2", "#999999", "#FFF6D6"
SMALL, USUAL, HEAD, TITLE = 10, 11, 12, 15
"""Sizes of letters [px]."""
LARGEST_ROW, LABELLED_ROW, LEAST_LABEL, LARGEST_LANE = 26, 19, 11, 14
"""Heights of the largest row of one lane, of one among as many as are labelled, of a label, and of
the largest lane of many [px]."""
LINE = 16
"""Distance of lines of figures [px]."""


def most_rows() -> int:
    """Rows with a label that there is room for."""
    return (BOTTOM - TOP) // LABELLED_ROW


def draw(view: View, status: Status) -> npt.NDArray[np.uint8]:
    """The picture of a view, uint8 [HEIGHT, WIDTH, 3]."""
    picture = _Picture(_empty().copy())
    picture.heading(status)
    picture.plot(view)
    picture.figures(status)
    return np.array(picture.image, dtype=np.uint8)


@lru_cache(maxsize=1)
def _empty() -> Image.Image:
    """What is the same in every picture."""
    picture = _Picture(Image.new("RGB", (WIDTH, HEIGHT), "#FFFFFF"))
    picture.legend()
    return picture.image


class _Picture:
    """A picture that is drawn part by part."""

    def __init__(self, image: Image.Image) -> None:
        self.image, self.ink = image, ImageDraw.Draw(image)

    def write(self, x: float, y: float, text: str, side: str = "l", size: int = USUAL) -> None:
        write(self.image, (x, y), text, size, INK, side)

    def note(self, x: float, y: float, text: str, side: str = "l") -> None:
        write(self.image, (x, y), text, SMALL, FAINT, side)

    def heading(self, status: Status) -> None:
        room = RIGHT - 12 - text_width(status.clock, USUAL) - LINE
        self.write(12, 17, _cut(status.title, TITLE, room), size=TITLE)
        self.write(RIGHT, 17, status.clock, "r")

    # --- The plot ---------------------------------------------------------------------------------

    def plot(self, view: View) -> None:
        scale = (RIGHT - LEFT) / (view.end - view.begin)
        for time, text in view.ticks:
            x = LEFT + (time - view.begin) * scale
            self.ink.line([(x, TOP), (x, BOTTOM)], fill=GRID)
            self.note(x, BOTTOM + 10, text, "m")
        axis = "since submission" if view.relative else "time in the trace"
        self.note(RIGHT, BOTTOM + 23, axis, "r")
        self._rows(view)
        if not view.relative and view.rows:
            x = LEFT + (view.rows[0].now - view.begin) * scale
            self.ink.line([(x, TOP), (x, BOTTOM)], fill=INK)
        self.ink.rectangle([LEFT, TOP, RIGHT, BOTTOM], outline=FRAME)

    def _rows(self, view: View) -> None:
        lanes = max((row.lanes for row in view.rows), default=1)
        largest = max(LARGEST_ROW, LARGEST_LANE * lanes)
        height = min((BOTTOM - TOP) / max(len(view.rows), 1), largest)
        every = max(1, int(-(-LEAST_LABEL // height)))
        for i, row in enumerate(view.rows):
            top = TOP + i * height
            if row.current:
                self.ink.rectangle([4, top, RIGHT, top + height - 1], fill=HERE)
            if i % every == 0 or row.current:
                fits = text_width(row.label, SMALL) <= LEFT - 12
                label = row.label if fits else row.label.split()[-1]
                self.note(LEFT - 8, top + height / 2, label, "r")
            draw_row(self.image, self.ink, row, view, (LEFT, RIGHT), (top, top + height))

    # --- Beside it --------------------------------------------------------------------------------

    def figures(self, status: Status) -> None:
        y = 46.0
        for text in filter(None, (status.tasks, status.cluster)):
            for line in _broken(text, USUAL):
                self.write(SIDE, y, line)
                y += LINE
        y = self._accounts(status, y + 14)
        y = self._costs(status, y + 14)
        self._decision(status, y + 14)

    def _head(self, y: float, text: str) -> float:
        self.write(SIDE, y, text, size=HEAD)
        self.ink.line([(SIDE, y + 9), (EDGE, y + 9)], fill=FRAME)
        return y + 20

    def _accounts(self, status: Status, y: float) -> float:
        y = self._head(y, "machine-time")
        total = max(sum(status.accounts.values()), 1)
        x = float(SIDE)
        for name, time in status.accounts.items():
            part = (EDGE - SIDE) * time / total
            if part > 0:
                self.ink.rectangle([x, y - 5, x + part, y + 5], fill=ACCOUNT_COLOURS[name])
            x += part
        for name, time in status.accounts.items():
            y += LINE
            self.ink.rectangle([SIDE, y - 4, SIDE + 8, y + 4], fill=ACCOUNT_COLOURS[name])
            self.write(SIDE + 16, y, name.replace("_", " "))
            self.write(FIGURES, y, f"{time / HOUR:,.2f} h", "r")
            self.note(EDGE, y, f"{100 * time / total:.1f} %", "r")
        return y + LINE

    def _costs(self, status: Status, y: float) -> float:
        y = self._head(y, "cost so far")
        for name, cost in [*status.costs.items(), ("all", sum(status.costs.values()))]:
            self.write(SIDE, y, name)
            self.write(FIGURES, y, f"{cost:,.3f}" if cost < 1e6 else f"{cost:.4g}", "r")
            y += LINE
        return y

    def _decision(self, status: Status, y: float) -> None:
        y = self._head(y, f"decision: {status.decision}")
        legal = status.legal and f"legal: {status.legal}"
        for text in filter(None, (status.about, legal, f"last: {status.last}")):
            for line in _broken(text, SMALL):
                self.note(SIDE, y, line)
                y += LINE - 3

    # --- Below it ---------------------------------------------------------------------------------

    def legend(self) -> None:
        x, y = 12.0, 539.0
        for name, colour in (FATES | PHASE_COLOURS).items():
            x = self._swatch(x, y, name.lower(), colour)
        x, y = 12.0, 560.0
        for name in SIGNS:
            self.image.paste(sign(name), (int(x), int(y) - SIZE // 2), sign(name))
            x = self._entry(x + 14, y, name)
        for text in ("C clone", "R retry", "M recomputation", "G ghost"):
            x = self._entry(x, y, text)
        x = self._swatch(x, y, "machine down", DOWN)
        self._swatch(x, y, "paler: tasks that are not scored", PALER)

    def _swatch(self, x: float, y: float, text: str, colour: str) -> float:
        self.ink.rectangle([x, y - 4, x + 12, y + 4], fill=colour)
        return self._entry(x + 17, y, text)

    def _entry(self, x: float, y: float, text: str) -> float:
        """Write an entry of the legend; where the next one begins."""
        self.note(x, y, text)
        return x + text_width(text, SMALL) + 12


def _cut(text: str, size: int, room: float) -> str:
    """A text, or as much of it as there is room for."""
    kept = text
    while kept and text_width(kept if kept == text else f"{kept}…", size) > room:
        kept = kept[:-1]
    return text if kept == text else f"{kept}…"


def _broken(text: str, size: int) -> list[str]:
    """Lines that fit beside the plot."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if text_width(longer, size) > EDGE - SIDE:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines
