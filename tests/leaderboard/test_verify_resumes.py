"""A verification that is killed, whenever that is, ends as if it had not been."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from failgym.cli import run
from failgym.leaderboard import SUITES, Suite, Verification, verify
from failgym.leaderboard.policy_process.players import Players
from failgym.leaderboard.submission.proofs import RowProof
from failgym.leaderboard.verification import kept_findings
from failgym.leaderboard.verification.findings import Findings, Place
from failgym.leaderboard.verification.kept_findings import (
    KeptFindings,
    findings_kept,
    forget,
)
from failgym.leaderboard.verification.telling import Telling
from tests.leaderboard.boards import COMMAND, TINY, baseline, load, rewrite, submit

SCRIPT = """
import sys
sys.path.insert(0, {top!r})
from failgym.cli import run
from tests.leaderboard import boards
if __name__ == "__main__":
    sys.exit(run(["leaderboard", "verify", {folder!r}, "--json", {verdict!r}]))
"""
MOST_KILLS = 9
"""More than there are places."""


class _Stop(Exception):
    """Somebody pulls the plug."""


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[Place]:
    """The places that are examined; every second time the plug is pulled after what is kept."""
    seen = list[Place]()
    write = KeptFindings.write

    def write_and_stop(self: KeptFindings, place: Place, found: Findings) -> None:
        write(self, place, found)
        seen.append(place)
        raise _Stop

    monkeypatch.setattr(KeptFindings, "write", write_and_stop)
    return seen


def told(found: Verification) -> tuple[object, ...]:
    """What two equal verifications share."""
    return found.problems, found.proofs, found.rows


def until_done(*given: Any, **options: Any) -> Verification:
    """The same call, as often as it is killed."""
    for _ in range(MOST_KILLS):
        with contextlib.suppress(_Stop):
            return verify(*given, **options)
    raise AssertionError("nothing that is found is kept: were the sources changed meanwhile?")


def asked() -> Players:
    return Players(load, COMMAND)


def test_killed_after_every_place_it_goes_on(
    tmp_path: Path, sound: Path, played: list[Place]
) -> None:
    found = until_done(sound, players=asked(), work=tmp_path / "work")
    assert played == [("GracePeriod-v1", 0), ("GracePeriod-v1", 1)]
    assert told(found) == told(verify(sound, players=asked()))
    assert found.engine_seconds > 0.0
    forget(tmp_path / "work")
    assert not (tmp_path / "work").exists()


def test_what_was_learned_anew_is_kept_too(
    tmp_path: Path, played: list[Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("xgboost", reason="needs failgym[predictors]")
    course = replace(TINY.courses[0], trained={"target": "unfinished", "trees": 2}, seeds=(0,))
    monkeypatch.setitem(SUITES, "taught", Suite("taught", 1, (course,)))
    submit(tmp_path / "run", baseline("blind_kill"), suite=SUITES["taught"])
    found = until_done(tmp_path / "run", players=asked(), work=tmp_path / "work")
    assert played == [("GracePeriod-v1", None), ("GracePeriod-v1", 0)]
    assert found.problems == ()
    assert {one.proof for one in found.proofs} == {"verified"}
    assert len(list((tmp_path / "work").rglob("*.npz"))) == 1


def other_cost(folder: Path) -> dict[str, Any]:
    rewrite(folder / "results.parquet", lambda rows: rows[-1].update(wasted=9.0))
    return {}


def nobody_asked(folder: Path) -> dict[str, Any]:
    return {"ask": False}


def less_time(folder: Path) -> dict[str, Any]:
    return {"players": Players(load, COMMAND, 60.0)}


@pytest.mark.parametrize(
    ("change", "name"),
    [(other_cost, "submission"), (nobody_asked, "options"), (less_time, "options")],
)
def test_what_was_found_otherwise_is_not_taken(
    tmp_path: Path,
    copy: Path,
    played: list[Place],
    change: Callable[[Path], dict[str, Any]],
    name: str,
) -> None:
    until_done(copy, players=asked(), work=tmp_path / "work")
    options: dict[str, Any] = {"players": asked()} | change(copy)
    said = list[str]()
    found = until_done(copy, work=tmp_path / "work", say=said.append, **options)
    assert len(played) == 4
    assert told(found) == told(verify(copy, **options))
    assert said[0] == f"{tmp_path / 'work'}: findings of another {name} are not used"


def test_other_code_finds_all_anew(
    tmp_path: Path, sound: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work, said = tmp_path / "work", list[str]()
    verify(sound, work=work)
    monkeypatch.setattr(kept_findings, "_SOURCES", "0" * 64)
    verify(sound, work=work, say=said.append)
    assert said[0] == f"{work}: findings of another code are not used"
    verify(sound, work=work, say=said.append)
    assert not any(line.startswith("goes on") for line in said)  # these are not the sources
    monkeypatch.setattr(kept_findings, "_SOURCES", "")
    said.clear()
    verify(sound, work=work, say=said.append)
    assert said[0] == f"{work}: what is found is not kept: the sources of failgym cannot be read"


def test_what_cannot_be_read_is_found_anew(tmp_path: Path, sound: Path) -> None:
    work, said = tmp_path / "work", list[str]()
    first = verify(sound, work=work)
    for file in work.rglob("GracePeriod-v1-*.json"):
        file.write_bytes(file.read_bytes()[:-20])
    assert told(verify(sound, work=work)) == told(first)
    verify(sound, work=work, say=said.append)
    assert said[0] == "goes on: of 2 traces and predictors it is known already"


def test_where_others_could_write_nothing_is_kept(tmp_path: Path, sound: Path) -> None:
    work, said = tmp_path / "work", list[str]()
    work.mkdir()
    work.chmod(0o777)
    assert verify(sound, work=work, say=said.append).problems == ()
    assert said[0].startswith(f"{work}: what is found is not kept: others could ")
    assert list(work.iterdir()) == []


def test_one_call_at_a_time_holds_what_was_found(tmp_path: Path) -> None:
    with findings_kept(tmp_path, {}) as kept:
        assert isinstance(kept, KeptFindings)
        with (
            pytest.raises(ValueError, match="another verification is at work"),
            findings_kept(tmp_path, {}),
        ):
            pass
        forget(tmp_path)
        assert kept.folder.is_dir()
    (tmp_path / "mine.txt").write_text("precious")
    forget(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["mine.txt"]


def test_findings_are_read_as_they_were_written(tmp_path: Path) -> None:
    proof = RowProof("a", None, "Lineage-v1", "none", "replayed", "is code")
    found = Findings([3, 5], ["wrong"], [proof], 2, 0.1 + 0.2, 1e-7)
    with findings_kept(tmp_path, {}) as kept:
        assert isinstance(kept, KeptFindings)
        for place in (("Lineage-v1", 0), ("Lineage-v1", None)):
            assert kept.read(place) is None
            kept.write(place, found)
            assert kept.read(place) == found


def test_a_killed_command_goes_on_and_leaves_only_the_verdict(
    tmp_path: Path, sound: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    top, verdict = str(Path(__file__).parents[2]), tmp_path / "v.json"
    script, work = tmp_path / "script.py", tmp_path / "v.json.work"
    script.write_text(SCRIPT.format(top=top, folder=str(sound), verdict=str(verdict)))
    killed = subprocess.Popen([sys.executable, script], cwd=top, stdout=subprocess.DEVNULL)
    while not list(work.glob("*/GracePeriod-*.json")) and killed.poll() is None:
        time.sleep(0.01)
    killed.kill()  # unless it was quick, and is done
    killed.wait()
    verify_it = "leaderboard", "verify", str(sound), "--json"
    assert run([*verify_it, str(verdict)]) == 0
    assert run([*verify_it, str(tmp_path / "w.json")]) == 0
    assert "GracePeriod-v1: 2 of 2 traces played again: no problems" in capsys.readouterr().out
    one, other = (json.loads(file.read_text()) for file in sorted(tmp_path.glob("?.json")))
    for timed in ("ratio", "asked_ratio"):
        del one[timed], other[timed]
    assert one == other
    assert {file.name for file in tmp_path.iterdir()} == {"v.json", "w.json", "script.py"}


def test_nothing_that_lies_in_a_submission_is_taken_for_what_was_found(
    tmp_path: Path, copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever submits could have put it there."""
    verify_it = ["leaderboard", "verify", str(copy)]
    assert run([*verify_it, "--work", str(copy / "work")]) == 2
    assert "lies in the submission, expected a folder outside of it" in capsys.readouterr().err
    planted = copy / "v.json.work"
    verify(copy, work=planted)
    said = next(planted.rglob("GracePeriod-v1-0.json"))
    said.write_text(said.read_text().replace('"replayed"', '"verified"'))
    assert run([*verify_it, "--no-ask", "--json", str(copy / "v.json")]) == 0
    assert "rows: 0 verified, 4 replayed, 0 claimed" in capsys.readouterr().out
    assert planted.is_dir()
    shutil.rmtree(planted)
    assert run([*verify_it, "--work", str(tmp_path / "work")]) == 0
    assert not (tmp_path / "work").exists()


def test_not_more_is_said_than_anybody_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    said, steps, now = list[str](), list[int](), [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    telling = Telling(said.append, steps.append)
    telling.begin([("A", None)])
    telling.ended(("A", None), Findings(problems=["wrong"]))
    telling.begin([("A", seed) for seed in range(5)])
    for seed in range(5):
        now[0] += 40.0
        telling.ended(("A", seed), Findings())
    assert said == [
        "A: its predictors were trained anew: 1 problem",
        "A: 2 of 5 traces played again: no problems",
        "A: 4 of 5 traces played again: no problems",
        "A: 5 of 5 traces played again: no problems",
    ]
    assert sum(steps) == 6
