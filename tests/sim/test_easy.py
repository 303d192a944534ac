"""The oracle of EASY backfilling does what the definition says.

That is on examples worked by hand, on random jobs against the definition's promises, and beside the
start times of a public simulator.
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sim.easy import Job, Machine, Order, Reservation, easy_passes, easy_starts
from tests.traces.real_data import real

ORDERS: tuple[Order, ...] = get_args(Order)
every_order = pytest.mark.parametrize("order", ORDERS)


def job(submit: int, width: int, run: int, estimate: int | None = None) -> Job:
    """A job that runs as long as estimated, unless the estimate is given."""
    return Job(submit, width, run, run if estimate is None else estimate)


@every_order
class TestByHand:
    """Examples whose events never coincide, so that every order gives the same."""

    def test_an_empty_machine_starts_jobs_at_their_submission(self, order: Order) -> None:
        assert easy_starts([job(3, 4, 5), job(1, 4, 5)], 8, order) == [3, 1]

    def test_no_jobs(self, order: Order) -> None:
        assert easy_starts([], 8, order) == []

    def test_every_job_that_ends_at_the_shadow_time_counts(self, order: Order) -> None:
        """Both wide jobs end at 100: 10 are free for a head of 6, 4 of them are extra."""
        jobs = [job(0, 4, 100), job(0, 4, 100), job(1, 6, 50), job(2, 2, 1000)]
        assert easy_starts(jobs, 10, order) == [0, 0, 100, 2]

    def test_of_those_that_end_later_none_counts(self, order: Order) -> None:
        """At 100, 8 are free: a head of 6 leaves 2 of them, one of 7 leaves 1."""
        running = [job(0, 3, 100), job(0, 3, 100), job(0, 2, 101)]
        jobs = [*running, job(1, 6, 50), job(2, 1, 1000), job(3, 1, 1000)]
        assert easy_starts(jobs, 10, order) == [0, 0, 0, 100, 2, 3]
        jobs = [*running, job(1, 7, 50), job(2, 1, 1000), job(3, 1, 1000)]
        assert easy_starts(jobs, 10, order) == [0, 0, 0, 100, 2, 101]

    def test_extra_processors_are_used_up(self, order: Order) -> None:
        """3 are free now and 1 of them is extra: the first long job takes it, the second waits."""
        jobs = [job(0, 7, 100), job(1, 9, 50), job(2, 1, 1000), job(3, 1, 1000)]
        assert easy_starts(jobs, 10, order) == [0, 100, 2, 150]

    def test_whoever_ends_by_the_shadow_time_uses_no_extra_processor(self, order: Order) -> None:
        jobs = [job(0, 7, 100), job(1, 9, 50), job(2, 1, 90), job(3, 1, 1000)]
        assert easy_starts(jobs, 10, order) == [0, 100, 2, 3]

    def test_extra_processors_are_used_up_within_a_pass_too(self, order: Order) -> None:
        """At 5 the fourth job takes both extra processors: none is left for the fifth."""
        running = [job(0, 6, 5, 40), job(0, 4, 100)]
        jobs = [*running, job(1, 8, 50), job(2, 2, 1000), job(3, 1, 1000), job(4, 4, 95)]
        assert easy_starts(jobs, 10, order) == [0, 0, 100, 5, 150, 5]

    def test_nor_does_it_leave_less_to_the_next_of_that_pass(self, order: Order) -> None:
        """At 5 the fourth ends in time, and the 1 extra is left for the fifth."""
        running = [job(0, 6, 5, 40), job(0, 4, 100)]
        jobs = [*running, job(1, 9, 50), job(2, 1, 50), job(3, 1, 1000)]
        assert easy_starts(jobs, 10, order) == [0, 0, 100, 5, 5]

    def test_an_estimate_may_reach_the_shadow_time_and_not_pass_it(self, order: Order) -> None:
        blocked = [job(0, 8, 100), job(1, 10, 50)]
        assert easy_starts([*blocked, job(2, 2, 98)], 10, order) == [0, 100, 2]
        assert easy_starts([*blocked, job(2, 2, 99)], 10, order) == [0, 100, 150]

    def test_estimates_decide_and_not_run_times(self, order: Order) -> None:
        blocked = [job(0, 8, 90, 100), job(1, 10, 50)]
        assert easy_starts([*blocked, job(2, 2, 1, 99)], 10, order) == [0, 90, 140]
        assert easy_starts([*blocked, job(2, 2, 98, 98)], 10, order) == [0, 100, 2]

    def test_only_the_head_has_a_reservation(self, order: Order) -> None:
        """The last job delays the second in the queue: to 60 instead of 50."""
        jobs = [job(0, 6, 30), job(1, 8, 20), job(2, 10, 5), job(3, 2, 57), job(4, 2, 26)]
        assert easy_starts(jobs, 10, order) == [0, 30, 60, 3, 4]

    def test_the_next_head_gets_its_own_reservation(self, order: Order) -> None:
        """At 30 the first head starts; the next may then count on 50, and the last job fits."""
        jobs = [job(0, 8, 30), job(1, 7, 20), job(2, 10, 5), job(3, 3, 20)]
        assert easy_starts(jobs, 10, order) == [0, 30, 50, 30]

    def test_several_heads_start_in_one_pass(self, order: Order) -> None:
        jobs = [job(0, 10, 30), job(1, 4, 9), job(2, 5, 9), job(3, 4, 20), job(4, 1, 99)]
        assert easy_starts(jobs, 10, order) == [0, 30, 30, 39, 30]

    def test_of_two_that_could_be_backfilled_the_earlier_is(self, order: Order) -> None:
        jobs = [job(0, 8, 20), job(1, 10, 9), job(2, 2, 6), job(3, 2, 6)]
        assert easy_starts(jobs, 10, order) == [0, 20, 2, 8]

    def test_a_job_of_no_length_runs(self, order: Order) -> None:
        assert easy_starts([job(0, 4, 0), job(0, 4, 0, 9), job(1, 4, 3)], 4, order) == [0, 0, 1]

    def test_a_job_that_can_never_start_is_refused(self, order: Order) -> None:
        with pytest.raises(ValueError, match="job 1: 11 processors of 10"):
            easy_starts([job(0, 10, 1), job(0, 11, 1)], 10, order)

    def test_a_job_that_overruns_its_estimate_is_refused(self, order: Order) -> None:
        with pytest.raises(ValueError, match="job 0: runs 9, estimated at 8"):
            easy_starts([job(0, 1, 9, 8)], 10, order)


class TestEventsOfOneInstant:
    """What the definition leaves open: each kind of difference between the orders."""

    def test_two_early_ends(self) -> None:
        """The narrow job takes what the first frees, before the head sees that both left."""
        jobs = [job(0, 2, 10, 99), job(0, 2, 10, 99), job(1, 4, 50), job(2, 2, 50)]
        assert self.starts(jobs, 4) == {
            "together": [0, 0, 10, 60],
            "ends first": [0, 0, 60, 10],
            "arrivals first": [0, 0, 60, 10],
            "foreseen ends first": [0, 0, 60, 10],
        }

    def test_two_ends_at_the_estimate(self) -> None:
        """The job of 3 fits once both left; where that is not foreseen, the one of 2 is faster."""
        running = [job(0, 2, 10), job(0, 1, 10), job(0, 3, 100)]
        assert self.starts([*running, job(1, 6, 9), job(2, 3, 50), job(3, 2, 40)], 6) == {
            "together": [0, 0, 0, 100, 10, 60],
            "ends first": [0, 0, 0, 100, 50, 10],
            "arrivals first": [0, 0, 0, 100, 50, 10],
            "foreseen ends first": [0, 0, 0, 100, 10, 60],
        }

    @pytest.mark.parametrize("estimate", [10, 99])
    def test_an_end_and_an_arrival(self, estimate: int) -> None:
        """The arriving job of 1 fits before the end; after it, the waiting one of 3 comes first."""
        running = [job(0, 2, 10, estimate), job(0, 2, 100)]
        jobs = [*running, job(1, 5, 9), job(2, 3, 50), job(10, 1, 40)]
        ends_first = [0, 0, 100, 10, 60]
        foreseen = self.starts(jobs, 5)
        assert foreseen == {
            "together": ends_first,
            "ends first": ends_first,
            "arrivals first": [0, 0, 100, 50, 10],
            "foreseen ends first": ends_first,
        }

    def test_an_early_end_before_one_at_the_estimate(self) -> None:
        """Whatever ends first, the foreseen end is known to the first pass."""
        waiting = [job(1, 4, 50), job(2, 2, 50)]
        early, foreseen = job(0, 2, 10, 99), job(0, 2, 10)
        assert self.starts([early, foreseen, *waiting], 4)["foreseen ends first"][2:] == [10, 60]
        assert self.starts([foreseen, early, *waiting], 4)["foreseen ends first"][2:] == [60, 10]

    @staticmethod
    def starts(jobs: list[Job], processors: int) -> dict[Order, list[int]]:
        """The starts under each order."""
        return {order: easy_starts(jobs, processors, order) for order in ORDERS}


PROCESSORS = 8


@st.composite
def random_jobs(draw: st.DrawFn, latest: int = 12) -> list[Job]:
    """Jobs whose times are so few that many coincide, unless the latest is far."""
    count = draw(st.integers(1, 24))
    widths, times = st.integers(1, PROCESSORS), st.integers(0, latest)
    jobs: list[Job] = []
    for _ in range(count):
        run = draw(times)
        estimate = run + draw(st.sampled_from([0, 0, 1, 3, 9]))
        jobs.append(Job(draw(times), draw(widths), run, estimate))
    return jobs


def defined_reservation(machine: Machine) -> Reservation:
    """The reservation of the head, from what is free at each estimated end."""
    jobs = machine.jobs

    def free_at(time: int) -> int:
        held = [job for job in machine.running if machine.starts[job] + jobs[job].estimate > time]
        return machine.processors - sum(jobs[job].width for job in held)

    ends = {machine.starts[job] + jobs[job].estimate for job in machine.running}
    width = jobs[machine.queue[0]].width
    shadow = min(end for end in ends if free_at(end) >= width)
    return Reservation(shadow, free_at(shadow) - width)


@settings(max_examples=60, deadline=None)
@given(random_jobs(), st.sampled_from(ORDERS))
def test_every_job_starts_and_the_processors_suffice(jobs: list[Job], order: Order) -> None:
    starts = easy_starts(jobs, PROCESSORS, order)
    assert all(start >= job.submit for start, job in zip(starts, jobs, strict=True))
    for now in starts:
        held = [
            job.width
            for start, job in zip(starts, jobs, strict=True)
            if start <= now < start + job.run
        ]
        assert sum(held) <= PROCESSORS


@settings(max_examples=80, deadline=None)
@given(random_jobs(), st.sampled_from(ORDERS))
def test_the_head_starts_by_its_first_reservation(jobs: list[Job], order: Order) -> None:
    promised: dict[int, int] = {}
    starts = easy_starts(jobs, PROCESSORS, order)
    for machine in easy_passes(jobs, PROCESSORS, order):
        if machine.queue:
            promised.setdefault(machine.queue[0], defined_reservation(machine).shadow)
    assert all(starts[head] <= shadow for head, shadow in promised.items())


@settings(max_examples=80, deadline=None)
@given(random_jobs(), st.sampled_from(ORDERS))
def test_no_job_waits_that_may_start(jobs: list[Job], order: Order) -> None:
    for machine in easy_passes(jobs, PROCESSORS, order):
        free = PROCESSORS - sum(jobs[job].width for job in machine.running)
        assert free >= 0
        if not machine.queue:
            continue
        head, *rest = (jobs[job] for job in machine.queue)
        assert head.width > free
        shadow, extra = defined_reservation(machine)
        for waiting in rest:
            harmless = machine.now + waiting.estimate <= shadow or waiting.width <= extra
            assert waiting.width > free or not harmless


@settings(max_examples=60, deadline=None)
@given(random_jobs(latest=10_000))
def test_the_order_matters_only_where_events_coincide(jobs: list[Job]) -> None:
    runs = [easy_starts(jobs, PROCESSORS, order) for order in ORDERS]
    for starts in runs:
        times = sorted(
            {job.submit for job in jobs}
            | {start + job.run for start, job in zip(starts, jobs, strict=True)}
        )
        if len(times) == 2 * len(jobs):
            assert all(other == starts for other in runs)


class TestPublicSimulator:
    """Start times that pyss (44a2423) gives, with users' estimates."""

    @every_order
    def test_four_jobs(self, order: Order) -> None:
        folder = real("easy", "tie.swf")
        jobs = read_jobs(folder / "tie.swf")
        assert easy_starts(jobs, 10, order) == read_starts(folder / "tie-starts.txt")

    @every_order
    def test_a_log(self, order: Order) -> None:
        """Only pyss's own order gives all starts; how the others depart is shown above."""
        folder = real("easy", "KTH-SP2-starts.txt.gz")
        jobs = read_jobs(folder / "KTH-SP2-prepared.swf.gz")
        theirs = read_starts(folder / "KTH-SP2-starts.txt.gz")
        ours = easy_starts(jobs, 100, order)
        differing = [number for number in range(len(jobs)) if ours[number] != theirs[number]]
        if order == "foreseen ends first":
            assert not differing
            return
        assert 0 < len(differing) <= 0.05 * len(jobs)
        parted = min(min(ours[number], theirs[number]) for number in differing)
        ends = [start + job.run for start, job in zip(theirs, jobs, strict=True)]
        assert ends.count(parted) > 1, "they part where one job ends"


def read_jobs(log: Path) -> list[Job]:
    """The jobs of a log in the Standard Workload Format."""
    rows = [line.split() for line in lines(log) if not line.startswith(";")]
    return [Job(int(row[1]), int(row[7]), int(row[3]), int(row[8])) for row in rows]


def read_starts(table: Path) -> list[int]:
    """The starts, where each line holds a job's number and its start."""
    return [int(line.split()[1]) for line in lines(table)]


def lines(path: Path) -> list[str]:
    """The lines of a text, which may be compressed."""
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode().splitlines()
