"""How many traces does it take to tell rules apart?

    python -m experiments.power --env failgym/Cloning-v1 --traces 300 --json FILE [--slices N]
        [--by-stake] [--set FIELD=VALUE ...] [--smallest 3] [--share 0.9] [--half-width 2]

Every rule that fits an environment is played on the test splits of traces of their own seeds
(`--first` on), or on N slices of each, as a suite does (`failgym.leaderboard.suite`): drawn all
alike, or by what is at stake on them. What each saves of a trace is kept in FILE: a command that
was stopped goes on, and more traces are added to those that are there. Of FILE's environments is
then printed:

- the *spread*: by how much scores, and the differences of two rules, vary from trace to trace. A
  score is a ratio of sums, so what counts is what a trace adds to it, less what it would add if
  all scored alike (linearised; Cochran, "Sampling techniques", 3rd edition, section 6.4);
- the *half-width* of the 95 % interval of the difference of the two best rules, by traces;
- the *smallest difference* that is found in 90 of 100 runs, for the middle pair and the widest
  tenth;
- the share of those pairs whose difference is `--smallest` points or more that is told apart;
- the fewest traces with which a `--share` of them is, and the half-width is at most as asked.

The true differences are taken from all traces of FILE, less what chance adds to them there: the
square of a difference is on the mean that of the true one and the variance of its estimate. All is
extrapolated with one over the root of the number of traces, by normal laws. Where a few traces
hold most of what can be gained, that is too dark for fewer traces than FILE has, which mostly miss
them, and too bright for more.

What FILE holds of an environment as it was before, or with other fields, slices or rules, is never
overwritten: it has to be put aside.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from statistics import NormalDist
from typing import Annotated, Any, get_type_hints

import numpy as np
import numpy.typing as npt
import typer

from experiments.measured_worlds import world_of
from failgym.baselines import REGISTRY
from failgym.cli.output import print_line, print_table
from failgym.cli.values import assignments, read_value
from failgym.envs import Scenario, resolve
from failgym.files import replacing
from failgym.leaderboard.policy_process.players import OwnPolicy
from failgym.leaderboard.suite.suite_worlds import SuiteWorlds
from failgym.leaderboard.suite.suites import Cell, Course, Suite
from failgym.policy import Policy

__all__ = ["Power", "Totals", "measured", "power_of", "traces_needed"]

Floats = npt.NDArray[np.float64]

FIRST = 10_000
"""Seed of the first trace."""
CONFIDENCE = 0.95
FOUND = 0.9
"""How often the smallest difference is to be found."""
_NORMAL = NormalDist()
_AT_CONFIDENCE = _NORMAL.inv_cdf(0.5 + CONFIDENCE / 2.0)
_AT_FOUND = _NORMAL.inv_cdf(FOUND)
LEAST_TRACES, LEAST_RULES = 2, 2
MOST = 100_000
"""Traces that are looked for at most."""
ALL = 1 << 40
"""Slices: more than there are."""


@dataclass(frozen=True)
class Totals:
    """What rules save of traces, and how long it takes."""

    rules: tuple[str, ...]
    saved: Floats
    """[traces, rules] cost of replay less that of the rule"""
    possible: Floats
    """[traces] what the bound saves"""
    spent: Floats
    """[traces] what replay spends"""
    world_seconds: Floats
    """[traces] processor time to make its world, or read it where it is kept, play replay and find
    the bound [s]"""
    rule_seconds: Floats
    """[traces, rules] processor time to play it [s]"""

    @classmethod
    def of_json(cls, found: dict[str, Any]) -> Totals:
        """Of what a command has written."""
        rows: list[dict[str, Any]] = list(found["traces"].values())

        def column(name: str) -> Floats:
            return np.array([row[name] for row in rows], dtype=np.float64)

        return cls(tuple(found["rules"]), *map(column, list(rows[0])))

    @property
    def scores(self) -> Floats:
        """Of all traces together [rules]."""
        return 100.0 * self.saved.sum(axis=0) / self.possible.sum()

    def spread(self, saved: Floats) -> Floats:
        """Standard deviation of what a trace adds to scores, times the number of traces.

        Over the root of a number of traces it is the standard error of a score on so many.

        Args:
            saved: [traces, columns] by rules over replay, or over other rules.
        """
        score = saved.sum(axis=0) / self.possible.sum()
        residual = saved - score * self.possible[:, None]
        deviation: Floats = residual.std(axis=0, ddof=1)
        return 100.0 * deviation / self.possible.mean()


@dataclass(frozen=True)
class Power:
    """What so many traces tell."""

    traces: int
    half_width: float
    """of the 95 % interval of the difference of the two best rules [points]"""
    smallest: float
    """difference that is found in 90 of 100 runs, in the middle pair [points]"""
    smallest_wide: float
    """the same in the pair that is wider than 90 of 100"""
    told_apart: float
    """share of the pairs with a difference that matters which a run tells apart"""


def measured(course: Course, seed: int) -> dict[str, Any]:
    """What each rule saves of the slices that a course plays of the trace of a seed."""
    worlds = SuiteWorlds(Suite("power", 0, (course,)))
    cell = Cell(course.env, course.forecasts[0], seed)
    begun = time.process_time()
    reference = worlds.reference(cell)
    worlds.playing(cell, reference.slices)
    world_seconds = time.process_time() - begun
    saved: list[float] = []
    seconds: list[float] = []
    for rule in _rules(course.scenario()):
        begun = time.process_time()
        played = worlds.play(cell, reference, OwnPolicy(_rule, rule))
        seconds.append(time.process_time() - begun)
        cost = reference.by_row(played).costs.sum()
        saved.append(float(reference.replay.sum() - cost))
    return {
        "saved": saved,
        "possible": float((reference.replay - reference.bound).sum()),
        "spent": float(reference.spent.sum()),
        "world_seconds": round(world_seconds, 2),
        "rule_seconds": [round(one, 2) for one in seconds],
    }


def power_of(found: Totals, traces: int, matters: float) -> Power:
    """What so many traces tell.

    Args:
        found: of some traces.
        traces: how many there shall be.
        matters: the smallest difference that is asked for [points].

    Raises:
        ValueError: for a single trace, or fewer than two rules.
    """
    scores, known = found.scores, len(found.possible)
    if known < LEAST_TRACES or len(found.rules) < LEAST_RULES:
        raise ValueError(f"expected {LEAST_TRACES} traces and {LEAST_RULES} rules, at least")
    pairs = np.array(list(combinations(range(len(found.rules)), 2)))
    spread = found.spread(found.saved[:, pairs[:, 0]] - found.saved[:, pairs[:, 1]])
    errors = spread / math.sqrt(traces)
    squares = (scores[pairs[:, 0]] - scores[pairs[:, 1]]) ** 2 - spread**2 / known
    differences = np.sqrt(np.maximum(squares, 0.0))
    best, second = np.argsort(-scores)[:2].tolist()
    both = [i for i, pair in enumerate(pairs.tolist()) if set(pair) == {best, second}]
    found_at = (_AT_CONFIDENCE + _AT_FOUND) * errors
    large = differences >= max(matters, np.finfo(np.float64).tiny)
    told = [
        _NORMAL.cdf(difference / error - _AT_CONFIDENCE) if error > 0.0 else 1.0
        for difference, error in zip(differences[large], errors[large], strict=True)
    ]
    return Power(
        traces=traces,
        half_width=float(_AT_CONFIDENCE * errors[both[0]]),
        smallest=float(np.median(found_at)),
        smallest_wide=float(np.quantile(found_at, 0.9)),
        told_apart=float(np.mean(told)) if told else math.nan,
    )


def traces_needed(found: Totals, matters: float, share: float, half_width: float) -> int | None:
    """The fewest traces that tell enough; None if more than `MOST`."""

    def enough(traces: int) -> bool:
        power = power_of(found, traces, matters)
        return power.half_width <= half_width and not power.told_apart < share

    if not enough(MOST):
        return None
    low, high = 1, MOST
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return low


def _rule(name: str) -> Policy:
    return REGISTRY[name]()


def _rules(scenario: Scenario) -> list[str]:
    return [name for name, rule in REGISTRY.items() if rule.compatible(scenario)]


def _more(course: Course, seeds: Sequence[int], file: Path) -> None:
    """Measure the traces that FILE does not hold yet."""
    scenario, env = course.scenario(), course.env
    known: dict[str, Any] = json.loads(file.read_text("utf-8")) if file.exists() else {}
    about: dict[str, Any] = {
        "world": world_of(env),
        "fields": course.changes,
        "slices": None if course.slices == ALL else course.slices,
        "by_stake": course.by_stake,
        "rules": _rules(scenario),
    }
    found: dict[str, Any] = known.get(env) or {**about, "traces": {}}
    for name, value in about.items():
        if found.get(name) != value:
            raise SystemExit(f"{file}: {env}: {name}: expected {found.get(name)}, got {value}")
    for seed in seeds:
        if str(seed) in found["traces"]:
            continue
        found["traces"][str(seed)] = measured(course, seed)
        with replacing(file) as path:
            path.write_text(json.dumps(known | {env: found}), "utf-8")
        print_line(f"{env}: trace {seed}")


def _show(env: str, found: Totals, matters: float, share: float, half_width: float) -> None:
    count = len(found.possible)
    if count < LEAST_TRACES:
        print_line(f"{env}: one trace tells nothing of others")
        return
    needed = traces_needed(found, matters, share, half_width)
    sizes: list[int] = sorted({10, 30, 100, 300, count, needed or count})
    rows = [power_of(found, size, matters) for size in sizes]
    cells = [
        (f"{row.traces:,}", *(f"{value:.2f}" for value in list(asdict(row).values())[1:]))
        for row in rows
    ]
    columns = ("traces", "half-width", "smallest", "of the widest", f"told apart, of {matters:g}")
    print_table(f"{env}, by {count} traces", columns, cells)
    spread = found.spread(found.saved)
    order = np.argsort(-found.scores)
    told = [f"{found.rules[i]} {found.scores[i]:.1f} ({spread[i]:.0f})" for i in order]
    print_line(f"scores, and their spread from trace to trace: {', '.join(told)}")
    seconds = (
        f"{found.world_seconds.mean():.1f} s a world, {found.rule_seconds.mean():.2f} s a rule"
    )
    print_line(f"{needed or f'more than {MOST:,}'} traces are needed; {seconds}")


def main(
    json_: Annotated[Path, typer.Option("--json", dir_okay=False)],
    env: Annotated[list[str] | None, typer.Option("--env", metavar="ID")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", metavar="FIELD=VALUE")] = None,
    traces: Annotated[int, typer.Option(min=0, help="How many to play; 0: those of FILE.")] = 0,
    first: Annotated[int, typer.Option(min=0, help="Seed of the first of them.")] = FIRST,
    slices: Annotated[int, typer.Option(min=1, help="Of each trace; all of it.")] = ALL,
    by_stake: Annotated[
        bool, typer.Option("--by-stake", help="Drawn by what is at stake.")
    ] = False,
    smallest: Annotated[float, typer.Option(help="Difference that matters [points].")] = 3.0,
    share: Annotated[float, typer.Option(help="Of pairs to be told apart.")] = 0.9,
    half_width: Annotated[float, typer.Option(help="Of the best two, at most [points].")] = 2.0,
) -> None:
    """Print how many traces tell the rules of environments apart."""
    hints = get_type_hints(Scenario)
    texts = assignments(set_ or [], "--set")
    given = {name: read_value(name, text, hints.get(name, str)) for name, text in texts.items()}
    seeds = range(first, first + traces)
    for one in env or []:
        name = resolve(one, given).name
        course = Course(name, None, tuple(seeds), slices, by_stake, changes=given)
        _more(course, seeds, json_)
    content: dict[str, Any] = json.loads(json_.read_text("utf-8"))
    for one, found in content.items():
        _show(one, Totals.of_json(found), smallest, share, half_width)


if __name__ == "__main__":
    typer.run(main)
