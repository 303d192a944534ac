"""`TrainingSettings`: how an agent is trained, for `train` and for the command `failgym train`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, get_args

from failgym.evaluation.arguments import MOST_SEED, check_count, check_threads

__all__ = ["Keep", "Shown", "TrainingSettings"]

Keep = Literal["deterministic", "stochastic"]
"""Which score the agent that is kept has the best of."""
Shown = Literal["varying", "all"]
"""Which fields of the observation an agent is shown."""
VALIDATIONS = 10
"""How often an agent is scored while it is trained, by default."""
CHECKPOINTS = 50
"""How many checkpoints are taken, by default."""


@dataclass(frozen=True)
class TrainingSettings:
    """How an agent is trained; `failgym train` has an option for each of these.

    Raises:
        ValueError: in one line, naming the setting, for one out of range; TensorBoard is not
            installed.

    >>> TrainingSettings("ppo", steps=1_000_000, hyper={"learning_rate": 1e-4}).split
    'fit'
    """

    algo: str = "maskable_ppo"
    """a name of `failgym.agents.ALGORITHMS`, or "counterfactual" (`agents.counterfactual`)"""
    _: KW_ONLY
    steps: int | None = None
    """decisions to train on, by default as many as the hyper-parameters say; rounded up to whole
    rollouts (`training.rollout_steps.steps_of`), as the result says"""
    seed: int = 0
    """of the first weights and of all that is drawn"""
    n_envs: int | None = None
    """episodes that run at once, by default those of the hyper-parameters"""
    config: str | Path | None = None
    """a YAML file of hyper-parameters (`algorithms.settings_files`); by default failgym's own"""
    hyper: Mapping[str, Any] | None = None
    """single hyper-parameters that replace those of the file"""
    split: Literal["fit", "train"] = "fit"
    """what is trained on: "fit", or all of "train"; what is validated on is part of "train", so
    that the scores mean less then"""
    fields: Shown = "varying"
    """which fields of the observation the agent is shown: those that can vary in the scenario, or
    all, for agents that play several environments"""
    validate_every: int | None = None
    """decisions between two scores; a tenth of the steps by default"""
    episodes: int | None = None
    """slices of the validation split to score on (tasks in the pinned world); all by default"""
    keep: Keep = "deterministic"
    """which score the agent that is kept has the best of: that of its best actions, which
    `failgym.evaluate` asks for by default, or that of drawn ones; early in training the best action
    is often never to interfere"""
    checkpoint_every: int | None = None
    """decisions between two checkpoints; a fiftieth of the steps by default"""
    rolling: bool = False
    """train five more agents, each on the past of a fold of the train split, and let what they do
    on these folds be the verdict (`training.rolling_origin`)?"""
    threads: int = 1
    """of torch and of the engine; 0: as many as there are processors; with 1 a run repeats bit for
    bit"""
    tensorboard: bool = False
    """write what stable-baselines3 logs to ``tensorboard`` in the run's folder?"""

    def __post_init__(self) -> None:
        for name in ("steps", "n_envs", "validate_every", "episodes", "checkpoint_every"):
            if getattr(self, name) is not None:
                self._set(name, check_count(name, getattr(self, name), 1))
        self._set("seed", check_count("seed", self.seed, 0, MOST_SEED))
        self._set("threads", check_threads(self.threads))
        if self.rolling and self.split != "fit":
            raise ValueError(
                "rolling: expected split 'fit': the folds are parts of the train split"
            )
        if self.split not in ("fit", "train"):
            raise ValueError(f"split: expected 'fit' or 'train', got {self.split!r}")
        for name, choice in (("keep", Keep), ("fields", Shown)):
            if getattr(self, name) not in get_args(choice):
                known = ", ".join(get_args(choice))
                raise ValueError(f"{name}: expected one of {known}, got {getattr(self, name)!r}")
        if self.tensorboard and find_spec("tensorboard") is None:
            raise ValueError("tensorboard: is not installed: pip install tensorboard")

    def _set(self, name: str, value: int) -> None:
        """Hold a number as Python's own, whatever library it came from."""
        object.__setattr__(self, name, value)

    def validate_every_of(self, steps: int) -> int:
        """Decisions between two scores, of so many in all."""
        return self.validate_every or -(-steps // VALIDATIONS)

    def checkpoint_every_of(self, steps: int) -> int:
        """Decisions between two checkpoints, of so many in all."""
        return self.checkpoint_every or -(-steps // CHECKPOINTS)

    def __str__(self) -> str:
        """The call that makes these settings, with those only that are not the default."""
        named = {f.name: (getattr(self, f.name), f.default) for f in fields(self)}
        given = [f"{name}={value!r}" for name, (value, usual) in named.items() if value != usual]
        return f"TrainingSettings({', '.join(given)})"
