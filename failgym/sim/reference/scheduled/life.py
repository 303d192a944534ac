"""The life of a task: attempts start and end, restarts are owed, kills strike, it settles."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import NamedTuple

from failgym.sim.reference.decisions import Question
from failgym.sim.reference.record import round_half_up
from failgym.sim.reference.scheduled.attempts import Attempt, ClusterTask, Status
from failgym.sim.reference.scheduled.calendar import Questions
from failgym.sim.reference.scheduled.cluster import NEVER, Machine, Part, at_speed
from failgym.sim.reference.scheduled.state import State
from failgym.sim.reference.tasks import Owed
from failgym.vocabulary import Action, Ending, Event, SimOutcome

__all__ = ["Life"]


class OwnEnd(NamedTuple):
    """How an attempt ends if nothing interferes."""

    time: int
    outcome: SimOutcome
    at_walltime: bool = False


class Life(State):
    """Rules 1, 4, 11, 12, 15, 16 and 20."""

    # --- wanting to run -------------------------------------------------------------------------

    def arrive(self, task: ClusterTask) -> None:
        """Rule 1: a task is submitted, and its first row wants to run."""
        kill = task.record.user_kill
        if kill is not None:
            self.calendar.add(
                max(self.now, kill),
                Event.USER_KILL,
                (task.record.task, 0),
                lambda: self._user_kills(task),
                lambda: task.settled is None,
            )
        self.start_next(task)

    def start_next(
        self, task: ClusterTask, cloned: Attempt | None = None, *, by_agent: bool = False
    ) -> None:
        """The first attempt of the pool, or a ghost, or (paper mode) nothing wants to run."""
        record = task.record
        if task.pool:
            row = task.pool.pop(0)
            self.admit(task.wants(row, row.number, by_agent=by_agent))
        elif self._may_make_ghost(cloned):
            number = record.row_count + task.ghosts
            task.ghosts += 1
            row = record.rows[-1]
            self.admit(task.wants(row, number, ghost=True, by_agent=by_agent))

    def _may_make_ghost(self, cloned: Attempt | None) -> bool:
        if self.rules.beyond_record == "ghost":
            return True
        return cloned is not None and cloned.row.ending is Ending.FINISH

    def again(self, attempt: Attempt) -> Attempt | None:
        """Rule 12: the cluster ended it, so it will run again; None if its task is over."""
        task = attempt.task
        if not attempt.recomputes and (task.settled is not None or task.given_up):
            self.check_settled(task)
            return None
        return task.wants(
            attempt.row,
            attempt.number,
            ghost=attempt.ghost,
            by_agent=attempt.by_agent,
            recomputes=attempt.recomputes,
        )

    def evict(self, attempt: Attempt) -> None:
        """Rule 8: pre-empted, it joins the queue again at its tail."""
        attempt.task.evictions += 1
        self.stop(attempt, SimOutcome.EVICT)
        again = self.again(attempt)
        if again is not None:
            self.admit(again)

    # --- start ----------------------------------------------------------------------------------

    def start(self, attempt: Attempt, parts: Sequence[Part]) -> None:
        """Rule 15: an attempt gets its slots: transfer, restore, work."""
        task = attempt.task
        self.leave(attempt)
        self.cluster.take(parts)
        attempt.status, attempt.start, attempt.parts = Status.RUNNING, self.now, list(parts)
        self.adapt(attempt, [part.machine for part in parts])
        if not attempt.recomputes and task.durable > 0.0:
            attempt.resumed, attempt.resumed_work = task.durable, task.durable_work
            attempt.parent, attempt.restore = task.best, self.rules.restore_cost
        if not task.standing:
            transfers = self.lineage.transfers(task, attempt.machine)
            attempt.reads = {m: self.now + time for m, time in transfers.items()}
            attempt.transfer = max(transfers.values(), default=0)
        task.runs.append(attempt)
        task.first = self.now if task.first < 0 else task.first
        task.recomputations += attempt.recomputes
        self.write(Event.START, task, attempt.number, 2 * attempt.recomputes or attempt.ghost)
        for part in parts:
            self.write(Event.PLACED, task, attempt.number, part.machine.index)
        self._push_phases(attempt)
        self.date_end(attempt)
        if task.may_be_asked() and not attempt.recomputes:
            self.push_window(attempt, 0)

    def adapt(self, attempt: Attempt, machines: Sequence[Machine]) -> None:
        """Rule 4: length and duration on these machines."""
        row, task = attempt.row, attempt.task
        if task.standing:
            return
        cost = self.cluster.cost(task.record, machines)
        if cost is None:
            speed = min(machine.speed for machine in machines)
            attempt.length = at_speed(row.length, speed)
            attempt.duration = at_speed(row.duration, speed)
        else:
            attempt.length = cost
            if row.ending is Ending.FINISH:
                attempt.duration = cost
            elif row.ending is Ending.INTRINSIC:
                attempt.duration = round_half_up(row.share * cost)
        if attempt.recomputes:
            attempt.length += self.lineage.repeated(task)
            attempt.duration = attempt.length

    def _push_phases(self, attempt: Attempt) -> None:
        """The ends of transfer and restore, if they take any time."""
        phases = (
            (Event.TRANSFER_END, attempt.transfer, attempt.transfer),
            (Event.RESTORED, attempt.restore, attempt.transfer + attempt.restore),
        )
        for kind, length, after in phases:
            if length > 0:
                self.calendar.add(
                    self.now + after,
                    kind,
                    attempt.key,
                    lambda kind=kind: self.write(kind, attempt.task, attempt.number),
                    lambda: attempt.status is Status.RUNNING,
                )

    # --- end ------------------------------------------------------------------------------------

    def date_end(self, attempt: Attempt) -> None:
        """Put its own end on the calendar; a checkpoint dates it anew and voids the old one."""
        own_end = self._own_end(attempt)
        if own_end is not None:
            self.calendar.ask(
                own_end.time,
                Event.END,
                attempt.key,
                lambda: self._ends(attempt, own_end),
                lambda: attempt.status is Status.RUNNING and self._own_end(attempt) == own_end,
            )

    def _own_end(self, attempt: Attempt) -> OwnEnd | None:
        """When and how it ends if nothing interferes; None if that is left to others."""
        end, outcome = self.natural_end(attempt)
        walltime = self._walltime(attempt)
        if walltime is not None and attempt.start + walltime < end:
            return OwnEnd(attempt.start + walltime, SimOutcome.KILL, at_walltime=True)
        is_left_to_user = attempt.row.ending is Ending.USER and outcome is SimOutcome.KILL
        return None if end == NEVER or is_left_to_user else OwnEnd(end, outcome)

    def natural_end(self, attempt: Attempt) -> tuple[int, SimOutcome]:
        """The end but for the walltime; NEVER if a checkpoint must be durable before."""
        row = attempt.row
        done = NEVER if attempt.is_paused else attempt.work_done_at()
        if row.ending in (Ending.FINISH, Ending.INTRINSIC):
            return done, SimOutcome(row.outcome)
        if row.ending is Ending.USER:
            outside = attempt.task.record.user_kill
            assert outside is not None
        else:
            outside = attempt.start + attempt.duration
        if row.ending is not Ending.CENSORED and done < outside:
            return done, SimOutcome.FINISH
        return outside, SimOutcome(row.outcome)

    def _walltime(self, attempt: Attempt) -> int | None:
        """Rule 11: the time after which it is killed, if any."""
        walltime = self.jobs[attempt.task.record.job].walltime
        exempt = attempt.recomputes or attempt.task.standing or not self.rules.walltime_kill
        return None if exempt or walltime == 0 else walltime

    def _ends(self, attempt: Attempt, own_end: OwnEnd) -> Questions:
        """An attempt comes to its own end, and what follows from that."""
        task = attempt.task
        if own_end.outcome is SimOutcome.FINISH:
            yield from self._finishes(attempt)
            return
        attempt.hit_walltime = own_end.at_walltime
        self.stop(attempt, own_end.outcome)
        if not attempt.hit_walltime:
            self.came_to_its_end(attempt)
        replaced = False
        if attempt.ended_by() is Ending.INTRINSIC and not attempt.hit_walltime:
            task.failures += 1
            replaced = yield from self.ask_failed(attempt)
        if not task.given_up and not replaced and not attempt.hit_walltime:
            self.owe_restart(attempt)
        self.check_settled(task)

    def came_to_its_end(self, attempt: Attempt) -> None:
        """Ghosts and records that are not continued: nothing more."""

    def _finishes(self, attempt: Attempt) -> Questions:
        """Rules 16 and 20: a success settles the task, or makes its lost output again."""
        task = attempt.task
        self.end(attempt, SimOutcome.FINISH)
        if not attempt.recomputes:
            for sibling in task.live:
                self.stop(sibling, SimOutcome.CANCELLED)
            task.winner = attempt
            self.settle(task, SimOutcome.FINISH)
        self.lineage.make(attempt)
        yield from self.ask_output(attempt)
        if not attempt.is_writing:
            self.release(attempt)
        self.unblock()

    # --- settlement -----------------------------------------------------------------------------

    def check_settled(self, task: ClusterTask) -> None:
        """Rule 20: settle when nothing of the task is alive or due."""
        if task.settled is None and not task.is_alive and not task.is_due(self.rules):
            last = task.last_ended
            outcome = SimOutcome.CENSORED if last is None or last.outcome is None else last.outcome
            self.settle(task, outcome)

    def settle(self, task: ClusterTask, outcome: SimOutcome, *, alone: bool = False) -> None:
        """Rule 20: the task is over, and without a success all that need its output are, too."""
        if task.record.censored:
            outcome = SimOutcome.CENSORED
        self.drop(task)
        task.settle(outcome, task.winner, self.now)
        self.write(Event.SETTLED, task, detail=outcome)
        if outcome is not SimOutcome.FINISH and not alone:
            for other in self.lineage.descendants(task):
                if other.settled is None:
                    self.settle(other, SimOutcome.KILL, alone=True)

    # --- restarts -------------------------------------------------------------------------------

    def owe_restart(self, attempt: Attempt) -> None:
        """The cluster restarts a task after the recorded gap."""
        task, row = attempt.task, attempt.row
        if row.ending is Ending.INTRINSIC:
            if task.failures <= self.rules.restart_limit:
                self.owe(task, Owed(self.now + row.gap, attempt.number, may_be_ghost=True))
        elif task.pool and row.ending is not Ending.CENSORED:
            self.owe(task, Owed(self.now + row.gap, attempt.number, may_be_ghost=False))

    def owe(self, task: ClusterTask, owed: Owed) -> None:
        """A restart is due then."""
        task.owed.append(owed)
        self.calendar.add(
            owed.due,
            Event.START,
            (task.record.task, owed.number),
            lambda: self._restart(task, owed),
            lambda: owed in task.owed,
        )

    def _restart(self, task: ClusterTask, owed: Owed) -> None:
        """A restart is due: it takes place if nothing is alive and there is something to start."""
        task.owed.remove(owed)
        if not task.is_alive and (task.pool or owed.may_be_ghost):
            self.start_next(task)
        self.check_settled(task)

    # --- kills ----------------------------------------------------------------------------------

    def arm_or_kill(self, task: ClusterTask) -> None:
        """The first KILL arms the task, the second ends it now."""
        if task.kill_at is not None:
            self._kill(task)
            return
        task.kill_at = max(self.now, task.first_start + task.record.grace)
        if task.kill_at == self.now:
            self._kill(task)
            return
        self.calendar.add(
            task.kill_at,
            Event.GRACE,
            (task.record.task, 0),
            lambda: self._kill(task),
            lambda: task.settled is None,
        )

    def _kill(self, task: ClusterTask) -> None:
        """The grace period is over."""
        task.killed = True
        self._strike(task, Event.GRACE)

    def _user_kills(self, task: ClusterTask) -> None:
        """The user ends the task."""
        task.user_killed = True
        self._strike(task, Event.USER_KILL)

    def _strike(self, task: ClusterTask, kind: Event) -> None:
        self.write(kind, task)
        for attempt in task.live:
            self.stop(attempt, SimOutcome.KILL)
        self.settle(task, SimOutcome.KILL)

    # --- what is asked --------------------------------------------------------------------------

    def push_window(self, attempt: Attempt, k: int) -> None:
        """The window that begins k windows after the start."""
        raise NotImplementedError

    def ask_failed(self, attempt: Attempt) -> Generator[Question, Action, bool]:
        """Ask about an intrinsic failure; tell whether the answer was a RETRY."""
        raise NotImplementedError

    def ask_output(self, attempt: Attempt) -> Questions:
        """Ask whether to save what an attempt has made."""
        raise NotImplementedError
