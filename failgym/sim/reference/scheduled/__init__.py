"""The scheduled world in slow, plain Python: the definition of its rules, the kernels' oracle.

Here tasks share a cluster: they wait for slots, machines die under them, checkpoints share the
bandwidth of stable storage, and tasks of a workflow need each other's outputs. What is not said
here is as in the pinned world (`failgym.sim.reference`) *after departure*.

Read `records` (what a trace says), `cluster` (machines), `dags` and `lineage` (who needs what, and
where it is), `storage`, `estimates` and `schedulers` (who starts next); then `attempts` (the state
of a task and its attempts), `state`, `life` and `world` (what happens, one small method per rule),
`simulator` (answers in, rewards out) and `observe` (what the agent sees).

Time and order
--------------
Events are ordered by (time, kind, a, b). Kinds, in the order in which they win ties: attempt end,
write durable, restored, transfer end, machine down, machine up, failure detected, grace over, user
kill, start, window, dispatch. (a, b) are trace row and attempt number; the machine, for machines;
(task, 0) for arrivals, grace and user kill; for an owed restart the number of the attempt that it
follows. What cannot happen any more (the end of an attempt that was stopped, a kill of a task that
has settled) is no event: it does not move the clock, nor keep the calendar from being empty.

The rules
---------
1.  *Departed from the start.* A task arrives when it is submitted; its started rows are its pool,
    and the first of them wants to run at once. Clones, retries, restarts and ghosts are as in the
    pinned world; they too want to run, and queue like any other. A user's final kill K is due at
    max(now, K) from the arrival on. A task without a row to run is in no episode.
2.  *Latent rows.* The simulated cluster makes its own evictions, losses and requeues. A row that
    they ended (outcome EVICT or LOST; cause machine, preemption or requeue; walltime too, with
    ``walltime_kill``) FINISHes instead, after the length given; else after the duration, drawn once
    and keyed, of a finished attempt of the trace with the same job name that was longer than it;
    else of one of the same task class; else after the pinned world's L.
3.  *Rows that never started* and whose length is known run and FINISH after that length. Unless the
    record finishes their task otherwise, it is not censored, and its recorded outcome is FINISH.
4.  *Machines* have slots (1 if unknown) and a speed. Times of a row, L and d, are divided by the
    slowest speed that the attempt runs at. Where the trace gives compute times of tasks on machines
    the cluster consists of the machines named, L is the longest of the times on the attempt's
    machines, a failing attempt fails after the same share of it, and other ends are not scaled.
5.  *Placing.* A task that fits into the largest machine needs one machine with room for all of it,
    and takes the first such. A wider one is a gang: if all free slots suffice it takes them machine
    by machine, in order. Slots are free again when the attempt ends.
6.  *Outages.* When a machine goes down its attempts end as LOST, and so do attempts elsewhere that
    still transfer an input from it. After ``detection_delay`` the cluster notices, and they want to
    run again. With ``replace`` the machine is back, empty, after that delay (1 ms at least). A
    machine that is down when the episode begins has nothing to lose.
7.  *Queue.* An attempt joins it at the tail. After something joined or left it otherwise than by a
    start, an attempt or a write of an output ended, or a machine went down or up, one pass of the
    scheduler is due at that time. ``fifo``: the head starts as long as it fits. Who cannot reach
    an input is passed over.
8.  ``priority``: the same in order of the job's priority (0 to 31). With ``preemption``, for a head
    that does not fit, running attempts of lower priority are gone through, of lowest priority and
    latest start first (then of last task and number), until without them there would be room: on
    one machine (of several, the first), for a gang on all together. Of these, from the last
    backwards, each stays without which there would be room all the same; the others are evicted,
    and want to run again at once. If there never would be room, nobody is.
9.  ``easy_backfill``: heads start as long as they fit. The first that does not gets a reservation
    at the first estimated end by which there would be room for it, every attempt that is expected
    to end at that very time gone as well: there of the first machine that would have room, for a
    gang of all. What is free of it then beyond the head's width is extra. Others may start if they
    fit. Who is expected to end by then may use any slot; who is not, none that is kept for the
    head: of what is reserved it takes extra slots alone, and leaves fewer of these. If no end makes
    room nothing is reserved. A run time is estimated when the attempt joins the queue: by the
    walltime requested, by what the attempts of the same user that ended last took (the last one;
    average, lower median, or the most similar of ``history``; Kumar et al. 2020), or by the truth.
    Estimates are capped by the request. One that has proved too small is replaced by the request,
    or, without one, raised in steps (Tsafrir, Etsion and Feitelson 2007).
10. ``rank_hybd`` (Yu and Shi 2008): if all that waits is of one job, by upward rank descending,
    else ascending (with ``rank_by="arrival"``: as it stands in the queue), each attempt goes to the
    free machine on which it would finish first. With ``place`` every such machine is asked as
    DISPATCH: CONTINUE takes it, RETRY asks for the next; who refuses all is held until the next
    pass. If nothing else can happen the first attempt held that has a machine is placed unasked.
11. *Walltime.* With ``walltime_kill`` an attempt that would run longer than its job requested is
    killed then (KILL); the cluster does not restart it.
12. *Requeue.* An attempt that died with a machine or was pre-empted did not fail: the same row,
    under the same number, wants to run again, from the task's best checkpoint, unless the agent
    gave up. That owes no other restart and counts against nothing. Its age, by which a forecast
    may be read, begins anew; it is 0 while an attempt waits.
13. *Checkpoints* take ``checkpoint_cost`` of writing at full speed. ``storage_streams`` writes have
    full speed; more share that evenly. Work stops until the checkpoint is durable.
14. *Outputs* are written the same way, at ``storage_bandwidth``; the task keeps its slots until its
    output is durable. If its machine dies before, the write is lost.
15. *A start.* First the inputs are transferred from other machines (all at once, so as long as the
    longest takes), then a checkpoint is restored, then the attempt works.
16. *Stages.* Along a narrow edge a task reads the outputs of the parents that lie where it lies in
    its stage, along a wide one all. An output is in memory on the first machine of the attempt that
    finished the task; outputs that are saved are read from anywhere in no time. Tasks that are not
    in the episode count as saved and as settled.
17. *Inputs.* An attempt that wants to run while an input does not exist is blocked; it joins the
    queue when all exist. With ``outputs="kept"`` an output is unreachable while its machine is
    down, with ``"lost"`` it is lost, and attempts in the queue that need it are blocked. What stood
    in the cluster at the beginning has its inputs with it.
18. *Recomputation.* A lost output is demanded by an attempt that finds it missing when it wants to
    run, and by all that are blocked when a failure is noticed: the finished task runs again from
    scratch, for the length of the row that finished it, and demands what it lacks itself. It cannot
    fail. If a machine kills it, it is demanded anew. With ``unpersist`` what was read along narrow
    edges is in memory no more: a recomputation makes it again first, in its own slots, and takes
    longer by the longest chain of such outputs, back to one that is saved. That work is not an
    output, waits for no inputs, and takes as long as where the outputs were made.
19. *OUTPUT* is asked when a task has finished, first or again, whose output is still read by a task
    that has not settled or that waits to be recomputed. CHECKPOINT writes it.
20. *Settled.* As in the pinned world, where what is blocked, queued, or not yet noticed as lost is
    alive. A task that settles otherwise than by FINISH settles all that need its output, directly
    or not, as KILL. Censored tasks always settle as CENSORED, and are never asked.
21. *Episode.* It begins with the first submission. Standing tasks queue before that: they run for
    a given time and FINISH, unless a machine kills or the scheduler pre-empts them, and then run
    for it again. The episode ends when all of its own tasks have settled; only they are asked and
    charged. If nothing can happen any more those left settle as CENSORED. With ``charge="episode"``
    it ends when all of its tasks have settled, standing ones too, whatever became of its own; all
    are charged at the same prices, and what those that are not its own cost is the term *others*:
    their wasted and overhead, their completion, from submission (of a standing task, from the
    beginning of the episode) to settlement, and what they forfeit. A standing task has no value.
22. *Observed* of other tasks and of the system is what happened in the episode. The system ends an
    attempt by EVICT or LOST, or as its record says, by a FAIL whose cause is not its own. Of an
    offer: what ``rank_hybd`` goes by, which is the time that the task takes on this machine and on
    the next one, and its upward rank; and since when the machine is up, in the whole trace.

The continued record
--------------------
With ``beyond_record="continued"`` rules C1 to C9 of the pinned world (`failgym.sim.reference`) and
its V1 and V2 hold as after departure, but for what K1 to K7 say. They replace what rules 1 to 4 and
18 say of ghosts and of the lengths of rows. So do A1 to A4, but for what K8 says. `fates` says how
records go on here, and `continued` what differs of `world`.

K1. *Rows.* A row that never started and whose length is known (rule 3) counts as a started row of
    that duration which FINISHes: in C2 it is the first success of a task whose record has none, of
    several the one of the lowest number. A *latent* row is one that rule 2 names: what ended it is
    simulated. J, C2's r, and what lies behind a row go by the record all the same: a row that never
    started lies behind none, and a latent row that fails is no failure of the record.
K2. *Latent rows* meet no end from outside. One may have failed by itself later: T_fail is drawn
    from `failure` of the cell for its k by NEXT_FAILURE, n = its number, of the times above its
    duration alone, as C2 says it of work; never if there is none. It is the same law as that of
    drawn attempts, also for a latent row that is its task's first: `failgym.continued.fit` counts
    it of later attempts alone, where it saw enough, as what fails early fails in its first. F is as
    in C3. For the k of later attempts (C4) it fails by itself if T_fail <= F. If it fails in the
    episode that is one of the intrinsic failures that C8 counts, as of any attempt.
K3. *Outside.* Drawn attempts meet no T_ext: the simulated cluster makes evictions, losses and
    requeues, and they owe no restart and count for nothing in C8 (rule 12). An attempt that is
    requeued meets the same fate anew, under the same number, and whoever started it did. Other
    recorded rows that were ended from outside keep T_ext = d, counted from when the attempt starts
    to run anew. Nor does a kill at the walltime (rule 11) make the cluster decline. The cluster
    itself starts the first attempt of a task. A standing task has no continued record: it does what
    rule 21 says.
K4. *Machines.* At the slowest speed v that the attempt runs at it takes F / v for all of W, T_fail
    / v and T_ext / v for these, each rounded; what is rounded to 0 takes no time. The pace is W
    over that F / v, or v if W is never. Where the trace gives compute times, M being the longest of
    those on the attempt's machines, they are M x F / W, M x T_fail / W and T_ext, W being at least
    1 here; if W is never, T_fail stays as it is, and the pace is 1. What is never stays so. The
    position of a failure is of the task, not the machine: w = floor(T_fail x (W / F)), by the times
    before division, by which C4 and K2 count failures, too. C6 tells by the times on the machine
    what comes first: if these are equal, so are the ends. Without compute times a row that FINISHes
    takes d / v unless it resumes (C6), though F is at least 1.
K5. *A recomputation* takes as long as the attempt that finished the task would from scratch, where
    the recomputation runs. It meets nothing else.
K6. *The truth*, where rule 9 estimates by it, is the time from the start to the end that an attempt
    would meet undisturbed from what it resumes from, on a machine of speed 1, whatever compute
    times are given: its restore and T_ext included, but no transfer; of a recomputation, what K5
    says alone. Where only its user ends it, and of a row that its user ended (USER) at the latest,
    that is at K, as if it started when the estimate is made.
K7. *Placing.* Rules 10 and 22 take for the time of a task, where no compute times are given, F of
    its first row on that machine; its duration, if F is never.
K8. *Alarms* of a drawn attempt follow what it would meet from the start on a machine of speed 1,
    wherever it runs: T_fail if T_fail <= F, which ends badly, else F (K3: nothing from outside). So
    are false ones (A3) of failures by itself alone, as without ``outside``. A recomputation of one
    raises none (K5). A row, latent or not, looks as the forecast says of its record, held beyond
    its end: that a latent row fails later is not foretold.

Accounts
--------
As in the pinned world. Transfers go to *transfer*; slots held to write an output, when that is
over, to *checkpoint*; what a machine or a pre-emption ended to *lost* (to *ghost* of a ghost and of
a drawn attempt), and a recomputation to *lost* with all that it took.

The cost of the episode is the sum of those of its own tasks or, where completion is that of jobs,
of its jobs, each from the submission of its first own task until the last has settled
(``unit_costs``): what a decision about it is credited with. What others wait because of it is
theirs, also where the episode is charged for it.
"""

from failgym.sim.reference.scheduled.schedulers import Query
from failgym.sim.reference.scheduled.simulator import ReferenceScheduledSimulator
from failgym.vocabulary import ScheduledOutcome

__all__ = ["Query", "ReferenceScheduledSimulator", "ScheduledOutcome"]
