"""TorchRL: its checks of specs, infos that it registers by itself, rollouts of one and of many."""

from __future__ import annotations

from typing import Any

import pytest
from gymnasium.vector import AutoresetMode

from failgym.envs.spaces import TOTALS
from tests.clients.installed import client
from tests.clients.transitions import IDS, batched, make, small_fields, stream, sync

torch = client("torch")
envs = client("torchrl.envs")
checks = client("torchrl.envs.utils")
nn = client("tensordict.nn")

pytestmark = pytest.mark.filterwarnings("default")

CLIENT = "torchrl"
STEPS, COUNT, SEED, ACTIONS = 60, 3, 4, 5


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
    env = envs.GymEnv(env_id, **small_fields(env_id)).auto_register_info_dict()
    checks.check_env_specs(env)
    kept = rollout(env)
    found = stored(kept, "successor")
    found["mask"] = kept["action_mask"]
    compare(found, stream(env_id, found["action"].numpy(), seed=SEED))
    ended = kept["next", "terminated"][..., 0]
    assert ((kept["next", "task"] == -1) == ended).all()
    tasks = kept["next", "totals"][..., TOTALS.index("tasks")]
    assert ((tasks > 0) == ended).all()
    terms = kept["next", "reward_terms"].sum(dim=-1, dtype=torch.float64)
    assert torch.allclose(terms, kept["next", "reward"][..., 0].double(), atol=1e-6)


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.DISABLED])
@pytest.mark.parametrize("env_id", IDS)
def test_many(env_id: str, mode: AutoresetMode, compare: Any) -> None:
    kept, other = (rollout(envs.GymWrapper(made(env_id, COUNT, mode))) for made in (batched, sync))
    assert kept.batch_size == (COUNT, STEPS)
    assert (kept == other).all()
    whole = begun_twice(kept) if mode is AutoresetMode.SAME_STEP else STEPS
    for i in range(COUNT):
        found = stored(kept[i, :whole], "successor")
        compare(found, stream(env_id, found["action"].numpy(), seed=SEED + i))


def begun_twice(kept: Any) -> int:
    """The step in which all end at once: in SAME_STEP TorchRL then begins all of them once more."""
    together = kept["next", "terminated"][..., 0].all(dim=0).nonzero()
    return int(together[0, 0]) + 1 if len(together) else STEPS


def test_a_wrapped_environment(compare: Any) -> None:
    env = envs.GymWrapper(make(IDS[0]))
    checks.check_env_specs(env)
    found = stored(rollout(env), "successor")
    compare(found, stream(IDS[0], found["action"].numpy(), seed=SEED))
