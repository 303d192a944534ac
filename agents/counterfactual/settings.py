"""Hyper-parameters of the counterfactual learner."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from failgym.agents.algorithms.learner import Hyper
from failgym.agents.algorithms.training_options import BaselineName, Hidden, ScenarioFields
from failgym.agents.counterfactual.environments import (
    Advice,
    Count,
    EnvironmentSettings,
    Rules,
    Share,
    Situations,
    Traces,
    Visited,
)
from failgym.agents.counterfactual.learners import Learner, Networks, Trees
from failgym.agents.ensembles.advice import Adviser
from failgym.agents.ensembles.forest import DEEPEST
from failgym.agents.ensembles.sizes import MOST_MODELS, MOST_ROUNDS, MOST_TREES
from failgym.agents.strict_record import GrownRecord, Width

__all__ = ["CounterfactualSettings"]

CAUTION = (0.0, 0.5, 1.0, 2.0)
"""What is chosen among, by default."""


class CounterfactualSettings(Hyper, GrownRecord):
    """What is visited, what is learned from it, and which agents are chosen among."""

    LATER: ClassVar[frozenset[str]] = frozenset({"environments", "prices"})

    traces: Traces = 1
    """traces to learn from, generated ones of seeds from the scenario's own on; one, whatever is
    asked for, where no trace is generated"""
    chosen_on: Traces | None = None
    """the first of them, so many at most, on whose validation splits agents are chosen; these are
    in memory all at once. All of them, if None"""
    situations: Situations = Field(default_factory=list[dict[str, Any]])
    """fields of the scenario, by trace, in turn: forecasts, profiles, loads or prices, under each
    of which the agent shall be good; ``{}`` is the scenario as it is, no list only that. Traces
    are generated: of a record the same jobs would count several times"""
    episodes: Count | None = None
    """of each trace (tasks in the pinned world), drawn anew in each round; all, if None"""
    decisions: Share = 0.25
    """share of the decisions on the way that are looked into"""
    acting: Share | None = None
    """the same where the policy that plays does something; the same share, if None"""
    rules: Rules = Field(default_factory=list[BaselineName])
    """baselines that play some of the tasks, beside replay and the agents of earlier rounds"""
    advice: Advice = Field(default_factory=list[Adviser])
    """rules whose answers are shown beside the fields; the first one's stands where no other is
    surely better, and stands behind tried answers in the first round"""
    at_random: Annotated[float, Field(ge=0.0, le=1.0)] = 0.05
    """share of the decisions that are answered by a drawn action on the way"""
    tries: Literal["answers", "rules"] = "answers"
    """what is chosen among: each answer to a decision; or which rule of `advice` is followed from
    then on, where one answer changes too little (in pinned worlds, in one round)"""
    rounds: Annotated[int, Field(ge=1, le=MOST_ROUNDS)] = 1
    """the first learns what an answer gains with the first rule of `advice` behind, or CONTINUE;
    the others with the agent so far behind; each may change what those before would answer"""
    learns: Literal["trees", "network"] = "trees"
    """boosted trees (XGBoost), or networks of one hidden layer"""
    models: Annotated[int, Field(ge=1, le=MOST_MODELS)] = 5
    """members of the ensemble, each of other jobs"""
    trees: Annotated[int, Field(ge=1, le=MOST_TREES)] = 60
    """of each model, for each pair of actions, in each round"""
    depth: Annotated[int, Field(ge=1, le=DEEPEST)] = 4
    """levels of a tree"""
    learning_rate: Share = 0.1
    """what each tree's share is shrunk by"""
    least_weight: Annotated[float, Field(ge=0.0, le=1e6)] = 5.0
    """of the hessian in a leaf, where the mean decision weighs 1; of several environments that of
    the one in which decisions weigh most"""
    units: Width = 32
    """of the hidden layer of a network"""
    updates: Annotated[int, Field(ge=1, le=10_000_000)] = 2_000
    """steps of a network's optimiser, each on 1,024 decisions"""
    step_size: Annotated[float, Field(gt=0.0, le=1.0)] = 0.003
    """of the first of them; it falls to 0"""
    job_share: Share = 0.02
    """of all that is at stake, that a job stands for at most"""
    caution: Annotated[
        list[Annotated[float, Field(ge=0.0, le=100.0)]], Field(min_length=1, max_length=20)
    ] = Field(default=list(CAUTION))
    """standard deviations between models that are taken off their mean: what is chosen among"""
    tail: Share = 1.0
    """share of the jobs (slices, where these alone have costs), those that an agent does worst in,
    by whose mean it is chosen (conditional value at risk); 1: by its score"""
    false_kills: Annotated[float, Field(ge=0.0)] | None = None
    """a job, at most: who kills falsely more often on the validation splits is not chosen"""
    behind: Annotated[float, Field(ge=0.0, le=100.0)] = 1.0
    """the same, of the agent that answers behind a tried answer in the next round"""
    env: ScenarioFields | None = None
    """fields of the scenario, for training and validation both"""
    visit: Visited | None = None
    """fields of the scenario that is learned in, where another than the agent's own tells more: in
    the pinned world, where tasks do not wait for each other, an answer is tried far faster and
    changes nothing but its task"""
    without: Hidden | None = None
    """fields of the observation that the agent is not shown, of those that `train` shows"""
    prices: bool = False
    """is the agent shown what is charged where it plays (`failgym.agents.ensembles.inputs`)?"""
    environments: Annotated[list[EnvironmentSettings], Field(max_length=100)] = Field(
        default_factory=list[EnvironmentSettings]
    )
    """environments that the same agent learns in as well; the one that training is asked for may be
    among them, with settings of its own"""

    def learner(self, threads: int) -> Learner:
        """Who learns, on so many threads."""
        if self.learns == "network":
            return Networks(self.units, self.updates, self.step_size)
        return Trees(self.trees, self.depth, self.learning_rate, self.least_weight, threads)

    def check(self) -> None:
        """Raise ValueError for settings that do not go together.

        Rules are to be chosen among that there are not, or again; a situation has no trace to be
        met in, or is changed again where it is visited; or trees are given the sizes of networks.
        Of several environments: one is named twice, or rules are to be chosen among.
        """
        if self.tries == "rules" and len(self.advice) < 2:
            raise ValueError(f"advice: expected two rules or more, got {len(self.advice)}")
        if self.tries == "rules" and self.rounds > 1:
            raise ValueError("rounds: expected 1 where rules are chosen among")
        self._check_environments()
        for name in sorted(
            {name for one in self.situations for name in one} & set(self.visit or {})
        ):
            raise ValueError(f"situations: {name}: expected none that visit changes")
        for name in ("units", "updates", "step_size"):
            default = type(self).model_fields[name].default
            if self.learns == "trees" and getattr(self, name) != default:
                raise ValueError(f"{name}: expected none: trees are learned (learns: network)")
        for name in ("traces", "chosen_on"):
            traces = getattr(self, name)
            if traces is not None and traces < len(self.situations):
                raise ValueError(
                    f"{name}: expected one or more of each of {len(self.situations)} situations,"
                    f" got {traces}"
                )

    def _check_environments(self) -> None:
        """Raise ValueError for environments that do not go together."""
        names = [one.env.removeprefix("failgym/") for one in self.environments]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"environments: failgym/{name} is given twice")
        if names and self.tries == "rules":
            raise ValueError("tries: expected 'answers' where several environments are learned in")
