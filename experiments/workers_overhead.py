"""What it costs to hand steps to workers, and how much two of them do.

    python -m experiments.workers_overhead [--steps 400] [--work 0.2] [--json FILE]

Each engine of `failgym.workers` does steps that do nothing, few and many of them: what more of them
take is the overhead of a step, what few of them take is how long it takes to begin. Then it does
steps that compute for a while, one worker and two: the efficiency of two is how much of twice as
much they do. Ray's cluster is made on this machine, of nodes with one processor each; it is there
before the clock runs, as a cluster would be. The last lines say what a cluster of 64 machines can
do at most by these numbers: one process hands out all steps, one after the other.
"""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from contextlib import contextmanager
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
    """steps that compute, by one worker [s]"""
    two: float
    """the same, by two [s]"""

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


def cost_of(engine: str, one: Workers, two: Workers, steps: int, work: float) -> Cost:
    """What an engine costs; the work is for as many steps as take ten times as long to begin."""
    begin = seconds_of(two, FEW)
    begin = min(begin, seconds_of(two, FEW))
    many = seconds_of(two, FEW + steps)
    count = 40
    return Cost(
        engine,
        begin,
        max(0.0, many - begin) / steps,
        seconds_of(one, count, work),
        seconds_of(two, count, work),
    )


@contextmanager
def ray_workers(nodes: int) -> Generator[Workers]:
    """Workers of a cluster of so many nodes, which have done something already."""
    import ray

    with cluster(nodes) as made:
        workers = Workers(address=made.address)
        seconds_of(workers, 4 * nodes, 0.2)
        yield workers
        ray.shutdown()


def ray_cost(steps: int, work: float) -> Cost:
    """What Ray costs."""
    with ray_workers(1) as one:
        alone = seconds_of(one, 40, work)
    with ray_workers(2) as two:
        cost = cost_of("Ray, two nodes", two, two, steps, work)
    return Cost(cost.engine, cost.begin, cost.overhead, alone, cost.two)


def main(
    steps: Annotated[int, typer.Option(min=1, help="That do nothing.")] = 400,
    work: Annotated[float, typer.Option(min=0.001, help="Of a step that computes [s].")] = 0.2,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write it there.")] = None,
) -> None:
    """Measure, and print a table."""
    file = JsonFile.at(json_file)
    found = [
        cost_of("this process", Workers(), Workers(), steps, work),
        cost_of("two processes", Workers(), Workers(2), steps, work),
    ]
    if find_spec("ray") is not None:
        found.append(ray_cost(steps, work))
    load = os.getloadavg()[0]
    print_table(
        f"{steps} steps that do nothing, 40 of {work:g} s; load of this machine {load:.1f}",
        ("engine", "begins [s]", "a step [ms]", "one worker [s]", "two [s]", "efficiency of two"),
        [
            (one.engine, one.begin, 1000.0 * one.overhead, one.one, one.two, one.efficiency)
            for one in found[1:]
        ]
        + [(found[0].engine, found[0].begin, 1000.0 * found[0].overhead, found[0].one, "-", "-")],
    )
    for one in found[2:]:
        rate = 1.0 / max(one.overhead, 1e-6)
        print_line(
            f"{MACHINES} machines of {CORES} processors are busy, by the {rate:,.0f} steps that are"
            f" handed out in a second, if a step takes {MACHINES * CORES / rate:.1f} s or more"
        )
    file.write({"load": load, "costs": [asdict(one) for one in found]})


if __name__ == "__main__":
    typer.run(main)
