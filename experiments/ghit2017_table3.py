"""PANDA's applications: machines, input and run time.

Claim
    Table 3 of Ghit and Epema, "Better Safe than Sorry", HPDC 2017.

Kind and band
    Constants of the profile: fitted. So are run times, to one per cent: those of the tasks are
    scaled so that a job takes the published time if its tasks start in order on its slots; here
    Lineage-v1 runs it.

Choices
    Table 3's 128 s of PageRank is taken for 8 iterations, the fewest of Fig. 9a: Table 5 has 185 s
    for 14. The input is that of the profile.
"""

from __future__ import annotations

from experiments.ghit2017 import FEWEST, ITERATIONS, PROFILE, jobs_of, over_jobs, played, run_times
from experiments.reproduction import Experiment, Kind, Measured, Options, Row, relative, within
from failgym.evaluation.progress import Advance

TABLE_3 = {
    "BTWORLD": (20, 600, 1_587),
    "PPPQ": (20, 600, 1_461),
    "NMSQ": (20, 600, 656),
    "PageRank": (5, 1, 128),
    "KMeans": (5, 10, 103),
}
"""Nodes, input [GB], run time [s]."""
GIGABYTE = 1e9


def measure(options: Options, advance: Advance) -> Measured:
    """All rows."""
    rows: list[Row] = []
    for app in PROFILE.applications:
        nodes, gigabytes, seconds = TABLE_3[app.name]
        trace = jobs_of(app.name, options.seeds, FEWEST if app.name == "PageRank" else ITERATIONS)
        taken = run_times(trace, played(trace, "Spark"))
        size = app.input_bytes / GIGABYTE
        rows += [
            Row(f"{app.name}: Nodes", nodes, app.nodes, band=within(nodes, 1e-9), fitted=True),
            Row(
                f"{app.name}: Input [GB]",
                gigabytes,
                size,
                band=within(gigabytes, 1e-9),
                fitted=True,
            ),
            over_jobs(f"{app.name}: Runtime [s]", taken, seconds, relative(seconds, 0.01), True),
        ]
        advance(1)
    return Measured(tuple(rows))


EXPERIMENT = Experiment(
    paper="Ghit and Epema 2017",
    item="Table 3",
    title="the cluster configurations of the applications",
    kind=Kind.APPROXIMATE,
    measure=measure,
    per="jobs",
    steps=lambda options: len(TABLE_3),
)

if __name__ == "__main__":
    EXPERIMENT.command()
