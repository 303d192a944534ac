"""`TrainingResult`: scores, times and the policy file of a finished run."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from failgym.agents.training.validation import Validation
from failgym.evaluation.verdict import Verdict

__all__ = ["NoneAcceptable", "TrainingResult"]


class NoneAcceptable(ValueError):
    """No agent of a run is as harmless as it was asked to be, or can be judged: replay is."""


@dataclass(frozen=True)
class TrainingResult:
    """Scores, times and where the agent is."""

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    env: str
    algo: str
    seed: int
    steps: int
    """decisions that were trained on"""
    best: Validation
    """of the agent that was kept"""
    last: Validation
    validations: tuple[Validation, ...]
    warm_start: dict[str, Any] | None
    """what came of the warm start (`imitation.warm_start.WarmStart`), if there was one"""
    seconds: float
    """wall-clock time, validation and warm start included, what a kill undid not [s]"""
    validation_seconds: float
    """of these, spent on scoring [s]"""
    warm_start_seconds: float
    """of these, spent on the warm start [s]"""
    steps_per_second: float
    """decisions for each second of training, scoring and warm start left out [1/s]"""
    policy: Path
    """the policy file of the best agent"""
    command: str
    versions: dict[str, str]
    trace_hash: str
    asked: int | None = None
    """decisions that were asked for: ``steps`` are whole rollouts; None in results without it"""
    verdict: Verdict | None = None
    """may the agent be used? None of one that has learned from the validation split too, or in
    several environments"""
    verdicts: dict[str, Verdict] | None = None
    """the same by the ids of several environments; none of them is corrected for their number"""

    @property
    def judgements(self) -> tuple[Verdict | None, ...]:
        """All verdicts; None for one that there is not."""
        return (self.verdict,) if self.verdicts is None else tuple(self.verdicts.values())

    def to_json(self) -> dict[str, Any]:
        """Plain values; the policy by the name of its file."""
        found = {
            **asdict(self),
            "best": self.best.to_json(),
            "last": self.last.to_json(),
            "validations": [one.to_json() for one in self.validations],
            "verdict": self.verdict and self.verdict.to_json(),
            "policy": self.policy.name,
        }
        if self.verdicts is None:
            del found["verdicts"]
        return found

    @classmethod
    def of(cls, values: dict[str, Any], policy: Path) -> TrainingResult:
        """Read what `to_json` returned.

        Raises:
            ValueError: if something is missing, unknown or of the wrong type, or the agent's file
                is gone.
        """
        if not policy.is_file():
            raise ValueError(f"{policy}: no such file: the agent of a finished run")
        try:
            text = json.dumps({**values, "policy": str(policy)})
            return TypeAdapter(cls).validate_json(text)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(str(part) for part in first["loc"])
            said = f"{where}: {first['msg'][0].lower()}{first['msg'][1:]}"
            raise ValueError(f"{policy.parent}: result.json: {said}") from error
