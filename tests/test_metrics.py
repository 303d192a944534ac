"""The metrics against values worked by hand, golden values and properties."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from failgym import metrics
from failgym.predictors import Calibrated, NoForecast, Perfect
from failgym.traces import Meta, Outcome, Trace

HOUR = 3600.0
FINISH, FAIL, KILL, CENSORED = Outcome.FINISH, Outcome.FAIL, Outcome.KILL, Outcome.CENSORED

GOLDEN_AREAS = {  # (MTBF, cost) [s] -> areas over runtimes (0, 5 h], (60 s, 5 h], and the paper's
    (1e4, 60.0): (0.8087, 0.8114, 0.81),
    (1e5, 60.0): (0.6478, 0.6500, 0.66),
    (1e6, 60.0): (0.2989, 0.2999, 0.30),
    (1e6, 10.0): (0.5921, 0.5940, 0.60),
}

TABLE_8 = {  # model -> base rate of failures; ML at (60 s, 10 s); ML + periodic as GOLDEN_AREAS
    "shared single": (0.0276, (0.82, 0.95), (0.91, 0.88, 0.84, 0.95)),
    "nonshared single": (0.0663, (0.89, 0.97), (0.94, 0.92, 0.90, 0.97)),
    "nonshared multi": (0.1049, (0.90, 0.97), (0.95, 0.93, 0.91, 0.98)),
    "system b multi": (0.0126, (0.91, 0.97), (0.94, 0.93, 0.92, 0.98)),
}


def outcomes(**columns: list[int]) -> dict[str, npt.NDArray[Any]]:
    """A table of outcomes; what is not given is 0."""
    rows = len(next(iter(columns.values())))
    names = ("submit", "recorded_end", "recorded_outcome", "end", "outcome", "killed")
    table = {name: np.zeros(rows, dtype=np.int64) for name in (*names, *metrics.ACCOUNTS)}
    table |= {name: np.array(values) for name, values in columns.items()}
    return table | {"killed": table["killed"].astype(bool)}


class TestOutcomes:
    REPLAY: ClassVar = outcomes(
        recorded_outcome=[FINISH, FAIL, KILL, CENSORED],
        outcome=[FINISH, FAIL, KILL, CENSORED],
        submit=[0, 10, 20, 0],
        recorded_end=[100, 210, 320, 900],
        end=[100, 210, 320, 900],
        useful=[100, 0, 0, 0],
        lost=[0, 200, 300, 0],
    )
    POLICY: ClassVar = outcomes(
        recorded_outcome=[FINISH, FAIL, KILL, CENSORED],
        outcome=[KILL, FAIL, KILL, CENSORED],
        submit=[0, 10, 20, 0],
        recorded_end=[100, 210, 320, 900],
        end=[40, 110, 170, 900],
        killed=[1, 0, 1, 0],
        lost=[40, 50, 150, 7],
        redundant=[0, 60, 0, 0],
        ghost=[0, 20, 0, 0],
        checkpoint=[0, 5, 0, 0],
        restore=[0, 6, 0, 0],
    )

    def test_work(self) -> None:
        assert metrics.task_work(self.POLICY).tolist() == [40, 141, 150, 7]
        assert metrics.wasted_work(self.POLICY) == 320
        assert metrics.checkpoint_work(self.POLICY) == 11
        assert metrics.cloning_overhead(self.POLICY, self.REPLAY) == (331 - 600) / 600
        assert metrics.cloning_overhead(self.REPLAY, self.REPLAY) == 0

    def test_completion_ratios_are_of_tasks_that_end_as_recorded(self) -> None:
        assert metrics.completion_ratios(self.POLICY).tolist() == [0.5, 0.5]
        assert metrics.completion_ratio(self.REPLAY) == 1
        only = np.array([False, False, True, True])
        assert metrics.completion_ratios(self.POLICY, only).tolist() == [0.5]
        assert np.isnan(metrics.completion_ratio(self.POLICY, ~only & False))

    def test_counts(self) -> None:
        assert metrics.forfeited(self.POLICY) == 1
        assert metrics.false_kills(self.POLICY) == 1
        assert metrics.rescued(self.POLICY) == 0
        assert metrics.rescued(self.POLICY | {"outcome": np.zeros(4, dtype=np.int64)}) == 2
        assert metrics.forfeited(self.REPLAY) == metrics.false_kills(self.REPLAY) == 0

    def test_resource_reduction(self) -> None:
        assert metrics.resource_reduction(self.POLICY, self.REPLAY) == (500 - 291) / 500
        request = np.array([1.0, 0.5, 0.0, 1.0])
        reduction = metrics.resource_reduction(self.POLICY, self.REPLAY, request)
        assert reduction == pytest.approx((200 - 141) / 200)
        killed = self.REPLAY["recorded_outcome"] == KILL
        assert metrics.resource_reduction(self.POLICY, self.REPLAY, where=killed) == 0.5

    def test_a_table_is_made_of_rows(self) -> None:
        class Row(NamedTuple):
            task: int
            killed: bool

        table = metrics.as_columns([Row(3, True), Row(4, False)])
        assert table["task"].tolist() == [3, 4]
        assert table["killed"].dtype == bool
        with pytest.raises(ValueError, match="at least one task"):
            metrics.as_columns([])


class TestPredictions:
    def test_false_negatives_by_both_denominators(self) -> None:
        finishing = np.array([True, True, True, False])
        flagged = np.array([True, False, False, True])
        assert metrics.false_negative_rate(finishing, flagged) == 1 / 4
        assert metrics.false_negative_rate(finishing, flagged, "finishing") == 1 / 3

    def test_precision_and_recall_counted_and_weighted(self) -> None:
        bad, flagged = np.array([True, True, False]), np.array([True, False, True])
        assert metrics.detection(bad, flagged) == (0.5, 0.5)
        assert metrics.detection(bad, flagged, [1, 3, 1]) == (0.5, 0.25)
        assert np.isnan(metrics.detection(bad, bad & False).precision)
        assert np.isnan(metrics.detection(bad & False, flagged).recall)

    def test_detections_of_a_trace_at_each_level(self) -> None:
        trace = Trace.of(
            Meta("two jobs"),
            jobs={"original_id": ["0", "1"], "submit": 0, "width": [2, 1], "outcome": [0, 1]},
            tasks={"job": [0, 0, 1], "index": [0, 1, 0], "width": [1, 2, 1]},
            attempts={
                "task": [0, 0, 1, 2],
                "start": [0, 600_000, 0, 0],
                "end": [600_000, 1_200_000, 600_000, 300_000],
                "outcome": [FAIL, FINISH, FINISH, FAIL],
                "cause": [0, None, None, 0],
            },
        )
        perfect = metrics.detections(trace, Perfect().predict(trace), 0.5)
        assert set(perfect) == {"attempt", "task", "job", "work"}
        assert all(value == (1.0, 1.0) for value in perfect.values())
        silent = metrics.detections(trace, NoForecast().predict(trace), 0.5)
        assert all(value.recall == 0 for value in silent.values())
        everything = Calibrated(threshold=0.5, recall=1.0, fpr=1.0).predict(trace)
        assert metrics.detections(trace, everything, 0.5) == {
            "attempt": (1 / 2, 1.0),
            "task": (2 / 3, 1.0),
            "job": (1.0, 1.0),
            "work": (900 / 2700, 1.0),
        }

    @given(st.data())
    def test_killing_after_a_grace_period_saves_no_more_than_the_recall(self, data: Any) -> None:
        tasks = data.draw(st.integers(1, 20))
        times = st.lists(st.integers(1, 10**9), min_size=tasks, max_size=tasks)
        duration = np.array(data.draw(times))
        grace = np.array(data.draw(times))
        flags = st.lists(st.booleans(), min_size=tasks, max_size=tasks)
        flagged = np.array(data.draw(flags))
        bad = np.array(data.draw(flags))
        outcome = np.where(bad, KILL, FINISH)
        fate = {"recorded_outcome": outcome, "useful": np.where(bad, 0, duration)}
        after = np.where(flagged, np.minimum(duration, grace), duration)
        none = outcomes(submit=[0] * tasks)
        replay = none | fate | {"lost": np.where(bad, duration, 0)}
        policy = none | fate | {"lost": np.where(bad, after, 0)}
        if bad.any():
            saved = metrics.resource_reduction(policy, replay)
            assert 0 <= saved <= metrics.detection(bad, flagged, duration).recall + 1e-12


class TestGracePeriod:
    def test_golden_values(self) -> None:
        assert metrics.grace_period(0.1, 0.2, 0.6) == pytest.approx(93.4 / 0.9, abs=1e-9)
        assert metrics.grace_period(0.1, 0.2, 0.6) == pytest.approx(103.778, abs=5e-4)
        assert metrics.grace_period(0.05, 0.05, 0.8) == pytest.approx(85.4 / 0.9, abs=1e-9)
        assert metrics.grace_period(0.05, 0.05, 0.8) == pytest.approx(94.889, abs=5e-4)

    def test_no_confidence_is_the_plain_mean(self) -> None:
        periods = metrics.grace_period([0.0, 1.0], [0.0, 0.0], [0.0, 0.0])
        assert periods.tolist() == [pytest.approx(463 / 3), 324.0]

    @given(*[st.floats(0, 1) for _ in range(3)])
    def test_lies_between_the_classes(self, evict: float, fail: float, kill: float) -> None:
        assert 56 - 1e-9 <= float(metrics.grace_period(evict, fail, kill)) <= 324 + 1e-9


class TestCheckpointing:
    def test_intervals(self) -> None:
        assert metrics.young_interval(60, 1e4) == pytest.approx(1095.445, abs=5e-4)
        assert metrics.daly_interval(60, 1e4) == pytest.approx(1055.8, abs=0.1)
        assert metrics.daly_interval(100, 50) == 50

    def test_golden_point(self) -> None:
        runtime, cost = 2 * HOUR, 60.0
        work = metrics.young_interval(cost, 1e4)
        assert metrics.saving_periodic(runtime, work, cost) == pytest.approx(0.9129, abs=5e-5)
        assert metrics.saving_ml(0.5, 0.9, runtime, cost) == pytest.approx(0.885, abs=5e-5)
        forms = {"A": 0.9313, "B": 0.9763, "printed": 1.7529}
        for form, value in forms.items():
            given_form: Any = form
            saving = metrics.saving_combined(0.5, 0.9, runtime, work, cost, given_form)
            assert saving == pytest.approx(value, abs=5e-5)

    @pytest.mark.parametrize(("mtbf", "cost"), GOLDEN_AREAS)
    def test_golden_areas(self, mtbf: float, cost: float) -> None:
        work = metrics.young_interval(cost, mtbf)
        whole, above_a_minute, paper = GOLDEN_AREAS[mtbf, cost]
        area = metrics.mean_periodic_saving(work, cost, 5 * HOUR)
        assert area == pytest.approx(whole, abs=5e-5)
        assert area == pytest.approx(paper, abs=0.015)
        area = metrics.mean_periodic_saving(work, cost, 5 * HOUR, 60.0)
        assert area == pytest.approx(above_a_minute, abs=5e-5)

    def test_the_area_is_the_mean_of_the_curve(self) -> None:
        work, cost = metrics.young_interval(60.0, 1e4), 60.0
        runtimes = (np.arange(400_000) + 0.5) * 5 * HOUR / 400_000
        mean = metrics.saving_periodic(runtimes, work, cost).mean()
        area = metrics.mean_periodic_saving(work, cost, 5 * HOUR)
        assert area == pytest.approx(mean, abs=1e-5)

    @given(
        precision=st.floats(0.05, 1),
        recall=st.floats(0, 1),
        runtime=st.floats(120, 1e6),
        cost=st.floats(1, 60),
        mtbf=st.floats(1e3, 1e6),
    )
    def test_a_is_at_most_b_is_at_most_1(
        self, precision: float, recall: float, runtime: float, cost: float, mtbf: float
    ) -> None:
        work = metrics.young_interval(cost, mtbf)
        given_run = (precision, recall, runtime, work, cost)
        a, b = (float(metrics.saving_combined(*given_run, form)) for form in ("A", "B"))
        assert a <= b <= 1 + 1e-12
        assert 0 <= metrics.saving_periodic(runtime, work, cost) <= 1

    @pytest.mark.parametrize("model", TABLE_8)
    def test_the_binormal_models_give_the_published_savings(self, model: str) -> None:
        base_rate, ml, ml_periodic = TABLE_8[model]
        kumar = Calibrated.kumar(model)
        recall, fpr = np.array(kumar.recall)[:, None], np.array(kumar.fpr)[:, None]
        precision = base_rate * recall / (base_rate * recall + (1 - base_rate) * fpr)
        runtimes = (np.arange(1_000) + 0.5) * 5 * HOUR / 1_000
        for cost, published in zip((60.0, 10.0), ml, strict=True):
            saving = metrics.saving_ml(precision, recall, runtimes, cost)
            assert saving.mean(axis=1).max() == pytest.approx(published, abs=0.015)
        for (mtbf, cost), published in zip(GOLDEN_AREAS, ml_periodic, strict=True):
            work = metrics.young_interval(cost, mtbf)
            saving = metrics.saving_combined(precision, recall, runtimes, work, cost)
            assert saving.mean(axis=1).max() == pytest.approx(published, abs=0.015)
