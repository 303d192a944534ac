"""What a scenario sets in the simulated world: what may be decided, caps, costs, spacing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from failgym.vocabulary import MINUTE, SECOND

__all__ = ["Order", "Rules", "Weights"]

Order = Literal["task", "time"]
"""How the decisions of a slice are served: task by task, or merged by time."""

LONGEST = 2**40
"""Longest time that a rule may set, 35 years [ms]."""
MOST = 10_000
"""Largest number that a rule may set."""


@dataclass(frozen=True)
class Rules:
    """The rules of a pinned world that are a matter of choice; everything else is fixed.

    Times are in milliseconds.

    Raises:
        ValueError: if a value is out of range; the message names the field.
    """

    clone: bool = False
    """WINDOW: may a clone be started beside the attempt?"""
    checkpoint: bool = False
    """WINDOW: may the progress of the attempt be saved?"""
    kill: bool = False
    """WINDOW: may the task be armed to be killed after its grace period?"""
    give_up: bool = False
    """FAILED: may KILL be chosen, so that nothing more is started?"""
    retry: bool = False
    """FAILED: may the next attempt be started at once?"""

    max_extra: int = 4
    """R: number of attempts that the agent may add to a task, clones included (El-Sayed et al.
    2017, Alg. 1: R = 4)."""
    max_clones: int = 1
    """C: number of clones that the agent may start of a task (El-Sayed et al. 2017, Alg. 1: C =
    1)."""
    restart_limit: int = 4
    """Intrinsic failures of a departed task up to which the cluster restarts it by itself, with
    ``restarts="limit"``; with "record" it does what the record tells (rule C8)."""
    window: int = 5 * MINUTE
    """Monitoring window (Google 2011: 5 minutes)."""
    decide: Literal["every", "geometric", "alarm"] = "every"
    """Spacing of the WINDOW decisions of an attempt after the one at its start."""
    every: int = 1
    """``decide="every"``: windows between decisions."""
    factor: float = 1.25
    """``decide="geometric"``: the next decision comes when the age has grown by this factor."""
    alarm: float = 0.5
    """``decide="alarm"``: decisions are asked in windows whose risk is at least this."""
    forecast_by: Literal["progress", "age"] = "progress"
    """What the risks of a forecast are read by: the work behind an attempt, or the time since it
    started, pauses and restore included. Failures from outside strike by age, those of the attempt
    itself, and what is learnt from its usage, come by progress."""

    checkpoint_cost: int = 0
    """Time that a checkpoint stops progress for."""
    restore_cost: int = 0
    """Time that resuming from a checkpoint takes."""
    mtbf: int = 10_000 * SECOND
    """Mean time between failures of one attempt, for Young's interval (Kumar et al. 2020, Table
    VIII)."""
    grace: bool = True
    """Is a kill delayed by the grace period of the task? Otherwise it strikes at once."""
    grace_evict: int = 324 * MINUTE
    grace_fail: int = 56 * MINUTE
    grace_kill: int = 83 * MINUTE
    """Class grace periods: 84th percentiles of execution time (Rosà et al. 2015, section IV)."""
    beyond_record: Literal["ghost", "continued", "paper"] = "ghost"
    """What an attempt beyond the record is: a ghost, that fares as the last recorded one; what is
    drawn from how attempts like it fared ("continued", rules C1 to C9); or, with "paper", none
    except beside an attempt that will finish (El-Sayed et al.'s accounting, only for reproducing
    their figures)."""
    spare_attempts: int = 8
    """``beyond_record="continued"``: a task is continued by ``max_extra`` and so many attempts;
    when they are used up nothing more of it starts."""
    restarts: Literal["limit", "record"] = "limit"
    """How often the cluster restarts a departed task after intrinsic failures: up to
    ``restart_limit``, or, with "record" (only where the record is continued), as it did in the
    record."""

    def __post_init__(self) -> None:
        for name in ("max_extra", "max_clones", "restart_limit", "spare_attempts"):
            self._check(name, 0 <= getattr(self, name) <= MOST, f"0 to {MOST}")
        for name in ("checkpoint_cost", "restore_cost", "grace_evict", "grace_fail", "grace_kill"):
            self._check(name, 0 <= getattr(self, name) <= LONGEST, f"0 to {LONGEST} ms")
        for name in ("window", "mtbf"):
            self._check(name, 1 <= getattr(self, name) <= LONGEST, f"1 to {LONGEST} ms")
        self._check("every", 1 <= self.every <= MOST, f"1 to {MOST}")
        self._check("factor", 1.001 <= self.factor <= MOST, f"1.001 to {MOST}")
        self._check("alarm", 0.0 <= self.alarm <= 1.0, "in [0, 1]")
        choices = {
            "decide": ("every", "geometric", "alarm"),
            "forecast_by": ("progress", "age"),
            "beyond_record": ("ghost", "continued", "paper"),
            "restarts": ("limit", "record"),
        }
        for name, allowed in choices.items():
            self._check(name, getattr(self, name) in allowed, f"one of {', '.join(allowed)}")
        unknown = self.restarts == "record" and self.beyond_record != "continued"
        self._check("restarts", not unknown, "'limit' unless beyond_record is 'continued'")

    def _check(self, name: str, good: bool, expected: str) -> None:
        if not good:
            raise ValueError(f"{name}: expected {expected}, got {getattr(self, name)!r}")

    @property
    def drawn_attempts(self) -> int:
        """D: attempts by which a task goes on beyond its record, if that is continued (rule C1)."""
        return self.max_extra + self.spare_attempts if self.beyond_record == "continued" else 0

    @property
    def most_unrecorded(self) -> int:
        """Most attempts of a task that may start beside the recorded ones."""
        if self.beyond_record == "continued":
            return self.drawn_attempts
        return self.max_extra + self.restart_limit + 1

    @property
    def young_interval(self) -> float:
        """Young's interval sqrt(2 C MTBF) [ms] (Young, CACM 1974; Kumar et al., section VI-B)."""
        return (2.0 * self.checkpoint_cost * self.mtbf) ** 0.5


@dataclass(frozen=True)
class Weights:
    """What a scenario charges for, term by term, and the constants that make the terms comparable.

    The cost of an episode is the sum of five terms, each at least 0; the reward is minus its
    change.
    """

    wasted: float = 1.0
    """Weight of lost + redundant + ghost work, in units of ``work_scale``."""
    overhead: float = 1.0
    """Weight of checkpoint + restore time, in units of ``work_scale``."""
    completion: float = 1.0
    """Weight of completion time, in units of ``time_scale``."""
    forfeited: float = 1.0
    """Weight of forfeited tasks: their finished work and their recorded completion time again."""
    work_scale: float = 1.0
    """Mean machine-time of a task of the train split [machine-ms]."""
    time_scale: float = 1.0
    """Mean completion time of a task of the train split [ms]."""
    task_value: float | None = None
    """Value of a task in its own machine-time, which it forfeits unless it finishes, at the price
    of ``wasted``, times ``forfeited`` (rules V1, V2). None: only what the record finishes is."""
