"""PANDA's workload, job by job (Ghit and Epema, HPDC 2017, section 6.5)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from experiments import ghit2017_figure10, ghit2017_table5
from experiments.ghit2017_jobs import SPARK, Drawn, draw, panda, simulate
from experiments.ghit2017_table5 import HOUR, MACHINES, TABLE_5, arrivals_per_hour
from failgym.evaluation.progress import silent
from failgym.traces import generate
from failgym.traces.synthetic import Panda10k

SHORTEST = {kind.application: kind for kind in TABLE_5 if kind.scale == 1}


def drawn(kinds: list[str], submit: list[float], event: list[float], *first: float) -> Drawn:
    """A workload by hand; each event's first draw chooses the application."""
    draws = np.array([[draw, *[0.0] * 5] for draw in first]).reshape(len(event), 6)
    kind = [SHORTEST[name] for name in kinds]
    return Drawn(np.array(submit), kind, np.array(event), draws)


def test_table_5_and_what_follows_from_it() -> None:
    rows = ghit2017_table5.EXPERIMENT.run(ghit2017_table5.EXPERIMENT.options())[0].rows
    by_hand, generated = rows[:13], rows[13:]
    assert {row.verdict for row in by_hand} == {"within"}
    assert {row.verdict for row in generated} == {"fitted"}
    assert len(generated) == 4 * 9


def test_the_rate_of_arrivals() -> None:
    jobs = len(draw(0.5, 1.0, seed=1).submit)
    assert jobs / 72 == pytest.approx(311.195, rel=0.03)
    assert arrivals_per_hour(0.5) == pytest.approx(311.195, abs=5e-4)


def test_a_job_that_is_not_hit_takes_its_run_time() -> None:
    played = simulate(drawn(["PageRank", "PPPQ"], [0.0, 5.0], []), SPARK)
    assert played.run_time.tolist() == [185.0, 1_461.0]
    assert played.short.tolist() == [True, True]
    assert not played.hit.any()
    assert simulate(drawn(["PageRank"], [0.0], []), panda(0.04)).run_time[0] == 185.0 * 1.04


def test_an_event_hits_one_large_job_or_five_small_ones() -> None:
    kinds = ["BTWORLD", "BTWORLD", *["PageRank"] * 7]
    early = drawn(kinds, [0.0] * 9, [100.0, 100.0], 0.4, 0.6)
    played = simulate(early, SPARK)
    assert played.hit.tolist() == [True, False, *[True] * 5, False, False]
    assert played.run_time[[0, 2]].tolist() == [1_587 * 1.48, 185 * 11.0]
    assert simulate(early, panda(0.04)).run_time[[0, 2]].tolist() == [1_587 * 1.04, 185 * 2.75]


def test_no_job_is_hit_twice_and_none_that_is_over() -> None:
    played = simulate(drawn(["PPPQ"], [0.0], [1.0, 2.0, 3.0], 0.0, 0.0, 0.0), SPARK)
    assert played.run_time.tolist() == [1_461 * 1.40]
    assert not simulate(drawn(["PPPQ"], [0.0], [1_462.0], 0.0), SPARK).hit.any()


def test_jobs_start_in_order_once_they_have_all_their_machines() -> None:
    gangs = MACHINES // 20
    kinds = ["BTWORLD"] * gangs + ["PPPQ", "PageRank"]
    played = simulate(drawn(kinds, [0.0] * gangs + [1.0, 2.0], []), SPARK)
    assert played.wait.tolist() == [0.0] * gangs + [1_586.0, 1_585.0]


def test_it_agrees_with_the_trace_generator() -> None:
    """Two programs, one model: the shares of jobs hit, and how many run at a time."""
    profile = replace(Panda10k(), events_per_hour=30.0)
    traces = [generate(profile, seed=seed) for seed in range(2)]
    theirs = np.mean([(trace.column("jobs", "exit_category") == "hit").mean() for trace in traces])
    played = [simulate(draw(0.5, 30.0, seed), SPARK) for seed in range(4)]
    assert np.mean([each.hit.mean() for each in played]) == pytest.approx(theirs, rel=0.05)
    run = [(t.column("attempts", "end") - t.column("attempts", "start")) / 1e3 for t in traces]
    done = [trace.column("jobs", "submit") < 60 * HOUR * 1e3 for trace in traces]
    mean = np.mean([times[kept].mean() for times, kept in zip(run, done, strict=True)])
    assert np.mean([each.run_time.mean() for each in played]) == pytest.approx(mean, rel=0.05)


def test_gains_and_break_even() -> None:
    """Fig. 10, over too few seeds for its bands: the signs, and what grows with what."""
    options = replace(ghit2017_figure10.EXPERIMENT.options(quick=True), seeds=1)
    panels = ghit2017_figure10.measure(options, silent).series
    assert (np.diff(panels["a"]["all jobs"]) > -1.0).all()
    assert panels["a"]["all jobs"][0] < 0.0 < panels["a"]["all jobs"][-1]
    assert (np.diff(panels["b"]["all jobs"]) < 0.0).all()
    short, everything = (np.array(panels["a"][name]) for name in ("short jobs", "all jobs"))
    assert (short[4:] > everything[4:]).all()
