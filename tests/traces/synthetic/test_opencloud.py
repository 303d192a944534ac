"""The opencloud traces against what their profile publishes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from failgym.traces import Cause, Outcome, Trace, generate
from failgym.traces.synthetic import OpenCloud
from tests.traces.synthetic.measures import (
    Flags,
    Measures,
    run_times,
    success_by_past_failures,
)

SEEDS = range(5)
SHARE = 0.01  # tolerance of a share
OUTCOMES = (Outcome.FINISH, Outcome.FAIL, Outcome.KILL)


@pytest.fixture(scope="module")
def traces() -> list[Trace]:
    """At a tenth of the rate, so that the end of the data cuts off little of the longest jobs."""
    sparse = replace(OpenCloud(), sampling=0.1)
    return [generate(sparse, jobs=3_000, seed=seed) for seed in SEEDS]


@pytest.fixture(scope="module")
def clouds(traces: list[Trace]) -> list[Measures]:
    return [Measures.of(trace) for trace in traces]


def tasks_in(trace: Trace, stage: int) -> npt.NDArray[np.int64]:
    """The number of map tasks (0) or reduce tasks (1) of each job."""
    of_task = trace.column("stages", "stage")[trace.column("tasks", "stage")]
    return np.bincount(trace.column("tasks", "job")[of_task == stage], minlength=trace.rows("jobs"))


def by_outcome(trace: Trace, flags: Flags) -> list[float]:
    """The share of the jobs of each outcome that are flagged."""
    outcome = trace.column("jobs", "outcome")
    return [float(flags[outcome == code].mean()) for code in OUTCOMES]


class TestJobs:
    profile = OpenCloud()

    def test_outcomes(self, traces: list[Trace], clouds: list[Measures]) -> None:
        """The same for jobs of one mapper and of several."""
        published = np.array(self.profile.job_shares) / sum(self.profile.job_shares)
        for trace, m in zip(traces, clouds, strict=True):
            assert m.shares() == pytest.approx(published, abs=SHARE)
            several = tasks_in(trace, 0) >= 2
            for wide in (False, True):
                of = m.job_outcome[several == wide]
                shares = [(of == code).mean() for code in OUTCOMES]
                assert shares == pytest.approx(published, abs=2 * SHARE)

    def test_mappers_and_reducers(self, traces: list[Trace]) -> None:
        for trace in traces:
            assert (tasks_in(trace, 0) >= 2).mean() == pytest.approx(0.8, abs=SHARE)
            assert (tasks_in(trace, 1) <= 1).mean() == pytest.approx(0.6, abs=SHARE)
            assert (tasks_in(trace, 0) >= 1).all()

    @pytest.mark.parametrize("outcome", OUTCOMES)
    def test_task_minutes(self, clouds: list[Measures], outcome: Outcome) -> None:
        minutes = np.concatenate([m.job_minutes[m.job_outcome == outcome] for m in clouds])
        for q, published in self.profile.task_minutes[outcome].points:
            if q in (0.25, 0.5, 0.75, 0.99):
                tolerance = 0.3 if q == 0.99 else 0.1
                assert np.quantile(minutes, q) == pytest.approx(published, rel=tolerance), q

    def test_unsuccessful_jobs_take_most_of_the_time(self, clouds: list[Measures]) -> None:
        for m in clouds:
            known = m.job_outcome != Outcome.CENSORED
            bad = known & (m.job_outcome != Outcome.FINISH)
            assert 0.5 < m.job_minutes[bad].sum() / m.job_minutes[known].sum() < 0.8
            assert m.wasted() > 0.4

    def test_nodes(self, traces: list[Trace]) -> None:
        assert [trace.rows("machines") for trace in traces] == [64] * len(SEEDS)

    def test_users(self, traces: list[Trace]) -> None:
        for trace in traces:
            assert 60 < len(set(trace.column("jobs", "user").tolist())) <= self.profile.users

    def test_speculation(self, traces: list[Trace]) -> None:
        disabled = [by_outcome(trace, ~trace.column("jobs", "speculation")) for trace in traces]
        assert np.mean(disabled, axis=0) == pytest.approx(self.profile.no_speculation, abs=SHARE)
        for trace in traces:
            assert trace.column("jobs", "speculation").mean() > 0.99

    def test_skip_mode(self, traces: list[Trace]) -> None:
        for trace in traces:
            mode = trace.column("jobs", "skip_mode")
            assert by_outcome(trace, mode == 2) == pytest.approx(
                self.profile.skip_mode_kept, abs=SHARE
            )
            values, counts = np.unique(mode[mode != 2], return_counts=True)
            assert values[np.argmax(counts)] == 16

    def test_attempt_limits(self, traces: list[Trace]) -> None:
        for trace in traces:
            limit = trace.column("jobs", "attempt_limit")
            assert (limit != 4).mean() == pytest.approx(0.04, abs=SHARE)
            assert limit.max() == 100
            finished, failed, killed = by_outcome(trace, limit > 4)
            assert finished < failed
            assert finished < killed

    def test_memory(self, traces: list[Trace]) -> None:
        default = self.profile.default_memory / self.profile.node_memory
        for trace in traces:
            kept = np.zeros(trace.rows("jobs"), dtype=np.bool_)
            kept[trace.column("tasks", "job")] = trace.column("tasks", "memory") == default
            finished, failed, killed = by_outcome(trace, kept)
            assert finished > 0.99
            assert failed > 0.99
            assert killed < 0.8


class TestFailures:
    profile = OpenCloud()

    @pytest.mark.parametrize("several", [False, True])
    def test_chance_of_success_by_past_failures(
        self, traces: list[Trace], clouds: list[Measures], several: bool
    ) -> None:
        published = self.profile.success_multi if several else self.profile.success_single
        wide = [(tasks_in(trace, 0) >= 2) == several for trace in traces]
        success = success_by_past_failures(clouds, wide)
        assert success[:3] == pytest.approx(published, abs=SHARE)
        assert not success[3:].any()

    def test_retries_of_failed_tasks(self, clouds: list[Measures]) -> None:
        for m in clouds:
            failures = m.failures[m.task_outcome == Outcome.FAIL]
            assert 0.7 <= (failures >= 2).mean() <= 0.9
            assert 0.15 <= (failures >= 3).mean() <= 0.3
            assert 5 < failures.max() <= 100

    def test_jobs_with_failures(self, clouds: list[Measures]) -> None:
        for m in clouds:
            finished, failed = (m.job_failed[m.job_outcome == code].mean() for code in OUTCOMES[:2])
            assert (finished, failed) == pytest.approx((0.2, 0.95), abs=2 * SHARE)

    def test_no_task_fails_more_often_than_its_job_allows(
        self, traces: list[Trace], clouds: list[Measures]
    ) -> None:
        for trace, m in zip(traces, clouds, strict=True):
            assert (m.failures <= trace.column("jobs", "attempt_limit")[m.task_job]).all()

    def test_causes(self, traces: list[Trace]) -> None:
        """Tasks of failed jobs are killed by the failure, those of killed jobs by the user."""
        for trace in traces:
            cause, task = trace.column("attempts", "cause"), trace.column("attempts", "task")
            job = trace.column("jobs", "outcome")[trace.column("tasks", "job")[task]]
            killed = trace.column("attempts", "outcome") == Outcome.KILL
            assert (cause[killed & (job == Outcome.FAIL)] == Cause.DEPENDENCY).all()
            assert (cause[killed & (job == Outcome.KILL)] == Cause.USER).all()
            assert not killed[job == Outcome.FINISH].any()


class TestStages:
    def test_names(self, traces: list[Trace]) -> None:
        trace = traces[0]
        stage, name = trace.column("stages", "stage"), trace.column("stages", "name")
        assert set(zip(stage.tolist(), name.tolist(), strict=True)) == {(0, "map"), (1, "reduce")}
        of_task = trace.column("tasks", "stage")
        assert (trace.column("stages", "job")[of_task] == trace.column("tasks", "job")).all()

    def test_reducers_come_after_the_maps(self, traces: list[Trace]) -> None:
        """No reducer finishes unless all maps of its job do, nor is it queued before they have."""
        for trace in traces:
            job, outcome = trace.column("tasks", "job"), trace.task_outcome
            reduces = trace.column("stages", "stage")[trace.column("tasks", "stage")] == 1
            last, first = trace.task_first[1:] - 1, trace.task_first[:-1]
            maps_end = np.zeros(trace.rows("jobs"), dtype=np.int64)
            end = trace.column("attempts", "end")[last]
            np.maximum.at(maps_end, job[~reduces], end[~reduces])
            undone = np.bincount(job, ~reduces & (outcome != Outcome.FINISH)) > 0
            finished = reduces & (outcome == Outcome.FINISH)
            assert not undone[job[finished]].any()
            queued = trace.column("attempts", "queued")[first]
            assert (queued[finished] >= maps_end[job[finished]]).all()

    def test_an_unsuccessful_job_ends_at_once(self, traces: list[Trace]) -> None:
        """What is killed ends with its job, and so does one of the tasks that failed it."""
        trace = traces[0]
        job, outcome = trace.column("tasks", "job"), trace.task_outcome
        end = trace.column("attempts", "end")[trace.task_first[1:] - 1]
        job_end = np.zeros(trace.rows("jobs"), dtype=np.int64)
        np.maximum.at(job_end, job, end)
        killed = outcome == Outcome.KILL
        assert (end[killed] == job_end[job[killed]]).all()
        failed = outcome == Outcome.FAIL
        with_it = np.bincount(job[failed], end[failed] == job_end[job[failed]]) > 0
        assert with_it[np.unique(job[failed])].all()


class TestUsage:
    def test_input_and_output_alone(self, traces: list[Trace]) -> None:
        trace = traces[0]
        for name in ("cpu", "memory", "max_memory", "network"):
            assert not trace.present("windows", name).any()
        for name in ("local_io", "remote_io"):
            rate = trace.column("windows", name)
            assert ((rate >= 0) & (rate <= 1)).all()

    def test_failed_jobs_write_most_to_local_disks(self, traces: list[Trace]) -> None:
        """Of the mean rates of jobs, the median."""
        for trace in traces:
            task = trace.column("attempts", "task")[trace.column("windows", "attempt")]
            job, jobs = trace.column("tasks", "job")[task], trace.rows("jobs")
            count = np.maximum(np.bincount(job, minlength=jobs), 1)
            mean = np.bincount(job, trace.column("windows", "local_io"), jobs) / count
            outcome = trace.column("jobs", "outcome")
            finished, failed, killed = (float(np.median(mean[outcome == k])) for k in OUTCOMES)
            assert failed > 1.5 * max(finished, killed)

    def test_every_attempt_that_ran_has_windows(self, traces: list[Trace]) -> None:
        trace = traces[0]
        count = np.bincount(trace.column("windows", "attempt"), minlength=trace.rows("attempts"))
        assert ((count > 0) == (run_times(trace) > 0)).all()
