"""A rule that asks two questions of what is shown, and acts by the answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from failgym.baselines.base import Bools, Choices, Heuristic, ObservationView
from failgym.known_names import check_known, unknown
from failgym.sim.shared.fields import FIELDS, INDEX
from failgym.vocabulary import Action

__all__ = ["LEAVES", "NOTHING", "WORDS", "DecisionTree", "Trees"]

Floats = npt.NDArray[np.float32]

LEAVES = 4
NOTHING = "nothing"
WORDS: dict[str, dict[str, tuple[Action, str]]] = {
    "window": {
        "clone": (Action.CLONE, "clone"),
        "checkpoint": (Action.CHECKPOINT, "checkpoint"),
        "kill": (Action.KILL, "kill"),
    },
    "failed": {"give_up": (Action.KILL, "give_up"), "retry": (Action.RETRY, "retry")},
    "output": {"save": (Action.CHECKPOINT, "save_outputs")},
    "dispatch": {"pass": (Action.RETRY, "place")},
}
"""Kind of decision (0/1 field of the observation) -> what may be done, beside `NOTHING`: the
action, and the decision (`failgym.worlds.decisions.DECISIONS`) that has to be allowed."""
_FORECASTS = {
    **dict.fromkeys(("risk", "risk_change", "risk_over_cost"), "risk"),
    **{f.name: "classes" for f in FIELDS if "confidence" in f.name},
    "predicted_to_fail": "node_forecast",
}
"""Field -> what it shows of a forecast (`failgym.worlds.inputs.INPUTS`)."""
_HIGHEST = float(np.finfo(np.float32).max)
"""Of a threshold: fields are of single precision."""
_KINDS = np.array([INDEX[kind] for kind in WORDS])


@dataclass(frozen=True)
class DecisionTree(Heuristic):
    """A tree of depth 2 over the fields of the observation (`failgym.sim.shared.fields`).

    It asks whether field `first` is above a threshold; then, if not, whether `below` is above one,
    and if so, whether `above` is. In each of the four leaves it has something to do in each kind of
    decision: a word of `WORDS`, or `NOTHING`. Each of `window`, `failed`, `output` and `dispatch`
    holds four words, parted by spaces: of the leaves no-no, no-yes, yes-no and yes-yes. It acts
    once in a decision.

    It is no baseline of its own: with its defaults it does nothing. `experiments.random_rules`
    finds trees, and `--policy FILE` plays them (`failgym.baselines.stored`).

    Raises:
        ValueError: for an unknown field, a threshold that is not finite, or anything but four words
            that are known.
    """

    name: ClassVar[str] = "decision_tree"
    listed: ClassVar[bool] = False

    first: str = "window"
    """Field that is asked about first."""
    first_above: float = 0.0
    """Threshold, in the unit of the field."""
    below: str = "window"
    """Field that is asked about where the first is not above its threshold."""
    below_above: float = 0.0
    """Threshold, in the unit of the field."""
    above: str = "window"
    """Field that is asked about where the first is above its threshold."""
    above_above: float = 0.0
    """Threshold, in the unit of the field."""
    window: str = "nothing nothing nothing nothing"
    """What is done at the start and in the windows of an attempt."""
    failed: str = "nothing nothing nothing nothing"
    """What is done where an attempt has failed."""
    output: str = "nothing nothing nothing nothing"
    """What is done where a task has an output."""
    dispatch: str = "nothing nothing nothing nothing"
    """What is done where a machine is offered."""

    def __post_init__(self) -> None:
        for field in (self.first, self.below, self.above):
            check_known("field", field, INDEX)
        for name in ("first_above", "below_above", "above_above"):
            value: float = getattr(self, name)
            if not abs(value) <= _HIGHEST:
                raise ValueError(f"{name}: expected a finite number, got {value}")
        for kind, known in WORDS.items():
            words = self.words(kind)
            if len(words) != LEAVES:
                raise ValueError(f"{kind}: expected {LEAVES} words, got {' '.join(words)!r}")
            for word in words:
                if word not in (NOTHING, *known):
                    raise ValueError(f"{kind}: {unknown('word', word, (NOTHING, *known))}")

    def words(self, kind: str) -> list[str]:
        """What is done in a kind of decision, by leaf."""
        words: str = getattr(self, kind)
        return words.split()

    def inputs(self) -> frozenset[str]:
        """The forecasts that it asks about: without them its questions have one answer."""
        return frozenset(
            _FORECASTS[f] for f in (self.first, self.below, self.above) if f in _FORECASTS
        )

    def decisions(self) -> frozenset[str]:
        """Those that some leaf is about."""
        return frozenset(
            WORDS[kind][word][1] for kind in WORDS for word in self.words(kind) if word != NOTHING
        )

    def act(self, view: ObservationView, mask: Bools) -> Choices:
        """Return what the leaf says, once in a decision, CONTINUE elsewhere."""
        return Trees.of([self]).act(np.zeros(len(view), dtype=np.int64), view.values)

    @property
    def text(self) -> str:
        """What it asks and does, in a line, with thresholds in the units that fields stand for."""
        first = _question(self.first, self.first_above)
        then = (_question(self.below, self.below_above), _question(self.above, self.above_above))
        parts: list[str] = []
        for half, given in enumerate((f"not {first}", first)):
            no, yes = self._leaf(2 * half), self._leaf(2 * half + 1)
            done = no if no == yes else f"{yes} if {then[half]}, else {no}"
            parts.append(f"{given}: {done}")
        return "; ".join(parts)

    def _leaf(self, leaf: int) -> str:
        done = [self.words(kind)[leaf] for kind in WORDS]
        return " and ".join(word for word in done if word != NOTHING) or NOTHING


class Trees(NamedTuple):
    """Several trees, as arrays."""

    fields: Choices
    """[trees, 3] columns that are asked about: first, below, above"""
    thresholds: Floats
    """[trees, 3]"""
    actions: Choices
    """[trees, kinds, leaves]"""

    @classmethod
    def of(cls, trees: Sequence[DecisionTree]) -> Self:
        """Their arrays."""
        return cls(
            np.array([[INDEX[t.first], INDEX[t.below], INDEX[t.above]] for t in trees]),
            np.array([[t.first_above, t.below_above, t.above_above] for t in trees], np.float32),
            np.array([[_actions(t, kind) for kind in WORDS] for t in trees], dtype=np.int64),
        )

    def act(self, tree: Choices, seen: Floats) -> Choices:
        """What the trees of these numbers [batch] want, each of what it is shown [batch, fields].

        Returns:
            Actions, int64 [batch], legal or not.
        """
        rows = np.arange(len(seen))
        above = seen[rows[:, None], self.fields[tree]] > self.thresholds[tree]
        leaf = np.where(above[:, 0], 2 + above[:, 2], above[:, 1])
        kind = seen[:, _KINDS].argmax(axis=1)
        wanted = self.actions[tree, kind, leaf]
        first = seen[:, INDEX["actions_taken"]] == 0
        return np.where(first, wanted, int(Action.CONTINUE)).astype(np.int64)


def _actions(tree: DecisionTree, kind: str) -> list[int]:
    known = WORDS[kind]
    return [
        int(Action.CONTINUE) if word == NOTHING else int(known[word][0])
        for word in tree.words(kind)
    ]


def _question(field: str, threshold: float) -> str:
    unit, value = FIELDS[INDEX[field]].unit, threshold
    if unit.startswith("log2"):
        value = 2.0**value - 1.0
    return f"`{field}` > {value:.4g}{' min' if unit.endswith('min') else ''}"
