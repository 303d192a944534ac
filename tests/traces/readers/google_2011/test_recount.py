"""A recount of ends, outcomes and machine-time straight from the CSV rows.

It shares no code with the reader: the csv and gzip modules, one list of events per task.
"""

from __future__ import annotations

import csv
import gzip
import itertools
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from failgym.traces import Trace, read_google_2011
from tests.traces.readers.google_2011.nasty import write_nasty
from tests.traces.real_data import google_2011

END_NAMES = {2: "EVICT", 3: "FAIL", 4: "FINISH", 5: "KILL", 6: "LOST"}
Key = tuple[int, int]


@dataclass
class Attempt:
    queued: int | None
    start: int | None = None
    end: int = -1
    outcome: str = ""


@dataclass
class Task:
    attempts: list[Attempt] = field(default_factory=list[Attempt])


def rows_of(file: Path) -> list[tuple[int, Key, int]]:
    with gzip.open(file, "rt", newline="") as text:
        return [(int(r[0]), (int(r[2]), int(r[3])), int(r[5])) for r in csv.reader(text)]


def recount(files: list[list[Path]]) -> dict[Key, list[Task]]:
    """The tasks of each (job, index), segment after segment, times in microseconds."""
    tasks: dict[Key, list[Task]] = defaultdict(list)
    for segment in files:
        from_the_beginning = "part-00000-" in segment[0].name
        events: dict[Key, list[tuple[int, int]]] = defaultdict(list)
        last = 0
        for file in segment:
            for time, key, kind in rows_of(file):
                if time < 2**63 - 1 and kind < 7:
                    events[key].append((time, kind))
                    last = max(last, time)
        for key, listed in events.items():
            tasks[key] += life_of(listed, last, from_the_beginning)
    return tasks


def life_of(events: list[tuple[int, int]], last: int, from_the_beginning: bool) -> list[Task]:
    tasks: list[Task] = []
    previous = -1
    for time, kind in events:
        attempt = tasks[-1].attempts[-1] if tasks else None
        over = attempt is not None and attempt.outcome != ""
        if time < previous:
            continue  # out of order
        if kind == 0 and (attempt is None or over):
            if attempt is None or time - attempt.end > 1000:
                tasks.append(Task())
            tasks[-1].attempts.append(Attempt(queued=time))
        elif kind == 1 and attempt is None and not from_the_beginning:
            tasks.append(Task([Attempt(queued=None, start=time)]))
        elif kind == 1 and attempt is not None and not over and attempt.start is None:
            attempt.start = time
        elif kind in END_NAMES and attempt is not None and not over:
            if kind == 4 and attempt.start is None:
                continue  # nothing finishes without having started
            attempt.end, attempt.outcome = time, END_NAMES[kind]
        else:
            continue
        previous = time
    for task in tasks:
        if not task.attempts[-1].outcome:
            task.attempts[-1].end, task.attempts[-1].outcome = last, "CENSORED"
    return tasks


def final_outcome(task: Task) -> str:
    outcomes = [attempt.outcome for attempt in task.attempts]
    return next((o for o in ("FINISH", "CENSORED") if o in outcomes), outcomes[-1])


def machine_time(task: Task) -> int:
    """Milliseconds between the floored start and end of what ran."""
    ran = [a for a in task.attempts if a.start is not None]
    return sum(a.end // 1000 - (a.start or 0) // 1000 for a in ran)


def compare(trace: Trace, expected: dict[Key, list[Task]]) -> None:
    names = ["FINISH", "FAIL", "KILL", "EVICT", "LOST", "CENSORED"]
    jobs = trace.column("jobs", "original_id")[trace.column("tasks", "job")].tolist()
    indices = trace.column("tasks", "index").tolist()
    columns = [
        trace.column("attempts", name).tolist() for name in ("queued", "start", "end", "outcome")
    ]
    first, outcomes = trace.task_first.tolist(), trace.task_outcome.tolist()
    position: dict[Key, int] = defaultdict(int)
    for row, (job, index) in enumerate(zip(jobs, indices, strict=True)):
        key = (int(job), index)
        task = expected[key][position[key]]
        position[key] += 1
        attempts = range(first[row], first[row + 1])
        found = [tuple(column[n] for column in columns[:3]) for n in attempts]
        assert found == [
            (milliseconds(a.queued), milliseconds(a.start), a.end // 1000) for a in task.attempts
        ], key
        assert [names[columns[3][n]] for n in attempts] == [a.outcome for a in task.attempts], key
        assert names[outcomes[row]] == final_outcome(task), key
        assert sum(e - s for _, s, e in found if s >= 0) == machine_time(task), key
    assert position == {key: len(tasks) for key, tasks in expected.items() if tasks}


def milliseconds(time: int | None) -> int:
    return -1 if time is None else time // 1000


def test_nasty_trace_agrees_with_the_recount(tmp_path: Path) -> None:
    folder = write_nasty(tmp_path)
    files = sorted((folder / "task_events").iterdir())
    compare(read_google_2011(folder), recount([files[:2], files[2:]]))


@pytest.mark.parametrize("segments", [[[0, 1]], [[2], [4]]])
def test_part_of_the_real_trace_agrees_with_the_recount(
    tmp_path: Path, segments: list[list[int]]
) -> None:
    source = google_2011()
    (tmp_path / "task_events").mkdir()
    (tmp_path / "job_events").symlink_to(source / "job_events", target_is_directory=True)
    files = [
        [source / "task_events" / f"part-{number:05}-of-00500.csv.gz" for number in segment]
        for segment in segments
    ]
    for file in itertools.chain(*files):
        (tmp_path / "task_events" / file.name).symlink_to(file)
    compare(read_google_2011(tmp_path), recount(files))
