"""Sizes of an ensemble, as a policy file states them."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from failgym.agents.ensembles.advice import MOST_ADVISERS, Adviser
from failgym.agents.ensembles.forest import DEEPEST
from failgym.agents.strict_record import GrownRecord, Width

__all__ = [
    "MOST_MODELS",
    "MOST_ROUNDS",
    "MOST_TREES",
    "EnsembleSizes",
    "ForestSizes",
    "PerceptronSizes",
]

MOST_ROUNDS, MOST_MODELS, MOST_TREES = 100, 100, 10_000


class EnsembleSizes(GrownRecord):
    """How many models there are, and what they are about."""

    LATER: ClassVar[frozenset[str]] = frozenset({"prices"})

    decides: tuple[str, ...]
    """actions that are told apart in pairs, in order, CONTINUE first; none where rules are"""
    rounds: Annotated[int, Field(ge=1, le=MOST_ROUNDS)]
    """how often the answer may change (`failgym.agents.ensembles.decider`)"""
    models: Annotated[int, Field(ge=1, le=MOST_MODELS)]
    caution: Annotated[float, Field(ge=0.0, le=100.0)]
    """standard deviations between models that are taken off their mean"""
    advice: Annotated[tuple[Adviser, ...], Field(max_length=MOST_ADVISERS)] = ()
    """rules whose answers models are shown; that of the first stands in doubt, or else CONTINUE"""
    prices: Annotated[tuple[str, ...], Field(max_length=20)] = ()
    """fields of the scenario that say what is charged (`failgym.worlds.settings.prices.Prices`) and
    that models are shown, behind those of the observation"""


class ForestSizes(EnsembleSizes):
    """Of trees."""

    trees: Annotated[int, Field(ge=1, le=MOST_TREES)]
    """of each model, for each pair of actions, in each round"""
    depth: Annotated[int, Field(ge=1, le=DEEPEST)]


class PerceptronSizes(EnsembleSizes):
    """Of networks."""

    units: Width
    """of the hidden layer"""
