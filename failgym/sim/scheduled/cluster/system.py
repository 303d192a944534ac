"""What is counted of the whole cluster: by bins of 5 minutes, over the last two hours."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from failgym.sim.scheduled.records import BINS, COUNTED
from failgym.sim.shared.context import SYSTEM_BIN
from failgym.sim.shared.jit import called
from failgym.vocabulary import CANCELLED, Outcome

if TYPE_CHECKING:
    from failgym.sim.scheduled.records import View

__all__ = ["ARRIVALS", "begin_counters", "count", "count_end", "interruptions", "turn_bins"]

ARRIVALS, _FINISHED, _FAILED, _ENDED, _INTERRUPTED = range(COUNTED)
_FINISH, _FAIL, _CENSORED = int(Outcome.FINISH), int(Outcome.FAIL), int(Outcome.CENSORED)
_EVICT, _LOST = int(Outcome.EVICT), int(Outcome.LOST)
_HOUR = (BINS - 1) // 2


@called
def _hour(x: View, kind: int, back: int) -> int:
    """What was counted in the whole bins of the hour that ended ``back`` hours ago."""
    total, at = 0, (x.ep.bin - 1 - back * _HOUR) % BINS
    for _ in range(_HOUR):
        total += x.counters[at, kind]
        at = at - 1 if at > 0 else BINS - 1
    return total


@called
def _rate(x: View, kind: int) -> tuple[float, float]:
    """log2 of what was counted in the whole bins of the last hour, and its change."""
    now, before = math.log2(1.0 + _hour(x, kind, 0)), math.log2(1.0 + _hour(x, kind, 1))
    return now, now - before


@called
def turn_bins(x: View) -> None:
    """Turn to the bin of now, and work out what the whole bins before it say."""
    ep, bin_now = x.ep, x.ep.now // SYSTEM_BIN
    for k in range(max(ep.bin + 1, bin_now - BINS + 1), bin_now + 1):
        for kind in range(COUNTED):
            x.counters[k % BINS, kind] = 0
    ep.bin = bin_now
    ep.arrival_rate, ep.arrival_change = _rate(x, ARRIVALS)
    ep.throughput, ep.throughput_change = _rate(x, _FINISHED)
    ep.failure_rate = _hour(x, _FAILED, 0) / max(1, _hour(x, _ENDED, 0))
    ep.interruptions = _hour(x, _INTERRUPTED, 0)


@called
def count(x: View, kind: int) -> None:
    """Count something that happens now."""
    if x.ep.now // SYSTEM_BIN != x.ep.bin:
        turn_bins(x)
    x.counters[x.ep.bin % BINS, kind] += 1


@called
def count_end(x: View, outcome: int, outside: bool) -> None:
    """Count an attempt that ends now; ``outside``: its record has something outside end it."""
    if outcome in (_CENSORED, CANCELLED):
        return
    count(x, _ENDED)
    if outcome == _FINISH:
        count(x, _FINISHED)
    elif outcome == _FAIL:
        count(x, _FAILED)
    if outcome in (_EVICT, _LOST) or (outcome == _FAIL and outside):
        count(x, _INTERRUPTED)
        x.ep.interrupted = x.ep.now


@called
def interruptions(x: View) -> int:
    """How often the system ended attempts in the whole bins of the last hour and in that of now."""
    return x.ep.interruptions + x.counters[x.ep.bin % BINS, _INTERRUPTED]


@called
def begin_counters(x: View) -> None:
    """Forget everything at the beginning of an episode."""
    x.counters[:, :] = 0
    x.ep.arrival_rate, x.ep.arrival_change = 0.0, 0.0
    x.ep.throughput, x.ep.throughput_change, x.ep.failure_rate = 0.0, 0.0, 0.0
    x.ep.bin = x.ep.now // SYSTEM_BIN
    x.ep.interruptions, x.ep.interrupted = 0, x.ep.now
