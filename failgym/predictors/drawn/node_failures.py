"""Forecasts of machine failures: which machine will fail when, and how many of them come true.

After "Failure-aware workflow scheduling in cluster environments" (FLAW, Cluster Computing 2010).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from failgym.metrics import NEVER, Failures, distinct_failures, entries_until
from failgym.predictors.base import check_trace
from failgym.sim.shared.keys import Purpose, uniform
from failgym.traces.trace import Trace

__all__ = ["CalibratedNodes", "NodeForecast"]

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MOST_FALSE_POSITIVES = 10_000_000
"""More are not drawn: bounds the memory that a low accuracy can take."""


@dataclass(frozen=True, eq=False)
class NodeForecast:
    """Moments at which each machine is predicted to fail, aligned with one trace.

    A prediction never changes what happens. `offset` and `time` are all there is to it: a kernel
    takes the two arrays.
    """

    trace_hash: str
    """Content hash of the trace that the forecast speaks of."""
    offset: Ints
    """[machines + 1] The predictions of machine row i are ``time[offset[i]:offset[i + 1]]``."""
    time: Ints
    """[predictions] Predicted moments of failure [ms], in nondecreasing order per machine."""

    @classmethod
    def of(cls, trace: Trace, machine: npt.ArrayLike, time: npt.ArrayLike) -> Self:
        """The forecast that predicts a failure of each machine row at each time [ms], in any order.

        Raises ValueError for a machine that the trace does not have.
        """
        machines, times = np.asarray(machine, np.int64), np.asarray(time, np.int64)
        _check_machines(machines, trace.rows("machines"))
        order = np.lexsort((times, machines))
        offset = np.searchsorted(machines[order], np.arange(trace.rows("machines") + 1))
        return cls(trace.content_hash, offset.astype(np.int64), times[order])

    @classmethod
    def none(cls, trace: Trace) -> Self:
        """The forecast that predicts nothing: its scheduler is blind to failures."""
        return cls.of(trace, (), ())

    @classmethod
    def exact(cls, trace: Trace) -> Self:
        """The record itself: every failure at the moment it happens. Answers are the truth."""
        failures = _failures(trace)
        return cls.of(trace, failures.machine, failures.down)

    @property
    def machine(self) -> Ints:
        """[predictions] The machine row of each prediction."""
        return np.repeat(np.arange(len(self.offset) - 1), np.diff(self.offset))

    def columns(self) -> dict[str, Ints]:
        """The predictions as a table, columns machine and time, as `failgym.metrics.aoa` takes."""
        return {"machine": self.machine, "time": self.time}

    def check(self, trace: Trace) -> Self:
        """Return itself if it speaks of this trace. Raises ValueError, in one line, if not."""
        return check_trace(self, trace)

    def fails(self, machine: int, at: int, within: int) -> bool:
        """Whether the machine row is predicted to fail in (at, at + within] [ms].

        A failure at the very moment of the query is over, or under way, and not asked about; one at
        the last moment counts. The predictions are looked up as they are: a query in the middle of
        a downtime that is predicted for later in it hears that the machine will fail.

        Raises ValueError for a machine that the trace does not have.
        """
        _check_machine(machine, len(self.offset) - 1)
        times = self.time[self.offset[machine] : self.offset[machine + 1]]
        first = int(np.searchsorted(times, at, side="right"))
        return first < len(times) and int(times[first]) <= at + within

    def answers(self, machine: npt.ArrayLike, at: npt.ArrayLike, within: npt.ArrayLike) -> Bools:
        """`fails` of many queries: arrays that are broadcast against each other."""
        given = (np.asarray(values, np.int64) for values in (machine, at, within))
        machines, since, span = np.broadcast_arrays(*given)
        _check_machines(machines, len(self.offset) - 1)
        before = entries_until(self.machine, self.time, machines, since)
        until = since + np.minimum(span, NEVER - np.maximum(since, 0))
        return entries_until(self.machine, self.time, machines, until) > before


@dataclass(frozen=True)
class CalibratedNodes:
    """Predictions of machine failures of a stated application-oblivious accuracy (AOA).

    AOA = Hit / (Hit + Fn + Fp): of failures predicted, failures missed, and predictions for
    moments at which the machine is up (`failgym.metrics.aoa`). With n failures in the trace,
    accuracy a and share s of false positives among the errors, that makes

        Hit = n a / (1 - s (1 - a))     Fn = n - Hit     Fp = n s (1 - a) / (1 - s (1 - a)),

    Hit and Fp rounded half up, so that the AOA is the stated one within 1 / (n + Fp).

    **Draws.** Which failures are hit, and where false positives lie, is keyed by the seed alone:
    forecasts of one seed nest. With an accuracy raised, or the share lowered, the false positives
    that remain are among those before; with either raised, the hits before are among the hits.

    **Hits** lie within the downtime, uniformly in the first ``spread`` of it. That of a machine
    that is never back is taken up to the end of the data.

    **False positives** lie uniformly in the time in which machines are up, between 0 and the end
    of the data (if there is none: of the last outage), and at least ``clear`` before the machine's
    next failure.

    The paper's scheduler that is blind to failures ("AOA = 0") is `NodeForecast.none`, or accuracy
    0 and share 0; the one that looks up the failures themselves ("AOA = 1.0") is
    `NodeForecast.exact`, or accuracy 1 and spread 0.
    """

    accuracy: float = 0.5
    """The AOA, in [0, 1] (FLAW, section V-B: .5 to .9)."""
    false_positive_share: float = 0.5
    """Fp / (Fp + Fn), in [0, 1]; less than 1 if the accuracy is 0. The paper's mixture is random
    and, in its Fig. 14, of all shares; half and half is our choice."""
    spread: float = 1.0
    """Share of the downtime over which hits are spread, in [0, 1]: 0 predicts the moment of the
    failure. The paper says only that a hit lies within the downtime."""
    clear: int = 0
    """Least time from a false positive to the machine's next failure [ms]. The paper asks only
    that the machine is up at the moment predicted."""
    seed: int = 0
    """Different seeds draw independent forecasts."""

    def __post_init__(self) -> None:
        for name in ("accuracy", "false_positive_share", "spread"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ValueError(f"{name}: expected a share in [0, 1], got {getattr(self, name)}")
        if self.accuracy == 0.0 and self.false_positive_share == 1.0:
            raise ValueError("false_positive_share: expected less than 1 with accuracy 0")
        if self.clear < 0:
            raise ValueError(f"clear: expected at least 0 ms, got {self.clear}")

    def fit(self, trace: Trace) -> Self:
        """Return itself: the quality is stated, not learned."""
        return self

    def predict(self, trace: Trace) -> NodeForecast:
        """Draw the predictions for all machines of the trace from its outages.

        Raises ValueError if outages of a machine overlap, if there is no time for false positives,
        or if there were more than `MOST_FALSE_POSITIVES`.
        """
        failures = _failures(trace)
        end = _end(trace, failures)
        hits, false_positives = self.quotas(len(failures.down))
        hit_machine, hit_time = self._hits(failures, hits, end)
        false_machine, false_time = self._false_positives(trace, failures, false_positives, end)
        machine = np.concatenate((hit_machine, false_machine))
        return NodeForecast.of(trace, machine, np.concatenate((hit_time, false_time)))

    def quotas(self, failures: int) -> tuple[int, int]:
        """The numbers of hits and of false positives for so many failures.

        Raises ValueError for more than `MOST_FALSE_POSITIVES`.
        """
        share = self.false_positive_share
        scale = 1.0 - share + share * self.accuracy
        hits = failures * self.accuracy / scale
        false_positives = failures * share * (1.0 - self.accuracy) / scale
        if false_positives > MOST_FALSE_POSITIVES:
            raise ValueError(
                f"accuracy: {self.accuracy} with false_positive_share {share} makes more than"
                f" {MOST_FALSE_POSITIVES} false positives"
            )
        return int(hits + 0.5), int(false_positives + 0.5)

    def _hits(self, failures: Failures, count: int, end: int) -> tuple[Ints, Ints]:
        """Machine and time of the predictions that come true."""
        machine, number = failures.machine, _numbers(failures.machine)
        lot = self._uniform(machine, number, Purpose.NODE_HIT)
        chosen = np.argsort(lot, kind="stable")[:count]
        down, up = failures.down[chosen], failures.up[chosen]
        length = np.where(up == NEVER, np.maximum(end - down, 1), up - down)
        share = self._uniform(machine[chosen], number[chosen], Purpose.NODE_TIME)
        later = (share * self.spread * length).astype(np.int64)
        return machine[chosen], down + np.minimum(later, length - 1)

    def _false_positives(
        self, trace: Trace, failures: Failures, count: int, end: int
    ) -> tuple[Ints, Ints]:
        """Machine and time of the predictions that do not come true."""
        machine, begin, length = _spells_up(trace, failures, end, self.clear)
        if count and not len(length):
            raise ValueError(
                "false_positive_share: expected a time at which a machine is up and does not fail"
                " soon, found none: false alarms are drawn from such times"
            )
        lot = self._uniform(np.arange(count), np.zeros(count, np.int64), Purpose.NODE_FALSE)
        passed, total = np.cumsum(length), int(length.sum())
        target = np.minimum((lot * total).astype(np.int64), total - 1)
        spell = np.searchsorted(passed, target, side="right").astype(np.int64)
        return machine[spell], begin[spell] + target - (passed - length)[spell]

    def _uniform(self, row: Ints, number: Ints, purpose: Purpose) -> Floats:
        """Uniform numbers on [0, 1), keyed to machines and the numbers of their failures."""
        return uniform(self.seed, row, number, purpose)


def _failures(trace: Trace) -> Failures:
    return distinct_failures({x: trace.column("outages", x) for x in ("machine", "down", "up")})


def _end(trace: Trace, failures: Failures) -> int:
    """The end of the data [ms], or of what is known of outages."""
    if trace.meta.end is not None:
        return trace.meta.end
    known = np.where(failures.up == NEVER, failures.down, failures.up)
    return int(known.max(initial=0))


def _spells_up(trace: Trace, failures: Failures, end: int, clear: int) -> tuple[Ints, Ints, Ints]:
    """Machine, begin and length [ms] of the spells in which a machine is up and no failure is near.

    A spell goes from 0, or the end of an outage, to `clear` before the machine's next outage, or to
    the end of the data; only those that have a length.
    """
    machines = np.arange(trace.rows("machines"))
    machine = np.concatenate((machines, failures.machine))
    begin = np.concatenate((np.zeros(len(machines), np.int64), failures.up))
    until = np.concatenate((failures.down - clear, np.full(len(machines), end)))
    # A machine's k-th spell begins with its k-th repair and is over at its k-th failure.
    order = np.lexsort((begin, machine))
    until_order = np.lexsort((until, np.concatenate((failures.machine, machines))))
    machine, begin, until = machine[order], begin[order], np.minimum(until[until_order], end)
    some = until > begin
    return machine[some], begin[some], until[some] - begin[some]


def _numbers(machine: Ints) -> Ints:
    """The number of each failure among those of its machine; failures are grouped by machine."""
    return np.arange(len(machine)) - np.searchsorted(machine, machine)


def _check_machines(machine: Ints, machines: int) -> None:
    if machine.size:
        _check_machine(int(machine.min()), machines)
        _check_machine(int(machine.max()), machines)


def _check_machine(machine: int, machines: int) -> None:
    """Raise ValueError, in one line, for a number that is not a row of the table of machines."""
    if not 0 <= machine < machines:
        raise ValueError(f"machine: expected a row from 0 to {machines - 1}, got {machine}")
