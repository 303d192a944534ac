"""What more processes and more machines do for a suite: the same bytes, sooner, whoever is killed.

    python -m experiments.many_machines --json FILE [--suite smoke] [--policy NAME ...]
        [--kills 5] [--steps 300] [--work DIR] [--warm]

On this machine, of which two processors are used:

1. The suite is run by one process, by two, and by two nodes of a Ray cluster, and what they wrote
   is compared, times of the clock aside. Of one process each step is timed.
2. It is run by the two nodes, and a process that does a step, the second node and the command are
   killed with SIGKILL at random moments, so often each (`experiments.cluster_kills`).
3. Steps that do nothing say what a step costs, steps that only compute how much two workers do
   (`experiments.workers_overhead`).
4. From the times of the steps it is worked out how long more processors would take: each takes the
   next step as soon as it is free, one process hands them out, and what is no step stays as long
   as it is. What that says of two nodes stands beside what was measured.

A first run is not timed, since it may compile kernels and build worlds; with ``--warm`` there is
none, which saves time where all of that is known to be there. FILE keeps what is finished: the
same command goes on after a kill. What suites are run in lies in DIR, beside FILE by default, and
goes in the end. ``experiments.results_pages --machines FILE`` writes the tables of the page.

Other work on the machine makes times longer: FILE has the load before each run.
"""

from __future__ import annotations

import heapq
import json
import os
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any
from unittest.mock import patch

import typer

from experiments.cluster_kills import KINDS, POLICIES, Board, killed
from experiments.kills import differences
from experiments.machine import host
from experiments.ray_clusters import cluster
from experiments.reproduction.command import refusing
from experiments.workers_overhead import COMPUTED, CORES, MACHINES, cost_of, ray_cost, seconds_of
from experiments.worst_cases import known_in
from failgym.cli.output import print_line, print_table
from failgym.files import replacing
from failgym.leaderboard.run.tasks import RunTasks
from failgym.sources import code_hash
from failgym.workers import Workers
from failgym.workers.ray_cluster import WAITING

__all__ = ["Paper", "makespan", "on_paper", "timed"]

ONE, TWO, NODES = "one process", "two processes", "two nodes"
WAYS = {ONE: ("1",), TWO: ("2",), NODES: ("ray", "--ray-address", "{address}")}
"""What follows `--workers`."""
TIMED = "from experiments.many_machines import timed; timed()"
WORK = 0.2
"""Of a step that only computes [s]."""
PROCESSORS = (2, 8, 64, MACHINES * CORES)
"""How many it is worked out for."""
TIMES = (1, 10)
"""How many times the steps of the suite: `v2` has ten times the traces of `v2-lite`."""

Phases = Sequence[Sequence[float]]
"""Seconds of the steps that may be done at once, phase after phase."""


@dataclass(frozen=True)
class Paper:
    """How long so many processors would take, worked out."""

    processors: int
    times: int
    """as many steps of each phase as the suite has"""
    seconds: float

    @classmethod
    def of(
        cls, phases: Phases, rest: float, begin: float, overhead: float, processors: int, times: int
    ) -> Paper:
        """The sum of all phases and of what is no step.

        Args:
            phases: of the suite.
            rest: of a run that is no step [s]: it stays as long as it is for each ``times``.
            begin: until workers take the first step [s].
            overhead: of handing out a step [s].
            processors: that do steps.
            times: as many steps.
        """
        spans = [makespan(list(one) * times, processors, overhead) for one in phases]
        return cls(processors, times, begin + rest * times + sum(spans))


def makespan(steps: Sequence[float], processors: int, overhead: float) -> float:
    """How long steps take if each processor takes the next one as soon as it is free [s].

    Args:
        steps: seconds of each, in the order in which they are handed out.
        processors: that do them; at most `WAITING` steps are handed out and not done.
        overhead: of handing out a step; one follows the other [s].
    """
    free = [0.0] * min(processors, WAITING)
    heapq.heapify(free)
    last = 0.0
    for number, seconds in enumerate(steps, 1):
        end = max(heapq.heappop(free), number * overhead) + seconds
        heapq.heappush(free, end)
        last = max(last, end)
    return last


def on_paper(
    phases: Phases, seconds: float, begin: float, overhead: float
) -> tuple[float, list[Paper]]:
    """What is no step of a run of one process [s], and what more processors would take.

    Args:
        phases: of that run.
        seconds: of that run.
        begin: until workers take the first step [s].
        overhead: of handing out a step [s].
    """
    rest = max(0.0, seconds - sum(map(sum, phases)))
    return rest, [
        Paper.of(phases, rest, begin, overhead, processors, times)
        for times in TIMES
        for processors in PROCESSORS
    ]


def timed() -> None:
    """Be the command `failgym`, and write what each step took to the file named first."""
    from failgym.cli import main as command

    file, steps, do = Path(sys.argv.pop(1)), list[tuple[str, float]](), RunTasks.do

    def clocked(run: RunTasks, task: Any) -> Any:
        begun = time.perf_counter()
        try:
            return do(run, task)
        finally:
            steps.append((task[0], time.perf_counter() - begun))

    with patch.object(RunTasks, "do", clocked):
        try:
            command()
        finally:
            file.write_text(json.dumps(steps), "utf-8")


def phases_of(steps: Sequence[tuple[str, float]]) -> list[list[float]]:
    """Seconds of steps, by kind, which come one after the other."""
    found: dict[str, list[float]] = {}
    for kind, seconds in steps:
        found.setdefault(kind, []).append(seconds)
    return list(found.values())


@dataclass(frozen=True)
class Measuring:
    """What is measured, the file that keeps it, and the folder that suites are run in."""

    board: Board
    content: dict[str, Any]
    file: Path

    def keep(self, name: str, value: Any) -> None:
        """Keep something that is finished."""
        self.content[name] = value
        with replacing(self.file) as partial:
            partial.write_text(json.dumps(self.content, indent=1), "utf-8")

    def whole(self, way: str, address: str) -> None:
        """Run the suite and leave it alone, unless that is done."""
        runs: dict[str, Any] = self.content.get("runs", {})
        if way in runs:
            return
        name, load = way.replace(" ", "-"), os.getloadavg()[0]
        workers = [word.replace("{address}", address) for word in WAYS[way]]
        self.board.clear(name)
        times = self.board.folder / "steps.json"
        if way == ONE:
            seconds = self.board.whole(name, *workers, command=(TIMED, str(times)))
            self.keep("steps", json.loads(times.read_text("utf-8")))
        else:
            seconds = self.board.whole(name, *workers)
        found = self.board.content(name)
        wrong = sorted(differences(self.board.content(ONE.replace(" ", "-")), found))
        print_line(f"{way}: {seconds:.1f} s, {', '.join(wrong) or 'the same'}")
        self.keep("runs", {**runs, way: {"seconds": seconds, "load": load, "differences": wrong}})

    def kill(self, kind: str, made: Any, kills: int, seed: int) -> None:
        """Kill something again and again while two nodes run the suite, unless that is done."""
        known: dict[str, Any] = self.content.get("kills", {})
        if kind in known:
            return
        for number in range(kills):
            self.board.clear(f"{kind}-{number}")
        whole = self.board.content(ONE.replace(" ", "-"))
        seconds: float = self.content["runs"][NODES]["seconds"]
        found = killed(self.board, made, kind, whole, seconds, kills, seed)
        self.keep("kills", {**known, kind: asdict(found)})

    def costs(self, steps: int) -> None:
        """Measure what a step costs, unless that is done."""
        if "costs" in self.content:
            return
        load, alone = os.getloadavg()[0], seconds_of(Workers(), COMPUTED, WORK)
        found = [
            cost_of("two processes", Workers(2), steps, WORK, alone),
            ray_cost(steps, WORK, alone),
        ]
        costs = [asdict(one) | {"efficiency": one.efficiency} for one in found]
        self.keep("costs", {"load": load, "steps": steps, "engines": costs})

    def work_out(self) -> None:
        """Work out what more processors would take."""
        engine = self.content["costs"]["engines"][-1]
        rest, papers = on_paper(
            phases_of(self.content["steps"]),
            self.content["runs"][ONE]["seconds"],
            engine["begin"],
            engine["overhead"],
        )
        self.keep("paper", {"rest": rest, "papers": [asdict(one) for one in papers]})


def main(
    json_file: Annotated[Path, typer.Option("--json", help="Written, and read to go on.")],
    suite: Annotated[str, typer.Option(metavar="S", help="Of the leaderboard.")] = "smoke",
    policy: Annotated[list[str] | None, typer.Option(help="Baselines; again for more.")] = None,
    kills: Annotated[int, typer.Option(min=1, help="Of each kind.")] = 5,
    steps: Annotated[int, typer.Option(min=1, help="That do nothing.")] = 300,
    seed: Annotated[int, typer.Option(min=0, help="Of the moments.")] = 0,
    work: Annotated[Path | None, typer.Option(file_okay=False, help="For runs of suites.")] = None,
    warm: Annotated[
        bool, typer.Option("--warm", help="Kernels and worlds are there: no run to make them.")
    ] = False,
) -> None:
    """Run, kill, measure, work out."""
    if find_spec("ray") is None:
        print_line("nothing was measured: Ray is not installed")
        return
    with refusing(ValueError):
        about: dict[str, Any] = {
            "suite": suite,
            "policies": list(policy or POLICIES),
            "kills_of_each": kills,
            "seed": seed,
            "code": code_hash()[:16],
        }
        content = known_in(json_file) or {**about, "host": host()}
        for name, value in about.items():
            if content.get(name) != value:
                raise ValueError(
                    f"--json {json_file}: was measured with other {name}: {content.get(name)}, and"
                    f" now {value}: use the same, or another file"
                )
    folder = work or json_file.with_suffix(".work")
    folder.mkdir(parents=True, exist_ok=True)
    measuring = Measuring(Board(suite, folder, tuple(about["policies"])), content, json_file)
    if not (warm or content.get("warm")):
        measuring.board.clear("first")
        measuring.board.whole("first", "1")
        measuring.keep("warm", True)
    with cluster() as made:
        for way in WAYS:
            measuring.whole(way, made.address)
        for kind in KINDS:
            measuring.kill(kind, made, kills, seed)
    measuring.costs(steps)
    measuring.work_out()
    shutil.rmtree(folder)
    _show(measuring.content)


def _show(content: dict[str, Any]) -> None:
    """Print what was found. Exit with status 1 if anything differs."""
    runs: dict[str, Any] = content["runs"]
    deaths: dict[str, Any] = content["kills"]
    alone = runs[ONE]["seconds"]
    print_table(
        f"Suite {content['suite']}, left alone",
        ("workers", "seconds", "efficiency of two", "load before", "files that differ"),
        [
            (
                *(way, run["seconds"], "-" if way == ONE else alone / 2.0 / run["seconds"]),
                *(run["load"], ", ".join(run["differences"]) or "none"),
            )
            for way, run in runs.items()
        ],
    )
    print_table(
        "on two nodes, killed",
        ("what", "kills", "runs", "seconds", "files that differ"),
        [
            (
                *(kind, one["kills"], one["rounds"], one["seconds"]),
                ", ".join(one["differences"]) or "none",
            )
            for kind, one in deaths.items()
        ],
    )
    print_table(
        "worked out",
        ("processors", "times the steps", "seconds"),
        [(one["processors"], one["times"], one["seconds"]) for one in content["paper"]["papers"]],
    )
    if any(one["differences"] for one in (*runs.values(), *deaths.values())):
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
