"""How a policy is asked: once per step for a batch of episodes, as stable-baselines3 does it."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from types import MethodType
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from failgym.envs.spaces import columns_read
from failgym.sim.shared.records import Output
from failgym.sim.shared.rules import Rules
from failgym.vocabulary import ACTIONS, Action
from failgym.worlds.scenario import Scenario
from failgym.worlds.world import World

__all__ = [
    "Caller",
    "Predicts",
    "check_made_for",
    "check_playable",
    "made_for",
    "playing_by",
    "policy_name",
]

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]


class Predicts(Protocol):
    """A `Policy`, or a model whose `predict` takes no ``action_masks``, as most of SB3's do."""

    @property
    def predict(self) -> Callable[..., tuple[Any, Any]]:
        """(observation, state, episode_start, deterministic) -> (actions, state)."""
        ...


def policy_name(policy: Predicts) -> str:
    """The name that a policy gives itself, else that of its class."""
    name = getattr(policy, "name", None)
    return name if isinstance(name, str) else type(policy).__name__


def check_made_for(policy: Predicts, rules: Rules, name: str | None = None) -> None:
    """Ask a policy if it was made for such rules: one with `check_environment` may refuse them.

    Raises:
        ValueError: if it does; names the policy.
    """
    check = getattr(policy, "check_environment", None)
    if isinstance(check, MethodType):
        try:
            check(rules)
        except ValueError as error:
            raise ValueError(f"policy {name or policy_name(policy)!r}: {error}") from error


def made_for(policy: Predicts, scenario: Scenario) -> bool:
    """Was a policy made for a scenario, as far as it says? Heuristics do, by `plays_in`."""
    try:
        check_made_for(policy, scenario)
    except ValueError:
        return False
    plays_in = getattr(policy, "plays_in", None)
    return not isinstance(plays_in, MethodType) or bool(plays_in(scenario))


def check_playable(
    policy: Predicts, scenario: Scenario, world: World | None = None, name: str | None = None
) -> None:
    """Ask a policy if it can do anything in a scenario, instead of scoring 0 for doing nothing.

    One with `check_environment` may refuse the rules; one with `check_offered` says which decisions
    are missing, and one with `check_inputs` what the world does not tell.

    Args:
        policy: the policy.
        scenario: where it is to play.
        world: the world of the scenario; None if it is not to be asked about.
        name: what errors call the policy.

    Raises:
        ValueError: in one line, naming the policy.
    """
    check_made_for(policy, scenario, name)
    for method, about in (("check_offered", scenario), ("check_inputs", world)):
        check = getattr(policy, method, None)
        if about is None or not isinstance(check, MethodType):
            continue
        try:
            check(about)
        except ValueError as error:
            raise ValueError(f"policy {name or policy_name(policy)!r}: {error}") from error


def playing_by(policy: Predicts, rules: Rules, name: str | None = None) -> Predicts:
    """The policy that plays by such rules: itself, or what its own method `playing_by` returns.

    Raises:
        ValueError: if it was made for others; names the policy.
    """
    check_made_for(policy, rules, name)
    adapt = getattr(policy, "playing_by", None)
    return adapt(rules) if isinstance(adapt, MethodType) else policy


class Caller:
    """A policy, the state that it carries in each lane, and checks of what it answers.

    A policy that returns a state is recurrent: it sees every lane at every step, because its state
    has a row per lane. One that returns None sees only the lanes with an open decision.

    A model that has learned from selected fields (`failgym.envs.FieldBox`) is shown these.

    Args:
        policy: the policy; it is given ``action_masks`` if its `predict` accepts them.
        lanes: number of episodes that are served together.
        deterministic: passed on.
        name: what errors call the policy.
        patience: answers that it may give in all; from then on CONTINUE is answered. None: all.

    Raises:
        ValueError: if the policy has no method `predict`, or is a class; names the policy.
    """

    def __init__(
        self,
        policy: Predicts,
        lanes: int,
        deterministic: bool,
        name: str,
        patience: int | None = None,
    ) -> None:
        if isinstance(policy, type) or not callable(getattr(policy, "predict", None)):
            raise ValueError(
                f"policy {name!r}: expected an object with a method predict, such as"
                f" failgym.baselines.Young(), got {repr(policy)[:100]}"
            )
        self._predict: Callable[..., object] = policy.predict
        self._deterministic, self._name = deterministic, name
        self._columns = columns_read(policy)
        self._takes_masks = _accepts(policy.predict, "action_masks")
        self._state: Any = None
        self._left = math.inf if patience is None else patience
        self.overruled = False
        """has CONTINUE been answered for it?"""
        self._asked = False
        self._starts = np.ones(lanes, dtype=np.bool_)
        self._actions = np.zeros(lanes, dtype=np.int64)

    @property
    def carries_state(self) -> bool:
        """Has the policy returned a state?"""
        return self._state is not None

    def begin(self, lanes: Bools) -> None:
        """Say which lanes [lanes] have begun an episode."""
        self._starts |= lanes

    def act(self, out: Output, live: Bools) -> Ints:
        """Actions of all lanes, int64 [lanes]; those of lanes that are not live mean nothing.

        Raises:
            ValueError: if the policy raises, or answers with anything but actions of the right
                shape, type and range and a state; names the policy.
        """
        if self._left <= 0:
            self.overruled = True
            self._actions[:] = Action.CONTINUE
            return self._actions
        self._left -= int(live.sum())
        everywhere = bool(live.all()) or not self._asked or self._state is not None
        asked: Any = slice(None) if everywhere else np.flatnonzero(live)
        answer, state = self._call(out.obs[asked], out.mask[asked], self._starts[asked])
        self._state, self._asked = state, True
        self._actions[asked] = self._checked(answer, len(self._actions[asked]))
        self._starts[asked] = False
        return self._actions

    def _call(self, obs: npt.NDArray[np.float32], mask: Any, starts: Bools) -> tuple[Any, Any]:
        more: dict[str, Any] = {"action_masks": mask.astype(np.bool_)} if self._takes_masks else {}
        more |= {"episode_start": starts, "deterministic": self._deterministic}
        if self._columns is not None:
            obs = obs.take(self._columns, axis=1)
        try:
            answer = self._predict(obs, state=self._state, **more)
        except MemoryError:
            raise
        except (Exception, SystemExit) as error:  # whatever the policy does when it is asked
            what = f"{type(error).__name__}: {error}"
            raise ValueError(f"policy {self._name!r}: predict raised {what}") from error
        if not isinstance(answer, tuple) or len(cast(tuple[Any, ...], answer)) != 2:
            got = type(cast(object, answer)).__name__
            raise ValueError(
                f"policy {self._name!r}: expected (actions, state) from predict, got {got}"
            )
        return cast(tuple[Any, Any], answer)

    def _checked(self, answer: Any, expected: int) -> Ints:
        try:
            actions = np.asarray(answer)
        except (TypeError, ValueError) as error:  # ragged
            raise ValueError(
                f"policy {self._name!r}: expected {expected} whole numbers as actions: {error}"
            ) from error
        if actions.shape != (expected,) or actions.dtype.kind not in "iu":
            raise ValueError(
                f"policy {self._name!r}: expected {expected} whole numbers as actions,"
                f" got shape {list(actions.shape)} of {actions.dtype}"
            )
        if expected and (actions.min() < 0 or actions.max() >= ACTIONS):
            wrong = actions[(actions < 0) | (actions >= ACTIONS)][0]
            raise ValueError(
                f"policy {self._name!r}: expected actions from 0 to {ACTIONS - 1}, got {wrong}"
            )
        return actions.astype(np.int64)


def _accepts(function: Any, name: str) -> bool:
    """Does a function take an argument of this name? No, if it does not say what it takes."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
    anything = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())
    return name in parameters or anything
