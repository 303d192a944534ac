"""Options of readers, for the commands that read a log: `trace import` and `assess`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "Align",
    "Columns",
    "InferAttempts",
    "MergeClusters",
    "Nodes",
    "Outages",
    "Outcomes",
    "Since",
    "System",
    "Timezone",
    "Topology",
    "Unit",
    "UnitMs",
    "Until",
]

Outages = Annotated[
    tuple[str, Path] | None,
    typer.Option(
        "--outages", metavar="FORMAT FILE", help="Add the machines and outages of this source."
    ),
]
Align = Annotated[
    str | None, typer.Option(help="How --outages meet the jobs in time: by date or start; auto.")
]
System = Annotated[int | None, typer.Option(help="lanl: the system.")]
Nodes = Annotated[str | None, typer.Option(metavar="A-B", help="lanl, fta: only these nodes.")]
Since = Annotated[str | None, typer.Option(metavar="YYYY-MM-DD", help="lanl, fta: the first day.")]
Until = Annotated[str | None, typer.Option(metavar="YYYY-MM-DD", help="lanl, fta: the last day.")]
Topology = Annotated[Path | None, typer.Option(metavar="FILE", help="rumen: racks and machines.")]
InferAttempts = Annotated[
    bool, typer.Option("--infer-attempts", help="swf: resubmissions of failed jobs are attempts.")
]
Timezone = Annotated[
    str | None, typer.Option(help="torque, sacct, table: of the local times; UTC.")
]
Columns = Annotated[
    str | None,
    typer.Option(
        metavar="JobID,State,... | FIELD=COLUMN,...",
        help="sacct: of a log without a header; table: the columns of its fields.",
    ),
]
Outcomes = Annotated[
    str | None,
    typer.Option(
        metavar="WORD=OUTCOME,...", help="table: what words of its own mean, as OK=finished."
    ),
]
Unit = Annotated[
    str | None, typer.Option(metavar="s|ms", help="table: of times that are numbers; s.")
]
MergeClusters = Annotated[
    bool,
    typer.Option("--merge-clusters", help="swf, torque, sacct: take several clusters for one."),
]
UnitMs = Annotated[int | None, typer.Option(help="stg: milliseconds per unit; 1000.")]
