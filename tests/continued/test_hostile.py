"""Traces that hold next to nothing, or the extremes of what a trace may hold: all have laws."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from failgym.continued import fit
from failgym.continued.habits import UNKNOWN_WORK
from failgym.continued.patience import Restarts
from failgym.continued.rows import Rows
from failgym.sim.shared.continuation import COUNTS, LONGEST_FATE, Continuation, Law
from failgym.traces import Meta, Outcome, Trace
from failgym.traces.schema import LATEST
from failgym.vocabulary import Ending
from tests.continued.records import ENDS, Job, Row, trace_of

TIMES = ("failure", "external", "work", "gap_after_failure", "gap_after_external")


def made(trace: Trace, **options: Any) -> Continuation:
    """The laws of a trace for itself; a warning is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return fit(trace, **options).of(trace, np.arange(trace.rows("tasks")))


def checked(laws: Continuation, longest: int) -> None:
    """What holds of all laws that are counted from a trace.

    Args:
        laws: of them.
        longest: any time that the trace holds.
    """
    for name in TIMES:
        law: Law = getattr(laws, name)
        assert law.cells == laws.failure.cells
        assert ((law.value >= 1) & (law.value <= min(longest, LONGEST_FATE))).all()
        assert ((law.share > 0) & (law.share <= 1)).all()
    assert (np.diff(laws.work.at) > 0).all(), "work is always drawn"
    assert (laws.work.share[laws.work.at[1:] - 1] == 1.0).all()
    assert np.isfinite(laws.slow).all()
    assert (laws.slow > 0).all()
    assert np.isfinite(laws.chance.value).all()
    assert ((laws.gives_up >= 0) & (laws.gives_up <= 1)).all()
    assert ((laws.ends_external >= 0) & (laws.ends_external <= 1)).all()


def test_a_trace_of_nothing_knows_nothing() -> None:
    laws = made(Trace.of(Meta("nothing")))
    assert len(laws.cell) == 0
    assert laws.work.value.tolist() == [UNKNOWN_WORK]
    waits = made(trace_of([Job([[(None, 5, "cut")]]), Job([[(None, 5, "kill")]])]))
    assert waits.work.value.tolist() == [UNKNOWN_WORK]
    assert waits.cell.tolist() == [[0] * COUNTS] * 2
    for name in TIMES:
        assert name == "work" or len(getattr(waits, name).value) == 0


def test_jobs_without_tasks_are_no_tasks() -> None:
    jobs = {"original_id": ["a"], "submit": [0], "width": 1, "outcome": Outcome.FINISH}
    assert len(made(Trace.of(Meta("a job"), jobs=jobs)).cell) == 0


def test_lengths_of_nothing_are_a_millisecond() -> None:
    jobs = [Job([[(5, 5, "fail"), (5, 5, "finish")] for _ in range(7)]) for _ in range(6)]
    laws = made(trace_of(jobs))
    assert set(laws.work.value.tolist()) == {1.0}
    assert laws.gap_after_failure.value.tolist() == [1.0] * laws.failure.cells
    assert (laws.gives_up == 0.0).all()


def test_where_all_was_cut_off_work_is_the_longest_time_seen() -> None:
    jobs = [Job([[(start, 50, "cut")]], submit=start) for start in (5, 20, 40)]
    laws = made(trace_of(jobs, end=50), least_rows=1, least_jobs=1)
    assert set(laws.work.value.tolist()) == {45.0}
    assert len(laws.failure.value) == len(laws.external.value) == 0


def test_strata_of_one_task_say_nothing_of_their_own() -> None:
    jobs = [
        Job([[(1, 6 + i, "fail"), (9 + i, 90, "finish")]], name=f"job {i}", priority=i % 12)
        for i in range(36)
    ]
    laws = made(trace_of(jobs))
    by_class = made(trace_of(jobs), finest="class")
    for name in TIMES:
        assert np.array_equal(getattr(laws, name).value, getattr(by_class, name).value)


def test_names_and_classes_that_are_not_known_change_nothing() -> None:
    """No name is no stratum, a priority below 0 is one that is not known."""
    jobs = [Job([[(1, 6 + i, "fail"), (9 + i, 90, "finish")]], priority=-7) for i in range(40)]
    laws, coarse = made(trace_of(jobs)), made(trace_of(jobs), finest="all")
    for name in TIMES:
        law, other = getattr(laws, name), getattr(coarse, name)
        for task in (0, 39):
            for k in range(COUNTS):
                a, b = laws.cell[task, k], coarse.cell[task, k]
                mine = slice(law.at[a], law.at[a + 1])
                theirs = slice(other.at[b], other.at[b + 1])
                assert law.value[mine].tolist() == other.value[theirs].tolist()
                assert law.share[mine].tolist() == other.share[theirs].tolist()


def test_attempts_of_a_task_overlap_however_late_and_many() -> None:
    """Its last end is before that of the other attempt: alone is only that of the other."""
    early: list[list[Row]] = [[(0, 5, "finish")]]
    both: list[Row] = [(LATEST - 90, LATEST - 30, "fail"), (LATEST - 80, LATEST - 60, "fail")]
    trace = trace_of([Job(early * 150_000 + [both])], end=LATEST)
    assert trace.rows("tasks") * LATEST > np.iinfo(np.int64).max
    after = Restarts.of(trace, Rows.of(trace), Ending.INTRINSIC)
    assert not after.asked.any(), "the first has another behind it that began before its end"


Ends = st.sampled_from(list(ENDS))
Times = st.sampled_from([0, 0, 1, 2, 7, 1_000, LATEST // 4])
Names = st.sampled_from(["", "", "a", "A", "é\x00", "x" * 5_000])
Priorities = st.sampled_from([-(2**31), -1, 0, 2, 9, 11, 2**31 - 1])


@st.composite
def hostile(draw: st.DrawFn) -> Trace:
    """A trace of few jobs, of which many are alike, at the extremes of what is allowed."""
    jobs = list[Job]()
    for _ in range(draw(st.integers(0, 5))):
        tasks = list[list[Row]]()
        for _ in range(draw(st.integers(1, 4))):
            at, rows = draw(Times), list[Row]()
            for _ in range(draw(st.integers(1, 3))):
                end = min(at + draw(Times), LATEST)
                ran = draw(st.integers(0, 5)) > 0
                rows.append((at if ran else None, end, draw(Ends) if ran else "cut"))
                at = min(end + draw(Times), LATEST)
            tasks.append(rows)
        times = draw(st.integers(1, 8))
        jobs.append(Job(tasks * times, name=draw(Names), priority=draw(Priorities), submit=0))
    return trace_of(jobs, end=draw(st.sampled_from([None, LATEST])))


Options = st.fixed_dictionaries(
    {},
    optional={
        "task_share": st.sampled_from([0.0, 1e-300, 0.5, 1, None]),
        "finest": st.sampled_from(["name", "class", "all"]),
        "least_rows": st.sampled_from([1, 2, 30, 2**62]),
        "least_jobs": st.sampled_from([1, 2, 5, 2**62]),
    },
)


@settings(max_examples=40, deadline=None)
@given(hostile(), hostile(), Options)
def test_any_trace_has_laws_for_itself_and_for_any_other(
    trace: Trace, other: Trace, options: dict[str, Any]
) -> None:
    checked(made(trace, **options), LATEST)
    key = np.arange(other.rows("tasks"))
    checked(fit(trace, **options).of(other, key), LATEST)


Wrong = st.one_of(
    st.floats(max_value=0.0, exclude_max=True),
    st.just(float("nan")),
    st.just(float("inf")),
    st.text(max_size=3),
    st.none(),
    st.lists(st.integers(), max_size=1),
)


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(["task_share", "finest", "least_rows", "least_jobs"]), Wrong)
def test_a_wrong_option_is_one_line_that_names_it(name: str, wrong: Any) -> None:
    if name == "task_share" and wrong is None:
        return
    with pytest.raises(ValueError, match=f"^{name}: expected ") as raised:
        fit(trace_of([Job([[(10, 20, "finish")]])]), **{name: wrong})
    assert "\n" not in str(raised.value).replace(repr(wrong), "")
