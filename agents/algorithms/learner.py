"""What has hyper-parameters: an algorithm of stable-baselines3, or a learner of failgym's own."""

from __future__ import annotations

from typing import Protocol, TypeVar

from failgym.agents.strict_record import Record

__all__ = ["COUNTERFACTUAL", "Hyper", "Learner"]

COUNTERFACTUAL = "counterfactual"
"""What counterfactual learning is called where algorithms are named."""


class Hyper(Record):
    """Hyper-parameters of whatever learns."""

    def check(self) -> None:
        """Raise ValueError for values that do not go together."""


S = TypeVar("S", bound=Hyper, covariant=True)


class Learner(Protocol[S]):
    """Something that learns, and its hyper-parameters."""

    @property
    def name(self) -> str:
        """What its files of hyper-parameters are called by."""
        ...

    @property
    def settings(self) -> type[S]:
        """Its hyper-parameters."""
        ...
