"""What does a rule gain that nobody thought of? The best of many random ones, chosen on train.

    python -m experiments.random_rules --env failgym/Cloning-v0 [--set FIELD=VALUE ...]
        [--rules 2000] [--traces 5] [--json FILE] [--chosen FILE]

A random rule is a tree of depth 2 over the fields that vary in the environment: three questions,
whether a field is above a threshold, and in each of the four leaves an action for each kind of
decision. Fields are drawn alike; a threshold is a value that the field had, at a random moment of
random play on the train split; actions are drawn from those that may be legal. What is illegal is
CONTINUE, and a second action in one decision too.

Rules are played on few slices of the train split, and the better quarter on four times as many,
until one is left or all slices have been played. The best rule and all rules of
`failgym.baselines` that fit are then judged on the test splits of fresh traces, with intervals over
traces and jobs. If a random rule is as good as what is shipped, the environment asks for little.

All are judged on the same traces, where the same tasks are dear to each. So what tells whether the
random rule is better is not whether two intervals overlap, but the paired difference: how many
points it is above the best of the shipped ones, with an interval of its own, in which each resample
holds the same traces and jobs of both. The best is chosen by the scores on these very traces, in
favour of what is shipped.

FILE of `--json` holds the rule as soon as it is chosen; `--chosen` judges that of such a file.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Self, get_type_hints

import numpy as np
import numpy.typing as npt
import typer

from failgym.baselines import REGISTRY, RandomPolicy
from failgym.baselines.base import enabled
from failgym.cli.output import Cell, print_line, print_table
from failgym.cli.values import assignments, read_value
from failgym.envs import FIELDS, MitigationVectorEnv, Scenario, resolve
from failgym.envs.select_fields import varying_fields
from failgym.evaluation import Anchors, Run
from failgym.evaluation.evidence import score_of
from failgym.evaluation.measuring import measure
from failgym.evaluation.runner import run_policy
from failgym.evaluation.scoring import Score
from failgym.files import replacing
from failgym.vocabulary import Action
from failgym.worlds.build import build_world

__all__ = ["Question", "RandomRule", "chosen", "difference", "drawn"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]

INDEX = {field.name: at for at, field in enumerate(FIELDS)}
LEAVES = 4
FEWEST = 4
"""Slices that all rules are played on."""
KEPT = 4
"""One in so many goes on, on so many times as many slices."""
LANES, STEPS = 64, 100
"""Episodes side by side, and steps, of the play that thresholds are taken from."""
ACTIONS_OF: dict[str, tuple[Action, ...]] = {
    "window": (Action.CLONE, Action.CHECKPOINT, Action.KILL),
    "failed": (Action.KILL, Action.RETRY),
    "output": (Action.CHECKPOINT,),
    "dispatch": (Action.RETRY,),
}
"""By kind of decision, beside CONTINUE."""


@dataclass(frozen=True)
class Question:
    """Is a field above a threshold?"""

    field: str
    threshold: float

    def answers(self, observation: Floats) -> npt.NDArray[np.bool_]:
        """[batch]"""
        return observation[:, INDEX[self.field]] > np.float32(self.threshold)


@dataclass(frozen=True)
class RandomRule:
    """A tree of depth 2, with stable-baselines3's `predict`."""

    first: Question
    below: Question
    above: Question
    actions: dict[str, tuple[int, int, int, int]]
    """by kind of decision, of each leaf: below below, below above, above below, above above"""
    name: str = "random rule"

    def predict(
        self,
        observation: Floats,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
        action_masks: Any = None,
    ) -> tuple[Any, Any]:
        """Actions [batch], or one; see `failgym.policy.Policy`."""
        seen = np.atleast_2d(observation)
        upper = self.first.answers(seen)
        second = np.where(upper, self.above.answers(seen), self.below.answers(seen))
        leaf = 2 * upper + second
        action = np.zeros(len(seen), dtype=np.int64)
        for kind, by_leaf in self.actions.items():
            action = np.where(seen[:, INDEX[kind]] > 0, np.array(by_leaf)[leaf], action)
        action[seen[:, INDEX["actions_taken"]] > 0] = Action.CONTINUE
        if action_masks is not None:
            legal = np.atleast_2d(action_masks)[np.arange(len(seen)), action] > 0
            action = np.where(legal, action, int(Action.CONTINUE))
        return (action if np.ndim(observation) == 2 else action[0]), state

    @classmethod
    def of_json(cls, said: dict[str, Any]) -> Self:
        """What `dataclasses.asdict` made, read again."""
        questions = {name: Question(**said[name]) for name in ("first", "below", "above")}
        actions: Any = {kind: tuple(found) for kind, found in said["actions"].items()}
        return cls(**questions, actions=actions, name=said["name"])


def drawn(scenario: Scenario, count: int, seed: int) -> list[RandomRule]:
    """Random rules for a scenario, by its train split."""
    rng = np.random.default_rng(seed)
    seen = _observations(replace(scenario, split="train"), seed)
    fields = varying_fields(scenario)
    allowed = _allowed(scenario)

    def question() -> Question:
        field = str(rng.choice(fields))
        return Question(field, float(rng.choice(seen[:, INDEX[field]])))

    rules: list[RandomRule] = []
    for _ in range(count):
        actions: Any = {
            kind: tuple(rng.choice(actions, LEAVES).tolist()) for kind, actions in allowed.items()
        }
        rules.append(RandomRule(question(), question(), question(), actions))
    return rules


def _allowed(scenario: Scenario) -> dict[str, list[int]]:
    """Actions by kind of decision, CONTINUE among them; kinds in which nothing else may be legal
    are left out.
    """
    names = {
        ("window", Action.CLONE): "clone",
        ("window", Action.CHECKPOINT): "checkpoint",
        ("window", Action.KILL): "kill",
        ("failed", Action.KILL): "give_up",
        ("failed", Action.RETRY): "retry",
        ("output", Action.CHECKPOINT): "save_outputs",
        ("dispatch", Action.RETRY): "place",
    }
    on = enabled(scenario)
    found = {
        kind: [int(a) for a in actions if names[kind, a] in on]
        for kind, actions in ACTIONS_OF.items()
    }
    return {kind: [int(Action.CONTINUE), *some] for kind, some in found.items() if some}


def _observations(scenario: Scenario, seed: int) -> Floats:
    """What is seen at random play, [moments, fields]."""
    env = MitigationVectorEnv(scenario, num_envs=LANES)
    policy = RandomPolicy(seed=seed)
    observation, info = env.reset(seed=seed)
    seen = [observation.copy()]
    for _ in range(STEPS):
        action, _ = policy.predict(observation, action_masks=info["action_mask"].astype(bool))
        observation, _, _, _, info = env.step(np.asarray(action))
        seen.append(observation.copy())
    return np.concatenate(seen)


def chosen(scenario: Scenario, rules: Sequence[RandomRule], seed: int) -> RandomRule:
    """The rule that saves most on the train split, by successive halving."""
    train = replace(scenario, split="train")
    world = build_world(train)
    order = np.random.default_rng(seed).permutation(world.slices)
    left: list[RandomRule] = list(rules)
    count = min(FEWEST, world.slices)
    while True:
        slices = np.sort(order[:count])
        costs = [
            float(run_policy(world, train, rule, slices, order=train.order).costs.sum())
            for rule in left
        ]
        best = np.argsort(costs, kind="stable")
        kept: list[int] = best[: max(1, len(left) // KEPT)].tolist()
        left = [left[i] for i in kept]
        print_line(f"{len(costs)} rules on {count} slices: {min(costs):.4g} at least")
        if len(left) == 1 or count == world.slices:
            return left[0]
        count = min(KEPT * count, world.slices)


def main(
    env: Annotated[str, typer.Option(help="id of an environment")] = "failgym/Cloning-v0",
    set_: Annotated[list[str] | None, typer.Option("--set", metavar="FIELD=VALUE")] = None,
    rules: Annotated[int, typer.Option(min=1, help="how many are drawn")] = 2_000,
    traces: Annotated[int, typer.Option(min=1, help="fresh traces")] = 5,
    first: Annotated[int, typer.Option(help="seed of the first of them")] = 2_000,
    seed: Annotated[int, typer.Option(help="of the rules")] = 0,
    json_: Annotated[Path | None, typer.Option("--json", dir_okay=False)] = None,
    chosen_: Annotated[
        Path | None, typer.Option("--chosen", exists=True, dir_okay=False, help="of an earlier run")
    ] = None,
) -> None:
    """Print what the best random rule and all shipped ones are worth on fresh traces."""
    hints = get_type_hints(Scenario)
    given = assignments(set_ or [], "--set")
    fields = {name: read_value(name, text, hints.get(name, str)) for name, text in given.items()}
    scenario = resolve(env, fields)
    if chosen_ is None:
        rule = chosen(scenario, drawn(scenario, rules, seed), seed)
    else:
        rule = RandomRule.of_json(json.loads(chosen_.read_text())["rule"])
    content: dict[str, Any] = {"env": env, "fields": given, "rule": asdict(rule)}
    _write(json_, content)
    judged = [
        Anchors.of(replace(scenario, trace_seed=first + number), split="test")
        for number in range(traces)
    ]
    policies: list[Any] = [rule]
    policies += [one() for one in REGISTRY.values() if one.compatible(scenario)]
    runs = [[anchors.run(policy) for anchors in judged] for policy in policies]
    found = [_judged(judged, each) for each in runs]
    best = max(range(1, len(found)), key=lambda at: found[at]["score"])
    above, name = difference(judged, runs[0], runs[best]), found[best]["policy"]
    found.sort(key=lambda one: -one["score"])
    rows: list[tuple[Cell, ...]] = [
        (one["policy"], f"{one['score']:.1f} [{one['low']:.1f}, {one['high']:.1f}]")
        for one in found
    ]
    print_table(f"{env}, {traces} fresh traces", ("policy", "score"), rows)
    print_line(
        f"points above {name}, of the same traces and jobs: {above.value:.1f}"
        f" [{above.low:.1f}, {above.high:.1f}]"
    )
    print_line(f"the rule: {rule}")
    _write(json_, content | {"scores": found, "above": {"policy": name, **above._asdict()}})


def difference(judged: Sequence[Anchors], one: Sequence[Run], other: Sequence[Run]) -> Score:
    """How many points a policy is above another, paired, its interval over traces and jobs.

    Args:
        judged: slices of each trace.
        one: runs of the one on them.
        other: runs of the other on the same.
    """
    evidence = [anchors.evidence for anchors in judged]
    costs, given = (
        [each.costs(run) for each, run in zip(evidence, runs, strict=True)] for runs in (one, other)
    )
    return score_of(evidence, costs, judged[0].seed, given=given)


def _judged(judged: Sequence[Anchors], runs: Sequence[Run]) -> dict[str, Any]:
    """Score and interval over traces and jobs."""
    found = measure(judged, runs)
    return {"policy": found.policy, "score": found.score, "low": found.low, "high": found.high}


def _write(file: Path | None, content: dict[str, Any]) -> None:
    if file is not None:
        with replacing(file) as path:
            path.write_text(json.dumps(content, indent=1))


if __name__ == "__main__":
    typer.run(main)
