"""Off-policy estimates of episodes that can be reckoned by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from failgym.contrib.off_policy import (
    Decisions,
    FittedQ,
    corrected,
    doubly_robust,
    fitted_q,
    importance_sampling,
    per_decision,
    weighted_per_decision,
)

NAN = math.nan


def by_hand(**more: Any) -> Decisions:
    """Three episodes of 2, 1 and 1 decisions between CONTINUE and KILL, drawn alike.

    The target continues. Episode 0 does so twice (weights 2, 4), episode 1 once (2), episode 2
    kills (0). Rewards are -1 and -2, -3, -8.
    """
    given: dict[str, Any] = {
        "observations": np.zeros((4, 2), dtype=np.float32),
        "masks": np.array([[1, 0, 0, 1, 0]] * 4, dtype=np.bool_),
        "actions": np.array([0, 0, 0, 3]),
        "chances": np.full(4, 0.5),
        "rewards": np.array([-1.0, -2.0, -3.0, -8.0]),
        "last": np.array([False, True, True, True]),
        "target": np.zeros(4, dtype=np.int64),
        "returns": np.array(
            [
                [-3.0, NAN, NAN, -9.0, NAN],
                [-2.0, NAN, NAN, -9.0, NAN],
                [-3.0, NAN, NAN, -9.0, NAN],
                [-6.0, NAN, NAN, -8.0, NAN],
            ]
        ),
    }
    return Decisions(**(given | more))


def test_weights_are_products_from_the_beginning_of_each_episode() -> None:
    assert by_hand().weights.tolist() == [2.0, 4.0, 2.0, 0.0]
    assert by_hand().episode.tolist() == [0, 0, 1, 2]
    assert by_hand().step.tolist() == [0, 1, 0, 0]


def test_importance_sampling_weights_returns() -> None:
    assert importance_sampling(by_hand()) == pytest.approx((4 * -3 + 2 * -3 + 0) / 3)


def test_per_decision_weights_each_reward() -> None:
    assert per_decision(by_hand()) == pytest.approx((2 * -1 + 4 * -2 + 2 * -3 + 0) / 3)


def test_weighted_divides_by_weights_and_ended_episodes_keep_theirs() -> None:
    first = (2 * -1 + 2 * -3 + 0 * -8) / (2 + 2 + 0)
    second = (4 * -2) / (4 + 2 + 0)
    assert weighted_per_decision(by_hand()) == pytest.approx(first + second)


def test_weighted_has_no_value_where_nobody_does_as_the_target() -> None:
    assert math.isnan(weighted_per_decision(by_hand(target=np.array([3, 3, 3, 0]))))


def test_doubly_robust_corrects_a_wrong_q_and_leaves_an_exact_one() -> None:
    d = by_hand()
    done, wanted = d.returns[np.arange(4), d.actions], d.returns[:, 0]
    assert d.truth == pytest.approx((-3 - 3 - 6) / 3)
    assert corrected(d, done, wanted) == pytest.approx(d.truth)
    nothing = np.zeros(4)
    assert corrected(d, nothing, nothing) == pytest.approx(per_decision(d))


def test_truth_is_asked_for_only_where_it_is_known() -> None:
    with pytest.raises(ValueError, match=r"^returns: expected those of the target"):
        _ = by_hand(returns=np.full((4, 5), NAN)).truth


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"rewards": np.zeros(3)}, r"^decisions: expected arrays of one length"),
        (
            {"last": np.array([False, True, True, False])},
            r"^decisions: .* that end with an episode",
        ),
        ({"chances": np.array([0.5, 0.0, 0.5, 0.5])}, r"^chances: expected numbers above 0"),
    ],
)
def test_what_is_no_decisions_is_said(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        by_hand(**wrong)


def chain(episodes: int, seed: int = 0) -> Decisions:
    """Two steps: what is drawn first decides the second reward, and the first state is observed.

    CONTINUE in both steps is worth -1 where the state is 0 and -3 where it is 1.
    """
    rng = np.random.default_rng(seed)
    state = rng.integers(0, 2, episodes)
    actions = rng.choice([0, 3], (episodes, 2))
    killed = actions[:, 0] == 3
    rewards = np.stack([-1.0 * state, np.where(killed, -9.0, -1.0 - state)], axis=1)
    step = np.tile([0.0, 1.0], episodes)
    seen = np.stack([np.repeat(state, 2), step, np.repeat(killed, 2) * step], axis=1)
    returns = np.full((2 * episodes, 5), NAN)
    returns[::2, 0] = -1.0 - 2.0 * state
    return Decisions(
        observations=seen.astype(np.float32),
        masks=np.array([[1, 0, 0, 1, 0]] * (2 * episodes), dtype=np.bool_),
        actions=actions.reshape(-1),
        chances=np.full(2 * episodes, 0.5),
        rewards=rewards.reshape(-1).astype(np.float64),
        last=np.tile([False, True], episodes),
        target=np.zeros(2 * episodes, dtype=np.int64),
        returns=returns,
    )


def test_fitted_q_and_doubly_robust_find_what_a_chain_is_worth() -> None:
    pytest.importorskip("xgboost", reason="needs failgym[boosting]")
    d, settings = chain(400), FittedQ(rounds=3, trees=60, depth=3)
    assert fitted_q(d, settings) == pytest.approx(d.truth, abs=0.05)
    assert doubly_robust(d, settings) == pytest.approx(d.truth, abs=0.05)
    assert abs(per_decision(d) - d.truth) > 0.05


def test_doubly_robust_needs_two_halves() -> None:
    with pytest.raises(ValueError, match=r"^decisions: expected two episodes at least, got 1"):
        doubly_robust(by_hand().of_episodes(np.array([True, False, False])))


def test_counts_of_fitted_q_are_checked() -> None:
    with pytest.raises(ValueError, match=r"^trees: expected at least 1, got 0"):
        FittedQ(trees=0)
