"""What a scenario's forecast may be: names, predictors, files; of a split or of the whole trace."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Self, get_args

import numpy as np
import numpy.typing as npt
import pytest

from failgym.baselines import REGISTRY
from failgym.envs import Scenario, resolve
from failgym.evaluation import evaluate
from failgym.leaderboard.suite.suites import SUITES, Course
from failgym.predictors import (
    LEARNED,
    Calibrated,
    Forecast,
    NoForecast,
    Perfect,
    UserHistory,
    models,
    save_forecast,
    save_predictor,
)
from failgym.predictors.base import window_offsets
from failgym.traces import Trace, generate
from failgym.traces.split import jobs_of
from failgym.worlds.build import build_world, part_of, split_of
from failgym.worlds.cross_fitting import cross_fitted, learned_jobs
from failgym.worlds.forecast import (
    ALARMS,
    BY_JOB,
    DRAWN,
    PREDICTORS,
    forecast_of,
    makers,
    unattainable,
)
from failgym.worlds.scenario import Split
from failgym.worlds.source import whole_trace
from failgym.worlds.split import learned_from
from tests.envs.worlds import small
from tests.predictors.frequencies import Frequencies

SPLITS: tuple[Split, ...] = get_args(Split)
WORLDS = (
    "Cloning-v1",
    "GracePeriod-v1",
    "Checkpoint-v1",
    "Mitigation-v1",
    "Workflow-v1",
    "Lineage-v1",
)


def scenario(name: str, **fields: Any) -> Scenario:
    return resolve(name, {**small(f"failgym/{name}"), **fields})


STEP = 2.0**-24
"""Of the numbers of `_numbered`: all exact as float32, and probabilities."""


def _numbered(count: int) -> npt.NDArray[np.float32]:
    assert count < 1 / STEP
    return (np.arange(count) * STEP).astype(np.float32)


def numbered(trace: Trace, window: int) -> Forecast:
    """A forecast whose every number says which row, and which window of it, it belongs to."""
    offset = window_offsets(trace, window)
    jobs, tasks = trace.rows("jobs"), trace.rows("tasks")
    return Forecast(
        trace_hash=trace.content_hash,
        window=window,
        offset=offset,
        risk=_numbered(int(offset[-1])),
        confidence=_numbered(4 * tasks).reshape(tasks, 4),
        job_confidence=_numbered(jobs),
    )


def names(trace: Trace) -> tuple[list[Any], list[Any], list[Any]]:
    """What identifies jobs, tasks and attempts, whatever their row; attempts by their start."""
    jobs = trace.column("jobs", "original_id").tolist()
    indices = trace.column("tasks", "index").tolist()
    tasks = [(jobs[j], i) for j, i in zip(trace.column("tasks", "job"), indices, strict=True)]
    starts = trace.column("attempts", "start", missing=-1).tolist()
    of = trace.column("attempts", "task")
    return jobs, tasks, [(tasks[t], s) for t, s in zip(of, starts, strict=True)]


def asked(s: Scenario) -> Forecast:
    """The forecast that a world of the scenario is compiled with."""
    return forecast_of(s, part_of(s, s.split), part_of(s, learned_from(s.split)))


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("name", WORLDS)
def test_a_forecast_of_the_whole_trace_serves_every_split(name: str, split: Split) -> None:
    s = scenario(name, split=split)
    whole, trace = whole_trace(s), split_of(s, split)
    forecast = numbered(whole, s.window)
    got = asked(replace(s, forecast=forecast))
    assert got.trace_hash == trace.content_hash
    jobs, tasks, attempts = ({key: i for i, key in enumerate(kind)} for kind in names(whole))
    assert len(tasks) == whole.rows("tasks")
    for row, key in enumerate(names(trace)[0]):
        assert got.job_confidence[row] == jobs[key] * STEP
    for row, key in enumerate(names(trace)[1]):
        assert got.confidence[row].tolist() == forecast.confidence[tasks[key]].tolist()
    assert got.offset.tolist() == window_offsets(trace, s.window).tolist()
    for row, key in enumerate(names(trace)[2]):
        first, last = got.offset[row : row + 2]
        if last > first:
            begin = int(forecast.offset[attempts[key]])
            numbers = (got.risk[first:last] / STEP).tolist()
            assert numbers == list(range(begin, begin + last - first))


@pytest.mark.parametrize("name", ["GracePeriod-v1", "Mitigation-v1"])
def test_attempts_that_the_cut_ends_have_no_windows_after_it(name: str) -> None:
    s = scenario(name)
    whole, train = whole_trace(s), split_of(s, "train")
    got = asked(replace(s, forecast=numbered(whole, s.window)))
    at, ran = whole.boundary(s.boundary), np.diff(got.offset) > 0
    start = train.column("attempts", "start")[ran]
    assert ((start + (np.diff(got.offset)[ran] - 1) * s.window) < at).all()
    assert len(got.risk) < len(numbered(whole, s.window).risk)


def test_forecasts_of_a_whole_trace_that_say_nothing_serve_too() -> None:
    for split in SPLITS:
        s = scenario("GracePeriod-v1", split=split)
        got = asked(replace(s, forecast=NoForecast().predict(whole_trace(s))))
        assert not got.offset.any()
        assert len(got.offset) == split_of(s, split).rows("attempts") + 1


def test_a_forecast_of_a_split_serves_it_on_any_cluster() -> None:
    s = scenario("Mitigation-v1")
    part = part_of(s, "train").recorded
    assert part.content_hash != split_of(s, "train").content_hash
    forecast = numbered(part, s.window)
    got = asked(replace(s, forecast=forecast))
    assert np.array_equal(got.risk, forecast.risk)
    assert got.trace_hash == split_of(s, "train").content_hash


@pytest.mark.parametrize("name", ["Cloning-v1", "Mitigation-v1"])
def test_other_traces_are_refused_in_one_line(name: str) -> None:
    s = scenario(name, split="train")
    other = whole_trace(replace(s, trace_seed=9))
    wrong = [Perfect(window=s.window).predict(other)]
    part = part_of(replace(s, trace_seed=9), "train").recorded
    wrong.append(Perfect(window=s.window).predict(part))
    if name == "Cloning-v1":
        wrong.append(Perfect(window=s.window).predict(split_of(s, "test")))
    for forecast in wrong:
        with pytest.raises(ValueError, match="forecast of another trace: made for") as refused:
            build_world(replace(s, forecast=forecast))
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize("split", SPLITS)
def test_arrays_that_do_not_fit_are_refused(split: Split) -> None:
    s = scenario("GracePeriod-v1", split=split)
    good = numbered(whole_trace(s), s.window)
    for changed in ({"risk": good.risk[:-1]}, {"confidence": good.confidence[:-1]}):
        with pytest.raises(ValueError, match=r"^forecast: "):
            build_world(replace(s, forecast=replace(good, **changed)))


class TestFiles:
    @pytest.mark.parametrize("name", ["Cloning-v1", "Mitigation-v1"])
    def test_one_file_serves_train_and_test(self, name: str, tmp_path: Path) -> None:
        file = tmp_path / "whole.npz"
        s = scenario(name, forecast=str(file))
        forecast = Calibrated.kumar(window=s.window).predict(whole_trace(s))
        save_forecast(forecast, file)
        for split in SPLITS:
            world = build_world(replace(s, split=split))
            given = build_world(replace(s, split=split, forecast=forecast))
            assert world.tables.risk.tobytes() == given.tables.risk.tobytes()
            assert np.unique(world.tables.risk).size > 2

    def test_of_another_trace_names_the_file(self, tmp_path: Path) -> None:
        file = tmp_path / "other.npz"
        save_forecast(Perfect().predict(generate("google-2011", jobs=20, seed=5)), file)
        with pytest.raises(ValueError, match=r"^\S*other.npz: forecast of another trace"):
            build_world(scenario("Cloning-v1", forecast=str(file)))

    @pytest.mark.parametrize("content", [b"", b"text"])
    def test_neither_forecast_nor_predictor(self, content: bytes, tmp_path: Path) -> None:
        file = tmp_path / "odd.npz"
        file.write_bytes(content)
        with pytest.raises(ValueError, match=r"odd.npz: not readable as a saved forecast"):
            build_world(scenario("Cloning-v1", forecast=str(file)))

    def test_a_predictor_of_something_else(self, tmp_path: Path) -> None:
        file = tmp_path / "history.npz"
        save_predictor(UserHistory().fit(generate("system-a", jobs=300, seed=2)), file)
        reason = r"history.npz: holds user_history, which forecasts no failures"
        with pytest.raises(ValueError, match=reason):
            build_world(scenario("Cloning-v1", forecast=str(file)))

    def test_no_file(self) -> None:
        known = ", ".join(PREDICTORS)
        with pytest.raises(ValueError, match=f"expected one of {known} or a file, got 'oracle'"):
            build_world(scenario("Cloning-v1", forecast="oracle"))


class Counting(Frequencies):
    """Counts how often it learns."""

    def fit(self, trace: Trace) -> Self:
        COUNTED.append(trace.content_hash)
        return super().fit(trace)


COUNTED: list[str] = []


class OfOnesOwn:
    """Says what `Frequencies` says, and is no `Learned`."""

    def __init__(self) -> None:
        self.inner = Frequencies()

    def fit(self, trace: Trace) -> Self:
        self.inner = Frequencies().fit(trace)
        return self

    def predict(self, trace: Trace) -> Forecast:
        return self.inner.predict(trace)


def without_blocks(trace: Trace) -> list[Any]:
    """The jobs that are left without the first, the second and the last third of them, in turn."""
    rank = np.argsort(np.argsort(trace.column("jobs", "submit"), kind="stable"), kind="stable")
    jobs = trace.rows("jobs")
    sizes = [jobs // 3 + (i < jobs % 3) for i in range(3)]
    begins = np.cumsum([0, *sizes])
    return [(rank < begin) | (rank >= end) for begin, end in pairwise(begins)]


class TestPredictorsThatLearn:
    @pytest.fixture(autouse=True)
    def small_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """`Frequencies` can be stored."""
        kind = models._Kind("tests.predictors.frequencies", "Frequencies")
        monkeypatch.setitem(models._FORECASTING, "frequencies", kind)

    def test_learn_once_for_all_splits_and_rules(self) -> None:
        COUNTED.clear()
        predictor = Counting()
        for name in ("GracePeriod-v1", "Mitigation-v1"):
            for split in SPLITS:
                for price in (1.0, 2.0):
                    build_world(
                        scenario(name, split=split, forecast=predictor, weight_wasted=price)
                    )
        hashes: list[str] = []
        for name in ("GracePeriod-v1", "Mitigation-v1"):
            for split in ("train", "fit"):
                learned = split_of(scenario(name), split)
                hashes.append(learned.content_hash)
                blocks = [jobs_of(learned, rest).content_hash for rest in without_blocks(learned)]
                hashes += blocks
        assert sorted(COUNTED) == sorted(hashes)

    @pytest.mark.parametrize("name", ["GracePeriod-v1", "Mitigation-v1"])
    @pytest.mark.parametrize("split", ["fit", "train"])
    def test_say_nothing_of_a_job_that_they_have_learned_from(self, name: str, split: Any) -> None:
        """Each block of jobs hears what was learned from the other two."""
        s = scenario(name, split=split, forecast=Frequencies())
        said, trace = asked(s), split_of(s, split)
        job = trace.column("tasks", "job")
        attempt_job = job[trace.column("attempts", "task")]
        window_job = np.repeat(attempt_job, np.diff(said.offset))
        for rest in without_blocks(trace):
            expected = Frequencies().fit(jobs_of(trace, rest)).predict(trace)
            own = ~rest
            for got, wanted, mine in (
                (said.risk, expected.risk, own[window_job]),
                (said.confidence, expected.confidence, own[job]),
                (said.job_confidence, expected.job_confidence, own),
            ):
                assert mine.any()
                np.testing.assert_array_equal(got[mine], wanted[mine])

    def test_say_nothing_of_a_block_without_which_nothing_is_to_be_learned(self) -> None:
        s = scenario("GracePeriod-v1", split="train", forecast=Frequencies())
        trace, told = split_of(s, "train"), asked(s)
        first, second, third = without_blocks(trace)

        def only_of_the_last(learned: Trace, _: npt.NDArray[np.bool_]) -> Forecast:
            if learned.rows("jobs") == third.sum() and (
                learned.content_hash == jobs_of(trace, third).content_hash
            ):
                raise ValueError("nothing to learn from")
            return Frequencies().fit(learned).predict(trace)

        part = part_of(s, "train")
        said = cross_fitted(only_of_the_last, part, part, learned_jobs(part, part))
        job = trace.column("tasks", "job")
        assert not said.confidence[~third[job]].any()
        assert not said.job_confidence[~third].any()
        np.testing.assert_array_equal(said.confidence[third[job]], told.confidence[third[job]])
        assert (~first).any()
        assert (~second).any()

        def never(learned: Trace, _: npt.NDArray[np.bool_]) -> Forecast:
            raise ValueError("nothing to learn from")

        with pytest.raises(ValueError, match="nothing to learn from"):
            cross_fitted(never, part, part, learned_jobs(part, part))

    def test_of_ones_own_are_cross_fitted_too(self) -> None:
        """An object with `fit` and `predict` that failgym knows nothing of."""
        s = scenario("GracePeriod-v1", split="train", forecast=OfOnesOwn())
        whole = OfOnesOwn().fit(split_of(s, "train")).predict(split_of(s, "train"))
        said = asked(s)
        known = asked(replace(s, forecast=Frequencies()))
        np.testing.assert_array_equal(said.confidence, known.confidence)
        assert not np.array_equal(said.confidence, whole.confidence)

    def test_whether_somebody_has_fitted_a_named_one_is_nothing_to_go_by(self) -> None:
        pytest.importorskip("xgboost")
        s = scenario("GracePeriod-v1", split="train", forecast="trained", jobs=400)
        before = asked(s)
        PREDICTORS["trained"](s).fit(split_of(s, "train"))
        np.testing.assert_array_equal(asked(replace(s, seed=s.seed)).confidence, before.confidence)

    @pytest.mark.parametrize("split", ["validation", "test"])
    def test_learn_from_all_earlier_jobs_where_none_is_spoken_of(self, split: Any) -> None:
        s = scenario("GracePeriod-v1", split=split, forecast=Frequencies())
        known = split_of(s, "fit" if split == "validation" else "train")
        said, expected = asked(s), Frequencies().fit(known).predict(split_of(s, split))
        for name in ("risk", "confidence", "job_confidence"):
            np.testing.assert_array_equal(getattr(said, name), getattr(expected, name))

    def test_learn_anew_with_other_hyper_parameters(self) -> None:
        predictor, risks = Frequencies(), list[bytes]()
        for prior in (1.0, 9.0, 1.0):
            predictor.prior = prior
            risks.append(
                build_world(scenario("GracePeriod-v1", forecast=predictor)).tables.risk.tobytes()
            )
        assert risks[0] == risks[2] != risks[1]

    def test_are_not_changed(self) -> None:
        predictor = Frequencies()
        build_world(scenario("GracePeriod-v1", forecast=predictor))
        with pytest.raises(ValueError, match="fit it first"):
            predictor.arrays()

    def test_learn_from_the_train_split(self) -> None:
        s = scenario("GracePeriod-v1", split="test")
        given = Frequencies().fit(split_of(s, "train")).predict(split_of(s, "test"))
        first, second = (
            build_world(replace(s, forecast=one)).tables.risk for one in (Frequencies(), given)
        )
        assert first.tobytes() == second.tobytes()

    def test_that_have_learned_stay_as_they_are(self, tmp_path: Path) -> None:
        s = scenario("GracePeriod-v1", split="test")
        elsewhere = generate("google-2011-failing", jobs=60, seed=8)
        fitted = Frequencies(prior=3.0).fit(elsewhere)
        save_predictor(fitted, tmp_path / "stored.npz")
        expected = fitted.predict(split_of(s, "test")).risk
        for given in (fitted, str(tmp_path / "stored.npz")):
            risk = build_world(replace(s, forecast=given)).tables.risk[:-1]
            assert risk.tobytes() == expected.tobytes()

    def test_a_stored_one_that_is_replaced_is_noticed(self, tmp_path: Path) -> None:
        file, s = tmp_path / "stored.npz", scenario("GracePeriod-v1")
        risks: list[bytes] = []
        for prior in (1.0, 9.0):
            save_predictor(Frequencies(prior=prior).fit(split_of(s, "train")), file)
            risks.append(build_world(replace(s, forecast=str(file))).tables.risk.tobytes())
        assert risks[0] != risks[1]

    def test_other_windows_are_refused(self) -> None:
        with pytest.raises(ValueError, match="forecast: expected windows of 300000 ms, got 60000"):
            build_world(scenario("GracePeriod-v1", forecast=Frequencies(window=60_000)))

    def test_nothing_to_learn_from_is_one_line(self) -> None:
        with pytest.raises(ValueError, match="nothing to learn from") as refused:
            build_world(scenario("Workflow-v1", forecast=Frequencies()))
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", LEARNED)
@pytest.mark.parametrize("world", ["GracePeriod-v1", "Mitigation-v1"])
def test_learned_predictors_by_name(name: str, world: str) -> None:
    s = scenario(world, split="test", seed=3)
    kind: Any = LEARNED[name]
    expected = kind(window=s.window, seed=3).fit(split_of(s, "train")).predict(split_of(s, "test"))
    got = asked(replace(s, forecast=name))
    assert np.array_equal(got.risk, expected.risk)
    assert np.array_equal(got.confidence, expected.confidence)
    assert np.array_equal(got.job_confidence, expected.job_confidence)


class TestNamesThatTheDecisionsGiveAMeaning:
    @pytest.mark.parametrize("course", SUITES["v2"].courses, ids=lambda course: course.env)
    def test_trained_learns_what_suites_train(self, course: Course) -> None:
        wanted = course.trained
        if wanted is None:
            return
        made = PREDICTORS["trained"](course.scenario())
        assert made is PREDICTORS["trained"](course.scenario()), "so that splits learn it once"
        assert {name: getattr(made, name) for name in wanted} == wanted

    @pytest.mark.parametrize(
        ("name", "drawn"),
        [
            ("Cloning-v1", "elsayed_alarms"),
            ("GracePeriod-v1", "rosa_by_job"),
            ("Checkpoint-v1", "kumar_alarms"),
            ("Mitigation-v1", "elsayed_and_rosa"),
        ],
    )
    def test_auto_draws_on_a_generated_trace(self, name: str, drawn: str) -> None:
        made = PREDICTORS["auto"](scenario(name))
        others = [other for other in (*ALARMS, *BY_JOB) if other != drawn]
        assert made == PREDICTORS[drawn](scenario(name))
        assert all(made != PREDICTORS[other](scenario(name)) for other in others)
        of_kept = [makers(scenario(name, forecast=forecast)) for forecast in ("auto", drawn)]
        assert of_kept == [(DRAWN[drawn],)] * 2, "what is kept of a world goes by it"

    def test_auto_learns_on_a_record(self) -> None:
        record = generate("google-2011-failing", jobs=300, seed=5)
        for name, target in (("Cloning-v1", "fail"), ("GracePeriod-v1", "unfinished")):
            wanted = scenario(name, trace=record)
            made = PREDICTORS["auto"](wanted)
            assert made.target == target  # pyright: ignore[reportAttributeAccessIssue]
            both = [build_world(replace(wanted, forecast=f)) for f in ("auto", "trained")]
            assert (both[0].tasks == both[1].tasks).all()

    def test_nobody_has_a_forecast_that_is_drawn_from_a_record(self) -> None:
        record = generate("google-2011-failing", jobs=300, seed=5)
        for forecast in ("elsayed", "rosa_by_job", "perfect", Calibrated(), Perfect()):
            on_record = scenario("Cloning-v1", trace=record, forecast=forecast)
            assert "which nobody knows beforehand" in (unattainable(on_record) or "")
            assert unattainable(scenario("Cloning-v1", forecast=forecast)) is None
        for forecast in ("none", "auto", "trained", "random_forest", NoForecast()):
            assert unattainable(scenario("Cloning-v1", trace=record, forecast=forecast)) is None
        on_record = scenario("Cloning-v1", trace=record, forecast="elsayed")
        found = evaluate(REGISTRY["give_up"](), on_record, episodes=2, split="all")
        assert (found.forecast_note or "").startswith("forecast elsayed: drawn from how")
        assert found.to_json()["forecast_note"] == found.forecast_note
