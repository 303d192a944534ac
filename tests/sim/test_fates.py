"""What attempts of a continued record would meet (C1 to C5); patience and gaps (C8, C9).

Small records, worked by hand; rows and laws are written as in the worked examples.
"""

from __future__ import annotations

import pytest

from failgym.sim.reference.fates import ContinuedRecord, Fate, continue_record
from failgym.sim.reference.record import read_records
from failgym.sim.shared.continuation import LONGEST_FATE
from failgym.sim.shared.keys import Purpose, uniform
from failgym.sim.shared.rules import Rules
from tests.sim.golden import Example, continuation_of

FAILS, EVICTED = "t0: 0 0 100 FAIL INTRINSIC", "t0: 0 0 100 EVICT PREEMPTION"
AT_ONCE, SHORT = "t0: 0 0 0 EVICT PREEMPTION", "t0: 0 0 20 EVICT PREEMPTION"
LATER_FAILS = "t0: 0 100 200 FAIL INTRINSIC"
USER = "t0: 0 {start} {end} KILL USER"


def record_of(*rows: str, laws: str = "", extra: int = 1, spare: int = 2) -> ContinuedRecord:
    example = Example("made", "by hand", "\n".join(rows), "", {})
    trace = example.trace()
    rules = Rules(beyond_record="continued", max_extra=extra, spare_attempts=spare)
    (record,) = read_records(trace, rules, example.context(trace).forecast, 0)
    return continue_record(record, rules, continuation_of(laws, 1), 0)


# --- C1: drawn attempts ---------------------------------------------------------------------------


def test_drawn_attempts_are_numbered_on_from_all_rows() -> None:
    """Row 1 never started."""
    record = record_of(FAILS, "t0: 120 - 130 KILL REQUEUE", extra=1, spare=2)
    assert [row.number for row in record.drawn] == [2, 3, 4]
    assert sorted(record.fates) == [0, 2, 3, 4]


@pytest.mark.parametrize("row", ["t0: 0 0 100 CENSORED", "t0: 0 - 100 KILL REQUEUE"])
def test_what_the_data_cut_off_and_what_never_ran_has_none(row: str) -> None:
    assert record_of(row).drawn == ()


# --- C2: work -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        # a user's final kill, without and with a success
        ([USER.format(start=0, end=100)], None),
        (["t0: 0 0 90 FINISH", USER.format(start=10, end=100)], 90),
        # a kill by the user that is not final
        ([USER.format(start=0, end=20), "t0: 100 100 150 FAIL INTRINSIC"], 31),
        # the first success by its end, not by its number; whatever was stated of other rows
        (["t0: 0 0 90 FINISH", "t0: 0 10 60 FINISH"], 50),
        (["t0: 0 0 40 EVICT PREEMPTION L=500", "t0: 0 40 90 FINISH"], 50),
        # no success: the first length stated
        ([FAILS, f"{EVICTED} L=300", f"{EVICTED} L=400"], 300),
        # else drawn, of the cell for the intrinsic failures of the record
        ([SHORT], 30),
        ([FAILS, SHORT], 31),
        ([FAILS, FAILS], 32),
        (["t0: 0 0 20 FAIL MACHINE", FAILS], 31),
        (["t0: 0 - 100 FAIL INTRINSIC", SHORT], 30),
        ([FAILS] * 5, 33),
        # above what ran until something outside ended it, or just above
        ([EVICTED], 101),
        (["t0: 0 0 30 EVICT PREEMPTION"], 31),
        (["t0: 0 0 29 EVICT PREEMPTION"], 30),
    ],
)
def test_work(rows: list[str], expected: int | None) -> None:
    laws = "t0 0: work=30\nt0 1: work=31\nt0 2: work=32\nt0 3: work=33"
    fates = record_of(*rows, laws=laws).fates
    assert {fate.work for fate in fates.values()} == {expected}


# --- C3: speed ------------------------------------------------------------------------------------


def test_what_finished_took_as_long_as_it_took() -> None:
    record = record_of("t0: 0 0 90 FINISH", "t0: 0 10 60 FINISH")
    assert [record.fates[number].full_time for number in (0, 1)] == [90, 50]
    assert [record.fates[number].pace for number in (0, 1)] == [50 / 90, 1.0]


@pytest.mark.parametrize(
    ("row", "law", "expected"),
    [
        (f"{EVICTED} L=300", "t0 0: work=200", 300),
        (EVICTED, "t0 0: work=101", 101),
        (USER.format(start=0, end=100), "t0 0: work=200", None),
    ],
)
def test_what_did_not_finish_takes_as_long_as_stated_or_as_the_work(
    row: str, law: str, expected: int | None
) -> None:
    assert record_of(row, laws=law).fates[0].full_time == expected


@pytest.mark.parametrize("least", [1, 99, 100])
def test_what_did_not_finish_in_time_was_slow(least: int) -> None:
    share = (1.0 + float(uniform(0, 0, 0, Purpose.SLOW_ROW)[()])) / 2.0
    slow = int(100 / share + 0.5)
    assert record_of(FAILS, laws=f"t0 1: work={least}").fates[0].full_time == slow
    assert 100 < slow <= 200


@pytest.mark.parametrize(
    ("law", "expected"),
    [
        ("work=200", 200),
        ("work=200 slow=1.5", 300),
        ("work=200 slow=1.5 chance=2", 600),
        ("work=200 chance=0.5", 100),
        ("work=5 slow=0.5", 3),
        ("work=1 slow=0.25", 1),
        (f"work={LONGEST_FATE} slow=1.5", LONGEST_FATE),
        (f"work={LONGEST_FATE} slow=1e300 chance=1e300", LONGEST_FATE),
    ],
)
def test_a_drawn_attempt_takes_the_work_as_slow_as_its_task_and_chance_are(
    law: str, expected: int
) -> None:
    assert record_of(AT_ONCE, laws=f"t0 0: {law}").fates[1].full_time == expected


def test_work_is_done_whole_and_time_is_rounded() -> None:
    """At two thirds of a millisecond's work in each."""
    fate = Fate(failures=0, fails_after=None, struck_after=None, full_time=3, work=2)
    assert [fate.done(worked) for worked in range(4)] == [0, 0, 1, 2]
    assert [fate.time_for(amount) for amount in range(3)] == [0, 2, 3]


# --- C4: fates ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("struck", "full", "fails"),
    [(None, 80, True), (None, 79, False), (80, 90, True), (79, 90, False), (None, None, True)],
)
def test_at_equal_times_the_failure_comes_first(
    struck: int | None, full: int | None, *, fails: bool
) -> None:
    assert Fate(0, 80, struck, full, full).fails_from_start() is fails


@pytest.mark.parametrize(
    ("rows", "law", "expected"),
    [
        ([EVICTED], "fail=50", {0: 0, 1: 0, 2: 1, 3: 2, 4: 3}),
        # those that would end otherwise before count as not failed
        ([AT_ONCE], "fail=50 work=49", {0: 0, 1: 0, 2: 0, 3: 0, 4: 0}),
        ([EVICTED], "fail=50 external=49", {0: 0, 1: 0, 2: 0, 3: 0, 4: 0}),
        # machines are no failure of the attempt's own, and what never started is none
        (["t0: 0 0 100 FAIL MACHINE", FAILS], "", {0: 0, 1: 0, 2: 1, 3: 1, 4: 1, 5: 1}),
        (["t0: 0 - 9 FAIL INTRINSIC", FAILS], "", {1: 0, 2: 1, 3: 1, 4: 1, 5: 1}),
        ([FAILS, "t0: 0 100 200 FINISH"], "", {0: 0, 1: 1, 2: 1, 3: 1, 4: 1, 5: 1}),
    ],
)
def test_failures_before_an_attempt(rows: list[str], law: str, expected: dict[int, int]) -> None:
    record = record_of(*rows, laws=f"t0 0: {law}" if law else "", extra=1, spare=3)
    assert {number: fate.failures for number, fate in record.fates.items()} == expected


def test_times_are_drawn_of_the_cell_for_the_failures_before() -> None:
    laws = "t0 0: fail=50 external=51\nt0 1: fail=60 external=-\nt0 2: fail=- external=70"
    fates = record_of(FAILS, laws=laws).fates
    assert [(fates[n].fails_after, fates[n].struck_after) for n in range(4)] == [
        (100, None),
        (60, None),
        (None, 70),
        (None, 70),
    ]


# --- C8: patience, C9: gaps -----------------------------------------------------------------------


def declines(record: ContinuedRecord) -> list[bool]:
    """After the first to the fourth failure of what the cluster started."""
    return [record.declines_after_failure(j) for j in range(1, 5)]


def test_the_cluster_is_as_patient_as_the_record() -> None:
    """Sure to give up beyond it; the record ends with a failure, or with something behind it."""
    never = "t0 0: gives_up=1"
    assert declines(record_of(FAILS, LATER_FAILS, laws=never)) == [False, True, True, True]
    evicted = "t0: 0 200 300 EVICT PREEMPTION"
    assert declines(record_of(FAILS, LATER_FAILS, evicted, laws=never)) == [False] * 2 + [True] * 2


def test_what_began_before_lies_not_behind() -> None:
    """The second failure of the record, by its end, is row 0."""
    rows = ["t0: 0 0 200 FAIL INTRINSIC", "t0: 0 10 50 FAIL INTRINSIC", "t0: 0 60 300 FINISH"]
    assert declines(record_of(*rows))[:2] == [False, True]
    assert record_of(*rows, laws="t0 0: gap=7").gap(0, failed=True) == 7
    assert record_of(*rows).gap(1, failed=True) == 10


def test_beyond_the_record_the_share_is_that_of_the_failures_before() -> None:
    """Only after two failures does a cluster give up at the next."""
    laws = "t0 2: gives_up=1\nt0 3: gives_up=0"
    assert declines(record_of(EVICTED, laws=laws)) == [False, False, True, False]


def test_after_an_external_end_the_cluster_does_as_the_record_did() -> None:
    """Beyond it a drawn attempt is restarted or not, by the share for its k."""
    rows = [EVICTED, LATER_FAILS, "t0: 0 200 300 EVICT PREEMPTION"]
    record = record_of(*rows, laws="t0 1: ends_external=1", extra=0, spare=2)
    assert [record.declines_after_external(number) for number in (0, 2)] == [False, True]
    assert [record.declines_after_external(number) for number in (3, 4)] == [True, True]
    record = record_of(EVICTED, laws="t0 0: fail=50 ends_external=0\nt0 1: ends_external=1")
    assert [record.declines_after_external(number) for number in (1, 2)] == [False, True]


def test_gaps() -> None:
    rows = ["t0: 0 0 100 FAIL INTRINSIC", "t0: 0 130 200 EVICT PREEMPTION"]
    laws = "t0 0: gap=5 gap_external=6\nt0 1: gap=7 gap_external=8"
    record = record_of(*rows, laws=laws)
    assert record.gap(0, failed=True) == 30
    for number in (1, 2):  # the last of the record, and a drawn one
        assert record.gap(number, failed=True) == 7
        assert record.gap(number, failed=False) == 8
    assert record_of(*rows).gap(2, failed=True) == 1
