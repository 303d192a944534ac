"""Learned agents. They need stable-baselines3 and torch: `pip install 'failgym[agents]'`.

`make_sb3_env` makes environments for stable-baselines3 and sb3-contrib, `train` trains an agent by
`TrainingSettings` as the command `failgym train` does, `load_agent` and `save_policy` read and
write its file. What they need is imported when a name is first asked for, so that
`import failgym.agents` works everywhere.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from failgym.agents.algorithms.registry import ALGORITHMS
    from failgym.agents.environments.masks import require_masks
    from failgym.agents.environments.vec_env import BatchedVecEnv, make_sb3_env
    from failgym.agents.files.policy_file import load_agent, read_manifest
    from failgym.agents.files.writing import save_policy
    from failgym.agents.training.train import train
    from failgym.agents.training.training_settings import TrainingSettings

__all__ = [
    "ALGORITHMS",
    "BatchedVecEnv",
    "TrainingSettings",
    "load_agent",
    "make_sb3_env",
    "read_manifest",
    "require_masks",
    "save_policy",
    "train",
]

_MODULES = {
    "ALGORITHMS": "algorithms.registry",
    "BatchedVecEnv": "environments.vec_env",
    "load_agent": "files.policy_file",
    "make_sb3_env": "environments.vec_env",
    "read_manifest": "files.policy_file",
    "require_masks": "environments.masks",
    "save_policy": "files.writing",
    "TrainingSettings": "training.training_settings",
    "train": "training.train",
}
"""Where the names are."""


def __getattr__(name: str) -> Any:
    """Import a name when it is first asked for.

    Raises:
        ImportError: without the extra `agents`.
    """
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = import_module(f"{__name__}.{_MODULES[name]}")
    except ModuleNotFoundError as error:
        raise ImportError(
            f"{__name__}.{name} needs other packages: pip install 'failgym[agents]' ({error})"
        ) from error
    return getattr(module, name)
