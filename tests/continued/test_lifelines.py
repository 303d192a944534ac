"""Kaplan-Meier curves beside those of lifelines: of rows, of random traces, of real records."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import lifelines
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from failgym.continued import Habits, fit
from failgym.continued.rows import Rows
from failgym.continued.survival import Lives
from failgym.sim.shared.continuation import COUNTS, Law
from failgym.traces import Trace, read_google_2011, read_rumen
from failgym.traces.schema import TABLES
from failgym.traces.split import select
from failgym.vocabulary import Ending
from tests.continued.records import Job, trace_of
from tests.continued.test_habits import traces
from tests.traces.real_data import google_2011, real

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Curve = list[tuple[float, float]]
"""Times at which a curve rises, and its share from each on."""

SAME = 1e-9
BANDS = ((-1, 0), (1, 2), (8, 3), (99, 4))
"""Highest priority of each band of `failgym.continued`: unknown, free, other, production."""


def curve_of_lifelines(
    time: Ints, event: Bools, entered: Ints | None = None, *, closed: bool = False
) -> Curve:
    """Of lifelines: 1 - S at the times of events."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that S falls to 0, and of pandas
        fitter = lifelines.KaplanMeierFitter()
        fitter.fit(time, event, entry=entered if entered is not None and entered.any() else None)
        at = np.unique(time[event])
        left = fitter.survival_function_at_times(at).to_numpy() if len(at) else np.zeros(0)
    made = list(zip(at.tolist(), (1.0 - left).tolist(), strict=True))
    if closed:  # the law of work ends with the longest time seen
        made = [one for one in made if one[0] < time.max()] + [(float(time.max()), 1.0)]
    return made


def same(law: Law, cell: int, expected: Curve) -> bool:
    """Is a cell of a law this curve?"""
    part = slice(law.at[cell], law.at[cell + 1])
    times, shares = law.value[part], law.share[part]
    alike = times.tolist() == [x for x, _ in expected]
    return alike and np.allclose(shares, [y for _, y in expected], rtol=0.0, atol=SAME)


# --- rows -----------------------------------------------------------------------------------------


def test_two_curves_counted_by_hand_are_those_of_both() -> None:
    """At 2 two of five end, at 5 one of two; then the same with rows that enter at 1 and at 3."""
    time, event = np.array([2, 2, 2, 5, 7]), np.array([1, 1, 0, 1, 0], dtype=bool)
    by_hand = [(2.0, 2 / 5), (5.0, 1 - 3 / 5 * 1 / 2)]
    assert same(Lives.of(np.zeros(5, dtype=np.int64), time, 1).law(event), 0, by_hand)
    assert curve_of_lifelines(time, event) == [(x, pytest.approx(y)) for x, y in by_hand]
    time, event = np.array([3, 5, 6]), np.array([1, 1, 0], dtype=bool)
    entered = np.array([0, 1, 3])  # at 3 the third is not at risk yet; at 5 it is
    by_hand = [(3.0, 1 / 2), (5.0, 3 / 4)]
    assert same(Lives.of(np.zeros(3, dtype=np.int64), time, 1, entered).law(event), 0, by_hand)
    assert curve_of_lifelines(time, event, entered) == [(x, pytest.approx(y)) for x, y in by_hand]


Row = st.tuples(st.integers(0, 2), st.integers(1, 15), st.booleans(), st.integers(0, 14))


@settings(max_examples=40, deadline=None)
@given(st.lists(Row, min_size=1, max_size=60), st.booleans(), st.booleans())
def test_of_random_rows(rows: list[tuple[int, int, bool, int]], late: bool, closed: bool) -> None:
    """Ties, several cells, censorings, late entries, a closed end.

    One row of each cell is there from the beginning to the end. Else all that are at risk might end
    before others enter: lifelines refuses that, and `test_survival` says what is made of it.
    """
    rows = rows + [(number, 16, bool(rows[0][2]), 0) for number in range(3)]
    cell, time, event, entered = (np.array(column) for column in zip(*rows, strict=True))
    entered = np.minimum(entered, time - 1)
    law = Lives.of(cell, time, 3, entered if late else None).law(event, closed=closed)
    for number in np.unique(cell).tolist():
        mine = cell == number
        since = entered[mine] if late else None
        assert same(law, number, curve_of_lifelines(time[mine], event[mine], since, closed=closed))


# --- strata of traces -----------------------------------------------------------------------------


def strata_of(trace: Trace) -> list[list[Any]]:
    """Of each job the strata that it is in, the finest first: its name, its class, all."""
    found = list[list[Any]]()
    scheduling = trace.column("jobs", "scheduling_class", missing=0).tolist()
    priority = trace.column("jobs", "priority", missing=-1).tolist()
    width, name = trace.column("jobs", "width").tolist(), trace.column("jobs", "name").tolist()
    for job in range(trace.rows("jobs")):
        band = next(number for highest, number in BANDS if priority[job] <= highest)
        alike = ("class", max(scheduling[job], 0), band, width[job] > 1)
        found.append([("name", name[job])] * bool(name[job]) + [alike, "all"])
    return found


class Counted:
    """The rows of each stratum and number of past failures."""

    def __init__(self, trace: Trace, least_rows: int, least_jobs: int) -> None:
        self.rows, self.strata = Rows.of(trace), strata_of(trace)
        self.least = least_rows, least_jobs
        self.of: dict[Any, list[int]] = {}
        for row in np.flatnonzero(self.rows.known).tolist():
            for stratum in self.strata[self.rows.job[row]]:
                self.of.setdefault((stratum, int(self.rows.past[row])), []).append(row)

    def speaking(self, job: int, past: int) -> list[int] | None:
        """The rows that speak of attempts of a job after so many failures; None if none do."""
        for fewer in range(past, -1, -1):
            for stratum in self.strata[job]:
                if self.many(found := self.of.get((stratum, fewer), [])):
                    return found
        return None

    def many(self, rows: list[int]) -> bool:
        return len(rows) >= self.least[0] and len(set(self.rows.job[rows])) >= self.least[1]

    def curve(self, chosen: list[int], ending: Ending) -> Curve:
        """Of one kind of end; failures of later attempts alone, where there are enough."""
        later = [row for row in chosen if not self.rows.first[row]]
        if ending == Ending.INTRINSIC and self.many(later):
            chosen = later
        time, event = self.rows.duration[chosen], self.rows.ending[chosen] == ending
        return curve_of_lifelines(time, event, closed=ending == Ending.FINISH)


def laws_of(habits: Habits) -> dict[Ending, Law]:
    return {
        Ending.INTRINSIC: habits.failure,
        Ending.EXTERNAL: habits.external,
        Ending.FINISH: habits.work,
    }


def compared(trace: Trace, least_rows: int, least_jobs: int) -> int:
    """Hold the laws of all jobs against those of lifelines; returns how many cells there were."""
    habits = fit(trace, least_rows=least_rows, least_jobs=least_jobs)
    cell = habits.of(trace, np.arange(trace.rows("tasks"))).cell
    counted, seen = Counted(trace, least_rows, least_jobs), dict[int, list[int] | None]()
    job = trace.column("tasks", "job")
    for task in np.unique(job, return_index=True)[1].tolist():
        for past in range(COUNTS):
            number, speaking = int(cell[task, past]), counted.speaking(int(job[task]), past)
            if number in seen:
                assert seen[number] == speaking, "one cell, the same rows"
                continue
            seen[number] = speaking
            for ending, law in laws_of(habits).items():
                if speaking is not None:
                    assert same(law, number, counted.curve(speaking, ending))
    return sum(rows is not None for rows in seen.values())


@settings(max_examples=20, deadline=None)
@given(traces(), st.integers(1, 4), st.integers(1, 2))
def test_of_the_strata_of_random_traces(jobs: list[Job], least_rows: int, least_jobs: int) -> None:
    compared(trace_of(jobs, end=99), least_rows, least_jobs)


def test_of_the_strata_of_a_real_record_made_small(tmp_path: Path) -> None:
    """Every fourth job in the first part of Google's record of 2011."""
    folder = google_2011()
    for table in ("job_events", "task_events"):
        (tmp_path / table).mkdir()
        file = min((folder / table).iterdir())
        (tmp_path / table / file.name).symlink_to(file)
    trace = read_google_2011(tmp_path)
    every_fourth = np.arange(trace.rows("jobs")) % 4 == 0
    kept = select({name: trace.table(name) for name in TABLES}, {"jobs": every_fourth})
    assert compared(Trace(trace.meta, **kept.tables), 30, 5) >= 5


def test_of_a_real_record_whose_data_begin_while_it_runs() -> None:
    """Nineteen Hadoop jobs, seen from the moment on at which half of their attempts had begun."""
    rows = Rows.of(read_rumen(real("rumen") / "19-jobs.trace.json.gz"))
    begin = int(np.median(rows.start))
    seen = np.flatnonzero(rows.end > begin)
    time = rows.duration[seen]
    entered = np.maximum(begin - rows.start[seen], 0)
    assert (entered > 0).any()
    cell = np.minimum(rows.past[seen], COUNTS - 1)
    for ending in (Ending.INTRINSIC, Ending.EXTERNAL, Ending.FINISH):
        event, closed = rows.ending[seen] == ending, ending == Ending.FINISH
        law = Lives.of(cell, time, COUNTS, entered).law(event, closed=closed)
        for past in np.unique(cell).tolist():
            mine = cell == past
            expected = curve_of_lifelines(time[mine], event[mine], entered[mine], closed=closed)
            assert same(law, past, expected)
