"""Write an observation of the scheduled world: what siblings and the system do is simulated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from failgym.sim.scheduled.attempts import INTRINSIC, OUTSIDE
from failgym.sim.scheduled.cluster.placing import offer_after, predicted
from failgym.sim.scheduled.cluster.system import interruptions, turn_bins
from failgym.sim.scheduled.risks import risk_of
from failgym.sim.scheduled.workflow.lineage_fields import observe_lineage
from failgym.sim.shared.accounts import work_of
from failgym.sim.shared.context import SYSTEM_BIN
from failgym.sim.shared.fields import AT, group_of
from failgym.sim.shared.jit import called
from failgym.sim.shared.legal import window_index
from failgym.sim.shared.observe import (
    cost_fields,
    decision_fields,
    forecast_fields,
    interruption_fields,
    log_count,
    log_minutes,
    mask_fields,
    progress_fields,
    put,
    static_fields,
    usage_fields,
)
from failgym.vocabulary import Decision, Outcome

if TYPE_CHECKING:
    from failgym.sim.scheduled.records import View, World

__all__ = ["observe"]

_OUTPUT, _DISPATCH = int(Decision.OUTPUT), int(Decision.DISPATCH)
_FINISH = int(Outcome.FINISH)
_LINEAGE, _LINEAGE_END = group_of("lineage").start, group_of("lineage").stop
_MACHINE, _MACHINE_END = group_of("machine").start, group_of("machine").stop


@called
def _history(w: World, x: View, task: Any, record: Any, before: int, obs: Any) -> None:
    job = x.jobs[task.job]
    failed = job.failed - (1 if task.failed else 0)
    finished = job.finished
    if task.settled and task.outcome == _FINISH:
        finished -= 1
    put(obs, AT.attempt, log_count(before))
    put(obs, AT.failures, log_count(task.failures))
    obs[AT.last_failed] = 1.0 if task.last_ending == INTRINSIC else 0.0
    obs[AT.last_external] = 1.0 if task.last_ending == OUTSIDE else 0.0
    put(obs, AT.clones, task.clones)
    put(obs, AT.extra_left, w.parameters[0].max_extra - task.extra)
    put(obs, AT.flagged_before, task.flagged)
    obs[AT.sibling_failed] = 1.0 if failed > 0 else 0.0
    put(obs, AT.siblings_finished, finished / max(1, record.job_width - 1))


@called
def _failures(w: World, m: int, now: int) -> int:
    """Outages of a machine that have begun by now."""
    first = w.machines[m].outage_at
    low, high = first, first + w.machines[m].outages
    while low < high:
        middle = (low + high) >> 1
        if w.outages[middle].down <= now:
            low = middle + 1
        else:
            high = middle
    return int(low - first)


@called
def _uptime(w: World, m: int, failures: int, now: int) -> int:
    """Time since an up machine, after so many failures, came up, or since the trace began [ms]."""
    if failures == 0:
        return now
    return int(now - w.outages[w.machines[m].outage_at + failures - 1].up)


@called
def _offered(w: World, x: View, task: int, obs: Any) -> None:
    """The machine group, and what an offer of a task (trace row) shows unlike other decisions."""
    m, now = x.ep.offered, x.ep.now
    finish, failures = x.dag.finish[m], _failures(w, m, now)
    following = offer_after(x)
    obs[AT.predicted_to_fail] = 1.0 if predicted(w, x, m, finish) else 0.0
    put(obs, AT.machine_failures, log_count(failures))
    put(obs, AT.offer_rank, x.ep.offers)
    put(obs, AT.offered_time, log_minutes(finish - now))
    put(obs, AT.next_time, log_minutes(x.dag.finish[following] - now) if following >= 0 else 0.0)
    put(obs, AT.upward_rank, log_minutes(w.dags.rank[task]))
    put(obs, AT.machine_uptime, log_minutes(_uptime(w, m, failures, now)))
    put(obs, AT.actions_taken, x.ep.offers)


@called
def _system(x: View, obs: Any) -> None:
    ep = x.ep
    if ep.now // SYSTEM_BIN != ep.bin:
        turn_bins(x)
    put(obs, AT.running, log_count(ep.running))
    put(obs, AT.waiting, log_count(ep.queued))
    put(obs, AT.free, log_count(ep.free))
    put(obs, AT.arrival_rate, ep.arrival_rate)
    put(obs, AT.throughput, ep.throughput)
    put(obs, AT.arrival_change, ep.arrival_change)
    put(obs, AT.throughput_change, ep.throughput_change)
    put(obs, AT.failure_rate, ep.failure_rate)
    interruption_fields(interruptions(x), ep.interrupted, 1.0 + ep.running, ep.now, obs)


@called
def _intervals(w: World, record: Any, start: int, now: int, obs: Any) -> None:
    """Of a finished task: ends of Young's intervals, since its job's submission, in its run."""
    young, ended = w.parameters[0].young, 0.0
    if young > 0.0:
        ended = (now - record.job_submit) // young - (start - record.job_submit) // young
    put(obs, AT.unsaved_over_young, ended)


@called
def observe(w: World, x: View, obs: Any, mask: Any) -> None:
    """Write the open decision into ``obs`` [len(FIELDS)] float32 and ``mask`` [5] int8."""
    ep, now = x.ep, x.ep.now
    task, run = x.tasks[ep.local], x.runs[ep.run]
    record, dispatch = w.tasks[task.task], ep.decision == _DISPATCH
    if dispatch:
        run.chain = task.durable_work
    age = 0 if dispatch else (now if run.alive else run.ended) - run.start
    unsaved = work_of(run, now) - run.durable_work
    median, since_start = 0, 0
    if x.jobs[task.job].low > 0:
        median = x.durations[x.jobs[task.job].at]
    if task.first_start <= now:
        since_start = now - task.first_start
    decision_fields(ep, task, obs)
    static_fields(w, task, obs)
    usage_fields(w, w.rows[run.row], run.chain + work_of(run, now), obs)
    _history(w, x, task, record, task.attempts if dispatch else run.before, obs)
    progress_fields(w, task.most_durable, record, age, unsaved, median, obs)
    index = window_index(w, run, now)
    risk = risk_of(w, task.task, run, index)
    risk_before = risk_of(w, task.task, run, index - 1)
    forecast_fields(w, record, risk, risk_before, unsaved, obs)
    cost_fields(w, record, since_start, age, unsaved, obs)
    if w.parameters[0].stages:
        observe_lineage(w, x, ep.local, age, median, obs)
    else:
        obs[_LINEAGE:_LINEAGE_END] = 0.0
    obs[_MACHINE:_MACHINE_END] = 0.0
    _system(x, obs)
    mask_fields(ep, obs, mask)
    if dispatch:
        _offered(w, x, task.task, obs)
    elif ep.decision == _OUTPUT:
        _intervals(w, record, run.start, now, obs)
