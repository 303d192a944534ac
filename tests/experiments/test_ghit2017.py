"""PANDA's tables and figures (Ghit and Epema, HPDC 2017); tests/papers has what takes longer."""

from __future__ import annotations

import json

import numpy as np
import pytest

from experiments import ghit2017_figure1, ghit2017_figure6, ghit2017_figure7, ghit2017_figure8
from experiments.ghit2017 import ITERATIONS, Floats, jobs_of, line, over_jobs
from experiments.reproduction import Experiment
from failgym.evaluation.progress import silent
from failgym.traces import Outcome, generate

QUICK = (ghit2017_figure1.EXPERIMENT, ghit2017_figure6.EXPERIMENT)


@pytest.mark.parametrize("experiment", QUICK, ids=lambda experiment: experiment.module)
def test_it_runs_twice_alike(experiment: Experiment) -> None:
    options = experiment.options(quick=True)
    results = [
        json.dumps(experiment.result(experiment.measure(options, silent), options, 0.0))
        for _ in range(2)
    ]
    assert results[0] == results[1]
    rows = json.loads(results[0])["rows"]
    assert all(np.isfinite(row["ours"]) for row in rows)


def test_the_tasks_are_those_of_figure_6() -> None:
    """Fitted: the profile was chosen to be so."""
    rows = ghit2017_figure6.of_application("BTWORLD", jobs_of("BTWORLD", 2))
    rows += ghit2017_figure6.of_application("PPPQ", jobs_of("PPPQ", 2))
    judged = [row for row in rows if row.band is not None]
    assert all(row.fitted for row in judged)
    outside = {row.name: row.note for row in judged if row.verdict == "outside"}
    assert len(judged) == 8
    assert all(outside.values())
    assert "6.3 PPPQ: time of the longest tenth" in outside
    assert all("median selectivity" in name or name.startswith("6.3") for name in outside)


def test_a_pareto_distribution_has_its_shape() -> None:
    values = 3.0 * (1.0 - np.random.default_rng(0).random(50_000)) ** (-1.0 / 1.3)
    assert ghit2017_figure6.hill(values, 0.1) == pytest.approx(1.3, rel=0.03)


def test_waste_is_the_work_that_finishes_nothing() -> None:
    trace = generate("google-2011", jobs=200, seed=3, usage=False)
    waste = ghit2017_figure1.wasted(trace)
    once = np.bincount(
        trace.column("tasks", "job")[trace.column("attempts", "task")],
        minlength=trace.rows("jobs"),
    ) == np.bincount(trace.column("tasks", "job"), minlength=trace.rows("jobs"))
    finished = trace.column("jobs", "outcome") == Outcome.FINISH
    assert (waste[once & finished] == 0.0).mean() > 0.9
    assert waste.sum() > 0.0


def test_a_straight_line() -> None:
    slope, straight = line(np.array([1.0, 1.5, 2.0]), (0, 5, 10))
    assert slope == pytest.approx(0.1)
    assert straight == pytest.approx(1.0)
    assert line(np.array([1.0, 1.5, 1.5]), (0, 5, 10))[1] == pytest.approx(0.75)


def test_what_is_outside_says_why() -> None:
    values = np.array([1.0, 1.2])
    assert over_jobs("x", values, band=(1.0, 2.0), why="because").note == ""
    assert over_jobs("x", values, band=(2.0, 3.0), why="because").note == "because"


def test_figure_8_judges_the_curves_it_is_given() -> None:
    """The published ones are within; a step is no line."""
    lost = ghit2017_figure8.LOST
    linear: dict[str, Floats] = {
        policy: 1.0 + np.outer(counts, (0.1, 0.1)) for policy, counts in lost.items()
    }
    flat: dict[str, Floats] = {
        policy: np.ones((len(lost[policy]), 2)) for policy in ("GREEDY", "AWARE")
    }
    linear["SIZE"] = 1.0 + np.outer(lost["SIZE"], (0.02, 0.02))
    rows = ghit2017_figure8.claims("NMSQ", linear | flat, lost)
    assert {row.verdict for row in rows} == {"within", "fitted", ""}
    assert {row.name[6:] for row in rows if row.verdict == "fitted"} == {
        "Spark: R2 of the line",
        "GREEDY: most times as long",
    }
    counts = np.outer(lost["Spark"], (1.0, 1.0))
    step = 1.0 + 0.5 * (counts > 0.0) + 0.02 * counts
    bent = ghit2017_figure8.claims("NMSQ", linear | flat | {"Spark": step}, lost)
    assert bent[0].verdict == "outside"
    assert bent[0].note


def test_the_order_of_what_is_stored_is_judged() -> None:
    """PANDA, Fig. 7b: 1,800, 1,000, 212 and 190 GB."""
    published = {policy: [size] for policy, size in ghit2017_figure7.STORED.items()}
    rows = ghit2017_figure7.in_order(published)
    assert [row.name[4:-8] for row in rows] == [
        "GREEDY over PERIODIC",
        "PERIODIC over SIZE",
        "SIZE over AWARE",
    ]
    assert {row.verdict for row in rows} == {"within"}
    rows = ghit2017_figure7.in_order(published | {"AWARE": [300.0]})
    assert [row.verdict for row in rows] == ["within", "within", "outside"]
    assert rows[-1].note


def test_fewer_iterations_are_shorter() -> None:
    runs = [jobs_of("PageRank", 1, count).rows("stages") for count in (8, ITERATIONS)]
    assert runs == [2 + 2 * 8, 2 + 2 * 14]
