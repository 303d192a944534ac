"""How rankings hold when a constant of an environment is another."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer import Typer
from typer.testing import CliRunner

from experiments import sensitivity, sensitivity_changes
from experiments.result_tables.rankings import sensitivity as page
from experiments.result_tables.rankings import turns
from experiments.sensitivity import Played, played, played_at, rows_of, runs_of, tau_of
from experiments.sensitivity_changes import Change, changes, erring
from failgym.baselines import REGISTRY
from failgym.envs import SCENARIOS, Scenario, resolve
from failgym.evaluation import Run
from failgym.evaluation.anchors import Anchors
from failgym.metrics import aoa
from failgym.predictors import Alarms
from failgym.sim.scheduled.cluster.cluster import cluster_of
from failgym.traces.synthetic import generate
from failgym.vocabulary import TERMS, Outcome
from failgym.worlds import source
from failgym.worlds.build import part_of, split_of
from failgym.worlds.forecast import forecast_of
from failgym.worlds.scheduled.nodes import node_predictions
from tests.envs.worlds import small

ENV = "Cloning-v1"
SMALL = ("jobs=200", "max_extra=2", "trace=google-2011-failing")
LAWS = {"task share 0", "restart limit 10", "strata: all", "twice the attempts", "draw 4"}
FORECASTS = {"no forecast", "better forecast", "worse forecast"}
VALUES = {"task value 1", "task value 16"}
APPLY = {
    "Cloning-v1": LAWS | FORECASTS | VALUES | {"waiting x 2"},
    "GracePeriod-v1": FORECASTS | VALUES,
    "Checkpoint-v1": LAWS | FORECASTS | VALUES | {"overhead x 2"},
    "Lineage-v1": {"waiting x 2", "overhead x 2", "wasted x 2", "failed share x 2", "storage x 2"},
    "Workflow-v1": FORECASTS | {"waiting x 2"},
    "Mitigation-v1": LAWS | FORECASTS | VALUES | {"waiting x 2", "overhead x 2"},
}
"""Of each environment changes that apply to it; no other of these does."""


@pytest.fixture(scope="module")
def few() -> Iterator[None]:
    """Fewer values of what has many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sensitivity_changes, "DRAWS", (4,))
        patch.setattr(sensitivity_changes, "VALUES", (1.0, 16.0))
        patch.setattr(sensitivity_changes, "LIMITS", (10,))
        yield


@pytest.fixture(scope="module")
def made() -> list[int]:
    """Seeds of the traces that were generated."""
    return []


@pytest.fixture(scope="module")
def measured(
    few: None, made: list[int], tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, Any], str, Path]:
    """What the command wrote on two small traces, what it printed, and the file."""
    file = tmp_path_factory.mktemp("sensitivity") / "found.json"

    def counted(profile: Any, *, jobs: int, seed: int) -> Any:
        made.append(seed)
        return generate(profile, jobs=jobs, seed=seed)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "generate", counted)
        patch.setenv("FAILGYM_CACHE_SIZE", "0")
        text, printed = run(file)
    return json.loads(text), printed, file


def run(file: Path, *more: str) -> tuple[str, str]:
    app = Typer()
    app.command()(sensitivity.main)
    words = [word for field in SMALL for word in ("--set", field)]
    words += ["--least", "2", "--most", "2", "--json", str(file), *more]
    found = CliRunner().invoke(app, words)
    assert found.exit_code == 0, found.output
    return file.read_text(), found.output


@pytest.mark.parametrize("env", SCENARIOS)
def test_every_change_is_one_that_the_environment_takes(env: str) -> None:
    scenario = resolve(env)
    found = list(changes(scenario))
    names = [change.name for change in found]
    assert len(names) == len(set(names))
    for change in found[1:]:
        assert scenario.override(**change.fields) != scenario, change.name
    assert set(names) & set().union(*APPLY.values()) == APPLY[env]


def test_where_tasks_can_only_be_killed_no_draw_matters() -> None:
    """So that it is left out there."""
    scenario = replace(resolve("GracePeriod-v1", {"jobs": 1_000}), trace_seed=1_000)
    plain, other = (as_played(replace(scenario, draw_seed=draw)) for draw in (0, 1))
    assert plain.costs["random"] != plain.costs["replay"]
    assert saved(other) == pytest.approx(saved(plain), abs=1e-9)


def as_played(scenario: Scenario) -> Played:
    anchors = Anchors.of(scenario, split="test", episodes=4)
    return played(anchors, runs_of(anchors))


def runs_of_two(anchors: Anchors) -> dict[str, Run]:
    """Of what does nothing, and of what does anything."""
    return {name: anchors.run(REGISTRY[name](), name=name) for name in ("replay", "random")}


def saved(found: Played) -> dict[str, float]:
    """What each rule saves beside replay."""
    before = sum(found.costs["replay"])
    return {rule: before - sum(costs) for rule, costs in found.costs.items()}


@pytest.mark.parametrize(
    ("env", "fields", "count"),
    [
        ("Cloning-v1", {"jobs": 1_000}, 3),
        ("Checkpoint-v1", {"jobs": 1_500, "slice_tasks": 16}, 3),
        ("Lineage-v1", small("failgym/Lineage-v1"), 3),
        ("Workflow-v1", {"jobs": 40}, 1),
        ("Mitigation-v1", small("failgym/Mitigation-v1"), 4),
    ],
)
def test_other_prices_come_to_what_is_played_at_them(
    env: str, fields: dict[str, Any], count: int, few: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sensitivity_changes, "FACTORS", {"x 2": 2.0})
    scenario = replace(resolve(env, fields), trace_seed=1_003, split="test")
    anchors = Anchors.of(scenario, split="test", episodes=4)
    runs = runs_of_two(anchors)
    of_prices = [c for c in changes(scenario) if c.of_prices and c.fields]
    assert len(of_prices) == count
    altered = 0
    for change in of_prices:
        changed = scenario.override(**change.fields)
        there = Anchors.of(changed, split="test", episodes=4)
        told, again = played_at(anchors, runs, changed), played(there, runs_of_two(there))
        assert told.room == pytest.approx(again.room), change.name
        altered += told != played(anchors, runs)
        for rule, costs in told.costs.items():
            assert costs == pytest.approx(again.costs[rule]), (change.name, rule)
    assert altered


def test_where_others_are_charged_for_costs_lie_on_a_line(few: None, tmp_path: Path) -> None:
    fields = {"jobs": 300, "load": 0.0, "machines": 60, "begin": 0, "slice_tasks": 8}
    others = {"trace": "google-2011-failing", "warmup": 40, "followers": 60}
    scenario = resolve("Mitigation-v1", fields | others)
    results = sensitivity.Results(tmp_path / "found.json", scenario, {"episodes": 2})
    by_name = {change.name: change for change in changes(scenario)}
    for name in ("as it is", "task value 1", "task value 16"):
        results.add(1_000, by_name[name])
    told = results.traces["1000"]["task value 16"]
    del results.traces["1000"]["task value 1"], results.traces["1000"]["task value 16"]
    results.add(1_000, by_name["task value 16"])
    again = results.traces["1000"]["task value 16"]
    assert told["room"] == pytest.approx(again["room"])
    for rule, costs in told["costs"].items():
        assert costs == pytest.approx(again["costs"][rule]), rule
    plain = results.traces["1000"]["as it is"]["costs"]["replay"]
    of_others = TERMS.index("others")
    assert 0.0 < plain[of_others] < again["costs"]["replay"][of_others]


def shown_errors(scenario: Scenario) -> dict[str, float]:
    """Shares of what a scenario's forecast says that are wrong."""
    trace, forecast = split_of(scenario, "test"), scenario.forecast
    part = part_of(scenario, "test")
    said: Any = forecast_of(scenario, part, part)
    number = np.repeat(np.arange(trace.rows("attempts")), np.diff(said.offset))
    risk = np.zeros(trace.rows("attempts"))
    np.maximum.at(risk, number, said.risk)
    outcome, ran = trace.column("attempts", "outcome"), np.diff(said.offset) > 0
    bad = outcome == Outcome.FAIL
    if "kumar" in str(forecast) or getattr(forecast, "outside", False):
        bad |= np.isin(outcome, (Outcome.EVICT, Outcome.LOST))
    alarm = risk > (said.alarms.prior if said.alarms else 1.0)
    job = trace.column("jobs", "outcome")
    known = job != Outcome.CENSORED
    flagged = said.job_confidence >= 0.5
    return {
        "missed": float((~alarm)[ran & bad].mean()),
        "false": float(alarm[ran & ~bad].mean()),
        "jobs": float((flagged != (job != Outcome.FINISH))[known].mean()),
    }


@pytest.mark.parametrize(
    ("env", "called", "wrong"),
    [
        ("Cloning-v1", "elsayed_alarms", ("missed", "false")),
        ("GracePeriod-v1", "rosa_by_job", ("jobs",)),
        ("Checkpoint-v1", "kumar_alarms", ("missed", "false")),
        ("Mitigation-v1", "elsayed_and_rosa", ("missed", "false", "jobs")),
    ],
)
def test_forecasts_that_are_better_or_worse_are_shown_so(
    env: str, called: str, wrong: tuple[str, ...]
) -> None:
    jobs = 10_000 if env == "Checkpoint-v1" else 1_500  # of which a few dozen fail
    scenario = resolve(env, {"jobs": jobs, "load": 0.0} | _machines(env))
    fields = {change.name: change.fields for change in changes(scenario)}
    better, plain, named, worse = (
        shown_errors(scenario.override(**given))
        for given in (
            fields["better forecast"],
            {},
            {"forecast": called},
            fields["worse forecast"],
        )
    )
    assert named == plain
    for what in wrong:
        assert better[what] < plain[what] < worse[what], what
    assert fields["no forecast"] == {"forecast": "none"}


def _machines(env: str) -> dict[str, Any]:
    """Of a small cluster."""
    return {"machines": 100} if env == "Mitigation-v1" else {}


def test_odds_of_errors_are_multiplied() -> None:
    made = Alarms.elsayed_and_rosa()
    worse = erring(made, 2.0)
    assert np.divide(worse.fpr, 1.0 - np.array(worse.fpr)) == pytest.approx(
        2.0 * np.divide(made.fpr, 1.0 - np.array(made.fpr))
    )
    assert erring(worse, 0.5).recall == pytest.approx(made.recall)
    assert worse.classes is not None
    assert made.classes is not None
    assert worse.classes.classes.job_error == pytest.approx(0.14 / (0.14 + 0.93))
    assert worse.classes.job_share == made.classes.job_share
    with pytest.raises(TypeError, match="expected Alarms or Calibrated, got str"):
        erring("auto", 2.0)


def test_predictions_of_machines_are_better_or_worse() -> None:
    scenario = resolve("Workflow-v1", {"jobs": 20})
    trace = split_of(scenario, "test")
    rows = cluster_of(trace)[1]
    ours = np.isin(trace.column("outages", "machine"), rows)
    columns = {name: trace.column("outages", name)[ours] for name in ("machine", "down", "up")}
    found = dict[str, float]()
    for change in changes(scenario):
        if "forecast" in change.name or not change.fields:
            given = scenario.override(**change.fields)
            said = node_predictions(given, part_of(given, "test"))
            predicted: dict[str, Any] = {"machine": [], "time": []}
            if said is not None:
                machine = np.repeat(rows, np.diff(said.offset))
                predicted = {"machine": machine, "time": said.time}
            found[change.name] = aoa(predicted, columns)
    assert found["better forecast"] > found["as it is"] > found["worse forecast"] > 0.4
    assert found["as it is"] == pytest.approx(0.7, abs=0.05)  # of a part of its machines
    assert found["no forecast"] == 0.0


def test_the_trace_of_a_seed_is_generated_once(
    measured: tuple[dict[str, Any], str, Path], made: list[int]
) -> None:
    assert all(len(trace) > 5 for trace in measured[0][ENV]["traces"].values())
    assert made == [1_000, 1_001]


def test_rankings_are_compared_with_the_one_as_it_is(
    measured: tuple[dict[str, Any], str, Path],
) -> None:
    content, printed, _ = measured
    rows = rows_of(content[ENV])
    assert rows[0].name == "as it is"
    assert rows[0].tau.value == pytest.approx(1.0)
    assert set(rows[0].scores) >= {"replay", "algorithm_1", "reroll"}
    assert rows[0].scores["replay"] == 0.0
    assert list(rows[0].scores.values()) == sorted(rows[0].scores.values(), reverse=True)
    assert all(row.name in printed for row in rows)
    by_name = {row.name: row for row in rows}
    assert by_name["task value 16"].room > by_name["task value 1"].room


def test_it_goes_on_with_what_is_there(measured: tuple[dict[str, Any], str, Path]) -> None:
    file = measured[2]
    content = json.loads(file.read_text())
    traces = content[ENV]["traces"]
    del traces["1001"]["draw 4"]
    traces["1000"]["as it is"]["room"] = -5.0  # is not measured again
    other = file.with_name("begun.json")
    other.write_text(json.dumps(content))
    after = json.loads(run(other)[0])[ENV]["traces"]
    assert after["1001"]["draw 4"] == measured[0][ENV]["traces"]["1001"]["draw 4"]
    assert after["1000"]["as it is"]["room"] == -5.0
    with pytest.raises(SystemExit, match="episodes: expected None, got 3"):
        sensitivity.Results(other, resolve(ENV), {"fields": content[ENV]["fields"], "episodes": 3})


def test_some_changes_are_measured_alone(few: None, tmp_path: Path) -> None:
    found = json.loads(run(tmp_path / "some.json", "--only", "waiting x 2")[0])
    assert [list(trace) for trace in found[ENV]["traces"].values()] == [
        ["as it is", "waiting x 2"]
    ] * 2
    with pytest.raises(SystemExit, match=r"--only: expected some of as it is, .*, got nothing"):
        sensitivity.main(only=["nothing"], json_=tmp_path / "none.json")


def test_what_alters_nothing_on_two_traces_is_not_played_on_others(tmp_path: Path) -> None:
    costs = {"replay": [1.0] * 5, "other": [0.5] * 5}
    trace = {name: {"room": 3.0, "costs": costs} for name in ("as it is", "same", "now and then")}
    other = trace | {"now and then": {"room": 3.0, "costs": costs | {"other": [0.6] * 5}}}
    results = sensitivity.Results(tmp_path / "found.json", resolve(ENV), {"episodes": None})
    results.traces["1000"] = trace
    same, at_times = Change("same", {"draw_seed": 1}), Change("now and then", {"draw_seed": 2})
    assert not results.idle(same)  # one trace is not enough
    results.traces["1001"] = other
    assert results.idle(same)
    assert not results.idle(at_times)
    assert not results.idle(Change("as it is", {}))


def test_the_page_shows_whole_rankings_where_they_turn(
    measured: tuple[dict[str, Any], str, Path],
) -> None:
    content = json.loads(json.dumps(measured[0]))
    for trace in content[ENV]["traces"].values():
        before = sum(trace["as it is"]["costs"]["replay"])
        for rule, costs in trace["as it is"]["costs"].items():
            turned = trace["draw 4"]["costs"][rule] = [0.0] * 5
            turned[0] = 2.0 * before - sum(costs)
        for name in list(trace):
            if name not in ("as it is", "draw 4", "waiting x 2"):
                del trace[name]
        trace["waiting x 2"] = trace["as it is"]
    lines = page(content).splitlines()
    assert lines[0] == f"### {ENV}"
    assert lines[2].endswith(", 2 traces.")
    assert "- On 2 traces nothing at all is altered by: waiting x 2." in lines
    assert any(line.startswith("- as it is: ") for line in lines)
    assert any(line.startswith("- draw 4: ") for line in lines)
    (row,) = turns(content).splitlines()[2:]
    assert row.startswith(f"| `{ENV}` | draw 4 | -1.00 [-1.00, -1.00] | ")
    for trace in content[ENV]["traces"].values():
        del trace["draw 4"]
    (row,) = turns(content).splitlines()[2:]
    assert "none: least waiting x 2" in row


def test_tau_of_equal_and_of_turned_rankings() -> None:
    rng = np.random.default_rng(0)
    one = rng.normal(size=(30, 6)) * 0.01 + np.arange(6.0)
    assert tau_of(one, one).value == pytest.approx(1.0)
    turned = tau_of(one, -one)
    assert (turned.value, turned.low, turned.high) == pytest.approx((-1.0, -1.0, -1.0))
    noisy = tau_of(one, rng.normal(size=(30, 6)))
    assert noisy.low < noisy.high
    assert tau_of(one[:1], -one[:1]).half_width == 1.0  # one trace says nothing of others
