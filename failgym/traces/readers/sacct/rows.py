"""What the rows of Slurm's `sacct` say of the runs of jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import nan
from typing import NamedTuple

from failgym.traces.readers.counts import Counts
from failgym.traces.readers.job_log import INT32, LAST_SECOND, NONE, FieldError, LocalTimes
from failgym.traces.readers.sacct import fields as fields_of
from failgym.traces.readers.sacct.fields import MISSING, JobId, Requested, State
from failgym.traces.readers.sacct.times import HOUR, time_of
from failgym.vocabulary import Cause, Outcome

__all__ = ["Row", "Rows", "count_of", "gpus_of", "limit_of", "memory_of"]


class Row(NamedTuple):
    """A row of a job, not of one of its steps; times are seconds since 1970."""

    id: JobId
    state: State
    submit: int
    start: int
    end: int
    code: int | None
    slots: int


@dataclass
class Rows:
    """Reads rows."""

    counts: Counts
    clock: LocalTimes
    seen: int = NONE  # up to when what still runs was seen to run [s since 1970]

    def read(self, name: JobId, values: Mapping[str, str]) -> Row | None:
        """The row about a job; None if it has no time at all. Raises FieldError."""
        state = self._state(values)
        submit, start, end = (self._time(values, what) for what in ("submit", "start", "end"))
        start, end = self._span(state, start, end, values)
        code, slots = self._code(values), self._slots(values)
        if submit == start == end == NONE:
            self.counts.drop("no time known")
            return None
        if state.outcome != Outcome.CENSORED and end == NONE:
            if max(start, submit) == NONE or state.outcome == Outcome.FINISH:
                self.counts.note("over, but its end is missing: taken as open")
                state = fields_of.STATES["RUNNING"]
            else:
                end = max(start, submit)
                self.counts.note("over, but its end is missing: taken as its start or submission")
        if state.outcome == Outcome.FINISH and start == NONE:
            start = end
            self.counts.note("success without a start, taken to start at its end")
        return Row(name, state, submit, start, end, code, slots)

    def _state(self, values: Mapping[str, str]) -> State:
        state = fields_of.state_of(values["state"])
        if state is None:
            if values["state"] in MISSING:
                raise FieldError("State", values["state"], "a state like COMPLETED")
            self.counts.note("state that is not known, taken as open")
            return fields_of.STATES["RUNNING"]
        if state.cause == Cause.USER and "depend" in values.get("reason", "").lower():
            return state._replace(cause=Cause.DEPENDENCY)
        return state

    def _span(
        self, state: State, start: int, end: int, values: Mapping[str, str]
    ) -> tuple[int, int]:
        """When the run began and ended, of the times that are given."""
        elapsed, over = _elapsed(values), state.outcome != Outcome.CENSORED
        if start != NONE and end != NONE and (end < start or elapsed not in (None, end - start)):
            start, end = self._untangled(start, end, elapsed, values)
        elif start != NONE and end == NONE and elapsed and over:
            end = start + elapsed
        if start == end and (
            state.cause in (Cause.USER, Cause.DEPENDENCY) or values.get("nodelist") == _NOWHERE
        ):
            start = NONE  # cancelled while it waited: older versions give it a start
        if over:
            return start, end
        if values["state"][:1] in ("P", "p"):
            start = NONE  # pending: if there is a start, it is the expected one
        if start != NONE and elapsed:
            self.seen = max(self.seen, start + elapsed)
        return start, NONE

    def _untangled(
        self, start: int, end: int, elapsed: int | None, values: Mapping[str, str]
    ) -> tuple[int, int]:
        """Start and end in those of two hours of a name that fit the time elapsed."""
        later_start = start + self.clock.again(values["start"][:HOUR])
        later_end = end + self.clock.again(values.get("end", "")[:HOUR])
        spans = [(first, last) for first in (start, later_start) for last in (end, later_end)]
        exact = [span for span in spans if span[1] - span[0] == elapsed]
        possible = [span for span in spans if span[0] <= span[1]]
        return (exact or possible or spans)[0]

    def _time(self, values: Mapping[str, str], name: str) -> int:
        text = values.get(name, "")
        if text in MISSING:
            return NONE
        try:
            return time_of(text, self.clock)
        except ValueError as error:
            expected = "a time like 2014-08-26T17:08:04, or Unknown"
            raise FieldError(name.capitalize(), text, expected) from error

    def _code(self, values: Mapping[str, str]) -> int | None:
        text = values.get("exitcode", "")
        if text in MISSING:
            return None
        code = fields_of.exit_code(text)
        if code is None:
            raise FieldError("ExitCode", text, "an exit code and a signal like 1:0")
        return code

    def _slots(self, values: Mapping[str, str]) -> int:
        """Processors that were allocated, else requested; else nodes; else one."""
        for name in _SLOTS:
            text = values.get(name, "")
            if text in MISSING:
                continue
            number = fields_of.trackable(text)[0] if "=" in text else count_of(name, text)
            if number:
                return number
        self.counts.note("number of processors missing, taken as 1")
        return 1


_NOWHERE = "None assigned"
_SLOTS = ("alloccpus", "ncpus", "alloctres", "reqcpus", "reqtres", "nnodes", "reqnodes")


@lru_cache(maxsize=1 << 12)
def count_of(name: str, text: str) -> int:
    """A count; with --units or without --noconvert it may end in K or M, which are thousands."""
    factor = {"K": 1_000, "M": 1_000_000}.get(text[-1:], 1)
    digits = text if factor == 1 else text[:-1]
    whole, _, fraction = digits.partition(".")
    if not (whole + fraction).isdigit() or not digits.isascii() or len(digits) > 10:
        raise FieldError(name, text, "a whole number")
    number = round(float(digits) * factor)
    if number > INT32:
        raise FieldError(name, text, f"at most {INT32}")
    return number


def _elapsed(values: Mapping[str, str]) -> int | None:
    raw = values.get("elapsedraw", "")
    seconds = fields_of.duration(raw if raw.isdigit() else values.get("elapsed", ""))
    return int(seconds) if seconds is not None and seconds <= LAST_SECOND // 2 else None


def limit_of(values: Mapping[str, str]) -> int | None:
    """Requested walltime [s]; None for unlimited, or a partition's limit."""
    raw = values.get("timelimitraw", "")
    if raw.isascii() and raw.isdigit() and len(raw) < 10:
        return int(raw) * 60
    seconds = fields_of.duration(values.get("timelimit", ""))
    return int(seconds) if seconds is not None and seconds <= LAST_SECOND else None


TOLERANCE = 0.01
"""ReqMem and ReqTRES, which is rounded, differ by this share if they are not the same."""


def memory_of(values: Mapping[str, str], slots: int, counts: Counts) -> float:
    """Bytes per slot that were requested, else allocated; NaN if neither is known.

    A request of 0 is one of all memory of the nodes, however much that is.
    """
    nodes, text = values.get("nnodes", ""), values.get("reqmem", "")
    count = int(nodes) if nodes.isascii() and nodes.isdigit() and len(nodes) < 10 else 1
    requested = fields_of.requested_memory(text)
    memory = requested.per_slot(slots, count)
    if requested.flagged:
        counts.note("ReqMem marked as of a processor by a bit of the number (old Slurm)")
    elif memory != memory and text not in MISSING:
        counts.note("ReqMem that is no amount of memory: ReqTRES or AllocTRES counts, if there")
    _compare(requested, values, count, counts)
    for name in ("reqtres", "alloctres"):
        if not memory > 0 and (tres := values.get(name)):
            memory = fields_of.trackable(tres)[1] / slots
    return memory if memory > 0 else nan


def gpus_of(values: Mapping[str, str]) -> float:
    """Graphics processors that were requested, else allocated; NaN if no list tells of any TRES."""
    found = nan
    for name in ("reqtres", "alloctres"):
        tres = values.get(name, "")
        if "=" in tres and not found > 0:
            found = float(fields_of.gpus_of(tres))
    return found


def _compare(requested: Requested, values: Mapping[str, str], nodes: int, counts: Counts) -> None:
    """Note where ReqTRES tells of another amount of memory than ReqMem."""
    cpus, total = fields_of.trackable(values.get("reqtres", ""))
    asked = requested.per_slot(max(cpus, 1), nodes) * max(cpus, 1)
    if asked > 0 and total > 0 and abs(asked - total) > TOLERANCE * total:
        counts.note("ReqTRES tells of other memory than ReqMem, which counts")
