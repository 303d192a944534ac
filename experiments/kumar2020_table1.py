"""Jobs by environment and type.

Claim
    Table I of Kumar et al. (DSN 2020): shares of jobs and of node-seconds, and users, of System A
    (28 months) and System B (5 months).

Kind and band
    Approximate: generated jobs of the profiles system-a and system-b. Shares within 1 point.

Choices
    - A job is one run, as in an accounting log: what the cluster requeues is left out.
    - The shares of jobs are allotted by the generator, which was given them; those of node-seconds
      come from run times and widths, chosen for them. They are marked as fitted.
    - Users who submit anything in a sample are fewer than in the whole record: not judged.
"""

from __future__ import annotations

from experiments.kumar2020 import FEWER_JOBS, KINDS, PAPER, QUICK_JOBS, jobs
from experiments.reproduction import Experiment, Kind, Measured, Options, Row, within
from failgym.evaluation.progress import Advance
from failgym.traces.describe.facts import Facts
from failgym.traces.describe.kumar import environments
from failgym.traces.describe.tables import DescriptionTable

SHARES = dict(
    zip(
        KINDS,
        (
            (0.387, 0.158),
            (0.010, 0.019),
            (0.463, 0.184),
            (0.140, 0.639),
            (0.739, 0.054),
            (0.261, 0.946),
        ),
        strict=True,
    )
)
"""Of jobs and of node-seconds, of the whole system's."""
TOTALS = {"shared": (0.397, 0.177), "non-shared": (0.603, 0.823)}
"""The same of the environments of System A."""
USERS = {"A": 617, "B": 467}
BAND = 0.01


def measure(options: Options, advance: Advance) -> Measured:
    """The rows of both systems."""
    tables: dict[str, list[DescriptionTable]] = {"A": [], "B": []}
    for seed in range(options.seeds):
        for system, found in tables.items():
            count = QUICK_JOBS if options.quick else FEWER_JOBS[system]
            table = environments(Facts(jobs(system, seed, count, usage=False)))
            assert isinstance(table, DescriptionTable)
            found.append(table)
        advance(1)
    rows: list[Row] = []
    for kind in KINDS:
        rows += shares(kind.name, kind.group, tables[kind.system], SHARES[kind])
    for environment, paper in TOTALS.items():
        rows += shares(f"A {environment} total", environment, tables["A"], paper)
    for system, paper in USERS.items():
        users = [number(table, "all", "users") for table in tables[system]]
        note = f"of the {number(tables[system][0], 'all', 'jobs'):,.0f} jobs of a sample"
        rows.append(Row.over(f"{system} unique users", users, paper, note=note))
    return Measured(tuple(rows))


def shares(
    name: str, group: str, tables: list[DescriptionTable], paper: tuple[float, float]
) -> list[Row]:
    """Both shares of a group of jobs."""
    rows: list[Row] = []
    for column, value in zip(("jobs", "node-seconds"), paper, strict=True):
        heading = {"jobs": "share of jobs", "node-seconds": "share of node-hours"}[column]
        found = [number(table, group, heading) for table in tables]
        band = within(value, BAND)
        rows.append(Row.over(f"{name}, share of {column}", found, value, band, fitted=True))
    return rows


def number(table: DescriptionTable, row: str, column: str) -> float:
    """A cell."""
    return float(table.cell(row, column) or 0.0)


EXPERIMENT = Experiment(
    paper=PAPER,
    item="Table I",
    title="jobs by environment and type",
    kind=Kind.APPROXIMATE,
    measure=measure,
)

if __name__ == "__main__":
    EXPERIMENT.command()
