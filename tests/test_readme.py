"""What the README promises: an agent that learns, a policy of one's own, all environments."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import failgym
from failgym.baselines import GracePeriod
from failgym.cli import run
from failgym.envs import SCENARIOS
from failgym.worlds.decisions import DECISIONS
from tests.pages import LEARNS, README, run_as_printed, table


def test_an_agent_learns_more_than_the_rule_of_the_paper(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("sb3_contrib", reason="needs the agents extra")
    pytest.importorskip("torch").set_num_threads(1)
    monkeypatch.chdir(tmp_path)
    (code,) = (code for code in README.blocks("python") if LEARNS in code)
    result = run_as_printed(code)["result"]
    trace: dict[str, Any] = {
        name: int(re.findall(rf"{name}=(\d[\d_]*)", code)[-1]) for name in ("jobs", "trace_seed")
    }
    paper = failgym.evaluate(GracePeriod(), "failgym/GracePeriod-v0", **trace)
    assert result.low > 0.0
    assert result.score > paper.score
    assert Path("mine.safetensors").exists()


def test_every_environment_is_listed_as_it_is() -> None:
    listed = [row[:3] for row in table(README.section("Environments"))]
    assert listed == [
        [f"failgym/{name}", s.trace, ", ".join(d for d in DECISIONS if getattr(s, d))]
        for name, s in SCENARIOS.items()
    ]


def test_own_policy_is_scored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = next(code for code in README.blocks("python") if "class Impatient" in code)
    (tmp_path / "mine.py").write_text(code, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    words = next(words for words in README.commands() if any("mine:" in word for word in words))
    assert run([*words, "--episodes", "1", "--set", "jobs=600"]) == 0


def test_the_two_commands_are_there() -> None:
    named = re.findall(r"\bmake ([a-z]+)\b", "\n".join(README.command_lines()))
    assert named == ["demo", "test"]
