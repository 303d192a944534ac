"""Forecasts of machine failures: AOA and AAA (FLAW, Cluster Computing 2010)."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from failgym.metrics.columns import Columns, ratio

Ints = npt.NDArray[np.int64]


class Failures(NamedTuple):
    """Failures of machines in order of (machine, down), (failures,) each."""

    machine: Ints
    """Row of the machine."""
    down: Ints
    """First moment at which it is down [ms]."""
    up: Ints
    """First moment at which it is not [ms], later than `down`; `NEVER` if it does not come back."""


NEVER = np.iinfo(np.int64).max
"""Stands for the time up of a failure that is not repaired by the end of the data."""


def distinct_failures(outages: Columns) -> Failures:
    """The failures that outages record: columns machine, down and up [ms], in any order.

    `up` is -1 where the machine does not come back, as `Trace.column` has it. Outages of a machine
    that begin at one moment are one failure, the longest of them; one without a length lasts 1 ms.
    Raises ValueError if outages of a machine overlap.
    """
    machine, down, up = (np.asarray(outages[x], np.int64) for x in ("machine", "down", "up"))
    up = np.maximum(np.where(up == -1, NEVER, up), down + 1)
    order = np.lexsort((up, down, machine))
    machine, down, up = machine[order], down[order], up[order]
    last = np.ones(len(order), dtype=np.bool_)
    last[:-1] = (machine[1:] != machine[:-1]) | (down[1:] != down[:-1])
    made = Failures(machine[last], down[last], up[last])
    overlaps = (made.machine[1:] == made.machine[:-1]) & (made.up[:-1] > made.down[1:])
    if overlaps.any():
        row = int(np.argmax(overlaps)) + 1
        raise ValueError(f"outages of machine {made.machine[row]} overlap at {made.down[row]} ms")
    return made


class NodeDetection(NamedTuple):
    """Failures of machines against predictions of them."""

    hits: int
    """Failures predicted: some prediction lies in [down, up) of its machine."""
    false_negatives: int
    """Failures not predicted."""
    false_positives: int
    """Predictions for moments at which the machine is up."""

    @property
    def aoa(self) -> float:
        """Hits as a share of all three; NaN without any."""
        return ratio(self.hits, sum(self))


def node_detection(predictions: Columns, outages: Columns) -> NodeDetection:
    """Match predictions (columns machine and time [ms]) with outages (see `distinct_failures`).

    Both may be in any order. The conventional prediction period plays no part: what counts is
    whether the machine is down at the moment that was predicted. Further predictions of a failure
    that is predicted already are neither right nor wrong; the paper has none. Raises ValueError if
    outages of a machine overlap.
    """
    machine, time = (np.asarray(predictions[x], np.int64) for x in ("machine", "time"))
    failures = distinct_failures(outages)
    latest = entries_until(failures.machine, failures.down, machine, time) - 1
    right = np.flatnonzero(latest >= 0)
    right = right[failures.machine[latest[right]] == machine[right]]
    right = right[time[right] < failures.up[latest[right]]]
    hits = len(np.unique(latest[right]))
    return NodeDetection(hits, len(failures.down) - hits, len(time) - len(right))


def aoa(predictions: Columns, outages: Columns) -> float:
    """Application-oblivious accuracy, Hit / (Hit + Fn + Fp) (FLAW, equation 1).

    Arguments as of `node_detection`; NaN with neither predictions nor outages.

    >>> predicted = {"machine": [0, 2, 2], "time": [18, 8, 90]}
    >>> aoa(predicted, {"machine": [0, 1, 2], "down": [15, 60, 5], "up": [20, 65, 10]})
    0.5
    """
    return node_detection(predictions, outages).aoa


def entries_until(machine: Ints, time: Ints, at_machine: Ints, at_time: Ints) -> Ints:
    """How many entries are at most each (at_machine, at_time); entries are (machine, time), sorted.

    The arguments are the columns of the entries and of the pairs that are asked about.
    """
    times = np.unique(time)
    # An entry's key grows with (machine, time): times are replaced by their ranks, 1 and up.
    stride = len(times) + 1
    key = machine * stride + np.searchsorted(times, time, "right")
    at_key = at_machine * stride + np.searchsorted(times, at_time, "right")
    return np.searchsorted(key, at_key, "right").astype(np.int64)


Count = Literal["asked", "per_event_resource", "first_per_job_node", "every_job_resource"]
COUNTS: tuple[Count, ...] = get_args(Count)


class Answers(NamedTuple):
    """Queries "will the machine fail while it runs the job?" that count, and wrong answers."""

    queries: int
    wrong: int

    @property
    def aaa(self) -> float:
        """The share of right answers; NaN without queries."""
        return ratio(self.queries - self.wrong, self.queries)


def count_answers(queries: Columns, count: Count = "per_event_resource") -> Answers:
    """Count a log of queries and the wrong answers among them.

    Args:
        queries: one row for every ready job and every machine then free, job by job in the order in
            which the scheduler serves them; a machine given to a job is not free for the next.
            Columns: event, job, machine (numbers); asked, whether the scheduler needed the answer
            (it stops at the first machine that it accepts); answered, the forecast's answer;
            fails, the true one.
        count: which rows count. The paper does not say; its example has 90 % of 10 queries, which
            is "per_event_resource".

            - "asked": those that were asked.
            - "per_event_resource": of each event and machine the last row, which is the one that
              gives the machine its job, if it gets one.
            - "first_per_job_node": of those asked, the first of each job and machine, so that a
              job that waits is not counted again at each event.
            - "every_job_resource": all.

    Raises:
        ValueError: for an unknown count.
    """
    if count not in COUNTS:
        raise ValueError(f"count: expected one of {', '.join(COUNTS)}, got {count!r}")
    event, job, machine = (np.asarray(queries[x], np.int64) for x in ("event", "job", "machine"))
    rows = np.arange(len(event))
    if count in ("asked", "first_per_job_node"):
        rows = rows[np.asarray(queries["asked"], np.bool_)]
    if count == "first_per_job_node":
        rows = rows[_firsts(job[rows], machine[rows])]
    if count == "per_event_resource":
        rows = rows[::-1][_firsts(event[::-1], machine[::-1])]
    wrong = np.asarray(queries["answered"], np.bool_) != np.asarray(queries["fails"], np.bool_)
    return Answers(len(rows), int(wrong[rows].sum()))


def aaa(queries: Columns, count: Count = "per_event_resource") -> float:
    """Application-aware accuracy: right answers as a share of queries (FLAW, section IV-C).

    Arguments and errors as of `count_answers`; NaN without queries.
    """
    return count_answers(queries, count).aaa


def _firsts(one: Ints, other: Ints) -> Ints:
    """The first row of each pair of numbers."""
    order = np.lexsort((other, one))  # stable: rows of a pair stay in order
    one, other = one[order], other[order]
    first = np.ones(len(order), dtype=np.bool_)
    first[1:] = (one[1:] != one[:-1]) | (other[1:] != other[:-1])
    return order[first]
