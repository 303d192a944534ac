"""Applications that recur in google-2011: margins hold, and jobs resemble those before."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from failgym.traces import Outcome, Trace, TraceError, generate
from failgym.traces.synthetic import PROFILES, RECURRING, RECURRING_NARROW, Google2011
from failgym.traces.synthetic.recurrence import Rhythm, alike, mixed, runs, systematic
from failgym.vocabulary import HOUR
from tests.traces.synthetic.measures import (
    Flags,
    Floats,
    Measures,
    run_times,
    success_by_past_failures,
)

SEEDS = range(3)
SHARE = 0.01  # tolerance of a share


@pytest.fixture(scope="module")
def traces() -> list[Trace]:
    """At a fifth of the rate, so that the end of the data cuts off little of the longest jobs."""
    sparse = replace(RECURRING, sampling=RECURRING.sampling / 5)
    return [generate(sparse, jobs=6_000, seed=seed, usage=False) for seed in SEEDS]


@pytest.fixture(scope="module")
def measured(traces: list[Trace]) -> list[Measures]:
    return [Measures.of(trace) for trace in traces]


@pytest.fixture(scope="module")
def narrow() -> list[Measures]:
    """Enough jobs that those of one application decide little."""
    made = [generate(RECURRING_NARROW, jobs=20_000, seed=seed, usage=False) for seed in SEEDS]
    return [Measures.of(trace) for trace in made]


@pytest.fixture(scope="module")
def dense() -> Trace:
    """As many jobs in as many hours as the record has."""
    return generate(
        replace(RECURRING, sampling=1.0, jobs_per_hour=1_063.0), jobs=13_500, usage=False
    )


def batch(trace: Trace) -> Flags:
    priority = trace.column("jobs", "priority")
    return (priority >= 2) & (priority <= 8)


def per_job(trace: Trace, values: Floats) -> Floats:
    """The value of the last task of each job."""
    result = np.zeros(trace.rows("jobs"))
    result[trace.column("tasks", "job")] = values
    return result


def before(trace: Trace, column: str, values: Floats) -> float:
    """Correlation of the jobs of one user, or one name, with the one before, of known outcome."""
    known = np.flatnonzero(trace.column("jobs", "outcome") != Outcome.CENSORED)
    who = np.unique(np.asarray(trace.jobs[column])[known], return_inverse=True)[1]
    order = known[np.argsort(who, kind="stable")]
    same = np.diff(np.sort(who)) == 0
    return float(np.corrcoef(values[order][1:][same], values[order][:-1][same])[0, 1])


def memory_before(trace: Trace) -> float:
    """Correlation of the largest use of memory, over request, with the name's job before."""
    task = trace.column("attempts", "task")[trace.column("windows", "attempt")]
    asked = trace.column("tasks", "memory")[task]
    peak = np.zeros(trace.rows("jobs"))
    job = trace.column("tasks", "job")[task]
    used = trace.column("windows", "max_memory") / np.maximum(asked, 1e-9)
    np.maximum.at(peak, job[asked > 0], used[asked > 0])
    known = peak > 0
    name = np.asarray(trace.jobs["name"])[known]
    order = np.argsort(name, kind="stable")
    same = name[order][1:] == name[order][:-1]
    values = peak[known][order]
    return float(np.corrcoef(values[1:][same], values[:-1][same])[0, 1])


class TestMargins:
    """What the papers say of batch jobs holds of those of batch priorities."""

    def test_outcomes_and_widths(self, traces: list[Trace], measured: list[Measures]) -> None:
        published = np.array(RECURRING.job_shares) / sum(RECURRING.job_shares)
        for trace, g in zip(traces, measured, strict=True):
            here = batch(trace) & (g.job_outcome != Outcome.CENSORED)
            multi = trace.column("jobs", "width")[here] > 1
            shares = np.bincount(g.job_outcome[here], minlength=3)[:3] / here.sum()
            assert shares == pytest.approx(published, abs=SHARE)
            assert multi.mean() == pytest.approx(RECURRING.multi_share, abs=SHARE)
            killed = g.job_outcome[here][multi] == Outcome.KILL
            assert killed.mean() == pytest.approx(RECURRING.multi_killed, abs=SHARE)

    @pytest.mark.parametrize("outcome", [Outcome.FINISH, Outcome.KILL])
    def test_task_minutes(
        self, traces: list[Trace], measured: list[Measures], outcome: Outcome
    ) -> None:
        minutes = np.concatenate(
            [
                g.job_minutes[batch(trace) & (g.job_outcome == outcome)]
                for trace, g in zip(traces, measured, strict=True)
            ]
        )
        for q, published in RECURRING.task_minutes[outcome].points:
            tolerance = 0.3 if q == 0.99 else 0.1
            assert np.quantile(minutes, q) == pytest.approx(published, rel=tolerance), q

    @pytest.mark.parametrize("multi", [False, True])
    def test_chance_of_success_by_past_failures(
        self, traces: list[Trace], measured: list[Measures], multi: bool
    ) -> None:
        published = RECURRING.success_multi if multi else RECURRING.success_single
        jobs = [(trace.column("jobs", "width") > 1) == multi for trace in traces]
        success = success_by_past_failures(measured, jobs)
        assert success[:3] == pytest.approx(published, abs=2 * SHARE)
        assert not success[3:].any()

    def test_failures_of_failures(self, measured: list[Measures]) -> None:
        """A quarter of the tasks of unsuccessful jobs do not finish."""
        unfinished = []
        for g in measured:
            known = g.task_outcome != Outcome.CENSORED
            bad = known & (g.task_outcome != Outcome.FINISH)
            assert bad.sum() / known.sum() < 0.26
            of_bad = np.isin(g.job_outcome, (Outcome.FAIL, Outcome.KILL))[g.task_job]
            unfinished.append((g.task_outcome[of_bad] != Outcome.FINISH).mean())
        assert np.mean(unfinished) == pytest.approx(0.25, abs=2 * SHARE)

    def test_time_of_tasks_that_do_not_finish(self, narrow: list[Measures]) -> None:
        """As the law says, where no job holds much of it."""
        law = RECURRING_NARROW.kills
        for g in narrow:
            known = g.task_outcome != Outcome.CENSORED
            bad = known & (g.task_outcome != Outcome.FINISH)
            lost = g.task_time[bad].sum() / g.task_time[known].sum()
            assert lost == pytest.approx(law.lost_time, abs=2 * SHARE)

    def test_killed_tasks_are_not_told_by_how_long_they_run(self, narrow: list[Measures]) -> None:
        """Those of a job of which some finish ran about as long, as the record's."""
        for g in narrow:
            rows = pd.DataFrame({"job": g.task_job, "time": g.task_time, "end": g.task_outcome})
            rows = rows[rows.time > 0]
            killed, finished = (
                rows[rows.end == end].groupby("job").time.median()
                for end in (Outcome.KILL, Outcome.FINISH)
            )
            ratio = (killed / finished).dropna()
            assert ratio.quantile([0.25, 0.5, 0.75, 0.9]).to_list() == pytest.approx(
                [1.01, 1.04, 1.24, 2.14], rel=0.1
            )

    def test_what_is_lost_is_lost_in_whole_jobs(self, narrow: list[Measures]) -> None:
        """The longest killed jobs, per task: none of their tasks finishes."""
        for g in narrow:
            jobs = len(g.job_outcome)
            done = np.bincount(g.task_job, g.task_outcome == Outcome.FINISH, jobs)
            killed = g.task_outcome == Outcome.KILL
            whole = killed & (done[g.task_job] == 0)
            assert g.task_time[whole].sum() / g.task_time[killed].sum() > 0.8
            assert 0.3 < whole.sum() / killed.sum() < 0.8


class TestRecurrence:
    """What the part of the record has that the profile was not learned from, within .15."""

    def test_jobs_resemble_the_one_before(self, dense: Trace) -> None:
        run = run_times(dense).astype(np.float64)
        total = np.bincount(dense.column("attempts", "task"), run, dense.rows("tasks"))
        job, jobs = dense.column("tasks", "job"), dense.rows("jobs")
        mean = np.bincount(job, total, jobs) / np.bincount(job, minlength=jobs)
        finish = (dense.column("jobs", "outcome") == Outcome.FINISH).astype(np.float64)
        values = {
            "finish": finish,
            "time": np.log1p(mean / 60_000.0),
            "tasks": np.log(np.bincount(job, minlength=jobs)),
            "cpu": per_job(dense, dense.column("tasks", "cpu").astype(np.float64)),
        }
        by_user = {name: before(dense, "user", each) for name, each in values.items()}
        by_name = {name: before(dense, "name", each) for name, each in values.items()}
        record = {"finish": (0.43, 0.92), "time": (0.80, 0.91), "tasks": (0.14, 0.98)}
        for name, (of_user, of_name) in (record | {"cpu": (0.65, 1.00)}).items():
            assert by_user[name] == pytest.approx(of_user, abs=0.15), name
            assert by_name[name] == pytest.approx(of_name, abs=0.15), name

    def test_a_thinner_trace_recurs_likewise(self, dense: Trace, traces: list[Trace]) -> None:
        """Campaigns of a trace with fewer jobs an hour last longer."""
        for trace in (dense, traces[0]):
            tasks = np.log(np.bincount(trace.column("tasks", "job"), minlength=trace.rows("jobs")))
            assert before(trace, "user", tasks) == pytest.approx(0.14, abs=0.15)

    def test_wide_jobs_come_in_turn(self, dense: Trace) -> None:
        """Jobs of one task and of several alternate as often as by chance (record: 1.04)."""
        wide = np.bincount(dense.column("tasks", "job"), minlength=dense.rows("jobs")) > 1
        user = np.unique(np.asarray(dense.jobs["user"]), return_inverse=True)[1]
        changes, by_chance = 0.0, 0.0
        for number in range(user.max() + 1):
            own = wide[user == number]
            changes += np.sum(own[1:] != own[:-1])
            by_chance += 2 * own.mean() * (1 - own.mean()) * (len(own) - 1)
        assert changes / by_chance == pytest.approx(1.04, abs=0.1)

    def test_applications_request_as_long_ones_do(self, dense: Trace) -> None:
        """Of tasks that do not finish, longer ones request more cpu, memory and disk."""
        g = Measures.of(dense)
        unfinished = (g.task_outcome != Outcome.FINISH) & (g.task_outcome != Outcome.CENSORED)
        for name in ("cpu", "memory", "disk"):
            asked = dense.column("tasks", name)
            here = unfinished & (g.task_time > 0) & (asked > 0)
            covariance = np.cov(np.log(asked[here]), np.log(g.task_time[here]))[0, 1]
            assert 0.0 < covariance < 2.0, name

    def test_usage_is_a_habit(self) -> None:
        """Successive jobs of a name use as much of their request; without the habit they do not."""
        law = RECURRING.applications
        assert law is not None
        free = replace(RECURRING, applications=replace(law, usage=(1.0, 1.0, 1.0)))
        found = [memory_before(generate(one, jobs=1_500, seed=1)) for one in (RECURRING, free)]
        assert found[0] > 0.6
        assert found[0] - found[1] > 0.3

    def test_requests_come_again(self, dense: Trace) -> None:
        asked = np.stack([dense.column("tasks", name) for name in ("cpu", "memory")], axis=1)
        of_jobs = asked[np.unique(dense.column("tasks", "job"), return_index=True)[1]]
        assert 0.05 < len(np.unique(of_jobs, axis=0)) / dense.rows("jobs") < 0.2

    def test_tasks_of_a_job_run_alike(self, dense: Trace) -> None:
        g = Measures.of(dense)
        wide = np.flatnonzero(np.bincount(g.task_job) >= 5)
        spread = [
            times.std() / times.mean()
            for times in (g.task_time[g.task_job == job] for job in wide[:400])
            if times.mean() > 0
        ]
        assert np.median(spread) < 0.15

    def test_without_applications_jobs_are_drawn_apart(self) -> None:
        trace = generate("google-2011", jobs=3_000, seed=1, usage=False)
        assert PROFILES["google-2011"] == Google2011()
        assert not trace.present("jobs", "name").any()

    def test_small_traces(self) -> None:
        for jobs in (1, 2, 7, 40):
            assert generate(RECURRING, jobs=jobs, seed=jobs).rows("jobs") == jobs

    def test_applications_of_another_profile(self) -> None:
        """A mix of outcomes that the catalogue does not have is filled with rare applications."""
        failing = replace(PROFILES["google-2011-failing"], applications=RECURRING.applications)
        trace = generate(failing, jobs=400, seed=1)
        assert trace.present("jobs", "name").all()

    def test_the_order_of_ends(self) -> None:
        rng = np.random.default_rng(1)
        counts = np.array([[600, 0, 400]])
        by_chance = alike(counts, 1.0, rng)
        in_stretches = alike(counts, 20.0, rng)
        for ends in (by_chance, in_stretches):
            assert np.bincount(ends, minlength=3).tolist() == counts[0].tolist()
        changes = [(np.diff(ends) != 0).mean() for ends in (by_chance, in_stretches)]
        assert changes[0] == pytest.approx(2 * 0.6 * 0.4, abs=0.05)
        assert changes[1] < 0.1

    def test_runs_in_turn_follow_each_other(self) -> None:
        """Two that take turns alternate, in the campaigns that both have; a third does not."""
        each = np.array([400, 400, 400])
        rhythm = Rhythm(
            campaigns=np.array([4, 4, 4]),
            first=np.zeros(3, dtype=np.int64),
            owner=np.zeros(3, dtype=np.int64),
            hours=np.array([10.0, 10.0, 10.0]),
            regularity=np.ones(3),
            turns=np.array([7, 7, 8]),
        )
        found = runs(each, rhythm, 1_000 * HOUR, 1.0, np.random.default_rng(3))
        order = np.argsort(found.submit, kind="stable")
        of = found.application[order]
        for other, least in ((1, 0.99), (2, 0.0)):
            pair = of[(of == 0) | (of == other)]
            share = np.mean(pair[1:] != pair[:-1])
            assert share >= least
            assert (share < 0.7) == (other == 2)

    def test_mixed_keeps_users_and_orders(self) -> None:
        """Of each user the same runs, those of a kind in order; kinds alternate."""
        rng = np.random.default_rng(5)
        owner, kind = rng.integers(0, 3, 300), rng.integers(0, 2, 300)
        run = mixed(owner, kind, 300, rng)
        assert (owner[run] == owner).all()
        for user in range(3):
            own = run[owner == user]
            assert sorted(own) == np.flatnonzero(owner == user).tolist()
            for one in (0, 1):
                assert (np.diff(own[kind[own] == one]) > 0).all()
            assert np.mean(np.diff(kind[own]) != 0) > 0.7

    def test_systematic_counts(self) -> None:
        shares = np.array([0.5, 0.0, 3.0, 1.5])
        counts = systematic(shares, 101, np.random.default_rng(0))
        assert counts.sum() == 101
        assert np.abs(counts - shares / 5.0 * 101).max() < 1


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("catalogue", (), r"applications.catalogue is \(\), expected at least one"),
        ("mixed", 0, "applications.mixed is 0, expected a whole number from 1 to"),
        ("jobs_per_hour", 0.0, "applications.jobs_per_hour is 0.0, expected a number from"),
        (
            "usage",
            (0.1, 2.0, 0.1),
            r"applications.usage\[1\] is 2.0, expected a number from 0 to 1",
        ),
        ("bundle", 0.5, "applications.bundle is 0.5, expected a number from 1 to"),
        ("rare_names", 2.0, "applications.rare_names is 2.0, expected a number from 0 to 1"),
        ("office", 0.0, "applications.office is 0.0, expected a number from 0.1 to 100"),
    ],
)
def test_bad_values_are_refused(field: str, value: object, message: str) -> None:
    law = RECURRING.applications
    assert law is not None
    changed = replace(law, **{field: value})  # type: ignore[arg-type]
    with pytest.raises(TraceError, match=message):
        generate(replace(RECURRING, applications=changed), jobs=10)
