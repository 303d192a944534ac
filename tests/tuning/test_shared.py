"""A search that several processes share: no trial twice, none lost, and alone as if it were not."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from failgym.baselines.stored import load_heuristic
from failgym.cli import run
from failgym.tuning import Grounds, Tuned, shared, storage, tune
from failgym.tuning.search import Search, not_lost
from failgym.tuning.storage import shared_study
from tests.tuning.test_study import HASTY, TRIALS, Interval, grounds, scenario, whole

pytest.importorskip("optuna", reason="needs failgym[tuning]")

__all__ = ["grounds", "scenario", "whole"]  # fixtures
URLS = ("journal:{}/trials.log", "sqlite:///{}/trials.db")
CLONING = ("tune", "--env", "failgym/Cloning-v1", "--set", "jobs=2000", "--policy", "algorithm_1")
SHARED = 12
COMMAND = "from failgym.cli import main; main()"


def trials_at(url: str) -> list[Any]:
    """The trials that a storage keeps, in order."""
    return shared_study(url, {}).trials


@pytest.mark.parametrize("form", URLS)
def test_alone_it_finds_what_is_found_without_a_storage(
    whole: Tuned, grounds: Grounds, tmp_path: Path, form: str
) -> None:
    url, done = form.format(tmp_path), list[int]()
    for trials in (1, 4, TRIALS):
        done.clear()
        found = tune(
            Interval(factor=HASTY), grounds, trials=trials, seed=3, shared=url, progress=done.append
        )
    assert found == whole
    assert done[0] == 4
    assert sum(done) == TRIALS
    assert [trial.number for trial in trials_at(url)] == list(range(TRIALS))


@pytest.mark.parametrize("form", URLS)
def test_two_commands_share_a_search(tmp_path: Path, form: str) -> None:
    """Each trial is tried once, both write the same policy, and it is the best of the trials."""
    url = form.format(tmp_path)
    words = (*CLONING, "--trials", str(SHARED), "--storage", url)
    commands = [
        subprocess.Popen([sys.executable, "-c", COMMAND, *words, "--out", str(tmp_path / name)])
        for name in ("a.json", "b.json")
    ]
    assert [command.wait() for command in commands] == [0, 0]
    there = not_lost(shared_study(url, {}))
    assert len(there) == len({trial.number for trial in there}) == SHARED
    assert all(trial.state.is_finished() for trial in there)
    assert load_heuristic(tmp_path / "a.json") == load_heuristic(tmp_path / "b.json")


def test_workers_share_a_search(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url, out = URLS[0].format(tmp_path), tmp_path / "tuned.json"
    words = (*CLONING, "--trials", "6", "--out", str(out), "--workers", "2")
    assert run(words) == 2
    assert "--workers 2: expected --storage beside it" in capsys.readouterr().err
    assert run([*words, "--storage", url]) == 0
    assert sum(trial.state.is_finished() for trial in trials_at(url)) == 6
    assert len({trial.user_attrs["by"] for trial in trials_at(url)}) == 2


def test_a_trial_whose_process_was_killed_is_tried_anew(
    grounds: Grounds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = URLS[0].format(tmp_path)
    given = Interval(factor=HASTY)
    tune(given, grounds, trials=2, seed=3, shared=url)
    lost = shared_study(url, {}).ask()  # by a process that was killed before it said anything
    monkeypatch.setattr(shared, "SILENT", 0.3)
    monkeypatch.setattr(shared, "LOOK", 0.1)
    found = tune(given, grounds, trials=4, seed=3, shared=url)
    assert found.trials == 4
    states = [trial.state.name for trial in trials_at(url)]
    assert states[lost.number] == "FAIL"
    assert len(states) == 5
    assert states.count("FAIL") == 1


def test_a_trial_of_a_process_that_is_at_work_is_waited_for(
    grounds: Grounds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes longer than a process may be silent, and is not given up."""
    import threading

    monkeypatch.setattr(shared, "SILENT", 1.0)
    monkeypatch.setattr(shared, "BEAT", 0.1)
    monkeypatch.setattr(shared, "LOOK", 0.1)
    url, play = URLS[0].format(tmp_path), Search.play

    def slow(self: Search, study: Any, trial: Any) -> None:
        time.sleep(3.0)
        play(self, study, trial)

    def other() -> None:
        tune(Interval(), grounds, trials=1, shared=url)

    monkeypatch.setattr(Search, "play", slow)
    thread = threading.Thread(target=other)
    thread.start()
    tune(Interval(), grounds, trials=1, shared=url)
    thread.join()
    assert [trial.state.name for trial in not_lost(shared_study(url, {}))] == ["COMPLETE"]


@pytest.mark.parametrize("leads", ["to a file", "nowhere"])
def test_a_lock_that_a_killed_process_left_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, leads: str
) -> None:
    """The path is relative, in another folder than the command's."""
    monkeypatch.setattr(storage, "GRACE", 3)
    monkeypatch.chdir(tmp_path)
    folder = Path("sub")
    folder.mkdir()
    lock = folder / "trials.log.lock"
    (folder / "trials.log").touch()
    if leads == "nowhere":
        lock.symlink_to("sub/trials.log")  # as seen from the folder of the command
    else:
        lock.touch()
    shared_study("journal:sub/trials.log", {"seed": 0}).ask()
    assert not lock.is_symlink()
    assert not lock.exists()


def test_another_search_is_refused(grounds: Grounds, tmp_path: Path) -> None:
    for form in URLS:
        url = form.format(tmp_path)
        tune(Interval(), grounds, trials=1, shared=url)
        with pytest.raises(ValueError, match=r"^--storage .*another search: its seed was 0, is 1"):
            tune(Interval(), grounds, trials=2, seed=1, shared=url)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("trials.log", "expected journal:PATH or a URL such as"),
        ("journal:", "expected journal:PATH or a URL such as"),
        ("journal:{}/none/trials.log", "no such folder"),
        ("sqlite:///{}/none/trials.db", "no such folder"),
        ("journal:{}/text", "not a journal of trials"),
        ("sqlite:///{}/text", "cannot be used"),
        ("nosuch://me:secret@host/name", "cannot be used"),
    ],
)
def test_a_storage_that_is_none_is_one_line(
    grounds: Grounds, tmp_path: Path, url: str, said: str
) -> None:
    text = tmp_path / "text"
    text.write_text("no trials\n" * 100)
    with pytest.raises(ValueError, match=r"^--storage") as raised:
        tune(Interval(), grounds, trials=1, shared=url.format(tmp_path))
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)
    assert "secret" not in str(raised.value)
    assert text.read_text() == "no trials\n" * 100
