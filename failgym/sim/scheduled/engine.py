"""The engine of the scheduled world: run to the next decision, carry one out, write it down.

Tasks compete for the slots of one cluster. Where an array has become too small the engine stops
before the next event (`EPISODE.full`) and is entered again once the arrays have grown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from failgym.sim.scheduled.accounts import costs
from failgym.sim.scheduled.attempts import (
    INTRINSIC,
    OUTSIDE,
    ending_of,
    forget,
    free_slots,
    own_outcome,
    stop,
    vacate,
    windows_matter,
)
from failgym.sim.scheduled.checkpoints import make_durable
from failgym.sim.scheduled.cluster.outages import detect, go_down, go_up, next_outage
from failgym.sim.scheduled.cluster.placing import place_held
from failgym.sim.scheduled.cluster.storage import not_durable_before, storage_event
from failgym.sim.scheduled.decisions import answer, ask, ask_output
from failgym.sim.scheduled.episodes import (
    ARRIVAL,
    begin_episode,
    call_arrival,
    has_room,
    has_room_for,
)
from failgym.sim.scheduled.memory.ahead import look_ahead
from failgym.sim.scheduled.memory.views import view_of
from failgym.sim.scheduled.observe import observe
from failgym.sim.scheduled.queue.passes import run_pass
from failgym.sim.scheduled.records import Short, State
from failgym.sim.scheduled.risks import risk_of
from failgym.sim.scheduled.settlement import (
    execute_kill,
    note_end,
    owe_after_external,
    owe_after_failure,
    restart,
    settle,
    settle_if_over,
    settle_rest,
    start_next,
    stop_all,
    succeed,
)
from failgym.sim.scheduled.tasks import prepare
from failgym.sim.scheduled.units import unit_cost, unit_of, write_unit_costs
from failgym.sim.scheduled.workflow.lineage import unblock_children
from failgym.sim.scheduled.workflow.outputs import output_ready
from failgym.sim.shared.compile import SPACINGS
from failgym.sim.shared.draws import DRAWN, RESET, STEP, draw_slice
from failgym.sim.shared.events import kind_of, note, pop, push, sort_key
from failgym.sim.shared.fields import AT
from failgym.sim.shared.jit import called, entry, held
from failgym.sim.shared.legal import ONLY_CONTINUE, legal_window, window_index
from failgym.sim.shared.records import Output
from failgym.sim.shared.windows import next_window, window_until
from failgym.vocabulary import NEVER, TERMS, Decision, Ending, Event, Outcome

if TYPE_CHECKING:
    from failgym.sim.scheduled.records import View, World

__all__ = ["BEGUN", "FITTED", "PREPARE", "RESET", "RESUME", "STEP", "run"]

RESUME, PREPARE = 2, 3
"""What `run` is called for, beside `STEP` and `RESET`."""
_ANSWER, _STEPPING, _BEGINNING, _OVER, _CHOSEN = 1, 2, 3, 4, 5
FITTED, BEGUN = 6, 7
"""How far an episode has got within one call; kept in EPISODE.full while its arrays grow."""
_END, _DURABLE = int(Event.END), int(Event.DURABLE)
_DOWN, _UP = int(Event.MACHINE_DOWN), int(Event.MACHINE_UP)
_DETECTED, _GRACE, _USER_KILL = int(Event.DETECTED), int(Event.GRACE), int(Event.USER_KILL)
_START, _WINDOW_EVENT = int(Event.START), int(Event.WINDOW)
_WINDOW, _FAILED = int(Decision.WINDOW), int(Decision.FAILED)
_EXTERNAL, _FAILS = int(Ending.EXTERNAL), int(Ending.INTRINSIC)
_FINISH, _KILL = int(Outcome.FINISH), int(Outcome.KILL)
_SLICE = int(Short.SLICE)
_ALARM = SPACINGS.index("alarm")


# --- Events ---------------------------------------------------------------------------------------


@called
def _finish(w: World, x: View, i: int) -> bool:
    """A run has done its work; True if an OUTPUT decision is asked."""
    run = x.runs[i]
    local, recomputes = run.local, run.recomputes
    stop(w, x, i, _FINISH)
    if not recomputes:
        succeed(w, x, local, i)
    if w.parameters[0].stages:
        output_ready(w, x, local, i)
        if ask_output(w, x, i):
            return True
    vacate(w, x, i)
    if w.parameters[0].stages:
        unblock_children(w, x, local)
    return False


@called
def _end_otherwise(w: World, x: View, i: int, outcome: int) -> bool:
    """A run ends by itself without having done its work; True if a FAILED decision is asked."""
    run = x.runs[i]
    local, ending = run.local, ending_of(w, x, run)
    task, at_walltime = x.tasks[local], run.wall < run.own
    stop(w, x, i, outcome)
    free_slots(w, x, i)
    if run.by_cluster and w.parameters[0].continued and not at_walltime:
        note_end(w, x, i, ending)
    if at_walltime:
        task.last_ending = OUTSIDE
    elif ending == _FAILS:
        task.last_ending = INTRINSIC
        task.failures += 1
        if task.asked and ask(w, x, i, _FAILED):
            return True
        owe_after_failure(w, x, local, i)
    elif ending == _EXTERNAL:
        task.last_ending = OUTSIDE
        owe_after_external(w, x, local, i)
    forget(x, i)
    settle_if_over(w, x, local)
    return False


@called
def _end(w: World, x: View, time: int, key: int, i: int) -> bool:
    """The END of a live run comes up; True if a decision is asked."""
    run = x.runs[i]
    if run.called != time:
        return False
    if run.end != time:
        run.called = run.end
        if run.end != NEVER:
            push(x, run.end, key, run.local, i, run.stamp)
        return False
    x.ep.now = time
    outcome = own_outcome(w, x, run)
    if outcome == _FINISH:
        return _finish(w, x, i)
    return _end_otherwise(w, x, i, outcome)


@called
def _window_after(w: World, x: View, i: int) -> int:
    """Index of the window that is called after this one.

    While a transfer, a restore or a checkpoint runs nothing may be legal but to continue. Then the
    windows up to its end would all pass unasked, and are not called, but for the last of them.
    """
    run = x.runs[i]
    until = run.restored
    if run.write >= 0:
        until = not_durable_before(w, x, i)
    if x.ep.now < until:
        mask = legal_window(w, x.tasks[run.local], run, x.ep.now)
        if mask == ONLY_CONTINUE:
            return window_until(w, run, until)
    return next_window(w, run.window)


@called
def _window(w: World, x: View, key: int, i: int) -> bool:
    """A decision window of a live run; True if a WINDOW decision is asked."""
    run = x.runs[i]
    if not windows_matter(w, x.tasks[run.local]):
        return False
    p = w.parameters[0]
    run.window = _window_after(w, x, i)
    push(x, run.start + run.window * p.window, key, run.local, i, run.stamp)
    if p.spacing == _ALARM:
        task, index = x.tasks[run.local].task, window_index(w, run, x.ep.now)
        if risk_of(w, task, run, index) < p.alarm:
            return False
    return ask(w, x, i, _WINDOW)


@called
def _arrive(w: World, x: View, local: int) -> bool:
    """A task arrives, unless it has settled before for want of an input."""
    call_arrival(w, x)
    task = x.tasks[local]
    if task.settled:
        return False
    kill_at = w.tasks[task.task].kill_at
    if kill_at != NEVER:
        time = max(x.ep.now, kill_at)
        push(x, time, sort_key(_USER_KILL, task.task, 0), local, -1, 0)
    return True


@called
def _user_kill(w: World, x: View, local: int) -> None:
    """The user's final kill ends all that is alive."""
    note(x, _USER_KILL, x.tasks[local].task, -1, 0)
    stop_all(w, x, local, _KILL)
    settle(w, x, local, _KILL, -1)


@called
def _start(w: World, x: View, time: int, local: int, cause: int, stamp: int) -> None:
    """A task arrives or a restart falls due."""
    task = x.tasks[local]
    if cause != ARRIVAL:
        if task.settled or task.stamp != stamp:
            return
        x.ep.now = time
        restart(w, x, local, cause)
        return
    if not task.settled:
        x.ep.now = time
    if _arrive(w, x, local):
        start_next(w, x, local, -1, True)


@called
def _happen_to_all(w: World, x: View, time: int, kind: int, local: int) -> None:
    """An event of a machine (``local``), or the kill of a task."""
    if kind in (_GRACE, _USER_KILL):
        if x.tasks[local].settled:
            return
        x.ep.now = time
        if kind == _GRACE:
            execute_kill(w, x, local)
        else:
            _user_kill(w, x, local)
        return
    x.ep.now = time
    if kind == _DOWN:
        next_outage(w, x)
        go_down(w, x, local)
    elif kind == _UP:
        go_up(w, x, local)
    elif kind == _DETECTED:
        detect(w, x, local)


@called
def _happen(w: World, x: View) -> bool:
    """Let the first event of the calendar happen, if it is not void; True if a decision is asked.

    Only what happens moves the clock.
    """
    time, key, local, i, stamp = pop(x)
    kind = kind_of(key)
    if i >= 0:
        run = x.runs[i]
        if not run.alive or run.stamp != stamp:
            return False
        if kind == _END:
            return _end(w, x, time, key, i)
        x.ep.now = time
        if kind == _WINDOW_EVENT:
            return _window(w, x, key, i)
        note(x, kind, x.tasks[local].task, run.number, 0)
    elif kind == _START:
        _start(w, x, time, local, i, stamp)
    elif kind == _DURABLE:
        i = storage_event(w, x, time, stamp)
        if i >= 0:
            make_durable(w, x, i)
    else:
        _happen_to_all(w, x, time, kind, local)
    return False


# --- From decision to decision --------------------------------------------------------------------


@called
def _nothing_left(w: World, x: View) -> None:
    """The calendar is empty: place what a pass has held, or settle what cannot end."""
    if not (w.parameters[0].place and place_held(w, x)):
        settle_rest(w, x)


@called
def advance(w: World, x: View) -> bool:
    """Run to the next decision; False at the end of the episode, or where arrays are too small."""
    ep = x.ep
    while True:
        if (ep.left if w.parameters[0].others else ep.own_left) == 0:
            ep.done, ep.mask = True, 0
            return False
        if not has_room(w, x):
            ep.full = _STEPPING
            return False
        if ep.pass_due and (ep.events == 0 or x.heap[0].time > ep.now):
            if run_pass(w, x):
                return True
        elif ep.events == 0:
            _nothing_left(w, x)
        elif _happen(w, x):
            return True


@called
def _charge_step(w: World, x: View, terms: Any) -> float:
    """Write the terms of the reward since the last decision; return their sum."""
    now = costs(w, x)
    total = 0.0
    for k in range(len(TERMS)):
        terms[k] = x.ep.cost[k] - now[k]
        x.ep.cost[k] = now[k]
        total += terms[k]
    return total


@called
def _choose(w: World, x: View, chosen: int) -> None:
    """An episode is to begin on a slice, or on one drawn by its key (``chosen`` -1)."""
    ep = x.ep
    if chosen < 0:
        chosen = draw_slice(ep.key, ep.count, len(w.member_at) - 1)
        ep.count += 1
    ep.slice = chosen


@called
def _show(w: World, x: View, e: int, out: Output) -> None:
    """Write down what an episode waits for; after its end all is zero and CONTINUE legal."""
    ep = x.ep
    out.slice[e], out.illegal[e] = ep.slice, ep.illegal
    if ep.done:
        out.obs[e, :] = 0.0
        out.obs[e, AT.may_continue] = 1.0
        out.mask[e, :] = 0
        out.mask[e, 0] = 1
        out.task[e], out.unit[e], out.unit_cost[e] = -1, -1, 0.0
        return
    observe(w, x, out.obs[e], out.mask[e])
    out.task[e], out.unit[e] = x.tasks[ep.local].task, unit_of(w, ep.local, x.tasks)
    out.unit_cost[e] = unit_cost(w, ep, x.tasks, x.jobs, out.unit[e])


@called
def _first_phase(w: World, x: View, what: int, task: int) -> int:
    """Where an episode stands when it is entered: to begin anew, to resume, or to be answered."""
    ep = x.ep
    phase = _ANSWER
    if what == RESUME:
        phase = ep.full
    elif what == RESET:
        _choose(w, x, task)
        phase = _CHOSEN
    elif ep.done:
        phase = _OVER
    ep.full = 0
    return phase


@called
def _run_one(w: World, x: View, out: Output, e: int, what: int, given: int, again: bool) -> None:
    """Begin an episode, answer its decision, or resume it; run to the next decision.

    One place calls `answer` and one `advance`, since they are compiled into it whole.
    """
    ep = x.ep
    phase = _first_phase(w, x, what, given)
    while True:
        if phase == _CHOSEN:
            if not has_room_for(x, ep.slice):
                ep.full, ep.short = _CHOSEN, _SLICE
                return
            phase = FITTED
        if phase == FITTED:
            begin_episode(w, x, ep.slice)
            phase = _BEGINNING
        running = phase in (_STEPPING, _BEGINNING)
        if phase == _ANSWER:
            if not has_room(w, x):
                ep.full = _ANSWER
                return
            running = not answer(w, x, given)
            phase = _STEPPING
        if running:
            advance(w, x)
            if ep.full != 0:
                ep.full = phase
                return
        if phase in (_BEGINNING, BEGUN):
            ep.since = ep.now
            return
        out.reward[e] = _charge_step(w, x, out.terms[e])
        out.elapsed[e] = ep.now - ep.since
        out.terminated[e] = ep.done
        ep.since = ep.now
        if ep.done:
            out.final[e] = ep
            write_unit_costs(w, ep, x.tasks, x.jobs, out.final_unit_costs[e])
        if not (ep.done and again):
            return
        out.final_elapsed[e], out.elapsed[e] = out.elapsed[e], 0
        for k in range(len(TERMS)):
            out.final_terms[e, k], out.terms[e, k] = out.terms[e, k], 0.0
        _choose(w, x, DRAWN)
        phase = _CHOSEN


@entry
def run(
    world: World, s: State, out: Output, begin: int, end: int, what: int, given: Any, again: bool
) -> int:
    """Reset, step or resume the episodes ``begin`` to ``end``; write down what they wait for.

    Args:
        what: `RESET`, `STEP`, `RESUME`: go on with those that were full, with what was given then;
            or `PREPARE`: give all tasks their states, and do nothing else.
        given: the slices [N] to begin (-1: drawn, -2: leave the episode as it is), or the actions
            [N] (-1: begin anew on a drawn slice instead); for `PREPARE` -1 leaves an episode as it
            is.
        again: does an episode that ends begin anew on a drawn slice?

    Returns:
        How many of them are full.
    """
    w, full = held(world), 0
    for e in range(begin, end):
        if what == STEP:
            look_ahead(world, s, e, end)
        if what == RESUME and s.episodes[e].full == 0:
            continue
        if what == PREPARE and given[e] < 0:
            continue
        x = held(view_of(s, e))
        if what == PREPARE:
            prepare(w, x, x.ep.tasks - 1)
            continue
        one = RESET if what == STEP and given[e] == DRAWN else what
        if one == RESET:
            out.reward[e], out.terminated[e], out.elapsed[e] = 0.0, False, 0
            out.terms[e, :] = 0.0
        if one != RESET or given[e] >= DRAWN:
            _run_one(w, x, out, e, one, given[e], again)
        if x.ep.full == 0:
            _show(w, x, e, out)
        else:
            full += 1
    return full
