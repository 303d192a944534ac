"""The engine of the pinned world: run to the next decision, carry one out, write it down.

No machines and no capacity: tasks are independent of each other. The scheduled world, with
machines, queues and lineage, is another entry point over the same attempts, checkpoints and
accounts.
"""

from __future__ import annotations

from typing import Any

from failgym.sim.pinned.accounts import costs
from failgym.sim.pinned.ahead import look_ahead
from failgym.sim.pinned.attempts import (
    begin,
    end_attempt,
    own_ending,
    own_outcome,
    windows_matter,
)
from failgym.sim.pinned.checkpoints import make_durable
from failgym.sim.pinned.decisions import apply, ask
from failgym.sim.pinned.observe import observe
from failgym.sim.pinned.records import State, View, World
from failgym.sim.pinned.risks import risk_of
from failgym.sim.pinned.settlement import (
    execute_kill,
    kill_all,
    owe_after_external,
    owe_after_failure,
    restart,
    settle,
    settle_if_over,
    succeed,
)
from failgym.sim.shared.beyond import after_own
from failgym.sim.shared.draws import ANSWERED, DRAWN, RESET, STEP, draw_slice
from failgym.sim.shared.events import kind_of, note, pop, push, sort_key
from failgym.sim.shared.fields import AT
from failgym.sim.shared.jit import entry, held, kernel
from failgym.sim.shared.legal import ONLY_CONTINUE, legal_window, window_index
from failgym.sim.shared.records import Output
from failgym.sim.shared.windows import next_window, window_until
from failgym.vocabulary import NEVER, TERMS, Decision, Ending, Event, Outcome

__all__ = ["advance", "run", "start_episode"]

_END, _DURABLE, _RESTORED = int(Event.END), int(Event.DURABLE), int(Event.RESTORED)
_GRACE, _USER_KILL, _START = int(Event.GRACE), int(Event.USER_KILL), int(Event.START)
_WINDOW_EVENT = int(Event.WINDOW)
_WINDOW, _FAILED = int(Decision.WINDOW), int(Decision.FAILED)
_EXTERNAL, _INTRINSIC = int(Ending.EXTERNAL), int(Ending.INTRINSIC)
_FINISH, _KILL = int(Outcome.FINISH), int(Outcome.KILL)
_ALARM = 2
RECORDED, PENDING = -3, -4
"""What a START or END carries in place of a run: a recorded start; the end of a row that never
ran."""


@kernel
def _clear(task: Any, row: int) -> None:
    """Put a task state at its beginning."""
    task.task = row
    task.next, task.live, task.first_run, task.last_run, task.ended = 0, 0, -1, -1, -1
    task.departed, task.settled, task.given_up = False, False, False
    task.armed, task.killed, task.pending = False, False, False
    task.last_outcome, task.outcome, task.end = -1, -1, -1
    task.ghosts, task.extra, task.clones, task.retries = 0, 0, 0, 0
    task.checkpoints, task.failures, task.attempts, task.decisions = 0, 0, 0, 0
    task.owed_external, task.owed_failure, task.stamp = 0, 0, 0
    task.declined, task.own_failures, task.drawn_failures = False, 0, 0
    task.flagged, task.durable, task.durable_work = 0.0, 0.0, 0
    task.best_run, task.best_amount = -1, 0
    task.useful, task.lost, task.redundant, task.ghost = 0, 0, 0, 0
    task.checkpoint, task.restore, task.unknown = 0, 0, 0
    for kind in range(3):
        task.saved[kind] = 0


@kernel
def _expect_start(w: World, x: View, local: int, task: Any) -> None:
    """Put the next recorded start of an untouched task on the calendar."""
    record = w.tasks[task.task]
    if task.next < record.rows:
        row = w.rows[record.rows_at + task.next]
        key = sort_key(_START, task.task, row.number)
        push(x, row.start, key, local, RECORDED, 0)


@kernel
def _open(w: World, x: View, local: int) -> None:
    """Put on the calendar what the record says of a task."""
    task = x.tasks[local]
    record = w.tasks[task.task]
    _expect_start(w, x, local, task)
    if record.kill_at != NEVER:
        push(x, record.kill_at, sort_key(_USER_KILL, task.task, 0), local, -1, 0)
    if record.pending_end >= 0:
        task.pending = True
        if record.pending_end != record.kill_at:
            key = sort_key(_END, task.task, record.pending_number)
            push(x, record.pending_end, key, local, PENDING, 0)


@kernel
def _serve_next(w: World, x: View) -> bool:
    """Turn to the next task of a slice that is served task by task; False if there is none."""
    ep = x.ep
    if ep.merged:
        return False
    ep.cursor += 1
    if ep.cursor >= ep.tasks:
        return False
    submit = w.tasks[x.tasks[ep.cursor].task].submit
    ep.now, ep.runs = submit, 0
    ep.waiting, ep.waiting_submit = 1, submit
    _open(w, x, ep.cursor)
    return True


@kernel
def start_episode(w: World, x: View, chosen: Any) -> None:
    """Begin an episode over the tasks ``chosen`` (trace rows, in order of submission)."""
    ep = x.ep
    n = len(chosen)
    ep.tasks, ep.done, ep.cursor = n, False, -1
    ep.events, ep.runs, ep.logged = 0, 0, 0
    ep.decision, ep.local, ep.run, ep.mask, ep.taken, ep.retried = -1, -1, -1, 0, 0, False
    ep.decisions, ep.illegal = 0, 0
    ep.arrived, ep.waiting, ep.waiting_submit, ep.completed = 0, 0, 0, 0
    ep.useful, ep.lost, ep.redundant, ep.ghost = 0, 0, 0, 0
    ep.checkpoint, ep.restore = 0, 0
    ep.forfeited_work, ep.forfeited_time, ep.forfeited = 0, 0, 0
    for k in range(len(TERMS)):
        ep.cost[k] = 0.0
    ep.now = w.tasks[chosen[0]].submit if n > 0 else 0
    for local in range(n):
        _clear(x.tasks[local], chosen[local])
    if ep.merged:
        for local in range(n):
            _open(w, x, local)


@kernel
def _end(w: World, x: View, local: int, i: int) -> bool:
    """An attempt's own end; True if a FAILED decision is asked."""
    task, run = x.tasks[local], x.runs[i]
    ending, outcome = own_ending(run), own_outcome(w, run)
    end_attempt(w, x, task, i, outcome)
    if task.settled:
        return False
    if outcome == _FINISH:
        succeed(w, x, task, i)
        return False
    if run.by_cluster and w.parameters[0].continued:
        after_own(w, task, run, ending)
    if ending == _INTRINSIC:
        task.failures += 1
        if not w.tasks[task.task].censored and ask(w, x, task, local, i, _FAILED):
            return True
        owe_after_failure(w, x, task, local, i)
    elif ending == _EXTERNAL:
        owe_after_external(w, x, task, local, i)
    settle_if_over(w, x, task)
    return False


@kernel
def _user_kill(w: World, x: View, local: int) -> None:
    """The user's final kill ends all that is alive."""
    task = x.tasks[local]
    if task.settled and task.live == 0:
        return
    note(x, _USER_KILL, task.task, -1, 0)
    kill_all(w, x, task, _KILL)
    if not task.settled:
        settle(w, x, task, _KILL, -1)


@kernel
def _recorded_start(w: World, x: View, task: Any, local: int) -> None:
    """An attempt starts as recorded, unless the task has left the record."""
    if task.departed or task.killed:
        return
    task.next += 1
    begin(w, x, task, local, False, True)
    _expect_start(w, x, local, task)


@kernel
def _window_after(w: World, ep: Any, task: Any, run: Any) -> int:
    """Index of the window that is called after this one.

    While a checkpoint or a restore runs nothing may be legal but to continue. Then the windows up
    to its end would all pass unasked, and are not called, but for the last of them.
    """
    until = max(run.restored, run.pause_until)
    if ep.now < until and legal_window(w, task, run, ep.now) == ONLY_CONTINUE:
        return window_until(w, run, until)
    return next_window(w, run.window)


@kernel
def _window(w: World, x: View, task: Any, key: int, local: int, i: int) -> bool:
    """A decision window of an attempt; True if a WINDOW decision is asked."""
    run = x.runs[i]
    if not run.alive or not windows_matter(w, task):
        return False
    run.window = _window_after(w, x.ep, task, run)
    p = w.parameters[0]
    push(x, run.start + run.window * p.window, key, local, i, 0)
    if p.spacing == _ALARM and risk_of(w, task, run, window_index(w, run, x.ep.now)) < p.alarm:
        return False
    return ask(w, x, task, local, i, _WINDOW)


@kernel
def _happen(w: World, x: View) -> bool:
    """Let the first event of the calendar happen; True if a decision is asked."""
    ep = x.ep
    time, key, local, i, stamp = pop(x)
    ep.now = max(ep.now, time)
    task, kind = x.tasks[local], kind_of(key)
    if kind == _WINDOW_EVENT:
        return _window(w, x, task, key, local, i)
    if kind == _END:
        if i == PENDING:
            if not task.departed:
                settle_if_over(w, x, task)
        elif x.runs[i].alive and x.runs[i].end == ep.now:
            return _end(w, x, local, i)
        elif x.runs[i].alive and x.runs[i].end != NEVER:
            push(x, x.runs[i].end, key, local, i, 0)
    elif kind == _START:
        if i == RECORDED:
            _recorded_start(w, x, task, local)
        elif task.stamp == stamp and not task.settled:
            restart(w, x, task, local, i)
    elif kind == _DURABLE:
        if x.runs[i].alive:
            make_durable(w, x, task, i)
    elif kind == _RESTORED:
        if x.runs[i].alive:
            note(x, _RESTORED, task.task, x.runs[i].number, 0)
    elif kind == _GRACE:
        if not task.settled:
            execute_kill(w, x, task)
    elif kind == _USER_KILL and not task.killed:
        _user_kill(w, x, local)
    return False


@kernel
def advance(w: World, x: View) -> bool:
    """Run to the next decision; False at the end of the episode."""
    ep = x.ep
    while True:
        if ep.events == 0:
            if not _serve_next(w, x):
                ep.done = True
                ep.mask = 0
                return False
            continue
        if _happen(w, x):
            return True
        if not ep.merged:
            task = x.tasks[ep.cursor]
            if task.settled and (task.departed or task.killed):
                ep.events = 0


@kernel
def _charge_step(w: World, x: View, terms: Any) -> float:
    """Write the terms of the reward since the last decision; return their sum."""
    now = costs(w, x)
    total = 0.0
    for k in range(len(TERMS)):
        terms[k] = x.ep.cost[k] - now[k]
        x.ep.cost[k] = now[k]
        total += terms[k]
    return total


@kernel
def _begin(w: World, x: View, chosen: int) -> None:
    """Begin an episode on a slice, or on one drawn by its key (``chosen`` -1)."""
    ep = x.ep
    if chosen < 0:
        chosen = draw_slice(ep.key, ep.count, len(w.slices) - 1)
        ep.count += 1
    ep.slice = chosen
    start_episode(w, x, w.order[w.slices[chosen] : w.slices[chosen + 1]])


@kernel
def _show(w: World, x: View, e: int, out: Output) -> None:
    """Write down what an episode waits for; after its end all is zero and CONTINUE legal."""
    ep = x.ep
    out.slice[e], out.illegal[e] = ep.slice, ep.illegal
    if ep.done:
        out.obs[e, :] = 0.0
        out.obs[e, AT.may_continue] = 1.0
        out.mask[e, :] = 0
        out.mask[e, 0] = 1
        out.task[e] = -1
        return
    observe(w, x, out.obs[e], out.mask[e])
    out.task[e] = x.tasks[ep.local].task


@kernel
def _run_one(w: World, x: View, out: Output, e: int, chosen: int, action: int, again: bool) -> None:
    """Begin an episode on slice ``chosen``, or (-2) answer its decision; run to the next one.

    One place calls `apply` and one `advance`, since they are compiled into it whole.
    """
    ep = x.ep
    stepping = chosen < DRAWN
    while True:
        before, local, running = ep.now, ep.local, not ep.done
        if chosen >= DRAWN:
            _begin(w, x, chosen)
            running = True
        elif running:
            running = not apply(w, x, action)
        if running:
            advance(w, x)
        if not stepping:
            return
        out.reward[e] = _charge_step(w, x, out.terms[e])
        out.elapsed[e] = ep.now - before if ep.merged or ep.local == local else 0
        out.terminated[e] = ep.done
        if ep.done:
            out.final[e] = ep
        if not (ep.done and again):
            return
        out.final_elapsed[e], out.elapsed[e] = out.elapsed[e], 0
        for k in range(len(TERMS)):
            out.final_terms[e, k], out.terms[e, k] = out.terms[e, k], 0.0
        stepping, chosen = False, DRAWN


@entry
def run(
    world: World, s: State, out: Output, begin: int, end: int, what: int, given: Any, again: bool
) -> int:
    """Reset or step the episodes ``begin`` to ``end``, and write down what they wait for.

    Args:
        what: `RESET` or `STEP`.
        given: the slices [N] to begin (-1: drawn, -2: leave the episode as it is), or the actions
            [N] (-1: begin anew on a drawn slice instead).
        again: does an episode that ends begin anew on a drawn slice?

    Returns:
        0: no episode ever needs more room.
    """
    w = held(world)
    for e in range(begin, end):
        if what == STEP:
            look_ahead(world, s, e, end)
        x = held(View(s.episodes[e], s.tasks[e], s.runs[e], s.heap[e], s.log[e]))
        begins = what == RESET or given[e] == DRAWN
        if begins:
            out.reward[e], out.terminated[e], out.elapsed[e] = 0.0, False, 0
            out.terms[e, :] = 0.0
        if what == STEP or given[e] >= DRAWN:
            _run_one(w, x, out, e, given[e] if begins else ANSWERED, given[e], again)
        _show(w, x, e, out)
    return 0
