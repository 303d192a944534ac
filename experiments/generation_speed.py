"""How fast each profile is generated, with usage and without.

    python -m experiments.generation_speed [--tasks 200000] [--repeat 3] [--json FILE]

A profile is generated once small, which compiles what is compiled, then as often as asked for at
about that many tasks; the figures are medians, of the process's own time on its core.
"""

from __future__ import annotations

import json
import statistics
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from failgym.traces import generate
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
    tasks_per_second_without_usage: float


def measure(profile: str, tasks: int, repeat: int, seed: int) -> Rate:
    """Generate about that many tasks, several times."""
    small = generate(profile, jobs=SMALL, seed=seed)
    jobs = max(1, round(SMALL * tasks / small.rows("tasks")))
    made = generate(profile, jobs=jobs, seed=seed)
    seconds: dict[bool, float] = {}
    for usage in (True, False):
        taken: list[float] = []
        for _ in range(repeat):
            begun = time.process_time()
            generate(profile, jobs=jobs, seed=seed, usage=usage)
            taken.append(time.process_time() - begun)
        seconds[usage] = statistics.median(taken)
    rows = made.rows("tasks")
    return Rate(
        profile, jobs, rows, made.rows("windows"), rows / seconds[True], rows / seconds[False]
    )


def main(
    tasks: Annotated[int, typer.Option(min=1000, help="Tasks of a trace, about.")] = 200_000,
    repeat: Annotated[int, typer.Option(min=1, help="How often each is generated.")] = 3,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the traces.")] = 0,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write it there.")] = None,
) -> None:
    """Measure every profile."""
    rates: list[Rate] = []
    for profile in PROFILES:
        rate = measure(profile, tasks, repeat, seed)
        rates.append(rate)
        print(
            f"{profile:20} {rate.tasks:>9,} tasks  {rate.tasks_per_second:>11,.0f} tasks/s"
            f"  without usage {rate.tasks_per_second_without_usage:>11,.0f}",
            flush=True,
        )
    if json_file is not None:
        json_file.write_text(json.dumps([asdict(rate) for rate in rates], indent=1), "utf-8")


if __name__ == "__main__":
    typer.run(main)
