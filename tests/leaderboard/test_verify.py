"""What was changed in a submission is named."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from failgym.leaderboard import SUITES, Suite, SuiteWorlds, merge, verify
from failgym.leaderboard.submission.tables import RESULTS_FILE
from failgym.leaderboard.suite.secret_seed import commitment
from tests.leaderboard.boards import ROWS, TINY, baseline, edit, rehash, results, rewrite, submit

SECRET = b"nobody could have guessed this"
ACTIONS = "actions/*/GracePeriod-v1-drawn.parquet"


def test_a_sound_submission_is_verified(sound: Path) -> None:
    found = verify(sound)
    assert found.problems == ()
    assert found.rows == 2 * ROWS
    assert 0.0 < found.ratio < 100.0


def action(folder: Path) -> Path:
    return next(file for file in sorted(folder.glob(ACTIONS)) if "random" in file.parent.name)


def end_it(rows: list[dict[str, Any]]) -> None:
    """Kill first what was not."""
    taken = rows[1]["actions"]
    taken[taken.index(0)] = 3


def cheaper(rows: list[dict[str, Any]]) -> None:
    rows[-1]["wasted"] -= 0.25


def other_seed(rows: list[dict[str, Any]]) -> None:
    rows[3]["seed"] = 0


def recounted(row: dict[str, Any], actions: list[int]) -> None:
    row.update(actions=actions, counts=[len(actions)])


SLICE = "random: GracePeriod-v1, forecast drawn, seed 0, slice "
TAMPERED: dict[str, tuple[Callable[[Path], Any], str]] = {
    "one action": (lambda f: rewrite(action(f), end_it), SLICE),
    "one action less": (
        lambda f: rewrite(action(f), lambda r: recounted(r[1], r[1]["actions"][:-1])),
        "end before",
    ),
    "one action more": (
        lambda f: rewrite(action(f), lambda r: recounted(r[1], [*r[1]["actions"], 0])),
        "go on after the episode",
    ),
    "no action": (
        lambda f: rewrite(action(f), lambda r: r[1]["actions"].__setitem__(0, 9)),
        "9 is no action",
    ),
    "one cost": (
        lambda f: rewrite(f / RESULTS_FILE, cheaper),
        "random: GracePeriod-v1, forecast none, seed 1, slice ",
    ),
    "a bound": (
        lambda f: rewrite(f / RESULTS_FILE, lambda r: r[0].update(bound_cost=0.5)),
        "bound_cost is 0.5, computed anew ",
    ),
    "what replay spends": (
        lambda f: rewrite(f / RESULTS_FILE, lambda r: r[0].update(replay_spent=0.0)),
        "replay_spent is 0, computed anew ",
    ),
    "a seed": (
        lambda f: rewrite(f / RESULTS_FILE, other_seed),
        "row 3: seed is 0, expected 1 (replay: GracePeriod-v1, forecast drawn, seed 1, slice ",
    ),
    "a row removed": (
        lambda f: rewrite(f / RESULTS_FILE, lambda r: r.pop(2)),
        "row is missing: replay: GracePeriod-v1, forecast drawn, seed 1, slice ",
    ),
    "a row doubled": (
        lambda f: rewrite(f / RESULTS_FILE, lambda r: r.insert(2, r[2])),
        "row is there twice: replay: GracePeriod-v1, forecast drawn, seed 1, slice ",
    ),
    "rows swapped": (
        lambda f: rewrite(f / RESULTS_FILE, lambda r: r.reverse()),
        "row 0: policy is 'random', expected 'replay'",
    ),
}


@pytest.mark.parametrize("rehashed", [False, True], ids=["", "and its hash"])
@pytest.mark.parametrize("what", TAMPERED)
def test_a_changed_table_is_named(copy: Path, what: str, rehashed: bool) -> None:
    """Whether or not the hash was adapted: the engine finds it out."""
    change, named = TAMPERED[what]
    change(copy)
    if rehashed:
        rehash(copy)
    problems = verify(copy).problems
    assert any(named in problem for problem in problems), problems
    assert any("was changed: its hash" in problem for problem in problems) != rehashed


def test_whether_an_action_or_a_result_was_changed_is_said(copy: Path, sound: Path) -> None:
    rewrite(action(copy), end_it)
    assert any(p.endswith("an action was changed") for p in verify(copy).problems)
    shutil.copytree(sound, copy, dirs_exist_ok=True)
    rewrite(copy / RESULTS_FILE, cheaper)
    assert any(p.endswith("a result was changed") for p in verify(copy).problems)


ABOUT: dict[str, tuple[Callable[[Any], Any], str]] = {
    "another version": (
        lambda c: c.update(failgym="0.0.9"),
        "failgym version: the submission is of 0.0.9",
    ),
    "another trace": (
        lambda c: c["traces"][1].update(content_hash="0" * 64),
        "trace of GracePeriod-v1, seed 1: the submission was made on 0000000000000000",
    ),
    "another hash": (
        lambda c: c["files"].update({RESULTS_FILE: "0" * 64}),
        "results.parquet: was changed: its hash",
    ),
    "another suite": (lambda c: c["suite"].update(digest="0" * 64), "suite tiny: the submission"),
    "code as a baseline": (
        lambda c: c["policies"][0]["specs"].update({"GracePeriod-v1": "my.code:Policy"}),
        "'my.code:Policy' is not of kind 'baseline'",
    ),
    "a file elsewhere": (
        lambda c: c["files"].update({"../../etc/passwd": "0" * 64}),
        "'../../etc/passwd': does not belong to the submission",
    ),
    "a file by fold where no folds are played": (
        lambda c: c["policies"][0].update(specs={"GracePeriod-v1": "mine/{fold}.json"}),
        "'mine/{fold}.json' is by fold, and tiny has none",
    ),
}


@pytest.mark.parametrize("what", ABOUT)
def test_a_changed_statement_is_named(copy: Path, what: str) -> None:
    change, named = ABOUT[what]
    edit(copy, change)
    problems = verify(copy).problems
    assert any(named in problem for problem in problems), problems


@pytest.mark.parametrize("name", [RESULTS_FILE, "actions"])
def test_a_table_that_was_cut_off_is_named(copy: Path, name: str) -> None:
    file = action(copy) if name == "actions" else copy / name
    file.write_bytes(file.read_bytes()[:-20])
    problems = verify(copy).problems
    cut = f"{file.relative_to(copy)}: cannot be read, it may be cut off: "
    assert any(problem.startswith(cut) for problem in problems), problems


MALFORMED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "an unknown field": (lambda c: c.update(rank=1), "rank: Extra inputs"),
    "an unknown kind": (
        lambda c: c["policies"][0].update(kind="oracle"),
        "policies.0.kind: Input should be",
    ),
    "a name twice": (lambda c: c["policies"][1].update(name="replay"), "'replay' is there twice"),
    "text for a number": (
        lambda c: c["seconds"].update(engine="1"),
        "seconds.engine: Input should be",
    ),
    "an unknown suite": (lambda c: c["suite"].update(name="v9"), "suite: expected one of smoke"),
}


@pytest.mark.parametrize("what", MALFORMED)
def test_what_is_no_submission_is_one_line(copy: Path, what: str) -> None:
    change, said = MALFORMED[what]
    edit(copy, change)
    with pytest.raises(ValueError, match=said) as raised:
        verify(copy)
    assert "\n" not in str(raised.value)


def test_a_secret_seed_makes_other_slices_and_is_needed_to_verify(
    tmp_path: Path, sound: Path
) -> None:
    submission = submit(tmp_path / "a", baseline("replay"), secret=SECRET)
    submit(tmp_path / "b", baseline("replay"), secret=SECRET)
    submit(tmp_path / "c", baseline("replay"), secret=SECRET + b"?")
    a, b, c = (results(tmp_path / name) for name in "abc")
    assert a == b
    public = [row for row in results(sound) if row["policy"] == "replay"]
    for other in (c, public):
        paid, elsewhere = ({row["replay_cost"] for row in rows} - {0.0} for rows in (a, other))
    assert paid
    assert not paid & elsewhere
    assert submission.secret == commitment(SECRET)
    assert SECRET.decode() not in (tmp_path / "a" / "submission.json").read_text()
    assert {row["seed"] for row in a} == {0, 1}

    assert verify(tmp_path / "a", secret=SECRET).problems == ()
    assert "names it" in verify(tmp_path / "a").problems[0]
    assert "is not the one" in verify(tmp_path / "a", secret=SECRET + b"!").problems[0]
    assert "is not the one" in verify(sound, secret=SECRET).problems[0]


def rounded(file: Path) -> None:
    """Change a stored predictor in the last digit of the first of its many numbers."""
    with np.load(file, allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    for name, array in arrays.items():
        found = re.search(rb'"base_weights":\[-?\d\.\d{6,}', array.tobytes())
        if found:
            arrays[name][found.end() - 1] ^= 1
    np.savez_compressed(file, **arrays)


def test_a_predictor_that_changes_what_happens_is_trained_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Grace periods follow the confidences of the forecast: a better one makes a better world."""
    pytest.importorskip("xgboost", reason="needs failgym[predictors]")
    course = replace(TINY.courses[0], trained={"target": "unfinished", "trees": 2}, seeds=(0,))
    taught = Suite("taught", 1, (course,))
    monkeypatch.setitem(SUITES, "taught", taught)
    folder, name = tmp_path / "taught", "predictors/GracePeriod-v1.npz"
    submit(folder, baseline("blind_kill"), suite=taught)
    assert {row["forecast"] for row in results(folder)} == {"drawn", "trained", "none"}
    assert verify(folder).problems == ()

    # Learned where numbers are rounded otherwise: to be merged, runs share what was learned.
    submit(tmp_path / "theirs", baseline("replay"), suite=taught)
    rounded(tmp_path / "theirs" / name)
    rehash(tmp_path / "theirs")
    assert verify(tmp_path / "theirs").problems == ()
    with pytest.raises(ValueError, match=f"{name} was learned where numbers are rounded other"):
        merge([folder, tmp_path / "theirs"], tmp_path / "both")
    shared: dict[str, Any] = {"suite": taught, "predictors_of": tmp_path / "theirs"}
    submit(tmp_path / "ours", baseline("blind_kill"), **shared)
    assert results(tmp_path / "ours") == results(folder)
    merge([tmp_path / "ours", tmp_path / "theirs"], tmp_path / "both")
    assert verify(tmp_path / "both").problems == ()

    course = replace(course, trained={"target": "fail", "trees": 3})
    other = SuiteWorlds(Suite("taught", 1, (course,)), predictors=folder / "predictors")
    (folder / name).unlink()
    other.train_predictor("GracePeriod-v1")
    assert f"{name}: was changed" in verify(folder, refit=False).problems[0]
    with pytest.raises(ValueError, match=f"{name} is missing, or was changed"):
        submit(tmp_path / "more", baseline("replay"), suite=taught, predictors_of=folder)
    rehash(folder)
    assert f"{name}: is not what the train split teaches" in verify(folder).problems


def test_merged_submissions_are_one(tmp_path: Path, sound: Path) -> None:
    submit(tmp_path / "a", baseline("replay"))
    submit(tmp_path / "b", baseline("random"))
    merged = merge([tmp_path / "a", tmp_path / "b"], tmp_path / "both")
    assert [policy.name for policy in merged.policies] == ["replay", "random"]
    assert results(tmp_path / "both") == results(sound)
    assert verify(tmp_path / "both").problems == ()

    for folders, said in (
        (["a", "b", "a"], f"policy 'replay' is in {tmp_path / 'a'} and in {tmp_path / 'a'}"),
        (["a"], "expected at least two folders"),
    ):
        with pytest.raises(ValueError, match=said):
            merge([tmp_path / name for name in folders], tmp_path / "more")
    with pytest.raises(ValueError, match="exists already"):
        merge([tmp_path / "a", tmp_path / "b"], tmp_path / "both")
    submit(tmp_path / "c", baseline("blind_kill"), secret=SECRET)
    with pytest.raises(ValueError, match="are of different secret seeds: not merged"):
        merge([tmp_path / "a", tmp_path / "c"], tmp_path / "more")
    edit(tmp_path / "b", lambda c: c["suite"].update(version=2))
    with pytest.raises(ValueError, match="are of different suites, or versions of one"):
        merge([tmp_path / "a", tmp_path / "b"], tmp_path / "more")
    assert not (tmp_path / "more").exists()
