"""What a submission claims, played again: one environment and seed at a time."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportAttributeAccessIssue=false

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow.compute as pc

from failgym.envs.spaces import TERMS
from failgym.leaderboard.answers import RecordedAnswers
from failgym.leaderboard.assemble import action_file, predictor_file
from failgym.leaderboard.check import cells_of
from failgym.leaderboard.ground import Ground, Reference
from failgym.leaderboard.learned import same_predictor
from failgym.leaderboard.play import Failure, Played, play
from failgym.leaderboard.schema import ACTIONS, OK, RESULTS_FILE, read_table
from failgym.leaderboard.submission import PolicyRecord, Submission
from failgym.leaderboard.suites import Cell

__all__ = ["Claims", "Found"]

COUNTED = ("decisions", "illegal", "seconds")
"""Columns that are 0 where a policy failed."""
TOLERANCE = 1e-9
"""Relative; another processor may round the last bits of a sum otherwise."""


@dataclass(frozen=True)
class Found:
    """What was found in an environment under a seed."""

    slices: list[int]
    """those that there are"""
    problems: list[str]
    rows: int
    """whose numbers were computed anew"""
    seconds: float
    """of the engine [s]"""


@dataclass(frozen=True)
class Claims:
    """A submission whose tables can be read, and the ground that it was played on."""

    folder: Path
    submission: Submission
    ground: Ground
    results: Any
    """the table of results"""
    changed: frozenset[str]
    """files whose hash is another one by now"""
    forged: frozenset[str] = frozenset()
    """environments whose predictor is not what is learned: with its forecasts nothing is played"""

    def examine(self, env: str, seed: int) -> Found:
        """Play everything in an environment under a seed again.

        Raises:
            ValueError: if it cannot be played.
        """
        blind = Cell(env, "none", seed)
        reference = self.ground.reference(blind)
        slices = reference.slices.tolist()
        stated = {(one.env, one.seed): one.content_hash for one in self.submission.traces}
        if stated.get((env, seed)) != reference.trace_hash:
            said = str(stated.get((env, seed)))
            problem = (
                f"trace of {env}, seed {seed}: the submission was made on {said[:16]}, this is"
                f" {reference.trace_hash[:16]}: another trace"
            )
            return Found(slices, [problem], 0, reference.seconds)
        problems: list[str] = []
        rows, seconds = 0, reference.seconds
        references = {blind: reference}
        for cell in cells_of(self.submission, self.ground.suite):
            if (cell.env, cell.seed) != (env, seed):
                continue
            if cell.forecast == "trained" and env in self.forged:
                continue
            alike = self.ground.alike(cell)
            try:
                if alike not in references:
                    references[alike] = self.ground.reference(alike)
                    seconds += references[alike].seconds
            except ValueError as error:
                problems.append(f"{cell}: cannot be played: {error}")
                continue
            for policy in self.submission.policies:
                if env in policy.specs:
                    claim = _Claim(self, policy, cell, references[alike])
                    problems += claim.problems()
                    rows, seconds = rows + claim.rows, seconds + claim.seconds
        return Found(slices, problems, rows, seconds)

    def refit(self, env: str) -> Found:
        """Train the predictor of an environment anew; is it the one of the submission?"""
        name = predictor_file(env)
        left_out = any(one.env == env for one in self.submission.left_out)
        with TemporaryDirectory() as folder:
            mine = replace(self.ground, predictors=Path(folder))
            try:
                mine.train_predictor(env)
            except ImportError:
                raise
            except ValueError as error:
                return Found(
                    [], [] if left_out else [f"{name}: cannot be trained: {error}"], 0, 0.0
                )
            if left_out:
                problem = f"{env}, forecast trained: was left out, and yet it can be trained"
                return Found([], [problem], 0, 0.0)
            same = same_predictor(mine.predictor_file(env), self.folder / name)
        return Found([], [] if same else [f"{name}: is not what the train split teaches"], 0, 0.0)


class _Claim:
    """What is claimed of a policy in a cell."""

    def __init__(
        self, claims: Claims, policy: PolicyRecord, cell: Cell, reference: Reference
    ) -> None:
        self._claims, self._policy, self._cell = claims, policy, cell
        self._reference = reference
        self._file = action_file(policy.key, cell.env, cell.forecast)
        self.rows, self.seconds = 0, 0.0

    def problems(self) -> Iterator[str]:
        """Play the actions again and compare."""
        rows = self._rows()
        if rows.column("slice").to_pylist() != self._reference.slices.tolist():
            return  # rows that are missing, or there twice, are named where all rows are looked at
        try:
            actions = self._actions()
        except ValueError as error:
            yield str(error)
            return
        if rows.column("status").unique().to_pylist() != [OK]:
            yield from self._failed(rows, actions)
            return
        ground = self._claims.ground
        cell = ground.alike(self._cell)
        try:
            answers = RecordedAnswers(
                np.asarray(pc.list_flatten(actions)), np.asarray(_offsets(actions))
            )
        except Failure as failure:
            yield f"{self._file}: {failure}"
            return
        played = play(ground.world(cell), ground.scenario(cell), self._reference.slices, answers)
        self.seconds, self.rows = played.engine_seconds, rows.num_rows
        if rows.column("reason").unique().to_pylist() != [""]:
            yield f"{self._where()}: nothing failed, and yet there is a reason"
        yield from self._miscounted(answers)
        yield from self._compared(rows, played)

    def _rows(self) -> Any:
        """The results."""
        table, (name, training_seed), cell = self._claims.results, self._policy.key, self._cell
        seed = table.column("training_seed")
        mine = pc.is_null(seed) if training_seed is None else pc.equal(seed, training_seed)
        mine = pc.fill_null(mine, False)
        wanted = {"policy": name, "env": cell.env, "forecast": cell.forecast, "seed": cell.seed}
        for column, value in wanted.items():
            mine = pc.and_(mine, pc.equal(table.column(column), value))
        return table.filter(mine)

    def _actions(self) -> Any:
        """The actions, an array with a list per slice. Raises ValueError."""
        table = read_table(self._claims.folder / self._file, ACTIONS, self._file)
        for seed in table.column("seed").unique().to_pylist():
            if seed not in self._claims.ground.suite.course(self._cell.env).seeds:
                raise ValueError(f"{self._file}: seed {seed} is none of the suite")
        table = table.filter(pc.equal(table.column("seed"), self._cell.seed))
        if table.column("slice").to_pylist() != self._reference.slices.tolist():
            raise ValueError(f"{self._file}: expected a row per slice, in their order")
        actions = table.column("actions").combine_chunks()
        if actions.null_count or pc.list_flatten(actions).null_count:
            raise ValueError(f"{self._file}: actions are missing")
        return actions

    def _failed(self, rows: Any, actions: Any) -> Iterator[str]:
        """A policy that failed has no numbers, and one reason."""
        empty = all(rows.column(term).null_count == rows.num_rows for term in TERMS)
        counted = any(pc.any(pc.not_equal(rows.column(n), 0)).as_py() for n in COUNTED)
        if not empty or counted or len(pc.list_flatten(actions)):
            yield f"{self._where()}: the policy failed, and yet there are results of it"
        if any(len(rows.column(name).unique()) > 1 for name in ("status", "reason")):
            yield f"{self._where()}: the policy failed in more than one way"
        yield from self._references(rows)

    def _miscounted(self, answers: RecordedAnswers) -> Iterator[str]:
        for wrong, what in ((answers.missing, "end before"), (answers.surplus, "go on after")):
            for i in np.flatnonzero(wrong).tolist():
                yield f"{self._where(i)}: the actions {what} the episode: some were changed"

    def _compared(self, rows: Any, played: Played) -> Iterator[str]:
        for i, term in enumerate(TERMS):
            yield from self._differences(rows, term, played.costs[:, i])
        yield from self._differences(rows, "decisions", played.decisions)
        yield from self._differences(rows, "illegal", played.illegal)
        yield from self._references(rows)

    def _references(self, rows: Any) -> Iterator[str]:
        yield from self._differences(rows, "replay_cost", self._reference.replay)
        yield from self._differences(rows, "bound_cost", self._reference.bound)
        yield from self._differences(rows, "replay_spent", self._reference.spent)

    def _differences(self, rows: Any, name: str, computed: Any) -> Iterator[str]:
        """Where a column is not what was computed."""
        stated = rows.column(name).to_numpy(zero_copy_only=False).astype(np.float64)
        near = np.isclose(stated, computed, rtol=TOLERANCE, atol=TOLERANCE)
        for i in np.flatnonzero(~near).tolist():
            yield (
                f"{self._where(i)}: {name} is {stated[i]:.12g}, computed anew"
                f" {computed[i]:.12g}: {self._blame()}"
            )

    def _blame(self) -> str:
        changed = self._claims.changed
        if (self._file in changed) == (RESULTS_FILE in changed):
            return "an action or a result was changed"
        return "an action was changed" if self._file in changed else "a result was changed"

    def _where(self, i: int | None = None) -> str:
        place = f"{self._policy.name}: {self._cell}"
        return place if i is None else f"{place}, slice {self._reference.slices[i]}"


def _offsets(actions: Any) -> Any:
    """Where the actions of each slice begin among those of all, [slices + 1]."""
    lengths = np.asarray(pc.list_value_length(actions), dtype=np.int64)
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])
