"""Checks what a submission claims of one policy in one cell: asks again, or replays."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportAttributeAccessIssue=false

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc

from failgym.envs.spaces import TERMS
from failgym.leaderboard.submission.layout import action_file
from failgym.leaderboard.submission.proofs import Proof
from failgym.leaderboard.submission.records import PolicyRecord
from failgym.leaderboard.submission.tables import (
    ACTIONS,
    ANCHOR_BLOCKS,
    ANCHORS,
    BLOCKS,
    OK,
    RESULTS_FILE,
    TIMEOUT,
    read_table,
)
from failgym.leaderboard.suite.account import ACCOUNT, REPLAY_ACCOUNT
from failgym.leaderboard.suite.episodes import Failure, Played
from failgym.leaderboard.suite.reference import WHOLE, Reference
from failgym.leaderboard.suite.suite_worlds import SuiteWorlds
from failgym.leaderboard.suite.suites import Cell
from failgym.leaderboard.verification.asking_again import Asked
from failgym.leaderboard.verification.recorded_actions import RecordedActions

__all__ = ["CellCheck", "Record"]

COUNTED = ("decisions", "illegal", "seconds")
"""Columns that are 0 where a policy failed."""
TOLERANCE = 1e-9
"""Relative; another processor may round the last bits of a sum otherwise."""
ROUNDED = "; another processor, or other versions of its libraries, may round otherwise"
"""Added to the reason why an agent that answers otherwise is not verified."""
LEARNED_HERE = "answers otherwise with forecasts learned here, which may differ in the last bits"


@dataclass(frozen=True)
class Record:
    """The tables of a submission, and the worlds that it was played on."""

    folder: Path
    results: Any
    """the table of results"""
    changed: frozenset[str]
    """files whose hash is another one by now"""
    worlds: SuiteWorlds


class CellCheck:
    """Checks what is claimed of a policy in a cell.

    Args:
        record: the submission's.
        policy: the policy.
        cell: where it played.
        reference: the slices there, and what replay and the bound cost on them.
        ask: asks the policy again, or says why not.
        exact: are the forecasts that it is shown again those of the run, to the last bit?
    """

    def __init__(
        self,
        record: Record,
        policy: PolicyRecord,
        cell: Cell,
        reference: Reference,
        ask: Callable[[], Asked | str],
        exact: bool,
    ) -> None:
        self._record, self._policy, self._cell = record, policy, cell
        self._reference, self._ask, self._exact = reference, ask, exact
        self._file = action_file(policy.key, cell.env, cell.forecast)
        self.proof: Proof = "claimed"
        self.why = ""
        self.rows: int = 0
        self.engine_seconds: float = 0.0
        self.policy_seconds: float = 0.0

    def problems(self) -> list[str]:
        """Ask or play again, and compare; afterwards it is known what is proven."""
        found = list(self._problems())
        if found:
            self._prove("claimed", "is not what was found")
        return found

    def _problems(self) -> Iterator[str]:
        rows = self._rows()
        if rows.column("slice").to_pylist() != self._reference.rows.tolist():
            # Rows that are missing, or there twice, are named where all rows are looked at.
            return self._prove("claimed", "has not a row for each slice")
        try:
            flat, offset = self._actions()
            answers = RecordedActions(flat, offset)
        except (ValueError, Failure) as error:
            yield str(error) if isinstance(error, ValueError) else f"{self._file}: {error}"
            return None
        if rows.column("status").unique().to_pylist() != [OK]:
            yield from self._empty(rows, flat)
            yield from self._fails_again(rows)
            return None
        played = yield from self._asked(flat, offset)
        played = played or self._replayed(answers)
        self.engine_seconds, self.rows = played.engine_seconds, rows.num_rows
        if rows.column("reason").unique().to_pylist() != [""]:
            yield f"{self._where()}: nothing failed, and yet there is a reason"
        yield from self._miscounted(answers)
        yield from self._compared(rows, self._reference.by_row(played))

    def _prove(self, proof: Proof, why: str = "") -> None:
        self.proof, self.why = proof, why

    def _asked(self, flat: Any, offset: Any) -> Any:
        """Ask the policy again: what it played, if every action is the recorded one."""
        asked = self._ask()
        if isinstance(asked, str):
            return self._prove("replayed", asked)
        if asked.played is None:
            yield from self._fails_now(asked)
            return None
        self.policy_seconds = asked.played.policy_seconds
        place = _first_difference(asked.played, flat, offset)
        if place is None:
            self._prove("verified")
            return asked.played
        if not self._exact:
            return self._prove("replayed", LEARNED_HERE)
        spec = self._policy.specs[self._cell.env]
        said = f"asked again, {spec} answers otherwise"
        if self._policy.kind == "agent":
            return self._prove("replayed", f"{said}{ROUNDED}")
        yield f"{self._where(place)}: {said}: these are not its actions"
        return None

    def _fails_now(self, asked: Asked) -> Iterator[str]:
        """The policy answered in the run, it says, and does not here."""
        failure = asked.failure
        assert failure is not None
        if not asked.loaded or failure.status == TIMEOUT:
            why = f"could not be asked again: {failure.status}: {failure}"
            return self._prove("replayed", why)
        yield f"{self._where()}: asked again, it fails: {failure.status}: {failure}"

    def _fails_again(self, rows: Any) -> Iterator[str]:
        """The policy failed in the run, it says: does it here?"""
        said, reason = rows.column("status")[0].as_py(), rows.column("reason")[0].as_py()
        asked = self._ask()
        if isinstance(asked, str):
            return self._prove("claimed", asked)
        if asked.failure is not None:
            if not asked.loaded or asked.failure.status == TIMEOUT:
                why = f"could not be asked again: {asked.failure.status}: {asked.failure}"
                return self._prove("claimed", why)
            if (asked.failure.status, str(asked.failure)) == (said, reason):
                return self._prove("verified")
            why = f"fails here too, and otherwise: {asked.failure.status}: {asked.failure}"
            return self._prove("claimed", why)
        if self._policy.kind == "agent":  # other limits, or another machine, may have ended it
            here = "in time" if said == TIMEOUT else "every question"
            return self._prove("claimed", f"{said}, it says; answers {here} here")
        yield f"{self._where()}: {said}, it says; asked again, it answers every question"

    def _replayed(self, answers: RecordedActions) -> Played:
        worlds, cell = self._record.worlds, self._record.worlds.alike(self._cell)
        return worlds.play(cell, self._reference, answers)

    def _rows(self) -> Any:
        """The results."""
        table, (name, training_seed), cell = self._record.results, self._policy.key, self._cell
        seed = table.column("training_seed")
        mine = pc.is_null(seed) if training_seed is None else pc.equal(seed, training_seed)
        mine = pc.fill_null(mine, False)
        wanted = {"policy": name, "env": cell.env, "forecast": cell.forecast, "seed": cell.seed}
        for column, value in wanted.items():
            mine = pc.and_(mine, pc.equal(table.column(column), value))
        return table.filter(mine)

    def _actions(self) -> tuple[Any, Any]:
        """The actions of all slices, and where those of each begin [slices + 1].

        Raises:
            ValueError: if there are not as many as are stated of each.
        """
        table = read_table(self._record.folder / self._file, ACTIONS, self._file)
        for seed in table.column("seed").unique().to_pylist():
            if seed not in self._record.worlds.suite.course(self._cell.env).seeds:
                raise ValueError(f"{self._file}: seed {seed} does not belong to the suite")
        table = table.filter(pc.equal(table.column("seed"), self._cell.seed))
        if table.column("slice").to_pylist() != self._reference.rows.tolist():
            raise ValueError(f"{self._file}: expected a row per row of results, in their order")
        columns = [table.column(name).combine_chunks() for name in ("actions", "counts")]
        actions, counts = map(pc.list_flatten, columns)
        if any(each.null_count for each in (*columns, actions, counts)):
            raise ValueError(f"{self._file}: actions are missing")
        of_row = [sum(row) for row in columns[1].to_pylist()]
        slices = len(counts) == len(self._reference.slices) and min(counts.to_pylist()) >= 0
        if not slices or of_row != pc.list_value_length(columns[0]).to_pylist():
            raise ValueError(f"{self._file}: expected a count of each slice, and as many actions")
        return np.asarray(actions), np.concatenate([[0], np.cumsum(np.asarray(counts))])

    def _empty(self, rows: Any, flat: Any) -> Iterator[str]:
        """A policy that failed has no numbers, and one reason."""
        measured = (*TERMS, *ACCOUNT)
        empty = all(rows.column(name).null_count == rows.num_rows for name in measured)
        empty = empty and not len(pc.list_flatten(rows.column(BLOCKS)))
        counted = any(pc.any(pc.not_equal(rows.column(n), 0)).as_py() for n in COUNTED)
        if not empty or counted or len(flat):
            yield f"{self._where()}: the policy failed, and yet there are results of it"
        if any(len(rows.column(name).unique()) > 1 for name in ("status", "reason")):
            yield f"{self._where()}: the policy failed in more than one way"
        yield from self._references(rows)

    def _miscounted(self, answers: RecordedActions) -> Iterator[str]:
        if self.proof == "verified":
            return
        for wrong, what in ((answers.missing, "end before"), (answers.surplus, "go on after")):
            for i in np.flatnonzero(wrong).tolist():
                yield f"{self._where(i)}: the actions {what} the episode: some were changed"

    def _compared(self, rows: Any, played: Played) -> Iterator[str]:
        for i, term in enumerate(TERMS):
            yield from self._differences(rows, term, played.costs[:, i])
        for i, name in enumerate(ACCOUNT):
            yield from self._differences(rows, name, played.account[:, i])
        yield from self._differences(rows, "decisions", played.decisions)
        yield from self._differences(rows, "illegal", played.illegal)
        yield from self._other_blocks(rows, BLOCKS, played.blocks)
        yield from self._references(rows)

    def _references(self, rows: Any) -> Iterator[str]:
        for name, costs in zip(ANCHORS, self._reference.costs, strict=True):
            yield from self._differences(rows, name, costs)
        for i, name in enumerate(REPLAY_ACCOUNT):
            yield from self._differences(rows, name, self._reference.account[:, i])
        for name, blocks in zip(ANCHOR_BLOCKS, self._reference.blocks, strict=True):
            yield from self._other_blocks(rows, name, blocks)

    def _other_blocks(self, rows: Any, name: str, computed: Any) -> Iterator[str]:
        """Where costs are shared out among blocks otherwise than was computed."""
        for i, stated in enumerate(rows.column(name).to_pylist()):
            near = len(stated) == len(computed[i]) and np.allclose(
                stated, computed[i], rtol=TOLERANCE, atol=TOLERANCE
            )
            if not near:
                yield f"{self._row(i)}: {name} are others, computed anew: {self._blame()}"

    def _differences(self, rows: Any, name: str, computed: Any) -> Iterator[str]:
        """Where a column is not what was computed."""
        stated = rows.column(name).to_numpy(zero_copy_only=False).astype(np.float64)
        near = np.isclose(stated, computed, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)
        for i in np.flatnonzero(~near).tolist():
            yield (
                f"{self._row(i)}: {name} is {stated[i]:.12g}, computed anew"
                f" {computed[i]:.12g}: {self._blame()}"
            )

    def _blame(self) -> str:
        changed = self._record.changed
        if (self._file in changed) == (RESULTS_FILE in changed):
            return "an action or a result was changed"
        return "an action was changed" if self._file in changed else "a result was changed"

    def _where(self, slice_: int | None = None) -> str:
        """Policy and cell; of a slice too, by its place."""
        place = f"{self._policy.name}: {self._cell}"
        return place if slice_ is None else f"{place}, slice {self._reference.slices[slice_]}"

    def _row(self, row: int) -> str:
        """Policy and cell, and the slice of a row, unless it is of all."""
        return self._where(None if self._reference.rows[row] == WHOLE else row)


def _first_difference(played: Played, flat: Any, offset: Any) -> int | None:
    """The first slice whose actions are others; None if all are the same."""
    for i in range(len(offset) - 1):
        ours = played.actions[played.offset[i] : played.offset[i + 1]]
        if not np.array_equal(ours, flat[offset[i] : offset[i + 1]]):
            return i
    return None
