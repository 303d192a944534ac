"""A policy plays a cell: from the world to the file of its episodes."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from failgym.envs.spaces import TERMS
from failgym.leaderboard.policy_process.players import Players
from failgym.leaderboard.run.work_folder import WorkFolder
from failgym.leaderboard.submission.entries import Entry
from failgym.leaderboard.submission.records import Seconds
from failgym.leaderboard.submission.specs import spec_played
from failgym.leaderboard.submission.tables import (
    ANCHOR_BLOCKS,
    ANCHORS,
    BLOCKS,
    CELL_RESULTS,
    OK,
    lists,
)
from failgym.leaderboard.suite.account import ACCOUNT, REPLAY_ACCOUNT
from failgym.leaderboard.suite.episodes import Failure, Played
from failgym.leaderboard.suite.reference import Reference
from failgym.leaderboard.suite.suite_worlds import SuiteWorlds
from failgym.leaderboard.suite.suites import Cell

__all__ = ["play_cell"]


def play_cell(
    work: WorkFolder, worlds: SuiteWorlds, players: Players, entry: Entry, cell: Cell
) -> None:
    """Play a policy in a cell, unless that is done, and keep what happened.

    A policy that fails fails all episodes of the cell: which of them it would have ended before is
    a matter of chance.

    Raises:
        ValueError: if the cell has no world.
    """
    if work.cell_file(entry.key, cell).is_file():
        return
    reference = work.reference(worlds.alike(cell))
    try:
        scenario = worlds.suite.course(cell.env).scenario()
        spec = spec_played(entry.specs[cell.env], worlds.suite, cell)
        player = players.player(entry.kind, spec, scenario)
        played = worlds.play(cell, reference, player)
    except Failure as failure:
        table = _failed(reference, cell, failure)
        work.save_cell(entry.key, cell, table, Seconds(engine=0.0, policy=0.0))
        return
    seconds = Seconds(engine=played.engine_seconds, policy=played.policy_seconds)
    table = _table(reference, cell, played)
    work.save_cell(entry.key, cell, table, seconds)


def _table(reference: Reference, cell: Cell, played: Played) -> Any:
    n, lengths = len(reference.rows), np.diff(played.offset)
    played = reference.by_row(played)
    share = (played.decisions + 1) / float((played.decisions + 1).sum())
    slices = np.linspace(0, len(lengths), n + 1).astype(np.int32)  # a row has one of them, or all
    counts: Any = pa.ListArray.from_arrays(pa.array(slices), pa.array(lengths))
    actions: Any = pa.ListArray.from_arrays(
        pa.array(played.offset[slices].astype(np.int32)), pa.array(played.actions)
    )
    return _episodes(
        reference,
        cell,
        {
            **{term: pa.array(played.costs[:, i]) for i, term in enumerate(TERMS)},
            **{name: pa.array(played.account[:, i]) for i, name in enumerate(ACCOUNT)},
            BLOCKS: lists(played.blocks),
        },
        decisions=played.decisions,
        illegal=played.illegal,
        seconds=played.seconds * share,
        status=[OK] * n,
        reason=[""] * n,
        counts=counts,
        actions=actions,
    )


def _failed(reference: Reference, cell: Cell, failure: Failure) -> Any:
    n = len(reference.rows)
    nothing = np.zeros(n, dtype=np.int64)
    return _episodes(
        reference,
        cell,
        {
            **{name: pa.nulls(n, pa.float64()) for name in (*TERMS, *ACCOUNT)},
            BLOCKS: pa.array([[]] * n, pa.list_(pa.float64())),
        },
        decisions=nothing,
        illegal=nothing,
        seconds=np.zeros(n),
        status=[failure.status] * n,
        reason=[failure.reason] * n,
        counts=[[0] * (len(reference.slices) // n)] * n,
        actions=[[]] * n,
    )


def _episodes(reference: Reference, cell: Cell, terms: dict[str, Any], **measured: Any) -> Any:
    seed: npt.NDArray[np.int64] = np.full(len(reference.rows), cell.seed)
    columns: dict[str, Any] = {
        "slice": reference.rows,
        "seed": seed,
        **terms,
        **dict(zip(ANCHORS, reference.costs, strict=True)),
        **{name: reference.account[:, i] for i, name in enumerate(REPLAY_ACCOUNT)},
        **{name: lists(of) for name, of in zip(ANCHOR_BLOCKS, reference.blocks, strict=True)},
        **measured,
    }
    return pa.table([columns[name] for name in CELL_RESULTS.names], schema=CELL_RESULTS)
