"""The system-a traces against what their profile publishes."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from failgym.traces import Cause, Outcome, Trace, generate
from failgym.traces.synthetic import A_RECURRING, HARSH, HARSH_RECURRING, SystemA
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
SHARE = 0.01  # tolerance of a share
SHARED, MULTI, SINGLE = 0, 3, 2
"""Environments."""
HOUR, DAY = 3_600.0, 86_400.0
"""[s]"""


@pytest.fixture(scope="module")
def traces() -> list[Trace]:
    """As they come by default."""
    return [generate("system-a", seed=seed) for seed in SEEDS]


@pytest.fixture(scope="module")
def systems() -> list[Measures]:
    return [Measures.of(generate("system-a", jobs=20_000, seed=seed)) for seed in SEEDS]


@pytest.fixture(scope="module")
def struck() -> list[Measures]:
    return [Measures.of(generate(HARSH, jobs=20_000, seed=seed)) for seed in SEEDS]


@pytest.fixture(scope="module")
def tails() -> Tails:
    return pooled([Tails.of(generate("system-a", jobs=60_000, seed=seed)) for seed in SEEDS])


def rate_between(made: list[Measures], low: float, high: float) -> float:
    """Failures by the system a second, of attempts between two ages [s]."""
    exposed = sum(float(np.clip(m.run - low, 0.0, high - low).sum()) for m in made)
    return sum(int((m.system & (m.run > low) & (m.run <= high)).sum()) for m in made) / exposed


class TestSystemA:
    profile = SystemA()

    def test_exits_by_environment(self, systems: list[Measures]) -> None:
        for m in systems:
            for number, environment in enumerate(self.profile.environments):
                assert (m.environment == number).mean() == pytest.approx(
                    environment.jobs, abs=SHARE
                )
                # A hundredth of the jobs are shared and wide: one is half a percent of them.
                tolerance = 0.005 if environment.jobs > 0.1 else SHARE
                assert m.exits(number) == pytest.approx(environment.exits, abs=tolerance)

    def test_exits_overall(self, systems: list[Measures]) -> None:
        for m in systems:
            assert m.exits() == pytest.approx((0.861, 0.053, 0.033, 0.013, 0.040), abs=0.005)

    def test_causes_of_failures(self, systems: list[Measures]) -> None:
        """Of all failures the system has 53 %, users have 33 %."""
        for m in systems:
            _, system, user, either, _ = m.exits()
            failures = system + user + either
            assert system / failures == pytest.approx(0.53, abs=0.02)
            assert user / failures == pytest.approx(0.33, abs=0.02)

    def test_node_seconds(self, systems: list[Measures]) -> None:
        """By environment (Table I) and by exit (Table IV), and half of the jobs small (Fig. 1)."""
        shares = np.mean([m.node_seconds_by_environment() for m in systems], 0)
        published = [environment.node_seconds for environment in self.profile.environments]
        assert shares == pytest.approx(published, abs=SHARE)
        exits = np.mean([m.node_second_exits() for m in systems], 0)
        assert exits == pytest.approx((0.484, 0.040, 0.129, 0.013, 0.334), abs=1.5 * SHARE)
        small = np.mean([(m.node_seconds < 1_000).mean() for m in systems])
        assert small == pytest.approx(0.5, rel=0.15)

    @pytest.mark.parametrize("environment", [SHARED, SINGLE, MULTI])
    def test_failures_fall_with_node_seconds(
        self, systems: list[Measures], environment: int
    ) -> None:
        """Table V, Fig. 6."""
        jobs, failed = np.sum([m.failures_by_node_seconds(environment) for m in systems], 0)
        rates = [failed[some].sum() / jobs[some].sum() for some in (slice(14), slice(16, None))]
        assert rates[0] > 2.0 * rates[1]  # below 3,000 node-seconds and above 10,000

    def test_failures_within_a_minute(self, systems: list[Measures]) -> None:
        for m in systems:
            assert m.within_a_minute() == pytest.approx(0.34, rel=0.15)

    def test_run_times_are_overestimated(self, systems: list[Measures]) -> None:
        for m in systems:
            assert m.overestimate() == pytest.approx(9.0, rel=0.15)
            assert m.walltime.max() <= 336 * 3_600

    def test_hazard_falls_with_age(self, systems: list[Measures]) -> None:
        for m in systems:
            edges = (0.0, 60.0, HOUR, DAY)
            rates = [rate_between([m], low, high) for low, high in pairwise(edges)]
            assert rates[0] > 2 * rates[1] > 2 * rates[2]

    def test_attempts_of_a_task_share_one_length(self) -> None:
        trace = generate("system-a", jobs=5_000, seed=1)
        task, length = trace.column("attempts", "task"), trace.column("attempts", "length")
        outcome, start = trace.column("attempts", "outcome"), trace.column("attempts", "start")
        run = trace.column("attempts", "end") - start
        assert (length == length[trace.task_first[:-1]][task]).all()
        assert (length >= run)[start >= 0].all()
        assert (length == run)[outcome == Outcome.FINISH].all()

    @pytest.mark.parametrize("name", ["system-a", "system-b"])
    def test_runs_keep_to_their_walltime(self, name: str) -> None:
        trace = generate(name, jobs=20_000, seed=4, usage=False)
        start, end = trace.column("attempts", "start"), trace.column("attempts", "end")
        job = trace.column("tasks", "job")[trace.column("attempts", "task")]
        left = trace.column("jobs", "walltime")[job] - np.where(start >= 0, end - start, 0)
        met = trace.column("attempts", "cause") == Cause.WALLTIME
        assert left.min() >= -1  # both ends are rounded
        assert met.sum() > 100
        assert np.abs(left[met]).max() <= 1

    def test_every_requeue_down_to_the_end(self) -> None:
        trace = generate("system-a", jobs=5_000, seed=1)
        cause, outcome = trace.column("attempts", "cause"), trace.column("attempts", "outcome")
        system = (cause == Cause.SHARED) | (cause == Cause.MACHINE)
        last = np.zeros(len(cause), dtype=np.bool_)
        last[trace.task_first[1:] - 1] = True
        assert not (system & last).any()
        assert system[~last].all()
        assert (outcome[last] == Outcome.CENSORED).any()

    def test_exit_code_of_failures_without_memory(self) -> None:
        """They are failures of a machine, told from others by their code, which has none."""
        trace = generate("system-a", jobs=3_000, seed=2, usage=False)
        cause, code = trace.column("attempts", "cause"), trace.column("attempts", "exit_code")
        assert (code == OUT_OF_MEMORY).sum() > 10
        assert (cause[code == OUT_OF_MEMORY] == Cause.MACHINE).all()
        assert set(code[cause == Cause.MACHINE].tolist()) == {OUT_OF_MEMORY, -1}

    def test_users(self) -> None:
        trace = generate("system-a", jobs=200_000, seed=1, usage=False)
        users = len(np.unique(np.array(trace.column("jobs", "user"), dtype=np.str_)))
        assert users == pytest.approx(617, rel=0.05)


class TestHarsh:
    """Where failures strike long jobs: in spells and bursts, and checkpoints matter."""

    @pytest.mark.parametrize(
        ("harsh", "published"), [(HARSH, SystemA()), (HARSH_RECURRING, A_RECURRING)]
    )
    def test_it_is_system_a_but_for_what_it_says(self, harsh: SystemA, published: SystemA) -> None:
        kept = ("name", "startup", "startup_scale", "environments")
        assert replace(harsh, **{name: getattr(published, name) for name in kept}) == published
        for one, other in zip(harsh.environments, published.environments, strict=True):
            chosen = ("runs", "runtime", "exit_node_seconds", "usage")
            assert replace(other, **{name: getattr(one, name) for name in chosen}) == one
            assert replace(one.usage, local_io=other.usage.local_io) == other.usage

    def test_as_many_fail_and_later(self, struck: list[Measures], systems: list[Measures]) -> None:
        """The same exits; but a fifth of the node-seconds, where 4 % is published."""
        assert np.mean([m.exits() for m in struck], 0) == pytest.approx(
            np.mean([m.exits() for m in systems], 0), abs=0.002
        )
        late = [rate_between(made, HOUR, DAY) for made in (systems, struck)]
        assert 6 < late[1] / late[0] < 13
        assert np.mean([m.node_second_exits()[1] for m in struck]) == pytest.approx(0.2, abs=0.03)

    def test_failures_foretell_failures(self, struck: list[Measures]) -> None:
        for m in struck:
            bins = np.bincount(m.end[m.system] // 600_000)  # per ten minutes
            after = bins[1:][bins[:-1] > 0].mean() / bins[1:][bins[:-1] == 0].mean()
            assert after > 5

    def test_bursts(self) -> None:
        """A burst hits 25 running jobs in 300 s, of which the sample holds a tenth."""
        for seed in SEEDS:
            trace = generate("system-a-harsh", seed=seed)
            shared = trace.column("attempts", "cause") == Cause.SHARED
            end = np.sort(trace.column("attempts", "end")[shared])
            least = round(25 * HARSH.sampling)
            together = np.flatnonzero(end[least:] - end[:-least] < 300_000)
            days = np.unique(end[together] // 86_400_000)
            assert len(days) > 5
            assert days[-1] * 86_400_000 > trace.boundary()

    def test_room_for_checkpoints(self) -> None:
        for seed in SEEDS:
            trace = generate("system-a-harsh", seed=seed)
            for part in (trace.split("train"), trace.split("test")):
                m = Measures.of(part)
                lost = m.run[m.system].sum() / m.run.sum()
                assert 0.1 < lost < 0.5
                struck = np.bincount(part.column("attempts", "task"), m.system) > 0
                time = np.bincount(part.column("attempts", "task"), m.run)
                assert time[struck].sum() / time.sum() > 0.25
                assert 1e4 < m.run.sum() / m.system.sum() < 2e5


class TestHistories:
    """Kumar et al., Table VI: histories foretell, the median and the most similar job best."""

    def test_run_times(self, traces: list[Trace]) -> None:
        errors: list[tuple[float, ...]] = []
        for trace in traces:
            history = History.of(trace)
            rules = ((last, 1), (average, 2), (median, 9), (most_similar, 16))
            errors.append(tuple(history.error(history.run, rule, n) for rule, n in rules))
        by_last, by_mean, by_median, by_similar = np.array(errors).mean(0).tolist()
        assert by_last == pytest.approx(16.7, rel=0.2)
        assert by_median == pytest.approx(13.3, rel=0.15)
        assert by_similar == pytest.approx(14.5, rel=0.15)
        assert max(by_median, by_similar) < 0.95 * by_last
        assert by_mean > by_last  # so the best mean is that of one

    @pytest.mark.parametrize(
        ("name", "published"),
        [("memory", 3.0), ("local_io", 31.9), ("remote_io", 31.8), ("network", 17.7)],
    )
    def test_usage(self, traces: list[Trace], name: str, published: float) -> None:
        for trace in traces[:2]:
            history, usage = History.of(trace), mean_usage(trace, name)
            by_last = history.error(usage, last, 1)
            assert by_last == pytest.approx(published, rel=0.15)
            assert history.error(usage, median, 9) < 0.95 * by_last

    def test_requests_and_attempts_do_not_depend_on_usage(self, traces: list[Trace]) -> None:
        bare = generate("system-a", seed=0, usage=False)
        assert bare.rows("windows") == 0
        for name in ("jobs", "tasks", "attempts", "machines", "outages"):
            assert bare.table(name).equals(traces[0].table(name))


class TestUsage:
    """Kumar et al., Figs. 2, 4 and 5 and Table V, at the last window of first runs."""

    profile = SystemA()

    @pytest.mark.parametrize("environment", [SHARED, SINGLE])
    def test_memory(self, tails: Tails, environment: int) -> None:
        """Failures rise from half of the capacity on."""
        rate = tails.failure_rate("memory", environment, (0.0, 0.2, 0.4, 0.6, 0.8))
        assert rate[1] == pytest.approx(rate[0], rel=0.25)
        assert rate[3] > 2.5 * rate[1]
        assert rate[2] > 1.15 * rate[1]

    def test_memory_of_several_nodes(self, tails: Tails) -> None:
        rate = tails.failure_rate("memory", MULTI, (0.0, 0.2, 0.4, 0.7))
        assert rate.max() < 1.35 * rate.min()

    def test_local_io_of_single_jobs(self, tails: Tails) -> None:
        """As fitted, .04 e^(-.48 x) with x the log10 of MB/s, but for the peak at 6 MB/s."""
        unit = self.profile.usage.local_unit
        assert unit is not None
        edges = np.array([-2.5, -1.5, -0.5, 0.5, 0.7, 0.86])
        rate = tails.failure_rate("local_io", SINGLE, (10**edges / unit).tolist())
        middle = np.array([-2.0, -1.0, 0.0])
        assert rate[:3] == pytest.approx(0.04 * np.exp(-0.48 * middle), rel=0.3)
        assert rate[4] > 2 * rate[2]

    def test_local_io_of_shared_jobs(self, tails: Tails) -> None:
        """A peak at 3 MB/s."""
        rate = tails.failure_rate("local_io", SHARED, (0.1, 0.43, 0.58, 2.0))
        assert rate[1] > 1.5 * max(rate[0], rate[2])

    @pytest.mark.parametrize(
        ("name", "environment", "sign"),
        [
            ("remote_io", SINGLE, -1),
            ("remote_io", MULTI, -1),
            ("remote_io", SHARED, 1),
            ("network", SINGLE, -1),
            ("network", SHARED, 1),
            ("network", MULTI, 0),
            ("local_io", MULTI, 0),
        ],
    )
    def test_rates(self, tails: Tails, name: str, environment: int, sign: int) -> None:
        """The signs of Table V."""
        low, high = np.quantile(tails.usage[name], (0.25, 0.75))
        rate = tails.failure_rate(name, environment, (0.0, float(low), float(high), 256.0))
        ratio = rate[2] / rate[0]
        if sign:
            assert ratio**sign > 1.3
        else:
            assert 0.7 < ratio < 1.4

    @pytest.mark.parametrize(
        ("environment", "published"), [(SHARED, 0.949), (SINGLE, 0.961), (MULTI, 0.962)]
    )
    def test_failures_can_be_foretold(
        self, tails: Tails, environment: int, published: float
    ) -> None:
        """As well as the precision and recall behind Table VIII say."""
        assert tails.auc(environment) == pytest.approx(published, abs=0.015)

    def test_windows(self, traces: list[Trace]) -> None:
        for trace in traces:
            attempt, offset = trace.column("windows", "attempt"), trace.column("windows", "offset")
            assert np.gcd.reduce(offset) == self.profile.usage.window == 300_000
            apart = np.diff(offset)[attempt[1:] == attempt[:-1]]
            assert apart.min() == 300_000
            run = trace.column("attempts", "end") - trace.column("attempts", "start")
            assert (offset < run[attempt]).all()
            assert on_the_grid(trace)
            for name in ("cpu", "memory", "max_memory"):
                used = trace.column("windows", name)
                assert used.min() > 0
                assert used.max() <= 1
            assert (
                trace.column("windows", "max_memory") >= trace.column("windows", "memory")
            ).all()


class TestMachines:
    def test_times_up_and_down(self) -> None:
        """Over 28 months: 95 % of the times up below 31 days, of the times down below 24 hours."""
        trace = generate(SystemA(sampling=0.005), jobs=14_540, seed=1, usage=False)
        assert trace.rows("machines") == 580
        up, down = up_and_down(trace)
        assert np.quantile(up, 0.95) / 24 == pytest.approx(31, rel=0.15)
        assert np.quantile(down, 0.95) == pytest.approx(24, rel=0.15)
