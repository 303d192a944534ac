"""Write an observation down: one function per group of fields, each field by its name."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from failgym.sim.accounts import work_of
from failgym.sim.context import AGE_BUCKETS, HOUR_BINS, SYSTEM_BIN, SYSTEM_FIELDS, SYSTEM_TABLE
from failgym.sim.decisions import risk_of, window_index
from failgym.sim.fields import AT, HIGH, INDEX, LOW, group_of
from failgym.sim.jit import kernel
from failgym.sim.records import View, World
from failgym.sim.usage import USAGE_FIELDS
from failgym.vocabulary import ACTIONS, HOUR, MINUTE, Action, Decision, Ending, Outcome

__all__ = [
    "cost_fields",
    "decision_fields",
    "forecast_fields",
    "interruption_fields",
    "log_count",
    "log_minutes",
    "mask_fields",
    "observe",
    "progress_fields",
    "put",
    "ratio",
    "static_fields",
    "usage_fields",
]

_EXTERNAL, _INTRINSIC = int(Ending.EXTERNAL), int(Ending.INTRINSIC)
_CENSORED = int(Outcome.CENSORED)
_REQUEST, _REQUESTS = group_of("request").start, len(group_of("request"))
_USAGE = group_of("usage").start
_DECISIONS = np.array([INDEX[kind.name.lower()] for kind in Decision])
_SYSTEM = np.array([INDEX[name] for name in SYSTEM_TABLE])
_MASK = np.array([INDEX[f"may_{action.name.lower()}"] for action in Action])
_RUNNING = SYSTEM_TABLE.index("running")


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
def static_fields(w: World, task: Any, obs: Any) -> None:
    """Write the request group."""
    for j in range(_REQUESTS):
        put(obs, _REQUEST + j, w.request[task.task, j])


@kernel
def _up_to(times: Any, begin: int, count: int, now: int) -> int:
    """How many of an ascending stretch of times are at most now."""
    low, high = 0, count
    while low < high:
        middle = (low + high) >> 1
        if times[begin + middle] <= now:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def usage_fields(w: World, row: Any, progress: int, obs: Any) -> None:
    """Usage in the last window that is whole behind the attempt."""
    last = _up_to(w.usage_known, row.usage_at, row.usages, progress) - 1
    for j in range(USAGE_FIELDS):
        if last < 0:
            obs[_USAGE + j] = 0.0
        else:
            put(obs, _USAGE + j, w.usage[row.usage_at + last, j])


@kernel
def _history(
    w: World, task: Any, record: Any, runs: Any, run: Any, now: int, finished: int, obs: Any
) -> None:
    failed, external = 0.0, 0.0
    if task.ended >= 0:
        row = w.rows[runs[task.ended].row]
        if runs[task.ended].outcome == row.outcome and row.outcome != _CENSORED:
            failed = 1.0 if row.ending == _INTRINSIC else 0.0
            external = 1.0 if row.ending == _EXTERNAL else 0.0
    others_failed = _up_to(w.fail_end, record.fail_at, record.fails, now)
    if record.own_fail <= now:
        others_failed -= 1
    others = finished - 1 if record.own_finish <= now else finished
    put(obs, AT.attempt, log_count(run.before))
    put(obs, AT.failures, log_count(task.failures))
    obs[AT.last_failed] = failed
    obs[AT.last_external] = external
    put(obs, AT.clones, task.clones)
    put(obs, AT.extra_left, w.parameters[0].max_extra - task.extra)
    put(obs, AT.flagged_before, task.flagged)
    obs[AT.sibling_failed] = 1.0 if others_failed > 0 else 0.0
    put(obs, AT.siblings_finished, others / max(1, record.job_width - 1))


@kernel
def _sibling_median(w: World, record: Any, now: int, m: int) -> int:
    """Lower median duration of the job's other tasks that have finished, 0 if none has.

    Args:
        m: tasks of the job, this one included, that have finished by now in the record.
    """
    own = record.own_finish <= now
    if m - int(own) <= 0:
        return 0
    low, high = w.finish_low[record.finish_at + m - 1], w.finish_high[record.finish_at + m - 1]
    if own:
        return int(high if record.own_duration <= low else low)
    return int(high if m % 2 == 1 and m > 1 else low)


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
    w: World, durable: int, record: Any, age: int, unsaved: int, median: int, obs: Any
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
def forecast_fields(w: World, record: Any, run: Any, index: int, unsaved: int, obs: Any) -> None:
    """Write the forecast group."""
    risk = risk_of(w, run, index)
    cost = w.parameters[0].checkpoint_cost
    put(obs, AT.risk, risk)
    put(obs, AT.risk_change, risk - risk_of(w, run, index - 1))
    put(obs, AT.confidence_finish, record.confidence[0])
    put(obs, AT.confidence_evict, record.confidence[1])
    put(obs, AT.confidence_fail, record.confidence[2])
    put(obs, AT.confidence_kill, record.confidence[3])
    put(obs, AT.job_confidence, record.job_confidence)
    put(obs, AT.risk_over_cost, ratio(float(risk) * float(unsaved), cost))


@kernel
def cost_fields(w: World, record: Any, since_start: int, age: int, unsaved: int, obs: Any) -> None:
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
def _system_row(w: World, now: int) -> int:
    """Row of the system table that holds now."""
    span, parts = w.system_bins[len(w.system_bins) - 1] + 1, len(w.system_index) - 1
    bin_now = min(max(now // SYSTEM_BIN, 0), span - 1)
    if parts == span:
        return w.system_index[bin_now]
    part = bin_now * parts // span
    row, last = w.system_index[part], w.system_index[part + 1]
    return row + _up_to(w.system_bins, row + 1, last - row, bin_now)


@kernel
def _interruptions_by(w: World, now: int) -> int:
    """How many interruptions there have been up to now."""
    times, parts = w.interruption_times, len(w.interruption_index) - 1
    if parts < 0:
        return 0
    if now < 0:
        return _up_to(times, 0, w.interruption_index[0], now)
    span, bin_now = max(times[len(times) - 1] // SYSTEM_BIN, 0) + 1, now // SYSTEM_BIN
    if bin_now >= span:
        return len(times)
    part = bin_now if parts == span else bin_now * parts // span
    first, last = w.interruption_index[part], w.interruption_index[part + 1]
    return first + _up_to(times, first, last - first, now)


@kernel
def _system(w: World, now: int, obs: Any) -> None:
    row = _system_row(w, now)
    for j in range(SYSTEM_FIELDS):
        put(obs, _SYSTEM[j], w.system[row, j])
    known = _interruptions_by(w, now)
    recent = known - _interruptions_by(w, (now // SYSTEM_BIN - HOUR_BINS) * SYSTEM_BIN - 1)
    last = w.interruption_times[known - 1] if known > 0 else 0
    interruption_fields(recent, last, 2.0 ** float(w.system[row, _RUNNING]), now, obs)


@kernel
def mask_fields(ep: Any, obs: Any, mask: Any) -> None:
    """Write the legality of the actions."""
    for j in range(ACTIONS):
        legal = (ep.mask >> j) & 1
        mask[j] = legal
        obs[_MASK[j]] = legal


@kernel
def observe(w: World, x: View, obs: Any, mask: Any) -> None:
    """Write the open decision into ``obs`` [len(FIELDS)] float32 and ``mask`` [5] int8."""
    ep = x.ep
    task, run, now = x.tasks[ep.local], x.runs[ep.run], ep.now
    record = w.tasks[task.task]
    age = (now if run.alive else run.ended) - run.start
    index = window_index(w, run, now)
    unsaved = work_of(run, now) - run.durable_work
    decision_fields(x.ep, task, obs)
    static_fields(w, task, obs)
    usage_fields(w, w.rows[run.row], run.chain + work_of(run, now), obs)
    finished = _up_to(w.finish_end, record.finish_at, record.finishes, now)
    _history(w, task, record, x.runs, run, now, finished, obs)
    median = _sibling_median(w, record, now, finished)
    progress_fields(w, task.durable_work, record, age, unsaved, median, obs)
    forecast_fields(w, record, run, index, unsaved, obs)
    cost_fields(w, record, now - record.first_start, age, unsaved, obs)
    _system(w, now, obs)
    mask_fields(x.ep, obs, mask)
