"""The timeline as a page, in a real browser: what it draws, and that names stay in their place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from failgym.envs.rendering.page import page
from failgym.envs.rendering.palette import FATES, PHASE_COLOURS, rgb
from failgym.envs.rendering.timeline import Timeline
from tests.envs.test_render_picture import by_hand

EVIL = "policy </script><script>alert(1)</script> " + "long/" * 40
LABEL, GAP = 92, 4
"""Width of the labels, and distance of rows [px], as the page has them."""
LANE = 12
"""Height of a lane [px]."""
MINUTES = 6 * 1.02
"""What the page shows of the timeline that is made by hand: all, and a little more."""


def opened(browser: Any, timeline: Timeline, folder: Path, machines: int, width: int) -> Any:
    """A page of a timeline; nothing may go wrong in it, nor be wider than the screen."""
    file = folder / "timeline.html"
    file.write_text(page(timeline, EVIL, machines), "utf-8")
    tab = browser.new_page(viewport={"width": width, "height": 640})
    wrong: list[str] = []
    heard: dict[str, Callable[[Any], None]] = {
        "console": lambda said: wrong.append(said.text),
        "pageerror": lambda error: wrong.append(str(error)),
        "dialog": lambda dialog: wrong.append(dialog.message),
    }
    for event, listener in heard.items():
        tab.on(event, listener)
    tab.goto(file.as_uri())
    tab.wait_for_function("typeof rows !== 'undefined' && rows.length >= 0")
    assert wrong == []
    assert tab.locator("h1").inner_text() == " ".join(EVIL.split())
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    return tab


@pytest.mark.parametrize("width", [1100, 360])
@pytest.mark.parametrize("machines", [0, 3])
def test_bars_have_their_colours(browser: Any, tmp_path: Path, machines: int, width: int) -> None:
    """Those of the picture, in the rows of tasks or machines."""
    tab = opened(browser, by_hand(machines > 0), tmp_path, machines, width)

    def colour(row: int, lane: int, minute: float) -> tuple[int, ...]:
        x = LABEL + (width - LABEL) * minute / MINUTES
        y = row * (2 * LANE + GAP) + (lane + 0.5) * LANE
        pixel = f"[...ink.getImageData({int(x)}, {int(y)}, 1, 1).data]"
        return tuple(tab.evaluate(pixel))[:3]

    assert colour(0, 0, 0.5) == rgb(FATES["FAIL"])
    assert colour(0, 0, 2.5) == rgb(FATES["FINISH"])
    assert colour(0, 1, 3.7) == rgb(FATES["CANCELLED"])
    assert colour(1, 0, 2.0) == rgb(FATES["running"])
    assert colour(1, 0, 3.5) == rgb(PHASE_COLOURS["checkpoint"])
    labels = ["machine 0", "machine 1", "machine 2"] if machines else ["task 3", "task 7"]
    assert tab.evaluate("rows.map(row => row.label)") == labels
    tab.close()


def test_nothing_yet(browser: Any, tmp_path: Path) -> None:
    opened(browser, Timeline(), tmp_path, 0, 360).close()
