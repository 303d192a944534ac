"""What a picture and a text show of a timeline that is made by hand."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from failgym.envs.rendering.palette import ACCOUNT_COLOURS, FATES, PHASE_COLOURS, rgb
from failgym.envs.rendering.status import Status
from failgym.envs.rendering.timeline import Attempt, Kind, Mark, Outage, Pause, TaskLine, Timeline
from failgym.envs.rendering.view import view_of
from failgym.traces import Outcome
from failgym.vocabulary import CANCELLED, Action, Decision

MINUTE = 60_000
STATUS = Status(
    title="by hand",
    clock="now",
    decision="WINDOW",
    about="task 7, attempt 1",
    legal="CONTINUE, CLONE",
    last="none yet",
    tasks="1 of 2 tasks settled",
    cluster="",
    costs={"wasted": 1.0},
    accounts=dict.fromkeys(ACCOUNT_COLOURS, 3_600_000),
)


def attempt(task: int, number: int, start: int, end: int | None, outcome: int, **more: Any) -> Any:
    made = Attempt(task, number, more.pop("kind", Kind.ATTEMPT), False, start, 1, True)
    made.end, made.outcome, made.transferred = end, outcome, start
    for name, value in more.items():
        setattr(made, name, value)
    return made


def by_hand(machines: bool) -> Timeline:
    """Task 3 fails, is restarted and finishes beside a clone; task 7 runs, saved once.

    One tick of the clock is a minute; it is the sixth. On machines: 3 on the first, 7 on the
    second, the third is down.
    """
    at = {"machines": [0], "lanes": [0]} if machines else {}
    there = {"machines": [1], "lanes": [0]} if machines else {}
    beside = {"machines": [0], "lanes": [1]} if machines else {}
    first = attempt(3, 0, 0, MINUTE, Outcome.FAIL, **at)
    second = attempt(3, 1, 2 * MINUTE, 4 * MINUTE, Outcome.FINISH, **at)
    clone = attempt(
        3, 2, 3 * MINUTE, 4 * MINUTE, CANCELLED, kind=Kind.CLONE, lane=1, account="redundant"
    )
    for name, value in beside.items():
        setattr(clone, name, value)
    running = attempt(7, 0, MINUTE, None, -1, **there)
    running.pauses.append(Pause(3 * MINUTE, 2 * MINUTE, 4 * MINUTE, durable=True))
    timeline = Timeline(now=6 * MINUTE, serving=7)
    done, live = TaskLine(3, 0, 1, own=True), TaskLine(7, 0, 1, own=True)
    done.attempts, done.settled, done.outcome = [first, second, clone], 4 * MINUTE, Outcome.FINISH
    live.attempts, live.live = [running], {0: running}
    timeline.tasks = {3: done, 7: live}
    timeline.attempts = [first, running, second, clone]
    timeline.live = {(7, 0): running}
    timeline.marks = [
        Mark(3 * MINUTE, 3, 1, Decision.WINDOW, Action.CLONE, -1),
        Mark(3 * MINUTE, 7, 0, Decision.WINDOW, Action.CHECKPOINT, -1),
    ]
    if machines:
        timeline.outages = [Outage(2, 5 * MINUTE)]
    return timeline


@pytest.mark.parametrize("machines", [0, 3])
def test_bars_of_the_picture(machines: int) -> None:
    """Each fate has its colour, for as long as it lasted, in the row of its task or machine."""
    pytest.importorskip("PIL")
    from failgym.envs.rendering import picture

    view = view_of(by_hand(machines > 0), relative=not machines, machines=machines, most_rows=24)
    drawn = picture.draw(view, STATUS)
    scale = (picture.RIGHT - picture.LEFT) / (view.end - view.begin)
    height = max(picture.LARGEST_ROW, picture.LARGEST_LANE * max(row.lanes for row in view.rows))

    def colours(row: int, share: float, minute: float) -> set[tuple[int, ...]]:
        """What there is within two pixels of a place in a row."""
        x = int(picture.LEFT + (minute * MINUTE - view.begin) * scale)
        y = int(picture.TOP + (row + share) * height)
        return {tuple(pixel) for pixel in drawn[y - 1 : y + 2, x - 1 : x + 2].reshape(-1, 3)}

    assert rgb(FATES["FAIL"]) in colours(0, 0.25, 0.5)
    assert rgb(FATES["FINISH"]) in colours(0, 0.25, 2.5)
    assert rgb(FATES["CANCELLED"]) in colours(0, 0.75, 3.7)
    assert rgb(FATES["FAIL"]) not in colours(0, 0.25, 1.5)
    assert rgb(FATES["running"]) in colours(1, 0.3, 2.0) & colours(1, 0.3, 5.5)
    assert rgb(PHASE_COLOURS["checkpoint"]) in colours(1, 0.3, 3.6)
    assert rgb(FATES["running"]) not in colours(1, 0.3, 6.2)  # that is still to come
    if machines:
        assert rgb("#F3D6D6") in colours(2, 0.5, 5.5)
        assert rgb("#F3D6D6") not in colours(2, 0.5, 4.5) | colours(2, 0.5, 6.2)


def test_accounts_beside_the_picture() -> None:
    """As many pixels of a colour as its account has of the machine-time."""
    pytest.importorskip("PIL")
    from failgym.envs.rendering import picture

    empty = view_of(Timeline(), relative=True, machines=0, most_rows=24)
    drawn = picture.draw(empty, STATUS)[: picture.BOTTOM, picture.SIDE :]
    seen = Counter(map(tuple, drawn.reshape(-1, 3).tolist()))
    counts = [seen[rgb(colour)] for colour in ACCOUNT_COLOURS.values()]
    assert min(counts) > 200
    assert max(counts) < 1.5 * min(counts)


def test_text() -> None:
    from failgym.envs.rendering.text import write

    view = view_of(by_hand(machines=False), relative=True, machines=0, most_rows=16)
    lines = re.sub(r"\x1b\[[0-9;]*m", "", write(view, STATUS)).splitlines()
    assert lines[0] == "by hand, now: 1 of 2 tasks settled"
    done, live = lines[1], lines[2]
    assert done.startswith("  task 3    |xxxx")
    assert "===" in done
    assert "C" in done
    assert live.startswith("> task 7")
    assert "*" in live
    assert live.rstrip("|").rstrip().endswith(">")
    assert "decision      WINDOW: task 7, attempt 1" in lines


def test_numbers_of_tasks_are_shown_whole() -> None:
    """Traces have millions of tasks."""
    from failgym.envs.rendering.text import write

    timeline = by_hand(machines=False)
    timeline.tasks[3].task = 25_000_123
    view = view_of(timeline, relative=True, machines=0, most_rows=16)
    assert write(view, STATUS).splitlines()[1].startswith("  25000123  |")


def test_machines_that_there_is_no_room_for_are_counted() -> None:
    from failgym.envs.rendering.text import MOST_ROWS, write

    view = view_of(by_hand(machines=True), relative=False, machines=MOST_ROWS + 3, most_rows=24)
    lines = write(view, STATUS).splitlines()
    assert [line.split("|")[0].strip() for line in lines[1 : MOST_ROWS + 1]] == [
        f"machine {machine}" for machine in range(MOST_ROWS)
    ]
    assert lines[MOST_ROWS + 1].strip() == "and 3 more on which less happens"


def edges(drawn: Any) -> Any:
    """What is drawn in the outermost columns and between the plot and the figures, if anything."""
    from failgym.envs.rendering.picture import RIGHT, SIDE, TOP

    heading = drawn[: TOP - 2, RIGHT + 1 : SIDE]
    return np.concatenate([part.ravel() for part in (drawn[:, :2], drawn[:, -2:], heading)])


def test_long_texts_stay_in_their_place() -> None:
    pytest.importorskip("PIL")
    from failgym.envs.rendering.picture import RIGHT, TOP, draw

    long = replace(
        STATUS,
        title="path/to/an/agent/with/a/very/long/name-" * 5,
        clock="task 25000123, 12 d 23 h after its submission",
        about="task 25000123, machine 12345 offered",
        cluster="12,345 running, 12,345 waiting, 12,345 machines down",
        costs={"wasted": 1e300},
    )
    timeline = by_hand(machines=False)
    timeline.tasks[3].task = 25_000_123
    drawn = draw(view_of(timeline, relative=True, machines=0, most_rows=24), long)
    assert (edges(drawn) == 255).all()
    gaps = (drawn[8 : TOP - 8, RIGHT - 320 : RIGHT] == 255).all(axis=(0, 2))
    assert np.convolve(gaps, np.ones(12), "valid").max() == 12  # between the title and the clock


@pytest.mark.parametrize("relative", [True, False])
def test_nothing_yet(relative: bool) -> None:
    pytest.importorskip("PIL")
    from failgym.envs.rendering.picture import draw
    from failgym.envs.rendering.text import write

    view = view_of(Timeline(), relative=relative, machines=0, most_rows=24)
    assert np.unique(draw(view, STATUS)).size > 1
    assert write(view, STATUS)


def test_many_machines_are_shown_by_task() -> None:
    timeline = by_hand(machines=True)
    view = view_of(timeline, relative=False, machines=10_000, most_rows=24)
    assert [row.label for row in view.rows] == ["task 3", "task 7"]


def test_machines_that_are_not_there_have_no_row() -> None:
    timeline = by_hand(machines=True)
    timeline.outages = [Outage(2, -1)]
    view = view_of(timeline, relative=False, machines=3, most_rows=24)
    assert [row.label for row in view.rows] == ["machine 0", "machine 1"]
