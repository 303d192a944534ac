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
        "--outages",
        metavar="FORMAT FILE",
        help="Also read machines and outages, from this source, and join them to the jobs.",
    ),
]
Align = Annotated[
    str | None,
    typer.Option(
        help="With --outages: keep their dates (date), move their first day to that of the jobs"
        " (start), or choose whichever fits (auto, the default).",
    ),
]
System = Annotated[int | None, typer.Option(help="lanl: number of the system to read.")]
Nodes = Annotated[str | None, typer.Option(metavar="A-B", help="lanl, fta: read these nodes only.")]
Since = Annotated[
    str | None, typer.Option(metavar="YYYY-MM-DD", help="lanl, fta: the first day to read.")
]
Until = Annotated[
    str | None, typer.Option(metavar="YYYY-MM-DD", help="lanl, fta: the last day to read.")
]
Topology = Annotated[
    Path | None, typer.Option(metavar="FILE", help="rumen: the file of racks and machines.")
]
InferAttempts = Annotated[
    bool,
    typer.Option(
        "--infer-attempts", help="swf: read a resubmission of a failed job as its next attempt."
    ),
]
Timezone = Annotated[
    str | None,
    typer.Option(help="torque, sacct, table: time zone of the times in the log; UTC by default."),
]
Columns = Annotated[
    str | None,
    typer.Option(
        metavar="JobID,State,... | FIELD=COLUMN,...",
        help="sacct: names of the columns, for a log without a header. table: which column holds"
        " which field.",
    ),
]
Outcomes = Annotated[
    str | None,
    typer.Option(
        metavar="WORD=OUTCOME,...",
        help="table: what words for outcomes mean, such as OK=finished.",
    ),
]
Unit = Annotated[
    str | None,
    typer.Option(metavar="s|ms", help="table: unit of times that are numbers; s by default."),
]
MergeClusters = Annotated[
    bool,
    typer.Option("--merge-clusters", help="swf, torque, sacct: read several clusters as one."),
]
UnitMs = Annotated[
    int | None, typer.Option(help="stg: milliseconds per unit of time; 1000 by default.")
]
