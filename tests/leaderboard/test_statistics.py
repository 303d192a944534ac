"""Estimators of the leaderboard, and how often their intervals hold what they should."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import mannwhitneyu, norm, trim_mean
from scipy.stats import t as student_t

from failgym.evaluation import score
from failgym.evaluation.statistics.interval_width import student
from failgym.evaluation.statistics.sampling_units import TracesUnits
from failgym.leaderboard.statistics.bootstrap import Bootstrap, Estimate
from failgym.leaderboard.statistics.estimators import (
    AGGREGATES,
    Runs,
    pool,
    probability_of_improvement,
    run_scores,
    slice_scores,
)

Floats = npt.NDArray[np.float64]
Rng = np.random.Generator

TRIALS = 1_000
COVERED = (0.93, 0.97)
"""Shares of trials in which a 95 % interval should hold the truth."""
MEANS = (10.0, 30.0, 45.0, 60.0, 80.0, 95.0)
"""True scores in six environments."""


@pytest.fixture
def rng() -> Rng:
    return np.random.default_rng(7)


def drawn(rng: Rng, *true_scores: float, runs: int = 1, slices: int = 40) -> list[Runs]:
    """One environment and a policy of each true score: what slices have in common, runs apart."""
    possible = rng.gamma(4.0, 0.25, slices)
    shared, found = 10.0 * rng.standard_normal(slices), list[Runs]()
    for true_score in true_scores:
        noise = shared + 4.0 * rng.standard_normal((runs, slices))
        if runs > 1:
            noise = noise + 6.0 * rng.standard_normal((runs, 1))
        found.append(Runs((true_score + noise) / 100.0 * possible, possible))
    return found


def matrix(scores: Floats) -> list[Runs]:
    """Cells [runs, environments] whose runs have these scores."""
    return [Runs(column[:, None] / 100.0, np.ones(1)) for column in scores.T]


def test_a_score_is_a_ratio_of_sums_over_slices(rng: Rng) -> None:
    [runs] = drawn(rng, 40.0, runs=3)
    replay = rng.gamma(4.0, 1.0, 40) + runs.possible
    for saved, value in zip(runs.saved, run_scores(runs), strict=True):
        expected = score(replay, replay - saved, replay - runs.possible).value
        assert value == pytest.approx(expected)


def test_slices_on_which_nothing_can_be_saved_have_no_score() -> None:
    runs = Runs(np.array([[1.0, 0.0, -1.0]]), np.array([2.0, 0.0, 4.0]))
    assert run_scores(runs) == pytest.approx([0.0])
    assert slice_scores(runs)[0] == pytest.approx([50.0, math.nan, -25.0], nan_ok=True)
    assert np.isnan(run_scores(Runs(np.zeros((2, 3)), np.zeros(3)))).all()


def test_aggregates_are_those_of_rliable(rng: Rng) -> None:
    scores = rng.normal(60.0, 40.0, (8, 6))
    found = {name: of(*pool(matrix(scores))) for name, of in AGGREGATES.items()}
    assert found["iqm"] == pytest.approx(trim_mean(scores.ravel(), 0.25))
    assert found["mean"] == pytest.approx(scores.mean())
    assert found["median"] == pytest.approx(np.median(scores.mean(axis=0)))
    assert found["optimality_gap"] == pytest.approx(100.0 - np.minimum(scores, 100.0).mean())


def test_rliable_agrees(rng: Rng) -> None:
    rliable = pytest.importorskip("rliable.metrics", reason="rliable is not installed")
    scores, other = rng.normal(60.0, 40.0, (8, 6)), rng.normal(50.0, 40.0, (5, 6))
    for name, of in AGGREGATES.items():
        scale = {"gamma": 100.0} if name == "optimality_gap" else {}
        theirs = getattr(rliable, f"aggregate_{name}")(scores, **scale)
        assert of(*pool(matrix(scores))) == pytest.approx(theirs), name
    ours = probability_of_improvement(matrix(scores), matrix(other))
    assert ours == pytest.approx(rliable.probability_of_improvement(scores, other))


def test_the_interquartile_mean_does_not_depend_on_how_often_a_run_is_repeated() -> None:
    scores = np.array([MEANS])
    once, often = (AGGREGATES["iqm"](*pool(matrix(np.repeat(scores, k, axis=0)))) for k in (1, 4))
    assert once == pytest.approx(often)
    assert once == pytest.approx((30.0 / 2 + 45.0 + 60.0 + 80.0 / 2) / 3)


def test_environments_weigh_the_same_however_many_runs_they_have(rng: Rng) -> None:
    few, many = matrix(np.array([[10.0]])), matrix(np.full((9, 1), 70.0))
    assert AGGREGATES["mean"](*pool([*few, *many])) == pytest.approx(40.0)


def test_probability_of_improvement_agrees_with_the_closed_form(rng: Rng) -> None:
    x = [Runs(rng.normal(0.6, 0.3, (600, 9)), np.ones(9))]
    y = [Runs(rng.normal(0.5, 0.4, (600, 9)), np.ones(9))]
    expected = norm.cdf((0.6 - 0.5) / math.hypot(0.3, 0.4))
    assert probability_of_improvement(x, y) == pytest.approx(expected, abs=0.01)
    assert probability_of_improvement(x, y) + probability_of_improvement(y, x) == pytest.approx(1)


def test_probability_of_improvement_counts_ties_half(rng: Rng) -> None:
    x, y = rng.integers(0, 4, (30, 1)) / 1.0, rng.integers(0, 3, (20, 1)) / 1.0
    u = mannwhitneyu(x[:, 0], y[:, 0]).statistic
    found = probability_of_improvement(matrix(x), matrix(y))
    assert found == pytest.approx(u / 600)
    assert probability_of_improvement(matrix(x), matrix(x)) == 0.5


def test_probability_of_improvement_compares_on_the_same_slice(rng: Rng) -> None:
    hard = rng.normal(0.0, 10.0, 50)
    x, y = Runs(hard[None] + 0.1, np.ones(50)), Runs(hard[None], np.ones(50))
    assert probability_of_improvement([x], [y]) == 1.0


BOOTSTRAP = Bootstrap(seed=3)
MORE = 4.0
"""What the better of two policies scores more, everywhere."""
TRUTH = {
    "score": MEANS[0],
    "iqm": (30.0 / 2 + 45.0 + 60.0 + 80.0 / 2) / 3,
    "mean": float(np.mean(MEANS)),
    "median": 52.5,
    "optimality_gap": 100.0 - float(np.mean(MEANS)),
    "difference": MORE,
    "score, 5 runs": MEANS[0],
    "difference, 5 runs": MORE,
}


def estimates(rng: Rng) -> dict[str, Estimate]:
    """One trial: two policies that meet the same slices, and all that is said of them."""
    pairs = [drawn(rng, at, at - MORE) for at in MEANS]
    x, y = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    found = {"score": BOOTSTRAP.score(x[0]), "difference": BOOTSTRAP.difference(x, y)}
    return found | BOOTSTRAP.aggregates(x)


def estimates_of_five_runs(rng: Rng) -> dict[str, Estimate]:
    """One trial in one environment, with two policies that were trained five times each."""
    x, y = drawn(rng, MEANS[0], MEANS[0] - MORE, runs=5)
    return {
        "score, 5 runs": BOOTSTRAP.score(x),
        "difference, 5 runs": BOOTSTRAP.difference([x], [y]),
    }


@pytest.fixture(scope="module")
def covered() -> dict[str, float]:
    """Shares of the trials in which the interval holds the truth."""
    rng, held = np.random.default_rng(11), dict.fromkeys(TRUTH, 0)
    for _ in range(TRIALS):
        for name, found in (estimates(rng) | estimates_of_five_runs(rng)).items():
            held[name] += found.low <= TRUTH[name] <= found.high
    return {name: count / TRIALS for name, count in held.items()}


@pytest.mark.parametrize("name", TRUTH)
def test_intervals_hold_the_truth_as_often_as_they_say(
    name: str, covered: dict[str, float]
) -> None:
    assert COVERED[0] <= covered[name] <= COVERED[1]


def test_a_difference_is_surer_than_the_scores_that_it_lies_between(rng: Rng) -> None:
    x, y = drawn(rng, 50.0, 50.0 - MORE)
    found, ours = BOOTSTRAP.difference([x], [y]), BOOTSTRAP.score(x)
    assert found.value == pytest.approx(ours.value - BOOTSTRAP.score(y).value)
    assert found.high - found.low < 0.6 * (ours.high - ours.low)


def test_the_interval_of_a_probability_of_improvement_holds_the_truth(rng: Rng) -> None:
    expected, covered = norm.cdf(0.1 / math.hypot(0.3, 0.4)), 0
    for _ in range(TRIALS):
        x = Runs(rng.normal(0.6, 0.3, (1, 60)), np.ones(60))
        y = Runs(rng.normal(0.5, 0.4, (1, 60)), np.ones(60))
        found = BOOTSTRAP.probability_of_improvement([x], [y])
        covered += found.low <= expected <= found.high
    assert COVERED[0] <= covered / TRIALS <= COVERED[1]


def test_a_profile_is_the_share_of_slices_above_each_threshold() -> None:
    low = Runs(np.array([[0.0, 1.0, 2.0, 4.0]]), np.full(4, 4.0))
    unscored = Runs(np.array([[1.0, 9.0]]), np.array([2.0, 0.0]))
    found = BOOTSTRAP.profile([low, unscored], np.array([-1.0, 0.0, 30.0, 60.0, 100.0]))
    assert found.value == pytest.approx([1.0, 0.875, 0.75, 0.125, 0.0])
    assert (found.low <= found.value).all()
    assert (found.value <= found.high).all()


def test_students_quantiles_are_close_enough() -> None:
    for freedom in (3, 4, 9.5, 40):
        assert student(0.975, freedom) == pytest.approx(student_t.ppf(0.975, freedom), rel=0.01)


SPENT = np.full(5, 200.0)
NOTHING = [
    Runs(np.zeros((2, 5)), np.zeros(5)),
    Runs(-np.ones((2, 5)), np.full(5, 1e-16), SPENT),
    Runs(-np.ones((2, 5)), np.full(5, 1.9), SPENT),
]
"""Environments in which the bound saves nothing, as much as rounding, and less than a hundredth of
what replay spends."""


@pytest.mark.parametrize("nothing", NOTHING)
def test_where_there_is_nothing_to_gain_nothing_is_said(nothing: Runs) -> None:
    estimates = [
        BOOTSTRAP.score(nothing),
        BOOTSTRAP.difference([nothing], [nothing]),
        *BOOTSTRAP.aggregates([nothing]).values(),
    ]
    assert np.isnan(np.array(estimates)).all()
    assert np.isnan(slice_scores(nothing)).all()
    assert np.isnan(BOOTSTRAP.profile([nothing], np.zeros(3))).all()


@pytest.mark.parametrize("nothing", NOTHING)
def test_an_environment_without_room_is_left_out_of_what_is_said_over_all(nothing: Runs) -> None:
    x, y = Runs(np.eye(2, 5), np.ones(5)), Runs(np.zeros((2, 5)), np.ones(5))
    assert BOOTSTRAP.aggregates([x, nothing]) == BOOTSTRAP.aggregates([x])
    assert BOOTSTRAP.difference([x, nothing], [y, nothing]) == BOOTSTRAP.difference([x], [y])
    thresholds = np.array([0.0, 50.0])
    both, one = (BOOTSTRAP.profile(cells, thresholds) for cells in ([x, nothing], [x]))
    assert np.array_equal(both, one)


def test_a_sample_without_room_does_not_make_an_interval() -> None:
    """Of slices with next to no room, a sample may hold nothing else."""
    for some, known in ((1, False), (8, True)):
        rich = np.arange(20) < some
        possible, spent = np.where(rich, 100.0, 1e-9), np.full(20, 100.0)
        found = BOOTSTRAP.score(Runs(np.where(rich, 50.0, -1.0)[None], possible, spent))
        assert found.value == pytest.approx((50.0 * some - (20 - some)) / some)
        assert math.isnan(found.low) != known
        assert not known or -1_000.0 < found.low < found.value < found.high <= 100.0


@pytest.mark.parametrize("slices", [2, 3, 5])
def test_no_interval_of_a_score_ends_above_the_bound(rng: Rng, slices: int) -> None:
    """The stretch for few slices would lead there: 205 and 805 were seen."""
    for _ in range(20):
        possible = rng.gamma(0.5, 1.0, slices) + 0.1
        saved = possible * (1.0 - rng.gamma(0.5, 0.2, (2, slices)))
        runs = Runs(saved, possible)
        found = BOOTSTRAP.aggregates([runs, runs])
        assert BOOTSTRAP.score(runs).high <= 100.0
        assert max(found[name].high for name in ("iqm", "mean", "median")) <= 100.0
        assert found["optimality_gap"].low >= 0.0


@pytest.mark.parametrize(("slices", "surely"), [(2, 0.158), (10, 0.692), (40, 0.912)])
def test_who_was_better_on_every_slice_may_be_worse_on_the_next(slices: int, surely: float) -> None:
    """Clopper and Pearson's interval of n successes of n."""
    good, bad = (
        Runs(np.ones((1, slices)), np.ones(slices)),
        Runs(np.zeros((1, slices)), np.ones(slices)),
    )
    found = BOOTSTRAP.probability_of_improvement([good], [bad])
    assert found == pytest.approx((1.0, surely, 1.0), abs=1e-3)
    mirrored = BOOTSTRAP.probability_of_improvement([bad], [good])
    assert mirrored == pytest.approx((0.0, 0.0, 1.0 - surely), abs=1e-3)
    two = BOOTSTRAP.probability_of_improvement([good, good], [bad, bad])
    assert found.low < two.low < 1.0


def joined(rng: Rng, traces: int, blocks: int, differ: float) -> Runs:
    """Traces whose slices hang together in blocks of five, and that differ by more than these."""
    of_trace = differ * rng.standard_normal((traces, 1, 1))
    of_block = 12.0 * rng.standard_normal((traces, blocks, 1))
    score = MEANS[0] + of_trace + of_block + 4.0 * rng.standard_normal((traces, blocks, 5))
    trace = np.repeat(np.arange(traces), blocks)
    units = TracesUnits(np.repeat(np.arange(traces * blocks), 5), trace)
    possible = rng.gamma(4.0, 0.25, score.size)
    return Runs(score.reshape(1, -1) / 100.0 * possible, possible, units=units)


@pytest.mark.parametrize(("traces", "blocks", "differ"), [(1, 20, 0.0), (8, 5, 0.0), (8, 5, 8.0)])
def test_slices_of_a_block_and_of_a_trace_are_drawn_together(
    traces: int, blocks: int, differ: float
) -> None:
    rng, cells = np.random.default_rng(5), list[Runs]()
    cells = [joined(rng, traces, blocks, differ) for _ in range(TRIALS)]
    found = [BOOTSTRAP.score(cell) for cell in cells]
    alone = [BOOTSTRAP.score(cell._replace(units=None)) for cell in cells]
    held, too_few = (np.mean([e.low <= MEANS[0] <= e.high for e in of]) for of in (found, alone))
    assert COVERED[0] <= held <= 0.98, "blocks of few and of few traces err on the wide side"
    assert too_few < 0.85, "as if each slice spoke for itself"


@pytest.mark.parametrize(("traces", "differ"), [(1, 0.0), (6, 10.0)])
def test_an_interval_is_that_of_evaluate(rng: Rng, traces: int, differ: float) -> None:
    cell = joined(rng, traces, 12, differ)
    sums, found = cell.by_unit(), BOOTSTRAP.score(cell)
    room = sums.possible
    expected = score(room, room - sums.saved[0], 0.0 * room, traces=sums.sampled.trace)
    width = expected.high - expected.low
    assert found == pytest.approx(expected, abs=0.06 * width)


def test_a_band_and_a_chance_know_of_units_too(rng: Rng) -> None:
    x = joined(rng, 4, 5, 8.0)
    y, thresholds = (
        x._replace(saved=x.saved - 0.1 * rng.standard_normal(100)),
        np.arange(0, 60, 5.0),
    )
    for runs in ((x, y), (x._replace(units=None), y._replace(units=None))):
        band = BOOTSTRAP.profile([runs[0]], thresholds)
        chance = BOOTSTRAP.probability_of_improvement([runs[0]], [runs[1]])
        assert (band.low <= band.value).all()
        assert (band.value <= band.high).all()
        assert chance.low <= chance.value <= chance.high
    joint, single = (BOOTSTRAP.profile([cell], thresholds) for cell in (x, x._replace(units=None)))
    assert (joint.value == single.value).all()
    assert (joint.high - joint.low).mean() > 1.5 * (single.high - single.low).mean()


def test_a_single_block_has_no_interval() -> None:
    units = TracesUnits(np.zeros(4, dtype=np.int64), np.zeros(1, dtype=np.int64))
    cell = Runs(np.ones((1, 4)), np.full(4, 2.0), units=units)
    assert BOOTSTRAP.score(cell) == pytest.approx((50.0, math.nan, math.nan), nan_ok=True)
    worse = cell._replace(saved=np.arange(4.0)[None])
    assert math.isnan(BOOTSTRAP.probability_of_improvement([cell], [worse]).low)


def test_one_slice_has_no_interval() -> None:
    found = BOOTSTRAP.score(Runs(np.array([[1.0]]), np.array([2.0])))
    assert found == pytest.approx((50.0, math.nan, math.nan), nan_ok=True)


def test_equal_seeds_give_equal_intervals(rng: Rng) -> None:
    cells = [*drawn(rng, 50.0, runs=3), *drawn(rng, 20.0, runs=2)]
    assert Bootstrap(seed=1).aggregates(cells) == Bootstrap(seed=1).aggregates(cells)
    assert Bootstrap(seed=1).aggregates(cells) != Bootstrap(seed=2).aggregates(cells)
