"""Logs of outages by rule: machines fail unequally, in bursts, in hours of work, less and less."""

from __future__ import annotations

import numpy as np

from failgym.traces import Meta, Trace
from failgym.traces.intervals import resolve
from failgym.vocabulary import DAY, HOUR, MINUTE

WEEKS = 60
MACHINES = 40


def outage_log(seed: int = 0, *, bursts: bool = True, weeks: int = WEEKS) -> Trace:
    """Failures in whole minutes from 8 to 18 h; every fourth takes four other machines along."""
    rng = np.random.Generator(np.random.PCG64(seed))
    number = 12 * weeks
    week = np.floor(weeks * rng.random(number) ** 1.5).astype(np.int64)
    time = (
        7 * week * DAY
        + rng.integers(0, 7, number) * DAY
        + rng.integers(8 * 60, 18 * 60, number) * MINUTE
    )
    likely = 1.0 / np.arange(1, MACHINES + 1) ** 0.7
    machine = rng.choice(MACHINES, number, p=likely / likely.sum())
    led = np.flatnonzero(rng.random(number) < 0.25) if bursts else np.zeros(0, np.int64)
    others = (machine[led][:, None] + np.arange(1, 5)) % MACHINES
    machine = np.concatenate([machine, others.ravel()])
    down = np.concatenate([time, np.repeat(time[led], 4)])
    group = np.full(len(down), -1)
    group[led] = np.arange(len(led))
    group[number:] = np.repeat(np.arange(len(led)), 4)
    repair = np.rint(np.exp(rng.normal(4.0, 1.0, len(down)))).astype(np.int64) * MINUTE
    made = resolve(machine, down, down + np.maximum(repair, MINUTE))
    end = 7 * weeks * DAY
    up = np.where(made.up > end, -1, made.up)
    return Trace.of(
        Meta("outages by rule", end=end, unix_origin=10 * 365 * DAY),
        machines={
            "original_id": [f"node {one}" for one in range(MACHINES)],
            "slots": 4,
            "speed": 1.0,
        },
        outages={
            "machine": made.machine,
            "down": made.down,
            "up": np.ma.array(up, mask=up < 0),
            "cause": ["hardware"] * len(up),
            "group": np.ma.array(group[made.record], mask=group[made.record] < 0),
        },
    )


def hours(trace: Trace) -> set[int]:
    """The hours of the day in which something failed."""
    return set((trace.column("outages", "down") // HOUR % 24).tolist())
