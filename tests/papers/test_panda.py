"""PANDA task by task (Ghit and Epema, HPDC 2017, sections 6.2 to 6.4): lost machines, lost outputs.

Jobs of the panda-das profile, each alone on its machines, in Lineage-v1. Machines fail together in
the last stage, and are replaced after a minute. Recovery has no constant that could be fitted; the
stages of the profile are chosen (three waves of long tasks, the shuffles of PageRank).

What does not come out. *Every* number of lost machines from 0 to 15: R2 is .94, .92 and .91 (PPPQ,
NMSQ, BTWORLD), since the first machine alone costs .27 to .33, and .96 to .97 from 1 on. Half of
the work is in the longest tenth of the tasks, as published: 11,000 tasks of TPC-H on 320 slots are
three waves of them, and one lost machine costs a whole wave (.18), as six do. In an eighth of their
length R2 is .98 to .99, but that is not the published distribution any more (and +29 to +35 % at a
quarter lost). Noticed at once, R2 is .945, .947, .930. Three quarters lost cost .8 of the run, not
1.5 to 2: recomputation in parallel repeats what was lost, once. SIZE: R2 of .98 for BTWORLD, .94
for PPPQ, .90 for NMSQ. PageRank is 4.6 times slower, not 11 (1.9 if nothing is unpersisted). KMeans
takes a fifth longer in the mean, not at all in the median, as only the job whose last stage is on
the lost machine waits: a minute alone is more than the paper's twentieth of 103 s. Noticed at once,
as a broken connection is (section 2.2), it takes 7 % longer.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from experiments import ghit2017
from experiments.ghit2017 import AT_THE_END, LONG, PROFILE, Floats, line, played, run_times
from failgym.traces import Trace, generate

JOBS = {"BTWORLD": 1, "PPPQ": 2, "NMSQ": 2, "PageRank": 4, "KMeans": 20}
LOST = (0, 5, 10, 15)
LARGEST = pytest.param("BTWORLD", marks=pytest.mark.campaign)
"""Machines of 20: the paper gives numbers for a quarter and three quarters of them."""


def undisturbed(name: str, policy: str) -> ghit2017.Undisturbed:
    return ghit2017.undisturbed(name, policy, JOBS[name])


def slowdown(name: str, policy: str, lost: int, **options: bool | int) -> float:
    """Run time of jobs that lose so many machines, over that of jobs under the policy that lose
    none.
    """
    return float(ghit2017.slowdowns(name, policy, JOBS[name], lost, **options).mean())


@cache
def curve(name: str, policy: str) -> Floats:
    """Slowdown at each of `LOST`."""
    return np.array([slowdown(name, policy, lost) for lost in LOST])


@pytest.mark.parametrize(
    ("name", "quarter"),
    [
        pytest.param("BTWORLD", 0.48, marks=pytest.mark.campaign),
        ("PPPQ", 0.40),
        ("NMSQ", 0.40),
    ],
)
def test_without_checkpoints_run_time_grows_linearly(name: str, quarter: float) -> None:
    """Fig. 8, at its quarters of the machines: see above for what lies between."""
    times = curve(name, "Spark")
    assert line(times, LOST)[1] > 0.95
    assert times[LOST.index(5)] == pytest.approx(1.0 + quarter, abs=0.10)


@pytest.mark.parametrize("policy", ["GREEDY", "AWARE"])
@pytest.mark.parametrize("name", ["PPPQ", "NMSQ", LARGEST])
def test_with_checkpoints_of_key_stages_it_does_not(name: str, policy: str) -> None:
    """Fig. 8: "constant runtimes irrespective of the number of failures"."""
    assert slowdown(name, policy, 15) <= 1.10


def test_with_checkpoints_of_stragglers_it_grows_slower() -> None:
    """Fig. 8: "still increases linearly", and least where outliers take most of the time."""
    slope, straight = line(curve("PPPQ", "SIZE"), LOST)
    assert 0.0 < slope < 0.3 * line(curve("PPPQ", "Spark"), LOST)[0]
    assert straight > 0.9


@pytest.mark.campaign
def test_with_checkpoints_of_stragglers_of_the_largest_it_grows_slower() -> None:
    assert 0.1 < slowdown("BTWORLD", "SIZE", 15) - 1.0 < 0.4 * (curve("BTWORLD", "Spark")[-1] - 1.0)


@pytest.mark.parametrize("name", [*LONG, "PageRank"])
@pytest.mark.parametrize(
    ("policy", "least", "most"), [("GREEDY", 0.26, 0.51), ("SIZE", 0.0, 0.10), ("AWARE", 0.2, 0.4)]
)
def test_share_of_tasks_checkpointed(name: str, policy: str, least: float, most: float) -> None:
    """Fig. 7a."""
    assert least <= undisturbed(name, policy).saved.mean() <= most


@pytest.mark.parametrize("policy", ["GREEDY", "SIZE", "AWARE"])
@pytest.mark.parametrize("name", LONG)
def test_overhead_of_checkpoints(name: str, policy: str) -> None:
    """Fig. 7c: GREEDY up to 20 %, the others less than 10 %."""
    times, base = (undisturbed(name, each).run_time.mean() for each in (policy, "Spark"))
    assert times / base - 1.0 <= (0.20 if policy == "GREEDY" else 0.10)


AT_ONCE = {"detection_delay": 0}
"""A loss is noticed as a broken connection, not by missing heartbeats (section 2.2)."""


def test_long_lineage_is_slow_to_recover() -> None:
    """Fig. 9a: PANDA is four times as fast as Spark, and "very close" to a run without failures."""
    assert slowdown("PageRank", "Spark", 1) > 4.0
    assert slowdown("PageRank", "AWARE", 1) < 1.0 + 1.2 * 60 / 185
    spark, aware = (slowdown("PageRank", name, 1, **AT_ONCE) for name in ("Spark", "AWARE"))
    assert spark / aware == pytest.approx(4.0, rel=0.15)
    assert aware < 1.05


def test_it_is_slow_since_ranks_were_unpersisted() -> None:
    """Else recovery repeats at most the whole run, in parallel, after a minute."""
    assert 1.8 < slowdown("PageRank", "Spark", 1, unpersist=False) < 2.0 + 60 / 185


def test_short_lineage_is_not() -> None:
    """Fig. 9b, but for the twentieth: see above."""
    assert slowdown("KMeans", "Spark", 1) < 1.25
    assert slowdown("KMeans", "Spark", 1, **AT_ONCE) < 1.10
    assert undisturbed("KMeans", "AWARE").saved.max() == 0.0


def iterations(count: int) -> Trace:
    """A job of PageRank."""
    return ghit2017.jobs_of("PageRank", 1, count)


def struck(trace: Trace, policy: str, at: float) -> float:
    """Run time of PageRank that loses a machine, over that of Spark without."""
    disturbed, base = played(trace, policy, 0.2, at), played(trace, "Spark")
    return float(run_times(trace, disturbed).mean() / run_times(trace, base).mean())


def test_the_longer_the_lineage_the_slower() -> None:
    """Fig. 9a: 8 to 14 iterations."""
    times = [struck(iterations(count), "Spark", AT_THE_END) for count in (8, 11, 14)]
    assert np.diff(times).min() > 0.5
    assert struck(iterations(8), "AWARE", AT_THE_END) < 1.0 + 1.2 * 60 / 128


def test_the_later_the_failure_the_slower() -> None:
    """Fig. 9c: Spark does well if it is early; PANDA is never worse, whenever it is."""
    moments = (0.2, 0.6, AT_THE_END)
    spark, aware = (
        [struck(iterations(14), policy, at) for at in moments] for policy in ("Spark", "AWARE")
    )
    assert spark[0] < 1.2
    assert (np.diff(spark) > 0).all()
    assert spark[-1] > 4.0
    assert max(aware) < 1.5
    assert (np.array(aware) <= np.array(spark) + 0.01).all()


def test_what_bends_the_line_are_waves_of_long_tasks() -> None:
    """From no machine lost to one. In tasks an eighth as long, the same work makes it straight."""
    app = next(app for app in PROFILE.applications if app.name == "NMSQ")
    stages = tuple(
        replace(stage, tasks=8 * stage.tasks, times=(stage.times[0] / 8, stage.times[1] / 8))
        if stage.times[0] > 2.0
        else stage
        for stage in app.stages
    )
    finer = generate(replace(PROFILE, applications=(replace(app, stages=stages),)), jobs=1, seed=5)
    lost, base = (1, 5, 10, 15), run_times(finer, played(finer, "Spark"))
    straight = [1.0]
    straight += [
        float(run_times(finer, played(finer, "Spark", n / 20, 0.93)).mean() / base.mean())
        for n in lost
    ]
    bent = [1.0, *(slowdown("NMSQ", "Spark", n) for n in lost)]
    assert line(np.array(bent), (0, *lost))[1] < 0.95
    assert line(np.array(straight), (0, *lost))[1] > 0.96
