"""RLlib: environments with masks for its new API stack, PPO, and its agent as a policy file.

    pip install 'failgym[agents]' 'ray[rllib]>=2.60'

`settings_of` says what is played, `ppo_config` makes the configuration, `evaluated_on` lets RLlib
play what `failgym.evaluate` plays, and `save_agent` writes the agent to a file that
``failgym evaluate --policy FILE`` plays without Ray. What they need is imported when a name is
first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from failgym.contrib.rllib.environment import EnvSettings, make_env, settings_of
    from failgym.contrib.rllib.module import MaskedPPOModule
    from failgym.contrib.rllib.ppo import evaluated_on, ppo_config, save_agent
    from failgym.contrib.rllib.shaping import Shaping

__all__ = [
    "EnvSettings",
    "MaskedPPOModule",
    "Shaping",
    "evaluated_on",
    "make_env",
    "ppo_config",
    "save_agent",
    "settings_of",
]

_MODULES = {
    "EnvSettings": "environment",
    "MaskedPPOModule": "module",
    "Shaping": "shaping",
    "evaluated_on": "ppo",
    "make_env": "environment",
    "ppo_config": "ppo",
    "save_agent": "ppo",
    "settings_of": "environment",
}
"""Where the names are."""


def __getattr__(name: str) -> Any:
    """Import a name when it is first asked for.

    Raises:
        ImportError: without RLlib, or the extra `agents`.
    """
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = import_module(f"{__name__}.{_MODULES[name]}")
    except ModuleNotFoundError as error:
        raise ImportError(
            f"{__name__}.{name} needs other packages: pip install 'failgym[agents]'"
            " 'ray[rllib]>=2.60'"
            f" ({error})"
        ) from error
    return getattr(module, name)
