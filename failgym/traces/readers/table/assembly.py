"""From the rows of a table of runs to a log of jobs, tasks and runs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from failgym.traces.readers.counts import Counts
from failgym.traces.readers.job_log import NONE, JobLog
from failgym.traces.readers.table.fields import DATED, KINDS_APART, TEXTS
from failgym.traces.readers.table.rows import Rows
from failgym.vocabulary import Cause, Outcome

__all__ = ["assemble"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Times = dict[str, Ints]


def assemble(rows: Rows) -> int:
    """Put all rows into their log; returns the end of the data [ms].

    The columns of the rows are freed.
    """
    log, counts = rows.log, rows.counts
    times = {name: rows.integers(name) for name in ("submit", "start", "end")}
    log.dated = _dated(rows, times)
    timeless = np.all([values == NONE for values in times.values()], axis=0)
    times = _without(timeless, "no time known", rows, times)
    times = _without(_repeated(rows, times), "the same run again", rows, times)
    if not rows.taken:
        return NONE
    rows.name_jobs()
    outcome, cause = rows.integers("outcome"), rows.integers("cause")
    own = rows.integers("own") != 0
    waits = (rows.integers("waits") != 0) & (outcome == Outcome.CENSORED)
    times["start"][waits] = NONE
    open_ = outcome == Outcome.CENSORED
    last = max(int(values.max()) for values in times.values())
    times["end"][open_] = NONE
    by_user = (cause == Cause.USER) | (cause == Cause.DEPENDENCY)
    never = ~own & by_user & (times["start"] == times["end"]) & (times["end"] != NONE)
    times["start"][never] = NONE
    _note(counts, "killed as it started: taken as never run", never)
    _settle_ends(times, outcome, cause, counts)
    task, order = _tasks(rows)
    _settle_repeated(times, task, counts)
    _settle_followed(times, outcome, cause, own, task, counts)
    _describe_jobs(rows)
    _describe_tasks(rows, task, order)
    _add_runs(rows, times, outcome, cause, task)
    rows.clear()
    return last


def _without(dropped: npt.NDArray[np.bool_], why: str, rows: Rows, times: Times) -> Times:
    """The times without those of some rows, which are counted and taken out."""
    if not dropped.any():
        return times
    rows.counts.drop(why, int(dropped.sum()))
    rows.keep(~dropped)
    return {name: values[~dropped] for name, values in times.items()}


def _repeated(rows: Rows, times: Times) -> npt.NDArray[np.bool_]:
    """Rows that say of a run all that another row says: no task runs twice at a time."""
    start, end = times["start"], times["end"]
    some = np.flatnonzero((start != NONE) & ((end == NONE) | (end > start)))
    columns = {name: rows.bits(name)[some] for name in rows.columns}
    said = pd.DataFrame({**columns, "places": rows.places()[some]})
    found = np.zeros(len(start), dtype=np.bool_)
    found[some] = said.duplicated().to_numpy()
    return found


def _dated(rows: Rows, times: Times) -> bool:
    """Whether times count from 1970; where they do, 0 stands for none, and what is unset."""
    dated = rows.times.iso or max(int(values.max()) for values in times.values()) >= DATED
    if dated:
        found = [values[values >= DATED] for values in times.values()]
        first = min(int(values.min()) for values in found if len(values))
        unset = first - KINDS_APART  # of what is before, `check_kinds` lets only this pass
        for values in times.values():
            values[(values == 0) | ((values > 0) & (values < unset))] = NONE
    return dated


def _settle_ends(times: Times, outcome: Ints, cause: Ints, counts: Counts) -> None:
    """Give what is over an end, and what finished a start; or take it as open."""
    submit, start, end = times["submit"], times["start"], times["end"]
    first = np.maximum(start, submit)
    endless = (outcome != Outcome.CENSORED) & (end == NONE)
    open_ = endless & ((first == NONE) | (outcome == Outcome.FINISH))
    outcome[open_], cause[open_] = Outcome.CENSORED, NONE
    _note(counts, "over, but its end is missing: taken as open", open_)
    endless &= ~open_
    end[endless] = first[endless]
    _note(counts, "over, but its end is missing: taken as its start or submission", endless)
    unstarted = (outcome == Outcome.FINISH) & (start == NONE)
    start[unstarted] = end[unstarted]
    _note(counts, "success without a start, taken to start at its end", unstarted)


def _tasks(rows: Rows) -> tuple[Ints, Ints]:
    """The task of each row, numbered by job, and the first row of each task, (tasks,)."""
    job, code = rows.integers("job"), rows.integers("task")
    order = np.lexsort((code, job))
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (np.diff(job[order]) != 0) | (np.diff(code[order]) != 0)
    task = np.empty(len(order), dtype=np.int64)
    task[order] = np.cumsum(new) - 1
    return task, order[new]


def _heard(times: Times) -> Ints:
    """When each run was first heard of: its start, else its submission, else its end."""
    heard = times["end"].copy()
    for name in ("submit", "start"):  # the later one wins
        heard = np.where(times[name] == NONE, heard, times[name])
    return heard


def _settle_repeated(times: Times, task: Ints, counts: Counts) -> None:
    """Later runs of a task that tell when it was submitted do not tell when they were queued."""
    submit, start, end = times["submit"], times["start"], times["end"]
    order = np.lexsort((_heard(times), task))
    before, after = order[:-1], order[1:]
    repeated = (task[before] == task[after]) & (submit[after] != NONE) & (start[after] != NONE)
    repeated &= (submit[before] == submit[after]) & (end[before] != NONE)
    repeated &= (end[before] <= start[after]) & (submit[after] < end[before])
    rows = after[repeated]
    # Each is held against the run before, so none may be changed until all are known.
    submit[rows] = NONE
    told = "submission of a run before: when the run was queued is not known"
    _note(counts, told, repeated)


def _settle_followed(
    times: Times, outcome: Ints, cause: Ints, own: npt.NDArray[np.bool_], task: Ints, counts: Counts
) -> None:
    """What was followed by another run of its task: evicted, requeued, or its end was lost.

    A run whose word is a trace's own, or whose cause is told, stays what it is.
    """
    order = np.lexsort((_heard(times), task))
    followed = np.zeros(len(task), dtype=np.bool_)
    followed[order[:-1]] = task[order[:-1]] == task[order[1:]]
    _note(counts, "run after one that finished", followed & (outcome == Outcome.FINISH))
    followed &= ~own
    failed = followed & (outcome == Outcome.FAIL) & (cause == Cause.MACHINE)
    by_user = (cause == Cause.USER) | (cause == Cause.DEPENDENCY)
    killed = followed & (outcome == Outcome.KILL) & by_user
    lost = followed & (outcome == Outcome.CENSORED)
    outcome[failed] = Outcome.EVICT
    cause[killed] = Cause.REQUEUE
    outcome[lost] = Outcome.LOST
    times["end"][lost] = np.maximum(times["start"], times["submit"])[lost]
    _note(counts, "open, and followed by another run: its end is not known", lost)


def _note(counts: Counts, what: str, rows: npt.NDArray[np.bool_]) -> None:
    if rows.any():
        counts.note(what, int(rows.sum()))


def _describe_jobs(rows: Rows) -> None:
    """What rows say of their jobs: the last one that says anything counts."""
    job, jobs = rows.integers("job"), rows.log.jobs
    for name in (*TEXTS, "walltime", "priority"):
        if name not in rows.told:
            continue
        values = rows.integers(name)
        for number, value in enumerate(_last_told(values, values != NONE, job, len(jobs), NONE)):
            jobs[name, number] = value


def _last_told(
    values: npt.NDArray[np.generic],
    known: npt.NDArray[np.bool_],
    group: Ints,
    groups: int,
    missing: float,
) -> list[float]:
    """Of each group the last value that is known."""
    found = np.full(groups, missing, dtype=np.float64)
    found[group[known]] = values[known]  # the last one written stays
    return found.tolist()


def _describe_tasks(rows: Rows, task: Ints, first: Ints) -> None:
    """Add the tasks: what their last row says that says anything of it counts."""
    job, code, tasks = rows.integers("job")[first], rows.integers("task")[first], len(first)
    slots = rows.integers("slots")
    width = np.array(_last_told(slots, slots != NONE, task, tasks, 1))

    def of_slot(name: str) -> Floats:
        values = rows.numbers(name)
        return np.array(_last_told(values, ~np.isnan(values), task, tasks, np.nan)) / width

    every = np.ones(len(task), dtype=np.bool_)
    category = _last_told(rows.integers("category"), every, task, tasks, NONE)
    rows.log.tasks.extend(
        job,
        _indices(rows, job, code, first),
        width,
        of_slot("memory"),
        np.array(category),
        of_slot("cpu"),
        of_slot("gpu") * width,
    )


def _indices(rows: Rows, job: Ints, code: Ints, first: Ints) -> Ints:
    """The tasks' numbers within their jobs: as told, or where some are names, in order of rows."""
    if (code >= 0).all():
        return code
    rows.counts.note("tasks with names: numbered in order of their rows", int((code < 0).sum()))
    order = np.lexsort((first, job))
    begins = np.searchsorted(job[order], np.arange(len(rows.log.jobs)))
    index = np.empty(len(order), dtype=np.int64)
    index[order] = np.arange(len(order)) - begins[job[order]]
    return index


def _add_runs(rows: Rows, times: Times, outcome: Ints, cause: Ints, task: Ints) -> None:
    log: JobLog = rows.log
    submit, start, end = times["submit"], times["start"], times["end"]
    slots = np.maximum(rows.integers("slots"), 1)
    spent = rows.integers("cpu_time").astype(np.float64)
    ran = (start != NONE) & (end > start) & (spent >= 0)
    cpu = np.full(len(task), np.nan)
    cpu[ran] = spent[ran] / (end - start)[ran] / slots[ran]
    code, most = rows.integers("exit_code"), rows.numbers("max_memory") / slots
    log.runs.extend(task, submit, start, end, outcome, cause, code, cpu, np.nan, most)
