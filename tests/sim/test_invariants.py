"""What holds of any record and any rules: more attempts, and kills."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from failgym import metrics
from failgym.baselines import Algorithm1, RetryCap
from failgym.predictors import NoForecast
from failgym.sim.pinned.simulator import PinnedSimulator
from failgym.sim.shared.rules import Rules
from failgym.traces import Outcome
from failgym.vocabulary import Action
from tests.chains import WINDOW, chains, flickering, outcomes
from tests.sim.random_worlds import random_context, random_rules, random_trace

SEEDS = [
    *range(20),
    *(pytest.param(seed, marks=pytest.mark.campaign) for seed in range(20, 60)),
]


@pytest.mark.parametrize("evicted", [0.0, 0.4])
def test_more_retries_never_lose_a_task_nor_bring_a_final_failure_forward(evicted: float) -> None:
    rng = np.random.default_rng(1)
    trace = chains(rng, 800, evicted=evicted, finished=0.7)
    silent = NoForecast(window=WINDOW).predict(trace)
    tables = [
        outcomes(
            trace,
            Rules(retry=True, give_up=True, max_extra=4, restart_limit=0, window=WINDOW),
            silent,
            RetryCap(retries=retries),
        )
        for retries in range(5)
    ]
    finished = [table["outcome"] == Outcome.FINISH for table in tables]
    for fewer, more in zip(range(4), range(1, 5), strict=True):
        assert (finished[more] >= finished[fewer]).all()
        never = ~finished[more]
        assert (tables[more]["end"] >= tables[fewer]["end"])[never].all()
    assert finished[4].sum() > finished[0].sum()
    assert metrics.forfeited(tables[4]) == 0


def test_more_extra_attempts_never_lose_a_task_under_algorithm_1() -> None:
    """From R = 1 on: with R = 0 it cannot depart from the record, which retries by itself."""
    rng = np.random.default_rng(2)
    trace = chains(rng, 800, evicted=0.0, finished=0.7)
    forecast = flickering(rng, trace)
    finished = [
        outcomes(
            trace,
            Rules(clone=True, retry=True, max_extra=cap, restart_limit=0, window=WINDOW),
            forecast,
            Algorithm1(max_extra=cap),
        )["outcome"]
        == Outcome.FINISH
        for cap in range(1, 5)
    ]
    for fewer, more in itertools.pairwise(finished):
        assert (more >= fewer).all()
    assert finished[-1].sum() > finished[0].sum()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_kill_never_takes_more_machine_time_nor_ends_a_task_later(seed: int) -> None:
    """Whenever it is decided, once or twice, and whatever the grace period."""
    rng = np.random.default_rng(seed)
    trace = random_trace(rng)
    rules = replace(random_rules(rng), kill=True)
    sim = PinnedSimulator(trace, rules, random_context(rng, trace, rules))
    for task in range(trace.rows("tasks")):
        replayed = played(sim, task, eager=0.0, rng=rng)
        killed = played(sim, task, eager=float(rng.choice([0.1, 0.5, 1.0])), rng=rng)
        assert metrics.task_work(killed)[0] <= metrics.task_work(replayed)[0]
        assert killed["end"][0] <= replayed["end"][0]
        if not killed["killed"][0]:
            assert killed["end"][0] == replayed["end"][0]
            assert killed["outcome"][0] == replayed["outcome"][0]


@pytest.mark.parametrize("seed", SEEDS)
def test_an_armed_task_outlives_its_grace_period_by_nothing(seed: int) -> None:
    """Armed once, it ends between its decision and the longest grace period, or as recorded."""
    rng = np.random.default_rng(seed)
    trace = random_trace(rng)
    rules = replace(random_rules(rng), kill=True, grace=True)
    sim = PinnedSimulator(trace, rules, random_context(rng, trace, rules))
    periods = (rules.grace_evict, rules.grace_fail, rules.grace_kill)
    for task in range(trace.rows("tasks")):
        sim.start([task])
        armed = -1
        while sim.decision is not None:
            now, may = sim.decision.time, sim.mask[Action.KILL] and sim.decision.kind == 0
            if may and armed < 0:
                armed = now
            sim.step(Action.KILL if armed == now and may and not sim.outcomes()[0].armed else 0)
        (outcome,) = sim.outcomes()
        if outcome.killed:
            rows = slice(trace.task_first[task], trace.task_first[task + 1])
            starts = trace.column("attempts", "start", missing=-1)[rows]
            first = int(starts[starts >= 0].min())
            assert max(armed, first + min(periods)) <= outcome.end
            assert outcome.end <= max(armed, first + max(periods))


def played(
    sim: PinnedSimulator, task: int, *, eager: float, rng: np.random.Generator
) -> metrics.Columns:
    """One task; KILL at WINDOW decisions with probability ``eager``, CONTINUE elsewhere."""
    sim.start([task])
    while sim.decision is not None:
        window = sim.decision.kind == 0 and sim.mask[Action.KILL]
        sim.step(Action.KILL if window and rng.random() < eager else Action.CONTINUE)
    return metrics.as_columns(sim.outcomes())
