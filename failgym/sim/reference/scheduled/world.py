"""The scheduled world: what is asked, what machines do, and how an episode goes."""

from __future__ import annotations

from collections.abc import Generator, Sequence

import numpy as np

from failgym.sim.reference.decisions import (
    Question,
    legal_actions,
    next_window,
    risk_at,
    windows_behind,
)
from failgym.sim.reference.record import round_half_up
from failgym.sim.reference.scheduled.attempts import Attempt, ClusterTask, Status, Write
from failgym.sim.reference.scheduled.calendar import Questions
from failgym.sim.reference.scheduled.cluster import NEVER, Machine, Outage
from failgym.sim.reference.scheduled.life import Life
from failgym.sim.reference.scheduled.schedulers import Offer, Scheduler
from failgym.sim.reference.scheduled.state import Setting
from failgym.vocabulary import Action, Decision, Event, LogEntry, SimOutcome

__all__ = ["World"]


class World(Life):
    """Rules 6, 18, 19 and 21."""

    def __init__(self, setting: Setting, tasks: Sequence[ClusterTask]) -> None:
        super().__init__(setting, tasks)
        self.scheduler = Scheduler(self)

    def run_pass(self) -> Questions:
        """Let the scheduler start attempts that wait."""
        yield from self.scheduler.run()

    # --- the episode ----------------------------------------------------------------------------

    def play(self) -> Questions:
        """Rule 21: from the first submission until every task that is charged has settled."""
        arriving = [task for task in self.tasks if not task.standing]
        self.began = self.now = min((task.record.submit for task in arriving), default=0)
        self._begin(arriving)
        while self._charged_unsettled():
            event = self.calendar.next()
            if event is not None:
                self.now = event.time
                yield from event.happen()
            elif not self.scheduler.place_held():
                break
            self.after_event()
        for task in self._charged_unsettled():
            self.settle(task, SimOutcome.CENSORED, alone=True)

    def _charged_unsettled(self) -> list[ClusterTask]:
        """In order of trace row."""
        everybody = self.rules.charge == "episode"
        charged = [task for task in self.tasks if task.own or everybody]
        left = [task for task in charged if task.settled is None]
        return sorted(left, key=lambda task: task.record.task)

    def _begin(self, arriving: list[ClusterTask]) -> None:
        self.cluster.reset(self.now)
        for machine in self.cluster.machines:
            for outage in machine.outages:
                if outage.down >= self.now:
                    self._push_outage(machine, outage)
                elif outage.up > self.now:
                    self._push_up(machine, outage)
        for task in self.tasks:
            if task.standing:
                self.start_next(task)
        for task in arriving:
            self.calendar.add(
                task.record.submit,
                Event.START,
                (task.record.task, 0),
                lambda task=task: self.arrive(task),
                lambda task=task: task.settled is None,
            )

    # --- machines -------------------------------------------------------------------------------

    def _push_outage(self, machine: Machine, outage: Outage) -> None:
        self.calendar.add(
            outage.down,
            Event.MACHINE_DOWN,
            (machine.index, 0),
            lambda: self._machine_down(machine, outage),
        )

    def _push_up(self, machine: Machine, outage: Outage) -> None:
        if outage.up < NEVER:
            self.calendar.add(
                outage.up, Event.MACHINE_UP, (machine.index, 0), lambda: self._up(machine)
            )

    def _machine_down(self, machine: Machine, outage: Outage) -> None:
        """Rules 6 and 18: a machine dies with what is on it."""
        self.cluster.bring_down(machine)
        self._write_machine(Event.MACHINE_DOWN, machine)
        for attempt in self.running():
            if _depends_on(attempt, machine, self.now):
                self._machine_kills(attempt, machine)
        for attempt in self.writers():
            if _is_on(attempt, machine):
                self._lose_write(attempt)
        if self.rules.outputs == "lost":
            self.lineage.lose(machine)
            self.block()
        self.request_pass()
        self._push_up(machine, outage)
        if self.rules.detection_delay == 0:
            self._detected(machine)
        else:
            self.calendar.add(
                self.now + self.rules.detection_delay,
                Event.DETECTED,
                (machine.index, 0),
                lambda: self._detected(machine),
            )

    def _machine_kills(self, attempt: Attempt, machine: Machine) -> None:
        """Rule 6: it is lost; when the cluster notices, it wants to run again."""
        task = attempt.task
        task.outages += 1
        task.loss += self.now - attempt.start
        self.stop(attempt, SimOutcome.LOST)
        again = None if attempt.recomputes else self.again(attempt)
        if again is not None:
            again.status, again.killer = Status.UNNOTICED, machine

    def _lose_write(self, attempt: Attempt) -> None:
        """Rule 14: the write of an output dies with its machine."""
        self.write(Event.WRITE_LOST, attempt.task, attempt.number)
        attempt.task.written(attempt, self.now)
        self.end_write(attempt)
        self.release(attempt)

    def _detected(self, machine: Machine) -> None:
        """Rules 6 and 18: the cluster notices; lost outputs that are needed are made again."""
        for attempt in self.attempts(Status.UNNOTICED):
            if attempt.killer is machine:
                self.admit(attempt)
        for attempt in self.attempts(Status.BLOCKED):
            self.demand(attempt.task)

    def _up(self, machine: Machine) -> None:
        self.cluster.bring_up(machine)
        self._write_machine(Event.MACHINE_UP, machine)
        self.request_pass()

    def _write_machine(self, kind: Event, machine: Machine) -> None:
        self.log.append(LogEntry(self.now, int(kind), -1, machine.index, 0))

    # --- decisions ------------------------------------------------------------------------------

    def push_window(self, attempt: Attempt, k: int) -> None:
        """The window that begins k windows after the start."""

        def happen() -> Questions:
            self.push_window(attempt, next_window(self.rules, k))
            if self.rules.decide != "alarm" or self._alarm(attempt):
                yield from self._ask(Decision.WINDOW, attempt)

        self.calendar.ask(
            attempt.start + k * self.rules.window,
            Event.WINDOW,
            attempt.key,
            happen,
            lambda: attempt.status is Status.RUNNING and attempt.task.may_be_asked(),
        )

    def risk(self, attempt: Attempt) -> np.float32:
        """Present risk of the attempt."""
        return risk_at(self.forecast, attempt, windows_behind(self.rules, attempt, self.now))

    def _alarm(self, attempt: Attempt) -> bool:
        return bool(self.risk(attempt) >= np.float32(self.rules.alarm))

    def ask_failed(self, attempt: Attempt) -> Generator[Question, Action, bool]:
        """Ask about an intrinsic failure; tell whether the answer was a RETRY."""
        retries = attempt.task.retries
        yield from self._ask(Decision.FAILED, attempt)
        return attempt.task.retries > retries

    def ask_output(self, attempt: Attempt) -> Questions:
        """Rule 19: ask whether to save what an attempt has made."""
        yield from self._ask(Decision.OUTPUT, attempt)

    def ask_dispatch(
        self, attempt: Attempt, machine: Machine, times: Sequence[int], *, refused: int
    ) -> Generator[Question, Action, bool]:
        """Rule 10: offer a machine, given the time there and on those after it; was it taken?"""
        task = attempt.task
        attempt.resumed_work = task.durable_work
        legal = frozenset({Action.RETRY})
        kind = Decision.DISPATCH
        time, following = times[0], times[1] if len(times) > 1 else None
        answer = yield Offer(kind, task, attempt, legal, refused, machine, time, following)
        task.decisions += refused == 0
        self.write(Event.DECISION, task, attempt.number, answer)
        return answer is Action.CONTINUE

    def close_decision(self, attempt: Attempt) -> None:
        """The risk that was seen is remembered."""
        task = attempt.task
        task.flagged = max(task.flagged, float(self.risk(attempt)))

    def _ask(self, kind: Decision, attempt: Attempt) -> Questions:
        """Ask, and ask again, until CONTINUE or nothing else is legal."""
        task, taken, asked = attempt.task, 0, False
        while legal := self._legal(kind, attempt):
            answer = yield Question(kind, task, attempt, legal, taken)
            task.decisions += not asked
            asked = True
            self.write(Event.DECISION, task, attempt.number, answer)
            if answer is Action.CONTINUE:
                break
            taken += 1
            self._carry_out(answer, kind, attempt)
            self.after_event()
        if asked:
            self.close_decision(attempt)

    def _legal(self, kind: Decision, attempt: Attempt) -> frozenset[Action]:
        """The actions besides CONTINUE that may be taken; none if the decision is moot."""
        if kind is not Decision.OUTPUT:
            return legal_actions(self.rules, kind, attempt.task, attempt, self.now)
        wanted = self.rules.save_outputs and attempt.task.is_asked and attempt.write is None
        if wanted and self.lineage.is_needed(attempt.task):
            return frozenset({Action.CHECKPOINT})
        return frozenset()

    def _carry_out(self, action: Action, kind: Decision, attempt: Attempt) -> None:
        """Do what the agent decided."""
        task = attempt.task
        if kind is Decision.OUTPUT:
            self._save_output(attempt)
        elif action is Action.CHECKPOINT:
            attempt.pause(self.now)
            self.begin_write(attempt, self.rules.checkpoint_cost)
            self.date_end(attempt)
        elif action is Action.CLONE:
            task.extra += 1
            task.clones += 1
            self.start_next(task, cloned=attempt, by_agent=True)
        elif action is Action.RETRY:
            task.owed.clear()
            task.extra += 1
            task.retries += 1
            self.start_next(task, by_agent=True)
        elif kind is Decision.FAILED:
            task.owed.clear()
            task.given_up = True
            self.drop(task)
        else:
            self.arm_or_kill(task)

    def _save_output(self, attempt: Attempt) -> None:
        """Rule 14: the task keeps its slots while its output is written."""
        bandwidth = self.rules.storage_bandwidth
        size = self.lineage.dags.output_bytes[attempt.task.record.task]
        attempt.write = Write(self.now)
        self.begin_write(attempt, 0 if bandwidth == 0.0 else round_half_up(size / bandwidth))


def _is_on(attempt: Attempt, machine: Machine) -> bool:
    return any(part.machine is machine for part in attempt.parts)


def _depends_on(attempt: Attempt, machine: Machine, now: int) -> bool:
    """Does it run there, or is it still reading an input from there?"""
    return _is_on(attempt, machine) or attempt.reads.get(machine, 0) > now
