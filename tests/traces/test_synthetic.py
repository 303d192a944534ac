"""The synthetic traces against what their profiles publish, and the toy trace."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from failgym.traces import Cause, Outcome, Trace, TraceError, generate, toy
from failgym.traces.synthetic import PROFILES, Google2011, SystemA
from failgym.traces.synthetic.failures import quota
from failgym.traces.synthetic.quantiles import (
    QuantileTable,
    allot,
    normal_score,
    quotas,
    shuffled_position,
    stratified,
)

SEEDS = range(5)
SHARE = 0.01  # tolerance of a share
MINUTE = 60_000.0


class Google(NamedTuple):
    """A google-2011 trace as arrays: per job, task and attempt."""

    job_outcome: npt.NDArray[np.int8]
    multi: npt.NDArray[np.bool_]
    job_minutes: npt.NDArray[np.float64]
    job_failed: npt.NDArray[np.bool_]  # holds a failed attempt
    task_job: npt.NDArray[np.int64]
    task_outcome: npt.NDArray[np.int8]
    task_time: npt.NDArray[np.float64]
    failures: npt.NDArray[np.float64]
    row_task: npt.NDArray[np.int64]
    outcome: npt.NDArray[np.int8]
    run: npt.NDArray[np.float64]  # 0 if it never started
    past: npt.NDArray[np.int64]  # failures of the task before it


def google(trace: Trace) -> Google:
    task, outcome = trace.column("attempts", "task"), trace.column("attempts", "outcome")
    start, end = trace.column("attempts", "start"), trace.column("attempts", "end")
    run = np.where(start >= 0, end - start, 0).astype(np.float64)
    job, jobs, tasks = trace.column("tasks", "job"), trace.rows("jobs"), trace.rows("tasks")
    failed = outcome == Outcome.FAIL
    before = np.cumsum(failed) - failed
    failures = np.bincount(task, failed, tasks).astype(np.float64)
    return Google(
        trace.column("jobs", "outcome"),
        trace.column("jobs", "width") > 1,
        np.bincount(job[task], run, jobs) / MINUTE,
        np.bincount(job, failures, jobs) > 0,
        job,
        trace.task_outcome,
        np.bincount(task, run, tasks).astype(np.float64),
        failures,
        task,
        outcome,
        run,
        before - before[trace.task_first[:-1]][task],
    )


@pytest.fixture(scope="module")
def googles() -> list[Google]:
    """At a fifth of the rate, so that the end of the data cuts off little of the longest jobs."""
    sparse = replace(Google2011(), sampling=Google2011().sampling / 5)
    return [google(generate(sparse, jobs=12_000, seed=seed)) for seed in SEEDS]


class TestGoogle2011:
    profile = Google2011()

    def test_outcomes_of_jobs(self, googles: list[Google]) -> None:
        published = np.array(self.profile.job_shares) / sum(self.profile.job_shares)
        for g in googles:
            known = g.job_outcome != Outcome.CENSORED
            shares = np.bincount(g.job_outcome[known], minlength=6)[:3] / known.sum()
            assert shares == pytest.approx(published, abs=SHARE)
            assert g.multi.mean() == pytest.approx(self.profile.multi_share, abs=SHARE)
            killed = g.job_outcome == Outcome.KILL
            assert killed[known & g.multi].mean() == pytest.approx(
                self.profile.multi_killed, abs=SHARE
            )
            assert (g.job_outcome == Outcome.FINISH)[known & ~g.multi].mean() > 0.9

    @pytest.mark.parametrize("outcome", [Outcome.FINISH, Outcome.FAIL, Outcome.KILL])
    def test_task_minutes_of_jobs(self, googles: list[Google], outcome: Outcome) -> None:
        minutes = np.concatenate([g.job_minutes[g.job_outcome == outcome] for g in googles])
        for q, published in self.profile.task_minutes[outcome].points:
            tolerance = 0.3 if q == 0.99 else 0.1
            assert np.quantile(minutes, q) == pytest.approx(published, rel=tolerance), q

    def test_unsuccessful_attempts_take_most_of_the_time(self, googles: list[Google]) -> None:
        for g in googles:
            ended = g.outcome != Outcome.CENSORED
            wasted = g.run[ended & (g.outcome != Outcome.FINISH)].sum() / g.run[ended].sum()
            assert 0.5 < wasted < 0.85

    @pytest.mark.parametrize("multi", [False, True])
    def test_chance_of_success_by_past_failures(self, googles: list[Google], multi: bool) -> None:
        published = self.profile.success_multi if multi else self.profile.success_single
        finished, failed = np.zeros(5), np.zeros(5)
        for g in googles:
            here = g.multi[g.task_job][g.row_task] == multi
            past = np.minimum(g.past, 4)
            finished += np.bincount(past[here & (g.outcome == Outcome.FINISH)], minlength=5)
            failed += np.bincount(past[here & (g.outcome == Outcome.FAIL)], minlength=5)
        success = finished / (finished + failed)
        assert success[:3] == pytest.approx(published, abs=SHARE)
        assert not success[3:].any()

    def test_attempts_of_failed_tasks(self, googles: list[Google]) -> None:
        for g in googles:
            failures = g.failures[g.task_outcome == Outcome.FAIL]
            assert (failures >= 2).mean() == pytest.approx(0.86, abs=2 * SHARE)
            assert (failures >= 3).mean() == pytest.approx(0.14, abs=2 * SHARE)
            assert 5 < failures.max() <= 100

    def test_jobs_with_failures(self, googles: list[Google]) -> None:
        for g in googles:
            for outcome, published in (
                (Outcome.FAIL, self.profile.failed_with_failure),
                (Outcome.FINISH, self.profile.finished_with_failure),
            ):
                share = g.job_failed[g.job_outcome == outcome].mean()
                assert share == pytest.approx(published, abs=2 * SHARE if outcome else 0.001)

    def test_a_failure_tells_of_its_siblings(self, googles: list[Google]) -> None:
        for g in googles:
            wide = g.multi[g.task_job]
            siblings = g.job_failed[g.task_job]
            assert (g.failures[wide & siblings] > 0).mean() > 5 * (g.failures[wide] > 0).mean()

    def test_failures_of_failures(self, googles: list[Google]) -> None:
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

    def test_run_times_of_killed_and_finished_attempts_overlap(self, googles: list[Google]) -> None:
        for g in googles:
            finish = g.run[g.outcome == Outcome.FINISH]
            kill = g.run[(g.outcome == Outcome.KILL) & (g.run > 0)]
            low, high = np.quantile(finish, (0.25, 0.9))
            assert low < np.median(kill) < high
            assert np.quantile(kill, 0.25) < np.median(finish)

    def test_remaining_life_after_the_first_failure(self, googles: list[Google]) -> None:
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
        g = google(trace)
        unfinished = (g.task_outcome != Outcome.FINISH) & (g.task_time > 0)
        log_time = np.log(g.task_time[unfinished])
        for name, published in zip(
            ("cpu", "memory", "disk"), self.profile.request_covariance, strict=True
        ):
            request = np.log(trace.column("tasks", name)[unfinished])
            assert np.cov(request, log_time)[0, 1] == pytest.approx(published, rel=0.3), name

    def test_default_holds_what_environments_need(self) -> None:
        for seed in SEEDS:
            trace = generate("google-2011", seed=seed)
            g = google(trace)
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


class SystemAMeasures(NamedTuple):
    environment: npt.NDArray[np.int64]
    category: npt.NDArray[np.str_]  # "" if unknown
    first_run: npt.NDArray[np.float64]  # [s]
    node_seconds: npt.NDArray[np.float64]  # of the first run
    walltime: npt.NDArray[np.float64]  # [s]
    system: npt.NDArray[np.bool_]  # attempts that the system ended
    end: npt.NDArray[np.int64]
    run: npt.NDArray[np.float64]  # [s]


def measures(trace: Trace) -> SystemAMeasures:
    start, end = trace.column("attempts", "start"), trace.column("attempts", "end")
    run = np.where(start >= 0, end - start, 0) / 1e3
    job, first = trace.column("tasks", "job"), trace.task_first[:-1]
    first_run, nodes = np.zeros(trace.rows("jobs")), np.zeros(trace.rows("jobs"))
    first_run[job], nodes[job] = run[first], trace.column("tasks", "width")
    cause = trace.column("attempts", "cause")
    return SystemAMeasures(
        trace.column("jobs", "scheduling_class").astype(np.int64),
        np.array(trace.column("jobs", "exit_category"), dtype=np.str_),
        first_run,
        first_run * nodes,
        trace.column("jobs", "walltime") / 1e3,
        (cause == Cause.SHARED) | (cause == Cause.MACHINE),
        end,
        run,
    )


@pytest.fixture(scope="module")
def systems() -> list[SystemAMeasures]:
    return [measures(generate("system-a", jobs=20_000, seed=seed)) for seed in SEEDS]


class TestSystemA:
    profile = SystemA()
    categories = ("success", "system", "user", "user/system", "walltime")

    def test_exits_by_environment(self, systems: list[SystemAMeasures]) -> None:
        for m in systems:
            known = m.category != ""
            for number, environment in enumerate(self.profile.environments):
                here = m.environment == number
                assert here.mean() == pytest.approx(environment.jobs, abs=SHARE)
                exits = [(m.category[here & known] == name).mean() for name in self.categories]
                assert exits == pytest.approx(environment.exits, abs=SHARE), environment.name

    def test_exits_overall(self, systems: list[SystemAMeasures]) -> None:
        for m in systems:
            known = m.category[m.category != ""]
            exits = [(known == name).mean() for name in self.categories]
            assert exits == pytest.approx((0.861, 0.053, 0.033, 0.013, 0.040), abs=0.005)

    def test_node_seconds(self, systems: list[SystemAMeasures]) -> None:
        shares = np.mean(
            [np.bincount(m.environment, m.node_seconds) / m.node_seconds.sum() for m in systems], 0
        )
        published = [environment.node_seconds for environment in self.profile.environments]
        assert shares == pytest.approx(published, abs=0.04)
        small = np.mean([(m.node_seconds < 1_000).mean() for m in systems])
        assert small == pytest.approx(0.5, rel=0.15)

    def test_failures_within_a_minute(self, systems: list[SystemAMeasures]) -> None:
        failures = ("system", "user", "user/system")
        for m in systems:
            failed = np.isin(m.category, failures)
            assert (m.first_run[failed] < 60).mean() == pytest.approx(0.34, rel=0.15)

    def test_run_times_are_overestimated(self, systems: list[SystemAMeasures]) -> None:
        for m in systems:
            good = m.category == "success"
            ratio = np.median(m.walltime[good] / m.first_run[good])
            assert ratio == pytest.approx(9.0, rel=0.15)
            assert m.walltime.max() <= 336 * 3_600

    def test_hazard_falls_with_age(self, systems: list[SystemAMeasures]) -> None:
        for m in systems:
            rates: list[float] = []
            for low, high in ((0.0, 60.0), (60.0, 3_600.0), (3_600.0, 86_400.0)):
                exposed = np.clip(m.run - low, 0.0, high - low).sum()
                rates.append((m.system & (m.run > low) & (m.run <= high)).sum() / exposed)
            assert rates[0] > 2 * rates[1] > 2 * rates[2]

    def test_failures_foretell_failures(self, systems: list[SystemAMeasures]) -> None:
        for m in systems:
            bins = np.bincount(m.end[m.system] // 600_000)  # per ten minutes
            after = bins[1:][bins[:-1] > 0].mean() / bins[1:][bins[:-1] == 0].mean()
            assert after > 5

    def test_bursts(self) -> None:
        """A burst hits 25 running jobs in 300 s, of which the sample holds a tenth."""
        for seed in SEEDS:
            trace = generate("system-a", seed=seed)
            shared = trace.column("attempts", "cause") == Cause.SHARED
            end = np.sort(trace.column("attempts", "end")[shared])
            least = round(25 * self.profile.sampling)
            together = np.flatnonzero(end[least:] - end[:-least] < 300_000)
            days = np.unique(end[together] // 86_400_000)
            assert len(days) > 5
            assert days[-1] * 86_400_000 > trace.boundary()

    def test_room_for_checkpoints(self) -> None:
        for seed in SEEDS:
            trace = generate("system-a", seed=seed)
            for part in (trace.split("train"), trace.split("test")):
                m = measures(part)
                lost = m.run[m.system].sum() / m.run.sum()
                assert 0.1 < lost < 0.5
                struck = np.bincount(part.column("attempts", "task"), m.system) > 0
                time = np.bincount(part.column("attempts", "task"), m.run)
                assert time[struck].sum() / time.sum() > 0.25
                assert 1e4 < m.run.sum() / m.system.sum() < 2e5

    def test_attempts_of_a_task_share_one_length(self) -> None:
        trace = generate("system-a", jobs=5_000, seed=1)
        task, length = trace.column("attempts", "task"), trace.column("attempts", "length")
        outcome, start = trace.column("attempts", "outcome"), trace.column("attempts", "start")
        run = trace.column("attempts", "end") - start
        assert (length == length[trace.task_first[:-1]][task]).all()
        assert (length >= run)[start >= 0].all()
        assert (length == run)[outcome == Outcome.FINISH].all()

    def test_every_requeue_down_to_the_end(self) -> None:
        trace = generate("system-a", jobs=5_000, seed=1)
        cause, outcome = trace.column("attempts", "cause"), trace.column("attempts", "outcome")
        system = (cause == Cause.SHARED) | (cause == Cause.MACHINE)
        last = np.zeros(len(cause), dtype=np.bool_)
        last[trace.task_first[1:] - 1] = True
        assert not (system & last).any()
        assert system[~last].all()
        assert (outcome[last] == Outcome.CENSORED).any()


@pytest.mark.parametrize("name", sorted(PROFILES))
class TestEveryProfile:
    def test_same_seed_same_trace(self, name: str) -> None:
        trace = generate(name, jobs=300, seed=7)
        assert generate(name, jobs=300, seed=7).content_hash == trace.content_hash
        assert generate(name, jobs=300, seed=8).content_hash != trace.content_hash
        code = (
            "from failgym.traces import generate;"
            f"print(generate({name!r}, jobs=300, seed=7).content_hash)"
        )
        elsewhere = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert elsewhere.stdout.strip() == trace.content_hash

    def test_order(self, name: str) -> None:
        trace = generate(name, jobs=400, seed=2)
        job, queued = trace.column("tasks", "job"), trace.column("attempts", "queued")
        first = queued[trace.task_first[:-1]]
        index = trace.column("tasks", "index")
        assert (np.lexsort((index, job, first)) == np.arange(len(job))).all()
        assert (np.diff(trace.column("jobs", "submit")) >= 0).all()
        assert (trace.column("jobs", "width") == np.bincount(job)).all()
        assert (first >= trace.column("jobs", "submit")[job]).all()

    def test_nothing_lies_beyond_the_end(self, name: str) -> None:
        trace = generate(name, jobs=400, seed=2)
        end, outcome = trace.column("attempts", "end"), trace.column("attempts", "outcome")
        assert trace.meta.end is not None
        assert end.max() == trace.meta.end
        assert (end[outcome == Outcome.CENSORED] == trace.meta.end).all()

    def test_split(self, name: str) -> None:
        trace = generate(name, seed=0)
        for part in ("train", "test"):
            outcomes = set(trace.split(part).task_outcome.tolist())
            assert {Outcome.FINISH, Outcome.FAIL, Outcome.KILL, Outcome.CENSORED} <= outcomes

    @pytest.mark.parametrize("jobs", [1, 2, 3, 17])
    def test_few_jobs(self, name: str, jobs: int) -> None:
        for seed in range(10):
            assert generate(name, jobs=jobs, seed=seed).rows("jobs") == jobs

    def test_a_field_can_be_changed(self, name: str) -> None:
        profile = replace(PROFILES[name], default_jobs=20)
        assert generate(profile).rows("jobs") == 20

    def test_bad_arguments(self, name: str) -> None:
        with pytest.raises(TraceError, match="jobs is 0"):
            generate(name, jobs=0)
        with pytest.raises(TraceError, match="seed is -1"):
            generate(name, seed=-1)


def test_unknown_profile() -> None:
    with pytest.raises(
        TraceError, match="'borg': expected one of google-2011, google-2011-failing"
    ):
        generate("borg")


@pytest.mark.parametrize("jobs", [0, 10_000_001, 10**30])
def test_absurd_numbers_of_jobs_are_refused(jobs: int) -> None:
    with pytest.raises(
        TraceError, match=f"^jobs is {jobs}, expected at least 1 and at most 100000"
    ):
        generate("google-2011", jobs=jobs)


class TestSampling:
    def test_normal_scores(self) -> None:
        u = np.array([1e-6, 0.01, 0.02425, 0.3, 0.5, 0.841344746, 0.99, 1 - 1e-6])
        scores = [-4.753424309, -2.326347874, -1.972961, -0.524400513, 0, 1, 2.326347874]
        assert normal_score(u) == pytest.approx([*scores, 4.753424309], abs=1e-6)

    def test_a_table_gives_its_quantiles(self) -> None:
        table = QuantileTable(((0.25, 1.0), (0.5, 3.0), (0.99, 400.0)), 0.1, 1_000.0)
        for q, x in table.points:
            assert table.at(np.array([q]))[0] == pytest.approx(x)
        sample = table.sample(np.random.default_rng(0), 10_000)
        assert np.quantile(sample, 0.5) == pytest.approx(3.0, rel=0.01)
        assert sample.min() >= 0.1
        assert sample.max() <= 1_000.0

    def test_two_points_make_a_lognormal(self) -> None:
        table = QuantileTable(((0.5, 1.0), (0.841344746, np.e)))
        log = np.log(table.sample(np.random.default_rng(0), 10_000))
        assert log.mean() == pytest.approx(0.0, abs=0.01)
        assert log.std() == pytest.approx(1.0, abs=0.01)

    def test_stratified(self) -> None:
        u = np.sort(stratified(np.random.default_rng(0), 100))
        assert (np.floor(u * 100) == np.arange(100)).all()

    def test_quotas(self) -> None:
        assert quotas((0.63, 0.013, 0.355), 10).tolist() == [6, 0, 4]
        assert quotas((1, 1, 1), 10).sum() == 10
        codes = allot(np.random.default_rng(0), (0.2, 0.8), 10)
        assert np.bincount(codes).tolist() == [2, 8]

    def test_shuffled_position(self) -> None:
        sizes = np.array([3, 1, 4])
        group = np.repeat(np.arange(3), sizes)
        position = shuffled_position(np.random.default_rng(1), group, sizes)
        assert [sorted(position[group == g]) for g in range(3)] == [[0, 1, 2], [0], [0, 1, 2, 3]]

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


class TestToy:
    def test_outcomes(self) -> None:
        trace = toy()
        outcomes = dict(zip(trace.column("jobs", "name"), trace.task_outcome, strict=True))
        assert outcomes == {
            "easy": Outcome.FINISH,
            "rescued": Outcome.FINISH,
            "doomed": Outcome.FAIL,
            "hung": Outcome.KILL,
            "long": Outcome.FINISH,
            "evicted": Outcome.FINISH,
            "struck": Outcome.FINISH,
            "unknown": Outcome.CENSORED,
        }
        assert (trace.column("jobs", "outcome") == trace.task_outcome).all()

    def test_times_of_the_struck_task(self) -> None:
        trace = toy()
        rows = slice(*trace.task_first[6:8])
        start = trace.column("attempts", "start")[rows] / MINUTE - 60
        end = trace.column("attempts", "end")[rows] / MINUTE - 60
        assert list(zip(start, end, strict=True)) == [(0, 40), (45, 115), (120, 220)]

    def test_lengths(self) -> None:
        trace = toy()
        known = trace.column("attempts", "outcome") != Outcome.CENSORED
        assert (trace.present("attempts", "length") == known).all()
