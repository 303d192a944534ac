"""How far does what was learned on n traces carry to traces that nobody has seen?

    python -m experiments.generalisation --env failgym/GracePeriod-v1 --json FILE
        [--traces 1,3,10,30] [--rules 2000] [--slices 500] [--fresh 20] [--elsewhere PROFILE ...]
        [--record DIR ...] [--set FIELD=VALUE ...] [--plot FILE]

The learner is the search of `experiments.random_rules`: of many random rules, the same for all n,
the one that saves most on the train splits of n traces. It can learn whatever single traces hold by
chance, takes minutes, and knows no luck but that of the rules. It is judged

* on *seen* traces: the train splits that it was chosen on (of ten of them at most);
* on *fresh* ones: the test splits of traces of other seeds;
* *elsewhere*, "zero-shot": the test splits of other profiles, and of imported records, beside a
  rule that was chosen there, on the past only ("own past").

Splits differ in what can be gained, for any rule. So the *gap* is what is lost of the advantage
over the best shipped rule (in hindsight, on the fresh traces): points above it on seen traces, less
points above it on fresh ones. Both are paired, with intervals over traces and jobs; they have no
trace in common, so the interval of the gap adds their halves in quadrature (Zou and Donner,
"Construction of confidence limits about effect measures", Statistics in Medicine 2008).

Rules that were chosen are kept in FILE: a command that was stopped goes on. `--plot` draws a curve.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from experiments.measured_worlds import world_of
from experiments.random_rules import Sums, chosen, score_on, sums_of, train_splits
from experiments.random_trees import drawn
from failgym.baselines import REGISTRY, DecisionTree
from failgym.baselines.stored import parameters
from failgym.cli.output import print_line, print_table
from failgym.cli.values import assignments, read_value
from failgym.envs import Scenario, resolve
from failgym.evaluation import Anchors
from failgym.evaluation.caller import Predicts
from failgym.evaluation.scoring import Score
from failgym.files import replacing
from failgym.worlds.build import build_world
from failgym.worlds.scenario import Split

__all__ = ["gap", "learned", "played"]

SEEN = 10
"""Traces that a rule was chosen on and is judged on, at most."""
ELSEWHERE = 5
"""Traces of another profile."""
OWN = "own past"


def learned(scenario: Scenario, counts: Sequence[int], rules: int, slices: int) -> dict[int, Any]:
    """The best of the same random rules on so many traces, from the scenario's own seed on.

    Args:
        scenario: whose train splits are played.
        counts: how many traces.
        rules: how many rules are drawn, on the first trace.
        slices: that all rules are played on, shared out among the traces.
    """
    splits = train_splits(scenario, max(counts))
    candidates = drawn(splits[0], build_world(splits[0]), rules, 0)
    return {
        count: parameters(chosen(splits[:count], candidates, math.ceil(slices / count), 0))
        for count in counts
    }


def played(
    scenario: Scenario, seeds: Sequence[int], split: Split, policies: Mapping[str, Predicts]
) -> list[Sums]:
    """What policies cost on a split of each trace."""
    found: list[Sums] = []
    for seed in seeds:
        anchors = Anchors.of(replace(scenario, trace_seed=seed), split=split)
        runs = {name: anchors.run(policy, threads=1) for name, policy in policies.items()}
        found.append(sums_of(anchors, runs))
        print_line(f"{scenario.name}, {split} split of trace {seed}: played")
    return found


def gap(seen: Score, fresh: Score) -> Score:
    """Points lost from traces that were seen to fresh ones, which share none."""
    value = seen.value - fresh.value
    low = value - math.hypot(seen.value - seen.low, fresh.high - fresh.value)
    high = value + math.hypot(seen.high - seen.value, fresh.value - fresh.low)
    return Score(value, low, high)


def main(
    json_: Annotated[Path, typer.Option("--json", dir_okay=False)],
    env: Annotated[str, typer.Option(help="id of an environment")] = "failgym/GracePeriod-v1",
    traces: Annotated[str, typer.Option(help="how many traces rules are chosen on")] = "1,3,10,30",
    rules: Annotated[int, typer.Option(min=1, help="how many are drawn")] = 2_000,
    slices: Annotated[int, typer.Option(min=1, help="that all are played on, together")] = 500,
    fresh: Annotated[int, typer.Option(min=1, help="traces that nobody has seen")] = 20,
    first: Annotated[int, typer.Option(min=0, help="seed of the first of them")] = 20_000,
    elsewhere: Annotated[list[str] | None, typer.Option(metavar="PROFILE")] = None,
    record: Annotated[list[Path] | None, typer.Option(metavar="DIR", exists=True)] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", metavar="FIELD=VALUE")] = None,
    plot: Annotated[Path | None, typer.Option(dir_okay=False)] = None,
) -> None:
    """Print scores on traces that rules were chosen on, on fresh ones, and elsewhere."""
    hints = get_type_hints(Scenario)
    given = assignments(set_ or [], "--set")
    fields = {name: read_value(name, text, hints.get(name, str)) for name, text in given.items()}
    scenario, counts = resolve(env, fields), _counts(traces)
    if set(range(first, first + fresh)) & {scenario.trace_seed + at for at in range(max(counts))}:
        raise typer.BadParameter("--first: a rule may not be judged on a trace that it has seen")
    known: dict[str, Any] = json.loads(json_.read_text("utf-8")) if json_.exists() else {}
    asked = {"counts": counts, "rules": rules, "slices": slices}
    search: dict[str, Any] = {**asked, "world": world_of(env), "fields": given}
    found: dict[str, Any] = known.get(env, {})
    if found.get("search") != search:
        found = {"search": search, "rules": learned(scenario, counts, rules, slices)}
        _write(json_, known | {env: found})
    chosen_on = {int(count): rule for count, rule in found["rules"].items()}
    policies: dict[str, Predicts] = {_name(n): DecisionTree(**r) for n, r in chosen_on.items()}
    shipped: dict[str, Predicts] = {
        name: one() for name, one in REGISTRY.items() if one.compatible(scenario)
    }
    of_fresh = played(scenario, range(first, first + fresh), "test", policies | shipped)
    best = max(shipped, key=lambda name: score_on(of_fresh, name).value)
    seeds = [scenario.trace_seed + at for at in range(min(SEEN, max(counts)))]
    of_seen = played(scenario, seeds, "train", policies | {best: shipped[best]})
    rows = [_row(count, of_seen[:count], of_fresh, best) for count in counts]
    found |= {"world": search["world"], "fresh": [first, fresh], "best": best, "rows": rows}
    found["best_fresh"] = score_on(of_fresh, best)
    _write(json_, known | {env: found})
    elsewhere_found = list[dict[str, Any]]()
    found["elsewhere"] = elsewhere_found
    for place in [*(elsewhere or []), *map(str, record or [])]:
        count = 1 if place in map(str, record or []) else ELSEWHERE
        there = scenario.override(trace=place)
        elsewhere_found.append(_elsewhere(there, count, policies, rules, slices))
        _write(json_, known | {env: found})
    _print(env, found, counts)
    if plot is not None:
        _draw(env, found, plot)


def _counts(text: str) -> list[int]:
    try:
        found = [int(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not found or min(found) < 1 or sorted(set(found)) != found:
        raise typer.BadParameter(f"--traces {text!r}: expected rising whole numbers, as 1,3,10")
    return found


def _name(count: int) -> str:
    return f"of {count}"


def _row(count: int, seen: Sequence[Sums], fresh: Sequence[Sums], best: str) -> dict[str, Any]:
    name = _name(count)
    above = score_on(seen, name, best), score_on(fresh, name, best)
    return {
        "traces": count,
        "seen": score_on(seen, name),
        "fresh": score_on(fresh, name),
        "above_seen": above[0],
        "above_fresh": above[1],
        "gap": gap(*above),
    }


def buildable(scenario: Scenario, count: int) -> tuple[list[Scenario], dict[int, str]]:
    """So many traces from the scenario's own seed on, and why others on the way make no world.

    Raises:
        ValueError: if more make none than are asked for.
    """
    found: list[Scenario] = []
    refused = dict[int, str]()
    for seed in itertools.count(scenario.trace_seed):
        one = replace(scenario, trace_seed=seed)
        try:
            for split in ("train", "test"):
                build_world(replace(one, split=split))
            found.append(one)
        except ValueError as error:
            refused[seed] = str(error)
            if len(refused) > count:
                raise
        if len(found) == count:
            break
    return found, refused


def _elsewhere(
    there: Scenario, count: int, policies: Mapping[str, Predicts], rules: int, slices: int
) -> dict[str, Any]:
    """Scores of the same rules on another profile or a record, and of one chosen on its past."""
    traces, refused = buildable(there, count)
    splits = [train_splits(trace, 1)[0] for trace in traces]
    candidates = drawn(splits[0], build_world(splits[0]), rules, 0)
    own = parameters(chosen(splits, candidates, math.ceil(slices / count), 0))
    seeds = [trace.trace_seed for trace in traces]
    sums = played(there, seeds, "test", {**policies, OWN: DecisionTree(**own)})
    return {
        "trace": Path(str(there.trace)).name,
        "seeds": seeds,
        "refused": refused,
        "own": own,
        "scores": {name: score_on(sums, name) for name in sums[0].costs},
    }


def _print(env: str, found: Mapping[str, Any], counts: Sequence[int]) -> None:
    best = found["best"]
    columns = ("traces", "seen", "fresh", f"above {best}: seen", "fresh", "gap")
    names = ("seen", "fresh", "above_seen", "above_fresh", "gap")
    rows = [(row["traces"], *(_text(row[name]) for name in names)) for row in found["rows"]]
    print_table(f"{env}: rules chosen on so many traces", columns, rows)
    print_line(f"{best} has {_text(found['best_fresh'])} on the fresh traces")
    if found["elsewhere"]:
        heads = [*map(_name, counts), OWN]
        table = [
            (place["trace"], *(_text(place["scores"][name]) for name in heads))
            for place in found["elsewhere"]
        ]
        print_table("elsewhere", ("trace", *heads), table)


def _text(value: Sequence[float]) -> str:
    one, low, high = value
    return "-" if math.isnan(one) else f"{one:.1f} [{low:.1f}, {high:.1f}]"


def _draw(env: str, found: Mapping[str, Any], file: Path) -> None:
    """Scores by the number of traces, on seen and on fresh ones."""
    import matplotlib.pyplot as plt

    drawing: Any = plt
    figure, axes = drawing.subplots(figsize=(6.0, 3.6), layout="constrained")
    counts = [row["traces"] for row in found["rows"]]
    for name, colour in (("seen", "#c94a00"), ("fresh", "#0067b1")):
        values = [row[name] for row in found["rows"]]
        ends = [[v[0] - v[1] for v in values], [v[2] - v[0] for v in values]]
        middle = [v[0] for v in values]
        axes.errorbar(counts, middle, ends, marker="o", color=colour, label=name, capsize=3)
    best = found["best_fresh"][0]
    axes.axhline(best, color="#4c5966", linestyle=":", label=f"{found['best']}, fresh")
    axes.set_xscale("log")
    axes.set_xticks(counts, [str(count) for count in counts])
    axes.set(xlabel="traces that a rule was chosen on", ylabel="score", title=env)
    axes.legend()
    with replacing(file) as partial:
        figure.savefig(partial, format="png", dpi=120)
    drawing.close(figure)


def _write(file: Path, content: dict[str, Any]) -> None:
    with replacing(file) as path:
        path.write_text(json.dumps(content, indent=1), "utf-8")


if __name__ == "__main__":
    typer.run(main)
