"""Policies that do harm, or try to. Tests copy this file to where a stranger's code would lie."""

from __future__ import annotations

import mmap
import os
import signal
from typing import Any

import numpy as np

CHUNK = 1 << 20


class Quiet:
    """Answers 0, and does what it is here for when it is first asked."""

    def __init__(self, token: str = "", size: int = 0, where: str = "") -> None:
        self.token, self.size, self.where = token, size, where
        self.begun = False

    def predict(self, observation: Any, **more: Any) -> tuple[Any, None]:
        if not self.begun:
            self.begun = True
            self.attack()
        return np.zeros(len(observation), dtype=np.int64), None

    def attack(self) -> None:
        """Nothing."""


def leave_behind(name: str) -> None:
    """A process in a session of its own, whose parents are gone, with no descriptor of ours."""
    gone, exec_closes_this = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.closerange(0, exec_closes_this)
            os.execv("/bin/sleep", [name, "600"])
        os._exit(0)
    os.close(exec_closes_this)
    os.read(gone, 1)


def take(memory: Any, size: int) -> None:
    """Use every page of it, and keep it."""
    for at in range(0, size, 4096):
        memory[at] = 1
    signal.pause()


class Outlives(Quiet):
    def attack(self) -> None:
        leave_behind(self.token)


class Sleeps(Quiet):
    """Leaves one behind, and never answers."""

    def attack(self) -> None:
        leave_behind(self.token)
        signal.pause()


class Hoards(Quiet):
    def attack(self) -> None:
        bytearray(self.size)


class HoardsTogether(Quiet):
    """No process has too much, all together have."""

    def attack(self) -> None:
        for _ in range(4):
            if os.fork() == 0:
                os.setsid()
                size = self.size // 3
                take(bytearray(size), size)
        signal.pause()


class HoardsShared(Quiet):
    """Memory that no limit of a process counts as its own."""

    def attack(self) -> None:
        take(mmap.mmap(-1, 2 * self.size), 2 * self.size)


class Bombs(Quiet):
    """More processes than it may have, each in a session of its own; no more than 300."""

    def attack(self) -> None:
        for _ in range(300):
            if os.fork() == 0:
                os.setsid()
                signal.pause()
        signal.pause()


class Scribbles(Quiet):
    """Writes to all descriptors."""

    def attack(self) -> None:
        for descriptor in map(int, os.listdir("/dev/fd")):
            try:
                os.write(descriptor, b"0" * 4096)
            except OSError:
                continue


class Shouts(Quiet):
    """More than any pipe holds."""

    def attack(self) -> None:
        for descriptor in (1, 2):
            for _ in range(8):
                os.write(descriptor, b"!" * CHUNK)
        print("!" * CHUNK, flush=True)


class Garbage(Quiet):
    def predict(self, observation: Any, **more: Any) -> tuple[Any, None]:
        return "0" * len(observation), None


class EndsParent(Quiet):
    def attack(self) -> None:
        try:
            os.kill(os.getppid(), signal.SIGKILL)
        except PermissionError:
            return
        signal.pause()


class EndsEveryone(Quiet):
    """Whom it may, itself excepted."""

    def attack(self) -> None:
        try:
            os.kill(-1, signal.SIGKILL)
        except (PermissionError, ProcessLookupError):
            return


class Looks(Quiet):
    """Looks for a secret in files, in what it was given, and in the processes above it.

    Args:
        token: the secret, backwards: it is not to find its own argument.
        where: folders, with a plus between them.
    """

    def attack(self) -> None:
        found = [place for place in self.places() if self.holds(place)]
        if found:
            raise RuntimeError(f"I can read {' and '.join(sorted(found))}")

    def places(self) -> list[str]:
        files: list[str] = []
        for top in self.where.split("+"):
            files += [top] if os.path.isfile(top) else []
            files += [os.path.join(at, name) for at, _, names in os.walk(top) for name in names]
        above = [str(pid) for pid in self.above()]
        kinds = ("environ", "cmdline", "maps", "mem")
        return files + [f"/proc/{pid}/{kind}" for pid in above for kind in kinds]

    def above(self) -> list[int]:
        """The keeper and the run."""
        keeper = os.getppid()
        with open(f"/proc/{keeper}/stat") as file:
            return [keeper, int(file.read().rpartition(")")[2].split()[1])]

    def holds(self, place: str) -> bool:
        """Any file of a rival's will do; of a process only what holds the secret."""
        try:
            if place.endswith("/mem"):
                return self.in_memory(place)
            with open(place, "rb") as file:
                content = file.read(64 * CHUNK)
        except OSError:
            return False
        return not place.startswith("/proc/") or self.secret() in content

    def in_memory(self, place: str) -> bool:
        with open(place.replace("/mem", "/maps")) as maps, open(place, "rb", 0) as memory:
            for line in maps:
                if "rw-p" in line:
                    first, last = (int(one, 16) for one in line.split()[0].split("-"))
                    try:
                        memory.seek(first)
                        if self.secret() in memory.read(min(last - first, 512 * CHUNK)):
                            return True
                    except (OSError, ValueError, OverflowError):
                        continue
        return False

    def secret(self) -> bytes:
        return self.token[::-1].encode()
