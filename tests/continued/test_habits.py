"""The laws that are counted from a trace, and which of them speaks of which task."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from failgym.continued import Habits, fit
from failgym.continued.habits import UNKNOWN_WORK
from failgym.sim.shared.continuation import Continuation, Law
from failgym.traces import Trace, generate
from failgym.traces.schema import TABLES
from failgym.traces.split import select
from tests.continued.records import ENDS, Job, Row, trace_of


def entries(law: Law, cell: int) -> list[tuple[float, float]]:
    """Times and shares of a cell."""
    part = slice(law.at[cell], law.at[cell + 1])
    return list(zip(law.value[part].tolist(), law.share[part].round(9).tolist(), strict=True))


def laws(trace: Trace, habits: Habits | None = None, **options: Any) -> tuple[Habits, Continuation]:
    habits = habits or fit(trace, **options)
    return habits, habits.of(trace, np.arange(trace.rows("tasks")))


def test_a_hand_counted_trace() -> None:
    # k = 0: fails at 10, finishes at 30, evicted at 20. k = 1: finishes at 40 (after a gap of 5).
    jobs = [
        Job([[(100, 110, "fail"), (115, 155, "finish")]]),
        Job([[(100, 130, "finish")]]),
        Job([[(100, 120, "evict"), (127, 167, "finish")]]),
    ]
    habits, made = laws(trace_of(jobs, end=1000), least_rows=1, least_jobs=1, finest="all")
    first, second = made.cell[0, 0], made.cell[0, 1]
    # At 20 one of three (20, 30, 40) is evicted; ends at 30, 40. The only later one does not fail.
    assert entries(habits.failure, first) == []
    assert entries(habits.external, first) == [(20.0, round(1 / 3, 9))]
    assert entries(habits.work, first) == [(30.0, 0.5), (40.0, 1.0)]
    assert entries(habits.failure, second) == []
    assert entries(habits.work, second) == [(40.0, 1.0)]
    assert entries(habits.gap_after_failure, first) == [(5.0, 1.0)]
    assert entries(habits.gap_after_external, first) == [(7.0, 1.0)]
    assert habits.gives_up[first] == habits.ends_external[first] == 0.0
    assert (made.cell[:, 2:] == second).all(), "no attempt has failed twice: as after one"


def test_failures_are_those_of_later_attempts_where_there_are_enough() -> None:
    first = [Job([[(100, 110, "fail")]]) for _ in range(3)]
    later = [Job([[(100, 130, "evict"), (130, 190, "fail")]]) for _ in range(2)]
    trace = trace_of(first + later, end=1000)
    habits, made = laws(trace, least_rows=2, least_jobs=2, finest="all")
    cell = made.cell[0, 0]
    assert entries(habits.failure, cell) == [(60.0, 1.0)], "both later ones fail at 60"
    assert entries(habits.external, cell) == [(30.0, 0.5)], "of all: two of the four left at 30"
    habits, made = laws(trace, least_rows=3, least_jobs=3, finest="all")
    # Of all: at 10 three of seven fail; at 60 two of the two that are left.
    assert entries(habits.failure, made.cell[0, 0]) == [(10.0, round(3 / 7, 9)), (60.0, 1.0)]


def test_a_user_s_kill_and_the_end_of_the_data_censor() -> None:
    jobs = [Job([[(10, 30, "kill")]]), Job([[(10, 50, "cut")]]), Job([[(10, 20, "fail")]])]
    habits, made = laws(trace_of(jobs, end=50), least_rows=1, least_jobs=1, finest="all")
    assert entries(habits.failure, made.cell[0, 0]) == [(10.0, round(1 / 3, 9))]
    assert entries(habits.external, made.cell[0, 0]) == []
    assert entries(habits.work, made.cell[0, 0]) == [(40.0, 1.0)], "closed at the longest time"


def test_rows_that_ran_when_the_data_begin_are_left_out() -> None:
    running = [Job([[(0, 7, "fail")]], submit=0) for _ in range(2)]
    later = [Job([[(5, 25, "finish")]], submit=5)]
    habits, made = laws(trace_of(running + later), least_rows=1, least_jobs=1, finest="all")
    assert entries(habits.failure, made.cell[0, 0]) == []
    assert entries(habits.work, made.cell[0, 0]) == [(20.0, 1.0)]
    habits, made = laws(trace_of(running), least_rows=1, least_jobs=1, finest="all")
    assert entries(habits.failure, made.cell[0, 0]) == [(7.0, 1.0)], "a batch that begins at 0"


def test_the_finest_stratum_with_enough_attempts_of_enough_jobs_speaks() -> None:
    often = [Job([[(10, 20, "finish")] for _ in range(6)], name="often") for _ in range(5)]
    one = [Job([[(10, 30, "finish")] for _ in range(30)], name="one job")]
    prod = [Job([[(10, 15, "finish")] for _ in range(6)], priority=10) for _ in range(5)]
    trace = trace_of(often + one + prod)
    habits, made = laws(trace)
    at = trace.task_first  # one attempt a task
    assert len(at) == 91
    work = [entries(habits.work, made.cell[task, 0]) for task in (0, 30, 60)]
    assert work[0] == [(10.0, 1.0)], "its name"
    assert work[1] == [(10.0, 0.5), (20.0, 1.0)], "its class: several tasks, free"
    assert work[2] == [(5.0, 1.0)], "its class: production"
    coarse, of_all = laws(trace, finest="all")
    assert len(np.unique(of_all.cell)) == 1
    assert [x for x, _ in entries(coarse.work, of_all.cell[0, 0])] == [5.0, 10.0, 20.0]


def test_where_too_little_was_seen_nothing_happens_but_the_end_of_the_work() -> None:
    habits, made = laws(trace_of([Job([[(10, 20, "fail"), (25, 55, "finish")]])]))
    cell = made.cell[0, 0]
    assert entries(habits.failure, cell) == entries(habits.external, cell) == []
    assert entries(habits.work, cell) == [(30.0, 1.0)]
    unseen = Job([[(None, 20, "cut")]])
    habits, made = laws(trace_of([unseen]))
    assert entries(habits.work, made.cell[0, 0]) == [(float(UNKNOWN_WORK), 1.0)]


def test_what_was_cut_off_in_the_millisecond_in_which_it_began_tells_nothing() -> None:
    """A train part of which nothing had run: else all work would take a millisecond."""
    cut = [Job([[(10, 10, "cut")] for _ in range(6)], submit=10) for _ in range(6)]
    habits, made = laws(trace_of(cut, end=10))
    assert entries(habits.work, made.cell[0, 0]) == [(float(UNKNOWN_WORK), 1.0)]
    seen = Job([[(3, 10, "cut")]], submit=3)
    habits, made = laws(trace_of([*cut, seen], end=10))
    assert entries(habits.work, made.cell[0, 0]) == [(7.0, 1.0)]


def test_a_cluster_gives_up_where_nothing_follows_though_it_could_be_seen() -> None:
    jobs = [
        Job([[(10, 20, "fail"), (25, 30, "fail")]]),  # restarted, then given up
        Job([[(10, 20, "fail"), (None, 60, "kill")]]),  # waited, and the user killed it
        Job([[(10, 20, "fail"), (None, 100, "cut")]]),  # waits
        Job([[(10, 98, "fail")]]),  # so late that a restart after 5 could not be seen
    ]
    habits, made = laws(trace_of(jobs, end=100), least_rows=1, least_jobs=1, finest="all")
    first, second = made.cell[0, 0], made.cell[0, 1]
    assert habits.gives_up[first] == 0.0
    assert habits.gives_up[second] == 1.0
    assert entries(habits.gap_after_failure, first) == [(5.0, 0.5), (80.0, 1.0)], "one waits for 80"


def test_a_slow_task_is_slow_beside_the_median_of_its_siblings() -> None:
    tasks: list[list[Row]] = [[(10, 110, "finish")] for _ in range(5)]
    trace = trace_of([Job([*tasks, [(10, 410, "finish")]])])
    _, made = laws(trace, task_share=0.25)
    sigma = 4.0 ** (5 / (5 + 5))  # d / m = 400 / 100, shrunk by n / (n + 5)
    assert made.slow[5] == pytest.approx(sigma ** (0.25 - 1.0))
    assert made.slow[0] == 1.0
    assert laws(trace, task_share=1.0)[1].slow[5] == 1.0
    few = trace_of([Job([*tasks[:4], [(10, 410, "finish")]])])
    assert laws(few)[1].slow.tolist() == [1.0] * 5


def test_stated_lengths_and_drawn_work_leave_nothing_to_chance() -> None:
    tasks: list[list[Row]] = [[(10, 110, "finish")] for _ in range(6)]
    stated = laws(trace_of([Job(tasks, lengths=[100] * 6)]))[1]
    assert stated.chance_cell.tolist() == [-1] * 6
    mixed = laws(trace_of([Job([*tasks, [(10, 20, "fail")]])]))[1]
    assert (mixed.chance_cell[:6] >= 0).all()
    assert mixed.chance_cell[6] == -1


def test_bad_options_are_named() -> None:
    trace = trace_of([Job([[(10, 20, "finish")]])])
    for options, message in (
        ({"task_share": 1.5}, "task_share: expected 0 to 1, got 1.5"),
        ({"finest": "user"}, "finest: expected name, class, all, got user"),
        ({"task_share": float("nan")}, "task_share: expected 0 to 1, got nan"),
        ({"task_share": "half"}, "task_share: expected 0 to 1, got 'half'"),
        ({"least_rows": 0}, "least_rows: expected a whole number, at least 1, got 0"),
        ({"least_rows": 1.5}, "least_rows: expected a whole number, at least 1, got 1.5"),
        ({"least_jobs": float("nan")}, "least_jobs: expected a whole number, at least 1, got nan"),
        ({"least_jobs": True}, "least_jobs: expected a whole number, at least 1, got True"),
    ):
        with pytest.raises(ValueError, match=message):
            fit(trace, **options)  # pyright: ignore[reportArgumentType]
    habits = fit(trace)
    wrong: list[tuple[Any, str]] = [
        (np.arange(2), "key: expected 1 rows of tasks"),
        (np.array([0.5]), "key: expected whole numbers, got float64"),
        (np.array([2**63], dtype=np.uint64), "key: expected whole numbers, got uint64"),
        (np.array(["0"]), "key: expected whole numbers, got <U1"),
    ]
    for key, message in wrong:
        with pytest.raises(ValueError, match=message):
            habits.of(trace, key)


Ending = st.sampled_from(list(ENDS))


@st.composite
def traces(draw: st.DrawFn) -> list[Job]:
    """Jobs of random tasks."""
    jobs = list[Job]()
    for _ in range(draw(st.integers(1, 6))):
        tasks = list[list[Row]]()
        for _ in range(draw(st.integers(1, 7))):
            at, rows = draw(st.integers(0, 3)), list[Row]()
            for _ in range(draw(st.integers(1, 4))):
                lasts, ending = draw(st.integers(0, 9)), draw(Ending)
                rows.append((at, at + lasts, ending))
                at += lasts + draw(st.integers(0, 3))
                if ending in ("kill", "cut"):
                    break
            tasks.append(rows)
        name, priority = draw(st.sampled_from(["", "a", "b"])), draw(st.integers(0, 11))
        jobs.append(Job(tasks, name=name, priority=priority, submit=draw(st.integers(0, 2))))
    return jobs


def speaks(made: Continuation, task: int) -> list[Any]:
    """All that the laws say of a task."""
    names = ("failure", "external", "work", "gap_after_failure", "gap_after_external")
    said: list[Any] = [entries(getattr(made, n), c) for c in made.cell[task] for n in names]
    said += [made.gives_up[made.cell[task]].tolist(), made.ends_external[made.cell[task]].tolist()]
    chance = made.chance_cell[task]
    return [*said, made.slow[task], [] if chance < 0 else entries(made.chance, chance)]


@settings(max_examples=60, deadline=None)
@given(traces(), st.randoms(use_true_random=False), st.integers(1, 3))
def test_laws_do_not_depend_on_the_order_of_jobs_and_tasks(
    jobs: list[Job], random: Any, least: int
) -> None:
    order = random.sample(range(len(jobs)), len(jobs))
    within = [random.sample(range(len(job.tasks)), len(job.tasks)) for job in jobs]
    mixed = [
        Job([jobs[j].tasks[t] for t in within[j]], jobs[j].name, jobs[j].priority, jobs[j].submit)
        for j in order
    ]
    place = {pair: n for n, pair in enumerate((j, t) for j in order for t in within[j])}
    options: dict[str, Any] = {"least_rows": least, "least_jobs": 1}
    made = laws(trace_of(jobs, end=99), **options)[1]
    other = laws(trace_of(mixed, end=99), **options)[1]
    pairs = [(j, t) for j, job in enumerate(jobs) for t in range(len(job.tasks))]
    for task, pair in enumerate(pairs):
        assert speaks(made, task) == speaks(other, place[pair])


@settings(max_examples=40, deadline=None)
@given(traces(), st.data())
def test_of_a_part_are_the_rows_of_the_whole_and_nothing_recorded_changes(
    jobs: list[Job], data: st.DataObject
) -> None:
    trace = trace_of(jobs, end=99)
    before = trace.content_hash
    habits, whole = laws(trace, least_rows=2, least_jobs=1)
    chosen = np.array(data.draw(st.lists(st.booleans(), min_size=len(jobs), max_size=len(jobs))))
    kept = select({name: trace.table(name) for name in TABLES}, {"jobs": chosen})
    part, tasks = Trace(trace.meta, **kept.tables), kept.rows["tasks"]
    if (trace.column("jobs", "submit")[chosen] > 0).any() == (
        trace.column("jobs", "submit") > 0
    ).any():
        made = habits.of(part, tasks)
        assert made.key.tolist() == tasks.tolist()
        assert np.array_equal(made.cell, whole.cell[tasks])
        assert made.failure is whole.failure
    assert Trace(trace.meta, **{name: trace.table(name) for name in TABLES}).content_hash == before


def test_lines_of_a_generated_trace_s_test_split_are_those_of_the_whole() -> None:
    trace = generate("google-2011", jobs=300, seed=1, usage=False)
    habits = fit(trace.split("train"))
    jobs = trace.column("jobs", "submit") > trace.boundary()
    tasks = np.flatnonzero(jobs[trace.column("tasks", "job")])
    whole = habits.of(trace, np.arange(trace.rows("tasks")))
    part = habits.of(trace.split("test"), tasks)
    for name in ("cell", "slow", "chance_cell", "key"):
        assert np.array_equal(getattr(part, name), getattr(whole, name)[tasks])
