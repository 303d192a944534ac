"""Step 3, where jobs have the cluster to themselves, and failures strike them at a stated moment.

After the experiments of Ghit and Epema, HPDC 2017 (section 5.2): a share of the machines of a job
fails while it runs, and is replaced as soon as the loss is noticed.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from failgym.traces import Trace
from failgym.vocabulary import MINUTE
from failgym.worlds.scenario import Scenario
from failgym.worlds.split import tasks_run
from failgym.worlds.tables import with_columns, with_tables

__all__ = ["SPACING", "apart", "job_order", "struck"]

Ints = npt.NDArray[np.int64]

SPACING = 7 * 24 * 60 * MINUTE
"""Time between the submissions of two jobs, longer than any job takes [ms]."""
_KEY = 0x57B1
"""Sets these draws apart from others of the same seed."""


def job_order(trace: Trace) -> Ints:
    """Rows of the jobs in order of submission."""
    submit = trace.column("jobs", "submit")
    return np.lexsort((np.arange(len(submit)), submit)).astype(np.int64)


def apart(scenario: Scenario, trace: Trace) -> Trace:
    """The trace with its jobs `SPACING` apart, each on as many machines as the scenario gives it.

    The machines that a job does not get are down while it runs.

    Raises:
        ValueError: for a trace of which anything ran: its times cannot be moved apart.
    """
    if tasks_run(trace).any():
        name = "failed_share" if scenario.failed_share else "job_machines"
        raise ValueError(f"{name}: expected a trace in which nothing ran, such as panda-das")
    order = job_order(trace)
    submit = np.empty(len(order), dtype=np.int64)
    submit[order] = (1 + np.arange(len(order))) * SPACING
    job = trace.column("tasks", "job")[trace.column("attempts", "task")]
    end = (len(order) + 2) * SPACING
    moved = {
        ("jobs", "submit"): submit,
        ("attempts", "queued"): submit[job],
        ("attempts", "end"): np.full(len(job), end),
    }
    return with_tables(with_columns(trace, end, moved), outages=_absent(scenario, trace, submit))


def _absent(scenario: Scenario, trace: Trace, submit: Ints) -> dict[str, Ints]:
    """Outages of the machines that a job does not get, until just before the next job."""
    given = machines_of(scenario, trace)
    job, machine = np.nonzero(np.arange(trace.rows("machines")) >= given[:, None])
    down = submit[job] - 1
    return {"machine": machine, "down": down, "up": down + SPACING - 1}


def machines_of(scenario: Scenario, trace: Trace) -> Ints:
    """On how many machines each job runs, [jobs]."""
    counts = dict(scenario.job_machines)
    machines = trace.rows("machines")
    names = trace.column("jobs", "name").tolist()
    return np.array([min(counts.get(name, machines), machines) for name in names], dtype=np.int64)


def struck(scenario: Scenario, trace: Trace, run_time: Ints) -> Trace:
    """The trace, its jobs apart, with the failures that strike each of them.

    Args:
        scenario: which share of the machines fails, and when.
        trace: what `apart` gave.
        run_time: [jobs] undisturbed run time of each job [ms].

    Raises:
        ValueError: if machines would still be down when the next job begins.
    """
    longest = int(run_time.max(initial=0))
    if longest + scenario.detection_delay >= SPACING:
        raise ValueError(
            f"detection_delay: {scenario.detection_delay} ms, and run times up to {longest} ms,"
            f" expected less than {SPACING} ms together"
        )
    columns: dict[str, list[int]] = {"machine": [], "down": [], "up": []}
    submit, given = trace.column("jobs", "submit"), machines_of(scenario, trace)
    for job in range(trace.rows("jobs")):
        rng = np.random.Generator(np.random.PCG64([scenario.trace_seed, _KEY, job]))
        share = rng.random() if scenario.failed_at < 0 else scenario.failed_at
        count = max(math.floor(scenario.failed_share * given[job] + 0.5), 1)
        down = int(submit[job]) + max(math.floor(share * run_time[job]), 1)
        failed = np.sort(rng.permutation(given[job])[:count])
        columns["machine"] += failed.tolist()
        columns["down"] += [down] * count
        columns["up"] += [down + max(scenario.detection_delay, 1)] * count
    known = {name: trace.column("outages", name) for name in columns}
    return with_tables(
        trace, outages={name: np.append(known[name], columns[name]) for name in columns}
    )
