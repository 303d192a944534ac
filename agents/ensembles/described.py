"""A `Decider` as a policy file describes it, and made again from that and the arrays."""

from __future__ import annotations

from typing import Any

from failgym.agents.ensembles.decider import Decider
from failgym.agents.ensembles.ensemble import Ensemble
from failgym.agents.ensembles.forest import Forest
from failgym.agents.ensembles.sizes import EnsembleSizes, ForestSizes, PerceptronSizes
from failgym.vocabulary import Action

__all__ = ["decider_of", "described"]


def described(decider: Decider) -> ForestSizes | PerceptronSizes:
    """What a manifest says of it."""
    names = [] if decider.follows else [Action(action).name for action in decider.choices]
    common: dict[str, Any] = {
        "decides": tuple(names),
        "rounds": decider.rounds,
        "models": decider.ensemble.models,
        "caution": decider.caution,
        "advice": decider.advisers,
        "prices": decider.priced,
    }
    ensemble = decider.ensemble
    if isinstance(ensemble, Forest):
        return ForestSizes(**common, trees=ensemble.leaves.shape[2], depth=ensemble.depth)
    return PerceptronSizes(**common, units=ensemble.units)


def decider_of(sizes: EnsembleSizes, ensemble: Ensemble, columns: int) -> Decider:
    """What such an ensemble decides.

    Args:
        sizes: what the manifest says.
        ensemble: what the arrays hold.
        columns: names of fields that the manifest lists.

    Raises:
        ValueError: in one line, where they do not agree, or where it could decide nothing.
    """
    known = {action.name: int(action) for action in Action}
    follows = not sizes.decides
    advice = tuple(adviser.heuristic() for adviser in sizes.advice)
    choices = tuple(range(len(advice)))
    if not follows:
        choices = tuple(known.get(name, -1) for name in sizes.decides)
    decider = Decider(ensemble, choices, sizes.caution, advice, follows, sizes.prices)
    decider.check(columns)
    got = described(decider)
    for name in type(got).model_fields:
        stated, held = getattr(sizes, name, None), getattr(got, name)
        if name != "advice" and stated != held:  # advice is read from what is stated
            raise ValueError(f"{name}: the manifest says {stated}, the arrays hold {held}")
    return decider
