"""An assessment is the same whoever plays, and goes on whoever is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from experiments.kills import COMMAND, without_clock
from failgym.assessment import Candidate, assess
from failgym.assessment.page import page
from failgym.baselines import REGISTRY
from failgym.baselines.optimal_stopping import OptimalStopping
from failgym.cli import run
from failgym.envs import Scenario
from failgym.policy import Policy
from failgym.traces import Trace
from failgym.workers import Workers
from tests.assessment.records import doomed, failing

RULES = ("optimal_stopping", "blind_kill", "retry_cap")
MEASURES = ("--measures", "kill,retry")


@dataclass(frozen=True)
class Noted:
    """Makes a rule for each fold but the first, and notes which process did."""

    rule: Policy

    def make(self, scenario: Scenario, folder: Path) -> Policy:
        """See `Maker`."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / str(os.getpid())).touch()
        if scenario.fold == 1:
            raise ValueError("nothing to learn from")
        return self.rule

    def save(self, scenario: Scenario, folder: Path, path: Path) -> Path:
        """See `Maker`."""
        raise NotImplementedError


class Mine(OptimalStopping):
    """Code of a user, of which nothing is kept."""


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory, shared_worlds: None) -> Path:
    folder = tmp_path_factory.mktemp("traces") / "record"
    doomed(400, long_ones_finish=False).save(folder)
    return folder


def candidates() -> dict[str, Candidate]:
    """Rules, one that is made for each fold, and one of which nothing is kept."""
    found = {name: Candidate(REGISTRY[name](), "published", name) for name in RULES}
    rule = OptimalStopping()
    found["made"] = Candidate(Noted(rule), "tuned", "made", rule)
    found["mine"] = Candidate(Mine(), "given", None)
    return found


def assessed(record: Path, work: Path, workers: Workers) -> tuple[Any, str]:
    """What is found, the seconds aside, and the page."""
    trace = Trace.load(record)
    found = assess(
        trace, str(record), candidates(), name="record", work=work, workers=workers, price=0.5
    )
    return {**found.to_json(), "seconds": None}, page(found)


def test_two_processes_find_what_one_finds(record: Path, tmp_path: Path) -> None:
    pytest.importorskip("xgboost", reason="needs failgym[boosting]")  # forecasts are learned
    alone = assessed(record, tmp_path / "1", Workers())
    both = assessed(record, tmp_path / "2", Workers(2))
    assert both == alone
    assert any(each["policy"] == "mine" for each in alone[0]["judged"])
    kept = [sorted(file.name for file in (tmp_path / n).glob("*.npz")) for n in ("1", "2")]
    assert kept[0] == kept[1]
    makers = {int(file.name) for file in (tmp_path / "2").glob("*/fold-2/*")}
    assert makers - {os.getpid()}, "nothing was made by workers"


def test_what_workers_did_is_not_done_again(
    record: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever puts an assessment together plays nothing that is kept."""
    from failgym.assessment import playing

    trace, rules = Trace.load(record), candidates()
    del rules["mine"], rules["made"]
    given: dict[str, Any] = {"name": "record", "forecasts": ("none",), "work": tmp_path}

    def never(*_: object) -> None:
        raise AssertionError("it was played")

    monkeypatch.setattr(playing, "_played", never)  # not that of other processes
    assert assess(trace, str(record), rules, workers=Workers(2), **given).judged


def test_several_workers_need_a_folder(record: Path) -> None:
    with pytest.raises(ValueError, match=r"^--workers 2: expected a folder of work"):
        assess(Trace.load(record), str(record), {}, name="record", workers=Workers(2))


def written(out: Path) -> dict[str, Any]:
    """All that the command writes, times of the clock aside."""
    import json

    report = without_clock(json.loads((out / "report.json").read_text()))
    files = {file.name: file.read_bytes() for file in out.iterdir() if file.is_file()}
    return {**files, "report.json": report}


def test_a_command_that_is_killed_goes_on(tmp_path: Path, shared_worlds: None) -> None:
    trace = tmp_path / "record"
    failing(600, (0, 0)).save(trace)
    policies = [word for rule in RULES for word in ("--policies", rule)]
    words = ["assess", str(trace), *policies, "--no-forecasts", *MEASURES]
    assert run([*words, "--out", str(tmp_path / "alone")]) == 0
    out = tmp_path / "killed"
    command = [sys.executable, "-c", COMMAND, *words, "--out", str(out), "--workers", "2"]
    running = subprocess.Popen(command, start_new_session=True, stderr=subprocess.PIPE)
    while running.poll() is None and not list(out.glob(".work/*.npz")):
        time.sleep(0.02)
    assert running.poll() is None, "it ended before it could be killed"
    os.killpg(running.pid, signal.SIGKILL)
    running.communicate()
    assert not (out / "report.html").exists()
    assert run([*words, "--out", str(out), "--workers", "2"]) == 0
    assert written(out) == written(tmp_path / "alone")


def test_workers_that_are_none_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    doomed(60, long_ones_finish=False).save(Path("record"))
    assert run(["assess", "record", "--workers", "many"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("failgym: --workers: expected a number, 1 to 1024, or ray, got 'many'")
    assert said.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["record"]
