"""The command is interrupted while it is being imported: a line, where Python has a traceback."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["LINE", "STATUS", "end_by_signal", "exit_in_a_line", "raise_again"]

LINE = "failgym: interrupted"
STATUS = 130
COMMANDS = ("failgym", "failgym.exe", "failgym-script.py")


def exit_in_a_line() -> None:
    """From now on an interrupt ends the process, if it is the command that Python is starting."""
    if _is_command() and not _is_worker():
        _handle(_exit, signal.default_int_handler)


def raise_again() -> None:
    """From now on an interrupt raises KeyboardInterrupt, as ever."""
    _handle(signal.default_int_handler, _exit)


def end_by_signal() -> None:
    """From now on an interrupt ends the command in silence: it is ending anyway."""
    if _is_command():
        _handle(signal.SIG_DFL, signal.default_int_handler)


def _is_command() -> bool:
    return os.path.basename(sys.argv[0] if sys.argv else "") in COMMANDS


def _is_worker() -> bool:
    """Is it a process that the command has started? Its arguments are the same."""
    process = sys.modules.get("multiprocessing.process")
    return process is not None and process.parent_process() is not None


def _handle(handler: Any, instead_of: Any) -> None:
    """Handle interrupts, unless somebody else does; other threads than the main one cannot."""
    if signal.getsignal(signal.SIGINT) is instead_of:
        with suppress(ValueError):
            signal.signal(signal.SIGINT, handler)


def _exit(number: int, frame: object) -> None:
    os.write(2, f"{LINE}\n".encode())
    os._exit(STATUS)
