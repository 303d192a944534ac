"""A run of a leaderboard that is killed again and again ends as if it had not been.

    python -m experiments.leaderboard_kills [--suite smoke] [--policy SPEC ...] [--kills 20]
                                            [--processes 1 --processes 2] [--json FILE]

One run is left alone. Others, one for each number of processes, are killed at random moments that
are spread over the whole run, from the first import to the sealing of the tables, and each time the
same command goes on: SIGKILL to the process group, which nobody can catch. Then everything is
compared, the seconds aside: `submission.json`, every row of the results and the bytes of every
other file. How far a run is, is seen from the files of its work folder.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import numpy as np
import typer

from failgym.cli.output import JsonFile, print_line, print_table
from failgym.leaderboard import read_submission
from failgym.leaderboard.check import read_results
from failgym.leaderboard.schema import RESULTS_FILE
from failgym.leaderboard.work import Work

POLICIES = (
    *("replay", "random", "algorithm_1", "grace_period", "young", "greedy", "flaw"),
    "code=failgym.baselines.blind_kill:BlindKill",
)
"""Some for each environment; the last is asked in a process of its own."""
COMMAND = "from failgym.cli import main; main()"
"""What `failgym` is, whether or not it is installed."""
LOOK = 0.1
"""How often is looked how far a run is [s]."""
LONGEST_WAIT = 1.0
"""Between a step of the run that is done and the kill [s]: steps take less on an idle machine."""


@dataclass(frozen=True)
class Killed:
    """A run that was killed."""

    processes: int
    kills: int
    at: tuple[float, ...]
    """share of the run that was done at each kill"""
    seconds: float
    """wall time of all of it [s]"""
    differences: tuple[str, ...]
    """from the run that was left alone"""


@dataclass(frozen=True)
class Runs:
    """A command, to be run into one folder or another."""

    suite: str
    policies: tuple[str, ...]

    def start(self, out: Path, processes: int) -> subprocess.Popen[bytes]:
        """Begin or go on, in a process group of its own."""
        words = [sys.executable, "-c", COMMAND, "leaderboard", "run", "--suite", self.suite]
        for policy in self.policies:
            words += ["--policy", policy]
        words += ["--processes", str(processes), "--out", str(out)]
        return subprocess.Popen(words, start_new_session=True, stdout=subprocess.DEVNULL)

    def finish(self, out: Path, processes: int) -> None:
        """Begin or go on, and let it end. Raises RuntimeError if it fails."""
        if self.start(out, processes).wait():
            raise RuntimeError(f"{out}: the run failed")

    def killed(self, out: Path, processes: int, kills: int, steps: int, seed: int) -> list[float]:
        """Kill at random moments, one in each part of the run; how far was it each time?"""
        rng = np.random.default_rng(seed)
        at: list[float] = []
        for number in range(kills):
            wanted = (number + rng.random()) / kills * steps
            running = self.start(out, processes)
            while steps_done(out) < wanted and running.poll() is None:
                time.sleep(LOOK)
            time.sleep(rng.random() * LONGEST_WAIT)
            if running.poll() is None:
                os.killpg(running.pid, signal.SIGKILL)
            running.wait()
            at.append(1.0 if Work(out).finished else steps_done(out) / steps)
        return at


def steps_done(out: Path) -> int:
    """Files in the work folder of a run, those that are being written aside."""
    return sum(1 for file in (out / ".run").rglob("[!.]*.*") if file.name != "plan.json")


def content(folder: Path) -> dict[str, Any]:
    """What two runs have in common if they are equal, by the name of the file."""
    found: dict[str, Any] = {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.name not in ("submission.json", RESULTS_FILE)
    }
    found[RESULTS_FILE] = read_results(folder).drop_columns(["seconds"]).to_pylist()
    said = read_submission(folder).model_dump()
    del said["seconds"], said["files"][RESULTS_FILE]
    for policy in said["policies"]:
        del policy["command"]  # says how many processes there were
    return {**found, "submission.json": said}


def differences(one: Path, other: Path) -> tuple[str, ...]:
    """Names of the files that differ, or are in one folder only."""
    first, second = content(one), content(other)
    names = sorted(first.keys() | second.keys())
    return tuple(name for name in names if first.get(name) != second.get(name))


def show(found: Sequence[Killed]) -> None:
    """Print the table."""
    print_table(
        "Killed runs, and the one that was left alone",
        ("processes", "kills", "at, in per cent of the run", "seconds", "files that differ"),
        [
            (
                *(one.processes, one.kills),
                *(" ".join(f"{100 * at:.0f}" for at in one.at), f"{one.seconds:.0f}"),
                ", ".join(one.differences) or "none",
            )
            for one in found
        ],
    )


def main(
    suite: Annotated[str, typer.Option(help="The suite that is run.")] = "smoke",
    policy: Annotated[
        list[str] | None, typer.Option("--policy", metavar="SPEC", help="As for the leaderboard.")
    ] = None,
    kills: Annotated[int, typer.Option(min=1, help="Of each run.")] = 20,
    processes: Annotated[list[int] | None, typer.Option(help="Repeatable.")] = None,
    seed: Annotated[int, typer.Option(help="Of the moments.")] = 0,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write it there.")] = None,
) -> None:
    """Run, kill, go on, compare."""
    file = JsonFile.at(json_file)
    runs = Runs(suite, tuple(policy or POLICIES))
    found: list[Killed] = []
    with TemporaryDirectory() as folder:
        whole = Path(folder) / "whole"
        begun, steps = time.perf_counter(), 0
        running = runs.start(whole, 1)
        while running.poll() is None:
            steps = max(steps, steps_done(whole))
            time.sleep(LOOK)
        if running.returncode:
            raise RuntimeError(f"{whole}: the run failed")
        print_line(f"left alone: {steps} steps in {time.perf_counter() - begun:.0f} s")
        for count in processes or (1, 2):
            out, begun = Path(folder) / f"killed-{count}", time.perf_counter()
            at = runs.killed(out, count, kills, steps, seed + count)
            runs.finish(out, count)
            seconds = time.perf_counter() - begun
            found.append(Killed(count, kills, tuple(at), seconds, differences(whole, out)))
            file.write({"steps": steps, "runs": [asdict(one) for one in found]})
    show(found)
    if any(one.differences for one in found):
        raise SystemExit(1)


if __name__ == "__main__":
    typer.run(main)
