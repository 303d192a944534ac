"""Random valid traces with a value in every column that a description reads."""

from __future__ import annotations

from typing import Any

import numpy as np

from failgym.traces import Cause, Meta, Outcome, Trace

OUTCOMES = (Outcome.FINISH, Outcome.FAIL, Outcome.KILL, Outcome.EVICT, Outcome.CENSORED)
CAUSES = {
    Outcome.FAIL: (Cause.INTRINSIC, Cause.MACHINE, Cause.SHARED),
    Outcome.KILL: (Cause.USER, Cause.WALLTIME, Cause.REQUEUE),
    Outcome.EVICT: (Cause.PREEMPTION, Cause.MACHINE),
}
CATEGORIES = ("success", "system", "user", "user/system", "walltime", "odd", None)
END = 5_000_000


def random_trace(seed: int, jobs: int = 60, source: str = "random") -> Trace:
    """A trace whose times are far too alike to be true: ties everywhere."""
    rng = np.random.default_rng(seed)

    def maybe(value: Any, share: float = 0.2) -> Any:
        return None if rng.random() < share else value

    job_rows: list[dict[str, Any]] = []
    task_rows: list[dict[str, Any]] = []
    attempt_rows: list[dict[str, Any]] = []
    for job in range(jobs):
        tasks = int(rng.choice([1, 1, 1, 2, 5]))
        submit = int(rng.integers(0, 1_000_000) // 1000 * 1000)
        job_rows.append(
            {
                "original_id": str(job),
                "user": maybe(f"u{rng.integers(5)}"),
                "submit": submit,
                "width": tasks,
                "shared": maybe(bool(rng.random() < 0.5)),
                "priority": int(rng.integers(0, 12)),
                "walltime": maybe(int(rng.integers(0, 500_000))),
                "speculation": maybe(bool(rng.random() < 0.8)),
                "skip_mode": maybe(int(rng.choice([2, 2, 2, 1, 16]))),
                "attempt_limit": maybe(int(rng.choice([4, 4, 4, 1, 100]))),
                "outcome": int(rng.choice(OUTCOMES)),
                "exit_category": CATEGORIES[rng.integers(len(CATEGORIES))],
            }
        )
        for index in range(tasks):
            task_rows.append(
                {
                    "job": job,
                    "index": index,
                    "width": int(rng.choice([1, 1, 1, 2, 16])),
                    "cpu": maybe(float(rng.choice([0.0, 0.25, 0.5]))),
                    "memory": maybe(float(rng.choice([0.1, 0.2]))),
                    "disk": maybe(0.01),
                }
            )
            attempt_rows += _attempts(rng, len(task_rows) - 1, submit)
    placements, windows, machines, outages = _machines(rng, attempt_rows)
    return Trace.of(
        Meta(source, end=END),
        jobs=_columns(job_rows),
        tasks=_columns(task_rows),
        attempts=_columns(attempt_rows),
        placements=_columns(placements),
        windows=_columns(windows),
        machines=_columns(machines),
        outages=_columns(outages),
    )


def _attempts(rng: np.random.Generator, task: int, submit: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    at = submit
    for _ in range(int(rng.choice([1, 1, 2, 3, 6]))):
        outcome = Outcome(int(rng.choice(OUTCOMES)))
        ran = outcome == Outcome.FINISH or rng.random() < 0.85
        start = at + int(rng.integers(0, 5)) * 1000
        end = start + int(rng.choice([0, 1, 20, 200, 400])) * 1000
        causes = CAUSES.get(outcome)
        rows.append(
            {
                "task": task,
                "queued": at if rng.random() < 0.8 else None,
                "start": start if ran else None,
                "end": end,
                "outcome": int(outcome),
                "cause": None if causes is None else int(causes[rng.integers(len(causes))]),
                "exit_code": int(rng.choice([0, 1, 107, 137])),
                "mean_cpu": float(rng.random()) if rng.random() < 0.5 else None,
                "mean_memory": float(rng.random()) if rng.random() < 0.5 else None,
                "max_memory": float(rng.random()) if rng.random() < 0.5 else None,
            }
        )
        at = end + int(rng.integers(0, 3)) * 1000
    return rows


def _machines(
    rng: np.random.Generator, attempts: list[dict[str, Any]]
) -> tuple[list[dict[str, Any]], ...]:
    machines = [{"original_id": f"m{k}", "speed": 1.0} for k in range(12)]
    placements: list[dict[str, Any]] = []
    windows: list[dict[str, Any]] = []
    for row, attempt in enumerate(attempts):
        if attempt["start"] is None:
            continue
        for machine in rng.permutation(10)[: int(rng.choice([0, 1, 1, 3]))].tolist():
            placements.append({"attempt": row, "machine": machine, "slots": 1})
        for k in range(int(rng.choice([0, 1, 4, 5]))):
            values = {
                name: None if rng.random() < 0.2 else float(rng.integers(0, 8)) / 8
                for name in ("cpu", "memory", "local_io", "remote_io", "max_memory")
            }
            windows.append({"attempt": row, "offset": 300 * k, **values})
    outages: list[dict[str, Any]] = []
    ends = [a["end"] for a in attempts if a["start"] is not None]
    for _ in range(60):
        down = max(int(rng.choice(ends)) - int(rng.choice([0, 0, 30_000, 60_000, 61_000])), 0)
        up = None if rng.random() < 0.1 else down + int(rng.choice([0, 60_000, 600_000]))
        outages.append(
            {
                "machine": int(rng.integers(0, 10)),
                "down": down,
                "up": up,
                "cause": None
                if rng.random() < 0.2
                else str(rng.choice(["hardware", "hardware: CPU", "software"])),
                "group": None if rng.random() < 0.3 else int(rng.integers(0, 20)),
            }
        )
    order = rng.permutation(len(windows))
    return placements, [windows[k] for k in order.tolist()], machines, outages


def _columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]} if rows else {}
