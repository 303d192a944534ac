"""What is compared of the jobs, tasks and attempts of a trace, as data frames."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import numpy as np
import pandas as pd

from failgym.traces import Outcome, Trace
from failgym.vocabulary import MINUTE

__all__ = ["JOB", "TASK", "attempts_of", "jobs_of", "tasks_of"]

JOB = (
    *("tasks", "finished", "run", "machine_time", "spread", "failures", "evictions"),
    *("cpu", "memory", "disk", "attempts", "priority", "scheduling_class"),
)
"""What jobs are told apart by: thirteen numbers."""
TASK = ("cpu", "memory", "disk", "priority", "scheduling_class", "tasks", "run", "attempts")
"""What tasks are told apart by, besides how they ended."""


def tasks_of(trace: Trace) -> pd.DataFrame:
    """One row per task: its request, how long its attempts ran in all [ms], how it ended."""
    tasks, job = trace.frame("tasks")[["job", "cpu", "memory", "disk"]], trace.frame("jobs")
    attempts = trace.frame("attempts")
    ran = (attempts["end"] - attempts["start"]).fillna(0.0)
    outcome, task = attempts["outcome"], attempts["task"]
    number = len(tasks)
    tasks["finished"] = trace.task_outcome == Outcome.FINISH
    tasks["open"] = trace.task_outcome == Outcome.CENSORED
    tasks["run"] = np.bincount(task, ran, number)
    tasks["attempts"] = np.bincount(task, minlength=number)
    tasks["failures"] = np.bincount(task, outcome == Outcome.FAIL, number)
    tasks["evictions"] = np.bincount(task, outcome == Outcome.EVICT, number)
    tasks["ended"] = attempts.groupby("task")["end"].max().reindex(tasks.index)
    for name in ("user", "name", "submit", "priority", "scheduling_class"):
        tasks[name] = job[name].to_numpy()[tasks["job"]]
    tasks["tasks"] = np.bincount(tasks["job"], minlength=len(job))[tasks["job"]]
    return tasks


def jobs_of(trace: Trace, tasks: pd.DataFrame) -> pd.DataFrame:
    """One row per job that came after the data began, in order of submission; `tasks` as above.

    Those that were there when they began are of another kind: only the long ones of them are seen.
    """
    jobs = trace.frame("jobs")[["user", "name", "submit", "priority", "scheduling_class"]]
    of = tasks.groupby("job")
    jobs["tasks"] = of.size()
    jobs["finished"], jobs["open"] = of["finished"].mean(), of["open"].mean()
    jobs["run"], jobs["machine_time"] = of["run"].median(), of["run"].sum()
    jobs["spread"] = of["run"].std() / of["run"].mean()
    for name in ("failures", "evictions", "attempts"):
        jobs[name] = of[name].sum()
    for name in ("cpu", "memory", "disk"):
        jobs[name] = of[name].median()
    ended = tasks[~tasks["open"]]
    good, bad = (ended[ended["finished"] == end].groupby("job")["run"] for end in (True, False))
    jobs["outlived"], jobs["lost"] = bad.median() / good.median(), bad.sum()
    jobs["whole"] = (jobs["finished"] > 0.999).astype(float)
    jobs["log_run"], jobs["log_tasks"] = np.log1p(jobs["run"] / MINUTE), np.log(jobs["tasks"])
    jobs = jobs[(jobs["submit"] > 0) & jobs["tasks"].notna()]
    return jobs.sort_values("submit", kind="stable").reset_index(drop=True)


def attempts_of(trace: Trace) -> pd.DataFrame:
    """One row per attempt that ran: how long [ms], how it ended, its number and wait [ms]."""
    attempts = trace.frame("attempts")
    task = attempts["task"].to_numpy()
    attempts["number"] = np.arange(len(task)) - trace.task_first[task]
    attempts["run"] = attempts["end"] - attempts["start"]
    attempts["wait"] = attempts["start"] - attempts["queued"]
    attempts["job"] = trace.column("tasks", "job")[task]
    attempts["submit"] = trace.column("jobs", "submit")[attempts["job"]]
    ran = attempts["start"].notna() & (attempts["submit"] > 0)
    return attempts[ran & (attempts["outcome"] != Outcome.CENSORED)].reset_index(drop=True)
