"""Decision trees: what they answer, in what words they are told, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import failgym
from failgym.baselines import REGISTRY, DecisionTree, Replay
from failgym.baselines.decision_tree import WORDS
from failgym.baselines.stored import load_heuristic, save_heuristic
from failgym.cli import app
from failgym.envs import FIELDS, SCENARIOS
from failgym.evaluation.caller import made_for
from failgym.vocabulary import Action
from failgym.worlds.decisions import DECISIONS

INDEX = {field.name: at for at, field in enumerate(FIELDS)}
TREE = DecisionTree(
    first="risk",
    first_above=0.5,
    below="attempt",
    below_above=0.0,
    above="age",
    above_above=3.0,
    window="nothing clone nothing clone",
    failed="give_up retry give_up retry",
)


def seen(**values: float) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    observation = np.zeros(len(FIELDS), dtype=np.float32)
    for name, value in values.items():
        observation[INDEX[name]] = value
    return observation


@pytest.mark.parametrize(
    ("values", "action"),
    [
        ({"window": 1, "risk": 0.2}, Action.CONTINUE),
        ({"window": 1, "risk": 0.2, "attempt": 1}, Action.CLONE),
        ({"window": 1, "risk": 0.5, "attempt": 1}, Action.CLONE),
        ({"window": 1, "risk": 0.9, "attempt": 1}, Action.CONTINUE),
        ({"window": 1, "risk": 0.9, "age": 4}, Action.CLONE),
        ({"window": 1, "risk": 0.9, "age": 4, "actions_taken": 1}, Action.CONTINUE),
        ({"failed": 1, "risk": 0.2}, Action.KILL),
        ({"failed": 1, "risk": 0.2, "attempt": 2}, Action.RETRY),
        ({"failed": 1, "risk": 0.2, "attempt": 2, "actions_taken": 1}, Action.CONTINUE),
        ({"output": 1, "risk": 0.9}, Action.CONTINUE),
    ],
)
def test_a_tree_answers_by_its_leaf(values: dict[str, float], action: Action) -> None:
    one = seen(**values)
    assert TREE.predict(one, action_masks=np.ones(5, dtype=np.int8))[0] == action
    assert TREE.predict(one, action_masks=np.array([1, 0, 0, 0, 0]))[0] == Action.CONTINUE
    batch, _ = TREE.predict(np.stack([one, one]), action_masks=np.ones((2, 5)))
    assert batch.tolist() == [action, action]


def test_each_kind_of_decision_has_words_of_its_own() -> None:
    """Saving an output is the action CHECKPOINT, passing over a machine RETRY."""
    all_of_it = DecisionTree(
        window="checkpoint kill clone nothing", output="save " * 4, dispatch="pass " * 4
    )
    answers = [
        int(all_of_it.predict(seen(**{kind: 1.0}), action_masks=np.ones(5))[0])
        for kind in ("window", "failed", "output", "dispatch")
    ]
    # Field `window` is above 0 in a WINDOW decision: both questions are answered by yes there.
    assert answers == [Action.CONTINUE, Action.CONTINUE, Action.CHECKPOINT, Action.RETRY]
    assert {needed for words in WORDS.values() for _, needed in words.values()} == set(DECISIONS)


def test_a_tree_is_told_in_words() -> None:
    assert TREE.text == (
        "not `risk` > 0.5: clone and retry if `attempt` > 0, else give_up;"
        " `risk` > 0.5: clone and retry if `age` > 7 min, else give_up"
    )
    still = replace(TREE, failed="nothing nothing nothing nothing")
    assert replace(still, window="nothing nothing kill kill").text == (
        "not `risk` > 0.5: nothing; `risk` > 0.5: kill"
    )


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"first": "riks"}, "unknown field 'riks', did you mean risk?"),
        ({"below_above": float("nan")}, "below_above: expected a finite number, got nan"),
        ({"first_above": 1e39}, "first_above: expected a finite number, got 1e\\+39"),
        ({"window": "clone"}, "window: expected 4 words, got 'clone'"),
        (
            {"window": "clone clone clone klone"},
            "window: unknown word 'klone', did you mean clone?",
        ),
        ({"output": "kill kill kill kill"}, "output: unknown word 'kill', known: nothing, save"),
    ],
)
def test_what_does_not_fit_is_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("?", r"\?")):
        DecisionTree(**values)


def test_a_tree_is_no_baseline_but_comes_back_from_a_file(tmp_path: Path) -> None:
    assert DecisionTree.name not in REGISTRY
    save_heuristic(TREE, tmp_path / "tree.json")
    assert load_heuristic(tmp_path / "tree.json") == TREE


def test_it_plays_where_all_is_offered_that_its_leaves_are_about() -> None:
    assert [name for name, one in SCENARIOS.items() if made_for(TREE, one)] == [
        name for name, one in SCENARIOS.items() if one.clone and one.retry and one.give_up
    ]
    saves = DecisionTree(output="save save save save")
    assert [name for name, one in SCENARIOS.items() if made_for(saves, one)] == ["Lineage-v1"]
    with pytest.raises(ValueError, match="needs decisions that GracePeriod-v1 does not offer"):
        failgym.evaluate(TREE, "GracePeriod-v1", jobs=200, episodes=1)


def test_who_asks_about_a_forecast_is_told_where_there_is_none() -> None:
    assert TREE.inputs() == {"risk"}
    assert DecisionTree(above="confidence_finish", below="job_confidence").inputs() == {"classes"}
    assert DecisionTree(first="predicted_to_fail").inputs() == {"node_forecast"}
    assert DecisionTree().inputs() == frozenset()
    small: dict[str, Any] = {"jobs": 300, "trace": "google-2011-failing", "episodes": 4}
    with pytest.raises(ValueError, match="needs a forecast of attempts that fail"):
        failgym.evaluate(TREE, "Cloning-v1", forecast="none", **small)


def test_by_default_it_does_nothing() -> None:
    small: dict[str, Any] = {"jobs": 300, "trace": "google-2011-failing", "episodes": 4}
    found, replay = (failgym.evaluate(p, "Cloning-v1", **small) for p in (DecisionTree(), Replay()))
    assert found.cost == replay.cost


def test_the_command_plays_one_from_a_file(tmp_path: Path) -> None:
    """It costs what it costs in Python."""
    file, result = tmp_path / "tree.json", tmp_path / "result.json"
    save_heuristic(TREE, file)
    words = ["--env", "failgym/Cloning-v1", "--set", "jobs=300", "--episodes", "4"]
    words += ["--set", "trace=google-2011-failing"]
    done = CliRunner().invoke(
        app, ["evaluate", *words, "--policy", str(file), "--json", str(result)]
    )
    assert done.exit_code == 0, done.output
    small: dict[str, Any] = {"jobs": 300, "trace": "google-2011-failing", "episodes": 4}
    expected = failgym.evaluate(TREE, "Cloning-v1", **small)
    assert f"{expected.cost!r}"[:8] in result.read_text("utf-8")
