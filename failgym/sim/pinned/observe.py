"""Write an observation down: the groups that are the pinned world's own, then those of `shared`."""

from __future__ import annotations

from typing import Any

import numpy as np

from failgym.sim.pinned.records import View, World
from failgym.sim.pinned.risks import risk_of
from failgym.sim.shared.accounts import work_of
from failgym.sim.shared.context import (
    HOUR_BINS,
    SYSTEM_BIN,
    SYSTEM_FIELDS,
    SYSTEM_TABLE,
)
from failgym.sim.shared.fields import AT, INDEX
from failgym.sim.shared.jit import kernel
from failgym.sim.shared.legal import window_index
from failgym.sim.shared.observe import (
    cost_fields,
    decision_fields,
    forecast_fields,
    interruption_fields,
    log_count,
    mask_fields,
    progress_fields,
    put,
    static_fields,
    up_to,
    usage_fields,
)
from failgym.vocabulary import Ending, Outcome

__all__ = ["observe"]

_EXTERNAL, _INTRINSIC = int(Ending.EXTERNAL), int(Ending.INTRINSIC)
_CENSORED = int(Outcome.CENSORED)
_FAILED, _EVICTED = int(Outcome.FAIL), int(Outcome.EVICT)
_SYSTEM = np.array([INDEX[name] for name in SYSTEM_TABLE])
_RUNNING = SYSTEM_TABLE.index("running")


@kernel
def _history(
    w: World, task: Any, record: Any, runs: Any, run: Any, now: int, finished: int, obs: Any
) -> None:
    failed, external = 0.0, 0.0
    if task.ended >= 0:
        last = runs[task.ended]
        row = w.rows[last.row]
        if last.ghost and w.parameters[0].continued:
            failed = 1.0 if last.outcome == _FAILED else 0.0
            external = 1.0 if last.outcome == _EVICTED else 0.0
        elif last.outcome == row.outcome and row.outcome != _CENSORED:
            failed = 1.0 if row.ending == _INTRINSIC else 0.0
            external = 1.0 if row.ending == _EXTERNAL else 0.0
    others_failed = up_to(w.fail_end, record.fail_at, record.fails, now)
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
def _system_row(w: World, now: int) -> int:
    """Row of the system table that holds now."""
    span, parts = w.system_bins[len(w.system_bins) - 1] + 1, len(w.system_index) - 1
    bin_now = min(max(now // SYSTEM_BIN, 0), span - 1)
    if parts == span:
        return w.system_index[bin_now]
    part = bin_now * parts // span
    row, last = w.system_index[part], w.system_index[part + 1]
    return row + up_to(w.system_bins, row + 1, last - row, bin_now)


@kernel
def _interruptions_by(w: World, now: int) -> int:
    """How many interruptions there have been up to now."""
    times, parts = w.interruption_times, len(w.interruption_index) - 1
    if parts < 0:
        return 0
    if now < 0:
        return up_to(times, 0, w.interruption_index[0], now)
    span, bin_now = max(times[len(times) - 1] // SYSTEM_BIN, 0) + 1, now // SYSTEM_BIN
    if bin_now >= span:
        return len(times)
    part = bin_now if parts == span else bin_now * parts // span
    first, last = w.interruption_index[part], w.interruption_index[part + 1]
    return first + up_to(times, first, last - first, now)


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
    finished = up_to(w.finish_end, record.finish_at, record.finishes, now)
    _history(w, task, record, x.runs, run, now, finished, obs)
    median = _sibling_median(w, record, now, finished)
    progress_fields(w, task.durable_work, record, age, unsaved, median, obs)
    risk, before = risk_of(w, task, run, index), risk_of(w, task, run, index - 1)
    forecast_fields(w, record, risk, before, unsaved, obs)
    cost_fields(w, record, now - record.first_start, age, unsaved, obs)
    _system(w, now, obs)
    mask_fields(x.ep, obs, mask)
