"""How long it takes to count the laws of further attempts, and to say which speak of which task.

    python -m experiments.continued_speed [--jobs 60000] [--profile google-2011] [--json FILE]

A generated trace; seconds of processor time of `failgym.continued.fit` and of `Habits.of`, medians
over rounds; the largest
memory that numpy held at once (tracemalloc, in a round of its own), and what the laws and the lines
of tasks take, in bytes per attempt.
"""

from __future__ import annotations

import statistics
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Annotated, Any, TypeVar

import numpy as np
import typer

from failgym.cli.output import JsonFile, print_table
from failgym.continued import fit
from failgym.sim.shared.continuation import Continuation, Law
from failgym.traces import generate

T = TypeVar("T")


@dataclass(frozen=True)
class Cost:
    """What it took."""

    tasks: int
    attempts: int
    fit_seconds: float
    of_seconds: float
    peak_bytes: int
    """while fitting"""
    kept_bytes: int
    """laws and lines of tasks"""


def seconds(rounds: int, make: Callable[[], T]) -> tuple[float, T]:
    """Seconds of the processor, the median over rounds, and what was made."""
    spent = list[float]()
    while True:
        begun = time.process_time()
        made = make()
        spent.append(time.process_time() - begun)
        if len(spent) >= rounds:
            return statistics.median(spent), made


def size(laws: Continuation) -> int:
    """Bytes of all arrays."""
    total = 0
    for field in fields(laws):
        value: Any = getattr(laws, field.name)
        arrays = (value.at, value.value, value.share) if isinstance(value, Law) else (value,)
        total += sum(array.nbytes for array in arrays)
    return total


def main(
    jobs: Annotated[int, typer.Option(min=10, help="Jobs of the trace.")] = 60_000,
    profile: Annotated[str, typer.Option(help="Its profile.")] = "google-2011",
    rounds: Annotated[int, typer.Option(min=1, help="How often.")] = 3,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write it there.")] = None,
) -> None:
    """Generate, fit, assign, measure."""
    file = JsonFile.at(json_file)
    trace = generate(profile, jobs=jobs, seed=0, usage=False)
    key = np.arange(trace.rows("tasks"))
    fit_seconds, habits = seconds(rounds, lambda: fit(trace))
    of_seconds, laws = seconds(rounds, lambda: habits.of(trace, key))
    tracemalloc.start()
    fit(trace)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    attempts = trace.rows("attempts")
    cost = Cost(len(key), attempts, fit_seconds, of_seconds, peak, size(laws))
    print_table(
        "laws of further attempts",
        ("tasks", "attempts", "fit [s]", "of [s]", "peak [B/attempt]", "kept [B/attempt]"),
        [
            [
                f"{cost.tasks:,}",
                f"{attempts:,}",
                f"{fit_seconds:.2f}",
                f"{of_seconds:.2f}",
                f"{peak / attempts:.0f}",
                f"{cost.kept_bytes / attempts:.0f}",
            ]
        ],
    )
    file.write(asdict(cost))


if __name__ == "__main__":
    typer.run(main)
