"""How long jobs wait under EASY backfilling, by what run times are taken to be.

Claim
    Fig. 11 of Kumar et al. (DSN 2020), 15,000 jobs each: estimates from users' histories instead of
    their requests shorten waits. MCS is best, within 5 % (System A) and 1 % (B) of the wait with
    true run times (oracle); L is worst, and still 25 % (A) and 14 % (B) better than the requests.

Kind and band
    Approximate, on real logs of the Parallel Workloads Archive, where they are stored: MCS waits at
    most 5 % longer than the oracle, and no prediction makes waits longer than the requests do. The
    oracle is no prediction: on these logs it does not always help, nor wait least.
    The systems' own jobs are not public: generated ones are printed, not judged.

Choices
    - Consecutive stretches of 15,000 jobs of a log, each from an empty machine without histories:
      the mean over them, with its interval.
    - One machine of as many slots as the log's MaxProcs says; submissions and run times are
      replayed, recorded waits and kills are not. Failures are left out.
    - History lengths are the best of the figure: A2, M9, MCS16. An estimate that has been overtaken
      becomes the request, as Tsafrir, Etsion and Feitelson (TPDS 2007) correct predictions.
    - Generated jobs of system-a and system-b at the systems' full rates, on 580 and 26,864 nodes.
      Requests are drawn apart from users there, and a day of System B hardly waits at all.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from experiments.backfilling import mean_waits, on_one_machine
from experiments.kumar2020 import PAPER, SYSTEMS, label
from experiments.reproduction import Experiment, Kind, Measured, Options, Row
from failgym.evaluation.progress import Advance
from failgym.sim.scheduled.rules import ESTIMATORS
from failgym.traces import Trace, first_runs, generate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

JOBS, QUICK_JOBS = 15_000, 1_500
LOGS = {
    "kth-sp2": "KTH SP2",
    "sdsc-sp2": "SDSC SP2",
    "ctc-sp2": "CTC SP2",
    "lanl-cm5": "LANL CM-5",
}
"""Stored logs, by name."""
TITLES = {
    "user": "User",
    "last": "L",
    "average": "A2",
    "median": "M9",
    "mcs": "MCS16",
    "oracle": "Oracle",
}
"""Bars of the figure."""
LAST = {"A": 0.25, "B": 0.14}
"""By how much L shortens waits."""
GAP = {"A": 0.05, "B": 0.01}
"""By how much MCS waits longer than the oracle."""
LONGER = (-1.0, 0.05)
"""Band of that gap: shorter waits than the oracle's are no fault."""

Floats = npt.NDArray[np.float64]
Waits = dict[str, Floats]
"""Mean waits [s] of each stretch, by estimate."""


def measure(options: Options, advance: Advance) -> Measured:
    """Waits on the stored logs and on generated jobs."""
    jobs = QUICK_JOBS if options.quick else JOBS
    rows: list[Row] = []
    series: dict[str, dict[str, float]] = {}
    for name, title in LOGS.items():
        log = options.trace(name)
        if log is not None:
            waits = of_log(log, jobs, options.quick)
            rows += judged(title, waits)
            series[title] = means(waits)
        advance(1)
    for system in SYSTEMS:
        waits = generated(system, jobs, options.seeds)
        rows += printed(system, waits)
        series[f"System {system}, generated"] = means(waits)
        advance(1)
    return Measured(tuple(rows), {"waits": series})


def of_log(log: Trace, jobs: int, quick: bool) -> Waits:
    """Waits of the stretches of a log."""
    machine = on_one_machine(log)
    stretches = machine.rows("tasks") // jobs
    stretches = min(stretches, 2) if quick else stretches
    return {each: mean_waits(machine, each, stretches, jobs) for each in ESTIMATORS}


def generated(system: str, jobs: int, seeds: int) -> Waits:
    """Waits of generated jobs of a system."""
    profile = replace(SYSTEMS[system], sampling=1.0)
    waits: dict[str, list[float]] = {each: [] for each in ESTIMATORS}
    for seed in range(seeds):
        trace = first_runs(generate(profile, jobs=jobs, seed=seed, usage=False))
        machine = on_one_machine(trace, profile.outages.machines)
        for each in ESTIMATORS:
            waits[each].append(float(mean_waits(machine, each, 1, machine.rows("tasks"))[0]))
    return {each: np.array(values) for each, values in waits.items()}


def means(waits: Waits) -> dict[str, float]:
    """The mean wait with each estimate [s]."""
    return {each: float(values.mean()) for each, values in waits.items()}


def judged(title: str, waits: Waits) -> list[Row]:
    """The rows of a log, over its stretches."""
    note = f"{len(waits['user'])} stretches, {waits['user'].mean():,.0f} s with users' requests"
    gap = (waits["mcs"] / waits["oracle"] - 1.0).tolist()
    rows = [Row.over(f"{title}, MCS16 over Oracle", gap, GAP["A"], LONGER, note=note)]
    for each in ESTIMATORS[1:]:
        shorter = (1.0 - waits[each] / waits["user"]).tolist()
        name = f"{title}, {TITLES[each]}, improvement over User"
        band = None if each == "oracle" else (0.0, 1.0)
        rows.append(Row.over(name, shorter, LAST["A"] if each == "last" else None, band))
    others = np.min([waits[each] for each in ("last", "average", "median")], axis=0)
    best = (waits["mcs"] / others - 1.0).tolist()
    return [*rows, Row.over(f"{title}, MCS16 over the best of L, A2, M9", best)]


def printed(system: str, waits: Waits) -> list[Row]:
    """The rows of generated jobs: ratios of sums, since some seeds hardly wait."""
    mean = means(waits)
    gap = relative(mean["mcs"], mean["oracle"])
    note = f"generated; {mean['user']:,.0f} s with users' requests"
    rows = [Row(f"System {system}, MCS16 over Oracle", GAP[system], gap, note=note)]
    for each in ESTIMATORS[1:]:
        name = f"System {system}, {TITLES[each]}, improvement over User"
        paper = LAST[system] if each == "last" else None
        rows.append(Row(name, paper, -relative(mean[each], mean["user"]), note="generated"))
    return rows


def relative(wait: float, other: float) -> float:
    """By how much one waits longer; not a number where the other does not wait."""
    return wait / other - 1.0 if other else math.nan


def draw(measured: Measured, figure: Figure) -> None:
    """Bars of mean waits, the improvement over users' requests above them."""
    shown: dict[str, dict[str, float]] = measured.series["waits"]
    for place, (title, waits) in enumerate(shown.items()):
        axes: Any = figure.add_subplot(2, -(-len(shown) // 2), place + 1)
        names, heights = [TITLES[each] for each in waits], list(waits.values())
        axes.bar(names, heights, color="#2f6690")
        for x, height in enumerate(heights[1:], start=1):
            gain = f"{100 * (1.0 - height / heights[0]):.0f} %" if heights[0] else ""
            axes.text(x, height, gain, ha="center", va="bottom", fontsize=6)
        label(axes, title, "", "mean wait [s]")
        axes.tick_params(axis="x", labelsize=5.5)


EXPERIMENT = Experiment(
    paper=PAPER,
    item="Fig. 11",
    title="waits under EASY backfilling by estimate of run times",
    kind=Kind.APPROXIMATE,
    measure=measure,
    draw=draw,
    steps=lambda options: len(LOGS) + len(SYSTEMS),
)

if __name__ == "__main__":
    EXPERIMENT.command()
