"""The worst slice, job and trace are those that a plain loop finds."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner, Result

from experiments import worst_cases
from experiments.result_tables.agents import worst
from experiments.worst_cases import worst_of
from failgym.baselines import REGISTRY
from failgym.baselines.grace_period import GracePeriod
from failgym.envs import Scenario, resolve
from failgym.evaluation import Anchors
from failgym.policy import Policy
from failgym.vocabulary import Outcome
from failgym.worlds.world import LeastCosts
from tests.envs.worlds import small

GRACE = "failgym/GracePeriod-v1"
LINEAGE = "failgym/Lineage-v1"


def anchors_of(env: str) -> list[Anchors]:
    scenario = resolve(env, small(env))
    return [Anchors.of(scenario.override(trace_seed=seed), split="test") for seed in (5, 6)]


def test_jobs_and_slices_are_those_of_a_plain_loop() -> None:
    traces = anchors_of(GRACE)
    policy = REGISTRY["blind_kill"]()
    possible = sum(float(a.replay.costs.sum() - a.bound.sum()) for a in traces)
    of_slices, of_jobs, kills, tasks = list[float](), list[float](), list[int](), 0
    for anchors in traces:
        run = anchors.run(policy)
        of_slices += ((anchors.replay.costs - run.costs).sum(axis=1)).tolist()
        before = anchors.world.task_costs(anchors.replay.outcomes)
        after = anchors.world.task_costs(run.outcomes)
        assert before is not None
        assert after is not None
        jobs = dict[int, float]()
        killed = dict[int, int]()
        for row, job in enumerate(anchors.evidence.units.member.tolist()):
            jobs[job] = jobs.get(job, 0.0) + float(before[row].sum() - after[row].sum())
            finishes = run.outcomes["recorded_outcome"][row] == Outcome.FINISH
            wrong = finishes and run.outcomes["outcome"][row] != Outcome.FINISH
            killed[job] = killed.get(job, 0) + int(wrong and bool(run.outcomes["killed"][row]))
            tasks += 1
        of_jobs += jobs.values()
        kills += killed.values()
    found = worst_of("blind_kill", policy, traces)
    assert found.score == pytest.approx(100.0 * sum(of_slices) / possible)
    assert found.slice == pytest.approx(100.0 * min(of_slices) / possible)
    assert found.job == pytest.approx(100.0 * min(of_jobs) / possible)
    assert found.losing == pytest.approx(100.0 * np.mean(np.array(of_jobs) < -1e-9))
    assert found.false_kills == pytest.approx(1000.0 * sum(kills) / tasks)
    assert found.in_a_job == max(kills) > 0
    assert found.job is not None
    assert found.job < 0.0


def test_replay_loses_nothing_anywhere() -> None:
    found = worst_of("replay", REGISTRY["replay"](), anchors_of(GRACE))
    assert (found.score, found.slice, found.job, found.losing, found.trace) == (0, 0, 0, 0, 0)
    assert (found.false_kills, found.in_a_job) == (0, 0)


def test_where_tasks_share_machines_jobs_are_not_told_apart() -> None:
    found = worst_of("checkpoint_all", REGISTRY["checkpoint_all"](), anchors_of(LINEAGE)[:1])
    assert (found.job, found.losing, found.in_a_job) == (None, None, None)
    assert found.slice <= found.score


def without_room(anchors: Anchors) -> Anchors:
    """The same, if the clairvoyant could save nothing."""
    costs = anchors.world.task_costs(anchors.replay.outcomes)
    return replace(anchors, least=LeastCosts(anchors.replay.costs, 0, costs))


def test_a_trace_without_anything_to_gain_has_no_score_and_is_not_the_worst() -> None:
    first, second = anchors_of(GRACE)
    policy = REGISTRY["grace_period"]()
    alone = worst_of("grace_period", policy, [first])
    both = worst_of("grace_period", policy, [first, without_room(second)])
    assert both.trace == alone.trace == pytest.approx(alone.score)
    counted = [worst_cases.counts_of(traces) for traces in ([first], [first, without_room(second)])]
    assert [one["traces"] for one in counted] == [1, 1]
    assert (counted[0]["slices"] or 0) < (counted[1]["slices"] or 0)
    with pytest.raises(ValueError, match=r"^GracePeriod-v1: nothing to gain here"):
        worst_of("grace_period", policy, [without_room(first)])


SMALL = ("--env", GRACE, "--traces", "2", "--set", "jobs=3000")


def run(file: Path, *words: str) -> Result:
    app = typer.Typer()
    app.command()(worst_cases.main)
    return CliRunner().invoke(app, ["--json", str(file), *words])


def test_what_is_there_is_measured_again_only_if_something_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared_worlds: None
) -> None:
    agents, file, counted = tmp_path / "agents", tmp_path / "worst.json", list[str]()
    (agents / "GracePeriod-v1").mkdir(parents=True)
    few: dict[str, Policy] = {name: REGISTRY[name]() for name in ("grace_period", "blind_kill")}

    def rules(scenario: Scenario) -> dict[str, Policy]:
        return few

    monkeypatch.setattr(worst_cases, "rules", rules)

    def seen(name: str, *args: Any, **more: Any) -> worst_cases.Worst:
        counted.append(name)
        return worst_of(name, *args, **more)

    monkeypatch.setattr(worst_cases, "worst_of", seen)
    for _ in range(2):
        done = run(file, *SMALL, "--agents", str(agents))
        assert done.exit_code == 0, done.output
    assert sorted(counted) == ["blind_kill", "grace_period", "replay"]
    found = json.loads(file.read_text())["GracePeriod-v1"]
    assert found["of"]["traces"] == 2
    assert found["of"]["jobs"] > found["of"]["slices"] > 2
    few["grace_period"] = GracePeriod(finish_weight=2.0)
    assert run(file, *SMALL, "--agents", str(agents)).exit_code == 0
    assert len(counted) == 6, "a rule has other parameters"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--set", "trace_seed=3"], "--set trace_seed: expected none: --first says which seeds"),
        (["--set", "trace=records/mine"], "--set trace=records/mine: expected a profile: a record"),
        (["--env", "Clonin-v1"], "did you mean Cloning-v1?"),
        ([], "worst.json: expected JSON, or no file"),
    ],
    ids=["seed", "record", "env", "file"],
)
def test_what_is_wrong_is_one_line_and_changes_nothing(
    words: list[str], said: str, tmp_path: Path
) -> None:
    file = tmp_path / "worst.json"
    if not words:
        file.write_text("half")
    done = run(file, *(words if "--env" in words else [*words, "--env", GRACE]))
    assert done.exit_code == 2
    assert said in done.output
    assert len(done.output.strip().splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ([] if words else ["worst.json"])


def test_the_table_says_of_how_many_they_are_the_worst() -> None:
    row: dict[str, Any] = {"policy": "flaw", "agent": False, "score": 1.0, "slice": -2.0}
    row |= {"job": None, "losing": None, "trace": None, "false_kills": 0.0, "in_a_job": None}
    of = {"traces": 8, "slices": 1_234, "jobs": None}
    told = worst({"Workflow-v1": {"of": of, "rows": [row]}}).splitlines()
    assert told[2] == "| `failgym/Workflow-v1` | `flaw` | 1.0 | -2.00 | - | - | - | 0.00 | - |"
    assert told[-1] == "- `failgym/Workflow-v1`: the worst of 8 traces, 1,234 slices."
