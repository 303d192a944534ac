"""Machines of unknown size have as many slots as were once in use, counted moment by moment."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from failgym.envs import resolve
from failgym.traces import Meta, Outcome, Trace
from failgym.traces.machine_slots import machine_slots
from failgym.worlds.build import build_world

MACHINES, END = 3, 2_000
RUN = st.tuples(st.integers(0, 12), st.integers(0, 6), st.integers(1, 3), st.integers(0, 2))
"""Start, run time, slots and machine; one of a run time of 6 goes on when the data end."""


def record(runs: list[tuple[int, int, int, int]], slots: list[int | None]) -> Trace:
    """A trace with a job for each run."""
    start, time, taken, machine = (list(column) for column in zip(*runs, strict=True))
    open_ = [each == 6 for each in time]
    end = [END if o else at + t for o, at, t in zip(open_, start, time, strict=True)]
    fate = [int(Outcome.CENSORED if o else Outcome.FINISH) for o in open_]
    jobs = np.arange(len(runs))
    return Trace.of(
        Meta("by hand", end=END),
        jobs={
            "original_id": [f"j{job}" for job in jobs],
            "submit": start,
            "width": 1,
            "outcome": fate,
        },
        tasks={"job": jobs, "index": 0 * jobs, "width": taken},
        attempts={"task": jobs, "queued": start, "start": start, "end": end, "outcome": fate},
        machines={"original_id": ["a", "b", "c"], "speed": 1.0, "slots": slots},
        placements={"attempt": jobs, "machine": machine, "slots": taken},
    )


@settings(deadline=None)
@given(
    st.lists(RUN, min_size=1, max_size=12),
    st.lists(st.none() | st.integers(1, 9), min_size=MACHINES, max_size=MACHINES),
)
def test_as_many_as_were_once_in_use(runs: Any, slots: Any) -> None:
    trace = record(runs, slots)
    for machine, told in enumerate(slots):
        here = [
            (at, at + (99 if time == 6 else time), n) for at, time, n, m in runs if m == machine
        ]
        used = max(
            (sum(n for a, b, n in here if a <= at < b) for at in range(20)),
            default=1,
        )
        alone = max((n for _, _, n in here), default=1)  # of what took no time, too
        assert machine_slots(trace)[machine] == (max(used, alone) if told is None else told)


def test_the_scheduled_world_of_a_log_has_them() -> None:
    """In each split those of the whole: most slots were in use before the split."""
    runs = [(10 * at, 5, 1, at % MACHINES) for at in range(40)] + [(3, 5, 3, 0)]
    trace = record(sorted(runs), [None, 7, None])
    fields: dict[str, Any] = {"world": "scheduled", "order": "time", "charge": "episode"}
    fields |= {"scheduler": "fifo", "outages": "none", "forecast": "none", "slice_tasks": 4}
    scenario = resolve("GracePeriod-v1").override(trace=trace, **fields)
    world: Any = build_world(scenario)
    assert world.tables.machines["slots"].tolist() == [4, 7, 1]
