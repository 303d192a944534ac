"""CleanRL's `ppo.py`: its loop over vector environments, its buffers, one of its updates.

CleanRL is no package but files to be copied, so the loop is written here as its users have it, with
the masks of `ppo_multidiscrete_mask.py`.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from tests.clients.installed import client
from tests.clients.transitions import IDS, batched, rows, sync

torch = client("torch")

SHOWN, CLIENT = "CleanRL's loop (torch)", "torch"
STEPS, COUNT, SEED = 128, 4, 1
BUFFERS = {"obs": (88,), "actions": (), "logprobs": (), "rewards": (), "dones": (), "values": ()}


class Agent:
    """Policy and value of two layers; illegal actions have no chance."""

    def __init__(self, envs: Any) -> None:
        width = int(np.prod(envs.single_observation_space.shape))
        self.actions = int(envs.single_action_space.n)
        self.actor = torch.nn.Linear(width, self.actions)
        self.critic = torch.nn.Linear(width, 1)
        self.parameters = [*self.actor.parameters(), *self.critic.parameters()]

    def act(self, obs: Any, action: Any = None) -> tuple[Any, Any, Any, Any]:
        """Action, logarithm of its probability, entropy, value."""
        legal = obs[:, -self.actions :] == 1.0
        logits = torch.where(legal, self.actor(obs), torch.tensor(-1e8))
        chances = torch.distributions.Categorical(logits=logits)
        action = chances.sample() if action is None else action
        return action, chances.log_prob(action), chances.entropy(), self.critic(obs).flatten()


def rollout(envs: Any, agent: Agent) -> tuple[dict[str, Any], Any, Any]:
    """The buffers [steps, envs, ...] of one iteration, the next observation and its done."""
    shapes = {**BUFFERS, "obs": envs.single_observation_space.shape}
    kept = {name: torch.zeros((STEPS, COUNT, *shape)) for name, shape in shapes.items()}
    kept["successors"] = torch.zeros_like(kept["obs"])
    next_obs, _ = envs.reset(seed=SEED)
    next_obs, next_done = torch.Tensor(next_obs), torch.zeros(COUNT)
    for step in range(STEPS):
        kept["obs"][step], kept["dones"][step] = next_obs, next_done
        with torch.no_grad():
            action, logprob, _, value = agent.act(next_obs)
        kept["values"][step], kept["actions"][step] = value, action
        kept["logprobs"][step] = logprob
        next_obs, reward, terminations, truncations, _ = envs.step(action.cpu().numpy())
        next_done = np.logical_or(terminations, truncations)
        kept["rewards"][step] = torch.tensor(reward).view(-1)
        # What is kept is looked at only after the loop: `from_numpy` shares the memory.
        next_obs, next_done = torch.from_numpy(next_obs), torch.Tensor(next_done)
        kept["successors"][step] = next_obs
    return kept, next_obs, next_done


def advantages(kept: dict[str, Any], value: Any, done: Any) -> Any:
    """Generalized advantage estimates, as in ppo.py."""
    found, last = torch.zeros_like(kept["rewards"]), 0.0
    for t in reversed(range(STEPS)):
        final = t == STEPS - 1
        running = 1.0 - (done if final else kept["dones"][t + 1])
        ahead = value if final else kept["values"][t + 1]
        delta = kept["rewards"][t] + ahead * running - kept["values"][t]
        found[t] = last = delta + 0.95 * running * last
    return found


def update(agent: Agent, kept: dict[str, Any], advantage: Any) -> None:
    """One pass over the batch."""
    optimizer = torch.optim.Adam(agent.parameters, lr=2.5e-4, eps=1e-5)
    obs, action = kept["obs"].flatten(0, 1), kept["actions"].flatten()
    returns = (advantage + kept["values"]).flatten()
    for part in torch.randperm(STEPS * COUNT).split(128):
        _, logprob, entropy, value = agent.act(obs[part], action[part])
        ratio = (logprob - kept["logprobs"].flatten()[part]).exp()
        gain = -advantage.flatten()[part]
        clipped = torch.max(gain * ratio, gain * ratio.clamp(0.8, 1.2)).mean()
        loss = clipped - 0.01 * entropy.mean() + 0.5 * ((value - returns[part]) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(agent.parameters, 0.5)
        optimizer.step()


@pytest.mark.parametrize("kind", ["sync", "batched", "batched, same step"])
@pytest.mark.parametrize("env_id", IDS)
def test_ppo(kind: str, env_id: str, compare: Any) -> None:
    torch.manual_seed(SEED)
    mode = AutoresetMode.SAME_STEP if "same" in kind else AutoresetMode.NEXT_STEP
    envs: Any = (sync if kind == "sync" else batched)(env_id, COUNT, mode)
    envs = gym.wrappers.vector.RecordEpisodeStatistics(envs)
    agent = Agent(envs)
    before = torch.cat([one.flatten() for one in agent.parameters]).detach()
    kept, next_obs, next_done = rollout(envs, agent)
    expected = rows(env_id, kept["actions"].long().numpy(), seed=SEED, mode=mode)
    begun = np.zeros((1, COUNT), dtype=np.bool_)
    stored = {
        "obs": kept["obs"],
        "action": kept["actions"],
        "reward": kept["rewards"],
        "next_obs": kept["successors"],
        "mask": kept["obs"][..., -agent.actions :] == 1.0,
    }
    compare(stored, expected)
    assert np.array_equal(kept["dones"], np.concatenate([begun, expected.terminated[:-1]]))
    with torch.no_grad():
        value = agent.act(next_obs)[3]
    update(agent, kept, advantages(kept, value, next_done))
    after = torch.cat([one.flatten() for one in agent.parameters]).detach()
    assert torch.isfinite(after).all()
    assert (after != before).any()
