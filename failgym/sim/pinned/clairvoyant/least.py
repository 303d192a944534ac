"""What is sure to be charged for a task, at an open decision."""

from __future__ import annotations

from typing import Any

from failgym.sim.pinned.accounts import costs
from failgym.sim.pinned.attempts import own_ending, own_outcome
from failgym.sim.pinned.clairvoyant.failing import cost_of_failure
from failgym.sim.pinned.clairvoyant.records import SEQUENCE, WORTHY
from failgym.sim.pinned.records import State, View, World
from failgym.sim.shared.accounts import work_of
from failgym.sim.shared.jit import held, kernel
from failgym.vocabulary import NEVER, Decision, Ending, Outcome

__all__ = ["least_cost"]

_INTRINSIC, _EXTERNAL = int(Ending.INTRINSIC), int(Ending.EXTERNAL)
_FINISHED, _CUT = int(Outcome.FINISH), int(Outcome.CENSORED)
_WINDOW = int(Decision.WINDOW)


@kernel
def least_cost(w: World, s: State, stage: int, saved: int, anew: bool) -> float:
    """A lower bound of what the task will have cost, at an open decision.

    All that has been charged, and of the attempts that are alive: their pauses and restores so far,
    and of their work what is sure to be lost (`_work_lost`).

    It holds for the plans that are searched in a stage. The one that leaves the task alone was
    searched before, and so was the one that kills it at once, if no other is to be tried.

    Args:
        w: the world.
        s: state 0 is that of the decision.
        stage: which plans are searched.
        saved: an attempt that is not saved again, see `stages.next_stage`.
        anew: count `cost_of_failure` too? It changes little between the decisions of an attempt:
            for the first of it, and after an action.
    """
    p, ep, task, runs = w.parameters[0], s.episodes[0], s.tasks[0, 0], s.runs[0]
    terms = costs(w, View(s.episodes[0], s.tasks[0], s.runs[0], s.heap[0], s.log[0]))
    overhead = 0
    i = task.first_run
    while i >= 0:
        run = runs[i]
        if run.alive:
            overhead += ep.now - run.start - work_of(run, ep.now)
        i = run.next
    record: Any = w.tasks[task.task]
    width = record.width
    charged = terms[0] + terms[1] + terms[2] + terms[3] + terms[4]
    run = runs[ep.run]
    least = 0.0
    if anew and stage >= WORTHY:
        least = cost_of_failure(held(w), ep, task, run)
    if stage != WORTHY and stage != SEQUENCE:
        lost = p.overhead * overhead + _work_lost(w, s)
        return charged + max(width * lost, least)
    ahead = p.overhead * overhead
    if saved == ep.run:
        ahead += p.wasted * _unsaved_at_end(w, task, run)
    return charged + max(width * ahead, _cost_if_repeated(w, ep, task, run), least)


@kernel
def _work_lost(w: World, s: State) -> float:
    """What is sure to be charged for the work of the attempts that are alive, a machine each.

    If one of them finishes the task, all the work of the others is lost but what it resumed from.
    Else what is not saved is lost, or another checkpoint is made. The latter need not be thought of
    where nothing can be saved, or nothing can start before one finishes. An attempt that ends where
    the data cut it is never charged for its work.
    """
    p, ep, task = w.parameters[0], s.episodes[0], s.tasks[0, 0]
    record: Any = w.tasks[task.task]
    work_of_all, most_useful, unsaved = 0, 0, 0.0
    more = ep.decision != _WINDOW or (not task.departed and task.next < record.rows)
    more = more or (p.clone and not task.given_up and task.clones < p.max_clones)
    finishes = False
    i = task.first_run
    while i >= 0:
        run: Any = s.runs[0, i]
        if run.alive and own_outcome(w, run) != _CUT:
            work = work_of(run, ep.now)
            work_of_all += work
            since = work - run.checkpoint_work
            unsaved += min(p.wasted * since, p.overhead * p.checkpoint_cost)
            if own_outcome(w, run) == _FINISHED:
                most_useful = max(most_useful, work + _resumed_from(s, run))
                finishes = finishes or (run.ext == NEVER and record.kill_at == NEVER)
        if run.alive and (own_outcome(w, run) == _CUT or own_ending(run) == _INTRINSIC):
            more = True
        i = run.next
    lost = p.wasted * (work_of_all - most_useful)
    return min(lost, unsaved) if p.checkpoint and (more or not finishes) else lost


@kernel
def _resumed_from(s: State, run: Any) -> int:
    """How much of the work that an attempt resumed from was done by others that are alive [ms]."""
    found, amount, i = 0, run.parent_amount, run.parent
    while i >= 0:
        if s.runs[0, i].alive:
            found += amount
        amount, i = s.runs[0, i].parent_amount, s.runs[0, i].parent
    return found


@kernel
def _ends_at(w: World, task: Any, run: Any) -> int:
    """When an attempt ends whose work will be lost; -1 if it may not be.

    That is: it will finish, the user may kill it, or it ends as the data cut it.
    """
    record: Any = w.tasks[task.task]
    if record.kill_at != NEVER or own_outcome(w, run) in (_FINISHED, _CUT):
        return -1
    return run.end


@kernel
def _unsaved_at_end(w: World, task: Any, run: Any) -> int:
    """Work after the last checkpoint of an attempt not saved again: it will be lost [ms]."""
    end = _ends_at(w, task, run)
    if end < 0:
        return 0
    return max(0, end - max(run.pause_until, run.restored))


@kernel
def _cost_if_repeated(w: World, ep: Any, task: Any, run: Any) -> float:
    """`cost_of_failure` in a sequence where the record is not continued, but repeated.

    Every millisecond of the attempts to come is then charged as work or, at no lower price, as
    overhead, and so is what has been saved. That none can finish is clear if one would not
    that resumed from all the work of those before it.
    """
    p = w.parameters[0]
    record: Any = w.tasks[task.task]
    end = _ends_at(w, task, run)
    if end < 0 or p.continued:
        return 0.0
    row: Any = w.rows[run.row]
    if row.length == 0:
        return 0.0
    busy, certain = end - run.start, row.ending == _EXTERNAL
    fraction = max(task.durable, run.f0 + row.duration / row.length)
    for i in range(record.rows_at + task.next, record.rows_at + record.rows):
        row = w.rows[i]
        intrinsic = row.ending == _INTRINSIC
        if row.length == 0 or row.outcome == _CUT or not (intrinsic or row.ending == _EXTERNAL):
            return 0.0
        if not intrinsic and (1.0 - fraction) * row.length < row.duration + 1.0:
            return 0.0
        fraction += row.duration / row.length
        certain = certain and not intrinsic
        if certain:
            busy += row.duration
    saved = task.saved[0] + task.saved[1] + task.saved[2]
    work = p.wasted * (saved + busy * record.width)
    return work + p.completion * (busy - (ep.now - run.start))
