"""The matrix of clients, from reports of pytest: `python -m tests.clients.table REPORT...`."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as xml
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

__all__ = ["main"]

COLUMNS = ("client", "version", "tests", "transitions", "failed", "result")
Tally = Counter[str]


def outcome(case: xml.Element) -> str:
    """What became of a test: passed, failed or skipped; expected failures count as skipped."""
    names = {child.tag for child in case}
    if names & {"failure", "error"}:
        return "failed"
    return "skipped" if "skipped" in names else "passed"


def tallies(reports: Iterable[Path]) -> dict[tuple[str, str], Tally]:
    """Outcomes and transitions compared, by client and version."""
    found: dict[tuple[str, str], Tally] = defaultdict(Counter)
    for report in reports:
        for case in xml.parse(report).iter("testcase"):
            given = [(one.get("name", ""), one.get("value", "")) for one in case.iter("property")]
            names = dict(given)
            if "client" not in names:
                if outcome(case) == "failed":  # it was not even collected
                    found[str(report.parent), case.get("name", "")]["failed"] += 1
                continue
            tally = found[names["client"], names["version"]]
            tally[outcome(case)] += 1
            tally["transitions"] += sum(int(v) for name, v in given if name == "transitions")
    return found


def row(client: str, version: str, tally: Tally) -> tuple[str, ...]:
    """A line of the table."""
    result = "red" if tally["failed"] else "green" if tally["passed"] else "not run"
    tests = str(tally["passed"] + tally["failed"])
    return client, version, tests, f"{tally['transitions']:,}", str(tally["failed"]), result


def main(arguments: Sequence[str]) -> int:
    """Print the table of the reports; status 1 where one is missing or a test failed."""
    reports = [Path(name) for name in arguments]
    missing = [path for path in reports if not path.is_file()]
    found = tallies(path for path in reports if path.is_file())
    lines = [COLUMNS, *(row(*key, tally) for key, tally in sorted(found.items()))]
    widths = [max(len(line[k]) for line in lines) for k in range(len(COLUMNS))]
    for line in lines:
        print(
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        )
    for path in missing:
        print(f"{path}: expected a report of pytest's; its environment was not set up")
    failed = any(tally["failed"] for tally in found.values())
    return int(failed or bool(missing) or not found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
