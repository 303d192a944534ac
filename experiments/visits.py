"""What is seen in an environment of the pinned world, and what became of it.

`experiments.information` and `experiments.alarm_ages` judge by it what a state tells. Tasks are
played one by one; each decision is written down with the fate that its attempt, its task and its
job met in the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from failgym.envs import FIELDS, Scenario
from failgym.evaluation.statistics.sampling_units import of_jobs
from failgym.traces import Outcome, Trace
from failgym.worlds.batches import lanes_that_fit, make_batch
from failgym.worlds.build import build_world, split_of
from failgym.worlds.settings.source import jobs_apart
from failgym.worlds.split import Split

__all__ = ["Continuing", "Departing", "Player", "Visits", "chosen_tasks", "single_tasks", "visits"]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Floats32 = npt.NDArray[np.float32]

INDEX = {field.name: at for at, field in enumerate(FIELDS)}
LANES = 1_024
"""Tasks that are played side by side."""
LONGEST_PRELUDE = 3.0
"""Binary logarithm of the most decisions that a task is departed from in."""
DEPARTURES = 2.0
"""Departures of a task, on average, if it is asked often enough."""
SPACING = 1.2
"""Of the decisions of a task that are written down: each so many times as late as the last."""


class Player(Protocol):
    """Answers decisions, and says which are written down."""

    def __call__(
        self, obs: Floats32, mask: Bools, episode: Ints, decision: Ints
    ) -> tuple[Ints, Bools]:
        """Actions, and whether each decision is written down, [n] both.

        Args:
            obs: [n, FIELDS] observations.
            mask: [n, 5] legal actions.
            episode: [n] the task, by its place among those that are played.
            decision: [n] how many of its decisions came before.
        """
        ...


@dataclass(frozen=True)
class Visits:
    """Decisions, [n] each, as they came."""

    seen: Floats32
    """[n, fields] what was observed, by the names that were asked for"""
    window: Bools
    """is it about an attempt that runs?"""
    task: Ints
    """row of the split's trace"""
    job: Ints
    unit: Ints
    """the job, or block of jobs, that is resampled whole"""
    number: Ints
    """of the attempt within its task, as recorded rows count"""
    before: Ints
    """attempts of the task that started before it"""
    drawn: Bools
    """is the attempt beyond the record?"""
    age: Ints
    """of the attempt [ms]"""
    life: Ints
    """how long it lasted in the end [ms]"""
    ended: Ints
    """`Outcome` of the attempt"""
    attempt_fails: Floats
    """1 or 0; NaN where the end of the data hides it"""
    task_finishes: Floats
    job_finishes: Floats
    """does this task finish, and did all others of the job in the record?"""

    def of(self, rows: Bools | Ints) -> Visits:
        """Some of them."""
        return Visits(**{name: values[rows] for name, values in vars(self).items()})

    def beside(self, other: Visits) -> Visits:
        """These and those of another split, whose jobs are other ones."""
        mine, theirs = dict(vars(self)), dict(vars(other))
        for name in ("task", "job", "unit"):
            theirs[name] = theirs[name] + int(mine[name].max(initial=-1)) + 1
        return Visits(**{name: np.concatenate([mine[name], theirs[name]]) for name in mine})


class Continuing:
    """CONTINUE at every decision; the first decisions of a task are written down, then ever fewer.

    Which are does not depend on what comes later.
    """

    def __call__(
        self, obs: Floats32, mask: Bools, episode: Ints, decision: Ints
    ) -> tuple[Ints, Bools]:
        """See `Player`."""
        return np.zeros(len(episode), dtype=np.int64), spaced(decision)


class Departing:
    """Random legal actions at some of a task's first decisions, CONTINUE from then on.

    How many decisions are the first is drawn beforehand, 1 to 8, alike in their logarithm, and
    about `DEPARTURES` are answered at random. Only decisions that come later are written down: what
    follows them is what CONTINUE makes of them.
    """

    def __init__(self, episodes: int, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._until = np.exp2(self._rng.random(episodes) * LONGEST_PRELUDE).astype(np.int64)

    def __call__(
        self, obs: Floats32, mask: Bools, episode: Ints, decision: Ints
    ) -> tuple[Ints, Bools]:
        """See `Player`."""
        until = self._until[episode]
        later = decision >= until
        departs = ~later & (self._rng.random(len(episode)) * until < DEPARTURES)
        chances = self._rng.random(mask.shape) * mask
        return np.where(departs, chances.argmax(axis=1), 0), later & spaced(decision - until)


def spaced(number: Ints) -> Bools:
    """Is a number written down? All small ones are, of large ones one in so many."""
    exponent = np.log(np.maximum(number, 1) + 0.5) / np.log(SPACING)
    before = np.log(np.maximum(number - 1, 1) + 0.5) / np.log(SPACING)
    return (number <= 1) | (np.floor(exponent) > np.floor(before))


def single_tasks(scenario: Scenario, split: Split) -> Scenario:
    """A split of a scenario, task by task. Raises ValueError for a world that is not pinned."""
    if scenario.world != "pinned":
        raise ValueError(f"{scenario.name}: expected the pinned world, where tasks stand alone")
    return replace(scenario, split=split, slice_tasks=1, order="task")


def chosen_tasks(scenario: Scenario, most: int, of_job: int, seed: int) -> Ints:
    """Slices of random jobs, at most so many tasks of each, and at most so many in all.

    Args:
        scenario: of `single_tasks`.
        most: tasks.
        of_job: tasks of one job: large ones would outvote all others.
        seed: of the choice.
    """
    world, rng = build_world(scenario), np.random.default_rng(seed)
    job = split_of(scenario, scenario.split).column("tasks", "job")[world.own_tasks]
    mixed = rng.permutation(len(job))
    ordered = mixed[np.argsort(job[mixed], kind="stable")]
    first = np.searchsorted(job[ordered], job[ordered])
    kept = ordered[np.arange(len(ordered)) - first < of_job]
    turn = rng.permutation(int(job.max(initial=0)) + 1)[job[kept]]
    return np.sort(kept[np.argsort(turn, kind="stable")][:most]).astype(np.int64)


def visits(scenario: Scenario, slices: Ints, names: Sequence[str], player: Player) -> Visits:
    """Play tasks to their ends.

    Args:
        scenario: of `single_tasks`.
        slices: [episodes] the tasks.
        names: of the fields that are kept.
        player: answers.
    """
    world, columns = build_world(scenario), [INDEX[name] for name in names]
    lanes = lanes_that_fit(world, scenario, min(LANES, len(slices)))
    batch = make_batch(world, scenario, lanes, "task", 1)
    parts = [
        _part(batch, slices[first : first + lanes], first, columns, player)
        for first in range(0, len(slices), lanes)
    ]
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return _judged(scenario, joined)


def _part(batch: Any, slices: Ints, first: int, columns: list[int], player: Player) -> Any:
    """Decisions of tasks that are played side by side."""
    chosen = np.full(len(batch), -2, dtype=np.int64)
    chosen[: len(slices)] = slices
    out, begun = batch.reset(chosen), len(slices)
    decision, seen = np.zeros(begun, dtype=np.int64), list[Any]()
    while True:
        episodes = batch.state.episodes[:begun]
        live = np.flatnonzero(~episodes["done"])
        if not len(live):
            break
        action, kept = player(out.obs[live], out.mask[live] > 0, first + live, decision[live])
        at = live[kept]
        run, asked = episodes["run"][at], episodes["now"][at]
        seen.append((at, run, asked, out.obs[at][:, columns], out.obs[at, INDEX["window"]]))
        actions = np.zeros(len(batch), dtype=np.int64)
        actions[live] = action
        out = batch.step(actions)
        decision[live] += 1
    at, run, asked, obs, window = (np.concatenate(each) for each in zip(*seen, strict=True))
    attempt, task = batch.state.runs[at, run], batch.state.tasks[at, 0]
    return {
        "seen": obs,
        "window": window > 0.0,
        "task": task["task"],
        "number": attempt["number"].astype(np.int64),
        "before": attempt["before"].astype(np.int64),
        "drawn": attempt["ghost"].astype(np.bool_),
        "age": asked - attempt["start"],
        "life": attempt["ended"] - attempt["start"],
        "ended": attempt["outcome"].astype(np.int64),
        "outcome": task["outcome"],
    }


def _judged(scenario: Scenario, found: dict[str, Any]) -> Visits:
    """Decisions with what became of attempt, task and job."""
    trace = split_of(scenario, scenario.split)
    task, ended, outcome = found["task"], found["ended"], found.pop("outcome")
    job = trace.column("tasks", "job").astype(np.int64)[task]
    submit = trace.column("jobs", "submit")[job]
    units = of_jobs(job, submit, apart=jobs_apart(scenario.trace))
    finishes = np.where(outcome == Outcome.CENSORED, np.nan, outcome == Outcome.FINISH)
    return Visits(
        **found,
        job=job,
        unit=units.of_row,
        attempt_fails=np.where(ended == Outcome.CENSORED, np.nan, ended == Outcome.FAIL),
        task_finishes=finishes,
        job_finishes=np.where(finishes == 0.0, 0.0, finishes * _others(trace)[task]),
    )


def _others(trace: Trace) -> Floats:
    """Did all other tasks of the job finish? 1 or 0, NaN where it is not known, [tasks]."""
    job, outcome = trace.column("tasks", "job"), trace.task_outcome
    unknown, unfinished = outcome == Outcome.CENSORED, outcome != Outcome.FINISH
    jobs = trace.rows("jobs")
    failed = unfinished & ~unknown
    hidden, other = (np.bincount(job[of], minlength=jobs)[job] - of for of in (unknown, failed))
    return np.where(other > 0, 0.0, np.where(hidden > 0, np.nan, 1.0))
