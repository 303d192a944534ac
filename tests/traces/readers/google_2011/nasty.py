"""A small trace in Google's format, made by hand, with everything that is odd in the real one.

Each line: time [us], job, task index, machine ("-": none), event type, priority, CPU request.
Two segments: parts 0 and 1, and part 3.
"""

from __future__ import annotations

import gzip
from pathlib import Path

TASK_EVENTS = {
    0: """
        0 10 0 -  0 9 0.5      # alive at 0: the request of the SUBMIT is not the SCHEDULE's
        0 10 2 -  0 9 0.5      # a gap in the indices: job 10 has two tasks
        0 11 0 -  0 2 -        # pending at 0, request unknown
        0 10 0 71 1 10 0.25
        0 10 2 72 1 9 0.5
        0 14 0 71 8 1 0.1      # UPDATE
        600000100 10 2 72 2 9 0.5    # evicted ...
        600000110 10 2 -  0 9 0.5    # ... requeued at once
        601000000 10 2 73 1 9 0.5
        601500000 11 0 -  2 2 -      # evicted while pending
        601500007 11 0 -  0 2 -      # requeued, and pending until the segment ends
        602000999 10 2 -  5 9 0.5    # killed, without a machine
        602001004 10 2 -  0 9 0.5    # requeued: not the user's kill
        603000000 10 2 -  5 9 0.5    # killed while pending, for good
        610000000 10 2 -  0 9 0.5    # run again by the user: a new task
        611000000 10 2 74 1 9 0.5
        612000000 10 2 74 3 9 0.5    # fails ...
        612001000 10 2 -  0 9 0.5    # ... requeued 1 ms later, just in time
        613000000 10 2 74 1 9 0.5
        614000000 10 2 74 3 9 0.5
        614001001 10 2 -  0 9 0.5    # 1.001 ms later: run again
        615000000 12 0 -  0 0 0.1
        616000000 12 0 75 1 0 0.1
        617000000 12 0 75 4 0 0.1
        618000000 12 0 -  0 0 0.1    # run again after a success
        619000000 12 0 75 1 0 0.1
        620000000 14 0 -  0 1 0.1
        621000000 14 0 -  0 1 0.1    # dropped: SUBMIT while pending
        622000000 14 0 -  4 1 0.1    # dropped: FINISH while pending
        623000000 14 0 76 1 1 0.1
        624000000 14 0 77 1 1 0.1    # dropped: SCHEDULE while running
        622500000 14 0 76 4 1 0.1    # dropped: earlier than the SCHEDULE
        625000000 14 0 -  0 1 0.1    # dropped: SUBMIT while running
        626000000 14 0 76 4 1 0.1
        626000500 14 0 76 5 1 0.1    # dropped: end of a task that is over
        626000600 14 0 76 7 1 0.1    # UPDATE
        627000000 15 0 -  0 1 0.1
        627500000 15 0 76 1 1 0.1
        628000000 15 0 76 4 1 0.1
        629000000 16 0 -  0 1 0.1
        629500000 16 0 76 1 1 0.1
        630000000 16 0 76 6 1 0.1    # lost
        631000000 17 0 -  0 1 0.1
        632000000 17 0 -  3 1 0.1    # fails while pending
        633000000 13 0 -  0 1 0.1
        634000000 13 0 78 1 1 0.1
        700000999 10 0 71 4 9 0.5
        700001000 13 0 78 3 1 0.1    # fails in the last row of a part ...
    """,
    1: """
        700001009 13 0 -  0 1 0.1    # ... and is requeued in the first row of the next
        700500000 15 0 76 4 1 0.1    # dropped: over since the last part
        700600000 15 0 76 1 1 0.1    # dropped: never submitted again
        700700000 15 0 -  0 1 0.1    # run again
        701000000 13 0 79 1 1 0.1
        701000000 12 7 -  0 0 0.1    # a later task of job 12
        9223372036854775807 13 0 79 5 1 0.1   # after the end of the trace
    """,
    3: """
        900000000 12 0 75 4 0 0.1    # dropped: its start was not seen in this segment
        900000001 20 0 80 2 0 0.1    # dropped likewise ...
        900000010 20 0 -  0 0 0.1    # ... and a new task
        901000000 18 0 81 1 3 0.2    # first seen at SCHEDULE
        902000000 18 0 81 4 3 0.2
        903000000 19 0 -  0 3 0.2
        903000000 19 0 81 1 3 0.2
        904000999 20 0 82 1 0 0.1
    """,
}

JOB_EVENTS = """
    0 10 0
    0 10 1
    0 11 0
    615000000 12 0
    615500000 98 7          # UPDATE
    616000000 12 1
    616500000 98 0          # a job without tasks
    620000000 14 0
    626000000 14 4
    627000000 15 0
    628000000 15 4
    629000000 16 0
    630000000 16 3
    631000000 17 0
    633000000 13 0
    640000000 17 5
    700002000 10 5
    900500000 18 1
    902000000 18 4
    903000000 19 0
    904000999 19 4          # at the very last task event
    904001000 12 4          # after it
"""


def lines(text: str) -> list[list[str]]:
    """The fields of each line, comments left out."""
    rows = [line.split("#")[0].split() for line in text.splitlines()]
    return [row for row in rows if row]


def task_row(time: str, job: str, index: str, machine: str, kind: str, *request: str) -> str:
    """A row of task_events as published (13 columns)."""
    priority, cpu = request or ("0", "0.1")
    machine, cpu = machine.replace("-", ""), cpu.replace("-", "")
    return f"{time},,{job},{index},{machine},{kind},user,1,{priority},{cpu},0.1,0.001,0"


def job_row(time: str, job: str, kind: str) -> str:
    """A row of job_events as published (8 columns)."""
    return f"{time},,{job},{kind},user,2,name{job},logical"


def write_part(folder: Path, number: int, rows: list[str], *, suffix: str = ".csv.gz") -> Path:
    """Write a part of a table; returns its file."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"part-{number:05}-of-00500{suffix}"
    data = "".join(row + "\n" for row in rows).encode()
    file.write_bytes(gzip.compress(data) if suffix == ".csv.gz" else data)
    return file


def write_nasty(folder: Path, *, suffix: str = ".csv.gz") -> Path:
    """Write the whole trace; returns its folder."""
    for number, text in TASK_EVENTS.items():
        rows = [task_row(*fields) for fields in lines(text)]
        write_part(folder / "task_events", number, rows, suffix=suffix)
    rows = [job_row(*fields) for fields in lines(JOB_EVENTS)]
    write_part(folder / "job_events", 0, rows, suffix=suffix)
    return folder
