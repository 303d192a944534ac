"""The pinned world in slow, plain Python: the definition of its rules, the oracle of the kernels.

Read `record` (what a trace says about a task), then `tasks` (the state of a task and its
attempts), `decisions` (what may be answered), `world` (what happens, one small method per rule),
`player` and `simulator` (answers in, rewards out) and `observe` (what the agent sees). Nothing here
is shared with the compiled engine but keyed randomness, `Rules`, the list of fields, `Forecast` and
`Context`. The scheduled world, in which tasks share machines, is `failgym.sim.reference.scheduled`.

Time and order
--------------
Times are int64 milliseconds; a real-valued duration is rounded half up once, where it arises.
Events are ordered by (time, kind, trace row of the task, sequence). Kinds, in the order in which
they win ties: attempt end, checkpoint durable, restored, grace over, user kill, start, window. The
sequence is the attempt's number, its position among all rows of its task; for a restart, the
number of the attempt that it follows. So of two attempts that end in one millisecond the lower
number goes first, a checkpoint that would be durable in the millisecond of its attempt's end is
lost, and an attempt of zero length ends before its first window. A FAILED decision is asked inside
the end; a decision whose attempt has died is dropped. The pinned world has no machines and no
capacity: tasks do not touch each other.

The rules
---------
1.  *Record and departure.* Until the agent departs from a task everything of it happens as
    recorded: starts, gaps, restarts, overlapping attempts, even runs after a success. CLONE,
    CHECKPOINT, RETRY and KILL at FAILED are departures; CONTINUE and arming a kill are not. At a
    departure what runs, runs on; the recorded starts still to come are void, and their attempts
    form the *pool*, in row order. If the attempt started last has ended without success by then,
    its restart stays owed: it is due at its recorded time, or now if that is past.
2.  *Attempts.* A clone, a retry or a restart runs the first attempt of the pool, with its recorded
    duration and ending. Rows that never started are no attempts. Beyond the record it runs a
    *ghost*: a copy of the last started row, numbered on from the end of the record. With
    ``beyond_record="paper"`` there are none except as clones of an attempt whose row FINISHes;
    a CLONE or RETRY that starts nothing counts against the caps all the same.
3.  *First success wins.* In a departed task its live siblings are cancelled at that instant. In an
    untouched task they run on as recorded, and all their machine-time is redundant.
4.  *External ends* (machine, preemption, shared, requeue, walltime, LOST) of a departed task are
    followed by a restart after the gap recorded behind the row: max(0, start of the next started
    row - end), 0 for the last one. It takes place if, when it is due, nothing of the task is
    alive, the pool holds an attempt and the agent did not give up. It is never a ghost and counts
    against no cap.
5.  *Intrinsic failures* (FAIL with cause intrinsic or dependency) are asked as FAILED. RETRY
    starts the next attempt at once and replaces every restart still owed; KILL gives up: nothing
    more is started, and the task ends with its last live attempt. If a departed task is left to
    the cluster, the cluster restarts it after the gap as long as its intrinsic failures so far,
    recorded ones included, are at most ``restart_limit``; that restart may be a ghost. It is
    dropped if something is alive when it is due.
6.  *Nominal length.* L is the time an attempt would need undisturbed: the trace's ``length`` if it
    has one; else its duration d if it FINISHed; else d / u with u uniform on [2^-20, 1), keyed to
    the attempt. With a given length, u = d / L.
7.  *Checkpoint.* It stops the work of its attempt for ``checkpoint_cost``, is durable at the end
    of the pause, and is lost if the attempt ends before or in that millisecond. It saves the
    fraction min(1, f0 + work / L), f0 being what the attempt resumed from; the task keeps its
    largest durable fraction f, and a smaller or equal one is not kept. A later attempt resumes
    from f, after ``restore_cost`` if f > 0. FINISH and intrinsic failure are keyed to progress:
    they come after max(p - f0, 0) L of work, p = 1 or u. External ends are keyed to time: d after
    the start, pauses and restore included, unless the work is done strictly earlier: then the
    attempt FINISHes. With f0 = 0 the record's d is used as it is. CHECKPOINT is legal when no
    checkpoint or restore runs and work was done since the last checkpoint began.
8.  *Kill after grace.* KILL in a window arms the task: at max(now, first start + grace) everything
    of it ends, in a gap between attempts too, unless it settled before; until then it goes on as
    if nothing had been said. A second KILL ends it now. Grace is the mean of the class grace
    periods weighted by the forecast's confidences (their plain mean if these are all 0), or 0 with
    ``grace=False``.
9.  *User kill.* If the row that ends last, by (end, number), has cause USER and did not end in the
    millisecond of its start, the user kills the task at that time K, whatever the agent did. An
    attempt that replays a row with cause USER that ends at K has no end of its own before K, but
    FINISHes if its work is done strictly before. Other rows with cause USER are requeues.
10. *Censored tasks* (a CENSORED row and no FINISH) are replayed as recorded; nothing is asked about
    them, and they settle as CENSORED. A CENSORED row of a task that FINISHes ends externally. The
    work of an attempt that ended as CENSORED, before its task succeeded, has an unknown fate and
    stays in flight.
11. *Settled.* A task settles at its first FINISH; at a kill by grace or user (KILL); else when
    nothing of it is alive or due, with the outcome of the attempt that ended last. Due are: in an
    untouched task, a recorded start, and the end of a never-started row that ends later than every
    attempt; in a departed task, a restart that could still start something. After that nothing is
    asked.
12. *Decisions.* WINDOW is asked at an attempt's start and then after every ``every`` windows, at
    ages that grow by ``factor``, or in each window whose risk reaches ``alarm``; FAILED after an
    intrinsic failure. A decision is asked only if something but CONTINUE is legal, and asked again
    after an action as long as that holds and, in a window, the attempt lives. Caps: the agent's
    extra attempts (``max_extra``), clones among them (``max_clones``). An illegal action counts as
    CONTINUE.
13. *Forecast.* The risk of an attempt is read after whole windows of its progress, the work that it
    resumed from included; or, with ``forecast_by="age"``, after whole windows of the time since it
    started, pauses and restore included, as external ends are keyed. Beyond its end the last risk
    is held. A prediction changes nothing but grace periods and when ``decide="alarm"`` asks.

Accounts
--------
Machine-milliseconds, elapsed time times the task's width; after every event their sum is the time
that attempts have occupied. What a live attempt has used is in flight. When it ends, pauses go to
*checkpoint*, restores to *restore*, and work to *useful* if it is the task's first success; else
to *redundant* if it was cancelled or the task had already succeeded, to *ghost* if it is a ghost,
and to *lost* otherwise. Saved work of an ended attempt stays in flight until the task settles:
useful if the success resumed from it, directly or through a chain of checkpoints; else where the
attempt's other work went.

Costs
-----
Wasted is lost + redundant + ghost; overhead is checkpoint + restore; completion is the time from
submission to settlement, charged as it passes; forfeited, for a task that the record finishes and
the simulation does not, is the machine-time of its recorded success, and its recorded completion
time again.
"""

from failgym.sim.reference.simulator import ReferenceSimulator

__all__ = ["ReferenceSimulator"]
