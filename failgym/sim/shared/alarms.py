"""Alarms of a stated quality, as a law: what a forecast says of attempts that nobody recorded.

Rules A1 to A4 of `failgym.sim.reference` say how alarms follow the fate of an attempt. Here are the
numbers that they need, which `failgym.predictors` chooses so that the stated quality holds in the
population that is shown. When failures may be that do not come, the continued record says.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from failgym.sim.shared.continuation import LONGEST_FATE, Law

__all__ = ["FALSE_ALARMS", "AlarmLaw"]

Floats = npt.NDArray[np.float64]

FALSE_ALARMS = 4
"""Most false alarms of an attempt: more than that are rarer than one attempt in a thousand."""


@dataclass(frozen=True, eq=False)
class AlarmLaw:
    """The laws by which attempts beyond the record raise alarms. All have one cell.

    Times are in milliseconds, at least 1 and at most `LONGEST_FATE`.

    Raises:
        ValueError: if arrays do not fit each other, or a value is out of range.
    """

    seed: int
    """Seed of the alarms."""
    prior: float
    """Risk without an alarm, in [0, 1]."""
    true_score: Law
    """Risk that the alarm of an attempt that ends badly reaches; none if there is no alarm."""
    false_factor: float
    """How many times as often as attempts end badly, at each age, they meet a failure that does not
    come, whose alarm is raised all the same."""
    false_score: Law
    """Risk that a false alarm reaches. Its last share is 1 unless `false_factor` is 0."""
    lead: Law
    """Time from an alarm to the failure that it speaks of. Its last share is 1."""
    job_share: float
    """Share of the attempts that err with their job."""
    job_true: Floats
    """[tasks] The number on [0, 1) that tasks of one job share for true alarms."""
    job_false: Floats
    """[tasks] The same for false alarms."""
    outside: bool
    """Do they speak of ends from outside too?"""

    def __post_init__(self) -> None:
        for name in ("prior", "job_share"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ValueError(f"{name}: expected a share, got {getattr(self, name)}")
        if not 0.0 <= self.false_factor < math.inf:
            raise ValueError(f"false_factor: expected at least 0, got {self.false_factor}")
        for name in ("true_score", "false_score", "lead"):
            law = getattr(self, name)
            if law.cells != 1:
                raise ValueError(f"{name}: expected one cell, got {law.cells}")
        for name in ("true_score", "false_score"):
            value = getattr(self, name).value
            if not ((value >= 0.0) & (value <= 1.0)).all():
                raise ValueError(f"{name}: expected risks in [0, 1]")
        lead = self.lead.value
        if not ((lead >= 1.0) & (lead <= LONGEST_FATE) & (lead == np.rint(lead))).all():
            raise ValueError(f"lead: expected whole milliseconds, 1 to {LONGEST_FATE}")
        certain = {"lead": self.lead}
        if self.false_factor > 0.0:
            certain["false_score"] = self.false_score
        for name, law in certain.items():
            if not len(law.share) or law.share[-1] != 1.0:
                raise ValueError(f"{name}: expected a last share of 1")
        if len(self.job_true) != len(self.job_false):
            raise ValueError("job_true, job_false: expected as many tasks")
        for name in ("job_true", "job_false"):
            value = getattr(self, name)
            if not ((value >= 0.0) & (value < 1.0)).all():
                raise ValueError(f"{name}: expected numbers on [0, 1)")

    def of_tasks(self, tasks: npt.NDArray[np.int64]) -> AlarmLaw:
        """The law for some tasks, by their rows."""
        return replace(self, job_true=self.job_true[tasks], job_false=self.job_false[tasks])
