"""What an actor's best actions are, without what stable-baselines3 does around its network.

`predict` of stable-baselines3 takes a millisecond for one observation as for a hundred: most of it
makes and checks a distribution that nobody draws from. In the scheduled world, where few episodes
are open at once, that was more than half of the time that an agent took to answer.

The logits are worked out by numpy, which takes far less time for a small batch than torch. Both
round, each in its way. How far they can be apart is bounded (`Rounding`), and where two actions are
nearer to each other than that, torch is asked: the operations on tensors are those that stand
behind `predict`, in their order. So answers are the same to the bit, ties included.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.policies import ActorCriticPolicy, BasePolicy
from torch import nn

from failgym.agents.networks.rounding import Rounding

__all__ = ["Actor"]

Floats = npt.NDArray[np.float32]

ILLEGAL = -1e8
"""Logit of what is masked, as in sb3-contrib's `MaskableCategorical`."""
PLAIN = (ActorCriticPolicy, MaskableActorCriticPolicy)
LARGEST = 1e6
"""Larger logits are left to torch: `ILLEGAL` is not below all of them."""
PRODUCTS = 1 << 18
"""Multiplications of a product of matrices up to which OpenBLAS, which numpy comes with, leaves it
to one thread. With more it wakes others, and to wait for them takes longer than the product."""
FEWEST_ROWS = 16
"""Networks of which numpy would have to take fewer rows at once are left to torch."""


def _relu(values: Floats) -> Floats:
    return np.maximum(values, np.float32(0.0))


SQUASHES: dict[type[nn.Module], Callable[[Floats], Floats]] = {nn.Tanh: np.tanh, nn.ReLU: _relu}
"""Activations that numpy has; of others torch works out everything."""


@dataclass(frozen=True)
class Actor:
    """An actor of stable-baselines3 or sb3-contrib that is an MLP without a memory."""

    network: BasePolicy
    layers: tuple[tuple[Floats, Floats], ...]
    """weights [inputs, outputs] and biases [outputs] of all layers, the last one of logits; none if
    the activation is not of `SQUASHES`"""
    squash: Callable[[Floats], Floats]
    """the activation"""

    @classmethod
    def of(cls, network: object) -> Actor | None:
        """The actor of a network as it is now; None if it is no such."""
        if type(network) not in PLAIN:
            return None
        own: Any = network
        modules: list[nn.Module] = [*own.mlp_extractor.policy_net, own.action_net]
        linear = [one for one in modules if isinstance(one, nn.Linear)]
        kinds = {type(one) for one in modules if not isinstance(one, nn.Linear)}
        known = len(kinds) == 1 and kinds <= SQUASHES.keys()
        layers = [(_array(one.weight).T.copy(), _array(one.bias)) for one in linear]
        return cls(own, tuple(layers) if known else (), SQUASHES[kinds.pop()] if known else _relu)

    def best_actions(
        self,
        shown: Floats,
        legal: npt.NDArray[np.bool_] | None = None,
        wanted: npt.NDArray[np.bool_] | None = None,
    ) -> npt.NDArray[np.int64] | None:
        """The actions that the network's ``predict(..., deterministic=True)`` chooses.

        Args:
            shown: float32 [batch, fields].
            legal: [batch, actions], or as many in a row, for a network that was trained with masks.
            wanted: [batch] whose are asked for; the others are any. None: all.

        Returns:
            int64 [batch]; None where a logit is no finite number (of rows that are not wanted,
            perhaps): `predict` says so in its own way.
        """
        if not self.rows:
            return self._by_torch(shown, legal)
        asked = slice(None) if wanted is None else np.flatnonzero(wanted)
        logits = self.logits(shown[asked])
        largest = float(np.abs(logits).max(initial=0.0))
        if not largest < LARGEST:
            return self._by_torch(shown, legal)
        if legal is not None:
            masked = legal.reshape(len(shown), logits.shape[1])[asked]
            logits = np.where(masked, logits, np.float32(-np.inf))
        best = logits.argmax(axis=1)
        rows = np.arange(len(best))
        most = logits[rows, best]
        logits[rows, best] = -np.inf
        sure = most > logits.max(axis=1) + self.rounding.apart(shown[asked], largest)
        if not sure.all():
            exact = self._by_torch(shown, legal)
            if exact is None:
                return None
            best = np.where(sure, best, exact[asked])
        found = np.zeros(len(shown), dtype=np.int64)
        found[asked] = best
        return found

    def logits(self, shown: Floats) -> Floats:
        """What numpy makes of them, float32 [batch, actions]."""
        if len(shown) <= self.rows:
            return self._logits(shown)
        parts = range(0, len(shown), self.rows)
        return np.concatenate([self._logits(shown[first : first + self.rows]) for first in parts])

    def _logits(self, shown: Floats) -> Floats:
        *hidden, last = self.layers
        with np.errstate(over="ignore", invalid="ignore"):
            for weights, bias in hidden:
                shown = self.squash(shown @ weights + bias)
            return shown @ last[0] + last[1]

    @cached_property
    def rounding(self) -> Rounding:
        """How far numpy's logits can be from torch's."""
        return Rounding.of(self.layers, self.squash is np.tanh)

    @cached_property
    def rows(self) -> int:
        """How many numpy takes at once, 0 if torch shall take all."""
        if not self.layers:
            return 0
        rows = PRODUCTS // max(weights.size for weights, _ in self.layers)
        return rows if rows >= FEWEST_ROWS else 0

    def _by_torch(
        self, shown: Floats, legal: npt.NDArray[np.bool_] | None
    ) -> npt.NDArray[np.int64] | None:
        own: Any = self.network
        with torch.inference_mode():
            latent = own.mlp_extractor.forward_actor(torch.as_tensor(shown))
            logits: Any = own.action_net(latent)
            if not bool(torch.isfinite(logits).all()):
                return None
            if legal is not None:
                masked = torch.as_tensor(legal).reshape(logits.shape)
                logits = torch.where(masked, _normalised(logits), torch.tensor(ILLEGAL))
            chances = torch.softmax(_normalised(logits), dim=-1)
            return chances.argmax(dim=1).numpy()


def _array(weights: torch.Tensor) -> Floats:
    return weights.detach().cpu().numpy().copy()


def _normalised(logits: Any) -> Any:
    """As `torch.distributions.Categorical` keeps them."""
    return logits - logits.logsumexp(dim=-1, keepdim=True)
