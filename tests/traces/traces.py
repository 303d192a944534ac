"""A small trace that has a row in every table."""

from __future__ import annotations

from typing import Any

from failgym.traces import Cause, Meta, Outcome, Trace

FINISH, FAIL, KILL = Outcome.FINISH, Outcome.FAIL, Outcome.KILL
EVICT, CENSORED = Outcome.EVICT, Outcome.CENSORED

META = Meta("by hand", end=2000, dropped={"a reason": 3})

TABLES: dict[str, dict[str, Any]] = {
    "jobs": {
        "original_id": ["a", "b", "ü"],
        "user": ["eve", None, ""],
        "submit": [0, 100, 500],
        "width": [2, 1, 1],
        "outcome": [FINISH, KILL, CENSORED],
        "exit_category": ["good", "bad", None],
    },
    "tasks": {
        "job": [0, 0, 1, 2],
        "index": [0, 1, 0, 0],
        "width": 1,
        "stage": [0, 1, None, None],
        "cpu": [0.5, None, 0.25, 1.0],
        "anti_affinity": [True, False, None, False],
    },
    "attempts": {
        "task": [0, 0, 1, 1, 2, 3],
        "queued": [0, 60, 5, 300, 100, 500],
        "start": [10, 70, 6, 310, 110, None],
        "end": [60, 200, 300, 700, 450, 2000],
        "outcome": [FAIL, FINISH, EVICT, FINISH, KILL, CENSORED],
        "cause": [Cause.INTRINSIC, None, Cause.PREEMPTION, None, Cause.USER, None],
        "length": [90, 130, None, 390, None, None],
    },
    "placements": {"attempt": [0, 1, 2, 3, 4], "machine": [0, 1, 0, 1, 0], "slots": 1},
    "windows": {"attempt": [0, 3, 3], "offset": [0, 0, 300], "cpu": [0.5, 0.25, None]},
    "machines": {"original_id": ["m0", "m1"], "speed": [1.0, 2.0]},
    "outages": {"machine": [0, 1], "down": [20, 50], "up": [600, None]},
    "stages": {"job": [0, 0], "stage": [0, 1]},
    "stage_edges": {"parent": [0], "child": [1], "bytes": [10], "wide": [True]},
    "costs": {"task": [0, 1], "machine": [0, 1], "time": [130, 390]},
}


def make(**changes: dict[str, Any]) -> Trace:
    """The trace, with some columns of some tables changed."""
    tables = {name: {**columns, **changes.get(name, {})} for name, columns in TABLES.items()}
    return Trace.of(META, **tables)
