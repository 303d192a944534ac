"""PPO's module of RLlib with action masking, as RLlib's own examples have it.

Observations are normalised in the module, by a mean and a variance that do not change: what samples
and what learns need not be kept in step, and a policy file says the same.
"""

# Ray annotates what it returns incompletely.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false, reportUntypedBaseClass=false

from __future__ import annotations

from typing import Any

import torch
from ray.rllib.algorithms.ppo.torch.default_ppo_torch_rl_module import DefaultPPOTorchRLModule
from ray.rllib.core.columns import Columns

from failgym.contrib.masks import MASK, OBSERVATIONS

__all__ = ["BIAS", "SCALING", "MaskedPPOModule"]

SCALING, BIAS = "scaling", "initial_bias"
"""Entries of the model config beside RLlib's own: mean, variance, epsilon and clip of what is
observed; and what is added to the logits of the five actions to begin with."""
ILLEGAL = -1e8
"""Logit of what is masked, as in sb3-contrib."""


class MaskedPPOModule(DefaultPPOTorchRLModule):
    """Actor and critic on the observations of a Dict; illegal actions have no chance.

    Args:
        observation_space: a Dict, of `failgym.contrib.masks.masked_space`.
        more: as RLlib's own module takes it.
    """

    def __init__(self, *, observation_space: Any, **more: Any) -> None:
        self.masked_space = observation_space
        super().__init__(observation_space=observation_space[OBSERVATIONS], **more)

    def setup(self) -> None:
        """Make the networks."""
        super().setup()
        self.observation_space = self.masked_space
        config: Any = self.model_config
        scaling = config[SCALING]
        for name in ("mean", "variance"):
            values = torch.as_tensor(scaling[name], dtype=torch.float64)
            self.register_buffer(f"observed_{name}", values)
        self.epsilon, self.clip = scaling["epsilon"], scaling["clip"]
        with torch.no_grad():
            self.pi.net.mlp[-1].bias += torch.as_tensor(config[BIAS], dtype=torch.float32)

    def _shown(self, batch: dict[str, Any]) -> dict[str, Any]:
        """A batch with normalised observations in place of the Dict."""
        raw = batch[Columns.OBS][OBSERVATIONS].double()
        scaled = (raw - self.observed_mean) / torch.sqrt(self.observed_variance + self.epsilon)
        return {**batch, Columns.OBS: scaled.clip(-self.clip, self.clip).float()}

    def _masked(self, batch: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
        """Outputs with the logits of illegal actions far below the others."""
        legal = batch[Columns.OBS][MASK] > 0
        logits = found[Columns.ACTION_DIST_INPUTS]
        return {
            **found,
            Columns.ACTION_DIST_INPUTS: torch.where(
                legal, logits, torch.full_like(logits, ILLEGAL)
            ),
        }

    def _forward(self, batch: dict[str, Any], **more: Any) -> dict[str, Any]:
        return self._masked(batch, super()._forward(self._shown(batch), **more))

    def _forward_train(self, batch: dict[str, Any], **more: Any) -> dict[str, Any]:
        return self._masked(batch, super()._forward_train(self._shown(batch), **more))

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> Any:
        """Values of the observations, [batch]."""
        return super().compute_values(self._shown(batch), embeddings)
