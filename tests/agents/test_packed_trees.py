"""Trees in a file: nothing is lost, what is said twice is held once, and damage is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load, save

from failgym.agents.ensembles import packed
from failgym.agents.ensembles.forest import DEEPEST, Forest
from failgym.agents.ensembles.stored import stored_arrays, stored_ensemble

Arrays = dict[str, npt.NDArray[Any]]

ODD = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-45, 0.1, 65_504.0, 1e9], dtype=np.float32)


def of_bits(forest: Forest) -> list[tuple[Any, ...]]:
    """All that makes a forest, NaN and the sign of 0 included."""
    return [(array.dtype, array.shape, array.tobytes()) for array in forest]


def pruned(rng: np.random.Generator, forest: Forest, share: float) -> Forest:
    """The forest where a share of the nodes is a leaf, repeated below as `forest_of` does."""
    inner = forest.fields.shape[3]
    for tree in np.ndindex(forest.fields.shape[:3]):
        for node in np.flatnonzero(rng.random(inner) < share).tolist():
            first, last = node, node + 1  # places of a level, up to the leaves
            while first < inner:
                forest.fields[tree][first:last] = 0
                forest.thresholds[tree][first:last] = np.inf
                first, last = 2 * first + 1, 2 * last + 1
            forest.leaves[tree][first - inner : last - inner] = forest.leaves[tree][first - inner]
    return forest


def made_up(
    rng: np.random.Generator,
    shape: tuple[int, int, int] = (2, 3, 5),
    depth: int = 3,
    cuts: npt.NDArray[np.float32] = ODD,
    columns: int = 4,
) -> Forest:
    inner = (1 << depth) - 1
    return Forest(
        fields=rng.integers(columns, size=(*shape, inner)).astype(np.int32),
        thresholds=rng.choice(cuts, size=(*shape, inner)),
        leaves=rng.choice(ODD, size=(*shape, inner + 1)),
        base=rng.normal(size=shape[:2]).astype(np.float32),
    )


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    shape=st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 9)),
    depth=st.integers(1, 5),
    share=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    columns=st.sampled_from([1, 3, 256, 1_000]),
)
def test_a_file_gives_back_the_same_trees_to_the_bit(
    seed: int, shape: tuple[int, int, int], depth: int, share: float, columns: int
) -> None:
    rng = np.random.default_rng(seed)
    cuts = np.concatenate([ODD, rng.normal(size=rng.integers(400)).astype(np.float32)])
    forest = pruned(rng, made_up(rng, shape, depth, cuts, columns), share)
    content = save(stored_arrays(forest))
    again = stored_ensemble("Forest", load(content))
    assert isinstance(again, Forest)
    assert of_bits(again) == of_bits(forest)
    assert save(stored_arrays(again)) == content


@pytest.mark.parametrize(
    ("cuts", "kind"),
    [(1, "uint8"), (256, "uint8"), (257, "uint16"), (65_536, "uint16"), (65_537, "int32")],
)
def test_a_threshold_is_held_once_and_its_number_in_the_smallest_type(cuts: int, kind: str) -> None:
    forest = made_up(np.random.default_rng(4), (1, 1, 80), 10)
    forest.thresholds[:] = np.resize(np.arange(cuts) * 0.5 - 7.0, forest.thresholds.shape)
    arrays = stored_arrays(forest)
    assert sorted(arrays["forest.cuts"].tolist()) == (np.arange(cuts) * 0.5 - 7.0).tolist()
    assert str(arrays["forest.thresholds"].dtype) == kind
    assert forest_in(arrays) == of_bits(forest)


def test_what_lies_below_a_leaf_is_not_held() -> None:
    forest = Forest.of_nothing(2, 3, 4)
    forest.fields[0, 1, 2, :2], forest.thresholds[0, 1, 2, :2] = 1, 0.5
    forest.leaves[0, 1, 2] = np.repeat([3.0, 4.0, 5.0], [4, 4, 8])
    arrays = stored_arrays(forest)
    assert arrays["forest.fields"].tolist() == [1, 1]
    assert arrays["forest.leaves"].tolist() == [0.0] * 5 + [3.0, 4.0, 5.0]
    assert forest_in(arrays) == of_bits(forest)


def test_trees_of_older_files_are_read_as_they_were() -> None:
    forest = pruned(np.random.default_rng(8), made_up(np.random.default_rng(9)), 0.3)
    older = {f"forest.{name}": array for name, array in forest._asdict().items()}
    assert forest_in(older) == of_bits(forest)
    smaller = {**older, "forest.fields": older["forest.fields"].astype(np.uint8)}
    assert forest_in(smaller) == of_bits(forest)


def forest_in(arrays: Arrays) -> list[tuple[Any, ...]]:
    found = stored_ensemble("Forest", arrays)
    assert isinstance(found, Forest)
    return of_bits(found)


def put(at: Any, value: Any) -> Callable[[Any], Any]:
    """A change of one number of an array."""

    def change(array: Any) -> Any:
        array = array.copy()
        array[at] = value
        return array

    return change


def of(name: str, change: Callable[[Any], Any], message: str) -> tuple[Any, ...]:
    """What is done to an array, and what is said of it."""
    return name, change, message


def test_sound_trees_are_read() -> None:
    forest_in(SOUND)


SOUND: Arrays = stored_arrays(made_up(np.random.default_rng(1), cuts=ODD[3:4]))
"""Of 30 trees, 2 outputs, 3 models and 3 levels; all nodes ask with the one cut."""


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        of("thresholds", put(3, 1), "thresholds: expected numbers of 1 cuts"),
        of(
            "thresholds", lambda a: a.astype(np.int32) - 1, "thresholds: expected numbers of 1 cuts"
        ),
        of("thresholds", lambda a: a.astype(np.float32), "expected uint8 or uint16 or int32"),
        of(
            "thresholds",
            lambda a: a[1:],
            "expected 210, as many as nodes that ask, got 210 and 209",
        ),
        of("thresholds", lambda a: a.reshape(2, -1), "thresholds: expected one axis"),
        of("cuts", lambda a: a[:0], "thresholds: expected numbers of 0 cuts"),
        of("cuts", lambda a: a[0], r"cuts: expected one axis, got \[\]"),
        of("cuts", lambda a: a.astype(np.float16), "cuts is float16, expected float32"),
        of("fields", lambda a: a.reshape(-1, 1), "fields: expected one axis"),
        of("leaves", lambda a: a[:-1], r"leaf more than nodes .* got \[2, 3\] and 29 more"),
        of("leaves", lambda a: a[:0], r"got \[2, 3\] and -210 more"),
        of("base", lambda a: a[:, :0], r"got \[2, 0\] and 30 more"),
        of("base", lambda a: a.ravel(), r"got \[6\] and 30 more"),
        of("base", lambda a: np.zeros((7, 1), np.float32), r"got \[7, 1\] and 30 more"),
        of("asks", lambda a: a.astype(np.float32), "asks is float32, expected uint8"),
        of("asks", lambda a: a[:6], r"asks: expected \[2\*\*depth - 1, 4\], .* got \[6, 4\]"),
        of("asks", lambda a: a[:, :3], r"asks: expected .*, got \[7, 3\]"),
        of("asks", lambda a: a[:0], "asks: expected"),
        of("asks", lambda a: a[0], "asks: expected"),
        of("asks", put((0, 0), 0xFE), "asks: expected none below a node that does not ask"),
        of("asks", put((6, 0), 0xFE), "expected 209, as many as nodes that ask, got 210 and 210"),
        of("asks", put((6, 3), 0xFF), "asks: expected 30 trees, got more"),
    ],
)
def test_damaged_trees_are_refused(name: str, change: Callable[[Any], Any], message: str) -> None:
    whole = f"forest.{name}"
    with pytest.raises(ValueError, match=message) as raised:
        stored_ensemble("Forest", {**SOUND, whole: change(SOUND[whole])})
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", sorted(SOUND))
def test_each_array_is_expected(name: str) -> None:
    with pytest.raises(ValueError, match=f"Forest: {name} is missing"):
        stored_ensemble("Forest", {key: array for key, array in SOUND.items() if key != name})


def test_a_small_file_cannot_ask_for_much_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    trees, inner = 40, (1 << DEEPEST) - 1
    nothing = {
        **SOUND,
        "forest.base": np.zeros((1, 1), dtype=np.float32),
        "forest.asks": np.zeros((inner, trees // 8), dtype=np.uint8),
        "forest.fields": np.zeros(0, dtype=np.uint8),
        "forest.thresholds": np.zeros(0, dtype=np.uint8),
        "forest.leaves": np.zeros(trees, dtype=np.float16),
    }
    assert forest_in(nothing) == of_bits(forest_of_nothing(trees))
    monkeypatch.setattr(packed, "MOST_NODES", inner * trees - 1)
    with pytest.raises(ValueError, match="asks: expected 40,919 nodes at most, got 40,920"):
        stored_ensemble("Forest", nothing)
    deeper = {**nothing, "forest.asks": np.zeros((2 * inner + 1, trees // 8), dtype=np.uint8)}
    with pytest.raises(ValueError, match=f"depth at most {DEEPEST}"):
        stored_ensemble("Forest", deeper)


def forest_of_nothing(trees: int) -> Forest:
    return Forest.of_nothing(1, trees, DEEPEST)
