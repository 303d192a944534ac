"""The folder of a training run: what is trained, how far it is, and what came out.

| file | holds |
|---|---|
| run.json | what is trained: environment, algorithm, seed, all hyper-parameters |
| settings.yaml | the hyper-parameters, to be used again with ``--config`` |
| checkpoint.pt | what training goes on with (`failgym.agents.training.checkpoints`) |
| evaluations.json | the scores on the validation split so far |
| round-N.safetensors, round-N.json | what counterfactual learning knew after a round; its time |
| best.safetensors | the best agent so far, a policy file |
| result.json | scores, times and versions, once training is over |
"""

from __future__ import annotations

import json
import os
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, cast

from failgym.agents.algorithms.learner import Hyper
from failgym.agents.algorithms.settings_files import save_settings
from failgym.agents.training.run_names import BEST, FORMAT, RUN
from failgym.files import PARTIAL, replacing

__all__ = ["RunFolder", "described_run"]

VERSION = 1

Document = dict[str, Any]


class RunFolder:
    """The files of a run.

    Args:
        path: the folder.

    Raises:
        ValueError: if that is no path.
    """

    def __init__(self, path: str | Path) -> None:
        given: Any = path  # whatever its caller's types say
        if not isinstance(given, str | Path):
            raise ValueError(f"out: expected the path of a folder, got {given!r}")
        self.path = Path(path)
        self.run = self.path / RUN
        self.settings = self.path / "settings.yaml"
        self.checkpoint = self.path / "checkpoint.pt"
        self.evaluations = self.path / "evaluations.json"
        self.best = self.path / BEST
        self.result = self.path / "result.json"
        self.tensorboard = self.path / "tensorboard"

    def round(self, number: int) -> Path:
        """What was learned up to the end of a round, of counterfactual learning."""
        return self.path / f"round-{number}.safetensors"

    def begin(self, run: Document, settings: Hyper) -> None:
        """Make the folder of a new run.

        Raises:
            ValueError: if there is something of this name already.
            OSError: if it cannot be written.
        """
        self.check_new()
        self.path.mkdir(parents=True, exist_ok=True)
        save_settings(settings, self.settings)
        write_json(self.run, {"format": FORMAT, "version": VERSION, **run})

    def discard(self) -> None:
        """Undo `begin`: the run cannot be."""
        for file in (self.run, self.settings):
            file.unlink(missing_ok=True)
        if not self._holds_anything():
            self.path.rmdir()

    @property
    def begun(self) -> bool:
        """Is there a run?"""
        return self.run.exists()

    @property
    def scored(self) -> int:
        """Decisions up to the last score that is written down; 0 before the first."""
        try:
            scores: Any = json.loads(self.evaluations.read_text(encoding="utf-8"))
            return int(scores[-1]["steps"])
        except (OSError, ValueError, LookupError, TypeError):
            return 0

    @property
    def rounds(self) -> int:
        """Rounds of counterfactual learning that are finished."""
        return len(list(self.path.glob(self.round(0).name.replace("0", "*"))))

    def check_new(self) -> None:
        """Raise ValueError unless there is nothing of this name, or an empty folder."""
        if self.run.exists():
            raise ValueError(f"{self.path}: holds a training run: go on with it with --resume")
        if self.path.exists() and (not self.path.is_dir() or self._holds_anything()):
            raise ValueError(f"{self.path}: exists already: expected a new folder")
        parent = next(p for p in self.path.absolute().parents if p.exists())
        if not parent.is_dir() or not os.access(parent, os.W_OK):
            raise ValueError(f"{self.path}: {parent} cannot be written to")

    def _holds_anything(self) -> bool:
        """Is there anything but what a process left that was killed when it began?"""
        files = (file for file in self.path.iterdir() if file != self.settings)
        return any(not fnmatch(file.name, PARTIAL) for file in files)

    def described(self) -> Document:
        """What is trained here, as `begin` wrote it. Raises ValueError if nothing is."""
        if not self.run.is_file():
            raise ValueError(
                f"{self.path}: no training run to go on with; leave out --resume to begin one"
            )
        found = read_json(self.run)
        if found.pop("format", None) != FORMAT:
            raise ValueError(f"{self.run}: not a training run")
        if (version := found.pop("version", None)) != VERSION:
            raise ValueError(f"{self.run}: format version {version!r}, expected {VERSION}")
        return found

    def check_same(self, run: Document) -> None:
        """Raise ValueError, naming the first difference, unless this is what is trained here."""
        before, now = _flat(self.described()), _flat(run)
        before.pop("command", None)
        for name in (*before, *now):
            if before.get(name) != now.get(name):
                was, is_now = (_shown(flat.get(name)) for flat in (before, now))
                raise ValueError(
                    f"{self.path}: this run was started with {name}={was}, and now {is_now} is"
                    " asked for: use the same options, or another folder"
                )


def described_run(
    env: Document, algorithm: str, settings: Hyper, trace_hash: str, **more: Any
) -> Document:
    """What makes a run the one that it is; JSON values."""
    return {
        "env": env["id"],
        "algo": algorithm,
        "fields": env["fields"],
        "trace_hash": trace_hash,
        **more,
        "settings": settings.model_dump(),
    }


def write_json(path: Path, content: Any) -> None:
    """Write JSON, whole or not at all. Raises OSError."""
    with replacing(path) as partial:
        partial.write_text(json.dumps(content, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def read_json(path: Path) -> Document:
    """Read a JSON object. Raises ValueError, naming the file."""
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: expected JSON") from error
    if not isinstance(content, dict):
        raise ValueError(f"{path}: expected an object")
    return cast(Document, content)


def _flat(document: Document, above: str = "") -> Document:
    """Values by their path."""
    flat: Document = {}
    for name, value in document.items():
        if isinstance(value, dict):
            flat |= _flat(cast(Document, value), f"{above}{name}.")
        else:
            flat[f"{above}{name}"] = value
    return flat


def _shown(value: Any) -> str:
    return "unset" if value is None else json.dumps(value)
