"""What the files of policies say of themselves, where these files are at hand.

A submission states the hash of each file, and does not hold it. A file that has this hash is what
was stated to have been played; what it says of its training its author wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from failgym.leaderboard.submission.records import PolicyFile, PolicyRecord, file_sha256
from failgym.leaderboard.submission.specs import is_at_hand

__all__ = ["Describe", "PolicyFiles"]

Describe = Callable[[Path], Mapping[str, Any]]
"""What a policy's file says of its training, by name: texts, numbers, and lists and objects of
these. Raises ValueError if it is no such file."""


@dataclass
class PolicyFiles:
    """Finds the files that submissions state.

    Args:
        folders: where they may lie, at any depth.
        describe: reads what one says of itself; it is the command's: this package imports no agent.

    Raises:
        ValueError: for a folder that is none.
    """

    folders: Sequence[Path]
    describe: Describe
    _by_name: dict[str, list[Path]] = field(init=False, default_factory=dict[str, list[Path]])

    def __post_init__(self) -> None:
        for folder in self.folders:
            if not folder.is_dir():
                raise ValueError(f"{folder}: expected a folder of policies' files")
            for path in sorted(folder.rglob("*")):
                if path.suffix in (".json", ".safetensors") and path.is_file():
                    self._by_name.setdefault(path.name, []).append(path)

    def said(self, policy: PolicyRecord) -> dict[PolicyFile, Mapping[str, Any] | str]:
        """What each file of a policy says of itself; a text says why nothing is known of it."""
        found: dict[PolicyFile, Mapping[str, Any] | str] = {}
        for env, file in policy.files.items():
            if file not in found:
                found[file] = self._said(policy.specs[env], file)
        return found

    def _said(self, spec: str, file: PolicyFile) -> Mapping[str, Any] | str:
        for path in self._candidates(spec, file):
            try:
                if file_sha256(path) == file.sha256:
                    return self.describe(path)
            except OSError:
                continue  # it is not at hand after all
            except ValueError as error:
                return f"cannot be read: {str(error).replace(str(path), file.name)}"
        return "is not at hand: only its hash is known"

    def _candidates(self, spec: str, file: PolicyFile) -> Iterator[Path]:
        """Files of that name; the one that the run read first, if it lies where it did."""
        if Path(spec).name == file.name and is_at_hand(spec):
            yield Path(spec)
        yield from self._by_name.get(file.name, [])
