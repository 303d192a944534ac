"""Risks of drawn attempts: the kernels against rules A1 to A4 read once more, and stated rates."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from failgym.predictors import Alarms
from failgym.sim.pinned.batch import Batch
from failgym.sim.pinned.compile import compile_world, with_slices
from failgym.sim.pinned.simulator import PinnedSimulator
from failgym.sim.shared.alarms import FALSE_ALARMS, AlarmLaw
from failgym.sim.shared.context import Context
from failgym.sim.shared.continuation import COUNTS, Continuation, Law
from failgym.sim.shared.fields import INDEX
from failgym.sim.shared.keys import Purpose, uniform
from failgym.sim.shared.laws import draw_all
from failgym.sim.shared.rules import Rules
from failgym.traces import Meta, Outcome, Trace
from failgym.vocabulary import Action, Cause, Decision
from tests.sim.random_worlds import (
    continued_rules,
    random_context,
    random_continuation,
    random_law,
    random_policy,
    random_rules,
    random_trace,
)

ALL = {"clone": True, "checkpoint": True, "give_up": True, "retry": True, "kill": False}


def one(law: Law, cell: int, u: float) -> float:
    """The first value of a cell whose share is above u."""
    for i in range(law.at[cell], law.at[cell + 1]):
        if law.share[i] > u:
            return float(law.value[i])
    return math.inf


def number(seed: int, key: int, n: int, purpose: Purpose) -> float:
    return float(uniform(seed, key, n, purpose))


def random_alarms(rng: np.random.Generator, tasks: int) -> AlarmLaw:
    """Few scores and leads, so that alarms overlap, come twice at one time, or never."""
    times = np.unique(rng.integers(1, 200, 8)).astype(np.float64)
    risks = np.array([0.2, 0.4, 0.5, 0.7, 0.9])
    return AlarmLaw(
        seed=int(rng.integers(-5, 5)),
        prior=0.125,
        true_score=random_law(rng, 1, risks),
        false_factor=float(rng.choice([0.0, 0.3, 1.0, 5.0])),
        false_score=random_law(rng, 1, risks, certain=True),
        lead=random_law(rng, 1, times, certain=True),
        job_share=float(rng.choice([0.0, 0.5, 1.0])),
        job_true=rng.random(tasks),
        job_false=rng.random(tasks),
        outside=bool(rng.random() < 0.5),
    )


def passed(a: AlarmLaw, c: Continuation, cell: int, time: float) -> float:
    """The chance that a failure by then does not come, 1 - S^c."""

    def left(law: Law) -> float:
        known = slice(law.at[cell], law.at[cell + 1])
        return 1.0 - law.share[known][law.value[known] <= time].max(initial=0.0)

    return 1.0 - (left(c.failure) * (left(c.external) if a.outside else 1.0)) ** a.false_factor


def expected(
    a: AlarmLaw,
    c: Continuation,
    task: int,
    run: Any,
    fate: tuple[float, float, float],
    at: int,
    window: int,
) -> float:
    """The risk in a window, as A1 to A4 say."""
    n, key, cell = int(run["number"]), int(c.key[task]), int(c.cell[task, run["past"]])
    fails, outside, _length = fate
    end = min(fate)
    bad = end < math.inf and (fails == end or (a.outside and outside == end and fails != end))
    shared = number(a.seed, key, n, Purpose.ALARM_SHARED) < a.job_share
    alarms = list[tuple[float, float, float]]()  # T, lead, score
    if bad:
        u = float(a.job_true[task]) if shared else number(a.seed, key, n, Purpose.ALARM_TRUE)
        score = one(a.true_score, 0, u)
        lead = one(a.lead, 0, number(a.seed, key, n, Purpose.ALARM_LEAD))
        if score < math.inf:
            alarms.append((end, lead, score))
    before = 0.0
    for j in range(1, FALSE_ALARMS + 1):
        m = n * FALSE_ALARMS + j - 1
        u = number(a.seed, key, m, Purpose.ALARM_FALSE)
        if j == 1 and shared:
            u = float(a.job_false[task])
        h = passed(a, c, cell, before)
        bad = [c.failure, c.external] if a.outside else [c.failure]
        times = np.concatenate([law.value[law.at[cell] : law.at[cell + 1]] for law in bad])
        later = [t for t in times if t > before and passed(a, c, cell, t) > h + (1.0 - h) * u]
        before = min(later, default=math.inf)
        if before == math.inf or before >= end:
            break
        lead = one(a.lead, 0, number(a.seed, key, m, Purpose.ALARM_FALSE_LEAD))
        score = one(a.false_score, 0, number(a.seed, key, m, Purpose.ALARM_FALSE_SCORE))
        alarms.append((before, lead, score))
    seen = list[float]()
    for b, lead, score in alarms:
        last = (int(b) - 1) // window
        first = min(math.ceil(max(0.0, b - lead) / window), last)
        if first <= at <= last:
            seen.append(score)
    return max(seen, default=a.prior)


def fate(c: Continuation, w: Any, task: int, run: Any, seed: int) -> tuple[float, float, float]:
    """T_fail, T_ext and F of a drawn attempt, as C3 and C4 say."""
    n, key, cell = int(run["number"]), int(c.key[task]), int(c.cell[task, run["past"]])
    fails = one(c.failure, cell, number(seed, key, n, Purpose.NEXT_FAILURE))
    outside = one(c.external, cell, number(seed, key, n, Purpose.NEXT_EXTERNAL))
    work, chance = float(w.beyond["work"][task]), 1.0
    if c.chance_cell[task] >= 0:
        drawn = one(c.chance, int(c.chance_cell[task]), number(seed, key, n, Purpose.NEXT_CHANCE))
        chance = drawn if drawn < math.inf else 1.0
    if work == math.inf:
        return fails, outside, math.inf
    return fails, outside, max(1.0, math.floor(work * c.slow[task] * chance + 0.5))


def play(seed: int, **changes: Any) -> tuple[int, set[float]]:
    """Play a random world; how many decisions about drawn attempts there were, and their risks."""
    rng = np.random.default_rng(seed)
    trace, rules = random_trace(rng), random_rules(rng)
    rules = replace(continued_rules(rng, rules), **{**ALL, "max_extra": 4, "max_clones": 3})
    rules = replace(rules, **changes)
    context, laws = random_context(rng, trace, rules), random_continuation(rng, trace)
    alarms = random_alarms(rng, trace.rows("tasks"))
    context = replace(context, forecast=replace(context.forecast, alarms=alarms))
    policy = random_policy(rng)
    sim = PinnedSimulator(trace, rules, context, seed=seed, continuation=laws)
    sim.start(range(trace.rows("tasks")), "time")
    decisions, risks = 0, set[float]()
    while (open_one := sim.decision) is not None and decisions < 300:
        state = sim.batch.state
        run = state.runs[0, state.episodes["run"][0]]
        if run["ghost"]:
            decisions += 1
            task, now = open_one.task, open_one.time
            age = (now if run["alive"] else int(run["ended"])) - int(run["start"])
            if rules.forecast_by != "age":
                age = _progress(run, now)
            met = fate(laws, sim.batch.world, task, run, seed)
            index = age // rules.window
            obs = sim.observation()
            now_risk, before = (
                np.float32(expected(alarms, laws, task, run, met, i, rules.window))
                for i in (index, max(index - 1, 0))
            )
            assert obs[INDEX["risk"]] == now_risk
            assert obs[INDEX["risk_change"]] == now_risk - before
            if rules.decide == "alarm" and open_one.kind == Decision.WINDOW:
                assert now_risk >= np.float32(rules.alarm)
            risks.add(float(now_risk))
        sim.step(policy(sim.mask))
    return decisions, risks


def _progress(run: Any, now: int) -> int:
    """Work behind an attempt, what it resumed from included."""
    from failgym.sim.shared.accounts import work_of

    class Named:
        def __init__(self, record: Any) -> None:
            for name in record.dtype.names:
                setattr(self, name, record[name])

    return int(run["chain"]) + int(work_of.py_func(Named(run), now))


@pytest.mark.parametrize("changes", [{}, {"decide": "alarm", "alarm": 0.4}], ids=["any", "alarm"])
@pytest.mark.parametrize("worlds", [50, pytest.param(150, marks=pytest.mark.campaign)])
def test_kernels_tell_the_risks_of_the_rules(worlds: int, changes: dict[str, Any]) -> None:
    decisions, risks = 0, set[float]()
    for seed in range(worlds):
        asked, seen = play(seed, **changes)
        decisions, risks = decisions + asked, risks | seen
    assert decisions > 2 * worlds
    assert len(risks) > 3


def lives(tasks: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """When attempts would fail, and how much work there is [ms]; windows are of 1,000 ms."""
    fails = np.maximum(rng.weibull(0.7, tasks) * 60_000, 1).astype(np.int64)
    return fails, np.maximum(rng.lognormal(10.0, 1.0, tasks), 1).astype(np.int64)


def single_attempts(outcome: Any, life: Any) -> Trace:
    tasks = len(life)
    return Trace.of(
        Meta("lives"),
        jobs={
            "original_id": [f"{i:09}" for i in range(tasks)],
            "submit": 0,
            "width": np.ones(tasks, dtype=np.int64),
            "outcome": outcome,
        },
        tasks={"job": np.arange(tasks), "index": np.zeros(tasks, dtype=np.int64), "width": 1},
        attempts={
            "task": np.arange(tasks),
            "start": np.zeros(tasks, dtype=np.int64),
            "end": life,
            "outcome": outcome,
            "cause": np.ma.masked_array(np.full(tasks, Cause.INTRINSIC), outcome == Outcome.FINISH),
        },
    )


def certain_law(*samples: Any) -> Law:
    """A cell for each sample: its values alike."""
    found = [np.unique(sample, return_counts=True) for sample in samples]
    return Law(
        np.cumsum([0, *(len(times) for times, _ in found)]),
        np.concatenate([times for times, _ in found]).astype(np.float64),
        np.concatenate([np.minimum(np.cumsum(n) / n.sum(), 1.0) for _, n in found]),
    )


@dataclass(frozen=True)
class Windows:
    """What was shown of clones that were left alone, window by window, [n] each."""

    task: Any
    place: Any
    """whole windows behind it"""
    risk: Any


def windows_of_clones(law: AlarmLaw, failure: Law, cell: Any, work: Any) -> Windows:
    """Clone each task at its start and look at the clone until it ends.

    Args:
        law: of the alarms.
        failure: law of the time until an attempt fails.
        cell: [tasks] of that law.
        work: [tasks] when it would be done [ms]; windows are of 1,000 ms.
    """
    tasks, never = len(work), Law.never(failure.cells)
    trace = single_attempts(np.full(tasks, Outcome.FINISH), work)
    laws = Continuation(
        cell=np.repeat(cell[:, None], COUNTS, axis=1),
        failure=failure,
        external=never,
        work=certain_law(*[work] * failure.cells),
        chance=never,
        gap_after_failure=never,
        gap_after_external=never,
        gives_up=np.zeros(failure.cells),
        ends_external=np.zeros(failure.cells),
        slow=np.ones(tasks),
        chance_cell=np.full(tasks, -1),
        key=np.arange(tasks),
    )
    rng = np.random.default_rng(1)
    law = replace(law, job_true=rng.random(tasks), job_false=rng.random(tasks))
    rules = Rules(
        clone=True, kill=True, grace=False, max_extra=1, max_clones=1, window=1_000, every=1,
        beyond_record="continued", restarts="record",
    )  # fmt: skip
    context = silent_context(rng, trace, rules, law)
    world = compile_world(trace, rules, context, continuation=laws)
    batch = Batch(with_slices(world, np.arange(tasks), 1), rules, tasks)
    batch.reset(np.arange(tasks))
    answers, seen = np.full(tasks, int(Action.CLONE)), list[Any]()
    episodes = batch.state.episodes
    while not episodes["done"].all():
        out = batch.step(answers)
        answers = np.zeros(tasks, dtype=np.int64)
        run = batch.state.runs[np.arange(tasks), np.maximum(episodes["run"], 0)]
        at = np.flatnonzero(~episodes["done"] & run["ghost"])
        age = episodes["now"][at] - run["start"][at]
        seen.append((at, age // 1_000, out.obs[at, INDEX["risk"]]))
    return Windows(*(np.concatenate(each) for each in zip(*seen, strict=True)))


def failures_of_clones(failure: Law, cell: Any) -> Any:
    """T_fail of the clone of each task, as C4 says; infinite for never."""
    return draw_all(failure, cell, uniform(0, np.arange(len(cell)), 1, Purpose.NEXT_FAILURE))


def test_alarms_of_clones_hold_the_stated_rates() -> None:
    """Clones whose fates have the law of the population that the rates are stated in."""
    rng = np.random.default_rng(0)
    fails, work = lives(20_000, rng)
    outcome = np.where(fails <= work, Outcome.FAIL, Outcome.FINISH)
    predictor = Alarms((0.1, 0.5), (0.8, 0.6), (0.14, 0.05), lead=20_000, window=1_000)
    law = predictor.predict(single_attempts(outcome, np.minimum(fails, work))).alarms
    assert law is not None
    tasks = 4_000
    _, work = lives(tasks, rng)
    failure, cell = certain_law(fails), np.zeros(tasks, dtype=np.int64)
    seen = windows_of_clones(law, failure, cell, work)
    highest, last = np.zeros(tasks), np.zeros(tasks)
    np.maximum.at(highest, seen.task, seen.risk)
    last[seen.task] = seen.risk  # of repeated indices numpy keeps the last
    bad = failures_of_clones(failure, cell) <= work
    for threshold, recall, fpr in zip((0.1, 0.5), (0.8, 0.6), (0.14, 0.05), strict=True):
        alarmed, foretold = (highest[~bad] >= threshold).mean(), (last[bad] >= threshold).mean()
        assert abs(alarmed - fpr) < 4.0 * math.sqrt(fpr * (1.0 - fpr) / (~bad).sum())
        sigma = math.sqrt(recall * (1.0 - recall) / bad.sum())
        assert recall - 4.0 * sigma < foretold < recall + 4.0 * sigma + fpr / 2.0


def test_no_age_tells_whether_an_alarm_of_a_clone_is_true() -> None:
    """Clones of two strata, that fail early and late; the rates are stated in both together."""
    rng = np.random.default_rng(0)
    early, late = rng.weibull(0.7, 10_000) * 20_000, rng.weibull(2.0, 10_000) * 150_000
    fails = np.maximum(np.concatenate([early, late]), 1).astype(np.int64)
    work = np.clip(rng.exponential(80_000, 20_000), 1, 200_000).astype(np.int64)
    outcome = np.where(fails <= work, Outcome.FAIL, Outcome.FINISH)
    predictor = Alarms(0.5, 0.7, 0.1, lead=3_000, window=1_000)  # alarms seldom overlap
    law = predictor.predict(single_attempts(outcome, np.minimum(fails, work))).alarms
    assert law is not None
    failure, cell = certain_law(fails[:10_000], fails[10_000:]), rng.integers(0, 2, 20_000)
    seen = windows_of_clones(law, failure, cell, work)
    on = seen.risk >= 0.5
    order = np.lexsort((seen.place[on], seen.task[on]))
    task, place = seen.task[on][order], seen.place[on][order]
    begins = np.append(True, (np.diff(task) != 0) | (np.diff(place) != 1))
    first, of = np.flatnonzero(begins), np.cumsum(begins) - 1
    until = place[np.append(first[1:], len(place)) - 1]
    failed = failures_of_clones(failure, cell)[task[first]]
    right = (failed <= work[task[first]]) & (until == (failed - 1) // 1_000)
    whole, checked = right.mean(), 0
    assert 0.7 < whole < 0.9
    stratum = cell[task[first]]
    for age in (place, place - place[first][of]):
        for low in (0, *2 ** np.arange(12)):
            high = max(1, 2 * low)
            alarms = np.unique(of[(age >= low) & (age < high)])
            for some in (alarms, *(alarms[stratum[alarms] == each] for each in (0, 1))):
                if len(some) >= 1_000:
                    checked += 1
                    assert abs(right[some].mean() - whole) < 0.05, (low, len(some))
    assert checked > 20


def silent_context(rng: np.random.Generator, trace: Trace, rules: Rules, law: AlarmLaw) -> Context:
    """A context whose forecast says nothing but by the law."""
    from failgym.sim.shared.forecast import Forecast

    context = random_context(rng, trace, rules)
    rows = trace.rows("jobs"), trace.rows("tasks"), trace.rows("attempts")
    none = Forecast.none(trace.content_hash, *rows, rules.window)
    return replace(context, forecast=replace(none, alarms=law))


def test_a_law_of_other_tasks_is_refused() -> None:
    rng = np.random.default_rng(1)
    trace, rules = random_trace(rng), continued_rules(rng, random_rules(rng))
    context, laws = random_context(rng, trace, rules), random_continuation(rng, trace)
    alarms = random_alarms(rng, trace.rows("tasks") + 1)
    context = replace(context, forecast=replace(context.forecast, alarms=alarms))
    with pytest.raises(ValueError, match=r"^alarms: expected \d+ tasks, got \d+$"):
        compile_world(trace, rules, context, continuation=laws)
    plain = replace(rules, beyond_record="ghost", restarts="limit")
    assert not len(compile_world(trace, plain, context).alarms.tasks)
