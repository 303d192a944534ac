"""Agents that learned on twins, the past and a profile, on a record's future."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer import Typer
from typer.testing import CliRunner

pytest.importorskip("stable_baselines3")
pytest.importorskip("xgboost")
from experiments import generated_to_real
from experiments.generated_to_real import (
    SHIPPED,
    Source,
    answer_of,
    learned,
    place_of,
    row_of,
    taught,
)
from experiments.result_tables.intervals import from_generated
from failgym.baselines import REGISTRY, GracePeriod, ImmediateKill
from failgym.envs import resolve
from failgym.traces import generate
from failgym.worlds.build import split_of
from failgym.worlds.source import whole_trace

ENV = "failgym/GracePeriod-v1"
APP = Typer()
APP.command()(generated_to_real.main)


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("traces") / "mine"
    generate("google-2011", jobs=240, seed=5, usage=False).save(folder)
    return folder


def run(record: Path, out: Path, *more: str) -> Any:
    words = ["--trace", str(record), "--out", str(out / "agents"), "--json", str(out / "a.json")]
    words += ["--seeds", "2", "--jobs", "150", "--learn", "twin", "--learn", "past"]
    for one in ("trees=2", "depth=1", "models=2", "caution=[1.0]", "advice=[]", "decisions=0.02"):
        words += ["--hyper", one]
    return CliRunner().invoke(APP, [*words, *more])


def test_a_twin_is_of_the_past_and_a_profile_has_trained_forecasts_too(record: Path) -> None:
    scenario = resolve(ENV).override(trace=str(record))
    past = taught(scenario, Source.PAST, 3, 150)
    assert past == scenario
    twins = [taught(scenario, Source.TWIN, seed, 150) for seed in (0, 1)]
    assert [whole_trace(one).rows("jobs") for one in twins] == [150, 150]
    assert whole_trace(twins[0]).content_hash != whole_trace(twins[1]).content_hash
    limit = split_of(scenario, "train").rows("jobs")
    assert limit < whole_trace(scenario).rows("jobs")
    profile = taught(scenario, Source.PROFILE, 1, 150)
    assert (profile.trace, profile.forecast) == (resolve(ENV).trace, "trained")
    assert profile.trace_seed != taught(scenario, Source.PROFILE, 0, 150).trace_seed


def test_agents_stand_above_the_past_or_below_on_the_same_jobs(record: Path) -> None:
    place = place_of(resolve(ENV).override(trace=str(record)), None)
    agents = {"past": [GracePeriod(), GracePeriod()], "twin": [ImmediateKill(), GracePeriod()]}
    row = row_of(place, agents, {"grace_period": GracePeriod()})
    past, twin = (row["agents"][name] for name in ("past", "twin"))
    assert past["above_past"] is None
    assert past["score"][0] == pytest.approx(past["runs"][0])
    assert twin["above_past"][0] == pytest.approx(twin["score"][0] - past["score"][0])
    assert row["rules"]["grace_period"]["above_past"][0] == pytest.approx(0.0)
    written = from_generated([{"trace": "mine", **row}, {"trace": "a", "env": "b", "reason": "c"}])
    head = "| mine, `GracePeriod-v1` |"
    lines = written.splitlines()[2:]
    assert [line.startswith(head) for line in lines] == [True, True, True, False]
    row["agents"]["past"]["answers"] = ["adopt", "no evidence"]
    assert f"{head} past | 2 | 1 |" in from_generated([{"trace": "mine", **row}])
    assert lines[2].startswith(f"{head} best rule in hindsight: `grace_period` |")


def test_a_command_that_was_stopped_goes_on(record: Path, tmp_path: Path) -> None:
    done = run(record, tmp_path)
    assert done.exit_code == 0, done.output
    [row] = json.loads((tmp_path / "a.json").read_text())
    assert {"twin", "past", SHIPPED} == set(row["agents"])
    assert len(row["agents"]["twin"]["runs"]) == 2
    answers = row["agents"]["past"]["answers"]
    assert len(answers) == 2
    assert set(answers) <= {"adopt", "no evidence", "harm"}
    kept = tmp_path / "agents" / "mine" / "GracePeriod-v1"
    made = {path.stem for path in kept.iterdir()}
    assert made == {"twin-0", "twin-1", "past-0", "past-1"}
    other = {"trace": "theirs", "env": "GracePeriod-v1", "reason": "x"}
    (tmp_path / "a.json").write_text(json.dumps([row, other]))
    again = run(record, tmp_path)
    assert again.exit_code == 0, again.output
    assert json.loads((tmp_path / "a.json").read_text()) == [other, row]


def test_where_nothing_can_be_learned_replay_plays(tmp_path: Path) -> None:
    few = generate("google-2011", jobs=8, seed=1)
    scenario = resolve(ENV).override(trace=few)
    out = tmp_path / "past-0"
    for _ in range(2):
        agent = learned(scenario, out, 0, {}, None)
        assert isinstance(agent, REGISTRY["replay"])
    assert answer_of(out) == "nothing to learn"
    assert json.loads((tmp_path / "past-0.json").read_text())["reason"]
    with pytest.raises(ValueError, match="is of another run"):
        learned(scenario, out, 0, {"trees": 3}, None)
    with pytest.raises(ValueError, match="tree"):
        learned(scenario, out, 0, {"tree": 3}, None)


def test_a_record_without_a_future_is_a_row_that_says_why(tmp_path: Path) -> None:
    generate("google-2011", jobs=3, seed=5).save(tmp_path / "short")
    done = run(tmp_path / "short", tmp_path)
    assert done.exit_code == 0, done.output
    [row] = json.loads((tmp_path / "a.json").read_text())
    assert "\n" not in row["reason"]
