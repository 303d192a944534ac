"""How fast each profile is generated, with usage and without.

    python -m experiments.generation_speed [--profile NAME ...] [--tasks 200000 | --jobs N]
        [--repeat 5] [--json FILE]

A profile is generated once small, which compiles what is compiled, then as often as asked for with
so many jobs, or at about so many tasks. The figures are medians: of the processor time of the
process, which other work on the machine lengthens less, and of the wall time. The content hash of
each trace is told too: it must be the same on any machine and any number of threads.
"""

from __future__ import annotations

import json
import statistics
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from failgym.traces import Trace, generate
from failgym.traces.synthetic import PROFILES

SMALL = 300
"""Jobs of the first, small trace."""


@dataclass(frozen=True)
class Rate:
    """How fast one profile was generated."""

    profile: str
    jobs: int
    tasks: int
    windows: int
    tasks_per_second: float
    """by processor time"""
    tasks_per_second_by_clock: float
    tasks_per_second_without_usage: float
    """by processor time"""
    content_hash: str


def measure(profile: str, tasks: int, jobs: int | None, repeat: int, seed: int) -> Rate:
    """Generate so many jobs, or about so many tasks, several times."""
    small = generate(profile, jobs=SMALL, seed=seed)
    if jobs is None:
        jobs = max(1, round(SMALL * tasks / small.rows("tasks")))
    made, processor, clock = _timed(profile, jobs, repeat, seed, usage=True)
    rows, windows, content = made.rows("tasks"), made.rows("windows"), made.content_hash
    del made  # before the next is made: both may be large
    _, bare, _ = _timed(profile, jobs, repeat, seed, usage=False)
    return Rate(profile, jobs, rows, windows, rows / processor, rows / clock, rows / bare, content)


def _timed(
    profile: str, jobs: int, repeat: int, seed: int, usage: bool
) -> tuple[Trace, float, float]:
    """The trace, and medians of processor and wall time [s]."""
    processor: list[float] = []
    clock: list[float] = []
    made: Trace | None = None
    for _ in range(repeat):
        made = None
        begun, seen = time.process_time(), time.perf_counter()
        made = generate(profile, jobs=jobs, seed=seed, usage=usage)
        processor.append(time.process_time() - begun)
        clock.append(time.perf_counter() - seen)
    assert made is not None, "repeat is at least 1"
    return made, statistics.median(processor), statistics.median(clock)


def main(
    tasks: Annotated[int, typer.Option(min=1000, help="Tasks of a trace, about.")] = 200_000,
    jobs: Annotated[int | None, typer.Option(min=1, help="Jobs of a trace, instead.")] = None,
    repeat: Annotated[int, typer.Option(min=1, help="How often each is generated.")] = 5,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the traces.")] = 0,
    profile: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Repeatable; all by default.")
    ] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write it there.")] = None,
) -> None:
    """Measure profiles."""
    for name in profile or ():
        if name not in PROFILES:
            raise typer.BadParameter(f"expected {', '.join(PROFILES)}; got {name!r}")
    rates: list[Rate] = []
    for name in profile or PROFILES:
        rate = measure(name, tasks, jobs, repeat, seed)
        rates.append(rate)
        print(
            f"{name:24} {rate.tasks:>9,} tasks  {rate.tasks_per_second:>11,.0f} tasks/s"
            f"  by the clock {rate.tasks_per_second_by_clock:>11,.0f}"
            f"  without usage {rate.tasks_per_second_without_usage:>11,.0f}"
            f"  content {rate.content_hash[:16]}",
            flush=True,
        )
    if json_file is not None:
        json_file.write_text(json.dumps([asdict(rate) for rate in rates], indent=1), "utf-8")


if __name__ == "__main__":
    typer.run(main)
