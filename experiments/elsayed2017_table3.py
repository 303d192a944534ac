"""How tasks and jobs end that are interrupted by machine outages.

Claim
    Table III of El-Sayed et al. (ICDCS 2017): what the events were that coincide with the outage of
    a machine, and which share of all events of their kind they are. Most are evictions and kills;
    outages explain 5.4 % of the failed jobs of LANL, and next to none of Google's failed attempts.

Kind and band
    Approximate, on the generated trace of LANL: 3 points to both sides. Shares of the left column
    sum to 100. Fitted: the profile was given both columns.

Choices
    An event coincides with an outage if one of the machines of the job goes down at most a minute
    before its end. The trace lanl-20 has the failures of nodes 0 to 255 of system 20, and one job
    in nineteen of its 1,022 days. SYSKILL, KILL and ABORT are exit categories of killed jobs.

    Google's rows are printed without ours: the profile has no machines, every eviction in it being
    a pre-emption, and the public events of tasks do not say when machines were removed.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from experiments.elsayed2017 import PAPER
from experiments.reproduction import Experiment, Kind, Measured, Options, Row, within
from failgym.evaluation.progress import Advance
from failgym.traces import Trace, generate
from failgym.traces.describe.facts import Facts

POINTS = 3.0
"""Half a band."""
LANL = {
    "SYSKILL": ("syskilled", 48.0, 3.0),
    "KILL": ("killed", 29.0, 4.8),
    "ABORT": ("aborted", 14.0, 3.0),
    "FAIL": ("failed", 2.0, 5.4),
    "(Unknown)": ("unknown", 7.0, 7.0),
}
"""Our exit category; share of the events with outages, share of the events of that kind [%]."""
GOOGLE = {"EVICT": (91.0, 16.0), "KILL": (8.4, 0.04), "FAIL": (0.3, 0.004), "LOST": (0.3, 1.0)}
"""The same two shares [%]."""
JOBS, QUICK_JOBS = 15_000, 3_000


@cache
def lanl(seed: int, jobs: int) -> Trace:
    """LANL's trace at the rate that its outages belong to."""
    return generate("lanl-20", jobs=jobs, seed=seed)


def shares(trace: Trace) -> dict[str, tuple[float, float]]:
    """By kind of event: its share of those with an outage, and their share of that kind [%]."""
    facts = Facts(trace)
    struck = facts.by_outage
    assert struck is not None, "lanl-20 has outages and placements"
    kinds = np.array(facts.exit_category.tolist(), dtype=np.str_)[facts.attempt_job]
    found: dict[str, tuple[float, float]] = {}
    for name, (kind, _, _) in LANL.items():
        among: npt.NDArray[np.bool_] = kinds == kind
        both = 100.0 * float(np.sum(among & struck))
        found[name] = both / float(np.sum(struck)), both / float(np.sum(among))
    return found


def measure(options: Options, advance: Advance) -> Measured:
    """The table, row by row, the left column first."""
    unknown = "needs the removals of Google's machines"
    rows: list[Row] = []
    for name, columns in GOOGLE.items():
        for heading, paper in zip(("with machine removals", "of all events"), columns, strict=True):
            rows.append(Row(f"Google {name}: % {heading}", paper, float("nan"), note=unknown))
    found: list[dict[str, tuple[float, float]]] = []
    for seed in range(options.seeds):
        found.append(shares(lanl(seed, QUICK_JOBS if options.quick else JOBS)))
        advance(1)
    for name, (_, *columns) in LANL.items():
        for n, heading in enumerate(("with machine outages", "of all events")):
            values = [made[name][n] for made in found]
            paper = columns[n]
            label = f"LANL {name}: % {heading}"
            rows.append(Row.over(label, values, paper, within(paper, POINTS), fitted=True))
    return Measured(tuple(rows))


EXPERIMENT = Experiment(
    paper=PAPER,
    item="Table III",
    title="events correlated with machine outages",
    kind=Kind.APPROXIMATE,
    measure=measure,
)

if __name__ == "__main__":
    EXPERIMENT.command()
