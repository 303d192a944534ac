"""Eight tasks whose best treatment is known by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from failgym.traces.tables import Meta
from failgym.traces.trace import Trace
from failgym.vocabulary import MINUTE, Cause, Outcome

END = 2_000
"""End of the data [min]."""


@dataclass(frozen=True)
class _Run:
    """An attempt: wait before it, run time and true length [min], and how it ended."""

    wait: int
    run: int
    outcome: Outcome
    cause: Cause | None = None
    length: int | None = None


@dataclass(frozen=True)
class _Task:
    name: str
    runs: Sequence[_Run]
    outcome: Outcome


def _finish(run: int, wait: int = 0) -> _Run:
    return _Run(wait, run, Outcome.FINISH, None, run)


def _fail(run: int, length: int, wait: int = 0, cause: Cause = Cause.INTRINSIC) -> _Run:
    return _Run(wait, run, Outcome.FAIL, cause, length)


_TASKS = (
    _Task("easy", (_finish(10),), Outcome.FINISH),
    _Task("rescued", (_fail(10, 20), _finish(5, wait=30)), Outcome.FINISH),
    _Task("doomed", (_fail(60, 80), _fail(60, 80, wait=1)), Outcome.FAIL),
    _Task("hung", (_Run(0, 300, Outcome.KILL, Cause.USER, 600),), Outcome.KILL),
    _Task("long", (_finish(200),), Outcome.FINISH),
    _Task(
        "evicted",
        (_Run(0, 50, Outcome.EVICT, Cause.PREEMPTION, 60), _finish(60, wait=2)),
        Outcome.FINISH,
    ),
    _Task(
        "struck",
        (
            _fail(40, 100, cause=Cause.MACHINE),
            _fail(70, 100, wait=5, cause=Cause.SHARED),
            _finish(100, wait=5),
        ),
        Outcome.FINISH,
    ),
    _Task("unknown", (_Run(0, END - 70, Outcome.CENSORED),), Outcome.CENSORED),
)
"""Task i is the only one of job i and is submitted 10 i minutes after the origin."""


def toy() -> Trace:
    """Eight jobs of one task each; times in minutes, w for the wait before a later attempt.

    | task | name | record | cloning | grace period | checkpoints |
    |---|---|---|---|---|---|
    | 0 | easy | finishes after 10 | - | - | - |
    | 1 | rescued | fails at 10; w 30, finishes after 5 | clone at once | - | depends |
    | 2 | doomed | fails at 60; w 1, fails at 60 | give up | kill at once | depends |
    | 3 | hung | killed by its user at 300 | - | kill at once | - |
    | 4 | long | finishes after 200 | - | - | - |
    | 5 | evicted | evicted at 50; w 2, finishes after 60 | - | - | one, just before 50 |
    | 6 | struck | struck at 40; w 5, at 70; w 5, needs 100 | - | - | one, just before 40 |
    | 7 | unknown | runs at the end of the data | not asked | not asked | not asked |

    The last three columns tell what is best where only that can be done, and only work and
    forfeited tasks are charged for; - is to leave it alone. If tasks can be retried but not cloned,
    task 1 is best retried at once. Whether saving tasks 1 and 2 before they fail pays depends on
    the cost of a restore: the next attempt then starts from there. Were completion time charged
    for, tasks 5 and 6 would be worth a clone as well.

    Task 1: the clone runs the attempt that finishes, so it costs 5 + 5 minutes of machine-time
    against 10 + 5, and 5 of completion time against 45. Task 2: nothing that is started ever
    finishes. Task 4 outlives the grace periods of failed and killed tasks, so killing by age alone
    forfeits it. Task 5: with windows of 5 minutes and a cost of 1, a checkpoint at 45 keeps 45 of
    the 50 minutes; any earlier one costs as much and keeps less. Task 6: a checkpoint at 35 leaves
    65 minutes of work, which the second attempt finishes before its failure at 70 if restoring
    takes less than 5 and nothing else pauses it.

    Machine-time and width are 1 per minute. All attempts but the last task's have a true length.

    >>> toy().rows("attempts")
    13
    """
    attempts: dict[str, list[Any]] = {
        name: [] for name in ("task", "queued", "start", "end", "outcome", "cause", "length")
    }
    for number, task in enumerate(_TASKS):
        now = 10 * number
        for run in task.runs:
            start, end = now + run.wait, now + run.wait + run.run
            length = None if run.length is None else run.length * MINUTE
            times = (now * MINUTE, start * MINUTE, end * MINUTE)
            row = (number, *times, run.outcome, run.cause, length)
            for column, value in zip(attempts.values(), row, strict=True):
                column.append(value)
            now = end
    count = len(_TASKS)
    return Trace.of(
        Meta(source="synthetic: toy", licence="MIT", end=END * MINUTE),
        jobs={
            "original_id": [str(number) for number in range(count)],
            "name": [task.name for task in _TASKS],
            "submit": [10 * number * MINUTE for number in range(count)],
            "width": 1,
            "outcome": [task.outcome for task in _TASKS],
        },
        tasks={"job": list(range(count)), "index": [0] * count, "width": 1},
        attempts=attempts,
    )
