"""What `gym.make` costs in a new process: a world that is built, and one that is kept on disk.

    python -m experiments.world_cache_speed --trace DIR [--env Cloning-v1 ...] [--runs 5]
                                            [--beside CHECKOUT] [--json FILE]

Each row is a process that makes an environment on the stored trace and resets it once, so that its
kernels are loaded too; medians of the runs, the kinds in turn. "first": nothing is kept; "second":
the world is; "100 jobs": of the profile google-2011, whose world is built in less time than is
worth a file; "beside": another checkout of failgym. Time counts from the end of the imports. "peak"
is the most that was resident; "each of 4" what each of four such processes holds at once, where a
page that they share counts once among them.

Then, in this process: what it takes to work out the key, to write a world, to read it with all
checks, and its size.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from experiments.machine import host
from failgym.cli.output import JsonFile, print_line, print_table
from failgym.envs import resolve
from failgym.world_cache.file import blocks_of, read_world, write_world
from failgym.world_cache.folder import FOLDER
from failgym.world_cache.key import key_of, sources_hash
from failgym.worlds.build import build_world

CHECKOUT = Path(__file__).parents[1]
TOGETHER = 4
"""Processes that hold the same environment at once."""
TARGET = 0.5
"""What a kept world may take beyond one of 100 jobs, at most [s]."""
FIELDS: dict[str, dict[str, Any]] = {"Mitigation-v1": {"begin": 0}}
"""Of environments that leave out the first day of a trace, which may be all there is of it."""
CHILD = """
import json, resource, sys, time
import gymnasium as gym
import failgym
wall, processor = time.perf_counter(), time.process_time()
gym.make(sys.argv[1], **json.loads(sys.argv[2])).reset(seed=1)
spent = time.perf_counter() - wall, time.process_time() - processor
print(json.dumps([*spent, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024]), flush=True)
sys.stdin.readline()
"""
COLUMNS = ("environment", "world", "wall [s]", "processor [s]", "peak [MB]", "each of 4 [MB]")


@dataclass(frozen=True)
class Kind:
    """What is made, and where."""

    name: str
    checkout: Path
    fields: dict[str, Any]
    cleared: bool = False
    """Is the cache emptied before?"""


@dataclass(frozen=True)
class Made:
    """What it took to make an environment."""

    env: str
    kind: str
    wall: float
    """[s]"""
    processor: float
    """[s]"""
    peak: float
    """[bytes]"""
    together: float
    """[bytes]"""


@dataclass(frozen=True)
class Parts:
    """What the steps of keeping a world take."""

    env: str
    size: int
    """[bytes]"""
    sources: float
    """to hash failgym's sources, once per process [s]"""
    key: float
    """[s]"""
    write: float
    """[s]"""
    read: float
    """[s]"""


class Child:
    """A process that makes an environment, and holds it until it is told to end."""

    def __init__(self, kind: Kind, env: str, cache: Path) -> None:
        fields = {**FIELDS.get(env, {}), **kind.fields}
        self._process = subprocess.Popen(
            [sys.executable, "-c", CHILD, f"failgym/{env}", json.dumps(fields)],
            cwd=kind.checkout,
            env={**os.environ, FOLDER: str(cache), "PYTHONPATH": str(kind.checkout)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.figures: list[float] = json.loads(self._process.stdout.readline())

    def memory(self) -> int:
        """What the process holds, its part of shared pages [bytes]."""
        rollup = Path(f"/proc/{self._process.pid}/smaps_rollup").read_text("ascii")
        line = next(line for line in rollup.splitlines() if line.startswith("Pss:"))
        return int(line.split()[1]) * 1024

    def end(self) -> None:
        """Let it end."""
        self._process.communicate("\n")


def kinds_of(trace: Path, beside: Path | None) -> list[Kind]:
    """What is compared."""
    stored = {"trace": str(trace)}
    kinds = [
        Kind("first", CHECKOUT, stored, cleared=True),
        Kind("second", CHECKOUT, stored),
        Kind("100 jobs", CHECKOUT, {"trace": "google-2011", "jobs": 100}),
    ]
    if beside is not None:
        kinds += [
            Kind("beside", beside.absolute(), stored),
            Kind("beside, 100 jobs", beside.absolute(), kinds[-1].fields),
        ]
    return kinds


def played(kind: Kind, env: str, cache: Path) -> list[float]:
    """The figures of one process."""
    if kind.cleared:
        shutil.rmtree(cache, ignore_errors=True)
    child = Child(kind, env, cache)
    child.end()
    return child.figures


def together(kind: Kind, env: str, cache: Path) -> float:
    """What each of several processes holds, made one after the other; NaN for a first [bytes]."""
    if kind.cleared:
        return math.nan
    children = [Child(kind, env, cache) for _ in range(TOGETHER)]
    sizes = [child.memory() for child in children]
    for child in children:
        child.end()
    return statistics.mean(sizes)


def measure(env: str, kinds: list[Kind], runs: int, cache: Path) -> list[Made]:
    """All kinds in turn, once to warm up, then so often as is asked for."""
    figures = [[played(kind, env, cache) for kind in kinds] for _ in range(runs + 1)][1:]
    rows: list[Made] = []
    for number, kind in enumerate(kinds):
        own = [run[number] for run in figures]
        wall, processor, peak = (statistics.median(column) for column in zip(*own, strict=True))
        rows.append(Made(env, kind.name, wall, processor, peak, together(kind, env, cache)))
    return rows


def parts_of(env: str, fields: dict[str, Any], runs: int, folder: Path) -> Parts:
    """What the steps of keeping a world take, in processor time."""
    scenario = resolve(env, {**FIELDS.get(env, {}), **fields})
    world: tuple[Any, ...] = build_world(scenario).tables
    file = folder / "measured.world"
    kind: type[tuple[Any, ...]] = type(world)
    key = key_of(scenario)
    assert key is not None, "a stored trace and a forecast by name have a key"
    steps = {
        "sources": lambda: sources_hash(CHECKOUT / "failgym"),
        "key": lambda: key_of(scenario),
        "write": lambda: write_world(file, key, blocks_of(world), scenario),
        "read": lambda: read_world(file, key, kind),
    }
    seconds = {name: _median_time(step, runs) for name, step in steps.items()}
    return Parts(env, blocks_of(world).size, **seconds)


def _median_time(step: Any, runs: int) -> float:
    """Processor time of a step [s]."""
    seconds: list[float] = []
    for _ in range(runs):
        begun = time.process_time()
        step()
        seconds.append(time.process_time() - begun)
    return statistics.median(seconds)


def main(
    trace: Annotated[Path, typer.Option(help="The folder of a stored trace.")],
    env: Annotated[list[str], typer.Option(help="Environments; repeatable.")] = ["Cloning-v1"],  # noqa: B006
    runs: Annotated[int, typer.Option(help="Processes of each kind.")] = 5,
    beside: Annotated[Path | None, typer.Option(help="Another checkout of failgym.")] = None,
    json: Annotated[Path | None, typer.Option(help="Also write the result here.")] = None,
) -> None:
    """Measure, print, and write."""
    file, kinds = JsonFile.at(json), kinds_of(trace.absolute(), beside)
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder) / "worlds"
        rows = [row for name in env for row in measure(name, kinds, runs, cache)]
        parts = [parts_of(name, kinds[0].fields, runs, Path(folder)) for name in env]
    print_table(f"gym.make and reset on {trace}", COLUMNS, map(_cells, rows))
    print_table(
        "Processor time of the steps [ms]",
        ("environment", "world [MB]", "sources", "key", "write", "read"),
        [
            (p.env, p.size / 1e6, *(1e3 * s for s in (p.sources, p.key, p.write, p.read)))
            for p in parts
        ],
    )
    for name in env:
        own = {row.kind: row for row in rows if row.env == name}
        kept, small = own["second"], own["100 jobs"]
        print_line(
            f"{name}: {kept.wall - small.wall:+.2f} s, {kept.processor - small.processor:+.2f} s of"
            f" processor time, beyond 100 jobs; asked at most {TARGET} s"
        )
    measured = {"rows": [asdict(row) for row in rows], "parts": [asdict(each) for each in parts]}
    file.write({"host": host(), **measured})


def _cells(row: Made) -> tuple[Any, ...]:
    return (row.env, row.kind, row.wall, row.processor, row.peak / 1e6, row.together / 1e6)


if __name__ == "__main__":
    typer.run(main)
