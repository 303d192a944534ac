"""Do clones pay in Cloning-v1, and does its forecast?

    python -m experiments.cloning_ablations --rules FILE --json FILE

The best random rule (`--rules`: what `experiments.random_rules` wrote) and Algorithm 1 are played
on the test splits of the traces that the rule was judged on: as they are; without clones; and where
no forecast is shown. How far each is above itself as it is, is paired: on the same traces and jobs.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from experiments.random_rules import Sums, score_on, sums_on
from experiments.random_trees import RandomRule
from failgym.baselines import Algorithm1
from failgym.cli.output import print_line
from failgym.envs import Scenario, resolve
from failgym.evaluation.caller import Predicts
from failgym.files import replacing
from failgym.vocabulary import Action

__all__ = ["VARIANTS", "found_on", "without_clones"]

ENV = "failgym/Cloning-v1"
AS_IT_IS, NO_CLONES, NO_FORECAST = "as it is", "no clones", "no forecast"
VARIANTS = (AS_IT_IS, NO_CLONES, NO_FORECAST)


def without_clones(rule: RandomRule) -> RandomRule:
    """The same rule, that does nothing where it cloned."""
    window = [int(Action.CONTINUE) if a == Action.CLONE else a for a in rule.actions["window"]]
    actions: Any = rule.actions | {"window": tuple(window)}
    return replace(rule, actions=actions)


def found_on(scenario: Scenario, rule: RandomRule) -> Sums:
    """What both cost on the test split of a scenario, by "policy, variant".

    Raises:
        AssertionError: if to show no forecast changed what can be gained.
    """
    shown: dict[str, Predicts] = {
        f"{rule.name}, {AS_IT_IS}": rule,
        f"{Algorithm1.name}, {AS_IT_IS}": Algorithm1(),
        f"{rule.name}, {NO_CLONES}": without_clones(rule),
        f"{Algorithm1.name}, {NO_CLONES}": Algorithm1(max_clones=0),
    }
    blind: dict[str, Predicts] = {
        f"{rule.name}, {NO_FORECAST}": rule,
        f"{Algorithm1.name}, {NO_FORECAST}": Algorithm1(),
    }
    found = sums_on(scenario, shown)
    without = sums_on(replace(scenario, forecast="none"), blind)
    np.testing.assert_allclose(without.replay, found.replay)
    np.testing.assert_allclose(without.possible, found.possible, atol=1e-9)
    return found._replace(costs=found.costs | without.costs)


def main(
    rules: Annotated[Path, typer.Option("--rules", exists=True, dir_okay=False)],
    json_: Annotated[Path, typer.Option("--json", dir_okay=False)],
) -> None:
    """Print scores, and what each variant is above the policy as it is."""
    known = json.loads(rules.read_text("utf-8"))[ENV]
    rule, traces = RandomRule.of_json(known["rule"]), known["traces"]
    scenario = resolve(ENV)
    found = [found_on(replace(scenario, trace_seed=seed), rule) for seed in traces]
    rows = [
        {
            "policy": policy,
            "variant": variant,
            "score": score_on(found, f"{policy}, {variant}"),
            "above": score_on(found, f"{policy}, {variant}", f"{policy}, {AS_IT_IS}"),
        }
        for policy in (rule.name, Algorithm1.name)
        for variant in VARIANTS
    ]
    for row in rows:
        print_line(str(row))
    with replacing(json_) as path:
        path.write_text(json.dumps({"traces": traces, "rows": rows}, indent=1), "utf-8")


if __name__ == "__main__":
    typer.run(main)
