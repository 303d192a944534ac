"""The rules that checkpoint, one by one: on observations made by hand, and what each promises."""

from __future__ import annotations

import math
from collections.abc import Callable
from math import gamma, inf
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pytest

from failgym import metrics
from failgym.baselines import (
    BeforeWalltime,
    Daly,
    ExpectedLoss,
    Heuristic,
    Introspective,
    Lazy,
    MLPeriodic,
    PredictionAware,
    Replay,
    Young,
)
from failgym.baselines.daly import daly_over_young
from failgym.evaluation import run_policy
from failgym.sim.pinned.compile import compile_world, with_slices
from failgym.sim.shared.context import (
    AGE_BUCKETS,
    CLASSES,
    SYSTEM_FIELDS,
    Context,
    interruption_rates,
)
from failgym.sim.shared.fields import FIELDS, INDEX
from failgym.sim.shared.forecast import Forecast
from failgym.sim.shared.rules import Rules
from failgym.traces import Cause, Meta, Outcome, Trace
from failgym.vocabulary import MINUTE, SECOND, Action
from failgym.worlds.pinned.world import PinnedWorld
from tests.chains import single_jobs

CONTINUE, CHECKPOINT = int(Action.CONTINUE), int(Action.CHECKPOINT)
HOUR = 60 * MINUTE
CHECKPOINTING = [
    Daly(),
    PredictionAware(),
    Lazy(),
    ExpectedLoss(),
    BeforeWalltime(),
    Introspective(),
]


def observe(count: int = 1, kind: str = "window", **fields: Any) -> npt.NDArray[np.float32]:
    """Decisions at which a checkpoint is legal; times in minutes."""
    observation = np.zeros((count, len(FIELDS)), dtype=np.float32)
    for name, value in fields.items():
        scaled = FIELDS[INDEX[name]].unit == "log2 min"
        observation[:, INDEX[name]] = np.log2(1 + np.asarray(value)) if scaled else value
    for name in (kind, "may_continue", "may_checkpoint"):
        observation[:, INDEX[name]] = 1
    return observation


def act(policy: Heuristic, **fields: Any) -> int:
    actions, _ = policy.predict(observe(**fields))
    return int(np.atleast_1d(actions)[0])


def waste(trace: Trace, policy: Heuristic, **rules: Any) -> float:
    """Wasted work and checkpoints of a policy over a trace, a share of the useful work."""
    given = Rules(checkpoint=True, **rules)
    rows = (trace.rows("jobs"), trace.rows("tasks"), trace.rows("attempts"))
    context = Context(
        expectations=np.zeros((CLASSES, AGE_BUCKETS, 3)),
        system=np.zeros((1, SYSTEM_FIELDS), dtype=np.float32),
        forecast=Forecast.none(trace.content_hash, *rows, given.window),
        interruptions=interruption_rates(trace),
    )
    tasks = np.arange(trace.rows("tasks"))
    world = PinnedWorld(with_slices(compile_world(trace, given, context), tasks, 8))
    table = run_policy(world, given, policy, lanes=64).outcomes
    assert (table["outcome"] == Outcome.FINISH).all()
    return (metrics.wasted_work(table) + metrics.checkpoint_work(table)) / table["useful"].sum()


def struck(tasks: int, length: int, draw: Callable[[], float]) -> Trace:
    """Tasks of one length that a machine strikes again and again until they finish."""
    columns = ("task", "start", "end", "outcome", "cause", "length")
    attempts: dict[str, list[Any]] = {name: [] for name in columns}
    for task in range(tasks):
        now, kind = 0, (Outcome.EVICT, Cause.MACHINE)
        while kind[0] != Outcome.FINISH:
            run = int(draw())
            if run >= length:
                run, kind = length, (Outcome.FINISH, None)
            for name, value in zip(columns, (task, now, now + run, *kind, length), strict=True):
                attempts[name].append(value)
            now += run
    return single_jobs(attempts, tasks)


@pytest.mark.parametrize("policy", CHECKPOINTING, ids=lambda p: p.name)
def test_attempts_are_saved_at_windows_only(policy: Heuristic) -> None:
    fields = {
        "unsaved": 500.0,
        "age": 500.0,
        "checkpoint_cost": 1.0,
        "mtbf": 100.0,
        "unsaved_over_young": 9.0,
        "unsaved_over_lazy": 9.0,
        "risk": 1.0,
        "risk_over_cost": 9.0,
    }
    assert act(policy, **fields) == CHECKPOINT
    assert act(policy, kind="failed", **fields) == CONTINUE


class TestDaly:
    TIMES: ClassVar = {"checkpoint_cost": 1.0, "mtbf": 1e4 / 60}

    def test_the_interval_is_1056_seconds_at_a_minute_and_ten_thousand_seconds(self) -> None:
        young = metrics.young_interval(60, 1e4)
        assert act(Daly(), unsaved_over_young=1055.7 / young, **self.TIMES) == CONTINUE
        assert act(Daly(), unsaved_over_young=1055.9 / young, **self.TIMES) == CHECKPOINT
        twice = Daly(factor=2.0)
        assert act(twice, unsaved_over_young=2111.5 / young, **self.TIMES) == CONTINUE
        assert act(twice, unsaved_over_young=2111.8 / young, **self.TIMES) == CHECKPOINT

    def test_it_is_the_formula_at_any_cost(self) -> None:
        cost = np.geomspace(1e-3, 1e4, 60)
        mtbf = np.full(60, 100.0)
        expected = [
            metrics.daly_interval(c, 100.0) / metrics.young_interval(c, 100.0) for c in cost
        ]
        assert daly_over_young(cost, mtbf) == pytest.approx(expected, rel=1e-12)

    def test_where_checkpoints_are_long_it_wastes_less_than_young(self) -> None:
        rng = np.random.default_rng(1)
        trace = struck(150, 8 * HOUR, lambda: rng.exponential(10_000 * SECOND))
        rules = {
            "window": MINUTE,
            "checkpoint_cost": 2_000 * SECOND,
            "restore_cost": 0,
            "mtbf": 10_000 * SECOND,
        }
        daly, young = (waste(trace, policy, **rules) for policy in (Daly(), Young()))
        assert daly < 0.98 * young


class TestPredictionAware:
    POLICY = PredictionAware(threshold=0.5, recall=0.75, precision=0.25, window=0.0)
    CALM: ClassVar = {"checkpoint_cost": 1.0, "risk": 0.1, "unsaved": 500.0}
    ALARM: ClassVar = {"checkpoint_cost": 1.0, "risk": 0.9, "risk_change": 0.8}

    def test_the_period_is_that_of_the_failures_that_are_not_predicted(self) -> None:
        assert act(self.POLICY, unsaved_over_young=1.99, **self.CALM) == CONTINUE
        assert act(self.POLICY, unsaved_over_young=2.0, **self.CALM) == CHECKPOINT

    def test_a_prediction_is_trusted_where_enough_is_at_stake(self) -> None:
        assert act(self.POLICY, unsaved=3.9, **self.ALARM) == CONTINUE
        assert act(self.POLICY, unsaved=4.1, **self.ALARM) == CHECKPOINT
        assert act(PredictionAware(threshold=0.95), unsaved=500.0, **self.ALARM) == CONTINUE

    def test_every_prediction_may_be_trusted(self) -> None:
        trusting = PredictionAware(0.5, 0.75, 0.25, window=0.0, trust_all=True)
        assert act(trusting, unsaved=0.2, **self.ALARM) == CHECKPOINT
        assert act(trusting, unsaved=0.2, **self.ALARM | {"risk": 0.4}) == CONTINUE

    def test_a_prediction_is_answered_once(self) -> None:
        standing = {**self.ALARM, "risk_change": 0.0, "flagged_before": 0.9, "age": 600.0}
        assert act(self.POLICY, unsaved=300.0, **standing) == CONTINUE

    def test_within_a_window_of_prediction_it_is_answered_periodically(self) -> None:
        """sqrt(2 C ((1 - p) I + p I/2) / p) = sqrt(2 x 35 / .25) min at p = .25 and I = 40 min."""
        windowed = PredictionAware(threshold=0.5, recall=0.75, precision=0.25, window=40.0)
        standing = {**self.ALARM, "risk_change": 0.0, "flagged_before": 0.9, "age": 600.0}
        assert act(windowed, unsaved=280**0.5 - 0.01, **standing) == CONTINUE
        assert act(windowed, unsaved=280**0.5 + 0.01, **standing) == CHECKPOINT

    @pytest.mark.parametrize(("recall", "precision"), [(0.76, 0.26), (0.95, 0.11), (0.9, 0.9)])
    def test_in_the_papers_model_it_wastes_less_than_ml_with_youngs_period(
        self, recall: float, precision: float
    ) -> None:
        """Exact predictions of exponential failures, C = 60 s, MTBF 10,000 s: by 20 to 40 %."""
        aware = PredictionAware(threshold=0.5, recall=recall, precision=precision, window=0.0)
        ours = predicted_waste(aware, recall, precision)
        theirs = predicted_waste(MLPeriodic(threshold=0.5), recall, precision)
        assert ours < 0.85 * theirs

    @pytest.mark.parametrize(
        "wrong", [{"recall": 1.0}, {"precision": 0.0}, {"threshold": 2.0}, {"window": -1.0}]
    )
    def test_bad_parameters_are_named(self, wrong: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match=f"{next(iter(wrong))}: expected"):
            PredictionAware(**wrong)


def predicted_waste(policy: Heuristic, recall: float, precision: float) -> float:
    """Share of time that a policy wastes in the model of Aupy et al. (JPDC 2014, section 2).

    Attempts that never finish are struck at random; a failure is predicted with a chance of
    ``recall``, a checkpoint's time ahead, and false predictions come so often that a share
    ``precision`` of all is true. Time goes in steps of 20 s, a checkpoint takes 3 of them.
    """
    rng, lanes, steps, cost, step = np.random.default_rng(0), 1_000, 2_000, 3, 20.0
    mean = 10_000.0 / step
    young = metrics.young_interval(60.0, 10_000.0) / step
    false = recall * (1.0 - precision) / precision / mean
    left = rng.geometric(1.0 / mean, lanes)
    known = rng.random(lanes) < recall
    unsaved, age, saving = (np.zeros(lanes, dtype=np.int64) for _ in range(3))
    useful = 0
    for _ in range(steps):
        alarm = (known & (left == cost)) | (rng.random(lanes) < false)
        observation = observe(
            lanes,
            age=age * step / 60,
            unsaved=unsaved * step / 60,
            unsaved_over_young=unsaved / young,
            checkpoint_cost=1.0,
            risk=alarm,
            risk_change=alarm,
        )
        wanted = policy.predict(observation)[0]
        saving[(saving == 0) & (wanted == CHECKPOINT)] = cost
        working = saving == 0
        unsaved += working
        useful += int(working.sum())
        saving -= ~working
        unsaved[~working & (saving == 0)] = 0
        age += 1
        left -= 1
        struck = left == 0
        useful -= int(unsaved[struck].sum())
        unsaved[struck] = saving[struck] = age[struck] = 0
        left[struck] = rng.geometric(1.0 / mean, int(struck.sum()))
        known[struck] = rng.random(int(struck.sum())) < recall
    return 1.0 - useful / (lanes * steps)


class TestOwnClock:
    """Young's interval of 1095 s and a checkpoint of 60 s: strokes every 1155 s = 19.25 min."""

    TIMES: ClassVar = {"checkpoint_cost": 1.0, "mtbf": 1e4 / 60, "unsaved_over_young": 0.0}
    POLICY = MLPeriodic(own_clock=True)

    @pytest.mark.parametrize(
        ("age", "unsaved", "wanted"),
        [
            (19.2, 19.2, CONTINUE),
            (19.3, 19.3, CHECKPOINT),
            (38.4, 18.0, CONTINUE),  # saved at 20.4, after the first stroke
            (38.6, 18.2, CHECKPOINT),
            (38.6, 2.0, CHECKPOINT),  # a checkpoint at 36.6 changes nothing
            (45.0, 6.0, CONTINUE),  # one that was durable at 39 serves for the stroke at 38.5
            (45.0, 7.0, CHECKPOINT),
        ],
    )
    def test_it_strikes_whatever_else_was_saved(
        self, age: float, unsaved: float, wanted: int
    ) -> None:
        assert act(self.POLICY, age=age, unsaved=unsaved, **self.TIMES) == wanted

    def test_the_prediction_aware_one_goes_by_its_longer_period(self) -> None:
        policy = PredictionAware(0.5, recall=0.75, precision=0.25, own_clock=True)
        beat = (2 * 1095.445 + 60) / 60
        for age, wanted in ((beat - 0.01, CONTINUE), (beat + 0.01, CHECKPOINT)):
            assert act(policy, age=age, unsaved=1.0, **self.TIMES) == wanted

    def test_without_costs_or_a_known_mtbf_there_is_no_clock(self) -> None:
        nothing = {"checkpoint_cost": 0.0, "mtbf": 0.0}
        assert act(self.POLICY, age=500.0, unsaved=500.0, **nothing) == CONTINUE

    def test_predictions_are_answered_as_ever(self) -> None:
        alarm = {"risk": 0.9, "risk_change": 0.9}
        assert act(self.POLICY, age=5.0, unsaved=5.0, **self.TIMES, **alarm) == CHECKPOINT


class TestLazy:
    def test_the_ratio_of_the_observation_decides(self) -> None:
        assert act(Lazy(), unsaved_over_lazy=0.99, unsaved_over_young=9.0) == CONTINUE
        assert act(Lazy(), unsaved_over_lazy=1.0) == CHECKPOINT
        assert act(Lazy(factor=2.0), unsaved_over_lazy=1.99) == CONTINUE

    @pytest.mark.parametrize(("shape", "gain"), [(0.4, 0.98), (1.0, 1.02)])
    def test_it_wastes_less_than_young_where_failures_come_early(
        self, shape: float, gain: float
    ) -> None:
        """With exponential failures, shape 1, there is nothing to be gained by it."""
        rng = np.random.default_rng(2)
        scale = 10_000 * SECOND / gamma(1.0 + 1.0 / shape)
        trace = struck(300, 10 * HOUR, lambda: scale * rng.weibull(shape))
        rules = {
            "window": MINUTE,
            "checkpoint_cost": MINUTE,
            "restore_cost": 0,
            "mtbf": 10_000 * SECOND,
        }
        lazy, young = (waste(trace, policy, **rules) for policy in (Lazy(), Young()))
        assert lazy < gain * young


class TestExpectedLoss:
    def test_the_ratio_of_the_observation_decides(self) -> None:
        assert act(ExpectedLoss(), risk_over_cost=0.99, unsaved_over_young=9.0) == CONTINUE
        assert act(ExpectedLoss(), risk_over_cost=1.0) == CHECKPOINT
        assert act(ExpectedLoss(factor=3.0), risk_over_cost=2.99) == CONTINUE


class TestBeforeWalltime:
    ALONE = BeforeWalltime(periodic=False)

    @staticmethod
    def at(left: float, **fields: float) -> dict[str, float]:
        """So many minutes before a walltime of four hours."""
        return {
            "age": 240 - left,
            "walltime_left": left / 240,
            "unsaved": 100.0,
            "checkpoint_cost": 1.0,
            **fields,
        }

    def test_it_saves_at_the_last_decision_that_is_early_enough(self) -> None:
        wanted = {left: act(self.ALONE, **self.at(left)) for left in (4, 3, 2.01, 2, 1.5, 1, 0.5)}
        assert [left for left, action in wanted.items() if action == CHECKPOINT] == [2.01, 2, 1.5]

    def test_it_saves_nothing_that_is_worth_less_than_the_checkpoint(self) -> None:
        assert act(self.ALONE, **self.at(2, unsaved=0.9)) == CONTINUE

    def test_without_a_walltime_it_does_nothing_by_itself(self) -> None:
        fields = {"age": 500.0, "unsaved": 500.0, "checkpoint_cost": 1.0}
        assert act(self.ALONE, unsaved_over_young=9.0, **fields) == CONTINUE
        assert act(BeforeWalltime(), unsaved_over_young=9.0, **fields) == CHECKPOINT
        assert act(self.ALONE, walltime_left=1.0, checkpoint_cost=1.0) == CONTINUE

    def test_decisions_that_are_further_apart_need_an_earlier_checkpoint(self) -> None:
        assert act(BeforeWalltime(False, window=5.0), **self.at(6)) == CHECKPOINT
        with pytest.raises(ValueError, match="window: expected a positive number of minutes"):
            BeforeWalltime(window=0.0)

    def test_a_job_that_is_submitted_again_goes_on_from_there(self) -> None:
        """Killed after an hour, submitted again: of an hour's work 58 minutes are saved."""
        columns = ("task", "start", "end", "outcome", "cause", "length")
        rows = [
            (0, 0, HOUR, Outcome.KILL, Cause.WALLTIME, 90 * MINUTE),
            (0, HOUR, 150 * MINUTE, Outcome.FINISH, None, 90 * MINUTE),
        ]
        job = {"original_id": ["a"], "submit": 0, "width": 1, "outcome": 0, "walltime": HOUR}
        trace = Trace.of(
            Meta("walltime"),
            jobs=job,
            tasks={"job": [0], "index": [0], "width": 1},
            attempts={name: [row[i] for row in rows] for i, name in enumerate(columns)},
        )
        costs = {"window": MINUTE, "checkpoint_cost": MINUTE, "restore_cost": MINUTE}
        assert waste(trace, Replay(), **costs) == pytest.approx(60 / 90)
        # a minute's work is lost, and the checkpoint and the restore take two
        assert waste(trace, self.ALONE, **costs) == pytest.approx(3 / 90)


class TestIntrospective:
    """33 attempts an hour at an MTBF of 10 hours: 3.3 interruptions, and 3.4 with one's own."""

    TIMES: ClassVar = {"checkpoint_cost": 1.0, "mtbf": 600.0, "running": math.log2(34)}

    def interval(self, ratio: str = "unsaved_over_young", **fields: Any) -> float:
        """The interval in units of the usual one, where it is looked for in steps of 1 %."""
        steps = np.arange(0.01, 10, 0.01)
        policy = Introspective(by_age=ratio == "unsaved_over_lazy", prior=2.0)
        given: dict[str, Any] = {**self.TIMES, **fields, ratio: steps}
        values = observe(len(steps), **given)
        actions, _ = policy.predict(values)
        return float(steps[np.flatnonzero(actions)[0]])

    @pytest.mark.parametrize("ratio", ["unsaved_over_young", "unsaved_over_lazy"])
    @pytest.mark.parametrize("n", [0, 3.4, 19.6])
    def test_the_interval_is_youngs_at_the_mean_of_prior_and_present_rate(
        self, n: float, ratio: str
    ) -> None:
        times = (n + 2) / (3.4 + 2)  # the usual rate
        found = self.interval(ratio, interruption_rate=n / 34)
        assert found == pytest.approx(times**-0.5, abs=0.011)

    def test_without_a_mean_time_between_failures_there_is_no_period(self) -> None:
        assert act(Introspective(), checkpoint_cost=1.0, unsaved=1e3, interruption_rate=9.0) == 0

    def test_a_flag_is_followed_once(self) -> None:
        known = {**self.TIMES, "age": 30.0, "unsaved": 20.0, "risk": 0.9}
        assert act(Introspective(), **known, risk_change=0.9) == CHECKPOINT
        assert act(Introspective(), **known, flagged_before=0.9) == CONTINUE

    @pytest.mark.parametrize(
        ("name", "value"), [("prior", 0.0), ("prior", inf), ("factor", 0), ("threshold", 2.0)]
    )
    def test_bad_parameters_are_named(self, name: str, value: float) -> None:
        wrong: dict[str, Any] = {name: value}
        with pytest.raises(ValueError, match=name):
            Introspective(**wrong)
