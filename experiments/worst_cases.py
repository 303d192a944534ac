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

Jobs are told apart where each task has a cost of its own: in the pinned world. A trace on which
there is nothing to gain (`failgym.evaluation.room`) has no score, and is never the worst.

The worst of many is worse than the worst of few. All policies of an environment play the same
slices, so their figures can be compared. Those of two environments cannot: FILE also says how many
traces, slices and jobs each has.

FILE holds what was found in each environment. Those that are there are measured again only if
something was asked otherwise, or a policy or the environment has changed since.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, cast

import numpy as np
import numpy.typing as npt
import typer

from experiments.agents_and_rules import UNSEEN, ZOO, agents_of, algorithms_of, rules
from experiments.measured_worlds import world_of
from experiments.reproduction.command import refusing
from failgym.baselines import REGISTRY, Heuristic
from failgym.baselines.stored import parameters
from failgym.cli.options import override
from failgym.cli.output import interactive, print_table
from failgym.envs import SCENARIOS, Scenario, resolve
from failgym.evaluation import Anchors
from failgym.evaluation.progress import progress_bar
from failgym.evaluation.room import enough_room
from failgym.evaluation.scoring import HIGHEST
from failgym.files import replacing
from failgym.metrics.tasks import falsely_killed
from failgym.policy import Policy
from failgym.worlds.settings.source import generated

__all__ = ["REPLAY", "Worst", "fresh", "worst_of"]

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
    trace: float | None
    """score of the worst trace on which something can be gained"""
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
    scored: bool
    """is there enough to gain for a score?"""


def worst_of(name: str, policy: Policy, traces: Sequence[Anchors], *, agent: bool = False) -> Worst:
    """The worst slice, job and trace of a policy.

    Args:
        name: of the policy.
        policy: plays the slices of each trace.
        traces: what replay and the bound cost there. All of one world.
        agent: was it trained?

    Raises:
        ValueError: if there is nothing to gain on all of them together.
    """
    check_room(traces)
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
        trace=min(
            (float(HIGHEST * one.slices.sum() / one.possible) for one in found if one.scored),
            default=None,
        ),
        false_kills=float(1000.0 * kills.sum() / sum(one.tasks for one in found)),
        in_a_job=int(kills.max()) if by_job else None,
    )


LEAST = 1e-9
"""Points of all: a loss below that is rounding."""


def _found(policy: Policy, anchors: Anchors) -> _Found:
    evidence, run = anchors.evidence, anchors.run(policy)
    saved, killed = evidence.replay - evidence.costs(run), falsely_killed(run.outcomes)
    about = len(killed), float(evidence.possible.sum()), anchors.room.reason is None
    if not evidence.by_task:
        return _Found(saved, np.zeros(0), np.array([killed.sum()]), *about)
    sizes = anchors.world.own_sizes[anchors.replay.slices]
    of_row, job = np.repeat(np.arange(len(sizes)), sizes), evidence.units.member
    return _Found(
        np.bincount(of_row, saved, len(sizes)).astype(np.float64),
        np.bincount(job, saved).astype(np.float64),
        np.bincount(job, killed).astype(np.int64),
        *about,
    )


def check_room(traces: Sequence[Anchors]) -> None:
    """Raise ValueError if there is nothing to gain on all traces together: nothing is scored."""
    rooms = [anchors.room for anchors in traces]
    if not enough_room(sum(room.cost for room in rooms), sum(room.spent for room in rooms)):
        raise ValueError(f"{traces[0].scenario.name}: {rooms[0].reason}")


def counts_of(traces: Sequence[Anchors]) -> dict[str, int | None]:
    """Of how many traces, slices and jobs the worst are the worst; jobs None if not told apart."""
    jobs = [int(one.evidence.units.member.max()) + 1 for one in traces if one.evidence.by_task]
    return {
        "traces": sum(one.room.reason is None for one in traces),
        "slices": sum(len(one.replay.slices) for one in traces),
        "jobs": sum(jobs) if len(jobs) == len(traces) else None,
    }


def fresh(scenario: Scenario, traces: int, first: int) -> list[Scenario]:
    """The scenario on so many traces of seeds of their own.

    Raises:
        ValueError: for a record, of which there is one trace, or a seed that was named already.
    """
    if not generated(scenario.trace):
        raise ValueError(f"--set trace={scenario.trace}: expected a profile: a record is one trace")
    if scenario.trace_seed != resolve(scenario.name).trace_seed:
        raise ValueError("--set trace_seed: expected none: --first says which seeds are played")
    return [scenario.override(trace_seed=first + number) for number in range(traces)]


def players(scenario: Scenario, agents: Path) -> tuple[dict[str, Policy], dict[str, Policy]]:
    """The agents of an environment, and the rules with replay, by name."""
    trained: dict[str, Policy] = {}
    for algorithm in algorithms_of(scenario, agents):
        trained |= agents_of(scenario, agents, algorithm)
    return trained, {REPLAY: REGISTRY[REPLAY]()} | rules(scenario)


def digest_of(scenario: Scenario, agents: Path, others: dict[str, Policy]) -> str:
    """What tells these policies from others: the files of agents, the parameters of rules."""
    files = sorted((agents / scenario.name).glob("*.safetensors"))
    about: dict[str, Any] = {file.name: sha256(file.read_bytes()).hexdigest() for file in files}
    for name, policy in others.items():
        about[name] = parameters(policy) if isinstance(policy, Heuristic) else type(policy).__name__
    return sha256(json.dumps(about, sort_keys=True, default=str).encode()).hexdigest()[:16]


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
    with refusing(ValueError):
        content = known_in(json_file)
        for scenario in [resolve(name) for name in env] if env else SCENARIOS.values():
            asked = {"traces": traces, "first": first, "set": settings or []}
            content[scenario.name] = _measured(
                override(scenario, settings), agents, asked, content.get(scenario.name, {})
            )
            with replacing(json_file) as partial:
                partial.write_text(json.dumps(content, indent=1), "utf-8")
            show(scenario.name, [Worst(**row) for row in content[scenario.name]["rows"]])


def known_in(file: Path) -> dict[str, Any]:
    """What a file holds that an earlier command wrote; nothing if there is none.

    Raises:
        ValueError: naming the file, if it holds something else.
    """
    if not file.is_file():
        return {}
    try:
        found: Any = json.loads(file.read_text("utf-8"))
    except ValueError as error:
        raise ValueError(f"--json {file}: expected JSON, or no file") from error
    if not isinstance(found, dict):
        raise ValueError(f"--json {file}: expected results by environment")
    return cast(dict[str, Any], found)


def _measured(
    scenario: Scenario, agents: Path, asked: dict[str, Any], known: dict[str, Any]
) -> dict[str, Any]:
    """What is found in an environment, or is known of the very same. Raises ValueError."""
    unseen = fresh(scenario, asked["traces"], asked["first"])
    trained, others = players(scenario, agents)
    about = {
        "world": world_of(scenario.name),
        "asked": asked,
        "policies": digest_of(scenario, agents, others),
    }
    if "rows" in known and {name: known.get(name) for name in about} == about:
        return known
    places = [Anchors.of(one, split="test") for one in unseen]
    check_room(places)
    policies = trained | others
    rows = list[Worst]()
    with progress_bar(scenario.name, len(policies), interactive(), lines=True) as advance:
        for name, policy in policies.items():
            rows.append(worst_of(name, policy, places, agent=name in trained))
            advance(1)
    rows.sort(key=lambda row: -row.score)
    return about | {"of": counts_of(places), "rows": [asdict(row) for row in rows]}


def show(env: str, rows: Sequence[Worst]) -> None:
    """Print the table of an environment."""
    columns = ("policy", "score", "worst slice", "worst job", "losing jobs", "worst trace")
    print_table(
        env,
        (*columns, "false kills", "in a job"),
        [
            (
                *(row.policy, f"{row.score:.1f}", f"{row.slice:.2f}", _number(row.job, 2)),
                *(_number(row.losing, 1), _number(row.trace, 1), f"{row.false_kills:.2f}"),
                "-" if row.in_a_job is None else str(row.in_a_job),
            )
            for row in rows
        ],
    )


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


if __name__ == "__main__":
    typer.run(main)
