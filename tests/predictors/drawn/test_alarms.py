"""Alarms hold their stated rates, come true as often at every age, and err with their jobs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from failgym.predictors import Alarms, Forecast, load_forecast, save_forecast
from failgym.predictors.drawn.alarm_laws import AlarmCurves, exponential, scores
from failgym.predictors.drawn.alarms import FIRST, LATER, Shown
from failgym.predictors.drawn.levels import as_levels
from failgym.traces import Cause, Meta, Outcome, Trace
from failgym.vocabulary import MINUTE

TASKS, PER_JOB = 30_000, 10

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]


def make_trace(tasks: int = TASKS, seed: int = 0) -> Trace:
    """Tasks of two attempts each, by other laws: .3 and .5 fail, .1 are evicted."""
    rng = np.random.default_rng(seed)
    scale = np.tile([30 * MINUTE, 90 * MINUTE], tasks)
    outcome = rng.choice(
        [Outcome.FINISH, Outcome.FAIL, Outcome.EVICT], 2 * tasks, p=[0.6, 0.3, 0.1]
    )
    more = np.tile([False, True], tasks) & (rng.random(2 * tasks) < 0.3)
    outcome[more & (outcome == Outcome.FINISH)] = Outcome.FAIL
    fails = outcome == Outcome.FAIL
    life = np.maximum(rng.weibull(np.where(fails, 0.6, 1.5)) * scale, 1).astype(np.int64)
    start = np.tile([0, 10**9], tasks)
    causes = {Outcome.FINISH: 0, Outcome.FAIL: Cause.INTRINSIC, Outcome.EVICT: Cause.PREEMPTION}
    cause = np.array([causes[Outcome(x)] for x in outcome])
    jobs = tasks // PER_JOB
    return Trace.of(
        Meta("alarms"),
        jobs={
            "original_id": [f"{i:09}" for i in range(jobs)],
            "submit": 0,
            "width": np.full(jobs, PER_JOB),
            "outcome": np.full(jobs, Outcome.FAIL),
        },
        tasks={"job": np.arange(tasks) // PER_JOB, "index": np.arange(tasks), "width": 1},
        attempts={
            "task": np.repeat(np.arange(tasks), 2),
            "start": start,
            "end": start + life,
            "outcome": outcome,
            "cause": np.ma.masked_array(cause, outcome == Outcome.FINISH),
        },
    )


@pytest.fixture(scope="module")
def trace() -> Trace:
    return make_trace()


@pytest.fixture(scope="module")
def forecast(trace: Trace) -> Forecast:
    return Alarms.elsayed(job_share=0.0).fit(trace).predict(trace)


def outcome(trace: Trace) -> npt.NDArray[np.int8]:
    return trace.column("attempts", "outcome")


def group(trace: Trace) -> Ints:
    return np.arange(trace.rows("attempts")) % 2


def highest(forecast: Forecast) -> npt.NDArray[np.float32]:
    return np.maximum.reduceat(forecast.risk, forecast.offset[:-1])


def last(forecast: Forecast) -> npt.NDArray[np.float32]:
    """The risk in the window in which an attempt ends: that of the alarm that is on, if any."""
    return forecast.risk[forecast.offset[1:] - 1]


def close(seen: float, stated: float, of: int) -> bool:
    return abs(seen - stated) <= 4.0 * np.sqrt(stated * (1.0 - stated) / of) + 1.0 / of


@pytest.mark.parametrize("which", [FIRST, LATER])
@pytest.mark.parametrize(
    "predictor", [Alarms.elsayed(job_share=0.0), Alarms.kumar()], ids=["elsayed", "kumar"]
)
def test_rates_are_as_stated(trace: Trace, predictor: Alarms, which: int) -> None:
    """False-positive rates at once; recalls within the attempts that no false alarm disturbs."""
    forecast = predictor.predict(trace)
    ends = (Outcome.FAIL, Outcome.EVICT) if predictor.outside else (Outcome.FAIL,)
    bad = np.isin(outcome(trace), ends)
    others, bads = ~bad & (group(trace) == which), bad & (group(trace) == which)
    levels = (predictor.threshold, predictor.recall, predictor.fpr)
    top, end = highest(forecast), last(forecast)
    for threshold, recall, fpr in zip(*map(as_levels, levels), strict=True):
        assert close(float((top[others] >= threshold).mean()), fpr, int(others.sum()))
        foretold = float((end[bads] >= threshold).mean())
        assert foretold >= recall - 4.0 * np.sqrt(recall * (1.0 - recall) / bads.sum()) - 1e-3
        assert foretold <= recall + fpr + 0.01, "a false alarm may be on at the failure too"


def windows_of(forecast: Forecast) -> tuple[Ints, Ints]:
    """Attempt and age [windows] of each risk."""
    counts = np.diff(forecast.offset)
    row = np.repeat(np.arange(len(counts)), counts)
    return row, np.arange(len(row)) - forecast.offset[row]


def alarm_ages(on: Bools, row: Ints) -> Ints:
    """Windows for which an alarm has been on, in each window; -1 where none is."""
    at = np.arange(len(on))
    begins = np.where(~on | (np.diff(row, prepend=-1) != 0), at, 0)
    quiet = np.maximum.accumulate(begins)
    return np.where(on, at - quiet - ~on[quiet], -1)


def alarms_true(forecast: Forecast, on: Bools, row: Ints, bad: Bools) -> Bools:
    """Does the alarm that is on in a window last to a bad end?"""
    counts = np.diff(forecast.offset)
    silent_after = np.where(on, -1, np.arange(len(on)))
    latest = np.maximum.reduceat(silent_after, forecast.offset[:-1])
    assert (counts > 0).all()
    return on & bad[row] & (np.arange(len(on)) > latest[row])


@pytest.mark.parametrize("which", [FIRST, LATER])
def test_precision_is_flat_by_age_of_attempt_and_of_alarm(trace: Trace, which: int) -> None:
    predictor = Alarms.elsayed(window=MINUTE)
    forecast = predictor.predict(trace)
    row, age = windows_of(forecast)
    bad = outcome(trace) == Outcome.FAIL
    on = (forecast.risk >= np.float32(0.5)) & (group(trace)[row] == which)
    true, ages = alarms_true(forecast, on, row, bad), alarm_ages(on, row)
    whole = precision_by_alarm(on, true, row)
    assert 0.3 < whole < 0.95
    for each in (age, ages):
        bins = 2 ** np.arange(0, 12) - 1  # 0, 1-2, 3-6 ... windows
        index = np.digitize(each, bins)
        checked = 0
        for k in np.unique(index[on]):
            inside = on & (index == k)
            # of each attempt one window, chosen by its number: windows of one are not independent
            of, first = np.unique(row[inside], return_index=True)
            if len(of) < 1_000:
                continue
            checked += 1
            assert abs(float(true[inside][first].mean()) - whole) < 0.05
        assert checked >= 4


def precision_by_alarm(on: Bools, true: Bools, row: Ints) -> float:
    begins = on & ~(np.concatenate([[False], on[:-1]]) & (np.diff(row, prepend=-1) == 0))
    return float(true[begins].mean())


def test_a_true_alarm_is_on_until_the_end_and_tells_nothing_by_its_age(trace: Trace) -> None:
    """Of true alarms that are on, the time still to go does not depend on the time since onset."""
    certain = Alarms(0.5, 1.0, 0.0, lead=20 * MINUTE, window=MINUTE)
    forecast = certain.predict(trace)
    bad = outcome(trace) == Outcome.FAIL
    assert (last(forecast)[bad] >= 0.5).all()
    assert (highest(forecast)[~bad] == np.float32(0.02)).all()
    row, _ = windows_of(forecast)
    on = forecast.risk >= 0.5
    ages, left = alarm_ages(on, row), forecast.offset[row + 1] - np.arange(len(row)) - 1
    # behind the start of an attempt, where alarms are older than they look
    begun = on & (np.arange(len(row)) - forecast.offset[row] > ages)
    early, late = (left[begun & (ages == k)] for k in (0, 20))
    assert len(late) > 1_000
    assert abs(float(early.mean()) - float(late.mean())) < 2.0


def test_forecasts_are_keyed_to_tasks_not_to_their_order(trace: Trace) -> None:
    """Jobs in another order: each attempt of a task has the risks that it had."""
    few = make_trace(600)
    jobs = few.rows("jobs")
    order = np.random.default_rng(0).permutation(jobs)
    tasks = (order[:, None] * PER_JOB + np.arange(PER_JOB)).ravel()
    rows = (tasks[:, None] * 2 + np.arange(2)).ravel()
    turned = Trace.of(
        Meta("turned"),
        jobs={
            "original_id": [f"{i:09}" for i in range(jobs)],
            "submit": 0,
            "width": np.full(jobs, PER_JOB),
            "outcome": few.column("jobs", "outcome")[order],
        },
        tasks={"job": np.arange(600) // PER_JOB, "index": np.arange(600), "width": 1},
        attempts={
            "task": np.repeat(np.arange(600), 2),
            "start": few.column("attempts", "start")[rows],
            "end": few.column("attempts", "end")[rows],
            "outcome": outcome(few)[rows],
            "cause": np.ma.masked_array(
                few.column("attempts", "cause", missing=0)[rows],
                outcome(few)[rows] == Outcome.FINISH,
            ),
        },
    )
    predictor = replace(Alarms.elsayed(), job_share=0.5)
    shown = Shown(np.ones(600, dtype=np.bool_), tasks, order)
    mine, theirs = predictor.predict(few), predictor.predict(turned, shown)
    for at, row in enumerate(rows[:200]):
        said = theirs.risk[theirs.offset[at] : theirs.offset[at + 1]]
        assert said.tolist() == mine.risk[mine.offset[row] : mine.offset[row + 1]].tolist()


def test_another_seed_draws_another_forecast(trace: Trace, forecast: Forecast) -> None:
    again = Alarms.elsayed(job_share=0.0).predict(trace)
    other = Alarms.elsayed(job_share=0.0, seed=1).predict(trace)
    assert forecast.risk.tolist() == again.risk.tolist()
    assert (forecast.risk != other.risk).any()


def test_attempts_of_a_job_err_together() -> None:
    """With a share of 1 all failures of a job are foreseen or none, and its alarms come alike."""
    trace = make_trace(10_000)
    predictor = replace(Alarms.elsayed(), job_share=1.0)
    forecast = predictor.predict(trace)
    bad, job = outcome(trace) == Outcome.FAIL, np.arange(20_000) // (2 * PER_JOB)
    law = forecast.alarms
    assert law is not None
    foreseen = law.job_true[::PER_JOB] < 0.80
    # an alarm at the end of a failure of a job that is missed can only be a false one
    told = last(forecast)[bad] >= 0.1
    assert told[foreseen[job[bad]]].all()
    assert told[~foreseen[job[bad]]].mean() < 0.15
    alone = last(Alarms.elsayed(job_share=0.0).predict(trace))[bad] >= 0.1
    share = np.bincount(job[bad], alone) / np.bincount(job[bad])
    assert np.mean((share > 0) & (share < 1)) > 0.4, "alone they are told apart"


def test_rates_hold_among_the_tasks_that_are_shown() -> None:
    trace = make_trace(20_000)
    shown = np.zeros(20_000, dtype=np.bool_)
    lives = (trace.column("attempts", "end") - trace.column("attempts", "start")).reshape(-1, 2)
    shown[lives.min(axis=1) > 10 * MINUTE] = True
    rows = np.arange(20_000), np.arange(2_000)
    forecast = Alarms.elsayed(job_share=0.0).predict(trace, Shown(shown, *rows))
    others = (outcome(trace) != Outcome.FAIL) & np.repeat(shown, 2)
    assert close(float((highest(forecast)[others] >= 0.1).mean()), 0.139, int(others.sum()))
    hidden = (outcome(trace) != Outcome.FAIL) & ~np.repeat(shown, 2)
    assert (highest(forecast)[hidden] >= 0.1).mean() < 0.139


def test_a_false_alarm_needs_bad_ends_to_speak_of() -> None:
    trace = make_trace(40)
    silent = Trace.of(
        Meta("fine"),
        jobs={"original_id": ["0"], "submit": 0, "width": [2], "outcome": [Outcome.FINISH]},
        tasks={"job": [0, 0], "index": [0, 1], "width": 1},
        attempts={
            "task": [0, 1],
            "start": [0, 0],
            "end": [1, 10**7],
            "outcome": [Outcome.FINISH] * 2,
        },
    )
    forecast = Alarms.elsayed().predict(silent)
    assert (forecast.risk == np.float32(0.02)).all()
    assert Alarms.elsayed().predict(trace).alarms is not None


def test_curves_count_by_hand() -> None:
    """Of 4 attempts one fails at 10 ms (hazard 1/4) and one at 30 (1/2); 20 and 40 are others."""
    curves = AlarmCurves.of(np.array([10, 20, 30, 40]), np.array([True, False, True, False]))
    assert curves.time.tolist() == [10, 30]
    assert np.allclose(np.exp(curves.log_left), [3 / 4, 3 / 8])
    # the one of 20 outlives 10, that of 40 both: (1 - 3/4 + 1 - 3/8) / 2
    assert curves.rate(1.0) == pytest.approx((1 / 4 + 5 / 8) / 2)
    assert curves.rate(curves.factor(0.2)) == pytest.approx(0.2)
    assert np.allclose(curves.false_time(1.0).share, [1 / 4, 5 / 8])


def test_scores_and_leads_are_laws() -> None:
    law = scores((0.1, 0.5), (0.8, 0.2))
    below = law.share[law.value < 0.5].max()
    assert below == pytest.approx(0.6)
    assert law.share[-1] == 0.8
    assert 0.1 < law.value.min() < law.value.max() < 1.0
    assert not len(scores(0.5, (0.0,)).value)
    lead = exponential(60_000)
    assert lead.share[-1] == 1.0
    assert abs(float(np.diff(lead.share, prepend=0.0) @ lead.value) - 60_000) < 100


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"lead": 0}, "lead"),
        ({"window": 0}, "window"),
        ({"job_share": 1.5}, "job_share"),
        ({"threshold": 0.01}, "threshold"),
        ({"recall": (0.5, 0.6)}, "threshold"),
        ({"fpr": 1.5}, "fpr"),
    ],
)
def test_refuses_what_makes_no_sense(changes: dict[str, Any], field: str) -> None:
    plain: dict[str, Any] = {"threshold": 0.5, "recall": 0.5, "fpr": 0.1, "lead": 1}
    with pytest.raises(ValueError, match=f"^{field}"):
        Alarms(**plain | changes)


def test_kumar_refuses_an_unknown_model() -> None:
    with pytest.raises(ValueError, match=r"^model: expected one of"):
        Alarms.kumar("none")


def test_the_law_is_stored_with_the_forecast(tmp_path: Path) -> None:
    trace = make_trace(1_000)
    forecast = replace(Alarms.kumar(seed=-1), job_share=0.5).predict(trace)
    save_forecast(forecast, tmp_path / "f.npz")
    again = load_forecast(tmp_path / "f.npz", trace)
    mine, theirs = forecast.alarms, again.alarms
    assert mine is not None
    assert theirs is not None
    assert (mine.prior, mine.job_share, mine.outside) == (theirs.prior, theirs.job_share, True)
    assert mine.false_factor == theirs.false_factor > 0.0
    assert mine.seed % 2**64 == theirs.seed
    for name in ("true_score", "false_score", "lead"):
        for part in ("at", "value", "share"):
            one, other = (getattr(getattr(law, name), part) for law in (mine, theirs))
            assert one.tolist() == other.tolist()
    assert mine.job_true.tolist() == theirs.job_true.tolist()
    assert mine.job_false.tolist() == theirs.job_false.tolist()
