"""failgym: Gymnasium environments that replay cluster traces.

An agent decides for each task whether to clone it, checkpoint it, kill it after a grace period or
retry it. Importing failgym registers the environments and loads nothing heavy.
"""

from __future__ import annotations

from failgym.interrupted import exit_in_a_line

exit_in_a_line()  # what is imported from here on takes a second
from typing import TYPE_CHECKING, Any  # noqa: E402

from gymnasium.envs.registration import (  # noqa: E402
    register,  # pyright: ignore[reportUnknownVariableType]
    registry,
)

if TYPE_CHECKING:
    from failgym.evaluation import evaluate

__all__ = ["ENVIRONMENTS", "__version__", "evaluate"]

__version__ = "0.1.0"

ENVIRONMENTS = (
    *("Cloning-v0", "GracePeriod-v0", "Checkpoint-v0"),
    *("Lineage-v0", "Workflow-v0", "Mitigation-v0"),
)
"""Names of the registered scenarios (`failgym.envs.SCENARIOS`)."""

for _name in ENVIRONMENTS:
    if f"failgym/{_name}" not in registry:
        register(
            id=f"failgym/{_name}",
            entry_point="failgym.envs.mitigation:MitigationEnv",
            vector_entry_point="failgym.envs.vector:MitigationVectorEnv",
            kwargs={"scenario": _name},
        )


def __getattr__(name: str) -> Any:
    """Import `evaluate` when it is first asked for."""
    if name == "evaluate":
        from failgym.evaluation import evaluate

        return evaluate
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
