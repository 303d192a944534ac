"""What an assessment has found so far, kept so that the same command goes on after a kill."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.files import replacing
from failgym.workers.at_node import same_results

__all__ = ["FIGURES", "Played", "WorkFolder"]

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]


FIGURES = (
    *("machine_hours", "completion_hours", "forfeited", "false_kills", "rescued"),
    *("moved", "moved_by_drawn"),
)
"""Columns of `Played.figures`: machine-time and completion time saved [h]; tasks that did not
finish beyond those of the record (less those that did), that were killed although the record
finishes them, that finished although the record does not; what is saved and lost, and how much of
it rests on attempts beyond the record [machine-h] (`failgym.evaluation.savings.moved`)."""


@dataclass(frozen=True)
class Played:
    """What a policy did on the folds of a record."""

    terms: Floats
    """[rows, 5] cost by term [machine-h]"""
    past: Floats
    """[] what it saves on the past of the first fold [machine-h]; NaN if it is not played there"""
    figures: Floats
    """[folds, `FIGURES`]"""
    notes: npt.NDArray[np.str_] = field(default_factory=lambda: np.array([], dtype=np.str_))
    """folds that replay played, since nothing could be made of their past, and why"""


PACKAGES = ("numba", "numpy", "optuna", "scikit-learn", "torch", "xgboost", "xgboost-cpu")
"""Their versions decide what is tuned, learned and played."""
_COLUMNS = tuple(each.name for each in fields(Played))


class WorkFolder:
    """A folder of such findings; None keeps nothing."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self._code = same_results(PACKAGES)

    def played(self, key: dict[str, Any], play: Callable[[], Played]) -> Played:
        """What was found of a key, or is found now.

        Args:
            key: all that decides it but the code, which is added; JSON.
            play: finds it.
        """
        return Played(**self.arrays(key, lambda: vars(play()), _COLUMNS))

    def arrays(
        self, key: dict[str, Any], find: Callable[[], dict[str, Array]], names: tuple[str, ...]
    ) -> dict[str, Array]:
        """Arrays that were found of a key, or are found now.

        Args:
            key: all that decides them but the code, which is added; JSON.
            find: finds them.
            names: of the arrays.
        """
        if self.folder is None:
            return find()
        file = self.folder / f"{self._name(key)}.npz"
        kept = _read(file, names)
        if kept is not None:
            return kept
        found = find()
        self.folder.mkdir(parents=True, exist_ok=True)
        with replacing(file) as partial, partial.open("wb") as stream:
            np.savez_compressed(stream, allow_pickle=False, **found)
        return found

    def text(self, key: dict[str, Any], find: Callable[[], str]) -> str:
        """The same of a text."""
        return str(self.arrays(key, lambda: {"text": np.array(find())}, ("text",))["text"])

    def holds(self, key: dict[str, Any]) -> bool:
        """Is what was played of a key kept?"""
        if self.folder is None:
            return False
        return _read(self.folder / f"{self._name(key)}.npz", _COLUMNS) is not None

    @contextmanager
    def making(self, key: dict[str, Any]) -> Generator[Path]:
        """Where what is made for a key may keep what it has done: a folder, perhaps not there.

        Without a folder of our own it is a temporary one.
        """
        if self.folder is not None:
            yield self.folder / self._name(key)
            return
        with TemporaryDirectory(prefix="failgym-") as folder:
            yield Path(folder) / self._name(key)

    def _name(self, key: dict[str, Any]) -> str:
        text = json.dumps({**key, "code": self._code}, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:32]


def _read(file: Path, names: tuple[str, ...]) -> dict[str, Array] | None:
    """The arrays in a file; None if there is none, or it is damaged."""
    try:
        with np.load(BytesIO(file.read_bytes()), allow_pickle=False) as kept:
            return {name: kept[name] for name in names}
    except (OSError, EOFError, KeyError, TypeError, ValueError):
        return None
    except Exception as error:  # what a damaged archive raises has no common class
        if type(error).__module__ in ("zipfile", "zlib"):
            return None
        raise
