"""How does every rule score on fresh traces of its environment, and on the registered one?

    python -m experiments.baseline_scores DIR [--env ID ...] [--traces 10] [--first 4000]
        [--slices N] [--json FILE]

Every rule of `failgym.baselines` is played on the test splits of traces that nothing was chosen or
tuned on, with the parameters of its source. Its score is that of `failgym evaluate --traces`: 95 %
intervals resample traces, then their jobs (slices where tasks share machines). On the same traces
the same tasks are dear to all rules, so the difference from the best rule is paired; the best is
the one with the highest score on these very traces.

DIR holds what each rule saved, a file for each environment and trace: a command that was stopped
goes on with it. FILE is what `experiments.results_pages --scores` takes; it keeps what it holds of
other environments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import numpy.typing as npt
import typer

from experiments.information import stored
from experiments.measured_worlds import world_of
from failgym.baselines import REGISTRY
from failgym.cli.output import JsonFile, interactive, print_line, print_table
from failgym.envs import SCENARIOS, Scenario, resolve
from failgym.evaluation import Anchors, Score, score
from failgym.evaluation.progress import progress_bar
from failgym.files import replacing

__all__ = ["Row", "Saved", "Scores", "measured", "scores_of"]

Floats = npt.NDArray[np.float64]

FIRST = 4_000
"""Seed of the first fresh trace."""


@dataclass(frozen=True)
class Saved:
    """What each rule saved on the test split of a trace, by unit of the bootstrap."""

    scenario: str
    """the environment and all its fields"""
    rules: tuple[str, ...]
    saved: Floats
    """[rules, units] cost of replay less that of the rule"""
    possible: Floats
    """[units] what the bound saves"""
    spent: Floats
    """[units] what replay spends (`failgym.evaluation.room`)"""
    cost: float
    """of replay"""
    slices: int
    unit: str
    """what a unit is"""

    def write(self, file: Path) -> None:
        """Write it to a file, whole or not at all."""
        with replacing(file) as partial, partial.open("wb") as out:
            np.savez_compressed(out, **asdict(self))

    @classmethod
    def read(cls, file: Path, scenario: Scenario) -> Saved:
        """What `write` wrote. Raises ValueError if it is of another environment."""
        with np.load(file) as found:
            known = {name: found[name] for name in found.files}
        if str(known["scenario"]) != repr(scenario):
            raise ValueError(f"{file}: was measured in another environment than {scenario.name}")
        return cls(
            scenario=repr(scenario),
            rules=tuple(known["rules"].tolist()),
            saved=known["saved"],
            possible=known["possible"],
            spent=known["spent"],
            cost=float(known["cost"]),
            slices=int(known["slices"]),
            unit=str(known["unit"]),
        )


@dataclass(frozen=True)
class Row:
    """Scores of a rule."""

    policy: str
    fresh: Score
    """on the fresh traces"""
    below: Score
    """there, how many points below the best rule, paired; of which it is 0"""
    registered: Score
    """on the registered trace"""


@dataclass(frozen=True)
class Scores:
    """Scores of all rules in an environment, the best first."""

    env: str
    bound: str
    """what 100 is"""
    seeds: tuple[int, int]
    """of the first and the last fresh trace"""
    slices: int
    """played of the fresh traces"""
    drawn: int | None
    """of each trace; None: all of the test split"""
    units: int
    unit: str
    room: float
    """what the bound saves on the fresh traces, over the machine-time that replay spends"""
    room_of_cost: float
    """the same over replay's cost"""
    registered_room: float
    """as `room`, on the registered trace"""
    rows: tuple[Row, ...]


def measured(scenario: Scenario, drawn: int | None = None) -> Saved:
    """Play every rule on the test split of a scenario's trace, or some of its slices."""
    anchors = Anchors.of(scenario, split="test", episodes=drawn)
    rules = [rule for rule in REGISTRY.values() if rule.compatible(scenario)]
    evidence, slices = anchors.evidence, len(anchors.replay.slices)
    with progress_bar(scenario.name, slices * len(rules), interactive()) as advance:
        saved = [
            evidence.replay - evidence.costs(anchors.run(rule(), progress=advance))
            for rule in rules
        ]
    return Saved(
        scenario=repr(scenario),
        rules=tuple(rule.name for rule in rules),
        saved=np.array([evidence.units.sums(each) for each in saved]),
        possible=evidence.units.sums(evidence.possible),
        spent=evidence.units.sums(evidence.spent),
        cost=float(evidence.replay.sum()),
        slices=slices,
        unit=evidence.units.name,
    )


def scores_of(
    scenario: Scenario,
    fresh: Sequence[Saved],
    seeds: tuple[int, int],
    registered: Saved,
    drawn: int | None = None,
) -> Scores:
    """Scores of all rules of an environment.

    Args:
        scenario: environment.
        fresh: of each fresh trace.
        seeds: of the first and the last of them.
        registered: of the registered trace.
        drawn: slices that were drawn of each trace; None if all were played.
    """
    saved = np.concatenate([each.saved for each in fresh], axis=1)
    best = saved[saved.sum(axis=1).argmax()]
    rows = [
        Row(name, _score(fresh, one), _score(fresh, best - one), _score([registered], alone))
        for name, one, alone in zip(registered.rules, saved, registered.saved, strict=True)
    ]
    room = sum(each.possible.sum() for each in fresh)
    return Scores(
        env=scenario.name,
        bound=scenario.kind.bound_name,
        seeds=seeds,
        slices=sum(each.slices for each in fresh),
        drawn=drawn,
        units=saved.shape[1],
        unit=registered.unit,
        room=float(room / sum(each.spent.sum() for each in fresh)),
        room_of_cost=float(room / sum(each.cost for each in fresh)),
        registered_room=float(registered.possible.sum() / registered.spent.sum()),
        rows=tuple(sorted(rows, key=lambda row: -row.fresh.value)),
    )


def _score(traces: Sequence[Saved], saved: Floats) -> Score:
    """The score of what is saved [units of all traces]."""
    possible, spent = (
        np.concatenate([getattr(each, name) for each in traces]) for name in ("possible", "spent")
    )
    trace = np.repeat(np.arange(len(traces)), [len(each.possible) for each in traces])
    nothing = np.zeros_like(saved)
    return score(nothing, -saved, -possible, spent=spent, traces=trace)


def of_trace(scenario: Scenario, folder: Path, drawn: int | None = None) -> Saved:
    """What is in the folder, or is measured now and kept there. Raises ValueError as `read`."""
    part = "" if drawn is None else f"-{drawn}"
    file = folder / f"{scenario.name}-{scenario.trace_seed}{part}.npz"
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        measured(scenario, drawn).write(file)
        print_line(f"{scenario.name}: trace {scenario.trace_seed}")
    return Saved.read(file, scenario)


def show(found: Scores) -> None:
    """Print the table of an environment."""

    def text(value: Score) -> str:
        return f"{value.value:.1f} [{value.low:.1f}, {value.high:.1f}]"

    cells = [
        (row.policy, text(row.fresh), text(row.below), text(row.registered)) for row in found.rows
    ]
    first, last = found.seeds
    columns = ("policy", f"traces {first} to {last}", "below the best", "registered")
    print_table(f"{found.env}, {found.slices:,} slices", columns, cells)
    print_line(
        f"room: {found.room:.1%} of what replay spends, {found.room_of_cost:.1%} of its cost"
    )


def main(
    folder: Annotated[Path, typer.Argument(metavar="DIR", file_okay=False)],
    env: Annotated[
        list[str] | None, typer.Option("--env", metavar="ID", help="Repeatable; all by default.")
    ] = None,
    traces: Annotated[int, typer.Option(min=1, help="Fresh traces.")] = 10,
    first: Annotated[int, typer.Option(min=0, help="Seed of the first of them.")] = FIRST,
    slices: Annotated[
        int | None, typer.Option(min=1, help="To draw of each trace; all of the test split.")
    ] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write it there.")] = None,
) -> None:
    """Print the scores of every rule."""
    file = JsonFile.at(json_file)
    for scenario in [resolve(name) for name in env] if env else SCENARIOS.values():
        registered = of_trace(scenario, folder, slices)
        seeds = range(first, first + traces)
        fresh = [of_trace(replace(scenario, trace_seed=seed), folder, slices) for seed in seeds]
        found = scores_of(scenario, fresh, (seeds[0], seeds[-1]), registered, slices)
        show(found)
        stored(file, scenario.name, asdict(found) | {"world": world_of(scenario.name)})


if __name__ == "__main__":
    typer.run(main)
