"""Trees as arrays: against XGBoost, a walk by hand, and files that are not sound."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("stable_baselines3")
pytest.importorskip("xgboost")
from failgym.agents.ensembles.decider import Decider
from failgym.agents.ensembles.forest import DEEPEST, Forest
from failgym.agents.ensembles.from_xgboost import forest_of
from failgym.agents.ensembles.stored import stored_arrays, stored_ensemble
from failgym.baselines import REGISTRY
from failgym.vocabulary import ACTIONS, Action

CLONE = int(Action.CLONE)

Floats = npt.NDArray[np.float32]


def grown(rng: np.random.Generator, rows: Floats, trees: int, depth: int, **options: Any) -> Any:
    """A booster of XGBoost that has learned something odd."""
    import xgboost

    label = rng.random(len(rows)) < 1.0 / (1.0 + np.exp(-rows[:, 0] * rows[:, -1]))
    weight = rng.random(len(rows)).astype(np.float32)
    data = xgboost.DMatrix(rows, label=label, weight=weight, nthread=1)
    parameters = {"objective": "binary:logistic", "base_score": 0.5, "max_depth": depth}
    return xgboost.train({**parameters, "nthread": 1, **options}, data, num_boost_round=trees)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    depth=st.integers(1, 6),
    trees=st.integers(1, 8),
    columns=st.integers(1, 5),
    coarse=st.booleans(),
)
def test_margins_are_those_of_xgboost_to_the_bit(
    seed: int, depth: int, trees: int, columns: int, coarse: bool
) -> None:
    import xgboost

    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(300, columns)).astype(np.float32)
    if coarse:  # many rows lie on the thresholds
        rows = np.round(rows * 2.0) / np.float32(2.0)
    boosters = [
        [grown(rng, rows, trees, depth, eta=0.3 + 0.1 * model) for model in range(2)]
        for _ in range(2)
    ]
    forest = forest_of(boosters, depth)
    forest.check(columns)
    assert (forest.outputs, forest.models, forest.depth) == (2, 2, depth)
    found = forest.margins(rows)
    for output in range(2):
        for model in range(2):
            wanted = boosters[output][model].predict(xgboost.DMatrix(rows), output_margin=True)
            assert np.array_equal(found[:, output, model], wanted)


def walked(forest: Forest, row: Floats, output: int, model: int) -> np.float32:
    """The margin of a row, tree by tree."""
    total = forest.base[output, model]
    for tree in range(forest.leaves.shape[2]):
        at = (output, model, tree)
        low, high = 0, forest.leaves.shape[3]
        node = 0
        while high - low > 1:
            middle = (low + high) // 2
            right = row[forest.fields[at][node]] >= forest.thresholds[at][node]
            low, high = (middle, high) if right else (low, middle)
            node = 2 * node + 1 + int(right)
        total = np.float32(total + forest.leaves[at][low])
    return total


def made_up(rng: np.random.Generator, outputs: int = 2, depth: int = 3, columns: int = 4) -> Forest:
    shape = (outputs, 3, 5)
    inner = (1 << depth) - 1
    return Forest(
        fields=rng.integers(columns, size=(*shape, inner)).astype(np.int32),
        thresholds=rng.normal(size=(*shape, inner)).astype(np.float32),
        leaves=rng.normal(size=(*shape, inner + 1)).astype(np.float32),
        base=rng.normal(size=shape[:2]).astype(np.float32),
    )


@pytest.mark.parametrize("rows", [0, 1, 63, 64, 65, 200])
def test_margins_are_sums_of_the_leaves_that_a_walk_ends_in(rows: int) -> None:
    rng = np.random.default_rng(rows)
    forest = made_up(rng)
    given_rows = rng.normal(size=(rows, 4)).astype(np.float32)
    found = forest.margins(np.asfortranarray(given_rows))
    assert found.shape == (rows, 2, 3)
    for row in range(rows):
        for output in range(2):
            for model in range(3):
                assert found[row, output, model] == walked(forest, given_rows[row], output, model)


def test_rows_of_fewer_columns_are_refused() -> None:
    forest = made_up(np.random.default_rng(3))
    with pytest.raises(ValueError, match="rows: expected 4 columns or more"):
        forest.margins(np.zeros((5, 3), dtype=np.float32))


def test_boosters_with_different_numbers_of_trees_are_refused() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(100, 2)).astype(np.float32)
    with pytest.raises(ValueError, match=r"boosters: expected as many trees in each, got \[1, 2\]"):
        forest_of([[grown(rng, rows, 1, 2), grown(rng, rows, 2, 2)]], 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"leaves": np.zeros((1, 1, 1, 3))}, "leaves: expected"),
        ({"leaves": np.zeros((1, 1, 2))}, "leaves: expected"),
        ({"leaves": np.zeros((0, 1, 1, 2))}, "leaves: expected"),
        ({"leaves": np.zeros((1, 1, 1, 2 << DEEPEST))}, "depth at most"),
        ({"thresholds": np.zeros((2, 3, 5, 6))}, "thresholds: expected"),
        ({"base": np.zeros((2, 2))}, "base: expected"),
        ({"fields": np.full((2, 3, 5, 7), 4)}, "fields: expected columns 0 to 3"),
        ({"fields": np.full((2, 3, 5, 7), -1)}, "fields: expected columns 0 to 3"),
        ({"leaves": np.full((2, 3, 5, 8), np.nan)}, "leaves: expected numbers up to"),
        ({"base": np.full((2, 3), np.inf)}, "base: expected numbers up to"),
        ({"thresholds": np.full((2, 3, 5, 7), np.nan)}, "thresholds: expected numbers"),
    ],
)
def test_arrays_that_are_no_trees_are_refused(change: dict[str, Any], message: str) -> None:
    forest = made_up(np.random.default_rng(1))
    forest.check(4)
    with pytest.raises(ValueError, match=message):
        forest._replace(**change).check(4)


@pytest.mark.parametrize(
    ("column", "leaf", "types"),
    [
        (255, 0.5, ("uint8", "float16")),
        (256, 0.5, ("int32", "float16")),
        (3, 0.1, ("uint8", "float32")),  # a tenth is no number of half precision
        (3, 1e6, ("uint8", "float32")),
    ],
)
def test_files_hold_the_same_trees_in_the_smallest_types(
    column: int, leaf: float, types: tuple[str, str]
) -> None:
    forest = forest_of_stumps((-1.0, 1.0), (2.0, 0.25))
    forest.fields[0, 0, 0, 0] = column
    forest.leaves[1, 1, 0, 1] = leaf
    arrays = stored_arrays(forest)
    assert (str(arrays["forest.fields"].dtype), str(arrays["forest.leaves"].dtype)) == types
    again = stored_ensemble("Forest", arrays)
    for mine, stored in zip(forest, again, strict=True):
        np.testing.assert_array_equal(mine, stored)
        assert mine.dtype == stored.dtype


def test_rounded_leaves_differ_by_a_part_in_2000_at_most_and_need_half_the_bytes() -> None:
    forest = made_up(np.random.default_rng(2))
    rounded = forest.rounded()
    np.testing.assert_allclose(rounded.leaves, forest.leaves, rtol=1 / 2000)
    assert stored_arrays(rounded)["forest.leaves"].nbytes * 2 == forest.leaves.nbytes


def test_caution_takes_deviations_off_the_mean() -> None:
    forest = forest_of_stumps((1.0, 1.0))
    forest.base[:] = np.array([[0.0, 1.0]])  # margins 1 and 2: .71 is their standard deviation
    rows, legal = np.zeros((1, 1), dtype=np.float32), np.ones((1, ACTIONS), dtype=np.bool_)
    for caution, answer in ((0.0, 3), (2.1, 3), (2.2, 0)):
        assert Decider(forest, (0, 3), caution).answers(rows, legal).tolist() == [answer]


def forest_of_stumps(*margins: tuple[float, float]) -> Forest:
    """Two models that agree: for each output the margins of a row below 0, and of one from 0 on."""
    shape = (len(margins), 2, 1)
    leaves = [[[each], [each]] for each in margins]
    return Forest(
        fields=np.zeros((*shape, 1), dtype=np.int32),
        thresholds=np.zeros((*shape, 1), dtype=np.float32),
        leaves=np.array(leaves, dtype=np.float32),
        base=np.zeros(shape[:2], dtype=np.float32),
    )


def test_the_surest_legal_action_is_taken_and_none_that_is_not_sure() -> None:
    nothing, clone, kill = int(Action.CONTINUE), int(Action.CLONE), int(Action.KILL)
    # clone over nothing, kill over nothing, kill over clone
    forest = forest_of_stumps((-1.0, 1.0), (-2.0, 2.0), (1.0, 1.0))
    decider = Decider(forest, (nothing, clone, kill), 1.0)
    decider.check(1)
    rows = np.array([[-1.0], [1.0], [1.0], [1.0]], dtype=np.float32)
    legal = np.ones((4, ACTIONS), dtype=np.bool_)
    legal[2, kill] = False
    legal[3, 1:] = False
    assert decider.answers(rows, legal).tolist() == [nothing, kill, clone, nothing]
    other = forest_of_stumps((-1.0, 1.0), (-2.0, 2.0), (-1.0, -1.0))
    assert replace(decider, ensemble=other).answers(rows, legal).tolist() == [0, clone, clone, 0]


def test_a_later_round_changes_what_it_is_sure_about() -> None:
    nothing, kill = int(Action.CONTINUE), int(Action.KILL)
    first = forest_of_stumps((1.0, 1.0))  # kill everywhere
    unsure = forest_of_stumps((0.0, 0.0))
    sure = forest_of_stumps((1.0, -1.0))  # from 0 on nothing is better
    rows, legal = np.array([[-1.0], [1.0]], dtype=np.float32), np.ones((2, ACTIONS), dtype=np.bool_)
    kept = Decider(first.joined(unsure), (nothing, kill), 0.0)
    assert (kept.rounds, kept.answers(rows, legal).tolist()) == (2, [kill, kill])
    changed = Decider(first.joined(unsure).joined(sure), (nothing, kill), 0.0)
    assert changed.answers(rows, legal).tolist() == [kill, nothing]
    assert changed.up_to(1).answers(rows, legal).tolist() == [kill, kill]
    assert changed.up_to(1).rounds == 1


def test_advice_stands_in_doubt() -> None:
    nothing, kill = int(Action.CONTINUE), int(Action.KILL)
    rows, legal = np.array([[-1.0], [1.0]], dtype=np.float32), np.ones((2, ACTIONS), dtype=np.bool_)
    advised = np.column_stack([rows, [kill, kill]]).astype(np.float32)  # it says kill
    for margins, answers in (
        ((0.0, 0.0), [kill, kill]),
        ((-1.0, 1.0), [nothing, kill]),  # killing is worse below 0
    ):
        forest = forest_of_stumps(margins)
        decider = Decider(forest, (nothing, kill), 0.0, (REGISTRY["blind_kill"](),))
        assert decider.answers(advised, legal).tolist() == answers
    unknown = np.column_stack([rows, [CLONE, CLONE]]).astype(np.float32)  # not decided about
    assert decider.answers(unknown, legal).tolist() == [CLONE, kill]


def test_the_rule_that_is_surely_better_is_followed() -> None:
    rows, legal = np.array([[-1.0], [1.0]], dtype=np.float32), np.ones((2, ACTIONS), dtype=np.bool_)
    said = np.column_stack([rows, [0, 0], [CLONE, CLONE], [3, 3]]).astype(np.float32)
    rules = tuple(REGISTRY[name]() for name in ("replay", "algorithm_1", "blind_kill"))
    # the second over the first, the third over the first, the third over the second
    for forest, answers in (
        (forest_of_stumps((-1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0)), [0, CLONE]),
        (forest_of_stumps((-1.0, 1.0), (-1.0, 1.0), (1.0, 1.0)), [0, 3]),
        (forest_of_stumps((0.0, 0.0), (0.0, 0.0), (1.0, 1.0)), [0, 0]),
    ):
        decider = Decider(forest, (0, 1, 2), 0.0, rules, follows=True)
        decider.check(1)
        assert decider.answers(said, legal).tolist() == answers
    with pytest.raises(ValueError, match="advice: expected two rules or more, got 1"):
        replace(decider, advice=rules[:1]).check(1)


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ((1, 3), "actions: expected CONTINUE, then other ones"),
        ((0, 0), "actions: expected CONTINUE, then other ones"),
        ((0, -1), "actions: expected CONTINUE, then other ones"),
        ((0,), "actions: expected CONTINUE, then other ones"),
        ((0, 1, 3), "base: expected an output for each of 3 pairs of choices by round, got 2"),
    ],
)
def test_a_decider_knows_what_its_outputs_are_about(actions: tuple[int, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Decider(made_up(np.random.default_rng(2)), actions, 0.0).check(4)


def test_only_what_is_asked_for_is_worked_out() -> None:
    forest, rng = made_up(np.random.default_rng(8)), np.random.default_rng(9)
    rows = rng.normal(size=(200, 4)).astype(np.float32)
    for share in (0.0, 0.1, 0.6):
        wanted = rng.random((200, forest.outputs)) < share
        expected = np.where(wanted[:, :, np.newaxis], forest.margins(rows), 0.0)
        assert np.array_equal(forest.margins(rows, wanted), expected)


def decided(decider: Decider, row: Floats, legal: Any) -> int:
    """The answer to one decision, as the docstring of `Decider` says it, pair by pair."""
    margins = decider.ensemble.margins(row[np.newaxis])[0]
    said = [int(one) for one in row[len(row) - len(decider.advice) :]]

    def better(one: int, other: int, number: int) -> tuple[float, float]:
        """How much better one choice is than another, and the doubt, in a round."""
        pair = tuple(sorted((one, other)))
        models = margins[number * len(decider.pairs) + decider.pairs.index((pair[0], pair[1]))]
        mean, doubt = models.mean(), np.float32(decider.caution) * models.std(ddof=1)
        return (float(mean if one > other else -mean), float(doubt))

    first = said[0] if said else 0
    own = list(decider.choices)
    begun = now = 0 if decider.follows or first not in own else own.index(first)
    for number in range(decider.rounds):
        surer = []
        for one, choice in enumerate(own):
            if one != now and (decider.follows or legal[choice]):
                gain, doubt = better(one, now, number)
                if gain - doubt > 0.0:
                    surer.append(one)
        if surer:
            least = [
                min(0.0 if o == one else better(one, o, number)[0] for o in surer) for one in surer
            ]
            now = surer[int(np.argmax(least))]
    if decider.follows:
        return said[now]
    return first if now == begun else own[now]


@pytest.mark.parametrize(
    ("advice", "rounds", "follows"),
    [(0, 1, False), (0, 2, False), (1, 1, False), (1, 2, False), (3, 2, False), (3, 1, True)],
)
def test_answers_are_those_of_all_comparisons_one_by_one(
    advice: int, rounds: int, follows: bool
) -> None:
    """Only pairs that are legal are asked about, and rules only where they differ."""
    choices = tuple(range(advice)) if follows else (0, 1, 3)
    pairs = len(choices) * (len(choices) - 1) // 2
    rng = np.random.default_rng(10)
    forest = made_up(rng, outputs=pairs * rounds, columns=4 + advice)
    named = ("grace_period", "optimal_stopping", "immediate_kill")
    rules = tuple(REGISTRY[name]() for name in named[:advice])
    decider = Decider(forest, choices, 0.5, rules, follows)
    shown = rng.normal(size=(400, 4 + advice)).astype(np.float32)
    if advice:
        shown[:, 4:] = rng.choice([0, 1, 3, 4] if not follows else [0, 3], size=(400, advice))
    legal = rng.random((400, ACTIONS)) < 0.6
    legal[:, 0] = True
    found = decider.answers(shown, legal)
    expected = [decided(decider, *each) for each in zip(shown, legal, strict=True)]
    assert found.tolist() == expected
    assert len(set(expected)) > 1
