"""The system-b traces against what their profile publishes."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from failgym.traces import Cause, Outcome, Trace, generate
from failgym.traces.synthetic import SystemB
from tests.traces.synthetic.kumar_measures import (
    OUT_OF_MEMORY,
    History,
    Measures,
    Tails,
    average,
    last,
    mean_usage,
    median,
    most_similar,
    on_the_grid,
    pooled,
    up_and_down,
)

SEEDS = range(5)
MULTI, SINGLE = 0, 1
"""Environments."""


@pytest.fixture(scope="module")
def sparse() -> list[Trace]:
    """At a fifth of the rate, so that the end of the data cuts off little of the longest jobs."""
    profile = replace(SystemB(), sampling=SystemB().sampling / 5)
    return [generate(profile, jobs=50_000, seed=seed) for seed in SEEDS]


@pytest.fixture(scope="module")
def systems(sparse: list[Trace]) -> list[Measures]:
    return [Measures.of(trace) for trace in sparse]


@pytest.fixture(scope="module")
def traces() -> list[Trace]:
    """As they come by default."""
    return [generate("system-b", seed=seed) for seed in SEEDS]


@pytest.fixture(scope="module")
def tails(sparse: list[Trace]) -> Tails:
    return pooled([Tails.of(trace) for trace in sparse])


class TestSystemB:
    profile = SystemB()

    def test_exits(self, systems: list[Measures]) -> None:
        for m in systems:
            assert (m.environment == MULTI).mean() == pytest.approx(0.261, abs=0.001)
            assert m.exits(SINGLE) == pytest.approx((0.916, 0.001, 0.038, 0.012, 0.037), abs=0.005)
            # The share of "user or system" is between the sum of its column and that of its row.
            success, system, user, either, walltime = m.exits(MULTI)
            assert (success, system, user, walltime) == pytest.approx(
                (0.640, 0.010, 0.030, 0.204), abs=0.005
            )
            assert 0.104 <= either <= 0.116
            assert m.exits() == pytest.approx((0.844, 0.003, 0.036, 0.036, 0.080), abs=0.005)

    def test_causes_of_failures(self, systems: list[Measures]) -> None:
        """Of all failures the system has 4 %, users have 48 %."""
        for m in systems:
            _, system, user, either, _ = m.exits()
            failures = system + user + either
            assert system / failures == pytest.approx(0.04, abs=0.02)
            assert user / failures == pytest.approx(0.48, abs=0.02)

    def test_node_seconds(self, systems: list[Measures]) -> None:
        for m in systems:
            assert m.node_seconds_by_environment() == pytest.approx((0.946, 0.054), abs=0.01)
        exits = np.array([m.node_second_exits() for m in systems])
        published = (0.444, 0.014, 0.027, 0.080, 0.434)
        assert exits.mean(0) == pytest.approx(published, abs=0.01)
        assert np.abs(exits - published).max() < 0.025

    def test_sizes(self, systems: list[Measures]) -> None:
        halves = [float(np.median(m.node_seconds)) for m in systems]
        assert np.mean(halves) == pytest.approx(1e3, rel=0.15)
        wide = [m.node_seconds[m.nodes >= 2_000].sum() / m.node_seconds.sum() for m in systems]
        assert 0.2 < np.mean(wide) < 0.4
        for m in systems:
            assert m.node_seconds.max() <= 1.001e9
            assert m.nodes.max() <= 22_400
            assert m.first_run.max() <= 48 * 3_600
            assert m.walltime.max() <= 48 * 3_600

    @pytest.mark.campaign
    def test_largest(self) -> None:
        """Of a trace with as many jobs as published some would run for 1e9 node-seconds."""
        traces = [generate("system-b", jobs=400_000, seed=seed, usage=False) for seed in (0, 1)]
        top = max(Measures.of(trace).node_seconds.max() for trace in traces)
        assert 3e8 < top <= 1.001e9

    def test_the_machine_suffices(self, traces: list[Trace]) -> None:
        for trace in traces:
            assert trace.meta.end is not None
            used = Measures.of(trace).node_seconds.sum() / self.profile.sampling
            assert 0.3 < used / (trace.meta.end / 1e3 * 26_864) < 1.0

    def test_failures_within_a_minute(self, systems: list[Measures]) -> None:
        for m in systems:
            assert m.within_a_minute() == pytest.approx(0.45, rel=0.15)

    def test_run_times_are_overestimated(self, systems: list[Measures]) -> None:
        for m in systems:
            assert m.overestimate() == pytest.approx(9.0, rel=0.15)

    def test_failures_rise_with_node_seconds(self, systems: list[Measures]) -> None:
        """Of jobs of several nodes; r = .42 is published, in bins that are not."""
        jobs, failed = np.sum([m.failures_by_node_seconds(MULTI) for m in systems], axis=0)
        enough = np.flatnonzero(jobs >= 100)
        rate = failed[enough] / jobs[enough]
        assert np.corrcoef(enough, rate)[0, 1] > 0.4
        half = len(enough) // 2
        assert failed[enough[half:]].sum() / jobs[enough[half:]].sum() > 1.2 * (
            failed[enough[:half]].sum() / jobs[enough[:half]].sum()
        )

    def test_a_third_of_the_system_failures_is_shared(self, systems: list[Measures]) -> None:
        shares = [(m.shared & m.first).sum() / (m.category == "system").sum() for m in systems]
        assert np.mean(shares) == pytest.approx(0.33, rel=0.15)

    def test_bursts(self) -> None:
        """All shared failures come in bursts of 25 jobs in 300 s, fewer in a sample."""
        gaps: list[float] = []
        bursts, days = 0, 0.0
        least = round(25 * self.profile.sampling)
        for seed in SEEDS:
            trace = generate("system-b", jobs=120_000, seed=seed, usage=False)
            shared = trace.column("attempts", "cause") == Cause.SHARED
            assert set(trace.column("attempts", "exit_code")[shared].tolist()) == {107}
            end = np.sort(trace.column("attempts", "end")[shared]) / 1e3
            clusters = np.split(end, np.flatnonzero(np.diff(end) > 300) + 1)
            large = [cluster for cluster in clusters if len(cluster) >= least]
            assert sum(len(cluster) for cluster in large) > 0.9 * len(end)
            gaps += (np.diff([cluster[0] for cluster in large]) / 86_400).tolist()
            assert trace.meta.end is not None
            bursts, days = bursts + len(large), days + trace.meta.end / 86_400_000
        assert np.median(gaps) == pytest.approx(3.3, rel=0.15)
        assert bursts / days * 150 == pytest.approx(26, rel=0.2)

    @pytest.mark.campaign
    def test_bursts_of_the_whole_system(self) -> None:
        """A burst is more than 25 jobs in 300 s."""
        profile = SystemB(sampling=1.0)
        sizes: list[int] = []
        for seed in SEEDS:
            trace = generate(profile, jobs=100_000, seed=seed, usage=False)
            shared = trace.column("attempts", "cause") == Cause.SHARED
            end = np.sort(trace.column("attempts", "end")[shared]) / 1e3
            clusters = np.split(end, np.flatnonzero(np.diff(end) > 300) + 1)
            sizes += [len(cluster) for cluster in clusters if len(cluster)]
        assert np.median(sizes) > 25

    def test_every_default_trace_has_bursts(self, traces: list[Trace]) -> None:
        for trace in traces:
            shared = trace.column("attempts", "cause") == Cause.SHARED
            assert shared.sum() > 10

    def test_out_of_memory(self, systems: list[Measures], sparse: list[Trace]) -> None:
        """Jobs that run out of memory fail by themselves and are not requeued."""
        for m, trace in zip(systems, sparse, strict=True):
            out = trace.column("attempts", "exit_code") == OUT_OF_MEMORY
            assert out.sum() > 10
            assert (trace.column("attempts", "cause")[out] == Cause.INTRINSIC).all()
            assert (trace.column("attempts", "outcome")[out] == Outcome.FAIL).all()
            task = trace.column("attempts", "task")[out]
            assert (trace.task_outcome[task] == Outcome.FAIL).all()
            assert (m.category[trace.column("tasks", "job")[task]] == "system").all()

    def test_users(self) -> None:
        trace = generate("system-b", jobs=200_000, seed=1, usage=False)
        users = len(np.unique(np.array(trace.column("jobs", "user"), dtype=np.str_)))
        assert users == pytest.approx(467, rel=0.05)

    def test_some_fates_are_unknown(self, traces: list[Trace]) -> None:
        for trace in traces:
            censored = trace.column("attempts", "outcome") == Outcome.CENSORED
            assert 0.001 < censored.mean() < 0.02


class TestHistories:
    """As of System A (Kumar et al., Table VI); of System B nothing is published."""

    def test_run_times(self, traces: list[Trace]) -> None:
        errors: list[tuple[float, ...]] = []
        for trace in traces:
            history = History.of(trace)
            rules = ((last, 1), (average, 2), (median, 9), (most_similar, 16))
            errors.append(tuple(history.error(history.run, rule, n) for rule, n in rules))
        by_last, by_mean, by_median, by_similar = np.array(errors).mean(0).tolist()
        assert by_last == pytest.approx(16.7, rel=0.2)
        assert max(by_median, by_similar) < 0.97 * by_last
        assert by_mean > by_last

    def test_usage(self, traces: list[Trace]) -> None:
        history = History.of(traces[0])
        for name, published in (("memory", 3.0), ("remote_io", 31.8), ("network", 17.7)):
            usage = mean_usage(traces[0], name)
            by_last = history.error(usage, last, 1)
            assert by_last == pytest.approx(published, rel=0.15)
            assert history.error(usage, median, 9) < by_last

    def test_tables_do_not_depend_on_usage(self, traces: list[Trace]) -> None:
        bare = generate("system-b", seed=0, usage=False)
        assert bare.rows("windows") == 0
        for name in ("jobs", "tasks", "attempts", "machines", "outages"):
            assert bare.table(name).equals(traces[0].table(name))


class TestUsage:
    """Kumar et al., Figs. 2 and 5 and Table V, at the last window of first runs."""

    profile = SystemB()

    def test_memory_of_single_jobs(self, tails: Tails) -> None:
        """A step at the capacity."""
        rate = tails.failure_rate("memory", SINGLE, (0.0, 0.5, 0.9, 0.975, 1.01))
        assert max(rate[:3]) < 0.005
        assert rate[3] > 0.99
        at_capacity = tails.out_of_memory & (tails.environment == SINGLE)
        assert tails.usage["memory"][at_capacity].min() > 0.975

    def test_memory_of_several_nodes(self, tails: Tails) -> None:
        rate = tails.failure_rate("memory", MULTI, (0.0, 0.2, 0.4, 0.8))
        assert rate.max() < 1.5 * rate.min()

    def test_peak_of_remote_io(self, tails: Tails) -> None:
        """A sharp peak at 46 MB/s: the bursts."""
        rate = tails.failure_rate("remote_io", MULTI, (0.0, 0.01, 0.7, 1.35, 256.0))
        assert rate[2] > 5 * max(rate[0], rate[1], rate[3])
        assert rate[1] > 1.2 * rate[0]

    def test_network(self, tails: Tails) -> None:
        low, high = np.quantile(tails.usage["network"], (0.25, 0.75))
        rate = tails.failure_rate("network", MULTI, (0.0, float(low), float(high), 256.0))
        assert rate[2] < 0.7 * rate[0]

    def test_failures_can_be_foretold(self, tails: Tails) -> None:
        """Those of jobs of several nodes; those of one node cannot."""
        assert tails.auc(MULTI) == pytest.approx(0.994, abs=0.015)
        assert tails.auc(SINGLE) < 0.7

    def test_windows(self, traces: list[Trace]) -> None:
        for trace in traces:
            assert not trace.present("windows", "local_io").any()
            attempt, offset = trace.column("windows", "attempt"), trace.column("windows", "offset")
            assert np.gcd.reduce(offset) == self.profile.usage.window == 60_000
            assert np.diff(offset)[attempt[1:] == attempt[:-1]].min() == 60_000
            assert on_the_grid(trace)


def test_times_up_and_down() -> None:
    """Over 5 months: 95 % of the times up below 92 days, of the times down below 20 hours."""
    profile = SystemB(sampling=0.002)
    trace = generate(profile, jobs=math.ceil(150 * profile.jobs_per_day * 0.002), usage=False)
    assert trace.rows("machines") == 26_864
    up, down = up_and_down(trace)
    assert np.quantile(up, 0.95) / 24 == pytest.approx(92, rel=0.15)
    assert np.quantile(down, 0.95) == pytest.approx(20, rel=0.15)
