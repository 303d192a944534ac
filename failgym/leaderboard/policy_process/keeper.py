"""The keeper of a policy's process: starts it, watches all that it starts, and ends all of it.

    python -I -S keeper.py MEMORY PROCESSES LIFE REPORT FOLDER COMMAND...

A program of its own that imports nothing of failgym: it starts in a moment, and it still ends
everything when the run is killed. Whatever a process does to get away (a session of its own, a
parent that ends first), the system makes it a child of the keeper (`PR_SET_CHILD_SUBREAPER`,
prctl(2)), and the keeper is done when it has no child left.

Args of the command line:
    MEMORY: of all processes together [bytes].
    PROCESSES: how many there may be at once, with their threads.
    LIFE: descriptor that ends with the run.
    REPORT: descriptor that the reason goes to, in a line.
    FOLDER: removed in the end, with what is in it; empty: none.
    COMMAND: gets standard input, output and errors of the keeper.

Exit status: 0 if nothing is left, 1 if there are processes that the keeper may not end.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import select
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence

__all__ = ["main"]

LOOK = 0.05
"""How often is looked what there is [s]."""
ENDING = 5.0
"""How long is waited for processes that we may not end [s]."""
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
LINUX = sys.platform == "linux"
"""Elsewhere a process group is all that can be followed."""
PAGE = resource.getpagesize()


def main(arguments: list[str]) -> int:
    """Keep a command until it ends, breaks a limit, or the run ends."""
    memory, processes, life, report = map(int, arguments[:4])
    folder, command = arguments[4], arguments[5:]
    for descriptor in (life, report):
        os.set_inheritable(descriptor, False)
    _control(PR_SET_CHILD_SUBREAPER, 1)
    _come_first()
    main_process = _start(command, memory, processes)
    _let_go()
    reason = _watch(main_process, life, memory, processes)
    left = _end_all(main_process)
    if folder:
        shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(BrokenPipeError):
        os.write(report, reason.encode())
    return int(left)


def _come_first() -> None:
    """Run before all that it keeps, which may be thousands: only root may ask for that."""
    if LINUX:
        with contextlib.suppress(OSError):
            kind = os.SCHED_RR | os.SCHED_RESET_ON_FORK
            os.sched_setscheduler(0, kind, os.sched_param(1))


def _control(option: int, value: int) -> None:
    """prctl(2), where there is one."""
    if LINUX:
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _start(command: list[str], memory: int, processes: int) -> int:
    """Start the command in a session of its own, with limits that all that it starts inherits."""
    child = os.fork()
    if child:
        return child
    try:
        os.setsid()
        _control(PR_SET_PDEATHSIG, signal.SIGKILL)
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # which Python ignores
            signal.signal(number, signal.SIG_DFL)
        _limit(memory, processes)
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(127)


def _limit(memory: int, processes: int) -> None:
    """Limits of the system's own: of each process, or of each user, so they are the second line.

    They stop at once what would do harm between two looks.
    """
    limits = {resource.RLIMIT_CORE: 0, resource.RLIMIT_FSIZE: memory}
    if LINUX:
        limits[resource.RLIMIT_DATA] = memory
        with open("/proc/loadavg", encoding="ascii") as file:
            there = int(file.read().split()[3].split("/")[1])
        limits[resource.RLIMIT_NPROC] = there + processes  # the user's others are among them
    for name, value in limits.items():
        most = resource.getrlimit(name)[1]
        value = value if most == resource.RLIM_INFINITY else min(value, most)
        resource.setrlimit(name, (value, value))


def _let_go() -> None:
    """Leave the pipes to the command: who reads them shall see their end."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nothing, descriptor)


def _watch(main_process: int, life: int, memory: int, processes: int) -> str:
    """Look until there is a reason to end everything, and return it."""
    ends = select.poll()
    ends.register(life, select.POLLIN)
    if LINUX:
        with contextlib.suppress(OSError):  # before Linux 5.3
            ends.register(os.pidfd_open(main_process), select.POLLIN)
    while True:
        if life in dict(ends.poll(LOOK * 1000)):
            return "the run ended"
        status = _reap(main_process)
        if status is not None:
            return _said(status)
        there = list(_descendants())
        if sum(map(_tasks, there)) > processes:
            return f"more than {processes} processes and threads (--process-limit)"
        if all(sum(map(size, there)) > memory for size in (_resident, _share)):
            return f"more than {memory >> 20} MiB of memory (--memory-limit)"


def _reap(main_process: int) -> int | None:
    """Let go of children that have ended. The exit code of the command, if it is one of them."""
    found = None
    while True:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == main_process:
            found = os.waitstatus_to_exitcode(status)
        if pid == 0 or found is not None:
            return found


def _said(status: int) -> str:
    """How a process ended: its status, or the name of the signal."""
    if status < 0:
        with contextlib.suppress(ValueError):
            return signal.Signals(-status).name
    return f"status {status}"


def _descendants() -> Iterator[int]:
    """All processes below this one, parents first; children are looked up when they are due."""
    todo = _children(os.getpid())
    while todo:
        pid = todo.pop()
        yield pid
        todo += _children(pid)


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with contextlib.suppress(OSError):  # it is gone, and its children are ours
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                found += map(int, file.read().split())
    return found


def _tasks(pid: int) -> int:
    """Threads of a process; none if it is gone."""
    try:
        return len(os.listdir(f"/proc/{pid}/task"))
    except OSError:
        return 0


def _resident(pid: int) -> int:
    """Memory of a process that is in no file, what is shared counted in full [bytes]."""
    return _sum_of(f"/proc/{pid}/status", (b"RssAnon:", b"RssShmem:"))


def _share(pid: int) -> int:
    """Its share of that memory [bytes]; all of it, where the system does not let us know more."""
    names = (b"Pss_Anon:", b"Pss_Shmem:")
    try:
        return _sum_of(f"/proc/{pid}/smaps_rollup", names)
    except PermissionError:
        return _resident(pid)


def _sum_of(path: str, names: Sequence[bytes]) -> int:
    """Sum of the lines of a file in /proc that are in kB [bytes]; 0 if the process is gone."""
    try:
        with open(path, "rb") as file:
            words = [line.split() for line in file]
    except PermissionError:
        raise
    except OSError:
        return 0
    return sum(int(line[1]) << 10 for line in words if line and line[0] in names)


def _end_all(main_process: int) -> bool:
    """Kill until there is no child any more. Is something left that we may not kill?"""
    deadline = time.monotonic() + ENDING
    while not _childless():
        _send(os.killpg, main_process, signal.SIGKILL)
        there: list[int] = []
        for pid in _descendants():  # what has stopped starts nothing while we go on
            _send(os.kill, pid, signal.SIGSTOP)
            there.append(pid)
        refused = [pid for pid in there if not _send(os.kill, pid, signal.SIGKILL)]
        if refused and time.monotonic() > deadline:
            return True
        time.sleep(0.001)
    return False


def _send(send: Callable[[int, int], None], to: int, number: int) -> bool:
    """Send a signal to whoever is still there. May we?"""
    try:
        send(to, number)
    except PermissionError:
        return False
    except ProcessLookupError:
        pass
    return True


def _childless() -> bool:
    """Has everything ended? What loses its parent becomes our child, so without one it has."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return True
    return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
