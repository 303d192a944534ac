"""What was found, kept episode by episode beside the compiled worlds: a search that is killed goes
on where it was.

An episode is kept under all that decides its world, the number of its slice, the measures and the
effort, and the sources of this package. What is read is only a suggestion: it is played again, and
what it costs then counts.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from failgym.evaluation.oracle.rules import Allowed
from failgym.evaluation.oracle.search import Effort, Found
from failgym.files import replacing
from failgym.vocabulary import ACTIONS, TERMS
from failgym.world_cache.folder import cache_folder, oracle_name, size_limit
from failgym.world_cache.key import key_of
from failgym.worlds.forecast import makers
from failgym.worlds.scenario import Scenario

__all__ = ["Store"]


@cache
def _sources() -> str:
    """SHA-256 of the sources of this package; "" if they cannot be read."""
    content = hashlib.sha256()
    try:
        for path in sorted(Path(__file__).parent.glob("*.py")):
            content.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    except OSError:
        return ""
    return content.hexdigest()


class Store:
    """The episodes of a scenario that were found before.

    Nothing is kept where no world is: without a folder, or for what is made by code from elsewhere.

    Args:
        scenario: the scenario, with its split.
        allowed: the answers that were allowed.
        effort: what was tried on each episode.
    """

    def __init__(self, scenario: Scenario, allowed: Allowed, effort: Effort) -> None:
        self._folder = cache_folder() if size_limit() else None
        own = type(scenario.kind).__module__.partition(".")[0] == "failgym"
        world = key_of(scenario, makers(scenario)) if self._folder and own else None
        if world is None or not _sources():
            self._folder = None
        decided = [world, sorted(allowed), asdict(effort), _sources()]
        self._key = hashlib.sha256(json.dumps(decided).encode()).hexdigest()

    def get(self, chosen: int, bound: float) -> Found | None:
        """What was found on a slice with this bound; None if nothing was, or it cannot be read."""
        if self._folder is None:
            return None
        try:
            document = json.loads(self._file(self._folder, chosen).read_text("ascii"))
            if document["bound"] != bound.hex():
                return None
            return _found(document)
        except (OSError, ValueError, TypeError, LookupError, AttributeError, OverflowError):
            return None

    def put(self, chosen: int, bound: float, found: Found) -> None:
        """Keep what was found on a slice, if the disk has room for it."""
        if self._folder is None:
            return
        document = {
            "bound": bound.hex(),
            "costs": [cost.hex() for cost in found.costs.tolist()],
            "choices": [list(choice) for choice in found.choices],
            "decisions": found.decisions,
            "plays": found.plays,
        }
        with contextlib.suppress(OSError), replacing(self._file(self._folder, chosen)) as partial:
            partial.write_text(json.dumps(document), "ascii")

    def _file(self, folder: Path, chosen: int) -> Path:
        return folder / oracle_name(self._key, chosen)


def _found(document: Any) -> Found:
    """What a document says. Raises ValueError, TypeError or LookupError for what is no such."""
    costs = np.array([float.fromhex(cost) for cost in document["costs"]])
    choices = tuple((int(number), int(action)) for number, action in document["choices"])
    legal = all(0 < action < ACTIONS for _, action in choices)
    numbers = [number for number, _ in choices]
    if costs.shape != (len(TERMS),) or not legal or numbers != sorted(set(numbers)):
        raise ValueError("not what was found on an episode")
    return Found(costs, choices, int(document["decisions"]), int(document["plays"]))
