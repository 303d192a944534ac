"""EASY backfilling on logs in Standard Workload Format: how fast, and how long jobs wait.

    python -m experiments.backfill_speed LOG... [--runs 5] [--walltime-kill] [--json FILE]

Every log is scheduled on one machine of as many slots as its header says the system had processors
(MaxProcs), by submissions and run times alone, with each estimate of run times (Kumar et al., DSN
2020, figure 11; history lengths as they were best there). Jobs per second are the median of the
runs, one episode on one core, from the first submission to the last end; reading and compiling the
log are not in it.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from experiments.backfilling import on_one_machine, scheduling
from experiments.machine import cores, host, pin
from failgym.cli.output import Cell, JsonFile, print_line, print_table
from failgym.sim.scheduled.rules import ESTIMATORS
from failgym.traces import Trace, TraceError, read_swf

TARGET = 1e5
"""Jobs per second, at least."""


@dataclass(frozen=True)
class Figure:
    """One log under one estimator."""

    log: str
    jobs: int
    processors: int
    estimator: str
    jobs_per_second: float
    mean_wait: float
    """[s]"""


def measure(name: str, trace: Trace, estimator: str, kill: bool, runs: int) -> Figure:
    """Schedule a log several times."""
    batch, n = scheduling(trace, estimator, kill=kill), trace.rows("tasks")
    seconds: list[float] = []
    for _ in range(runs + 1):
        begun = time.process_time()
        batch.reset(np.zeros(1, dtype=np.int64))
        seconds.append(time.process_time() - begun)
    table = batch.outcomes(0)
    waits = table["start"] - table["submit"]
    rate = n / statistics.median(seconds[1:])  # the first run compiles, and finds room
    slots = int(trace.column("machines", "slots")[0])
    return Figure(name, n, slots, estimator, rate, float(waits.mean()) / 1000)


def print_figures(figures: list[Figure], runs: int) -> None:
    """The table."""
    user = {f.log: f.mean_wait for f in figures if f.estimator == "user"}
    cells: list[tuple[Cell, ...]] = [
        (
            *(f.log, f.jobs, f.estimator, round(f.jobs_per_second), round(f.mean_wait)),
            f.mean_wait / user[f.log] - 1 if user[f.log] else 0.0,
        )
        for f in figures
    ]
    columns = ("log", "jobs", "estimates", "jobs/s", "mean wait\n[s]", "against\nthe users'")
    title = f"EASY backfilling, one core, median of {runs}"
    print_table(title, columns, cells, frozenset({"against\nthe users'"}))


def main(
    logs: Annotated[list[Path], typer.Argument(exists=True, help="Logs (.swf, .swf.gz).")],
    runs: Annotated[int, typer.Option(min=1, help="Runs of which medians are taken.")] = 5,
    walltime_kill: Annotated[
        bool, typer.Option("--walltime-kill", help="Kill jobs at their requested time.")
    ] = False,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write as JSON.")] = None,
) -> None:
    """Schedule logs with every estimate of run times."""
    file = JsonFile.at(json)
    all_cores = cores()
    pin({max(all_cores)} if all_cores else set())
    figures: list[Figure] = []
    for path in logs:
        try:
            trace = on_one_machine(read_swf(path))
        except TraceError as error:
            raise typer.BadParameter(str(error)) from error
        name = path.name.removesuffix(".gz").removesuffix(".swf")
        figures += [measure(name, trace, e, walltime_kill, runs) for e in ESTIMATORS]
    print_figures(figures, runs)
    slowest = min(figure.jobs_per_second for figure in figures)
    print_line(f"slowest: {slowest:,.0f} jobs/s, target: at least {TARGET:,.0f}")
    file.write({"host": host(), "runs": runs, "figures": [asdict(f) for f in figures]})


if __name__ == "__main__":
    typer.run(main)
