"""How much and how wide jobs run.

Claim
    Fig. 1 and section II of Kumar et al. (DSN 2020): half of the jobs take less than about 1e3
    node-seconds; the largest of System B reach 1e9. Single-node jobs are 85 % (A) and 74 % (B) of
    the jobs and 34 % and 5 % of the node-seconds; on System B more than 20 % of the node-seconds
    are those of jobs on 2,000 nodes or more.

Kind and band
    Approximate: generated jobs of the profiles system-a and system-b, which were made after these
    figures: marked as fitted. The median, and the share of jobs below 1e3 node-seconds, within
    15 %; other shares within 1 point.

Choices
    - A job is one run, as in an accounting log.
    - "Up to 1e9" of 2.2 million jobs: the largest of a sample is smaller; printed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.kumar2020 import FEWER_JOBS, PAPER, QUICK_JOBS, SYSTEMS, jobs, label
from experiments.reproduction import Experiment, Kind, Measured, Options, Row, relative, within
from failgym.evaluation.progress import Advance
from failgym.traces.describe.facts import Facts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEDIAN = 1e3
"""Node-seconds."""
HALF = 0.5
"""Share of the jobs below that."""
LARGEST = 1e9
"""Node-seconds, System B."""
SINGLE = {"A": (0.85, 0.34), "B": (0.74, 0.05)}
"""Share of single-node jobs, and of their node-seconds."""
WIDE, WIDE_SHARE = 2_000, 0.20
"""Nodes, and the least share of node-seconds on so many or more."""
BAND = 0.01
POINTS = 200
"""Of a curve."""
BROWN, BLUE = "#9c6b3f", "#2f6690"


def measure(options: Options, advance: Advance) -> Measured:
    """The figures of both systems, and the curves of the first seed."""
    found: dict[str, list[float]] = {}
    series: dict[str, Any] = {}
    for seed in range(options.seeds):
        for system in SYSTEMS:
            count = QUICK_JOBS if options.quick else FEWER_JOBS[system]
            facts = Facts(jobs(system, seed, count, usage=False))
            spent = facts.job_node_time[facts.job_ran] / 1000
            nodes = facts.job_nodes[facts.job_ran]
            single = nodes == 1
            for name, value in (
                ("median", np.median(spent)),
                ("small", (spent < MEDIAN).mean()),
                ("largest", spent.max()),
                ("single", single.mean()),
                ("single time", spent[single].sum() / spent.sum()),
                ("wide", spent[nodes >= WIDE].sum() / spent.sum()),
            ):
                found.setdefault(f"{system} {name}", []).append(float(value))
            if not seed:
                series[system] = curves(spent, nodes)
        advance(1)
    rows: list[Row] = []
    for system in SYSTEMS:
        rows += of_system(system, found)
    wide = found["B wide"]
    name = "B, share of node-seconds on 2,000 nodes or more"
    rows.append(Row.over(name, wide, WIDE_SHARE, (WIDE_SHARE, 1.0), fitted=True))
    rows.append(Row.over("B, largest job [node-s]", found["B largest"], LARGEST))
    return Measured(tuple(rows), series)


def of_system(system: str, found: dict[str, list[float]]) -> list[Row]:
    """The rows that both systems have."""
    share, time_share = SINGLE[system]
    median, time = found[f"{system} median"], found[f"{system} single time"]
    middle = Row.over(
        f"{system}, median node-seconds", median, MEDIAN, relative(MEDIAN, 0.15), fitted=True
    )
    return [
        middle,
        Row.over(
            f"{system}, jobs below 1,000 node-seconds",
            found[f"{system} small"],
            HALF,
            relative(HALF, 0.15),
            fitted=True,
        ),
        Row.over(
            f"{system}, single-node jobs",
            found[f"{system} single"],
            share,
            within(share, BAND),
            fitted=True,
        ),
        Row.over(
            f"{system}, node-seconds of single-node jobs",
            time,
            time_share,
            within(time_share, BAND),
            fitted=True,
        ),
    ]


def curves(spent: np.ndarray[Any, Any], nodes: np.ndarray[Any, Any]) -> dict[str, list[float]]:
    """Quantiles of node-seconds, and node-seconds on at most so many nodes."""
    share = np.linspace(0.0, 1.0, POINTS)
    order = np.argsort(nodes, kind="stable")
    upto = np.cumsum(spent[order]) / spent.sum()
    sizes = np.unique(nodes)
    last = np.searchsorted(nodes[order], sizes, side="right") - 1
    return {
        "share": share.tolist(),
        "node_seconds": np.quantile(spent, share).tolist(),
        "nodes": sizes.tolist(),
        "jobs_upto": ((last + 1) / len(nodes)).tolist(),
        "node_seconds_upto": upto[last].tolist(),
    }


def draw(measured: Measured, figure: Figure) -> None:
    """The two distributions of both systems."""
    left: Any = figure.add_subplot(1, 2, 1)
    right: Any = figure.add_subplot(1, 2, 2)
    for (system, shown), colour in zip(measured.series.items(), (BROWN, BLUE), strict=True):
        left.plot(shown["node_seconds"], shown["share"], color=colour, label=f"System {system}")
        right.step(shown["nodes"], shown["jobs_upto"], color=colour, where="post", linestyle=":")
        right.step(shown["nodes"], shown["node_seconds_upto"], color=colour, where="post")
    left.set_xscale("log")
    right.set_xscale("log")
    label(left, "(a) node-seconds of a job", "node-seconds", "share of jobs")
    label(right, "(b) nodes of a job", "nodes", "share of jobs (dotted), node-seconds")
    left.legend(fontsize=7)


EXPERIMENT = Experiment(
    paper=PAPER,
    item="Fig. 1",
    title="node-seconds and sizes of jobs",
    kind=Kind.APPROXIMATE,
    measure=measure,
    draw=draw,
)

if __name__ == "__main__":
    EXPERIMENT.command()
