"""Policies that are made anew for each fold, from its past alone: tuned rules and learned agents.

What is made for a fold knows nothing of it. What would be used from now on is made in the same way
from the whole record; nothing is known of it but how its like did on the folds.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from failgym.baselines import Heuristic
from failgym.baselines.search import search_space
from failgym.baselines.stored import load_heuristic, save_heuristic
from failgym.envs import Scenario
from failgym.files import replacing
from failgym.policy import Policy
from failgym.worlds.source import version_of

if TYPE_CHECKING:
    from failgym.tuning import Grounds

__all__ = ["Learned", "Maker", "Tuned", "forget", "of_all"]

TRIALS = 30
"""Sets of parameters that are tried for a rule on each past."""
EPISODES = 4_000
"""Tasks of each past that they are tried on."""
_NEARLY_ALL = 0.999


class Maker(Protocol):
    """Makes a policy from what is known before a fold."""

    def make(self, scenario: Scenario, folder: Path) -> Policy:
        """A policy that was made from the train split of a scenario.

        Args:
            scenario: of a fold.
            folder: what is done stays there, and the same call goes on with it.

        Raises:
            ValueError: if nothing can be made of it.
        """
        ...

    def save(self, scenario: Scenario, folder: Path, path: Path) -> Path:
        """Make one, and write it to a file that ``--policy`` takes.

        Args:
            scenario: whose train split it is made from.
            folder: as for `make`.
            path: of the file, without its ending.

        Returns:
            The file.

        Raises:
            ValueError: if nothing can be made of it.
            OSError: if the file cannot be written.
        """
        ...


@dataclass(frozen=True)
class Tuned:
    """A rule with the parameters that `failgym.tuning.tune` finds, or its own."""

    rule: Heuristic

    @property
    def tunable(self) -> bool:
        """Does it have parameters to tune?"""
        return bool(search_space(type(self.rule)))

    def make(self, scenario: Scenario, folder: Path) -> Heuristic:
        """See `Maker`."""
        folder.mkdir(parents=True, exist_ok=True)
        made = folder / "made.json"
        if (kept := _kept(made)) is not None and type(kept) is type(self.rule):
            return kept
        found = self._tuned(scenario)
        save_heuristic(found, made, about={"env": scenario.name})
        return found

    def _tuned(self, scenario: Scenario) -> Heuristic:
        """Trials are not kept: all take seconds, and half as long again if a file keeps them."""
        from failgym.tuning import tune

        grounds = _grounds(scenario, version_of(scenario.trace))
        if isinstance(grounds, str):
            raise ValueError(grounds)
        return tune(self.rule, grounds, trials=TRIALS).policy

    def save(self, scenario: Scenario, folder: Path, path: Path) -> Path:
        """See `Maker`."""
        file = path.with_suffix(".json")
        save_heuristic(self.make(scenario, folder), file, about={"env": scenario.name})
        return file


def _kept(file: Path) -> Heuristic | None:
    """The rule that was made before; None if there is none, or its file was damaged."""
    try:
        return load_heuristic(file)
    except ValueError:
        return None


@lru_cache(maxsize=1)
def _grounds(scenario: Scenario, version: str) -> Grounds | str:
    """The past of a fold as rules are tried on it, drawn once for all rules; or why it is none."""
    from failgym.tuning import Grounds

    try:
        return Grounds.of(scenario, episodes=EPISODES)
    except ValueError as error:
        return str(error)


def forget() -> None:
    """Let the past of the last fold go: it takes much room."""
    _grounds.cache_clear()


@dataclass(frozen=True)
class Learned:
    """An agent that learned, of what was before, what each answer would have cost.

    See `failgym.agents.counterfactual`.
    """

    def make(self, scenario: Scenario, folder: Path) -> Policy:
        """See `Maker`."""
        from failgym.agents import load_agent

        return load_agent(_trained(scenario, folder))

    def save(self, scenario: Scenario, folder: Path, path: Path) -> Path:
        """See `Maker`."""
        file, trained = path.with_suffix(".safetensors"), _trained(scenario, folder)
        with replacing(file) as partial:
            shutil.copyfile(trained, partial)
        return file


def _trained(scenario: Scenario, folder: Path) -> Path:
    """The file of an agent of the train split, which is trained unless that is done."""
    from failgym.agents import TrainingSettings, train
    from failgym.agents.training.run_folder import RunFolder

    folder.parent.mkdir(parents=True, exist_ok=True)
    settings = TrainingSettings("counterfactual")
    return train(scenario, folder, settings, resume=RunFolder(folder).begun).policy


def of_all(scenario: Scenario) -> Scenario:
    """The same, so that nearly all of the record is the past."""
    return scenario.override(fold=0, boundary=_NEARLY_ALL)
