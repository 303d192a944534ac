"""One agent of several environments: how it learns, what its file says, and where it plays."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")
pytest.importorskip("xgboost")
from safetensors.numpy import load_file, save_file

from failgym import evaluate
from failgym.agents import TrainingSettings, load_agent, read_manifest, train
from failgym.agents.algorithms.settings_files import settings_of
from failgym.agents.counterfactual.choosing import best_of, by_environment, mean_validation
from failgym.agents.counterfactual.lessons import lessons
from failgym.agents.counterfactual.places import environments_of
from failgym.agents.counterfactual.settings import CounterfactualSettings
from failgym.agents.counterfactual.train import LEARNER
from failgym.agents.counterfactual.visits import Visits, visited
from failgym.agents.files.policy_file import KEY
from failgym.agents.training.result import NoneAcceptable, TrainingResult
from failgym.agents.training.validation import Validation
from failgym.baselines import REGISTRY
from failgym.cli import run
from failgym.cli.entries import read_entries
from failgym.cli.policy_facts import policy_facts
from failgym.cli.policy_process import COMMAND
from failgym.cli.specs import load_policy
from failgym.counterfactual import branch
from failgym.envs import SCENARIOS, resolve
from failgym.envs.vector import MitigationVectorEnv
from failgym.evaluation import Anchors
from failgym.evaluation.caller import made_for
from failgym.evaluation.repriced import reads_prices
from failgym.leaderboard import SUITES, Suite, SuiteWorlds, verify
from failgym.leaderboard.policy_process.players import Players
from failgym.leaderboard.suite.suites import Course
from failgym.sim.shared.fields import INDEX
from failgym.vocabulary import Action
from tests.leaderboard.boards import results, submit

GRACE, CLONING, CHECKPOINT = (
    f"failgym/{name}-v1" for name in ("GracePeriod", "Cloning", "Checkpoint")
)
FAILING: dict[str, Any] = {"trace": "google-2011-failing"}
"""A trace with enough that fails in few jobs."""
QUICK: dict[str, Any] = {
    **{"trees": 8, "depth": 2, "env": {"jobs": 900}, "caution": [0.0, 1.0], "traces": 1},
    **{"chosen_on": None, "episodes": 400, "decisions": 0.5, "rules": ["immediate_kill"]},
    **{"advice": [], "rounds": 1, "situations": [], "prices": True},
}
"""A small run, whatever the settings are that come with an environment."""
ENVIRONMENTS: list[dict[str, Any]] = [
    {"env": GRACE, "advice": [{"policy": "grace_period"}], "hidden": ["system"]},
    {"env": CLONING, "fields": FAILING, "advice": [{"policy": "algorithm_1"}], "scored": 300},
]


def settings(**hyper: Any) -> TrainingSettings:
    return TrainingSettings(
        "counterfactual", hyper={**QUICK, "environments": ENVIRONMENTS, **hyper}
    )


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> TrainingResult:
    """A small agent of two environments."""
    return train(GRACE, tmp_path_factory.mktemp("pooled") / "run", settings(), command="one")


def scenario(env: str) -> Any:
    return resolve(env).override(jobs=900, **(FAILING if env == CLONING else {}))


@pytest.mark.parametrize("env", [GRACE, CLONING])
def test_one_agent_plays_in_each_of_its_environments(result: TrainingResult, env: str) -> None:
    agent = load_agent(result.policy)
    found = evaluate(agent, scenario(env), split="validation")
    assert np.isfinite(found.score)
    assert found.illegal == 0
    assert not found.same_as_replay
    # what is stored plays as what was chosen: of all tasks where none were drawn
    said = {one.env: one.score for one in result.best.environments or ()}
    if env == GRACE:
        assert found.score == pytest.approx(said[env])


def test_it_is_refused_elsewhere_unless_it_may_play_anywhere(result: TrainingResult) -> None:
    agent = load_agent(result.policy)
    assert {name for name, known in SCENARIOS.items() if made_for(agent, known)} == {
        "GracePeriod-v1",
        "Cloning-v1",
    }
    there = scenario(CHECKPOINT)
    with pytest.raises(ValueError, match=f"trained in {GRACE}, {CLONING}, not in {CHECKPOINT}"):
        evaluate(agent, there, episodes=2)
    with pytest.raises(ValueError, match="trained to decide kill; here is decided checkpoint"):
        evaluate(agent, resolve(GRACE).override(jobs=300, kill=False, checkpoint=True), episodes=2)
    assert evaluate(load_agent(result.policy, anywhere=True), there, episodes=2).illegal == 0


def test_its_file_and_its_card_name_all_environments(result: TrainingResult) -> None:
    manifest = read_manifest(result.policy)
    assert manifest.environment.id == GRACE
    places = {place.id: place for place in manifest.environments}
    assert list(places) == [GRACE, CLONING]
    assert places[CLONING].fields["trace"] == FAILING["trace"]
    assert (places[GRACE].hears, places[CLONING].hears) == ((0,), (1,))
    assert "running" in places[GRACE].hidden
    assert len(manifest.fields) == len(INDEX)  # what is constant in one may tell it from another
    facts = policy_facts(result.policy)
    assert facts["Trained in"] == [GRACE, CLONING]
    assert (
        f"{CLONING}: trace: google-2011-failing"
        in facts["Fields of the environments that were changed"]
    )


def test_it_is_told_where_it_plays(result: TrainingResult) -> None:
    """Rules, hidden fields and prices are those of the environment."""
    agent = load_agent(result.policy)
    shown = visited(scenario(GRACE).override(split="fit"), [REGISTRY["replay"]()]).observations
    with pytest.raises(ValueError, match=r"environment: .* say where it plays"):
        agent.predict(shown)
    at_home = agent.playing_by(scenario(GRACE))
    assert at_home.digest == agent.digest
    answers = at_home.predict(shown)[0]
    other = shown.copy()
    other[:, INDEX["running"]] = 9.0  # is hidden there
    assert np.array_equal(at_home.predict(other)[0], answers)
    dear = scenario(GRACE).override(task_value=9.0)
    assert reads_prices(agent, scenario(GRACE), dear)
    assert not reads_prices(agent, scenario(GRACE), scenario(GRACE))
    told: Any = agent.playing_by(dear).network
    assert 9.0 in told.inputs.prices


def test_it_is_as_cautious_as_does_best_in_each_environment(result: TrainingResult) -> None:
    agent = load_agent(result.policy)
    chosen = {one.env: one.caution for one in result.best.environments or ()}
    assert {place.id: place.caution for place in agent.manifest.environments} == chosen
    places = [
        place.model_copy(update={"caution": 100.0 if place.id == CLONING else 0.0})
        for place in agent.manifest.environments
    ]
    manifest = agent.manifest.model_copy(update={"environments": tuple(places)})
    other = replace(agent, manifest=manifest)
    assert other.digest != agent.digest
    for env, rule, follows in ((CLONING, "algorithm_1", True), (GRACE, "grace_period", False)):
        shown = visited(scenario(env).override(split="fit"), [REGISTRY["replay"]()]).observations
        answers = other.playing_by(scenario(env)).predict(shown)[0]
        same = np.mean(answers == REGISTRY[rule]().predict(shown)[0])
        assert same > 0.9 if follows else same < 0.9


def test_it_may_answer_behind_an_answer_that_is_tried(result: TrainingResult) -> None:
    env = MitigationVectorEnv(scenario(GRACE), 4)
    env.reset(seed=1)
    gains = branch(env, load_agent(result.policy)).gains
    assert np.isfinite(gains[:, [int(Action.CONTINUE), int(Action.KILL)]]).all()


def test_what_other_environments_do_not_enable_is_left_out_there() -> None:
    hyper = CounterfactualSettings(
        rules=["immediate_kill", "young"],
        advice=[{"policy": "grace_period"}, {"policy": "algorithm_1"}],  # pyright: ignore
        environments=[{"env": CLONING}, {"env": CHECKPOINT}],  # pyright: ignore
    )
    given = resolve(GRACE)
    places, advice = environments_of(given, hyper, split="fit", episodes=7)
    assert [place.id for place in places] == [GRACE, CLONING, CHECKPOINT]
    assert [place.rules for place in places] == [("immediate_kill",), (), ("young",)]
    assert [place.hears for place in places] == [(0,), (1,), ()]
    assert [rule.name for rule in advice] == ["grace_period", "algorithm_1"]
    assert [place.scored for place in places] == [7, 7, 7]


def test_a_run_that_was_stopped_ends_with_the_same_bytes(
    tmp_path: Path, result: TrainingResult
) -> None:
    whole, stopped = result.policy.parent, tmp_path / "stopped"
    train(GRACE, stopped, settings(), command="one")
    for left in (("round-1.safetensors",), ()):  # killed after the round, or in it
        for file in stopped.glob("*"):
            if file.name not in ("run.json", "settings.yaml", *left):
                file.unlink()
        again = train(GRACE, stopped, settings(), resume=True, command="one")
        assert again.verdicts == result.verdicts
        for name in ("best.safetensors", "round-1.safetensors"):
            assert (whole / name).read_bytes() == (stopped / name).read_bytes()
    one_less = settings(environments=ENVIRONMENTS[:1])
    with pytest.raises(ValueError, match="this run was started with"):
        train(GRACE, stopped, one_less, resume=True)


def test_the_unit_of_costs_of_an_environment_changes_nothing(
    tmp_path: Path, result: TrainingResult
) -> None:
    """All that is charged in GracePeriod-v1 is charged twice; what is shown is the same."""
    double = {"weight_wasted": 2.0, "weight_overhead": 2.0}
    dear = [{**ENVIRONMENTS[0], "fields": double}, ENVIRONMENTS[1]]
    plain = train(GRACE, tmp_path / "plain", settings(prices=False))
    other = train(GRACE, tmp_path / "other", settings(prices=False, environments=dear))
    mine, theirs = load_file(plain.policy), load_file(other.policy)
    assert mine.keys() == theirs.keys()
    for name, array in mine.items():
        np.testing.assert_array_equal(array, theirs[name])
    assert [one.score for one in plain.validations] == pytest.approx(
        [one.score for one in other.validations]
    )


def test_agents_are_chosen_by_the_mean_and_judged_in_each(result: TrainingResult) -> None:
    for one in result.validations:
        each = [part.score for part in one.environments or ()]
        assert one.score == pytest.approx(np.mean(each))
        assert one.worst is not None
        assert one.worst.score == min(each)
    assert result.best.score == max(one.score for one in result.validations)
    assert result.verdict is None
    *tried, kept = result.validations
    assert [one.caution for one in tried] == [0.0, 1.0]
    for place, one in enumerate(kept.environments or ()):
        scores = {each.caution: (each.environments or ())[place].score for each in tried}
        assert one.score == max(scores.values())
        assert scores[one.caution] == one.score
    assert result.verdicts is not None
    assert list(result.verdicts) == [GRACE, CLONING]
    assert len(result.judgements) == 2
    assert json.loads((result.policy.parent / "result.json").read_text()) == result.to_json()


def test_the_interval_of_a_mean_of_independent_scores_by_hand() -> None:
    each = {
        "a": Validation(5, 10.0, 4.0, 13.0, None, 1, 0.5, 0.1, 0.2),
        "b": Validation(5, 30.0, 22.0, 34.0, None, 1, 0.5, 0.3, 0.4),
    }
    found = mean_validation(each)
    assert (found.score, found.low, found.high) == (20.0, 20.0 - 10.0 / 2, 20.0 + 5.0 / 2)
    assert (found.false_kills_per_job, found.tail) == (0.3, pytest.approx(0.3))
    unknown = mean_validation({**each, "c": replace(each["a"], low=None, high=None)})
    assert (unknown.low, unknown.high) == (None, None)


def test_each_environment_has_the_caution_that_does_best_there() -> None:
    def validation(score: float, round: int, caution: float, kills: float = 0.0) -> Validation:
        return Validation(5, score, None, None, None, round, caution, kills)

    found = [
        {"a": validation(10.0, 1, 1.0), "b": validation(50.0, 1, 1.0)},
        {"a": validation(20.0, 1, 9.0), "b": validation(30.0, 1, 9.0)},
        {"a": validation(90.0, 2, 1.0, kills=0.5), "b": validation(90.0, 2, 1.0)},
    ]
    first, second = by_environment(found, None)
    assert (first.score, first.caution, second.score, second.caution) == (35.0, None, 90.0, 1.0)
    assert [one.caution for one in first.environments or ()] == [9.0, 1.0]
    # of the second round all agents kill falsely too often in one environment
    assert by_environment(found, 0.1) == [first]
    each = [mean_validation(one) for one in found]
    assert best_of([*each, first, second], 0.1) == first
    assert best_of([*each, first, second], None) == each[2]
    with pytest.raises(NoneAcceptable, match=r"expected 0.1 a job at most, the fewest are 0.5"):
        best_of([each[2]], 0.1)


def test_runs_without_cautions_go_on(result: TrainingResult) -> None:
    """They were begun before there were any; files of rounds have none either."""
    document = json.loads((result.policy.parent / "run.json").read_text("utf-8"))
    assert document["environments"]
    assert all("caution" not in place for place in document["environments"])
    rounds = read_manifest(result.policy.parent / "round-1.safetensors")
    assert [place.caution for place in rounds.environments] == [None, None]


def made_up(rows: int, unit: float, played: int) -> Visits:
    """Decisions on tasks of jobs of their own, of which killing saves so much."""
    gains = np.full((rows, 5), np.nan)
    gains[:, 0], gains[:, int(Action.KILL)] = 0.0, unit
    number = np.arange(rows)
    shown = np.zeros((rows, 2), np.float32)
    return Visits(
        *(shown, gains, number, number, np.zeros_like(number), np.ones(rows)), played=played
    )


def test_environments_weigh_what_can_be_saved_in_them() -> None:
    """Of equal shares of the room each has the same weight, however many decisions tell of it."""
    few, many = made_up(20, 3.0, played=20), made_up(200, 0.5, played=100)
    # gains of .3 a task of the one; of the other .1 a decision, two decisions a task: .2 a task
    pooled = Visits.pooled([few, many], [10.0, 5.0])
    assert pooled.environments is not None
    assert pooled.traces.tolist() == [0] * 20 + [1] * 200
    (lesson,) = lessons(pooled, (0, int(Action.KILL)), 500, 0.5, seed=1)
    assert lesson is not None
    held = lesson.weights.mean(axis=0)
    first, second = held[:20].sum(), held[20:].sum()
    assert first / second == pytest.approx(0.3 / 0.2, rel=0.1)
    assert held[:20].mean() == pytest.approx(1.0, rel=0.1)  # where a decision weighs most
    # a job is cut down to its share of its own environment
    few.gains[0, int(Action.KILL)] = 300.0
    pooled = Visits.pooled([few, many], [10.0, 5.0])
    (lesson,) = lessons(pooled, (0, int(Action.KILL)), 500, 0.25, seed=1)
    assert lesson is not None
    held = lesson.weights.mean(axis=0)
    assert held[0] / held[:20].sum() == pytest.approx(0.25, rel=0.2)


@pytest.mark.parametrize(
    ("hyper", "message"),
    [
        (
            {"environments": [{"env": "failgym/Clonin-v1"}]},
            "environments: failgym/Clonin-v1: unknown",
        ),
        ({"environments": [{"env": CLONING}] * 2}, f"environments: {CLONING} is given twice"),
        ({"environments": [{"env": CLONING, "trace": 3}]}, "environments.0.trace"),
        (
            {"environments": [{"env": CLONING, "fields": {"jobs": 0}}]},
            f"environments: {CLONING}: env: jobs: expected at least 1",
        ),
        (
            {"environments": [{"env": CLONING, "advice": [{"policy": "young"}]}]},
            f"environments: {CLONING}: advice: young needs checkpoint, which Cloning-v1 does not",
        ),
        (
            {"environments": [{"env": CLONING, "rules": ["young"]}]},
            f"environments: {CLONING}: rules: young needs checkpoint",
        ),
        ({"rules": ["young"]}, "rules: young: expected an environment that lets it play"),
        (
            {"advice": [{"policy": "young"}]},
            "advice: young: expected an environment that asks it",
        ),
        (
            {"environments": [{"env": CLONING, "situations": [{}, {}]}]},
            f"environments: {CLONING}: traces: expected one or more of each of 2 situations",
        ),
        (
            {"environments": [{"env": CLONING, "visit": {"task_value": 2.0}}]},
            "visit: task_value: expected none: gains would be on another scale",
        ),
        (
            {"environments": [{"env": CLONING, "hidden": ["mask"]}]},
            "hidden: expected no field of mask",
        ),
        (
            {"tries": "rules", "advice": [{"policy": "grace_period"}, {"policy": "blind_kill"}]},
            "tries: expected 'answers' where several environments are learned in",
        ),
    ],
)
def test_what_does_not_go_together_is_said_in_a_line(
    tmp_path: Path, hyper: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message) as raised:
        train(GRACE, tmp_path / "run", settings(**hyper))
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "run").exists()


def test_folds_are_of_one_record(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="rolling: expected one environment"):
        train(GRACE, tmp_path / "run", replace(settings(), rolling=True))


Said = dict[str, Any]
DAMAGES: list[tuple[Callable[[Said], object], str]] = [
    (lambda said: said["environments"].pop(0), f"environments: expected {GRACE} among them"),
    (
        lambda said: said["environments"].append(said["environments"][1]),
        "environments: expected each once",
    ),
    (
        lambda said: said["environments"][1].update(hears=[2]),
        "environments: hears: got 2 rules",
    ),
    (lambda said: said["environments"][1].update(hears=[-1]), "environments.1.hears.0"),
    (
        lambda said: said["environments"][1].update(hidden=["no field"]),
        "environments: hidden: the agent reads no 'no field'",
    ),
    (lambda said: said["environments"][1].pop("trace_hash"), "environments.1.trace_hash"),
    (lambda said: said["network"].update(prices=["wages"]), "prices: expected some of"),
]
"""What is changed in a manifest, and what is said of it."""


@pytest.mark.parametrize(("change", "message"), DAMAGES)
def test_a_damaged_manifest_is_refused_in_a_line(
    tmp_path: Path, result: TrainingResult, change: Callable[[Said], object], message: str
) -> None:
    said = json.loads(read_manifest(result.policy).model_dump_json())
    change(said)
    damaged = tmp_path / "damaged.safetensors"
    save_file(load_file(result.policy), damaged, {KEY: json.dumps(said)})
    with pytest.raises(ValueError, match=message) as raised:
        load_agent(damaged)
    assert str(raised.value).startswith(str(damaged))
    assert "\n" not in str(raised.value)


def test_prices_may_be_shown_of_one_environment(tmp_path: Path) -> None:
    situations: list[dict[str, Any]] = [{}, {"task_value": 1.0}]
    one = settings(environments=[], situations=situations, traces=2, chosen_on=2)
    agent = load_agent(train(GRACE, tmp_path / "run", one).policy)
    assert agent.is_told
    assert not agent.manifest.environments
    assert evaluate(agent, scenario(GRACE), episodes=20).illegal == 0


def test_every_situation_of_the_shipped_generalist_can_be_met() -> None:
    hyper = settings_of(LEARNER, GRACE, file="generalist")
    places, _ = environments_of(resolve(GRACE), hyper, split="fit", episodes=None)
    assert {place.scenario.name for place in places} == set(SCENARIOS)
    for place in places:
        assert len(place.visiting) == place.hyper.traces
    with pytest.raises(ValueError, match="config: no generalist of ppo comes with failgym"):
        train(GRACE, Path("never"), TrainingSettings("ppo", config="generalist"))


def test_a_process_of_its_own_is_told_where_it_plays(result: TrainingResult) -> None:
    """As on leaderboards."""
    players = Players(load_policy, COMMAND)
    agent = load_agent(result.policy)
    try:
        for env in (GRACE, CLONING):
            here = scenario(env)
            anchors = Anchors.of(here, episodes=3)
            batch = anchors.world.batch(here, 3, here.order, 1)
            batch.reset(anchors.replay.slices)
            player = players.player("agent", str(result.policy), resolve(env))
            player.begin(3)
            live, fresh, at = np.ones(3, np.bool_), np.ones(3, np.bool_), np.arange(3)
            for _ in range(5):
                live = ~batch.state.episodes["done"]
                obs, mask = batch.output.obs[live], batch.output.mask[live]
                wanted = agent.playing_by(resolve(env)).predict(obs, action_masks=mask)[0]
                actions = player.act(batch.output, live, fresh & live, at)
                assert np.array_equal(actions[live], wanted)
                batch.step(actions)
                fresh[:] = False
    finally:
        players.close()


def test_it_plays_on_a_leaderboard_and_is_asked_again(
    tmp_path: Path, result: TrainingResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A single SPEC is entered where it was made for, and every action is verified."""
    small: dict[str, Any] = {"jobs": 300, "slice_tasks": 16}
    courses = [
        Course(name, seeds=(0,), slices=1, changes={**small, **more})
        for name, more in (("GracePeriod-v1", {}), ("Cloning-v1", FAILING), ("Checkpoint-v1", {}))
    ]
    suite = Suite("three", 1, tuple(courses))
    monkeypatch.setitem(SUITES, suite.name, suite)
    players = Players(load_policy, COMMAND)
    wanted = read_entries([f"mine={result.policy}"], SuiteWorlds.of(suite, None, None), players)
    (entry,) = wanted.entries
    assert (entry.kind, set(entry.specs)) == ("agent", {"GracePeriod-v1", "Cloning-v1"})
    submit(tmp_path / "a", entry, suite=suite, load=load_policy)
    assert {row["status"] for row in results(tmp_path / "a")} == {"ok"}
    found = verify(tmp_path / "a", players=Players(load_policy, COMMAND, 600.0))
    assert found.problems == ()
    assert {one.proof for one in found.proofs} == {"verified"}


def test_the_command_shows_all_environments(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "two.yaml"
    file.write_text(json.dumps({**QUICK, "environments": ENVIRONMENTS}), encoding="utf-8")
    words = ["train", "--env", GRACE, "--algo", "counterfactual", "--config", str(file)]
    assert run([*words, "--require-gain", "--out", str(tmp_path / "run")]) == 1
    said = capsys.readouterr().out
    assert "counterfactual in 2 environments: mean score on the validation splits" in said
    assert "worst environment" in said
    verdicts = json.loads((tmp_path / "run" / "result.json").read_text())["verdicts"]
    assert f"{CLONING}: {verdicts[CLONING]['answer']}" in said
    several = [*words, "--seed", "0", "--seed", "1", "--out", str(tmp_path / "runs")]
    assert run(several) == 0
    said = capsys.readouterr().out
    adopted = [one["answer"] for one in verdicts.values()].count("adopt")
    assert f"adopt in {adopted} of 2" in said
    assert f"GracePeriod-v1, seed 0: {CLONING}: {verdicts[CLONING]['answer']}" in said
