"""What do the fields of an environment tell of what comes, and by what do they know it?

    python -m experiments.information --env failgym/Cloning-v1 [--set FIELD=VALUE ...]
        [--real DIR] [--json FILE]

Boosted trees (XGBoost) learn from decisions of the train split, and are judged on those of the test
split: whether the attempt that runs fails, the task finishes, all of its job's tasks do. What is
given is the area under the ROC curve, with the interval of a bootstrap over jobs, by what is known:

all
    every field that can vary in the environment (`failgym.envs.varying_fields`)
without the forecast
    those that would be there with no forecast, less what grace periods go by
the forecast
    its risk, its change, the largest before, and the confidences of task and job

and, with ``--real DIR``, "without the forecast" on a stored record with the same settings. If its
test split has fewer than `FEW_JOBS` jobs, both splits are put together, and each fifth of the jobs
is judged by what was learned from the others. A generated trace that tells more than the record, or
a forecast that tells more than all that is known there, by more than `MARGIN`, is marked: who reads
it knows more than anybody could, unless the forecast's stated quality says so.

With ``--groups`` each group of fields (`failgym.envs.FIELDS`) is judged alone, too, here and on the
record: it shows where knowledge comes from.

Decisions are met under CONTINUE ("as recorded"), and under a random policy that departs from a task
a few times and then leaves it alone ("departed"). At most `TASKS_OF_JOB` tasks of a job are played.
FILE keeps the results of all environments that were measured into it, by what they are called.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import numpy as np
import numpy.typing as npt
import typer

from experiments.visits import (
    Continuing,
    Departing,
    Player,
    Visits,
    chosen_tasks,
    single_tasks,
    visits,
)
from failgym.cli.output import Cell, JsonFile, print_line, print_table
from failgym.cli.values import assignments, read_value
from failgym.comparison.resampling import NOTHING, area
from failgym.envs import FIELDS, Scenario, resolve, varying_fields
from failgym.predictors.boosting.boosters import booster_risk, train_booster
from failgym.worlds.split import Split

__all__ = ["KNOWN", "MARGIN", "TARGETS", "Row", "fields_known", "measured", "rows_in"]

Floats32 = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

MARGIN = 0.05
"""Area by which something may tell more than its counterpart."""
TARGETS = {
    "attempt_fails": "this attempt fails",
    "task_finishes": "the task finishes",
    "job_finishes": "the job finishes",
}
ALL, WITHOUT, ALONE = KNOWN = ("all", "without the forecast", "the forecast")
GROUPS = ("request", "usage", "history", "progress", "system")
"""Groups of fields that are judged alone."""
FROM_CONFIDENCES = frozenset({"grace", "age_over_grace"})
"""Grace periods follow the confidences of a forecast."""
SAYS = (*(field.name for field in FIELDS if field.group == "forecast"), "flagged_before")
OF_WORK = "risk_over_cost"
"""A field of the forecast that knows how much work is unsaved, too."""
PLAYED = ("as recorded", "departed")
HERE, REAL = "here", "record"
TASKS_OF_JOB = 10
TREES: dict[str, Any] = {"trees": 150, "depth": 4, "rate": 0.1, "least_weight": 5.0, "seed": 0}
LEAST = 20
"""Decisions of either kind without which nothing is learned or judged."""
FEW_JOBS, FOLDS = 200, 5


@dataclass(frozen=True)
class Row:
    """How well a target is told."""

    where: str
    """`HERE`, or `REAL`: on the stored record"""
    played: str
    target: str
    known: str
    fields: int
    decisions: int
    """of the test split"""
    jobs: int
    share: float
    """of them of which the target holds"""
    area: float
    low: float
    high: float

    @property
    def text(self) -> str:
        """Area and interval."""
        if np.isnan(self.area):
            return "-"
        return f"{self.area:.2f} [{self.low:.2f}, {self.high:.2f}]"


def fields_known(scenario: Scenario) -> dict[str, tuple[str, ...]]:
    """The names of the fields of each of `KNOWN`, and of each of `GROUPS` without the forecast;
    none where there are none.
    """
    shown = varying_fields(scenario)
    plain = varying_fields(scenario.override(forecast="none"))
    without = [name for name in shown if name in plain and name not in FROM_CONFIDENCES]
    alone = [name for name in shown if name in SAYS and name != OF_WORK]
    group = {field.name: field.group for field in FIELDS}
    parts = {one: tuple(name for name in without if group[name] == one) for one in GROUPS}
    return {ALL: shown, WITHOUT: tuple(without), ALONE: tuple(alone), **parts}


def measured(scenario: Scenario, where: str, most: int, known: Sequence[str]) -> Iterator[Row]:
    """How well each target is told, by how tasks are played and by what is known.

    Args:
        scenario: of the pinned world; its split is not looked at.
        where: `HERE` or `REAL`.
        most: tasks that are played of each split.
        known: of `KNOWN` and `GROUPS`.
    """
    names, fields = varying_fields(scenario), fields_known(scenario)
    for played in PLAYED:
        train, test = (_met(scenario, split, most, names, played) for split in ("train", "test"))
        if where == REAL and len(np.unique(test.job)) < FEW_JOBS:
            train = test = train.beside(test)
        for target in TARGETS:
            for one in known:
                columns = [names.index(name) for name in fields[one]]
                yield _row(where, played, target, one, columns, train, test)


def _met(scenario: Scenario, split: Split, most: int, names: Sequence[str], played: str) -> Visits:
    """Decisions of a split."""
    given = single_tasks(scenario, split)
    slices = chosen_tasks(given, most, TASKS_OF_JOB, seed=0)
    player: Player = Continuing() if played == PLAYED[0] else Departing(len(slices), seed=1)
    return visits(given, slices, names, player)


def _row(
    where: str,
    played: str,
    target: str,
    known: str,
    columns: list[int],
    train: Visits,
    test: Visits,
) -> Row:
    """What is learned of a target from some columns, judged on the test split."""
    (learned, truth), (judged, label) = (_labelled(one, target) for one in (train, test))
    found = NOTHING
    if columns and min(_rarer(truth), _rarer(label)) >= LEAST:
        seen, new = learned.seen[:, columns], judged.seen[:, columns]
        together = train is test
        score = _in_folds(seen, truth, judged.job) if together else _told(seen, truth, new)
        _, block = np.unique(judged.unit, return_inverse=True)
        found = area(label, score, np.ones(len(label)), block)
    share = float(label.mean()) if len(label) else np.nan
    jobs = len(np.unique(judged.job))
    return Row(where, played, target, known, len(columns), len(label), jobs, share, *found)


def _labelled(found: Visits, target: str) -> tuple[Visits, Bools]:
    """The decisions of which a target is known, and whether it holds."""
    value = getattr(found, target)
    asked = ~np.isnan(value)
    if target == "attempt_fails":
        asked &= found.window
    return found.of(asked), value[asked] > 0.0


def _rarer(label: Bools) -> int:
    """Of how many decisions the rarer answer is right."""
    return min(int(label.sum()), int((~label).sum()))


def _told(seen: Floats32, truth: Bools, new: Floats32) -> Floats:
    """What boosted trees say of new decisions."""
    trees = train_booster(seen, truth, np.ones(len(seen), dtype=np.float32), **TREES)
    return booster_risk(trees, np.ascontiguousarray(new)).astype(np.float64)


def _in_folds(seen: Floats32, truth: Bools, job: Ints) -> Floats:
    """What they say of each decision that learned from other jobs, as a rank in its fold.

    Folds differ in how often a target holds, and what is learned without one the more so.
    """
    _, place = np.unique(job, return_inverse=True)
    fold = np.random.default_rng(0).permutation(int(place.max()) + 1)[place] % FOLDS
    score = np.zeros(len(truth))
    for number in range(FOLDS):
        here = fold == number
        said = _told(seen[~here], truth[~here], seen[here])
        _, rank, count = np.unique(said, return_inverse=True, return_counts=True)
        score[here] = ((np.cumsum(count) - 0.5 * count) / max(len(said), 1))[rank]
    return score


def exceeding(rows: Sequence[Row]) -> list[Row]:
    """The rows here that tell more than the record does without a forecast, by `MARGIN`."""
    said = {
        (row.played, row.target): row.area
        for row in rows
        if (row.where, row.known) == (REAL, WITHOUT)
    }
    return [
        row
        for row in rows
        if (row.where, row.known in KNOWN) == (HERE, True)
        and row.area - said.get((row.played, row.target), np.inf) > MARGIN
    ]


def scenario_of(env: str, said: dict[str, str]) -> Scenario:
    """An environment with fields that are given as text."""
    known = get_type_hints(Scenario)
    for name in said:
        if name not in known:
            raise SystemExit(f"--set: {name}: unknown field of a scenario")
    return resolve(env, {name: read_value(name, text, known[name]) for name, text in said.items()})


def called(env: str, said: dict[str, str]) -> str:
    """What an environment with some fields changed is called."""
    return " ".join([env, *(f"{name}={text}" for name, text in said.items())])


def stored(file: JsonFile, name: str, content: Any) -> None:
    """Keep a result in a file beside those of other names."""
    if file.path is None:
        return
    known: dict[str, Any] = {}
    if file.path.exists() and file.path.stat().st_size:
        known = json.loads(file.path.read_text("utf-8"))
    file.write({**known, name: content})


def read(content: dict[str, Any]) -> dict[str, Any]:
    """What was written, with NaN where JSON has none."""
    return {name: np.nan if value is None else value for name, value in content.items()}


def rows_in(content: Sequence[dict[str, Any]]) -> list[Row]:
    """The rows of an environment that `main` kept."""
    return [Row(**read(one)) for one in content]


def cells_of(rows: Sequence[Row]) -> list[list[str]]:
    """The lines of a table: by target, how it was played and what is known; what is marked ends
    with a `!`.
    """
    marked = exceeding(rows)
    lines: list[list[str]] = []
    for target, words in TARGETS.items():
        for played in dict.fromkeys(row.played for row in rows):
            these = [row for row in rows if (row.target, row.played) == (target, played)]
            by = {(row.where, row.known): row for row in these}
            here = [by[HERE, known] for known in KNOWN]
            cells = [f"{one.text}{' !' if one in marked else ''}" for one in here]
            real = by.get((REAL, WITHOUT))
            cells.append(f"{real.text}, {real.jobs:,} jobs" if real else "-")
            lines.append([words, played, f"{here[0].decisions:,}", f"{here[0].jobs:,}", *cells])
    return lines


def groups_of(rows: Sequence[Row]) -> list[list[str]]:
    """The lines of a table of single groups of fields: areas here, and on the record."""
    by = {(row.target, row.played, row.known, row.where): row for row in rows}
    lines: list[list[str]] = []
    for target, words in TARGETS.items():
        for played in dict.fromkeys(row.played for row in rows):
            pairs = [
                [by.get((target, played, group, where)) for where in (HERE, REAL)]
                for group in GROUPS
            ]
            if any(one for pair in pairs for one in pair):
                cells = [" / ".join(_short(one) for one in pair) for pair in pairs]
                lines.append([words, played, *cells])
    return lines


def _short(row: Row | None) -> str:
    """An area without its interval."""
    return "-" if row is None or np.isnan(row.area) else f"{row.area:.2f}"


GROUP_COLUMNS = ("target", "played", *(f"{group} alone" for group in GROUPS))
COLUMNS = ("target", "played", "decisions", "jobs", *KNOWN, "the record without a forecast")


def main(
    env: Annotated[str, typer.Option(help="id of an environment")] = "failgym/Cloning-v1",
    set_: Annotated[list[str] | None, typer.Option("--set", metavar="FIELD=VALUE")] = None,
    real: Annotated[
        Path | None, typer.Option(metavar="DIR", exists=True, help="a stored record")
    ] = None,
    most: Annotated[int, typer.Option(min=1, help="tasks played of each split")] = 20_000,
    groups: Annotated[bool, typer.Option("--groups", help="judge groups of fields, too")] = False,
    json_: Annotated[Path | None, typer.Option("--json", dir_okay=False)] = None,
) -> None:
    """Print what an environment's fields tell of attempts, tasks and jobs."""
    file, said = JsonFile.at(json_), assignments(set_ or [], "--set")
    scenario = scenario_of(env, said)
    single = GROUPS if groups else ()
    rows = list(measured(scenario, HERE, most, (*KNOWN, *single)))
    if real is not None:
        record = scenario.override(trace=str(real), forecast="none")
        rows += measured(record, REAL, most, (WITHOUT, *single))
    name = called(env, said)
    stored(file, name, [asdict(row) for row in rows])
    lines: list[tuple[Cell, ...]] = [tuple(line) for line in cells_of(rows)]
    print_table(name, COLUMNS, lines)
    if groups:
        apart: list[tuple[Cell, ...]] = [tuple(line) for line in groups_of(rows)]
        print_table(f"{name}: here / on the record", GROUP_COLUMNS, apart)
    print_line(f"!: tells more than the record without a forecast, by more than {MARGIN}")


if __name__ == "__main__":
    typer.run(main)
