"""`failgym trace forecast`, and `failgym evaluate --forecast`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from failgym.cli import run
from failgym.predictors import (
    LEARNED,
    Calibrated,
    Perfect,
    load_forecast,
    load_predictor,
    models,
    save_predictor,
)
from failgym.predictors.store import holds_forecast
from failgym.traces import Trace, generate
from tests.predictors.frequencies import Frequencies
from tests.predictors.quick import QUICK

SMALL = ("--set", "slice_tasks=16")


@pytest.fixture(autouse=True)
def small_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """`Frequencies` is a predictor like the others."""
    kind = models._Kind("tests.predictors.frequencies", "Frequencies")
    monkeypatch.setitem(models._FORECASTING, "frequencies", kind)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("traces") / "trace"
    generate("google-2011", jobs=120, seed=3).save(folder)
    return folder


def invoke(*arguments: str | int | float | Path) -> int:
    return run([str(argument) for argument in arguments])


def forecast(folder: Path, spec: str, out: Path, *more: str | int | float | Path) -> int:
    return invoke("trace", "forecast", folder, "--predictor", spec, "--out", out, *more)


def scores(file: Path) -> Any:
    written = json.loads(file.read_text("utf-8"))
    return [(row["policy"], row["score"], row["cost"]) for row in written["policies"]]


DRAWN = {
    "elsayed": Calibrated.elsayed(),
    "elsayed:seed=4,window=60000": Calibrated.elsayed(seed=4, window=60_000),
    "rosa": Calibrated.rosa(),
    "kumar:model=nonshared multi,base_rate=0.1": Calibrated.kumar("nonshared multi", base_rate=0.1),
    "perfect": Perfect(),
}


@pytest.mark.parametrize("spec", DRAWN)
def test_drawn_forecasts(
    spec: str, stored: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert forecast(stored, spec, tmp_path / "f.npz", "--json", tmp_path / "f.json") == 0
    trace = Trace.load(stored)
    loaded, expected = load_forecast(tmp_path / "f.npz", trace), DRAWN[spec].predict(trace)
    assert np.array_equal(loaded.risk, expected.risk)
    assert np.array_equal(loaded.confidence, expected.confidence)
    written = json.loads((tmp_path / "f.json").read_text("utf-8"))
    assert written["risks"] == len(expected.risk)
    assert written["trace"] == trace.content_hash
    shown = capsys.readouterr()
    assert "precision" in shown.out
    assert shown.err == ""


def test_forecasts_of_nothing(stored: Path, tmp_path: Path) -> None:
    assert forecast(stored, "none", tmp_path / "f.npz", "--json", tmp_path / "f.json") == 0
    quality = json.loads((tmp_path / "f.json").read_text("utf-8"))["quality"]
    assert [row["alarms"] for row in quality] == [0, 0, 0]
    assert quality[0]["precision"] is None


def test_learns_from_the_early_part_and_speaks_of_all(stored: Path, tmp_path: Path) -> None:
    spec, trace = "frequencies:prior=2.5,seed=3", Trace.load(stored)
    for share, more in ((0.7, ()), (0.4, ("--boundary", 0.4))):
        options = (*more, "--save", tmp_path / "p.npz", "--json", tmp_path / "f.json")
        assert forecast(stored, spec, tmp_path / "f.npz", *options) == 0
        fitted = Frequencies(prior=2.5, seed=3).fit(trace.split("train", share))
        loaded = load_forecast(tmp_path / "f.npz", trace)
        assert np.array_equal(loaded.risk, fitted.predict(trace).risk)
        assert load_predictor(tmp_path / "p.npz").arrays()["failing"].tolist() == (
            fitted.failing_.tolist()
        )
        written = json.loads((tmp_path / "f.json").read_text("utf-8"))
        assert written["jobs learned from"] == trace.split("train", share).rows("jobs")
        unseen = trace.split("test", share)
        ran = unseen.present("attempts", "start") & (unseen.column("attempts", "outcome") != 5)
        assert written["quality"][0]["attempts"] == ran.sum()
    assert sorted(os.listdir(tmp_path)) == ["f.json", "f.npz", "p.npz"]


def test_learns_from_another_trace(stored: Path, tmp_path: Path) -> None:
    other = generate("google-2011-failing", jobs=40, seed=8)
    other.save(tmp_path / "other")
    options = ("--train", tmp_path / "other", "--save", tmp_path / "p.npz")
    assert forecast(stored, "frequencies", tmp_path / "f.npz", *options) == 0
    trace = Trace.load(stored)
    expected = Frequencies().fit(other).predict(trace)
    assert np.array_equal(load_forecast(tmp_path / "f.npz", trace).risk, expected.risk)
    assert forecast(stored, str(tmp_path / "p.npz"), tmp_path / "g.npz") == 0
    assert (tmp_path / "g.npz").read_bytes() == (tmp_path / "f.npz").read_bytes()


@pytest.mark.parametrize("name", LEARNED)
def test_every_learned_predictor(name: str, stored: Path, tmp_path: Path) -> None:
    parameters = ",".join(f"{key}={value}" for key, value in QUICK[name].items())
    saved = ("--save", tmp_path / "p.npz")
    assert forecast(stored, f"{name}:{parameters}", tmp_path / "f.npz", *saved) == 0
    assert forecast(stored, str(tmp_path / "p.npz"), tmp_path / "g.npz") == 0
    assert (tmp_path / "g.npz").read_bytes() == (tmp_path / "f.npz").read_bytes()


class TestEvaluate:
    @pytest.mark.parametrize("env", ["GracePeriod-v1", "Mitigation-v1"])
    def test_a_file_of_the_whole_trace_serves_any_split(
        self, env: str, stored: Path, tmp_path: Path
    ) -> None:
        assert forecast(stored, "perfect", tmp_path / "f.npz") == 0
        policy = "grace_period" if env == "GracePeriod-v1" else "replay"
        command = ("evaluate", "--env", env, "--policy", policy, *SMALL, "--set", f"trace={stored}")
        begin = ("--set", "begin=0") if env == "Mitigation-v1" else ()
        for split in ("train", "test", "all"):
            options = (*begin, "--set", f"split={split}", "--episodes", 1, "--json")
            found: list[Any] = []
            for given in (tmp_path / "f.npz", "perfect"):
                file = tmp_path / "scores.json"
                assert invoke(*command, *options, file, "--forecast", given) == 0
                found.append(scores(file))
            assert found[0] == found[1]

    def test_a_stored_predictor_and_its_name(self, stored: Path, tmp_path: Path) -> None:
        fitted = Frequencies().fit(Trace.load(stored).split("train"))
        save_predictor(fitted, tmp_path / "p.npz")
        command = ("evaluate", "--env", "GracePeriod-v1", "--policy", "grace_period", *SMALL)
        options = ("--set", f"trace={stored}", "--json", tmp_path / "s.json", "--forecast")
        found: list[Any] = []
        for given in (tmp_path / "p.npz", "rosa"):
            assert invoke(*command, *options, given) == 0
            found.append(scores(tmp_path / "s.json"))
        assert found[0] != found[1]

    def test_it_is_short_for_a_setting(self, stored: Path, tmp_path: Path) -> None:
        command = ("evaluate", "--env", "GracePeriod-v1", "--policy", "grace_period", *SMALL)
        options = ("--set", f"trace={stored}", "--json", tmp_path / "s.json")
        found: list[Any] = []
        for given in (("--forecast", "perfect"), ("--set", "forecast=perfect")):
            assert invoke(*command, *options, *given) == 0
            found.append(scores(tmp_path / "s.json"))
        assert found[0] == found[1]


def test_older_files_of_the_kind_are_replaced(stored: Path, tmp_path: Path) -> None:
    for spec, prior in (("frequencies", 1.0), ("frequencies:prior=7", 7.0)):
        saved = ("--save", tmp_path / "p.npz")
        assert forecast(stored, spec, tmp_path / "f.npz", *saved) == 0
        assert load_predictor(tmp_path / "p.npz").prior == prior
    (tmp_path / "empty").touch()
    assert forecast(stored, "none", tmp_path / "empty") == 0
    assert holds_forecast(tmp_path / "empty")


def test_a_link_stays_a_link(stored: Path, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder" / "f.npz")
    assert forecast(stored, "none", tmp_path / "link") == 0
    assert (tmp_path / "link").is_symlink()
    assert holds_forecast(tmp_path / "folder" / "f.npz")


OUT = ["--out", "{tmp}/f.npz"]
BAD: dict[str, tuple[list[str], str]] = {
    "no trace": (["{tmp}/nowhere", "--predictor", "none", *OUT], "no such folder"),
    "no predictor": (["{trace}", *OUT], "--predictor"),
    "no out": (["{trace}", "--predictor", "none"], "--out"),
    "unknown predictor": (["{trace}", "--predictor", "random_forrest", *OUT], "random_forest"),
    "a history": (["{trace}", "--predictor", "user_history", *OUT], "unknown predictor"),
    "unknown parameter": (
        ["{trace}", "--predictor", "frequencies:prio=2", *OUT],
        "predictor frequencies: unknown field 'prio', did you mean prior?",
    ),
    "mistyped parameter": (
        ["{trace}", "--predictor", "frequencies:prior=much", *OUT],
        "predictor frequencies: prior: expected a number, got 'much'",
    ),
    "impossible parameter": (
        ["{trace}", "--predictor", "frequencies:prior=-1", *OUT],
        "predictor frequencies: prior: expected more than 0",
    ),
    "a window beyond all time": (
        ["{trace}", "--predictor", f"perfect:window={2**63}", *OUT],
        f"predictor perfect: window: expected at most {2**63 - 1}, got {2**63}",
    ),
    "no window": (
        ["{trace}", "--predictor", "none:window=0", *OUT],
        "predictor none: window: expected at least 1, got 0",
    ),
    "no parameter": (["{trace}", "--predictor", "none:window", *OUT], "expected name=value"),
    "not a choice": (
        ["{trace}", "--predictor", "kumar:model=big", *OUT],
        "predictor kumar: model: expected one of shared single",
    ),
    "a forecast as predictor": (
        ["{trace}", "--predictor", "{tmp}/old.npz", *OUT],
        "old.npz: not a stored predictor",
    ),
    "a text as predictor": (
        ["{trace}", "--predictor", "{tmp}/mine.txt", *OUT],
        "mine.txt: not readable as a stored predictor",
    ),
    "training for nothing": (
        ["{trace}", "--predictor", "perfect", "--train", "{trace}", *OUT],
        "--train: the predictor perfect does not learn",
    ),
    "a boundary for nothing": (
        ["{trace}", "--predictor", "none", "--boundary", "0.5", *OUT],
        "--boundary: the predictor none does not learn",
    ),
    "saving for nothing": (
        ["{trace}", "--predictor", "elsayed", "--save", "{tmp}/p.npz", *OUT],
        "--save: the predictor elsayed does not learn",
    ),
    "two parts": (
        ["{trace}", "--predictor", "frequencies", "--train", "{trace}", "--boundary", ".5", *OUT],
        "--boundary: cannot be combined with --train",
    ),
    "no share": (
        ["{trace}", "--predictor", "frequencies", "--boundary", "1", *OUT],
        "--boundary: expected a share in (0, 1), got 1",
    ),
    "no training trace": (
        ["{trace}", "--predictor", "frequencies", "--train", "{tmp}/nowhere", *OUT],
        "nowhere",
    ),
    "one file for both": (
        ["{trace}", "--predictor", "frequencies", "--save", "{tmp}/f.npz", *OUT],
        "--save: expected a file of its own, got {tmp}/f.npz",
    ),
    "the table in the forecast": (
        ["{trace}", "--predictor", "none", "--json", "{tmp}/f.npz", *OUT],
        "--json: expected a file of its own, got {tmp}/f.npz",
    ),
    "a file of mine": (
        ["{trace}", "--predictor", "none", "--out", "{tmp}/mine.txt"],
        "--out {tmp}/mine.txt: exists and is not a saved forecast: not overwritten",
    ),
    "a forecast as predictor to save": (
        ["{trace}", "--predictor", "frequencies", "--save", "{tmp}/old.npz", *OUT],
        "--save {tmp}/old.npz: exists and is not a stored predictor: not overwritten",
    ),
    "a folder as out": (
        ["{trace}", "--predictor", "none", "--out", "{tmp}"],
        "is a folder or a device, expected a file",
    ),
    "a device as out": (
        ["{trace}", "--predictor", "none", "--out", os.devnull],
        "is a folder or a device, expected a file",
    ),
    "no folder for out": (
        ["{trace}", "--predictor", "none", "--out", "{tmp}/nowhere/f.npz"],
        "no such folder",
    ),
    "in the trace": (
        ["{trace}", "--predictor", "none", "--out", "{trace}/f.npz"],
        "lies in the folder of a saved trace: not written",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line(
    case: str, stored: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    assert forecast(stored, "none", tmp_path / "old.npz") == 0
    capsys.readouterr()
    arguments, expected = BAD[case]
    known = {"{tmp}": str(tmp_path), "{trace}": str(stored)}

    def filled(text: str) -> str:
        for name, value in known.items():
            text = text.replace(name, value)
        return text

    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    held = sorted(os.listdir(stored))
    assert invoke("trace", "forecast", *map(filled, arguments)) == 2
    shown = capsys.readouterr()
    assert filled(expected) in shown.err
    assert shown.err.startswith("failgym: ")
    assert shown.err.count("\n") == 1
    assert shown.out == ""
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert sorted(os.listdir(stored)) == held


def test_bad_forecasts_to_evaluate_with(
    stored: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert forecast(stored, "none", tmp_path / "f.npz") == 0
    (tmp_path / "mine.txt").write_text("mine")
    capsys.readouterr()
    command = ("evaluate", "--env", "GracePeriod-v1", "--policy", "replay", "--set", "jobs=50")
    for given, expected in (
        (("--forecast", tmp_path / "f.npz"), "f.npz: forecast of another trace: made for"),
        (("--forecast", tmp_path / "mine.txt"), "mine.txt: not readable as a saved forecast"),
        (("--forecast", "oracle"), "forecast: expected one of none, perfect"),
        (("--forecast", "none", "--set", "forecast=none"), "forecast is given twice"),
    ):
        assert invoke(*command, *given) == 2
        shown = capsys.readouterr().err
        assert expected in shown
        assert shown.count("\n") == 1


def test_a_predictor_that_fails_costs_no_file(
    stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An older forecast stays, and so does the predictor that was fitted at length."""
    assert forecast(stored, "none", tmp_path / "f.npz") == 0
    before = (tmp_path / "f.npz").read_bytes()

    def fail(self: Frequencies, trace: Trace) -> None:
        raise ValueError("the cat sat on it")

    monkeypatch.setattr(Frequencies, "predict", fail)
    saved = ("--save", tmp_path / "p.npz")
    assert forecast(stored, "frequencies", tmp_path / "f.npz", *saved) == 2
    assert (tmp_path / "f.npz").read_bytes() == before
    assert load_predictor(tmp_path / "p.npz").prior == 1.0
    assert sorted(os.listdir(tmp_path)) == ["f.npz", "p.npz"]


def test_help_names_the_predictors(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke("trace", "forecast", "--help") == 0
    shown = capsys.readouterr().out
    for name in ("none", "perfect", "elsayed", "random_forest", "two_level_network"):
        assert name in shown
