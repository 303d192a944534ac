"""What predictors share: the protocol, the layout of a forecast's windows, and attempt numbers."""

from __future__ import annotations

from typing import Protocol, Self, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from failgym.memory import check_room
from failgym.sim.shared.forecast import Forecast
from failgym.traces.trace import Trace
from failgym.vocabulary import Outcome

__all__ = [
    "CLASSES",
    "CLASS_OF",
    "Predictor",
    "attempt_numbers",
    "check_trace",
    "task_classes",
    "window_offsets",
]

CLASSES = ("finish", "evict", "fail", "kill")
"""The execution classes of Rosà et al., in the order of a forecast's confidences."""

WINDOW_BYTES = 8
"""Memory that a predictor needs for a window, at least: its risk, and what it is made from."""
_CLASSES_OF = {
    Outcome.FINISH: 0,
    Outcome.FAIL: 2,
    Outcome.KILL: 3,
    Outcome.EVICT: 1,
    Outcome.LOST: 1,  # taken away from outside, as an eviction is
    Outcome.CENSORED: 0,  # unknown: nothing speaks against it
}
CLASS_OF = np.array([_CLASSES_OF[outcome] for outcome in Outcome], dtype=np.int64)
"""The position in `CLASSES` of each `Outcome`."""


@runtime_checkable
class Predictor(Protocol):
    """Learns from one trace and speaks about another, or the same."""

    def fit(self, trace: Trace) -> Self:
        """Return the predictor as fitted to the trace."""
        ...

    def predict(self, trace: Trace) -> Forecast:
        """Return the forecast of every attempt, task and job of the trace."""
        ...


def window_offsets(trace: Trace, window: int) -> npt.NDArray[np.int64]:
    """Where the risks of each attempt begin, int64 [attempts + 1].

    An attempt of duration d has a risk at its start and one after each whole window before its end:
    floor(max(d - 1, 0) / window) + 1 of them. One that never ran, or whose end is unknown, has
    none. Raises MemoryError if what is foretold of all of them is more than there is room for.
    """
    ran = trace.present("attempts", "start") & trace.present("attempts", "end")
    duration = trace.column("attempts", "end") - trace.column("attempts", "start")
    counts = np.where(ran, np.maximum(duration - 1, 0) // window + 1, 0)
    offset = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    longest = int(duration[ran].max(initial=0)) // 1000
    windows = f"forecast of {offset[-1]:,} windows of {window} ms (attempts of up to {longest:,} s)"
    check_room(WINDOW_BYTES * int(offset[-1]), windows)
    return offset


def attempt_numbers(trace: Trace) -> npt.NDArray[np.int64]:
    """The number of each attempt within its task, never-started ones included, int64 [attempts]."""
    task = trace.column("attempts", "task")
    return np.arange(len(task), dtype=np.int64) - trace.task_first[task]


def task_classes(trace: Trace) -> npt.NDArray[np.int64]:
    """The recorded class of each task as a position in `CLASSES`, int64 [tasks]."""
    return CLASS_OF[trace.task_outcome]


class _OfATrace(Protocol):
    @property
    def trace_hash(self) -> str: ...


Aligned = TypeVar("Aligned", bound=_OfATrace)


def check_trace(forecast: Aligned, trace: Trace) -> Aligned:
    """Return the forecast if it speaks of this trace. Raises ValueError, in one line, if not."""
    if forecast.trace_hash != trace.content_hash:
        raise ValueError(
            f"forecast of another trace: made for {forecast.trace_hash[:12] or 'no trace'},"
            f" this one is {trace.content_hash[:12]}"
        )
    return forecast
