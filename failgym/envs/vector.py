"""`MitigationVectorEnv`: N episodes at once, behind Gymnasium's `VectorEnv`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from failgym.envs import infos
from failgym.envs.keywords import scenario_of_call
from failgym.envs.mitigation import chosen_slice
from failgym.envs.rendering import FPS, Renderer
from failgym.envs.rendering.renderer import Frame
from failgym.envs.spaces import action_space, observation_space
from failgym.sim.shared.draws import DRAWN
from failgym.sim.shared.records import Output
from failgym.vocabulary import ACTIONS
from failgym.worlds.batches import batch_of
from failgym.worlds.build import build_world
from failgym.worlds.scenario import Scenario

__all__ = ["MitigationVectorEnv"]

Bools = npt.NDArray[np.bool_]

_KEYS = 2**63
VECTOR_MODES = ["ansi", "rgb_array"]
"""What `render_mode` may be, beside None: there is no window for many episodes."""


class MitigationVectorEnv(
    VectorEnv[npt.NDArray[np.float32], npt.NDArray[np.int64], npt.NDArray[Any]]
):
    """The batched twin of `MitigationEnv`: the same trajectories from the same seeds, bit for bit.

    An episode that ends begins anew as `gymnasium.vector.SyncVectorEnv` would have it: in the next
    step, whatever its action ("NextStep", as there by default); in the same step, where
    ``info["final_obs"]`` and ``info["final_info"]`` hold what it ended with ("SameStep"); or when
    ``reset(options={"reset_mask": ...})`` asks for it ("Disabled"). ``metadata["autoreset_mode"]``
    says which.

    What is returned belongs to the caller: nothing writes into it later. Only with ``copy=False``
    are observations handed out as the engine wrote them, to two arrays in turn, so that the step
    after next overwrites them.

    Args:
        scenario: a registered name or a `Scenario`.
        num_envs: N.
        copy: hand out copies of the observations? In Cloning-v0 that was 5, 2 and 14 % of a step of
            64, 256 and 1,024 episodes (``python -m experiments.copy_speed``).
        autoreset_mode: when an episode that has ended begins anew.
        strict: does an illegal action raise?
        threads: threads per step, 0 for as many as there are processors.
        render_mode: "ansi" or "rgb_array", as in `MitigationEnv`; `render` gives one of each
            episode.
        overrides: fields of the scenario.

    Raises:
        ValueError: for another mode, or no episodes, or a value that a field does not take.
        TypeError: for an unknown field.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - Gymnasium declares it so
        "render_modes": VECTOR_MODES,
        "render_fps": FPS,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        scenario: str | Scenario,
        num_envs: int = 1,
        *,
        copy: bool = True,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
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
        self.scenario = scenario_of_call(type(self).__init__, scenario, overrides)
        self.copy, self.strict = copy, strict
        self.autoreset_mode = _mode(autoreset_mode)
        self.metadata = {**type(self).metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = render_mode
        self.num_envs = num_envs
        self.world = build_world(self.scenario)
        self.batch = batch_of(self.scenario, self.world, num_envs, threads)  # or says how many fit
        self._by_unit = self.batch.units > 0
        self.single_observation_space = observation_space()
        self.single_action_space = action_space()
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._renderers: list[Renderer] = []
        if render_mode is not None:
            self._renderers = [
                Renderer(render_mode, self.world, self.scenario) for _ in range(num_envs)
            ]
        self._actions = np.zeros(num_envs, dtype=np.int64)
        self._all = np.ones(num_envs, dtype=np.bool_)
        self._over = np.zeros(num_envs, dtype=np.bool_)
        """episodes that have ended and not begun anew"""
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
        chosen = chosen_slice(options, self.batch.slices)
        self._seed(seed, wanted)
        out = self.batch.reset(np.where(wanted, chosen, -2).astype(np.int64))
        self._over &= ~wanted
        self._show_begun(wanted, out)
        entries = infos.of_decisions(out, self._by_unit)
        entries = infos.own(entries, wanted) | infos.upon_ends(out, self._by_unit, None)
        return self._observations(out), infos.laid_out(entries, wanted)

    def _wanted(self, mask: Any) -> Bools:
        """A reset mask, checked. Raises ValueError."""
        wanted = np.asarray(mask)
        if wanted.dtype != np.bool_ or wanted.shape != (self.num_envs,) or not wanted.any():
            raise ValueError(
                f"reset_mask: expected a bool array of shape ({self.num_envs},), one at least True"
            )
        if not self._begun and not wanted.all():
            raise ValueError("reset_mask: expected the first reset to begin all episodes")
        return wanted

    def _seed(self, seed: Any, wanted: Bools) -> None:
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
        Bools,
        Bools,
        dict[str, Any],
    ]:
        """Answer the open decision of every episode.

        Raises:
            RuntimeError: before the first reset, or if an episode has ended and has to be reset
                first (``autoreset_mode`` "Disabled").
            ValueError: for actions of another shape or out of range, or illegal under
                ``strict=True``.
        """
        out = self.answer(actions)
        ended = out.terminated.copy()
        some = ended if np.count_nonzero(ended) else None
        replaced = self.autoreset_mode is AutoresetMode.SAME_STEP
        entries = {k: one.copy() for k, one in infos.of_decisions(out, self._by_unit).items()}
        entries |= infos.upon_ends(out, self._by_unit, None if replaced else some)
        info = infos.laid_out(entries, self._all)
        if replaced and some is not None:
            self._add_final(info, out, ended)
        never = np.zeros(self.num_envs, dtype=np.bool_)
        return self._observations(out), out.reward.copy(), ended, never, info

    def answer(self, actions: npt.NDArray[np.int64]) -> Output:
        """`step` without the infos that Gymnasium asks for: what the engine wrote.

        It is overwritten by the step after next.

        Raises:
            RuntimeError, ValueError: as `step` does.
        """
        chosen, begins = self._chosen(actions), self._over
        if np.count_nonzero(begins):
            if self.autoreset_mode is AutoresetMode.DISABLED:
                raise RuntimeError(
                    "step: expected running episodes; reset those that have ended, with"
                    ' options={"reset_mask": ...}'
                )
            chosen[begins] = DRAWN
        same_step = self.autoreset_mode is AutoresetMode.SAME_STEP
        out = self.batch.step(chosen, again=same_step)
        begun = out.terminated if same_step else begins
        self._show_begun(begun, out)
        for i in np.flatnonzero(~begun) if self._renderers else ():
            self._renderers[i].answered(int(chosen[i]))
        if not same_step:
            self._over = out.terminated.copy()
        return out

    def _show_begun(self, begun: Bools, out: Output) -> None:
        """Tell the renderers which episodes have begun."""
        for i in np.flatnonzero(begun) if self._renderers else ():
            self._renderers[i].begin(int(out.slice[i]))

    def _chosen(self, actions: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Actions, checked: those of episodes that are over need not be legal."""
        if not self._begun:
            raise RuntimeError("step: expected running episodes; call reset first")
        given = np.asarray(actions)
        if given.shape != (self.num_envs,) or given.dtype.kind not in "iu":
            raise ValueError(
                f"actions: expected whole numbers of shape ({self.num_envs},),"
                f" got {given.dtype} of shape {given.shape}"
            )
        chosen = self._actions
        chosen[:] = given
        if chosen.view(np.uint64).max() >= ACTIONS:  # negative numbers are huge ones
            raise ValueError(f"actions: expected 0 to {ACTIONS - 1}")
        if self.strict:
            legal = self.action_masks()[np.arange(self.num_envs), chosen]
            if not (legal | self._over).all():
                raise ValueError("actions: an action is illegal in its decision")
        return chosen

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

    def action_masks(self) -> Bools:
        """Legal actions of the open decisions, bool [N, 5]."""
        return self.batch.output.mask.astype(np.bool_)

    def _observations(self, out: Output) -> npt.NDArray[np.float32]:
        """What is handed out of what the engine wrote."""
        return out.obs.copy() if self.copy else out.obs

    def _add_final(self, info: dict[str, Any], out: Output, ended: Bools) -> None:
        """Say what the episodes ended with that ended and began anew in this step."""
        at = np.flatnonzero(ended)
        observations = np.full(self.num_envs, None, dtype=object)
        for e, last in zip(at.tolist(), self.last_observations(len(at)), strict=True):
            observations[e] = last
        final = infos.laid_out(infos.of_ends(out, self._by_unit, at), ended)
        info["final_obs"], info["_final_obs"] = observations, ended.copy()
        info["final_info"], info["_final_info"] = final, ended.copy()


def _mode(given: str | AutoresetMode) -> AutoresetMode:
    """A mode, or one by its name. Raises ValueError."""
    try:
        return AutoresetMode(given)
    except ValueError:
        known = ", ".join(mode.value for mode in AutoresetMode)
        raise ValueError(f"autoreset_mode: expected one of {known}, got {given!r}") from None
