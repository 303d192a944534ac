"""TorchRL: its checks of specs, infos that it registers by itself, rollouts of one and of many."""

from __future__ import annotations

from typing import Any

import pytest
from gymnasium.vector import AutoresetMode

from tests.clients.installed import client
from tests.clients.transitions import IDS, batched, make, small_fields, stream, sync

torch = client("torch")
envs = client("torchrl.envs")
checks = client("torchrl.envs.utils")
readers = client("torchrl.envs.gym_like")
nn = client("tensordict.nn")

pytestmark = pytest.mark.filterwarnings("default")

CLIENT = "torchrl"
STEPS, COUNT, SEED, ACTIONS = 60, 3, 4, 5
INFOS = ("action_mask", "task", "slice", "elapsed", "illegal")


def legal_play(obs: Any) -> Any:
    """A legal action as TorchRL has it by default: one of five is set."""
    weight = torch.rand((*obs.shape[:-1], ACTIONS)) * (obs[..., -ACTIONS:] == 1.0)
    return torch.nn.functional.one_hot(weight.argmax(dim=-1), ACTIONS)


def rollout(env: Any) -> Any:
    """A tensordict [..., steps] of legal play, over the ends of episodes."""
    torch.manual_seed(SEED)
    policy = nn.TensorDictModule(legal_play, in_keys=["observation"], out_keys=["action"])
    # `set_seed` would begin an episode of its own before.
    begun = env.reset(seed=SEED)
    return env.rollout(STEPS, policy, auto_reset=False, tensordict=begun, break_when_any_done=False)


def stored(kept: Any, successor: str) -> dict[str, Any]:
    """What TorchRL keeps, by our names."""
    after = kept["next"]
    return {
        "obs": kept["observation"],
        "action": kept["action"].argmax(dim=-1),
        "reward": after["reward"],
        "terminated": after["terminated"],
        "truncated": after["truncated"],
        successor: after["observation"],
    }


@pytest.mark.parametrize("env_id", IDS)
def test_made_by_name(env_id: str, compare: Any) -> None:
    env = envs.GymEnv(env_id, **small_fields(env_id))
    checks.check_env_specs(env)
    kept = rollout(env)
    found = stored(kept, "successor")
    compare(found, stream(env_id, found["action"].numpy(), seed=SEED))


@pytest.mark.parametrize("env_id", IDS)
def test_infos_are_registered(env_id: str, compare: Any) -> None:
    reader = readers.default_info_dict_reader(list(INFOS))
    env = envs.GymEnv(env_id, **small_fields(env_id))
    env = env.auto_register_info_dict(info_dict_reader=reader)
    checks.check_env_specs(env)
    kept = rollout(env)
    found = stored(kept, "successor")
    found["mask"] = kept["action_mask"]
    compare(found, stream(env_id, found["action"].numpy(), seed=SEED))
    ended = kept["next", "terminated"][..., 0]
    assert ((kept["next", "task"] == -1) == ended).all()


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.DISABLED])
@pytest.mark.parametrize("kind", ["sync", "batched"])
@pytest.mark.parametrize("env_id", IDS)
def test_many(env_id: str, kind: str, mode: AutoresetMode, compare: Any) -> None:
    make_envs: Any = sync if kind == "sync" else batched
    env = envs.GymWrapper(make_envs(env_id, COUNT, mode))
    kept = rollout(env)
    assert kept.batch_size == (COUNT, STEPS)
    for i in range(COUNT):
        found = stored(kept[i], "successor")
        # TorchRL has no last observation in SAME_STEP but what it fills in: NaN.
        compare(found, stream(env_id, found["action"].numpy(), seed=SEED + i))


def test_a_wrapped_environment(compare: Any) -> None:
    env = envs.GymWrapper(make(IDS[0]))
    checks.check_env_specs(env)
    found = stored(rollout(env), "successor")
    compare(found, stream(IDS[0], found["action"].numpy(), seed=SEED))
