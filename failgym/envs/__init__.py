"""Gymnasium environments: scenarios, the single and the batched environment."""

from __future__ import annotations

from failgym.envs.mitigation import MitigationEnv
from failgym.envs.scenarios import SCENARIOS, resolve
from failgym.envs.spaces import TERMS, TOTALS
from failgym.envs.vector import MitigationVectorEnv
from failgym.sim.fields import FIELDS
from failgym.worlds.scenario import Scenario

__all__ = [
    "FIELDS",
    "SCENARIOS",
    "TERMS",
    "TOTALS",
    "MitigationEnv",
    "MitigationVectorEnv",
    "Scenario",
    "resolve",
]
