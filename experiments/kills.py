"""A command that is killed again and again ends as if it had not been.

    python -m experiments.kills [--google DIR] [--only NAME ...] [--kills 20] [--json FILE]

Each command is run once and left alone. Then it is run into a fresh folder and killed at a random
moment of its course, with SIGKILL to its process group, which nobody can catch; it is begun again
with the same words, and killed again, until it ends by itself; and all of that anew until it has
been killed so many times. Whenever it is killed, what it was asked to write is either not there or
whole. Whenever it has ended, all that it wrote is compared with what it wrote when it was left
alone, times of the clock aside, and nothing else may lie beside it.

``--google`` is a folder of the published files of Google 2011; without it no import is killed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, cast

import numpy as np
import typer

from failgym.cli.output import JsonFile, print_line, print_table
from failgym.leaderboard import read_submission
from failgym.leaderboard.submission.checks import read_results
from failgym.leaderboard.submission.tables import RESULTS_FILE
from failgym.traces import generate

COMMAND = "from failgym.cli import main; main()"
"""What `failgym` is, whether or not it is installed."""
POLICIES = ("replay", "random", "algorithm_1", "grace_period", "young", "greedy", "flaw")
CLOCK = "second"
"""Keys of results that hold it tell what the clock said."""

Content = dict[str, Any]
"""What a command wrote, by the name of the file."""


@dataclass(frozen=True)
class Subject:
    """A command that writes something."""

    name: str
    words: tuple[str, ...]
    """of the command; ``{out}`` stands for the folder that it may write to"""
    output: str
    """the file or folder in there that it writes, and nothing else"""
    content: Callable[[Path], Content]
    """what is compared"""
    resume: tuple[str, ...] = ()
    """words that are added once there is something to go on with"""
    kept: tuple[str, ...] = ()
    """what else it may leave in its folder"""

    def start(self, folder: Path) -> subprocess.Popen[bytes]:
        """Begin or go on, in a process group of its own."""
        words = [word.replace("{out}", str(folder)) for word in self.words]
        if self.resume and (folder / self.output).exists():
            words += self.resume
        return subprocess.Popen(
            [sys.executable, "-c", COMMAND, *words],
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )

    def written(self, folder: Path) -> Content:
        """What the command wrote when it ended, and the names of all that lies there."""
        beside = sorted(path.name for path in folder.iterdir() if path.name not in self.kept)
        return {**self.content(folder / self.output), "beside": beside}


@dataclass(frozen=True)
class Killed:
    """How a command took it."""

    name: str
    kills: int
    rounds: int
    """times that it was begun in a fresh folder and came to its end"""
    at: tuple[float, ...]
    """when it was killed, since it was last begun [share of what it takes when left alone]"""
    differences: tuple[str, ...]
    """names of files that differ from those of the run that was left alone"""


def without_clock(value: Any) -> Any:
    """A value out of a JSON file without what the clock said."""
    if isinstance(value, dict):
        named = cast(dict[str, Any], value)
        return {key: without_clock(one) for key, one in named.items() if CLOCK not in key}
    if isinstance(value, list):
        return [without_clock(one) for one in cast(list[Any], value)]
    return value


def json_content(file: Path) -> Content:
    """A JSON file."""
    return {file.name: without_clock(json.loads(file.read_text("utf-8")))}


def bytes_content(path: Path) -> Content:
    """All bytes of a file, or of the files of a folder; a JSON file without the clock."""
    files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
    found: Content = {}
    for file in files:
        text = file.suffix == ".json"
        name = str(file.relative_to(path.parent))
        found[name] = json_content(file) if text else file.read_bytes()
    return found


def trained_content(folder: Path) -> Content:
    """The agent and the scores of a training run."""
    best = (folder / "best.safetensors").read_bytes()
    return {"best.safetensors": best, **json_content(folder / "result.json")}


def agents_content(folder: Path) -> Content:
    """The same of several runs."""
    return {
        f"{file.parent.relative_to(folder)}/{name}": content
        for file in sorted(folder.rglob("result.json"))
        for name, content in trained_content(file.parent).items()
    }


def submission_content(folder: Path) -> Content:
    """A submission, the seconds aside."""
    found: Content = {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.name not in ("submission.json", RESULTS_FILE)
    }
    found[RESULTS_FILE] = read_results(folder).drop_columns(["seconds"]).to_pylist()
    said = read_submission(folder).model_dump()
    del said["seconds"], said["files"][RESULTS_FILE]
    for policy in said["policies"]:
        del policy["command"]  # says where it wrote
    return {**found, "submission.json": said}


def subjects(trace: Path, google: Path | None) -> list[Subject]:
    """All commands that take long enough to be killed.

    Args:
        trace: a stored trace, to learn a forecast from.
        google: a folder of the published files of Google 2011, to import.
    """
    cloning = ("--env", "failgym/Cloning-v1", "--set", "jobs=2000")
    rules = ("--policy", "algorithm_1", "--policy", "retry_cap")
    training = ("train", *cloning, "--algo", "ppo", "--steps", "65536", "--n-envs", "64")
    often = (
        "--hyper",
        "batch_size=512",
        "--validate-every",
        "8192",
        "--checkpoint-every",
        "2048",
        "--episodes",
        "100",
    )
    boosting = ("--predictor", "gradient_boosting", "--out", "{out}/forecast.parquet")
    board = ("leaderboard", "run", "--suite", "smoke", "--out", "{out}/board")
    policies = tuple(word for name in POLICIES for word in ("--policy", name))
    found = [
        Subject(
            "evaluate",
            ("evaluate", *cloning, *rules, "--json", "{out}/result.json"),
            "result.json",
            json_content,
        ),
        Subject("demo", ("demo", "--json", "{out}/demo.json"), "demo.json", json_content),
        Subject(
            "tune",
            ("tune", *cloning, *rules[:2], "--trials", "40", "--out", "{out}/tuned.json"),
            "tuned.json",
            json_content,
            kept=("tuned.json.trials",),
        ),
        Subject(
            "train",
            (*training, *often, "--out", "{out}/run"),
            "run",
            trained_content,
            resume=("--resume",),
        ),
        Subject(
            "train, two agents",
            (
                *training,
                *often,
                *("--seed", "0", "--seed", "1"),
                "--workers",
                "2",
                "--out",
                "{out}/runs",
            ),
            "runs",
            agents_content,
            resume=("--resume",),
        ),
        Subject(
            "forecast",
            ("trace", "forecast", str(trace), *boosting),
            "forecast.parquet",
            bytes_content,
        ),
        *(
            Subject(
                f"leaderboard, {workers}",
                (*board, *policies, "--workers", str(workers)),
                "board",
                submission_content,
            )
            for workers in (1, 2)
        ),
    ]
    if google is not None:
        words = ("trace", "import", "google-2011", str(google), "--out", "{out}/trace")
        found.append(Subject("import", words, "trace", bytes_content))
    return found


def ended(running: subprocess.Popen[bytes]) -> None:
    """Wait for a command. Raises RuntimeError if it fails."""
    _, said = running.communicate()
    if running.returncode:
        raise RuntimeError(said.decode(errors="replace")[-2000:])


def left_alone(subject: Subject, folder: Path) -> tuple[Content, float]:
    """What a command writes when nobody kills it, and how long it takes [s]."""
    folder.mkdir()
    begun = time.perf_counter()
    ended(subject.start(folder))
    return subject.written(folder), time.perf_counter() - begun


def killed_once(running: subprocess.Popen[bytes], after: float) -> bool:
    """Kill a command after so many seconds; False if it had ended by then. Raises RuntimeError."""
    try:
        running.wait(after)
    except subprocess.TimeoutExpired:
        os.killpg(running.pid, signal.SIGKILL)
        running.communicate()
        return True
    ended(running)
    return False


def killed(subject: Subject, folder: Path, kills: int, seed: int) -> Killed:
    """Kill a command at random moments until it has been killed often enough."""
    left_alone(subject, folder / "first")  # may compile, which no later run does
    whole, seconds = left_alone(subject, folder / "whole")
    rng = np.random.default_rng(seed)
    at: list[float] = []
    rounds, wrong = 0, set[str]()
    while len(at) < kills:
        here = folder / str(rounds)
        here.mkdir()
        while len(at) < kills:
            moment = rng.random()
            if not killed_once(subject.start(here), moment * seconds):
                break
            at.append(moment)
            wrong |= half_written(subject, here, whole)
        else:
            ended(subject.start(here))
        wrong |= differences(whole, subject.written(here))
        rounds += 1
    return Killed(subject.name, kills, rounds, tuple(at), tuple(sorted(wrong)))


def half_written(subject: Subject, folder: Path, whole: Content) -> set[str]:
    """The output, if it is a file that is there, and not what it is to be."""
    output = folder / subject.output
    if not output.is_file():
        return set()
    return differences(subject.content(output), {k: v for k, v in whole.items() if k != "beside"})


def differences(one: Content, other: Content) -> set[str]:
    """Names of the files that differ, or are in one only."""
    return {name for name in one.keys() | other.keys() if one.get(name) != other.get(name)}


def show(found: list[Killed]) -> None:
    """Print the table."""
    print_table(
        "Killed commands, beside the same that were left alone",
        ("command", "kills", "rounds", "at, in per cent of its course", "files that differ"),
        [
            (
                *(one.name, one.kills, one.rounds),
                " ".join(f"{100 * at:.0f}" for at in sorted(one.at)),
                ", ".join(one.differences) or "none",
            )
            for one in found
        ],
    )


def main(
    google: Annotated[Path | None, typer.Option(help="Published files of Google 2011.")] = None,
    only: Annotated[list[str] | None, typer.Option(help="Only these commands.")] = None,
    kills: Annotated[int, typer.Option(min=1, help="Of each command.")] = 20,
    seed: Annotated[int, typer.Option(help="Of the moments.")] = 0,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write it there.")] = None,
) -> None:
    """Run, kill, go on, compare."""
    file = JsonFile.at(json_file)
    found: list[Killed] = []
    with TemporaryDirectory() as folder:
        trace = Path(folder) / "generated"
        generate("google-2011", jobs=1_000, seed=0).save(trace)
        for subject in subjects(trace, google):
            if only and subject.name not in only:
                continue
            place = Path(folder) / subject.name
            place.mkdir()
            found.append(killed(subject, place, kills, seed))
            print_line(f"{subject.name}: {', '.join(found[-1].differences) or 'no difference'}")
            file.write([asdict(one) for one in found])
    show(found)
    if any(one.differences for one in found):
        raise SystemExit(1)


if __name__ == "__main__":
    typer.run(main)
