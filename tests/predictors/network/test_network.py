"""One network: what it computes, how it learns, and when it stops."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from failgym.predictors.network import network as networks
from failgym.predictors.network.network import Network, Recipe, Stopping, train

torch = pytest.importorskip("torch", reason="needs failgym[predictors]")

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def quadrants(rows: int, seed: int = 0) -> tuple[Floats, Ints]:
    """Two inputs on very different scales, in the class of the quadrant: not linear."""
    rng = np.random.default_rng(seed)
    signs = rng.uniform(-1.0, 1.0, (rows, 2))
    classes = (signs[:, 0] > 0) ^ (signs[:, 1] > 0)
    return signs * [1e-4, 1e6], classes.astype(np.int64)


def noise(rows: int) -> tuple[Floats, Ints]:
    rng = np.random.default_rng(1)
    return rng.standard_normal((rows, 5)), rng.integers(0, 3, rows)


def told(recipe: Recipe, errors: list[float], rates: list[float]) -> tuple[Any, int, list[bool]]:
    """Why training stops, after how many steps, and which states were the best so far."""
    stopping, best = Stopping(recipe), list[bool]()
    for error, rate in zip(errors, rates, strict=True):
        reason = stopping.tell(error, rate)
        best.append(stopping.best)
        if reason is not None:
            return reason, stopping.step, best
    return None, stopping.step, best


FALLING = np.linspace(1.0, 0.5, 600).tolist()


class TestTheThreeStoppingRules:
    def test_are_the_papers(self) -> None:
        recipe = Recipe()
        assert (recipe.hidden, recipe.validation) == (20, 0.15)
        assert (recipe.stalls, recipe.steps) == (200, 500)

    def test_validation_error_rises(self) -> None:
        rates = [0.5, 0.4, 0.45, 0.4, 0.41, 0.42, 0.43]
        got = told(Recipe(rises=3), FALLING[:7], rates)
        assert got == ("validation", 6, [True, True, False, True, False, False, False])
        assert told(Recipe(rises=1), FALLING[:7], rates)[:2] == ("validation", 2)
        assert told(Recipe(rises=4), FALLING[:7], rates)[0] is None

    def test_error_stalls(self) -> None:
        errors = [1.0, 0.9, 0.95, 0.85, *[0.85] * 300]
        got = told(Recipe(), errors, [0.3] * len(errors))
        assert got[:2] == ("stalled", 3 + 200)
        assert told(Recipe(stalls=2), errors, [0.3] * len(errors))[:2] == ("stalled", 5)

    def test_steps_are_used_up(self) -> None:
        assert told(Recipe(), FALLING, [0.3] * 600)[:2] == ("steps", 500)
        assert told(Recipe(steps=7), FALLING, [0.3] * 600)[:2] == ("steps", 7)

    def test_without_validation_rows_the_latest_is_kept(self) -> None:
        nan = float("nan")
        assert told(Recipe(steps=3), FALLING[:4], [nan] * 4) == ("steps", 3, [True] * 4)

    @pytest.mark.parametrize(
        ("recipe", "stopped"),
        [
            (Recipe(rises=2, stalls=499), "validation"),
            (Recipe(rises=500, stalls=20, first_step=50.0), "stalled"),
            (Recipe(steps=9, rises=500), "steps"),
        ],
    )
    def test_each_ends_a_training(self, recipe: Recipe, stopped: str) -> None:
        assert train(*noise(200), 3, recipe, 0).stopped == stopped

    def test_a_steady_training_takes_all_its_steps(self) -> None:
        trained = train(*quadrants(400), 2, Recipe(steps=50, rises=500), 0)
        assert (trained.steps, trained.stopped) == (50, "steps")


def test_what_a_network_computes() -> None:
    """Rosà et al., section III-3a: the tan-sigmoid and softmax as printed there."""
    rng = np.random.default_rng(2)
    network = Network(
        typical=np.array([2.0, 1.0]),
        mean=np.array([0.5, 0.0]),
        deviation=np.array([1.0, 3.0]),
        hidden=rng.standard_normal((3, 4)),
        output=rng.standard_normal((5, 3)),
    )
    x = np.array([7.0, -2.0])
    z = [(np.arcsinh(3.5) - 0.5) / 1.0, np.arcsinh(-2.0) / 3.0, 1.0]
    net = np.array(z) @ network.hidden
    units = np.append(2.0 / (1.0 + np.exp(-2.0 * net)) - 1.0, 1.0)
    raised = np.exp(units @ network.output)
    got = network.confidences(x[None])
    assert got[0] == pytest.approx(raised / raised.sum(), rel=1e-12)


def test_outputs_far_apart_overflow_nothing() -> None:
    zeros = np.zeros(1)
    network = Network(zeros + 1, zeros, zeros + 1, np.ones((2, 1)), np.array([[1e4, -1e4], [0, 0]]))
    assert network.confidences(np.array([[5.0], [-5.0]])) == pytest.approx(np.eye(2))


def test_it_learns_what_no_single_layer_can() -> None:
    trained = train(*quadrants(1000), 2, Recipe(rises=50), 3)
    inputs, classes = quadrants(1000, seed=9)
    said = trained.network.confidences(inputs)
    assert said.shape == (1000, 2)
    assert said.sum(axis=1) == pytest.approx(1.0)
    assert np.mean(said.argmax(axis=1) != classes) < 0.04


def test_the_error_is_half_the_squared_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    errors = list[float]()

    class Recording(Stopping):
        def tell(self, error: float, rate: float) -> Any:
            errors.append(error)
            return super().tell(error, rate)

    monkeypatch.setattr(networks, "Stopping", Recording)
    inputs, classes = noise(100)
    trained = train(inputs, classes, 3, Recipe(steps=5, validation=0.0), 0)
    away = trained.network.confidences(inputs) - np.eye(3)[classes]
    assert len(errors) == 6
    assert errors[-1] == pytest.approx(0.5 * np.square(away).sum(axis=1).mean(), rel=1e-12)
    assert errors[-1] < errors[0]


@pytest.mark.parametrize(("rows", "held"), [(200, 30), (10, 2), (3, 0), (1, 0)])
def test_15_percent_are_watched_and_not_learned_from(
    rows: int, held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = list[int]()
    descend = networks._descend

    def spy(first: Any, learned: Any, watched: Any, recipe: Any) -> Any:
        seen.extend((len(learned[0]), len(watched[0])))
        return descend(first, learned, watched, recipe)

    monkeypatch.setattr(networks, "_descend", spy)
    train(*noise(rows), 3, Recipe(steps=2), 0)
    assert seen == [rows - held, held]


def test_rows_of_a_group_are_watched_together_or_learned_from_together() -> None:
    """Else what was learned by heart of some tasks of a job seems right of the others."""
    rng = np.random.default_rng(0)
    group = np.sort(rng.integers(0, 60, 900)) * 7
    watched, learned = networks._divided(group, 0.15, rng)
    assert sorted([*watched, *learned]) == list(range(900))
    assert not set(group[watched]) & set(group[learned])
    assert 0.12 < len(watched) / 900 <= 0.15
    other, _ = networks._divided(group, 0.15, rng)
    assert set(group[other]) != set(group[watched])
    one, rest = networks._divided(np.zeros(5, dtype=np.int64), 0.15, rng)
    assert (len(one), len(rest)) == (0, 5)


def test_the_scales_are_learned_from_what_is_learned_from() -> None:
    inputs = np.zeros((40, 4))
    inputs[:, 1], inputs[:, 2] = 7.0, np.arange(40)
    inputs[3, 3] = -5.0
    network = train(inputs, np.zeros(40, np.int64), 2, Recipe(validation=0.0, steps=1), 0).network
    assert network.typical.tolist() == [1.0, 7.0, 20.0, 5.0]
    normal = network.normal(inputs)
    assert normal.mean(axis=0) == pytest.approx(np.zeros(4), abs=1e-12)
    assert normal.std(axis=0) == pytest.approx([0, 0, 1, 1], abs=1e-12)
    assert np.isfinite(network.normal(np.full((1, 4), 1e30))).all()


def test_the_seed_alone_decides_and_nothing_of_torch_changes() -> None:
    before = torch.get_num_threads(), torch.get_rng_state().clone(), torch.is_grad_enabled()
    one = train(*noise(80), 3, Recipe(), (1, 2)).network.arrays("")
    torch.manual_seed(99)
    with torch.no_grad(), torch.inference_mode():
        same = train(*noise(80), 3, Recipe(), (1, 2)).network.arrays("")
    other = train(*noise(80), 3, Recipe(), (1, 3)).network.arrays("")
    assert all(np.array_equal(one[name], same[name]) for name in one)
    assert not np.array_equal(one["hidden"], other["hidden"])
    torch.set_rng_state(before[1])
    train(*noise(80), 3, Recipe(), 0)
    assert torch.equal(torch.get_rng_state(), before[1])
    assert (torch.get_num_threads(), torch.is_grad_enabled()) == (before[0], before[2])


def test_threads_come_back_when_training_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        monkeypatch.setattr(networks, "Stopping", None)
        with pytest.raises(TypeError):
            train(*noise(20), 3, Recipe(), 0)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)


def test_a_network_is_its_arrays() -> None:
    network = train(*noise(50), 3, Recipe(hidden=4, steps=3), 0).network
    arrays = network.arrays("a_")
    again = Network.of_arrays(arrays, "a_", 5, 3)
    assert np.array_equal(again.confidences(noise(50)[0]), network.confidences(noise(50)[0]))
    with pytest.raises(ValueError, match=r"a_typical: expected shape \(6,\), got \(5,\)"):
        Network.of_arrays(arrays, "a_", 6, 3)
    with pytest.raises(ValueError, match=r"a_output: expected shape \(5, 2\), got \(5, 3\)"):
        Network.of_arrays(arrays, "a_", 5, 2)
    with pytest.raises(ValueError, match="no a_output"):
        Network.of_arrays({k: v for k, v in arrays.items() if k != "a_output"}, "a_", 5, 3)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *((name, 0) for name in ("hidden", "rises", "stalls", "steps", "first_step")),
        *(("validation", share) for share in (-0.1, 1.0, float("nan"))),
    ],
)
def test_a_recipe_out_of_range_names_its_field(field: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"^{field}: expected"):
        Recipe(**{field: value})  # type: ignore[arg-type]
