"""The forecast risk of attempts: recorded ones look as the forecast says, drawn ones by its alarms.

Rules 13 and A1 to A4 of `failgym.sim.reference`.
"""

from __future__ import annotations

from typing import Any

from failgym.sim.pinned.beyond import ends_badly, undisturbed_end
from failgym.sim.pinned.records import World
from failgym.sim.shared.alarm_risks import alarm_risk
from failgym.sim.shared.jit import called, held, kernel
from failgym.sim.shared.legal import recorded_risk

__all__ = ["risk_of"]


@called
def _drawn_risk(
    laws: Any, alarms: Any, c: Any, task: Any, run: Any, index: int, window: int
) -> Any:
    """The risk of a drawn attempt, by the fate that it would meet from the start."""
    bad = ends_badly(laws, c, run, alarms.settings[0].outside)
    end = undisturbed_end(laws, c, run)
    return alarm_risk(alarms, task, c.cell[run.past], run.number, end, bad, index, window)


@kernel
def risk_of(w: World, task: Any, run: Any, index: int) -> Any:
    """Forecast risk of an attempt after so many windows; before the first one as in it."""
    if run.ghost and len(w.alarms.tasks) > 0:
        c, alarmed = w.beyond[task.task], w.alarms.tasks[task.task]
        window = w.parameters[0].window
        return _drawn_risk(held(w.laws), held(w.alarms), c, alarmed, run, max(index, 0), window)
    return recorded_risk(w, run, index)
