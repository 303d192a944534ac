"""`UserHistory`: what the last jobs of a user tell of the next."""

from __future__ import annotations

from dataclasses import replace
from statistics import median
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from failgym.predictors.history.job_use import QUANTITIES, Past, past_jobs
from failgym.predictors.history.methods import Method
from failgym.predictors.history.user_history import METHODS, UserHistory, percentage_error
from failgym.sim.reference.scheduled.estimates import Estimator
from failgym.sim.scheduled.rules import ScheduledRules
from failgym.traces import Cause, Meta, Outcome, Trace
from failgym.traces.synthetic import generate
from failgym.vocabulary import MINUTE, SimOutcome

HOUR = 60 * MINUTE


def jobs_of(*jobs: dict[str, Any]) -> Trace:
    """A trace of jobs of one task and one run each; user "a" where nothing else is said."""
    plain = {"user": "a", "name": "x", "queue": "q", "walltime": 100, "width": 1, "memory": None}
    rows: list[dict[str, Any]] = [plain | job for job in jobs]
    numbers = list(range(len(rows)))
    outcome = [row.get("outcome", Outcome.FINISH) for row in rows]
    return Trace.of(
        Meta("by hand"),
        jobs={
            **{name: [row[name] for row in rows] for name in ("user", "name", "queue", "walltime")},
            "original_id": [row.get("id", str(number)) for number, row in enumerate(rows)],
            "submit": [row["submit"] for row in rows],
            "width": 1,
            "outcome": outcome,
        },
        tasks={"job": numbers, "index": [0] * len(rows), "width": [row["width"] for row in rows]},
        attempts={
            "task": numbers,
            "queued": [row["submit"] for row in rows],
            "start": [row["submit"] for row in rows],
            "end": [row["submit"] + row["runs"] for row in rows],
            "outcome": outcome,
            "cause": [row.get("cause") for row in rows],
        },
        windows={
            "attempt": numbers,
            "offset": [0] * len(rows),
            "memory": [row["memory"] for row in rows],
        },
    )


def with_lengths(trace: Trace, length: int, **parameters: Any) -> UserHistory:
    """A predictor fitted to a trace that then looks at so many jobs, whatever the method."""
    fitted = UserHistory(**parameters).fit(trace)
    fitted.lengths_ = np.full_like(fitted.lengths_, length)
    return fitted


def foretold(trace: Trace, method: Method, length: int) -> list[float]:
    """Run times foretold of the jobs of a trace from its own earlier ones."""
    return with_lengths(trace, length).predict(trace, method).runtime.tolist()


THREE = (
    {"submit": 0, "runs": 10},
    {"submit": 20, "runs": 40, "name": "y"},
    {"submit": 70, "runs": 20},
)


def test_the_four_methods_by_hand() -> None:
    trace = jobs_of(*THREE, {"submit": 100, "runs": 7, "name": "y"})
    assert foretold(trace, "last", 3)[1:] == [10, 40, 20]
    assert foretold(trace, "average", 3)[1:] == pytest.approx([10, 25, 70 / 3])
    assert foretold(trace, "median", 3)[1:] == [10, 10, 20]  # the lower of 10 and 40
    assert foretold(trace, "mcs", 3)[1:] == [10, 10, 40]  # the same name
    assert foretold(trace, "mcs", 1)[1:] == [10, 40, 20]
    assert np.isnan(foretold(trace, "last", 1)[0])


def test_a_job_sees_what_ended_by_its_submission() -> None:
    trace = jobs_of(
        {"submit": 0, "runs": 10}, {"submit": 9, "runs": 3}, {"submit": 10, "runs": 5},
        {"submit": 11, "runs": 4}, {"submit": 15, "runs": 1},
    )  # fmt: skip
    # At 15 both the third and the fourth end; of jobs that end together the later row is the later.
    np.testing.assert_equal(foretold(trace, "last", 1), [np.nan, np.nan, 10, 10, 4])


@pytest.mark.parametrize(
    ("fate", "counts"),
    [
        ({"outcome": Outcome.FAIL, "cause": Cause.INTRINSIC}, True),
        ({"outcome": Outcome.KILL, "cause": Cause.WALLTIME}, True),
        ({"outcome": Outcome.KILL, "cause": Cause.USER}, False),
        ({"outcome": Outcome.FAIL, "cause": Cause.MACHINE}, False),
        ({"outcome": Outcome.CENSORED}, False),
        ({"user": "b"}, False),
        ({"user": None}, False),
    ],
)
def test_which_jobs_make_history(fate: dict[str, Any], counts: bool) -> None:
    trace = jobs_of(
        {"submit": 0, "runs": 10}, {"submit": 20, "runs": 30} | fate, {"submit": 60, "runs": 5}
    )
    assert foretold(trace, "last", 1)[2] == (30 if counts else 10)


def test_a_job_without_a_user_has_no_history() -> None:
    trace = jobs_of(*THREE, {"submit": 100, "runs": 9, "user": None})
    assert np.isnan(foretold(trace, "average", 3)[3])


def test_what_is_not_known_is_passed_over() -> None:
    trace = jobs_of(
        {"submit": 0, "runs": 10, "memory": 0.25},
        {"submit": 20, "runs": 10, "memory": None},
        {"submit": 40, "runs": 10, "memory": 0.5},
    )
    use = with_lengths(trace, 1, method="last").predict(trace)
    np.testing.assert_equal(use.memory, [np.nan, 0.25, 0.25])
    assert np.isnan(use.network).all()


def test_a_job_runs_from_the_first_start_to_the_last_end_of_what_settled_its_tasks() -> None:
    trace = Trace.of(
        Meta("by hand"),
        jobs={"original_id": ["a"], "submit": [0], "width": 2, "outcome": Outcome.FINISH},
        tasks={"job": [0, 0], "index": [0, 1], "width": [1, 3]},
        attempts={
            "task": [0, 0, 1],
            "queued": 0,
            "start": [5, 30, 10],
            "end": [20, 70, 110],
            "outcome": [Outcome.FAIL, Outcome.FINISH, Outcome.FINISH],
            "cause": [Cause.MACHINE, None, None],
        },
        windows={
            "attempt": [0, 1, 2, 2],
            "offset": [0, 0, 0, 40],
            "memory": [1.0, 0.5, 0.25, 0.125],
        },
    )
    job = past_jobs(trace)
    assert (job.use.runtime[0], job.end[0], job.width[0]) == (100, 110, 4)
    # Each window stands for the time until the next, the last of an attempt until its end.
    expected = (40 * 0.5 + 40 * 0.25 + 60 * 0.125) / (40 + 40 + 60)
    assert job.use.memory[0] == pytest.approx(expected)


def slowly(job: int, jobs: list[dict[str, Any]], quantity: str, method: str, n: int) -> float:
    """One quantity of one job, from a list of all jobs."""
    own = jobs[job]
    seen = [
        (other["end"], number)
        for number, other in enumerate(jobs)
        if other["user"] == own["user"] != ""
        and 0 <= other["end"] <= own["submit"]
        and not np.isnan(other[quantity])
    ]
    last = [jobs[number] for _, number in sorted(seen)[-n:]]
    used = [other[quantity] for other in last]
    if not used:
        return np.nan
    if method == "average":
        return sum(used) / len(used)
    if method == "median":
        return sorted(used)[(len(used) - 1) // 2]
    if method == "mcs":
        likeness = [cosine(own, other) for other in last]
        return used[max(i for i, x in enumerate(likeness) if x == max(likeness))]
    return used[-1]


def cosine(own: dict[str, Any], other: dict[str, Any]) -> float:
    a = np.array([1, 1, own["width"] / own["widest"], own["walltime"] / own["most"], 1])
    near = 1 / (1 + abs(own["submit"] - other["submit"]) / HOUR)
    same = [float(own[name] == other[name]) for name in ("name", "queue")]
    b = np.array([*same, other["width"] / own["widest"], other["walltime"] / own["most"], near])
    return float(a @ b / np.sqrt(a @ a) / np.sqrt(b @ b))


@pytest.mark.parametrize("method", METHODS)
def test_a_slow_count_agrees(method: Method) -> None:
    trace = generate("system-a", jobs=900, seed=4)
    known = past_jobs(trace)
    columns = known.columns()
    sizes = {"widest": known.width.max(), "most": known.walltime.max()}
    jobs = [
        {name: column[row] for name, column in columns.items()} | sizes
        for row in range(trace.rows("jobs"))
    ]
    use = with_lengths(trace, 5).predict(trace, method)
    rows = np.random.default_rng(0).choice(len(jobs), 120, replace=False)
    for quantity in QUANTITIES:
        expected = [slowly(row, jobs, quantity, method, 5) for row in rows]
        np.testing.assert_allclose(use.of(quantity)[rows], expected, rtol=1e-12)
    assert np.mean(~np.isnan(use.runtime[rows])) > 0.3


@pytest.mark.parametrize("method", METHODS)
def test_easy_backfilling_estimates_by_the_same_rules(method: Method) -> None:
    trace = generate("system-a", jobs=500, seed=5, usage=False)
    jobs = past_jobs(trace)
    records = [
        SimpleNamespace(user=user, name=name, queue=queue, walltime=int(walltime))
        for user, name, queue, walltime in zip(
            jobs.user, jobs.name, jobs.queue, jobs.walltime, strict=True
        )
    ]
    rules: Any = ScheduledRules(scheduler="easy_backfill", estimator=method, history=7)
    estimator = Estimator(rules, records, jobs.submit.tolist(), int(jobs.width.max()))  # type: ignore[arg-type]
    expected = with_lengths(trace, 1 if method == "last" else 7).predict(trace, method).runtime
    ended = [row for row in np.lexsort((jobs.end, jobs.end < 0)) if jobs.end[row] >= 0]
    compared = 0
    for row in range(len(records)):
        while ended and jobs.end[ended[0]] <= jobs.submit[row]:
            estimator.note_end(attempt_of(jobs, ended.pop(0)))
        if not np.isnan(expected[row]):
            guess = max(min(int(expected[row]), records[row].walltime), 1)
            assert estimator.estimate(attempt_of(jobs, row), int(jobs.submit[row])) == guess
            compared += 1
    assert compared > 100


def attempt_of(jobs: Past, row: int) -> Any:
    """The run of a job of one task, as far as the reference's estimator looks at it."""
    record = SimpleNamespace(job=row, task=row, width=int(jobs.width[row]))
    runtime, end = jobs.use.runtime[row], int(jobs.end[row])
    return SimpleNamespace(
        task=SimpleNamespace(record=record),
        truth=_unknown,
        outcome=SimOutcome.FINISH,
        hit_walltime=False,
        start=end if np.isnan(runtime) else end - int(runtime),
        end=end,
    )


def _unknown(now: int, restore_cost: int) -> int:
    """Nothing is estimated by the truth."""
    del now, restore_cost
    return 0


def test_the_lengths_are_those_with_the_least_error_in_training() -> None:
    trace = generate("system-a", jobs=700, seed=6)
    fitted = UserHistory(longest=5).fit(trace)
    actual = past_jobs(trace).use
    for row, method in enumerate(METHODS):
        errors = [with_lengths(trace, n, longest=5).predict(trace, method) for n in range(1, 6)]
        for column, quantity in enumerate(QUANTITIES):
            by_length = [percentage_error(actual.of(quantity), use.of(quantity)) for use in errors]
            assert fitted.lengths_[row, column] == 1 + int(np.argmin(by_length))


def test_errors_by_length_hold_those_at_the_lengths_chosen() -> None:
    trace = generate("system-a", jobs=1_500, seed=4)
    fitted = UserHistory(longest=4).fit(trace.split("train"))
    late = trace.split("test")
    by_length, errors = fitted.errors_by_length(late), fitted.errors(late)
    assert by_length.shape == (4, len(METHODS), len(QUANTITIES))
    for place in np.ndindex(errors.shape):
        assert by_length[(fitted.lengths_[place] - 1, *place)] == errors[place]
    assert (by_length[0] == by_length[3]).all(axis=1).tolist() == [True, False, False, False]


def test_the_error_is_the_median_absolute_percentage_error() -> None:
    actual, guess = [10.0, 20.0, 0.0, np.nan, 40.0, 5.0], [11.0, 10.0, 1.0, 3.0, 40.0, np.nan]
    assert percentage_error(actual, guess) == pytest.approx(median([10.0, 50.0, 0.0]))
    assert np.isnan(percentage_error([0.0], [1.0]))


@pytest.mark.parametrize("seed", [0, 1])
def test_run_times_are_foretold_as_well_as_published_and_in_that_order(seed: int) -> None:
    """Kumar et al., Table VI: median 13.3 %, MCS 14.5 %, last and average 16.7 %."""
    trace = generate("system-a", jobs=15_000, seed=seed)
    fitted = UserHistory().fit(trace.split("train"))
    errors = fitted.errors(trace.split("test"))[:, QUANTITIES.index("runtime")]
    last, average, middle, similar = errors
    assert max(middle, similar) < last == average
    assert 11.0 < middle < 15.0
    assert 14.0 < last < 18.5
    assert fitted.lengths_[METHODS.index("average"), QUANTITIES.index("runtime")] == 1


def test_usage_is_foretold_better_from_several_jobs() -> None:
    """Table VI: the medians of all four are below the last; memory is foretold best."""
    trace = generate("system-a", jobs=15_000, seed=0)
    errors = UserHistory().fit(trace.split("train")).errors(trace.split("test"))
    last, middle = errors[METHODS.index("last")], errors[METHODS.index("median")]
    assert np.all(middle < last)
    published = np.array([3.0, 31.9, 31.8, 17.7])
    np.testing.assert_allclose(last[:4], published, rtol=0.15)


def test_jobs_of_the_fitted_trace_are_history() -> None:
    trace = generate("system-a", jobs=2_000, seed=8)
    test = trace.split("test")
    use = with_lengths(trace.split("train"), 3).predict(test)
    alone = with_lengths(test, 3).predict(test)
    assert np.sum(np.isnan(use.runtime)) < 0.6 * np.sum(np.isnan(alone.runtime))
    # What was known at the boundary and what the test split tells make up the whole trace, but for
    # jobs that were cut there.
    whole = with_lengths(trace, 3).predict(trace).runtime[-len(use.runtime) :]
    assert np.mean((whole == use.runtime) | (np.isnan(whole) & np.isnan(use.runtime))) > 0.9


def test_a_job_that_was_fitted_and_is_predicted_counts_once() -> None:
    trace = jobs_of(*THREE, {"submit": 100, "runs": 7})
    np.testing.assert_equal(foretold(trace, "average", 2), [np.nan, 10, 25, 30])


@pytest.mark.parametrize("share", [0.5, 0.8])
@pytest.mark.parametrize("method", METHODS)
def test_nothing_later_is_read(method: Method, share: float) -> None:
    """The trace as it was known at a boundary foretells the same of the jobs submitted by then."""
    trace = generate("system-a", jobs=2_000, seed=9)
    past, future = trace.split("train", 0.3), trace.split("test", 0.3)
    fitted = with_lengths(past, 6, method=method)
    early = fitted.predict(future.split("train", share))
    whole = fitted.predict(future)
    for quantity in QUANTITIES:
        column = early.of(quantity)
        np.testing.assert_array_equal(column, whole.of(quantity)[: len(column)])


def test_what_was_learned_is_plain_and_predicts_the_same() -> None:
    trace = generate("system-a", jobs=1_500, seed=1)
    train, test = trace.split("train"), trace.split("test")
    fitted = UserHistory(method="median").fit(train)
    arrays = fitted.arrays()
    assert {array.dtype.kind for array in arrays.values()} == {"U", "i", "f"}
    restored = UserHistory(method="median").restore(arrays)
    for quantity in QUANTITIES:
        np.testing.assert_array_equal(
            fitted.predict(test).of(quantity), restored.predict(test).of(quantity)
        )
    np.testing.assert_array_equal(fitted.errors(test), restored.errors(test))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lengths": None}, "array 'lengths'"),
        ({"lengths": np.ones((2, 2))}, "array 'lengths'"),
        ({"lengths": np.full((4, 5), 21)}, "history lengths of 1 to 20"),
        ({"norms": np.ones(3)}, "array 'norms'"),
        ({"past/user": None}, "column 'user' is missing"),
        ({"past/user": np.arange(3)}, "column 'user'"),
        ({"past/end": np.arange(4)}, "value per job"),
    ],
)
def test_a_state_that_does_not_fit_is_refused(change: dict[str, Any], message: str) -> None:
    arrays = dict(UserHistory().fit(jobs_of(*THREE)).arrays()) | change
    with pytest.raises(ValueError, match=message):
        UserHistory().restore({key: value for key, value in arrays.items() if value is not None})


def test_bad_parameters_and_traces_are_refused() -> None:
    with pytest.raises(ValueError, match="method: expected one of last, average, median, mcs"):
        UserHistory(method="mean")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="longest: expected at least 1"):
        UserHistory(longest=0)
    with pytest.raises(ValueError, match="UserHistory: fit it first"):
        UserHistory().predict(jobs_of(*THREE))
    with pytest.raises(ValueError, match="UserHistory: fit it first"):
        UserHistory().arrays()
    with pytest.raises(ValueError, match="nothing to learn from"):
        UserHistory().fit(jobs_of({"submit": 0, "runs": 3}))
    empty = replace(Meta("empty"))
    with pytest.raises(ValueError, match="nothing to learn from"):
        UserHistory().fit(Trace(empty))
