"""Oracle rules: what somebody does who knows how attempts, tasks and machines will fare.

Each rule answers one kind of decision, from what is `Ahead` of the attempt if it is left alone and
from what becomes of its task if the whole episode is. A *way* is a few rules, of which the first
that has an answer gives it. None is best: which one is tried on which task is `search`'s business.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import cast

from failgym.sim.shared.rules import Rules
from failgym.vocabulary import Action, Decision
from failgym.worlds.world import Ahead

__all__ = ["ALONE", "MEASURES", "WAYS", "Fate", "Open", "allowed_by", "answer_of", "ways_with"]

MEASURES: Mapping[str, tuple[tuple[Decision, Action], ...]] = {
    "clone": ((Decision.WINDOW, Action.CLONE),),
    "checkpoint": ((Decision.WINDOW, Action.CHECKPOINT),),
    "kill": ((Decision.WINDOW, Action.KILL), (Decision.FAILED, Action.KILL)),
    "retry": ((Decision.FAILED, Action.RETRY),),
    "save_outputs": ((Decision.OUTPUT, Action.CHECKPOINT),),
    "place": ((Decision.DISPATCH, Action.RETRY),),
}
"""What an oracle may be confined to, and the answers that belong to it; giving up is a kill."""

Allowed = frozenset[tuple[int, int]]


@dataclass(frozen=True)
class Fate:
    """What becomes of a task if nobody interferes with anything in its episode."""

    finishes: bool
    until: int
    """when the last task of the episode settles [ms]"""


@dataclass
class Open:
    """An open decision, and what nobody could know about it."""

    kind: int
    now: int
    """[ms]"""
    fate: Fate
    rules: Rules
    look: Callable[[], Ahead]

    @cached_property
    def ahead(self) -> Ahead:
        """What lies ahead of the attempt."""
        return self.look()

    @property
    def ends(self) -> int:
        """When something ends the attempt before it finishes, or its finish [ms]."""
        return min(self.ahead.ends, self.ahead.struck)

    @property
    def fails(self) -> bool:
        """Does the attempt end without a finish?"""
        return not self.ahead.finishes or self.ahead.struck < self.ahead.ends


Rule = Callable[[Open], Action]


def _kill(o: Open) -> Action:
    """Kill what is running, and give up what has failed, at the first opportunity."""
    asked = o.kind in (Decision.WINDOW, Decision.FAILED)
    return Action.KILL if asked else Action.CONTINUE


def _kill_doomed(o: Open) -> Action:
    """The same of tasks that do not finish if they are left alone."""
    return Action.CONTINUE if o.fate.finishes else _kill(o)


def _give_up(o: Open) -> Action:
    """Give a task up at its first failure."""
    return Action.KILL if o.kind == Decision.FAILED else Action.CONTINUE


def _retry(o: Open) -> Action:
    """Retry whatever fails."""
    return Action.RETRY if o.kind == Decision.FAILED else Action.CONTINUE


def _retry_doomed(o: Open) -> Action:
    """Retry what the cluster would not finish."""
    return Action.CONTINUE if o.fate.finishes else _retry(o)


def _clone(o: Open) -> Action:
    """Clone everything."""
    return Action.CLONE if o.kind == Decision.WINDOW else Action.CONTINUE


def _clone_failing(o: Open) -> Action:
    """Clone attempts that will not finish."""
    return Action.CLONE if o.kind == Decision.WINDOW and o.fails else Action.CONTINUE


def _save(o: Open, least: int) -> Action:
    """Save an attempt that will not finish, if so much work would be saved [ms], in time."""
    cost = int(o.rules.checkpoint_cost)
    worth = o.kind == Decision.WINDOW and o.fails and o.ahead.unsaved >= least
    return Action.CHECKPOINT if worth and o.now + cost < o.ends else Action.CONTINUE


def _save_last(o: Open) -> Action:
    """Save an attempt that will not finish as late as is in time."""
    cost, window = int(o.rules.checkpoint_cost), int(o.rules.window)
    step = window * (int(o.rules.every) if o.rules.decide == "every" else 1)
    if o.rules.decide == "geometric":
        step = max(step, int((o.rules.factor - 1.0) * o.ahead.unsaved))
    late = o.kind == Decision.WINDOW and o.now + step + cost >= o.ends
    return _save(o, 1) if late else Action.CONTINUE


def _save_often(o: Open) -> Action:
    """Save an attempt that will not finish whenever twice the cost of it would be lost."""
    return _save(o, 2 * int(o.rules.checkpoint_cost))


def _save_outputs(o: Open) -> Action:
    """Save every output that somebody may need."""
    return Action.CHECKPOINT if o.kind == Decision.OUTPUT else Action.CONTINUE


def _save_threatened(o: Open) -> Action:
    """Save outputs on machines that go down before everything is over."""
    if o.kind != Decision.OUTPUT or o.ahead.struck > o.fate.until:
        return Action.CONTINUE
    return Action.CHECKPOINT


def _avoid_struck(o: Open) -> Action:
    """Refuse machines that go down before the attempt is done."""
    if o.kind != Decision.DISPATCH or o.ahead.struck > o.ahead.ends:
        return Action.CONTINUE
    return Action.RETRY


ALONE: tuple[Rule, ...] = ()
"""The way of replay: nothing is done."""
WAYS: tuple[tuple[Rule, ...], ...] = (
    ALONE,
    (_kill_doomed,),
    (_kill,),
    (_give_up,),
    (_save_last,),
    (_save_often,),
    (_clone_failing,),
    (_clone,),
    (_retry,),
    (_retry_doomed,),
    (_kill_doomed, _save_last),
    (_clone_failing, _save_last),
    (_retry_doomed, _save_last),
    (_retry_doomed, _clone_failing),
    (_kill_doomed, _clone_failing, _save_last),
    (_save_threatened,),
    (_save_outputs,),
    (_avoid_struck,),
)
_ANSWERS: Mapping[Rule, Action] = {
    **dict.fromkeys((_kill, _kill_doomed, _give_up), Action.KILL),
    **dict.fromkeys((_retry, _retry_doomed, _avoid_struck), Action.RETRY),
    **dict.fromkeys((_clone, _clone_failing), Action.CLONE),
    **dict.fromkeys((_save_last, _save_often, _save_outputs, _save_threatened), Action.CHECKPOINT),
}
_KINDS: Mapping[Rule, tuple[Decision, ...]] = {
    **dict.fromkeys((_kill, _kill_doomed), (Decision.WINDOW, Decision.FAILED)),
    **dict.fromkeys((_give_up, _retry, _retry_doomed), (Decision.FAILED,)),
    **dict.fromkeys((_clone, _clone_failing, _save_last, _save_often), (Decision.WINDOW,)),
    **dict.fromkeys((_save_outputs, _save_threatened), (Decision.OUTPUT,)),
    _avoid_struck: (Decision.DISPATCH,),
}


def allowed_by(rules: Rules, measures: tuple[str, ...] | None) -> Allowed:
    """The (kind of decision, action) that an oracle may answer, beside CONTINUE.

    Args:
        rules: of the environment.
        measures: names of `MEASURES` that it is confined to; None: all.

    Raises:
        ValueError: for a name that is none, no name, or a measure that the rules do not offer.
    """
    for name in measures or ():
        if name not in MEASURES:
            expected = ", ".join(MEASURES)
            raise ValueError(f"measures: expected some of {expected}, got {name!r}")
    if measures is not None and not measures:
        raise ValueError("measures: expected at least one")
    offered = {
        (Decision.WINDOW, Action.CLONE): rules.clone,
        (Decision.WINDOW, Action.CHECKPOINT): rules.checkpoint,
        (Decision.WINDOW, Action.KILL): rules.kill,
        (Decision.FAILED, Action.KILL): rules.give_up,
        (Decision.FAILED, Action.RETRY): rules.retry,
        (Decision.OUTPUT, Action.CHECKPOINT): getattr(rules, "save_outputs", False),
        (Decision.DISPATCH, Action.RETRY): getattr(rules, "place", False),
    }
    allowed = set[tuple[int, int]]()
    for name in MEASURES if measures is None else measures:
        there = {(int(k), int(a)) for k, a in MEASURES[name] if offered[k, a]}
        if measures is not None and not there:
            raise ValueError(f"measures: {name} is not offered here")
        allowed |= there
    return frozenset(allowed)


def ways_with(allowed: Allowed) -> tuple[tuple[Rule, ...], ...]:
    """The `WAYS` that differ where only some answers are allowed, that of replay first."""
    found = dict[tuple[Rule, ...], None]()
    for way in WAYS:
        found[tuple(rule for rule in way if _may(rule, allowed))] = None
    return tuple(found)


def _may(rule: Rule, allowed: Allowed) -> bool:
    return any((int(kind), int(_ANSWERS[rule])) in allowed for kind in _KINDS[rule])


def answer_of(way: tuple[Rule, ...], o: Open, legal: int, allowed: Allowed) -> int:
    """The answer of a way: that of the first rule which has one that is legal and allowed.

    Args:
        legal: legal actions, a bit each.
    """
    for rule in way:
        action = int(rule(o))
        if action and legal >> action & 1 and (int(o.kind), action) in allowed:
            return action
    return cast(int, Action.CONTINUE)
