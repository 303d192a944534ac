"""Alarms of drawn attempts, by their own fates (A1 to A4)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from failgym.sim.reference.fates import Fate
from failgym.sim.shared.alarms import FALSE_ALARMS, AlarmLaw
from failgym.sim.shared.continuation import Law
from failgym.sim.shared.keys import Purpose, uniform

__all__ = ["Alarm", "Alarms"]


@dataclass(frozen=True)
class Alarm:
    """An alarm that is on from one time of an attempt to another [ms]."""

    begins: int
    ends: int
    score: float

    def is_seen(self, window: int, length: int) -> bool:
        """A4: is it seen in this window, of so many milliseconds?"""
        last = (self.ends - 1) // length
        first = min(-(-self.begins // length), last)
        return first <= window <= last


@dataclass(frozen=True)
class Alarms:
    """The alarms of one drawn attempt."""

    law: AlarmLaw
    task: int
    """Trace row."""
    key: int
    """What the draws of its task are keyed to."""
    number: int
    fate: Fate
    window: int
    """Length of a window [ms]."""

    def risk(self, window: int) -> np.float32:
        """A4: the risk in a window, counted from 0; before that as in it."""
        at = max(window, 0)
        seen = [alarm.score for alarm in self.raised() if alarm.is_seen(at, self.window)]
        return np.float32(max(seen, default=self.law.prior))

    def raised(self) -> Sequence[Alarm]:
        """A2, A3: all of them, the true one first."""
        bad, end = self._foretold()
        true: Sequence[Alarm] = () if bad is None else self._true(bad)
        return [*true, *self._false(end)]

    def _foretold(self) -> tuple[int | None, float]:
        """A1: when it ends badly, if it does, and when it ends at all."""
        endings = [
            (self.fate.fails_after, True),
            (self.fate.struck_after, self.law.outside),
            (self.fate.full_time, False),
        ]
        dated = [(time, bad) for time, bad in endings if time is not None]
        if not dated:
            return None, math.inf
        end, bad = min(dated, key=lambda ending: ending[0])  # of equal times, the first
        return (end if bad else None), end

    def _true(self, at: int) -> Sequence[Alarm]:
        """A2: the true alarm, or none."""
        of_job = float(self.law.job_true[self.task])
        u = self._shared(of_job, Purpose.ALARM_TRUE, self.number)
        score = _value(self.law.true_score, u)
        if score is None:
            return []
        return [self._alarm(at, score, self.number, Purpose.ALARM_LEAD)]

    def _false(self, end: float) -> Sequence[Alarm]:
        """A3: the false alarms, in order of the failures that do not come."""
        found: list[Alarm] = []
        before = 0
        for j in range(FALSE_ALARMS):
            n = self.number * FALSE_ALARMS + j
            u = self._uniform(n, Purpose.ALARM_FALSE)
            if j == 0:
                of_job = float(self.law.job_false[self.task])
                u = self._shared(of_job, Purpose.ALARM_FALSE, n)
            time = _value_above(self.law.false_time, before, u)
            if time is None or time >= end:
                break
            before = int(time)
            score = _value(self.law.false_score, self._uniform(n, Purpose.ALARM_FALSE_SCORE))
            assert score is not None
            found.append(self._alarm(before, score, n, Purpose.ALARM_FALSE_LEAD))
        return found

    def _alarm(self, at: int, score: float, n: int, purpose: Purpose) -> Alarm:
        """An alarm before something at that time."""
        lead = _value(self.law.lead, self._uniform(n, purpose))
        assert lead is not None
        return Alarm(max(0, at - int(lead)), at, score)

    def _shared(self, of_job: float, purpose: Purpose, n: int) -> float:
        """The number u that is the job's for a share of the attempts."""
        if self._uniform(self.number, Purpose.ALARM_SHARED) < self.law.job_share:
            return of_job
        return self._uniform(n, purpose)

    def _uniform(self, n: int, purpose: Purpose) -> float:
        return float(uniform(self.law.seed, self.key, n, purpose)[()])


def _value(law: Law, u: float) -> float | None:
    """The first value of the law's one cell whose share is above u; None if there is none."""
    pairs = zip(law.share, law.value, strict=True)
    return next((float(value) for share, value in pairs if share > u), None)


def _value_above(law: Law, least: int, u: float) -> float | None:
    """The same, of the values above another alone (C2)."""
    up_to = [float(s) for s, value in zip(law.share, law.value, strict=True) if value <= least]
    over = max(up_to, default=0.0)
    return _value(law, over + (1.0 - over) * u)
