"""Which usages go with failures.

Claim
    Table V of Kumar et al. (DSN 2020): Pearson's r of the failure rate and a usage's tail, over
    equal bins of 100 jobs or more; the null hypothesis of no correlation is rejected below p = .01.

Kind and band
    The figures are those of two clusters, and need their data: printed. Approximate, on generated
    jobs of system-a and system-b: where the paper rejects the null hypothesis, the sign of r. The
    signs are what the profiles were made after, so they are marked as fitted.

Choices
    - A job is one run; memory against failures out of memory, the others against all failures by
      the system; walltime jobs left out. Rates of I/O on a logarithmic scale.
    - Bins: one for each 200 jobs, 10 to 100; the paper's number is not stated.
    - Generated traces have 40,000 and 80,000 jobs where the paper has millions: fewer bins hold a
      hundred jobs, above all at the ends of the range.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from experiments.kumar2020 import (
    A_MULTI,
    A_SHARED,
    A_SINGLE,
    B_MULTI,
    B_SINGLE,
    PAPER,
    JobKind,
    facts,
    points,
)
from experiments.reproduction import Experiment, Kind, Measured, Options, Row
from failgym.evaluation.progress import Advance
from failgym.traces.describe.fits import pearson
from failgym.traces.describe.usage import NODE_SECONDS

SIGNIFICANT = 0.01


class Published(NamedTuple):
    """A cell of the table."""

    r: float
    p: float


COLUMNS = (A_SINGLE, A_MULTI, A_SHARED, B_SINGLE, B_MULTI)
TABLE: dict[str, tuple[Published | None, ...]] = {
    "memory": (
        Published(0.83, 1.7e-28),
        Published(0.17, 0.4),
        Published(0.84, 7.2e-32),
        Published(0.57, 3.2e-9),
        Published(0.13, 0.2),
    ),
    "local_io": (Published(-0.41, 2.0e-4), Published(0.12, 0.4), Published(0.15, 0.2), None, None),
    "remote_io": (
        Published(-0.55, 3.3e-19),
        Published(-0.57, 2.6e-11),
        Published(0.42, 1.8e-7),
        Published(-0.07, 0.4),
        Published(0.45, 2.6e-6),
    ),
    "network": (
        Published(-0.31, 7.0e-7),
        Published(0.11, 0.1),
        Published(0.40, 1.0e-9),
        Published(-0.21, 0.04),
        Published(-0.56, 2.5e-9),
    ),
    NODE_SECONDS: (
        Published(-0.36, 9.8e-5),
        Published(-0.25, 0.01),
        Published(-0.31, 1.1e-3),
        Published(0.04, 0.6),
        Published(0.42, 2.1e-5),
    ),
}
"""By the columns of the table; None where System B has no local storage."""
NAMES = {"local_io": "Local I/O", "remote_io": "Network I/O", "network": "Network"}


def measure(options: Options, advance: Advance) -> Measured:
    """All cells."""
    found: dict[tuple[str, JobKind], list[float]] = {}
    for seed in range(options.seeds):
        for resource, cells in TABLE.items():
            for kind, cell in zip(COLUMNS, cells, strict=True):
                if cell is not None:
                    known = facts(kind.system, seed, options.quick)
                    line = points(known, resource, kind.group)
                    r = pearson(line.usage, line.rate)
                    listed = found.setdefault((resource, kind), [])
                    listed.append(float("nan") if r is None else r.r)
        facts.cache_clear()
        advance(1)
    rows: list[Row] = []
    for resource, cells in TABLE.items():
        for kind, cell in zip(COLUMNS, cells, strict=True):
            if cell is not None:
                rows.append(row(resource, kind, cell, found[resource, kind]))
    return Measured(tuple(rows))


def row(resource: str, kind: JobKind, cell: Published, values: list[float]) -> Row:
    """A cell: the mean over the seeds that have enough bins."""
    name = f"{NAMES.get(resource, resource.capitalize())}, {kind.name}"
    known = [value for value in values if not np.isnan(value)]
    few = "" if len(known) == len(values) else f"{len(known)} of {len(values)} seeds have a rate"
    if not known:
        return Row(name, cell.r, float("nan"), note="no failures, or too few bins")
    if cell.p > SIGNIFICANT:
        return Row.over(name, known, cell.r, note=few or "not significant there")
    band = (0.0, 1.0) if cell.r > 0 else (-1.0, 0.0)
    return Row.over(name, known, cell.r, band, fitted=True, note=few)


EXPERIMENT = Experiment(
    paper=PAPER,
    item="Table V",
    title="correlation of failure rate and usage",
    kind=Kind.APPROXIMATE,
    measure=measure,
)

if __name__ == "__main__":
    EXPERIMENT.command()
