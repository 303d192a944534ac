"""Which constants of a continued world decide how policies rank?

    python -m experiments.sensitivity --env failgym/Cloning-v1 --set max_extra=4 --json FILE

All rules of `failgym.baselines` that fit the environment are played on the test splits of fresh
traces, once with the environment as it is and once with each of its constants changed: what the law
of copies leaves to chance, how often the cluster restarts, how many attempts are drawn, strata,
prices, the quality of the forecast, and the draw itself. Printed are, for each change, Kendall's
tau-b between the rules' scores and those without it, with the interval of a bootstrap over traces,
and the best rules. Traces are added until each interval reaches no further than `WIDTH` from its
middle, or there are `--most`. FILE holds what each rule saved on each trace: a command that was
stopped goes on with it.

The environment is played with ``beyond_record="continued"``, ``restarts="record"``, a value of 4 of
each task and an hour's wait at one machine-hour, all weights 1, unless `--set` says otherwise.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportMissingTypeStubs=false

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import numpy as np
import numpy.typing as npt
import typer
from scipy.stats import kendalltau

from failgym.baselines import REGISTRY
from failgym.cli.output import print_line, print_table
from failgym.cli.values import assignments, read_value
from failgym.envs import Scenario, resolve
from failgym.evaluation.anchors import Anchors
from failgym.files import replacing
from failgym.predictors.drawn.alarms import Alarms

__all__ = ["Change", "Row", "Tau", "changes", "measured", "rows_of", "tau_of"]

Floats = npt.NDArray[np.float64]
Saved = dict[str, float]
"""What each rule saved on a trace, and the room there."""

AS_IT_IS = "as it is"
ROOM = "room"
PLAYED: dict[str, Any] = {
    "beyond_record": "continued",
    "restarts": "record",
    "task_value": 4.0,
    "waiting_price": 1.0,
    **{f"weight_{term}": 1.0 for term in ("wasted", "overhead", "completion", "forfeited")},
}
"""Fields that every environment is played with."""
WIDTH = 0.1
"""Half the width of an interval of tau that is asked for."""
RESAMPLES = 1_000
VALUES = (1.0, 2.0, 8.0, 16.0)
"""Values of a task, 4 aside."""
LIMITS = (0, 1, 10)
DRAWS = (1, 2, 3, 4)


@dataclass(frozen=True)
class Change:
    """A constant that is another."""

    name: str
    fields: dict[str, Any]


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
    """cost that can be saved on all traces"""

    def best(self, count: int = 3) -> str:
        """The best rules, in words."""
        chosen = list(self.scores.items())[:count]
        return ", ".join(f"{rule} {round(score, 1) + 0.0:.1f}" for rule, score in chosen)


def changes(scenario: Scenario) -> Iterator[Change]:
    """The constants that are changed, one at a time; what cannot matter is left out."""
    yield Change(AS_IT_IS, {})
    if scenario.clone:
        for share in (0.0, 1.0):
            yield Change(f"task share {share:g}", {"task_share": share})
    for limit in LIMITS:
        fields = {"restarts": "limit", "restart_limit": limit}
        yield Change(f"restart limit {limit}", fields)
    more = scenario.spare_attempts + scenario.drawn_attempts
    yield Change("twice the attempts", {"spare_attempts": more})
    for finest in ("class", "all"):
        yield Change(f"strata: {finest}", {"strata": finest})
    for value in VALUES:
        yield Change(f"task value {value:g}", {"task_value": value})
    for factor in (0.5, 2.0):
        if scenario.waiting_price and scenario.weight_completion:
            price = scenario.waiting_price * factor
            yield Change(f"waiting x {factor:g}", {"waiting_price": price})
        if scenario.checkpoint and scenario.weight_overhead:
            yield Change(
                f"overhead x {factor:g}", {"weight_overhead": scenario.weight_overhead * factor}
            )
    yield from _forecasts(scenario)
    for draw in DRAWS:
        yield Change(f"draw {draw}", {"draw_seed": draw})


def _forecasts(scenario: Scenario) -> Iterator[Change]:
    """Half the errors of alarms, or half as many again; and no forecast."""
    if scenario.forecast == "none":
        return
    yield Change("no forecast", {"forecast": "none"})
    if scenario.forecast != "elsayed_alarms":
        return
    made = Alarms.elsayed(window=scenario.window, seed=scenario.seed)
    for name, factor in (("better alarms", 0.5), ("worse alarms", 1.5)):
        recall = tuple(1.0 - (1.0 - r) * factor for r in np.atleast_1d(made.recall).tolist())
        fpr = tuple(f * factor for f in np.atleast_1d(made.fpr).tolist())
        yield Change(name, {"forecast": replace(made, recall=recall, fpr=fpr)})


def measured(scenario: Scenario) -> Saved:
    """What each rule saves beside replay on the test split, and the room."""
    anchors = Anchors.of(scenario, split="test")
    before = float(anchors.replay.costs.sum())
    saved = {ROOM: float(anchors.possible.sum())}
    for name, rule in REGISTRY.items():
        if rule.compatible(anchors.scenario):
            saved[name] = before - float(anchors.run(rule()).costs.sum())
    return saved


def tau_of(one: Floats, other: Floats, seed: int = 0) -> Tau:
    """Kendall's tau-b of two rankings of rules.

    Args:
        one: [traces, rules] what each saved on each trace.
        other: the same with a constant changed.
        seed: of the bootstrap.
    """
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, len(one), (RESAMPLES, len(one)))
    taus = [_tau(one[rows], other[rows]) for rows in drawn]
    low, high = np.quantile(taus, [0.025, 0.975]).tolist()
    return Tau(_tau(one, other), low, high)


def _tau(one: Floats, other: Floats) -> float:
    compare: Any = kendalltau
    found = float(compare(one.sum(axis=0), other.sum(axis=0)).statistic)
    return 0.0 if np.isnan(found) else found


class Results:
    """What has been measured, in a file: by trace seed and change."""

    def __init__(self, file: Path, env: str, fields: dict[str, str]) -> None:
        self.file = file
        self.content: dict[str, Any] = {"env": env, "fields": fields, "traces": {}}
        if file.exists():
            known = json.loads(file.read_text())
            for name in ("env", "fields"):
                if known[name] != self.content[name]:
                    raise SystemExit(f"{file}: {name}: expected {self.content[name]}")
            self.content = known

    def of(self, seed: int, change: Change, scenario: Scenario) -> Saved:
        """What is known, or is measured now."""
        trace = self.content["traces"].setdefault(str(seed), {})
        if change.name not in trace:
            given = replace(scenario, trace_seed=seed)
            trace[change.name] = measured(given.override(**change.fields))
            with replacing(self.file) as path:
                path.write_text(json.dumps(self.content, indent=1))
        return trace[change.name]


def rows_of(content: dict[str, Any]) -> list[Row]:
    """What came of each change that has been measured on every trace, in order.

    Args:
        content: of the file that is written.
    """
    traces = list(content["traces"].values())
    names = [name for name in traces[0] if all(name in trace for trace in traces)]
    rules = [name for name in traces[0][AS_IT_IS] if name != ROOM]

    def table(name: str) -> Floats:
        return np.array([[trace[name][rule] for rule in rules] for trace in traces])

    plain, rows = table(AS_IT_IS), list[Row]()
    for name in names:
        saved, room = table(name), sum(trace[name][ROOM] for trace in traces)
        score = 100.0 * saved.sum(axis=0) / room
        order = np.argsort(-score, kind="stable").tolist()
        scores = {rules[i]: float(score[i]) for i in order}
        rows.append(Row(name, tau_of(plain, saved), scores, room))
    return rows


def main(
    env: Annotated[str, typer.Option(help="id of an environment")] = "failgym/Cloning-v1",
    set_: Annotated[list[str] | None, typer.Option("--set", metavar="FIELD=VALUE")] = None,
    first: Annotated[int, typer.Option(help="seed of the first trace")] = 1_000,
    least: Annotated[int, typer.Option(min=2, help="fewest traces")] = 5,
    most: Annotated[int, typer.Option(min=2, help="most traces")] = 40,
    json_: Annotated[Path, typer.Option("--json", dir_okay=False)] = Path("sensitivity.json"),
) -> None:
    """Print how rankings hold when a constant is another."""
    given = assignments(set_ or [], "--set")
    fields = {name: read_value(name, text, _hint(name)) for name, text in given.items()}
    scenario = resolve(env, {**PLAYED, **fields})
    results, found = Results(json_, env, given), list(changes(scenario))
    rows: list[Row] = []
    for number in range(most):
        for change in found:
            saved = results.of(first + number, change, scenario)
            print_line(f"trace {first + number}: {change.name}: room {saved[ROOM]:.4g}")
        rows = rows_of(results.content)
        if number + 1 >= least and max(row.tau.half_width for row in rows) <= WIDTH:
            break
    cells = [(row.name, row.tau.text, row.best(), f"{row.room:.4g}") for row in rows]
    traces = len(results.content["traces"])
    print_table(f"{env}, {traces} traces", ("change", "tau", "best three", "room"), cells)


def _hint(name: str) -> Any:
    """Type of a field."""
    known = get_type_hints(Scenario)
    if name not in known:
        raise SystemExit(f"--set: {name}: unknown field of a scenario")
    return known[name]


if __name__ == "__main__":
    typer.run(main)
