"""The papers' heuristics, the newer ones and the tuned ones, side by side in every environment.

    python -m experiments.tuned [--trials 30] [--env ID ...] [--out DIR] [--json FILE]

Every compatible heuristic with parameters is tuned on the training split (`failgym.tuning`); what
is found lies in ``experiments/tuned/<environment>/<policy>.json``, for ``--policy``, and the trials
beside it, from which an interrupted run goes on. Then each is judged on the test split, as
published and as tuned, on the same slices.

Who is called the best of a group is decided on the training split; the figures are those of the
test split, with 95 % bootstrap intervals over slices. A difference of two policies is paired:
resampled slices are the same for both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from failgym.baselines import REGISTRY, Heuristic, Replay
from failgym.baselines.search import search_space
from failgym.baselines.stored import save_heuristic
from failgym.cli.output import JsonFile, interactive, print_line, print_table
from failgym.envs import SCENARIOS, Scenario
from failgym.evaluation import Anchors, Run, score
from failgym.evaluation.progress import Advance, progress_bar
from failgym.tuning import tune

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


@dataclass(frozen=True)
class Row:
    """A heuristic in an environment, as published and as tuned."""

    env: str
    policy: str
    group: str
    """papers or newer"""
    tuned: bool
    """has it parameters that were tuned?"""
    train: float
    """score on the training split, as published"""
    train_tuned: float
    test: Difference
    """score on the test split, as published"""
    test_tuned: Difference
    parameters: dict[str, object]
    """tuned"""


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
    scenario: Scenario, kind: type[Heuristic], trials: int, out: Path, advance: Advance
) -> tuple[Heuristic, float, float]:
    """A heuristic as tuned, or as it is; its scores on the training split, given and tuned."""
    folder = out / scenario.name
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{kind.name}.json"
    found = tune(
        kind(),
        scenario,
        trials=trials,
        storage=file.with_name(f"{file.name}.trials"),
        progress=advance,
    )
    about = {
        "env": f"failgym/{scenario.name}",
        "split": "train",
        "trials": found.trials,
        "score": found.best.score,
        "default_score": found.default.score,
    }
    save_heuristic(found.policy, file, about=about)
    return found.policy, found.default.score, found.best.score


def compared(
    scenario: Scenario, trials: int, out: Path, advance: Advance
) -> tuple[list[Row], Best]:
    """Every heuristic of an environment, and the best of each group."""
    kinds = [k for k in REGISTRY.values() if k.compatible(scenario) and k.name not in APART]
    train = Anchors.of(scenario, split="train")
    tests = Anchors.of(scenario, split="test")
    rows: list[Row] = []
    runs: dict[tuple[str, bool], Run] = {}
    for kind in kinds:
        if kind is Replay:
            continue
        policy, has = kind(), bool(search_space(kind))
        if has:
            policy, given, best = trained(scenario, kind, trials, out, advance)
        else:
            given = best = train.measure(train.run(policy)).score
        runs[kind.name, False] = tests.run(kind())
        runs[kind.name, True] = tests.run(policy) if has else runs[kind.name, False]
        rows.append(
            Row(
                env=scenario.name,
                policy=kind.name,
                group="papers" if kind.name in PAPERS else "newer",
                tuned=has,
                train=given,
                train_tuned=best,
                test=_score(tests, runs[kind.name, False]),
                test_tuned=_score(tests, runs[kind.name, True]),
                parameters={n: getattr(policy, n) for n in search_space(kind)},
            )
        )
    return rows, _best(scenario, tests, rows, runs)


def _best(
    scenario: Scenario, tests: Anchors, rows: Sequence[Row], runs: dict[tuple[str, bool], Run]
) -> Best:
    """The best of each group by the training split."""
    papers = _first(rows, "papers")
    newer = _first(rows, "newer")
    tuned = max(rows, key=lambda row: row.train_tuned)
    published = max(rows, key=lambda row: row.train)
    gain = _score(tests, runs[tuned.policy, True], runs[published.policy, False])
    nothing = Difference(math.nan, math.nan, math.nan)
    return Best(
        env=scenario.name,
        papers=papers.policy if papers else "",
        papers_score=papers.test if papers else nothing,
        newer=newer.policy if newer else "",
        newer_score=newer.test if newer else nothing,
        tuned=tuned.policy,
        tuned_score=tuned.test_tuned,
        gain=gain,
    )


def _first(rows: Sequence[Row], group: str) -> Row | None:
    """The best of a group, as published, by the training split."""
    return max((r for r in rows if r.group == group), key=lambda r: r.train, default=None)


def _score(anchors: Anchors, run: Run, other: Run | None = None) -> Difference:
    """The score of a run, or how much it is above that of another one."""
    before = anchors.replay.costs.sum(axis=1)
    possible = before - anchors.bound.sum(axis=1)
    start = before if other is None else other.costs.sum(axis=1)
    found = score(start, run.costs.sum(axis=1), start - possible)
    return Difference(found.value, found.low, found.high)


def show(rows: Sequence[Row], best: Sequence[Best]) -> None:
    """Print both tables."""
    print_table(
        "Test split: as published, as tuned on the training split",
        ("environment", "policy", "group", "published", "tuned", "train", "train, tuned"),
        [
            (r.env, r.policy, r.group, str(r.test), str(r.test_tuned), r.train, r.train_tuned)
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
            found, first = compared(scenario, trials, out, advance)
        rows += found
        best.append(first)
        print_line(f"{scenario.name}: {first.tuned} {first.tuned_score}")
    show(rows, best)
    file.write(
        {"trials": trials, "rows": [asdict(r) for r in rows], "best": [asdict(b) for b in best]}
    )


if __name__ == "__main__":
    typer.run(main)
