"""Jobs, tasks and runs as a batch system's accounting tells of them, until they are a trace."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from math import nan
from typing import Any, Final
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from failgym.arrow import pa
from failgym.traces.order import in_order
from failgym.traces.readers.counts import Counts
from failgym.traces.readers.sources import LONGEST_TEXT
from failgym.traces.schema import LATEST, TraceError
from failgym.traces.tables import Meta
from failgym.traces.trace import Trace
from failgym.vocabulary import Outcome

__all__ = [
    "INT32",
    "LAST_SECOND",
    "LONGEST_NAME",
    "NONE",
    "NO_EXIT_CODE",
    "PLACEMENTS",
    "Columns",
    "FieldError",
    "Hosts",
    "JobLog",
    "LocalTimes",
    "amount_of_memory",
]

Ints = npt.NDArray[np.int64]
Hosts = tuple[tuple[str, int], ...]
"""Names of machines with the slots that are taken there."""

NONE: Final = -1
"""Stands for a missing whole number, time or text."""
INT32: Final = 2**31 - 1
LAST_SECOND: Final = LATEST // 1000
"""Times since 1970 are at most this [s]."""
ZONES = re.compile(r"[A-Za-z0-9_+\-/]{1,64}")
"""What names of time zones are made of."""


JOBS: Final = ("user", "group", "name", "queue", "shared", "walltime", "priority")
TASKS: Final = ("job", "index", "width", "memory", "category", "cpu", "gpu")
RUNS: Final = (
    *("task", "queued", "start", "end", "outcome", "cause", "exit_code"),
    *("cpu", "mean_memory", "max_memory"),
)
PLACEMENTS: Final = ("attempt", "machine", "slots")
"""Columns of a `JobLog`, in the order of `Columns.add`; a text is its number in `JobLog.text`."""


class FieldError(ValueError):
    """A field has an impossible value; the message names it and says what was expected."""

    def __init__(self, name: str, value: str, expected: str) -> None:
        super().__init__(f"field {name!r} is {value[:60]!r}, expected {expected}")


class Columns:
    """A table of numbers that grows row by row, in one compact array.

    Whole numbers are below 2^53, so that they are exact.
    """

    def __init__(self, *names: str) -> None:
        self._places = {name: place for place, name in enumerate(names)}
        self._width = len(names)
        self._values: array[float] = array("d")
        self._rows = 0

    def __len__(self) -> int:
        return self._rows

    def __getitem__(self, place: tuple[str, int]) -> float:
        name, row = place
        return self._values[row * self._width + self._places[name]]

    def __setitem__(self, place: tuple[str, int], value: float) -> None:
        name, row = place
        self._values[row * self._width + self._places[name]] = value

    def add(self, *values: float) -> int:
        """Append a row, its values in the order of the columns; returns its number."""
        self._values.extend(values)
        self._rows += 1
        return self._rows - 1

    def clear(self) -> None:
        """Remove all rows, and free their memory."""
        self._values, self._rows = array("d"), 0

    def whole(self, name: str, row: int) -> int:
        """One whole number."""
        return int(self[name, row])

    def extend(self, *columns: npt.NDArray[Any] | float) -> None:
        """Append rows: all columns in their order, arrays of shape (rows,) or one value for all."""
        rows = np.stack(np.broadcast_arrays(*columns), axis=1).astype(np.float64)
        self._values.frombytes(rows.tobytes())
        self._rows += len(rows)

    def ints(self, name: str) -> Ints:
        """A column of whole numbers, shape (rows,)."""
        return self.floats(name).astype(np.int64)

    def floats(self, name: str) -> npt.NDArray[np.float64]:
        """A column of numbers, NaN where one is missing, shape (rows,)."""
        table = np.frombuffer(self._values, dtype=np.float64).reshape(-1, self._width)
        return table[:, self._places[name]].copy()


@dataclass
class JobLog:
    """The tables of a trace in the making; times in seconds since 1970, memory in bytes.

    Missing whole numbers are `NONE`, missing numbers NaN. Memory and processors that a task
    requests are those of one of its slots, graphics processors those of all.
    """

    ids: list[str] = field(default_factory=list[str])
    texts: dict[str, int] = field(default_factory=dict[str, int])
    machines: dict[str, int] = field(default_factory=dict[str, int])
    jobs: Columns = field(default_factory=lambda: Columns(*JOBS))
    tasks: Columns = field(default_factory=lambda: Columns(*TASKS))
    runs: Columns = field(default_factory=lambda: Columns(*RUNS))
    placements: Columns = field(default_factory=lambda: Columns(*PLACEMENTS))
    tick: int = 1000  # unit of the times [ms]
    dated: bool = True  # whether times are since 1970, else since anything

    def text(self, text: str | None, name: str = "") -> int:
        """The number that stands for a text; `NONE` for none.

        Raises FieldError for one that is too long to be what the field `name` holds.
        """
        if text and len(text) > LONGEST_TEXT:
            raise FieldError(name, text, f"at most {LONGEST_TEXT} characters")
        return self.texts.setdefault(text, len(self.texts)) if text else NONE

    def new_job(self, name: str) -> int:
        """A job of that original id; everything else about it is missing until it is set."""
        self.ids.append(name)
        return self.jobs.add(NONE, NONE, NONE, NONE, NONE, NONE, NONE)

    def new_task(self, job: int, index: int) -> int:
        """A task of a job, one slot wide until that is set."""
        return self.tasks.add(job, index, 1, nan, NONE, nan, nan)

    def place(self, run: int, hosts: Hosts) -> None:
        """Say where a run is."""
        for name, slots in hosts:
            machine = self.machines.setdefault(name, len(self.machines))
            self.placements.add(run, machine, slots)

    def place_evenly(self, run: int, hosts: Sequence[str], slots: int) -> None:
        """Say where a run is whose slots are spread evenly over its hosts, at least one on each."""
        each, more = divmod(slots, len(hosts))
        spread = [max(each + (place < more), 1) for place in range(len(hosts))]
        self.place(run, tuple(zip(hosts, spread, strict=True)))

    def last_second(self) -> int:
        """The last moment that the runs tell of [s since 1970, or ticks]."""
        return max(int(self.runs.ints(name).max()) for name in ("queued", "start", "end"))

    def trace(self, source: str, remarks: Mapping[str, str], counts: Counts, end: int) -> Trace:
        """The trace; what has no end is open at `end` [s since 1970, or ticks].

        A job finishes if all of its tasks do, and is censored if one is; else its outcome and its
        exit category are those of the unsuccessful task that ended last. The log is empty then.
        """
        ids, jobs = pa.array(self.ids, pa.string()), len(self.ids)
        self.ids.clear()  # from here on nothing is kept twice
        runs, tasks = self.runs, self.tasks
        task, outcome = runs.ints("task"), runs.ints("outcome")
        times = {name: runs.ints(name) for name in ("queued", "start", "end")}
        times["end"] = np.where(times["end"] == NONE, end, times["end"])
        times = _consistent(times, outcome, counts)
        origin = int(min(values[values != NONE].min(initial=end) for values in times.values()))
        job, width = tasks.ints("job"), tasks.ints("width")
        unit, remark = self._memory_unit()
        last = _last_runs(task, times)
        deciding = _deciding_tasks(job, outcome[last], times["end"][last], jobs)
        category = self._named(tasks.ints("category")[deciding])
        tables: dict[str, dict[str, Any]] = {
            "jobs": {
                "original_id": ids,
                "submit": _submits(times, job[task], jobs) * self.tick - origin * self.tick,
                "width": np.bincount(job, minlength=jobs),
                "outcome": outcome[last][deciding],
                "exit_category": category,
                **self._described(),
            },
            "tasks": {
                "job": job,
                "index": tasks.ints("index"),
                "width": width,
                "memory": tasks.floats("memory") / unit,
                **self._processors(),
            },
            "attempts": {
                "task": task,
                "outcome": outcome,
                **{key: self._since(origin, values) for key, values in times.items()},
                **self._measured(unit),
            },
            "placements": {key: self.placements.ints(key) for key in PLACEMENTS},
            "machines": {
                "original_id": list(self.machines),
                "speed": np.ones(len(self.machines)),
            },
        }
        tasks.clear()
        self.placements.clear()
        del times, deciding, last
        meta = Meta(
            source,
            remarks={**remarks, **({"memory unit": remark} if remark else {})},
            end=(end - origin) * self.tick,
            rows_read=counts.rows_read,
            dropped=counts.dropped,
            noted=counts.noted,
            unix_origin=origin * self.tick if self.dated else None,
            time_origin="the earliest time in the log",
        )
        return in_order(meta, **tables)

    def _described(self) -> dict[str, Any]:
        """What is said of jobs, which are emptied."""
        jobs = self.jobs
        found = {
            **{key: self._named(jobs.ints(key)) for key in ("user", "group", "name", "queue")},
            **{key: _known(jobs.ints(key)) for key in ("shared", "priority")},
            "walltime": _known(jobs.ints("walltime"), self.tick),
        }
        jobs.clear()
        return found

    def _measured(self, unit: float) -> dict[str, Any]:
        """How runs ended, and what they used; the runs are emptied."""
        runs = self.runs
        found = {
            "cause": _known(runs.ints("cause")),
            "exit_code": np.ma.masked_equal(runs.ints("exit_code"), NO_EXIT_CODE),
            "mean_cpu": _single(runs.floats("cpu")),
            "mean_memory": _single(runs.floats("mean_memory") / unit),
            "max_memory": _single(runs.floats("max_memory") / unit),
        }
        runs.clear()
        return found

    def _processors(self) -> dict[str, npt.NDArray[np.float64]]:
        """What tasks request: processors of the largest request, and graphics processors.

        A log in which none is requested says nothing of them: its system may not count them.
        """
        cpu, gpu = self.tasks.floats("cpu"), self.tasks.floats("gpu")
        largest = float(np.nanmax(cpu, initial=0))
        counted = bool((gpu > 0).any())
        return {
            "cpu": cpu / largest if largest > 0 else cpu,
            "gpu": gpu if counted else np.full(len(gpu), nan),
        }

    def _since(self, origin: int, values: Ints) -> Any:
        """Times [ms] since the origin."""
        return np.ma.array((values - origin) * self.tick, mask=values == NONE)

    def _named(self, codes: Ints) -> Any:
        """The texts of these numbers."""
        return pa.array(list(self.texts), pa.string()).take(pa.array(codes, mask=codes == NONE))

    def _memory_unit(self) -> tuple[float, str]:
        """What memory is a fraction of [bytes per slot], and in words."""
        for what, values in (
            ("request", self.tasks.floats("memory")),
            ("use", self.runs.floats("max_memory")),
            ("use", self.runs.floats("mean_memory")),
        ):
            largest = float(np.nanmax(values, initial=0))
            if largest > 0:
                return largest, f"the largest {what} of a slot, {largest:.0f} bytes"
        return 1.0, ""


NO_EXIT_CODE: Final = -(2**40)
"""Stands for a missing exit code: those are small numbers of either sign."""


def _known(values: Ints, factor: int = 1) -> Any:
    return np.ma.array(values * factor, mask=values == NONE)


def _single(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
    """Numbers in single precision, too large ones as the largest that it holds."""
    return np.minimum(values, float(np.finfo(np.float32).max)).astype(np.float32)


def _submits(times: Mapping[str, Ints], job: Ints, jobs: int) -> Ints:
    """The earliest time of each job's runs."""
    submit = np.full(jobs, LATEST)
    for name in ("queued", "start", "end"):
        known = times[name] != NONE
        np.minimum.at(submit, job[known], times[name][known])
    return submit


def _consistent(times: dict[str, Ints], outcome: Ints, counts: Counts) -> dict[str, Ints]:
    """Times of which none is before the one that it must follow; what is moved is counted."""
    queued, start, end = times["queued"], times["start"], times["end"]
    early = (start != NONE) & (end < start)
    if early.any():
        counts.note("end before the start, taken as the start", int(early.sum()))
    end = np.where(early, start, end)
    first = np.where(start == NONE, end, start)
    late = queued > first
    if late.any():
        counts.note("queued after the start or end, taken as that", int(late.sum()))
    return {"queued": np.where(late, first, queued), "start": start, "end": end}


def _last_runs(task: Ints, times: Mapping[str, Ints]) -> Ints:
    """The run of each task that started last, or else was queued last."""
    heard = times["end"]
    for name in ("queued", "start"):  # the later one wins
        heard = np.where(times[name] == NONE, heard, times[name])
    order = np.lexsort((heard, task))
    last = np.zeros(int(task.max(initial=-1)) + 1, dtype=np.int64)
    last[task[order]] = order
    return last


def _deciding_tasks(job: Ints, outcome: Ints, end: Ints, jobs: int) -> Ints:
    """The task of each job whose fate is the job's: see `JobLog.trace`."""
    rank = np.ones(len(job), dtype=np.int64)
    rank[outcome == Outcome.FINISH] = 0
    rank[outcome == Outcome.CENSORED] = 2
    order = np.lexsort((np.arange(len(job)), end, rank))
    deciding = np.zeros(jobs, dtype=np.int64)
    deciding[job[order]] = order  # the last one written stays
    return deciding


class LocalTimes:
    """Seconds since 1970 of local dates and times; of an hour that is there twice, the first."""

    def __init__(self, timezone: str) -> None:
        if not ZONES.fullmatch(timezone):
            raise TraceError(f"timezone: {timezone[:80]!r} is no name like Europe/Berlin or UTC")
        try:  # UTC needs no database of time zones
            self._zone: tzinfo = UTC if timezone == "UTC" else ZoneInfo(timezone)
        except (ValueError, OSError, KeyError) as error:
            raise TraceError(f"timezone: {timezone!r} is not known") from error
        self._hours: dict[str, int] = {}
        self._again: dict[str, int] = {}

    def hour(self, text: str, read: Callable[[str], datetime]) -> int:
        """When the hour begins that a text, like `2014-08-26T17`, names and `read` understands.

        Raises ValueError for what is no date and hour, and for one before 1970 or too late.
        """
        begun = self._hours.get(text)
        if begun is None:
            if len(self._hours) > MOST_HOURS:
                self._hours.clear()
                self._again.clear()
            moment = read(text)
            if not EPOCH <= moment.year <= LAST_YEAR:
                raise ValueError
            begun = int(moment.replace(tzinfo=self._zone).timestamp())
            if begun < 0:
                raise ValueError
            self._hours[text] = begun
            again = int(moment.replace(tzinfo=self._zone, fold=1).timestamp())
            if again > begun:
                self._again[text] = again - begun
        return begun

    def again(self, text: str) -> int:
        """How much later the hour that `text` names comes once more [s]; 0: it does not.

        That is so where summer time ends; `hour` must have been asked about it.
        """
        return self._again.get(text, 0)


EPOCH: Final = 1970
LAST_YEAR: Final = 4000
"""Years that local times may be of."""
LONGEST_NAME: Final = 255
"""Names of jobs and machines are at most this long [characters]."""
MOST_HOURS: Final = 1 << 16
"""Hours whose beginning is remembered."""

_MEMORY = re.compile(r"([0-9]{1,18}(?:\.[0-9]{0,18})?)([KMGTPE]?)(?:I?([BW]))?", re.IGNORECASE)
_POWERS = {unit: 1024.0**power for power, unit in enumerate(("", "K", "M", "G", "T", "P", "E"))}
WORD: Final = 8
"""Bytes of a word."""


@lru_cache(maxsize=1 << 14)
def amount_of_memory(text: str, unit: str = "") -> float:
    """Bytes of an amount like `8gb`, `512MB`, `1.5G`, `2048kb` or `100mw`; NaN if it is none.

    `unit` is that of a number without one.
    """
    match = _MEMORY.fullmatch(text)
    if match is None:
        return float("nan")
    power = _POWERS[match[2].upper() or ("" if match[3] else unit)]
    return float(match[1]) * power * (WORD if (match[3] or "").upper() == "W" else 1)
