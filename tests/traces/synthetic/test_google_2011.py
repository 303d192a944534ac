"""The google-2011 traces against what their profile publishes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from failgym.traces import Cause, Outcome, Trace, generate
from failgym.traces.synthetic import Google2011
from failgym.traces.synthetic.failures import quota
from tests.traces.synthetic.measures import (
    Flags,
    Measures,
    MemoryUse,
    run_times,
    success_by_past_failures,
)

SEEDS = range(5)
SHARE = 0.01  # tolerance of a share


@pytest.fixture(scope="module")
def traces() -> list[Trace]:
    """At a fifth of the rate, so that the end of the data cuts off little of the longest jobs."""
    sparse = replace(Google2011(), sampling=Google2011().sampling / 5)
    return [generate(sparse, jobs=12_000, seed=seed) for seed in SEEDS]


@pytest.fixture(scope="module")
def googles(traces: list[Trace]) -> list[Measures]:
    return [Measures.of(trace) for trace in traces]


@pytest.fixture(scope="module")
def wide(traces: list[Trace]) -> list[Flags]:
    """Which jobs have several tasks."""
    return [trace.column("jobs", "width") > 1 for trace in traces]


class TestGoogle2011:
    profile = Google2011()

    def test_outcomes_of_jobs(self, googles: list[Measures], wide: list[Flags]) -> None:
        published = np.array(self.profile.job_shares) / sum(self.profile.job_shares)
        for g, multi in zip(googles, wide, strict=True):
            known = g.job_outcome != Outcome.CENSORED
            assert g.shares() == pytest.approx(published, abs=SHARE)
            assert multi.mean() == pytest.approx(self.profile.multi_share, abs=SHARE)
            killed = g.job_outcome == Outcome.KILL
            assert killed[known & multi].mean() == pytest.approx(
                self.profile.multi_killed, abs=SHARE
            )
            assert (g.job_outcome == Outcome.FINISH)[known & ~multi].mean() > 0.9

    @pytest.mark.parametrize("outcome", [Outcome.FINISH, Outcome.FAIL, Outcome.KILL])
    def test_task_minutes_of_jobs(self, googles: list[Measures], outcome: Outcome) -> None:
        minutes = np.concatenate([g.job_minutes[g.job_outcome == outcome] for g in googles])
        for q, published in self.profile.task_minutes[outcome].points:
            tolerance = 0.3 if q == 0.99 else 0.1
            assert np.quantile(minutes, q) == pytest.approx(published, rel=tolerance), q

    def test_unsuccessful_attempts_take_most_of_the_time(self, googles: list[Measures]) -> None:
        assert 0.5 < np.mean([g.wasted() for g in googles]) < 0.8
        assert all(0.5 < g.wasted() < 0.85 for g in googles)

    def test_killed_tasks_are_not_told_by_how_long_they_run(self, googles: list[Measures]) -> None:
        """Those of a job of which some finish ran about as long, as the record's do."""
        for g in googles:
            rows = pd.DataFrame({"job": g.task_job, "time": g.task_time, "end": g.task_outcome})
            killed, finished = (
                rows[(rows.end == end) & (rows.time > 0)].groupby("job").time.median()
                for end in (Outcome.KILL, Outcome.FINISH)
            )
            ratio = (killed / finished).dropna()
            assert len(ratio) > 1_000
            assert 1.0 < ratio.median() < 1.25  # record: 1.04
            assert 2.0 < ratio.quantile(0.9) < 3.0  # record: 2.2 and 2.5

    @pytest.mark.parametrize("multi", [False, True])
    def test_chance_of_success_by_past_failures(
        self, googles: list[Measures], wide: list[Flags], multi: bool
    ) -> None:
        published = self.profile.success_multi if multi else self.profile.success_single
        success = success_by_past_failures(googles, [jobs == multi for jobs in wide])
        assert success[:3] == pytest.approx(published, abs=SHARE)
        assert not success[3:].any()

    def test_attempts_of_failed_tasks(self, googles: list[Measures]) -> None:
        for g in googles:
            failures = g.failures[g.task_outcome == Outcome.FAIL]
            assert (failures >= 2).mean() == pytest.approx(0.86, abs=2 * SHARE)
            assert (failures >= 3).mean() == pytest.approx(0.14, abs=2 * SHARE)
            assert 5 < failures.max() <= 100

    def test_jobs_with_failures(self, googles: list[Measures]) -> None:
        for g in googles:
            for outcome, published in (
                (Outcome.FAIL, self.profile.failed_with_failure),
                (Outcome.FINISH, self.profile.finished_with_failure),
            ):
                share = g.job_failed[g.job_outcome == outcome].mean()
                assert share == pytest.approx(published, abs=2 * SHARE if outcome else 0.001)

    def test_a_failure_tells_of_its_siblings(
        self, googles: list[Measures], wide: list[Flags]
    ) -> None:
        for g, multi in zip(googles, wide, strict=True):
            several = multi[g.task_job]
            siblings = g.job_failed[g.task_job]
            assert (g.failures[several & siblings] > 0).mean() > 5 * (
                g.failures[several] > 0
            ).mean()

    def test_failures_of_failures(self, googles: list[Measures]) -> None:
        tasks, time, unfinished = [], [], []
        for g in googles:
            known = g.task_outcome != Outcome.CENSORED
            bad = known & (g.task_outcome != Outcome.FINISH)
            tasks.append(bad.sum() / known.sum())
            time.append(g.task_time[bad].sum() / g.task_time[known].sum())
            of_bad = np.isin(g.job_outcome, (Outcome.FAIL, Outcome.KILL))[g.task_job]
            unfinished.append((g.task_outcome[of_bad] != Outcome.FINISH).mean())
        assert np.mean(tasks) < 0.25
        assert np.mean(time) == pytest.approx(0.65, abs=0.05)
        assert np.mean(unfinished) == pytest.approx(0.25, abs=2 * SHARE)

    def test_run_times_of_killed_and_finished_attempts_overlap(
        self, googles: list[Measures]
    ) -> None:
        for g in googles:
            finish = g.run[g.outcome == Outcome.FINISH]
            kill = g.run[(g.outcome == Outcome.KILL) & (g.run > 0)]
            low, high = np.quantile(finish, (0.25, 0.9))
            assert low < np.median(kill) < high
            assert np.quantile(kill, 0.25) < np.median(finish)

    def test_remaining_life_after_the_first_failure(self, googles: list[Measures]) -> None:
        shares: list[float] = []
        for g in googles:
            failed = (g.task_outcome == Outcome.FAIL) & (g.failures > 1)
            first = (g.outcome == Outcome.FAIL) & (g.past == 0) & failed[g.row_task]
            spent = np.cumsum(g.run) - np.concatenate(([0.0], np.cumsum(g.task_time)))[g.row_task]
            shares += (1 - spent[first] / g.task_time[g.row_task[first]]).tolist()
        assert np.median(shares) == pytest.approx(0.6, rel=0.15)

    @pytest.mark.parametrize("seed", SEEDS)
    def test_requests_follow_machine_time(self, seed: int) -> None:
        trace = generate("google-2011", jobs=12_000, seed=seed)
        g = Measures.of(trace)
        unfinished = (g.task_outcome != Outcome.FINISH) & (g.task_time > 0)
        log_time = np.log(g.task_time[unfinished])
        for name, published in zip(
            ("cpu", "memory", "disk"), self.profile.request_covariance, strict=True
        ):
            request = np.log(trace.column("tasks", name)[unfinished])
            assert np.cov(request, log_time)[0, 1] == pytest.approx(published, rel=0.3), name

    def test_failed_jobs_request_more_memory_and_disk(self, traces: list[Trace]) -> None:
        for name, factor in zip(
            ("cpu", "memory", "disk"), self.profile.failed_request, strict=True
        ):
            ratios: list[float] = []
            for trace in traces:
                request = np.zeros(trace.rows("jobs"))
                request[trace.column("tasks", "job")] = trace.column("tasks", name)
                outcome = trace.column("jobs", "outcome")
                failed, finished = (np.median(request[outcome == k]) for k in (1, 0))
                ratios.append(float(failed / finished))
            if factor == 1.0:
                assert np.mean(ratios) < 1.8, name
            else:
                assert min(ratios) > 1.4, name

    def test_delays(self, traces: list[Trace]) -> None:
        """From submission to start, and from one end to the next start, by why it ended."""
        first: list[npt.NDArray[np.int64]] = []
        later: list[list[npt.NDArray[np.int64]]] = [[], [], []]
        for trace in traces:
            start, end = trace.column("attempts", "start"), trace.column("attempts", "end")
            heads = trace.task_first[:-1]
            ran = start >= 0
            first.append((start - trace.column("attempts", "queued"))[heads][ran[heads]])
            task, cause = trace.column("attempts", "task"), trace.column("attempts", "cause")
            again = np.flatnonzero((task[1:] == task[:-1]) & ran[1:])
            wait = (start[1:] - end[:-1])[again]
            for number, why in enumerate((Cause.INTRINSIC, Cause.PREEMPTION, Cause.REQUEUE)):
                later[number].append(wait[cause[again] == why])
        for table, waits in zip(
            (self.profile.queue_delay, *self.profile.requeue_delay), (first, *later), strict=True
        ):
            seconds = np.concatenate(waits) / 1e3
            for q, published in table.points:
                if q < 0.95:
                    assert np.quantile(seconds, q) == pytest.approx(published, rel=0.1), q

    def test_default_holds_what_environments_need(self) -> None:
        for seed in SEEDS:
            trace = generate("google-2011", seed=seed)
            g = Measures.of(trace)
            assert 15_000 < trace.rows("tasks") < 32_000
            never = ~trace.present("attempts", "start")
            pending = never & (trace.column("attempts", "cause") == Cause.USER)
            share = pending.sum() / (g.task_outcome == Outcome.KILL).sum()
            assert share == pytest.approx(self.profile.never_started, abs=2 * SHARE)
            assert 0.001 < (g.task_outcome == Outcome.CENSORED).mean() < 0.1
            assert set(np.unique(trace.column("attempts", "cause"))) == {
                -1,
                Cause.INTRINSIC,
                Cause.PREEMPTION,
                Cause.REQUEUE,
                Cause.USER,
            }

    def test_one_kill_ends_a_job(self) -> None:
        trace = generate("google-2011", jobs=500, seed=3)
        last = trace.task_first[1:] - 1
        killed = trace.column("attempts", "cause")[last] == Cause.USER
        job, end = trace.column("tasks", "job")[killed], trace.column("attempts", "end")[last]
        for number in np.unique(job):
            assert len(np.unique(end[killed][job == number])) == 1

    def test_failure_quota(self) -> None:
        failed = np.array([1] * 140 + [2] * 720 + [3] * 140)
        want = quota(200_000, failed, (0.98, 0.42, 0.02), (0.35, 0.1))
        failures = np.concatenate(
            [failed, np.repeat((1, 2, 3), want.finished), np.repeat((1, 2, 3), want.killed)]
        )
        finished = np.repeat((0, 1, 2), (200_000 - sum(want.finished), *want.finished[:2]))
        for k, published in enumerate((0.98, 0.42, 0.02)):
            successes, failures_here = (finished == k).sum(), (failures > k).sum()
            assert successes / (successes + failures_here) == pytest.approx(published, abs=0.01)


class TestUsage:
    profile = Google2011()

    def test_violations_and_growth(self, traces: list[Trace]) -> None:
        """Tasks by outcome that exceed their request, and whose memory more than doubles."""
        law = self.profile.usage.memory
        assert law is not None
        for weighted in (True, False):
            uses = [
                (
                    trace.task_outcome,
                    MemoryUse.of(trace, self.profile.usage.window, weighted=weighted),
                )
                for trace in traces
            ]
            for outcome in (Outcome.FINISH, Outcome.FAIL, Outcome.KILL):
                exceeds = [use.exceeds[use.seen & (of == outcome)].mean() for of, use in uses]
                grows = [(use.growth > 2)[use.told & (of == outcome)].mean() for of, use in uses]
                assert exceeds == pytest.approx([law.violations[outcome]] * 5, abs=2 * SHARE)
                assert grows == pytest.approx([law.growth[outcome]] * 5, abs=2 * SHARE)

    def test_means_keep_to_the_request(self, traces: list[Trace]) -> None:
        for trace in traces:
            memory = trace.column("windows", "memory")
            request = trace.column("tasks", "memory")[_window_tasks(trace)]
            assert (memory > request).mean() < 0.03
            assert (memory <= trace.column("windows", "max_memory")).all()

    def test_tasks_that_finish_exceed_their_cpu_most_often(self, traces: list[Trace]) -> None:
        exceeded = np.zeros((len(traces), 3))
        for number, trace in enumerate(traces):
            task = _window_tasks(trace)
            over = np.zeros(trace.rows("tasks"), dtype=np.bool_)
            over[task[trace.column("windows", "cpu") > trace.column("tasks", "cpu")[task]]] = True
            seen = np.bincount(task, minlength=len(over)) > 0
            for outcome in range(3):
                exceeded[number, outcome] = over[seen & (trace.task_outcome == outcome)].mean()
        finished, failed, killed = exceeded.mean(axis=0)
        assert finished > killed
        assert finished > failed

    def test_failed_jobs_have_the_highest_io(self, traces: list[Trace]) -> None:
        """Of the mean rates of jobs, the median."""
        for trace in traces:
            job, jobs = trace.column("tasks", "job")[_window_tasks(trace)], trace.rows("jobs")
            count = np.maximum(np.bincount(job, minlength=jobs), 1)
            mean = np.bincount(job, trace.column("windows", "local_io"), jobs) / count
            outcome = trace.column("jobs", "outcome")
            finished, failed, killed = (float(np.median(mean[outcome == k])) for k in range(3))
            assert failed > 2 * max(finished, killed)

    def test_attempts_that_fail_have_more_io_than_others_of_their_task(
        self, traces: list[Trace]
    ) -> None:
        law = self.profile.usage.local_io
        assert law is not None
        ratios: list[npt.NDArray[np.float64]] = []
        for trace in traces:
            attempt, rows = trace.column("windows", "attempt"), trace.rows("attempts")
            outcome, task = trace.column("attempts", "outcome"), trace.column("attempts", "task")
            count = np.bincount(attempt, minlength=rows)
            total = np.bincount(attempt, trace.column("windows", "local_io"), rows)
            means: list[npt.NDArray[np.float64]] = []
            for which in (Outcome.FAIL, Outcome.FINISH):
                here = (outcome == which) & (count > 0)
                of_task = np.full(trace.rows("tasks"), np.nan)
                of_task[task[here]] = (total / np.maximum(count, 1))[here]
                means.append(of_task)
            ratio = means[0] / means[1]
            ratios.append(ratio[~np.isnan(ratio)])
        assert np.median(np.concatenate(ratios)) == pytest.approx(law.failing, rel=0.1)

    def test_early_usage_tells_less_than_a_failed_task_and_more_than_the_request(
        self, traces: list[Trace]
    ) -> None:
        """What ranks failed jobs above finished ones (area under the curve), over jobs."""
        request, early, flag = [], [], []
        for trace in traces:
            jobs = trace.rows("jobs")
            job, bad = trace.column("tasks", "job"), trace.column("jobs", "outcome")
            known = (bad == Outcome.FAIL) | (bad == Outcome.FINISH)
            first = trace.column("windows", "offset") == 0
            of, io = job[_window_tasks(trace)][first], trace.column("windows", "local_io")[first]
            mean = np.bincount(of, io, jobs) / np.maximum(np.bincount(of, minlength=jobs), 1)
            asked = np.zeros(jobs)
            asked[job] = trace.column("tasks", "disk")
            bad = bad == Outcome.FAIL
            request.append(_auc(asked[known], bad[known]))
            early.append(_auc(mean[known], bad[known]))
            flag.append(_auc(Measures.of(trace).job_failed[known].astype(np.float64), bad[known]))
        assert np.mean(flag) > np.mean(early) + 0.05
        assert np.mean(early) > np.mean(request) + 0.05

    def test_windows_of_an_attempt(self, traces: list[Trace]) -> None:
        """At multiples of five minutes, over by its end; all in the first hour, then ever fewer."""
        law, trace = self.profile.usage, traces[0]
        attempt, offset = trace.column("windows", "attempt"), trace.column("windows", "offset")
        run = run_times(trace)
        assert (offset % law.window == 0).all()
        partial = run[attempt] < law.window
        assert (offset[partial] == 0).all()
        assert (offset + law.window <= run[attempt])[~partial].all()
        count = np.bincount(attempt, minlength=len(run))
        assert ((count > 0) == (run > 0)).all()
        whole = np.maximum(run // law.window, run > 0)
        assert (np.minimum(count, law.dense) == np.minimum(whole, law.dense)).all()
        assert count.max() < 100
        assert not trace.column("windows", "remote_io", missing=0).any()
        assert not trace.column("windows", "network", missing=0).any()

    def test_without(self) -> None:
        with_usage = generate("google-2011", jobs=300, seed=4)
        without = generate("google-2011", jobs=300, seed=4, usage=False)
        assert without.rows("windows") == 0
        assert replace(with_usage, windows=without.windows).content_hash == without.content_hash


def _window_tasks(trace: Trace) -> npt.NDArray[np.int64]:
    return trace.column("attempts", "task")[trace.column("windows", "attempt")]


def _auc(score: npt.NDArray[np.float64], positive: Flags) -> float:
    """Chance that a positive scores above a negative, ties counted half."""
    low, high = np.sort(score[~positive]), score[positive]
    below = np.searchsorted(low, high, side="left") + np.searchsorted(low, high, side="right")
    return float(below.mean() / 2 / len(low))
