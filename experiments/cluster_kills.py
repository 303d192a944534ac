"""A run on a Ray cluster whose workers, nodes and drivers are killed ends as if nobody had been.

    python -m experiments.cluster_kills [--suite smoke] [--kills 5] [--only KIND ...] [--json FILE]

A cluster of two nodes with one processor each is made on this machine. A suite is run on one
process, on two, and on the two nodes, and what they wrote is compared, times of the clock aside.
Then it is run on the nodes and something is killed with SIGKILL at random moments, again and
again, each kind by itself: the process that does a step; all processes of the second node, after
which another one joins; the command, which is begun again with the same words. A run that ends
before it was killed often enough is followed by another into a fresh folder.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import numpy as np
import typer

from experiments.kills import COMMAND, Content, differences, submission_content
from experiments.ray_clusters import add_node, busy_workers, cluster, kill_node
from failgym.cli.output import JsonFile, print_line, print_table

POLICIES = ("replay", "random", "algorithm_1", "grace_period")
PR_SET_PDEATHSIG = 1
"""Of prctl(2)."""


@dataclass(frozen=True)
class Run:
    """A run that was not killed."""

    workers: str
    seconds: float
    differences: tuple[str, ...]
    """names of files that differ from those of one process"""


@dataclass(frozen=True)
class Killed:
    """How runs took it that one kind of thing was killed."""

    kind: str
    kills: int
    rounds: int
    """runs that came to their end"""
    seconds: float
    """of all rounds"""
    differences: tuple[str, ...]
    """names of files that differ from those of one process"""


@dataclass(frozen=True)
class Board:
    """The command that is run."""

    suite: str
    folder: Path
    policies: tuple[str, ...] = POLICIES

    def start(
        self, name: str, *workers: str, command: Sequence[str] = (COMMAND,)
    ) -> subprocess.Popen[bytes]:
        """Begin or go on with the run of a name, in a process group of its own.

        Args:
            name: of the run.
            workers: what follows `--workers`.
            command: what Python is to run, and words that come before those of `failgym`.
        """
        policies = (word for policy in self.policies for word in ("--policy", policy))
        words = ("leaderboard", "run", "--suite", self.suite, "--out", str(self.folder / name))
        with self.log(name).open("ab") as log:  # no pipe, which would be full some time
            return subprocess.Popen(
                [sys.executable, "-c", *command, *words, *policies, "--workers", *workers],
                start_new_session=True,
                stdout=subprocess.DEVNULL,
                stderr=log,
                preexec_fn=_end_with_us,
            )

    def log(self, name: str) -> Path:
        """What the run of a name says."""
        return self.folder / f"{name}.log"

    def clear(self, name: str) -> None:
        """Leave nothing of the run of a name."""
        shutil.rmtree(self.folder / name, ignore_errors=True)
        self.log(name).unlink(missing_ok=True)

    def check(self, name: str, running: subprocess.Popen[bytes]) -> None:
        """Wait for the run of a name. Raises RuntimeError if it fails."""
        if running.wait():
            said = self.log(name).read_text("utf-8", errors="replace")
            raise RuntimeError(said[-2000:])

    def content(self, name: str) -> Content:
        """What the run of a name wrote."""
        return submission_content(self.folder / name)

    def whole(self, name: str, *workers: str, command: Sequence[str] = (COMMAND,)) -> float:
        """Run it and leave it alone; how long that takes [s]. Arguments are those of `start`."""
        begun = time.perf_counter()
        self.check(name, self.start(name, *workers, command=command))
        return time.perf_counter() - begun


def _end_with_us() -> None:
    """Be killed when the process ends that began this one: nobody would read what comes out."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def kill_worker(made: Any, running: subprocess.Popen[bytes]) -> bool:
    """Kill a process that does a step; False if there is none."""
    nodes = (made.head_node, *made.worker_nodes)
    for pid in (pid for node in nodes for pid in busy_workers(node)):
        os.kill(pid, signal.SIGKILL)
        return True
    return False


def kill_second_node(made: Any, running: subprocess.Popen[bytes]) -> bool:
    """Kill the second node while it does a step, and have another one join; False if it is idle."""
    for node in list(made.worker_nodes):
        if busy_workers(node):
            kill_node(made, node)
            add_node(made)
            return True
    return False


def kill_driver(made: Any, running: subprocess.Popen[bytes]) -> bool:
    """Kill the command, once it has begun to have steps done."""
    if not any(busy_workers(node) for node in (made.head_node, *made.worker_nodes)):
        return False
    os.killpg(running.pid, signal.SIGKILL)
    return True


KINDS: dict[str, Callable[[Any, subprocess.Popen[bytes]], bool]] = {
    "worker": kill_worker,
    "node": kill_second_node,
    "driver": kill_driver,
}


def killed(
    board: Board, made: Any, kind: str, whole: Content, seconds: float, kills: int, seed: int
) -> Killed:
    """Kill one kind of thing at random moments until it has been killed often enough."""
    rng = np.random.default_rng([seed, list(KINDS).index(kind)])
    count, rounds, wrong = 0, 0, set[str]()
    begun = time.perf_counter()
    while count < kills:
        name = f"{kind}-{rounds}"
        running = board.start(name, "ray", "--ray-address", made.address)
        moment = time.perf_counter() + rng.random() * seconds / 2
        while True:
            try:
                running.wait(0.1)
            except subprocess.TimeoutExpired:
                due = count < kills and time.perf_counter() > moment
                if due and KINDS[kind](made, running):
                    count += 1
                    moment = time.perf_counter() + rng.random() * seconds / 2
                    print_line(f"{kind} {count} of {kills}: killed")
                continue
            if running.returncode != -signal.SIGKILL:
                break
            running = board.start(name, "ray", "--ray-address", made.address)
        board.check(name, running)
        rounds += 1
        wrong |= differences(whole, board.content(name))
    return Killed(kind, count, rounds, time.perf_counter() - begun, tuple(sorted(wrong)))


def left_alone(board: Board, address: str) -> tuple[Content, list[Run]]:
    """The run on one process, on two and on two nodes."""
    ways = {"1": ("1",), "2": ("2",), "two nodes": ("ray", "--ray-address", address)}
    board.whole("first", "1")  # may compile, and makes worlds that are kept
    found: list[Run] = []
    for way, words in ways.items():
        seconds = board.whole(way, *words)
        wrong = differences(board.content("1"), board.content(way))
        found.append(Run(way, seconds, tuple(sorted(wrong))))
        print_line(f"{way}: {seconds:.1f} s, {', '.join(found[-1].differences) or 'the same'}")
    return board.content("1"), found


def main(
    suite: Annotated[str, typer.Option(metavar="S", help="Of the leaderboard.")] = "smoke",
    kills: Annotated[int, typer.Option(min=1, help="Of each kind.")] = 5,
    only: Annotated[list[str] | None, typer.Option(help=", ".join(KINDS))] = None,
    seed: Annotated[int, typer.Option(help="Of the moments.")] = 0,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write it there.")] = None,
) -> None:
    """Run, kill, compare."""
    if find_spec("ray") is None:
        print_line("nothing was killed: Ray is not installed")
        return
    file = JsonFile.at(json_file)
    found: list[Killed] = []
    with TemporaryDirectory() as folder, cluster() as made:
        board = Board(suite, Path(folder))
        whole, runs = left_alone(board, made.address)
        for kind in only or KINDS:
            found.append(killed(board, made, kind, whole, runs[-1].seconds, kills, seed))
            content = {"runs": runs, "kills": found}
            file.write({name: [asdict(one) for one in ones] for name, ones in content.items()})
    print_table(
        f"Suite {suite}, left alone",
        ("workers", "seconds", "files that differ"),
        [(one.workers, one.seconds, ", ".join(one.differences) or "none") for one in runs],
    )
    print_table(
        "on two nodes, killed",
        ("what", "kills", "runs", "seconds", "files that differ"),
        [
            (one.kind, one.kills, one.rounds, one.seconds, ", ".join(one.differences) or "none")
            for one in found
        ],
    )
    if any(one.differences for one in (*runs, *found)):
        raise SystemExit(1)


if __name__ == "__main__":
    typer.run(main)
