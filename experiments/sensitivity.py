"""Which constants of an environment decide how rules rank?

    python -m experiments.sensitivity --env failgym/Cloning-v1 --json FILE

All rules of `failgym.baselines` that fit the environment are played on the test splits of fresh
traces, once with the environment as it is registered and once with each of its constants changed
(`experiments.sensitivity_changes`): what the law of copies leaves to chance, how often the cluster
restarts, how many attempts are drawn, strata, prices, the quality of the forecast, the draw itself.
Printed are, for each change, Kendall's tau-b between the rules' scores and those without it, with
the interval of a bootstrap over traces, and the best rules. Traces are added until each interval
reaches no further than `WIDTH` from its middle, or there are `--most`. FILE holds what each rule
cost on each trace of each environment: a command that was stopped goes on with it.

The trace of a seed is generated once. Where only prices are others nothing is played again: no
rule is shown a price, so the same happens, and costs are multiplied
(`failgym.evaluation.repriced`). What alters no rule's cost on the first `SEEN` traces is not played
on others.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportMissingTypeStubs=false

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import numpy as np
import numpy.typing as npt
import typer

from experiments.measured_worlds import world_of
from experiments.rank_correlation import tau_b
from experiments.sensitivity_changes import AS_IT_IS, Change, changes
from failgym.baselines import REGISTRY
from failgym.cli.output import print_line, print_table
from failgym.cli.values import assignments, read_value
from failgym.envs import Scenario, resolve
from failgym.evaluation import Run
from failgym.evaluation.anchors import Anchors
from failgym.evaluation.repriced import at_prices, factors_between, repriced
from failgym.files import replacing

__all__ = ["Played", "Row", "Tau", "played", "played_at", "rows_of", "runs_of", "tau_of"]

Floats = npt.NDArray[np.float64]

REPLAY = "replay"
WIDTH = 0.1
"""Half the width of an interval of tau that is asked for."""
SEEN = 2
"""Traces on which a change must alter something to be played on more."""
RESAMPLES = 1_000


@dataclass(frozen=True)
class Played:
    """What rules cost on a trace."""

    costs: dict[str, list[float]]
    """of each rule, `replay` first: cost by term [5]"""
    room: float
    """what can be saved"""


@dataclass(frozen=True)
class Tau:
    """Kendall's tau-b, and its interval over traces."""

    value: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half of the interval."""
        return (self.high - self.low) / 2.0

    @property
    def text(self) -> str:
        """It, and its interval."""
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"


@dataclass(frozen=True)
class Row:
    """What came of a change."""

    name: str
    tau: Tau
    scores: dict[str, float]
    """of each rule, the best first: what it saves over what can be saved [%]"""
    room: float
    """cost that can be saved on its traces"""
    traces: int
    alters: bool
    """Does any rule cost another sum?"""

    def best(self, count: int = 3) -> str:
        """The best rules, in words."""
        chosen = list(self.scores.items())[:count]
        return ", ".join(f"{rule} {round(score, 1) + 0.0:.1f}" for rule, score in chosen)


def runs_of(anchors: Anchors) -> dict[str, Run]:
    """What each rule that fits does on slices, `replay` first."""
    fitting = {name: rule for name, rule in REGISTRY.items() if rule.compatible(anchors.scenario)}
    return {REPLAY: anchors.replay} | {
        name: anchors.run(rule()) for name, rule in fitting.items() if name != REPLAY
    }


def played(anchors: Anchors, runs: Mapping[str, Run]) -> Played:
    """What rules cost on slices, and what can be saved there."""
    costs = {name: run.costs.sum(axis=0).tolist() for name, run in runs.items()}
    return Played(costs, float(anchors.possible.sum()))


def played_at(anchors: Anchors, runs: Mapping[str, Run], changed: Scenario) -> Played:
    """The same at the prices of a changed scenario: what happens does not depend on them."""
    factors = factors_between(anchors.scenario, changed)
    there = {name: repriced(anchors, run, factors) for name, run in runs.items()}
    return played(at_prices(anchors, factors), there)


def tau_of(one: Floats, other: Floats, seed: int = 0) -> Tau:
    """Kendall's tau-b of two rankings of rules.

    Args:
        one: [traces, rules] what each saved on each trace.
        other: the same with a constant changed.
        seed: of the bootstrap.

    Of one trace nothing is known of others: unless both are the same the interval holds everything.
    """
    if len(one) == 1 and not np.array_equal(one, other):
        return Tau(float(_tau(one.sum(axis=0), other.sum(axis=0))), -1.0, 1.0)
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, len(one), (RESAMPLES, len(one)))
    taus = _tau(one[drawn].sum(axis=1), other[drawn].sum(axis=1))
    low, high = np.quantile(taus, [0.025, 0.975]).tolist()
    return Tau(float(_tau(one.sum(axis=0), other.sum(axis=0))), low, high)


def _tau(one: Floats, other: Floats) -> Floats:
    """Of rankings by [..., rules]; 0 where all rules save the same."""
    return np.nan_to_num(tau_b(one, other))


class Results:
    """What has been measured in an environment, in a file: by trace seed and change."""

    def __init__(self, file: Path, scenario: Scenario, said: dict[str, Any]) -> None:
        self.file, self.scenario = file, scenario
        self.episodes: int | None = said["episodes"]
        self.content: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
        known = self.content.setdefault(scenario.name, {**said, "traces": {}})
        for name, value in said.items():
            if known.get(name) != value:
                raise SystemExit(f"{file}: {name}: expected {known.get(name)}, got {value}")
        self.traces: dict[str, dict[str, Any]] = known["traces"]
        self._last: tuple[Anchors, dict[str, Run]] | None = None

    def idle(self, change: Change) -> bool:
        """Has it altered nothing on the first traces?"""
        first = list(self.traces.values())[:SEEN]
        known = [trace for trace in first if change.name in trace]
        same = all(trace[change.name]["costs"] == trace[AS_IT_IS]["costs"] for trace in known)
        return bool(change.fields) and len(known) == SEEN and same

    def add(self, seed: int, change: Change) -> bool:
        """Measure it, unless it is known. Returns whether it was measured now."""
        trace = self.traces.setdefault(str(seed), {})
        if change.name in trace:
            return False
        found = self._measured(replace(self.scenario, trace_seed=seed), change)
        trace[change.name] = {"room": found.room, "costs": found.costs}
        with replacing(self.file) as path:
            path.write_text(json.dumps(self.content))
        return True

    def _measured(self, given: Scenario, change: Change) -> Played:
        changed = replace(given.override(**change.fields), split="test")
        if change.fields and change.of_prices:
            return played_at(*self._played(replace(given, split="test")), changed)
        return played(*self._played(changed))

    def _played(self, scenario: Scenario) -> tuple[Anchors, dict[str, Run]]:
        """The slices, and what rules do there; the last that were played, if these are them."""
        if self._last is None or self._last[0].scenario != scenario:
            anchors = Anchors.of(scenario, split="test", episodes=self.episodes)
            self._last = anchors, runs_of(anchors)
        return self._last


def rows_of(found: dict[str, Any]) -> list[Row]:
    """What came of each change, in order, on the traces on which all were played.

    Args:
        found: of an environment, in the file that is written.
    """
    traces = list(found["traces"].values())
    names = list(traces[0])
    needed = [name for name in names if name == AS_IT_IS or _alters(name, traces)]
    whole = [trace for trace in traces if all(name in trace for name in needed)]
    return [_row(name, [trace for trace in whole if name in trace]) for name in names]


def _alters(name: str, traces: list[dict[str, Any]]) -> bool:
    """Does a rule cost another sum on any trace?"""
    known = [trace for trace in traces if name in trace]
    return any(trace[name]["costs"] != trace[AS_IT_IS]["costs"] for trace in known)


def _row(name: str, traces: list[dict[str, Any]]) -> Row:
    plain, saved = (_saved([trace[which] for trace in traces]) for which in (AS_IT_IS, name))
    room = sum(trace[name]["room"] for trace in traces)
    score = 100.0 * saved.sum(axis=0) / room
    rules = list(traces[0][name]["costs"])
    scores = {rules[i]: float(score[i]) for i in np.argsort(-score, kind="stable").tolist()}
    return Row(name, tau_of(plain, saved), scores, room, len(traces), _alters(name, traces))


def _saved(traces: list[dict[str, Any]]) -> Floats:
    """What each rule saves beside replay on each trace, [traces, rules]."""
    costs = np.array([list(trace["costs"].values()) for trace in traces]).sum(axis=2)
    return costs[:, :1] - costs


def main(
    env: Annotated[str, typer.Option(help="id of an environment")] = "failgym/Cloning-v1",
    set_: Annotated[list[str] | None, typer.Option("--set", metavar="FIELD=VALUE")] = None,
    first: Annotated[int, typer.Option(help="seed of the first trace")] = 1_000,
    least: Annotated[int, typer.Option(min=2, help="fewest traces")] = 5,
    most: Annotated[int, typer.Option(min=2, help="most traces")] = 40,
    episodes: Annotated[int | None, typer.Option(min=1, help="slices of a trace")] = None,
    only: Annotated[list[str] | None, typer.Option(metavar="CHANGE", help="some changes")] = None,
    json_: Annotated[Path, typer.Option("--json", dir_okay=False)] = Path("sensitivity.json"),
) -> None:
    """Print how rankings hold when a constant is another."""
    given = assignments(set_ or [], "--set")
    fields = {name: read_value(name, text, _hint(name)) for name, text in given.items()}
    scenario = resolve(env, fields)
    said = {"fields": given, "episodes": episodes, "world": world_of(env)}
    results = Results(json_, scenario, said)
    # What is of prices follows what they are the prices of, whose slices are at hand.
    found = sorted(changes(scenario), key=lambda change: not change.of_prices)
    if only:
        found = _chosen(found, only)
    rows: list[Row] = []
    for number in range(most):
        for change in found:
            begun = time.process_time()
            if not results.idle(change) and results.add(first + number, change):
                spent = time.process_time() - begun
                print_line(f"trace {first + number}: {change.name}: {spent:.1f} s")
        rows = rows_of(results.content[scenario.name])
        if number + 1 >= least and max(row.tau.half_width for row in rows) <= WIDTH:
            break
    cells = [(row.name, row.tau.text, row.best(), f"{row.traces}") for row in rows]
    print_table(f"{env}", ("change", "tau", "best three", "traces"), cells)


def _chosen(found: list[Change], only: list[str]) -> list[Change]:
    """Some of the changes, and none. Raises SystemExit for one that there is not."""
    names = [change.name for change in found]
    for name in only:
        if name not in names:
            raise SystemExit(f"--only: expected some of {', '.join(names)}, got {name}")
    return [change for change in found if change.name in (AS_IT_IS, *only)]


def _hint(name: str) -> Any:
    """Type of a field."""
    known = get_type_hints(Scenario)
    if name not in known:
        raise SystemExit(f"--set: {name}: unknown field of a scenario")
    return known[name]


if __name__ == "__main__":
    typer.run(main)
