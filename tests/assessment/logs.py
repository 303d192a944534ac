"""Accounting logs as a site would have them."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np

BEGIN = 1_409_070_000
"""When a log begins [s since 1970]."""
HOUR, NODES = 3_600, 12


def torque_log(jobs: int, seed: int = 0) -> str:
    """A TORQUE log of jobs on twelve nodes: most finish in an hour, two in ten run into their limit
    of ten hours, one in ten fails, and one in ten is put back into the queue once before.
    """
    rng = np.random.default_rng(seed)
    lines: list[tuple[int, str]] = []
    for number in range(jobs):
        queued = BEGIN + number * 1_200
        fate = rng.choice(["finish", "limit", "fail", "requeued"], p=[0.6, 0.2, 0.1, 0.1])
        length = 10 * HOUR if fate == "limit" else int(rng.integers(600, 2 * HOUR))
        user, name = f"u{number % 7}", f"app{number % 5}"
        start = queued + int(rng.integers(10, 600))
        node, lost = number % NODES, int(rng.integers(60, 600))
        about = (
            f"user={user} group=users jobname={name} queue=batch ctime={queued} qtime={queued}"
            f" start={{start}} exec_host=node{{node:02d}}/0-1 Resource_List.nodes=1:ppn=2"
            " Resource_List.walltime=10:00:00"
        )
        lines.append((queued, f"Q;{number}.head;queue=batch"))
        if fate == "requeued":
            first = about.format(start=start, node=node)
            lines.append((start, f"S;{number}.head;{first}"))
            start, node = start + lost, (node + 1) % NODES
            lines.append((start, f"E;{number}.head;{first} end={start} Exit_status=-3"))
            start += 30
        run = about.format(start=start, node=node)
        code = {"limit": -11, "fail": 1}.get(str(fate), 0)
        end = start + length
        lines.append((start, f"S;{number}.head;{run}"))
        lines.append((end, f"E;{number}.head;{run} end={end} Exit_status={code}"))
    ordered = sorted(lines, key=lambda each: each[0])
    return "".join(f"{_date(at)};{text}\n" for at, text in ordered)


def _date(at: int) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%m/%d/%Y %H:%M:%S}"
