"""Results by environment and forecast: what policies saved on each slice, and what went wrong."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from failgym.envs import SCENARIOS
from failgym.envs.spaces import TERMS
from failgym.evaluation.room import Room
from failgym.evaluation.statistics.sampling_units import TracesUnits, of_slices
from failgym.leaderboard.page.source import COLUMNS, Source
from failgym.leaderboard.statistics.estimators import Runs
from failgym.leaderboard.submission.tables import ANCHOR_BLOCKS, ANCHORS, BLOCKS
from failgym.leaderboard.suite.account import ACCOUNT, REPLAY_ACCOUNT, STAKE
from failgym.leaderboard.suite.suites import SUITES

__all__ = ["FORECASTS", "Cell", "Failure", "Field", "fields_of"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

FORECASTS = ("drawn", "trained", "none")
"""What forecasts environments come with, in the order in which they are shown."""
OK = "ok"
TOLERANCE = 1e-9
"""What costs of replay and bound may differ by, relative, for slices to be the same."""


class Blocks(NamedTuple):
    """Blocks of jobs, trace after trace."""

    trace: Ints
    """[blocks]"""
    replay: Floats
    """[blocks] cost of replay"""
    possible: Floats
    """[blocks] cost of replay - cost of the bound"""
    spent: Floats
    """[blocks] what replay spends"""


@dataclass(frozen=True)
class Failure:
    """Why a policy has no score in an environment."""

    status: str
    """that of an episode, or "incomplete" where episodes are missing"""
    episodes: int
    reason: str


@dataclass(frozen=True)
class Cell:
    """One policy in one environment."""

    runs: Runs
    costs: Floats
    """[terms] mean over runs, summed over slices"""
    account: dict[str, float]
    """`failgym.leaderboard.suite.account.ACCOUNT`, mean over runs, summed over slices"""
    decisions: int
    illegal: int
    seconds: float


@dataclass
class Field:
    """All policies in one environment with one kind of forecast."""

    env: str
    forecast: str
    slices: Ints
    """[slices, 2] the seed that drew it, and its number"""
    replay: Floats
    """[slices] cost of replay"""
    possible: Floats
    """[slices] cost of replay - cost of the bound"""
    spent: Floats
    """[slices] what replay spends (`failgym.evaluation.room`)"""
    units: TracesUnits
    """what is resampled of slices: blocks of neighbouring ones, of the trace of each seed"""
    account: dict[str, float]
    """`failgym.leaderboard.suite.account.REPLAY_ACCOUNT`, summed over slices; of `STAKE`, over
    traces, but for what lies in the one job, or slice, that holds most: of all traces"""
    room_hours: float
    """machine-hours that cost as much as the room, each at the price of its trace; NaN without"""
    folds: bool = False
    """are what counts as traces the folds of one trace?"""
    blocks: Blocks = field(init=False)
    """what is resampled of scores"""
    outcomes: dict[str, Cell | Failure] = field(default_factory=dict[str, "Cell | Failure"])
    """by policy"""

    @property
    def room(self) -> Room:
        """What the bound saves over replay on all slices."""
        cost, replay, spent = (float(x.sum()) for x in (self.possible, self.replay, self.spent))
        return Room(cost, replay, spent, self.room_hours)

    def cell(self, policy: str) -> Cell | None:
        """What the policy did here, if it has a score."""
        found = self.outcomes.get(policy)
        return found if isinstance(found, Cell) else None


def fields_of(submissions: Sequence[Source]) -> list[Field]:
    """Sort the results of submissions by environment and forecast.

    A policy of which an episode failed, or is missing, has no score there: else leaving out
    the slices that it is bad at would raise it.

    Raises:
        ValueError: if policies were not run on the same slices, or an episode is there twice.
    """
    table = pd.concat([each.results[list(COLUMNS)] for each in submissions], ignore_index=True)
    order = {name: at for at, name in enumerate(FORECASTS)}
    groups = [(str(env), str(forecast)) for env, forecast in _groups(table)]
    unknown = sorted({forecast for _, forecast in groups} - order.keys())
    if unknown:
        raise ValueError(f"forecast: expected one of {FORECASTS}, not {unknown}")
    groups.sort(key=lambda group: (order[group[1]], _rank(group[0])))
    suites = [SUITES.get(each.suite.partition(",")[0]) for each in submissions]
    real = any(suite is not None and suite.real for suite in suites)
    return [
        _field(table[(table["env"] == env) & (table["forecast"] == forecast)], env, forecast, real)
        for env, forecast in groups
    ]


def _groups(table: pd.DataFrame) -> list[tuple[Any, Any]]:
    distinct = table[["env", "forecast"]].drop_duplicates()
    return list(zip(distinct["env"], distinct["forecast"], strict=True))


def _rank(env: str) -> tuple[int, str]:
    """Environments in the order of the registry, others behind."""
    known = list(SCENARIOS)
    return (known.index(env) if env in known else len(known)), env


def _field(rows: pd.DataFrame, env: str, forecast: str, folds: bool) -> Field:
    rows = rows.assign(training_seed=rows["training_seed"].fillna(-1).astype(np.int64))
    slices, which = np.unique(
        rows[["seed", "slice"]].to_numpy(np.int64), axis=0, return_inverse=True
    )
    rows = rows.assign(at=which.ravel())
    rows = rows.sort_values(["policy", "training_seed", "at"], kind="stable")
    where = f"{env}, forecast {forecast}"
    replay, bound, spent = _anchors(rows, slices, ANCHORS, where)
    counted = dict(zip(REPLAY_ACCOUNT, _anchors(rows, slices, REPLAY_ACCOUNT, where), strict=True))
    of_trace = np.unique(slices[:, 0], return_index=True)[1]
    account = {name: _over(name, each, of_trace) for name, each in counted.items()}
    _, counts = np.unique(slices[:, 0], return_counts=True)
    units = TracesUnits.joined([of_slices(count, apart=False) for count in counts.tolist()])
    hours = _room_hours(slices[:, 0], replay - bound, spent, counted["replay_hours"])
    cells = replay, replay - bound, spent, units, account, hours, folds
    found = Field(env, forecast, slices, *cells)
    found.blocks = _anchor_blocks(rows, found, where)
    names = rows["policy"].to_numpy()
    starts = np.flatnonzero(np.r_[True, names[1:] != names[:-1]])
    columns = {name: rows[name].to_numpy() for name in (*COLUMNS, "at")}
    for first, last in zip(starts, [*starts[1:], len(names)], strict=True):
        part = {name: column[first:last] for name, column in columns.items()}
        found.outcomes[str(names[first])] = _outcome(part, found)
    return found


def _over(name: str, of: Floats, first: Ints) -> float:
    """A number of each slice, over all of them.

    Args:
        name: of `REPLAY_ACCOUNT`.
        of: [slices] the number; of `STAKE` it is that of the whole trace.
        first: [traces] the first slice of each.
    """
    if name not in STAKE:
        return float(of.sum())
    # The largest of all traces is that of one of them: a job of each would be as many jobs.
    return float(of[first].max() if name == "stake_in_top" else of[first].sum())


def _room_hours(seeds: Ints, possible: Floats, spent: Floats, hours: Floats) -> float:
    """Machine-hours that cost as much as the room: a machine-hour's price is that of its trace."""
    _, trace = np.unique(seeds, return_inverse=True)
    room, paid, worked = (np.bincount(trace, each) for each in (possible, spent, hours))
    there = (paid > 0.0) & (worked > 0.0)
    worth = room[there] * worked[there] / paid[there]
    return float(worth.sum()) if there.any() else math.nan


def _anchors(rows: pd.DataFrame, slices: Ints, columns: Sequence[str], where: str) -> list[Floats]:
    """What is known of each slice whoever plays it, of replay and the bound: the same for all.

    It stands in the rows of those that failed, too.
    """
    at = rows["at"].to_numpy()
    anchors: list[Floats] = []
    for name in columns:
        costs, cost = rows[name].to_numpy(np.float64), np.full(len(slices), np.nan)
        cost[at] = costs
        differs = ~np.isclose(costs, cost[at], rtol=TOLERANCE, atol=0.0)
        if differs.any():
            row = rows.iloc[int(np.flatnonzero(differs)[0])]
            raise ValueError(
                f"{name}: slice {row['slice']} (seed {row['seed']}) of {where} is not the same for"
                f" {row['policy']!r} as for another policy"
            )
        anchors.append(np.nan_to_num(cost))
    return anchors


def _anchor_blocks(rows: pd.DataFrame, of: Field, where: str) -> Blocks:
    """The blocks of all traces: the same for all policies.

    Raises:
        ValueError: if they are not, or rows of one trace have not as many.
    """
    parts: list[list[Floats]] = [[], [], []]
    seeds, places = (rows[name].to_numpy(np.int64) for name in ("seed", "at"))
    for seed in np.unique(of.slices[:, 0]).tolist():
        here = seeds == seed
        _, first, at = np.unique(places[here], return_index=True, return_inverse=True)
        for name, sums in zip(ANCHOR_BLOCKS, parts, strict=True):
            column: npt.NDArray[Any] = rows[name].to_numpy()
            lists: list[Sequence[float]] = column[here].tolist()
            if len({len(one) for one in lists}) != 1:
                raise ValueError(f"{name}: {where}: expected as many blocks in each row of a trace")
            stated = np.array(lists, dtype=np.float64)
            if not np.isclose(stated, stated[first][at], rtol=TOLERANCE, atol=TOLERANCE).all():
                raise ValueError(f"{name}: seed {seed} of {where} is not the same for all policies")
            sums.append(stated[first].sum(axis=0))
    if len({tuple(map(len, sums)) for sums in parts}) != 1:
        raise ValueError(f"{where}: expected as many blocks of replay as of the bound")
    trace = np.repeat(np.arange(len(parts[0])), [len(each) for each in parts[0]])
    replay, bound, spent = (np.concatenate(each) for each in parts)
    return Blocks(trace, replay, replay - bound, spent)


def _by_block(column: Sequence[Any], seeds: Ints, where: str) -> list[Floats]:
    """Costs of the blocks of each trace, over its slices."""
    found: list[Floats] = []
    for seed in np.unique(seeds):
        rows = [column[at] for at in np.flatnonzero(seeds == seed).tolist()]
        if len({len(row) for row in rows}) != 1:
            raise ValueError(f"{where}: expected as many blocks in each row of a trace")
        found.append(np.sum(np.array(rows, dtype=np.float64), axis=0))
    return found


def _outcome(part: dict[str, npt.NDArray[Any]], of: Field) -> Cell | Failure:
    """A policy's rows, in order of training seed and slice."""
    name, seeds = part["policy"][0], np.unique(part["training_seed"])
    failed = part["status"] != OK
    if failed.any():
        first = int(np.flatnonzero(failed)[0])
        reason = str(part["reason"][first] or "")
        return Failure(str(part["status"][first]), int(failed.sum()), reason)
    same = [part[name][1:] == part[name][:-1] for name in ("training_seed", "at")]
    if np.logical_and(*same).any():
        raise ValueError(f"{name}: an episode of {of.env}, forecast {of.forecast}, is there twice")
    missing = len(seeds) * len(of.slices) - len(part["at"])
    if missing:
        return Failure("incomplete", missing, "episodes are missing")
    shape = (len(seeds), len(of.slices))
    costs = np.stack([part[term].astype(np.float64).reshape(shape) for term in TERMS])
    unknown = int(np.isnan(costs).any(axis=0).sum())
    if unknown:
        return Failure("incomplete", unknown, "costs are missing")
    where = f"{name}: {of.env}, forecast {of.forecast}"
    cost = [
        np.concatenate(_by_block(run, of.slices[:, 0], where))
        for run in part[BLOCKS].reshape(shape).tolist()
    ]
    if any(len(run) != len(of.blocks.trace) for run in cost):
        raise ValueError(f"{where}: expected {len(of.blocks.trace)} blocks, as of replay")
    alone = TracesUnits(np.arange(len(of.blocks.trace)), of.blocks.trace)
    saved = of.blocks.replay - np.array(cost)
    counted = [part[name].astype(np.float64).sum() / len(seeds) for name in ACCOUNT]
    by_block = Runs(saved, of.blocks.possible, of.blocks.spent, alone)
    return Cell(
        Runs(of.replay - costs.sum(axis=0), of.possible, of.spent, of.units, by_block),
        costs.mean(axis=1).sum(axis=1),
        dict(zip(ACCOUNT, map(float, counted), strict=True)),
        int(part["decisions"].sum()),
        int(part["illegal"].sum()),
        float(part["seconds"].sum()),
    )
