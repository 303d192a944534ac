"""What do policies do to the slice and to the job that fare worst under them?

    python -m experiments.worst_cases [--env ID ...] [--traces 8] [--first 5000]
        [--set FIELD=VALUE ...] [--agents DIR] --json FILE

The mean hides it: one job can pay for what all others gain. Every agent of ``agents/zoo/``, every
rule that fits, as published and as tuned, and the best random rule play the test splits of traces
of seeds that nothing was trained, tuned or chosen on. Of each it is counted

* what the worst slice and the worst job save, in points: a hundredth of all that can be gained on
  all slices together. So many points of the score that slice, or job, alone takes away;
* how many of a hundred jobs cost more than under replay;
* what the worst trace scores;
* false kills (tasks that the record finishes and the policy killed), of a thousand tasks, and the
  most in a single job.

Jobs are told apart where each task has a cost of its own: in the pinned world.

FILE holds what was found in each environment; those that are there are not measured again.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer

from experiments.agents_and_rules import UNSEEN, ZOO, agents_of, algorithms_of, rules
from experiments.measured_worlds import world_of
from failgym.baselines import REGISTRY
from failgym.cli.options import override
from failgym.cli.output import interactive, print_table
from failgym.envs import SCENARIOS, resolve
from failgym.evaluation import Anchors
from failgym.evaluation.progress import progress_bar
from failgym.evaluation.scoring import HIGHEST
from failgym.files import replacing
from failgym.metrics.tasks import falsely_killed
from failgym.policy import Policy

__all__ = ["REPLAY", "Worst", "worst_of"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

REPLAY = "replay"


@dataclass(frozen=True)
class Worst:
    """What became of the slice, the job and the trace that fare worst under a policy."""

    policy: str
    agent: bool
    score: float
    slice: float
    """points that the worst slice saves"""
    job: float | None
    """points that the worst job saves; None where tasks share machines"""
    losing: float | None
    """jobs of a hundred that cost more than under replay"""
    trace: float
    """score of the worst trace"""
    false_kills: float
    """of a thousand tasks"""
    in_a_job: int | None
    """the most false kills in one job"""


@dataclass(frozen=True)
class _Found:
    """What a policy saves on a trace over replay, and which tasks it killed falsely."""

    slices: Floats
    jobs: Floats
    kills: Ints
    """[jobs], or [1] for all where jobs are not told apart"""
    tasks: int
    possible: float


def worst_of(name: str, policy: Policy, traces: Sequence[Anchors], *, agent: bool = False) -> Worst:
    """The worst slice, job and trace of a policy.

    Args:
        name: of the policy.
        policy: plays the slices of each trace.
        traces: what replay and the bound cost there. All of one world; something can be gained.
        agent: was it trained?
    """
    found = [_found(policy, anchors) for anchors in traces]
    point = sum(each.possible for each in found) / HIGHEST
    slices = np.concatenate([each.slices for each in found])
    jobs = np.concatenate([each.jobs for each in found])
    kills = np.concatenate([each.kills for each in found])
    by_job = all(anchors.evidence.by_task for anchors in traces)
    return Worst(
        policy=name,
        agent=agent,
        score=float(slices.sum() / point),
        slice=float(slices.min() / point),
        job=float(jobs.min() / point) if by_job else None,
        losing=float(100.0 * np.mean(jobs < -LEAST * point)) if by_job else None,
        trace=min(float(HIGHEST * one.slices.sum() / one.possible) for one in found),
        false_kills=float(1000.0 * kills.sum() / sum(one.tasks for one in found)),
        in_a_job=int(kills.max()) if by_job else None,
    )


LEAST = 1e-9
"""Points of all: a loss below that is rounding."""


def _found(policy: Policy, anchors: Anchors) -> _Found:
    evidence, run = anchors.evidence, anchors.run(policy)
    saved, killed = evidence.replay - evidence.costs(run), falsely_killed(run.outcomes)
    possible, tasks = float(evidence.possible.sum()), len(killed)
    if not evidence.by_task:
        return _Found(saved, np.zeros(0), np.array([killed.sum()]), tasks, possible)
    sizes = anchors.world.own_sizes[anchors.replay.slices]
    of_row, job = np.repeat(np.arange(len(sizes)), sizes), evidence.units.member
    return _Found(
        np.bincount(of_row, saved, len(sizes)).astype(np.float64),
        np.bincount(job, saved).astype(np.float64),
        np.bincount(job, killed).astype(np.int64),
        tasks,
        possible,
    )


def main(
    json_file: Annotated[Path, typer.Option("--json", help="Written, and read to go on.")],
    env: Annotated[
        list[str] | None, typer.Option("--env", metavar="ID", help="Repeatable; all by default.")
    ] = None,
    traces: Annotated[int, typer.Option(min=1, help="Traces that nobody has seen.")] = 8,
    first: Annotated[int, typer.Option(min=0, help="Seed of the first of them.")] = UNSEEN,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="FIELD=VALUE", help="As for evaluate.")
    ] = None,
    agents: Annotated[Path, typer.Option(help="Folder of policy files, by environment.")] = ZOO,
) -> None:
    """Print and keep the worst of every policy."""
    content: dict[str, Any] = json.loads(json_file.read_text()) if json_file.is_file() else {}
    for scenario in [resolve(name) for name in env] if env else SCENARIOS.values():
        asked = {"traces": traces, "first": first, "set": settings or []}
        known = content.get(scenario.name, {})
        if known.get("asked") != asked or known.get("world") != world_of(scenario.name):
            judged = override(scenario, settings)
            unseen = [
                Anchors.of(judged.override(trace_seed=first + i), split="test")
                for i in range(traces)
            ]
            trained: dict[str, Policy] = {}
            for algorithm in algorithms_of(scenario, agents):
                trained |= agents_of(scenario, agents, algorithm)
            policies = trained | {REPLAY: REGISTRY[REPLAY]()} | rules(judged)
            with progress_bar(scenario.name, len(policies), interactive()) as advance:
                rows = list[Worst]()
                for name, policy in policies.items():
                    rows.append(worst_of(name, policy, unseen, agent=name in trained))
                    advance(1)
            rows.sort(key=lambda row: -row.score)
            about = {"world": world_of(scenario.name), "asked": asked}
            content[scenario.name] = about | {"rows": [asdict(row) for row in rows]}
            with replacing(json_file) as partial:
                partial.write_text(json.dumps(content, indent=1), "utf-8")
        show(scenario.name, [Worst(**row) for row in content[scenario.name]["rows"]])


def show(env: str, rows: Sequence[Worst]) -> None:
    """Print the table of an environment."""
    columns = ("policy", "score", "worst slice", "worst job", "losing jobs", "worst trace")
    print_table(
        env,
        (*columns, "false kills", "in a job"),
        [
            (
                *(row.policy, f"{row.score:.1f}", f"{row.slice:.2f}", _number(row.job, 2)),
                *(_number(row.losing, 1), f"{row.trace:.1f}", f"{row.false_kills:.2f}"),
                "-" if row.in_a_job is None else str(row.in_a_job),
            )
            for row in rows
        ],
    )


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


if __name__ == "__main__":
    typer.run(main)
