"""The lock of a journal of trials."""

from __future__ import annotations

import os
from pathlib import Path

from optuna.storages.journal import JournalFileOpenLock

__all__ = ["Lock"]

BEGINS = b'{"op_code":'
"""What every line of a journal begins with."""


class Lock(JournalFileOpenLock):
    """Lets one process at a time write to a journal.

    Who has it takes away the rest of a line that another process was writing when it was killed:
    what is written next would be joined to it, and the journal be broken for good.

    Args:
        path: the journal.
        grace: after so long the lock of a process that was killed is taken [s].
    """

    def __init__(self, path: Path, grace: int) -> None:
        super().__init__(os.fspath(path), grace)
        self._path = path

    def acquire(self) -> bool:
        """Wait for the lock. Raises ValueError for what is no journal."""
        got = super().acquire()
        try:
            self._mend()
        except BaseException:
            self.release()
            raise
        return got

    def _mend(self) -> None:
        with self._path.open("r+b") as file:
            size = file.seek(0, os.SEEK_END)
            if not size:
                return
            file.seek(-1, os.SEEK_END)
            if file.read(1) == b"\n":
                return
            file.seek(0)
            content = file.read()
            whole = content.rfind(b"\n") + 1
            torn = content[whole:][: len(BEGINS)]
            if not BEGINS.startswith(torn):
                raise ValueError("its last line is not one of a journal of trials")
            file.truncate(whole)
