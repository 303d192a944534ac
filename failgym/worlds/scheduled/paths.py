"""How long jobs take on endless machines: the unit of their completion time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from failgym.sim.scheduled.records import World as Tables

__all__ = ["critical_paths"]


def critical_paths(tables: Tables) -> npt.NDArray[np.int64]:
    """Time that each job takes on endless machines, transfers aside, stage by stage, [jobs] [ms].

    A task takes as long as its first attempt.
    """
    tasks, dags = tables.tasks, tables.dags
    length = np.zeros(len(tasks), dtype=np.int64)
    runs = tasks["rows"] > 0
    length[runs] = tables.rows["length"][tasks["rows_at"][runs]]
    staged = tasks["stage"] >= 0
    longest = np.zeros(len(dags.stages), dtype=np.int64)
    np.maximum.at(longest, tasks["stage"][staged], length[staged])
    end = np.append(longest, 0)  # the last is that of tasks without stage
    for stage in np.argsort(dags.stages["level"], kind="stable").tolist():
        here = dags.stages[stage]
        before = dags.inputs["stage"][here["inputs_from"] : here["inputs_to"]]
        end[stage] += end[before].max(initial=0)
    path = np.zeros(int(tasks["job"].max(initial=-1)) + 1, dtype=np.int64)
    np.maximum.at(path, tasks["job"], np.where(staged, end[tasks["stage"]], length))
    return path
