"""The scheduled world: machines with slots, a queue, a scheduler, outages, workflows.

Its rules are stated, and carried out in plain Python, by `failgym.sim.reference.scheduled`. The
kernels do the same fast, one mechanism per file, as those of the pinned world do; `cluster` holds
machines, outages and storage, `queue` who waits and who is let go, `workflow` what stages hand on
and lose, `memory` where the records of running episodes lie. `batch` and `simulator` are the ways
in. The kernels are imported when they are first asked for: a pinned world
needs none of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from failgym.sim.scheduled.rules import NodePredictions, ScheduledRules

if TYPE_CHECKING:
    from failgym.sim.scheduled.batch import ScheduledBatch
    from failgym.sim.scheduled.compile import compile_scheduled, with_episodes
    from failgym.sim.scheduled.simulator import ScheduledSimulator

__all__ = [
    "NodePredictions",
    "ScheduledBatch",
    "ScheduledRules",
    "ScheduledSimulator",
    "compile_scheduled",
    "with_episodes",
]

_HOMES = {
    "ScheduledBatch": "batch",
    "ScheduledSimulator": "simulator",
    "compile_scheduled": "compile",
    "with_episodes": "compile",
}
"""Name -> the module that it is imported from."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
