"""Step 5: what observations know besides the record of their task."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from failgym.sim.pinned.system_table import SystemTable, system_table
from failgym.sim.shared.context import (
    SYSTEM_FIELDS,
    Context,
    expectations,
    interruption_rates,
    interruption_times,
)
from failgym.sim.shared.forecast import Forecast
from failgym.traces import Trace

__all__ = ["context_of", "with_system"]


def context_of(known: Trace, forecast: Forecast, window: int) -> Context:
    """What is expected of tasks, learned from a trace, and the forecast; no system table.

    Args:
        known: what expectations come from.
        forecast: of what is simulated.
        window: monitoring window [ms].
    """
    return Context(
        expectations=expectations(known, window),
        system=np.zeros((1, SYSTEM_FIELDS), dtype=np.float32),
        forecast=forecast,
        interruptions=interruption_rates(known),
    )


def with_system(context: Context, trace: Trace) -> Context:
    """The context with the load of a whole trace: what a part of it sees of the rest."""
    load = _system(trace)
    times = _interruptions(trace)
    return replace(context, system=load.values, system_bins=load.bins, interruption_times=times)


@lru_cache(maxsize=4)
def _system(trace: Trace) -> SystemTable:
    return system_table(trace)


@lru_cache(maxsize=4)
def _interruptions(trace: Trace) -> npt.NDArray[np.int64]:
    return interruption_times(trace)
