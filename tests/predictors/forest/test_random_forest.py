"""`RandomForest`: what it learns from, what it may know, and when it learns anew."""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from failgym.metrics.curves import roc_auc
from failgym.predictors.features.config import CONFIG, learn_vocabulary
from failgym.predictors.features.flags import FLAGS
from failgym.predictors.features.usage import USAGE
from failgym.predictors.forest.forest import Forest, Growth
from failgym.predictors.forest.random_forest import RandomForest
from failgym.predictors.forest.rows import LEVELS, SCENARIOS, Knowledge
from failgym.predictors.learned import window_moments
from failgym.traces import Cause, Meta, Outcome, Trace
from failgym.traces.synthetic import generate
from failgym.vocabulary import MINUTE
from tests.predictors.futures import another_future

pytest.importorskip("sklearn")

WINDOW = 5 * MINUTE
EPOCH = 8 * 60 * MINUTE
ONLINE: dict[str, Any] = {"refit": EPOCH, "memory": 5 * EPOCH, "trees": 5}


@lru_cache(maxsize=2)
def parts(jobs: int) -> tuple[Trace, Trace]:
    whole = generate("google-2011", jobs=jobs, seed=1)
    return whole.split("train"), whole.split("test")


@lru_cache(maxsize=8)
def fitted(scenario: str = "all", jobs: int = 600, **settings: Any) -> RandomForest:
    chosen: dict[str, Any] = {"trees": 10, **settings}
    return RandomForest(scenario=scenario, **chosen).fit(parts(jobs)[0])


def knowledge(trace: Trace, scenario: str = "all", sliding: bool = True) -> Knowledge:
    return Knowledge.of(trace, learn_vocabulary(parts(600)[0]), SCENARIOS[scenario], sliding)


class TestQuality:
    def test_flags_tell_more_of_an_attempt_than_usage_and_usage_more_than_configuration(
        self,
    ) -> None:
        test = parts(6_000)[1]
        fails = test.column("attempts", "outcome") == Outcome.FAIL
        ended = test.column("attempts", "outcome") != Outcome.CENSORED
        auc: dict[str, float] = {}
        for scenario in ("config", "usage", "flags"):
            forecast = fitted(scenario, 6_000, ratio=0.1).predict(test)
            known = ended & (np.diff(forecast.offset) > 0)
            last = forecast.risk[forecast.offset[1:][known] - 1]
            auc[scenario] = roc_auc(fails[known], last)
        assert auc["config"] + 0.02 < auc["usage"]
        assert auc["usage"] + 0.02 < auc["flags"]

    def test_jobs_that_do_not_finish_are_told_at_their_submission(self) -> None:
        train, test = parts(600)
        forecast = fitted().predict(test)
        outcome = test.column("jobs", "outcome")
        known = outcome != Outcome.CENSORED
        unfinished = outcome[known] != Outcome.FINISH
        assert roc_auc(unfinished, forecast.job_confidence[known]) > 0.85
        assert train.rows("jobs") > test.rows("jobs")

    def test_importances_are_named_by_level(self) -> None:
        importance = fitted("flags").feature_importances_
        assert list(importance) == list(LEVELS)
        assert tuple(importance["job"]) == CONFIG
        assert tuple(importance["task"]) == tuple(importance["attempt"]) == (*CONFIG, *FLAGS)
        assert tuple(fitted("usage").feature_importances_["attempt"]) == (*CONFIG, *USAGE)
        assert all(sum(level.values()) == pytest.approx(1) for level in importance.values())


class TestWhatIsKnown:
    @pytest.mark.parametrize("sliding", [True, False])
    @pytest.mark.parametrize("seed", range(4))
    def test_features_are_the_same_whatever_comes_after(self, seed: int, sliding: bool) -> None:
        trace = parts(600)[1]
        rng = np.random.default_rng(seed)
        submits = trace.column("jobs", "submit")
        future = another_future(trace, int(np.quantile(submits, rng.uniform(0.3, 0.8))), rng)
        ours, theirs = (knowledge(x, sliding=sliding) for x in (trace, future.trace))
        assert np.array_equal(ours.job[: future.jobs], theirs.job)
        assert np.array_equal(ours.task[: future.tasks], theirs.task)
        _, attempt, time = window_moments(future.trace, WINDOW)
        attempt, time = attempt[time <= future.at], time[time <= future.at]
        assert len(time) > 500
        expected = ours.attempt(future.attempts[attempt], time)
        assert np.array_equal(theirs.attempt(attempt, time), expected)

    def test_without_sliding_usage_is_that_of_the_first_five_minutes(self) -> None:
        test = parts(600)[1]
        _, attempt, time = window_moments(test, WINDOW)
        passed = time - test.column("attempts", "start")[attempt]
        later, second = passed > WINDOW, np.flatnonzero(passed == WINDOW)
        place = second[np.searchsorted(attempt[second], attempt[later])]
        risk = fitted("usage", sliding=False).predict(test).risk
        assert np.array_equal(risk[later], risk[place])
        risk = fitted("usage").predict(test).risk
        assert not np.array_equal(risk[later], risk[place])

    def test_with_configuration_only_a_risk_stays_what_it_was_at_the_start(self) -> None:
        test = parts(600)[1]
        forecast = fitted("config").predict(test)
        ran = np.diff(forecast.offset) > 0
        first = forecast.risk[forecast.offset[:-1][ran]]
        assert np.array_equal(np.repeat(first, np.diff(forecast.offset)[ran]), forecast.risk)
        assert len(np.unique(first)) > 20


class TestLessons:
    def test_attempts_teach_after_0_1_2_4_8_windows(self) -> None:
        train = parts(600)[0]
        attempt, time = knowledge(train)._moments(WINDOW)
        _, every, _ = window_moments(train, WINDOW)
        count = np.bincount(every, minlength=train.rows("attempts"))
        start = train.column("attempts", "start")
        known = train.column("attempts", "outcome") != Outcome.CENSORED
        expected = [
            (row, start[row] + step * WINDOW)
            for row in np.flatnonzero(known)
            for step in (0, *(2**power for power in range(20)))
            if step < count[row]
        ]
        assert list(zip(attempt.tolist(), time.tolist(), strict=True)) == expected
        assert count[known].max() > 16

    def test_with_configuration_only_they_teach_once(self) -> None:
        train = parts(600)[0]
        attempt, time = knowledge(train, "config")._moments(WINDOW)
        ran = train.present("attempts", "start")
        known = ran & (train.column("attempts", "outcome") != Outcome.CENSORED)
        assert np.array_equal(attempt, np.flatnonzero(known))
        assert np.array_equal(time, train.column("attempts", "start")[attempt])

    def test_what_the_end_of_the_data_cut_teaches_nothing(self) -> None:
        train = parts(600)[0]
        lessons = knowledge(train).lessons(WINDOW)
        for level, outcome in (
            ("job", train.column("jobs", "outcome")),
            ("task", train.task_outcome),
        ):
            known = outcome != Outcome.CENSORED
            assert len(lessons[level].rows) == known.sum() < len(known)
        ends = np.concatenate([lesson.end for lesson in lessons.values()])
        assert train.meta.end is not None
        assert 0 <= ends.min() <= ends.max() <= train.meta.end


class TestOnline:
    def test_until_the_first_refit_and_without_memory_the_fitted_forest_speaks(self) -> None:
        test = parts(600)[1]
        plain = fitted(trees=5).predict(test)
        end = test.meta.end
        assert end is not None
        for refit, memory in ((2 * end, EPOCH), (EPOCH, 1)):
            forecast = fitted(trees=5, refit=refit, memory=memory).predict(test)
            for name in ("risk", "confidence", "job_confidence"):
                assert np.array_equal(getattr(forecast, name), getattr(plain, name))

    def test_a_refit_learns_from_what_ended_in_its_memory_in_both_traces(self) -> None:
        train, test = parts(600)
        predictor = fitted(**ONLINE)
        forecast = predictor.predict(test)
        submit = test.column("jobs", "submit")
        vocabulary = learn_vocabulary(train)
        both = [
            Knowledge.of(trace, vocabulary, SCENARIOS["all"]).lessons(WINDOW)["job"]
            for trace in (train, test)
        ]
        epochs = np.unique(submit // EPOCH).tolist()
        assert len(epochs) > 2
        for epoch in epochs:
            now = epoch * EPOCH
            kept = [(x.end > now - 5 * EPOCH) & (x.end <= now) for x in both]
            assert any(mask.any() for mask in kept)
            rows = np.concatenate([x.rows[mask] for x, mask in zip(both, kept, strict=True)])
            label = np.concatenate([x.label[mask] for x, mask in zip(both, kept, strict=True)])
            forest = Forest.grow(rows, label, 2, Growth(5, 5, 50_000, 1.0, 0))
            jobs = submit // EPOCH == epoch
            asked = Knowledge.of(test, vocabulary, SCENARIOS["all"]).job[jobs]
            expected = forest.shares(asked)[:, 1].astype(np.float32)
            assert np.array_equal(forecast.job_confidence[jobs], expected)

    def test_what_ends_later_in_the_predicted_trace_is_learned_from_then_only(self) -> None:
        test = parts(600)[1]
        at = int(np.quantile(test.column("jobs", "submit"), 0.6))
        future = another_future(test, at, np.random.default_rng(0))
        ours, theirs = (fitted(**ONLINE).predict(x) for x in (test, future.trace))
        assert np.array_equal(ours.job_confidence[: future.jobs], theirs.job_confidence)
        assert np.array_equal(ours.confidence[: future.tasks], theirs.confidence)


class TestStored:
    @pytest.mark.parametrize("settings", [{}, ONLINE])
    def test_what_was_stored_predicts_the_same_bits(self, settings: dict[str, Any]) -> None:
        predictor, test = fitted(**settings), parts(600)[1]
        other = RandomForest(**settings).restore(predictor.arrays())
        ours, theirs = predictor.predict(test), other.predict(test)
        for name in ("offset", "risk", "confidence", "job_confidence"):
            assert np.array_equal(getattr(ours, name), getattr(theirs, name))

    def test_a_stored_predictor_needs_no_scikit_learn(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        arrays, (train, test) = fitted().arrays(), parts(600)
        expected = fitted().predict(test).risk
        monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
        assert np.array_equal(RandomForest().restore(arrays).predict(test).risk, expected)
        with pytest.raises(ValueError, match=r"scikit-learn: pip install 'failgym\[predictors\]'"):
            RandomForest(trees=1).fit(train)

    @pytest.mark.parametrize(
        ("name", "values"),
        [
            ("words_user", None),
            ("words_user", np.zeros(3)),
            ("task_root", None),
            ("job_share", np.zeros((1, 2))),
            ("lesson_job_rows", None),
            ("lesson_job_rows", np.zeros((4, 2), np.float32)),
            ("lesson_task_label", np.zeros(1, np.int64)),
            ("lesson_attempt_end", np.zeros(1)),
        ],
    )
    def test_what_does_not_fit_is_named(self, name: str, values: Any) -> None:
        arrays = {**fitted(**ONLINE).arrays(), name: values}
        if values is None:
            del arrays[name]
        level = name.removeprefix("lesson_").partition("_")[0]
        with pytest.raises(ValueError, match=rf"^RandomForest: .*{level}") as error:
            RandomForest(**ONLINE).restore(arrays)
        assert "\n" not in str(error.value)

    def test_features_of_another_scenario_are_refused(self) -> None:
        with pytest.raises(ValueError, match=f"expected trees of {len(CONFIG)} features"):
            RandomForest(scenario="config").restore(fitted("all").arrays())

    def test_labels_beyond_the_classes_are_refused(self) -> None:
        arrays = dict(fitted(**ONLINE).arrays())
        arrays["lesson_job_label"] = arrays["lesson_job_label"] + 1
        with pytest.raises(ValueError, match="classes below 2"):
            RandomForest(**ONLINE).restore(arrays)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("scenario", "everything"),
        ("trees", 0),
        ("leaf", 0),
        ("tree_rows", 0),
        ("ratio", 0.0),
        ("ratio", 1.5),
        ("window", 0),
        ("refit", -1),
        ("memory", 0),
        ("seed", -1),
    ],
)
def test_a_wrong_setting_is_named(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"^{name}: expected"):
        RandomForest(**{name: value})


def test_nothing_is_said_before_it_learned() -> None:
    predictor = RandomForest()
    for ask in (
        predictor.arrays,
        lambda: predictor.predict(parts(600)[1]),
        lambda: predictor.feature_importances_,
    ):
        with pytest.raises(ValueError, match=r"^RandomForest: fit it first"):
            ask()


def test_a_trace_in_which_nothing_ended_teaches_nothing() -> None:
    trace = generate("google-2011", jobs=3, seed=1)
    ended = trace.split("train", 0.01)
    censored = np.all(ended.column("attempts", "outcome") == Outcome.CENSORED)
    assert censored
    with pytest.raises(ValueError, match="no attempt that ran and whose end it has"):
        RandomForest().fit(ended)


def test_a_trace_in_which_nothing_ran_has_no_risks_and_one_without_jobs_nothing() -> None:
    waiting = Trace.of(
        Meta("killed while it waits"),
        jobs={"original_id": ["a"], "submit": [0], "width": 1, "outcome": Outcome.KILL},
        tasks={"job": [0], "index": [0], "width": 1},
        attempts={"task": [0], "end": [5], "outcome": Outcome.KILL, "cause": Cause.USER},
    )
    forecast = fitted().predict(waiting)
    assert (forecast.risk.shape, forecast.offset.tolist()) == ((0,), [0, 0])
    assert forecast.confidence.sum() == pytest.approx(1)
    assert 0 <= forecast.job_confidence[0] <= 1
    assert fitted().predict(Trace(Meta("nothing"))).confidence.shape == (0, 4)
