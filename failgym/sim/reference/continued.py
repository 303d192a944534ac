"""What happens in a pinned world whose records are continued, where that differs (C1 to C9)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from failgym.sim.reference.alarms import foretell
from failgym.sim.reference.fates import ContinuedRecord, Fate
from failgym.sim.reference.record import Row
from failgym.sim.reference.tasks import Owed, Pause, Run, Task
from failgym.sim.reference.world import World
from failgym.sim.shared.forecast import Forecast
from failgym.sim.shared.rules import Rules
from failgym.vocabulary import Ending, SimOutcome

__all__ = ["ContinuedRun", "ContinuedWorld"]

_End = tuple[int, SimOutcome]


@dataclass(eq=False, kw_only=True)
class ContinuedRun(Run):
    """An attempt that was started, and the fate that it meets; drawn if it is a ghost."""

    fate: Fate

    @property
    def position(self) -> int:
        """C6: s, what it resumed from of the task's work [ms]."""
        return int(self.resumed)

    def ended_by(self) -> Ending | None:
        """What ended it, as of any attempt; a drawn one fails by itself or is evicted (C4)."""
        if not self.ghost:
            return super().ended_by()
        known = {SimOutcome.FAIL: Ending.INTRINSIC, SimOutcome.EVICT: Ending.EXTERNAL}
        return None if self.outcome is None else known.get(self.outcome)

    def was_struck(self) -> bool:
        """Did it end from outside?

        So does a row that the data cut off, of a task that FINISHes (rule 10).
        """
        cut = self.outcome is SimOutcome.CENSORED and self.row.ending is Ending.EXTERNAL
        return cut or self.ended_by() is Ending.EXTERNAL

    def held_after(self, worked: int) -> int:
        """C7: what a checkpoint saves of the task's work after so much own work [ms]."""
        held = self.position + self.fate.done(worked)
        return held if self.fate.work is None else min(self.fate.work, held)

    def own_end(self, user_kill: int | None) -> _End | None:
        """C6: when and how it ends if nothing interferes; None if that is left to the user."""
        if self._ends_as_recorded():
            return self.start + self.row.duration, SimOutcome(self.row.outcome)
        external = SimOutcome.EVICT if self.ghost else SimOutcome(self.row.outcome)
        dated = (
            (self._fails_at(), SimOutcome.FAIL),
            (self._struck_at(), external),
            (self._finishes_at(user_kill), SimOutcome.FINISH),
        )
        ends = [(time, outcome) for time, outcome in dated if time is not None]
        return min(ends, key=lambda end: end[0], default=None)  # of equal times, the first

    def _ends_as_recorded(self) -> bool:
        """C6: a recorded row that neither resumed nor paused; what the data cut off, always."""
        if self.ghost or self.row.ending is Ending.USER:
            return False
        untouched = self.position == 0 and not self.pauses
        return untouched or self.row.ending is Ending.CENSORED

    def _fails_at(self) -> int | None:
        """C6: at its position in the task's work, or, from behind that, after as long as ever."""
        after = self.fate.fails_after
        if after is None:
            return None
        position = math.floor(after * self.fate.pace)
        if self.position == 0 or self.position >= position:
            return self.has_worked_at(after)
        return self.has_worked_at(self.fate.time_for(position - self.position))

    def _struck_at(self) -> int | None:
        """C6: so long after its start, whatever it does."""
        after = self.fate.struck_after
        return None if after is None else self.start + after

    def _finishes_at(self, user_kill: int | None) -> int | None:
        """C6: when the rest of the work is done; a row that the user ended, strictly before K."""
        if self.fate.work is None or self.fate.full_time is None:
            return None
        if self.position == 0:
            done = self.has_worked_at(self.fate.full_time)
        else:
            done = self.has_worked_at(self.fate.time_for(self.fate.work - self.position))
        if not self.ghost and self.row.ending is Ending.USER:
            assert user_kill is not None
            return done if done < user_kill else None
        return done


class ContinuedWorld(World):
    """A pinned world in which attempts beyond the record meet fates that were drawn."""

    def __init__(
        self, continued: Sequence[ContinuedRecord], rules: Rules, forecast: Forecast
    ) -> None:
        super().__init__([each.record for each in continued], rules, forecast)
        self._continued = {each.record.task: each for each in continued}

    def _of(self, task: Task) -> ContinuedRecord:
        return self._continued[task.record.task]

    # --- starts ---------------------------------------------------------------------------------

    def _depart(self, task: Task) -> None:
        """C1: behind the recorded rows of the pool come the drawn attempts.

        C8: so a restart is owed at departure only where a recorded row is left, and none where the
        cluster had declined by then.
        """
        if not task.departed:
            super()._depart(task)
            task.pool += self._of(task).drawn
            if task.declined:
                task.owed.clear()

    def _start_next(self, task: Task, cloned: Run | None = None, *, by_agent: bool = False) -> None:
        """C8: the first attempt of the pool; nothing if it is empty."""
        if task.pool:
            row = task.pool.pop(0)
            ghost = row.number >= task.record.row_count
            self._start(task, row, row.number, ghost=ghost, by_agent=by_agent)

    def _new_run(self, task: Task, row: Row, number: int, *, ghost: bool, by_agent: bool) -> Run:
        """C1: whoever starts it, and when: its fate is that of its number, as are its alarms."""
        fate = self._of(task).fates[number]
        run = ContinuedRun(row, number, ghost, self.now, by_agent, fate=fate)
        law = self.forecast.alarms
        if ghost and law is not None:
            draws = replace(self._of(task).draws, seed=law.seed)
            run.foretold = foretell(law, draws, number, fate, self.rules.window)
        return run

    # --- ends and checkpoints -------------------------------------------------------------------

    def _own_end(self, task: Task, run: Run) -> _End | None:
        """C6: when and how it ends if nothing interferes."""
        assert isinstance(run, ContinuedRun)
        return run.own_end(task.record.user_kill)

    def _held(self, run: Run, pause: Pause) -> float:
        """C7: what a checkpoint saves of the task's work [ms]."""
        assert isinstance(run, ContinuedRun)
        return run.held_after(pause.work)

    # --- settlement -----------------------------------------------------------------------------

    def _forfeit(self, task: Task) -> None:
        """V2: what the task was worth, whatever the record did with it."""
        super()._forfeit(task)
        self.forfeited_value += self._of(task).value()

    # --- restarts -------------------------------------------------------------------------------

    def _came_to_its_end(self, task: Task, run: Run) -> None:
        """C8: the cluster may decline at the end of what it started itself; that voids all owed."""
        if not run.by_agent and self._declines(task, run):
            task.declined = True
            task.owed.clear()

    def _declines(self, task: Task, run: Run) -> bool:
        """C8: as the record and its stratum did, or beyond a limit."""
        assert isinstance(run, ContinuedRun)
        if run.was_struck():
            return self._of(task).declines_after_external(run.number)
        if run.ended_by() is not Ending.INTRINSIC:
            return False
        j = _failures_of_the_cluster(task)
        if self.rules.restarts == "limit":
            return j > self.rules.restart_limit
        return self._of(task).declines_after_failure(j)

    def _owe_restart(self, task: Task, run: Run) -> None:
        """C8: a restart is owed unless the cluster has declined, after the gap of C9."""
        if not task.declined:
            failed = run.ended_by() is Ending.INTRINSIC
            due = self.now + self._of(task).gap(run.number, failed=failed)
            self._owe(task, Owed(due, run.number, may_be_ghost=False))


def _failures_of_the_cluster(task: Task) -> int:
    """C8: j, the intrinsic failures so far of attempts that the agent did not start."""
    failed = [run for run in task.runs if run.ended_by() is Ending.INTRINSIC]
    return sum(not run.by_agent for run in failed)
