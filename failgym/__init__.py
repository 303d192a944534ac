"""failgym: Gymnasium environments that replay cluster traces.

An agent decides for each task whether to clone it, checkpoint it, kill it after a grace period or
retry it. Importing failgym registers the environments and loads nothing heavy; the names that
policies are written with are imported when they are first asked for.
"""

from __future__ import annotations

from failgym.interrupted import exit_in_a_line

exit_in_a_line()  # what is imported from here on takes a second
from importlib import import_module  # noqa: E402
from typing import TYPE_CHECKING, Any  # noqa: E402

from failgym.registration import (  # noqa: E402
    SCENARIO_FILES,
    environments_of,
    register_environments,
)

if TYPE_CHECKING:
    from failgym.baselines import Heuristic, ObservationView
    from failgym.baselines.base import choose
    from failgym.envs import Scenario
    from failgym.evaluation import evaluate
    from failgym.policy import Policy
    from failgym.vocabulary import Action

__all__ = [
    "ENVIRONMENTS",
    "Action",
    "Heuristic",
    "ObservationView",
    "Policy",
    "Scenario",
    "__version__",
    "choose",
    "evaluate",
]

__version__ = "1.0.0rc1"

ENVIRONMENTS = environments_of(SCENARIO_FILES)
"""Names of the registered scenarios (`failgym.envs.SCENARIOS`)."""

register_environments(ENVIRONMENTS)

_HOMES = {
    "Action": "failgym.vocabulary",
    "Heuristic": "failgym.baselines",
    "ObservationView": "failgym.baselines",
    "Policy": "failgym.policy",
    "Scenario": "failgym.envs",
    "choose": "failgym.baselines.base",
    "evaluate": "failgym.evaluation",
}
"""Where the names are."""


def __getattr__(name: str) -> Any:
    """Import a name when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
