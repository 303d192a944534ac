"""The scheduled world at size: a whole trace on a large cluster, and what a decision costs there.

    python -m experiments.cluster_speed [--trace DIR] [--machines 12500] [--slots 16] [--runs 3]
                                        [--json FILE]

- replay: every task of a trace is queued, placed and run on the machines given, first come, first
  served, nothing asked; tasks per second from the first submission to the last end. Without a trace
  the google-2011 profile is replayed.
- cost: tasks of exponential run times arrive at a cluster that is busy for 85 % of its slots, with
  100 to 100,000 attempts running at a time: the time per task of a replay, and the time per
  decision where every attempt is asked in every window and answered CONTINUE. The latter includes
  a call from Python for each, the same for all sizes.

One episode on one core; processor time, medians of the runs.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from experiments.backfilling import blank
from experiments.machine import cores, host, pin
from failgym.cli.output import JsonFile, print_line, print_table
from failgym.sim.scheduled.batch import ScheduledBatch
from failgym.sim.scheduled.compile import compile_scheduled, with_episodes
from failgym.sim.scheduled.records import World
from failgym.sim.scheduled.rules import ScheduledRules
from failgym.traces import Meta, Outcome, Trace, with_machines
from failgym.traces.synthetic import generate

BUSY = 0.85
"""Share of the slots that are busy in the mean."""
SLOTS = 16
"""Slots of a machine."""
RUN_TIME = 3_600_000
"""Mean run time [ms]."""
WINDOW = 300_000
"""Time between two decisions about an attempt [ms]."""
SIZES = (100, 1_000, 10_000, 100_000)
"""Attempts that run at a time, in the mean."""
TARGET = 3e5
"""Tasks per second of a replay, at least."""


@dataclass(frozen=True)
class Replay:
    """A trace on a cluster."""

    tasks: int
    machines: int
    slots: int
    tasks_per_second: float
    utilisation: float
    """from the first submission to the last"""


@dataclass(frozen=True)
class Cost:
    """A decision among so many running attempts."""

    running: int
    per_task: float
    """of a replay [ns]"""
    per_decision: float
    """[ns]"""


def steady(running: int, tasks: int, seed: int = 0) -> Trace:
    """Tasks that keep so many attempts running in the mean, on machines that these fill."""
    rng = np.random.default_rng(seed)
    run_time = np.maximum(rng.exponential(RUN_TIME, tasks).astype(np.int64), 1)
    submit = np.sort(rng.integers(0, max(tasks * RUN_TIME // running, 1), tasks))
    jobs = {
        "original_id": [str(number) for number in range(tasks)],
        "submit": submit,
        "width": 1,
        "outcome": Outcome.FINISH,
    }
    attempts = {"queued": submit, "start": submit, "end": submit + run_time, "outcome": 0}
    trace = Trace.of(
        Meta("steady"),
        jobs=jobs,
        tasks={"job": np.arange(tasks), "index": np.zeros(tasks, np.int64), "width": 1},
        attempts={"task": np.arange(tasks), **attempts},
    )
    return with_machines(trace, max(round(running / BUSY / SLOTS), 1), slots=SLOTS)


def world_of(trace: Trace, rules: ScheduledRules) -> World:
    """One episode of all tasks that have an attempt to run."""
    world = compile_scheduled(trace, rules, blank(trace, rules.window))
    tasks = np.flatnonzero(world.tasks["rows"] > 0)
    order = tasks[np.lexsort((tasks, world.tasks["submit"][tasks]))]
    n = len(order)
    return with_episodes(world, order, np.array([[0, 0, n, n]]))


def timed(world: World, rules: ScheduledRules, runs: int) -> tuple[ScheduledBatch, float]:
    """An episode in which nothing is asked, and how much processor time it takes [s]."""
    batch = ScheduledBatch(world, rules, 1)
    seconds: list[float] = []
    for _ in range(runs + 1):  # the first finds room
        begun = time.process_time()
        batch.reset(np.zeros(1, dtype=np.int64))
        seconds.append(time.process_time() - begun)
    return batch, statistics.median(seconds[1:])


def replay(trace: Trace, machines: int, slots: int, runs: int) -> Replay:
    """Run a whole trace on a cluster; nothing is asked."""
    rules = ScheduledRules()
    batch, seconds = timed(
        world_of(with_machines(trace, machines, slots=slots), rules), rules, runs
    )
    table = batch.outcomes(0)
    first, last = int(table["submit"].min()), int(table["submit"].max())
    ran = table["start"] >= 0
    busy = np.clip(np.minimum(table["end"], last) - table["start"], 0, None)[ran].sum()
    capacity = max(last - first, 1) * machines * slots
    n = len(table["task"])
    return Replay(n, machines, slots, n / seconds, float(busy) / capacity)


def cost(running: int, runs: int, decisions: int) -> Cost:
    """What a task and a decision cost, the cluster once filled."""
    fill = 3 * running  # three mean run times fill the cluster
    tasks = fill + decisions * WINDOW // RUN_TIME * (runs + 2) + 10_000
    trace, silent = steady(running, tasks), ScheduledRules()
    _, seconds = timed(world_of(trace, silent), silent, runs)
    asking = ScheduledRules(kill=True, window=WINDOW)
    batch = ScheduledBatch(world_of(trace, asking), asking, 1)
    batch.reset(np.zeros(1, dtype=np.int64))
    answers = np.zeros(1, dtype=np.int64)
    while int(batch.state.episodes["arrival"][0]) < fill:
        batch.step(answers)
    rounds: list[float] = []
    for _ in range(runs):
        begun = time.process_time()
        for _ in range(decisions):
            batch.step(answers)
        rounds.append((time.process_time() - begun) / decisions)
    return Cost(running, seconds / tasks * 1e9, statistics.median(rounds) * 1e9)


def main(
    trace: Annotated[Path | None, typer.Option(help="A stored trace to replay.")] = None,
    machines: Annotated[int, typer.Option(min=1)] = 12_500,
    slots: Annotated[int, typer.Option(min=1, help="Slots of a machine.")] = SLOTS,
    jobs: Annotated[int, typer.Option(min=1, help="Jobs of the profile, without a trace.")] = 4_000,
    runs: Annotated[int, typer.Option(min=1)] = 3,
    decisions: Annotated[int, typer.Option(min=1, help="Decisions per run.")] = 20_000,
    sizes: Annotated[int, typer.Option(min=1, max=len(SIZES), help="How many sizes.")] = len(SIZES),
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write as JSON.")] = None,
) -> None:
    """Measure the scheduled world at size."""
    file = JsonFile.at(json)
    all_cores = cores()
    pin({max(all_cores)} if all_cores else set())
    source = generate("google-2011", jobs=jobs, seed=0) if trace is None else Trace.load(trace)
    whole = replay(source, machines, slots, runs)
    print_table(
        f"Replay of a trace, one core, median of {runs}",
        ("tasks", "machines", "slots", "busy", "tasks/s"),
        [(whole.tasks, machines, slots, whole.utilisation, round(whole.tasks_per_second))],
        frozenset({"busy"}),
    )
    print_line(f"target: at least {TARGET:,.0f} tasks/s")
    costs = [cost(size, runs, decisions) for size in SIZES[:sizes]]
    print_table(
        f"Cost against size, one core, median of {runs}",
        ("attempts\nrunning", "ns per task", "ns per decision"),
        [(c.running, round(c.per_task), round(c.per_decision)) for c in costs],
    )
    file.write({"host": host(), "replay": asdict(whole), "cost": [asdict(c) for c in costs]})


if __name__ == "__main__":
    typer.run(main)
