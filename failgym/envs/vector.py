"""`MitigationVectorEnv`: N episodes at once, behind Gymnasium's `VectorEnv`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from failgym.envs.batches import batch_of, slice_count
from failgym.envs.mitigation import chosen_slice
from failgym.envs.rendering import FPS, Renderer
from failgym.envs.rendering.renderer import Frame
from failgym.envs.scenario import Scenario
from failgym.envs.scenarios import resolve
from failgym.envs.spaces import TERMS, action_space, observation_space, totals
from failgym.envs.worlds import build_world
from failgym.sim.records import ACTIONS, Output

__all__ = ["MitigationVectorEnv"]

_KEYS = 2**63
VECTOR_MODES = ["ansi", "rgb_array"]
"""What `render_mode` may be, beside None: there is no window for many episodes."""


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
        render_mode: "ansi" or "rgb_array", as in `MitigationEnv`; `render` gives one of each
            episode.
        overrides: fields of the scenario.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - Gymnasium declares it so
        "render_modes": VECTOR_MODES,
        "render_fps": FPS,
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
        if render_mode not in (None, *VECTOR_MODES):
            expected = ", ".join(VECTOR_MODES)
            raise ValueError(f"render_mode: expected {expected} or None, got {render_mode!r}")
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
        self.batch = batch_of(self.scenario, world, num_envs, threads)
        self._renderers: list[Renderer] = []
        if render_mode is not None:
            self._renderers = [
                Renderer(render_mode, self.batch, self.scenario) for _ in range(num_envs)
            ]
        self._actions = np.zeros(num_envs, dtype=np.int64)
        self._all = np.ones(num_envs, dtype=np.bool_)
        self._never = np.zeros(num_envs, dtype=np.bool_)
        self._infos = [self._layout(out) for out in self.batch.outputs]
        self._begun = False

    def reset(
        self,
        *,
        seed: int | list[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[npt.NDArray[np.float32], dict[str, Any]]:
        """Begin all episodes, or those of ``options["reset_mask"]``.

        The first reset must begin all.

        Args:
            seed: of the first episode, the others counting up, or one per episode.
            options: ``slice`` and ``reset_mask`` (bool [N]).

        Raises:
            ValueError: for an unknown option, a slice that does not exist, a mask of another shape
                or with nothing to begin, or a list of another length.
        """
        options = dict(options or {})
        wanted = self._wanted(options.pop("reset_mask", self._all))
        chosen = chosen_slice(options, slice_count(self.batch.world))
        self._seed(seed, wanted)
        out = self.batch.reset(np.where(wanted, chosen, -2).astype(np.int64))
        for i in np.flatnonzero(wanted) if self._renderers else ():
            self._renderers[i].begin(int(out.slice[i]))
        return out.obs, self._info()

    def _wanted(self, mask: Any) -> npt.NDArray[np.bool_]:
        """A reset mask, checked. Raises ValueError."""
        wanted = np.asarray(mask)
        if wanted.dtype != np.bool_ or wanted.shape != (self.num_envs,) or not wanted.any():
            raise ValueError(
                f"reset_mask: expected a bool array of shape ({self.num_envs},), one at least True"
            )
        if not self._begun and not wanted.all():
            raise ValueError("reset_mask: expected the first reset to begin all episodes")
        return wanted

    def _seed(self, seed: Any, wanted: npt.NDArray[np.bool_]) -> None:
        """Key the draws of the wanted episodes as `MitigationEnv.reset` does."""
        n, single = self.num_envs, isinstance(seed, int | np.integer)
        seeds = [int(seed) + i for i in range(n)] if single else [None] * n
        if seed is not None and not single:
            seeds = [None if one is None else int(one) for one in seed]
        if len(seeds) != n:
            raise ValueError(f"seed: expected {n} seeds, got {len(seeds)}")
        episodes = self.batch.state.episodes
        for i in np.flatnonzero(wanted):
            if seeds[i] is None and episodes["key"][i]:
                continue
            generator = np.random.Generator(np.random.PCG64(seeds[i]))
            episodes["key"][i] = generator.integers(1, _KEYS, dtype=np.int64)
            episodes["count"][i] = 0
        self._begun = True

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
            RuntimeError: before the first reset.
            ValueError: for actions of another shape or out of range, or illegal under
                ``strict=True``.
        """
        out = self.answer(actions)
        info = self._info()
        if out.terminated.any():
            self._add_final(info, out)
        return out.obs, out.reward, out.terminated, self._never, info

    def answer(self, actions: npt.NDArray[np.int64]) -> Output:
        """`step` without the infos that Gymnasium asks for: what the engine wrote.

        Raises:
            RuntimeError, ValueError: as `step` does.
        """
        if not self._begun:
            raise RuntimeError("step: expected running episodes; call reset first")
        given = np.asarray(actions)
        if given.shape != (self.num_envs,) or given.dtype.kind not in "iu":
            raise ValueError(
                f"actions: expected whole numbers of shape ({self.num_envs},),"
                f" got {given.dtype} of shape {given.shape}"
            )
        actions = self._actions
        actions[:] = given
        if actions.view(np.uint64).max() >= ACTIONS:  # negative numbers are huge ones
            raise ValueError(f"actions: expected 0 to {ACTIONS - 1}")
        if self.strict and not self.action_masks()[np.arange(self.num_envs), actions].all():
            raise ValueError("actions: an action is illegal in its decision")
        out = self.batch.step(actions, again=True)
        for i, renderer in enumerate(self._renderers):
            if out.terminated[i]:
                renderer.begin(int(out.slice[i]))
            else:
                renderer.answered(int(actions[i]))
        return out

    def render(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
    ) -> tuple[Frame, ...] | None:
        """The episodes up to now, as `MitigationEnv.render` gives one; None without a mode."""
        return tuple(renderer.render() for renderer in self._renderers) or None

    def last_observations(self, count: int) -> npt.NDArray[np.float32]:
        """What episodes end with: nothing to know, and CONTINUE alone is legal, [count, fields]."""
        last = np.zeros((count, self.batch.output.obs.shape[1]), dtype=np.float32)
        last[:, -ACTIONS] = 1.0
        return last

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
        if self.scenario.world == "scheduled":
            info |= {"unit": out.unit, "unit_cost": out.unit_cost}
        return {**info, **{f"_{name}": self._all for name in info}}

    def _info(self) -> dict[str, Any]:
        """The infos of the last reset or step."""
        return self._infos[self.batch.turn].copy()

    def _add_final(self, info: dict[str, Any], out: Output) -> None:
        """Say what the episodes that ended in this step ended with."""
        ended = out.terminated
        last = self.last_observations(int(ended.sum()))
        observations = np.full(self.num_envs, None, dtype=object)
        observations[ended] = np.fromiter(last, dtype=object, count=len(last))
        masks = np.zeros_like(out.mask)
        masks[:, 0] = 1
        final: dict[str, Any] = {
            "action_mask": masks,
            "task": np.full(self.num_envs, -1),
            "slice": out.final["slice"],
            "elapsed": out.final_elapsed,
            "illegal": out.final["illegal"],
            "reward_terms": {name: out.final_terms[:, k] for k, name in enumerate(TERMS)},
            "totals": totals(out.final),
        }
        if self.scenario.world == "scheduled":
            none = np.full(self.num_envs, -1), np.zeros(self.num_envs)
            final |= {"unit": none[0], "unit_cost": none[1], "unit_costs": out.final_unit_costs}
        for name in list(final["totals"]):
            final["totals"][f"_{name}"] = ended
        for name in TERMS:
            final["reward_terms"][f"_{name}"] = ended
        info["final_obs"], info["_final_obs"] = observations, ended
        info["final_info"] = {**final, **{f"_{name}": ended for name in final}}
        info["_final_info"] = ended
