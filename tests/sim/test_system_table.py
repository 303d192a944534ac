"""The load of the whole system over time: a row where it changes, however far apart."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from failgym.sim.pinned.simulator import PinnedSimulator
from failgym.sim.pinned.system_table import SystemTable, system_table
from failgym.sim.reference import ReferenceSimulator
from failgym.sim.shared.context import SYSTEM_BIN, SYSTEM_FIELDS
from failgym.sim.shared.fields import INDEX
from failgym.sim.shared.rules import Rules
from failgym.traces import Cause, Outcome, Trace
from failgym.traces.schema import LATEST, make_table
from failgym.traces.synthetic import generate
from failgym.vocabulary import MINUTE
from tests.chains import single_jobs
from tests.sim.random_worlds import random_context, random_trace

HOUR = 12
"""Bins."""


def at(table: SystemTable, now: int) -> list[float]:
    """The row that holds at a time, by looking at every one."""
    row = max(i for i, begin in enumerate(table.bins.tolist()) if begin <= now // SYSTEM_BIN)
    return table.values[row].tolist()


def recounted(trace: Trace, now: int) -> list[float]:
    """What is known at the start of the bin of now, attempt by attempt."""
    bin_now = now // SYSTEM_BIN
    begun = {k: (bin_now - k) * SYSTEM_BIN for k in (0, HOUR, 2 * HOUR)}
    rows = trace.table("attempts").to_pylist()
    latest = max((r["queued"] for r in rows if r["queued"] is not None), default=0)
    horizon = max(latest, *(r["end"] for r in rows))
    assert bin_now <= horizon // SYSTEM_BIN + 1, "the last row stands for what comes after it"

    def queued(row: Any) -> int:
        return row["queued"] if row["queued"] is not None else max(row["start"] or 0, 0)

    def between(times: list[int], early: int, late: int) -> int:
        return sum(begun[early] <= t < begun[late] for t in times)

    arrived = [queued(r) for r in rows]
    left = [r["end"] if r["start"] is None else r["start"] for r in rows]
    started = [r["start"] for r in rows if r["start"] is not None]
    ended = [r["end"] for r in rows if r["start"] is not None and r["outcome"] != Outcome.CENSORED]
    finished, failed = (
        [r["end"] for r in rows if r["outcome"] == outcome]
        for outcome in (Outcome.FINISH, Outcome.FAIL)
    )
    before = begun[0]
    running = sum(t < before for t in started) - sum(t < before for t in ended)
    waiting = sum(t < before for t in arrived) - sum(t < before for t in left)
    flows = [
        [np.log2(1 + between(times, early, late)) for early, late in ((HOUR, 0), (2 * HOUR, HOUR))]
        for times in (arrived, finished)
    ]
    (arrivals, earlier), (throughput, slower) = flows
    rate = between(failed, HOUR, 0) / max(between(ended, HOUR, 0), 1)
    load = [np.log2(1 + max(x, 0)) for x in (running, waiting)]
    values = [*load, 0.0, arrivals, throughput, arrivals - earlier, throughput - slower, rate]
    return np.array(values, dtype=np.float32).tolist()


def two_far_apart(between: int) -> Trace:
    """Two tasks, the second of which begins so long after the first [ms]."""
    columns = ("task", "queued", "start", "end", "outcome", "cause")
    rows = [
        (0, 0, 10 * MINUTE, 90 * MINUTE, Outcome.FAIL, Cause.INTRINSIC),
        (1, between, between + MINUTE, between + 60 * MINUTE, Outcome.FINISH, None),
    ]
    return single_jobs({name: [row[i] for row in rows] for i, name in enumerate(columns)}, 2)


@pytest.mark.parametrize("seed", range(4))
def test_each_row_is_a_recount(seed: int) -> None:
    if seed < 3:
        trace = generate("google-2011-failing", jobs=15, seed=seed)
    else:
        trace = two_far_apart(3_000 * MINUTE)
    table = system_table(trace)
    last = int(trace.column("attempts", "end").max())
    rng = np.random.default_rng(seed)
    for now in [0, last, last + SYSTEM_BIN, *rng.integers(0, last, 60).tolist()]:
        assert at(table, now) == recounted(trace, now), now


def test_after_the_end_the_last_row_holds() -> None:
    table = system_table(two_far_apart(3_000 * MINUTE))
    assert at(table, LATEST) == table.values[-1].tolist()


def test_rows_follow_the_events_and_not_the_time_between_them() -> None:
    near, far = (system_table(two_far_apart(x)) for x in (600 * MINUTE, LATEST - 100 * MINUTE))
    assert len(near.bins) == len(far.bins) <= 3 * 6 + 1
    assert (near.values == far.values).all()


def test_a_distant_time_takes_no_memory() -> None:
    near, far = two_far_apart(600 * MINUTE), two_far_apart(LATEST - 100 * MINUTE)
    _compiled_in(near)  # imports and compiled code, once
    assert _compiled_in(far) < 2 * _compiled_in(near)


def _compiled_in(trace: Trace) -> int:
    """Bytes that are needed at once to compile a trace."""
    tracemalloc.start()
    try:
        PinnedSimulator(trace, *_asking(trace, system_table(trace)))
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _asking(trace: Trace, table: SystemTable) -> tuple[Rules, Any]:
    rules = Rules(kill=True, decide="geometric", factor=2.0)
    context = random_context(np.random.default_rng(0), trace, rules)
    return rules, replace(context, system=table.values, system_bins=table.bins)


def _seen(kind: type[Any], trace: Trace, table: SystemTable) -> list[tuple[int, list[float]]]:
    """Time and system group of each decision of all tasks."""
    sim = kind(trace, *_asking(trace, table))
    sim.start(range(trace.rows("tasks")))
    seen: list[tuple[int, list[float]]] = []
    first = INDEX["running"]
    while sim.decision is not None:
        group = sim.observation()[first : first + SYSTEM_FIELDS]
        seen.append((sim.decision.time, group.tolist()))
        sim.step(0)
    return seen


@pytest.mark.parametrize("seed", range(12))
def test_the_engine_finds_the_row_of_now(seed: int) -> None:
    """Rows anywhere, some in each bin and some far apart, read at times that are anywhere too."""
    rng = np.random.default_rng(seed)
    scale = int(rng.choice([1, 300, 30_000, 10_000_000]))
    trace = _stretched(random_trace(rng), scale)
    horizon = int(trace.column("attempts", "end").max()) // SYSTEM_BIN + 2
    later = rng.integers(0, int(rng.choice([3, 40, horizon])), 30)
    bins = np.unique(np.append(later, 0)).astype(np.int64)
    values = rng.random((len(bins), SYSTEM_FIELDS)).astype(np.float32)
    table = SystemTable(bins, values)
    seen = _seen(PinnedSimulator, trace, table)
    assert seen == _seen(ReferenceSimulator, trace, table)
    for now, group in seen:
        assert group == at(table, now)


def _stretched(trace: Trace, scale: int) -> Trace:
    """The same trace, all its times so many times as long."""
    times = {
        name: np.ma.masked_array(
            trace.column("attempts", name, missing=0) * scale, ~trace.present("attempts", name)
        )
        for name in ("queued", "start", "end", "length")
    }
    old = {name: trace.attempts[name] for name in trace.attempts.column_names}
    jobs = {name: trace.jobs[name] for name in trace.jobs.column_names}
    jobs["submit"] = trace.column("jobs", "submit") * scale
    attempts = make_table("attempts", {**old, **times})
    return replace(trace, jobs=make_table("jobs", jobs), attempts=attempts)


def test_a_bin_for_each_row_is_expected() -> None:
    trace = two_far_apart(600 * MINUTE)
    context = random_context(np.random.default_rng(0), trace, Rules())
    for bins in ([0, 1, 2], [1], [0, 0], []):
        with pytest.raises(ValueError, match="system_bins: expected"):
            replace(context, system=np.zeros((2, SYSTEM_FIELDS), np.float32), system_bins=bins)
