"""What becomes of one task of a scheduled world, at the least, if it were alone with the machines.

The arguments are in `failgym.sim.scheduled.bounds`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.sim.scheduled.least import least_times
from failgym.sim.scheduled.records import World
from failgym.sim.shared.records import Records
from failgym.vocabulary import NEVER, Ending

__all__ = ["Caps", "Fates", "Row", "fate_of_task", "fates", "kill_limit"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_INTRINSIC, _EXTERNAL = int(Ending.INTRINSIC), int(Ending.EXTERNAL)
ROUNDING = 1
"""A time of work that is interrupted and resumed may be so much shorter than in one piece [ms]."""


class Fates(NamedTuple):
    """What becomes of each task of the trace, at the least, if it were alone; inf: it cannot be."""

    success: Floats
    """[tasks] time that its attempts take until one succeeds [ms]"""
    success_waste: Floats
    """[tasks] work of attempts that failed before [ms]"""
    failure: Floats
    """[tasks] time from submission until it settles without success [ms]"""
    failure_waste: Floats
    """[tasks] work of its attempts then [ms]"""


class Row(NamedTuple):
    """An attempt to run, on the machine that suits it best."""

    ending: int
    length: int
    duration: int
    fraction: float


class Caps(NamedTuple):
    """What of the rules bears on the fate of a task."""

    checkpoint: bool
    clone: bool
    extra: int
    """attempts that may be started without another one having ended for each of them: clones, and
    retries, of which a failure may have several"""
    give_up: bool
    restart_limit: int
    transfers: bool
    interrupted: bool
    """can an attempt be ended by anything but itself and its task?"""


def _fastest(world: World) -> tuple[Ints, Ints]:
    """Least length and duration of each row over the machines, [rows] each [ms]."""
    rows, costs = world.rows, world.dags.costs
    length: Ints = rows["length"].astype(np.int64)
    duration: Ints = rows["duration"].astype(np.int64)
    intrinsic, external = rows["ending"] == _INTRINSIC, rows["ending"] == _EXTERNAL
    if costs.size:
        task = np.repeat(np.arange(len(world.tasks)), world.tasks["rows"])
        length = costs.min(axis=1)[task]
        failing = np.floor(rows["fraction"] * length + 0.5).astype(np.int64)
        return length, np.where(intrinsic, failing, np.where(external, duration, length))
    speed = float(world.machines["speed"].max())
    if speed != 1.0:
        length = np.floor(length / speed + 0.5).astype(np.int64)
        duration = np.floor(duration / speed + 0.5).astype(np.int64)
    return length, np.where(intrinsic | external, duration, length)


def fates(world: World) -> Fates:
    """Find what becomes of each task, at the least.

    Args:
        world: a compiled world; its episodes do not matter.
    """
    p, tasks, rows = world.parameters[0], world.tasks, world.rows
    if p["continued"]:
        nothing = np.zeros(len(tasks))
        return Fates(least_times(world), nothing, nothing, nothing)
    length, duration = _fastest(world)
    stranding = bool((world.outages["up"] >= NEVER).any())
    clones = min(int(p["max_clones"]), int(p["max_extra"])) if p["clone"] else 0
    rules = Caps(
        checkpoint=bool(p["checkpoint"]),
        clone=clones > 0,
        extra=int(p["max_extra"]) if p["retry"] else clones,
        give_up=bool(p["give_up"]),
        restart_limit=int(p["restart_limit"]),
        transfers=bool(p["transfers"]),
        interrupted=len(world.outages) > 0 or bool(p["preemption"]),
    )
    columns = (rows["ending"].tolist(), length.tolist(), duration.tolist())
    listed = list(map(Row, *columns, rows["fraction"].tolist()))
    ends = (tasks["rows_at"] + tasks["rows"]).tolist()
    out = np.array(
        [
            fate_of_task(listed[begin:end], rules)
            for begin, end in zip(tasks["rows_at"].tolist(), ends, strict=True)
        ],
        dtype=np.float64,
    ).reshape(-1, 4)
    failure, waste = out[:, 2], out[:, 3]
    no = np.full(len(tasks), np.inf)
    killed_at = np.where(tasks["kill_at"] < NEVER, kill_limit(tasks) - tasks["submit"], no)
    walltime = np.where(p["walltime_kill"] & (tasks["walltime"] > 0), tasks["walltime"], no)
    at_once = np.where(p["kill"] | stranding | tasks["censored"], 0.0, no)
    cut = np.minimum(np.minimum(killed_at, walltime), at_once)
    waste[np.isfinite(cut)] = 0.0
    return Fates(out[:, 0], out[:, 1], np.minimum(failure, cut), waste)


def kill_limit(tasks: Records) -> Floats:
    """When the user's kill strikes at the latest [tasks], inf if it does not."""
    kill_at = np.maximum(tasks["kill_at"], tasks["submit"]).astype(np.float64)
    return np.where(tasks["kill_at"] < NEVER, kill_at, np.inf)


def fate_of_task(rows: Sequence[Row], rules: Caps) -> tuple[float, float, float, float]:
    """`Fates` of one task, of its attempts and the caps alone."""
    if not rows:
        return math.inf, 0.0, 0.0, 0.0
    if not rules.extra or (not rules.clone and _must_finish(rows[0])):
        return _in_sequence(rows, rules)
    took = rows[0].duration
    if rows[0].ending == _INTRINSIC:
        took = _remaining(rows[0], rows[0].fraction, 0.0, took, rules)
    failure, waste = math.inf, 0.0
    if not _must_finish(rows[0]):
        failure, waste = float(took), float(_wasted(rows[0], took, rules))
    if not rules.checkpoint:
        return *_beside_each_other(rows, rules), failure, waste
    if rules.clone:  # what a clone has saved may shorten even the first attempt
        took, waste = 0, 0.0
        failure = 0.0 if failure < math.inf else failure
    able = any(row.ending != _INTRINSIC for row in rows)
    least = max(0, min(row.length for row in rows) - ROUNDING)
    if not _may_finish(rows[0], 0.0, rules):
        least = max(least, took)
    return float(least) if able else math.inf, 0.0, failure, waste


def _must_finish(row: Row) -> bool:
    """Does an attempt succeed unless something ends its task?"""
    return row.ending not in (_INTRINSIC, _EXTERNAL)


def _wasted(row: Row, time: int, rules: Caps) -> int:
    """Work of an attempt that ended without success after some time, if its task never finishes.

    Of an end from outside the time may hold transfers and pauses, that of a failure is all work.
    """
    return 0 if row.ending == _EXTERNAL and (rules.transfers or rules.checkpoint) else time


def _may_finish(row: Row, done: float, rules: Caps) -> bool:
    """Can an attempt succeed that resumes from at most the fraction ``done``?

    What is ended from outside succeeds if its work is done before.
    """
    if row.ending == _EXTERNAL:
        saved = rules.checkpoint and (done > 0.0 or rules.interrupted)
        return row.length < row.duration or saved
    return row.ending != _INTRINSIC


def _in_sequence(rows: Sequence[Row], rules: Caps) -> tuple[float, float, float, float]:
    """Without extra attempts: each begins when the one before it has ended without success.

    ``done`` is the most that can have been saved by then. An attempt that resumes from f0 and ends
    at u of its length L works (u - f0) L, its reruns after interruptions together: more saved makes
    every later attempt shorter, so the largest f0 gives the least time. Whatever is saved, the
    whole work was done once, at no more than 1 / (least L) per millisecond.
    """
    time, waste, sunk, failures, done = 0, 0, 0, 0, 0.0
    success, success_waste, shortest = math.inf, 0.0, rows[0].length
    failure, failure_waste = math.inf, 0.0
    for i, row in enumerate(rows):
        shortest = min(shortest, row.length)
        if _may_finish(row, done, rules):
            least = time + _remaining(row, 1.0, done, row.length, rules)
            if rules.checkpoint:
                least = max(least, shortest - ROUNDING)
            if success == math.inf:
                success_waste = float(waste)
            success = min(success, float(least))
        if _must_finish(row):
            return success, success_waste, failure, failure_waste
        took, failed = row.duration, row.ending == _INTRINSIC
        if failed:
            took = _remaining(row, row.fraction, done, row.duration, rules)
            failures += 1
        time += took
        sunk += _wasted(row, took, rules)
        waste += 0 if rules.checkpoint else _wasted(row, took, rules)
        done = _most_saved(row, done, rules)
        left = failed and (rules.give_up or failures > rules.restart_limit)
        if (left or i == len(rows) - 1) and failure == math.inf:
            failure, failure_waste = float(time), float(sunk)
    if rows[-1].ending == _EXTERNAL and rules.checkpoint:  # a copy of the last row may succeed
        success = min(success, float(max(time, shortest - ROUNDING)))
    return success, success_waste if success < math.inf else 0.0, failure, failure_waste


def _remaining(row: Row, until: float, done: float, recorded: int, rules: Caps) -> int:
    """Time for the work from ``done`` to ``until`` of an attempt; from 0 as recorded."""
    if not rules.checkpoint:
        return recorded
    return min(recorded, max(0, math.floor((until - done) * row.length) - ROUNDING))


def _most_saved(row: Row, done: float, rules: Caps) -> float:
    """The largest fraction that can be saved when an attempt has ended.

    Two milliseconds more than it took make up for rounding, on whatever machine it ran.
    """
    if not rules.checkpoint:
        return 0.0
    if row.length == 0 or (row.ending == _EXTERNAL and rules.interrupted):
        return 1.0
    gained = (row.duration + 2) / row.length
    if row.ending == _INTRINSIC:
        return min(1.0, max(done, gained, row.fraction + 1.0 / row.length))
    return min(1.0, done + gained)


def _beside_each_other(rows: Sequence[Row], rules: Caps) -> tuple[float, float]:
    """With extra attempts and no checkpoints: least time and waste until success.

    Row k begins when all k before it have begun. Of these k starts after the first at most E were
    extra; each other one followed an end of its own, so m = k - E attempts have ended without
    success. At most E + 1 run at a time. So that took as long as the m-th shortest of them, and
    their sum over E + 1. Without clones the first attempt has ended too.
    """
    best, best_waste = math.inf, math.inf
    ended: list[int] = []
    wasted: list[int] = []
    for k, row in enumerate(rows):
        m = max(0, k - rules.extra)
        if _may_finish(row, 0.0, rules) and m <= len(ended):
            chosen = sorted(ended)[:m]
            start = max(chosen[-1], math.ceil(sum(chosen) / (rules.extra + 1))) if m else 0
            waste = sum(sorted(wasted)[:m])
            if k and not rules.clone:
                start, waste = max(start, ended[0]), max(waste, wasted[0])
            best, best_waste = min(best, float(start + row.length)), min(best_waste, float(waste))
        if not _must_finish(row):
            ended.append(row.duration)
            wasted.append(_wasted(row, row.duration, rules))
    return best, best_waste if best < math.inf else 0.0
