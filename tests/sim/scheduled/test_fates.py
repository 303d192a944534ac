"""What becomes of one task at the least, worked by hand."""

from __future__ import annotations

import math

from failgym.sim.scheduled.fates import Caps, Row, fate_of_task
from failgym.vocabulary import Ending

INF = math.inf
PLAIN = Caps(
    checkpoint=False,
    clone=False,
    extra=0,
    give_up=False,
    restart_limit=4,
    transfers=False,
    interrupted=False,
)
SAVING = PLAIN._replace(checkpoint=True)


def finish(length: int) -> Row:
    return Row(int(Ending.FINISH), length, length, 1.0)


def fail(duration: int, length: int) -> Row:
    return Row(int(Ending.INTRINSIC), length, duration, duration / length)


def cut(duration: int, length: int) -> Row:
    """An attempt that something outside ends."""
    return Row(int(Ending.EXTERNAL), length, duration, duration / length)


class TestFates:
    def test_a_success_takes_its_time_and_cannot_fail(self) -> None:
        assert fate_of_task([finish(70)], PLAIN) == (70, 0, INF, 0)
        assert fate_of_task([finish(70)], SAVING) == (69, 0, INF, 0)  # less a rounding

    def test_failures_before_it_are_waited_for_and_wasted(self) -> None:
        rows = [fail(30, 60), cut(20, 90), finish(70)]
        assert fate_of_task(rows, PLAIN) == (120, 50, INF, 0)
        # Saved are 32 of 60 at the most, and then 22 of 90.
        saved = 32 / 60 + 22 / 90
        least = 29 + 20 + math.floor((1 - saved) * 70) - 1
        assert fate_of_task(rows, SAVING) == (least, 0, INF, 0)

    def test_no_work_is_done_faster_than_on_the_shortest_attempt(self) -> None:
        rows = [fail(59, 60), finish(600)]
        assert fate_of_task(rows, SAVING)[0] == 59

    def test_a_task_may_be_given_up_at_its_first_failure(self) -> None:
        rows = [cut(20, 90), fail(30, 60), fail(30, 60), finish(70)]
        assert fate_of_task(rows, PLAIN._replace(give_up=True)) == (150, 80, 50, 50)

    def test_the_cluster_gives_up_after_the_limit(self) -> None:
        rows = [fail(30, 60), fail(40, 60), fail(50, 60), finish(70)]
        assert fate_of_task(rows, PLAIN._replace(restart_limit=1)) == (190, 120, 70, 70)
        assert fate_of_task(rows, PLAIN._replace(restart_limit=3)) == (190, 120, INF, 0)

    def test_what_only_fails_cannot_succeed(self) -> None:
        assert fate_of_task([fail(30, 60), fail(40, 60)], PLAIN) == (INF, 0, 70, 70)
        assert fate_of_task([], PLAIN) == (INF, 0, 0, 0)

    def test_an_end_from_outside_comes_too_late_for_what_was_saved(self) -> None:
        rows = [cut(50, 90), cut(50, 90)]
        assert fate_of_task(rows, PLAIN) == (INF, 0, 100, 100)
        assert fate_of_task(rows, SAVING)[0] == 89
        once = SAVING._replace(interrupted=True)
        assert fate_of_task([cut(50, 90)], once)[0] == 89  # interrupted, it resumes from its own
        assert fate_of_task([cut(50, 90)], SAVING)[0] == 89  # and so does a copy of it

    def test_transfers_in_an_attempt_are_no_waste(self) -> None:
        rows = [cut(20, 90), finish(70)]
        assert fate_of_task(rows, PLAIN._replace(transfers=True)) == (90, 0, INF, 0)

    def test_clones_skip_failures(self) -> None:
        rows = [fail(30, 60), fail(40, 60), finish(70)]
        assert fate_of_task(rows, PLAIN._replace(clone=True, extra=2)) == (70, 0, 30, 30)
        assert fate_of_task(rows, PLAIN._replace(clone=True, extra=1)) == (100, 30, 30, 30)
        rows = [fail(30, 60), fail(20, 60), fail(80, 80), fail(90, 90), finish(70)]
        # Three of the four ended before: 20, 30 and 80, two at a time.
        assert fate_of_task(rows, PLAIN._replace(clone=True, extra=1))[:2] == (150, 130)
        assert fate_of_task(rows, SAVING._replace(clone=True, extra=1)) == (59, 0, 0, 0)

    def test_several_retries_may_follow_one_failure(self) -> None:
        rows = [fail(30, 60), fail(40, 60), finish(70)]
        assert fate_of_task(rows, PLAIN._replace(extra=2)) == (100, 30, 30, 30)
        assert fate_of_task(rows, PLAIN._replace(extra=1)) == (100, 30, 30, 30)
        assert fate_of_task(rows[:2] * 2 + [finish(9)], PLAIN._replace(extra=1))[:2] == (59, 100)
        assert fate_of_task(rows, SAVING._replace(extra=2)) == (59, 0, 29, 29)
        assert fate_of_task(rows[2:], PLAIN._replace(extra=2)) == (70, 0, INF, 0)
