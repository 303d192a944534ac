"""Machines go down and come back: what dies with them, and when the cluster notices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from failgym.sim.scheduled.attempts import await_notice, notice, stop, vacate
from failgym.sim.scheduled.checkpoints import lose_output_write
from failgym.sim.scheduled.cluster.machines import bring_down, bring_up
from failgym.sim.scheduled.queue.queues import request_pass
from failgym.sim.scheduled.records import RunState
from failgym.sim.scheduled.settlement import copy_of, enter, settle_if_over
from failgym.sim.scheduled.workflow.dags import still_transferring_from
from failgym.sim.scheduled.workflow.lineage import demand_blocked, lose_outputs
from failgym.sim.shared.events import note, push, sort_key
from failgym.sim.shared.heap import make_heap
from failgym.sim.shared.jit import called
from failgym.vocabulary import NEVER, Event, Outcome

if TYPE_CHECKING:
    from failgym.sim.scheduled.records import View, World

__all__ = ["begin_outages", "detect", "go_down", "go_up", "next_outage"]

_DOWN, _UP = int(Event.MACHINE_DOWN), int(Event.MACHINE_UP)
_DETECTED = int(Event.DETECTED)
_RUNNING, _WRITING = int(RunState.RUNNING), int(RunState.WRITING)
_LOST = int(Outcome.LOST)


@called
def _get(x: View, at: int) -> int:
    return x.picked[at]


@called
def _put(x: View, at: int, i: int) -> None:
    x.picked[at] = i


@called
def _later(x: View, i: int, j: int) -> bool:
    """Does run i come after run j in order of (trace row of the task, number)?"""
    a, b = x.tasks[x.runs[i].local].task, x.tasks[x.runs[j].local].task
    return a > b or (a == b and x.runs[i].number > x.runs[j].number)


_sort = make_heap(_get, _put, _later).sort


@called
def _pick_on(x: View, machine: int, state: int) -> int:
    """List in ``x.picked`` the runs of a state on a machine."""
    n, at = 0, x.machines[machine].placements
    while at >= 0:
        i = x.placements[at].run
        if x.runs[i].state == state:
            x.picked[n] = i
            n += 1
        at = x.placements[at].on_next
    return n


@called
def _is_on(x: View, i: int, machine: int) -> bool:
    at = x.runs[i].placements
    while at >= 0:
        if x.placements[at].machine == machine:
            return True
        at = x.placements[at].next
    return False


@called
def _pick_readers(w: World, x: View, machine: int, n: int) -> int:
    """Append to ``x.picked`` the runs elsewhere that still read from a machine."""
    for m in range(len(x.machines)):
        at = x.machines[m].placements
        while at >= 0:
            i = x.placements[at].run
            run = x.runs[i]
            if run.machine == m and run.state == _RUNNING and run.transferred > x.ep.now:
                reads = still_transferring_from(w, x, i, machine, x.ep.now)
                if reads and not _is_on(x, i, machine):
                    x.picked[n] = i
                    n += 1
            at = x.placements[at].on_next
    return n


@called
def _kill(w: World, x: View, i: int, machine: int) -> None:
    """A run dies with a machine; the cluster does not know yet."""
    run = x.runs[i]
    task = x.tasks[run.local]
    task.outages += 1
    task.loss += x.ep.now - run.start
    stop(w, x, i, _LOST)
    vacate(w, x, i)
    if run.recomputes:
        return
    if task.given_up:
        settle_if_over(w, x, run.local)
    else:
        await_notice(x, copy_of(w, x, i), machine)


@called
def detect(w: World, x: View, machine: int) -> None:
    """The cluster notices what a machine killed, and that outputs are lost."""
    n, i = 0, x.machines[machine].due
    while i >= 0:
        x.picked[n] = i
        n += 1
        i = x.runs[i].queue_next
    _sort(x, n)
    for k in range(n):
        notice(x, x.picked[k])
        enter(w, x, x.picked[k])
    if w.parameters[0].stages and w.parameters[0].outputs_lost:
        demand_blocked(w, x)


@called
def go_down(w: World, x: View, machine: int) -> None:
    """A machine goes down, and all that runs there, or reads from there."""
    p, ep = w.parameters[0], x.ep
    note(x, _DOWN, -1, machine, 0)
    bring_down(w, x, machine)
    n = _pick_on(x, machine, _RUNNING)
    if p.transfers and p.stages:
        n = _pick_readers(w, x, machine, n)
    _sort(x, n)
    for k in range(n):
        _kill(w, x, x.picked[k], machine)
    n = _pick_on(x, machine, _WRITING)
    _sort(x, n)
    for k in range(n):
        lose_output_write(w, x, x.picked[k])
    if p.stages and p.outputs_lost:
        lose_outputs(w, x, machine)
    request_pass(w, x)
    if p.detection_delay == 0:
        detect(w, x, machine)
    else:
        key = sort_key(_DETECTED, machine, 0)
        push(x, ep.now + p.detection_delay, key, machine, -1, 0)


@called
def go_up(w: World, x: View, machine: int) -> None:
    """A machine is back."""
    note(x, _UP, -1, machine, 0)
    bring_up(w, x, machine)
    request_pass(w, x)


@called
def _call_up(x: View, machine: int, up: int) -> None:
    """Put the return of a machine on the calendar."""
    if up != NEVER:
        push(x, up, sort_key(_UP, machine, 0), machine, -1, 0)


@called
def call_outage(w: World, x: View) -> None:
    """Put the next outage of the cluster on the calendar."""
    if x.ep.outage < len(w.outages_in_time):
        outage = w.outages_in_time[x.ep.outage]
        x.ep.outage += 1
        key = sort_key(_DOWN, outage.machine, 0)
        push(x, outage.down, key, outage.machine, -1, 0)


@called
def next_outage(w: World, x: View) -> None:
    """The outage on the calendar comes true: what is to come of it and after it is called."""
    outage = w.outages_in_time[x.ep.outage - 1]
    _call_up(x, outage.machine, outage.up)
    call_outage(w, x)


@called
def begin_outages(w: World, x: View) -> None:
    """Call the outages to come, and the returns of the machines that are down."""
    low, high = 0, len(w.outages_in_time)
    while low < high:
        middle = (low + high) >> 1
        if w.outages_in_time[middle].down < x.ep.now:
            low = middle + 1
        else:
            high = middle
    x.ep.outage = low
    call_outage(w, x)
    for m in range(len(w.machines)):
        if x.machines[m].down:
            at = w.machines[m].outage_at
            while w.outages[at].up <= x.ep.now:
                at += 1
            _call_up(x, m, w.outages[at].up)
