"""The command: what it prints and writes, and one line for bad input."""

from __future__ import annotations

import importlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer.main

from failgym.baselines import REGISTRY
from failgym.cli import app, run
from failgym.cli.compared import ACCOUNTS
from failgym.envs import SCENARIOS, resolve
from failgym.predictors import Perfect, save_forecast
from failgym.traces import Outcome, Trace, toy
from failgym.traces.synthetic import PROFILES, generate
from tests.envs.worlds import small

SMALL = ("--set", "jobs=1500", "--set", "slice_tasks=16", "--set", "trace_seed=1")
"""Of Checkpoint-v1, where something can be gained in it."""


def invoke(*arguments: str | int | Path) -> int:
    return run([str(argument) for argument in arguments])


def load(file: Path) -> Any:
    return json.loads(file.read_text("utf-8"))


def flags(command: Any) -> Iterator[str]:
    """The flags of a command and of those below it, as their help shows them."""
    for option in command.params:
        if getattr(option, "is_flag", False):
            yield option.opts[0]
    for below in getattr(command, "commands", {}).values():
        yield from flags(below)


def test_help_shows_no_value_for_a_flag(capsys: pytest.CaptureFixture[str]) -> None:
    """`--oracle <bool>` stood there, and `--oracle true` was refused."""
    assert {"--oracle", "--quick", "--resume"} <= set(flags(typer.main.get_command(app)))
    for words in (["--help"], ["evaluate", "--help"], ["assess", "--help"], ["train", "--help"]):
        assert invoke(*words) == 0
        assert "bool" not in capsys.readouterr().out.lower()


def helps(command: Any) -> Iterator[str]:
    """The help texts of a command and of those below it."""
    yield command.help or ""
    for below in getattr(command, "commands", {}).values():
        yield from helps(below)


def test_help_is_broken_into_lines_by_the_terminal_alone() -> None:
    """A line break of the code inside of a paragraph would stand where the terminal has another."""
    texts = list(helps(typer.main.get_command(app)))
    assert len(texts) > 20
    assert [text for text in texts if "\n" in text.replace("\n\n", "")] == []


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """A stored trace with tasks of known and unknown fate."""
    folder = tmp_path / "trace"
    generate("google-2011", jobs=60, seed=2).save(folder)
    return folder


def test_help_and_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], ["--help"]):
        assert invoke(*arguments) == 0
        shown = capsys.readouterr().out
        for command in ("demo", "envs", "evaluate", "replay", "trace"):
            assert command in shown


def test_envs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke("envs", "--json", tmp_path / "envs.json") == 0
    assert "failgym/Cloning-v1" in capsys.readouterr().out
    assert list(load(tmp_path / "envs.json")) == [f"failgym/{name}" for name in SCENARIOS]


def test_evaluate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "scores.json"
    policies = ["--policy", "young", "--policy", "young:factor=2", "--policy", "replay"]
    arguments = ["evaluate", "--env", "failgym/Checkpoint-v1", *policies, "--episodes", "20"]
    assert invoke(*arguments, "--seed", "4", *SMALL, "--json", file) == 0
    written = load(file)
    assert written["env"] == "failgym/Checkpoint-v1"
    assert [row["policy"] for row in written["policies"]] == ["young", "young:factor=2", "replay"]
    assert written["policies"][2]["score"] == 0.0
    assert {row["episodes"] for row in written["policies"]} == {20}
    assert {row["split"] for row in written["policies"]} == {"test"}
    shown = capsys.readouterr()
    assert "young:factor=2" in shown.out
    assert shown.err == ""


SCHEDULED = ("--set", "jobs=300", "--set", "trace_seed=1", "--set", "begin=0")
REFERENCES = {
    "pinned": ("Cloning-v1", ("--set", "jobs=3000"), "retry_cap", "clairvoyant"),
    "scheduled": ("Mitigation-v1", SCHEDULED, "young", "bound"),
}
"""World -> an environment, settings with which something can be gained there, a policy, and 100."""


@pytest.mark.parametrize("world", REFERENCES)
def test_what_0_and_100_stand_for_have_rows_whoever_is_asked(
    world: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, (env, settings, policy, bound) = tmp_path / "scores.json", REFERENCES[world]
    for asked in ([policy], [policy, "replay"]):
        named = [word for name in asked for word in ("--policy", name)]
        arguments = ["--env", env, *named, *settings, "--episodes", 20, "--json", file]
        assert invoke("evaluate", *arguments) == 0
        written = load(file)
        scores, beside = capsys.readouterr().out.split("beside the scores")
        for table in (scores, beside):
            first = [line.split()[0] for line in table.splitlines() if line.split()]
            assert [first.count(name) for name in (policy, bound, "replay")] == [1, 1, 1]
        cells = {line.split()[0]: line.split()[1:] for line in scores.splitlines() if line.split()}
        assert cells["replay"][:6] == ["0.0", "0.0", "to", "0.0", "100.0", "%"]
        assert cells["replay"][-2:] == [f"{written['replay']['forfeited']:,}", "0"]
        assert cells[bound][:4] == ["100.0", "100.0", "to", "100.0"]
        assert cells[bound][-2:] == ["-", "-"]
        assert [row["policy"] for row in written["policies"]] == asked


def test_a_log_on_which_nothing_can_be_saved_has_no_scores(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A log of jobs that run once, as archives of parallel workloads are: nothing is started again.

    It gave the score -766098049075069952.0: rounding, divided by rounding.
    """
    log, rng = tmp_path / "log.swf", np.random.default_rng(0)
    lines = [
        f"{n} {60 * n} 0 {rng.integers(600, 90_000)} {rng.integers(1, 9)} -1 -1 -1 -1 -1"
        f" {rng.integers(0, 2)} 1 1 -1 1 1 -1 -1\n"
        for n in range(1, 120)
    ]
    log.write_text("".join(lines))
    assert invoke("trace", "import", "swf", log, "--out", tmp_path / "kth") == 0
    capsys.readouterr()
    file = tmp_path / "scores.json"
    arguments = ["--env", "failgym/Checkpoint-v1", "--set", f"trace={tmp_path / 'kth'}"]
    policies = ["--policy", "young", "--policy", "replay"]
    assert invoke("evaluate", *arguments, *policies, "--json", file) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("failgym: forecast=auto: GradientBoosting: nothing to learn from in ")
    assert line.endswith("; set forecast=none")
    arguments += ["--set", "forecast=none"]
    assert invoke("evaluate", *arguments, *policies, "--json", file) == 0
    shown, written = capsys.readouterr().out, load(file)
    said = "nothing to gain here: the bound saves 0.0 machine-hours' worth, 0.00 % of what replay"
    assert said in shown
    for row in (*written["policies"], written["replay"], written["clairvoyant"]):
        assert [row[name] for name in ("score", "low", "high")] == [None] * 3
        assert row["reason"].startswith(said)
        assert abs(row["room_share"]) < 1e-9
    for row in (line.split() for line in shown.split("beside the scores")[0].splitlines()):
        assert row[:1] not in (["young"], ["replay"]) or row[1:3] == ["-", "-"]


UNPLAYABLE = [
    (
        ("GracePeriod-v1", "algorithm_1"),
        "set clone=true, retry=true, or play it in Cloning-v1 or Mitigation-v1",
    ),
    (("GracePeriod-v1", "grace_period", "--set", "forecast=none"), "for example forecast=rosa"),
    (("Checkpoint-v1", "expected_loss", "--set", "forecast=none"), "for example forecast=elsayed"),
]


@pytest.mark.parametrize(("case", "said"), UNPLAYABLE)
def test_a_policy_that_cannot_act_is_told_what_is_missing(
    case: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would score 0.0, like one that chose to do nothing."""
    env, policy, *settings = case
    arguments = ["evaluate", "--env", env, "--policy", "replay", "--policy", policy, *settings]
    assert invoke(*arguments, "--set", "jobs=400") == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    [line] = shown.err.splitlines()
    assert line.startswith(f"failgym: policy '{policy}': needs ")
    assert said in line


def test_a_policy_that_never_acted_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policies = [f"{__name__}:Eager", "young", "replay"]
    named = [word for policy in policies for word in ("--policy", policy)]
    file = tmp_path / "scores.json"
    arguments = ["--env", "Checkpoint-v1", *SMALL, "--episodes", 4, "--json", file]
    assert invoke("evaluate", *named, *arguments) == 0
    assert f"left every task as replay does: {policies[0]}\n" in capsys.readouterr().out
    assert [row["same_as_replay"] for row in load(file)["policies"]] == [True, False, True]


def test_the_room_and_what_intervals_are_of_are_said(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["evaluate", "--env", "Checkpoint-v1", "--policy", "young", *SMALL]
    assert invoke(*arguments, "--episodes", 20) == 0
    shown = capsys.readouterr().out
    assert re.search(r"room: in these [0-9]+ tasks the bound saves [0-9.]+ machine-hours", shown)
    grace = ["evaluate", "--env", "GracePeriod-v1", "--policy", "grace_period", "--set", "jobs=400"]
    assert invoke(*grace) == 0
    several = capsys.readouterr().out
    assert re.search(r"intervals are of this trace: [0-9]+ blocks of jobs resampled", several)
    assert "says little" not in several
    few_tasks = ["--set", "slice_tasks=1", "--episodes", 8]
    assert invoke(*grace[:-1], "jobs=500", *few_tasks) == 0
    few = capsys.readouterr().out
    assert re.search(r"\([0-9] blocks of jobs\)", few)
    assert "fewer than 10 blocks of jobs says little" in few
    assert invoke(*grace, "--set", "trace=google-2011") == 0
    apart = capsys.readouterr().out
    assert re.search(r"intervals are of this trace: [0-9]+ jobs resampled", apart)
    for word in ("wasted", "redundant", "ghost", "forfeited", "false kills", "what replay spends"):
        assert f"{word}" in shown.split("score: 0 is replay")[1]


def test_a_second_table_says_what_stands_beside_scores(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "scores.json"
    policies = ["--policy", "young", "--policy", "young:factor=2.5", "--policy", "replay"]
    assert invoke("evaluate", "--env", "Checkpoint-v1", *policies, *SMALL, "--json", file) == 0
    shown = capsys.readouterr().out
    _, beside = shown.split("beside the scores")
    assert max(len(line) for line in beside.splitlines() if "─" in line) <= 100
    for row in load(file)["policies"][:2]:
        [cells] = [
            line.split() for line in beside.splitlines() if line.split()[:1] == [row["policy"]]
        ]
        assert float(cells[1].replace(",", "")) == pytest.approx(row["saved_hours"], rel=0.01)
        assert cells[-2:] == [f"{100 * row['drawn_share']:.1f}", "%"]
        assert cells[-4:-2] == [f"{100 * row['saving_in_top']:.1f}", "%"]
    row = load(file)["policies"][0]
    of = f"{row['stakes']} jobs the largest holds {100 * row['stake_in_top']:.1f} % of it"
    assert f"stake: of {of}, the top 1 % (" in shown
    assert "IQM of\n" not in beside
    assert "no IQM of traces: one trace\n" in beside


def test_prices_rank_policies_where_each_is_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """At a quarter of the value of a task trying everything again does not pay any more."""
    file, names = tmp_path / "scores.json", ("reroll", "give_up", "replay")
    policies = [word for name in names for word in ("--policy", name)]
    arguments = ["evaluate", "--env", "Cloning-v1", *policies, "--set", "jobs=3000", "--json", file]
    assert invoke(*arguments, "--prices") == 0
    shown, written = capsys.readouterr().out.split("at other prices")[1], load(file)
    found = {at["name"]: {p["policy"]: p for p in at["policies"]} for at in written["prices"]}
    assert list(found) == ["as it is", "value 1", "value 16", "waiting x 0.5", "waiting x 2"]
    assert [at["proven_factor"] for at in written["prices"]] == pytest.approx([1.0] * 5)
    for row in written["policies"]:
        here = found["as it is"][row["policy"]]
        assert [here["score"], here["cost"]] == [row["score"], row["cost"]]
        costs, rank = row["costs"], {name: at[row["policy"]] for name, at in found.items()}
        assert rank["value 1"]["cost"] == pytest.approx(row["cost"] - 0.75 * costs["forfeited"])
        assert rank["waiting x 2"]["cost"] == pytest.approx(row["cost"] + costs["completion"])
        [line] = [line for line in shown.splitlines() if line.split()[:1] == [row["policy"]]]
        assert line.split()[2::2] == [f"({at['rank']})" for at in rank.values()]
    for at in found.values():
        by_cost = sorted(at.values(), key=lambda p: p["cost"])
        assert [p["rank"] for p in by_cost] == sorted(p["rank"] for p in by_cost)
    assert found["value 16"]["reroll"]["rank"] == 1 != found["value 1"]["reroll"]["rank"]
    assert "cheapest at all prices: none of them\n" in shown
    assert invoke(*arguments) == 0
    assert "prices" not in load(file)


def test_several_traces_are_scored_together(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    grace = ["evaluate", "--env", "GracePeriod-v1", "--policy", "grace_period", "--set", "jobs=400"]
    file = tmp_path / "scores.json"
    assert invoke(*grace, "--traces", 2, "--json", file) == 0
    shown = capsys.readouterr().out
    assert re.search(r"intervals are of traces like these: 2 traces resampled, then their", shown)
    rows = load(file)
    assert [rows["replay"]["traces"], rows["policies"][0]["traces"]] == [2, 2]
    assert invoke(*grace, "--traces", 0) == 2
    assert "traces: expected a whole number, at least 1, got 0" in capsys.readouterr().err


def test_evaluate_on_the_train_split(tmp_path: Path) -> None:
    file = tmp_path / "scores.json"
    arguments = ["evaluate", "--env", "Checkpoint-v1", "--policy", "young", *SMALL]
    assert invoke(*arguments, "--set", "split=train", "--episodes", 2, "--json", file) == 0
    assert load(file)["policies"][0]["split"] == "train"


class Eager:
    """Saves whenever it may if actions are drawn, and else never."""

    name = "eager"

    def predict(self, observation: Any, state: Any = None, **asked: Any) -> tuple[Any, Any]:
        saves = (observation[:, -3] > 0) & (not asked["deterministic"])
        return np.where(saves, 2, 0), state


def test_evaluate_shows_the_oracle_beside_the_bound(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "scores.json"
    grace = ["evaluate", "--env", "GracePeriod-v1", "--policy", "grace_period", "--set", "jobs=400"]
    assert invoke(*grace, "--oracle", "--json", str(file)) == 0
    shown = capsys.readouterr().out
    assert "oracle" in shown
    assert "clairvoyant" in shown
    document = json.loads(file.read_text())
    assert document["oracle"]["score"] == pytest.approx(100.0)
    assert document["oracle"]["cost"] == pytest.approx(document["clairvoyant"]["cost"])
    assert invoke(*grace, "--json", str(file)) == 0
    assert "oracle" not in json.loads(file.read_text())


def test_evaluate_with_drawn_actions(tmp_path: Path) -> None:
    policy = f"{__name__}:Eager"
    arguments = ["evaluate", "--env", "Checkpoint-v1", "--policy", policy, *SMALL]
    scores: dict[bool, float] = {}
    for drawn in (False, True):
        file = tmp_path / f"{drawn}.json"
        options = ["--drawn"] if drawn else []
        assert invoke(*arguments, "--episodes", 20, *options, "--json", file) == 0
        assert load(file)["drawn"] == drawn
        scores[drawn] = load(file)["policies"][0]["score"]
    assert scores[False] == 0.0
    assert scores[True] != 0.0


def test_demo(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In environments of few tasks."""
    for name, scenario in SCENARIOS.items():
        pinned = {"jobs": 1500, "slice_tasks": 16, "trace_seed": 4}
        fields = pinned if scenario.world == "pinned" else small(name)
        monkeypatch.setitem(SCENARIOS, name, resolve(name, fields))
    assert_demo_shows_every_baseline(tmp_path, capsys, episodes=8)


@pytest.mark.campaign
def test_demo_as_registered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert_demo_shows_every_baseline(tmp_path, capsys, episodes=2)


def assert_demo_shows_every_baseline(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], episodes: int
) -> None:
    assert invoke("demo", "--episodes", episodes, "--json", tmp_path / "demo.json") == 0
    shown = capsys.readouterr()
    told = [line.partition(":")[0] for line in shown.err.splitlines()]
    assert list(dict.fromkeys(told)) == list(SCENARIOS), "progress, though it is no terminal"
    environments = load(tmp_path / "demo.json")["environments"]
    assert list(environments) == [f"failgym/{name}" for name in SCENARIOS]
    for name, scenario in SCENARIOS.items():
        rows = {row["policy"]: row for row in environments[f"failgym/{name}"]}
        compatible = {b.name for b in REGISTRY.values() if b.compatible(scenario)}
        bound = "clairvoyant" if scenario.world == "pinned" else "bound"
        assert set(rows) == compatible | {bound}
        assert rows["replay"]["score"] == 0.0
        assert rows[bound]["score"] == pytest.approx(100.0)
        assert all(row["score"] <= 100.0 + 1e-6 for row in rows.values())
        for policy in rows:
            assert policy in shown.out


def test_demo_of_one_environment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    few = resolve("Cloning-v1", {"jobs": 1500, "slice_tasks": 16, "trace_seed": 4})
    monkeypatch.setitem(SCENARIOS, "Cloning-v1", few)
    file = tmp_path / "demo.json"
    for name in ("failgym/Cloning-v1", "Cloning-v1"):
        assert invoke("demo", "--env", name, "--episodes", 4, "--json", file) == 0
        assert list(load(file)["environments"]) == ["failgym/Cloning-v1"]
    capsys.readouterr()
    assert invoke("demo", "--env", "Nowhere-v1") == 2
    assert "--env Nowhere-v1: expected one of Cloning-v1," in capsys.readouterr().err


def test_replay_compares_every_task(stored: Path, tmp_path: Path) -> None:
    assert invoke("replay", stored, "--policy", "replay", "--json", tmp_path / "r.json") == 0
    written, trace = load(tmp_path / "r.json"), Trace.load(stored)
    assert written["tasks"] == trace.rows("tasks")
    assert written["mismatches"] == 0
    assert written["trace"] == trace.content_hash


@pytest.mark.parametrize("policy", ["algorithm_1", "grace_period", "young", "random:seed=2"])
def test_replay_with_a_policy(policy: str, stored: Path, tmp_path: Path) -> None:
    settings = ["--set", "decide=every", "--set", "grace=false"]
    file = tmp_path / "r.json"
    assert invoke("replay", stored, "--policy", policy, *settings, "--json", file) == 0
    written, trace = load(file), Trace.load(stored)
    assert written["policy"] == policy
    assert written["tasks"] == (trace.task_outcome != Outcome.CENSORED).sum()
    assert written["decisions"] > 0
    assert written["changed"] > 0
    assert "mismatches" not in written, "what a policy changed is no fault of the replay"


def printed(text: str, name: str) -> float:
    """The number in the row of a table."""
    [row] = [line for line in text.splitlines() if line.strip().startswith(f"{name} ")]
    return float(row.strip().removeprefix(name).split()[0].replace(",", ""))


def test_the_totals_of_machine_time_reconcile(
    stored: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of the whole trace, of what is replayed, and of the tasks that a policy is charged for."""
    assert invoke("trace", "info", stored, "--json", tmp_path / "info.json") == 0
    tables = load(tmp_path / "info.json")["tables"]
    rows = tables["machine_time_by_part"]["rows"]
    by_part = [(row["count"], row["machine-time [ms]"]) for row in rows]
    (tasks, known), (cut_off, ended), (_, running), (whole, total) = by_part
    assert (
        known + ended + running == total == tables["machine_time"]["rows"][-1]["machine-time [ms]"]
    )
    assert tasks + cut_off == whole
    assert min(known, ended, running) > 0
    covered = {"replay": (whole, known + ended), "algorithm_1": (tasks, known)}
    for policy, (count, spent) in covered.items():
        capsys.readouterr()
        file = tmp_path / f"{policy}.json"
        assert invoke("replay", stored, "--policy", policy, "--json", file) == 0
        written, shown = load(file), capsys.readouterr().out
        assert (written["tasks"], written["recorded_work"]) == (count, spent)
        assert sum(written["trace_work"].values()) == total
        assert f"of these {count:,} tasks" in shown
        assert f"machine-time of the trace: {total / 3_600_000:,.0f} h = " in shown
        parts = [name for name, work in written["work"].items() if work]
        here = sum(printed(shown, f"- {name} [h]") for name in parts)
        assert here == pytest.approx(printed(shown, "machine-time here [h]"), abs=0.5 * len(parts))
    assert load(tmp_path / "replay.json")["work"]["useful"] > 0
    assert sum(load(tmp_path / "replay.json")["work"].values()) == known + ended


def test_what_a_policy_changed_is_called_so(
    stored: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke("replay", stored) == 0
    shown = capsys.readouterr().out
    assert printed(shown, "mismatches") == 0
    assert "there should be none" in shown
    assert invoke("replay", stored, "--policy", "algorithm_1") == 0
    shown = capsys.readouterr().out
    assert "mismatches" not in shown
    assert printed(shown, "changed") > 0
    assert "tasks that the policy changed" in shown
    named = [word for word in ACCOUNTS if f"- {word} [h]" in shown]
    assert {"useful", "lost"} <= set(named)
    assert all(ACCOUNTS[word] in shown for word in named)


def test_synth_and_info(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "deep" / "trace"
    assert invoke("trace", "synth", "system-a", "--out", out, "--jobs", 30, "--seed", 5) == 0
    assert Trace.load(out).content_hash == generate("system-a", jobs=30, seed=5).content_hash
    assert invoke("trace", "info", out, "--json", tmp_path / "info.json") == 0
    assert "success_by_failures" in load(tmp_path / "info.json")["tables"]
    shown = capsys.readouterr().out
    assert "Success by number of past failures" in shown
    for outcome in Outcome:
        assert f"{outcome.name}: " in shown, "each word of the tables is explained"


def test_an_older_trace_is_replaced(tmp_path: Path) -> None:
    out = tmp_path / "trace"
    for seed in (1, 2):
        assert invoke("trace", "synth", "system-a", "--out", out, "--jobs", 5, "--seed", seed) == 0
    assert Trace.load(out).content_hash == generate("system-a", jobs=5, seed=2).content_hash
    assert os.listdir(tmp_path) == ["trace"]


MEANINGLESS = (
    *("name=x", "trace=system-a", "jobs=5", "trace_seed=1", "split=all", "boundary=0.5"),
    *("select=all", "max_attempts=5", "slice_tasks=5", "order=time", "weight_wasted=2"),
)


@pytest.mark.parametrize("setting", MEANINGLESS)
def test_replay_refuses_what_means_nothing_there(
    setting: str, stored: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke("replay", stored, "--policy", "algorithm_1", "--set", setting) == 2
    shown = capsys.readouterr()
    assert f"--set: {setting.partition('=')[0]} changes nothing" in shown.err
    assert (shown.out, shown.err.count("\n")) == ("", 1)


def test_replay_with_a_stored_forecast(stored: Path, tmp_path: Path) -> None:
    trace, window = Trace.load(stored), SCENARIOS["GracePeriod-v1"].window
    save_forecast(Perfect(window=window).fit(trace).predict(trace), tmp_path / "mine.npz")
    results: list[Any] = []
    for forecast in ("perfect", tmp_path / "mine.npz"):
        settings, file = ["--set", f"forecast={forecast}"], tmp_path / "r.json"
        assert invoke("replay", stored, "--policy", "grace_period", *settings, "--json", file) == 0
        results.append(load(file)["work"])
    assert results[0] == results[1]


BROKEN = {
    "return None": "expected (actions, state) from predict, got NoneType",
    "return 0 * observation[:, 0].astype(int)": "got ndarray",
    "return [[0], [0, 1]], None": "whole numbers",
    "return 0 * observation[:, 0], None": "whole numbers",
    "return 0 * observation[:, 0].astype(int) - 1, None": "from 0 to 4, got -1",
    "raise KeyError('x')": "predict raised KeyError: 'x'",
    "raise SystemExit(0)": "predict raised SystemExit: 0",
}


@pytest.mark.parametrize("body", BROKEN)
def test_a_broken_policy_is_named_in_one_line(
    body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broken_module.py").write_text(
        f"class Broken:\n    def predict(self, observation, **_):\n        {body}\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    monkeypatch.delitem(sys.modules, "broken_module", raising=False)
    importlib.invalidate_caches()
    policy = ["--policy", "broken_module:Broken", "--episodes", "2"]
    assert invoke(*EVALUATE, *policy, "--json", tmp_path / "r.json") == 2
    shown = capsys.readouterr().err
    assert "policy 'broken_module:Broken'" in shown
    assert BROKEN[body] in shown
    assert shown.count("\n") == 1
    assert not (tmp_path / "r.json").exists()


def test_want_of_memory_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def greedy(*_: Any, **__: Any) -> Any:
        raise MemoryError("Unable to allocate 9 TiB")

    monkeypatch.setattr("failgym.traces.synthetic.generate", greedy)
    assert invoke("trace", "synth", "system-a", "--out", tmp_path / "t") == 2
    assert capsys.readouterr().err == "failgym: not enough memory: Unable to allocate 9 TiB\n"


def test_synth_names_all_profiles(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    assert invoke("trace", "synth", "--help") == 0
    assert ", ".join(PROFILES) in capsys.readouterr().out


@pytest.mark.parametrize("link", ["full", "nowhere", "trace"])
def test_a_link_as_out_is_refused_before_the_work(
    link: str, stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError("the work was begun")

    monkeypatch.setattr("failgym.traces.synthetic.generate", never)
    (tmp_path / "link").symlink_to(tmp_path / link)
    assert invoke("trace", "synth", "system-a", "--out", tmp_path / "link") == 2
    assert (tmp_path / "link").is_symlink()
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "meta.json").write_text('{"format": "other"}')
    assert invoke("trace", "synth", "system-a", "--out", foreign) == 2
    assert os.listdir(foreign) == ["meta.json"]
    assert stored.is_dir()


UNDECODABLE = os.fsdecode(b"caf\xe9")


@pytest.mark.parametrize(
    "arguments",
    [
        ["trace", "synth", "system-a", "--jobs", "5", "--out", UNDECODABLE],
        ["trace", "import", "google-2011", UNDECODABLE, "--out", "t"],
        ["trace", "info", UNDECODABLE],
        ["replay", UNDECODABLE],
    ],
)
def test_a_name_that_is_no_text_is_one_clear_line(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(*arguments) == 2
    shown = capsys.readouterr().err
    assert "caf\\xe9: the name is not valid UTF-8" in shown
    assert shown.count("\n") == 1


EVALUATE = ["evaluate", "--env", "Checkpoint-v1", *SMALL]
BAD: dict[str, tuple[list[str], str]] = {
    "no command": (["nonsense"], "nonsense"),
    "no option": (["demo", "--nonsense"], "nonsense"),
    "no policy": (["evaluate", "--env", "Checkpoint-v1"], "--policy"),
    "no environment": (["evaluate", "--env", "Clonning-v0", "--policy", "replay"], "Cloning-v1"),
    "unknown policy": ([*EVALUATE, "--policy", "yong"], "did you mean young"),
    "unknown policy field": ([*EVALUATE, "--policy", "young:factr=2"], "did you mean factor"),
    "wrong policy value": ([*EVALUATE, "--policy", "young:factor=a"], "expected a number"),
    "empty policy": ([*EVALUATE, "--policy", ""], "expected the name of a baseline"),
    "stored agent": ([*EVALUATE, "--policy", "agent.zip"], "expected a file .json or .safetensors"),
    "unknown field": ([*EVALUATE, "--policy", "young", "--set", "jbs=3"], "did you mean jobs"),
    "wrong value": ([*EVALUATE, "--policy", "young", "--set", "factor=big"], "a number"),
    "no forecast": ([*EVALUATE, "--policy", "young", "--set", "forecast=oracle"], "forecast"),
    "no trace": ([*EVALUATE, "--policy", "young", "--set", "trace=nowhere"], "trace"),
    "no episodes": ([*EVALUATE, "--policy", "young", "--episodes", "0"], "episodes"),
    "demo of no episodes": (["demo", "--episodes", "0"], "episodes"),
    "not a number": (
        [*EVALUATE, "--policy", "young", "--episodes", "few"],
        "--episodes: expected a whole number, got 'few'",
    ),
    "a float": (["train", "--steps", "1e6"], "--steps: expected a whole number, got '1e6'"),
    "below the least": (["assess", "t", "--task-value", "-1"], "--task-value: expected at least 0"),
    "no argument": (["assess"], "'TRACE': The folder of a trace"),
    "a forgotten format": (["trace", "import", "log.csv", "--out", "t"], "'SOURCE': The files of"),
    "a module as a file": ([*EVALUATE, "--policy", "mine.py:Impatient"], "such as mine:Impatient"),
    "a text as a policy": ([*EVALUATE, "--policy", "{tmp}/file"], "a file .json or .safetensors"),
    "a row of tables": ([*EVALUATE, "--policy", "clairvoyant"], "ends and is no policy"),
    "all": ([*EVALUATE, "--policy", "all"], "did you mean all-baselines"),
    "capital letters": (["evaluate", "--env", "CLONING-V1", "--policy", "replay"], "Cloning-v1?"),
    "a system": (["assess", "--format", "slurm", "x", "--out", "{tmp}/t"], "did you mean sacct?"),
    "a kind of file": (["trace", "import", "csv", "x", "--out", "{tmp}/t"], "did you mean table?"),
    "a log as a trace": (
        [*EVALUATE, "--policy", "young", "--set", "trace={tmp}/file"],
        "is a file, expected the folder of a saved trace; `failgym trace import` reads a log",
    ),
    "a log to describe": (["trace", "info", "{tmp}/file"], "is a file, expected the folder of a"),
    "negative seed": ([*EVALUATE, "--policy", "young", "--seed", "-1"], "seed"),
    "no JSON folder": (["demo", "--json", "{tmp}/nowhere/demo.json"], "no such folder"),
    "JSON folder": (["envs", "--json", "{tmp}"], "is a folder"),
    "no trace folder": (["replay", "{tmp}/nowhere"], "no such folder"),
    "an empty folder": (["trace", "info", "{tmp}"], "meta.json"),
    "unknown format": (["trace", "import", "gogle-2011", "x", "--out", "{tmp}/t"], "google-2011"),
    "no source": (["trace", "import", "google-2011", "{tmp}/x", "--out", "{tmp}/t"], "no such"),
    "an empty source": (["trace", "import", "google-2011", "{tmp}", "--out", "{tmp}/t"], "events"),
    "unknown profile": (["trace", "synth", "google", "--out", "{tmp}/t"], "google-2011"),
    "no jobs": (["trace", "synth", "system-a", "--out", "{tmp}/t", "--jobs", "0"], "jobs"),
    "no out": (["trace", "synth", "system-a"], "--out"),
    "a file as out": (["trace", "synth", "system-a", "--out", "{tmp}/file"], "not a folder"),
    "a foreign out": (["trace", "synth", "system-a", "--out", "{tmp}/full"], "not overwritten"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "work"
    (folder / "full").mkdir(parents=True)
    (folder / "full" / "mine.txt").write_text("mine")
    (folder / "file").write_text("mine")
    empty = tmp_path / "empty"
    empty.mkdir()
    arguments, expected = BAD[case]
    base = folder if any("/full" in a or "/file" in a for a in arguments) else empty
    before = sorted(base.rglob("*"))
    assert invoke(*(a.replace("{tmp}", str(base)) for a in arguments)) == 2
    shown = capsys.readouterr()
    assert expected in shown.err
    assert shown.err.startswith("failgym: ")
    assert shown.err.count("\n") == 1
    assert shown.out == ""
    assert sorted(base.rglob("*")) == before


def test_a_changed_trace_is_refused(stored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    toy().save(stored.parent / "other")
    (stored / "jobs.parquet").write_bytes((stored.parent / "other/jobs.parquet").read_bytes())
    assert invoke("replay", stored) == 2
    assert "hash" in capsys.readouterr().err


def test_a_failed_run_leaves_the_old_json(tmp_path: Path) -> None:
    file = tmp_path / "scores.json"
    file.write_text("old")
    assert invoke(*EVALUATE, "--policy", "young", "--episodes", 0, "--json", file) == 2
    assert file.read_text() == "old"
    assert os.listdir(tmp_path) == ["scores.json"]


COMMAND = [sys.executable, "-c", "from failgym.cli import main; main()"]


def test_interrupted(tmp_path: Path) -> None:
    script = tmp_path / "failgym"
    script.write_text(
        "import sys\nfrom failgym.cli import main\nprint('begun', flush=True)\nsys.exit(main())\n"
    )
    out = tmp_path / "out"
    out.mkdir()
    process = subprocess.Popen(
        [sys.executable, str(script), "demo", "--json", str(out / "demo.json")],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell's background jobs ignore the signal, and so would their children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    time.sleep(1.5)  # it is at work, or about to be
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.splitlines()[-1] == "failgym: interrupted"  # behind lines of progress
    assert "Traceback" not in err
    assert os.listdir(out) == []


def test_the_command_starts_without_what_it_does_not_need() -> None:
    probe = (
        "import sys; from failgym.cli import run; run(['--help']); "
        "print([m for m in ('numba', 'pandas', 'pyarrow', 'torch') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
