"""Rules of choice are judged on slices that they have not seen."""

from __future__ import annotations

import numpy as np

from experiments.tuning_objectives import RULES, Pool, judged, kinds_of, pool_of
from failgym.envs import resolve
from failgym.evaluation import Anchors
from failgym.vocabulary import DAY
from tests.envs.worlds import small

SLICES = 120


def pool(*gains: np.ndarray) -> Pool:
    """Variants that save so much more than the published one on each slice."""
    return Pool(np.vstack([np.zeros(SLICES), *gains]), np.ones(SLICES))


def test_luck_on_a_few_slices_is_no_reason_to_change() -> None:
    rng = np.random.default_rng(3)
    lucky = [np.where(rng.random(SLICES) < 0.03, 20.0, -0.8) for _ in range(8)]
    found = judged(pool(*lucky), 40)
    assert set(found) == set(RULES)
    assert found["highest score"].min() < -0.5
    assert (found["sure and proved"] == 0.0).mean() > 0.9


def test_what_is_better_everywhere_is_chosen_by_every_rule() -> None:
    found = judged(pool(np.full(SLICES, 0.1), np.full(SLICES, -0.1)), 5)
    for name, gains in found.items():
        assert np.allclose(gains, 10.0), name


def test_variants_are_compared_with_what_was_published() -> None:
    few = {**small("failgym/GracePeriod-v1"), "trace": "google-2011", "longest": DAY}
    few |= {"trace_seed": 2}
    scenario = resolve("GracePeriod-v1", few)
    anchors = Anchors.of(scenario, split="train", episodes=20)
    kind = kinds_of(scenario)[0]
    made = pool_of(kind, anchors, 3)
    before = anchors.replay.costs.sum(axis=1)
    assert made.saved.shape == (3, 20)
    assert np.allclose(made.saved[0], before - anchors.run(kind()).costs.sum(axis=1))
    assert not np.array_equal(made.saved[1], made.saved[2])
