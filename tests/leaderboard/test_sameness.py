"""One player under several names is told; what only looks like it is not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from failgym.agents import load_agent
from failgym.agents.files.trained_policy import TrainedPolicy
from failgym.baselines import DecisionTree, GracePeriod
from failgym.baselines.stored import save_heuristic
from failgym.cli.entries import read_entries
from failgym.cli.specs import load_policy
from failgym.leaderboard import Entry, SuiteWorlds
from failgym.leaderboard.policy_process.players import Players
from failgym.leaderboard.submission.policy_names import misnamed_files, name_problems
from failgym.leaderboard.submission.records import PolicyFile, PolicyRecord, file_sha256
from failgym.leaderboard.submission.same_players import same_players
from failgym.leaderboard.suite.suites import SUITES
from tests.agents.runs import an_agent
from tests.leaderboard.boards import submit

ENV, OTHER = "GracePeriod-v1", "Cloning-v1"


def policy(
    name: str,
    spec: str,
    kind: str = "baseline",
    seed: int | None = None,
    envs: tuple[str, ...] = (ENV,),
) -> PolicyRecord:
    file = Path(spec)
    files = {env: its_file(file) for env in envs if file.is_file()}
    return PolicyRecord.model_validate(
        {
            "name": name,
            "kind": kind,
            "training_seed": seed,
            "specs": dict.fromkeys(envs, spec),
            "files": {env: one.model_dump() for env, one in files.items()},
            "command": "-",
            "versions": {},
        }
    )


def its_file(file: Path) -> PolicyFile:
    return PolicyFile(name=file.name, sha256=file_sha256(file))


def told(*policies: PolicyRecord) -> list[str]:
    return list(same_players(policies, load_policy))


def test_published_rules_tuned_ones_and_agents_are_all_themselves(tmp_path: Path) -> None:
    """A search that finds nothing better keeps what was published: that is no second policy."""
    ground = SuiteWorlds.of(SUITES["smoke"], None, None)
    for rule in (GracePeriod(), GracePeriod(finish_weight=1.5)):
        (tmp_path / ENV).mkdir(exist_ok=True)
        save_heuristic(rule, tmp_path / ENV / "grace_period.json")
        policies = (
            "all-baselines",
            f"{{policy}}, tuned={tmp_path}/{{env}}/{{policy}}.json",
            f"{{policy}}={an_agent(ENV).parents[1]}/{{env}}/{{policy}}-{{seed}}.safetensors",
        )
        check_apart(policies, ground)


def check_apart(policies: tuple[str, ...], ground: SuiteWorlds) -> None:
    """All that these words name are policies of their own, an agent among them."""
    wanted = read_entries(policies, ground, Players(load_policy, ("false",), 60.0))
    records = [entry.record("-") for entry in wanted.entries]
    assert "agent" in {record.kind for record in records}
    assert list(name_problems(records)) == []
    assert told(*records) == []


def test_a_rule_under_a_name_that_hides_it(tmp_path: Path) -> None:
    save_heuristic(GracePeriod(), tmp_path / "rule.json")
    published = policy("grace_period", "grace_period")
    tuned = policy("grace_period, tuned", str(tmp_path / "rule.json"))
    hidden = policy("mine", str(tmp_path / "rule.json"))
    assert told(published, tuned) == []
    assert told(published, hidden) == [
        f"policies 'grace_period' and 'mine' are the same one in {ENV}"
    ]
    assert told(published, policy("mine", "grace_period:finish_weight=2.0")) == []


def test_a_file_under_the_name_of_another_rule_is_refused_before_it_is_played(
    tmp_path: Path,
) -> None:
    file = tmp_path / f"{ENV}.json"
    save_heuristic(DecisionTree(), file)
    said = f"policy 'random_rule': reads like a variant of random, and {file.name} is decision_tree"
    assert list(misnamed_files([policy("random_rule", str(file))], load_policy)) == [said]
    assert list(misnamed_files([policy("best_random_rule", str(file))], load_policy)) == []
    with pytest.raises(ValueError, match=said):
        submit(
            tmp_path / "out",
            Entry("random_rule", "baseline", {ENV: str(file)}, files={ENV: its_file(file)}),
            load=load_policy,
        )
    assert not (tmp_path / "out").exists()


def test_one_environment_is_enough() -> None:
    both, one = policy("dice", "random:seed=3", envs=(ENV, OTHER)), policy("mine", "random:seed=03")
    assert told(both, one) == [f"policies 'dice' and 'mine' are the same one in {ENV}"]


def copy(file: Path, path: Path, change: str) -> Path:
    """An agent's file with something changed in it that chooses no action."""
    from safetensors import safe_open
    from safetensors.numpy import save_file

    with safe_open(file, "np") as content:
        meta, names = content.metadata(), list(content.keys())
        arrays = {name: content.get_tensor(name) for name in names}
    if change == "seed":
        meta["failgym"] = (
            meta["failgym"].replace('"seed":0', '"seed":1').replace('"seed": 0', '"seed": 1')
        )
        assert meta["failgym"].count('"seed"')
    for name, array in arrays.items():
        if change == "critic" and name.startswith(("value_net", "mlp_extractor.value_net")):
            arrays[name] = array * np.float32(2.0)
        if change == "zeros" and array.dtype == np.float32:
            arrays[name] = np.where(array == 0.0, np.float32(-0.0), array)
        if change == "a zero" and name == "action_net.bias":
            arrays[name] = np.where(np.arange(array.size) == 0, np.float32(0.0), array)
        if change == "weights" and name == "action_net.bias":
            arrays[name] = array + np.float32(0.5) * np.arange(array.size, dtype=np.float32)
    save_file(arrays, path, meta)
    return path


@pytest.mark.parametrize("change", ["seed", "critic", "zeros"])
def test_weights_under_another_name_or_seed(tmp_path: Path, change: str) -> None:
    file = an_agent(ENV)
    file = copy(file, tmp_path / "first.safetensors", "a zero")
    twin = copy(file, tmp_path / "twin.safetensors", change)
    assert file_sha256(twin) != file_sha256(file)
    first = policy("mine", str(file), "agent", 0)
    for second in (policy("mine", str(twin), "agent", 1), policy("ours", str(twin), "agent", 0)):
        assert told(first, second) == [
            f"policies {first.said} and {second.said} are the same one in {ENV}"
        ]


def test_other_weights_are_another_agent(tmp_path: Path) -> None:
    file = an_agent(ENV)
    other = copy(file, tmp_path / "other.safetensors", "weights")
    assert told(policy("mine", str(file), "agent", 0), policy("ours", str(other), "agent", 0)) == []


def test_an_agent_is_told_by_its_file_alone() -> None:
    """What is drawn when a network is built and not kept in the file tells nothing."""
    file = an_agent(ENV)
    found: set[str] = set()
    for seed in (1, 2):
        torch.manual_seed(seed)
        agent = load_agent(file)
        assert isinstance(agent, TrainedPolicy)
        found.add(agent.digest)
    assert len(found) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("mine", "mine."),
        ("mine", "mine\u2019"),
        ("mine", "`mine`"),
        ("mine", "{mine}"),
        ("my agent", "my  agent"),
        ("my agent", "my, agent"),
        ("ppo 1", "ppo(1)"),
        ("ppo 1", "PPO-1"),
    ],
)
def test_names_that_read_alike(one: str, other: str) -> None:
    policies = [policy(one, "a:B", "code"), policy(other, "a:B", "code")]
    assert any("read alike" in problem for problem in name_problems(policies))


@pytest.mark.parametrize(
    ("one", "other"), [("a+", "a-"), ("dqn", "dqn'"), ("ppo 1", "ppo 2"), ("a*", "a")]
)
def test_names_that_read_otherwise(one: str, other: str) -> None:
    assert list(name_problems([policy(one, "a:B", "code"), policy(other, "a:B", "code")])) == []
