"""The fields of an observation that are written alike in every world."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from failgym.sim.shared.context import (
    AGE_BUCKETS,
    HOUR_BINS,
    SYSTEM_BIN,
)
from failgym.sim.shared.fields import AT, HIGH, INDEX, LOW, group_of
from failgym.sim.shared.jit import kernel
from failgym.sim.shared.usage import USAGE_FIELDS
from failgym.vocabulary import ACTIONS, HOUR, MINUTE, Action, Decision

__all__ = [
    "cost_fields",
    "decision_fields",
    "forecast_fields",
    "interruption_fields",
    "log_count",
    "log_minutes",
    "mask_fields",
    "progress_fields",
    "put",
    "ratio",
    "static_fields",
    "up_to",
    "usage_fields",
]

_REQUEST, _REQUESTS = group_of("request").start, len(group_of("request"))
_USAGE = group_of("usage").start
_DECISIONS = np.array([INDEX[kind.name.lower()] for kind in Decision])

_MASK = np.array([INDEX[f"may_{action.name.lower()}"] for action in Action])


@kernel
def put(obs: Any, i: int, value: float) -> None:
    """Store a field, clipped to its bounds."""
    obs[i] = min(max(np.float32(value), LOW[i]), HIGH[i])


@kernel
def log_minutes(time: float) -> float:
    """log2 min of a time [ms]."""
    return math.log2(1.0 + time / MINUTE)


@kernel
def log_count(count: float) -> float:
    """log2 of a count."""
    return math.log2(1.0 + count)


@kernel
def decision_fields(ep: Any, task: Any, obs: Any) -> None:
    """Write the decision group."""
    for kind in range(len(_DECISIONS)):
        obs[_DECISIONS[kind]] = 1.0 if ep.decision == kind else 0.0
    obs[AT.armed] = 1.0 if task.armed else 0.0
    put(obs, AT.actions_taken, ep.taken)
    put(obs, AT.live_attempts, task.live)


@kernel
def static_fields(w: Any, task: Any, obs: Any) -> None:
    """Write the request group."""
    for j in range(_REQUESTS):
        put(obs, _REQUEST + j, w.request[task.task, j])


@kernel
def up_to(times: Any, begin: int, count: int, now: int) -> int:
    """How many of an ascending stretch of times are at most now.

    Which half is left is worked out, not branched upon: nobody could foretell it.
    """
    low, left = begin, count
    while left > 1:
        half = left >> 1
        low += half * int(times[low + half - 1] <= now)
        left -= half
    return low - begin + int(left == 1 and times[low] <= now)


@kernel
def _whole_windows(w: Any, row: Any, progress: int) -> int:
    """Usage windows that are over after so much progress: often as many as decision windows."""
    known, begin, count = w.usage_known, row.usage_at, row.usages
    guess = min(progress // w.parameters[0].window, count)
    over = guess == 0 or known[begin + guess - 1] <= progress
    if over and (guess == count or known[begin + guess] > progress):
        return int(guess)
    return up_to(known, begin, count, progress)


@kernel
def usage_fields(w: Any, row: Any, progress: int, obs: Any) -> None:
    """Usage in the last window that is whole behind the attempt."""
    last = _whole_windows(w, row, progress) - 1
    for j in range(USAGE_FIELDS):
        if last < 0:
            obs[_USAGE + j] = 0.0
        else:
            put(obs, _USAGE + j, w.usage[row.usage_at + last, j])


@kernel
def _bucket(age: int) -> int:
    """Age bucket: bit length of the whole seconds."""
    seconds, bits = age // 1000, 0
    while seconds > 0:
        seconds >>= 1
        bits += 1
    return min(bits, AGE_BUCKETS - 1)


@kernel
def ratio(over: float, under: float) -> float:
    """``over / under``, 0 where ``under`` is not more than 0."""
    return over / under if under > 0.0 else 0.0


@kernel
def progress_fields(
    w: Any, durable: int, record: Any, age: int, unsaved: int, median: int, obs: Any
) -> None:
    """Write the progress group; ``median`` is that of the run times of finished siblings [ms]."""
    table = w.expectations[record.kind, _bucket(age)]
    left = 0.0
    if record.walltime > 0:
        left = max(0.0, 1.0 - age / record.walltime)
    put(obs, AT.age, log_minutes(age))
    put(obs, AT.unsaved, log_minutes(unsaved))
    put(obs, AT.durable_fraction, ratio(durable, table[0]))
    put(obs, AT.age_over_expected, ratio(age, table[0]))
    put(obs, AT.age_over_siblings, ratio(age, median))
    put(obs, AT.walltime_left, left)
    put(obs, AT.hazard, table[1])
    put(obs, AT.chance_of_finish, table[2])


@kernel
def forecast_fields(w: Any, record: Any, risk: Any, before: Any, unsaved: int, obs: Any) -> None:
    """Write the forecast group; ``before`` is the risk one window before."""
    cost = w.parameters[0].checkpoint_cost
    put(obs, AT.risk, risk)
    put(obs, AT.risk_change, risk - before)
    put(obs, AT.confidence_finish, record.confidence[0])
    put(obs, AT.confidence_evict, record.confidence[1])
    put(obs, AT.confidence_fail, record.confidence[2])
    put(obs, AT.confidence_kill, record.confidence[3])
    put(obs, AT.job_confidence, record.job_confidence)
    put(obs, AT.risk_over_cost, ratio(float(risk) * float(unsaved), cost))


@kernel
def cost_fields(w: Any, record: Any, since_start: int, age: int, unsaved: int, obs: Any) -> None:
    """Write the cost group; ``since_start`` is the time since the task's first start [ms]."""
    p = w.parameters[0]
    put(obs, AT.checkpoint_cost, p.checkpoint_minutes)
    put(obs, AT.restore_cost, p.restore_minutes)
    put(obs, AT.grace, record.grace_minutes)
    put(obs, AT.age_over_grace, ratio(since_start, record.grace))
    put(obs, AT.unsaved_over_young, ratio(unsaved, p.young))
    put(obs, AT.unsaved_over_lazy, ratio(unsaved, w.lazy[record.kind, _bucket(age)]))
    put(obs, AT.mtbf, p.mtbf_minutes)


@kernel
def interruption_fields(recent: int, last: int, others: float, now: int, obs: Any) -> None:
    """Write what the system's interruptions say, at the end of the system group.

    Args:
        recent: interruptions in the last 12 whole bins and that of now, so far.
        last: time of the last one, or of the beginning [ms].
        others: attempts that run, and one.
    """
    span = now - (now // SYSTEM_BIN - HOUR_BINS) * SYSTEM_BIN
    put(obs, AT.interruption_rate, recent * HOUR / span / others)
    put(obs, AT.since_interruption, log_minutes(now - last))


@kernel
def mask_fields(ep: Any, obs: Any, mask: Any) -> None:
    """Write the legality of the actions."""
    for j in range(ACTIONS):
        legal = (ep.mask >> j) & 1
        mask[j] = legal
        obs[_MASK[j]] = legal
