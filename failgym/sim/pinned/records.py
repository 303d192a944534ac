"""The records of the engine: every array that a kernel reads or changes, in one place.

Times are int64 milliseconds from the origin of the trace; work is elapsed milliseconds of one
attempt; accounts are machine-milliseconds (milliseconds x width).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.sim.shared.alarm_risks import AlarmTables
from failgym.sim.shared.laws import Laws
from failgym.sim.shared.records import Records

__all__ = ["State", "View", "World"]


class World(NamedTuple):
    """A compiled trace: what kernels read and never change."""

    parameters: Records
    """PARAMETERS [1]"""
    tasks: Records
    """TASK [tasks of the trace]"""
    rows: Records
    """ROW [started attempts]"""
    order: npt.NDArray[np.int64]
    """[tasks that slices are made of] trace rows of tasks, in order of submission"""
    slices: npt.NDArray[np.int64]
    """[slices + 1] slice i is ``order[slices[i]:slices[i + 1]]``"""
    finish_end: npt.NDArray[np.int64]
    """first FINISH of each task that has one, by job, ascending"""
    finish_low: npt.NDArray[np.int64]
    """with finish_high: the two middle durations of the job's tasks finished up to here"""
    finish_high: npt.NDArray[np.int64]
    fail_end: npt.NDArray[np.int64]
    """first FAIL of each task that has one, by job, ascending"""
    risk: npt.NDArray[np.float32]
    usage: npt.NDArray[np.float32]
    """[windows, usage fields]"""
    usage_known: npt.NDArray[np.int64]
    """[windows] progress at which each usage window is over [ms]"""
    request: npt.NDArray[np.float32]
    """[tasks, request fields]"""
    system: npt.NDArray[np.float32]
    """[rows, SYSTEM_FIELDS] see `Context.system`"""
    system_bins: npt.NDArray[np.int64]
    """[rows] see `Context.system_bins`"""
    system_index: npt.NDArray[np.int32]
    """[parts + 1] see `system_table.row_index`"""
    interruption_times: npt.NDArray[np.int64]
    """see `Context.interruption_times`"""
    interruption_index: npt.NDArray[np.int32]
    """[parts + 1] see `system_table.time_index`"""
    expectations: npt.NDArray[np.float64]
    """see `Context.expectations`"""
    lazy: npt.NDArray[np.float64]
    """see `compile.lazy_intervals`"""
    beyond: Records
    """CONTINUED [tasks]; [0] unless the record is continued"""
    laws: Laws
    """from which its attempts are drawn"""
    alarms: AlarmTables
    """from which their alarms are drawn"""


class State(NamedTuple):
    """The state of N episodes."""

    episodes: Records
    """EPISODE [N]"""
    tasks: Records
    """TASK_STATE [N, tasks of the largest slice]"""
    runs: Records
    """RUN [N, capacity]"""
    heap: Records
    """EVENT [N, capacity]"""
    log: Records
    """`failgym.vocabulary.LOG` [N, capacity]; of capacity 0 where no log is kept"""


class View(NamedTuple):
    """One episode of a `State`."""

    ep: Any
    tasks: Records
    runs: Records
    heap: Records
    log: Records
