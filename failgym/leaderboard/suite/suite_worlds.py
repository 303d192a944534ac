"""From a cell of a suite to its scenario, its world, and what replay and the bound cost there."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

import failgym
from failgym.evaluation.anchors import Anchors
from failgym.leaderboard.suite.account import replay_account, stake_of
from failgym.leaderboard.suite.by_stake import draw_by_stake
from failgym.leaderboard.suite.cost_blocks import CostBlocks
from failgym.leaderboard.suite.episodes import Answers, Played, play
from failgym.leaderboard.suite.reference import WHOLE, Reference, ReferenceArrays
from failgym.leaderboard.suite.secret_seed import derived_seed
from failgym.leaderboard.suite.suites import Cell, Course, Suite
from failgym.traces.store import META_FILE
from failgym.world_cache import KeptPart, kept_or_built, nothing_kept
from failgym.worlds.build import build_part, build_world, split_of
from failgym.worlds.forecast import makers
from failgym.worlds.scenario import Scenario
from failgym.worlds.source import whole_trace
from failgym.worlds.world import World

__all__ = ["SuiteWorlds"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def _sources() -> str:
    """SHA-256 of what finds references: a change of it finds them anew. "" if it cannot be read."""
    package, content = Path(failgym.__file__).parent, hashlib.sha256()
    try:
        for folder in ("evaluation", "leaderboard/suite"):
            for path in sorted((package / folder).rglob("*.py")):
                name = path.relative_to(package).as_posix()
                content.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    except OSError:
        return ""
    return content.hexdigest()


_SOURCES = _sources()
"""When this was imported: they are what runs."""


@dataclass(frozen=True)
class SuiteWorlds:
    """The worlds of a suite, with what it needs for them: traces, a secret, stored predictors."""

    suite: Suite
    """of real traces: with the environments that have a trace only (`SuiteWorlds.of`)"""
    traces: Mapping[str, str] = field(default_factory=dict[str, str])
    """environment -> folder of the user's trace, for a suite of real traces"""
    secret: bytes | None = None
    predictors: Path | None = None
    """the folder of the stored predictors; None: nothing that is trained can be shown"""
    unplayable: Mapping[str, str] = field(default_factory=dict[str, str])
    """environment -> why the user's trace cannot be played there (`playable`)"""

    @classmethod
    def of(
        cls, suite: Suite, traces: Mapping[str, str] | None = None, secret: bytes | None = None
    ) -> SuiteWorlds:
        """The worlds of a suite; of one of real traces only the environments that have a trace."""
        if suite.real:
            kept = tuple(course for course in suite.courses if course.env in (traces or {}))
            suite = replace(suite, courses=kept)
        return cls(suite, dict(traces or {}), secret)

    def playable(self) -> SuiteWorlds:
        """The same without the environments of which a fold cannot be played, and why not.

        Raises:
            ValueError: if none is left.
        """
        reasons = {course.env: self._why_not(course) for course in self.suite.courses}
        unplayable = {env: reason for env, reason in reasons.items() if reason is not None}
        kept = tuple(course for course in self.suite.courses if course.env not in unplayable)
        if not kept and unplayable:
            env, reason = next(iter(unplayable.items()))
            raise ValueError(f"--trace: no environment can be played on it: {env}: {reason}")
        traces = {env: path for env, path in self.traces.items() if env not in unplayable}
        suite = replace(self.suite, courses=kept)
        return replace(self, suite=suite, traces=traces, unplayable=unplayable)

    def _why_not(self, course: Course) -> str | None:
        """Why a course cannot be played, in a line, if so; only folds of real traces may not be."""
        for seed in course.seeds if course.folds else ():
            try:
                build_world(self.scenario(Cell(course.env, "none", seed)))
            except ValueError as error:
                return f"fold {seed}: {' '.join(str(error).split())}"
        return None

    def scenario(self, cell: Cell) -> Scenario:
        """The scenario of a cell: its fold, its seed drawn from the secret, its forecast."""
        course = self.suite.course(cell.env)
        number = derived_seed(self.secret, cell.env, cell.seed)
        scenario = self._on_trace(course, cell.seed).override(trace_seed=number, seed=number)
        if cell.forecast == "none":
            return scenario.reduced(forecast="none", node_forecast="none")
        if cell.forecast == "trained":
            return scenario.override(forecast=str(self.predictor_file(cell.env, cell.seed)))
        return scenario

    def world(self, cell: Cell) -> World:
        """The compiled world of a cell. Raises ValueError, naming the cell, if there is none."""
        try:
            return build_world(self.scenario(cell))
        except ValueError as error:
            raise ValueError(f"{cell}: {error}") from error

    def playing(self, cell: Cell, slices: Ints) -> tuple[World, Ints]:
        """A world that holds some slices of a cell, and their numbers in it. Raises as `world`."""
        try:
            return build_part(self.scenario(cell), slices)
        except ValueError as error:
            raise ValueError(f"{cell}: {error}") from error

    def alike(self, cell: Cell) -> Cell:
        """The cell in which the same happens: without forecasts, where these only are shown."""
        if self.suite.course(cell.env).forecast_matters:
            return cell
        return replace(cell, forecast="none")

    def play(self, cell: Cell, reference: Reference, answers: Answers) -> Played:
        """Play the slices of a cell. Raises as `playing`, and Failure if the policy fails."""
        world, numbers = self.playing(cell, reference.slices)
        blocks, scenario = self.suite.course(cell.env).blocks, self.scenario(cell)
        return play(world, scenario, numbers, answers, reference.replayed, blocks)

    def reference(self, cell: Cell) -> Reference:
        """Play replay in a cell, and find the bound; what was found is kept beside the world."""
        cell, course = self.alike(cell), self.suite.course(cell.env)
        scenario, seed = self.scenario(cell), derived_seed(self.secret, cell.env, cell.seed)
        decided = [course.slices, course.by_stake, course.together, seed, _SOURCES]
        name = hashlib.sha256(json.dumps(decided).encode()).hexdigest()

        def found() -> ReferenceArrays:
            return ReferenceArrays.of(self._reference(cell, course, scenario, seed))

        part = KeptPart(
            f"reference-{name}",
            "what replay and the bound cost",
            lambda: bool(_SOURCES) and _sources() == _SOURCES,
        )
        return kept_or_built(scenario, makers(scenario), ReferenceArrays, found, part).reference

    def _reference(self, cell: Cell, course: Course, scenario: Scenario, seed: int) -> Reference:
        # Of many traces parts are kept, or packed worlds: whole ones are not worth their room.
        with nothing_kept() if course.together else nullcontext():
            self.world(cell)
            begun = time.process_time()
            drawn = None if course.by_stake else course.slices
            anchors = Anchors.of(scenario, episodes=drawn, seed=seed)
        replay, evidence = anchors.replay, anchors.evidence
        costs = replay.costs.sum(axis=1), anchors.bound.sum(axis=1), anchors.spent
        blocks = CostBlocks.of(scenario, anchors.world, replay, course.blocks)
        rows = costs
        if blocks.by_task:
            rows = evidence.replay, evidence.replay - evidence.possible, evidence.spent
        at, weights = np.arange(len(replay.slices)), np.ones(len(replay.slices))
        if course.by_stake and cell.forecast != "none":  # the same slices with every forecast
            blind = self.reference(replace(cell, forecast="none"))
            at, weights = blind.slices, blind.weights
        elif course.by_stake:
            at, weights = draw_by_stake(anchors.possible, anchors.spent, course.slices, seed)
        ours = replay.slices[at]
        of_rows = [*(each[at] for each in costs), *(blocks.sums(each)[at] for each in rows)]
        of_rows.append(replay_account(anchors)[at])
        if course.together:
            of_rows = [weights[None] @ each for each in of_rows]
        stake = np.tile(stake_of(evidence), (len(of_rows[0]), 1))
        return Reference(
            ours,
            weights,
            np.array([WHOLE]) if course.together else ours,
            np.stack(of_rows[:3]),
            np.stack(of_rows[3:6]),
            np.concatenate([of_rows[6], stake], axis=1),
            anchors.replayed.only(at, anchors.world.own_sizes[replay.slices]),
            trace_hash=self.trace_hash(cell),
            seconds=time.process_time() - begun,
        )

    @property
    def trace_files(self) -> list[Path]:
        """Of each of the user's traces the file that states the hashes of the others."""
        folders = map(Path, dict.fromkeys(self.traces.values()))
        return [file for folder in folders if (file := folder / META_FILE).is_file()]

    def trace_hash(self, cell: Cell) -> str:
        """Content hash of the trace of a cell."""
        return whole_trace(self.scenario(cell)).content_hash

    def predictor_file(self, env: str, seed: int = 0) -> Path:
        """Where the predictor of an environment is stored, or of a fold of it.

        Raises:
            ValueError: without a folder.
        """
        if self.predictors is None:
            raise ValueError("predictors: expected a folder, got none")
        return self.predictors / f"{self.suite.course(env).predictor(seed)}.npz"

    def train_predictor(self, env: str) -> None:
        """Fit and store the predictor of an environment, or one per fold, unless it is stored.

        It learns from the train split of the registered trace, or of the user's: a secret seed
        makes another trace of the same law, and tells nothing of itself through what was learned.

        Raises:
            ValueError: if the trace has nothing to learn from, or a package is not installed.
        """
        from failgym.predictors import GradientBoosting, save_predictor

        course = self.suite.course(env)
        for seed in course.predictors.values():
            file = self.predictor_file(env, seed)
            if file.is_file():
                continue
            scenario = self._on_trace(course, seed)
            predictor = GradientBoosting(window=scenario.window, **(course.trained or {}))
            try:
                save_predictor(predictor.fit(split_of(scenario, "train")), file)
            except ValueError as error:
                raise ValueError(f"fold {seed}: {error}" if course.folds else error) from error

    def _on_trace(self, course: Course, seed: int) -> Scenario:
        scenario, folder = course.scenario(), self.traces.get(course.env)
        trace = {} if folder is None else {"trace": folder}
        return scenario.override(**trace, **course.fields(seed))
