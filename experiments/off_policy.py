"""Off-policy estimates beside exact values.

    python -m experiments.off_policy [--env ID ...] [--sets 5] [--episodes 1000] [--data DIR]
                                     [--json FILE]

In two environments the heuristic of the paper, with a fifth of its actions drawn at random, records
data sets of a thousand tasks each (`failgym.contrib.minari`). From these alone every estimator of
`failgym.contrib.off_policy` says what other policies are worth, and is held against what they are
worth on these very tasks: the engine tells that exactly. The error is the root of the mean square
over data sets, in the unit of rewards. Beside it stands the error of whoever takes the mean return
of the data set for the answer.

Data sets lie in DIR, in Minari's own format: what is recorded is not recorded again, and what is
estimated stands in FILE and is not estimated again, so that the same command goes on after a kill.
It needs Minari and XGBoost: run it in the environment ``build/clients`` of ``make clients``.
"""

# Minari annotates what it returns incompletely.
# pyright: reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from experiments.measured_worlds import world_of
from failgym.baselines import REGISTRY
from failgym.cli.output import Cell, JsonFile, interactive, print_line, print_table
from failgym.contrib.minari import decisions_of, exact_value, record
from failgym.contrib.off_policy import ESTIMATORS
from failgym.envs import resolve
from failgym.evaluation.progress import progress_bar

OTHERWISE = 0.2
"""Chance that an action is drawn. Chosen: with less, other policies are hardly ever followed."""
FIELDS: dict[str, Any] = {"slice_tasks": 1, "jobs": 20_000}
"""Of the environments: an episode is a task."""
APART = 1_000_000
"""Between the seeds of two data sets."""


@dataclass(frozen=True)
class Question:
    """Who recorded, and who is to be evaluated."""

    behaviour: str
    targets: tuple[str, ...]


QUESTIONS = {
    "Cloning-v1": Question("algorithm_1", ("algorithm_1", "retry_cap", "reroll", "replay")),
    "GracePeriod-v1": Question(
        "grace_period", ("grace_period", "immediate_kill", "optimal_stopping", "replay")
    ),
}


@dataclass(frozen=True)
class Row:
    """What one data set says of one policy."""

    env: str
    world: str
    """digest of the environment (`experiments.measured_worlds`)"""
    behaviour: str
    target: str
    number: int
    """of the data set"""
    episodes: int
    decisions: int
    exact: float
    """mean return of the target over all tasks of the environment"""
    truth: float
    """over the tasks of the data set"""
    returned: float
    """mean return of the data set"""
    agreement: float
    """share of the decisions in which the target would have done what was done"""
    estimates: dict[str, float | None]
    """by estimator; None where it has no value"""


def key(row: Row) -> tuple[str, str, str, int, int]:
    """What a row is of."""
    return row.env, row.world, row.target, row.number, row.episodes


def done_before(file: Path | None) -> list[Row]:
    """Rows that stand in a file already. Raises ValueError if it holds something else."""
    if file is None or not file.is_file() or not file.stat().st_size:
        return []
    try:
        return [Row(**row) for row in json.loads(file.read_text("utf-8"))]
    except (TypeError, ValueError) as error:
        raise ValueError(f"{file}: expected what this experiment wrote: {error}") from error


def data_set(env: str, question: Question, number: int, episodes: int) -> Any:
    """A recorded data set; one that lies there is loaded."""
    import minari

    name, world = resolve(env).name.lower(), world_of(env)[:8]
    dataset_id = f"failgym/{name.replace('-', '')}-{world}-{episodes}-{number}/off-policy-v0"
    if dataset_id in minari.list_local_datasets():
        return minari.load_dataset(dataset_id)
    with progress_bar(f"{env}, data set {number}", episodes, interactive()) as advance:
        return record(
            dataset_id,
            REGISTRY[question.behaviour](),
            env,
            episodes=episodes,
            otherwise=OTHERWISE,
            targets={target: REGISTRY[target]() for target in question.targets},
            seed=number * APART,
            progress=advance,
            description=f"{question.behaviour}, a fifth of its actions drawn",
            **FIELDS,
        )


def estimated(
    env: str, question: Question, dataset: Any, target: str, number: int, exact: float
) -> Row:
    """What a data set says of a policy, and what is so."""
    decisions = decisions_of(dataset, target)
    found = {name: estimator(decisions) for name, estimator in ESTIMATORS.items()}
    return Row(
        *(resolve(env).name, world_of(env), question.behaviour, target, number),
        *(int(decisions.last.sum()), len(decisions), exact, decisions.truth),
        float(decisions.rewards.sum() / decisions.last.sum()),
        float((decisions.actions == decisions.target).mean()),
        {name: None if math.isnan(value) else value for name, value in found.items()},
    )


def error(rows: list[Row], estimator: str | None) -> float:
    """Root mean square error over data sets; of the mean return for None. NaN if one is missing."""
    found = [row.returned if estimator is None else row.estimates[estimator] for row in rows]
    if any(value is None for value in found):
        return math.nan
    off = np.array(found, dtype=np.float64) - np.array([row.truth for row in rows])
    return float(np.sqrt((off**2).mean()))


def groups(rows: list[Row]) -> dict[tuple[str, str], list[Row]]:
    """Rows by environment and target."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        found.setdefault((row.env, row.target), []).append(row)
    return found


def show(rows: list[Row]) -> None:
    """Print the table."""
    cells: list[tuple[Cell, ...]] = [
        (
            *(env, target, len(some), f"{some[0].exact:.3f}", f"{error(some, None):.3f}"),
            *(f"{error(some, name):.3f}" for name in ESTIMATORS),
        )
        for (env, target), some in groups(rows).items()
    ]
    columns = ("environment", "policy", "data sets", "exact value", "mean return", *ESTIMATORS)
    print_table("Error of off-policy estimates", columns, cells)


def main(
    env: Annotated[
        list[str] | None, typer.Option("--env", metavar="ID", help="Repeatable; both by default.")
    ] = None,
    sets: Annotated[int, typer.Option(min=1, help="Data sets of each.")] = 5,
    episodes: Annotated[int, typer.Option(min=2, help="Of each data set.")] = 1_000,
    data: Annotated[Path, typer.Option(help="Folder of the data sets.")] = Path("off-policy-data"),
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write it there.")] = None,
) -> None:
    """Record, estimate and compare."""
    names = env or [f"failgym/{name}" for name in QUESTIONS]
    for name in names:
        if resolve(name).name not in QUESTIONS:
            raise typer.BadParameter(f"expected one of {', '.join(QUESTIONS)}", param_hint="--env")
    file, rows = JsonFile.at(json_file), done_before(json_file)
    known = {key(row) for row in rows}
    data.mkdir(parents=True, exist_ok=True)
    os.environ["MINARI_DATASETS_PATH"] = str(data.resolve())
    for name in names:
        question, scenario = QUESTIONS[resolve(name).name], resolve(name)
        world = world_of(name)
        exact = {t: exact_value(REGISTRY[t](), name, **FIELDS) for t in question.targets}
        for number in range(sets):
            left = [
                target
                for target in question.targets
                if (scenario.name, world, target, number, episodes) not in known
            ]
            dataset = data_set(name, question, number, episodes) if left else None
            for target in left:
                rows.append(estimated(name, question, dataset, target, number, exact[target]))
                file.write([asdict(row) for row in rows])
                print_line(f"{scenario.name}, data set {number}: {target} is estimated")
    show(rows)


if __name__ == "__main__":
    typer.run(main)
