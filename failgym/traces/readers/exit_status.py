"""What exit codes of TORQUE and PBS say: the five categories of Kumar et al. (DSN 2020, sec. IV).

The paper names the categories, and two codes: 107 (the remote file system is unreachable: system)
and 137 (out of memory). It follows LogDiver and the guidelines of TORQUE and of shells, and so does
this table; where those are silent the choice is ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from failgym.vocabulary import Cause

__all__ = ["CATEGORIES", "CODES", "ExitCodes"]

SUCCESS, USER, USER_OR_SYSTEM, WALLTIME, SYSTEM = (
    "success",
    "user",
    "user/system",
    "walltime",
    "system",
)
CATEGORIES: Final = (SUCCESS, USER, USER_OR_SYSTEM, WALLTIME, SYSTEM)
"""The names of the categories."""


@dataclass(frozen=True)
class ExitCodes:
    """Sets of exit codes, each with its source."""

    walltime: frozenset[int] = frozenset({-11, -29})
    """TORQUE's JOB_EXEC_OVERLIMIT_WT, PBS Professional's JOB_EXEC_KILL_WALLTIME"""
    user_negative: frozenset[int] = frozenset({-8, -10, -12, -24, -25, -26, -27, -28})
    """TORQUE: the command could not be executed, limits of memory and processor time exceeded;
    PBS Professional: limits of processors, memory and processor time exceeded"""
    unclear_negative: frozenset[int] = frozenset({-9})
    """TORQUE: standard output or error could not be opened"""
    file_system: frozenset[int] = frozenset({107, 108, 116})
    """ENOTCONN (Kumar et al., section V-C), ESHUTDOWN and ESTALE: many jobs share the trouble"""
    system: frozenset[int] = frozenset(
        {71, 74, 100, 101, 102, 103, 104, 105, 107, 108, 110, 112, 113, 116, 121}
    )
    """EX_OSERR and EX_IOERR of sysexits.h; Linux's errors of networks and remote files"""
    unclear_signals: frozenset[int] = frozenset({1, 7, 9, 10, 12, 13, 15})
    """SIGHUP, SIGBUS, SIGKILL (137 is out of memory), SIGUSR1, SIGUSR2, SIGPIPE, SIGTERM: sent by
    users and by systems; other signals come from the program or its user"""

    def signal(self, code: int) -> int | None:
        """The signal that ended a job, which shells report as 128 + n and TORQUE as 256 + n."""
        base = 256 if code > 256 else 128
        return code - base if 0 < code - base <= LAST_SIGNAL else None

    def category(self, code: int, *, reached_walltime: bool = False) -> str:
        """The category of an exit code.

        A job that reached its requested walltime and was ended by a signal of unclear origin is one
        of walltime.
        """
        if code == 0:
            return SUCCESS
        signal = self.signal(code)
        if code in self.walltime:
            return WALLTIME
        if reached_walltime and signal in self.unclear_signals:
            return WALLTIME
        if code < 0:
            if code in self.unclear_negative:
                return USER_OR_SYSTEM
            return USER if code in self.user_negative else SYSTEM
        if signal is not None:
            return USER_OR_SYSTEM if signal in self.unclear_signals else USER
        return SYSTEM if code in self.system else USER

    def cause(self, code: int) -> Cause:
        """Why a job ended that failed with this exit code."""
        category = self.category(code)
        if category == SYSTEM:
            return Cause.SHARED if code in self.file_system else Cause.MACHINE
        return Cause.WALLTIME if category == WALLTIME else Cause.INTRINSIC


LAST_SIGNAL: Final = 64
"""Linux's signals are numbered from 1 to this."""
CODES: Final = ExitCodes()
"""The table in use."""
