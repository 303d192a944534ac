"""Forecasts of machine failures answer as looked up, and are as good as stated."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from failgym.metrics import aaa, aoa, count_answers, distinct_failures, node_detection
from failgym.predictors import CalibratedNodes, NodeForecast
from failgym.traces import Meta, Trace
from failgym.traces.readers.lanl import read_lanl
from failgym.traces.synthetic import generate
from failgym.vocabulary import MINUTE
from tests.traces.real_data import real

Table = dict[str, npt.NDArray[np.int64]]

SHARES = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0])
ACCURACIES = (0.5, 0.6, 0.7, 0.8, 0.9)
UNIT = 5 * MINUTE


def make_trace(
    outages: list[tuple[int, int, int | None]], machines: int = 3, end: int | None = 1000
) -> Trace:
    """Machines and their outages (machine, down, up)."""
    return Trace.of(
        Meta("by hand", end=end),
        machines={"original_id": [str(i) for i in range(machines)], "speed": 1.0},
        outages={
            name: [row[i] for row in outages] for i, name in enumerate(("machine", "down", "up"))
        },
    )


def outages_of(trace: Trace) -> Table:
    return {name: trace.column("outages", name) for name in ("machine", "down", "up")}


def pairs(forecast: NodeForecast) -> set[tuple[int, int]]:
    return set(zip(forecast.machine.tolist(), forecast.time.tolist(), strict=True))


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    """Outages of a few machines, some without a length or never over, and some time without."""
    machines = draw(st.integers(1, 4))
    rows: list[tuple[int, int, int | None]] = []
    for machine in range(machines):
        moments = sorted(draw(st.lists(st.integers(1, 900), max_size=12)))
        ends = zip(moments[::2], moments[1::2], strict=False)  # an odd one has no end
        rows += [(machine, down, up) for down, up in ends]
        if len(moments) % 2:
            rows.append((machine, moments[-1], None))
    return make_trace(draw(st.permutations(rows)), machines, draw(st.sampled_from([1000, None])))


@pytest.fixture(scope="module", params=["lanl-2", "real"])
def cluster(request: pytest.FixtureRequest) -> Trace:
    """System 2 of LANL, generated after its profile, and as recorded in 2001 and 2002."""
    if request.param == "lanl-2":
        return generate("lanl-2", jobs=60, seed=1)
    days = datetime.date(2001, 1, 1), datetime.date(2002, 12, 31)
    return read_lanl(real("lanl"), system=2, since=days[0], until=days[1])


class TestTheWorkedExample:
    """FLAW, Figs. 4, 5 and 8: nodes 0 to 2, one unit a millisecond."""

    TRACE = make_trace([(0, 15, 20), (1, 60, 65), (2, 5, 10)])
    FORECAST = NodeForecast.of(TRACE, [2, 0, 2], [90, 18, 8])

    def test_its_aoa_is_a_half(self) -> None:
        assert aoa(self.FORECAST.columns(), outages_of(self.TRACE)) == 0.5

    def test_answers_and_their_accuracy(self) -> None:
        rows = [  # event, job, machine, duration there with transfers, asked
            (0, 0, 0, 25, 1),
            (0, 0, 1, 40, 1),
            (0, 0, 2, 45, 0),
            (40, 3, 1, 35, 1),
            (40, 3, 2, 55, 0),
            (40, 3, 0, 60, 0),
            (40, 1, 0, 40, 1),
            (40, 1, 2, 50, 0),  # until 90, the last moment that counts
            (40, 2, 2, 35, 1),
            (65, 3, 1, 35, 1),
            (100, 4, 0, 50, 1),
            (100, 4, 1, 60, 0),
            (100, 4, 2, 65, 0),
        ]
        event, job, machine, duration, asked = np.array(rows).T
        log = {"event": event, "job": job, "machine": machine, "asked": asked}
        log["answered"] = self.FORECAST.answers(machine, event, duration)
        log["fails"] = NodeForecast.exact(self.TRACE).answers(machine, event, duration)
        assert count_answers(log, "asked") == (7, 1)
        assert count_answers(log, "per_event_resource") == (10, 1)
        assert count_answers(log, "every_job_resource") == (13, 3)
        assert aaa(log) == 0.9
        assert np.flatnonzero(log["answered"] != log["fails"]).tolist() == [3, 4, 7]

    def test_a_false_positive_can_give_the_right_answer(self) -> None:
        trace = make_trace([(0, 100, 120)])
        forecast = NodeForecast.of(trace, [0], [130])
        assert aoa(forecast.columns(), outages_of(trace)) == 0
        assert forecast.fails(0, 0, 140)
        assert NodeForecast.exact(trace).fails(0, 0, 140)


class TestNodeForecast:
    def test_its_arrays(self) -> None:
        forecast = NodeForecast.of(make_trace([]), [2, 0, 2], [90, 18, 8])
        assert forecast.offset.tolist() == [0, 1, 1, 3]
        assert forecast.time.tolist() == [18, 8, 90]
        assert forecast.machine.tolist() == [0, 2, 2]
        assert forecast.offset.dtype == forecast.time.dtype == np.int64

    def test_a_query_is_open_on_the_left_and_closed_on_the_right(self) -> None:
        forecast = NodeForecast.of(make_trace([]), [1], [50])
        assert [forecast.fails(1, at, 10) for at in (39, 40, 49, 50)] == [False, True, True, False]
        assert not forecast.fails(1, 49, 0)
        assert not forecast.fails(0, 40, 10)
        forever = np.iinfo(np.int64).max
        assert forecast.answers([0, 1, 1], [0, 49, 50], forever).tolist() == [False, True, False]

    def test_it_predicts_nothing(self) -> None:
        trace = make_trace([(0, 100, 120)])
        assert not NodeForecast.none(trace).answers([[0], [1]], [0, 50], 1000).any()
        assert aoa(NodeForecast.none(trace).columns(), outages_of(trace)) == 0

    def test_it_speaks_of_its_trace_only(self) -> None:
        trace, other = make_trace([(0, 100, 120)]), make_trace([(0, 100, 121)])
        forecast = NodeForecast.exact(trace)
        assert forecast.check(trace) is forecast
        with pytest.raises(ValueError, match="forecast of another trace: made for"):
            forecast.check(other)

    @pytest.mark.parametrize("machine", [-1, 3])
    def test_a_machine_that_is_not_there(self, machine: int) -> None:
        trace = make_trace([])
        expected = f"machine: expected a row from 0 to 2, got {machine}"
        with pytest.raises(ValueError, match=expected):
            NodeForecast.of(trace, [0, machine], [1, 2])
        with pytest.raises(ValueError, match=expected):
            NodeForecast.none(trace).fails(machine, 0, 1)
        with pytest.raises(ValueError, match=expected):
            NodeForecast.none(trace).answers([0, machine], 0, 1)

    @given(
        st.lists(st.tuples(st.integers(0, 2), st.integers(0, 60)), max_size=12),
        st.lists(st.tuples(st.integers(0, 2), *[st.integers(0, 60)] * 2), max_size=12),
    )
    def test_answers_are_those_of_an_obvious_search(
        self, predicted: list[tuple[int, int]], queries: list[tuple[int, int, int]]
    ) -> None:
        trace = make_trace([])
        machine, time = np.array(predicted, dtype=np.int64).reshape(-1, 2).T
        forecast = NodeForecast.of(trace, machine, time)
        expected = [
            any(where == on and at < when <= at + within for where, when in predicted)
            for on, at, within in queries
        ]
        assert [forecast.fails(*query) for query in queries] == expected
        columns = np.array(queries, dtype=np.int64).reshape(-1, 3).T
        assert forecast.answers(*columns).tolist() == expected


class TestCalibratedNodes:
    def test_it_has_nothing_to_learn(self) -> None:
        predictor = CalibratedNodes()
        assert predictor.fit(make_trace([])) is predictor

    @given(traces(), SHARES, SHARES, st.integers(0, 5))
    def test_the_stated_accuracy_within_rounding(
        self, trace: Trace, accuracy: float, share: float, seed: int
    ) -> None:
        assume(accuracy > 0 or share < 1)
        predictor = CalibratedNodes(accuracy, share, seed=seed)
        failures = len(distinct_failures(outages_of(trace)).down)
        hits, false_positives = predictor.quotas(failures)
        detection = node_detection(predictor.predict(trace).columns(), outages_of(trace))
        assert detection == (hits, failures - hits, false_positives)
        if failures:
            assert abs(detection.aoa - accuracy) * (failures + false_positives) <= 1 + 1e-9
            assert detection.aoa == accuracy or accuracy not in (0, 1)
        wanted = share * (detection.false_negatives + false_positives)
        assert abs(false_positives - wanted) <= 0.5 + 1e-9

    @pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 1.0])
    def test_a_cluster(self, cluster: Trace, share: float) -> None:
        outages = outages_of(cluster)
        failures = len(distinct_failures(outages).down)
        for accuracy in (0.1, *ACCURACIES):
            predictor = CalibratedNodes(accuracy, share, clear=60 * MINUTE)
            detection = node_detection(predictor.predict(cluster).columns(), outages)
            assert detection.aoa == pytest.approx(accuracy, abs=1 / failures)
            errors = detection.false_negatives + detection.false_positives
            assert detection.false_positives / errors == pytest.approx(share, abs=1 / errors)
        perfect = CalibratedNodes(1.0, share).predict(cluster)
        assert aoa(perfect.columns(), outages) == 1

    def test_forecasts_of_one_seed_nest(self, cluster: Trace) -> None:
        failures = distinct_failures(outages_of(cluster))
        exact = CalibratedNodes(1.0, spread=0.0).predict(cluster)
        downs = set(zip(failures.machine.tolist(), failures.down.tolist(), strict=True))
        assert pairs(exact) == pairs(NodeForecast.exact(cluster)) == downs
        hits: set[tuple[int, int]] = set()
        others: set[tuple[int, int]] | None = None
        for accuracy in (0.0, 0.3, *ACCURACIES, 1.0):
            predicted = pairs(CalibratedNodes(accuracy, spread=0.0).predict(cluster))
            assert hits <= predicted & downs
            assert others is None or predicted - downs <= others
            hits, others = predicted & downs, predicted - downs
        low = pairs(CalibratedNodes(0.6, 0.2).predict(cluster))
        high = pairs(CalibratedNodes(0.6, 0.7).predict(cluster))
        assert len(low & high) == sum(CalibratedNodes(0.6, 0.2).quotas(len(downs)))

    def test_one_seed_one_forecast(self, cluster: Trace) -> None:
        one, same, other = (CalibratedNodes(seed=seed).predict(cluster) for seed in (1, 1, 2))
        assert one.check(cluster).time.tolist() == same.time.tolist()
        assert pairs(one) != pairs(other)

    def test_hits_are_spread_over_the_downtime(self) -> None:
        rows: list[tuple[int, int, int | None]] = [
            (0, i * 1000, i * 1000 + 400) for i in range(2000)
        ]
        trace = make_trace(rows, end=2_000_000)
        for spread in (1.0, 0.25):
            late = CalibratedNodes(1.0, spread=spread).predict(trace).time % 1000
            assert 0 <= late.min() <= late.max() < 400 * spread
            assert late.mean() == pytest.approx(200 * spread, rel=0.03)

    def test_false_positives_are_uniform_while_machines_are_up_and_clear(self) -> None:
        trace = make_trace([(0, 0, 300), (1, 400, 700), (1, 800, None)], machines=3)
        predictor = CalibratedNodes(0.0, 0.999, clear=100)
        forecast = predictor.predict(trace)
        assert len(forecast.time) == predictor.quotas(3)[1] == 2997
        spells = {(0, 300): 700, (1, 0): 300, (2, 0): 1000}  # machine and begin -> length
        for (machine, begin), length in spells.items():
            times = forecast.time[forecast.machine == machine]
            assert begin <= times.min() <= times.max() < begin + length
            assert len(times) == pytest.approx(2997 * length / 2000, abs=90)

    def test_a_machine_that_is_not_back(self) -> None:
        trace = make_trace([(0, 900, None)])
        for seed in range(20):
            (time,) = CalibratedNodes(1.0, seed=seed).predict(trace).time
            assert 900 <= time < 1000
        (time,) = CalibratedNodes(1.0).predict(make_trace([(0, 900, None)], end=None)).time
        assert time == 900

    def test_queries_are_answered_better_the_higher_the_accuracy(self, cluster: Trace) -> None:
        """Jobs of 10 to 200 units anywhere in the up time, as FLAW's scheduler might ask."""
        ups = CalibratedNodes(0.0, 0.9, seed=9).predict(cluster)
        within = UNIT * np.random.default_rng(0).integers(10, 200, len(ups.time))
        truth = NodeForecast.exact(cluster).answers(ups.machine, ups.time, within)
        right: list[float] = []
        for accuracy in (*ACCURACIES, 1.0):
            forecast = CalibratedNodes(accuracy).predict(cluster)
            right.append(float((forecast.answers(ups.machine, ups.time, within) == truth).mean()))
        assert right == sorted(right)
        assert right[0] > 0.95
        assert right[-1] > 0.99

    def test_no_outages(self) -> None:
        assert len(CalibratedNodes().predict(make_trace([])).time) == 0
        assert len(CalibratedNodes().predict(make_trace([], machines=0)).time) == 0

    @pytest.mark.parametrize(
        ("fields", "message"),
        [
            ({"accuracy": 1.1}, "accuracy: expected a share"),
            ({"accuracy": float("nan")}, "accuracy: expected a share"),
            ({"false_positive_share": -0.1}, "false_positive_share: expected a share"),
            ({"spread": 2.0}, "spread: expected a share"),
            ({"clear": -1}, "clear: expected at least 0 ms"),
            ({"accuracy": 0.0, "false_positive_share": 1.0}, "expected less than 1 with"),
        ],
    )
    def test_what_cannot_be(self, fields: dict[str, Any], message: str) -> None:
        with pytest.raises(ValueError, match=message):
            CalibratedNodes(**fields)

    def test_what_a_trace_does_not_allow(self) -> None:
        overlapping = make_trace([(1, 10, 30), (1, 20, 40)])
        with pytest.raises(ValueError, match="outages of machine 1 overlap at 20 ms"):
            CalibratedNodes().predict(overlapping)
        down = make_trace([(0, 0, None)] * 2, machines=1)
        with pytest.raises(
            ValueError, match="false_positive_share: expected a time at which a machine is up"
        ):
            CalibratedNodes(0.1).predict(down)
        with pytest.raises(ValueError, match="more than 10000000 false positives"):
            CalibratedNodes(1e-300, 1.0).predict(down)
