"""Who learns on n traces: a search of random rules, and the counterfactual learner."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

from experiments.generated_to_real import learned
from experiments.random_rules import chosen, train_splits
from experiments.random_trees import drawn
from experiments.zoo import CHOSEN_ON
from failgym.agents.algorithms.settings_files import settings_of
from failgym.agents.counterfactual.train import LEARNER
from failgym.baselines import DecisionTree
from failgym.baselines.stored import parameters
from failgym.envs import Scenario
from failgym.evaluation.caller import Predicts, policy_name
from failgym.worlds.build import build_world

__all__ = ["Counterfactual", "LearnerOfTraces", "RandomRules"]


class LearnerOfTraces(Protocol):
    """Who makes a policy of the train splits of some traces."""

    @property
    def name(self) -> str:
        """As the command names it."""
        ...

    @property
    def search(self) -> dict[str, Any]:
        """What its policies depend on beside the traces."""
        ...

    @property
    def found(self) -> dict[str, Any]:
        """What is kept of each policy, by its label."""
        ...

    def policy(self, label: str, scenario: Scenario, traces: int) -> Predicts:
        """What is learned on so many traces, from the scenario's own seed on; what is kept under
        that label, if anything is.
        """
        ...


@dataclass(frozen=True)
class RandomRules:
    """The best of the same random rules (`experiments.random_rules`)."""

    rules: int
    """how many are drawn, on the first trace"""
    slices: int
    """that all are played on, shared out among the traces"""
    found: dict[str, Any] = field(default_factory=dict[str, Any])
    name: str = "rules"

    @property
    def search(self) -> dict[str, Any]:
        """How many rules, on how many slices."""
        return {"rules": self.rules, "slices": self.slices}

    def policy(self, label: str, scenario: Scenario, traces: int) -> Predicts:
        """The rule that is chosen."""
        if label not in self.found:
            splits = train_splits(scenario, traces)
            candidates = drawn(splits[0], build_world(splits[0]), self.rules, 0)
            best = chosen(splits, candidates, math.ceil(self.slices / traces), 0)
            self.found[label] = parameters(best)
        return DecisionTree(**self.found[label])


@dataclass(frozen=True)
class Counterfactual:
    """The counterfactual learner, with the settings of the environment but for its traces.

    The share of them that agents are chosen on stays as it is. Where nothing can be learned, or no
    agent is as harmless as the settings ask, the policy is replay.
    """

    folder: Path
    """where its runs are, by label"""
    found: dict[str, Any] = field(default_factory=dict[str, Any])
    name: str = LEARNER.name

    @property
    def search(self) -> dict[str, Any]:
        """Nothing: policies that are kept are those of the folder."""
        return {}

    def policy(self, label: str, scenario: Scenario, traces: int) -> Predicts:
        """The agent that is chosen."""
        known = settings_of(LEARNER, scenario.name)
        few: dict[str, Any] = {"traces": traces}
        if known.chosen_on is not None:
            few["chosen_on"] = math.ceil(traces * known.chosen_on / known.traces)
        run = self.folder / label.replace(" ", "-")
        agent = learned(scenario, run, 0, few, CHOSEN_ON.get(scenario.name))
        file = run / "best.safetensors"
        told = sha256(file.read_bytes()).hexdigest()[:16] if file.exists() else policy_name(agent)
        self.found[label] = told
        return agent
