"""What happens in the pinned world: one small method per rule of the package's docstring."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Generator, Sequence
from itertools import count

import numpy as np

from failgym.sim.reference.decisions import (
    Question,
    legal_actions,
    next_window,
    risk_at,
    windows_behind,
)
from failgym.sim.reference.record import Row, TaskRecord
from failgym.sim.reference.tasks import Owed, Pause, Run, Saved, Task
from failgym.sim.shared.forecast import Forecast
from failgym.sim.shared.rules import Rules
from failgym.vocabulary import Action, Decision, Ending, Event, LogEntry, SimOutcome

__all__ = ["Questions", "World"]


Questions = Generator[Question, Action, None]
"""What is played: it hands out questions and is sent the answers."""

_Handler = Callable[[], Questions]


class World:
    """A clock, a heap of events, and the tasks that they move."""

    def __init__(self, records: Sequence[TaskRecord], rules: Rules, forecast: Forecast) -> None:
        self.rules = rules
        self.forecast = forecast
        self.now = 0
        self.log: list[LogEntry] = []
        self.tasks = [Task(record, pool=list(record.rows)) for record in records]
        self.forfeited_work = 0
        self.forfeited_time = 0
        self.forfeited_value = 0
        """W x width of the tasks that did not FINISH and are worth something (V1) [machine-ms]."""
        self.after_event: Callable[[], None] = lambda: None
        """Called after every event and every action."""
        self._heap: list[tuple[int, Event, int, int, int, _Handler]] = []
        self._pushed = count()

    # --- events ---------------------------------------------------------------------------------

    def play(self, tasks: Sequence[Task]) -> Questions:
        """Play tasks side by side, from their submissions to the last event of their records."""
        for task in tasks:
            self._begin(task)
        while self._heap:
            self.now, *_, handle = heapq.heappop(self._heap)
            yield from handle()
            self.after_event()

    def _push(self, time: int, kind: Event, task: Task, sequence: int, handle: _Handler) -> None:
        """Put an event in its place in the total order; equal keys mean the same event."""
        key = (time, kind, task.record.task, sequence, next(self._pushed), handle)
        heapq.heappush(self._heap, key)

    def _push_plain(
        self, time: int, kind: Event, task: Task, sequence: int, do: Callable[[], None]
    ) -> None:
        """An event that asks nothing."""

        def handle() -> Questions:
            do()
            yield from ()

        self._push(time, kind, task, sequence, handle)

    def _write(self, kind: Event, task: Task, number: int = -1, detail: int = 0) -> None:
        self.log.append(LogEntry(self.now, int(kind), task.record.task, number, int(detail)))

    def _begin(self, task: Task) -> None:
        """Rules 1 and 9: the record's starts and the user's kill are due whatever is decided."""
        record = task.record
        for row in record.rows:
            self._push_plain(
                row.start,
                Event.START,
                task,
                row.number,
                lambda row=row: self._record_starts(task, row),
            )
        if record.user_kill is not None:
            self._push_plain(
                record.user_kill, Event.USER_KILL, task, 0, lambda: self._user_kills(task)
            )
        if not record.rows:
            self.now = record.submit
            self._check_settled(task)

    # --- starts ---------------------------------------------------------------------------------

    def _record_starts(self, task: Task, row: Row) -> None:
        """Rule 1: an untouched task starts its rows as recorded; departures and kills void that."""
        if not task.departed and not task.killed:
            task.pool.remove(row)
            self._start(task, row, row.number, ghost=False)

    def _start_next(self, task: Task, cloned: Run | None = None, *, by_agent: bool = False) -> None:
        """Rule 2: the first attempt of the pool, or a ghost, or (paper mode) nothing."""
        record = task.record
        if task.pool:
            row = task.pool.pop(0)
            self._start(task, row, row.number, ghost=False, by_agent=by_agent)
        elif self._may_make_ghost(cloned):
            number = record.row_count + task.ghosts
            task.ghosts += 1
            self._start(task, record.rows[-1], number, ghost=True, by_agent=by_agent)

    def _may_make_ghost(self, cloned: Run | None) -> bool:
        """Rule 2: always, or in paper mode as the clone of an attempt whose row FINISHes."""
        if self.rules.beyond_record == "ghost":
            return True
        return cloned is not None and cloned.row.ending is Ending.FINISH

    def _new_run(self, task: Task, row: Row, number: int, *, ghost: bool, by_agent: bool) -> Run:
        """An attempt that starts now."""
        del task
        return Run(row, number, ghost, self.now, by_agent)

    def _start(
        self, task: Task, row: Row, number: int, *, ghost: bool, by_agent: bool = False
    ) -> None:
        """Start an attempt now, from what the task's checkpoints hold (rule 7)."""
        run = self._new_run(task, row, number, ghost=ghost, by_agent=by_agent)
        if task.durable > 0.0:
            run.resumed, run.resumed_work = task.durable, task.durable_work
            run.parent, run.restore = task.best, self.rules.restore_cost
        task.runs.append(run)
        self._write(Event.START, task, number, ghost)
        if run.restore > 0:
            self._push_plain(
                self.now + run.restore,
                Event.RESTORED,
                task,
                number,
                lambda: self._restored(task, run),
            )
        self._date_end(task, run)
        if not task.record.censored:
            self._push_window(task, run, 0)

    def _restored(self, task: Task, run: Run) -> None:
        if run.end is None:
            self._write(Event.RESTORED, task, run.number)

    # --- ends -----------------------------------------------------------------------------------

    def _own_end(self, task: Task, run: Run) -> tuple[int, SimOutcome] | None:
        """When and how it ends if nothing interferes; None if that is left to the user's kill."""
        row, done = run.row, run.work_done_at()
        if row.ending in (Ending.FINISH, Ending.INTRINSIC):
            return done, SimOutcome(row.outcome)
        if row.ending is Ending.USER:
            kill = task.record.user_kill
            assert kill is not None
            return (done, SimOutcome.FINISH) if done < kill else None
        ended_from_outside = run.start + row.duration
        if row.ending is Ending.EXTERNAL and done < ended_from_outside:
            return done, SimOutcome.FINISH
        return ended_from_outside, SimOutcome(row.outcome)

    def _date_end(self, task: Task, run: Run) -> None:
        """Put its own end on the heap; a checkpoint dates it anew and voids the old one."""
        own_end = self._own_end(task, run)
        if own_end is None:
            return

        def handle() -> Questions:
            if run.end is None and self._own_end(task, run) == own_end:
                yield from self._ends(task, run, own_end[1])

        self._push(own_end[0], Event.END, task, run.number, handle)

    def _ends(self, task: Task, run: Run, outcome: SimOutcome) -> Questions:
        """An attempt comes to its own end, and what follows from that."""
        self._close(task, run, outcome)
        self._came_to_its_end(task, run)
        if task.settled is not None:
            return
        if outcome is SimOutcome.FINISH:
            self._succeed(task, run)
            return
        replaced = False
        if run.ended_by() is Ending.INTRINSIC:
            task.failures += 1
            replaced = yield from self._ask_failed(task, run)
        if task.departed and not task.given_up and not replaced:
            self._owe_restart(task, run)
        self._check_settled(task)

    def _came_to_its_end(self, task: Task, run: Run) -> None:
        """Ghosts and records that are not continued: nothing more."""

    def _close(self, task: Task, run: Run, outcome: SimOutcome) -> None:
        """The attempt is over, whatever ended it."""
        task.close(run, outcome, self.now)
        self._write(Event.END, task, run.number, outcome)

    # --- settlement -----------------------------------------------------------------------------

    def _succeed(self, task: Task, winner: Run) -> None:
        """Rule 3: the first success settles the task and, if it departed, cancels its siblings."""
        if task.departed:
            for sibling in task.live:
                self._close(task, sibling, SimOutcome.CANCELLED)
        self._settle(task, SimOutcome.FINISH, winner)

    def _check_settled(self, task: Task) -> None:
        """Rule 11: settle when nothing of the task is alive or due."""
        if task.settled is not None or task.live:
            return
        if task.departed:
            if task.is_due(self.rules):
                return
        elif task.pool or self._await_pending(task):
            return
        last = task.last_ended
        outcome = SimOutcome.CENSORED if last is None or last.outcome is None else last.outcome
        self._settle(task, outcome)

    def _await_pending(self, task: Task) -> bool:
        """Rule 11: is an untouched task due until a never-started row's end? Then await that."""
        pending, last = task.record.pending, task.last_ended
        if pending is None:
            return False
        if last is not None and (pending.end, pending.number) < (self.now, last.number):
            return False
        if pending.is_user_kill and not task.user_killed:
            return True
        self._push_plain(
            pending.end, Event.END, task, pending.number, lambda: self._pending_ends(task)
        )
        return True

    def _pending_ends(self, task: Task) -> None:
        """The record's last row ends without ever having started."""
        pending = task.record.pending
        assert pending is not None
        if task.settled is None:
            self._write(Event.END, task, pending.number, pending.outcome)
            self._settle(task, SimOutcome(pending.outcome))

    def _settle(self, task: Task, outcome: SimOutcome, winner: Run | None = None) -> None:
        """Rule 11: the task is over; one that does not FINISH forfeits something."""
        if task.record.censored:
            outcome = SimOutcome.CENSORED
        task.settle(outcome, winner, self.now)
        self._write(Event.SETTLED, task, detail=outcome)
        if outcome is not SimOutcome.FINISH:
            self._forfeit(task)

    def _forfeit(self, task: Task) -> None:
        """A recorded success was given away (costs)."""
        success = task.record.success
        if success is not None:
            self.forfeited_work += task.record.width * success.duration
            self.forfeited_time += task.record.end - task.record.submit

    # --- restarts -------------------------------------------------------------------------------

    def _depart(self, task: Task) -> None:
        """Rule 1: recorded starts are void from now on; the one that follows an end stays owed."""
        if task.departed:
            return
        task.departed = True
        last = max(task.runs, key=lambda run: run.number)
        if task.pool and last.end is not None:
            due = max(self.now, task.pool[0].start)
            self._owe(task, Owed(due, last.number, last.row.ending is Ending.INTRINSIC))

    def _owe_restart(self, task: Task, run: Run) -> None:
        """Rules 4 and 5: the cluster restarts a departed task after the recorded gap."""
        if run.row.ending is Ending.INTRINSIC:
            if task.failures <= self.rules.restart_limit:
                self._owe(task, Owed(self.now + run.row.gap, run.number, may_be_ghost=True))
        elif task.pool:
            self._owe(task, Owed(self.now + run.row.gap, run.number, may_be_ghost=False))

    def _owe(self, task: Task, owed: Owed) -> None:
        task.owed.append(owed)
        self._push_plain(
            owed.due, Event.START, task, owed.number, lambda: self._restart(task, owed)
        )

    def _restart(self, task: Task, owed: Owed) -> None:
        """A restart is due: it takes place if nothing is alive and there is something to start."""
        if owed not in task.owed:
            return
        task.owed.remove(owed)
        if not task.live and (task.pool or owed.may_be_ghost):
            self._start_next(task)
        self._check_settled(task)

    # --- kills ----------------------------------------------------------------------------------

    def _arm_or_kill(self, task: Task) -> None:
        """Rule 8: the first KILL arms the task, the second ends it now."""
        if task.kill_at is not None:
            self._kill(task)
            return
        task.kill_at = max(self.now, task.first_start + task.record.grace)
        if task.kill_at == self.now:
            self._kill(task)
        else:
            self._push_plain(task.kill_at, Event.GRACE, task, 0, lambda: self._kill(task))

    def _kill(self, task: Task) -> None:
        """Rule 8: the grace period is over; void if the task settled before."""
        if task.settled is not None:
            return
        task.killed = True
        self._write(Event.GRACE, task)
        for run in task.live:
            self._close(task, run, SimOutcome.KILL)
        self._settle(task, SimOutcome.KILL)

    def _user_kills(self, task: Task) -> None:
        """Rule 9: the user ends all that is alive."""
        task.user_killed = True
        starts_to_come = not task.departed and bool(task.pool)
        if not task.live and (task.settled is not None or starts_to_come):
            return
        self._write(Event.USER_KILL, task)
        for run in task.live:
            self._close(task, run, SimOutcome.KILL)
        if task.settled is None and not starts_to_come:
            self._settle(task, SimOutcome.KILL)

    # --- checkpoints ----------------------------------------------------------------------------

    def _checkpoint(self, task: Task, run: Run) -> None:
        """Rule 7: the work stops, the end moves."""
        end = self.now + self.rules.checkpoint_cost
        pause = Pause(self.now, end, run.work(self.now))
        run.pauses.append(pause)
        self._push_plain(
            end, Event.DURABLE, task, run.number, lambda: self._durable(task, run, pause)
        )
        self._date_end(task, run)

    def _durable(self, task: Task, run: Run, pause: Pause) -> None:
        """Rule 7: the checkpoint holds, and is kept if it is the task's largest."""
        if run.end is not None:
            return
        run.durable = pause.work
        task.checkpoints += 1
        self._write(Event.DURABLE, task, run.number)
        held = self._held(run, pause)
        if held > task.durable:
            run.saved = pause.work
            task.durable, task.durable_work = held, run.resumed_work + pause.work
            task.best = Saved(run, pause.work)

    def _held(self, run: Run, pause: Pause) -> float:
        """Rule 7: the fraction of the task's work that a checkpoint holds."""
        length = run.row.length
        return min(1.0, run.resumed + pause.work / length) if length > 0 else 1.0

    # --- decisions ------------------------------------------------------------------------------

    def _push_window(self, task: Task, run: Run, k: int) -> None:
        """Rule 12: the window that begins k windows after the start."""

        def handle() -> Questions:
            if run.end is None and task.may_be_asked():
                self._push_window(task, run, next_window(self.rules, k))
                if self.rules.decide != "alarm" or self._alarm(run):
                    yield from self._ask(Decision.WINDOW, task, run)

        time = run.start + k * self.rules.window
        self._push(time, Event.WINDOW, task, run.number, handle)

    def risk(self, run: Run) -> np.float32:
        """Present risk of the attempt."""
        return risk_at(self.forecast, run, windows_behind(self.rules, run, self.now))

    def _alarm(self, run: Run) -> bool:
        return bool(self.risk(run) >= np.float32(self.rules.alarm))

    def _ask_failed(self, task: Task, run: Run) -> Generator[Question, Action, bool]:
        """Rule 5: ask about an intrinsic failure; tell whether the answer was a RETRY."""
        retries = task.retries
        yield from self._ask(Decision.FAILED, task, run)
        return task.retries > retries

    def _ask(self, kind: Decision, task: Task, run: Run) -> Questions:
        """Rule 12: ask, and ask again, until CONTINUE or nothing else is legal."""
        taken, asked = 0, False
        while legal := legal_actions(self.rules, kind, task, run, self.now):
            answer = yield Question(kind, task, run, legal, taken)
            task.decisions += not asked
            asked = True
            self._write(Event.DECISION, task, run.number, answer)
            if answer is Action.CONTINUE:
                break
            taken += 1
            self._carry_out(answer, kind, task, run)
            self.after_event()
        if asked:
            task.flagged = max(task.flagged, float(self.risk(run)))

    def _carry_out(self, action: Action, kind: Decision, task: Task, run: Run) -> None:
        """Do what the agent decided."""
        if action is Action.CLONE:
            self._depart(task)
            task.extra += 1
            task.clones += 1
            self._start_next(task, cloned=run, by_agent=True)
        elif action is Action.CHECKPOINT:
            self._depart(task)
            self._checkpoint(task, run)
        elif action is Action.RETRY:
            self._depart(task)
            task.owed.clear()
            task.extra += 1
            task.retries += 1
            self._start_next(task, by_agent=True)
        elif kind is Decision.FAILED:
            self._depart(task)
            task.owed.clear()
            task.given_up = True
        else:
            self._arm_or_kill(task)
