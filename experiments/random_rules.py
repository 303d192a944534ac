"""What does a rule gain that nobody thought of? The best of many random ones, chosen on train.

    python -m experiments.random_rules --env failgym/Cloning-v1 [--set FIELD=VALUE ...]
        [--rules 2000] [--train 3] [--slices 170] [--traces 10] [--questions 1] --json FILE

Random rules (`experiments.random_trees`) are played on some slices (`--slices`) of the train splits
of each of several traces, the better eighth on four times as many, and so on, until no more than
four are left, or no slices. In the pinned world tasks do not touch each other: there slices are cut
anew, into a few tasks each, so that the first ones already come from all over the traces and no
single job chooses.

The best rule and all rules of `failgym.baselines` that fit are judged on the test splits of fresh
traces, of other seeds, with intervals over traces and jobs. If a random rule is as good as what is
shipped, the environment asks for little.

All are judged on the same traces, where the same tasks are dear to each. So what tells whether the
random rule is better is not whether two intervals overlap, but the paired difference: how many
points it is above the best of the shipped ones, with an interval of its own, in which each resample
holds the same traces and jobs of both. The best is chosen by the scores on these very traces, in
favour of what is shipped. Shipped rules are held against the best of them in the same way.

With `--questions 1` rules are *simple*: one question whether a field is above a threshold, and what
is done after either answer.

FILE holds what was found in each environment; a rule is written as soon as it is chosen, and not
chosen again. With `--out DIR` it also lies in DIR/<environment>.json, for `--policy`; those of the
registered environments are in `experiments/rules/`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_type_hints

import numpy as np
import numpy.typing as npt
import typer

from experiments.measured_worlds import world_of
from experiments.random_trees import QUESTIONS, costs_of, drawn
from failgym.baselines import REGISTRY, DecisionTree
from failgym.baselines.stored import parameters, save_heuristic
from failgym.cli.output import print_line, print_table
from failgym.cli.values import assignments, read_value
from failgym.envs import Scenario, resolve
from failgym.evaluation import Anchors, Run
from failgym.evaluation.caller import Predicts
from failgym.evaluation.scoring import Score, score
from failgym.files import replacing
from failgym.worlds.build import build_world

__all__ = ["RANDOM", "Sums", "chosen", "keep", "score_on", "sums_of", "sums_on", "train_splits"]

Floats = npt.NDArray[np.float64]

RANDOM = "random rule"
MORE = 4
"""Times as many slices for the rules that go on."""
KEPT = 8
"""One rule in so many does."""
LAST = 4
"""Rules that are played last, where there are slices enough."""
TASKS = 8
"""Tasks of a slice of the pinned world, as rules are chosen."""


class Sums(NamedTuple):
    """What was found on a trace, by what is resampled there (jobs, slices, or blocks of them)."""

    replay: Floats
    """[units] cost"""
    possible: Floats
    """[units] what the bound saves over it"""
    spent: Floats
    """[units] see `failgym.evaluation.room`"""
    costs: dict[str, Floats]
    """of each policy [units]"""


def train_splits(scenario: Scenario, traces: int) -> list[Scenario]:
    """What rules are chosen on: the train splits of traces, from the scenario's own seed on."""
    tasks = TASKS if scenario.world == "pinned" else scenario.slice_tasks
    return [
        replace(scenario, split="train", trace_seed=scenario.trace_seed + i, slice_tasks=tasks)
        for i in range(traces)
    ]


def chosen(
    splits: Sequence[Scenario], rules: Sequence[DecisionTree], slices: int, seed: int
) -> DecisionTree:
    """The rule that saves most on these splits, by successive halving.

    Args:
        splits: one of each trace.
        rules: the rules.
        slices: of each trace that all of them are played on.
        seed: of the order of slices.
    """
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(build_world(split).slices) for split in splits]
    left = list(rules)
    count = slices
    while True:
        costs = np.zeros(len(left))
        for split, order in zip(splits, orders, strict=True):  # a hundred worlds have no room
            costs += costs_of(split, build_world(split), left, np.sort(order[:count]))
        best = np.argsort(costs, kind="stable")
        played = sum(min(count, len(order)) for order in orders)
        print_line(f"{len(left)} rules on {played} slices: {costs.min():.6g} at least")
        if len(left) <= LAST or count >= max(map(len, orders)):
            return left[int(best[0])]
        left = [left[int(i)] for i in best[: max(LAST, len(left) // KEPT)]]
        count *= MORE


def sums_on(scenario: Scenario, policies: Mapping[str, Predicts]) -> Sums:
    """What policies cost on the test split of a scenario."""
    anchors = Anchors.of(scenario, split="test")
    return sums_of(anchors, {name: anchors.run(one, threads=1) for name, one in policies.items()})


def sums_of(anchors: Anchors, runs: Mapping[str, Run]) -> Sums:
    """What policies cost on slices, from their runs there."""
    evidence = anchors.evidence
    sums = evidence.units.sums
    costs = {name: sums(evidence.costs(run)) for name, run in runs.items()}
    return Sums(sums(evidence.replay), sums(evidence.possible), sums(evidence.spent), costs)


def score_on(found: Sequence[Sums], policy: str, other: str | None = None) -> Score:
    """Score over traces and their units; or, paired, how many points one is above another.

    Args:
        found: of each trace.
        policy: its name.
        other: name of the other policy.
    """

    def joined(values: Sequence[Floats]) -> Floats:
        return np.concatenate(values)

    zero = joined([one.replay if other is None else one.costs[other] for one in found])
    bound = zero - joined([one.possible for one in found])
    return score(
        *(zero, joined([one.costs[policy] for one in found]), bound),
        spent=joined([one.spent for one in found]),
        traces=np.repeat(np.arange(len(found)), [len(one.replay) for one in found]),
    )


def main(
    json_: Annotated[Path, typer.Option("--json", dir_okay=False)],
    env: Annotated[str, typer.Option(help="id of an environment")] = "failgym/Cloning-v1",
    set_: Annotated[list[str] | None, typer.Option("--set", metavar="FIELD=VALUE")] = None,
    rules: Annotated[int, typer.Option(min=1, help="how many are drawn")] = 2_000,
    train: Annotated[int, typer.Option(min=1, help="traces that one is chosen on")] = 3,
    slices: Annotated[int, typer.Option(min=1, help="of each that all are played on")] = 170,
    traces: Annotated[int, typer.Option(min=1, help="fresh traces")] = 10,
    first: Annotated[int, typer.Option(min=0, help="seed of the first of them")] = 2_000,
    seed: Annotated[int, typer.Option(help="of the rules")] = 0,
    questions: Annotated[int, typer.Option(help="that a rule asks: 3 or 1")] = QUESTIONS,
    out: Annotated[Path | None, typer.Option(file_okay=False, help="for the rule alone")] = None,
) -> None:
    """Print what the best random rule and all shipped ones are worth on fresh traces."""
    hints = get_type_hints(Scenario)
    given = assignments(set_ or [], "--set")
    fields = {name: read_value(name, text, hints.get(name, str)) for name, text in given.items()}
    scenario = resolve(env, fields)
    splits = train_splits(scenario, train)
    fresh = range(first, first + traces)
    seeds = [split.trace_seed for split in splits]
    if not set(fresh).isdisjoint(seeds):
        raise typer.BadParameter("a rule may not be judged on a trace that it was chosen on")
    if questions not in (1, QUESTIONS):
        raise typer.BadParameter(f"--questions {questions}: expected 1 or {QUESTIONS}")
    known: dict[str, Any] = json.loads(json_.read_text("utf-8")) if json_.exists() else {}
    search = {"rules": rules, "train": seeds, "slices": slices, "seed": seed}
    if questions != QUESTIONS:  # what is stored of three does not say so
        search["questions"] = questions
    world = world_of(env)
    found: dict[str, Any] = known.get(env, {})
    if (found.get("fields"), found.get("search"), found.get("world")) != (given, search, world):
        candidates = drawn(splits[0], build_world(splits[0]), rules, seed, questions)
        best = chosen(splits, candidates, slices, seed)
        found = {"world": world, "fields": given, "search": search, "rule": parameters(best)}
        _write(json_, known | {env: found})
    rule = DecisionTree(**found["rule"])
    print_line(f"the rule: {rule.text}")
    if out is not None:
        keep(out, env, found)
    policies: dict[str, Predicts] = {RANDOM: rule}
    policies |= {name: one() for name, one in REGISTRY.items() if one.compatible(scenario)}
    judged = [sums_on(replace(scenario, trace_seed=one), policies) for one in fresh]
    found |= {"traces": list(fresh), **_compared(judged)}
    _write(json_, known | {env: found})
    rows = [(one["policy"], _text(one["score"]), _text(one["below"])) for one in found["scores"]]
    print_table(
        f"{env}, {traces} fresh traces", ("policy", "score", f"{found['best']} above it"), rows
    )


def keep(out: Path, env: str, found: dict[str, Any]) -> None:
    """Write a rule that was found to a file of its own, for ``--policy``."""
    out.mkdir(parents=True, exist_ok=True)
    about = {"env": env} | {name: found[name] for name in ("world", "fields", "search")}
    save_heuristic(DecisionTree(**found["rule"]), out / f"{resolve(env).name}.json", about=about)


def _compared(judged: Sequence[Sums]) -> dict[str, Any]:
    """Scores, the highest first, and how far the best shipped rule is above each, paired."""
    scores = {name: score_on(judged, name) for name in judged[0].costs}
    best = max((name for name in scores if name != RANDOM), key=lambda name: scores[name].value)
    return {
        "best": best,
        "above": score_on(judged, RANDOM, best),
        "scores": [
            {"policy": name, "score": value, "below": score_on(judged, best, name)}
            for name, value in sorted(scores.items(), key=lambda item: -item[1].value)
        ],
    }


def _text(value: Score) -> str:
    return f"{value.value:.1f} [{value.low:.1f}, {value.high:.1f}]"


def _write(file: Path, content: dict[str, Any]) -> None:
    with replacing(file) as path:
        path.write_text(json.dumps(content, indent=1), "utf-8")


if __name__ == "__main__":
    typer.run(main)
