"""The risk of attempts beyond the record by an `AlarmLaw`, as kernels look it up.

Rules A2 to A4 of `failgym.sim.reference`. An attempt is asked about a few times in its life, and
nothing of its alarms is kept: they are drawn at each question, with the same numbers. Only the laws
of false times are worked out before, a cell for each of the continuation's.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.sim.shared.alarms import FALSE_ALARMS, AlarmLaw
from failgym.sim.shared.continuation import Continuation
from failgym.sim.shared.draws import keyed
from failgym.sim.shared.jit import called
from failgym.sim.shared.keys import Purpose, stream
from failgym.sim.shared.laws import share_up_to
from failgym.sim.shared.observe import up_to
from failgym.sim.shared.records import Records, record_type

__all__ = ["ALARMED", "ALARM_SETTINGS", "NO_ALARMS", "AlarmTables", "alarm_risk", "alarm_tables"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_TRUE_SCORE, _FALSE_SCORE, _LEAD, _FALSE_TIME = range(4)
"""The laws, in the order in which they lie; of the last one the first cell."""
_SHARED, _TRUE, _TRUE_LEAD, _FALSE, _SCORE, _FALSE_LEAD = (
    int(purpose)
    for purpose in (
        Purpose.ALARM_SHARED,
        Purpose.ALARM_TRUE,
        Purpose.ALARM_LEAD,
        Purpose.ALARM_FALSE,
        Purpose.ALARM_FALSE_SCORE,
        Purpose.ALARM_FALSE_LEAD,
    )
)

ALARMED = record_type(
    stream="u8",  # of the draws of its alarms, see `keys.stream`
    job_true="f8",  # see `AlarmLaw`
    job_false="f8",
)
"""What the alarms of a task's attempts are drawn with."""
ALARM_SETTINGS = record_type(prior="f8", job_share="f8", outside="?")
"""The numbers of an `AlarmLaw`; one row."""


class AlarmTables(NamedTuple):
    """An `AlarmLaw` as engines hold it."""

    tasks: Records
    """ALARMED [tasks]; [0] if attempts beyond the record look like the last one in it"""
    settings: Records
    """ALARM_SETTINGS [1]"""
    at: npt.NDArray[np.int64]
    """[cells + 4] bounds of the laws in the entries, of the last one those of its cells"""
    value: npt.NDArray[np.float64]
    """[entries] see `Law.value`"""
    share: npt.NDArray[np.float64]
    """[entries] see `Law.share`"""


NO_ALARMS = AlarmTables(
    np.zeros(0, dtype=ALARMED),
    np.zeros(1, dtype=ALARM_SETTINGS),
    np.zeros(4, dtype=np.int64),
    np.zeros(0),
    np.zeros(0),
)
"""What stands where a forecast has no law of alarms, or no record is continued."""


def alarm_tables(law: AlarmLaw | None, continuation: Continuation | None) -> AlarmTables:
    """What kernels draw alarms from.

    Args:
        law: of the forecast, if it has one.
        continuation: of the record, if it goes on.

    Raises:
        ValueError: for a law of another number of tasks.
    """
    if law is None or continuation is None:
        return NO_ALARMS
    key = continuation.key
    if len(law.job_true) != len(key):
        raise ValueError(f"alarms: expected {len(key)} tasks, got {len(law.job_true)}")
    tasks, settings = np.zeros(len(key), dtype=ALARMED), np.zeros(1, dtype=ALARM_SETTINGS)
    tasks["stream"] = stream(law.seed, key)
    tasks["job_true"], tasks["job_false"] = law.job_true, law.job_false
    for name in ("prior", "job_share", "outside"):
        settings[name] = getattr(law, name)
    one_cell = (law.true_score, law.false_score, law.lead)
    entries, value, share = _false_times(law, continuation)
    return AlarmTables(
        tasks=tasks,
        settings=settings,
        at=np.cumsum([0, *(len(each.value) for each in one_cell), *entries]).astype(np.int64),
        value=np.concatenate([*(each.value for each in one_cell), value]).astype(np.float64),
        share=np.concatenate([*(each.share for each in one_cell), share]).astype(np.float64),
    )


def _false_times(law: AlarmLaw, continuation: Continuation) -> tuple[Ints, Floats, Floats]:
    """When failures would be that do not come (rule A3): entries of each cell, times, shares."""
    bad = (continuation.failure, continuation.external)[: 1 + law.outside]
    cells = np.arange(continuation.failure.cells)
    cell = np.concatenate([np.repeat(cells, np.diff(each.at)) for each in bad])
    value = np.concatenate([each.value for each in bad])
    order = np.lexsort((value, cell))
    cell, value = cell[order], value[order]
    left = np.ones(len(value))
    for each in bad:
        if len(each.value):
            left *= 1.0 - share_up_to(each, cell, value)
    return np.bincount(cell, minlength=len(cells)), value, 1.0 - left**law.false_factor


@called
def _draw(a: Any, law: int, u: float) -> float:
    """The first value of a law whose share is above u; infinite if there is none."""
    first, end = a.at[law], a.at[law + 1]
    found = first + up_to(a.share, first, end - first, u)
    return a.value[found] if found < end else np.inf


@called
def _share_up_to(a: Any, law: int, value: float) -> float:
    """The share of a law that is at most a value."""
    first, end = a.at[law], a.at[law + 1]
    entries = up_to(a.value, first, end - first, value)
    return a.share[first + entries - 1] if entries > 0 else 0.0


@called
def _seen(end: float, lead: float, index: int, window: int) -> bool:
    """Is an alarm seen in a window that is on from a lead before its end until then?"""
    begin, last = max(0, int(end) - int(lead)), (int(end) - 1) // window
    return min((begin + window - 1) // window, last) <= index <= last


@called
def alarm_risk(
    a: Any, task: Any, cell: int, number: int, end: float, bad: bool, index: int, window: int
) -> Any:
    """The risk of an attempt beyond the record after so many windows.

    Args:
        a: `AlarmTables`, held.
        task: ALARMED of its task.
        cell: of the laws by which it was drawn.
        number: of the attempt.
        end: when it would end from the start, undisturbed [ms]; infinite for never.
        bad: does it end badly then (rule A1)?
        index: whole windows behind it, at least 0.
        window: monitoring window [ms].
    """
    risk, shared = -1.0, keyed(task.stream, number, _SHARED) < a.settings[0].job_share
    if bad:
        score = _draw(
            a, _TRUE_SCORE, task.job_true if shared else keyed(task.stream, number, _TRUE)
        )
        if score < np.inf:
            lead = _draw(a, _LEAD, keyed(task.stream, number, _TRUE_LEAD))
            if _seen(end, lead, index, window):
                risk = score
    time = 0.0
    for j in range(FALSE_ALARMS):
        n = number * FALSE_ALARMS + j
        u = task.job_false if shared and j == 0 else keyed(task.stream, n, _FALSE)
        over = _share_up_to(a, _FALSE_TIME + cell, time)
        time = _draw(a, _FALSE_TIME + cell, over + (1.0 - over) * u)
        if time >= end or time == np.inf:
            break
        lead = _draw(a, _LEAD, keyed(task.stream, n, _FALSE_LEAD))
        if _seen(time, lead, index, window):
            risk = max(risk, _draw(a, _FALSE_SCORE, keyed(task.stream, n, _SCORE)))
    return np.float32(risk if risk >= 0.0 else a.settings[0].prior)
