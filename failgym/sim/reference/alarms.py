"""What is foretold of drawn attempts: alarms that follow the fate of each (A1 to A4)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from failgym.sim.reference.fates import Draws, Fate, draw
from failgym.sim.shared.alarms import FALSE_ALARMS, AlarmLaw
from failgym.sim.shared.keys import Purpose
from failgym.vocabulary import Ending

__all__ = ["Alarm", "Foretold", "foretell"]

CELL = 0
"""The only one of each law."""


@dataclass(frozen=True)
class Alarm:
    """An alarm of an attempt; times are counted from its start."""

    begin: int
    end: int
    score: float

    def is_seen(self, position: int, window: int) -> bool:
        """A4: is it seen after so many windows? Each alarm is in at least one."""
        last = (self.end - 1) // window
        first = min(-(-self.begin // window), last)
        return first <= position <= last


@dataclass(frozen=True)
class Foretold:
    """What is foretold of one attempt."""

    alarms: tuple[Alarm, ...]
    prior: float
    window: int

    def risk(self, position: int) -> np.float32:
        """A4: the risk after so many windows; before the first that of the first."""
        seen = [a.score for a in self.alarms if a.is_seen(max(position, 0), self.window)]
        return np.float32(max(seen, default=self.prior))


def foretell(law: AlarmLaw, draws: Draws, number: int, fate: Fate, window: int) -> Foretold:
    """What is foretold of a drawn attempt.

    Args:
        law: of the alarms.
        draws: of its task, with the seed of the alarms.
        number: of the attempt.
        fate: what it would meet.
        window: of the forecast [ms].
    """
    is_shared = draws.uniform(number, Purpose.ALARM_SHARED) < law.job_share
    alarms = (
        *_true(law, draws, number, fate, is_shared),
        *_false(law, draws, number, fate, is_shared),
    )
    return Foretold(alarms, law.prior, window)


def _true(law: AlarmLaw, draws: Draws, number: int, fate: Fate, is_shared: bool) -> Iterator[Alarm]:
    """A2: at most one alarm, of the bad end that the attempt meets."""
    end, ending = fate.from_start()
    bad = (Ending.INTRINSIC, Ending.EXTERNAL) if law.outside else (Ending.INTRINSIC,)
    if end is None or ending not in bad:
        return
    u = draws.uniform(number, Purpose.ALARM_TRUE)
    if is_shared:
        u = float(law.job_true[draws.task])
    score = draw(law.true_score, CELL, u)
    if score is not None:
        lead = _lead(law, draws.uniform(number, Purpose.ALARM_LEAD))
        yield Alarm(max(0, end - lead), end, score)


def _false(
    law: AlarmLaw, draws: Draws, number: int, fate: Fate, is_shared: bool
) -> Iterator[Alarm]:
    """A3: alarms of failures that do not come, while the attempt lives."""
    end, _ = fate.from_start()
    curve = _false_curve(law, draws, fate)
    comes, over = 0, 0.0
    for j in range(FALSE_ALARMS):
        n = number * FALSE_ALARMS + j
        u = draws.uniform(n, Purpose.ALARM_FALSE)
        if j == 0 and is_shared:
            u = float(law.job_false[draws.task])
        share = over + (1.0 - over) * u
        later = [time for time in curve if time > comes and curve[time] > share]
        if not later or (end is not None and later[0] >= end):
            return
        comes, over = later[0], curve[later[0]]
        score = draw(law.false_score, CELL, draws.uniform(n, Purpose.ALARM_FALSE_SCORE))
        assert score is not None  # its last share is 1
        lead = _lead(law, draws.uniform(n, Purpose.ALARM_FALSE_LEAD))
        yield Alarm(max(0, comes - lead), comes, score)


def _false_curve(law: AlarmLaw, draws: Draws, fate: Fate) -> dict[int, float]:
    """A3: time -> 1 - S^c, ascending: the chance of a failure by then that does not come."""
    cell = draws.cell(fate.failures)
    bad = (draws.laws.failure, draws.laws.external) if law.outside else (draws.laws.failure,)
    steps = sorted(
        (int(each.value[entry]), which, float(each.share[entry]))
        for which, each in enumerate(bad)
        for entry in range(int(each.at[cell]), int(each.at[cell + 1]))
    )
    left, curve = [1.0, 1.0], dict[int, float]()
    for time, which, share in steps:
        left[which] = 1.0 - share
        curve[time] = 1.0 - (left[0] * left[1]) ** law.false_factor
    return curve


def _lead(law: AlarmLaw, u: float) -> int:
    """Time from an alarm to the failure that it speaks of [ms]."""
    lead = draw(law.lead, CELL, u)
    assert lead is not None  # its last share is 1
    return int(lead)
