"""What a shell offers for an argument that is half typed (`failgym --install-completion`)."""

from __future__ import annotations

__all__ = ["ALGORITHM_NAMES", "algorithm_names", "environment_names", "policy_names"]

ALGORITHM_NAMES = (
    *("ppo", "maskable_ppo", "recurrent_ppo", "a2c", "dqn", "qrdqn"),
    "counterfactual",
)
"""What `failgym train --algo` takes: written down here, since to import the algorithms takes
seconds (a test compares)."""


def environment_names(incomplete: str) -> list[str]:
    """Ids of the environments that begin with what has been typed."""
    from failgym import ENVIRONMENTS

    return [f"failgym/{name}" for name in ENVIRONMENTS if f"failgym/{name}".startswith(incomplete)]


def policy_names(incomplete: str) -> list[str]:
    """Names of the baselines, and `all-baselines`, that begin with what has been typed."""
    from failgym.baselines import REGISTRY
    from failgym.cli.specs import ALL_BASELINES

    return [name for name in (*REGISTRY, ALL_BASELINES) if name.startswith(incomplete)]


def algorithm_names(incomplete: str) -> list[str]:
    """Names of the algorithms of `failgym train` that begin with what has been typed."""
    return [name for name in ALGORITHM_NAMES if name.startswith(incomplete)]
