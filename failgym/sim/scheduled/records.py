"""The records of the scheduled world, beside those of `failgym.sim.shared.records`.

Times are int64 milliseconds; accounts are machine-milliseconds. -1 stands for none in links and
indices. Episodes are held side by side; kernels work on a `View`, the part of one episode.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.sim.scheduled.queue.estimates import History
from failgym.sim.scheduled.workflow.dags import Dags, DagState
from failgym.sim.shared import records as shared
from failgym.sim.shared.alarm_risks import AlarmTables
from failgym.sim.shared.laws import Laws
from failgym.sim.shared.records import Records

__all__ = [
    "BINS",
    "COUNTED",
    "EPISODE",
    "JOB_STATE",
    "LEVELS",
    "MACHINE",
    "MACHINE_STATE",
    "OUTAGE",
    "PARAMETERS",
    "PLACEMENT",
    "QUERY",
    "RUN",
    "TASK",
    "TASK_STATE",
    "WRITE",
    "Part",
    "RunState",
    "Short",
    "State",
    "View",
    "World",
]

LEVELS = 32
"""Priorities of jobs that the queue tells apart: 0 to 31."""
BINS = 25
"""Bins of the system counters: the present one and two hours of whole ones of 5 minutes."""


COUNTED = 5
"""Kinds of system counters."""


class RunState(IntEnum):
    """What a record of a run is used for."""

    FREE = 0
    BLOCKED = 1
    """it waits for inputs"""
    QUEUED = 2
    RUNNING = 3
    WRITING = 4
    """its work is done, it holds its slots until its output is written"""
    DUE = 5
    """killed by a machine, which the cluster has not noticed"""
    ENDED = 6
    """over, but its saved work or an open decision still needs the record"""


class Short(IntEnum):
    """What there is too little room for, where an episode is full."""

    RUNS = 0
    EVENTS = 1
    LOG = 2
    QUERIES = 3
    SLICE = 4
    """a slice that it is to begin"""


class Part(IntEnum):
    """An array that every episode has of its own, see `failgym.sim.scheduled.memory.rooms`."""

    TASKS = 0
    RUNS = 1
    HEAP = 2
    LOG = 3
    PLACEMENTS = 4
    JOBS = 5
    WRITES = 6
    DURATIONS = 7
    QUERIES = 8
    RANKED = 9
    PICKED = 10
    LIVE = 11
    DAG_TASKS = 12
    STAGES = 13
    HELD = 14
    LOCAL_OF = 15
    LISTED = 16
    WRITTEN = 17


def _more(base: np.dtype[np.void], **fields: str) -> np.dtype[np.void]:
    """A record with further fields; these come first, or numba would take it for its base."""
    return np.dtype([*fields.items(), *((n, base[n]) for n in base.names or ())], align=True)


PARAMETERS = _more(
    shared.PARAMETERS,
    scheduler="i1",  # 0 fifo, 1 priority, 2 easy_backfill, 3 rank_hybd
    preemption="?",
    estimator="i1",  # index in rules.ESTIMATORS
    history="i4",
    correction="?",
    walltime_kill="?",
    place="?",
    by_arrival="?",  # rank_by="arrival"
    save_outputs="?",
    outputs_lost="?",
    unpersist="?",
    by_job="?",  # completion="jobs"
    others="?",  # charge="episode"
    transfers="?",  # transfer_bandwidth > 0
    gangs="?",  # is a task wider than the largest machine?
    stages="?",  # has a task a stage?
    streams="i8",
    detection_delay="i8",
    machines="i4",
    slots="i8",  # of the whole cluster
    largest="i8",  # slots of the largest machine
    users="i8",  # of the trace
    most_walltime="i8",  # largest requested walltime of the trace [ms], 0 if none
    widest="i8",  # largest width of a task of the trace
)

TASK = _more(
    shared.TASK,
    job="i8",
    job_submit="i8",
    background="?",  # left out by the scenario: never own
    priority="i4",  # of the job, 0 to 31
    user="i8",  # number of the user, -1 unknown
    name="i8",  # number of the job's name, -1 unknown
    queue="i8",  # number of the job's queue, -1 unknown
    stage="i8",  # in Dags, -1 none
    output="i8",  # bytes
    write="i8",  # time to write the output alone [ms]
)

MACHINE = np.dtype(
    [("slots", "i8"), ("speed", "f8"), ("outage_at", "i8"), ("outages", "i8")], align=True
)
"""A machine of the cluster; its outages are World.outages[outage_at:outage_at + outages]."""
OUTAGE = np.dtype([("down", "i8"), ("up", "i8"), ("machine", "i8")], align=True)
"""Outages by (machine, down) in World.outages, by (down, machine) in World.outages_in_time."""

EPISODE = _more(
    shared.EPISODE,
    first_row="i8",  # smallest trace row of its tasks
    last_row="i8",
    prepared="i4",  # locals 0 .. prepared - 1 have their states, the others are as at the beginning
    own="i4",  # tasks that are asked and charged
    own_left="i4",  # of them not settled
    left="i4",  # tasks not settled
    beginning="i8",  # when it began
    standing="i4",  # locals 0 .. standing - 1 stand at the start
    jobs="i4",
    jobs_queued="i4",  # jobs with attempts in the queue
    arrival="i4",  # next local to arrive
    charged="i4",  # next local, or job, whose submission counts for the completion time
    others_wasted="i8",  # of tasks that are not its own: lost, redundant and ghost work
    others_overhead="i8",  # checkpoints and restores
    others_waiting="i8",  # as waiting, waiting_submit and completed; 0 unless they are charged
    others_waiting_submit="i8",
    others_completed="i8",
    others_forfeited_work="i8",
    others_forfeited_time="i8",
    outage="i8",  # next one in World.outages_in_time
    pass_due="?",
    passes="i8",
    searches="i8",  # for room, if some attempts were gone, so far
    offered="i4",  # machine on offer, -1 none
    offers="i4",  # machines refused for the task in this pass
    free="i8",  # free slots of up machines
    down="i4",  # machines that are down
    alive="i4",  # records of runs in use
    running="i4",  # live runs
    queued="i4",  # length of the queue
    joined="i8",  # joins so far: order of the queue
    free_run="i4",  # head of the list of records of runs that are free again
    placements="i4",  # records that have been used
    free_placement="i4",  # head of the list of those that are free again
    writes="i4",  # under way
    service="i8",  # V of the storage [1/1024 ms]
    service_at="i8",  # when V was last worked out
    write_stamp="i4",
    write_due="i8",  # time of the DURABLE event on the calendar, else NEVER
    full="i1",  # 0, or where to go on once the arrays have grown
    short="i1",  # then: of what there is too little room (Short)
    since="i8",  # time of the decision before
    queries="i4",
    transfer="i8",
    slot_time="i8",  # of the attempts and writes that are over, of all tasks [machine-ms]
    bin="i8",  # present bin of the counters
    arrival_rate="f4",  # as the observation shows them, from the whole bins
    throughput="f4",
    arrival_change="f4",
    throughput_change="f4",
    failure_rate="f4",
    interruptions="i8",  # ends by the system in the whole bins of the last hour
    interrupted="i8",  # when the system last ended an attempt, before that the beginning
)

TASK_STATE = _more(
    shared.TASK_STATE,
    own="?",  # asked and charged
    asked="?",  # own and of known fate
    failed="?",  # had an END FAIL
    job="i4",  # in View.jobs
    remaining="i8",  # of a standing task, else -1
    queued="i4",  # attempts in the queue
    blocked="i4",  # attempts that wait for inputs
    due="i4",  # attempts killed by a machine, not yet noticed
    first_start="i8",  # NEVER until it has started
    waited="i8",
    evictions="i4",
    outages="i4",
    loss="i8",
    recomputations="i4",
    output_saved="?",
    transfer="i8",
    last_ending="i1",  # 0 none or other, 1 intrinsic, 2 external
    most_durable="i8",  # largest durable work, of the chain and own [ms]
)

RUN = _more(
    shared.RUN,
    state="i1",  # RunState
    recomputes="?",
    width="i8",
    stamp="i4",  # generation of this record: events of an older one are void
    length="i8",  # L' on its machines
    duration="i8",  # d' on its machines
    wall="i8",  # when its walltime is over, else NEVER
    own="i8",  # when it would end but for its walltime
    called="i8",  # time of the next END of it on the calendar, else NEVER
    transferred="i8",  # when its transfers end
    machine="i4",  # first machine
    placements="i4",  # first placement
    queued_at="i8",
    joined="i8",  # order of joining the queue
    estimate="i8",
    expected="i8",  # estimated end, while it holds slots
    queue_next="i4",  # in the queue, or (DUE) among those that the same machine killed
    queue_before="i4",
    rank_at="i4",  # place in the queue by rank, see ranking.py
    level="i1",  # priority of its job
    level_next="i4",  # running runs of one priority, latest start first
    level_before="i4",
    killed_by="i4",  # machine that killed it (DUE)
    previous="i4",  # run before this one in the list of the task
    write="i4",  # in View.writes, else -1
    writes_from="i8",  # when the write of its output began
)

PLACEMENT = np.dtype(
    [
        ("run", "i4"),
        ("machine", "i4"),
        ("next", "i4"),
        ("on_next", "i4"),
        ("on_before", "i4"),
        ("slots", "i8"),
    ],
    align=True,
)
"""Slots of a run on a machine: `next` of the same run, `on_*` others on the same machine."""

MACHINE_STATE = np.dtype(
    [
        ("free", "i8"),
        ("room", "i8"),
        ("search", "i8"),
        ("down", "?"),
        ("placements", "i4"),
        ("due", "i4"),
    ],
    align=True,
)
"""free: were it up; room: free but for the runs that search number ``search`` has come across;
due: the first of the runs that it killed and nobody has noticed."""

JOB_STATE = np.dtype(
    [
        ("own", "i4"),
        ("own_left", "i4"),
        ("submit", "i8"),  # first own submit
        ("failed", "i4"),  # tasks with an END FAIL
        ("finished", "i4"),  # tasks settled FINISH
        ("queued", "i4"),  # attempts in the queue
        ("at", "i4"),  # its run times in View.durations
        ("tasks", "i4"),
        ("low", "i4"),  # of them in the lower half, see quantiles.py
        ("end", "i8"),  # when the last of its own tasks settled, -1 until then
        ("wasted", "i8"),  # lost, redundant and ghost work of its own tasks
        ("overhead", "i8"),  # of checkpoints and restores
        ("forfeited_work", "i8"),
        ("forfeited_time", "i8"),
    ],
    align=True,
)
"""A job of the episode."""

WRITE = np.dtype([("target", "i8"), ("key", "i8"), ("began", "i8"), ("run", "i4")], align=True)
"""A write to stable storage; key = (trace row << 24) | number."""

QUERY = np.dtype(
    [
        ("event", "i8"),
        ("job", "i8"),
        ("machine", "i8"),
        ("asked", "?"),
        ("answered", "?"),
        ("fails", "?"),
    ],
    align=True,
)


class World(NamedTuple):
    """A compiled scheduled world: what kernels read and never change."""

    parameters: Records
    """PARAMETERS [1]"""
    tasks: Records
    """TASK [tasks of the trace]"""
    rows: Records
    """ROW [attempts to run]"""
    members: npt.NDArray[np.int64]
    """trace rows of the tasks of episode i at ``member_at[i]:member_at[i + 1]``: those that stand
    at its beginning, then the others in order of submission"""
    member_at: npt.NDArray[np.int64]
    """[slices + 1]"""
    member_own: npt.NDArray[np.bool_]
    """are they asked and charged?"""
    member_remaining: npt.NDArray[np.int64]
    """remaining run time of those that stand [ms], else -1"""
    member_job: npt.NDArray[np.int32]
    """number of the job within the episode; jobs by first own submission"""
    member_by_row: npt.NDArray[np.int32]
    """positions in the episode in order of trace row"""
    machines: Records
    """MACHINE [machines of the cluster]"""
    machine_rows: npt.NDArray[np.int64]
    """[machines] their trace rows"""
    outages: Records
    """OUTAGE by (machine, down)"""
    outages_in_time: Records
    """OUTAGE by (down, machine)"""
    node_offset: npt.NDArray[np.int64]
    """see `rules.NodePredictions`"""
    node_time: npt.NDArray[np.int64]
    dags: Dags
    risk: npt.NDArray[np.float32]
    usage: npt.NDArray[np.float32]
    usage_known: npt.NDArray[np.int64]
    request: npt.NDArray[np.float32]
    expectations: npt.NDArray[np.float64]
    lazy: npt.NDArray[np.float64]
    beyond: Records
    """CONTINUED [tasks]; [0] unless the record is continued"""
    laws: Laws
    """from which its attempts are drawn"""
    alarms: AlarmTables
    """from which their alarms are drawn"""
    fails: npt.NDArray[np.float64]
    """[attempts to run] T_fail of the rows [ms]; [0] unless the record is continued"""


class State(NamedTuple):
    """The state of N episodes, but for what `failgym.sim.scheduled.memory.rooms` holds."""

    episodes: Records
    """EPISODE [N]"""
    places: npt.NDArray[np.int64]
    """[N, parts, 2] address and length of the arrays that an episode has of its own"""
    needs: npt.NDArray[np.int64]
    """[slices, parts] lengths that an episode on a slice begins with"""
    most: npt.NDArray[np.int64]
    """[slices] a longer array of tasks is given back before an episode begins on a slice"""
    shared: npt.NDArray[np.bool_]
    """[slices] is the first decision on it shared (`failgym.sim.scheduled.memory.snapshots`)?"""
    machines: Records
    """MACHINE_STATE [N, machines]"""
    tree: npt.NDArray[np.int64]
    """[N, 2 x leaves] most free slots of an up machine below each node; node 1 is the root"""
    queues: npt.NDArray[np.int32]
    """[N, LEVELS, 2] head and tail of the queue of each priority (level 0 but for priority)"""
    levels: npt.NDArray[np.int32]
    """[N, LEVELS] head of the running runs of each priority (with preemption)"""
    counters: npt.NDArray[np.int64]
    """[N, BINS, COUNTED] joins of the queue, finished, failed, ended, ended by the system, in bins
    of 5 minutes"""
    dags: Records
    """DAG_EPISODE [N]"""
    finish: npt.NDArray[np.int64]
    """[N, machines] see `DagState`"""
    history: History


class View(NamedTuple):
    """One episode: its part of a `State`, and its own arrays."""

    ep: Any
    places: npt.NDArray[np.int64]
    needs: npt.NDArray[np.int64]
    most: npt.NDArray[np.int64]
    shared: npt.NDArray[np.bool_]
    tasks: Records
    """TASK_STATE [tasks]"""
    runs: Records
    """RUN [capacity], grows"""
    heap: Records
    """EVENT [capacity], grows"""
    log: Records
    """LOG [capacity], grows; of capacity 0 where no log is kept"""
    machines: Records
    tree: npt.NDArray[np.int64]
    placements: Records
    """PLACEMENT [capacity], grows"""
    queues: npt.NDArray[np.int32]
    levels: npt.NDArray[np.int32]
    jobs: Records
    """JOB_STATE [jobs]"""
    writes: Records
    """WRITE [capacity of runs], a heap"""
    counters: npt.NDArray[np.int64]
    durations: npt.NDArray[np.int64]
    """[tasks] run times of finished tasks by job"""
    queries: Records
    """QUERY [capacity], grows; of capacity 0 where no log is kept"""
    ranked: npt.NDArray[np.int64]
    """[capacity of runs] the queue by rank, see ranking.py"""
    picked: npt.NDArray[np.int32]
    """[capacity of runs] runs that an event ends or starts"""
    dag: DagState
    history: History
    live: Records
    """LIVE [capacity of runs] attempts that hold slots, by (estimated end, task, number); grows"""
