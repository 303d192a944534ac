"""EASY backfilling against an independent simulator, job by job, on real logs and random ones.

That simulator, `tests.sim.easy`, knows nothing of failgym; beside another public one it is tested
in `tests.sim.test_easy`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from failgym.sim.reference.scheduled import ReferenceScheduledSimulator
from failgym.sim.scheduled.rules import ESTIMATORS
from failgym.sim.scheduled.simulator import ScheduledSimulator
from failgym.traces import Trace, read_swf
from failgym.traces.clusters import uninterrupted, with_machines
from tests.sim.easy import Job, easy_starts
from tests.sim.scheduled.logs import (
    LOGS,
    first_records,
    jobs_of,
    log_of,
    processors_of,
    random_log,
    recorded,
    scheduled,
    simulated,
    submitted,
)
from tests.sim.scheduled.promises import assert_kept
from tests.traces.real_data import real

LOOK_BACK = {"average": 2, "median": 9, "mcs": 16}
"""How many ended jobs of a user the estimators look back at, where they were best."""
FEW = 400
"""Jobs of a log that the reference plays in a third of a second."""
MANY = 2_500
"""Jobs of a log that the independent simulator plays in half a second or less."""
SIMULATORS = [ReferenceScheduledSimulator, ScheduledSimulator]
BY_HAND = Path(__file__).parents[2] / "data" / "easy"


def assert_same(found: list[int], expected: list[int]) -> None:
    """Every job starts at the same time."""
    assert len(found) == len(expected)
    wrong = [j for j, (a, b) in enumerate(zip(found, expected, strict=True)) if a != b]
    assert not wrong, (wrong[:3], [(found[j], expected[j]) for j in wrong[:3]])


# --- The independent simulator, where no job outruns its estimate ---------------------------------


REAL = [
    *(("KTH-SP2", "user"), ("KTH-SP2", "oracle"), ("SDSC-SP2", "user")),
    *(("SDSC-SP2", "oracle"), ("CTC-SP2", "user"), ("LANL-CM5", "oracle")),
]
"""Logs, and what their estimates are."""


@pytest.mark.parametrize(("log", "estimator"), REAL)
def test_the_first_jobs_of_a_real_log_start_at_the_same_time(log: str, estimator: str) -> None:
    assert_as_the_other(uninterrupted(first_records(recorded(log), MANY)), estimator)


@pytest.mark.campaign
@pytest.mark.parametrize(("log", "estimator"), REAL)
def test_every_job_of_a_real_log_starts_at_the_same_time(log: str, estimator: str) -> None:
    assert_as_the_other(submitted(log), estimator)


def assert_as_the_other(trace: Trace, estimator: str) -> None:
    """The kernels start every job when the independent simulator does."""
    expected = easy_starts(jobs_of(trace, estimator), processors_of(trace))
    assert_same(simulated(trace, walltime_kill=True, estimator=estimator), expected)


def test_failures_of_a_real_log_hold_processors_as_long_as_they_did() -> None:
    trace = recorded("KTH-SP2")
    expected = easy_starts(jobs_of(trace), processors_of(trace))
    assert_same(simulated(trace, walltime_kill=True), expected)


PROCESSORS = 8


@st.composite
def rigid_jobs(draw: st.DrawFn, widest: int = PROCESSORS, shortest: int = 0) -> list[Job]:
    """Jobs in order of submission, whose times are so few that many coincide."""
    times = st.integers(0, 12)
    jobs: list[Job] = []
    for submit in sorted(draw(st.lists(times, min_size=1, max_size=24))):
        run = max(draw(times), shortest)
        estimate = max(run + draw(st.sampled_from([0, 0, 1, 3, 9])), 1)
        jobs.append(Job(submit, draw(st.integers(1, widest)), run, estimate))
    return jobs


@pytest.mark.parametrize("kind", SIMULATORS)
@settings(max_examples=40, deadline=None)
@given(rigid_jobs())
def test_random_jobs_start_at_the_same_time(kind: type[Any], jobs: list[Job]) -> None:
    assert_same(simulated(log_of(jobs, PROCESSORS), kind), easy_starts(jobs, PROCESSORS))


def crowd(rng: np.random.Generator, slots: int) -> list[Job]:
    """Forty jobs that come long before they can run, and end together often."""
    numbers = rng.integers(1, (30, 6, 7, 4), (40, 4)).tolist()
    return [Job(s, min(w, slots), 5 * r, 5 * (r + more)) for s, w, r, more in sorted(numbers)]


@pytest.mark.parametrize("kind", SIMULATORS)
def test_crowds_start_at_the_same_time(kind: type[Any]) -> None:
    for seed in range(20):
        jobs = crowd(np.random.default_rng(seed), PROCESSORS)
        found = simulated(log_of(jobs, PROCESSORS), kind)
        assert_same(found, easy_starts(jobs, PROCESSORS))


# --- A public simulator ---------------------------------------------------------------------------


def test_four_jobs_of_a_public_simulator() -> None:
    folder = real("easy", "tie.swf")
    found = simulated(read_swf_on_one_machine(folder / "tie.swf"))
    assert_same(found, [1000 * start for [start] in starts_in(folder / "tie-starts.txt")])


def test_a_log_of_a_public_simulator() -> None:
    """Starts differ where it looks at the queue after each end, and ours once: the case below.

    With that order the independent simulator has all of its starts (`tests.sim.test_easy`).
    """
    folder = real("easy", "KTH-SP2-starts.txt.gz")
    trace = read_swf_on_one_machine(folder / "KTH-SP2-prepared.swf.gz")
    found = simulated(trace)
    assert_same(found, easy_starts(jobs_of(trace), processors_of(trace), "together"))
    begin = int(trace.task_submit[0])  # a trace begins where it pleases
    theirs = np.loadtxt(folder / "KTH-SP2-starts.txt.gz", dtype=np.int64)[:, 1] * 1000
    differ = np.array(found) - begin != theirs - theirs[0]
    assert 0 < differ.mean() <= 0.05


@pytest.mark.parametrize("kind", SIMULATORS)
def test_the_queue_is_looked_at_once_in_an_instant(kind: type[Any]) -> None:
    """Looked at after the first of two ends, a job behind the head takes what that has freed."""
    log = BY_HAND / "two_early_ends.swf"
    once, after_each = zip(*starts_in(log.with_suffix(".txt")), strict=True)
    trace = read_swf_on_one_machine(log)
    assert simulated(trace, kind) == [1000 * start for start in once]
    theirs = easy_starts(jobs_of(trace), processors_of(trace), "foreseen ends first")
    assert theirs == [1000 * start for start in after_each]


def read_swf_on_one_machine(log: Path) -> Trace:
    """The jobs of a log alone, on one machine of MaxProcs slots."""
    trace = read_swf(log)
    return with_machines(uninterrupted(trace), 1, slots=int(trace.meta.remarks["MaxProcs"]))


def starts_in(table: Path) -> list[list[int]]:
    """What a table says of each job, but for its number."""
    rows = [line.split() for line in table.read_text("utf-8").splitlines()]
    return [[int(start) for start in row[1:]] for row in rows if row[0] != ";"]


# --- Several machines -----------------------------------------------------------------------------

MACHINES = st.lists(st.integers(1, 4), min_size=1, max_size=4)


@pytest.mark.parametrize("kind", SIMULATORS)
@settings(max_examples=40, deadline=None)
@given(st.data(), MACHINES)
def test_no_head_is_delayed_and_nobody_waits_who_could_start(
    kind: type[Any], data: st.DataObject, slots: list[int]
) -> None:
    jobs = data.draw(rigid_jobs(widest=sum(slots), shortest=1))
    assert_kept(jobs, slots, scheduled(log_of(jobs, *slots), kind).log)


@pytest.mark.parametrize("kind", SIMULATORS)
def test_promises_are_kept_in_crowds(kind: type[Any]) -> None:
    rng, waited = np.random.default_rng(0), 0
    for _ in range(20):
        slots = rng.integers(1, 6, 3).tolist()
        jobs = crowd(rng, sum(slots))
        waited += assert_kept(jobs, slots, scheduled(log_of(jobs, *slots), kind).log)
    assert waited > 100


def test_one_machine_of_many_slots_is_many_machines_of_one() -> None:
    for seed in range(20):
        trace = random_log(np.random.default_rng(seed))
        many = with_machines(trace, processors_of(trace))
        assert simulated(many) == simulated(trace)


# --- Estimates that are outrun, and those from users' histories: the reference --------------------


@pytest.mark.parametrize("log", LOGS)
def test_jobs_that_outrun_their_requests_in_a_real_log(log: str) -> None:
    assert_as_reference(uninterrupted(first_records(recorded(log), FEW)))


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("correction", [True, False])
def test_every_estimator_on_a_real_log(estimator: str, correction: bool) -> None:
    trace = uninterrupted(first_records(recorded("KTH-SP2"), FEW // 2))
    history = LOOK_BACK.get(estimator, 16)
    assert_as_reference(trace, estimator=estimator, history=history, correction=correction)


@pytest.mark.parametrize(
    "seed", [*range(24), *(pytest.param(s, marks=pytest.mark.campaign) for s in range(24, 240))]
)
def test_random_logs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    trace = random_log(rng)
    for estimator in ESTIMATORS:
        assert_as_reference(
            trace,
            estimator=estimator,
            history=int(rng.choice([1, 2, 5, 16])),
            correction=bool(rng.random() < 0.7),
            walltime_kill=bool(rng.random() < 0.5),
        )


def assert_as_reference(trace: Trace, **rules: Any) -> None:
    """The kernels start every job when the reference does."""
    expected = simulated(trace, ReferenceScheduledSimulator, **rules)
    assert_same(simulated(trace, ScheduledSimulator, **rules), expected)


# --- What estimates are worth ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("log", "records"),
    [("SDSC-SP2", 4961), pytest.param("KTH-SP2", 28476, marks=pytest.mark.campaign)],
)
def test_estimators_shorten_waits(log: str, records: int) -> None:
    """Kumar et al. (DSN 2020), figure 11: by history below user estimates, MCS near the oracle.

    It holds here, not everywhere: on the whole of SDSC-SP2 MCS is 10 % behind the oracle (8 % with
    jobs killed at their walltime), and on CTC-SP2 `last` is behind user estimates.
    """
    trace = uninterrupted(first_records(recorded(log), records))
    wait = dict[str, float]()
    for estimator in ESTIMATORS:
        history = LOOK_BACK.get(estimator, 16)
        starts = simulated(trace, estimator=estimator, history=history)
        wait[estimator] = float(np.mean(np.array(starts) - trace.task_submit))
    assert wait["mcs"] <= 1.05 * wait["oracle"], wait
    assert all(wait[estimator] <= wait["user"] for estimator in ESTIMATORS), wait
