"""How records go on: the laws of attempts beyond a record, counted from a trace.

`fit` counts them, `Habits.of` says which of them speaks of which task. What is drawn from them is
stated in `failgym.sim.reference` (rules C1 to C9).
"""

from failgym.continued.habits import LEAST_JOBS, LEAST_ROWS, TASK_SHARE, Habits, fit
from failgym.continued.known import restarted, restarts, why_unknown

__all__ = [
    "LEAST_JOBS",
    "LEAST_ROWS",
    "TASK_SHARE",
    "Habits",
    "fit",
    "restarted",
    "restarts",
    "why_unknown",
]
