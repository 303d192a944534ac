"""Branching: what each answer to an open decision would cost in the end, tried on copies.

An answer is given to a copy of the episode, which then goes on with CONTINUE to its end: in a world
in which nothing may be decided, so that nothing is asked any more and no window is called. Fates
are keyed, so that all copies meet the same ones.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from failgym.sim.pinned.accounts import costs
from failgym.sim.pinned.decisions import apply
from failgym.sim.pinned.engine import advance
from failgym.sim.pinned.records import State, View, World
from failgym.sim.shared.jit import entry, held, kernel
from failgym.vocabulary import ACTIONS, TERMS

__all__ = ["branch"]


@kernel
def _copy(s: State, e: int, to: State, t: int) -> None:
    """Copy an episode, as far as its arrays are in use."""
    ep = s.episodes[e]
    to.episodes[t] = ep
    for i in range(ep.tasks):
        to.tasks[t, i] = s.tasks[e, i]
    for i in range(ep.runs):
        to.runs[t, i] = s.runs[e, i]
    for i in range(ep.events):
        to.heap[t, i] = s.heap[e, i]


@kernel
def _play(w: World, silent: World, x: View, action: int) -> None:
    """Answer the open decision; if it is asked again, and to all later ones, CONTINUE."""
    if apply(w, x, action):
        apply(silent, x, 0)
    advance(silent, x)


@entry
def branch(
    world: World,
    undecided: World,
    s: State,
    room: State,
    answers: npt.NDArray[np.bool_],
    found: npt.NDArray[np.float64],
    begin: int,
    end: int,
    place: int,
) -> int:
    """Try answers to the open decisions of the episodes ``begin`` to ``end``.

    Args:
        undecided: the same world, where no action but CONTINUE is ever legal.
        room: where the copies are played, one after the other.
        answers: [N, ACTIONS] those to try, all of them legal.
        found: [N, ACTIONS, 5] costs by term; written where an answer is tried.
        place: the row of ``room`` that is used.

    Returns:
        How many answers were tried.
    """
    w, silent = held(world), held(undecided)
    x = held(
        View(
            room.episodes[place],
            room.tasks[place],
            room.runs[place],
            room.heap[place],
            room.log[place],
        )
    )
    tried = 0
    for e in range(begin, end):
        for action in range(ACTIONS):
            if not answers[e, action]:
                continue
            _copy(s, e, room, place)
            _play(w, silent, x, action)
            spent = costs(w, x)
            for k in range(len(TERMS)):
                found[e, action, k] = spent[k]
            tried += 1
    return tried
