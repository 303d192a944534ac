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


class Player:
    """Plays an episode, decision by decision."""

    def __init__(self, weights: Weights | None) -> None:
        self.weights = Weights() if weights is None else weights
        self.illegal = 0

    def begin(self, play: Generator[Question, Action, None]) -> None:
        """Run an episode to its first decision."""
        self._question: Question | None = None
        self._charged = Costs()
        self._terms = (0.0, 0.0, 0.0, 0.0)
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
        costs = self.costs()
        self._terms = self._weighted(self._charged, costs)
        self._charged = costs
        wasted, overhead, completion, forfeited = self._terms
        return wasted + overhead + completion + forfeited

    @property
    def mask(self) -> tuple[bool, ...]:
        """Which actions are legal; none after the end."""
        asked = self._question
        if asked is None:
            return (False,) * len(Action)
        return tuple(action is Action.CONTINUE or action in asked.legal for action in Action)

    @property
    def terms(self) -> tuple[float, float, float, float]:
        """Wasted, overhead, completion and forfeited in the last reward, weighted, at most 0."""
        return self._terms

    def costs(self) -> Costs:
        """Costs up to now."""
        raise NotImplementedError

    def _weighted(self, before: Costs, after: Costs) -> tuple[float, float, float, float]:
        """The change of the costs as reward terms."""
        change = Costs(*(new - old for new, old in zip(after, before, strict=True)))
        wasted, overhead, completion, forfeited = self.priced(change)
        return 0.0 - wasted, 0.0 - overhead, 0.0 - completion, 0.0 - forfeited

    def priced(self, costs: Costs) -> tuple[float, float, float, float]:
        """Costs by term: wasted, overhead, completion, forfeited; weighted."""
        w = self.weights
        forfeited = costs.forfeited_work / w.work_scale + costs.forfeited_time / w.time_scale
        return (
            w.wasted * costs.wasted / w.work_scale,
            w.overhead * costs.overhead / w.work_scale,
            w.completion * costs.completion / w.time_scale,
            w.forfeited * forfeited,
        )
