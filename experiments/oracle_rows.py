"""How near to the bound of a suite can somebody come who knows all fates?

    python -m experiments.oracle_rows --suite v2-lite --json FILE
        [--env Mitigation-v1 ...] [--rounds 8] [--plays 16]

In the pinned world tasks do not touch each other: the clairvoyant's plan costs what the bound does,
and the oracle's score is 100. In the scheduled world the bound may be out of reach, and nobody
knows by how much. There the oracle (`failgym.evaluation.oracle`) searches for a cheap episode of
each slice that the suite plays; it knows all fates and forecasts nothing. Its score is what is
possible at least. A policy above it was better than that search.

FILE holds the costs by environment, trace and slice. A command that was stopped goes on, episode by
episode: what the oracle found is kept beside compiled worlds.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from experiments.measured_worlds import world_of
from failgym.cli.output import interactive, print_line, print_table
from failgym.evaluation import score
from failgym.evaluation.anchors import Anchors
from failgym.evaluation.oracle import Effort
from failgym.evaluation.progress import progress_bar
from failgym.evaluation.scoring import Score
from failgym.files import replacing
from failgym.known_names import check_known
from failgym.leaderboard import SuiteWorlds, suite_named
from failgym.leaderboard.suite.suites import Cell, Course

__all__ = ["oracle_score", "searched", "searched_courses"]


def searched_courses(worlds: SuiteWorlds) -> list[Course]:
    """The courses of a suite in which nobody knows how near the bound one can come."""
    return [course for course in worlds.suite.courses if course.scenario().world == "scheduled"]


def searched(worlds: SuiteWorlds, cell: Cell, effort: Effort) -> dict[str, Any]:
    """What replay, the bound and the oracle cost on the slices of a cell.

    Raises:
        ValueError: if the suite plays others there.
    """
    begun = time.process_time()
    slices = worlds.reference(cell).slices
    anchors = Anchors.of(
        worlds.scenario(cell), episodes=worlds.suite.course(cell.env).slices, seed=cell.seed
    )
    if not np.array_equal(anchors.replay.slices, slices):
        raise ValueError(f"{cell}: expected slices {slices}, got {anchors.replay.slices}")
    with progress_bar(f"{cell.env}, trace {cell.seed}", len(slices), interactive()) as advance:
        run = anchors.oracle(effort=effort, progress=advance)
    return {
        "seed": cell.seed,
        "slices": slices.tolist(),
        "replay": anchors.replay.costs.sum(axis=1).tolist(),
        "bound": anchors.bound.sum(axis=1).tolist(),
        "oracle": run.costs.sum(axis=1).tolist(),
        "spent": anchors.spent.tolist(),
        "seconds": time.process_time() - begun,
    }


def oracle_score(found: Mapping[str, Any]) -> Score:
    """The oracle's score over traces and slices, with its 95 % interval.

    Args:
        found: of an environment, with what `searched` returned of each trace.
    """
    of_traces = found["traces"]
    replay, oracle, bound, spent = (
        np.concatenate([np.array(one[name]) for one in of_traces])
        for name in ("replay", "oracle", "bound", "spent")
    )
    traces = np.repeat(np.arange(len(of_traces)), [len(one["replay"]) for one in of_traces])
    return score(replay, oracle, bound, spent=spent, traces=traces)


def main(
    json_: Annotated[Path, typer.Option("--json", dir_okay=False)],
    suite: Annotated[str, typer.Option(help="name of a suite")] = "v2-lite",
    env: Annotated[list[str] | None, typer.Option(help="only of this one")] = None,
    rounds: Annotated[int, typer.Option(min=1, help="of local search")] = Effort.rounds,
    plays: Annotated[int, typer.Option(min=1, help="in each round")] = Effort.plays,
) -> None:
    """Search for cheap episodes of the slices of a suite, and print the oracle's scores."""
    try:
        worlds = SuiteWorlds.of(suite_named(suite))
        courses = searched_courses(worlds)
        for name in env or []:
            check_known("environment", name, [course.env for course in courses])
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    asked = {"suite": suite, "rounds": rounds, "plays": plays}
    known: dict[str, Any] = json.loads(json_.read_text("utf-8")) if json_.exists() else {}
    for course in courses:
        if env and course.env not in env:
            continue
        begun = asked | {"world": world_of(course.env), "forecast": course.forecasts[0]}
        found: dict[str, Any] = known.get(course.env, {})
        if {name: found.get(name) for name in begun} != begun:
            found = begun | {"traces": []}
        there = {one["seed"] for one in found["traces"]}
        for seed in course.seeds:
            if seed in there:
                continue
            cell = Cell(course.env, course.forecasts[0], seed)
            found["traces"].append(searched(worlds, cell, Effort(rounds=rounds, plays=plays)))
            known[course.env] = found
            with replacing(json_) as path:
                path.write_text(json.dumps(known, indent=1), "utf-8")
            print_line(f"{course.env}, trace {seed}: {found['traces'][-1]['seconds']:.0f} s")
    rows = [(name, len(one["traces"]), _text(oracle_score(one))) for name, one in known.items()]
    print_table(f"the oracle in suite {suite}", ("environment", "traces", "score"), rows)


def _text(found: Score) -> str:
    return (
        "-" if np.isnan(found.value) else f"{found.value:.1f} [{found.low:.1f}, {found.high:.1f}]"
    )


if __name__ == "__main__":
    typer.run(main)
