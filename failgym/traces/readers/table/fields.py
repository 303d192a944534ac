"""Fields of a table of runs: which there are, and what a text in each of them says."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from math import nan
from typing import Final, Generic, Literal, TypeVar

from failgym.known_names import unknown
from failgym.traces.readers.job_log import INT32, LONGEST_NAME, NONE, LocalTimes, amount_of_memory
from failgym.traces.readers.sacct.fields import duration as clock_duration
from failgym.traces.readers.sacct.fields import exit_code, hosts_of
from failgym.traces.schema import LATEST
from failgym.vocabulary import DAY

__all__ = [
    "DATED",
    "FIELDS",
    "KINDS_APART",
    "MISSING",
    "NEEDED",
    "TEXTS",
    "UNITS",
    "UNSET",
    "Memo",
    "Times",
    "Unit",
    "check_columns",
    "choose",
    "code_of",
    "count_of",
    "duration_of",
    "hosts_in",
    "index_of",
    "is_date",
    "memory_of",
    "number_of",
]

NEEDED: Final = ("job", "submit", "start", "end", "outcome")
"""Fields that every table has."""
TEXTS: Final = ("user", "group", "name", "queue")
"""Fields of a job that are texts."""
FIELDS: Final = (
    *NEEDED,
    "task",
    *TEXTS,
    *("priority", "walltime", "slots", "cpu", "memory", "gpu", "machines"),
    *("cause", "exit_code", "cpu_time", "max_memory"),
)
"""All fields, the needed ones first."""

Unit = Literal["s", "ms"]
UNITS: Final[dict[str, int]] = {"s": 1000, "ms": 1}
"""Units of numbers that are times: milliseconds of each."""
MISSING: Final = frozenset(
    {
        *("", "-", "-1", "None", "none", "NONE", "null", "NULL", "(null)", "NA", "N/A", "n/a"),
        *("nan", "NaN", "NaT", "nat", "<NA>", "Unknown", "unknown", "UNLIMITED", "unlimited"),
        *("-1.0", "None assigned"),
    }
)
"""What stands in a field that has no value."""
DATED: Final = 10**11
"""Numbers that are times from here on [ms], of 1973, count from 1970."""
ABSENT: Final = ("0000-00-00", "0001-01-01", "1899-12-30", "1900-01-01")
"""Dates that databases and spreadsheets give, at midnight, for none."""
EPOCH: Final = ("1969-12-31", "1970-01-01")
"""Dates that a clock shows before 1970 begins in UTC, which nobody had set."""
UNSET: Final = 3 * DAY
"""Dates up to here [ms since 1970] are of such clocks where others are of today: in whatever time
zone, those of the first two days."""
KINDS_APART: Final = 10 * 365 * DAY
"""Times that do not count from 1970 are this much earlier than those that do, at least [ms]: a
record that counts from its beginning is seldom that long."""
MOST_REMEMBERED: Final = 1 << 16
"""Texts of a field whose meaning is remembered."""

K = TypeVar("K")
V = TypeVar("V")


class Memo(dict[K, V], Generic[K, V]):
    """What texts, or others, say: `memo[text]` reads one that is new. Raises what `read` does."""

    def __init__(self, read: Callable[[K], V]) -> None:
        super().__init__()
        self._read = read

    def __missing__(self, told: K) -> V:
        if len(self) >= MOST_REMEMBERED:
            self.clear()
        value = self[told] = self._read(told)
        return value


def choose(
    names: Sequence[str], columns: Mapping[str, str], needed: Sequence[str] = NEEDED
) -> dict[str, int]:
    """The position of the column of each field, of the names of a table's columns.

    `columns` names the column of a field; another field's column has its name, in letters of any
    size. Raises ValueError, saying what was found and which option tells, if one is not there.
    """
    places: dict[str, int] = {}
    for field in FIELDS:
        name = columns.get(field, field)
        found = [at for at, one in enumerate(names) if one == name]
        found = found or [at for at, one in enumerate(names) if one.lower() == name.lower()]
        if len(found) > 1:
            raise ValueError(f"{len(found)} columns are named {name[:60]!r}, expected one")
        if found:
            places[field] = found[0]
        elif field in columns or field in needed:
            listed = repr(", ".join(names))
            shown = listed if len(listed) <= LONGEST_LIST else f"{listed[:LONGEST_LIST]}...'"
            of = "" if name == field else f" for {field}"
            option = f"--columns {field}=COLUMN (columns={{{field!r}: ...}})"
            raise ValueError(f"no column {name[:60]!r}{of}, found {shown}; {option} names it")
    return places


LONGEST_LIST: Final = 300
"""Signs of a list of columns in a message."""


def check_columns(columns: Mapping[str, str]) -> None:
    """Raise ValueError for a field that is not known."""
    for field in columns:
        if field not in FIELDS:
            raise unknown("field", field[:60], FIELDS)


# --- Times ----------------------------------------------------------------------------------------

_NUMBER = re.compile(r"([0-9]{1,15})(?:\.([0-9]{0,18}))?")
_FLOAT = re.compile(r"[0-9]{1,3}(?:\.[0-9]{0,18})?[eE]\+?[0-9]{1,2}")
_HOUR = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[T ]([0-9]{2}))?")
_CLOCK = re.compile(
    r":([0-5][0-9])(?::([0-5][0-9]|60)(?:[.,]([0-9]{1,9}))?)?"
    r"(?: ?(Z|UTC|[+\-](?:0[0-9]|1[0-4])(?::?[0-5][0-9])?))?"
)
HOUR: Final = len("YYYY-MM-DDTHH")
DATE: Final = len("YYYY-MM-DD")


class Times:
    """Reads times: ISO dates and times, and numbers in a unit."""

    def __init__(self, zone: str, unit: Unit) -> None:
        self._clock, self._utc = LocalTimes(zone), LocalTimes("UTC")
        self._tick = UNITS[unit]
        self.iso = False
        """whether a date was read that is of a clock"""

    def read(self, text: str) -> int:
        """Milliseconds of a time; `NONE` for a missing one. Raises ValueError for anything else."""
        if text in MISSING:
            return NONE
        number = _NUMBER.fullmatch(text)
        if number is not None or _FLOAT.fullmatch(text) is not None:
            return _bounded(_scaled(text, self._tick))
        clock = _CLOCK.fullmatch(text, HOUR) if len(text) > DATE else None
        if clock is None and len(text) != DATE:
            raise ValueError
        if text[:DATE] in ABSENT and not text[DATE:].strip("T 0:.,Z+"):
            return NONE
        if text[:DATE] in EPOCH and self._is_before_1970(text, clock):
            return NONE
        if clock is None:
            return self._dated(self._clock.hour(text, _hour) * 1000)
        minute, second, fraction, zone = clock.groups()
        base = (self._utc if zone else self._clock).hour(text[:HOUR], _hour)
        seconds = base + 60 * int(minute) + int(second or 0) - _offset(zone)
        return self._dated(seconds * 1000 + int((fraction or "0").ljust(3, "0")[:3]))

    def _is_before_1970(self, text: str, clock: re.Match[str] | None) -> bool:
        """Whether an hour begins before. Raises ValueError for none."""
        _hour(text[:HOUR])
        local = self._utc if clock is not None and clock[4] else self._clock
        try:
            local.hour(text[:HOUR], _hour)
        except ValueError:
            return True
        return False

    def _dated(self, time: int) -> int:
        """The time of a date; just before 1970 it is of a clock that nobody had set."""
        if -UNSET <= time < 0:
            return NONE
        self.iso |= time >= DATED
        return _bounded(time)

    def again(self, text: str) -> int:
        """How much later the hour of a local time comes once more [ms]; 0: it does not."""
        text = text.strip()
        clock = _CLOCK.fullmatch(text, HOUR) if len(text) > DATE else None
        return 1000 * self._clock.again(text[:HOUR]) if clock and not clock[4] else 0


def _bounded(time: int) -> int:
    if not 0 <= time <= LATEST:
        raise ValueError
    return time


def _scaled(text: str, tick: int) -> int:
    """A number in a unit, in milliseconds. Raises ValueError."""
    whole = _NUMBER.fullmatch(text)
    if whole is None:
        return round(float(text) * tick)
    fraction = whole[2] or ""
    return int(whole[1]) * tick + (round(float(f"0.{fraction}") * tick) if fraction else 0)


def _offset(zone: str | None) -> int:
    """How far a zone like `+01:00` is ahead of UTC [s]."""
    if zone is None or zone in ("Z", "UTC"):
        return 0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    ahead = 3600 * int(digits[:2]) + 60 * int(digits[2:])
    return -ahead if zone[0] == "-" else ahead


def _hour(text: str) -> datetime:
    match = _HOUR.fullmatch(text)
    if match is None:
        raise ValueError
    year, month, day, hour = (int(part or 0) for part in match.groups())
    return datetime(year, month, day, hour)


def is_date(text: str) -> bool:
    """Whether a text that is a time is a date, no number."""
    return text.strip()[4:5] == "-"


def duration_of(text: str, unit: Unit) -> int:
    """Milliseconds of `[days-]hours:minutes:seconds`, or of a number in a unit; `NONE`: missing.

    Raises ValueError.
    """
    if text in MISSING:
        return NONE
    if _NUMBER.fullmatch(text) or _FLOAT.fullmatch(text):
        return _bounded(_scaled(text, UNITS[unit]))
    seconds = clock_duration(text)
    if seconds is None:
        raise ValueError
    return _bounded(round(seconds * 1000))


# --- Others ---------------------------------------------------------------------------------------

_WHOLE = re.compile(r"(-?[0-9]{1,15})(?:\.0{0,18})?")


def index_of(text: str) -> int | None:
    """The number of a task; None for a name, -1 for a missing one."""
    match = _WHOLE.fullmatch(text)
    number = int(match[1]) if match else None
    return NONE if text in MISSING else number if number is not None and number >= 0 else None


def count_of(text: str, least: int = 0) -> int:
    """A whole number that an int32 holds; `NONE`: missing. Raises ValueError."""
    if text in MISSING:
        return NONE
    match = _WHOLE.fullmatch(text)
    if match is None or not least <= int(match[1]) <= INT32:
        raise ValueError
    return int(match[1])


def number_of(text: str) -> float:
    """A number that is not negative; NaN: missing. Raises ValueError."""
    if text in MISSING:
        return nan
    if _NUMBER.fullmatch(text) is None and _SMALL.fullmatch(text) is None:
        raise ValueError
    return float(text)


_SMALL = re.compile(r"(?:[0-9]{1,3})?(?:\.[0-9]{1,20})?(?:[eE][+\-]?[0-9]{1,2})?")


def memory_of(text: str) -> float:
    """An amount of memory, like `4G`, `512 MB` or a number; NaN: missing. Raises ValueError."""
    if text in MISSING:
        return nan
    found = amount_of_memory(text.replace(" ", ""))
    return found if found == found else number_of(text)


def code_of(text: str) -> int | None:
    """An exit code, like `1`, `-11` or `0:9`; None: missing. Raises ValueError."""
    if text in MISSING - {"-1", "-1.0"}:
        return None
    match = _WHOLE.fullmatch(text)
    code = int(match[1]) if match else exit_code(text)
    if code is None or abs(code) > INT32:
        raise ValueError
    return code


_BETWEEN: Final = str.maketrans(dict.fromkeys(" \t\n\r;+", ","))


def hosts_in(text: str) -> tuple[str, ...]:
    """The machines of a list like `node1,node2`, `node[01-03]` or `a+b;c`. Raises ValueError."""
    if text in MISSING:
        return ()
    parts = text.translate(_BETWEEN).split(",")
    hosts = hosts_of(",".join(part for part in parts if part))
    if hosts is None or any(len(host) > LONGEST_NAME for host in hosts):
        raise ValueError
    return hosts
