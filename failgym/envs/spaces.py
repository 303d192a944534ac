"""The spaces that every environment shares, and what its episodes report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from failgym.known_names import nearest
from failgym.sim.shared.fields import HIGH, INDEX, LOW
from failgym.vocabulary import ACTIONS, TERMS

__all__ = [
    "TERMS",
    "TOTALS",
    "FieldBox",
    "action_space",
    "columns_among",
    "columns_read",
    "fields_of",
    "names_in",
    "observation_space",
    "totals",
]

TOTALS = (
    *("useful", "lost", "redundant", "ghost", "checkpoint", "restore"),
    *("forfeited", "decisions", "illegal", "tasks", "slice"),
    *("transfer", "passes", "background"),
)
"""What an episode reports at its end. The last three are those of the scheduled world, 0 elsewhere:
machine-ms of transfers, passes of the scheduler, and tasks that are not asked about."""


def observation_space() -> spaces.Box:
    """All fields of `failgym.envs.FIELDS` as one flat box."""
    return spaces.Box(LOW, HIGH, dtype=np.float32)


class FieldBox(spaces.Box):
    """A box of some of the fields of `failgym.envs.FIELDS`, which it names.

    It goes wherever a space goes, into a model and the file of a model too: so that whoever asks
    the model knows what to show it.

    Args:
        fields: names, in the order in which they are observed.

    Raises:
        ValueError: for a field that there is not, one that is named twice, or none at all.
    """

    def __init__(self, fields: Iterable[str]) -> None:
        self.fields = names_in(fields)
        """names, in the order in which they are observed"""
        at = columns_among(self.fields, tuple(INDEX))
        super().__init__(LOW[at], HIGH[at], dtype=np.float32)

    def __repr__(self) -> str:
        """Its fields, by which it differs from others."""
        return f"FieldBox({', '.join(self.fields)})"

    def __eq__(self, other: object) -> bool:
        """Equal are boxes of the same fields in the same order."""
        return super().__eq__(other) and fields_of(other) == self.fields


def fields_of(space: object) -> tuple[str, ...] | None:
    """Names of the fields of an observation space, all where it is whole; None if it has others."""
    if isinstance(space, FieldBox):
        return space.fields
    return tuple(INDEX) if space == observation_space() else None


def names_in(fields: Any) -> tuple[str, ...]:
    """Names of fields, which may come in any collection. Raises ValueError for anything else."""
    if not isinstance(fields, str | bytes) and hasattr(fields, "__iter__"):
        names: tuple[Any, ...] = tuple(fields)
        if all(isinstance(name, str) for name in names):
            return tuple(map(str, names))
    raise ValueError(f"fields: expected names of fields, got {' '.join(repr(fields).split())}")


def columns_among(fields: Iterable[str], observed: Sequence[str]) -> npt.NDArray[np.intp]:
    """Where fields are in an observation of ``observed`` fields.

    Raises:
        ValueError: naming it, for a field that the observation lacks or that is asked for twice, or
            if none is asked for.
    """
    wanted = names_in(fields)
    for i, name in enumerate(wanted):
        if name not in observed:
            near = nearest(name, observed)
            hint = f", did you mean {near}?" if near else ""
            raise ValueError(f"fields: the observation has no {name!r}{hint}")
        if name in wanted[:i]:
            raise ValueError(f"fields: {name!r} is named twice")
    if not wanted:
        raise ValueError("fields: expected at least one")
    return np.array([observed.index(name) for name in wanted], dtype=np.intp)


def columns_read(policy: object) -> npt.NDArray[np.intp] | None:
    """Which columns of whole observations a policy reads, None for all.

    A model that has learned from selected fields names them in its ``observation_space``, as those
    of stable-baselines3 do.
    """
    space = getattr(policy, "observation_space", None)
    return columns_among(space.fields, tuple(INDEX)) if isinstance(space, FieldBox) else None


def action_space() -> spaces.Discrete:
    """The one action alphabet: CONTINUE, CLONE, CHECKPOINT, KILL, RETRY."""
    return spaces.Discrete(ACTIONS)


class _Columns(NamedTuple):
    """Which totals an episode's record tells as whole numbers of one size, and where in it."""

    number: np.dtype[Any]
    totals: npt.NDArray[np.intp]
    places: npt.NDArray[np.intp]


@cache
def _told_by(record: np.dtype[np.void]) -> tuple[dict[str, int], tuple[_Columns, ...]]:
    """Where a record tells the totals: fields by the total's position, and columns of numbers.

    Columns are those fields that stand at multiples of their size in a record that is a multiple
    of it too, as in aligned records: they are read at once.
    """
    fields: Any = record.fields
    alone = {name: TOTALS.index(name) for name in TOTALS if name in fields}
    if "own" in fields:
        alone = {name: i for name, i in alone.items() if name != "tasks"}
        alone["own"] = TOTALS.index("tasks")
    columns: list[_Columns] = []
    for number in (np.dtype(np.int32), np.dtype(np.int64)):
        size = number.itemsize
        if record.itemsize % size:
            continue
        level = [
            name for name in alone if fields[name][0] == number and fields[name][1] % size == 0
        ]
        into = np.array([alone.pop(name) for name in level], dtype=np.intp)
        places = np.array([fields[name][1] // size for name in level], dtype=np.intp)
        columns.append(_Columns(number, into, places))
    return alone, tuple(columns)


def totals(episodes: npt.NDArray[Any], at: npt.NDArray[np.intp]) -> npt.NDArray[np.int64]:
    """What the episodes ``at`` of EPISODE [N], which ended, report: [k, totals] as `TOTALS` says.

    ``tasks`` are those that are asked about and charged.
    """
    record, n = episodes.dtype, len(episodes)
    told = np.zeros((len(at), len(TOTALS)), dtype=np.int64)
    rows = at[:, np.newaxis]
    alone, columns = _told_by(record)
    for number, into, places in columns:
        told[:, into] = episodes.view(number).reshape(n, -1)[rows, places]
    for name, i in alone.items():
        told[:, i] = episodes[name][at]
    if "own" in (record.names or ()):
        told[:, TOTALS.index("background")] = episodes["tasks"][at] - episodes["own"][at]
    return told
