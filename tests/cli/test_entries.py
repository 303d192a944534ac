"""Policies of a leaderboard as they are typed: one option may name many files."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from failgym.baselines import REGISTRY, BlindKill, GracePeriod, Young
from failgym.baselines.stored import save_heuristic
from failgym.cli import run
from failgym.cli.entries import Wanted, _note, read_entries
from failgym.cli.patterns import pattern_files
from failgym.cli.policy_process import COMMAND
from failgym.cli.specs import load_policy
from failgym.envs import SCENARIOS
from failgym.leaderboard import Entry, SuiteWorlds, read_submission, suite_named, verify
from failgym.leaderboard.page.cells import fields_of
from failgym.leaderboard.page.source import read_source
from failgym.leaderboard.policy_process.players import Players
from tests.chains import single_jobs
from tests.leaderboard.boards import ROWS, TINY

TIME_LIMIT = 60.0
"""More than any of these policies takes [s]."""


def touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def named(*texts: str, suite: str = TINY.name) -> Wanted:
    players = Players(load_policy, COMMAND, TIME_LIMIT)
    return read_entries(texts, SuiteWorlds.of(suite_named(suite)), players)


def test_open_words_stand_for_what_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    touch(tmp_path, "A/a-10.x", "A/a-2.x", "A/b-2.x", "A/b-02.x", "A/b-.x", "B/a-1.x", "A/2-2.x")
    (tmp_path / "A" / "c-1.x").mkdir()
    found = pattern_files("{env}/{policy}-{seed}.x", "A")
    assert found == [
        ("A/2-2.x", "2", 2),
        ("A/a-2.x", "a", 2),
        ("A/a-10.x", "a", 10),
        ("A/b-2.x", "b", 2),
    ]
    assert pattern_files("{env}/a-{seed}.x", "A") == [("A/a-2.x", "", 2), ("A/a-10.x", "", 10)]
    assert pattern_files("{env}/{seed}-{seed}.x", "A") == [("A/2-2.x", "", 2)]
    assert pattern_files("{env}/a-1.x", "B") == [("B/a-1.x", "", None)]
    assert pattern_files("{env}/a-1.x", "A") == []


def test_signs_that_mean_something_to_the_shell_are_signs(tmp_path: Path) -> None:
    touch(tmp_path, "[1]*/a-1.x", "1/a-1.x")
    assert [file.seed for file in pattern_files(f"{tmp_path}/[1]*/a-{{seed}}.x", "A")] == [1]


def test_each_tuned_heuristic_is_a_policy(tmp_path: Path) -> None:
    folder = tmp_path / "GracePeriod-v1"
    folder.mkdir()
    for policy in (GracePeriod(), BlindKill()):
        save_heuristic(policy, folder / f"{policy.name}.json")
    entries, notes = named(f"{{policy}}, tuned={tmp_path}/{{env}}/{{policy}}.json")
    assert [entry.name for entry in entries] == ["blind_kill, tuned", "grace_period, tuned"]
    assert {(entry.kind, entry.training_seed) for entry in entries} == {("baseline", None)}
    assert entries[0].specs == {"GracePeriod-v1": f"{folder}/blind_kill.json"}
    assert entries[0].files["GracePeriod-v1"].name == "blind_kill.json"
    assert notes == []


def test_where_files_are_missing_one_line_says_so(tmp_path: Path) -> None:
    for env in ("GracePeriod-v1", "Checkpoint-v1"):
        (tmp_path / env).mkdir()
        save_heuristic(Young(), tmp_path / env / "young.json")
    [entry], notes = named(f"mine={tmp_path}/{{env}}/young.json", suite="smoke")
    assert list(entry.specs) == ["Checkpoint-v1"]
    assert notes == [
        "mine: no file made for Cloning-v1, GracePeriod-v1, Lineage-v1, Workflow-v1, Mitigation-v1"
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mine={env}/{policy}.json", "expected {policy} in the name too"),
        (
            "{policy}=blind_kill",
            "has {policy} in the name, expected it in the file too, got 'blind_kill'",
        ),
        ("{env}/tuned-{seed}.json", "{seed} is for trained agents, .safetensors"),
        ("mine={env}/agent-{seed}.safetensors", "was made for no environment of the suite"),
    ],
)
def test_what_means_nothing_is_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=f"^--policy .*{said.replace('{', '[{]')}"):
        named(text)


def test_all_baselines_are_those_that_can_play() -> None:
    """TINY has one environment, in which tasks may be killed and nothing else."""
    entries, notes = named("all-baselines")
    able = {n for n, kind in REGISTRY.items() if kind.compatible(SCENARIOS["GracePeriod-v1"])}
    assert {entry.name for entry in entries} == able
    assert len(notes) == len(REGISTRY) - len(able)
    assert "young: skipped: was made for no environment of the suite" in notes


def test_a_baseline_does_not_play_on_a_trace_that_lacks_what_it_goes_by(tmp_path: Path) -> None:
    """Jobs of one task that never fail: nobody has siblings, and nobody can be tried again."""
    task = list(range(40))
    ran = {"task": task, "start": [0] * 40, "end": [7_200_000] * 40, "outcome": [0] * 40}
    single_jobs(ran, 40).save(tmp_path / "mine")
    worlds = SuiteWorlds.of(suite_named("v2-real"), {"Mitigation-v1": str(tmp_path / "mine")})
    [late] = [course for course in worlds.suite.courses if course.env == "Mitigation-v1"]
    changes = {**late.changes, "split": "all", "begin": 0, "machines": 4, "load": 0.0}
    worlds = replace(worlds, suite=replace(worlds.suite, courses=(replace(late, changes=changes),)))
    with pytest.raises(
        ValueError, match=r"^--policy late: not played in Mitigation-v1: needs jobs"
    ):
        read_entries(["late"], worlds, Players(load_policy, COMMAND, TIME_LIMIT))
    players = Players(load_policy, COMMAND, TIME_LIMIT)
    entries, notes = read_entries(["all-baselines"], worlds, players)
    played = {entry.name for entry in entries}
    assert {"young", "grace_period", "stop_or_copy"} <= played
    for name, lacks in (("late", "jobs of several tasks"), ("retry_cap", "attempts that fail")):
        assert name not in played
        [note] = [note for note in notes if note.startswith(f"{name}: ")]
        assert f"needs {lacks}: " in note


@pytest.fixture
def trained(tmp_path: Path) -> Callable[..., Path]:
    """A copy of an agent that says that it was trained with another seed.

    Its weights are a little different, unless they are to be the same.
    """
    pytest.importorskip("torch", reason="needs the agents extra")
    pytest.importorskip("sb3_contrib", reason="needs the agents extra")
    from safetensors import safe_open
    from safetensors.numpy import load_file, save_file

    from tests.agents.runs import an_agent

    def copy(seed: int, name: str, same: bool = False) -> Path:
        file = an_agent("GracePeriod-v1")
        with safe_open(file, framework="numpy") as opened:
            about: Any = json.loads(opened.metadata()["failgym"])
        target = tmp_path / "GracePeriod-v1" / f"{name}.safetensors"
        target.parent.mkdir(exist_ok=True)
        arrays = load_file(file)
        arrays["action_net.bias"][0] += 0.0 if same else 0.001 * seed
        save_file(arrays, target, {"failgym": json.dumps({**about, "seed": seed})})
        return target

    return copy


def test_training_runs_of_an_agent_are_one_row(
    tmp_path: Path, trained: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    files = [trained(seed, f"agent-{seed}") for seed in (0, 3)]
    pattern, out = f"mine={tmp_path}/{{env}}/agent-{{seed}}.safetensors", tmp_path / "out"
    words = ["leaderboard", "run", "--suite", TINY.name, "--policy", pattern, "--out", str(out)]
    assert run(words) == 0
    policies = read_submission(out).policies
    assert [policy.key for policy in policies] == [("mine", 0), ("mine", 3)]
    assert [policy.specs["GracePeriod-v1"] for policy in policies] == [str(f) for f in files]
    for field in fields_of([read_source(out)]):
        cell = field.cell("mine")
        assert cell is not None
        assert cell.runs.saved.shape == (2, ROWS // 2)
    assert verify(out).problems == ()

    capsys.readouterr()
    trained(4, "agent-3").rename(files[1])
    assert run(["leaderboard", "verify", str(out)]) == 2
    _, said = capsys.readouterr().out.splitlines()  # behind what was played again
    assert said == (
        f"policy 'mine': {files[1]}: was changed: its hash is not the one in submission.json"
    )
    files[1].unlink()
    assert verify(out).problems == (), "whoever does not have the files verifies the rest"


def test_one_agent_is_no_two_training_runs(
    tmp_path: Path, trained: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    for seed in (0, 3):
        trained(seed, f"agent-{seed}", same=True)
    pattern, out = f"mine={tmp_path}/{{env}}/agent-{{seed}}.safetensors", tmp_path / "out"
    words = ["leaderboard", "run", "--suite", TINY.name, "--policy", pattern, "--out", str(out)]
    assert run(words) == 2
    said = capsys.readouterr().err
    assert "'mine', training seed 3 are the same one in GracePeriod-v1" in said
    assert not out.exists()


def test_agents_with_fewer_training_runs_somewhere_are_named() -> None:
    def runs(agent: str, *counts: int) -> list[Entry]:
        most = max(counts)
        played = [[env for env, n in zip("AB", counts, strict=True) if n > i] for i in range(most)]
        return [Entry(agent, "agent", dict.fromkeys(envs, "x")) for envs in played]

    entries = [*runs("ppo", 2, 5), *runs("dqn", 3, 3)]
    assert list(_note("{policy}", entries, ["A", "B", "C"])) == [
        "{policy}: no file made for C",
        "ppo: not equally many training runs: 2 for A, 5 for B",
    ]


def test_seeds_are_those_that_the_agents_were_trained_with(
    tmp_path: Path, trained: Callable[[int, str], Path]
) -> None:
    trained(0, "agent-0")
    trained(1, "agent-2")
    with pytest.raises(ValueError, match=r"agent-2\S+: was trained with seed 1, its name says 2"):
        named(f"{tmp_path}/{{env}}/agent-{{seed}}.safetensors")
