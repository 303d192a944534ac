"""Who learns a lesson: boosted trees, or networks of one hidden layer."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from failgym.agents.counterfactual.lessons import Lesson
from failgym.agents.ensembles.forest import Forest
from failgym.agents.ensembles.from_xgboost import forest_of
from failgym.agents.ensembles.perceptrons import FARTHEST, Perceptrons

__all__ = ["Learner", "Networks", "Trees"]

BATCH = 1_024
"""Rows that a step of a network learns from."""
LEAST_DEVIATION = 1e-6
"""A column that varies less is not shown to networks."""


@dataclass(frozen=True)
class Trees:
    """XGBoost's, one booster for each member of the ensemble."""

    trees: int
    """boosting rounds"""
    depth: int
    """levels of a tree"""
    rate: float
    """what each tree's share is shrunk by"""
    least_weight: float
    """of the hessian in a leaf, where the mean row weighs 1"""
    threads: int = 1
    """of XGBoost, 0 for all; it gives the same trees with any number of them"""

    def learn(self, lesson: Lesson, seed: int) -> Forest:
        """Trees with one output; ``seed`` decides nothing, since nothing is drawn here."""
        import xgboost

        parameters = {
            "objective": "binary:logistic",
            "base_score": 0.5,  # a margin of 0
            "tree_method": "hist",
            "max_depth": self.depth,
            "eta": self.rate,
            "min_child_weight": self.least_weight,
            "nthread": self.threads,
        }
        boosters: list[Any] = []
        for weights in lesson.weights:  # XGBoost bins by the weights that a matrix has at first
            rows = xgboost.DMatrix(
                lesson.shown, label=lesson.better, weight=weights, nthread=self.threads
            )
            boosters.append(xgboost.train(parameters, rows, num_boost_round=self.trees))
        return forest_of([boosters], self.depth).rounded()

    def nothing(self, models: int, columns: int) -> Forest:
        """Trees whose margin is 0."""
        return Forest.of_nothing(models, self.trees, self.depth)


@dataclass(frozen=True)
class Networks:
    """Networks of one hidden layer, all members of the ensemble at once, by Adam."""

    units: int
    """of the hidden layer"""
    updates: int
    """steps of the optimiser, each on a batch of `BATCH` decisions"""
    rate: float
    """of the first steps; it falls to 0 along a cosine"""
    decay: float = 1e-4
    """of weights (AdamW, Loshchilov and Hutter 2019)"""

    def learn(self, lesson: Lesson, seed: int) -> Perceptrons:
        """Networks with one output, which begin as ``seed`` draws them."""
        mean, scale = _standard(lesson.shown)
        shown = np.clip((lesson.shown - mean) * scale, -FARTHEST, FARTHEST)
        with _one_thread():
            weights = self._trained(shown, lesson, seed)
        hidden, bias, last, base = (array[np.newaxis] for array in weights)
        found = Perceptrons(mean[np.newaxis], scale[np.newaxis], hidden, bias, last, base)
        return found.rounded()

    def _trained(
        self, shown: npt.NDArray[np.float32], lesson: Lesson, seed: int
    ) -> list[npt.NDArray[np.float32]]:
        """Weights of the hidden layer, its biases, weights of the last and its bias, by model."""
        models, columns = len(lesson.weights), shown.shape[1]
        draw = torch.Generator().manual_seed(seed)
        rows, label = torch.as_tensor(shown), torch.as_tensor(lesson.better.astype(np.float32))
        weight = torch.as_tensor(lesson.weights)
        hidden = torch.randn((models, columns, self.units), generator=draw) / columns**0.5
        last = torch.randn((models, self.units, 1), generator=draw) / self.units**0.5
        bias, base = torch.zeros((models, 1, self.units)), torch.zeros((models, 1, 1))
        learned = [one.requires_grad_() for one in (hidden, bias, last, base)]
        optimiser: Any = torch.optim.AdamW(learned, lr=self.rate, weight_decay=self.decay)
        schedule: Any = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, self.updates)
        loss_of = torch.nn.functional.binary_cross_entropy_with_logits
        for _ in range(self.updates):
            at = torch.randint(len(rows), (min(BATCH, len(rows)),), generator=draw)
            margin = (torch.relu(rows[at] @ hidden + bias) @ last + base)[:, :, 0]
            loss: Any = loss_of(margin, label[at].expand(models, -1), weight[:, at])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
        shapes = (
            (models, columns, self.units),
            (models, self.units),
            (models, self.units),
            (models,),
        )
        taught = lesson.weights.any(axis=1)  # a model that drew no job of these says nothing
        return [
            np.where(taught.reshape(-1, *[1] * (len(shape) - 1)), one.detach().reshape(shape), 0.0)
            for one, shape in zip(learned, shapes, strict=True)
        ]

    def nothing(self, models: int, columns: int) -> Perceptrons:
        """Networks whose margin is 0."""
        return Perceptrons.of_nothing(models, columns, self.units)


Learner = Trees | Networks


def _standard(
    shown: npt.NDArray[np.float32],
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Means of columns, and what they are multiplied by to deviate by 1; 0 where they do not."""
    mean, deviation = shown.mean(axis=0, dtype=np.float64), shown.std(axis=0, dtype=np.float64)
    varies = deviation > LEAST_DEVIATION
    scale = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=varies)
    return mean.astype(np.float32), scale.astype(np.float32)


@contextmanager
def _one_thread() -> Generator[None]:
    """Sums of torch come out the same on every number of cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
