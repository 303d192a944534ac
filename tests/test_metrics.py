"""The metrics against values worked by hand, golden values and properties."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

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
        @dataclass
        class Row:
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

    @pytest.mark.parametrize("form", ["A", "B", "printed"])
    @pytest.mark.parametrize(("precision", "recall"), [(0.11, 0.95), (0.9, 0.5), (0.001, 1.0)])
    def test_the_areas_with_a_predictor_are_means_too(
        self, form: Any, precision: float, recall: float
    ) -> None:
        work, cost = metrics.young_interval(60.0, 1e5), 60.0
        runtimes = (np.arange(200_000) + 0.5) * 5 * HOUR / 200_000
        mean = metrics.saving_ml(precision, recall, runtimes, cost).mean()
        area = metrics.mean_ml_saving(precision, recall, cost, 5 * HOUR)
        assert area == pytest.approx(mean, abs=1e-5)
        mean = metrics.saving_combined(precision, recall, runtimes, work, cost, form).mean()
        area = metrics.mean_combined_saving(precision, recall, work, cost, 5 * HOUR, form)
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


def failures_of_machines(**columns: list[int]) -> dict[str, npt.NDArray[np.int64]]:
    return {name: np.array(values, dtype=np.int64) for name, values in columns.items()}


@st.composite
def outages_of_machines(draw: st.DrawFn) -> dict[str, npt.NDArray[np.int64]]:
    """Outages of a few machines, some without a length, at the same moment, or never over."""
    rows: list[tuple[int, int, int]] = []
    for machine in range(draw(st.integers(1, 4))):
        moments = sorted(draw(st.lists(st.integers(0, 60), max_size=8)))
        ends = zip(moments[::2], moments[1::2], strict=False)  # an odd one has no end
        rows += [(machine, down, up) for down, up in ends]
        if len(moments) % 2:
            rows.append((machine, moments[-1], -1))
    rows = draw(st.permutations(rows))
    columns = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return dict(zip(("machine", "down", "up"), columns, strict=True))


PREDICTED = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 70)), max_size=12)


def as_predictions(rows: list[tuple[int, int]]) -> dict[str, npt.NDArray[np.int64]]:
    columns = np.array(rows, dtype=np.int64).reshape(-1, 2).T
    return dict(zip(("machine", "time"), columns, strict=True))


class TestPredictionsOfMachineFailures:
    def test_first_figure_of_flaw(self) -> None:
        """P1 comes before failure 1, when the node is alive; P2 is within the second downtime."""
        outages = failures_of_machines(machine=[0, 0], down=[30, 80], up=[40, 100])
        predictions = failures_of_machines(machine=[0, 0], time=[20, 90])
        assert metrics.node_detection(predictions, outages) == (1, 1, 1)
        assert metrics.aoa(predictions, outages) == 1 / 3

    def test_fifth_figure_of_flaw(self) -> None:
        outages = failures_of_machines(machine=[0, 1, 2], down=[15, 60, 5], up=[20, 65, 10])
        predictions = failures_of_machines(machine=[0, 2, 2], time=[18, 8, 90])
        assert metrics.node_detection(predictions, outages) == (2, 1, 1)
        assert metrics.aoa(predictions, outages) == 0.5

    @pytest.mark.parametrize(
        ("time", "expected"),
        [
            ([9], (0, 1, 1)),
            ([10], (1, 0, 0)),
            ([19], (1, 0, 0)),
            ([20], (0, 1, 1)),
            ([11, 12], (1, 0, 0)),  # the second one is neither right nor wrong
            ([11, 12, 20, 21], (1, 0, 2)),
            ([], (0, 1, 0)),
        ],
    )
    def test_a_hit_is_at_or_after_the_failure_and_before_the_repair(
        self, time: list[int], expected: tuple[int, int, int]
    ) -> None:
        outages = failures_of_machines(machine=[3], down=[10], up=[20])
        predictions = failures_of_machines(machine=[3] * len(time), time=time)
        assert metrics.node_detection(predictions, outages) == expected

    def test_outages_that_begin_together_are_one_failure(self) -> None:
        outages = failures_of_machines(
            machine=[1, 1, 1, 0, 1], down=[5, 9, 5, 5, 30], up=[5, -1, 9, 5, 40]
        )
        with pytest.raises(ValueError, match="outages of machine 1 overlap at 30 ms"):
            metrics.distinct_failures(outages)
        outages = {name: values[:-1] for name, values in outages.items()}
        failures = metrics.distinct_failures(outages)
        assert failures.machine.tolist() == [0, 1, 1]
        assert failures.down.tolist() == [5, 5, 9]
        assert failures.up.tolist() == [6, 9, metrics.NEVER]

    def test_without_failures_and_predictions_there_is_no_accuracy(self) -> None:
        none = failures_of_machines(machine=[], time=[], down=[], up=[])
        assert np.isnan(metrics.aoa(none, none))
        assert metrics.aoa(failures_of_machines(machine=[0], time=[0]), none) == 0

    @given(outages_of_machines(), PREDICTED)
    def test_matches_are_those_of_an_obvious_search(
        self, outages: dict[str, npt.NDArray[np.int64]], rows: list[tuple[int, int]]
    ) -> None:
        longest: dict[tuple[int, int], int] = {}
        for machine, down, up in zip(*(x.tolist() for x in outages.values()), strict=True):
            end = 10**9 if up < 0 else max(up, down + 1)
            longest[machine, down] = max(end, longest.get((machine, down), 0))
        found = [
            {key for key, up in longest.items() if key[0] == machine and key[1] <= time < up}
            for machine, time in rows
        ]
        detection = metrics.node_detection(as_predictions(rows), outages)
        hits = len(set[tuple[int, int]]().union(*found))
        assert detection == (hits, len(longest) - hits, sum(not keys for keys in found))
        assert np.isnan(detection.aoa) if not (longest or rows) else 0 <= detection.aoa <= 1

    @given(outages_of_machines(), PREDICTED, st.permutations(range(4)))
    def test_the_numbers_of_the_machines_do_not_matter(
        self,
        outages: dict[str, npt.NDArray[np.int64]],
        rows: list[tuple[int, int]],
        renamed: list[int],
    ) -> None:
        predictions = as_predictions(rows)
        before = metrics.node_detection(predictions, outages)
        predictions["machine"] = np.array(renamed)[predictions["machine"]]
        outages = outages | {"machine": np.array(renamed)[outages["machine"]]}
        assert metrics.node_detection(predictions, outages) == before

    @given(PREDICTED, PREDICTED)
    def test_entries_are_counted_in_order_of_machine_and_time(
        self, entries: list[tuple[int, int]], at: list[tuple[int, int]]
    ) -> None:
        entries.sort()
        counted = metrics.entries_until(
            *as_predictions(entries).values(), *as_predictions(at).values()
        )
        assert counted.tolist() == [sum(entry <= one for entry in entries) for one in at]


def query_log(rows: list[tuple[int, ...]]) -> dict[str, npt.NDArray[np.int64]]:
    """A log of queries: event, job, machine, asked, answered, fails."""
    columns = np.array(rows, dtype=np.int64).reshape(-1, 6).T
    names = ("event", "job", "machine", "asked", "answered", "fails")
    return dict(zip(names, columns, strict=True))


class TestQueries:
    """The worked example of FLAW (Figs. 4 and 8), every job and every free node."""

    ROWS: ClassVar[list[tuple[int, ...]]] = [  # event, job, machine, asked, answered, fails
        (0, 0, 0, 1, 1, 1),
        (0, 0, 1, 1, 0, 0),
        (0, 0, 2, 0, 1, 1),
        (40, 3, 1, 1, 0, 1),  # the failure of node 1 at 60 is not predicted
        (40, 3, 2, 0, 1, 0),  # node 2 is predicted to fail at 90, and does not
        (40, 3, 0, 0, 0, 0),
        (40, 1, 0, 1, 0, 0),
        (40, 1, 2, 0, 1, 0),
        (40, 2, 2, 1, 0, 0),
        (65, 3, 1, 1, 0, 0),
        (100, 4, 0, 1, 0, 0),
        (100, 4, 1, 0, 0, 0),
        (100, 4, 2, 0, 0, 0),
    ]
    LOG: ClassVar = query_log(ROWS)

    @pytest.mark.parametrize(
        ("count", "expected"),
        [
            ("asked", (7, 1)),
            ("per_event_resource", (10, 1)),
            ("first_per_job_node", (6, 1)),  # job 3 meets node 1 twice
            ("every_job_resource", (13, 3)),
        ],
    )
    def test_the_worked_example(self, count: metrics.Count, expected: tuple[int, int]) -> None:
        assert metrics.count_answers(self.LOG, count) == expected
        queries, wrong = expected
        assert metrics.aaa(self.LOG, count) == (queries - wrong) / queries

    def test_the_paper_counts_ten_queries(self) -> None:
        assert metrics.aaa(self.LOG) == 0.9

    def test_a_job_that_waits_is_counted_again_but_not_by_job_and_node(self) -> None:
        log = query_log([(time, 7, 2, 1, 1, 0) for time in range(5)])
        assert metrics.count_answers(log, "asked") == (5, 5)
        assert metrics.count_answers(log, "first_per_job_node") == (1, 1)

    @pytest.mark.parametrize("count", metrics.COUNTS)
    def test_no_queries(self, count: metrics.Count) -> None:
        none = query_log([])
        assert metrics.count_answers(none, count) == (0, 0)
        assert np.isnan(metrics.aaa(none, count))

    def test_an_unknown_count(self) -> None:
        unknown: Any = "all"
        with pytest.raises(ValueError, match="count: expected one of asked, per_event_resource"):
            metrics.aaa(self.LOG, unknown)

    @given(st.lists(st.tuples(*[st.integers(0, 3)] * 3, *[st.integers(0, 1)] * 3), max_size=20))
    def test_counts_are_those_of_an_obvious_search(self, rows: list[tuple[int, ...]]) -> None:
        log = query_log(rows)
        asked = [row for row in rows if row[3]]
        chosen = {
            "asked": asked,
            "per_event_resource": list({(row[0], row[2]): row for row in rows}.values()),
            "first_per_job_node": list({(row[1], row[2]): row for row in asked[::-1]}.values()),
            "every_job_resource": rows,
        }
        renamed = log | {"machine": np.array([2, 0, 3, 1])[log["machine"]]}
        for count in metrics.COUNTS:
            wrong = sum(row[4] != row[5] for row in chosen[count])
            assert metrics.count_answers(log, count) == (len(chosen[count]), wrong)
            assert metrics.count_answers(renamed, count) == (len(chosen[count]), wrong)
