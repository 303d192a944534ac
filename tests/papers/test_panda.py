"""PANDA task by task (Ghit and Epema, HPDC 2017, sections 6.2 to 6.4): lost machines, lost outputs.

Jobs of the panda-das profile, each alone on its machines, in Lineage-v0. Machines fail together in
the last stage, and are replaced after a minute.

What does not come out: over *every* number of lost machines from 0 to 15 R2 is .91 to .94, since
the first one alone costs about a third (the minute, one wave of the slow stage); SIZE's curve has
R2 of .98 for BTWORLD, .94 for PPPQ and .90 for NMSQ; PageRank is 1.9 times slower, not 11 times,
and KMeans by a fifth in the mean (in the median not at all), not by less than a twentieth.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from failgym.baselines import Aware, Greedy, Replay, Size
from failgym.envs import resolve
from failgym.envs.worlds import build_world
from failgym.evaluation import run_policy
from failgym.traces import Trace, generate
from failgym.traces.synthetic import PandaDas

PROFILE = PandaDas()
NODES = {app.name: app.nodes for app in PROFILE.applications}
JOBS = {"BTWORLD": 1, "PPPQ": 2, "NMSQ": 2, "PageRank": 4, "KMeans": 20}
POLICIES = {"spark": Replay(), "greedy": Greedy(), "size": Size(), "aware": Aware()}
LONG = ("BTWORLD", "PPPQ", "NMSQ")
LOST = (0, 5, 10, 15)
"""Machines of 20: the paper gives numbers for a quarter and three quarters of them."""
INTO_THE_STAGE = 0.25
"""When machines fail, as a share of the last stage."""

Floats = npt.NDArray[np.float64]
Table = dict[str, npt.NDArray[Any]]


@cache
def jobs_of(name: str) -> Trace:
    app = next(app for app in PROFILE.applications if app.name == name)
    return generate(replace(PROFILE, applications=(app,)), jobs=JOBS[name], seed=5)


def played(name: str, policy: str, lost: int = 0, at: float = 0.0) -> Table:
    """Task outcomes of all jobs of an application that lose machines at a share of their run."""
    fields: dict[str, Any] = {"trace": jobs_of(name), "split": "all"}
    fields |= {"save_outputs": policy != "spark", "failed_share": lost / NODES[name]}
    scenario = resolve("Lineage-v0", {**fields, "failed_at": at} if lost else fields)
    return run_policy(build_world(scenario), scenario, POLICIES[policy], order="time").outcomes


def run_times(name: str, table: Table) -> Floats:
    """Of each job, from its submission to the end of its last task [ms]."""
    job = jobs_of(name).column("tasks", "job")[table["task"]]
    taken = np.zeros(JOBS[name])
    np.maximum.at(taken, job, table["end"] - table["submit"])
    return taken


@dataclass(frozen=True)
class Undisturbed:
    """Jobs that lose no machine."""

    run_time: float
    """Mean over the jobs [ms]."""
    saved: float
    """Share of the tasks whose output is in stable storage."""
    struck_at: float
    """The moment in the last stage at which machines are to fail [ms]."""


@cache
def undisturbed(name: str, policy: str) -> Undisturbed:
    table = played(name, policy)
    trace = jobs_of(name)
    row = trace.column("tasks", "stage")[table["task"]]
    stage = trace.column("stages", "stage")[row]
    begin = (table["start"] - table["submit"])[stage == stage.max()].min()
    run_time = float(run_times(name, table).mean())
    struck_at = begin + INTO_THE_STAGE * (run_time - begin)
    return Undisturbed(run_time, float(table["saved"].mean()), struck_at)


def slowdown(name: str, policy: str, lost: int) -> float:
    """Run time of jobs that lose so many machines, over that of jobs under the policy that lose
    none.
    """
    if not lost:
        return 1.0
    base = undisturbed(name, policy)
    at = min(base.struck_at / undisturbed(name, "spark").run_time, 1.0)
    return float(run_times(name, played(name, policy, lost, at)).mean() / base.run_time)


@cache
def curve(name: str, policy: str) -> Floats:
    """Slowdown at each of `LOST`."""
    return np.array([slowdown(name, policy, lost) for lost in LOST])


def line(times: Floats) -> tuple[float, float]:
    """Slope per machine and R2 of the straight line through a curve."""
    slope, intercept = np.polyfit(LOST, times, 1)
    left = times - (slope * np.array(LOST) + intercept)
    return float(slope), 1.0 - float((left**2).sum() / ((times - times.mean()) ** 2).sum())


@pytest.mark.parametrize(("name", "quarter"), [("BTWORLD", 0.48), ("PPPQ", 0.40), ("NMSQ", 0.40)])
def test_without_checkpoints_run_time_grows_linearly(name: str, quarter: float) -> None:
    """Fig. 8, at its quarters of the machines: see above for what lies between."""
    times = curve(name, "spark")
    assert line(times)[1] > 0.95
    assert times[LOST.index(5)] == pytest.approx(1.0 + quarter, abs=0.10)


@pytest.mark.parametrize("policy", ["greedy", "aware"])
@pytest.mark.parametrize("name", LONG)
def test_with_checkpoints_of_key_stages_it_does_not(name: str, policy: str) -> None:
    """Fig. 8: "constant runtimes irrespective of the number of failures"."""
    assert slowdown(name, policy, 15) <= 1.10


def test_with_checkpoints_of_stragglers_it_grows_slower() -> None:
    """Fig. 8: "still increases linearly", and least where outliers take most of the time."""
    slope, straight = line(curve("PPPQ", "size"))
    assert 0.0 < slope < 0.3 * line(curve("PPPQ", "spark"))[0]
    assert straight > 0.9
    assert 0.1 < slowdown("BTWORLD", "size", 15) - 1.0 < 0.4 * (curve("BTWORLD", "spark")[-1] - 1.0)


@pytest.mark.parametrize("name", [*LONG, "PageRank"])
@pytest.mark.parametrize(
    ("policy", "least", "most"), [("greedy", 0.26, 0.51), ("size", 0.0, 0.10), ("aware", 0.2, 0.4)]
)
def test_share_of_tasks_checkpointed(name: str, policy: str, least: float, most: float) -> None:
    """Fig. 7a."""
    assert least <= undisturbed(name, policy).saved <= most


@pytest.mark.parametrize("policy", ["greedy", "size", "aware"])
@pytest.mark.parametrize("name", LONG)
def test_overhead_of_checkpoints(name: str, policy: str) -> None:
    """Fig. 7c: GREEDY up to 20 %, the others less than 10 %."""
    overhead = undisturbed(name, policy).run_time / undisturbed(name, "spark").run_time - 1.0
    assert overhead <= (0.20 if policy == "greedy" else 0.10)


def test_long_lineage_is_slow_to_recover_and_short_is_not() -> None:
    """Fig. 9. Recovery repeats at most the whole run, after a minute: PageRank cannot take the 11
    times of the paper, which parallel recomputation does not explain; it takes nearly twice.
    """
    lineage = {name: slowdown(name, "spark", 1) for name in ("PageRank", "KMeans")}
    assert 1.8 < lineage["PageRank"] < 2.0 + 60 / 185
    assert lineage["KMeans"] < 1.25
    assert slowdown("PageRank", "aware", 1) < 1.0 + 1.2 * 60 / 185
    assert undisturbed("KMeans", "aware").saved == 0.0
