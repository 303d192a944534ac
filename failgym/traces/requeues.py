"""A record as an accounting log has it: a task that is run again is another one."""

from __future__ import annotations

import numpy as np

from failgym.traces.schema import TABLES
from failgym.traces.split import select
from failgym.traces.trace import Trace

__all__ = ["first_runs"]


def first_runs(trace: Trace) -> Trace:
    """The first attempt of every task, without those that followed it.

    Batch systems log each run of a job as a job of its own, so studies of their logs (Kumar et al.,
    DSN 2020) count a job that the system failed once, as failed, and not what came of it when it
    was submitted again. Jobs keep what is recorded of them, their outcome too; placements and
    windows go with the attempts.
    """
    first = np.zeros(trace.rows("attempts"), dtype=np.bool_)
    began = trace.task_first[:-1]
    first[began[began < trace.task_first[1:]]] = True
    tables = {name: trace.table(name) for name in TABLES}
    return Trace(trace.meta, **select(tables, {"attempts": first}).tables)
