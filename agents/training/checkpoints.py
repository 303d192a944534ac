"""Checkpoints of training: everything that training goes on with, in one file.

The file is torch's, of tensors, numbers and texts only: it is read with ``weights_only=True``, so
that nothing in it can execute. It is written to another name and renamed. A checkpoint is taken
between two updates, when the decisions of the last one have been learned from: there is no rollout
to keep. Taking one changes nothing: training goes on as if it had not been.
"""

# stable-baselines3 and torch annotate some of their arguments without what they hold.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import io
import math
import warnings
from collections import deque
from pathlib import Path
from typing import Any, cast

import torch
from sb3_contrib.common.recurrent.type_aliases import RNNStates
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.buffers import ReplayBuffer

from failgym.agents.environments.vec_env import BatchedVecEnv
from failgym.agents.training.episode_replay import (
    ActionRecord,
    continue_episodes,
    unfinished_episodes,
)
from failgym.agents.training.random_states import random_states, set_random_states
from failgym.files import replacing

__all__ = ["read_checkpoint", "resume_model", "taken", "write_checkpoint"]

FORMAT = "failgym checkpoint"
VERSION = 2
COUNTERS = (
    *("num_timesteps", "_n_updates", "_episode_num", "_n_calls"),
    *("_current_progress_remaining", "exploration_rate"),
)
"""Numbers of a model that are not in its settings, where it has them."""
REMEMBERED = ("observations", "next_observations", "actions", "rewards", "dones", "timeouts")
"""Arrays of a replay buffer, a row for each step."""

State = dict[str, Any]


def taken(model: BaseAlgorithm, env: BatchedVecEnv, record: ActionRecord) -> State:
    """All that a model is continued from, between two updates.

    Args:
        model: a model that learns in the environment.
        env: the environment.
        record: what was answered in its running episodes.
    """
    unknown: Any = model
    return {
        "policy": model.policy.state_dict(),
        "optimizer": unknown.policy.optimizer.state_dict(),
        "counters": {n: getattr(model, n) for n in COUNTERS if hasattr(model, n)},
        "starts": torch.from_numpy(unknown._last_episode_starts.copy()),
        "lstm": _lstm_states(model),
        "replay": _remembered(model),
        "random": random_states(unknown.action_space),
        "episodes": unfinished_episodes(env, record),
        "tally": env.tally.to_state(),
        "ended": _ended(model),
    }


def resume_model(
    model: BaseAlgorithm, env: BatchedVecEnv, record: ActionRecord, state: State
) -> None:
    """Put a model that was built with the same settings where another was.

    Args:
        model: has not learned yet.
        env: its environment.
        record: goes on with what was answered.
        state: what `taken` returned.

    Raises:
        ValueError: if the state is of another scenario or of other settings.
    """
    unknown: Any = model
    try:
        model.policy.load_state_dict(state["policy"])
        unknown.policy.optimizer.load_state_dict(state["optimizer"])
        for name, value in state["counters"].items():
            if type(value) not in (int, float) or not math.isfinite(value):
                raise TypeError(f"{name} is {value!r}, expected a number")
            if name in COUNTERS:
                setattr(model, name, value)
        unknown._last_obs = continue_episodes(env, state["episodes"], record)
        env.tally.go_on(state["tally"])
        unknown.ep_info_buffer = deque(state["ended"], maxlen=unknown._stats_window_size)
        unknown.ep_success_buffer = deque(maxlen=unknown._stats_window_size)
        unknown._last_episode_starts = state["starts"].numpy()
        _set_lstm_states(model, state["lstm"])
        _remember(model, state["replay"])
        set_random_states(state["random"], unknown.action_space)
    except KeyError as error:
        raise ValueError(f"damaged: there is no {error}") from error
    except (AttributeError, RuntimeError, TypeError) as error:
        what = " ".join(str(error).split())
        raise ValueError(f"not of this environment and these settings: {what}") from error


def write_checkpoint(path: Path, content: State) -> None:
    """Write tensors, numbers and texts to a file, whole or not at all. Raises OSError."""
    with replacing(path) as partial:
        torch.save({"format": FORMAT, "version": VERSION, **content}, partial)


def read_checkpoint(path: Path) -> State:
    """Read what `write_checkpoint` wrote; nothing in the file is executed.

    Raises:
        OSError: if the file cannot be read.
        ValueError: in one line, for a file of another kind or version, or one that is damaged.
    """
    file = io.BytesIO(path.read_bytes())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about files that are none of ours
            content: Any = torch.load(file, weights_only=True)  # noqa: TID251 - tensors, no code
    except Exception as error:  # whatever torch makes of a damaged file
        raise ValueError(f"{path}: not a checkpoint, or a damaged one") from error
    if not isinstance(content, dict) or cast(State, content).get("format") != FORMAT:
        raise ValueError(f"{path}: not a checkpoint")
    found = cast(State, content)
    if found.get("version") != VERSION:
        raise ValueError(f"{path}: format version {found.get('version')!r}, expected {VERSION}")
    return found


def _ended(model: BaseAlgorithm) -> list[dict[str, float]]:
    """What the last episodes came to, of which stable-baselines3 logs the means."""
    own: Any = model
    return [dict(one) for one in own.ep_info_buffer or ()]


def _lstm_states(model: BaseAlgorithm) -> list[torch.Tensor] | None:
    """Hidden and cell states of actor and critic, if the policy has an LSTM."""
    states: Any = getattr(model, "_last_lstm_states", None)
    return None if states is None else [*states.pi, *states.vf]


def _set_lstm_states(model: BaseAlgorithm, states: list[torch.Tensor] | None) -> None:
    if states is not None:
        hidden, cell, critic_hidden, critic_cell = states
        own: Any = model
        own._last_lstm_states = RNNStates((hidden, cell), (critic_hidden, critic_cell))


def _remembered(model: BaseAlgorithm) -> State | None:
    """The replay buffer as far as it is filled, if the algorithm has one."""
    buffer: Any = getattr(model, "replay_buffer", None)
    if not isinstance(buffer, ReplayBuffer):
        return None
    filled = buffer.buffer_size if buffer.full else buffer.pos
    arrays = {n: torch.from_numpy(getattr(buffer, n)[:filled]) for n in REMEMBERED}
    return {**arrays, "pos": buffer.pos, "full": buffer.full}


def _remember(model: BaseAlgorithm, kept: State | None) -> None:
    if kept is None:
        return
    own: Any = model
    buffer = own.replay_buffer
    for name in REMEMBERED:
        rows = kept[name].numpy()
        getattr(buffer, name)[: len(rows)] = rows
    buffer.pos, buffer.full = kept["pos"], kept["full"]
