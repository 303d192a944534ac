"""The pinned world in slow, plain Python: the definition of its rules, the oracle of the kernels.

Read `record` (what a trace says about a task), then `tasks` (the state of a task and its attempts),
`decisions` (what may be answered), `world` (what happens, one small method per rule), `player` and
`simulator` (answers in, rewards out) and `observe` (what the agent sees). Nothing here is shared
with the compiled engine but keyed randomness, `Rules`, the list of fields, `Forecast` and
`Context`. Where records are continued, `fates` says how, and `continued` what differs of `world`;
they also share `Continuation`. The scheduled world, in which tasks share machines, is
`failgym.sim.reference.scheduled`.

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
    its restart stays owed: it is due at its recorded time, or now if that is past. A task is
    submitted when its first row was queued, else when that started, else with its job; but no later
    than any of its rows started.
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
9.  *User kill.* If the row that ends last, by (end, number), has cause USER and no row of the task
    starts in that millisecond, the user kills the task at that time K, whatever the agent did. An
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

The continued record
--------------------
With ``beyond_record="continued"`` there are no ghosts. Rules C1 to C9 replace rule 6, and what
rules 2, 4, 5, 7 and 9 say of ghosts, restarts, progress and ends. Their laws are in a
`failgym.sim.shared.continuation.Continuation`. "Draw x from law l of cell c by P" means: x is the
first value of the cell whose share is above u = uniform(seed, key, n, Purpose.P), where key is the
task's, and n is stated; it is never (infinite) if there is none. Halves are rounded up.

C1. *One fate.* A task's record goes on behind its last row with D = ``max_extra`` +
    ``spare_attempts`` *drawn* attempts, numbered on from the number of its rows. What each would
    meet is fixed by seed, task and number before anybody acts: C2 to C5 depend neither on who
    starts it nor when. The pool of a departed task holds the recorded rows not yet started, then
    the drawn attempts. A censored task has none, and neither has one without a started row.
C2. *Work.* W of a task is never, if its record holds no FINISH and ends with the user's final kill
    (rule 9): nobody knows how much there was to do. Else it is the length that the trace states
    for the row of the first success, by (end, number), or where none FINISHes for the first
    started row that has one stated; else the duration of the first success; else it is drawn from
    `work` by WORK, n = 0, of the cell for as many failures as the record holds intrinsic ones
    (J, counted over started rows), of the times above r alone, the longest duration of a started
    row that did not fail by itself (0 without): by h + (1 - h) u in place of u, where h is the
    share of the last value that is at most r (0 without). If no time is above r, W = r + 1.
C3. *Speed.* F is the time in which an attempt would do all of W, undisturbed. Of a recorded row it
    is its duration d if it FINISHed, else the length stated for it, else W. A row that did not
    FINISH though d >= F was slow: F = d / u rounded, u = (1 + uniform(seed, key, number, SLOW_ROW))
    / 2. Of a drawn attempt F = W x `slow` x chance, multiplied in this order, rounded; chance is
    drawn from `chance` of the task's `chance_cell` by NEXT_CHANCE, n = number; 1 if that cell is -1
    or nothing is drawn. F is at least 1, and of a drawn attempt at most `LONGEST_FATE`. If W is
    never, so is F. The pace p of an attempt is W / F, 1 if W is never: after t ms of work it has
    done floor(t x p) of W, and to do x of W takes x / p rounded, 0 for x = 0.
C4. *Fates.* k of an attempt, recorded or drawn, is the number of intrinsic failures among the
    fates of all lower-numbered attempts: started rows as recorded, drawn ones as they would fare
    from the start (s = 0) undisturbed. A drawn attempt fails by itself (FAIL) when it has worked
    T_fail, drawn from `failure` by NEXT_FAILURE, and is ended from outside (EVICT) T_ext after its
    start, drawn from `external` by NEXT_EXTERNAL, both of the cell for k, n = number. From the
    start it meets the earliest of T_fail, T_ext, F; at equal times failure, then external, then
    FINISH.
C5. *Recorded rows* have T_fail = d if they failed by themselves (INTRINSIC), T_ext = d if they
    ended externally, and F as above.
C6. *Position.* An attempt resumes from s, what the task's checkpoints hold of W (0 without). A
    failure by itself lies at the position w = floor(T_fail x p). It comes when w - s is done, if s
    < w; else it was no matter of position, and comes when the attempt has worked T_fail. FINISH
    comes when W - s is done. For s = 0 these are T_fail and F themselves. If both come after
    equally much work the attempt fails. The end from outside comes T_ext after the start, pauses
    and restore included: at equal times failure comes before it, and it before FINISH. A recorded
    row that neither resumed (s = 0) nor paused ends as recorded, d after its start, whatever else
    is said here. But a row that the user's final kill ended (USER) has no end of its own before K
    but FINISH, as in rule 9, and if W is never not even that. CENSORED rows end as recorded.
C7. *Checkpoint.* It saves min(W, s + what the attempt has done of W when it begins), and the task
    keeps the largest; a smaller or equal one is not kept. All else is as in rule 7. Accounts,
    observations and forecasts count milliseconds worked, never W: the durable work of a task is
    that of the chain of checkpoints behind the one it keeps.
C8. *Patience.* After every intrinsic failure and every external end of an attempt of a departed
    task the cluster restarts the task after a gap, unless RETRY has replaced that, the agent gave
    up, or the cluster has *declined*. It declines, for good, at the end of an attempt that it
    started itself, by the record (in an untouched task too) or by a restart; never at the end of
    the agent's clones and retries. After an intrinsic failure, the j-th of attempts that it
    started, it declines with ``restarts="record"``, for j <= J, if no row lies behind the j-th
    intrinsic failure of the record, by (end, number); for j > J, if uniform(seed, key, j, GIVES_UP)
    < `gives_up` of the cell for j - 1; with ``restarts="limit"``, if j > ``restart_limit``. After
    an external end, whatever ``restarts`` says, it declines, of a recorded row, if no row lies
    behind it; of a drawn attempt, if uniform(seed, key, number, NEXT_RESTART) < `ends_external` of
    the cell for its k. A row lies behind another if it started, not before the other's end, and has
    a larger number. RETRY changes nothing of whether the cluster declines. A restart takes place
    if, when it is due, nothing of the task is alive, the pool is not empty, the agent did not give
    up and the cluster has not declined; else it is dropped, and a later end may owe another. What
    cannot take place any more is not due (rule 11). CLONE and RETRY start the first of the pool; if
    it is empty they start nothing and count against the caps all the same. The restart that is owed
    at departure (rule 1) is owed only where a recorded row is left.
C9. *Gaps.* The gap behind a recorded row with a row behind it is the time from its end to the first
    start behind it; behind any other attempt it is drawn by NEXT_GAP, n = number, from
    `gap_after_failure` after an intrinsic failure, else from `gap_after_external`, of the cell for
    its k; 1 ms if never.

A drawn attempt looks like the task's last started row: its risks and usage at the same windows,
held beyond their end; but its risks are those of A1 to A4 where the forecast draws alarms.
Machine-time of drawn attempts goes to *ghost* where it would go to *lost*.
More saved work is not always better: resumed at or behind the position of a failure, an attempt
may fail later than from a little before it.

Alarms of drawn attempts
------------------------
A `Forecast` may have ``alarms``, an `failgym.sim.shared.alarms.AlarmLaw`. Then the risk of a drawn
attempt of a continued record is not that of the last started row: the attempt has at most one true
alarm and up to `FALSE_ALARMS` false ones, by its own fate. "Draw x from a law by P" is as above,
from the law's one cell, with the seed of the alarms in place of the world's here and in every
uniform below, and n the attempt's number, if no other is stated. Of what is *shared*, u is the
job's, ``job_true`` or ``job_false`` of the task, if uniform(seed, key, number, ALARM_SHARED) <
``job_share``.

A1. *The fate that is foretold* is the one that C4 gives the attempt from the start, undisturbed. It
    ends badly at T if it fails by itself at T = T_fail or, with ``outside``, if it is ended from
    outside at T = T_ext; its end is the earliest of T_fail, T_ext, F.
A2. *True alarm.* An attempt that ends badly draws a score from ``true_score`` by ALARM_TRUE
    (shared); none, no alarm. It draws a lead from ``lead`` by ALARM_LEAD, and the alarm is on from
    max(0, T - lead) to T.
A3. *False alarms* are alarms of failures that do not come. At each age these have c =
    ``false_factor`` times the hazard of the bad ends by which the attempt's own fate was drawn, of
    the cell for its k: so at every age, and of attempts of every cell, as many alarms are true.
    S(t) is 1 less the share of that cell's times in `failure` that are at most t, with ``outside``
    times the same of `external`. T'_0 = 0; T'_j, j = 1 to `FALSE_ALARMS`, is the first of these
    times t above T'_(j-1) for which 1 - S(t)^c > h + (1 - h) u, where h = 1 - S(T'_(j-1))^c and u
    is by ALARM_FALSE, n = number x `FALSE_ALARMS` + j - 1 (for j = 1 it is shared); never if there
    is none. From the first on that is never, or not before the attempt's end (A1), there are no
    more.
    Alarm j draws a score from ``false_score`` by ALARM_FALSE_SCORE, and a lead from ``lead`` by
    ALARM_FALSE_LEAD, both with that n, and is on from max(0, T'_j - lead) to T'_j. Its score is
    never none.
A4. *Risk.* An alarm that is on from a to b is seen in window i if ceil(a / window), but at most
    floor((b - 1) / window), <= i <= floor((b - 1) / window): at least in one, so that a short one
    may be seen a little before it is on. The risk in window i, counted as in rule 13, is the
    highest score of those seen, else ``prior``. Nothing is held beyond the end. Before window 0 it
    is that of window 0, as of any attempt.

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
A vector of terms, the cost their sum. Wasted is lost + redundant + ghost; overhead is checkpoint +
restore; completion is the time from submission to settlement, charged as it passes; forfeited, for
a task that the record finishes and the simulation does not, is the machine-time of its recorded
success, and its recorded completion time again; others is 0 here.

With ``Weights.task_value`` (only where the record is continued) what is forfeited is the value of a
task, whatever the record did with it:

V1. *Value.* A task is worth ``task_value`` x W x width machine-milliseconds, with W as in C2; 0 if
    W is never, if the task is censored, or if it has no started row. Nobody wants what its user
    killed in the end; and who runs what is worth less than it costs would do best to run nothing.
V2. *Forfeited.* A task that settles otherwise than by FINISH forfeits its value then, in replay
    too, at the price of wasted machine-time; the weight of forfeited multiplies it. Its completion
    time is not charged again. So a rescue gains what a false kill loses.
"""

from failgym.sim.reference.simulator import ReferenceSimulator

__all__ = ["ReferenceSimulator"]
