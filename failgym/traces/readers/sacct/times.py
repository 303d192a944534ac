"""Times as Slurm's `sacct` prints them."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from failgym.traces.readers.job_log import LAST_SECOND, LocalTimes

__all__ = ["HOUR", "time_of"]

_CLOCK = re.compile(r":([0-5][0-9]):([0-5][0-9]|60)")
HOUR: Final = len("YYYY-MM-DDTHH")
_HOUR = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2})")
_SECONDS = re.compile(r"[0-9]{1,11}")


def time_of(text: str, clock: LocalTimes) -> int:
    """Seconds since 1970 of `2014-08-26T17:08:04`, or of a number, which is just that.

    Raises ValueError for anything else. (SLURM_TIME_FORMAT=%s makes numbers.)
    """
    match = _CLOCK.fullmatch(text, HOUR)
    if match is not None:
        return clock.hour(text[:HOUR], _hour) + 60 * int(match[1]) + int(match[2])
    if _SECONDS.fullmatch(text) is None or int(text) > LAST_SECOND:
        raise ValueError
    return int(text)


def _hour(text: str) -> datetime:
    match = _HOUR.fullmatch(text)
    if match is None:
        raise ValueError
    year, month, day, hour = (int(part) for part in match.groups())
    return datetime(year, month, day, hour)
