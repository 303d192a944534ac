"""How fast the engine is beside another checkout of it, in one run.

    python -m experiments.beside [--beside DIR] [--rounds 9] [--only TEXT ...] [--memory] [--cold]
        [--json FILE]

Each side runs in a process of its own, with its own python path; they take turns, a block of steps
each, so that what else the machine does falls on both. Both play the same trajectories: random
legal actions, ends begin anew. Figures are of processor time: medians over rounds, ratios medians
of the ratios of one round. Without ``--beside`` there is one side.

- rates: decisions per second of ``gym.make`` and of ``make_vec`` with 64 and 256 episodes, the
  policy's time apart; resets per second of ``gym.make``, slice after slice
- ``--memory``: what 1,024 episodes of Lineage-v1 take after 200 steps, resident
- ``--cold``: seconds of processor time from a fresh Python with an empty cache of compiled code to
  a first step of Cloning-v1 (pinned) and of Lineage-v1 (scheduled)
"""

from __future__ import annotations

import json as json_format
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from experiments.speed import FIRST_STEP
from failgym.cli.output import Cell, JsonFile, print_line, print_table
from failgym.envs import SCENARIOS

HERE = Path(__file__).resolve().parent.parent
SIDE = Path(__file__).with_name("side.py")
KINDS = {"make": 1, "make_vec 64": 64, "make_vec 256": 256, "reset": 0}
"""What is played: episodes at once; 0 for resets of one."""
STEPS = {0: 20, 1: 2_000, 64: 150, 256: 60}
"""Steps of a block."""
COLD = ("failgym/Cloning-v1", "failgym/Lineage-v1")


class Subject(NamedTuple):
    """What is measured."""

    id: str
    kind: str

    @property
    def episodes(self) -> int:
        """At once; 0 where resets are measured."""
        return KINDS[self.kind]

    @property
    def name(self) -> str:
        """What it is called."""
        return f"{self.id.removeprefix('failgym/')} {self.kind}"


def environment_of(checkout: Path) -> dict[str, str]:
    """The environment variables of a process of a checkout."""
    return {**os.environ, "PYTHONPATH": str(checkout)}


class Side:
    """A process that plays a checkout."""

    def __init__(self, checkout: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(SIDE)],
            cwd=checkout,
            env=environment_of(checkout),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, **task: Any) -> dict[str, Any]:
        """The answer to a task."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json_format.dumps(task) + "\n")
        self.process.stdin.flush()
        return json_format.loads(self.process.stdout.readline())

    def close(self) -> None:
        """End the process."""
        self.process.communicate()


def measured(subject: Subject, checkouts: Sequence[Path], rounds: int) -> dict[str, Any]:
    """Decisions, or resets, per second of each side, and the ratio of the first to the last."""
    sides, steps = [Side(checkout) for checkout in checkouts], STEPS[subject.episodes]
    for side in sides:
        side.ask(name="it", id=subject.id, episodes=subject.episodes)
        side.ask(name="it", play=steps)  # warms up
    times = [[side.ask(name="it", play=steps)["answer"] for side in sides] for _ in range(rounds)]
    for side in sides:
        side.close()
    count = steps * max(subject.episodes, 1)
    return {
        "name": subject.name,
        "per_second": [count / statistics.median(column) for column in zip(*times, strict=True)],
        "ratio": statistics.median(row[-1] / row[0] for row in times),
    }


def memory(checkout: Path, episodes: int = 1_024, steps: int = 200) -> str:
    """What so many episodes of Lineage-v1 take after so many steps."""
    side = Side(checkout)
    made = side.ask(name="it", id="failgym/Lineage-v1", episodes=episodes)
    played = side.ask(name="it", play=steps) if "error" not in made else made
    side.close()
    return played.get("error") or f"{played['resident'] / 1e9:.2f} GB resident"


def cold(checkout: Path, env_id: str) -> float:
    """Processor seconds to a first step, compiled code and worlds made anew."""
    with tempfile.TemporaryDirectory() as folder:
        kept = {"NUMBA_CACHE_DIR": folder, "FAILGYM_CACHE_DIR": folder}
        code = FIRST_STEP.format(id=env_id)
        before = _of_children()
        command = [sys.executable, "-c", code]
        subprocess.run(command, cwd=checkout, env={**environment_of(checkout), **kept}, check=True)
        return _of_children() - before


def _of_children() -> float:
    """Processor time of the processes that have ended [s]."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def print_rates(rows: Sequence[dict[str, Any]], sides: Sequence[str], rounds: int) -> None:
    """The table of rates."""
    cells: list[tuple[Cell, ...]] = [
        (row["name"], *(round(rate) for rate in row["per_second"]), f"{row['ratio']:.2f}")
        for row in rows
    ]
    title = f"Decisions or resets per second of processor time, median of {rounds}"
    print_table(title, ("", *sides, "ratio"), cells)


def main(
    beside: Annotated[
        Path | None,
        typer.Option(metavar="DIR", exists=True, file_okay=False, help="Another checkout."),
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Blocks of each side.")] = 9,
    only: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="Only what has this in its name.")
    ] = None,
    with_memory: Annotated[bool, typer.Option("--memory", help="Memory of Lineage-v1.")] = False,
    with_cold: Annotated[bool, typer.Option("--cold", help="Time to compile.")] = False,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write as JSON.")] = None,
) -> None:
    """Measure the engine, beside another checkout of it."""
    file = JsonFile.at(json)
    checkouts = [HERE, *([beside.resolve()] if beside else [])]
    sides = ["here", "beside"][: len(checkouts)]
    subjects = [Subject(f"failgym/{name}", kind) for name in SCENARIOS for kind in KINDS]
    wanted = [s for s in subjects if only is None or any(text in s.name for text in only)]
    rows = [measured(subject, checkouts, rounds) for subject in wanted]
    if rows:
        print_rates(rows, sides, rounds)
    taken = {side: memory(c) for side, c in zip(sides, checkouts, strict=True) if with_memory}
    for side, text in taken.items():
        print_line(f"1,024 episodes of Lineage-v1 after 200 steps, {side}: {text}")
    times = {i: [cold(checkout, i) for checkout in checkouts] for i in COLD if with_cold}
    for env_id, seconds in times.items():
        text = ", ".join(f"{side} {s:.1f} s" for side, s in zip(sides, seconds, strict=True))
        print_line(f"cold first step of {env_id}, processor time: {text}")
    file.write({"rates": rows, "memory": taken, "cold": times})


if __name__ == "__main__":
    typer.run(main)
