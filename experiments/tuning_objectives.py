"""By which rule should a tuned heuristic be chosen, so that it is better elsewhere too?

    python -m experiments.tuning_objectives [--env ID ...] [--variants 30] [--json FILE]

Variants of every heuristic with parameters, drawn at random from its search space, are run once on
the training split. Its slices are then parted at random, over and over: a rule chooses a variant on
seven tenths of them (seen), and is judged by what its choice gains over the published parameters on
the others. The test split is not touched.

`highest score` is what tuning does if nothing else is said; `sure and proved` is what
`failgym.tuning` does: the lower end of the interval of the gain, on the first seven tenths of what
is seen, and adopted if it is better on the rest. Here that interval is over slices, which share
jobs: `failgym.tuning` resamples jobs, and is sure of less. The others are winsorised gains, medians
of folds, and the lower end of the interval of the score itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import numpy.typing as npt
import typer

from experiments.tuned import APART
from failgym.baselines import REGISTRY, Heuristic
from failgym.baselines.search import Choice, Range, search_space
from failgym.cli.output import JsonFile, interactive, print_table
from failgym.envs import Scenario, resolve
from failgym.evaluation import Anchors
from failgym.evaluation.progress import Advance, progress_bar, silent
from failgym.tuning.objective import ADOPTED, SURE

__all__ = ["RULES", "Pool", "Result", "judged", "pool_of"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

SEEN = 0.7
"""Share of the slices on which a rule chooses, and of these on which variants are tried."""
PARTITIONS = 200
RESAMPLES = 300
"""Bootstrap samples."""
WINSORISED = 5.0
"""Share of the slices that is pulled in at each end [%]."""
FOLDS = 5
HARM = 0.5
"""A loss of more than so many points of score is counted as harm."""


@dataclass(frozen=True)
class Pool:
    """What variants of a heuristic save on the slices of the training split."""

    saved: Floats
    """[variants, slices] replay's cost less the variant's; the first is as published"""
    possible: Floats
    """[slices] the most that can be saved"""

    def of(self, slices: Ints) -> Pool:
        """The same of some slices."""
        return Pool(self.saved[:, slices], self.possible[slices])


Rule = Callable[[Pool, np.random.Generator], int]
"""Chooses a variant by what was seen."""


@dataclass(frozen=True)
class Result:
    """How a rule does for a heuristic."""

    env: str
    policy: str
    rule: str
    gain: float
    """mean of what its choice gains over the published parameters, elsewhere [points]"""
    harm: float
    """share of the partitions in which it loses more than `HARM`"""


def _resampled(values: Floats, possible: Floats, rng: np.random.Generator) -> Floats:
    """Ratios of sums of bootstrap samples of the slices, [samples, variants]."""
    n = len(possible)
    drawn = rng.multinomial(n, np.full(n, 1.0 / n), size=RESAMPLES)
    return (drawn @ values.T) / np.maximum(drawn @ possible, 1e-12)[:, None]


def _low(values: Floats, possible: Floats, confidence: float, rng: np.random.Generator) -> Floats:
    """Lower ends of intervals of a confidence [%], [variants]."""
    return np.percentile(_resampled(values, possible, rng), (100.0 - confidence) / 2.0, axis=0)


def _gains(pool: Pool) -> Floats:
    return pool.saved - pool.saved[:1]


def highest_score(pool: Pool, rng: np.random.Generator) -> int:
    """The highest score."""
    return int(pool.saved.sum(axis=1).argmax())


def sure_score(pool: Pool, rng: np.random.Generator) -> int:
    """The highest lower end of the interval of the score."""
    return int(_low(pool.saved, pool.possible, SURE, rng).argmax())


def winsorised(pool: Pool, rng: np.random.Generator) -> int:
    """The highest sum of gains, the extreme ones pulled in."""
    gains = _gains(pool)
    low, high = np.percentile(gains, [WINSORISED, 100.0 - WINSORISED], axis=1)
    return int(np.clip(gains, low[:, None], high[:, None]).sum(axis=1).argmax())


def median_of_folds(pool: Pool, rng: np.random.Generator) -> int:
    """The highest median of the scores of folds."""
    fold = np.arange(len(pool.possible)) % FOLDS
    parts = [pool.of(np.flatnonzero(fold == k)) for k in range(FOLDS)]
    scores = [p.saved.sum(axis=1) / max(p.possible.sum(), 1e-12) for p in parts]
    return int(np.median(scores, axis=0).argmax())


def sure_gain(pool: Pool, rng: np.random.Generator) -> int:
    """The highest lower end of the interval of the gain."""
    return int(_low(_gains(pool), pool.possible, SURE, rng).argmax())


def proved(rule: Rule) -> Rule:
    """A rule whose choice on a part of what is seen must be better on the rest."""

    def choose(pool: Pool, rng: np.random.Generator) -> int:
        first = int(SEEN * len(pool.possible))
        fit, later = (pool.of(p) for p in np.split(np.arange(len(pool.possible)), [first]))
        chosen = rule(fit, rng)
        sure = _low(_gains(later)[[chosen]], later.possible, ADOPTED, rng)[0] > 0.0
        return chosen if sure else 0

    return choose


RULES: dict[str, Rule] = {
    "highest score": highest_score,
    "winsorised gains": winsorised,
    "median of folds": median_of_folds,
    "sure score": sure_score,
    "sure gain": sure_gain,
    "highest score, proved": proved(highest_score),
    "sure and proved": proved(sure_gain),
}


def _drawn(wanted: Range | Choice, rng: np.random.Generator) -> float | str | bool:
    """A value of a parameter at random."""
    if isinstance(wanted, Choice):
        return wanted.values[int(rng.integers(len(wanted.values)))]
    if isinstance(wanted.low, int) and isinstance(wanted.high, int):
        return int(rng.integers(wanted.low, wanted.high + 1))
    low, high = np.log([wanted.low, wanted.high]) if wanted.log else (wanted.low, wanted.high)
    value = float(rng.uniform(low, high))
    return float(np.exp(value)) if wanted.log else value


def pool_of(
    kind: type[Heuristic], anchors: Anchors, variants: int, advance: Advance = silent
) -> Pool:
    """Run a heuristic as published and with parameters drawn at random."""
    rng = np.random.default_rng(0)
    saved: list[Floats] = []
    before = anchors.replay.costs.sum(axis=1)
    for number in range(variants):
        drawn = {name: _drawn(r, rng) for name, r in search_space(kind).items()}
        policy = replace(kind(), **drawn) if number else kind()
        saved.append(before - anchors.run(policy).costs.sum(axis=1))
        advance(1)
    return Pool(np.array(saved), before - anchors.bound.sum(axis=1))


def judged(pool: Pool, partitions: int = PARTITIONS) -> dict[str, Floats]:
    """What the choice of each rule gains elsewhere, [partitions], in points of score."""
    rng = np.random.default_rng(1)
    gains: dict[str, list[float]] = {name: [] for name in RULES}
    slices = len(pool.possible)
    for _ in range(partitions):
        seen, others = np.split(rng.permutation(slices), [int(SEEN * slices)])
        for name, rule in RULES.items():
            gained = _gains(pool)[rule(pool.of(seen), rng), others].sum()
            gains[name].append(100.0 * gained / max(pool.possible[others].sum(), 1e-12))
    return {name: np.array(values) for name, values in gains.items()}


def compared(scenario: Scenario, variants: int, advance: Advance) -> list[Result]:
    """Every rule for every heuristic of an environment."""
    anchors = Anchors.of(scenario, split="train")
    results: list[Result] = []
    for kind in kinds_of(scenario):
        found = judged(pool_of(kind, anchors, variants, advance))
        results += [
            Result(scenario.name, kind.name, rule, float(g.mean()), float((g < -HARM).mean()))
            for rule, g in found.items()
        ]
    return results


def kinds_of(scenario: Scenario) -> list[type[Heuristic]]:
    """Heuristics of an environment that have parameters to tune."""
    kinds = [k for k in REGISTRY.values() if k.name not in APART and search_space(k)]
    return [kind for kind in kinds if kind.compatible(scenario)]


def show(results: list[Result]) -> None:
    """Print a row for each environment and rule: means over its heuristics."""
    cells: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        cells.setdefault((result.env, result.rule), []).append(result)
    print_table(
        "Gain over the published parameters on slices that were not seen, means over heuristics",
        ("environment", "rule", "gain", "harm %"),
        [
            (
                *key,
                f"{np.mean([r.gain for r in found]):.2f}",
                f"{100 * np.mean([r.harm for r in found]):.0f}",
            )
            for key, found in cells.items()
        ],
    )


def main(
    env: Annotated[
        list[str] | None, typer.Option("--env", metavar="ID", help="Repeatable.")
    ] = None,
    variants: Annotated[int, typer.Option(min=2, help="Of each heuristic.")] = 30,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write it there.")] = None,
) -> None:
    """Compare rules of choice."""
    file = JsonFile.at(json_file)
    results: list[Result] = []
    for name in env or ["Cloning-v1", "GracePeriod-v1", "Checkpoint-v1"]:
        scenario = resolve(name)
        total = variants * len(kinds_of(scenario))
        with progress_bar(scenario.name, total, interactive()) as advance:
            results += compared(scenario, variants, advance)
    show(results)
    file.write({"variants": variants, "results": [asdict(result) for result in results]})


if __name__ == "__main__":
    typer.run(main)
