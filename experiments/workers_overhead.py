"""What it costs to hand steps to workers, and how much two of them do.

    python -m experiments.workers_overhead [--steps 400] [--work 0.2] [--json FILE]

Each engine of `failgym.workers` does steps that do nothing, few and many of them: what more of them
take is the overhead of a step, what few of them take is how long it takes to begin. Then it does
steps that compute for a while, by this process and by two workers: the efficiency of two is how
much of twice as much they do. Ray's cluster is made on this machine, of two nodes with one
processor each; it is there before the clock runs, as a cluster would be. The last lines say what a
cluster of 64 machines can do at most by these numbers: one process hands out all steps, one after
the other.
"""

# pyright: reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import os
import time
from dataclasses import asdict, dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from experiments.ray_clusters import cluster
from failgym.cli.output import JsonFile, print_line, print_table
from failgym.workers import Workers, each

FEW = 4
COMPUTED = 40
"""Steps that compute."""
MACHINES, CORES = 64, 32
"""Of the cluster on paper."""


@dataclass(frozen=True)
class Cost:
    """What an engine costs."""

    engine: str
    begin: float
    """from the call to the result of `FEW` steps that do nothing [s]"""
    overhead: float
    """of a step more [s]"""
    one: float
    """steps that compute, by this process [s]"""
    two: float
    """the same, by two workers [s]"""

    @property
    def efficiency(self) -> float:
        """Share of twice as much that two workers do."""
        return self.one / (2.0 * self.two)


def nothing(number: int) -> int:
    """A step."""
    return number


def compute(seconds: float, number: int) -> int:
    """A step that takes so much time of a processor [s]."""
    until, found = time.process_time() + seconds, number
    while time.process_time() < until:
        found = (found * 1_103_515_245 + 12_345) % 2_147_483_648
    return found


def seconds_of(workers: Workers, count: int, work: float | None = None) -> float:
    """How long so many steps take [s]."""
    begun = time.perf_counter()
    each(nothing if work is None else partial(compute, work), range(count), workers)
    return time.perf_counter() - begun


def cost_of(engine: str, two: Workers, steps: int, work: float, alone: float) -> Cost:
    """What an engine costs whose two workers do what one process did in so long [s]."""
    begin = min(seconds_of(two, FEW), seconds_of(two, FEW))
    many = seconds_of(two, FEW + steps)
    return Cost(
        engine, begin, max(0.0, many - begin) / steps, alone, seconds_of(two, COMPUTED, work)
    )


def ray_cost(steps: int, work: float, alone: float) -> Cost:
    """What Ray costs; one worker is this process, which took so long [s]."""
    import ray

    with cluster(2) as made:
        workers = Workers(address=made.address)
        seconds_of(workers, 8, 0.5)  # its processes begin
        cost = cost_of("two nodes of Ray", workers, steps, work, alone)
        ray.shutdown()  # pyright: ignore[reportUnknownMemberType]
    return cost


def main(
    steps: Annotated[int, typer.Option(min=1, help="That do nothing.")] = 400,
    work: Annotated[float, typer.Option(min=0.001, help="Of a step that computes [s].")] = 0.2,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write it there.")] = None,
) -> None:
    """Measure, and print a table."""
    file = JsonFile.at(json_file)
    alone = seconds_of(Workers(), COMPUTED, work)
    found = [cost_of("two processes", Workers(2), steps, work, alone)]
    if find_spec("ray") is not None:
        found.append(ray_cost(steps, work, alone))
    load = os.getloadavg()[0]
    print_table(
        f"{steps} steps that do nothing, {COMPUTED} of {work:g} s; load of the machine {load:.1f}",
        ("engine", "begins [s]", "a step [ms]", "one process [s]", "two [s]", "efficiency of two"),
        [
            (one.engine, one.begin, 1000.0 * one.overhead, one.one, one.two, one.efficiency)
            for one in found
        ],
    )
    for one in found[1:]:
        rate = 1.0 / max(one.overhead, 1e-6)
        print_line(
            f"{rate:,.0f} steps are handed out in a second: {MACHINES} machines of {CORES}"
            f" processors are busy if a step takes {MACHINES * CORES / rate:.1f} s or more"
        )
    file.write({"load": load, "costs": [asdict(one) for one in found]})


if __name__ == "__main__":
    typer.run(main)
