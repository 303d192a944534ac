"""How far does what was learned on n traces carry to traces that nobody has seen?

    python -m experiments.generalisation --env failgym/GracePeriod-v1 --json FILE
        [--traces 1,3,10,30] [--learner rules] [--rules 2000] [--slices 500] [--fresh 20]
        [--elsewhere PROFILE ...] [--record DIR ...] [--set FIELD=VALUE ...] [--plot FILE]
    python -m experiments.generalisation --learner counterfactual --runs DIR --env ID --json FILE

There are two learners:

* ``rules`` is the search of `experiments.random_rules`: of many random rules, the same for all n,
  the one that saves most on the train splits of n traces. It can learn whatever single traces hold
  by chance, takes minutes, and knows no luck but that of the rules;
* ``counterfactual`` is the learner of the agents that are shipped, with their settings but for the
  number of traces. Its agents know good rules from the start, and follow them where in doubt.

What they learn is judged

* on *seen* traces: the train splits that it was learned on (of ten of them at most);
* on *fresh* ones: the test splits of traces of other seeds;
* *elsewhere*, "zero-shot": the test splits of other profiles, and of imported records, beside what
  the same learner learned there, on the past only ("own past").

Splits differ in what can be gained, for any rule. So the *gap* is what is lost of the advantage
over the best shipped rule (in hindsight, on the fresh traces): points above it on seen traces, less
points above it on fresh ones. Both are paired, with intervals over traces and jobs; they have no
trace in common, so the interval of the gap adds their halves in quadrature (Zou and Donner,
"Construction of confidence limits about effect measures", Statistics in Medicine 2008).

Rules that were chosen, and what was judged, are kept in FILE, agents in DIR: a command that was
stopped goes on. `--plot` draws a curve.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import typer

from experiments.generalisation_learners import Counterfactual, LearnerOfTraces, RandomRules
from experiments.measured_worlds import world_of
from experiments.random_rules import Sums, score_on, sums_of
from experiments.reproduction.command import refusing
from failgym.baselines import REGISTRY
from failgym.cli.output import print_line, print_table
from failgym.cli.values import assignments, read_value
from failgym.envs import Scenario, resolve
from failgym.evaluation import Anchors
from failgym.evaluation.caller import Predicts
from failgym.evaluation.scoring import Score
from failgym.files import replacing
from failgym.worlds.build import build_world
from failgym.worlds.scenario import Split
from failgym.worlds.source import whole_trace

__all__ = ["buildable", "gap", "played"]

SEEN = 10
"""Traces that were learned from and are judged on, at most."""
ELSEWHERE = 5
"""Traces of another profile."""
OWN = "own past"


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
    learner: Annotated[Literal["rules", "counterfactual"], typer.Option()] = "rules",
    runs: Annotated[Path | None, typer.Option(file_okay=False, help="of the agents")] = None,
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
    if (learner == "rules") != (runs is None):
        raise typer.BadParameter("--runs: expected with --learner counterfactual, and only with it")
    kept = _Kept(json_, env, learner)
    by = RandomRules(rules, slices) if runs is None else Counterfactual(runs / scenario.name)
    asked = {"counts": counts, "fields": given, **by.search}
    found: dict[str, Any] = {"world": world_of(env), "search": asked}
    known = kept.read()
    if all(known.get(name) == value for name, value in found.items()):
        found = known
    by.found.update(found.get("learned", {}))
    learned = dict(by.found)
    policies = dict[str, Predicts]()
    with refusing(ValueError):
        for count in counts:
            label = _name(count)
            policies[label] = by.policy(label, scenario, count)
            if learned.get(label) != by.found[label]:  # others than were judged
                found = {"world": found["world"], "search": asked}
            kept.write(found | {"learned": by.found})
    if found.get("fresh") != [first, fresh]:
        found |= _near(scenario, counts, range(first, first + fresh), policies)
        kept.write(found | {"learned": by.found})
    before: dict[str, Any] = {each["asked"]: each for each in found["elsewhere"] if "asked" in each}
    for place, count in [
        *((place, ELSEWHERE) for place in elsewhere or []),
        *((str(place), 1) for place in record or []),
    ]:
        with refusing(ValueError):
            there = scenario.override(trace=place)
            told = f"{count} {whole_trace(there).content_hash[:12]}"
            if told not in before:
                before[told] = _elsewhere(there, count, policies, by) | {"asked": told}
        found["elsewhere"] = list(before.values())
        kept.write(found | {"learned": by.found})
    found["learned"] = by.found
    _print(f"{env}, {learner}", found, counts)
    if plot is not None:
        _draw(f"{env}, {learner}", found, plot)


@dataclass(frozen=True)
class _Kept:
    """What FILE holds of a learner in an environment."""

    file: Path
    env: str
    learner: str

    def _all(self) -> list[dict[str, Any]]:
        return json.loads(self.file.read_text("utf-8")) if self.file.exists() else []

    def _here(self, entry: Mapping[str, Any]) -> bool:
        return (entry["env"], entry["learner"]) == (self.env, self.learner)

    def read(self) -> dict[str, Any]:
        """Nothing, where nothing is known."""
        for entry in filter(self._here, self._all()):
            return entry
        return {}

    def write(self, found: dict[str, Any]) -> None:
        """What is there of others stays."""
        others = [entry for entry in self._all() if not self._here(entry)]
        entries = [*others, {"env": self.env, "learner": self.learner, **found}]
        entries.sort(key=lambda entry: (entry["env"], entry["learner"]))
        with replacing(self.file) as path:
            path.write_text(json.dumps(entries, indent=1), "utf-8")


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


def _near(
    scenario: Scenario, counts: Sequence[int], fresh: Sequence[int], policies: dict[str, Predicts]
) -> dict[str, Any]:
    """What was learned, on the traces that it was learned on and on fresh ones, of those seeds."""
    shipped: dict[str, Predicts] = {
        name: one() for name, one in REGISTRY.items() if one.compatible(scenario)
    }
    of_fresh = played(scenario, fresh, "test", policies | shipped)
    best = max(shipped, key=lambda name: score_on(of_fresh, name).value)
    seeds = [scenario.trace_seed + at for at in range(min(SEEN, max(counts)))]
    of_seen = played(scenario, seeds, "train", policies | {best: shipped[best]})
    return {
        "fresh": [fresh[0], len(fresh)],
        "best": best,
        "rows": [_row(count, of_seen[:count], of_fresh, best) for count in counts],
        "best_fresh": score_on(of_fresh, best),
        "elsewhere": [],
    }


def buildable(scenario: Scenario, count: int) -> tuple[list[Scenario], dict[int, str]]:
    """The first so many traces in a row, from the scenario's own seed on, that all make worlds.

    Returns:
        These; and why others on the way make none, by seed.

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
            found.clear()
            refused[seed] = str(error)
            if len(refused) > count:
                raise
        if len(found) == count:
            break
    return found, refused


def _elsewhere(
    there: Scenario, count: int, policies: Mapping[str, Predicts], by: LearnerOfTraces
) -> dict[str, Any]:
    """Scores of the same policies on another profile or a record, and of one of its own past."""
    traces, refused = buildable(there, count)
    place = Path(str(there.trace)).name
    seeds = [trace.trace_seed for trace in traces]
    told = whole_trace(traces[0]).content_hash[:12]  # folders of records may have the same name
    own = by.policy(f"{OWN} {place} {told} {count}", traces[0], count)
    sums = played(there, seeds, "test", {**policies, OWN: own})
    return {
        "trace": place,
        "seeds": seeds,
        "refused": refused,
        "scores": {name: score_on(sums, name) for name in sums[0].costs},
        "above_own": {name: score_on(sums, name, OWN) for name in policies},
    }


def _print(title: str, found: Mapping[str, Any], counts: Sequence[int]) -> None:
    best = found["best"]
    columns = ("traces", "seen", "fresh", f"above {best}: seen", "fresh", "gap")
    names = ("seen", "fresh", "above_seen", "above_fresh", "gap")
    rows = [(row["traces"], *(_text(row[name]) for name in names)) for row in found["rows"]]
    print_table(f"{title}: learned from so many traces", columns, rows)
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


def _draw(title: str, found: Mapping[str, Any], file: Path) -> None:
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
    axes.set(xlabel="traces that were learned from", ylabel="score", title=title)
    axes.legend()
    with replacing(file) as partial:
        figure.savefig(partial, format="png", dpi=120)
    drawing.close(figure)


if __name__ == "__main__":
    typer.run(main)
