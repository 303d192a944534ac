"""Failures by node-seconds.

Claim
    Fig. 6 and section V-E of Kumar et al. (DSN 2020): the failure rate falls with a job's
    node-seconds on System A (r = -.36, non-shared single) and rises on System B (r = .42,
    non-shared multi). Of the failed jobs 34 % (A) and 45 % (B) run less than a minute; users
    request more than 9 times what jobs run, at the median.

Kind and band
    Approximate: generated jobs of system-a and system-b. Signs of r; the others within 15 %. They
    are marked as fitted, since the profiles were made after them.

Choices
    Log10 of node-seconds, bins as in Table V. On System A r is shown below and above 1,000
    node-seconds too: in the profile nearly all that falls does so there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from experiments.kumar2020 import A_SINGLE, B_MULTI, PAPER, Panel, Pool, facts, panels, points
from experiments.reproduction import Experiment, Kind, Measured, Options, Row, relative
from failgym.evaluation.progress import Advance
from failgym.traces.describe.facts import Facts
from failgym.traces.describe.fits import pearson
from failgym.traces.describe.kumar import FAILURES, last_run, request_ratio
from failgym.traces.describe.usage import NODE_SECONDS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

R = {"A": -0.36, "B": 0.42}
SHORT = {"A": 0.34, "B": 0.45}
"""Share of the failed jobs that run less than a minute."""
MINUTE = 60_000
OVERESTIMATE = 9.0
TURN = 3.0
"""Log10 of the node-seconds about which half of the jobs take."""
BAND = 0.15
AXIS = "node-seconds"
SHOWN = (
    Panel("(a) A non-shared single", "A", A_SINGLE.group, NODE_SECONDS, axis=AXIS),
    Panel("(b) B non-shared multi", "B", B_MULTI.group, NODE_SECONDS, axis=AXIS),
)


def measure(options: Options, advance: Advance) -> Measured:
    """Correlations, short failures and requests of each seed."""
    found: dict[str, list[float]] = {}
    pool = Pool()
    for seed in range(options.seeds):
        for shown in SHOWN:
            system, known = shown.system, facts(shown.system, seed, options.quick)
            line = points(known, NODE_SECONDS, shown.group)
            small = line.usage < TURN
            for name, some in (("all", small | ~small), ("below", small), ("above", ~small)):
                r = pearson(line.usage[some], line.rate[some])
                if r is not None:
                    found.setdefault(f"{system} {name}", []).append(r.r)
            found.setdefault(f"{system} short", []).append(short(known))
            found.setdefault(f"{system} over", []).append(overestimate(known))
            pool.add(shown, known)
        facts.cache_clear()
        advance(1)
    rows: list[Row] = []
    for shown in SHOWN:
        rows += of_system(shown, found)
    return Measured(tuple(rows), {"panels": pool.panels()})


def of_system(shown: Panel, found: dict[str, list[float]]) -> list[Row]:
    """The rows of a system."""
    system, rows = shown.system, list[Row]()
    band = (0.0, 1.0) if R[system] > 0 else (-1.0, 0.0)
    if f"{system} all" in found:
        name = f"{shown.title}, r"
        rows.append(Row.over(name, found[f"{system} all"], R[system], band, fitted=True))
    for name in ("below", "above"):
        if system == "A" and f"A {name}" in found:
            rows.append(Row.over(f"{shown.title}, r {name} 1,000", found[f"A {name}"]))
    band = relative(SHORT[system], BAND)
    name = f"{system}, failed jobs that run less than a minute"
    rows.append(Row.over(name, found[f"{system} short"], SHORT[system], band, fitted=True))
    band = relative(OVERESTIMATE, BAND)
    name = f"{system}, requested over run time of successes, median"
    return [*rows, Row.over(name, found[f"{system} over"], OVERESTIMATE, band, fitted=True)]


def short(known: Facts) -> float:
    """Share of the failed jobs that run less than a minute."""
    run = last_run(known)
    failed = run[np.isin(known.exit_category, FAILURES) & (run >= 0)]
    return float((failed < MINUTE).mean())


def overestimate(known: Facts) -> float:
    """Median of requested walltime over run time, of jobs that succeed."""
    over = request_ratio(known)
    return float(np.nanmedian(over[known.exit_category == "success"]))


def draw(measured: Measured, figure: Figure) -> None:
    """Both panels."""
    panels(figure, measured.series["panels"])


EXPERIMENT = Experiment(
    paper=PAPER,
    item="Fig. 6",
    title="failures by node-seconds",
    kind=Kind.APPROXIMATE,
    measure=measure,
    draw=draw,
)

if __name__ == "__main__":
    EXPERIMENT.command()
