"""What the heuristics share: reading fields by name, batches, and legal answers."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from failgym.envs.scenarios import SCENARIOS
from failgym.policy import Actions, State
from failgym.sim.shared.fields import FIELDS, INDEX, MASK
from failgym.sim.shared.rules import Rules
from failgym.vocabulary import ACTIONS, Action
from failgym.worlds.decisions import DECISIONS
from failgym.worlds.inputs import INPUTS, missing_inputs
from failgym.worlds.scenario import Scenario
from failgym.worlds.world import World

__all__ = [
    "Bools",
    "Choices",
    "Heuristic",
    "ObservationView",
    "check_probability",
    "choose",
    "enabled",
    "flagged",
]

Bools = npt.NDArray[np.bool_]
Choices = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class ObservationView:
    """A batch of observations, read by name: ``view["risk"]`` is float32 [batch]."""

    values: Floats
    """[batch, fields]"""

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, name: str) -> Floats:
        return self.values[:, INDEX[name]]

    def is_on(self, name: str) -> Bools:
        """A 0/1 field as truth values [batch]."""
        return self[name] > 0

    def count(self, name: str) -> Choices:
        """A field of unit log2 or count as the whole number that it stands for [batch]."""
        values = self[name].astype(np.float64)
        counts = np.exp2(values) - 1.0 if FIELDS[INDEX[name]].unit == "log2" else values
        return np.rint(counts).astype(np.int64)

    def minutes(self, name: str) -> npt.NDArray[np.float64]:
        """A field of unit log2 min as the minutes that it stands for [batch]."""
        return np.exp2(self[name].astype(np.float64)) - 1.0


@dataclass(frozen=True)
class Heuristic(ABC):
    """A policy without memory that follows a written rule.

    Subclasses are frozen dataclasses whose fields are the parameters of the rule, the source's
    values being the defaults. They say what they want in `act`; what the mask forbids becomes
    CONTINUE.

    Raises:
        ValueError: when a subclass is made that names, in `needs` or `reads`, what there is not.
    """

    name: ClassVar[str]
    """The name in tables and on the command line."""
    after: ClassVar[str] = ""
    """Whom the rule is after, in tables: "Young 1974"; empty if nobody. The source is cited in full
    in the docstring, or on the page of sources."""
    idle: ClassVar[bool] = False
    """Does it leave everything to the cluster, on purpose? All others are tested to act."""
    needs: ClassVar[frozenset[str]] = frozenset()
    """The `failgym.worlds.decisions.DECISIONS` that the rule is about. Tables list it where a
    scenario allows *all* of them (`compatible`); its user is told only where there is not *any*
    (`check_offered`), because with some of them it acts."""
    reads: ClassVar[frozenset[str]] = frozenset()
    """The `failgym.worlds.inputs.INPUTS` without any one of which the rule never acts."""
    listed: ClassVar[bool] = True
    """Is it a baseline, in tables and by name? What does nothing without parameters is none: it is
    played from files (`failgym.baselines.stored`)."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for what, known in (("needs", DECISIONS), ("reads", INPUTS)):
            if wrong := sorted(set(getattr(cls, what)) - set(known)):
                expected = f"expected names of {', '.join(known)}"
                raise ValueError(f"{cls.__name__}.{what}: {expected}, got {wrong[0]!r}")

    @abstractmethod
    def act(self, view: ObservationView, mask: Bools) -> Choices:
        """Return the wanted actions, int64 [batch]; the mask is bool [batch, actions]."""

    @classmethod
    def compatible(cls, rules: Rules) -> bool:
        """Does a scenario with these rules enable all that the heuristic needs?"""
        return cls.needs <= set(enabled(rules))

    def decisions(self) -> frozenset[str]:
        """What it is about with these parameters; `needs`, unless a subclass knows better."""
        return self.needs

    def inputs(self) -> frozenset[str]:
        """What is needed with these parameters; `reads`, unless a subclass knows better."""
        return self.reads

    def plays_in(self, rules: Rules) -> bool:
        """Does a scenario with these rules enable all that it is about with these parameters?"""
        return self.decisions() <= set(enabled(rules))

    def check_offered(self, scenario: Scenario) -> None:
        """Raise ValueError, saying which, if a scenario has no decision that the rule is about."""
        about = self.decisions()
        if not about or about & set(enabled(scenario)):
            return
        lacking = [name for name in DECISIONS if name in about]
        able = [
            name
            for name, known in SCENARIOS.items()
            if self.plays_in(known) and name != scenario.name
        ]
        remedies = [f"play it in {' or '.join(able)}"] if able else []
        wanted = dict.fromkeys(lacking, True)
        with contextlib.suppress(ValueError):  # where there are no such decisions at all
            scenario.override(**wanted)
            remedies.insert(0, f"set {', '.join(f'{name}=true' for name in wanted)}")
        raise ValueError(
            f"needs decisions that {scenario.name or 'the scenario'} does not offer:"
            f" {', or '.join(remedies)}"
        )

    def check_inputs(self, world: World) -> None:
        """Raise ValueError, saying what, if a world lacks something without which it never acts."""
        if missing := missing_inputs(world, self.inputs()):
            raise ValueError("; ".join(missing))

    def predict(
        self,
        observation: npt.NDArray[np.float32],
        state: State = None,
        episode_start: npt.NDArray[np.bool_] | None = None,
        deterministic: bool = True,
        action_masks: npt.NDArray[Any] | None = None,
    ) -> tuple[Actions, State]:
        """Choose actions as `failgym.policy.Policy` says; ``state`` is passed through.

        Raises:
            ValueError: if the observations do not hold all fields (`failgym.sim.shared.fields`),
                or `act` returns anything but a whole number from 0 to 4 for each.
        """
        observation = np.asarray(observation, dtype=np.float32)
        if observation.ndim not in (1, 2) or observation.shape[-1] != len(FIELDS):
            raise ValueError(
                f"observation: expected [{len(FIELDS)}] or [batch, {len(FIELDS)}],"
                f" got {list(observation.shape)}"
            )
        batch = np.atleast_2d(observation)
        given = batch[:, MASK] if action_masks is None else np.atleast_2d(action_masks)
        mask = np.asarray(given > 0, dtype=np.bool_)
        wanted = self._checked(self.act(ObservationView(batch), mask), len(batch))
        legal = mask[np.arange(len(wanted)), wanted]
        actions = np.where(legal, wanted, int(Action.CONTINUE)).astype(np.int64)
        return (actions if observation.ndim == 2 else actions[0]), state

    def _checked(self, wanted: Any, expected: int) -> Choices:
        """What `act` returned: a wrong one must not pass for a decision to CONTINUE."""
        wanted = np.asarray(wanted)
        whole = wanted.shape == (expected,) and wanted.dtype.kind in "iu"
        if not whole or (expected and not 0 <= wanted.min() <= wanted.max() < ACTIONS):
            raise ValueError(
                f"{type(self).__name__}.act: expected {expected} whole numbers from 0 to"
                f" {ACTIONS - 1}, got {wanted.tolist()!r:.80}"
            )
        return wanted


def enabled(rules: Rules) -> tuple[str, ...]:
    """Return which of the `DECISIONS` the rules allow; a pinned world knows no more than five."""
    return tuple(name for name in DECISIONS if getattr(rules, name, False))


def choose(when: Bools, action: Action) -> Choices:
    """Return ``action`` where ``when`` holds and CONTINUE elsewhere, int64 [batch]."""
    return np.where(when, int(action), int(Action.CONTINUE)).astype(np.int64)


def flagged(view: ObservationView, threshold: float) -> Bools:
    """Is the forecast risk at least the threshold, compared in the precision of the observation?"""
    return view["risk"] >= np.float32(threshold)


def check_probability(name: str, value: float) -> None:
    """Raise ValueError, naming the parameter, unless the value is in [0, 1]."""
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"{name}: expected a probability, got {value}")
