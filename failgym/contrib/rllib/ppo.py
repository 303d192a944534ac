"""PPO of RLlib's new API stack for environments of failgym, and its agent as a policy file."""

# Ray annotates what it returns incompletely.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.utils.metrics import ENV_RUNNER_RESULTS, NUM_ENV_STEPS_SAMPLED_LIFETIME
from ray.tune.registry import register_env

from failgym.agents.files.trained_policy import Moments
from failgym.agents.files.writing import save_weights
from failgym.agents.networks.sizes import Network
from failgym.contrib.rllib.environment import (
    SETTINGS,
    EnvSettings,
    make_env,
    played_at_random,
)
from failgym.contrib.rllib.module import BIAS, SCALING, MaskedPPOModule
from failgym.envs.keywords import scenario_of_call
from failgym.evaluation.arguments import check_count
from failgym.vocabulary import ACTIONS
from failgym.worlds.build import build_world
from failgym.worlds.scenario import Scenario, Split

__all__ = ["evaluated_on", "ppo_config", "save_agent"]

ENV = "failgym"
"""The name under which RLlib finds `make_env`."""
EPSILON, CLIP = 1e-8, 10.0
"""Of the normalisation of observations, as in stable-baselines3."""
LONGEST = 24 * 3_600.0
"""Seconds that RLlib waits for an evaluation before it begins it anew."""
RANDOM_DECISIONS = 50_000
"""Decisions that mean and variance are taken from."""
HIDDEN, ACTIVATION = [64, 64], "tanh"
LIBRARIES = ("gymnasium", "numpy", "ray", "torch")
"""Whose versions a policy file records, beside failgym's own."""
NAMES = {
    "encoder.actor_encoder.net.mlp.": "mlp_extractor.policy_net.",
    "encoder.critic_encoder.net.mlp.": "mlp_extractor.value_net.",
    "pi.net.mlp.": "action_net",
    "vf.net.mlp.": "value_net",
}
"""How the names of weights begin in RLlib's module, and in that of sb3-contrib."""

SCALED, UNUSED = "observed_", "log_std_clip_param_const"
"""How names begin, and end, of numbers that are kept elsewhere, and that only other actions use."""


def ppo_config(
    settings: EnvSettings,
    *,
    decisions: int,
    env_runners: int = 2,
    episodes_at_once: int = 128,
    batch: int = 16_384,
    minibatch: int = 2_048,
    epochs: int = 4,
    learning_rate: tuple[float, float] = (1e-3, 5e-5),
    initial_bias: tuple[float, ...] = (0.0, -3.0, -3.0, -3.0, -3.0),
    seed: int = 0,
) -> Any:
    """PPO on several env runners, each with a batch of episodes that one engine steps.

    Nothing is discounted, and advantages reach to the end of the episode. What it returns can be
    changed further, as any config of RLlib's.

    Args:
        settings: of the environment (`settings_of`).
        decisions: to learn from in all: the learning rate falls over so many.
        env_runners: processes that sample; 0 samples in the driver.
        episodes_at_once: of each env runner.
        batch: decisions of an iteration.
        minibatch: decisions of a gradient step.
        epochs: passes over the decisions of an iteration.
        learning_rate: first and last.
        initial_bias: added to the logits of the five actions to begin with: acting is rare at
            first, as most actions cannot be taken back.
        seed: of weights, episodes and minibatches.

    Returns:
        A ``ray.rllib.algorithms.ppo.PPOConfig``.

    Raises:
        ValueError: for counts below 1, or another number of biases.
    """
    counts = {"decisions": decisions, "episodes_at_once": episodes_at_once}
    for name, value in (
        counts | {"batch": batch, "minibatch": minibatch, "epochs": epochs}
    ).items():
        check_count(name, value, 1)
    if len(initial_bias) != ACTIONS:
        raise ValueError(f"initial_bias: expected {ACTIONS} numbers, got {len(initial_bias)}")
    seen = played_at_random(settings, RANDOM_DECISIONS, seed).astype(np.float64)
    model = {
        "fcnet_hiddens": HIDDEN,
        "fcnet_activation": ACTIVATION,
        "vf_share_layers": False,
        SCALING: {
            "mean": seen.mean(axis=0).tolist(),
            "variance": seen.var(axis=0).tolist(),
            "epsilon": EPSILON,
            "clip": CLIP,
        },
        BIAS: list(initial_bias),
    }
    config = PPOConfig()
    register_env(ENV, make_env)
    config.environment(ENV, env_config={SETTINGS: settings})
    config.env_runners(
        num_env_runners=env_runners,
        num_envs_per_env_runner=episodes_at_once,
        gym_env_vectorize_mode="vector_entry_point",
    )
    config.training(
        gamma=1.0,
        lambda_=1.0,
        lr=[[0, learning_rate[0]], [decisions, learning_rate[1]]],
        train_batch_size_per_learner=batch,
        minibatch_size=minibatch,
        num_epochs=epochs,
        use_kl_loss=False,
        entropy_coeff=0.0,
        clip_param=0.2,
        vf_clip_param=np.inf,
        grad_clip=0.5,
        grad_clip_by="global_norm",
    )
    config.rl_module(rl_module_spec=RLModuleSpec(module_class=MaskedPPOModule, model_config=model))
    config.debugging(seed=seed, log_level="ERROR")
    return config


def evaluated_on(config: Any, env: str | Scenario, split: Split = "test", **overrides: Any) -> int:
    """Let ``Algorithm.evaluate`` play every slice of a split once, with the most likely actions.

    That is what `failgym.evaluate` plays with these arguments; ``episode_return_mean`` is minus the
    mean cost of the slices.

    Args:
        config: as made by `ppo_config`; it is changed.
        env: an id, or a scenario.
        split: of the trace.
        overrides: fields of the scenario that are changed.

    Returns:
        How many slices there are.

    Raises:
        TypeError: for an unknown field of a scenario, naming the nearest.
        ValueError: for an unknown environment, or a value of the wrong type or range.
    """
    trained: EnvSettings = config.env_config[SETTINGS]
    scenario = replace(scenario_of_call(evaluated_on, env, overrides), split=split)
    slices = build_world(scenario).slices
    config.evaluation(
        evaluation_num_env_runners=1,  # 0 would play the environments of training
        evaluation_sample_timeout_s=LONGEST,
        evaluation_duration=slices,
        evaluation_duration_unit="episodes",
        evaluation_config={
            "env_config": {SETTINGS: EnvSettings(scenario, trained.fields, every_slice=True)},
            "explore": False,
            "num_envs_per_env_runner": 1,
            "gym_env_vectorize_mode": "sync",
            "metrics_num_episodes_for_smoothing": slices,
        },
    )
    return slices


def save_agent(
    algorithm: Any,
    path: str | Path,
    *,
    command: str,
    name: str = "rllib_ppo",
    scores: Mapping[str, Any] | None = None,
) -> None:
    """Write the agent of an algorithm to a policy file, whole or not at all.

    ``failgym evaluate --policy FILE`` plays it, without Ray.

    Args:
        algorithm: what ``build_algo`` of a `ppo_config` returned.
        path: the file, ``NAME.safetensors``.
        command: what trained it, for people.
        name: what tables call the agent.
        scores: numbers worth knowing, by name; JSON values.

    Raises:
        ValueError: for an algorithm with another module, weights that are not finite, scores that
            are no JSON values, or another suffix.
        OSError: if the file cannot be written.
    """
    config: Any = algorithm.config
    settings = config.env_config.get(SETTINGS)
    spec = config.rl_module_spec
    if not isinstance(settings, EnvSettings) or spec.module_class is not MaskedPPOModule:
        raise ValueError("algorithm: expected one that a ppo_config built")
    model = spec.model_config
    weights = algorithm.learner_group.get_weights()[DEFAULT_MODULE_ID]
    scaling, hidden = model[SCALING], tuple(model["fcnet_hiddens"])
    sampled = algorithm.metrics.peek(
        (ENV_RUNNER_RESULTS, NUM_ENV_STEPS_SAMPLED_LIFETIME), default=0
    )
    save_weights(
        _renamed(weights),
        path,
        network=Network(actor=hidden, critic=hidden, activation=model["fcnet_activation"]),
        algorithm="maskable_ppo",
        env=settings.scenario,
        fields=settings.fields,
        moments=Moments(
            np.array(scaling["mean"]),
            np.array(scaling["variance"]),
            scaling["epsilon"],
            scaling["clip"],
        ),
        command=command,
        name=name,
        steps=int(sampled),
        seed=config.seed,
        libraries=LIBRARIES,
        scores=scores,
    )


def _renamed(weights: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """Weights of RLlib's module as sb3-contrib calls them. Raises ValueError for an unknown one."""
    found: dict[str, torch.Tensor] = {}
    for name, values in weights.items():
        if name.startswith(SCALED) or name.endswith(UNUSED):
            continue
        for theirs, ours in NAMES.items():
            if name.startswith(theirs):
                # RLlib's encoder is a stack of layers, and so is sb3-contrib's; heads are one.
                rest = name.removeprefix(theirs)
                renamed = ours + (rest if ours.endswith(".") else "." + rest.rpartition(".")[2])
                found[renamed] = torch.as_tensor(values).detach().cpu()
                break
        else:
            raise ValueError(f"weights: unknown {name!r}")
    return found
