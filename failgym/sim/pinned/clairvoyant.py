"""The least that a task of a pinned world can cost, for somebody who knows the record.

Tasks of a pinned world are independent of each other, so the bound of any set of tasks is the sum
of the bounds of its tasks. The bound of a task is found by a depth-first search over its decisions,
on the engine's own kernels: at a decision the state is copied, every action but CONTINUE is tried,
and then CONTINUE in place, so that only the other actions of the present plan need a copy. The
cost terms never decrease as time goes on, so a plan that is sure to cost as much as the best one so
far is dropped half-way.

Without further argument that search is exact for all rules. Some arguments make it short; each
holds as its docstring says, and is tested against brute force over all action sequences. Where the
record is continued, what is behind it meets fates of its own, and more saved work may be worse
(rule C6): there only those hold that do not speak of what comes next, as `_next_stage` says.

- `_finishes_at_once`: a record that is one successful attempt is best left alone, or killed;
- `_least_cost`, `_unsaved_at_end`, `_cost_of_failure`: what is sure to be charged is counted now;
- `_worth_saving`: attempts that follow each other are saved once each at most, as late as it helps;
- `_next_stage`: a task worth killing is worth killing at its first decision, at once; and where it
  is not certain which checkpoint is best, how often an attempt is saved matters, but not when.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.sim.pinned.accounts import costs
from failgym.sim.pinned.attempts import own_outcome
from failgym.sim.pinned.decisions import apply
from failgym.sim.pinned.engine import advance, start_episode
from failgym.sim.pinned.records import State, View, World
from failgym.sim.pinned.state import make_state
from failgym.sim.shared.accounts import work_of
from failgym.sim.shared.jit import entry, kernel
from failgym.sim.shared.rules import Rules
from failgym.vocabulary import NEVER, TERMS, Action, Decision, Ending, Outcome

__all__ = ["SEARCH_LIMIT", "Bound", "clairvoyant", "clairvoyant_costs"]

SEARCH_LIMIT = 2_000_000
"""Decisions that the search for the bound of one task may answer, about a second's worth."""

_CONTINUE, _CHECKPOINT, _KILL = int(Action.CONTINUE), int(Action.CHECKPOINT), int(Action.KILL)
_WINDOW = int(Decision.WINDOW)
_FINISH, _INTRINSIC = int(Ending.FINISH), int(Ending.INTRINSIC)
_EXTERNAL, _CENSORED = int(Ending.EXTERNAL), int(Ending.CENSORED)
_FINISHED = int(Outcome.FINISH)
_EVERY, _ALARM = 0, 2
_REPLAY, _KILL_AT_ONCE, _WORTHY, _SEQUENCE, _ALL, _OVER = 0, 1, 2, 3, 4, 5
"""Stages of the search for a plan: see `_next_stage`."""
_NEARLY = 1.0 - 1e-12
"""A plan that is better by no more than rounding errors is no better."""
_ANY = 0xFF & ~(1 << _CONTINUE)
"""All actions but CONTINUE, a bit each."""

CHOICE = np.dtype(
    [
        ("at", "i8"),  # which of the task's answers it is, counted from 0
        ("action", "i1"),
        ("untried", "u1"),  # actions that remain to be tried there, a bit each
        ("skipped", "i4"),  # attempt that was last left unsaved at a window before, see `_saved`
        ("saved", "i4"),
    ],
    align=True,
)
"""An action of a plan other than CONTINUE."""
FOUND = np.dtype(
    [
        ("cost", "f8"),
        ("terms", "f8", (len(TERMS),)),
        ("decisions", "i8"),  # answers of the plan, CONTINUE included
        ("choices", "i8"),  # of them, other than CONTINUE
        ("nodes", "i8"),  # decisions answered in the search
        ("exact", "?"),
    ],
    align=True,
)
"""The best plan of a task so far."""


@dataclass(frozen=True)
class Bound:
    """The cheapest plans of some tasks."""

    costs: npt.NDArray[np.float64]
    """[tasks, 5] cost of each task under its plan, in the order of `TERMS`; weighted, each at least
    0"""
    exact: npt.NDArray[np.bool_]
    """[tasks] was the search completed? Else the plan is the best one found within the limit."""
    decisions: npt.NDArray[np.int64]
    """[tasks] answers of each plan"""
    choices: npt.NDArray[np.int64]
    """[tasks] answers other than CONTINUE"""
    searched: npt.NDArray[np.int64]
    """[tasks] decisions answered in the search"""
    plans: npt.NDArray[Any]
    """CHOICE [tasks, most choices]"""

    def actions(self, i: int) -> list[int]:
        """The plan of task number ``i`` of those asked for: an action per decision, in order."""
        plan = [_CONTINUE] * int(self.decisions[i])
        for choice in self.plans[i, : self.choices[i]]:
            plan[int(choice["at"])] = int(choice["action"])
        return plan


@kernel
def _copy(s: State, source: int, to: int) -> None:
    """Copy one state over another, as far as it is in use."""
    ep = s.episodes[source]
    s.episodes[to] = ep
    s.tasks[to, 0] = s.tasks[source, 0]
    for i in range(ep.runs):
        s.runs[to, i] = s.runs[source, i]
    for i in range(ep.events):
        s.heap[to, i] = s.heap[source, i]


@kernel
def _keep_if_better(
    w: World, s: State, path: Any, depth: int, answered: int, found: Any, plan: Any
) -> None:
    """Keep the plan that has just been played to its end, if it is the best so far."""
    terms = costs(w, View(s.episodes[0], s.tasks[0], s.runs[0], s.heap[0], s.log[0]))
    total = terms[0] + terms[1] + terms[2] + terms[3] + terms[4]
    if total < found.cost:
        found.cost, found.decisions, found.choices = total, answered, depth
        for k in range(len(TERMS)):
            found.terms[k] = terms[k]
        for k in range(depth):
            plan[k] = path[k]


@kernel
def _least_cost(w: World, s: State, stage: int, saved: int) -> float:
    """A lower bound of what the task will have cost, at an open decision.

    All that has been charged, and of the attempts that are alive: their pauses and restores so far;
    and, where nothing can be saved, the work so far of those that will not finish, and of those
    that will, all but the longest. Attempts that the data cut are never charged for their work.
    """
    p, ep, task, runs = w.parameters[0], s.episodes[0], s.tasks[0, 0], s.runs[0]
    terms = costs(w, View(s.episodes[0], s.tasks[0], s.runs[0], s.heap[0], s.log[0]))
    overhead, wasted, longest = 0, 0, 0
    i = task.first_run
    while i >= 0:
        run = runs[i]
        if run.alive:
            work = work_of(run, ep.now)
            row: Any = w.rows[run.row]
            overhead += ep.now - run.start - work
            if not p.checkpoint and row.ending != _CENSORED:
                wasted += work
                if own_outcome(w, run) == _FINISHED:
                    longest = max(longest, work)
        i = run.next
    record: Any = w.tasks[task.task]
    width = record.width
    charged = terms[0] + terms[1] + terms[2] + terms[3] + terms[4]
    if stage != _WORTHY and stage != _SEQUENCE:
        return charged + width * (p.overhead * overhead + p.wasted * (wasted - longest))
    run = runs[ep.run]
    ahead = p.overhead * overhead
    if saved == ep.run:
        ahead += p.wasted * _unsaved_at_end(w, task, run)
    return charged + max(width * ahead, _cost_of_failure(w, ep, task, run))


@kernel
def _ends_at(w: World, task: Any, run: Any) -> int:
    """When an attempt that will not finish ends; -1 if it will finish, or the user may kill it."""
    record: Any = w.tasks[task.task]
    if record.kill_at != NEVER or own_outcome(w, run) == _FINISHED:
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
def _cost_of_failure(w: World, ep: Any, task: Any, run: Any) -> float:
    """In a sequence: a lower bound of what is not yet charged, if no attempt can finish; else 0.

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
        if row.length == 0 or not (intrinsic or row.ending == _EXTERNAL):
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


@kernel
def _on_grid(w: World, record: Any) -> bool:
    """Do the windows of all attempts keep their place relative to the work done, whatever is saved?

    That is so if the attempts share one true length, every window is a decision, and checkpoint and
    restore cost are multiples of their spacing.
    """
    p = w.parameters[0]
    spacing = p.window * p.every
    if p.spacing != _EVERY or p.checkpoint_cost % spacing != 0 or p.restore_cost % spacing != 0:
        return False
    first: Any = w.rows[record.rows_at]
    length = first.length
    for i in range(record.rows_at, record.rows_at + record.rows):
        if w.rows[i].length != length or length == 0:
            return False
    return True


@kernel
def _is_sequence(w: World, record: Any) -> bool:
    """Do the attempts of a task follow each other, with nothing to decide but when to save them?

    That is: only checkpoints (and kills) may be decided, at ages that are known beforehand;
    overhead is priced no lower than wasted work; the attempts do not overlap, none was cut by the
    end of the data, a FINISH comes last, and there is no row that never started.
    """
    p = w.parameters[0]
    if p.clone or p.give_up or p.retry or p.spacing == _ALARM or p.overhead < p.wasted:
        return False
    if record.pending_end >= 0 or record.rows == 0:
        return False
    last = record.rows_at + record.rows - 1
    for i in range(record.rows_at, last + 1):
        row = w.rows[i]
        if row.ending == _CENSORED:
            return False
        if i < last and (row.ending == _FINISH or row.start + row.duration > w.rows[i + 1].start):
            return False
    return True


@kernel
def _is_regular(w: World, record: Any) -> bool:
    """May `_worth_saving` be relied on in a sequence?

    So it is if no attempt fails at a point of its progress, if all windows lie on a grid, and if
    there is but one attempt.
    """
    if record.rows == 1:
        return True
    for i in range(record.rows_at, record.rows_at + record.rows):
        if w.rows[i].ending == _INTRINSIC:
            return _on_grid(w, record)
    return True


@kernel
def _worth_saving(w: World, s: State) -> bool:
    """In a regular sequence: is this window one of the two at which a checkpoint may be worth it?

    Write D for the work held by the task's checkpoint.

    - An attempt that will finish is best left alone: a checkpoint delays it, and nothing comes
      after. The same holds for the only attempt of a task: to leave the record saves nothing.
    - Of the others only the last checkpoint that becomes durable counts for what follows. Take a
      plan that saves an attempt at some windows, and one that saves it only at the last window that
      can become durable before the end. Both pay the restore from then on. The second holds at
      least as much work, paid no more pauses and lost no more, and the task comes out of the
      attempt no later. More work held is never worse: an attempt with an outer end passes alike, or
      finishes; one that fails at a point of its progress fails sooner. What that could spoil is the
      place of the last window before the failure. On a grid neither pauses nor restores do: D is
      larger by a multiple m of the spacing, so where the first plan saves at work x, the second
      saves at x - m, if that is positive, and both hold the same; else the second holds enough
      already. Whatever comes earlier, before a user's kill, is made up for by as much work that was
      not done before.
    - A checkpoint that does not become durable only makes the task leave the record, after which
      the cluster restarts it `restart_limit` times at most. Its cheapest form is the last window of
      an attempt with an outer end.
    """
    ep, task = s.episodes[0], s.tasks[0, 0]
    run = s.runs[0, ep.run]
    p = w.parameters[0]
    row: Any = w.rows[run.row]
    record: Any = w.tasks[task.task]
    if record.rows == 1:
        return False
    following = run.start + run.window * p.window
    if row.ending == _INTRINSIC:
        return following >= run.fin
    if row.ending != _EXTERNAL or run.fin < run.ext:
        return False
    if ep.now + p.checkpoint_cost < run.ext:
        return following + p.checkpoint_cost >= run.ext
    return not task.departed and following >= run.ext


@kernel
def _last_chance(w: World, s: State) -> bool:
    """Is this the last window of an attempt that fails at which a checkpoint becomes durable?"""
    run: Any = s.runs[0, s.episodes[0].run]
    p = w.parameters[0]
    if own_outcome(w, run) == _FINISHED:
        return False
    following = run.start + run.window * p.window
    durable = s.episodes[0].now + p.checkpoint_cost < run.end
    return durable and following + p.checkpoint_cost >= run.end


@kernel
def _worth_trying(w: World, s: State, kill: bool, stage: int, saved: int) -> int:
    """Actions other than CONTINUE to try at the open decision, a bit each."""
    ep = s.episodes[0]
    if stage == _REPLAY:
        return 0
    if stage == _KILL_AT_ONCE:
        return 1 << _KILL
    wanted = ep.mask & _ANY
    if ep.decision == _WINDOW:
        if not kill:
            wanted &= _ANY & ~(1 << _KILL)
        if stage == _WORTHY:
            worth = _last_chance(w, s) if w.parameters[0].continued else _worth_saving(w, s)
            if not worth:
                wanted &= _ANY & ~(1 << _CHECKPOINT)
        if stage == _SEQUENCE and saved == ep.run:
            wanted &= _ANY & ~(1 << _CHECKPOINT)
    return wanted


@kernel
def _first_of(actions: int) -> int:
    """The highest action of a set."""
    action = 7
    while not (actions >> action) & 1:
        action -= 1
    return action


@kernel
def _search(
    w: World,
    s: State,
    path: Any,
    found: Any,
    plan: Any,
    j: int,
    kill: bool,
    stage: int,
    limit: int,
) -> bool:
    """Search the plans of task number ``j`` of World.order; False if not all were searched.

    Args:
        path: CHOICE [depth], room for the present plan; state i + 1 is the one in which choice i is
            made.
        kill: try kills at WINDOW decisions.
        stage: which plans to search.
        limit: decisions to answer before giving up.
    """
    x = View(s.episodes[0], s.tasks[0], s.runs[0], s.heap[0], s.log[0])
    ep = x.ep
    start_episode(w, x, w.order[j : j + 1])
    depth, answered, begun, complete = 0, 0, False, True
    action, skipped, saved = np.int64(_CONTINUE), np.int64(-1), np.int64(-1)
    while True:
        if not begun or not apply(w, x, action):
            advance(w, x)
        begun = True
        if not ep.done and _least_cost(w, s, stage, saved) < found.cost * _NEARLY:
            if stage == _KILL_AT_ONCE and ep.decision != _WINDOW:
                return False
            found.nodes += 1
            if found.nodes > limit and stage >= _WORTHY:
                return False
            wanted = _worth_trying(w, s, kill, stage, saved)
            if wanted != 0 and depth == len(path):
                complete, wanted = False, 0
            if wanted == 0:
                action = np.int64(_CONTINUE)
                answered += 1
                continue
            path[depth].at, path[depth].untried = answered, wanted
            path[depth].skipped, path[depth].saved = skipped, saved
            depth += 1
            _copy(s, 0, depth)
        else:
            if ep.done:
                _keep_if_better(w, s, path, depth, answered, found, plan)
            if depth == 0 or stage == _KILL_AT_ONCE:
                return complete
            _copy(s, depth, 0)
        choice = path[depth - 1]
        skipped, saved = np.int64(choice.skipped), np.int64(choice.saved)
        if choice.untried != 0:
            action = np.int64(_first_of(choice.untried))
            choice.action = action
            choice.untried &= _ANY & ~(1 << action)
            if action == _CHECKPOINT and skipped == ep.run:
                saved = np.int64(ep.run)
        else:
            depth -= 1
            action, skipped = np.int64(_CONTINUE), np.int64(ep.run)
        answered = choice.at + 1


@kernel
def _cut(w: World, record: Any) -> bool:
    """Was an attempt of the task cut by the end of the data?"""
    for i in range(record.rows_at, record.rows_at + record.rows):
        if w.rows[i].ending == _CENSORED:
            return True
    return False


@kernel
def _finishes_at_once(w: World, record: Any) -> bool:
    """Is the record one attempt, which FINISHes?

    Left alone it wastes nothing, and no plan finishes sooner: ghosts are copies that start later.
    """
    if record.rows != 1:
        return False
    row: Any = w.rows[record.rows_at]
    return row.ending == _FINISH


@kernel
def _next_stage(w: World, record: Any, stage: int, kill: bool) -> int:
    """What is left to search for a task after a stage; ``kill``: are kills not settled yet?

    - `_REPLAY`: the plan that leaves the task alone.
    - `_KILL_AT_ONCE`: the one that kills it at its first decision, without waiting for the grace
      period. No other plan that kills is cheaper: all that a task has done when it is killed is
      charged, and so is the time until then; both only grow. Arming a kill, in itself, changes
      nothing. Two exceptions: an attempt that the data cut is charged only if killed, and a failure
      may have to be answered before a kill can be decided.
    - `_WORTHY`: those with checkpoints that are `_worth_saving`: all that matter in a regular
      sequence, elsewhere the ones to start from.
    - `_SEQUENCE`: in a sequence, those that differ. Of the checkpoints of one attempt all but the
      last durable one only take time. How many there are may matter, when they are made does not:
      they are made as early as possible, one after the other. So an attempt left unsaved at a
      window is saved once more at most.
    - `_ALL`: all.

    Where the record is continued a copy may be quicker than the original, an attempt beyond the
    record may finish, and no sequence is regular. Kills at once, and sequences, are as they are:
    neither argument speaks of what an attempt meets.
    """
    p = w.parameters[0]
    if stage == _REPLAY and p.kill and not _cut(w, record):
        return _KILL_AT_ONCE
    if stage in (_REPLAY, _KILL_AT_ONCE):
        alone = not (p.clone or p.checkpoint or p.retry or p.give_up)
        alone = alone or (not p.continued and _finishes_at_once(w, record))
        if alone and not kill:
            return _OVER
        return _WORTHY if p.checkpoint else _ALL
    if stage == _WORTHY:
        if not _is_sequence(w, record):
            return _ALL
        return _OVER if not p.continued and _is_regular(w, record) else _SEQUENCE
    return _OVER


@entry
def _bounds(w: World, s: State, path: Any, found: Any, plans: Any, limit: int) -> None:
    """The cheapest plan of every task of World.order."""
    for j in range(len(w.order)):
        best, kill, stage = found[j], w.parameters[0].kill, np.int64(_REPLAY)
        best.cost = np.inf
        while stage != _OVER:
            best.nodes = 0
            best.exact = _search(w, s, path, best, plans[j], j, kill, stage, limit)
            if stage == _KILL_AT_ONCE:
                kill = not best.exact
                best.exact = True
            stage = _next_stage(w, w.tasks[w.order[j]], stage, kill)


def clairvoyant(
    world: World, rules: Rules, tasks: npt.NDArray[np.int64], limit: int = SEARCH_LIMIT
) -> Bound:
    """Find the cheapest plan of each task, knowing the record.

    Args:
        world: a compiled world; its parameters say what may be decided and what is charged.
        rules: the rules that it was compiled for.
        tasks: trace rows of tasks of known fate [tasks].
        limit: decisions that the search for the plan of one task may answer.

    Raises:
        ValueError: if the fate of a task is not known.
    """
    tasks = np.asarray(tasks, dtype=np.int64)
    if world.tasks["censored"][tasks].any():
        raise ValueError("tasks: expected tasks of known fate, got one cut by the end of the data")
    n = len(tasks)
    single = world._replace(order=tasks, slices=np.arange(n + 1, dtype=np.int64))
    longest = int(world.tasks["rows"][tasks].max(initial=1))
    depth = 2 * (longest + rules.max_extra + rules.most_unrecorded) + 32
    state = make_state(single, rules, depth + 1, "task")
    path, plans = np.zeros(depth, dtype=CHOICE), np.zeros((n, depth), dtype=CHOICE)
    found = np.zeros(n, dtype=FOUND)
    _bounds(single, state, path, found, plans, limit)
    return Bound(
        costs=found["terms"].copy(),
        exact=found["exact"].copy(),
        decisions=found["decisions"].copy(),
        choices=found["choices"].copy(),
        searched=found["nodes"].copy(),
        plans=plans[:, : int(found["choices"].max(initial=0))].copy(),
    )


def clairvoyant_costs(
    world: World, rules: Rules, tasks: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """Cost terms of each task under its cheapest plan, [tasks, 5]: `Bound.costs`."""
    return clairvoyant(world, rules, tasks).costs
