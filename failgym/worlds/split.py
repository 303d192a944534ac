"""Step 2: a split of the trace of a scenario, and which rows of the trace it kept."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.traces import Trace
from failgym.traces.split import split as parted
from failgym.worlds.scenario import Scenario, Split

__all__ = ["Part", "learned_from", "split_trace", "split_with_earlier", "tasks_run"]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Half = Literal["train", "test"]
"""What is before a boundary, and what is after it."""


class _Cut(NamedTuple):
    """A piece of a trace, by shares of the jobs in order of submission."""

    half: Half
    share: float
    """of the jobs that are submitted before the boundary"""
    until: float = 1.0
    """of those that are submitted before what is after it is over"""


@dataclass(frozen=True, eq=False)
class Part:
    """What a split of a scenario is simulated from, and where its rows come from."""

    whole: Trace
    """The trace that was split."""
    recorded: Trace
    """The part of it, as recorded."""
    trace: Trace
    """The same on the cluster of the scenario, where it has one: what is simulated."""
    jobs: Ints
    """[jobs of the part] Their rows of the whole trace."""
    tasks: Ints
    """[tasks of the part] Their rows of the whole trace."""
    attempts: Ints
    """[attempts of the part] Their rows of the whole trace."""
    own: Bools
    """[jobs of the part] Are they of the split? The others run beside them."""

    @property
    def own_tasks(self) -> Bools:
        """[tasks of the part] Are they of the split?"""
        return self.own[self.recorded.column("tasks", "job")]

    @classmethod
    def all_of(cls, trace: Trace) -> Part:
        """A whole trace as a part of itself."""
        jobs, tasks, attempts = (
            np.arange(trace.rows(name)) for name in ("jobs", "tasks", "attempts")
        )
        return cls(trace, trace, trace, jobs, tasks, attempts, np.ones(len(jobs), dtype=np.bool_))


def learned_from(split: Split) -> Split:
    """The split from which is learned what a split of a scenario shows: expectations, forecasts.

    What is chosen on "validation" is as new to it as "test" is to "train".
    """
    return "fit" if split in ("fit", "validation") else "train"


def split_trace(trace: Trace, scenario: Scenario, split: Split) -> Part:
    """A split of the record: jobs submitted before a boundary, as known then, or after it.

    With a fold, those after it until the next fold begins.
    """
    return _part(trace, _cuts(scenario, split))


def split_with_earlier(trace: Trace, scenario: Scenario, split: Split) -> Part:
    """The same, and the jobs that were submitted before it, which may still run then.

    The test split is the whole trace, of a fold too, whose later jobs come behind it as they did;
    "validation" is the train split. So is every split of a
    trace of which nothing was ever run: there is nothing to be cut.
    """
    held: Split = "train" if split == "validation" else split
    if split == "test" or not tasks_run(trace).any():
        held = "all"
    part = split_trace(trace, scenario, held)
    return replace(part, own=_jobs(trace, _cuts(scenario, split))[part.jobs])


def tasks_run(trace: Trace) -> Bools:
    """Tasks of which a run is recorded, [tasks]; of others a length may be known."""
    ran = np.zeros(trace.rows("tasks"), dtype=np.bool_)
    ran[trace.column("attempts", "task")[trace.present("attempts", "start")]] = True
    return ran


def _cuts(scenario: Scenario, split: Split) -> tuple[_Cut, ...]:
    """What is cut one after the other to get a split of the record."""
    train = _Cut("train", scenario.origin)
    cuts: dict[Split, tuple[_Cut, ...]] = {
        "all": (),
        "train": (train,),
        "test": (_Cut("test", scenario.origin, scenario.until),),
        "fit": (train, _Cut("train", scenario.inner_boundary)),
        "validation": (train, _Cut("test", scenario.inner_boundary)),
    }
    return cuts[split]


@lru_cache(maxsize=5)  # those of one boundary or fold
def _part(trace: Trace, cuts: tuple[_Cut, ...]) -> Part:
    """What is left of a trace after cuts, made once."""
    if not cuts:
        return Part.all_of(trace)
    before = _part(trace, cuts[:-1])
    part, rows = parted(before.recorded, *cuts[-1])
    jobs, tasks = before.jobs[rows["jobs"]], before.tasks[rows["tasks"]]
    own = np.ones(len(jobs), dtype=np.bool_)
    return Part(trace, part, part, jobs, tasks, before.attempts[rows["attempts"]], own)


def _jobs(trace: Trace, cuts: tuple[_Cut, ...]) -> Bools:
    """Which jobs of a trace are left after cuts, [jobs]."""
    submit = trace.column("jobs", "submit")
    left = np.ones(len(submit), dtype=np.bool_)
    for i, cut in enumerate(cuts):
        recorded = _part(trace, cuts[:i]).recorded
        at = recorded.boundary(cut.share)
        left &= submit > at if cut.half == "test" else submit <= at
        if cut.until < 1.0:
            left &= submit <= recorded.boundary(cut.until)
    return left
