"""What happens in a scheduled world whose records are continued, where that differs (K3 to K8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import floor, inf

from failgym.sim.reference.alarms import Foretold, foretell
from failgym.sim.reference.fates import Fate
from failgym.sim.reference.record import Row, round_half_up
from failgym.sim.reference.scheduled.attempts import Attempt, ClusterTask
from failgym.sim.reference.scheduled.cluster import NEVER, Machine, at_speed
from failgym.sim.reference.scheduled.fates import PlayedRecord
from failgym.sim.reference.scheduled.world import World
from failgym.sim.reference.tasks import Owed
from failgym.vocabulary import Ending, SimOutcome

__all__ = ["ContinuedAttempt", "ContinuedTask", "ContinuedWorld", "Dates"]


@dataclass(frozen=True)
class Dates:
    """What an attempt meets on some machines (K4); None is never."""

    work: int | None
    """W [ms]."""
    position: int | None
    """w: where in the work the failure lies [ms]."""
    fails_after: int | None
    """Time worked until it fails, if it is no matter of position or nothing was saved [ms]."""
    struck_after: int | None
    """Time from its start until it is ended from outside [ms]."""
    fresh: int | None
    """Time worked until all of W is done, if nothing was saved [ms]."""
    pace: float
    """Work done in one millisecond."""

    def done(self, worked: int) -> int:
        """C3: what it has done of W when it has worked so long [ms]."""
        return floor(worked * self.pace)

    def fails_from(self, held: int) -> int | None:
        """C6: time worked until it fails, resumed where so much of W is held [ms]."""
        if self.position is None or held == 0 or held >= self.position:
            return self.fails_after
        return self._time_for(self.position - held)

    def finishes_from(self, held: int) -> int | None:
        """C6: time worked until it FINISHes, resumed where so much of W is held [ms]."""
        if self.work is None or held == 0:
            return self.fresh
        return self._time_for(self.work - held)

    def _time_for(self, work: int) -> int:
        """C3: the time that so much of W takes [ms]."""
        return 0 if work == 0 else round_half_up(work / self.pace)


def dates(fate: Fate, row: Row, *, finishes: bool, speed: float, cost: int | None) -> Dates:
    """K4: what an attempt meets on machines of which the slowest has this speed.

    Args:
        fate: of its number.
        row: it.
        finishes: does the record say that it FINISHed?
        speed: of the slowest machine.
        cost: the longest of the given compute times on its machines; None if none are given.
    """

    def scaled(time: int) -> int:
        if cost is None:
            return at_speed(time, speed)
        return time if fate.work is None else round_half_up(cost * time / max(fate.work, 1))

    def or_never(time: int | None) -> int | None:
        return None if time is None else scaled(time)

    struck = fate.struck_after
    whole, fails = or_never(fate.full_time), fate.fails_after
    return Dates(
        work=fate.work,
        position=None if fails is None else floor(fails * fate.pace),
        fails_after=or_never(fails),
        struck_after=struck if struck is None or cost is not None else at_speed(struck, speed),
        fresh=at_speed(row.duration, speed) if finishes and cost is None else whole,
        pace=_pace(fate.work, whole, 1.0 if cost is not None else speed),
    )


def _pace(work: int | None, whole: int | None, if_never: float) -> float:
    """K4: work done in one millisecond; what was rounded to 0 takes no time."""
    if work is None or whole is None:
        return if_never
    return inf if whole == 0 else work / whole


@dataclass(eq=False, kw_only=True)
class ContinuedAttempt(Attempt):
    """An attempt, and the fate that it meets; drawn if it is a ghost."""

    fate: Fate
    latent: bool
    """Its row is: what ended it is simulated (K1)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.dates = self._dates(1.0, None)

    def _dates(self, speed: float, cost: int | None) -> Dates:
        return dates(self.fate, self.row, finishes=self._finished(), speed=speed, cost=cost)

    def _finished(self) -> bool:
        """Does the record say so?"""
        return not self.ghost and self.row.ending is Ending.FINISH

    def run_at(self, speed: float, cost: int | None) -> None:
        """K4: it starts on machines of which the slowest has this speed."""
        if not self.task.standing:
            self.dates = self._dates(speed, cost)
            at_end = self.row.duration if cost is not None else at_speed(self.row.duration, speed)
            self.duration = at_end
            self.length = self.duration if self.dates.fresh is None else self.dates.fresh

    @property
    def _is_own_ending(self) -> bool:
        """Does it end as the record says of its row?"""
        return not self.ghost and not self.latent and not self.recomputes

    def ended_by(self) -> Ending | None:
        """What ended it by itself; None if that was the cluster, the agent or the user."""
        if self._is_own_ending:
            return super().ended_by()
        return Ending.INTRINSIC if self.outcome is SimOutcome.FAIL else None

    def was_struck(self) -> bool:
        """K3: did it end from outside as its row did?"""
        return self._is_own_ending and super().was_struck()

    def natural_end(self, user_kill: int | None) -> tuple[int, SimOutcome]:
        """C6: when and how it ends if nothing interferes; NEVER if nothing ends it."""
        if self._is_own_ending and self.row.ending is Ending.CENSORED:
            return self.start + self.duration, SimOutcome.CENSORED
        dated = (
            (self._after(self.own_failure()), SimOutcome.FAIL),
            (self._struck_at(), SimOutcome(self.row.outcome)),
            (self._after(self.own_finish()), SimOutcome.FINISH),
        )
        end = min(dated, key=lambda end: end[0])  # of equal times the first
        if not (self._is_own_ending and self.row.ending is Ending.USER):
            return end
        assert user_kill is not None
        return end if end[0] < user_kill else (user_kill, SimOutcome.KILL)

    def own_failure(self) -> int | None:
        """Time worked until it fails [ms]."""
        return None if self.recomputes else self.dates.fails_from(int(self.resumed))

    def own_finish(self) -> int | None:
        """Time worked until it FINISHes [ms]."""
        return self.length if self.recomputes else self.dates.finishes_from(int(self.resumed))

    def _after(self, work: int | None) -> int:
        """When it has worked so long; NEVER before a checkpoint under way is durable."""
        return NEVER if work is None or self.is_paused else self.has_worked_at(work)

    def _struck_at(self) -> int:
        """So long after its start, whatever it does."""
        after = self.dates.struck_after
        return NEVER if after is None or self.recomputes else self.start + after

    def truth(self, now: int, restore_cost: int) -> int:
        """K6: how long it would run undisturbed on a machine of speed 1 [ms]."""
        there, held = self._dates(1.0, None), int(self.task.durable)
        if self.recomputes:
            assert there.fresh is not None
            return there.fresh
        if self._is_own_ending and self.row.ending is Ending.CENSORED:
            return self.row.duration
        restore = restore_cost if held > 0 else 0
        worked = [t for t in (there.fails_from(held), there.finishes_from(held)) if t is not None]
        ends = [restore + time for time in worked]
        if there.struck_after is not None:
            ends.append(there.struck_after)
        if not ends or (self._is_own_ending and self.row.ending is Ending.USER):
            kill = self.task.record.user_kill
            assert kill is not None
            ends.append(max(kill - now, 0))
        return min(ends)


@dataclass(eq=False)
class ContinuedTask(ClusterTask):
    """A task whose record goes on."""

    continued: PlayedRecord | None = None

    @staticmethod
    def of_record(continued: PlayedRecord, *, own: bool, standing: bool = False) -> ContinuedTask:
        """A task that has not arrived yet; C1: its drawn attempts lie behind its rows."""
        pool = [*continued.played.rows, *continued.drawn]
        task = ContinuedTask(
            continued.played, pool, own=own, standing=standing, continued=continued
        )
        task.departed = True
        return task

    @property
    def known(self) -> PlayedRecord:
        """How its record goes on."""
        assert self.continued is not None
        return self.continued

    @property
    def value(self) -> int:
        """V1; what stands has none."""
        return 0 if self.standing else self.known.value()

    def wants(
        self,
        row: Row,
        number: int,
        *,
        ghost: bool = False,
        by_agent: bool = False,
        recomputes: bool = False,
    ) -> Attempt:
        """An attempt that wants to run from now on; K3, K5: its fate is that of its number."""
        if recomputes:
            assert self.winner is not None
            row = self.winner.row
        attempt = ContinuedAttempt(
            row,
            number,
            ghost or number >= self.record.row_count,
            -1,
            by_agent,
            task=self,
            recomputes=recomputes,
            fate=self.known.fates[number],
            latent=number in self.known.latent,
        )
        self.attempts.append(attempt)
        return attempt


class ContinuedWorld(World):
    """A scheduled world in which attempts beyond the record meet fates that were drawn."""

    def start_next(
        self, task: ClusterTask, cloned: Attempt | None = None, *, by_agent: bool = False
    ) -> None:
        """C8: the first attempt of the pool; nothing if it is empty."""
        del cloned
        if task.pool:
            row = task.pool.pop(0)
            self.admit(task.wants(row, row.number, by_agent=by_agent))

    def admit(self, attempt: Attempt) -> None:
        """K8: a drawn attempt has the alarms of its number, a recomputation of one has none."""
        law, task = self.forecast.alarms, attempt.task
        if attempt.ghost and law is not None:
            assert isinstance(attempt, ContinuedAttempt)
            assert isinstance(task, ContinuedTask)
            law = replace(law, outside=False)  # K3: nothing befalls it from outside
            draws = replace(task.known.draws, seed=law.seed)
            window = self.rules.window
            attempt.foretold = (
                Foretold((), law.prior, window)
                if attempt.recomputes
                else foretell(law, draws, attempt.number, attempt.fate, window)
            )
        super().admit(attempt)

    def adapt(self, attempt: Attempt, machines: Sequence[Machine]) -> None:
        """K4, and K5 of a recomputation."""
        assert isinstance(attempt, ContinuedAttempt)
        cost = self.cluster.cost(attempt.task.record, machines)
        attempt.run_at(min(machine.speed for machine in machines), cost)
        if attempt.recomputes and not attempt.task.standing:
            attempt.length += self.lineage.repeated(attempt.task)

    def natural_end(self, attempt: Attempt) -> tuple[int, SimOutcome]:
        """C6: the end but for the walltime."""
        assert isinstance(attempt, ContinuedAttempt)
        return attempt.natural_end(attempt.task.record.user_kill)

    def held(self, attempt: Attempt, work: int) -> float:
        """C7: what a checkpoint holds of the task's work [ms]."""
        assert isinstance(attempt, ContinuedAttempt)
        held, whole = int(attempt.resumed) + attempt.dates.done(work), attempt.fate.work
        return held if whole is None else min(whole, held)

    # --- restarts -------------------------------------------------------------------------------

    def came_to_its_end(self, attempt: Attempt) -> None:
        """C8: the cluster may decline at the end of what it started itself; that voids all owed."""
        if not attempt.by_agent and self._declines(attempt):
            attempt.task.declined = True
            attempt.task.owed.clear()

    def _declines(self, attempt: Attempt) -> bool:
        """C8: as the record and its stratum did, or beyond a limit."""
        task = attempt.task
        assert isinstance(task, ContinuedTask)
        if attempt.was_struck():
            return task.known.declines_after_external(attempt.number)
        if attempt.ended_by() is not Ending.INTRINSIC:
            return False
        j = _failures_of_the_cluster(task)
        if self.rules.restarts == "limit":
            return j > self.rules.restart_limit
        return task.known.declines_after_failure(j)

    def owe_restart(self, attempt: Attempt) -> None:
        """C8: a restart is owed unless the cluster has declined, after the gap of C9."""
        task = attempt.task
        assert isinstance(task, ContinuedTask)
        failed = attempt.ended_by() is Ending.INTRINSIC
        if not task.declined and (failed or attempt.was_struck()):
            due = self.now + task.known.gap(attempt.number, failed=failed)
            self.owe(task, Owed(due, attempt.number, may_be_ghost=False))


def _failures_of_the_cluster(task: ClusterTask) -> int:
    """C8: j, the intrinsic failures so far of attempts that the agent did not start."""
    failed = [run for run in task.runs if run.ended_by() is Ending.INTRINSIC]
    return sum(not run.by_agent for run in failed)
