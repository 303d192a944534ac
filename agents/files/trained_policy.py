"""`TrainedPolicy`: an agent out of a policy file, behind `predict`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from stable_baselines3.common.policies import BasePolicy

from failgym.agents.ensembles.decider import Decider
from failgym.agents.ensembles.inputs import Inputs, prices_in
from failgym.agents.files.decision_interval import Cadence
from failgym.agents.files.manifest import Environment, Manifest, TrainedIn
from failgym.agents.networks.answers import Actor
from failgym.agents.networks.architectures import ARCHITECTURES, kept_weights
from failgym.agents.networks.sizes import Network
from failgym.envs.spaces import columns_among, names_in
from failgym.policy import Actions, State
from failgym.sim.shared.fields import INDEX
from failgym.sim.shared.rules import Rules
from failgym.vocabulary import ACTIONS, MINUTE, Action

__all__ = ["Moments", "TrainedPolicy"]

WHOLE = tuple(INDEX)
MASK = tuple(f"may_{action.name.lower()}" for action in Action)
"""Fields that say what is legal."""


@dataclass(frozen=True)
class Moments:
    """How observations were normalised, as `VecNormalize` does it."""

    mean: npt.NDArray[np.float64]
    """[fields]"""
    variance: npt.NDArray[np.float64]
    """[fields]"""
    epsilon: float
    clip: float

    def normalised(self, observation: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """What the network is shown, float32 [batch, fields]."""
        scaled = (observation - self.mean) / np.sqrt(self.variance + self.epsilon)
        return np.clip(scaled, -self.clip, self.clip).astype(np.float32)


@dataclass(frozen=True)
class TrainedPolicy:
    """A trained agent: a `failgym.policy.Policy` that answers as the model did that was saved.

    It is given whole observations, or those that `reading` says, and finds the fields that it has
    learned from by name. Where it is asked more often than in training it CONTINUEs in between
    (`failgym.agents.files.decision_interval`), and what an LSTM remembers stays as it was.

    One that was trained in several environments plays in each of them. It is told which by
    `playing_by`, as everything here does that lets agents play.

    An algorithm with masks never chooses what is illegal. Others were trained without masks, and
    are asked without: an illegal answer counts as CONTINUE, as it did in training.
    """

    manifest: Manifest
    network: BasePolicy | Decider
    """of stable-baselines3 or sb3-contrib, on the CPU; or an ensemble"""
    moments: Moments | None = None
    anywhere: bool = False
    """may it be asked in another environment than the one it was trained in?"""
    cadence: Cadence | None = None
    """when it is due, where it is asked more often than in training; None: it always answers"""
    observed: tuple[str, ...] = WHOLE
    """names of the fields of the observations that it is given, in order"""

    @property
    def name(self) -> str:
        """Name of the agent in tables."""
        return self.manifest.name

    @property
    def is_told(self) -> bool:
        """Has it to be told where it plays (`playing_by`)? It is shown other things in others."""
        network = self.network
        several = bool(self.manifest.environments)
        return isinstance(network, Decider) and (several or bool(network.priced))

    @property
    def digest(self) -> str:
        """SHA-256 of the weights that choose its actions, names and shapes included, and of the
        names of the fields that they read, unless these are all.
        """
        fields = self.manifest.fields
        found = hashlib.sha256(b"" if fields == WHOLE else " ".join(fields).encode())
        for name, array in sorted(self._weights().items()):
            found.update(f"{name} {array.dtype} {array.shape}".encode())
            found.update((array + 0.0).tobytes())  # -0.0 is 0.0
        return found.hexdigest()

    def _weights(self) -> dict[str, npt.NDArray[Any]]:
        """All numbers that choose its actions, by name."""
        if isinstance(self.network, Decider):
            chosen = {
                "choices": np.array(self.network.choices),
                "caution": np.array([self.network.caution]),
            }
            if self.network.advice:
                said = " ".join(one.model_dump_json() for one in self.network.advisers)
                chosen["advice"] = np.frombuffer(said.encode(), dtype=np.uint8)
            if self.is_told:
                parts = [*self.network.priced, *map(_said, self.manifest.environments)]
                chosen["told"] = np.frombuffer("\n".join(parts).encode(), dtype=np.uint8)
            return {**self.network.ensemble._asdict(), **chosen}
        return {n: t.numpy() for n, t in kept_weights(self.network, critic=False).items()}

    def check_environment(self, rules: Rules) -> None:
        """Raise ValueError if this is no environment that the agent was trained in.

        Fields may differ, and so the trace; what may be decided may not.
        """
        if not self.anywhere:
            self.manifest.check_environment(rules)

    def playing_by(self, rules: Rules) -> TrainedPolicy:
        """The agent where it is asked as often as these rules say (`files.decision_interval`).

        One of several environments is shown what it was shown in this one; in another, if it may
        play there, all rules are asked that decide what is decided there.

        Raises:
            ValueError: if this is no environment that it was trained in.
        """
        self.check_environment(rules)
        trained = self.manifest.trained_in(rules) or self.manifest.environment
        network = self.network
        if isinstance(network, Decider) and self.is_told:
            network = replace(network, inputs=self._inputs(network, trained, rules))
        cadence = Cadence.of(trained.asked(), rules)
        return replace(self, cadence=cadence, network=network)._checked()

    def _inputs(self, network: Decider, trained: Environment, rules: Rules) -> Inputs:
        """What an ensemble is shown by these rules."""
        charged = prices_in(rules, network.priced) if network.priced else ()
        if isinstance(trained, TrainedIn) and self.manifest.trained_in(rules) is trained:
            hidden = [self.manifest.fields.index(name) for name in trained.hidden]
            return Inputs(trained.hears, tuple(hidden), charged, trained.caution)
        playing = [n for n, rule in enumerate(network.advice) if rule.plays_in(rules)]
        return Inputs(tuple(playing), (), charged)

    def reading(self, fields: Iterable[str]) -> TrainedPolicy:
        """The agent where observations hold these fields, in this order.

        Where it is asked more often than in training `age` must be among them; without `window`
        every decision is taken for one of a window, as it is where that field cannot vary.

        Raises:
            ValueError: naming it, for a field that the agent reads and they do not hold.
        """
        observed = names_in(fields)
        columns_among(self.manifest.fields, observed)
        return replace(self, observed=observed)._checked()

    def _checked(self) -> TrainedPolicy:
        """Itself. Raises ValueError where it cannot tell when it is due."""
        if self.cadence is not None and "age" not in self.observed:
            raise ValueError(
                f"fields: the agent is asked more often than it answers, every"
                f" {self.cadence.own / MINUTE:g} minutes, and the observation has no 'age'"
            )
        if self._advised and self.observed != WHOLE:
            raise ValueError(
                "fields: expected all of them, as the rules that the agent follows read any"
            )
        return self

    @property
    def _advised(self) -> bool:
        """Does it ask rules?"""
        return isinstance(self.network, Decider) and bool(self.network.advice)

    @property
    def _masked(self) -> bool:
        """Is it told what is legal?"""
        trees = isinstance(self.network, Decider)
        return trees or ARCHITECTURES[self.manifest.algorithm].masked

    @property
    def _remembers(self) -> bool:
        """Has it a memory, an LSTM?"""
        network = self.manifest.network
        return isinstance(network, Network) and network.lstm is not None

    @cached_property
    def _actor(self) -> Actor | None:
        """The network, if it is a plain one that need not be asked in its own way."""
        return Actor.of(self.network)

    @cached_property
    def _columns(self) -> npt.NDArray[np.intp] | None:
        """Where the fields of the agent are in an observation; None: they are all of it."""
        fields = self.manifest.fields
        return None if fields == self.observed else columns_among(fields, self.observed)

    @cached_property
    def _mask_columns(self) -> npt.NDArray[np.intp]:
        """Where the mask is in an observation. Raises ValueError if not all of it is there."""
        try:
            return columns_among(MASK, self.observed)
        except ValueError as error:
            raise ValueError(f"action_masks: expected: {error}") from error

    def predict(
        self,
        observation: npt.NDArray[np.float32],
        state: State = None,
        episode_start: npt.NDArray[np.bool_] | None = None,
        deterministic: bool = True,
        action_masks: npt.NDArray[Any] | None = None,
    ) -> tuple[Actions, State]:
        """Choose actions as `failgym.policy.Policy` says.

        Sampling (``deterministic=False``) draws from torch's global random state. Values of
        actions (DQN, QR-DQN) are never explored: the best one is chosen; trees draw nothing.

        Raises:
            ValueError: if the observations have another number of fields than `observed`, or hold
                what is no finite number; if neither they nor ``action_masks`` say what is legal.
        """
        with np.errstate(over="ignore"):  # said below
            observation = np.asarray(observation, dtype=np.float32)
        width = len(self.observed)
        if observation.ndim not in (1, 2) or observation.shape[-1] != width:
            raise ValueError(
                f"observation: expected [{width}] or [batch, {width}],"
                f" got {list(observation.shape)}; of other fields, say which: reading(env.fields)"
            )
        batch = np.atleast_2d(observation)
        if not np.isfinite(batch).all():
            raise ValueError("observation: expected finite numbers")
        options: dict[str, Any] = {"deterministic": deterministic}
        if self._masked:
            legal = action_masks
            if legal is None:
                legal = batch[:, self._mask_columns]
            options["action_masks"] = np.asarray(np.atleast_2d(legal) > 0, dtype=np.bool_)
        shown = batch if self._columns is None else batch.take(self._columns, axis=1)
        if self.moments is not None:
            shown = self.moments.normalised(shown)
        due = None if self.cadence is None else self._due(batch, self.cadence)
        chosen, after = self._answers(shown, batch, state, episode_start, options, due)
        if due is not None:
            chosen = np.where(due, chosen, int(Action.CONTINUE))
            if self._remembers:
                after = _remembered(state, after, due, episode_start)
        return (chosen if observation.ndim == 2 else np.int64(chosen[0])), after

    def _due(self, batch: npt.NDArray[np.float32], cadence: Cadence) -> npt.NDArray[np.bool_]:
        """Which of the open decisions it answers, [batch]."""
        window, age = self._when
        told = np.float32(1.0) if window is None else batch[:, window]
        return cadence.due(np.broadcast_to(told, len(batch)), batch[:, age])

    @cached_property
    def _when(self) -> tuple[int | None, int]:
        """Where `window`, if it is there, and `age` are in an observation."""
        at = {name: place for place, name in enumerate(self.observed)}
        return at.get("window"), at["age"]

    def _answers(
        self,
        shown: npt.NDArray[np.float32],
        whole: npt.NDArray[np.float32],
        state: State,
        start: npt.NDArray[np.bool_] | None,
        options: dict[str, Any],
        due: npt.NDArray[np.bool_] | None,
    ) -> tuple[Any, State]:
        """The network's answers, as its own `predict` gives them; any where one is not due."""
        if isinstance(self.network, Decider):
            legal = options["action_masks"]
            if legal.size != len(shown) * ACTIONS or legal.shape[-1] not in (ACTIONS, legal.size):
                raise ValueError(f"action_masks: expected [{len(shown)}, {ACTIONS}]")
            legal = legal.reshape(len(shown), ACTIONS)
            if self.is_told and self.network.inputs is None:
                raise ValueError(
                    "environment: the agent is shown other things in others: say where it plays,"
                    " with playing_by(scenario)"
                )
            return self.network.asked(shown, whole, legal), state
        if options["deterministic"] and self._actor is not None:
            best = self._actor.best_actions(shown, options.get("action_masks"), due)
            if best is not None:
                return best, state
        return cast(Any, self.network).predict(shown, state, start, **options)


def _said(place: TrainedIn) -> str:
    """What decides there, of an environment."""
    own = {"caution"} if place.caution is not None else set[str]()
    return place.model_dump_json(include={"id", "hears", "hidden"} | own)


def _remembered(
    before: State, after: State, due: npt.NDArray[np.bool_], start: npt.NDArray[np.bool_] | None
) -> State:
    """What an LSTM remembers, [layers, batch, units] twice: who was not due has seen nothing."""
    known: Any = tuple(map(np.zeros_like, after)) if before is None else before
    begun = np.broadcast_to(np.asarray(False if start is None else start), due.shape)
    return tuple(
        np.where(due[:, None], new, np.where(begun[:, None], 0.0, old)).astype(new.dtype)
        for new, old in zip(after, known, strict=True)
    )
