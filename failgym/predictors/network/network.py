"""One neural network of Rosà et al.: how it is trained, and what it says."""

# PyTorch's annotations are incomplete.

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from failgym.predictors.parameters import check_whole

if TYPE_CHECKING:
    import torch

__all__ = ["Network", "Reason", "Recipe", "Stopping", "Trained", "train"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Reason = Literal["validation", "stalled", "steps"]
"""Why training stopped: the validation error rose, the error stalled, or the steps were used up."""

ROUNDING = 1e-12
"""An input that varies by no more than this is taken to be constant."""


@dataclass(frozen=True, eq=False)
class Network:
    """A network of one hidden layer: normalised inputs, tan-sigmoid units, softmax outputs.

    Counts, rates and requests spread over decades, and the paper does not say how it normalises
    them. Here an input x becomes asinh(x / typical), linear up to its typical size and logarithmic
    beyond, less its mean, over its deviation.
    """

    typical: Floats
    """[inputs] Median size of each input where it was trained, zeros aside; 1 without others."""
    mean: Floats
    """[inputs] Mean of what asinh makes of each input there."""
    deviation: Floats
    """[inputs] Standard deviation of that; 1 where it does not vary."""
    hidden: Floats
    """[inputs + 1, hidden units] Weights of the hidden layer; the last row is the bias."""
    output: Floats
    """[hidden units + 1, classes] Weights of the output layer; the last row is the bias."""

    def confidences(self, inputs: npt.NDArray[Any]) -> Floats:
        """The confidence in each class, [rows, classes]; the classes of a row sum to 1."""
        units = np.tanh(self.normal(inputs) @ self.hidden[:-1] + self.hidden[-1])
        net = units @ self.output[:-1] + self.output[-1]
        raised = np.exp(net - net.max(axis=1, keepdims=True))
        return raised / raised.sum(axis=1, keepdims=True)

    def normal(self, inputs: npt.NDArray[Any]) -> Floats:
        """The inputs as the hidden layer sees them, [rows, inputs]."""
        return (np.arcsinh(inputs / self.typical) - self.mean) / self.deviation

    def arrays(self, prefix: str) -> dict[str, Floats]:
        """The fields as plain arrays, their names after a prefix."""
        return {prefix + field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def of_arrays(
        cls, arrays: Mapping[str, npt.NDArray[Any]], prefix: str, inputs: int, classes: int
    ) -> Self:
        """What `arrays` gave. Raises ValueError, in one line, if something is missing or unfit."""
        names = [prefix + field.name for field in fields(cls)]
        for name in names:
            if name not in arrays:
                raise ValueError(f"expected arrays {', '.join(names)}; no {name}")
            if arrays[name].dtype != np.float64 or not np.isfinite(arrays[name]).all():
                raise ValueError(f"{name}: expected finite float64")
        network = cls(*(arrays[name] for name in names))
        units = len(network.output) - 1
        layers = ((inputs + 1, units), (units + 1, classes))
        for name, shape in zip(names, ((inputs,),) * 3 + layers, strict=True):
            if arrays[name].shape != shape:
                raise ValueError(f"{name}: expected shape {shape}, got {arrays[name].shape}")
        if not min(network.typical.min(), network.deviation.min()) > 0.0:
            raise ValueError(f"{prefix}typical, {prefix}deviation: expected more than 0")
        return network


@dataclass(eq=False)
class Recipe:
    """How a network is trained (Rosà, Chen and Binder, IWQoS 2015, section III-3a).

    Raises:
        ValueError: if a value is out of range; the message names the field.
    """

    hidden: int = 20
    """H: hidden units."""
    validation: float = 0.15
    """Share of the rows, drawn at random, that are not trained on but watched. Rows of one job are
    watched together: its tasks are alike, so that what was learned by heart of some would seem
    right of the others, and training would go on for too long."""
    rises: int = 6
    """Training stops when the misclassification rate of the validation rows was above its lowest
    for so many steps in a row. The paper says only that it "increases"; 6 is the custom of the
    toolbox whose terms it uses. With 1, training ends after 2 to 22 steps on the google-2011
    profile, and up to twice as many jobs are misclassified."""
    stalls: int = 200
    """Training stops when the error was not below its lowest for so many steps in a row."""
    steps: int = 500
    """Training stops after so many steps."""
    first_step: float = 0.01
    """Resilient backpropagation: the first change of each weight. The paper does not say; this
    and the factors 0.5 and 1.2 by which changes shrink and grow are PyTorch's."""

    def __post_init__(self) -> None:
        check_whole(self, 1, "hidden", "rises", "stalls", "steps")
        if not 0.0 <= self.validation < 1.0:
            raise ValueError(f"validation: expected a share below 1, got {self.validation}")
        if not self.first_step > 0.0:
            raise ValueError(f"first_step: expected more than 0, got {self.first_step}")


class Trained(NamedTuple):
    """A network, and how its training went."""

    network: Network
    steps: int
    """Steps made until training stopped."""
    stopped: Reason


class Stopping:
    """Decides by three rules when training stops; `tell` is called before each training step."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.step = 0
        self.lowest_error = self.lowest_rate = float("inf")
        self.rises = self.stalls = 0
        self.best = True
        """Is the state last told of the one to keep? That of the lowest validation rate, and of
        several the latest; without validation rows, the latest."""

    def tell(self, error: float, rate: float) -> Reason | None:
        """Return why training stops here, or None to make another step.

        Args:
            error: the error function on the rows that are trained on.
            rate: the misclassification rate of the validation rows; NaN if there are none.
        """
        self.best = not rate > self.lowest_rate
        self.rises = 0 if self.best else self.rises + 1
        self.lowest_rate = min(self.lowest_rate, rate) if rate == rate else self.lowest_rate
        self.stalls = 0 if error < self.lowest_error else self.stalls + 1
        self.lowest_error = min(self.lowest_error, error)
        if self.rises >= self.recipe.rises:
            return "validation"
        if self.stalls >= self.recipe.stalls:
            return "stalled"
        if self.step >= self.recipe.steps:
            return "steps"
        self.step += 1
        return None


def train(
    inputs: npt.NDArray[Any],
    labels: Ints,
    classes: int,
    recipe: Recipe,
    seed: int | Sequence[int],
    group: Ints | None = None,
) -> Trained:
    """Train a network by resilient backpropagation on all rows at once.

    The error is the mean over the rows of half the squared difference between outputs and targets
    (1 for the row's class, 0 for the others). Random are the first weights and the choice of the
    validation rows, by the seed alone; PyTorch's own generators and settings stay as they are.

    Args:
        inputs: [rows, inputs], at least one row.
        labels: [rows] the class of each row.
        classes: number of classes.
        recipe: sizes and stopping rules.
        seed: of the random numbers.
        group: [rows] what each row belongs to; the rows of a group are watched, or trained on, all
            together. By default each row is a group of its own.
    """
    rng = np.random.default_rng(seed)
    watched, learned = _divided(len(inputs) if group is None else group, recipe.validation, rng)
    values = np.asarray(inputs, dtype=np.float64)
    scales = _scales(values[learned])
    weights = [
        _first_weights(rng, values.shape[1], recipe.hidden),
        _first_weights(rng, recipe.hidden, classes),
    ]
    normal, targets = Network(*scales, *weights).normal(values), np.eye(classes)[labels]
    (hidden, output), steps, stopped = _descend(
        weights, (normal[learned], targets[learned]), (normal[watched], targets[watched]), recipe
    )
    return Trained(Network(*scales, hidden, output), steps, stopped)


def _divided(group: Ints | int, share: float, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Rows that are watched, a share of all, and rows that are trained on, at least one group.

    Groups are taken in random order as long as they fit.
    """
    of = np.arange(group) if isinstance(group, int) else np.unique(group, return_inverse=True)[1]
    order = rng.permutation(int(of.max()) + 1)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    upto = np.cumsum(np.bincount(of)[order])
    held = min(int(np.searchsorted(upto, round(share * len(of)), side="right")), len(order) - 1)
    rows = np.argsort(place[of], kind="stable")
    watched = int(upto[held - 1]) if held else 0
    return rows[:watched], rows[watched:]


def _scales(values: Floats) -> tuple[Floats, Floats, Floats]:
    """Typical size of each input, and mean and deviation of what asinh makes of it."""
    size = np.where(values == 0.0, np.nan, np.abs(values))
    used = (values != 0.0).any(axis=0)
    typical = np.ones(values.shape[1])
    typical[used] = np.nanmedian(size[:, used], axis=0)
    spread = np.arcsinh(values / typical)
    deviation = spread.std(axis=0)
    return typical, spread.mean(axis=0), np.where(deviation > ROUNDING, deviation, 1.0)


def _first_weights(rng: np.random.Generator, inputs: int, units: int) -> Floats:
    """Uniform within 1 / sqrt(inputs), so that no unit starts out saturated."""
    reach = inputs**-0.5
    return rng.uniform(-reach, reach, (inputs + 1, units))


def _descend(
    first: list[Floats],
    learned: tuple[Floats, Floats],
    watched: tuple[Floats, Floats],
    recipe: Recipe,
) -> tuple[list[Floats], int, Reason]:
    """The best weights, the steps made and why no more; one thread, for the same bits."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.inference_mode(False), torch.enable_grad():
            weights = [_tensor(values).requires_grad_() for values in first]
            inputs, targets, watched_inputs = map(_tensor, (*learned, watched[0]))
            optimiser: Any = torch.optim.Rprop(weights, lr=recipe.first_step)
            stopping, kept = Stopping(recipe), first
            while True:
                optimiser.zero_grad()
                error: Any = (_outputs(inputs, weights) - targets).square().sum(dim=1).mean() / 2
                rate = _misclassified(_outputs(watched_inputs, weights), watched[1])
                reason = stopping.tell(error.item(), rate)
                if stopping.best:
                    kept = [w.detach().numpy().copy() for w in weights]
                if reason is not None:
                    return kept, stopping.step, reason
                error.backward()
                optimiser.step()
    finally:
        torch.set_num_threads(threads)


def _tensor(values: Floats) -> torch.Tensor:
    import torch

    return torch.tensor(values, dtype=torch.float64, device="cpu")


def _outputs(inputs: torch.Tensor, weights: list[torch.Tensor]) -> torch.Tensor:
    hidden, output = weights
    units = (inputs @ hidden[:-1] + hidden[-1]).tanh()
    return (units @ output[:-1] + output[-1]).softmax(dim=1)


def _misclassified(outputs: torch.Tensor, targets: Floats) -> float:
    """Share of the rows whose largest output is not their class; NaN without rows."""
    if not len(targets):
        return float("nan")
    values: Any = outputs.detach().numpy()
    guessed: npt.NDArray[np.int64] = values.argmax(axis=1)
    wrong: npt.NDArray[np.bool_] = guessed != targets.argmax(axis=1)
    return float(wrong.mean())
