"""Stable storage shared by writes, worked by hand; and running order statistics."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest

from failgym.sim.scheduled.cluster.storage import begin_write, lose_write, storage_event
from failgym.sim.scheduled.records import EPISODE, PARAMETERS, RUN, TASK_STATE, WRITE
from failgym.sim.scheduled.workflow.quantiles import insert
from failgym.sim.shared.events import pop
from failgym.sim.shared.jit import entry
from failgym.sim.shared.records import EVENT
from failgym.vocabulary import NEVER

# The kernels' view of the world is duck-typed: these have the parts that the storage touches.


class Place(NamedTuple):
    """A world."""

    parameters: Any


class Episode(NamedTuple):
    """An episode."""

    ep: Any
    tasks: Any
    runs: Any
    heap: Any
    writes: Any


_NJIT: Any = entry


@_NJIT
def _replay(
    parameters: Any, ep: Any, tasks: Any, runs: Any, heap: Any, writes: Any, plan: Any, ends: Any
) -> int:
    """Let writes begin (cost >= 0) and be lost (-1) at their times; note when each ends."""
    w = Place(parameters)
    x = Episode(ep[0], tasks, runs, heap, writes)
    at, events = 0, 0
    while at < len(plan) or x.ep.events > 0:
        if x.ep.events > 0 and (at == len(plan) or heap[0].time <= plan[at, 0]):
            time, _, _, _, stamp = pop(x)
            events += 1
            before = x.ep.now
            i = storage_event(w, x, time, stamp)
            if i >= 0:
                ends[i] = x.ep.now
            elif x.ep.now != before:
                return -1
        else:
            x.ep.now = plan[at, 0]
            if plan[at, 2] >= 0:
                begin_write(w, x, plan[at, 1], plan[at, 2])
            else:
                lose_write(w, x, plan[at, 1])
            at += 1
    return events


def replay(streams: int, *plan: tuple[int, int, int]) -> list[int]:
    """When each write ends, -1 if never; a plan of (time, run, cost or -1: it is lost)."""
    parameters = np.zeros(1, dtype=PARAMETERS)
    parameters["streams"] = streams
    ep = np.zeros(1, dtype=EPISODE)
    ep["write_due"] = NEVER
    count = 1 + max(run for _, run, _ in plan)
    tasks, runs = np.zeros(count, dtype=TASK_STATE), np.zeros(count, dtype=RUN)
    tasks["task"] = np.arange(count)
    runs["local"], runs["write"] = np.arange(count), -1
    heap, writes = np.zeros(64, dtype=EVENT), np.zeros(count, dtype=WRITE)
    ends = np.full(count, -1, dtype=np.int64)
    steps = np.array(plan, dtype=np.int64)
    events = _replay(parameters, ep, tasks, runs, heap, writes, steps, ends)
    assert 0 <= events <= 4 * len(plan)
    return ends.tolist()


def test_one_write_after_the_other() -> None:
    assert replay(1, (0, 0, 10), (10, 1, 5)) == [10, 15]


def test_no_limit() -> None:
    assert replay(0, (0, 0, 10), (0, 1, 10), (3, 2, 4)) == [10, 10, 7]


def test_as_many_as_streams() -> None:
    assert replay(2, (0, 0, 10), (5, 1, 10)) == [10, 15]


def test_two_share_one_stream() -> None:
    """From 4 on each gets half: 0 has 6 ms to go and ends at 16; 1 then has 4 and ends at 20."""
    assert replay(1, (0, 0, 10), (4, 1, 10)) == [16, 20]


def test_three_share_two_streams() -> None:
    """Each is served at 2/3: 10 ms take 15. Rounded up to whole milliseconds."""
    assert replay(2, (0, 0, 10), (0, 1, 10), (0, 2, 10)) == [15, 15, 15]
    assert replay(2, (0, 0, 11), (0, 1, 30), (0, 2, 30))[0] == 17  # 16.5


def test_a_lost_write_leaves_its_share_to_the_others() -> None:
    """Until 6 each is served 3 ms; 0 then goes on alone."""
    assert replay(1, (0, 0, 10), (0, 1, 10), (6, 1, -1)) == [13, -1]


def test_losing_what_is_not_written_changes_nothing() -> None:
    assert replay(1, (0, 0, 10), (4, 1, -1)) == [10, -1]


def test_shorter_writes_overtake() -> None:
    """1 begins at service 2 and ends at service 4, which is 4 ms later."""
    assert replay(1, (0, 0, 10), (2, 1, 2)) == [12, 6]


def test_writes_that_take_no_time() -> None:
    assert replay(1, (0, 0, 10), (4, 1, 0)) == [10, 4]


def test_service_is_rounded_down_when_writes_come_and_go() -> None:
    """Of three that share a stream each has had 1024 // 3 = 341 units after 1 ms."""
    # 0 needs 1024 units: 341 at 1, then 683 left of two that share: 1366 / 1024 ms, 2 ms.
    assert replay(1, (0, 0, 1), (0, 1, 5), (0, 2, 9), (1, 2, -1)) == [3, 7, -1]


def _by_hand(streams: int, costs: list[int]) -> list[int]:
    """When writes that begin together end, if the storage serves them evenly and rounds nothing."""
    ends, now, done = [0] * len(costs), 0.0, 0
    for k, i in enumerate(sorted(range(len(costs)), key=lambda i: costs[i])):
        left = len(costs) - k
        share = 1.0 if streams == 0 else min(1.0, streams / left)
        now += (costs[i] - done) / share
        done = costs[i]
        ends[i] = math.ceil(now - 1e-6)
    return ends


@pytest.mark.parametrize("streams", [0, 1, 3, 8])
def test_many_at_once(streams: int) -> None:
    costs = [int(c) for c in np.random.default_rng(streams).integers(1, 1000, 40)]
    ends = replay(streams, *((0, i, cost) for i, cost in enumerate(costs)))
    expected = _by_hand(streams, costs)
    # each change may round the service and the end of a write up to a millisecond
    assert np.abs(np.array(ends) - expected).max() <= len(costs)


@pytest.mark.parametrize("share", [1, 10, 19])
def test_running_order_statistics(share: int) -> None:
    """The ceil(share n / 20)-th smallest of n values."""
    drawn = np.random.default_rng(share).integers(0, 50, 300)
    values, low = np.zeros(302, dtype=np.int64), 0
    for n, value in enumerate(drawn.tolist()):
        wanted = -(-share * (n + 1) // 20)
        low = _insert(values, low, n, value, wanted)
        assert low == wanted
        assert values[1] == sorted(drawn[: n + 1].tolist())[wanted - 1]
    assert values[0] == values[301] == 0


@_NJIT
def _insert(values: Any, low: int, n: int, value: int, wanted: int) -> int:
    """A way in from Python."""
    return insert(values, 1, 301, low, n, value, wanted)
