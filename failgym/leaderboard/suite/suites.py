"""The suites: which environments, forecasts, seeds and slices policies are compared on.

A suite never changes: what is in it, and the scenarios that it names, are in its digest, which a
test holds fast and a submission carries. Whoever wants another suite gives it another version.
Suite `v2` plays many traces of each environment, of seeds by which nothing was trained, tuned or
chosen: traces differ, and few say little. Sizes follow from what `experiments.power` measured.
Where tasks do not touch each other few of each trace are played, drawn by what is at stake on them.

Each environment is played with the forecasts that it is registered with, drawn to a stated quality
("drawn"), with those of a predictor that has learned from the train split ("trained"), and with
"none". In Lineage-v1 nothing is forecast at all; in Workflow-v1 failures of machines are, and no
predictor in failgym learns these.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from failgym.envs.scenarios import resolve
from failgym.leaderboard.suite.cost_blocks import BLOCKS
from failgym.worlds.identity import identity, plain
from failgym.worlds.scenario import Scenario
from failgym.worlds.settings.splitting import FOLDS

__all__ = [
    "FORECASTS",
    "RELEASED",
    "SUITES",
    "Cell",
    "Course",
    "ForecastName",
    "Suite",
    "suite_named",
]

ForecastName = Literal["drawn", "trained", "none"]
FORECASTS: tuple[ForecastName, ...] = ("drawn", "trained", "none")
"""Kinds of forecast that a policy is shown, in the order of tables."""
MANY_TRACES = 30
"""From so many on traces are resampled, and nothing within them."""
DRAWN_NODES = "calibrated"
"""`Scenario.node_forecast` that is drawn."""


@dataclass(frozen=True, order=True)
class Cell:
    """One batch of slices: an environment, a forecast and a seed, or the number of a fold."""

    env: str
    forecast: str
    seed: int

    def __str__(self) -> str:
        return f"{self.env}, forecast {self.forecast}, seed {self.seed}"


@dataclass(frozen=True)
class Course:
    """What a suite plays of one environment."""

    env: str
    """name of the registered scenario"""
    trained: dict[str, Any] | None = None
    """parameters of the `GradientBoosting` whose forecasts are shown; None: there are none"""
    seeds: tuple[int, ...] = (0,)
    """of the trace and of all that is drawn; 0 is the trace of the registered scenario"""
    slices: int = 100
    """of the test split at most; more than there are stand for all"""
    by_stake: bool = False
    """are they drawn by what is at stake on them (`failgym.leaderboard.suite.by_stake`)?"""
    changes: dict[str, Any] = field(default_factory=dict[str, Any])
    """fields of the scenario that differ from the registered one"""
    folds: bool = False
    """is each seed the `Scenario.fold` of one trace, and not a trace of its own?"""

    def fields(self, seed: int) -> dict[str, Any]:
        """What makes the scenario of a seed one of its own, beside what is drawn."""
        return {"fold": seed} if self.folds else {}

    def predictor(self, seed: int) -> str:
        """The name of the predictor that the forecasts of a seed come from: a fold has its own."""
        return f"{self.env}-{seed}" if self.folds else self.env

    @property
    def predictors(self) -> dict[str, int]:
        """The names of all its predictors, and a seed of each."""
        return {self.predictor(seed): seed for seed in self.seeds}

    @property
    def together(self) -> bool:
        """Does a trace say something only as a whole, in one row of results?

        So it is where there are many of them: that they differ says all that is to be known. And
        where slices are drawn by stake.
        """
        return self.by_stake or len(self.seeds) >= MANY_TRACES

    @property
    def blocks(self) -> int:
        """What the costs of a trace are shared out among, at most: what is resampled."""
        return 1 if self.together else BLOCKS

    def scenario(self) -> Scenario:
        """The scenario of the test split, with the environment's own forecast."""
        return resolve(self.env, {"split": "test", **self.changes})

    @property
    def forecast_matters(self) -> bool:
        """Does what is forecast change what happens? Grace periods of kills are weighted by it."""
        scenario = self.scenario()
        return scenario.kill and scenario.grace

    @property
    def forecasts(self) -> tuple[ForecastName, ...]:
        """Kinds of forecast that the environment is played with, in the order of `FORECASTS`."""
        scenario = self.scenario()
        drawn = scenario.forecast != "none" or scenario.node_forecast != "none"
        shown = {"drawn": drawn, "trained": self.trained is not None, "none": True}
        return tuple(name for name in FORECASTS if shown[name])


@dataclass(frozen=True)
class Suite:
    """A fixed set of cells."""

    name: str
    version: int
    courses: tuple[Course, ...]
    real: bool = False
    """are the traces the user's own?"""

    def course(self, env: str) -> Course:
        """What is played of an environment. Raises ValueError if nothing is."""
        for course in self.courses:
            if course.env == env:
                return course
        known = ", ".join(course.env for course in self.courses)
        raise ValueError(f"suite {self.name}: no environment {env!r}, expected one of {known}")

    def cells(self) -> Iterator[Cell]:
        """All cells, in the order of tables."""
        for course in self.courses:
            for forecast in course.forecasts:
                for seed in course.seeds:
                    yield Cell(course.env, forecast, seed)

    @property
    def digest(self) -> str:
        """SHA-256 of all that the suite fixes: scenarios, and what their profiles generate."""
        fixed = [
            {
                **plain(course),
                "blocks": course.blocks,
                "forecasts": course.forecasts,
                "scenario": identity(course.scenario()),
            }
            for course in self.courses
        ]
        content = {"name": self.name, "version": self.version, "courses": fixed}
        text = json.dumps(content, sort_keys=True, default=list)
        return hashlib.sha256(text.encode("utf-8")).hexdigest()


_SYSTEM = {"target": "system", "samples": "tail"}
"""Failures of the system from the last windows of attempts (Kumar et al. 2020, section V)."""
_FIRST = 40_000
"""Seed of the first trace of `v2`."""


def _v2(share: float) -> tuple[Course, ...]:
    """What `v2` plays, or the traces of a share of it: those that come first."""

    def course(
        env: str, traces: int, trained: dict[str, Any] | None = None, tasks: int | None = None
    ) -> Course:
        seeds = tuple(range(_FIRST, _FIRST + round(share * traces)))
        if tasks is None:
            return Course(env, trained, seeds, _ALL)
        return Course(env, trained, seeds, tasks, by_stake=True, changes={"slice_tasks": 1})

    return (
        course("Cloning-v1", 320, {"target": "fail"}, tasks=1_000),
        course("GracePeriod-v1", 300, {"target": "unfinished"}, tasks=1_000),
        course("Checkpoint-v1", 30, _SYSTEM, tasks=200),
        course("Lineage-v1", 30),
        course("Workflow-v1", 30),
        replace(course("Mitigation-v1", 60, {"target": "fail"}), slices=4),
    )


_ALL = 10_000
"""Slices: more than a trace has."""
_TRAINED = {course.env: course.trained for course in _v2(1.0)}
_SMOKE = (
    Course("Cloning-v1", {"target": "fail", "trees": 20}, slices=4, changes={"jobs": 1_000}),
    Course(
        "GracePeriod-v1", {"target": "unfinished", "trees": 20}, slices=2, changes={"jobs": 400}
    ),
    Course("Checkpoint-v1", {**_SYSTEM, "trees": 20}, slices=2, changes={"jobs": 600}),
    Course("Lineage-v1", slices=2, changes={"jobs": 7}),
    Course("Workflow-v1", slices=1, changes={"jobs": 60, "slice_jobs": 5}),
    Course(
        "Mitigation-v1",
        {"target": "fail", "trees": 20},
        slices=2,
        changes={"jobs": 2_500, "warmup": 32, "followers": 64, "slice_tasks": 64},
    ),
)
_DRAWN = {
    "Cloning-v1": "elsayed_alarms",
    "GracePeriod-v1": "rosa_by_job",
    "Checkpoint-v1": "kumar_alarms",
    "Mitigation-v1": "elsayed_and_rosa",
}
"""What ``forecast="auto"`` is on generated traces: on a record it is a learned one."""
_REAL = tuple(
    Course(
        env,
        trained,
        seeds=tuple(range(1, FOLDS + 1)),
        slices=64,
        folds=True,
        changes={"forecast": _DRAWN[env]} if env in _DRAWN else {},
    )
    for env, trained in _TRAINED.items()
)

SUITES: dict[str, Suite] = {
    suite.name: suite
    for suite in (
        Suite("smoke", 1, _SMOKE),
        Suite("v2", 2, _v2(1.0)),
        Suite("v2-lite", 2, _v2(0.1)),
        Suite("v2-real", 1, _REAL, real=True),
    )
}
"""By name: `smoke` takes seconds a policy and says nothing, `v2` is the one to publish, `v2-lite`
has a tenth of its traces, `v2-real` plays traces that the user has imported: five folds by time
(`Scenario.fold`), 64 drawn slices of each."""
RELEASED: tuple[str, ...] = tuple(
    dict.fromkeys(course.env for suite in SUITES.values() for course in suite.courses)
)
"""Environments that a suite plays: they change no more, and have trained agents and results. One
that none plays is not released yet, and owes neither."""


def suite_named(name: str) -> Suite:
    """The suite of a name. Raises ValueError, naming the known ones."""
    if name not in SUITES:
        raise ValueError(f"suite: expected one of {', '.join(SUITES)}, got {name!r}")
    return SUITES[name]
