"""The measures that an operator may take, and the rules under which each is judged on a record.

Each is a registered environment on the record, so that ``failgym evaluate`` says the same: tasks as
recorded and independent of each other, machine-time wasted and spent on checkpoints, and a price
for every task that does not finish (`task_value`), whatever the record did. Waiting has no price:
hours of completion are shown beside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from failgym.continued import why_unknown
from failgym.envs import Scenario, resolve
from failgym.traces import Trace
from failgym.vocabulary import Cause, Outcome

__all__ = ["MEASURES", "TOGETHER", "Measure", "together", "unjudged"]

TASK_VALUE = 4.0
"""What a task is worth that finishes, as a multiple of its machine-time; as in the environments."""
TOGETHER: Final = "together"
_UNPRICED: Final = {"weight_completion": 0.0, "waiting_price": None}
_AFTER_FAILURES, _AFTER_LOSSES = (Outcome.FAIL,), (Outcome.FAIL, Outcome.EVICT, Outcome.LOST)
_LOST_TO_SYSTEM = (Cause.MACHINE, Cause.PREEMPTION, Cause.SHARED)


@dataclass(frozen=True)
class Measure:
    """A measure, and the rules under which it is judged."""

    name: str
    title: str
    """what is done, in plain words"""
    env: str
    """the environment whose rules apply"""
    changes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """fields of its scenario that are other"""
    after: tuple[Outcome, ...] = ()
    """what comes after attempts that ended so must be known (`failgym.continued.why_unknown`)"""
    loses: bool = False
    """must an attempt have been lost to the system?"""
    parts: tuple[Measure, ...] = ()
    """of `together`: the measures that it is made of, all of which must be judged"""

    def scenario(
        self, trace: str | Trace, task_value: float = TASK_VALUE, **fields: Any
    ) -> Scenario:
        """The scenario on a trace; fold, forecast and whatever else are fields.

        Raises:
            ValueError: for a value that a field does not take.
        """
        given = {**self.changes, "task_value": task_value, **fields}
        return resolve(self.env).override(trace=trace, slice_tasks=1, **given)

    def why_not(self, trace: Trace) -> str | None:
        """Why a record cannot tell what the measure would be worth; None if it can.

        Args:
            trace: the record, or what is known of it before a fold.
        """
        for part in self.parts:
            if (why := part.why_not(trace)) is not None:
                return why
        if self.after and (why := why_unknown(trace, self.after)) is not None:
            return why
        if self.loses and not _losses(trace):
            return "no attempt is known to have been lost to the system"
        return None


_RERUN: Final = {"select": "all", **_UNPRICED}
MEASURES: Final[dict[str, Measure]] = {
    each.name: each
    for each in (
        Measure("kill", "stop tasks that will not finish", "GracePeriod-v1"),
        Measure(
            "retry",
            "run failed tasks again, or give them up",
            "Cloning-v1",
            {**_RERUN, "clone": False},
            _AFTER_FAILURES,
        ),
        Measure(
            "clone",
            "run a second copy of tasks that may fail",
            "Cloning-v1",
            {**_RERUN, "give_up": False, "retry": False},
            _AFTER_FAILURES,
        ),
        Measure(
            "checkpoint",
            "save the progress of tasks",
            "Checkpoint-v1",
            after=_AFTER_LOSSES,
            loses=True,
        ),
    )
}
"""By name, in the order of the report."""


def together(measures: Sequence[Measure]) -> Measure:
    """All of some measures at once, under the rules of Cloning-v1."""
    names = {each.name for each in measures}
    saves = resolve("Checkpoint-v1")
    changes: dict[str, Any] = {
        **_RERUN,
        "kill": "kill" in names,
        "clone": "clone" in names,
        "retry": "retry" in names,
        "give_up": "retry" in names,
        "checkpoint": "checkpoint" in names,
    }
    if "checkpoint" in names:
        changes |= {name: getattr(saves, name) for name in ("checkpoint_cost", "restore_cost")}
    *first, last = (each.name for each in measures)
    title = f"{', '.join(first)} and {last} at once" if first else last
    return Measure(TOGETHER, title, "Cloning-v1", changes, parts=tuple(measures))


def unjudged(trace: Trace, measures: Sequence[Measure]) -> dict[str, str]:
    """The measures that a record cannot judge, and why."""
    reasons = {each.name: each.why_not(trace) for each in measures}
    return {name: why for name, why in reasons.items() if why is not None}


def mtbf_of(trace: Trace) -> int | None:
    """Mean time between losses of an attempt to the system [ms]; None if none was lost."""
    lost = _losses(trace)
    if not lost:
        return None
    ran = trace.present("attempts", "start") & trace.present("attempts", "end")
    times = (trace.column("attempts", "end") - trace.column("attempts", "start"))[ran]
    return max(int(times.sum()) // lost, 1)


def _losses(trace: Trace) -> int:
    """Attempts that the system ended."""
    cause = trace.column("attempts", "cause")
    return int(np.isin(cause, [int(each) for each in _LOST_TO_SYSTEM]).sum())
