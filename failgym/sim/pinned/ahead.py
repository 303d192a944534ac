"""Memory that the next episodes will read, asked for in time.

The tables of a world are far larger than the caches, and every episode is somewhere else in them:
half of a step of many episodes would be waiting for them. Nothing is changed here.
"""

from __future__ import annotations

from failgym.sim.pinned.records import State, World
from failgym.sim.shared.ahead import PARTS, RECORDS, STATES
from failgym.sim.shared.context import SYSTEM_BIN
from failgym.sim.shared.jit import kernel, prefetch

__all__ = ["look_ahead"]


@kernel
def _states(s: State, e: int) -> None:
    """What an episode holds of its decision, and of the task behind it."""
    ep = s.episodes[e]
    prefetch(s.tasks[e], ep.local)
    prefetch(s.tasks[e], ep.local + 1)
    prefetch(s.runs[e], ep.run)
    prefetch(s.heap[e], 0)


@kernel
def _records(w: World, s: State, e: int) -> None:
    """What the world holds of the decision of an episode, and of the task behind it."""
    ep = s.episodes[e]
    if ep.done:
        return
    task, run = s.tasks[e, ep.local].task, s.runs[e, ep.run]
    prefetch(w.rows, run.row)
    prefetch(w.tasks, task)
    prefetch(w.request, task)
    if ep.local + 1 < ep.tasks:
        prefetch(w.tasks, s.tasks[e, ep.local + 1].task)
        prefetch(w.request, s.tasks[e, ep.local + 1].task)
    part = (ep.now + w.parameters[0].window) // SYSTEM_BIN
    if 0 <= part < len(w.system_index):
        prefetch(w.system_index, part)


@kernel
def _parts(w: World, s: State, e: int) -> None:
    """What records of the world point to."""
    ep = s.episodes[e]
    if ep.done:
        return
    run = s.runs[e, ep.run]
    row = w.rows[run.row]
    prefetch(w.risk, row.risk_at + min(run.window, max(row.risks - 1, 0)))
    prefetch(w.usage, row.usage_at + min(run.window, max(row.usages - 1, 0)))
    prefetch(w.usage_known, row.usage_at)
    if ep.local + 1 < ep.tasks:
        prefetch(w.rows, w.tasks[s.tasks[e, ep.local + 1].task].rows_at)
    part = (ep.now + w.parameters[0].window) // SYSTEM_BIN
    if 0 <= part < len(w.system_index):
        prefetch(w.system, w.system_index[part])


@kernel
def look_ahead(w: World, s: State, e: int, end: int) -> None:
    """Before episode ``e`` goes on: ask for what the next ones, up to ``end``, will read."""
    if e + STATES < end:
        _states(s, e + STATES)
    if e + RECORDS < end:
        _records(w, s, e + RECORDS)
    if e + PARTS < end:
        _parts(w, s, e + PARTS)
