"""`Player`: answers in, rewards out; what the simulators of both worlds have in common."""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple

from failgym.sim.reference.decisions import Question
from failgym.sim.shared.rules import Weights
from failgym.vocabulary import Action

__all__ = ["Costs", "Player"]


class Costs(NamedTuple):
    """Final costs so far, unweighted: machine-ms, and ms."""

    wasted: int = 0
    overhead: int = 0
    completion: int = 0
    forfeited_work: int = 0
    forfeited_time: int = 0
    forfeited_value: int = 0
    """W x width of tasks that did not FINISH (V1)."""


def _change(before: Costs, after: Costs) -> Costs:
    return Costs(*(new - old for new, old in zip(after, before, strict=True)))


class Player:
    """Plays an episode, decision by decision."""

    def __init__(self, weights: Weights | None) -> None:
        self.weights = Weights() if weights is None else weights
        self.illegal = 0

    def begin(self, play: Generator[Question, Action, None]) -> None:
        """Run an episode to its first decision."""
        self._question: Question | None = None
        self._charged, self._charged_others = Costs(), Costs()
        self._terms = (0.0,) * 5
        self.illegal = 0
        self._play = play
        self._ask_next(None)

    def _ask_next(self, answer: Action | None) -> None:
        try:
            self._question = next(self._play) if answer is None else self._play.send(answer)
        except StopIteration:
            self._question = None

    def step(self, action: int) -> float:
        """Answer the decision, run to the next one or to the end, and return the reward.

        An illegal action counts as CONTINUE and in `illegal`. Raises ValueError after the end and
        for an action that is none.
        """
        if self._question is None:
            raise ValueError("the episode has ended: there is nothing to decide")
        answer = Action(action)
        if not self.mask[answer]:
            self.illegal += 1
            answer = Action.CONTINUE
        self._ask_next(answer)
        costs, others = self.costs(), self.costs_of_others()
        change = _change(self._charged, costs), _change(self._charged_others, others)
        wasted, overhead, completion, forfeited = (0.0 - term for term in self.priced(change[0]))
        of_others = 0.0 - sum(self.priced(change[1]))
        self._terms = wasted, overhead, completion, forfeited, of_others
        self._charged, self._charged_others = costs, others
        return sum(self._terms)

    @property
    def mask(self) -> tuple[bool, ...]:
        """Which actions are legal; none after the end."""
        asked = self._question
        if asked is None:
            return (False,) * len(Action)
        return tuple(action is Action.CONTINUE or action in asked.legal for action in Action)

    @property
    def terms(self) -> tuple[float, ...]:
        """The last reward by term, in the order of `TERMS`, weighted, each at most 0."""
        return self._terms

    def costs(self) -> Costs:
        """Costs up to now."""
        raise NotImplementedError

    def costs_of_others(self) -> Costs:
        """What tasks have cost that the episode does not ask about; nothing unless it is charged
        for them.
        """
        return Costs()

    def priced(self, costs: Costs) -> tuple[float, float, float, float]:
        """Costs by term: wasted, overhead, completion, forfeited; weighted."""
        w = self.weights
        if w.task_value is None:
            forfeited = costs.forfeited_work / w.work_scale + costs.forfeited_time / w.time_scale
        else:  # V2: at the price of wasted machine-time
            forfeited = w.wasted * w.task_value * costs.forfeited_value / w.work_scale
        return (
            w.wasted * costs.wasted / w.work_scale,
            w.overhead * costs.overhead / w.work_scale,
            w.completion * costs.completion / w.time_scale,
            w.forfeited * forfeited,
        )
