"""The folder of a run of all experiments: what is finished stays finished, whenever it is killed.

``<name>.json`` is what an experiment's own ``--json`` writes, and the key of all that it follows
from; ``<name>.png`` its picture; ``<name>.log`` what one printed that failed.
"""

from __future__ import annotations

import fcntl
import importlib
import json
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from experiments.reproduction import Experiment
from experiments.reproduction.catalogue import Catalogue
from experiments.reproduction.processes import SHARE
from failgym.cli.output import JsonFile
from failgym.evaluation.progress import Advance
from failgym.files import PARTIAL

__all__ = ["Store", "Task"]

WRITTEN = {"key", "picture", "paper", "item", "title", "kind", "seeds", "per", "rows", "seconds"}
"""Entries of a result that are read again."""


@dataclass(frozen=True)
class Store:
    """Results in a folder."""

    folder: Path

    @contextmanager
    def locked(self) -> Generator[None]:
        """Hold the folder, made if need be, against other runs; the system lets go if we die.

        Raises:
            ValueError: if another run holds it, or it cannot be one.
        """
        if self.folder.exists() and not self.folder.is_dir():
            raise ValueError(f"--out {self.folder}: exists and is not a folder")
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / ".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ValueError(f"--out {self.folder}: another run is at work in it") from None
            for left in (*self.folder.glob(PARTIAL), *self.folder.glob(SHARE)):
                left.unlink(missing_ok=True)
            yield

    def file(self, name: str, kind: str = "json") -> Path:
        """Where the result of an experiment is, or its picture ("png") or log ("log")."""
        return self.folder / f"{name}.{kind}"

    def load(self, name: str) -> dict[str, Any] | None:
        """What an experiment found when it was last run here; None if it was not.

        A file that is no such result counts as none, whoever damaged it.
        """
        try:
            found: Any = json.loads(self.file(name).read_text("utf-8"))
        except (FileNotFoundError, ValueError):
            return None
        if not isinstance(found, dict) or not cast(dict[str, Any], found).keys() >= WRITTEN:
            return None
        return cast(dict[str, Any], found)

    def fresh(self, name: str, key: str) -> bool:
        """Is there a result of this very code and these options, with its picture if it has one?"""
        found = self.load(name)
        if found is None or found["key"] != key:
            return False
        return not found["picture"] or self.file(name, "png").is_file()


@dataclass(frozen=True)
class Task:
    """Runs experiments and stores what they find; other processes are given it."""

    catalogue: Catalogue
    store: Store
    keys: dict[str, str]
    """of each experiment"""
    quick: bool = False
    traces: Path | None = None

    def files(self, names: Sequence[str]) -> list[Path]:
        """What experiments are made of: modules, and the traces that they may read."""
        found = [file for name in names for file in self.catalogue.files(name).values()]
        found += [] if self.traces is None else sorted(self.traces.glob("*/meta.json"))
        return list(dict.fromkeys(found))

    def __call__(self, name: str, steps: Callable[[int], None], advance: Advance) -> None:
        """Run one; its result is there when all of it is."""
        experiment: Any = importlib.import_module(f"{self.catalogue.package}.{name}").EXPERIMENT
        assert isinstance(experiment, Experiment)
        options = experiment.options(self.quick, self.traces)
        steps(experiment.steps(options))
        begun = time.perf_counter()
        measured = experiment.measure(options, advance)
        result = experiment.result(measured, options, time.perf_counter() - begun)
        picture = self.store.file(name, "png")
        picture.unlink(missing_ok=True)
        experiment.picture(measured, picture)
        file = JsonFile.at(self.store.file(name))
        file.write({"key": self.keys[name], "picture": experiment.draw is not None, **result})
