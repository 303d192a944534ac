"""Boosted trees by job type: a model of all examples, one of each type with enough of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from failgym.predictors.boosting.boosters import booster_risk, check_booster, train_booster
from failgym.predictors.boosting.examples import FEATURES, JOB_TYPES, Examples, sampled

__all__ = ["Growth", "Models"]

Bytes = npt.NDArray[np.uint8]
Floats32 = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]

BLOCK = 100_000
"""Rows of features at a time: their memory is used again, and little of it is needed."""


@dataclass(frozen=True)
class Growth:
    """How models are grown: hyper-parameters of `GradientBoosting`, by the same names."""

    trees: int
    depth: int
    rate: float
    least_weight: float
    least: int
    most_rows: int
    seed: int


@dataclass(frozen=True, eq=False)
class Models:
    """A booster by position in `JOB_TYPES`; that of `any`, 0, serves the types without."""

    boosters: dict[int, Bytes]

    @classmethod
    def learned(cls, examples: Examples, growth: Growth) -> Self:
        """The models of examples; none if nothing of them is bad, or all is."""
        found: dict[int, Bytes] = {}
        for kind in range(len(JOB_TYPES)):
            these = examples.of(examples.kind == kind) if kind else examples
            enough = np.sum(these.bad & these.first) >= (growth.least if kind else 1)
            if enough and not np.all(these.bad):
                found[kind] = _booster(these, growth)
        return cls(found)

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], prefix: str) -> Self:
        """What `arrays` gave. Raises ValueError, in one line, if it is unfit."""
        found = {
            kind: arrays[prefix + name]
            for kind, name in enumerate(JOB_TYPES)
            if prefix + name in arrays
        }
        if found and 0 not in found:
            raise ValueError(f"GradientBoosting: array '{prefix}{JOB_TYPES[0]}' is missing")
        for booster in found.values():
            check_booster(booster, len(FEATURES))
        return cls(found)

    def arrays(self, prefix: str) -> dict[str, Bytes]:
        """The boosters as bytes of JSON, their names after a prefix."""
        return {prefix + JOB_TYPES[kind]: booster for kind, booster in self.boosters.items()}

    def or_else(self, others: Models) -> Models:
        """These, and others where there are none."""
        return Models({**others.boosters, **self.boosters})

    def risks(
        self, kind: Integers, features: Callable[[Integers], Floats32], rows: Integers
    ) -> Floats32:
        """How probable it is that each of some rows is bad.

        Args:
            kind: [all rows] position in `JOB_TYPES`.
            features: what is known of rows.
            rows: those that are asked about.
        """
        risk = np.empty(len(rows), dtype=np.float32)
        served = np.where(np.isin(kind[rows], list(self.boosters)), kind[rows], 0)
        for model, booster in self.boosters.items():
            here = np.flatnonzero(served == model)
            for part in np.array_split(here, len(here) // BLOCK + 1):
                risk[part] = booster_risk(booster, features(rows[part]))
        return risk


def _booster(examples: Examples, growth: Growth) -> Bytes:
    rows, weight = sampled(examples.bad, growth.most_rows, np.random.default_rng(growth.seed))
    return train_booster(
        examples.features[rows],
        examples.bad[rows],
        weight * examples.weight[rows],
        trees=growth.trees,
        depth=growth.depth,
        rate=growth.rate,
        least_weight=growth.least_weight,
        seed=growth.seed,
    )
