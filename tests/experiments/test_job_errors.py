"""Shares of errors that are jobs', and what is told within jobs, come out as they were drawn."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm
from typer import Typer
from typer.testing import CliRunner

from experiments import job_errors
from experiments.job_errors import (
    NUMBERS,
    SCORES,
    Scored,
    across_jobs,
    correlation,
    job_share,
    rows_in,
    scored,
    within_jobs,
)
from experiments.result_tables.information import errors_of_jobs
from failgym.predictors import Perfect
from failgym.traces import Outcome, generate

JOBS = 1_500


@pytest.mark.parametrize("share", [0.0, 0.5, 0.9, 1.0])
def test_the_share_that_was_drawn_is_found(share: float) -> None:
    """Of jobs of many sizes; a score is a rank, whatever its scale."""
    rng = np.random.default_rng(3)
    job = np.sort(rng.integers(0, JOBS, 4 * JOBS))
    job[: 3 * JOBS // 2] = 0  # a large one does not count for more
    alike, alone = rng.random(JOBS)[job], rng.random(len(job))
    latent = np.where(rng.random(len(job)) < share, alike, alone)
    found = job_share(np.exp(9.0 * latent), job)
    assert found.value == pytest.approx(share, abs=0.2 if share == 0.0 else 0.04)
    assert found.low - 1e-9 <= share <= found.high + 1e-9
    assert correlation(latent, job).value == pytest.approx(found.value**2, abs=0.03)


def test_jobs_of_one_task_say_nothing() -> None:
    assert np.isnan(job_share(np.arange(9.0), np.arange(9)).value)
    assert np.isnan(job_share(np.ones(20), np.arange(20) // 2).value), "all alike"


def test_what_a_job_has_in_common_tells_nothing_within_it() -> None:
    """Normal scores that lie d apart have an area of Phi(d / sqrt 2), in a job and outside."""
    rng = np.random.default_rng(4)
    job = np.repeat(np.arange(JOBS), 6)
    bad = rng.random(len(job)) < 0.4
    noise, of_job = rng.normal(size=len(job)), rng.normal(size=JOBS)[job]
    whole = Scored(job, bad, bad + noise)
    expected = float(norm.cdf(1.0 / np.sqrt(2.0)))
    assert within_jobs(whole).value == pytest.approx(expected, abs=0.02)
    assert across_jobs(whole).value == pytest.approx(expected, abs=0.02)
    mixed = Scored(job, bad, bad + noise + 3.0 * of_job)
    assert within_jobs(mixed).value == pytest.approx(expected, abs=0.02)
    assert across_jobs(mixed).value == pytest.approx(norm.cdf(1.0 / np.sqrt(20.0)), abs=0.03)
    same = Scored(job, bad, of_job)
    assert within_jobs(same) == pytest.approx((0.5, 0.5, 0.5))


def test_perfect_risks_are_right_within_jobs() -> None:
    trace = generate("google-2011-failing", jobs=300, seed=1)
    forecast = Perfect().fit(trace).predict(trace)
    for number, score in product(range(2), SCORES):
        found = scored(trace, forecast, score, number)
        assert within_jobs(found) == pytest.approx((1.0, 1.0, 1.0))
        assert across_jobs(found) == pytest.approx((1.0, 1.0, 1.0))


def test_first_attempts_are_those_of_the_record() -> None:
    trace = generate("google-2011-failing", jobs=300, seed=1)
    found = scored(trace, Perfect().fit(trace).predict(trace), SCORES[0], 0)
    ran = trace.present("attempts", "start")
    task, outcome = (trace.column("attempts", name)[ran] for name in ("task", "outcome"))
    first = outcome[np.unique(task, return_index=True)[1]]
    assert found.bad.sum() == (first == Outcome.FAIL).sum()
    assert len(found.job) == (first != Outcome.CENSORED).sum()


def test_the_command_writes_what_the_page_shows(tmp_path: Path) -> None:
    app = Typer()
    app.command()(job_errors.main)
    file = tmp_path / "errors.json"
    words = ["--profile", "google-2011-failing", "--jobs", "300", "--seeds", "2"]
    found = CliRunner().invoke(app, [*words, "--json", str(file)])
    assert found.exit_code == 0, found.output
    content = json.loads(file.read_text())
    rows = rows_in(content)
    keys = [(row.forecast, row.attempt, row.score) for row in rows]
    assert keys == list(product(("learned", "drawn"), NUMBERS, SCORES))
    lines = errors_of_jobs(content).splitlines()
    assert len(lines) == 2 + len(rows)
    assert f"{rows[0].share_failing.value:.2f} [" in lines[2]
