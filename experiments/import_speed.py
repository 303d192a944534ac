"""How fast the published files of Google 2011 are imported, here and beside another checkout.

    python -m experiments.import_speed --google DIR [--beside CHECKOUT] [--rounds 5] [--json FILE]

Every import is a process of its own on one core, which has imported the same files once before, so
that nothing is left to compile. Checkouts take turns. Rows are those that were read, of all tables,
per second of the processor.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from failgym.cli.output import JsonFile, print_table

CHECKOUT = Path(__file__).parents[1]
CHILD = """
import json, sys, time
from failgym.traces.readers.google_2011.reader import import_google_2011
source, out = sys.argv[1:]
import_google_2011(source, out + "/first")
begun = time.process_time()
rows = import_google_2011(source, out + "/second").rows_read
print(json.dumps([sum(rows.values()), time.process_time() - begun]))
"""


@dataclass(frozen=True)
class Imported:
    """What it took to import the files."""

    checkout: str
    rows: int
    seconds: tuple[float, ...]
    """of the processor, by round"""

    @property
    def rate(self) -> float:
        """Rows per second of the processor, at the median."""
        return self.rows / median(self.seconds)


def imported(checkout: Path, google: Path) -> tuple[int, float]:
    """Rows, and seconds of the processor."""
    with TemporaryDirectory() as out:
        said = subprocess.run(
            [sys.executable, "-c", CHILD, str(google), out],
            cwd=checkout,
            env={**os.environ, "PYTHONPATH": str(checkout), "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            check=True,
        )
    rows, seconds = json.loads(said.stdout)
    return rows, seconds


def main(
    google: Annotated[Path, typer.Option(help="Published files of Google 2011.")],
    beside: Annotated[Path | None, typer.Option(help="Another checkout.")] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Imports of each.")] = 5,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write it there.")] = None,
) -> None:
    """Import, take turns, compare."""
    file = JsonFile.at(json_file)
    checkouts = {"this": CHECKOUT} | ({} if beside is None else {"other": beside.resolve()})
    rounds_of = {name: list[float]() for name in checkouts}
    rows = dict.fromkeys(checkouts, 0)
    for _ in range(rounds):
        for name, checkout in checkouts.items():
            rows[name], seconds = imported(checkout, google.resolve())
            rounds_of[name].append(seconds)
    found = [Imported(name, rows[name], tuple(rounds_of[name])) for name in checkouts]
    file.write([asdict(one) for one in found])
    print_table(
        "Import of Google 2011",
        ("checkout", "rows", "seconds, each", "rows/s, median"),
        [
            (
                *(one.checkout, f"{one.rows:,}", " ".join(f"{s:.2f}" for s in one.seconds)),
                f"{one.rate:,.0f}",
            )
            for one in found
        ],
    )


if __name__ == "__main__":
    typer.run(main)
