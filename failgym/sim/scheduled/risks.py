"""The forecast risk of attempts: rows look as the forecast says, drawn ones by their alarms.

Rules 13 and A1 to A4 of `failgym.sim.reference`, and K8 of `failgym.sim.reference.scheduled`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from failgym.sim.shared.alarm_risks import alarm_risk
from failgym.sim.shared.beyond import drawn_failure, drawn_length
from failgym.sim.shared.jit import called, held, kernel
from failgym.sim.shared.legal import recorded_risk

if TYPE_CHECKING:
    from failgym.sim.scheduled.records import World

__all__ = ["risk_of"]


@called
def _drawn_risk(
    laws: Any, alarms: Any, c: Any, task: Any, run: Any, index: int, window: int
) -> Any:
    """The risk of a drawn attempt, by what it would meet from the start on a machine of speed 1."""
    length = drawn_length(laws, c, run.number)
    fails = drawn_failure(laws, c, run.number, run.past)
    bad = fails < np.inf and fails <= length
    end = min(fails, length)
    return alarm_risk(alarms, task, c.cell[run.past], run.number, end, bad, index, window)


@kernel
def risk_of(w: World, task: Any, run: Any, index: int) -> Any:
    """Forecast risk of an attempt after so many windows; before the first one as in it.

    Args:
        w: the world.
        task: trace row of its task.
        run: the attempt.
        index: whole windows behind it.
    """
    if len(w.alarms.tasks) > 0 and run.number >= w.tasks[task].numbers:
        if run.recomputes:
            return np.float32(w.alarms.settings[0].prior)
        c, alarmed = w.beyond[task], w.alarms.tasks[task]
        window = w.parameters[0].window
        return _drawn_risk(held(w.laws), held(w.alarms), c, alarmed, run, max(index, 0), window)
    return recorded_risk(w, run, index)
