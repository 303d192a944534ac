"""The records that the engines of all worlds share."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.vocabulary import TERMS

__all__ = [
    "EPISODE",
    "EVENT",
    "PARAMETERS",
    "ROW",
    "RUN",
    "TASK",
    "TASK_STATE",
    "Output",
    "Records",
]

Records = Any
"""A structured numpy array; the attributes of its records are beyond the type checker."""


def record_type(**fields: str) -> np.dtype[np.void]:
    """A record of fields, aligned as in C."""
    return np.dtype(list(fields.items()), align=True)


PARAMETERS = record_type(
    clone="?",
    checkpoint="?",
    kill="?",
    give_up="?",
    retry="?",
    paper="?",
    by_age="?",  # forecast_by="age"
    continued="?",  # beyond_record="continued"
    by_record="?",  # restarts="record"
    spacing="i1",  # 0 every, 1 geometric, 2 alarm
    max_extra="i4",
    max_clones="i4",
    restart_limit="i4",
    drawn="i4",  # D: attempts by which each task is continued beyond its record
    every="i8",
    factor="f8",
    alarm="f4",
    window="i8",
    checkpoint_cost="i8",
    restore_cost="i8",
    young="f8",  # Young's interval [ms]
    checkpoint_minutes="f4",  # checkpoint_cost as the observation shows it
    restore_minutes="f4",
    mtbf_minutes="f4",
    wasted="f8",  # cost of one machine-ms of lost, redundant or ghost work
    overhead="f8",  # cost of one machine-ms of checkpoint or restore
    completion="f8",  # cost of one ms of completion time
    forfeited_work="f8",  # cost of one machine-ms of forfeited work
    forfeited_time="f8",  # cost of one ms of forfeited completion time
)
"""The numbers of `Rules` and `Weights` that kernels read; one row."""

TASK = record_type(
    submit="i8",
    first_start="i8",
    kill_at="i8",  # the user's final kill, else NEVER
    pending_end="i8",  # end of the never-started row that ends last, else -1
    pending_number="i4",
    pending_outcome="i1",
    censored="?",
    record_outcome="i1",
    record_end="i8",
    record_work="i8",  # machine-time of the first FINISH row, 0 if none
    forfeits="?",  # is something forfeited unless it finishes?
    forfeit_work="i8",  # what: machine-ms
    forfeit_time="i8",  # and ms of completion time
    rows_at="i8",  # first started row in World.rows
    rows="i4",  # started rows
    numbers="i4",  # rows of the record, never-started ones included
    width="i8",
    grace="i8",
    grace_minutes="f4",  # grace as the observation shows it
    walltime="i8",  # requested, else 0
    kind="i1",  # class of the expectation tables
    job_width="i8",
    own_finish="i8",  # recorded first FINISH, else NEVER
    own_duration="i8",  # duration of that attempt
    own_fail="i8",  # recorded first FAIL, else NEVER
    finish_at="i8",  # the job's first FINISHes in World.finish_*
    finishes="i4",
    fail_at="i8",  # the job's first FAILs in World.fail_end
    fails="i4",
    confidence="4f4",
    job_confidence="f4",
)
"""The record of a task; one row per task of the trace."""

ROW = record_type(
    start="i8",
    duration="i8",
    fraction="f8",  # u: share of the length at which a failure strikes, 1 for FINISH
    length="i8",  # undisturbed length [ms]: L, or F where the record is continued
    gap="i8",  # to the start of the next started row [ms]; of that behind it, or -1, where the
    # record is continued
    number="i4",
    ending="i1",
    outcome="i1",
    past="i1",  # where the record is continued: intrinsic failures before it, at most COUNTS - 1
    ends="?",  # there, of row j - 1 of a task: does no row lie behind its j-th intrinsic failure?
    risk_at="i8",
    risks="i4",
    usage_at="i8",
    usages="i4",
)
"""A recorded attempt that started; rows of a task lie together, in row order."""

EPISODE = record_type(
    key="u8",  # of the draws of slices
    count="i8",  # episodes drawn so far
    slice="i8",
    at="i8",  # first task of the slice in World.order
    tasks="i4",
    merged="?",  # order="time"
    done="?",
    cursor="i4",  # task in service (order="task")
    now="i8",
    events="i4",
    runs="i4",
    logged="i4",
    decision="i1",
    local="i4",  # task of the decision, as position in the slice
    run="i4",  # attempt of the decision
    taken="i4",  # actions taken in the decision
    retried="?",
    mask="u1",  # legal actions, a bit each
    decisions="i8",
    illegal="i8",
    arrived="i4",
    waiting="i8",  # submitted tasks not settled
    waiting_submit="i8",  # sum of their submit times
    completed="i8",  # completion time of the settled tasks
    useful="i8",
    lost="i8",
    redundant="i8",
    ghost="i8",
    checkpoint="i8",
    restore="i8",
    forfeited_work="i8",
    forfeited_time="i8",
    forfeited="i4",
    cost=f"{len(TERMS)}f8",  # cumulative, by term
)
"""One episode."""

TASK_STATE = record_type(
    task="i8",
    next="i4",  # next unstarted row
    live="i4",
    first_run="i4",
    last_run="i4",
    ended="i4",  # run that ended last
    departed="?",
    settled="?",
    given_up="?",
    armed="?",
    killed="?",
    pending="?",
    declined="?",  # the cluster restarts it no more
    last_outcome="i1",
    outcome="i1",
    own_failures="i4",  # j: intrinsic failures of attempts that the cluster started
    end="i8",
    ghosts="i4",  # attempts beyond the record that have started
    extra="i4",
    clones="i4",
    retries="i4",
    checkpoints="i4",
    failures="i4",
    attempts="i4",
    decisions="i4",
    owed_external="i4",
    owed_failure="i4",
    stamp="i4",  # restarts owed under an older stamp are void
    flagged="f4",
    durable="f8",  # f: largest durable fraction; s [ms] where the record is continued
    durable_work="i8",  # work that it holds [ms]
    best_run="i4",
    drawn_failures="i4",  # intrinsic failures among the fates of the drawn attempts that started
    best_amount="i8",  # own work of best_run in it [ms]
    saved="3i8",  # saved work of ended runs by the class it falls to: lost, redundant, ghost
    unknown="i8",  # work of attempts that the end of the data cut
    useful="i8",
    lost="i8",
    redundant="i8",
    ghost="i8",
    checkpoint="i8",
    restore="i8",
)
"""What has become of a task of the slice."""

RUN = record_type(
    row="i8",  # in World.rows
    local="i4",  # its task, as position in the slice
    number="i4",
    before="i4",  # attempts of the task started before it
    next="i4",  # run of the same task created after this one
    ghost="?",
    alive="?",
    kind="i1",  # class that its work falls to once it has ended: 0 lost, 1 redundant, 2 ghost
    outcome="i1",
    inner="i1",  # what ends it when its work is done: FINISH or INTRINSIC
    outer="i1",  # what else may end it, at `ext`
    past="i1",  # as in ROW
    by_cluster="?",  # started by the record or by a restart, not by the agent
    window="i8",  # index of its next WINDOW
    end="i8",  # when it ends by itself, NEVER if the user's kill takes it
    start="i8",
    ended="i8",
    f0="f8",  # what it resumed from: a fraction, or ms of its task's work
    pace="f8",  # where the record is continued: ms of its task's work that it does in a ms
    fin="i8",  # when its work is done
    ext="i8",  # when it is ended from outside
    restored="i8",  # when the restore ends
    pause_from="i8",
    pause_until="i8",
    paused="i8",  # time in checkpoints that became durable
    checkpoint_work="i8",  # own work at the start of the last checkpoint
    durable_work="i8",  # own work in the last durable checkpoint
    saved="i8",  # own work in the task's checkpoint
    parent="i4",
    parent_amount="i8",
    chain="i8",  # work that it resumed from [ms]
)
"""An attempt that the engine started."""

EVENT = record_type(time="i8", key="i8", local="i4", run="i4", stamp="i4")
"""An event of the heap; key = (kind, trace row of the task, sequence), see `events.sort_key`."""


class Output(NamedTuple):
    """What a step of N episodes gives back."""

    obs: npt.NDArray[np.float32]
    """[N, fields]"""
    mask: npt.NDArray[np.int8]
    """[N, 5]"""
    reward: npt.NDArray[np.float64]
    """[N]"""
    terms: npt.NDArray[np.float64]
    """[N, 5] the reward by term, in the order of `failgym.vocabulary.TERMS`"""
    terminated: npt.NDArray[np.bool_]
    """[N]"""
    elapsed: npt.NDArray[np.int64]
    """[N] simulated time since the last decision [ms], 0 across tasks served one after the other"""
    task: npt.NDArray[np.int64]
    """[N] trace row of the task of the decision, -1 after the end"""
    slice: npt.NDArray[np.int64]
    """[N]"""
    illegal: npt.NDArray[np.int64]
    """[N] illegal actions of the episode so far"""
    unit: npt.NDArray[np.int64]
    """[N] scheduled world: number within its episode of what the decision is credited to, a task or
    a job (`failgym.sim.scheduled.units`), -1 after the end; always -1 in the pinned world"""
    unit_cost: npt.NDArray[np.float64]
    """[N] its cost up to now, 0 after the end"""
    final: Records
    """EPISODE [N]: the episode that ended in this step, where one did"""
    final_terms: npt.NDArray[np.float64]
    """[N, 5] the terms of that step, where the next episode has begun"""
    final_elapsed: npt.NDArray[np.int64]
    """[N] its elapsed time"""
    final_unit_costs: npt.NDArray[np.float64]
    """[N, units of the largest episode] the costs of the units of the episode that ended in this
    step, where one did; [N, 0] in the pinned world"""
