"""PANDA's applications, task by task, on machines that fail (Ghit and Epema, HPDC 2017, section 6).

Jobs of the `panda-das` profile in Lineage-v1: each has its machines to itself, loses some of them
together at a stated moment, and gets new ones after a minute. Nothing in recovery was fitted. The
stages of the profile are chosen after Fig. 5 and what the paper says of task times and sizes.

Replicates are jobs: those of an application are generated together, from one seed, and differ in
the run times and sizes of their tasks and in which of their machines fail.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from experiments.reproduction import Row
from failgym.baselines import Aware, Greedy, PeriodicOutputs, Replay, Size
from failgym.envs import resolve
from failgym.evaluation import run_policy
from failgym.traces import Trace, generate
from failgym.traces.synthetic import PandaDas
from failgym.worlds.build import build_world

PROFILE = PandaDas()
NODES = {app.name: app.nodes for app in PROFILE.applications}
"""Machines of a job (Table 3)."""
LONG = ("BTWORLD", "PPPQ", "NMSQ")
"""Applications on 20 machines, of Fig. 8."""
POLICIES = {
    "Spark": Replay(),
    "GREEDY": Greedy(),
    "SIZE": Size(),
    "AWARE": Aware(),
    "PERIODIC": PeriodicOutputs(),
}
"""With the parameters of section 6.1, which are the baselines' own."""
INTO_THE_STAGE = 0.25
"""When machines fail in Fig. 8, as a share of the last stage; chosen."""
AT_THE_END = 0.98
"""When a machine fails in Fig. 9a and b, as a share of the run; chosen."""
FEWEST, ITERATIONS = 8, 14
"""Iterations of PageRank in Fig. 9a."""
SECONDS = {FEWEST: 128, ITERATIONS: 185}
"""Run time of PageRank by iterations [s]: Tables 3 and 5; that Table 3 is of the fewest is chosen.
"""
SEED = 5

Floats = npt.NDArray[np.float64]
Band = tuple[float, float]
Table = dict[str, npt.NDArray[Any]]


@cache
def jobs_of(name: str, jobs: int, iterations: int = ITERATIONS) -> Trace:
    """Jobs of an application; PageRank may have fewer iterations."""
    app = next(app for app in PROFILE.applications if app.name == name)
    if iterations != ITERATIONS:
        each = (SECONDS[ITERATIONS] - SECONDS[FEWEST]) // (ITERATIONS - FEWEST)
        seconds = SECONDS[FEWEST] + (iterations - FEWEST) * each
        app = replace(app, stages=app.stages[: 2 + 2 * iterations], runtime=seconds)
    return generate(replace(PROFILE, applications=(app,)), jobs=jobs, seed=SEED)


def played(trace: Trace, policy: str, lost: float = 0.0, at: float = 0.0, **options: Any) -> Table:
    """Outcomes of the tasks of jobs that lose a share of their machines at a share of their run.

    `options` are fields of the scenario.
    """
    fields: dict[str, Any] = {"trace": trace, "split": "all", **options}
    fields |= {"save_outputs": policy != "Spark", "failed_share": lost}
    scenario = resolve("Lineage-v1", {**fields, "failed_at": at} if lost else fields)
    return run_policy(build_world(scenario), scenario, POLICIES[policy], order="time").outcomes


def run_times(trace: Trace, table: Table) -> Floats:
    """Of each job, from its submission to the end of its last task [s]."""
    taken = np.zeros(trace.rows("jobs"))
    job = trace.column("tasks", "job")[table["task"]]
    np.maximum.at(taken, job, (table["end"] - table["submit"]) / 1e3)
    return taken


def per_job(trace: Trace, table: Table, values: npt.NDArray[Any]) -> Floats:
    """Sums over the tasks of each job."""
    job = trace.column("tasks", "job")[table["task"]]
    return np.bincount(job, values, trace.rows("jobs")).astype(np.float64)


@dataclass(frozen=True)
class Undisturbed:
    """Jobs that lose no machine, an entry each."""

    run_time: Floats
    """[s]"""
    saved: Floats
    """share of the tasks whose output is in stable storage"""
    saved_bytes: Floats
    """without replicas"""
    struck_at: float
    """the moment of the run at which machines are to fail in the last stage [s]"""


@cache
def undisturbed(name: str, policy: str, jobs: int) -> Undisturbed:
    """Jobs of an application under a policy, without failures."""
    trace = jobs_of(name, jobs)
    table = played(trace, policy)
    row = trace.column("tasks", "stage")[table["task"]]
    stage = trace.column("stages", "stage")[row]
    begin = float((table["start"] - table["submit"])[stage == stage.max()].min()) / 1e3
    run_time = run_times(trace, table)
    size = trace.column("tasks", "output_bytes")[table["task"]]
    tasks = per_job(trace, table, np.ones(len(size)))
    return Undisturbed(
        run_time,
        per_job(trace, table, table["saved"]) / tasks,
        per_job(trace, table, np.where(table["saved"], size, 0)),
        begin + INTO_THE_STAGE * (float(run_time.mean()) - begin),
    )


@cache
def disturbed(name: str, policy: str, jobs: int, lost: int, **options: Any) -> Table:
    """The outcomes of jobs that lose so many machines in their last stage."""
    at = (
        undisturbed(name, policy, jobs).struck_at / undisturbed(name, "Spark", jobs).run_time.mean()
    )
    return played(jobs_of(name, jobs), policy, lost / NODES[name], min(float(at), 1.0), **options)


def slowdowns(name: str, policy: str, jobs: int, lost: int, **options: Any) -> Floats:
    """Run time of each job that loses so many machines, over that under the policy without."""
    base = undisturbed(name, policy, jobs).run_time
    if not lost:
        return np.ones(len(base))
    return run_times(jobs_of(name, jobs), disturbed(name, policy, jobs, lost, **options)) / base


def line(times: Floats, lost: tuple[int, ...]) -> tuple[float, float]:
    """Slope per machine, and R2, of the straight line through run times by machines lost."""
    slope, intercept = np.polyfit(lost, times, 1)
    left = times - (slope * np.array(lost) + intercept)
    return float(slope), 1.0 - float((left**2).sum() / ((times - times.mean()) ** 2).sum())


def over_jobs(
    name: str,
    values: Floats,
    paper: float | None = None,
    band: Band | None = None,
    fitted: bool = False,
    why: str = "",
) -> Row:
    """A row over jobs, which says why if it lies outside its band."""
    seen: list[float] = values.tolist()
    row = Row.over(name, seen, paper, band, fitted)
    return replace(row, note=why) if row.verdict == "outside" else row
