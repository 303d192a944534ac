"""Little's law in a long run, and the waiting time of the M/M/c queue (Erlang C)."""

from __future__ import annotations

import math

import numpy as np
import pytest

from failgym.sim.scheduled import ScheduledSimulator
from failgym.sim.scheduled.rules import ScheduledRules
from failgym.sim.shared.context import Context
from failgym.sim.shared.forecast import Forecast
from failgym.traces import Meta, Trace
from failgym.vocabulary import Event

TASKS = 60_000
SERVERS = 8
SERVICE = 100_000
"""Mean run time [ms]."""
LOAD = 0.8


def queueing_trace(rng: np.random.Generator) -> Trace:
    """Poisson arrivals of tasks of one slot with exponential run times."""
    arrival = np.cumsum(rng.exponential(SERVICE / SERVERS / LOAD, TASKS)).astype(np.int64)
    return Trace.of(
        Meta("M/M/c"),
        jobs={
            "original_id": [str(i) for i in range(TASKS)],
            "submit": arrival,
            "width": np.ones(TASKS, dtype=np.int32),
            "outcome": np.zeros(TASKS, dtype=np.int8),
        },
        tasks={
            "job": np.arange(TASKS),
            "index": np.zeros(TASKS, dtype=np.int64),
            "width": np.ones(TASKS, dtype=np.int32),
        },
        attempts={
            "task": np.arange(TASKS),
            "queued": arrival,
            "start": arrival,
            "end": arrival + rng.exponential(SERVICE, TASKS).astype(np.int64),
            "outcome": np.zeros(TASKS, dtype=np.int8),
        },
        machines={
            "original_id": [str(m) for m in range(SERVERS)],
            "slots": [1] * SERVERS,
            "speed": [1.0] * SERVERS,
        },
    )


def erlang_wait() -> float:
    """Mean wait of the M/M/c queue over the mean service."""
    offered = SERVERS * LOAD
    terms = [offered**k / math.factorial(k) for k in range(SERVERS)]
    tail = offered**SERVERS / math.factorial(SERVERS) / (1 - LOAD)
    return tail / (sum(terms) + tail) / (SERVERS * (1 - LOAD))


def test_littles_law_and_erlangs_wait() -> None:
    trace, rules = queueing_trace(np.random.default_rng(3)), ScheduledRules()
    forecast = Forecast.none(trace.content_hash, TASKS, TASKS, TASKS, rules.window)
    context = Context(np.zeros((8, 24, 3)), np.zeros((1, 8), dtype=np.float32), forecast)
    sim = ScheduledSimulator(trace, rules, context)
    sim.start(range(TASKS))
    entries = [(e.time, e.kind) for e in sim.log]
    end = entries[-1][0]
    low, high = end // 4, 3 * end // 4
    for leaving, spent in (
        (Event.SETTLED, [(x.submit, x.end - x.submit) for x in sim.outcomes()]),
        (Event.START, [(x.submit, x.waited) for x in sim.outcomes()]),
    ):
        inside = [time for submit, time in spent if low <= submit < high]
        by_law = len(inside) / (high - low) * float(np.mean(inside))
        assert _mean_number(entries, leaving, low, high) == pytest.approx(by_law, rel=0.03)
    waits = [x.waited for x in sim.outcomes()]
    assert float(np.mean(waits)) / SERVICE == pytest.approx(erlang_wait(), rel=0.1)


def _mean_number(entries: list[tuple[int, int]], leaving: Event, low: int, high: int) -> float:
    """Mean over time of those that have joined the queue and not left, from the log alone."""
    present, before, total = 0, low, 0
    for time, kind in entries:
        now = min(max(time, low), high)
        total += present * (now - before)
        before = now
        present += (kind == Event.QUEUED) - (kind == leaving)
    return total / (high - low)
