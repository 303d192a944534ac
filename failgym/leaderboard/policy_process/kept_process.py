"""`KeptProcess`: a command under a keeper, which ends all that comes of it when we let go."""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from failgym.leaderboard.policy_process.limits import Confinement

__all__ = ["KeptProcess"]

KEEPER = Path(__file__).with_name("keeper.py")
ENDING = 60.0
"""How long a keeper may take to end everything [s]; thousands of processes take some."""
PATIENCE = 5.0
"""How long a command that answers no more may take to end [s]."""
MOST_SAID = 1 << 16
"""Of what is said on standard error or in a report: as much as a pipe holds [bytes]."""


class KeptProcess:
    """A process that is asked through its standard input and answers through its standard output.

    It inherits no other descriptor. What it says on standard error is read for the reason of its
    end. Nothing of it, or of what it has started, is left after `close`, unless the system does not
    let us end the processes of whoever runs it.

    Args:
        command: what to run.
        confinement: its limits and surroundings.
    """

    def __init__(self, command: Sequence[str], confinement: Confinement) -> None:
        folder = _empty_folder() if confinement.hosted else ""
        (asked, self.requests), (self.answers, answers) = os.pipe(), os.pipe()
        (self.errors, errors), (life, self._life) = os.pipe(), os.pipe()
        self._report, report = os.pipe()
        theirs = (asked, answers, errors, life, report)
        given = (confinement.memory << 20, confinement.processes, life, report, folder)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(KEEPER), *map(str, given), *command],
                stdin=asked,
                stdout=answers,
                stderr=errors,
                pass_fds=(life, report),
                cwd=folder or None,
                env=confinement.environment(folder),
                start_new_session=True,  # away from Ctrl-C
            )
        finally:
            for descriptor in theirs:
                os.close(descriptor)
        self._said = b""
        atexit.register(self.close)  # a process that works for the run ends when there is no more
        for descriptor in (self.requests, self.answers, self.errors):
            os.set_blocking(descriptor, False)

    def listen(self) -> bool:
        """Take what is there on standard error, and keep the last of it; False: it was closed."""
        try:
            part = os.read(self.errors, MOST_SAID)
        except BlockingIOError:
            return True
        self._said = (self._said + part)[-MOST_SAID:]
        return bool(part)

    def end(self) -> str:
        """What became of the command, with the last line that it said on standard error, if any."""
        try:
            status = self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            return "closed the pipe of its answers"
        if status < 0:
            return f"its keeper was ended: {signal.Signals(-status).name}"
        reason = os.read(self._report, MOST_SAID).decode()
        self.listen()
        lines = self._said.decode("utf-8", "replace").split("\n")
        return ": ".join(
            ("its process ended", reason, *[line for line in lines if line.strip()][-1:])
        )

    def close(self) -> None:
        """End it, and all that it has started. Raises ValueError if that cannot be done."""
        atexit.unregister(self.close)
        for descriptor in (self.requests, self.answers, self.errors, self._life):
            os.close(descriptor)
        try:
            status = self._process.wait(ENDING)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            status = 1
        os.close(self._report)
        if status > 0:
            raise ValueError(
                "--policy-command: what it starts cannot be ended by the user of this run;"
                " docs/hosting.md names commands that can"
            )


def _empty_folder() -> str:
    """A folder to begin in, which another user can look into, and write nothing to."""
    folder = tempfile.mkdtemp(prefix="failgym-policy-")
    os.chmod(folder, 0o755)
    return folder
