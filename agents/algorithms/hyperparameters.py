"""Hyper-parameters of the algorithms: typed records with the names of stable-baselines3.

The defaults are stable-baselines3's and sb3-contrib's, but for the discount, which is 1: costs that
are paid when a task settles make an agent that discounts them put settlement off. A number that
changes during training is written as ``{start: ..., end: ...}``: linear in the steps done, never in
time, so that a run that was interrupted goes on as if it had not been.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, Discriminator, Field, Tag
from stable_baselines3.common.utils import LinearSchedule

from failgym.agents.algorithms.learner import Hyper
from failgym.agents.algorithms.training_options import (
    LONE,
    SEVERAL,
    Hidden,
    RewardOptions,
    ScenarioFields,
    StakesOptions,
    SurrogateFields,
    WarmStartOptions,
)
from failgym.agents.networks.architectures import ACTIVATIONS
from failgym.agents.strict_record import (
    DEEPEST,
    WIDEST,
    Activation,
    CriticLstm,
    Depth,
    Record,
    Width,
)

__all__ = [
    "ALTERNATIVES",
    "OURS",
    "A2CSettings",
    "ActorCritic",
    "DQNSettings",
    "Layers",
    "Linear",
    "Network",
    "OnPolicySettings",
    "PPOSettings",
    "QRDQNSettings",
    "Quantiles",
    "Recurrent",
    "RecurrentPPOSettings",
    "Settings",
    "TaskCredit",
]

NUMBER, SCHEDULE, SHARED, OWN = "a number", "a schedule", "a list", "two lists"
"""The alternatives that a value may be written as; errors do not show them."""
ALTERNATIVES = frozenset({NUMBER, SCHEDULE, SHARED, OWN, LONE, SEVERAL})

OURS = (
    *("n_envs", "policy", "credit"),
    *("steps", "env", "surrogate", "without", "reward", "stakes", "warm_start"),
)
"""Hyper-parameters that the algorithms of stable-baselines3 do not know by these names."""

Count = Annotated[int, Field(ge=1, le=2**31)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]
Positive = Annotated[float, Field(gt=0.0)]
NotNegative = Annotated[float, Field(ge=0.0)]
Widths = Annotated[list[Width], Field(max_length=DEEPEST)]


class Linear(Record):
    """From ``start`` at the first step to ``end`` at the last."""

    start: NotNegative
    end: NotNegative

    def at(self) -> LinearSchedule:
        """As a function of the share of steps that remain."""
        return LinearSchedule(self.start, self.end, 1.0)


def _mapping_or(written: str, otherwise: str) -> Discriminator:
    """Tell a mapping, or a record, from anything else."""
    return Discriminator(lambda v: written if isinstance(v, Mapping | BaseModel) else otherwise)


Rate = Annotated[
    Annotated[Positive, Tag(NUMBER)] | Annotated[Linear, Tag(SCHEDULE)],
    _mapping_or(SCHEDULE, NUMBER),
]
"""A number, or a schedule."""


class Layers(Record):
    """Hidden layers of actor and critic apart."""

    pi: Widths
    vf: Widths


class Network(Record):
    """The network of a policy: fully connected layers."""

    net_arch: Widths = Field(default=[64, 64])
    """units of the hidden layers"""
    activation: Activation = "relu"

    def arguments(self) -> dict[str, Any]:
        """stable-baselines3's ``policy_kwargs``."""
        given = self.model_dump(exclude={"activation", "initial_bias"})
        return {**given, "activation_fn": ACTIVATIONS[self.activation]}


class Quantiles(Network):
    """A network with quantiles of the return of each action."""

    n_quantiles: Annotated[int, Field(ge=2, le=WIDEST)] = 200


class ActorCritic(Network):
    """Networks for the policy and for the value, which share nothing."""

    net_arch: Annotated[  # pyright: ignore[reportIncompatibleVariableOverride]
        Annotated[Widths, Tag(SHARED)] | Annotated[Layers, Tag(OWN)], _mapping_or(OWN, SHARED)
    ] = Field(default=[64, 64])
    """units of the hidden layers, of both, or as ``{pi: [...], vf: [...]}``"""
    activation: Activation = "tanh"
    ortho_init: bool = True
    initial_bias: Annotated[float, Field(ge=-20.0, le=20.0)] = 0.0
    """first logit of every action but CONTINUE: below 0 training begins near replay"""


class Recurrent(ActorCritic):
    """The network of a recurrent policy: fully connected layers behind an LSTM."""

    lstm_hidden_size: Width = 256
    n_lstm_layers: Depth = 1
    critic_lstm: CriticLstm = "own"

    def arguments(self) -> dict[str, Any]:
        """sb3-contrib's ``policy_kwargs``."""
        given = super().arguments()
        critic = given.pop("critic_lstm")
        return {
            **given,
            "enable_critic_lstm": critic == "own",
            "shared_lstm": critic == "shared",
        }


class TaskCredit(Record):
    """Returns and advantages per task, of scheduled worlds (`failgym.agents.credit`)."""

    share: Share = 0.0
    """part of the episode's cost in that of a task"""
    time_unit: Positive | None = None
    """``gamma`` is for so many ms, not for a decision"""
    scale: Positive = 1.0
    """what costs are divided by"""


class Settings(Hyper):
    """Hyper-parameters that all algorithms have."""

    n_envs: Count = 1
    """episodes that run at once"""
    steps: Count | None = None
    """decisions to train on, where nothing else is asked for"""
    learning_rate: Rate
    gamma: Share = 1.0
    policy: Network
    env: ScenarioFields | None = None
    """fields of the scenario, for training and validation both"""
    surrogate: SurrogateFields | None = None
    """fields of the scenario for training only: of rewards that are learned from sooner"""
    without: Hidden | None = None
    """fields of the observation that the agent is not shown, of those that `train` shows"""
    reward: RewardOptions | None = None
    """rewards to train on; those of the environment by default"""
    stakes: StakesOptions | None = None
    """how often tasks are met; all alike by default"""

    def arguments(self) -> dict[str, Any]:
        """What stable-baselines3's constructor takes, but for policy and environment."""
        given = {name: getattr(self, name) for name in type(self).model_fields}
        for name in OURS:
            given.pop(name, None)
        plain = {n: v.at() if isinstance(v, Linear) else v for n, v in given.items()}
        return {**plain, "policy_kwargs": self.policy.arguments()}


class OnPolicySettings(Settings):
    """Hyper-parameters of algorithms that learn on policy, from rollouts."""

    policy: ActorCritic = ActorCritic()  # pyright: ignore[reportIncompatibleVariableOverride]
    n_steps: Count
    """decisions of each episode between two updates"""
    gae_lambda: Share
    ent_coef: NotNegative = 0.0
    vf_coef: NotNegative = 0.5
    max_grad_norm: Positive = 0.5
    normalize_advantage: bool
    warm_start: WarmStartOptions | None = None
    """what a baseline teaches first; nothing by default"""

    def check(self) -> None:
        """Raise ValueError for an update from less than two decisions."""
        if self.n_envs * self.n_steps < 2:
            raise ValueError("n_steps: expected at least 2 with one environment")


class A2CSettings(OnPolicySettings):
    """Advantage actor-critic (Mnih et al., ICML 2016)."""

    learning_rate: Rate = 7e-4
    n_steps: Count = 5
    gae_lambda: Share = 1.0
    normalize_advantage: bool = False
    use_rms_prop: bool = True
    rms_prop_eps: Positive = 1e-5


class PPOSettings(OnPolicySettings):
    """Proximal policy optimisation (Schulman et al., 2017), with or without masks."""

    learning_rate: Rate = 3e-4
    n_steps: Count = 2_048
    batch_size: Annotated[int, Field(ge=2)] = 64
    n_epochs: Annotated[int, Field(ge=1, le=1_000)] = 10
    gae_lambda: Share = 0.95
    clip_range: Rate = 0.2
    clip_range_vf: Positive | None = None
    normalize_advantage: bool = True
    target_kl: Positive | None = None
    credit: TaskCredit | None = None
    """credit per task, where episodes hold the decisions of many at once; none by default"""

    def check(self) -> None:
        """Raise ValueError for batches that do not divide what is collected between updates."""
        super().check()
        collected = self.n_envs * self.n_steps
        if collected % self.batch_size:
            raise ValueError(
                f"batch_size: expected a divisor of n_envs x n_steps"
                f" ({self.n_envs} x {self.n_steps} = {collected}), got {self.batch_size}"
            )


class RecurrentPPOSettings(PPOSettings):
    """PPO with an LSTM."""

    policy: Recurrent = Recurrent()  # pyright: ignore[reportIncompatibleVariableOverride]
    n_steps: Count = 128
    batch_size: Annotated[int, Field(ge=2)] = 128

    def check(self) -> None:
        """Raise ValueError for credit per task, since what an LSTM remembers is of all tasks, and
        for a warm start, which shows decisions one by one.
        """
        super().check()
        for name in ("credit", "warm_start"):
            if getattr(self, name) is not None:
                raise ValueError(f"{name}: expected none for an algorithm with an LSTM")


class DQNSettings(Settings):
    """Deep Q-network (Mnih et al., Nature 2015)."""

    policy: Network = Network()
    learning_rate: Rate = 1e-4
    buffer_size: Count = 1_000_000
    """decisions that are remembered"""
    learning_starts: Annotated[int, Field(ge=0)] = 100
    batch_size: Count = 32
    tau: Annotated[float, Field(gt=0.0, le=1.0)] = 1.0
    train_freq: Count = 4
    """decisions of each episode between two updates"""
    gradient_steps: Annotated[int, Field(ge=-1)] = 1
    n_steps: Annotated[int, Field(ge=1, le=1_000)] = 1
    """length of the returns that are bootstrapped"""
    target_update_interval: Count = 10_000
    exploration_fraction: Annotated[float, Field(gt=0.0, le=1.0)] = 0.1
    exploration_initial_eps: Share = 1.0
    exploration_final_eps: Share = 0.05
    max_grad_norm: Positive = 10.0

    def check(self) -> None:
        """Raise ValueError for a memory or an interval shorter than a step of all episodes."""
        for name in ("buffer_size", "target_update_interval"):
            if getattr(self, name) < self.n_envs:
                got = getattr(self, name)
                raise ValueError(f"{name}: expected at least n_envs = {self.n_envs}, got {got}")


class QRDQNSettings(DQNSettings):
    """Quantile regression DQN (Dabney et al., AAAI 2018)."""

    policy: Quantiles = Quantiles()  # pyright: ignore[reportIncompatibleVariableOverride]
    learning_rate: Rate = 5e-5
    exploration_fraction: Annotated[float, Field(gt=0.0, le=1.0)] = 0.005
    exploration_final_eps: Share = 0.01
    max_grad_norm: Positive | None = None  # pyright: ignore[reportIncompatibleVariableOverride]
