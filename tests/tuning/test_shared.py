"""A search that several processes share: no trial twice, none lost, and alone as if it were not."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from failgym.baselines.search import search_space
from failgym.baselines.stored import load_heuristic
from failgym.cli import run
from failgym.tuning import Grounds, Tuned, shared, storage, tune
from failgym.tuning.objective import Comparison
from failgym.tuning.search import Search, not_lost, place_of
from failgym.tuning.shared import SharedSearch
from failgym.tuning.storage import shared_study
from failgym.workers import at_node
from tests.tuning.test_study import HASTY, TRIALS, Interval, grounds, scenario, whole

pytest.importorskip("optuna", reason="needs failgym[tuning]")

__all__ = ["grounds", "scenario", "whole"]  # fixtures
URLS = ("journal:{}/trials.log", "sqlite:///{}/trials.db")
CLONING = ("tune", "--env", "failgym/Cloning-v1", "--set", "jobs=2000", "--policy", "algorithm_1")
SHARED = 12
COMMAND = "from failgym.cli import main; main()"


def trials_at(url: str) -> list[Any]:
    """The trials that a storage keeps, in order."""
    return study_at(url).trials


def study_at(url: str) -> Any:
    """The one study that a storage keeps."""
    import optuna

    return optuna.load_study(study_name=None, storage=storage._storage(url, url))


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


@pytest.mark.parametrize("form", [pytest.param(URLS[0], marks=pytest.mark.campaign), URLS[1]])
def test_two_commands_share_a_search(tmp_path: Path, form: str) -> None:
    """Each trial is tried once, both write the same policy, and it is the best of the trials."""
    url = form.format(tmp_path)
    words = (*CLONING, "--trials", str(SHARED), "--storage", url)
    commands = [
        subprocess.Popen([sys.executable, "-c", COMMAND, *words, "--out", str(tmp_path / name)])
        for name in ("a.json", "b.json")
    ]
    assert [command.wait() for command in commands] == [0, 0]
    there = not_lost(study_at(url))
    over = [trial for trial in there if trial.state.is_finished()]
    assert sorted(map(place_of, over)) == list(range(SHARED))
    # Both may ask for the last place at once: what nobody began waits, and counts for none.
    assert {trial.state.name for trial in there if trial not in over} <= {"WAITING"}
    assert load_heuristic(tmp_path / "a.json") == load_heuristic(tmp_path / "b.json")


def test_workers_share_a_search(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url, out = URLS[0].format(tmp_path), tmp_path / "tuned.json"
    words = (*CLONING, "--trials", "6", "--out", str(out), "--workers", "2")
    assert run(words) == 2
    assert "--workers 2: expected --storage beside it" in capsys.readouterr().err
    assert run([*words, "--storage", url]) == 0
    there = not_lost(study_at(url))  # two may have gone for one place: who came second gave it up
    assert sorted(place_of(trial) for trial in there) == list(range(6))
    assert all(trial.state.is_finished() for trial in there)
    assert len({trial.user_attrs["by"] for trial in there}) == 2


def search_of(grounds: Grounds) -> Search:
    """What `tune` searches on these slices, from `HASTY`."""
    given = Interval(factor=HASTY)
    return Search(given, Comparison(given, grounds.fit), search_space(Interval), 3)


def hasten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes are given up soon."""
    for name, seconds in (("SILENT", 1.0), ("LOOK", 0.1), ("BEAT", 0.1)):
        monkeypatch.setattr(shared, name, seconds)


@pytest.mark.parametrize("known", [0, 2])
def test_what_a_killed_process_tried_is_tried_anew(
    grounds: Grounds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, known: int
) -> None:
    """With the same parameters; of the first trial, they are the given ones."""
    url, given = URLS[0].format(tmp_path), Interval(factor=HASTY)
    if known:
        tune(given, grounds, trials=known, seed=3, shared=url)
    lost = SharedSearch(search_of(grounds), url, TRIALS)._claimed()  # and is killed
    assert lost is not None
    hasten(monkeypatch)
    assert tune(given, grounds, trials=4, seed=3, shared=url).trials == 4
    trials = trials_at(url)
    assert [trial.number for trial in trials if trial.state.name == "FAIL"] == [lost.number]
    again = [trial for trial in trials if place_of(trial) == known]
    assert [trial.params for trial in again] == [lost.params] * 2
    assert sorted(place_of(trial) for trial in not_lost(study_at(url))) == [0, 1, 2, 3]
    if not known:
        assert search_of(grounds).variant(again[-1].params) == given


def test_a_worker_takes_up_what_was_lost(
    grounds: Grounds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = URLS[0].format(tmp_path)
    assert SharedSearch(search_of(grounds), url, 2)._claimed() is not None
    hasten(monkeypatch)
    worker = SharedSearch(search_of(grounds), url, 2)
    assert [worker.one() for _ in range(3)] == [True, True, False]
    assert [place_of(trial) for trial in worker.known()] == [0, 1]


def test_a_trial_that_others_were_given_too_and_finished_is_theirs(
    grounds: Grounds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite locks no row, so two may take the same trial out of the queue, and one be slow."""
    from optuna.exceptions import UpdateFinishedTrialError

    url = URLS[1].format(tmp_path)
    mine, theirs = (SharedSearch(search_of(grounds), url, 2) for _ in range(2))
    real = mine.study.ask

    def too_late(distributions: Any) -> Any:
        assert theirs.one()
        monkeypatch.setattr(mine.study, "ask", real)
        raise UpdateFinishedTrialError("Trial#0 has already finished and can not be updated.")

    monkeypatch.setattr(mine.study, "ask", too_late)
    assert mine.one()
    assert [place_of(trial) for trial in mine.known()] == [0, 1]
    assert [trial.user_attrs["by"] for trial in mine.known()] == [theirs._name, mine._name]


def test_a_beat_that_fails_is_not_the_last(
    grounds: Grounds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hasten(monkeypatch)
    part = SharedSearch(search_of(grounds), URLS[0].format(tmp_path), 1)
    said, real = list[str](), part.study.set_user_attr

    def away_at_first(name: str, value: Any) -> None:
        said.append(name)
        if len(said) < 3:
            raise OSError(5, "Input/output error")
        real(name, value)

    monkeypatch.setattr(part.study, "set_user_attr", away_at_first)
    with part._beating():
        time.sleep(1.0)
    assert len(said) > 3
    assert any(name.startswith("beats of ") for name in part.study.user_attrs)


def test_a_process_whose_trial_was_given_up_goes_on(
    grounds: Grounds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It could not be heard for long, and others have given its trial up while it was at work."""
    part = SharedSearch(search_of(grounds), URLS[0].format(tmp_path), 2)
    play, given_up = Search.play, list[int]()

    def given_up_once(self: Search, study: Any, trial: Any) -> None:
        if not given_up:
            given_up.append(trial.number)
            part._give_up(trial.number)
        play(self, study, trial)

    monkeypatch.setattr(Search, "play", given_up_once)
    part.all()
    assert given_up == [0]
    assert [trial.number for trial in part.known()] == [1, 2]
    assert [place_of(trial) for trial in part.known()] == [0, 1]


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
    assert [trial.state.name for trial in not_lost(study_at(url))] == ["COMPLETE"]


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


def test_two_searches_that_begin_at_once_share_no_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second has looked before the first wrote anything, and has its say after it."""
    import optuna

    url, begun = URLS[0].format(tmp_path), list[Any]()
    create = optuna.create_study

    def late(**named: Any) -> Any:
        if not begun:
            begun.append(None)
            begun[0] = shared_study(url, {"seed": 0})
        return create(**named)

    monkeypatch.setattr(optuna, "create_study", late)
    with pytest.raises(ValueError, match=r"another search: its seed was 0, is 1$"):
        shared_study(url, {"seed": 1})
    assert begun[0].user_attrs == {"seed": 0}


def test_another_failgym_is_refused(
    grounds: Grounds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = URLS[0].format(tmp_path)
    SharedSearch(search_of(grounds), url, 1)
    monkeypatch.setattr(at_node, "_SOURCES", "another")
    with pytest.raises(ValueError, match=r"another search: its sources was \w{16}, is another$"):
        SharedSearch(search_of(grounds), url, 1)


@pytest.mark.parametrize("form", URLS)
def test_commands_begin_a_storage_at_once(tmp_path: Path, form: str) -> None:
    begin = (
        "import sys, time; from failgym.tuning.storage import shared_study;"
        " time.sleep(max(0.0, float(sys.argv[2]) - time.time()));"
        " shared_study(sys.argv[1], {'seed': 0})"
    )
    at = str(time.time() + 8.0)
    words = [sys.executable, "-c", begin, form.format(tmp_path), at]
    commands = [subprocess.Popen(words) for _ in range(4)]
    assert [command.wait() for command in commands] == [0] * 4
    assert study_at(form.format(tmp_path)).user_attrs == {"seed": 0}


def test_a_storage_that_fails_later_is_one_line(tmp_path: Path) -> None:
    import sqlite3

    url = URLS[1].format(tmp_path)
    study = shared_study(url, {"seed": 0})
    with sqlite3.connect(tmp_path / "trials.db") as file:
        file.execute("drop table trials")
    with pytest.raises(ValueError, match=r"^--storage sqlite:.*cannot be used: .*no such table"):
        study.ask()


def test_a_journal_whose_last_line_is_torn_goes_on(tmp_path: Path) -> None:
    """Its process was killed, or the machine's power failed, while it wrote."""
    url, file = URLS[0].format(tmp_path), tmp_path / "trials.log"
    shared_study(url, {"seed": 0}).ask()
    whole = file.read_bytes()
    file.write_bytes(whole + b'{"op_code":4,"wor')
    shared_study(url, {"seed": 0}).ask()
    assert file.read_bytes().startswith(whole + b'{"op_code":')
    assert len(study_at(url).trials) == 2


def test_a_journal_with_a_broken_line_is_one_line(tmp_path: Path) -> None:
    url, file = URLS[0].format(tmp_path), tmp_path / "trials.log"
    study = shared_study(url, {"seed": 0})
    file.write_bytes(file.read_bytes() + b'{"op_code":4,"wor{}\n{}\n')
    with pytest.raises(ValueError, match=r"^--storage journal:.*cannot be used"):
        study.ask()
    with pytest.raises(ValueError, match=r"^--storage journal:.*not a journal of trials, or broke"):
        shared_study(url, {"seed": 0})


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
        ("sqlite://", "expected sqlite:///PATH"),
        ("sqlite:///:memory:", "expected sqlite:///PATH"),
        ("journal:{}/line", "not one of a journal of trials"),
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
    line = tmp_path / "line"
    line.write_text("no trials")
    with pytest.raises(ValueError, match=r"^--storage") as raised:
        tune(Interval(), grounds, trials=1, shared=url.format(tmp_path))
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)
    assert "secret" not in str(raised.value)
    assert text.read_text() == "no trials\n" * 100
    assert line.read_text() == "no trials"
