"""RANK_HYBD on the Standard Task Graph set, for which optimal makespans are published.

T. Tobita, H. Kasahara, "A standard task graph set for fair evaluation of multiprocessor scheduling
algorithms", Journal of Scheduling 5(5), 2002. Processors are alike, nothing fails, and transfers
take no time.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from failgym.sim.scheduled import ScheduledSimulator
from failgym.sim.scheduled.rules import ScheduledRules
from failgym.sim.shared.context import AGE_BUCKETS, CLASSES, SYSTEM_FIELDS, Context
from failgym.sim.shared.forecast import Forecast
from failgym.traces import Meta, Outcome, Trace
from failgym.traces.clusters import with_machines
from failgym.traces.readers.stg import read_stg
from tests.traces.real_data import real

PROCESSORS = (2, 4, 8, 16)
UNIT = 1_000
"""A unit of time of the graphs [ms]."""
RULES = ScheduledRules(scheduler="rank_hybd")

Ints = npt.NDArray[np.int64]


def makespans(graphs: Trace, processors: int) -> Ints:
    """The makespan of each graph alone on so many processors [jobs] [ms]."""
    trace = with_machines(graphs, processors)
    jobs, tasks, attempts = (trace.rows(name) for name in ("jobs", "tasks", "attempts"))
    context = Context(
        np.zeros((CLASSES, AGE_BUCKETS, 3)),
        np.zeros((1, SYSTEM_FIELDS), dtype=np.float32),
        Forecast.none(trace.content_hash, jobs, tasks, attempts, RULES.window),
    )
    simulator = ScheduledSimulator(trace, RULES, context)
    first = np.searchsorted(trace.column("tasks", "job"), np.arange(jobs + 1)).tolist()
    made = np.zeros(jobs, dtype=np.int64)
    for job in range(jobs):
        simulator.start(range(first[job], first[job + 1]))
        outcomes = simulator.outcomes()
        assert {outcome.outcome for outcome in outcomes} == {Outcome.FINISH}
        made[job] = max(outcome.end for outcome in outcomes)
    return made


def optima(folder: Path, graphs: Trace, processors: int) -> Ints:
    """The published optimal makespan of each graph [jobs] [ms]."""
    with (folder / f"Case50_{processors}_OPT.csv").open(newline="") as file:
        found = {row[0].removesuffix(".stg"): int(row[2]) * UNIT for row in csv.reader(file)}
    return np.array([found[name] for name in graphs.column("jobs", "original_id").tolist()])


def bounds(graphs: Trace, processors: int) -> Ints:
    """What no schedule can beat: the critical path, and the work over the processors [ms]."""
    length, job = graphs.column("attempts", "length"), graphs.column("tasks", "job")
    end = length.copy()
    edges = (graphs.column("stage_edges", name).tolist() for name in ("parent", "child"))
    for parent, child in sorted(zip(*edges, strict=True), key=lambda edge: edge[1]):
        end[child] = max(end[child], end[parent] + length[child])
    path = np.zeros(graphs.rows("jobs"), dtype=np.int64)
    np.maximum.at(path, job, end)
    work = np.bincount(job, length, graphs.rows("jobs"))
    return np.maximum(path, np.ceil(work / processors)).astype(np.int64)


@pytest.mark.parametrize("processors", PROCESSORS)
def test_never_below_the_optimum_and_within_15_percent_on_average(processors: int) -> None:
    folder = real("stg")
    graphs = read_stg(folder / "stg-50.tar.gz", unit_ms=UNIT)
    assert graphs.rows("jobs") == 180
    best, made = optima(folder, graphs, processors), makespans(graphs, processors)
    assert (best >= bounds(graphs, processors)).all()
    assert (made >= best).all()
    assert np.mean(made / best) <= 1.15


def test_by_hand() -> None:
    """A chain of 3 and 4 and a task of 5 share two processors: 7, and 12 on one."""
    chain = Trace.of(
        Meta("hand", end=0),
        jobs={"original_id": ["g"], "submit": [0], "width": [3], "outcome": Outcome.CENSORED},
        stages={"job": [0, 0, 0], "stage": [0, 1, 2]},
        stage_edges={"parent": [0], "child": [1], "bytes": [0], "wide": [False]},
        tasks={"job": [0, 0, 0], "index": [0, 1, 2], "stage": [0, 1, 2], "width": 1},
        attempts={
            "task": [0, 1, 2],
            "queued": [0, 0, 0],
            "end": 0,
            "outcome": Outcome.CENSORED,
            "length": [3 * UNIT, 4 * UNIT, 5 * UNIT],
        },
    )
    assert makespans(chain, 2).tolist() == bounds(chain, 2).tolist() == [7 * UNIT]
    assert makespans(chain, 1).tolist() == bounds(chain, 1).tolist() == [12 * UNIT]
