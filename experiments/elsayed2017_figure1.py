"""Interruptions by the parallelism of jobs.

Claim
    Section III-b and Fig. 1 of El-Sayed et al. (ICDCS 2017). 35 % of Google's batch jobs have
    several tasks, 89.3 % of these are killed, more than 90 % of those of one task complete, and
    1.5 % of both fail. More than 80 % of OpenCloud's jobs have two mappers or more, nearly 60 % one
    reducer or none. 79 % of LANL's jobs run on one node; 70 % of these and 50 % of the others
    succeed, 22 and 45 % are killed or syskilled. Fig. 1: per week of task-time (node-time) parallel
    jobs are interrupted less often than single ones, but for killed jobs at LANL.

Kind and band
    Approximate, on generated traces: shares within 3 points, failed jobs within one. Fig. 1, whose
    values are lost: the rate of single jobs over that of parallel ones is above one, and below one
    for kills at LANL. Shares are fitted, being the profiles' own, but for that of Google's jobs of
    one task that complete, which follows from the others. So do the rates.

Choices
    Batch is priority 2 to 8 in the real trace; the profile is of batch jobs, whatever theirs.
    A job is parallel if it has several tasks or nodes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments.elsayed2017 import CLUSTERS, PAPER, Cell, cells, every, number, real_description
from experiments.reproduction import Experiment, Kind, Measured, Options, Row, within
from failgym.evaluation.progress import Advance

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTHS = "job_outcomes_by_width"
POINTS = 3.0
"""Half a band [%]."""
GOOGLE = (
    ("multi-task jobs", "multi", "share of jobs", 35.0, within(35.0, POINTS)),
    ("multi-task jobs killed", "multi", "share KILL", 89.3, within(89.3, POINTS)),
    ("single-task jobs completed", "single", "share FINISH", 90.0, (90.0, 100.0)),
    ("multi-task jobs failed", "multi", "share FAIL", 1.5, within(1.5, 1.0)),
    ("single-task jobs failed", "single", "share FAIL", 1.5, within(1.5, 1.0)),
)
"""Name, our row and column, the paper's figure and band [%]."""
FOLLOWS = "single-task jobs completed"
"""From the others, and from Table I."""
LANL = (
    ("single-node jobs", "single", "share of jobs", 79.0, within(79.0, POINTS)),
    ("single-node jobs succeeded", "single", "share FINISH", 70.0, within(70.0, POINTS)),
    ("multi-node jobs succeeded", "multi", "share FINISH", 50.0, within(50.0, POINTS)),
)
KILLED = {"single": 22.0, "multi": 45.0}
"""LANL: killed or syskilled jobs [%]."""
STAGES = {"map": ("jobs of two mappers or more", 80.0), "reduce": ("one reducer or none", 60.0)}
RATES = {"FAIL per week": "failed", "KILL per week": "killed", "both per week": "all interruptions"}
"""Columns of the table behind Fig. 1."""
GROUPS = ("all", "multi", "single")
RATE_TABLE = "interruption_rates"
MANY = 1e6
"""More than any ratio of rates."""


def shares() -> list[Cell]:
    """Section III-b, as far as it is in one table."""
    google = [
        Cell(
            f"{name} [%]",
            "Google",
            WIDTHS,
            row,
            column,
            paper,
            band,
            100.0,
            f"batch {row}",
            fitted=name != FOLLOWS,
        )
        for name, row, column, paper, band in GOOGLE
    ]
    return google + [
        Cell(f"{name} [%]", "LANL", WIDTHS, row, column, paper, band, 100.0)
        for name, row, column, paper, band in LANL
    ]


def measure(options: Options, advance: Advance) -> Measured:
    """Section III-b, then rates of interruption."""
    rows = list(cells(shares(), options, advance))
    rows += [*of_hadoop(options), *of_lanl(options)]
    rates = {
        cluster: {name: [mean(options, cluster, group, name) for group in GROUPS] for name in RATES}
        for cluster in CLUSTERS
    }
    for cluster, by_name in rates.items():
        for name in ("FAIL per week", "KILL per week"):
            rows.append(compared(cluster, name, *by_name[name][1:]))
    rows += of_real(options)
    return Measured(tuple(rows), {"groups": list(GROUPS), "rates": rates})


def of_hadoop(options: Options) -> list[Row]:
    """How many mappers and reducers jobs have."""
    rows: list[Row] = []
    for stage, (name, paper) in STAGES.items():
        few = [
            100.0 * number(made, "stage_widths", stage, "share with 1 or none")
            for made in every(options, "CMU")
        ]
        values = [100.0 - x for x in few] if stage == "map" else few
        rows.append(Row.over(f"CMU: {name} [%]", values, paper, within(paper, POINTS), fitted=True))
    return rows


def of_lanl(options: Options) -> list[Row]:
    """Jobs that are killed, but not by their user."""
    return [
        Row.over(
            f"LANL: {group}-node jobs killed or syskilled [%]",
            [
                100.0
                * sum(
                    number(made, "exit_categories", kind, f"share of {group}")
                    for kind in ("killed", "syskilled")
                )
                for made in every(options, "LANL")
            ],
            paper,
            within(paper, POINTS),
            fitted=True,
        )
        for group, paper in KILLED.items()
    ]


def of_real(options: Options) -> list[Row]:
    """The rates of the real trace."""
    real = real_description(options)
    if real is None:
        return []
    return [
        Row(
            f"Google, real trace: {said} per week, single over parallel",
            None,
            number(real, RATE_TABLE, "single", name) / number(real, RATE_TABLE, "multi", name),
        )
        for name, said in list(RATES.items())[:2]
    ]


def mean(options: Options, cluster: str, group: str, name: str) -> float:
    """Interruptions over task-time, of all traces together [1/week]."""
    made = every(options, cluster)
    weeks = sum(number(x, RATE_TABLE, group, "task-weeks") for x in made)
    counts = [number(x, RATE_TABLE, group, n) for x in made for n in of_kind(name)]
    return sum(counts) / weeks


def of_kind(name: str) -> tuple[str, ...]:
    """The columns of counts behind a rate."""
    return ("FAIL", "KILL") if name.startswith("both") else (name.split()[0],)


def compared(cluster: str, name: str, multi: float, single: float) -> Row:
    """The rate of single jobs over that of parallel ones."""
    exception = cluster == "LANL" and name.startswith("KILL")
    why = (
        "multi-node jobs hold over 90 % of the node-time and a third of the killed jobs, since in"
        " the profile node-minutes, which Table II gives by outcome alone, grow with the nodes"
    )
    return Row(
        f"{cluster}: {RATES[name]} per week, single over parallel",
        None,
        single / multi,
        band=(0.0, 1.0) if exception else (1.0, MANY),
    ).because(why if exception else "")


def draw(measured: Measured, figure: Figure) -> None:
    """Rates by parallelism: a panel for each cluster."""
    panels: Any = figure.subplots(1, len(CLUSTERS))
    for panel, cluster in zip(panels, CLUSTERS, strict=True):
        for n, group in enumerate(measured.series["groups"]):
            rates = [measured.series["rates"][cluster][name][n] for name in RATES]
            panel.bar([k + 0.27 * (n - 1) for k in range(len(RATES))], rates, 0.25, label=group)
        panel.set_yscale("log")
        panel.set_xticks(range(len(RATES)), ["failed", "killed", "both"])
        panel.set_title(cluster)
    panels[0].set_ylabel("interruptions per task-week (node-week)")
    panels[0].legend()


EXPERIMENT = Experiment(
    paper=PAPER,
    item="Figure 1",
    title="the rate of job interruptions normalised by system time",
    kind=Kind.APPROXIMATE,
    measure=measure,
    draw=draw,
)

if __name__ == "__main__":
    EXPERIMENT.command()
