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
from typing import Annotated

import typer

from experiments.measured_worlds import world_of
from experiments.random_rules import RANDOM, Sums, score_on, sums_of
from failgym.baselines import Algorithm1, DecisionTree
from failgym.baselines.decision_tree import NOTHING
from failgym.cli.output import print_line
from failgym.envs import Scenario, resolve
from failgym.evaluation import Anchors, Run
from failgym.evaluation.runner import run_policy
from failgym.files import replacing
from failgym.worlds.build import build_world

__all__ = ["VARIANTS", "found_on", "without_clones"]

ENV = "failgym/Cloning-v1"
AS_IT_IS, NO_CLONES, NO_FORECAST = "as it is", "no clones", "no forecast"
VARIANTS = (AS_IT_IS, NO_CLONES, NO_FORECAST)


def without_clones(rule: DecisionTree) -> DecisionTree:
    """The same rule, that does nothing where it cloned."""
    return replace(rule, window=rule.window.replace("clone", NOTHING))


def found_on(scenario: Scenario, rule: DecisionTree) -> Sums:
    """What both cost on the test split of a scenario, by "policy, variant".

    A forecast changes nothing but what is shown: without it the same tasks meet the same fates.
    """
    anchors = Anchors.of(scenario, split="test")
    blind = replace(anchors.scenario, forecast="none")
    world, slices = build_world(blind), anchors.replay.slices
    runs: dict[str, Run] = {}
    for name, policy, cloneless in (
        (RANDOM, rule, without_clones(rule)),
        (Algorithm1.name, Algorithm1(), Algorithm1(max_clones=0)),
    ):
        runs[f"{name}, {AS_IT_IS}"] = anchors.run(policy)
        runs[f"{name}, {NO_CLONES}"] = anchors.run(cloneless)
        runs[f"{name}, {NO_FORECAST}"] = run_policy(world, blind, policy, slices)
    return sums_of(anchors, runs)


def main(
    rules: Annotated[Path, typer.Option("--rules", exists=True, dir_okay=False)],
    json_: Annotated[Path, typer.Option("--json", dir_okay=False)],
) -> None:
    """Print scores, and what each variant is above the policy as it is."""
    known = json.loads(rules.read_text("utf-8"))[ENV]
    rule, traces = DecisionTree(**known["rule"]), known["traces"]
    scenario = resolve(ENV)
    found = [found_on(replace(scenario, trace_seed=seed), rule) for seed in traces]
    rows = [
        {
            "policy": policy,
            "variant": variant,
            "score": score_on(found, f"{policy}, {variant}"),
            "above": score_on(found, f"{policy}, {variant}", f"{policy}, {AS_IT_IS}"),
        }
        for policy in (RANDOM, Algorithm1.name)
        for variant in VARIANTS
    ]
    for row in rows:
        print_line(str(row))
    with replacing(json_) as path:
        content = {"env": ENV, "world": world_of(ENV), "traces": traces, "rows": rows}
        path.write_text(json.dumps(content, indent=1), "utf-8")


if __name__ == "__main__":
    typer.run(main)
