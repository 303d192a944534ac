"""What a submission may claim, whoever wrote it: what cannot be true is named, hashes or not."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from failgym.leaderboard import SUITES, Submission, Suite, verify
from failgym.leaderboard.page import write_page
from failgym.leaderboard.submission import tables
from failgym.leaderboard.submission.checks import about_problems
from failgym.leaderboard.submission.records import LeftOut, read_submission
from failgym.leaderboard.submission.tables import ACTIONS, RESULTS_FILE, read_table
from failgym.leaderboard.suite.suites import Course
from failgym.leaderboard.verification.policy_files import policy_file_problems
from tests.leaderboard.boards import edit, rehash, rewrite

ENV = "GracePeriod-v1"
Rows = list[dict[str, Any]]


def all_rows(**values: Any) -> Callable[[Rows], None]:
    def change(rows: Rows) -> None:
        for row in rows:
            row.update(values)

    return change


def first(**values: Any) -> Callable[[Rows], None]:
    return lambda rows: rows[0].update(values)


def opposite(rows: Rows) -> None:
    rows[0]["decisions"], rows[1]["decisions"] = 5, -5


RESULTS_CHANGED: dict[str, tuple[Callable[[Rows], None], str]] = {
    "no time": (all_rows(seconds=float("nan")), "column 'seconds': expected 0 or more"),
    "time gained": (first(seconds=-1.0), "column 'seconds': expected 0 or more"),
    "no end": (first(seconds=float("inf")), "column 'seconds': expected 0 or more"),
    "fewer than none": (opposite, "column 'decisions': expected 0 or more"),
    "a novel": (first(reason="x" * 301), "column 'reason': expected at most 300 printable"),
    "a bomb": (first(reason="x" * 1_000_000), "column 'reason': expected at most 4000 bytes"),
    "a cursor": (first(reason="\x1b[2J"), "column 'reason': expected at most 300 printable"),
    "illegal": (first(illegal=7), "the policy failed, and yet there are results of it"),
    "time": (first(seconds=7.0), "the policy failed, and yet there are results of it"),
    "two ways": (first(status="timeout"), "the policy failed in more than one way"),
    "a good reason": (lambda r: r[-1].update(reason="x"), "nothing failed, and yet there is a"),
}


@pytest.mark.parametrize("what", RESULTS_CHANGED)
def test_results_that_cannot_be_are_named(failed: Path, tmp_path: Path, what: str) -> None:
    folder = Path(shutil.copytree(failed, tmp_path / "copy"))
    change, named = RESULTS_CHANGED[what]
    rewrite(folder / RESULTS_FILE, change)
    rehash(folder)
    problems = verify(folder).problems
    assert any(named in problem for problem in problems), problems


def test_a_policy_that_failed_is_verified_as_such(failed: Path) -> None:
    assert verify(failed).problems == ()


@pytest.mark.parametrize("more", [[1], [-1], []])
def test_actions_that_are_shared_out_otherwise_among_slices_are_named(
    copy: Path, more: list[int]
) -> None:
    file = next(copy.glob("actions/random-*/*-none.parquet"))

    def change(rows: Rows) -> None:
        """One more than there are; less than none, and more of the next; no count."""
        first = rows[0]["counts"][0]
        if more == [-1]:
            rows[0].update(counts=[-1], actions=[])
        else:
            rows[0].update(counts=[first + one for one in more])

    rewrite(file, change)
    rehash(copy)
    assert "expected a count of each slice, and as many actions" in verify(copy).problems[0]


@pytest.mark.parametrize("seed", [99, None])
def test_actions_of_no_seed_are_named(copy: Path, seed: int | None) -> None:
    file = next(copy.glob("actions/random-*/*-none.parquet"))
    rewrite(
        file, lambda rows: rows.append({"slice": 0, "seed": seed, "counts": [1], "actions": [0]})
    )
    rehash(copy)
    assert f"seed {seed} does not belong to the suite" in verify(copy).problems[0]


def test_files_that_nobody_asked_for_are_named(copy: Path) -> None:
    (copy / "actions" / "more.py").write_text("")
    (copy / "notes.txt").write_text("is the owner's affair")
    assert verify(copy).problems == ("'actions/more.py': does not belong to the submission",)


@pytest.mark.parametrize("name", ["numba.py", "numba.so", "numba/__init__.py"])
def test_code_beside_the_tables_is_named(copy: Path, name: str) -> None:
    """Whoever starts Python in this folder would run it."""
    (copy / name).parent.mkdir(exist_ok=True)
    (copy / name).write_text("")
    top = Path(name).parts[0]
    assert verify(copy).problems == (f"{top!r}: does not belong to the submission",)


ABOUT: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a trace of nothing": (
        lambda c: c["traces"].append({"env": "Odd-v0", "seed": 3, "content_hash": "x"}),
        "trace of 'Odd-v0', seed 3: does not belong to the suite",
    ),
    "two truths": (
        lambda c: c["traces"].insert(0, {**c["traces"][0], "content_hash": "f" * 64}),
        f"trace of '{ENV}', seed 0: is stated 2 times",
    ),
    "another version within": (
        lambda c: c["policies"][0]["versions"].update(failgym="99"),
        "was run with failgym 99, the submission is of",
    ),
    "a file of nothing": (
        lambda c: c["policies"][0]["files"].update({"Odd": {"name": "x", "sha256": "0" * 64}}),
        "states a file for 'Odd', and no SPEC",
    ),
    "a file without hash": (
        lambda c: c["policies"][0].update(kind="agent", specs={ENV: "a.safetensors"}),
        "its file is stated as None",
    ),
    "a hash without file": (
        lambda c: c["policies"][0]["files"].update({ENV: {"name": "x", "sha256": "0" * 64}}),
        "was played with 'replay', its file is stated as 'x'",
    ),
}


@pytest.mark.parametrize("what", ABOUT)
def test_statements_that_cannot_be_are_named(copy: Path, what: str) -> None:
    change, named = ABOUT[what]
    edit(copy, change)
    found = read_submission(copy)
    problems = [*about_problems(found, SUITES["tiny"]), *policy_file_problems(found)]
    assert any(named in problem for problem in problems), problems


MALFORMED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a seed out of range": (
        lambda c: c["policies"][0].update(training_seed=2**63),
        "policies.0.training_seed: Input should be less than",
    ),
    "a seed like none": (
        lambda c: c["policies"][0].update(training_seed=-1),
        "policies.0.training_seed: Input should be greater than",
    ),
    "a name that reads backwards": (
        lambda c: c["policies"][0].update(name="re\u202eplay"),
        "policies.0.name: Value error, expected printable characters",
    ),
    "a name like another": (
        lambda c: c["policies"][0].update(name="random "),
        "policies.0.name: Value error, expected printable characters, without white space around",
    ),
    "a key that moves the cursor": (
        lambda c: c["policies"][0]["versions"].update({"x\n\x1b": "1"}),
        "expected printable characters",
    ),
    "a command with another behind it": (
        lambda c: c["policies"][0].update(command="failgym demo\nrm -r ~"),
        "policies.0.command: Value error, expected printable characters",
    ),
    "no environment": (
        lambda c: c["policies"][0].update(specs={}),
        "policies.0.specs: Dictionary should have at least 1 item",
    ),
}


@pytest.mark.parametrize("what", MALFORMED)
def test_what_nobody_could_read_is_refused_in_one_line(copy: Path, what: str) -> None:
    change, said = MALFORMED[what]
    edit(copy, change)
    with pytest.raises(ValueError, match=said) as raised:
        read_submission(copy)
    assert str(raised.value).isprintable()


def test_only_what_must_be_learned_may_be_left_out(sound: Path) -> None:
    """Else a policy's bad rows could be left out with the forecast that they belong to."""
    suite = Suite("mine", 1, (Course(ENV, {"target": "fail"}),), real=True)

    def problems(*left_out: tuple[str, str]) -> list[str]:
        records = [LeftOut(env=env, forecast=name, reason="x") for env, name in left_out]
        made: Submission = read_submission(sound).model_copy(update={"left_out": records})
        return [p for p in about_problems(made, suite) if "left" in p]

    assert problems((ENV, "trained")) == []
    assert problems((ENV, "none")) == [f"suite mine: {ENV}, forecast none, may not be left out"]
    assert problems(("Odd-v0", "trained"))
    assert problems((ENV, "trained"), (ENV, "trained")) == ["left_out: a forecast is there twice"]


@pytest.mark.parametrize(("limit", "unit"), [("MOST_VALUES", "values"), ("MOST_BYTES", "bytes")])
def test_a_small_file_that_unpacks_to_anything_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, unit: str
) -> None:
    rows = [{"slice": 0, "seed": 0, "counts": [100_000], "actions": [0] * 100_000}]
    file = tmp_path / "bomb.parquet"
    table = pa.Table.from_pylist(rows, schema=ACTIONS)
    pq.write_table(table, file, compression="zstd", use_dictionary=False)
    assert file.stat().st_size < 2_000
    monkeypatch.setattr(tables, limit, 100_000)
    monkeypatch.setattr(pq.ParquetFile, "read", None)  # it is not even tried
    with pytest.raises(ValueError, match=f"a file: expected at most 100,000 {unit}"):
        read_table(file, ACTIONS, "a file")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_pipe_is_no_table(copy: Path) -> None:
    (copy / RESULTS_FILE).unlink()
    os.mkfifo(copy / RESULTS_FILE)
    assert f"{RESULTS_FILE}: cannot be read, it is no file" in verify(copy).problems


def test_a_page_shows_no_table_that_was_changed(copy: Path, tmp_path: Path) -> None:
    rewrite(copy / RESULTS_FILE, lambda rows: rows[-1].update(wasted=0.0))
    with pytest.raises(ValueError, match=r"copy: results\.parquet was changed: its hash"):
        write_page([copy], tmp_path / "page.html")
