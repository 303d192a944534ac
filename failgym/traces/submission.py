"""When tasks were submitted, as far as their jobs and attempts tell."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from failgym.traces.schema import Table, column, present

__all__ = ["task_submits"]


def task_submits(jobs: Table, tasks: Table, attempts: Table) -> npt.NDArray[np.int64]:
    """When each task was submitted [ms], (tasks,).

    The first attempt's queued time, else its start, else the job's submission; but no later than
    any attempt started.

    Args:
        jobs: the table.
        tasks: the table.
        attempts: the table, its rows in order of their task.
    """
    submit = column(jobs, "submit")[column(tasks, "job")].astype(np.int64)
    task = column(attempts, "task")
    head, first = np.unique(task, return_index=True)
    for name in ("start", "queued"):  # the later one wins
        known = present(attempts, name)[first]
        submit[head[known]] = column(attempts, name)[first[known]]
    ran = present(attempts, "start")
    np.minimum.at(submit, task[ran], column(attempts, "start")[ran])
    return submit
