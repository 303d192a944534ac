"""Gymnasium environments: scenarios, the single and the batched environment."""

from __future__ import annotations

from failgym.envs.mitigation import MitigationEnv
from failgym.envs.scenarios import SCENARIOS, resolve
from failgym.envs.select_fields import SelectFields, VectorSelectFields, varying_fields
from failgym.envs.spaces import TERMS, TOTALS, FieldBox
from failgym.envs.vector import MitigationVectorEnv
from failgym.sim.shared.fields import FIELDS
from failgym.worlds.scenario import Scenario

__all__ = [
    "FIELDS",
    "SCENARIOS",
    "TERMS",
    "TOTALS",
    "FieldBox",
    "MitigationEnv",
    "MitigationVectorEnv",
    "Scenario",
    "SelectFields",
    "VectorSelectFields",
    "resolve",
    "varying_fields",
]
