"""Runs of the counterfactual learner: what is kept, resumed, stored and refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

pytest.importorskip("stable_baselines3")
from failgym import evaluate
from failgym.agents import TrainingSettings, load_agent, train
from failgym.agents.counterfactual.policy import Learned
from failgym.agents.counterfactual.settings import CounterfactualSettings
from failgym.agents.counterfactual.situations import fields_shown, scenarios_of
from failgym.agents.counterfactual.visits import visited
from failgym.agents.ensembles.forest import Forest
from failgym.agents.ensembles.stored import stored_arrays, stored_ensemble
from failgym.agents.files.writing import save_anew
from failgym.baselines import REGISTRY
from failgym.envs import resolve
from failgym.sim.shared.fields import INDEX, MASK
from failgym.vocabulary import Action
from tests.envs.worlds import small

CLONE, KILL = int(Action.CLONE), int(Action.KILL)
NAN = float("nan")
SMALL = resolve("failgym/GracePeriod-v1").override(jobs=600, split="fit", slice_tasks=1)

GRACE: dict[str, Any] = {"policy": "grace_period"}
QUICK: dict[str, Any] = {
    **{"trees": 8, "depth": 2, "env.jobs": 900, "caution": [0.0, 1.0]},
    **{"advice": [], "decisions": 0.25, "rules": ["grace_period", "immediate_kill"]},
}
"""A small run, whatever the settings are that come with an environment."""


@pytest.mark.parametrize("tries", ["answers", "rules"])
def test_an_agent_takes_advice(tmp_path: Path, tries: str) -> None:
    advice = [{"policy": "grace_period"}, {"policy": "blind_kill", "parameters": {}}]
    result = trained(tmp_path / "run", tries=tries, advice=advice)
    agent = load_agent(result.policy)
    decider: Any = agent.network
    assert [rule.name for rule in decider.advice] == ["grace_period", "blind_kill"]
    assert decider.follows == (tries == "rules")
    visits = visited(SMALL, [REGISTRY["replay"]()], seed=9)
    from failgym.envs.spaces import columns_among

    learning = Learned(decider, columns_among(agent.manifest.fields, tuple(INDEX)))
    answers = agent.predict(visits.observations)[0]
    assert np.array_equal(answers, learning.predict(visits.observations)[0])
    # where nothing is sure, the first rule's answer stands
    unsure = replace(decider, caution=100.0)
    rule = REGISTRY["grace_period"]().predict(visits.observations)[0]
    assert np.mean(Learned(unsure, learning.columns).predict(visits.observations)[0] == rule) > 0.9
    with pytest.raises(ValueError, match="fields: expected all of them, as the rules"):
        agent.reading(agent.manifest.fields)
    other = replace(decider, advice=decider.advice[::-1])
    assert replace(agent, network=other).digest != agent.digest


def test_an_agent_meets_every_situation_and_is_shown_what_varies_in_any(tmp_path: Path) -> None:
    blind: dict[str, Any] = {"forecast": "none"}
    scenario = resolve("failgym/GracePeriod-v1").override(jobs=900)
    hyper = CounterfactualSettings(traces=4, chosen_on=4, situations=[blind, {"task_value": 2.0}])
    found = scenarios_of(scenario, hyper)
    assert [(one.forecast, one.task_value, one.trace_seed) for one in found] == [
        ("none", scenario.task_value, 0),
        (scenario.forecast, 2.0, 1),
        ("none", scenario.task_value, 2),
        (scenario.forecast, 2.0, 3),
    ]
    only = trained(tmp_path / "only", situations=[blind], traces=2)
    both = trained(tmp_path / "both", situations=[blind, {}], traces=2)
    shown = [set(load_agent(one.policy).manifest.fields) for one in (only, both)]
    assert "confidence_finish" in shown[1] - shown[0]
    assert shown[0] < shown[1]


def test_what_differs_between_situations_is_shown() -> None:
    """In each of them it is the same in all decisions."""
    plain = resolve("failgym/Checkpoint-v1")
    dear = plain.override(checkpoint_cost=30_000)
    before = fields_shown("varying", [plain, plain], ())
    shown = fields_shown("varying", [plain, dear], ())
    assert set(shown) - set(before) == {"checkpoint_cost"}
    assert fields_shown("varying", [plain, dear], ["checkpoint_cost"]) == before


def test_situations_of_a_record_are_refused(tmp_path: Path) -> None:
    """The same jobs would count several times, and intervals be too narrow."""
    record = resolve("failgym/GracePeriod-v1").override(jobs=300)
    from failgym.worlds.source import whole_trace

    settings = TrainingSettings(
        "counterfactual",
        hyper={**QUICK, "env": None, "traces": 2, "chosen_on": 2, "situations": [{}, {"seed": 1}]},
    )
    with pytest.raises(ValueError, match="situations: expected generated traces"):
        train(record.override(trace=whole_trace(record)), tmp_path / "run", settings)


def test_networks_learn_in_place_of_trees(tmp_path: Path) -> None:
    sizes: dict[str, Any] = {"learns": "network", "units": 8, "updates": 200}
    result = trained(tmp_path / "run", **sizes)
    agent = load_agent(result.policy)
    assert agent.manifest.policy == "Perceptrons"
    assert {"torch", "numpy"} < set(agent.manifest.versions)
    decider: Any = agent.network
    assert (decider.ensemble.models, decider.ensemble.units) == (5, 8)
    again = trained(tmp_path / "again", **sizes)
    assert result.policy.read_bytes() == again.policy.read_bytes()
    scenario = resolve("failgym/GracePeriod-v1").override(jobs=900)
    assert np.isfinite(evaluate(load_agent(result.policy), scenario).score)


def test_who_kills_falsely_too_often_is_not_chosen(tmp_path: Path) -> None:
    free = trained(tmp_path / "free", caution=[0.0, 1.0, 50.0])
    found = {one.caution: one for one in free.validations}
    bold, careful = found[0.0].false_kills_per_job, found[50.0].false_kills_per_job
    assert bold > careful
    kept = trained(tmp_path / "kept", caution=[0.0, 1.0, 50.0], false_kills=careful)
    assert kept.best.false_kills_per_job <= careful
    with pytest.raises(ValueError, match=r"false_kills: expected 0 a job at most, the fewest"):
        trained(tmp_path / "none", caution=[0.0], false_kills=0.0)
    by_worst = trained(tmp_path / "worst", caution=[0.0, 1.0, 50.0], tail=0.01)
    assert by_worst.best.tail == max(one.tail for one in by_worst.validations)
    assert {one.caution: one.score for one in by_worst.validations} == {
        one.caution: one.score for one in free.validations
    }


def test_what_is_learned_in_the_pinned_world_is_played_in_the_scheduled_one(
    tmp_path: Path,
) -> None:
    """The settings that come with Mitigation-v1 say so."""
    env = {f"env.{name}": value for name, value in small("failgym/Mitigation-v1").items()}
    hyper = {"chosen_on": 1, "episodes": 400, **env}
    result = trained(tmp_path / "run", "failgym/Mitigation-v1", **hyper)
    agent = load_agent(result.policy)
    assert agent.manifest.environment.id == "failgym/Mitigation-v1"
    assert "world" not in agent.manifest.environment.fields
    assert not {"running", "free", "offered_time"} & set(agent.manifest.fields)
    assert "slice" in result.verdict.unit
    wrong: Any = {"visit": {"world": "pinned"}}
    with pytest.raises(ValueError, match="visit: scheduler: expected 'fifo'"):
        trained(tmp_path / "other", "failgym/Mitigation-v1", **hyper, **wrong)
    wrong = {"visit": {"kill": False}}
    with pytest.raises(ValueError, match="visit: expected fields that change nothing of what may"):
        trained(tmp_path / "other", **wrong)


def trained(folder: Path, env: str = "failgym/GracePeriod-v1", **hyper: Any) -> Any:
    settings = TrainingSettings("counterfactual", hyper={**QUICK, "traces": 1, **hyper})
    return train(env, folder, settings)


def test_an_agent_is_trained_stored_and_played(tmp_path: Path) -> None:
    result = trained(tmp_path / "run", rounds=2, traces=3, chosen_on=2)
    assert [(v.round, v.caution) for v in result.validations] == [(1, 0), (1, 1), (2, 0), (2, 1)]
    assert result.best == max(result.validations, key=lambda v: (v.score, -v.round, v.caution))
    assert result.verdict.candidates == 4
    assert json.loads((tmp_path / "run" / "result.json").read_text()) == result.to_json()
    agent = load_agent(result.policy)
    sizes: Any = agent.manifest.network
    assert (sizes.decides, sizes.rounds) == (("CONTINUE", "KILL"), result.best.round)
    assert sizes.caution == result.best.caution
    # what is stored answers as what was learned, whatever it is shown around its fields
    from failgym.envs.spaces import columns_among

    decider: Any = agent.network
    learning = Learned(decider, columns_among(agent.manifest.fields, tuple(INDEX)))
    visits = visited(SMALL, [REGISTRY["replay"]()], seed=9)
    wanted = learning.predict(visits.observations)[0]
    assert np.array_equal(agent.predict(visits.observations)[0], wanted)
    assert agent.predict(visits.observations[0])[0] == np.asarray(wanted)[0]
    selected = agent.reading(agent.manifest.fields)
    shown = visits.observations[:, learning.columns]
    masks = visits.observations[:, MASK] > 0
    assert np.array_equal(selected.predict(shown, action_masks=masks)[0], wanted)
    score = evaluate(agent, "failgym/GracePeriod-v1", jobs=900, episodes=40)
    assert score.illegal == 0


def test_a_run_that_was_stopped_ends_with_the_same_bytes(tmp_path: Path) -> None:
    whole_run, stopped = tmp_path / "whole", tmp_path / "stopped"
    settings = TrainingSettings("counterfactual", hyper={**QUICK, "traces": 1, "rounds": 2})
    train("failgym/GracePeriod-v1", whole_run, settings, command="one")
    train("failgym/GracePeriod-v1", stopped, settings, command="one")
    for left in (("round-1.safetensors",), ()):  # killed in the second round, or in the first
        for file in stopped.glob("*"):
            if file.name not in ("run.json", "settings.yaml", *left):
                file.unlink()
        train("failgym/GracePeriod-v1", stopped, settings, resume=True, command="one")
        for name in ("best.safetensors", "round-1.safetensors", "round-2.safetensors"):
            assert (whole_run / name).read_bytes() == (stopped / name).read_bytes()
    with pytest.raises(ValueError, match="seed=0, and now 1 is asked"):
        train("failgym/GracePeriod-v1", stopped, replace(settings, seed=1), resume=True)
    (stopped / "result.json").unlink()
    shown = replace(settings, fields="all")
    train("failgym/GracePeriod-v1", tmp_path / "other", shown)
    for other in (tmp_path / "other" / "round-1.safetensors", stopped / "round-2.safetensors"):
        (stopped / "round-1.safetensors").write_bytes(other.read_bytes())
        with pytest.raises(ValueError, match=r"round-1\.safetensors: expected round 1 of this run"):
            train("failgym/GracePeriod-v1", stopped, settings, resume=True)


def test_who_goes_on_does_not_have_to_say_the_same_words(tmp_path: Path) -> None:
    settings = TrainingSettings("counterfactual", hyper={**QUICK, "traces": 1})
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        train("failgym/GracePeriod-v1", folder, settings, command="typed")
    for name in ("best.safetensors", "result.json"):
        (other / name).unlink()
    seconds = json.loads((other / "round-1.json").read_text())["seconds"]
    again = replace(settings, threads=2)
    train("failgym/GracePeriod-v1", other, again, resume=True, command="typed in other words")
    resumed = json.loads((other / "result.json").read_text())
    assert resumed["seconds"] - resumed["validation_seconds"] == pytest.approx(seconds)
    assert resumed["command"] == "typed"
    assert (one / "best.safetensors").read_bytes() == (other / "best.safetensors").read_bytes()
    (other / "result.json").unlink()
    (other / "round-1.json").write_text('{"seconds": "many"}')
    with pytest.raises(ValueError, match=r"round-1\.json: seconds: expected a number, got 'many'"):
        train("failgym/GracePeriod-v1", other, again, resume=True)


def test_what_was_learned_from_gives_no_verdict(tmp_path: Path) -> None:
    hyper = {**QUICK, "traces": 1}
    settings = TrainingSettings("counterfactual", hyper=hyper, split="train")
    assert train("failgym/GracePeriod-v1", tmp_path / "run", settings).verdict is None


def test_an_imported_trace_is_one_whatever_is_asked_for(tmp_path: Path) -> None:
    from failgym.traces.synthetic import PROFILES, generate

    trace = generate(PROFILES["google-2011-applications"], jobs=900, seed=1)
    scenario = resolve("failgym/GracePeriod-v1").override(trace=trace)
    hyper = {name: value for name, value in QUICK.items() if name != "env.jobs"}
    settings = TrainingSettings("counterfactual", hyper={**hyper, "traces": 10})
    result = train(scenario, tmp_path / "run", settings)
    assert json.loads((tmp_path / "run" / "run.json").read_text())["settings"]["traces"] == 1
    assert result.steps > 0


def test_a_run_whose_first_round_cannot_be_leaves_nothing(tmp_path: Path) -> None:
    hyper = {**QUICK, "traces": 1, "decisions": 1e-9}
    with pytest.raises(ValueError, match="decisions: expected a greater share"):
        train(
            "failgym/GracePeriod-v1",
            tmp_path / "run",
            TrainingSettings("counterfactual", hyper=hyper),
        )
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("env", "settings", "message"),
    [
        ("failgym/GracePeriod-v1", {"steps": 5}, "steps: expected none: counterfactual goes by"),
        ("failgym/GracePeriod-v1", {"n_envs": 5}, "n_envs: expected none"),
        ("failgym/GracePeriod-v1", {"keep": "stochastic"}, "keep: expected 'deterministic'"),
        ("failgym/GracePeriod-v1", {"hyper": {"round": 1}}, "did you mean rounds?"),
        ("failgym/GracePeriod-v1", {"hyper": {"depth": 11}}, "depth: "),
        ("failgym/GracePeriod-v1", {"hyper": {"caution": []}}, "caution: "),
        ("failgym/GracePeriod-v1", {"hyper": {"rules": ["grace"]}}, "unknown policy 'grace'"),
        ("failgym/GracePeriod-v1", {"hyper": {"rules": ["young"]}}, "rules: young needs"),
        ("failgym/GracePeriod-v1", {"hyper": {"visit": {"fold": 5}}}, "visit: fold: expected none"),
        ("failgym/GracePeriod-v1", {"hyper": {"visit": {"trace": "x"}}}, "visit: trace: expected"),
        (
            "failgym/GracePeriod-v1",
            {"hyper": {"advice": [{"policy": "introspective", "parameters": {"factor": 10**400}}]}},
            "advice.0: introspective: ",
        ),
        (
            "failgym/GracePeriod-v1",
            {"hyper": {"tries": "rules", "advice": []}},
            "advice: expected two rules or",
        ),
        (
            "failgym/GracePeriod-v1",
            {"hyper": {"tries": "rules", "advice": [GRACE, GRACE], "rounds": 2}},
            "rounds: expected 1 where rules are chosen among",
        ),
        ("failgym/GracePeriod-v1", {"hyper": {"advice": ["grace_period"]}}, "advice.0: "),
        ("failgym/GracePeriod-v1", {"hyper": {"advice": [{"policy": "none"}]}}, "unknown policy"),
        (
            "failgym/GracePeriod-v1",
            {"hyper": {"advice": [GRACE | {"parameters": {"grace": 1}}]}},
            "unknown parameter 'grace' of grace_period",
        ),
        ("failgym/GracePeriod-v1", {"hyper": {"advice": [{"policy": "young"}]}}, "advice: young"),
        (
            "failgym/GracePeriod-v1",
            {"hyper": {"situations": [{"fold": 1}]}},
            "situations.0: fold: expected none: situations leave it as it is",
        ),
        (
            "failgym/GracePeriod-v1",
            {"hyper": {"situations": [{"forecast": "none"}], "visit": {"forecast": "perfect"}}},
            "situations: forecast: expected none that visit changes",
        ),
        (
            "failgym/GracePeriod-v1",
            {"hyper": {"units": 64}},
            "units: expected none: trees are learned",
        ),
        (
            "failgym/GracePeriod-v1",
            {"hyper": {"situations": [{"clone": True}]}},
            "situations: expected fields that leave what may be decided as it is",
        ),
        (
            "failgym/GracePeriod-v1",
            {"hyper": {"situations": [{}] * 3, "traces": 2, "chosen_on": 2}},
            "traces: expected one or more of each of 3 situations, got 2",
        ),
        (
            "failgym/Workflow-v1",
            {"hyper": {"tries": "rules", "advice": [{"policy": "flaw"}] * 2}},
            "tries: expected 'answers': in Workflow-v1 tasks wait for each other",
        ),
    ],
)
def test_what_cannot_be_trained_is_said_in_a_line(
    tmp_path: Path, env: str, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message) as raised:
        train(env, tmp_path / "run", TrainingSettings("counterfactual", **settings))
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "run").exists()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The policy file of a small agent."""
    return trained(tmp_path_factory.mktemp("trees") / "run").policy


Arrays = dict[str, Any]
Change = Callable[[Arrays], Arrays]


def without(name: str) -> Change:
    return lambda arrays: {key: value for key, value in arrays.items() if key != name}


def changed(name: str, change: Callable[[Any], Any]) -> Change:
    return lambda arrays: {**arrays, name: change(arrays.get(name))}


def trees(change: Callable[[Any], Any]) -> Change:
    """Of all arrays that trees are in memory."""

    def changed_trees(arrays: Arrays) -> Arrays:
        forest = stored_ensemble("Forest", arrays)
        assert isinstance(forest, Forest)
        return dict(stored_arrays(Forest(*map(change, forest))))

    return changed_trees


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without("forest.base"), "forest.base is missing"),
        (changed("forest.more", lambda _: np.zeros(1, np.float32)), "unknown 'forest.more'"),
        (changed("forest.base", lambda a: a.astype(np.float64)), "is float64, expected float32"),
        (changed("forest.fields", lambda a: a.astype(np.int32) + 500), "expected columns 0 to"),
        (changed("forest.leaves", lambda a: a.astype(np.uint8)), "expected float16 or float32"),
        (changed("forest.leaves", lambda a: a * np.nan), "leaves: expected numbers up to"),
        (trees(lambda a: np.concatenate([a, a])), "rounds: the manifest says 1, the arrays hold 2"),
        (trees(lambda a: a[:, :1]), "models: the manifest says 5, the arrays hold 1"),
        (trees(lambda a: a[:, :, :3] if a.ndim > 2 else a), "trees: the manifest says 8"),
        (changed("forest.thresholds", lambda a: a + np.int32(500)), "expected numbers of"),
        (changed("forest.cuts", lambda a: a * np.nan), "thresholds: expected numbers"),
        (changed("forest.asks", lambda a: a[:-1]), "asks: expected"),
    ],
)
def test_a_damaged_file_is_refused_in_a_line(
    tmp_path: Path, file: Path, change: Change, message: str
) -> None:
    from safetensors import safe_open

    opened: Any = safe_open
    with opened(file, framework="np") as content:
        metadata = content.metadata()
    damaged = tmp_path / "damaged.safetensors"
    arrays = {n: np.ascontiguousarray(v) for n, v in change(load_file(file)).items()}
    save_file(arrays, damaged, metadata)
    with pytest.raises(ValueError, match=message) as raised:
        load_agent(damaged)
    assert str(raised.value).startswith(str(damaged))
    assert "\n" not in str(raised.value)


def test_an_older_file_is_written_anew_as_training_would_now(tmp_path: Path, file: Path) -> None:
    from safetensors import safe_open

    agent: Any = load_agent(file)
    whole = {f"forest.{n}": array for n, array in agent.network.ensemble._asdict().items()}
    opened: Any = safe_open
    with opened(file, framework="np") as content:
        save_file(whole, older := tmp_path / "older.safetensors", content.metadata())
    assert load_agent(older).digest == agent.digest
    assert older.read_bytes() != file.read_bytes()
    save_anew(older, older)
    assert older.read_bytes() == file.read_bytes()
    with pytest.raises(ValueError, match="expected a name that ends in"):
        save_anew(older, tmp_path / "older.zip")


def test_every_number_that_decides_is_in_the_digest(tmp_path: Path, file: Path) -> None:
    agent = load_agent(file)
    decider: Any = agent.network
    others = [
        replace(decider, caution=decider.caution + 1.0),
        *(
            replace(decider, ensemble=decider.ensemble._replace(**{name: array * 2 + 1}))
            for name, array in decider.ensemble._asdict().items()
        ),
    ]
    digests = {replace(agent, network=other).digest for other in (decider, *others)}
    assert len(digests) == 6
