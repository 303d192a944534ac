"""What the engine makes of a trace that is left alone, task by task."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from failgym import metrics
from failgym.baselines import Replay
from failgym.envs import SCENARIOS
from failgym.evaluation import Record, compare, run_policy, whole_trace_world
from failgym.traces import Outcome, Trace

NOTHING_ASKED = replace(SCENARIOS["Cloning-v1"], clone=False, give_up=False, retry=False)

Fate = tuple[int, str, int]
"""End [ms], outcome, machine-time [slot-ms] of a task."""


def replayed(trace: Trace) -> dict[tuple[str, int], list[Fate]]:
    """The fates of the tasks by (job's original id, index), in the order of the trace.

    Fails if the replay is not the record; machine-time is of tasks of known fate only.
    """
    run = run_policy(whole_trace_world(trace, NOTHING_ASKED), NOTHING_ASKED, Replay())
    assert compare(run, Record.of(trace)).mismatches == 0
    rows = run.outcomes["task"]
    assert len(rows) == trace.rows("tasks")
    ids = trace.column("jobs", "original_id")[trace.column("tasks", "job")][rows].tolist()
    index = trace.column("tasks", "index")[rows].tolist()
    work = metrics.task_work(run.outcomes).tolist()
    fates = zip(run.outcomes["end"].tolist(), run.outcomes["outcome"].tolist(), work, strict=True)
    found: dict[tuple[str, int], list[Fate]] = defaultdict(list)
    for _, key, fate in sorted(
        zip(rows.tolist(), zip(ids, index, strict=True), fates, strict=True)
    ):
        found[key].append((fate[0], Outcome(fate[1]).name, fate[2]))
    return found
