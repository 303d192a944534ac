"""What `failgym assess` says of records, and what it takes: rows of docs/results/assessments.md.

    /usr/bin/time -f "%U %S %e %M" -o FILE failgym assess ... --out DIR
    python -m experiments.assessments NAME DIR FILE --command "failgym assess ..." --json rows.json

NAME is what the table calls the record. The row takes the place of one of the same command, if
there is one; others stay. `experiments.results_pages --assessments rows.json` writes the page. Of a
report that is made in two calls, only the last is timed.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated, Any

import typer

from experiments.result_tables.assessments import FIGURES, LEARNED
from failgym.files import replacing

REPORT = "report.json"
_TIMES = re.compile(r"([\d.]+)\D+([\d.]+)\D+([\d.]+)\D+(\d+)\D*")


def times(text: str) -> dict[str, float]:
    """Seconds of processor and by the clock, and memory [bytes], of what `time` wrote.

    Args:
        text: seconds in user and in system mode, seconds by the clock, and kilobytes, in this
            order; words between are skipped.

    Raises:
        ValueError: if it holds anything else.

    >>> times("9.44 user 1.81 sys 991.32 wall 556816 kB")
    {'processor': 11.25, 'wall': 991.32, 'memory': 570179584}
    """
    found = _TIMES.fullmatch(text.strip())
    if found is None:
        raise ValueError(
            f"expected user, system, elapsed [s] and memory [kB], got {text.strip()!r}"
        )
    user, system, wall = map(float, found.groups()[:3])
    return {"processor": round(user + system, 2), "wall": wall, "memory": int(found[4]) * 1024}


def row_of(
    name: str, command: str, report: dict[str, Any], took: dict[str, float]
) -> dict[str, Any]:
    """What is kept of a report: its figures as they are, and nothing of where files lay."""
    what, advice = report["happened"], report["advice"]
    return {
        "record": name,
        "command": command,
        **{figure: what[figure] for figure in FIGURES},
        "rooms": [
            {name: room[name] for name in ("measure", "hours", "spent", "share", "whole")}
            for room in report["rooms"]
        ],
        "answer": advice["answer"],
        "advice": advice["text"],
        "rules": len({each["policy"] for each in report["judged"] if each["kind"] != "chosen"}),
        "learned": [
            {name: each[name] for name in LEARNED}
            for each in report["judged"]
            if each["kind"] == "learned"
        ],
        **took,
    }


def with_row(rows: list[dict[str, Any]], row: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows with one more, or with one of the same command replaced, by record."""
    others = [each for each in rows if each["command"] != row["command"]]
    return sorted([*others, row], key=lambda each: (each["record"], each["rules"] > 0))


def main(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the table calls the record.")],
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", exists=True, file_okay=False, help="The report.")
    ],
    timed: Annotated[
        Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, help="What time wrote.")
    ],
    command: Annotated[str, typer.Option("--command", help="The command, as others may type it.")],
    file: Annotated[Path, typer.Option("--json", metavar="FILE", help="Rows of the page.")],
) -> None:
    """Keep a row of a report."""
    report = json.loads((folder / REPORT).read_text("utf-8"))
    row = row_of(name, command, report, times(timed.read_text("utf-8")))
    rows: list[dict[str, Any]] = json.loads(file.read_text("utf-8")) if file.exists() else []
    with replacing(file) as partial:
        partial.write_text(json.dumps(with_row(rows, row), indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    typer.run(main)
