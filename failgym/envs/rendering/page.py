"""The timeline of a run as one self-contained HTML page, drawn in the browser on a canvas."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from failgym.envs.rendering.palette import ACCOUNT_COLOURS, FATES, LETTERS, PHASE_COLOURS, fate
from failgym.envs.rendering.phases import PHASES, phases
from failgym.envs.rendering.timeline import ACCOUNTS, Attempt, Kind, Mark, Timeline, outcome_name

__all__ = ["page"]

_FATES, _KINDS = list(FATES), list(Kind)


def page(timeline: Timeline, title: str, machines: int) -> str:
    """The page of a timeline.

    Args:
        timeline: what has happened.
        title: is shown above it.
        machines: of the cluster, 0 where there is none.
    """
    data = {
        "title": title,
        "machines": machines,
        "now": timeline.now,
        "fates": FATES,
        "kinds": [[kind.value, LETTERS[kind]] for kind in _KINDS],
        "phases": [[name, PHASE_COLOURS.get(name, "")] for name in PHASES],
        "accounts": [[name, ACCOUNT_COLOURS[name]] for name in ACCOUNTS],
        "totals": timeline.totals(),
        "tasks": [
            [t.task, t.submit, t.own, t.settled, outcome_name(t.outcome) if t.outcome >= 0 else ""]
            for t in timeline.tasks.values()
            if t.attempts
        ],
        "attempts": [_attempt(attempt, timeline.now) for attempt in timeline.attempts],
        "marks": [_mark(mark) for mark in timeline.marks],
        "outages": [[outage.machine, outage.down, outage.up] for outage in timeline.outages],
    }
    text = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    template = files("failgym.envs.rendering").joinpath("page.html").read_text("utf-8")
    return template.replace("/*DATA*/", text)


def _attempt(attempt: Attempt, now: int) -> list[Any]:
    """An attempt as the page reads it; phases as (length, name, account), one after the other."""
    spent = [
        [p.end - p.start, PHASES.index(p.name), ACCOUNTS.index(p.account)]
        for p in phases(attempt, now)
    ]
    return [
        attempt.task,
        attempt.number,
        _KINDS.index(attempt.kind),
        int(attempt.ghost),
        attempt.start,
        attempt.until(now),
        _FATES.index(fate(attempt)),
        attempt.width,
        attempt.start if attempt.queued is None else attempt.queued,
        attempt.lane,
        [list(place) for place in zip(attempt.machines, attempt.lanes, strict=True)],
        spent,
    ]


def _mark(mark: Mark) -> list[Any]:
    decision = "" if mark.decision is None else mark.decision.name
    return [mark.time, mark.task, mark.number, decision, mark.action.name, mark.machine]
