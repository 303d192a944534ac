"""system-a and system-b with applications that recur: margins hold, and jobs resemble others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from failgym.traces import Outcome, Trace, TraceError, generate
from failgym.traces.synthetic import PROFILES, SystemA, SystemB
from failgym.traces.synthetic.kumar_applications import draw_habits, usual_mean, usual_median
from failgym.traces.synthetic.profiles import A_RECURRING, B_RECURRING
from failgym.traces.synthetic.profiles.kumar_applications import (
    Parts,
    RecurringApplications,
)
from failgym.traces.synthetic.quantiles import Floats
from failgym.vocabulary import HOUR
from tests.traces.synthetic.kumar_measures import (
    History,
    Measures,
    last,
    mean_usage,
    median,
)

SEEDS = range(3)
DAY_HOURS, WEEK_HOURS = 24, 168


def law_of(profile: SystemA | SystemB) -> RecurringApplications:
    assert profile.applications is not None
    return profile.applications


ALONE = replace(A_RECURRING, applications=law_of(A_RECURRING).alone())


@pytest.fixture(scope="module")
def traces() -> list[Trace]:
    return [generate(A_RECURRING, seed=seed) for seed in SEEDS]


@pytest.fixture(scope="module")
def large() -> list[Trace]:
    return [generate(B_RECURRING, seed=seed, usage=False) for seed in SEEDS]


def before(trace: Trace, column: str, values: Floats) -> float:
    """Correlation of the jobs of one user, or one name, with the one before, of known end."""
    known = np.flatnonzero(trace.column("jobs", "outcome") != Outcome.CENSORED)
    who = np.unique(np.asarray(trace.jobs[column])[known], return_inverse=True)[1]
    order = known[np.argsort(who, kind="stable")]
    same = np.diff(np.sort(who)) == 0
    return float(np.corrcoef(values[order][1:][same], values[order][:-1][same])[0, 1])


def finishes(trace: Trace) -> Floats:
    return (trace.column("jobs", "outcome") == Outcome.FINISH).astype(np.float64)


class TestMargins:
    """Kumar et al., Tables I and IV: as without applications, but with more noise."""

    def test_exits_and_environments(self, traces: list[Trace], large: list[Trace]) -> None:
        for profile, made in ((A_RECURRING, traces), (B_RECURRING, large)):
            measured = [Measures.of(trace) for trace in made]
            for number, environment in enumerate(profile.environments):
                share = environment.jobs / sum(e.jobs for e in profile.environments)
                exits = np.mean([m.exits(number) for m in measured], axis=0)
                published = np.array(environment.exits) / sum(environment.exits)
                for m in measured:
                    assert (m.environment == number).mean() == pytest.approx(share, abs=1e-3)
                assert exits == pytest.approx(published, abs=0.012)

    def test_node_seconds(self, traces: list[Trace], large: list[Trace]) -> None:
        for profile, made, tolerance in ((A_RECURRING, traces, 0.06), (B_RECURRING, large, 0.01)):
            shares = [Measures.of(trace).node_seconds_by_environment() for trace in made]
            published = [environment.node_seconds for environment in profile.environments]
            assert np.mean(shares, axis=0) == pytest.approx(published, abs=tolerance)
        exits = np.mean([Measures.of(trace).node_second_exits() for trace in large], axis=0)
        assert exits == pytest.approx((0.444, 0.014, 0.027, 0.080, 0.434), abs=0.015)

    def test_short_failures_and_requests(self, traces: list[Trace], large: list[Trace]) -> None:
        for made, minute in ((traces, 0.34), (large, 0.45)):
            measured = [Measures.of(trace) for trace in made]
            assert np.mean([m.within_a_minute() for m in measured]) == pytest.approx(
                minute, rel=0.15
            )
            assert np.mean([m.overestimate() for m in measured]) == pytest.approx(9.0, rel=0.2)

    def test_users(self) -> None:
        for profile, users in ((A_RECURRING, 617), (B_RECURRING, 467)):
            trace = generate(profile, jobs=200_000, seed=1, usage=False)
            assert len(np.unique(np.asarray(trace.jobs["user"]))) == pytest.approx(users, rel=0.1)


class TestHistories:
    """Kumar et al., Table VI, with applications that come again."""

    def test_run_times(self, traces: list[Trace]) -> None:
        found = [History.of(trace) for trace in traces]
        by_last = np.mean([each.error(each.run, last, 1) for each in found])
        by_median = np.mean([each.error(each.run, median, 9) for each in found])
        assert by_last == pytest.approx(16.7, rel=0.2)
        assert by_median == pytest.approx(13.3, rel=0.2)
        assert by_median < 0.95 * by_last

    @pytest.mark.parametrize(
        ("name", "published"),
        [("memory", 3.0), ("local_io", 31.9), ("remote_io", 31.8), ("network", 17.7)],
    )
    def test_usage(self, traces: list[Trace], name: str, published: float) -> None:
        history, usage = History.of(traces[0]), mean_usage(traces[0], name)
        by_last = history.error(usage, last, 1)
        assert by_last == pytest.approx(published, rel=0.15)
        assert history.error(usage, median, 9) < 0.95 * by_last


class TestRecurrence:
    """As alike as in logs of computing centres (LANL-CM5, later part: .38 and .58)."""

    def test_jobs_resemble_the_one_before(self, traces: list[Trace], large: list[Trace]) -> None:
        for made in (traces, large):
            ends = [before(trace, "user", finishes(trace)) for trace in made]
            assert np.mean(ends) == pytest.approx(0.38, abs=0.15)
            times = [
                before(trace, "user", np.log1p(Measures.of(trace).first_run)) for trace in made
            ]
            assert np.mean(times) == pytest.approx(0.58, abs=0.2)

    def test_an_application_requests_what_it_did(self, traces: list[Trace]) -> None:
        trace = traces[0]
        name = np.asarray(trace.jobs["name"])
        order = np.argsort(name, kind="stable")
        same = name[order][1:] == name[order][:-1]
        walltime = trace.column("jobs", "walltime")[order]
        assert 0.6 < np.mean(walltime[1:][same] == walltime[:-1][same]) < 0.95
        nodes = np.zeros(len(name))
        nodes[trace.column("tasks", "job")] = trace.column("tasks", "width")
        wide = same & (nodes[order][1:] > 1)
        assert 0.75 < np.mean(nodes[order][1:][wide] == nodes[order][:-1][wide]) < 1.0

    def test_applications_come_back(self, traces: list[Trace]) -> None:
        """Some have sittings days apart; each has one user and one environment."""
        trace = traces[0]
        code = np.unique(np.asarray(trace.jobs["name"]), return_inverse=True)[1]
        submit = trace.column("jobs", "submit")
        order = np.lexsort((submit, code))
        gap = np.diff(submit[order])[np.diff(code[order]) == 0] / HOUR
        assert 50 < (gap > 2 * DAY_HOURS).sum() < 1_000
        for column in ("user", "queue"):
            of = np.stack((code, np.unique(np.asarray(trace.jobs[column]), return_inverse=True)[1]))
            assert len(np.unique(of, axis=1).T) == code.max() + 1

    def test_sittings_begin_in_office_hours(self) -> None:
        habits = draw_habits(
            A_RECURRING, law_of(A_RECURRING), 60_000, 176 * 86_400.0, np.random.default_rng(1)
        )
        _, first = np.unique(habits.sitting, return_index=True)
        hour = habits.submit[first] / 3_600 % WEEK_HOURS
        office = (hour < 5 * DAY_HOURS) & (hour % 24 >= 9) & (hour % 24 < 17)
        ratio = office.mean() / (1 - office.mean()) * (WEEK_HOURS - 40) / 40
        assert 1.5 < ratio < 5.0

    def test_a_user_sits_at_one_application_at_a_time(self) -> None:
        habits = draw_habits(
            A_RECURRING, law_of(A_RECURRING), 5_000, 15 * 86_400.0, np.random.default_rng(2)
        )
        assert (np.diff(habits.submit) >= 0).all()
        user = habits.user[habits.sitting]
        order = np.argsort(user, kind="stable")
        changes = np.count_nonzero(np.diff(habits.sitting[order]))
        assert changes == len(np.unique(habits.sitting)) - 1

    def test_sessions_are_a_special_case(self, traces: list[Trace]) -> None:
        """Without habits but of run time, users' jobs are as in sessions: they tell run times."""
        alone = [generate(ALONE, seed=seed, usage=False) for seed in SEEDS]
        sessions = [generate("system-a", seed=seed, usage=False) for seed in SEEDS]
        found = {
            kind: (
                np.mean([before(trace, "user", finishes(trace)) for trace in made]),
                np.mean(
                    [
                        before(trace, "user", np.log1p(Measures.of(trace).first_run))
                        for trace in made
                    ]
                ),
                np.mean([h.error(h.run, last, 1) for h in map(History.of, made)]),
            )
            for kind, made in (("alone", alone), ("sessions", sessions))
        }
        ends, times, errors = zip(*found.values(), strict=True)
        assert ends[0] == pytest.approx(ends[1], abs=0.15)
        assert times[0] == pytest.approx(times[1], abs=0.15)
        assert errors[0] == pytest.approx(errors[1], rel=0.2)
        assert np.mean([before(trace, "user", finishes(trace)) for trace in traces]) > ends[0] + 0.1


def test_applications_are_off_in_released_profiles() -> None:
    for name, profile in (("system-a", SystemA()), ("system-b", SystemB())):
        assert PROFILES[name] == profile
        assert profile.applications is None


def test_small_traces() -> None:
    for profile in (A_RECURRING, B_RECURRING):
        for jobs in (1, 2, 7, 40):
            assert generate(profile, jobs=jobs, seed=jobs).rows("jobs") == jobs


def test_what_is_usual() -> None:
    habits, values = np.array([3, 1, 3, 3, 1]), np.array([1.0, 5.0, 9.0, 2.0, 7.0])
    assert usual_median(habits, values).tolist() == [2.0, 7.0, 2.0, 2.0, 7.0]
    assert usual_mean(habits, values).tolist() == [4.0, 6.0, 4.0, 4.0, 6.0]


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("odd", 2.0, "applications.odd is 2.0, expected a number from 0 to 1"),
        ("run", Parts(0.7, 0.4), "applications.run.sitting is 0.4, expected at most 0.3"),
        ("office", 0.0, "applications.office is 0.0, expected a number from 0.1 to 100"),
    ],
)
def test_bad_values_are_refused(field: str, value: object, message: str) -> None:
    law = replace(law_of(A_RECURRING), **{field: value})  # type: ignore[arg-type]
    with pytest.raises(TraceError, match=message):
        generate(replace(A_RECURRING, applications=law), jobs=10)
