"""The papers' heuristics, the newer ones and the tuned ones, side by side in every environment.

    python -m experiments.tuned [--trials 30] [--slices N] [--env ID ...] [--out DIR] [--json FILE]

Every compatible heuristic with parameters is tuned (`failgym.tuning`): variants are tried on the
earlier part of the training split, and the best of them is adopted if it proves better on the later
part. What is adopted, or stays, lies in ``experiments/tuned/<environment>/<policy>.json``, for
``--policy``, and the trials beside it, from which an interrupted run goes on. Then each is judged
on the test split, as published and as tuned, on the same slices.

Who is called the best of a group is decided on the training split, by the lower end of the
interval: the highest score is often a lucky one. The figures are those of the test split, with 95 %
bootstrap intervals over jobs (over blocks of slices where tasks share machines). A difference of
two policies is paired: what is resampled is the same for both. FILE keeps what it holds of other
environments.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from experiments.information import stored
from experiments.measured_worlds import world_of
from failgym.baselines import REGISTRY, Heuristic, Replay
from failgym.baselines.search import search_space
from failgym.baselines.stored import save_heuristic
from failgym.cli.output import JsonFile, interactive, print_line, print_table
from failgym.envs import SCENARIOS, Scenario
from failgym.evaluation import Anchors, Run
from failgym.evaluation.evidence import score_of
from failgym.evaluation.progress import Advance, progress_bar
from failgym.tuning import Grounds, Tuned, tune

OUT = Path(__file__).parent / "tuned"
PAPERS = frozenset(
    {"retry_cap", "algorithm_1", "give_up", "grace_period", "immediate_kill", "young"}
    | {"ml_checkpoint", "ml_periodic", "checkpoint_all", "greedy", "size", "aware"}
    | {"periodic_outputs", "rank_hybd", "flaw"}
)
"""Heuristics of the papers that the environments are after; the others came later or are ours."""
APART = frozenset({"random"})
"""No rule."""


@dataclass(frozen=True)
class Difference:
    """A score, or how much it is above another's, with its interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        if math.isnan(self.value):
            return "-"
        return f"{self.value:.1f} [{self.low:.1f}, {self.high:.1f}]"


NOTHING = Difference(math.nan, math.nan, math.nan)


@dataclass(frozen=True)
class Row:
    """A heuristic in an environment, as published and as tuned."""

    env: str
    policy: str
    group: str
    """papers or newer"""
    tuned: bool
    """has it parameters that were tuned?"""
    adopted: bool
    """did what was found prove better on the validation split?"""
    fit: Difference
    """what the best variant gained on the slices of the search"""
    validation: Difference
    """what it gained on the validation split, with the interval that decided"""
    train: Difference
    """score on the training split, as published"""
    train_tuned: Difference
    test: Difference
    """score on the test split, as published"""
    test_tuned: Difference
    parameters: dict[str, object]
    """tuned"""
    above: Difference = NOTHING
    """tuned, less the best as published, of all policies, on the test split"""


@dataclass(frozen=True)
class Best:
    """The best of each group by the training split, on the test split."""

    env: str
    papers: str
    papers_score: Difference
    newer: str
    newer_score: Difference
    tuned: str
    tuned_score: Difference
    gain: Difference
    """tuned less the best as published, of papers and newer"""


def trained(
    kind: type[Heuristic], grounds: Grounds, trials: int, out: Path, advance: Advance
) -> Tuned:
    """Tune a heuristic, and write down what is adopted or stays."""
    scenario = grounds.fit.scenario
    folder = out / scenario.name
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{kind.name}.json"
    storage = file.with_name(f"{file.name}.trials")
    found = tune(kind(), grounds, trials=trials, storage=storage, progress=advance)
    about = {
        "env": f"failgym/{scenario.name}",
        "trials": found.trials,
        "slices": len(grounds.fit.replay.slices),
        "adopted": found.adopted,
        "gain_fit": list(found.gain),
        "gain_validation": list(found.proof),
    }
    save_heuristic(found.policy, file, about=about)
    return found


def compared(
    scenario: Scenario, trials: int, out: Path, advance: Advance, slices: int | None = None
) -> tuple[list[Row], Best]:
    """Every heuristic of an environment, and the best of each group.

    Args:
        scenario: environment.
        trials: sets of parameters to try for each.
        out: folder of what is found.
        advance: called with 1 after each trial.
        slices: of the fit split to draw, that the search is on; all by default.
    """
    grounds = Grounds.of(scenario, episodes=slices)
    found = {
        kind: trained(kind, grounds, trials, out, advance) if search_space(kind) else None
        for kind in REGISTRY.values()
        if kind.compatible(scenario) and kind is not Replay and kind.name not in APART
    }
    train, test = (Anchors.of(scenario, split=split) for split in ("train", "test"))
    runs = {kind.name: _Runs.of(kind, tuned, train, test) for kind, tuned in found.items()}
    rows = [_row(kind, tuned, runs[kind.name], train, test) for kind, tuned in found.items()]
    best = runs[_first(rows).policy]
    rows = [replace(r, above=_score(test, runs[r.policy].test_tuned, best.test)) for r in rows]
    return rows, _best(scenario, rows)


@dataclass(frozen=True)
class _Runs:
    """Runs of a heuristic as published and as tuned: the same where nothing was adopted."""

    train: Run
    train_tuned: Run
    test: Run
    test_tuned: Run

    @classmethod
    def of(cls, kind: type[Heuristic], tuned: Tuned | None, train: Anchors, test: Anchors) -> _Runs:
        runs = [anchors.run(kind()) for anchors in (train, test)]
        other = runs
        if tuned is not None and tuned.adopted:
            other = [anchors.run(tuned.policy) for anchors in (train, test)]
        return cls(runs[0], other[0], runs[1], other[1])


def _row(
    kind: type[Heuristic], tuned: Tuned | None, runs: _Runs, train: Anchors, test: Anchors
) -> Row:
    policy = tuned.policy if tuned else kind()
    return Row(
        env=train.scenario.name,
        policy=kind.name,
        group="papers" if kind.name in PAPERS else "newer",
        tuned=tuned is not None,
        adopted=tuned is not None and tuned.adopted,
        fit=Difference(*tuned.gain) if tuned else NOTHING,
        validation=Difference(*tuned.proof) if tuned else NOTHING,
        train=_score(train, runs.train),
        train_tuned=_score(train, runs.train_tuned),
        test=_score(test, runs.test),
        test_tuned=_score(test, runs.test_tuned),
        parameters={n: getattr(policy, n) for n in search_space(kind)},
    )


def _best(scenario: Scenario, rows: Sequence[Row]) -> Best:
    """The best of each group by the training split."""
    papers, newer = ([r for r in rows if r.group == group] for group in ("papers", "newer"))
    tuned = max(rows, key=lambda row: row.train_tuned.low)
    return Best(
        env=scenario.name,
        papers=_first(papers).policy if papers else "",
        papers_score=_first(papers).test if papers else NOTHING,
        newer=_first(newer).policy if newer else "",
        newer_score=_first(newer).test if newer else NOTHING,
        tuned=tuned.policy,
        tuned_score=tuned.test_tuned,
        gain=tuned.above,
    )


def _first(rows: Sequence[Row]) -> Row:
    """The best, as published, by the training split."""
    return max(rows, key=lambda row: row.train.low)


def _score(anchors: Anchors, run: Run, other: Run | None = None) -> Difference:
    """The score of a run, or how much it is above that of another one."""
    evidence = anchors.evidence
    given = None if other is None else [evidence.costs(other)]
    found = score_of([evidence], [evidence.costs(run)], given=given)
    return Difference(found.value, found.low, found.high)


def show(rows: Sequence[Row], best: Sequence[Best]) -> None:
    """Print both tables."""
    print_table(
        "Test split: as published, as tuned, and the latter above the best as published",
        ("environment", "policy", "group", "published", "tuned", "above", "found on validation"),
        [
            (
                *(r.env, r.policy, r.group, str(r.test)),
                *(str(r.test_tuned) if r.adopted else "", str(r.above), str(r.validation)),
            )
            for r in rows
        ],
    )
    print_table(
        "Best by the training split, judged on the test split",
        ("environment", "of the papers", "", "newer", "", "tuned", "", "gain by tuning"),
        [
            (
                *(b.env, b.papers, str(b.papers_score), b.newer, str(b.newer_score)),
                *(b.tuned, str(b.tuned_score), str(b.gain)),
            )
            for b in best
        ],
    )


def main(
    trials: Annotated[int, typer.Option(min=1, help="Sets of parameters for each.")] = 30,
    slices: Annotated[
        int | None, typer.Option(min=1, help="To search on, drawn from the fit split; all of it.")
    ] = None,
    env: Annotated[
        list[str] | None, typer.Option("--env", metavar="ID", help="Repeatable; all by default.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Where what is found lies.")] = OUT,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write it there.")] = None,
) -> None:
    """Tune and compare."""
    from failgym.envs import resolve

    file = JsonFile.at(json_file)
    scenarios = [resolve(name) for name in env] if env else list(SCENARIOS.values())
    rows: list[Row] = []
    best: list[Best] = []
    for scenario in scenarios:
        kinds = [k for k in REGISTRY.values() if k.compatible(scenario) and search_space(k)]
        total = trials * sum(k.name not in APART for k in kinds)
        with progress_bar(scenario.name, total, interactive()) as advance:
            found, first = compared(scenario, trials, out, advance, slices)
        rows += found
        best.append(first)
        each = {"rows": [asdict(row) for row in found], "best": asdict(first)}
        each |= {"world": world_of(scenario.name)}
        stored(file, scenario.name, {"trials": trials, "slices": slices, **each})
        print_line(f"{scenario.name}: {first.tuned} {first.tuned_score}")
    show(rows, best)


if __name__ == "__main__":
    typer.run(main)
