"""What the README promises: an agent that learns, a policy of one's own, all environments."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import failgym
from experiments.leaderboard_tables import fingerprint
from experiments.readme import MEASURED, SHOWN, question, written
from experiments.readme_agent import training_code
from failgym.baselines import GracePeriod
from failgym.cli import run
from failgym.cli.specs import load_policy
from failgym.leaderboard.page.source import read_source
from failgym.leaderboard.suite.suites import RELEASED, SUITES
from tests.pages import README, page, run_as_printed, table

SHORTER = {
    "learn(2_500_000)": "learn(20_000)",
    "data[1:] = -3.0": "data[1:] = 0.5",  # it interferes, as nothing has taught it not to
    "jobs=100_000, trace_seed=1": "jobs=1_000, trace_seed=1",
    "trace_seed=21, traces=4": "jobs=1_000, trace_seed=9, traces=1",
}
"""What the quick test changes in the lines of the README."""


JUDGED_ON: dict[str, Any] = {"jobs": 1_000, "trace_seed": 9, "traces": 1}


def learned_as_printed(code: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What the agent of the README scores, and what the rule of the paper scores."""
    pytest.importorskip("sb3_contrib", reason="needs the agents extra")
    pytest.importorskip("torch").set_num_threads(1)
    monkeypatch.chdir(folder)
    result = run_as_printed(code)["result"]
    (judged_on,) = re.findall(r"evaluate\(model, name, (.+)\)", code)
    trace: dict[str, Any] = {
        name: int(value) for name, value in re.findall(r"(\w+)=(\d[\d_]*)", judged_on)
    }
    paper = failgym.evaluate(GracePeriod(), "failgym/GracePeriod-v1", **trace)
    assert Path("mine.safetensors").exists()
    return result, paper


@pytest.mark.campaign
def test_an_agent_learns_more_than_the_rule_of_the_paper(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result, paper = learned_as_printed(training_code(), tmp_path, monkeypatch)
    assert result.low > 0.0
    assert result.score > paper.score


def test_the_lines_train_an_agent_and_keep_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same lines with fewer steps, and fewer jobs; the file plays as the agent does."""
    code = training_code()
    for long, short in SHORTER.items():
        assert code.count(long) == 1
        code = code.replace(long, short)
    result, paper = learned_as_printed(code, tmp_path, monkeypatch)
    kept = failgym.evaluate(load_policy("mine.safetensors"), "failgym/GracePeriod-v1", **JUDGED_ON)
    assert paper.score > kept.score == result.score != 0.0


def test_every_released_environment_is_in_the_readme_with_its_question_and_scores() -> None:
    listed = table(README.section("Environments"))
    assert [row[0] for row in listed] == [f"failgym/{name}" for name in RELEASED]
    assert [row[1] for row in listed] == [question(name) for name in RELEASED]
    assert all(re.search(r"\d(?:\\\*)? \[.+, .+\]", cell) for row in listed for cell in row[3:6])
    assert all(re.fullmatch(r"[\d.]+ %, [\d,]+ h", row[2]) for row in listed), "the room"
    saves = r"-?[\d,]+ h; [\d.]+ \([\d.]+\)"
    assert all(re.fullmatch(saves, row[6]) for row in listed), "hours and forfeits"


def test_figures_are_what_is_written_from_what_is_stored() -> None:
    assert written(README.text) == README.text, "python -m experiments.readme"


def test_the_figures_of_the_agent_are_of_the_lines_that_are_printed() -> None:
    stored = json.loads((MEASURED / "readme_agent.json").read_text("utf-8"))
    assert stored["code"] == training_code()
    assert [one["seed"] for one in stored["agents"]] == list(range(len(stored["agents"])))
    assert len(stored["agents"]) >= 3


@pytest.mark.campaign
def test_the_demo_prints_the_table_that_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["demo", "--env", SHOWN]) == 0
    printed = [line.rstrip() for line in capsys.readouterr().out.splitlines() if line.strip()]
    (shown,) = re.findall(r"^```text\n(.*?)^```", README.generated("demo"), re.M | re.S)
    lines = shown.splitlines()
    at = printed.index(lines[0])
    assert printed[at : at + len(lines)] == lines


def test_the_page_of_the_demo_is_of_the_published_run() -> None:
    """`make demo` shows what the tables tell, and the suite is still the one that was played."""
    stored = read_source(MEASURED / "v2")
    told = page("docs/results/leaderboard.md").generated("fingerprint")
    assert fingerprint(stored.results) in told
    about = read_submission_file(MEASURED / "v2")
    assert about["suite"]["digest"] == SUITES["v2"].digest


def read_submission_file(folder: Path) -> dict[str, Any]:
    """What a submission says of itself."""
    return json.loads((folder / "submission.json").read_text("utf-8"))


def test_own_policy_is_scored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tutorial = page("docs/tutorials/policy.md")
    assert "class Impatient" in tutorial.files["mine.py"]
    (tmp_path / "mine.py").write_text(tutorial.files["mine.py"], "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    words = next(words for words in tutorial.commands() if any("mine:" in word for word in words))
    words = words[: words.index("--episodes")]
    assert run([*words, "--episodes", "1", "--set", "jobs=600"]) == 0


def test_the_two_commands_are_there() -> None:
    named = re.findall(r"\bmake ([a-z]+)\b", "\n".join(README.command_lines()))
    assert named == ["demo", "test"]
