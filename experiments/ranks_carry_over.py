"""Do rules rank on a twin of a record's past as they rank on the record's future?

    python -m experiments.ranks_carry_over --trace DIR --policies ID [--policies ID ...]
        [--seeds 3] [--episodes N] [--json FILE]

A record is cut at 70 % of its jobs. All rules of an environment are played on the future, on the
past and on twins of the past (`failgym.traces.twin`). Then Kendall's tau-b is taken

- of their ranks on a twin and on the future, averaged over the twins;
- of their ranks on two halves of the future, into which its jobs are drawn at random, averaged over
  `SPLITS` draws. More agreement than between two parts of the same weeks cannot be asked.

What is printed is the ratio of the first to the second; a twin keeps what is asked of it if it is
`ASKED` or more. The same ratio of the past says whether the weeks themselves were alike. Where
tasks share machines no job has a cost of its own, and slices are drawn in place of jobs.

Intervals are those of a bootstrap over blocks of jobs that follow each other
(`failgym.evaluation.statistics.sampling_units`), of the future, the past and each twin apart. The
jobs of a resample are put into halves anew; a job that was drawn twice lies in one of them. Where
rules are close, resamples agree less than the traces do: the interval then lies too low.

What FILE holds of another record or environment stays there.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer

from experiments.rank_correlation import tau_b
from experiments.record_twins import BOUNDARY, shown
from failgym.cli.output import JsonFile, interactive, print_table
from failgym.comparison import Measured
from failgym.comparison.policies import LEAST_RULES, fitting
from failgym.comparison.resampling import RESAMPLES, interval
from failgym.envs import resolve
from failgym.evaluation import Anchors
from failgym.evaluation.progress import working
from failgym.evaluation.statistics.resampling import drawn
from failgym.traces import Trace, twin

__all__ = ["ASKED", "CarriedOver", "Played", "carried_over", "played", "tau_of_halves"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

ASKED = 0.8
"""Tau of a twin's ranks and the future's, over that of the future's halves."""
SPLITS, SPLITS_OF_RESAMPLE = 400, 25
"""Draws of halves: of the future, and of each of its resamples."""


@dataclass(frozen=True)
class Played:
    """What rules save of the jobs of a trace."""

    rules: tuple[str, ...]
    saved: Floats
    """[jobs, rules] cost of replay less that of the rule"""
    possible: Floats
    """[jobs] what the bound saves"""
    unit: Ints
    """[jobs] which of them are resampled together, numbered from 0 without gaps"""

    def scores(self, weights: Floats) -> Floats:
        """Scores [samples, rules] of weighted jobs [samples, jobs]; NaN where there is no room."""
        saved, possible = weights @ self.saved, (weights @ self.possible)[:, None]
        none = np.full(saved.shape, np.nan)
        return 100.0 * np.divide(saved, possible, out=none, where=possible > 0.0)

    def resamples(self, seed: int) -> Floats:
        """How often each job counts in each resample [resamples, jobs]."""
        rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
        return drawn(int(self.unit.max()) + 1, RESAMPLES, rng)[:, self.unit]

    def of(self, rules: Sequence[str]) -> Played:
        """Some of the rules, in that order."""
        at = [self.rules.index(name) for name in rules]
        return Played(tuple(rules), self.saved[:, at], self.possible, self.unit)


@dataclass(frozen=True)
class CarriedOver:
    """How far ranks carry over from a record's past to its future, in one environment."""

    record: str
    environment: str
    jobs: int
    """of the future"""
    rules: tuple[str, ...]
    scores: dict[str, list[float]]
    """of the rules on the future, the past and each twin"""
    halves: Measured
    """tau of two halves of the future"""
    twins: Measured
    """tau of a twin and the future, the mean over twins"""
    past: Measured
    """tau of the past and the future"""
    ratio: Measured
    """of twins to halves; NaN where halves agree no better than chance"""
    past_ratio: Measured


def played(trace: Trace, env: str, episodes: int | None = None) -> Played:
    """Play every rule that fits an environment on the whole of a trace.

    Args:
        trace: on which.
        env: the environment's id; its forecasts are drawn, as registered.
        episodes: slices at most.

    Raises:
        ValueError: for an unknown environment, or a trace on which there is nothing to gain.
    """
    scenario = resolve(env).override(trace=trace, split="all")
    anchors = Anchors.of(scenario, episodes=episodes, split="all")
    anchors.check_room()
    evidence, rules = anchors.evidence, fitting(anchors)
    numbers, first, member = np.unique(
        evidence.units.member, return_index=True, return_inverse=True
    )

    def by_job(values: Floats) -> Floats:
        return np.bincount(member, values, len(numbers)).astype(np.float64)

    saved = [by_job(evidence.replay - evidence.costs(anchors.run(rule))) for rule in rules.values()]
    unit = np.unique(evidence.units.of_row[first], return_inverse=True)[1]
    return Played(
        *(tuple(rules), np.stack(saved, axis=1), by_job(evidence.possible), unit.astype(np.int64))
    )


def tau_of_halves(found: Played, weights: Floats, splits: int, rng: np.random.Generator) -> float:
    """Tau-b of the ranks on two halves into which jobs are drawn at random, the mean over draws.

    Args:
        found: of a trace.
        weights: [jobs] how often each job counts.
        splits: how many draws; those are left out in which a half has no room.
        rng: draws them.
    """
    count = len(found.possible)
    chosen = rng.permuted(np.tile(np.arange(count) < count // 2, (splits, 1)), axis=1)
    halves = (found.scores(part * weights) for part in (chosen, ~chosen))
    return _mean(tau_b(*halves))


def carried_over(
    record: str, env: str, future: Played, past: Played, twins: Sequence[Played]
) -> CarriedOver:
    """How far ranks carry over.

    Args:
        record: its name.
        env: the environment's id.
        future: what rules save on it; likewise of the past and of twins of the past.

    Raises:
        ValueError: if fewer than `LEAST_RULES` rules act on all of these traces.
    """
    traces = [future, past, *twins]
    rules = [name for name in future.rules if all(name in each.rules for each in traces)]
    if len(rules) < LEAST_RULES:
        raise ValueError(f"{env}: {len(rules)} rules act on all traces, expected {LEAST_RULES}")
    traces = [each.of(rules) for each in traces]
    whole = [each.scores(np.ones((1, len(each.possible))))[0] for each in traces]
    samples = [each.scores(each.resamples(seed)) for seed, each in enumerate(traces)]
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(len(traces))))
    ahead, weights = traces[0], traces[0].resamples(0)
    halves = tau_of_halves(ahead, np.ones(len(ahead.possible)), SPLITS, rng)
    halves_of = [tau_of_halves(ahead, each, SPLITS_OF_RESAMPLE, rng) for each in weights]
    taus = np.array([tau_b(whole[0], each) for each in whole[1:]])
    taus_of = np.stack([tau_b(samples[0], each) for each in samples[1:]])
    units = min(int(each.unit.max()) + 1 for each in traces)
    of_halves, twin_of = np.array(halves_of), taus_of[1:].mean(axis=0)

    def tau(value: float, found: Floats) -> Measured:
        return interval(value, found, units, (-1.0, 1.0))

    def ratio(value: float, found: Floats) -> Measured:
        return interval(float(_ratio(value, halves)), _ratio(found, of_halves), units)

    twin_tau, past_tau = float(taus[1:].mean()), float(taus[0])
    return CarriedOver(
        *(record, env, len(ahead.possible), tuple(rules)),
        {name: [float(of[at]) for of in whole] for at, name in enumerate(rules)},
        *(tau(halves, of_halves), tau(twin_tau, twin_of), tau(past_tau, taus_of[0])),
        *(ratio(twin_tau, twin_of), ratio(past_tau, taus_of[0])),
    )


def _ratio(of: float | Floats, halves: float | Floats) -> Floats:
    """Taus over those of halves; NaN where these agree no better than chance."""
    over = np.asarray(halves, dtype=np.float64)
    return np.divide(of, over, out=np.full(over.shape, np.nan), where=over > 0.0)


def _mean(values: Floats) -> float:
    """Of those that are numbers; NaN if none is."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else math.nan


def _of_record(
    record: Trace, name: str | None, environments: Sequence[str], seeds: int, episodes: int | None
) -> list[CarriedOver]:
    past, future = (record.split(part, BOUNDARY) for part in ("train", "test"))
    twins = [twin(past, seed=seed, part="all") for seed in range(1, seeds + 1)]
    rows = list[CarriedOver]()
    for env in environments:
        ahead, behind, *made = (played(each, env, episodes) for each in (future, past, *twins))
        rows.append(carried_over(name or record.meta.source, env, ahead, behind, made))
    return rows


def _kept(file: Path | None) -> dict[str, Any]:
    """The records that the file holds. Raises ValueError."""
    if file is None or not file.exists():
        return {}
    try:
        found: dict[str, Any] = json.loads(file.read_text("utf-8"))["records"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"--json {file}: expected what this experiment wrote") from error
    return found


def main(
    trace: Annotated[Path, typer.Option(metavar="DIR", help="A stored record.")],
    policies: Annotated[list[str], typer.Option(metavar="ID", help="Whose rules; repeatable.")],
    name: Annotated[str | None, typer.Option(help="Of the record; else its source.")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Twins.")] = 3,
    episodes: Annotated[
        int | None, typer.Option(min=1, help="Slices that rules are scored on; else all.")
    ] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Add to it.")] = None,
) -> None:
    """Measure how far the ranks of rules carry over from a twin to the future."""
    file, records, record = JsonFile.at(json_file), _kept(json_file), Trace.load(trace)
    with working("playing rules", interactive()):
        rows = _of_record(record, name, policies, seeds, episodes)
    for row in rows:
        asked = {"seeds": seeds, "episodes": episodes}
        records[f"{row.record}, {row.environment}"] = {**asdict(row), **asked}
    file.write({"records": records})
    print_table(
        f"{record.meta.source}: Kendall's tau-b of rules' ranks, and what is asked of twins",
        ("", "rules", "halves of the future", "twins", "twins / halves", "past / halves"),
        [
            (
                *(row.environment, str(len(row.rules)), shown(row.halves), shown(row.twins)),
                *(shown(row.ratio), shown(row.past_ratio)),
            )
            for row in rows
        ],
    )


if __name__ == "__main__":
    typer.run(main)
