"""`MitigationVectorEnv`: N episodes at once, behind Gymnasium's `VectorEnv`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from failgym.envs.mitigation import chosen_slice
from failgym.envs.scenario import Scenario
from failgym.envs.scenarios import resolve
from failgym.envs.spaces import TERMS, action_space, observation_space, totals
from failgym.envs.worlds import build_world
from failgym.sim.batch import Batch
from failgym.sim.records import ACTIONS, Output

__all__ = ["MitigationVectorEnv"]

_KEYS = 2**63


class MitigationVectorEnv(
    VectorEnv[npt.NDArray[np.float32], npt.NDArray[np.int64], npt.NDArray[Any]]
):
    """The batched twin of `MitigationEnv`: the same trajectories from the same seeds, bit for bit.

    An episode that ends begins anew in the same step (SAME_STEP): `info["final_obs"]` and
    `info["final_info"]` hold what it ended with. Observations, rewards and masks are written to two
    sets of arrays in turn, without a copy: what a step returned is overwritten by the step after
    next.

    Args:
        scenario: a registered name or a `Scenario`.
        num_envs: N.
        strict: does an illegal action raise?
        threads: threads per step, 0 for as many as there are processors.
        overrides: fields of the scenario.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - Gymnasium declares it so
        "render_modes": [],
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    def __init__(
        self,
        scenario: str | Scenario,
        num_envs: int = 1,
        *,
        strict: bool = False,
        threads: int = 1,
        render_mode: str | None = None,
        **overrides: Any,
    ) -> None:
        if render_mode is not None:
            raise ValueError(f"render_mode: expected None, got {render_mode!r}")
        if num_envs < 1:
            raise ValueError(f"num_envs: expected at least 1, got {num_envs}")
        self.scenario = resolve(scenario, overrides)
        self.strict = strict
        self.render_mode = render_mode
        self.num_envs = num_envs
        self.single_observation_space = observation_space()
        self.single_action_space = action_space()
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        world = build_world(self.scenario)
        self.batch = Batch(world, self.scenario, num_envs, self.scenario.order, threads)
        self._all = np.ones(num_envs, dtype=np.bool_)
        self._never = np.zeros(num_envs, dtype=np.bool_)
        self._infos = [self._layout(out) for out in self.batch.outputs]
        self._seeded = False

    def reset(
        self,
        *,
        seed: int | list[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[npt.NDArray[np.float32], dict[str, Any]]:
        """Begin all episodes, or those of ``options["reset_mask"]``.

        Args:
            seed: of the first episode, the others counting up, or one per episode.
            options: ``slice`` and ``reset_mask`` (bool [N]).

        Raises:
            ValueError: for an unknown option, a slice that does not exist, or a list of another
            length.
        """
        options = dict(options or {})
        wanted = np.asarray(options.pop("reset_mask", self._all), dtype=np.bool_)
        chosen = chosen_slice(options, len(self.batch.world.slices) - 1)
        self._seed(seed, wanted)
        slices = np.where(wanted, chosen, -2).astype(np.int64)
        out = self.batch.reset(slices)
        return out.obs, self._info()

    def _seed(self, seed: int | list[int | None] | None, wanted: npt.NDArray[np.bool_]) -> None:
        """Key the draws of the wanted episodes as `MitigationEnv.reset` does."""
        if seed is None and self._seeded:
            return
        seeds = [seed + i for i in range(self.num_envs)] if isinstance(seed, int) else seed
        seeds = seeds or [None] * self.num_envs
        if len(seeds) != self.num_envs:
            raise ValueError(f"seed: expected {self.num_envs} seeds, got {len(seeds)}")
        episodes = self.batch.state.episodes
        for i in np.flatnonzero(wanted):
            if seeds[i] is None and episodes["key"][i]:
                continue
            generator = np.random.Generator(np.random.PCG64(seeds[i]))
            episodes["key"][i] = generator.integers(1, _KEYS, dtype=np.int64)
            episodes["count"][i] = 0
        self._seeded = True

    def step(
        self, actions: npt.NDArray[np.int64]
    ) -> tuple[
        npt.NDArray[np.float32],
        npt.NDArray[np.float64],
        npt.NDArray[np.bool_],
        npt.NDArray[np.bool_],
        dict[str, Any],
    ]:
        """Answer the open decision of every episode.

        Raises:
            RuntimeError: before the first reset. ValueError: for actions of another shape or out of
            range, or illegal under ``strict=True``.
        """
        if not self._seeded:
            raise RuntimeError("step: expected running episodes; call reset first")
        actions = np.asarray(actions, dtype=np.int64)
        if actions.shape != (self.num_envs,):
            raise ValueError(f"actions: expected shape ({self.num_envs},), got {actions.shape}")
        if actions.view(np.uint64).max() >= ACTIONS:  # negative numbers are huge ones
            raise ValueError(f"actions: expected 0 to {ACTIONS - 1}")
        if self.strict and not self.action_masks()[np.arange(self.num_envs), actions].all():
            raise ValueError("actions: an action is illegal in its decision")
        out = self.batch.step(actions, again=True)
        info = self._info()
        if out.terminated.any():
            self._add_final(info, out)
        return out.obs, out.reward, out.terminated, self._never, info

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Legal actions of the open decisions, bool [N, 5]."""
        return self.batch.output.mask.astype(np.bool_)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_infos"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._infos = [self._layout(out) for out in self.batch.outputs]

    def _layout(self, out: Output) -> dict[str, Any]:
        """The infos over a set of arrays, in Gymnasium's layout: a mask beside each entry."""
        terms = {name: out.terms[:, k] for k, name in enumerate(TERMS)}
        info: dict[str, Any] = {
            "action_mask": out.mask,
            "task": out.task,
            "slice": out.slice,
            "elapsed": out.elapsed,
            "illegal": out.illegal,
            "reward_terms": {**terms, **{f"_{name}": self._all for name in TERMS}},
        }
        return {**info, **{f"_{name}": self._all for name in info}}

    def _info(self) -> dict[str, Any]:
        """The infos of the last reset or step."""
        return self._infos[self.batch.turn].copy()

    def _add_final(self, info: dict[str, Any], out: Output) -> None:
        """Say what the episodes that ended in this step ended with."""
        ended = out.terminated
        observations = np.full(self.num_envs, None, dtype=object)
        blank = np.zeros(out.obs.shape[1], dtype=np.float32)
        blank[-ACTIONS] = 1.0
        for i in np.flatnonzero(ended):
            observations[i] = blank.copy()
        masks = np.zeros_like(out.mask)
        masks[:, 0] = 1
        final: dict[str, Any] = {
            "action_mask": masks,
            "task": np.full(self.num_envs, -1),
            "slice": out.final["slice"],
            "elapsed": out.elapsed,
            "illegal": out.final["illegal"],
            "reward_terms": {**info["reward_terms"]},
            "totals": totals(out.final),
        }
        for name in list(final["totals"]):
            final["totals"][f"_{name}"] = ended
        for name in TERMS:
            final["reward_terms"][f"_{name}"] = ended
        info["final_obs"], info["_final_obs"] = observations, ended
        info["final_info"] = {**final, **{f"_{name}": ended for name in final}}
        info["_final_info"] = ended
