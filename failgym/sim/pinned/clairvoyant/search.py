"""The depth-first search over the decisions of one task, on the kernels of the engine."""

from __future__ import annotations

from typing import Any

import numpy as np

from failgym.sim.pinned.accounts import costs
from failgym.sim.pinned.clairvoyant.least import least_cost
from failgym.sim.pinned.clairvoyant.records import ANY, KILL_AT_ONCE, NEARLY, OVER, REPLAY, WORTHY
from failgym.sim.pinned.clairvoyant.sequences import follow_each_other
from failgym.sim.pinned.clairvoyant.stages import next_stage, worth_trying
from failgym.sim.pinned.clairvoyant.unfinished import cost_if_unfinished
from failgym.sim.pinned.decisions import apply
from failgym.sim.pinned.engine import advance, start_episode
from failgym.sim.pinned.records import State, View, World
from failgym.sim.shared.jit import entry, held, kernel
from failgym.vocabulary import TERMS, Action, Decision

__all__ = ["search_all"]

_CONTINUE, _CHECKPOINT, _KILL = int(Action.CONTINUE), int(Action.CHECKPOINT), int(Action.KILL)
_WINDOW = int(Decision.WINDOW)


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
    sequence: bool,
    sure: float,
    limit: int,
) -> bool:
    """Search the plans of task number ``j`` of World.order; False if not all were searched.

    What those that were not must cost at least is written down: it is what is sure to be charged at
    the first decision that is still open, or where there was no room for more choices.

    Args:
        path: CHOICE [depth], room for the present plan; state i + 1 is the one in which choice i is
            made.
        kill: try kills at WINDOW decisions.
        stage: which plans to search.
        sequence: do the attempts follow each other, in a continued record?
        sure: what every plan must cost that is searched.
        limit: decisions to answer before giving up.
    """
    x = View(s.episodes[0], s.tasks[0], s.runs[0], s.heap[0], s.log[0])
    ep = x.ep
    start_episode(w, x, w.order[j : j + 1])
    depth, answered, begun, complete = 0, 0, False, True
    action, skipped, saved = np.int64(_CONTINUE), np.int64(-1), np.int64(-1)
    least, met = sure, np.int64(-1)
    found.lowest = np.inf
    while True:
        if not begun or not apply(w, x, action):
            advance(w, x)
        begun = True
        if not ep.done:
            anew = sequence and (action != _CONTINUE or met != ep.run)
            least, met = max(least, least_cost(w, s, stage, saved, anew)), np.int64(ep.run)
        if not ep.done and least < found.cost * NEARLY:
            if stage == KILL_AT_ONCE and ep.decision != _WINDOW:
                return False
            found.nodes += 1
            if found.nodes > limit and stage >= WORTHY:
                found.lowest = min(found.lowest, path[0].least if depth > 0 else least)
                return False
            wanted = worth_trying(w, s, kill, stage, saved)
            if wanted != 0 and depth == len(path):
                complete, wanted = False, 0
                found.lowest = min(found.lowest, least)
            if wanted == 0:
                action = np.int64(_CONTINUE)
                answered += 1
                continue
            path[depth].at, path[depth].untried = answered, wanted
            path[depth].skipped, path[depth].saved = skipped, saved
            path[depth].least = least
            depth += 1
            _copy(s, 0, depth)
        else:
            if ep.done:
                _keep_if_better(w, s, path, depth, answered, found, plan)
            if depth == 0 or stage == KILL_AT_ONCE:
                return complete
            _copy(s, depth, 0)
        choice = path[depth - 1]
        skipped, saved = np.int64(choice.skipped), np.int64(choice.saved)
        least, met = choice.least, np.int64(ep.run)
        if choice.untried != 0:
            action = np.int64(_first_of(choice.untried))
            choice.action = action
            choice.untried &= ANY & ~(1 << action)
            if action == _CHECKPOINT and skipped == ep.run:
                saved = np.int64(ep.run)
        else:
            depth -= 1
            action, skipped = np.int64(_CONTINUE), np.int64(ep.run)
        answered = choice.at + 1


@entry
def search_all(w: World, s: State, path: Any, found: Any, plans: Any, limit: int) -> None:
    """The cheapest plan of every task of World.order."""
    for j in range(len(w.order)):
        best, kill, stage = found[j], w.parameters[0].kill, np.int64(REPLAY)
        sequence = w.parameters[0].continued and follow_each_other(w, w.tasks[w.order[j]])
        best.cost = np.inf
        while stage != OVER:
            best.nodes, sure = 0, 0.0
            if stage >= WORTHY and w.parameters[0].continued:
                sure = cost_if_unfinished(held(w), w.order[j], kill)
            best.exact = _search(w, s, path, best, plans[j], j, kill, stage, sequence, sure, limit)
            if stage == KILL_AT_ONCE:
                kill = not best.exact
                best.exact = True
            stage = next_stage(w, w.tasks[w.order[j]], stage, kill)
        best.exact = best.exact or best.lowest >= best.cost * NEARLY
        if best.exact or best.lowest > best.cost:
            best.lowest = best.cost
