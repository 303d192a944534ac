"""Cluster resources that jobs request, by how they end.

Claim
    Section III-c and Fig. 2 of El-Sayed et al. (ICDCS 2017). Google's failed jobs request
    significantly more memory and disk than the rest. More than 99 % of OpenCloud's completed and
    failed jobs leave the memory of their tasks at the default of 1024 MB, and clearly fewer of the
    killed ones. LANL's failed and killed jobs request more processors.

Kind and band
    Approximate, on generated traces. OpenCloud's shares: above 99 %. The others, whose values are
    lost, by their order: ratios of medians above one; at LANL, where most jobs have one node, of
    means. Those of Google and OpenCloud are fitted: their requests were chosen after them. LANL's
    follow from how often jobs of one node and of several succeed.

Choices
    The request of a job is the mean over its tasks, as a share of the largest machine. On the real
    trace all jobs count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.elsayed2017 import (
    PAPER,
    boxes,
    every,
    number,
    real_description,
    spread,
    traced,
)
from experiments.reproduction import Experiment, Kind, Measured, Options, Row
from failgym.evaluation.progress import Advance
from failgym.traces import Outcome, Trace
from failgym.traces.describe import Description
from failgym.traces.describe.facts import Facts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OTHERS = {"FINISH": "completed", "KILL": "killed"}
DEFAULT = 1_024 / 16_384
"""OpenCloud: the default of 1024 MB, as a share of a node of the profile."""
KEPT = (99.0, 100.0)
"""Band of the jobs that keep it [%]."""
MORE = (1.0, 1_000.0)
"""Band of a ratio that is above one."""
PANELS = (("Google", "cpu"), ("Google", "memory"), ("Google", "disk"), ("LANL", "slots"))
"""What the picture shows."""


def measure(options: Options, advance: Advance) -> Measured:
    """Google, OpenCloud, LANL."""
    rows: list[Row] = []
    google, real = every(options, "Google"), real_description(options)
    for resource in ("memory", "disk"):
        for outcome, status in OTHERS.items():
            name = f"{resource} of failed over {status} jobs, medians"
            values = [ratio(made, resource, outcome) for made in google]
            rows.append(Row.over(f"Google: {name}", values, None, MORE, fitted=True))
            if real is not None:
                rows.append(
                    Row(f"Google, real trace: {name}", None, ratio(real, resource, outcome))
                )
    for seed in range(options.seeds):
        for cluster in ("CMU", "LANL"):
            traced(cluster, seed, options.quick)
        advance(1)
    rows += [*of_hadoop(options), *of_lanl(options)]
    found = {
        f"{cluster}: {value}": spread(every(options, cluster), "requests", value)
        for cluster, value in PANELS
    }
    return Measured(tuple(rows), found)


def ratio(made: Description, resource: str, outcome: str) -> float:
    """The median request of failed jobs over that of others."""
    failed, other = (
        number(made, "requests", f"{resource}: {status}", "p50") for status in ("FAIL", outcome)
    )
    return failed / other


def of_hadoop(options: Options) -> list[Row]:
    """Jobs that leave the memory of their tasks as it is."""
    traces = [traced("CMU", seed, options.quick) for seed in range(options.seeds)]
    shares = {
        outcome: [100.0 * kept(trace, outcome) for trace in traces]
        for outcome in (Outcome.FINISH, Outcome.FAIL, Outcome.KILL)
    }
    rows = [
        Row.over(f"CMU: {name} jobs with the default memory [%]", shares[outcome], 99.0, KEPT, True)
        for name, outcome in (("completed", Outcome.FINISH), ("failed", Outcome.FAIL))
    ]
    name = "CMU: killed jobs with the default memory [%]"
    return [*rows, Row.over(name, shares[Outcome.KILL], None, (0.0, KEPT[0]), fitted=True)]


def kept(trace: Trace, outcome: Outcome) -> float:
    """The share of the jobs with that end all of whose tasks request the default."""
    default = np.abs(trace.column("tasks", "memory") - DEFAULT) < 1e-6
    changed = trace.column("tasks", "job")[~default]
    jobs = np.flatnonzero(trace.column("jobs", "outcome") == outcome)
    return 1.0 - float(np.mean(np.isin(jobs, changed)))


def of_lanl(options: Options) -> list[Row]:
    """Processors of jobs that do not complete, over those of others."""
    rows: list[Row] = []
    for outcome, status in ((Outcome.FAIL, "failed"), (Outcome.KILL, "killed")):
        values: list[float] = []
        for seed in range(options.seeds):
            trace = traced("LANL", seed, options.quick)
            width: Any = Facts(trace).job_width
            ended = trace.column("jobs", "outcome")
            means: list[float] = [width[ended == end].mean() for end in (outcome, Outcome.FINISH)]
            values.append(means[0] / means[1])
        name = f"LANL: processors of {status} over completed jobs, means"
        rows.append(Row.over(name, values, None, MORE))
    return rows


def draw(measured: Measured, figure: Figure) -> None:
    """Boxes from the quartiles, whiskers from the tenths."""
    boxes(figure, measured.series, "requested by a job's tasks, mean")


EXPERIMENT = Experiment(
    paper=PAPER,
    item="Figure 2",
    title="cluster resource requests of successful and unsuccessful jobs",
    kind=Kind.APPROXIMATE,
    measure=measure,
    draw=draw,
)

if __name__ == "__main__":
    EXPERIMENT.command()
