"""Rules whose answers trees are shown beside the fields, and which of them stands in doubt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field, JsonValue, model_validator

from failgym.agents.strict_record import Record
from failgym.baselines import STORABLE
from failgym.baselines.base import Heuristic
from failgym.baselines.stored import built, parameters
from failgym.known_names import check_known
from failgym.vocabulary import Action

__all__ = ["MOST_ADVISERS", "Adviser", "advised"]

Floats = npt.NDArray[np.float32]

MOST_ADVISERS = 20


class Adviser(Record):
    """A heuristic of failgym's own, by name, and the parameters that are not its defaults."""

    policy: str
    parameters: Annotated[dict[str, JsonValue], Field(max_length=100)] = Field(
        default_factory=dict[str, JsonValue]
    )

    @model_validator(mode="after")
    def _known(self) -> Self:
        try:
            self.heuristic()
        except (OverflowError, TypeError) as error:
            raise ValueError(f"{self.policy}: {error}") from error
        return self

    def heuristic(self) -> Heuristic:
        """The rule. Raises ValueError for unknown names, or values of the wrong type or range."""
        return built(STORABLE[check_known("policy", self.policy, STORABLE)], self.parameters)

    @classmethod
    def of(cls, rule: Heuristic) -> Adviser:
        """What a rule is written as, with all its parameters."""
        return cls(policy=rule.name, parameters=parameters(rule))


def advised(
    shown: Floats,
    observations: Floats,
    legal: npt.NDArray[np.bool_],
    advice: Sequence[Heuristic],
    heard: Sequence[int] | None = None,
) -> Floats:
    """Columns that are shown, and behind them the number of the action that each rule answers.

    Args:
        shown: float32 [rows, columns] of the observations.
        observations: float32 [rows, fields], whole ones.
        legal: bool [rows, ACTIONS].
        advice: the rules.
        heard: numbers of those that are asked, all by default; others answer CONTINUE.

    Returns:
        float32 [rows, columns + rules].
    """
    if not advice:
        return shown
    asked = range(len(advice)) if heard is None else heard
    answers = [
        rule.predict(observations, action_masks=legal)[0]
        if number in asked
        else np.full(len(shown), int(Action.CONTINUE))
        for number, rule in enumerate(advice)
    ]
    return np.column_stack([shown, *answers]).astype(np.float32)
