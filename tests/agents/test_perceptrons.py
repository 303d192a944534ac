"""Small networks as arrays: against sums by NumPy, in batches of any size, and unsound arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from failgym.agents.ensembles.ensemble import joined
from failgym.agents.ensembles.forest import Forest
from failgym.agents.ensembles.perceptrons import FARTHEST, Perceptrons
from failgym.agents.ensembles.stored import stored_arrays, stored_ensemble

OUTPUTS, MODELS, COLUMNS, UNITS = 2, 3, 4, 5


def made_up(rng: np.random.Generator) -> Perceptrons:
    def drawn(*shape: int) -> Any:
        return rng.normal(size=shape).astype(np.float32)

    return Perceptrons(
        mean=drawn(OUTPUTS, COLUMNS),
        scale=np.abs(drawn(OUTPUTS, COLUMNS)),
        hidden=drawn(OUTPUTS, MODELS, COLUMNS, UNITS),
        hidden_bias=drawn(OUTPUTS, MODELS, UNITS),
        last=drawn(OUTPUTS, MODELS, UNITS),
        base=drawn(OUTPUTS, MODELS),
    )


def by_hand(nets: Perceptrons, row: Any, output: int, model: int) -> float:
    shown = np.clip((row - nets.mean[output]) * nets.scale[output], -FARTHEST, FARTHEST)
    hidden = shown.astype(float) @ nets.hidden[output, model] + nets.hidden_bias[output, model]
    return float(np.maximum(hidden, 0.0) @ nets.last[output, model] + nets.base[output, model])


def test_margins_are_those_of_networks_of_one_hidden_layer() -> None:
    rng = np.random.default_rng(0)
    nets = made_up(rng)
    nets.check(COLUMNS)
    rows = rng.normal(size=(50, COLUMNS), scale=8.0).astype(np.float32)  # some too far
    found = nets.margins(rows)
    assert found.shape == (50, OUTPUTS, MODELS)
    for output in range(OUTPUTS):
        for model in range(MODELS):
            expected = [by_hand(nets, row, output, model) for row in rows]
            np.testing.assert_allclose(found[:, output, model], expected, rtol=1e-4, atol=1e-4)


def test_an_answer_does_not_depend_on_what_else_is_asked() -> None:
    rng = np.random.default_rng(1)
    nets, rows = made_up(rng), rng.normal(size=(200, COLUMNS)).astype(np.float32)
    together = nets.margins(np.asfortranarray(rows))
    alone = np.concatenate([nets.margins(rows[i : i + 1]) for i in range(len(rows))])
    np.testing.assert_array_equal(together, alone)


def test_only_what_is_asked_for_is_worked_out() -> None:
    rng = np.random.default_rng(6)
    nets, rows = made_up(rng), rng.normal(size=(60, COLUMNS)).astype(np.float32)
    wanted = rng.random((60, OUTPUTS)) < 0.5
    expected = np.where(wanted[:, :, np.newaxis], nets.margins(rows), 0.0)
    np.testing.assert_array_equal(nets.margins(rows, wanted), expected)


def test_outputs_are_taken_apart_and_joined() -> None:
    rng = np.random.default_rng(2)
    nets, rows = made_up(rng), rng.normal(size=(20, COLUMNS)).astype(np.float32)
    again = joined(nets.only(slice(1)), nets.only(slice(1, 2)))
    np.testing.assert_array_equal(again.margins(rows), nets.margins(rows))
    nothing = Perceptrons.of_nothing(MODELS, COLUMNS, UNITS)
    assert not nothing.margins(rows).any()
    with pytest.raises(ValueError, match="expected two of a kind, got Perceptrons and Forest"):
        joined(nets, Forest.of_nothing(MODELS, 4, 2))


def test_files_hold_the_same_networks() -> None:
    nets = made_up(np.random.default_rng(3)).rounded()
    arrays = stored_arrays(nets)
    assert str(arrays["perceptrons.hidden"].dtype) == "float16"
    again = stored_ensemble("Perceptrons", arrays)
    for mine, stored in zip(nets, again, strict=True):
        np.testing.assert_array_equal(mine, stored)
        assert mine.dtype == stored.dtype


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"last": np.zeros((2, 3, 0))}, "base, last: expected"),
        ({"base": np.zeros(2)}, "base, last: expected"),
        ({"mean": np.zeros((2, 5))}, r"mean: expected \[2, 4\], got \[2, 5\]"),
        ({"hidden": np.zeros((2, 3, 4, 6))}, "hidden: expected"),
        ({"hidden": np.full((2, 3, 4, 5), np.nan)}, "hidden: expected numbers up to"),
        ({"scale": np.full((2, 4), np.inf)}, "scale: expected numbers up to"),
    ],
)
def test_arrays_that_are_no_networks_are_refused(change: dict[str, Any], message: str) -> None:
    nets = made_up(np.random.default_rng(4))
    with pytest.raises(ValueError, match=message):
        nets._replace(**change).check(COLUMNS)


def test_rows_of_another_length_are_refused() -> None:
    with pytest.raises(ValueError, match="rows: expected 4 columns, got 3"):
        made_up(np.random.default_rng(5)).margins(np.zeros((2, 3), dtype=np.float32))
