"""`compare`: what two traces have in common, beside other ways of counting it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from failgym.cli import run
from failgym.comparison import Comparison, compare
from failgym.comparison.apart import told_apart
from failgym.comparison.jobs import JOB, TASK, jobs_of, tasks_of
from failgym.comparison.policies import Ranked, kendall
from failgym.comparison.prediction import predictability
from failgym.comparison.recurrence import recurrence
from failgym.comparison.resampling import RESAMPLES, Measured, area, blocks, measured
from failgym.traces import Outcome, Trace, TraceError, generate, twin
from tests.traces.recurring import recurring

APART = "told apart: jobs by 13 features"
LAG = "successive jobs of one name: log run time"


@pytest.fixture(scope="module")
def record() -> Trace:
    return recurring(1_500)


@pytest.fixture(scope="module")
def found(record: Trace) -> Comparison:
    return compare(
        record, record, twin(record, seed=1, part="all"), generate("google-2011", jobs=900)
    )


def test_a_trace_is_not_told_apart_from_itself(found: Comparison) -> None:
    same, like, other = found.row(APART).others
    assert same.value < 0.55
    assert like.value < 0.75
    assert other.value > 0.95


def test_each_trace_is_measured_alike(found: Comparison) -> None:
    for row in found.rows:
        if not row.what.startswith("told apart"):
            np.testing.assert_equal(row.reference, row.others[0])


def test_intervals_hold_their_values(found: Comparison) -> None:
    values = [one for row in found.rows for one in (row.reference, *row.others)]
    known = [one for one in values if not np.isnan(one.low)]
    assert len(known) > 30
    assert all(one.low <= one.value <= one.high for one in known)


def test_what_recurs_is_seen(found: Comparison) -> None:
    row = found.row(LAG)
    assert row.reference.value > 0.9
    assert row.others[1].value > 0.9
    assert np.isnan(row.others[2].value)  # there are no names
    assert abs(found.row("successive jobs of a user: log run time").others[2].value) < 0.2


def test_a_correlation_is_that_of_pandas(record: Trace, found: Comparison) -> None:
    jobs = jobs_of(record, tasks_of(record)).iloc[: found.jobs]
    jobs = jobs[jobs["open"] < 0.5]
    before = jobs.groupby("name")["log_run"].shift(1)
    assert found.row(LAG).reference.value == pytest.approx(jobs["log_run"].corr(before))


@pytest.mark.parametrize("seed", range(4))
def test_an_area_is_that_of_scikit_learn(seed: int) -> None:
    rng = np.random.Generator(np.random.PCG64(seed))
    label = rng.random(300) < 0.3
    score = np.round(rng.random(300) + 0.4 * label, 1)  # with ties
    weight = rng.random(300)
    got = area(label, score, weight, blocks(300))
    assert got.value == pytest.approx(roc_auc_score(label, score, sample_weight=weight))


def test_intervals_of_areas_are_those_of_resampled_rows() -> None:
    rng = np.random.Generator(np.random.PCG64(9))
    label = rng.random(400) < 0.5
    score, weight = rng.random(400) + 0.3 * label, np.ones(400)

    def slow(drawn: Any) -> float:
        return float(roc_auc_score(label, score, sample_weight=drawn * weight))

    block = blocks(400)
    assert area(label, score, weight, block) == pytest.approx(measured(block, slow))


def test_intervals_cover() -> None:
    """Of means of rows whose blocks differ: 95 % of intervals hold the truth, about."""
    rng = np.random.Generator(np.random.PCG64(2))
    held = 0
    for _ in range(200):
        block = blocks(200)
        values = rng.standard_normal(20)[block] + rng.standard_normal(200)
        got = measured(block, lambda weight, v=values: float(weight @ v / weight.sum()))
        held += got.low <= 0.0 <= got.high
    assert 175 <= held <= 198


def test_ranks_that_agree_and_ranks_that_do_not() -> None:
    def ranked(*scores: float) -> Ranked:
        named = {str(at): Measured(score, score, score) for at, score in enumerate(scores)}
        return Ranked(
            named, {name: np.full(RESAMPLES, one.value) for name, one in named.items()}, 9
        )

    assert kendall(ranked(1, 2, 3, 4), ranked(10, 20, 30, 40)).value == pytest.approx(1.0)
    assert kendall(ranked(1, 2, 3, 4), ranked(4, 3, 2, 1)) == pytest.approx((-1.0, -1.0, -1.0))
    assert kendall(ranked(1, 2, 3, 4), ranked(2, 1, 3, 4)).value == pytest.approx(4 / 6)
    assert np.isnan(kendall(ranked(1, 2), ranked(1, 2)).value)


def test_too_few_jobs_say_nothing(record: Trace) -> None:
    with pytest.raises(TraceError, match="20 jobs came after its data began, expected at least"):
        compare(record, recurring(20))


@pytest.fixture(scope="module")
def folders(record: Trace, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    made = tmp_path_factory.mktemp("traces")
    recurring(400).save(made / "record")
    assert run(["trace", "twin", str(made / "record"), "--out", str(made / "twin"), "--whole"]) == 0
    return [str(made / "record"), str(made / "twin")]


def test_the_command_makes_the_twin_that_python_makes(folders: list[str]) -> None:
    record, made = (Trace.load(folder) for folder in folders)
    assert made.content_hash == twin(record, part="all").content_hash


def test_the_command_compares_and_ranks(
    folders: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, picture = tmp_path / "found.json", tmp_path / "found.svg"
    more = ["--policies", "failgym/GracePeriod-v1", "--episodes", "6"]
    written = ["--json", str(file), "--plot", str(picture)]
    assert run(["trace", "compare", *folders, *more, *written]) == 0
    text = capsys.readouterr().out
    assert "A: by rule" in text
    assert "B: twin of by rule" in text
    rows = {row["what"]: row["values"] for row in json.loads(file.read_text("utf-8"))["rows"]}
    [told] = [row for row in rows if "Kendall's tau" in row]
    assert -1.0 <= rows[told][1][0] <= 1.0
    assert rows["failgym/GracePeriod-v1: score of immediate_kill"][0][0] is not None
    assert picture.read_text("utf-8").startswith("<?xml")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["twin", "{0}", "--out", "{2}", "--jobs", "0"], "jobs is 0, expected at least 1"),
        (["twin", "{0}", "--out", "{2}", "--private", "0"], "private is 0, expected at least 1"),
        (["compare", "{0}", "{2}"], "no such folder: expected a saved trace"),
        (["compare", "{0}", "{1}", "--plot", "{2}/a.svg"], "no such folder"),
        (["compare", "{0}", "{1}", "--plot", "{2}.bmp"], "expected a file that ends in .png"),
        (["compare", "{0}", "{1}", "--policies", "Nowhere-v0"], "Nowhere-v0"),
        (["compare", "{0}", "{1}", "--json", "{2}.svg", "--plot", "{2}.svg"], "of --json"),
    ],
)
def test_bad_input_is_one_line(
    folders: list[str],
    tmp_path: Path,
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    places = [*folders, str(tmp_path / "nothing")]
    assert run(["trace", *(one.format(*places) for one in arguments)]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert len(said.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"seed": -1}, "seed is -1, expected at least 0"),
        ({"seed": 2**32}, "expected at least 0 and below 4294967296"),
        ({"predictors": ["oracle"]}, "predictors: expected one of .*, got 'oracle'"),
        ({"environments": ["Nowhere-v0"]}, "Nowhere-v0"),
    ],
)
def test_what_is_unknown_is_refused_before_anything_is_measured(
    asked: dict[str, Any], message: str
) -> None:
    done: list[str] = []
    record = generate("google-2011", jobs=200)
    with pytest.raises(ValueError, match=message):
        compare(record, record, advance=done.append, **asked)
    assert done == []


def test_intervals_hold_the_truth_where_jobs_hang_together() -> None:
    """Of a mean of jobs, 30 of which that follow each other have something in common."""
    rng, trials, held = np.random.default_rng(3), 400, 0
    for _ in range(trials):
        jobs = np.repeat(rng.standard_normal(100), 30) + rng.standard_normal(3_000)
        of = blocks(len(jobs))
        found = measured(of, lambda weight, jobs=jobs: float(weight @ jobs / weight.sum()))
        held += found.low <= 0.0 <= found.high
    assert 0.92 <= held / trials <= 0.98


def test_an_interval_ends_where_numbers_do() -> None:
    label = np.tile([True, False], 400)
    score = label + np.where(np.arange(800) == 777, 2.0, 0.0)
    found = area(label, score, np.ones(800), blocks(800))
    assert found.low < found.value <= found.high == 1.0
    assert np.isnan(measured(np.zeros(9, dtype=np.int64), np.mean).low)


def test_our_own_predictors_are_fitted_on_the_past_of_each_trace() -> None:
    from sklearn.metrics import roc_auc_score

    from failgym.predictors import LEARNED, GradientBoosting
    from failgym.predictors.base import task_classes
    from failgym.vocabulary import Outcome

    traces = [generate("google-2011-applications", jobs=600, seed=seed) for seed in (1, 2)]
    found = compare(*traces, predictors=["gradient_boosting"])
    values = found.row("end of a task, told by gradient_boosting: by task")
    for trace, one in zip(traces, (values.reference, *values.others), strict=True):
        future = trace.split("test")
        said = GradientBoosting().fit(trace.split("train")).predict(future).confidence[:, 0]
        known = future.task_outcome != Outcome.CENSORED
        expected = roc_auc_score((task_classes(future) == 0)[known], said[known])
        assert one.value == pytest.approx(expected)
        assert one.low < one.value < one.high
    with pytest.raises(ValueError, match=f"predictors: expected one of {', '.join(LEARNED)}, got"):
        compare(*traces, predictors=["oracle"])


def test_tasks_are_not_told_apart_by_their_jobs() -> None:
    """Tasks of one job are alike: trees that saw some of them would know the others' trace."""
    traces: list[dict[str, Any]] = []
    for seed in (1, 2):
        rng, jobs = np.random.default_rng(seed), 100
        rows = pd.DataFrame({name: rng.standard_normal(jobs) for name in (*JOB, *TASK, "wait")})
        rows["finished"], rows["number"], rows["outcome"] = 1.0, 0.0, 0.0
        rows["job"] = rows["submit"] = np.arange(jobs)
        wide = rows.loc[np.repeat(np.arange(jobs), 10)].reset_index(drop=True)
        traces.append({"jobs": rows.drop(columns="job"), "tasks": wide, "attempts": wide})
    found = told_apart(traces[0], traces[1])
    assert len(found) == 5
    assert all(one.low <= 0.5 <= one.high for one in found.values())


def test_what_tells_nobody_apart_tells_nothing(record: Trace) -> None:
    """Without users and names, and with one request for all, .5 would be no measurement."""
    tasks = tasks_of(record)
    alike = tasks.assign(user=np.nan, name=np.nan, cpu=0.5, memory=0.5, disk=0.5)
    alike = alike.assign(priority=1, scheduling_class=1, tasks=1.0)
    told = predictability(alike)
    assert all(np.isnan(one.value) for one in told.values())


def test_what_hangs_is_counted_job_by_job() -> None:
    """How much longer unfinished tasks ran than their siblings, and what is lost in whole jobs."""
    trace = generate("google-2011-applications-narrow", jobs=600, seed=2, usage=False)
    jobs = jobs_of(trace, tasks_of(trace))
    found = recurrence(jobs)
    task, job = trace.column("attempts", "task"), trace.column("tasks", "job")
    start, end = trace.column("attempts", "start"), trace.column("attempts", "end")
    ran = [0] * len(job)
    for i, of in enumerate(task):
        ran[of] += int(end[i] - start[i]) if start[i] >= 0 else 0
    ratios, lost, hopeless = list[float](), 0, 0
    for one in range(trace.rows("jobs")):
        ends = [(int(trace.task_outcome[i]), ran[i]) for i in np.flatnonzero(job == one)]
        if any(outcome == Outcome.CENSORED for outcome, _ in ends):
            continue
        good = [time for outcome, time in ends if outcome == Outcome.FINISH]
        bad = [time for outcome, time in ends if outcome != Outcome.FINISH]
        lost += sum(bad)
        if bad and good:
            ratios.append(float(np.median(bad) / np.median(good)))
        elif bad:
            hopeless += sum(bad)
    upper = found["unfinished tasks: run time over finished ones of their job (upper decile)"]
    share = found["machine-time of unfinished tasks: share in jobs that finish none"]
    assert len(ratios) > 30
    assert upper.value == sorted(ratios)[math.ceil(0.9 * len(ratios)) - 1]
    assert share.value == pytest.approx(hopeless / lost)
    assert 0.0 <= share.low <= share.value <= share.high <= 1.0
