"""A suite of four short cells, and submissions to it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from failgym.baselines import REGISTRY
from failgym.leaderboard import SUITES, Entry, Submission, Suite, SuiteWorlds, run_suite
from failgym.leaderboard.policy_process.limits import TIME_LIMIT, USUAL
from failgym.leaderboard.policy_process.players import Players
from failgym.leaderboard.submission.records import file_sha256, read_submission, write_submission
from failgym.leaderboard.suite.suites import Course
from failgym.policy import Policy

COMMAND = (sys.executable, "-m", "failgym.cli.policy_process")
TINY = Suite(
    "tiny",
    1,
    (Course("GracePeriod-v1", seeds=(0, 1), slices=2, changes={"jobs": 300, "slice_tasks": 16}),),
)
ROWS = 8
"""Of a policy: two forecasts, two seeds, two slices."""
SUITES[TINY.name] = TINY  # where `verify` and the command look


def load(spec: str) -> Policy:
    """A baseline by its name."""
    return REGISTRY[spec]()


def baseline(name: str) -> Entry:
    return Entry(name, "baseline", {"GracePeriod-v1": name})


def submit(
    out: Path,
    *entries: Entry,
    secret: bytes | None = None,
    suite: Suite = TINY,
    traces: dict[str, str] | None = None,
    **options: Any,
) -> Submission:
    """Run policies on a suite."""
    made = {"load": load, "policy_command": COMMAND, "time_limit": TIME_LIMIT, "confinement": USUAL}
    players = Players(*(options.pop(name, usual) for name, usual in made.items()))
    options = {"command": "a test", "players": players} | options
    return run_suite(SuiteWorlds.of(suite, traces, secret), entries, out, **options)


def results(folder: Path) -> Any:
    """All columns that two equal runs share."""
    return pq.read_table(folder / "results.parquet").drop_columns(["seconds"]).to_pylist()


def actions(folder: Path) -> dict[str, Any]:
    """The actions by file."""
    return {
        str(file.relative_to(folder)): pq.ParquetFile(file).read().to_pylist()
        for file in sorted((folder / "actions").rglob("*.parquet"))
    }


def rewrite(file: Path, change: Callable[[list[dict[str, Any]]], Any]) -> None:
    """Change the rows of a table as somebody would who knows how to."""
    table = pq.ParquetFile(file).read()
    rows = table.to_pylist()
    change(rows)
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), file)


def edit(folder: Path, change: Callable[[Any], Any]) -> None:
    """Change submission.json."""
    file = folder / "submission.json"
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))


def rehash(folder: Path) -> None:
    """State the hashes of the files as they are now."""
    found = read_submission(folder)
    files = {name: file_sha256(folder / name) for name in found.files}
    write_submission(found.model_copy(update={"files": files}), folder)


@contextmanager
def code(folder: Path, source: str) -> Generator[Sequence[str]]:
    """A command whose policy process finds a module ``mine`` with the given source."""
    (folder / "mine.py").write_text(source, "utf-8")
    start = (
        f"import sys; sys.path.insert(0, {str(folder)!r});"
        " import runpy; runpy.run_module('failgym.cli.policy_process', run_name='__main__')"
    )
    yield (sys.executable, "-c", start)
