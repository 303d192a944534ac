"""How often do intervals of scores hold the truth, on generated traces?

    python -m experiments.interval_coverage [--env ID] [--policy NAME ...] [--traces 400]
        [--first 6000] [--jobs N] [--at-once 1 --at-once 3 ...] [--differ 0 --differ 1 ...]
        [--json FILE]

Many traces of an environment's profile are generated, and policies are run on the test split of
each. The truth is their score on all of them together; of what the first policy is above each
other, it is the difference. A nominal 95 % interval is then made of each K traces, in groups that
share none, `PARTITIONS` times, and it is counted how often it holds the truth: as
`failgym.evaluation` makes intervals (traces, then jobs, stretched where few jobs decide), as
leaderboards do, which state what few blocks of jobs cost (traces, then these), and as both did
before (percentiles of a bootstrap over slices of 256 tasks, whatever trace they are of).

Traces of one profile differ by their jobs alone. `--differ` adds what real traces differ by: each
saves more or less by a share of its own of the room, whose variance is so many times that of their
scores. An interval of one trace is that of this trace, and cannot hold this.

The brackets are Clopper and Pearson's interval of the share, 95 %, of as many groups as share no
trace: wider than they need be, since the groups of several partitions say a little more.
"""

# scipy has no types for its distributions.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import numpy.typing as npt
import typer
from scipy.stats import beta

from failgym.baselines import REGISTRY
from failgym.cli.output import JsonFile, interactive, print_table
from failgym.envs import resolve
from failgym.evaluation import Anchors, score
from failgym.evaluation.progress import Advance, progress_bar
from failgym.leaderboard.suite.cost_blocks import BLOCKS

__all__ = ["Coverage", "Sums", "compared", "coverage", "differing", "sums_of"]

Floats = npt.NDArray[np.float64]

RESAMPLES = 400
"""Bootstrap samples of an interval, fewer than `evaluate` takes: there are many intervals."""
PARTITIONS = 3
"""How often the traces are put into groups, each time others."""
DIFFER_SEED = 1
"""Of what is added to traces, by `--differ`."""


@dataclass(frozen=True)
class Sums:
    """What policies save on the test split of one trace: saved by each policy, room, spent."""

    jobs: Floats
    """[jobs, policies + 2]"""
    slices: Floats
    """[slices, policies + 2]"""


@dataclass(frozen=True)
class Coverage:
    """How often the interval of a policy's score, or of a difference, held the truth."""

    policy: str
    """or two of them: the first less the second"""
    differ: float
    """variance of what was added to each trace, over that of the scores of traces"""
    traces: int
    """that an interval is made of"""
    truth: float
    groups: int
    """that share no trace"""
    intervals: int
    """of `PARTITIONS` times as many groups"""
    held: int
    """by the interval over traces and jobs"""
    width: float
    """median of it"""
    held_blocks: int
    """by the interval over traces and few blocks"""
    width_blocks: float
    held_slices: int
    """by the interval over slices"""
    width_slices: float


def sums_of(env: str, seed: int, policies: Sequence[str], jobs: int | None = None) -> Sums:
    """Run policies on the test split of a trace of an environment's profile, of as many jobs as it
    has if None.
    """
    anchors = Anchors.of(resolve(env, {"trace_seed": seed, **({"jobs": jobs} if jobs else {})}))
    evidence = anchors.evidence
    runs = [anchors.run(REGISTRY[name]()) for name in policies]
    by_row = [evidence.replay - evidence.costs(run) for run in runs]
    by_slice = [(anchors.replay.costs - run.costs).sum(axis=1) for run in runs]
    rows = (evidence.units.sums(x) for x in (*by_row, evidence.possible, evidence.spent))
    return Sums(np.stack(list(rows), 1), np.stack([*by_slice, anchors.possible, anchors.spent], 1))


def compared(found: Sequence[Sums], policies: Sequence[str]) -> dict[str, list[Sums]]:
    """What is judged, by name: each policy, and the first less each other; in column 0 of each."""
    cases = {name: [(at, 1.0)] for at, name in enumerate(policies)}
    first, *others = policies
    for at, other in enumerate(others, start=1):
        cases[f"{first} - {other}"] = [(0, 1.0), (at, -1.0)]

    def of(table: Floats, terms: Sequence[tuple[int, float]]) -> Floats:
        saved = sum(sign * table[:, at] for at, sign in terms)
        return np.column_stack([saved, table[:, -2:]])

    return {
        name: [Sums(of(each.jobs, terms), of(each.slices, terms)) for each in found]
        for name, terms in cases.items()
    }


def differing(found: Sequence[Sums], differ: float) -> list[Sums]:
    """Traces that save more or less by a share of their own of the room.

    Args:
        found: of one policy.
        differ: variance of what is added, over that of the traces' scores, both weighted by room.
    """
    if not differ:
        return list(found)
    totals = np.array([each.jobs.sum(axis=0) for each in found])
    room = totals[:, 1]
    residual = totals[:, 0] - totals[:, 0].sum() / room.sum() * room
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(DIFFER_SEED)))
    share = rng.standard_normal(len(found))
    share -= (share * room).sum() / room.sum()  # the truth stays
    share *= np.sqrt(differ * (residual**2).sum() / ((share * room) ** 2).sum())

    def more(table: Floats, of: float) -> Floats:
        return np.column_stack([table[:, 0] + of * table[:, 1], table[:, 1:]])

    return [
        Sums(more(each.jobs, of), more(each.slices, of))
        for each, of in zip(found, share.tolist(), strict=True)
    ]


def coverage(found: Sequence[Sums], name: str, differ: float, at_once: int) -> Coverage:
    """Coverage of the intervals of so many traces each.

    Args:
        found: of one policy, or of a difference.
        name: of it.
        differ: what was added.
        at_once: traces of an interval.
    """
    total = np.sum([each.jobs.sum(axis=0) for each in found], axis=0)
    truth, count = 100.0 * float(total[0] / total[1]), len(found) // at_once
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(at_once)))
    groups: list[list[Sums]] = []
    for _ in range(PARTITIONS if at_once > 1 else 1):
        order = rng.permutation(len(found))[: count * at_once].reshape(count, at_once)
        groups += [[found[at] for at in group] for group in order.tolist()]
    jobs, blocks, slices = (_held([of(group) for group in groups], truth) for of in WAYS)
    return Coverage(*(name, differ, at_once, truth, count, len(groups)), *jobs, *blocks, *slices)


def _held(intervals: Sequence[tuple[float, float]], truth: float) -> tuple[int, float]:
    """How many hold the truth, and how wide they are, in the middle."""
    low, high = np.array(intervals).T
    return int(((low <= truth) & (truth <= high)).sum()), float(np.nanmedian(high - low))


def _over_jobs(group: Sequence[Sums]) -> tuple[float, float]:
    """The interval over traces and their jobs."""
    return _over([each.jobs for each in group])


def _over_blocks(group: Sequence[Sums]) -> tuple[float, float]:
    """The interval over traces and the blocks of jobs that leaderboards state."""
    return _over([_in_blocks(each.jobs) for each in group])


def _in_blocks(jobs: Floats) -> Floats:
    """Sums over blocks of jobs that follow each other."""
    count = min(len(jobs), BLOCKS)
    return np.add.reduceat(jobs, -(-np.arange(count) * len(jobs) // count))


def _over(units: Sequence[Floats]) -> tuple[float, float]:
    sums = np.concatenate(units)
    traces = np.repeat(np.arange(len(units)), [len(each) for each in units])
    saved, room, spent = sums.T
    found = score(
        *(room, room - saved, 0.0 * room), spent=spent, traces=traces, resamples=RESAMPLES
    )
    return found.low, found.high


def _over_slices(group: Sequence[Sums]) -> tuple[float, float]:
    """Percentiles of a bootstrap over slices."""
    sums = np.concatenate([each.slices for each in group])
    rng = np.random.default_rng(0)
    drawn = rng.multinomial(len(sums), np.full(len(sums), 1.0 / len(sums)), RESAMPLES) @ sums
    low, high = np.percentile(100.0 * drawn[:, 0] / drawn[:, 1], [2.5, 97.5])
    return float(low), float(high)


WAYS = (_over_jobs, _over_blocks, _over_slices)
"""Of intervals, in the order of a table."""


def shown(held: int, row: Coverage) -> str:
    """A share of a row's intervals with its interval [%]."""
    share, intervals = held / row.intervals, row.groups
    held = round(share * intervals)
    low = float(beta.ppf(0.025, held, intervals - held + 1)) if held else 0.0
    high = float(beta.ppf(0.975, held + 1, intervals - held)) if held < intervals else 1.0
    return f"{100 * share:.1f} [{100 * low:.1f}, {100 * high:.1f}]"


def _gathered(
    env: str, seeds: range, policies: Sequence[str], jobs: int | None, advance: Advance
) -> list[Sums]:
    found: list[Sums] = []
    for seed in seeds:
        found.append(sums_of(env, seed, policies, jobs))
        advance(1)
    return found


def main(
    env: Annotated[str, typer.Option(metavar="ID", help="Of the pinned world.")] = "Cloning-v1",
    policy: Annotated[list[str] | None, typer.Option(help="Repeatable.")] = None,
    traces: Annotated[int, typer.Option(min=2, help="Traces to generate.")] = 400,
    first: Annotated[int, typer.Option(min=0, help="Seed of the first of them.")] = 6_000,
    jobs: Annotated[int | None, typer.Option(min=1, help="Of each; else as registered.")] = None,
    at_once: Annotated[
        list[int] | None, typer.Option(min=1, help="Traces of an interval; repeatable.")
    ] = None,
    differ: Annotated[
        list[float] | None, typer.Option(min=0.0, help="What traces differ by; repeatable.")
    ] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write it there.")] = None,
) -> None:
    """Count how often intervals hold the truth."""
    file, policies = JsonFile.at(json_file), policy or ["algorithm_1"]
    with progress_bar(env, traces, interactive()) as advance:
        found = _gathered(env, range(first, first + traces), policies, jobs, advance)
    rows = [
        coverage(differing(sums, more), name, more, k)
        for name, sums in compared(found, policies).items()
        for more in differ or [0.0]
        for k in at_once or [1, 3, 5, 10, 20]
        if k <= len(found)
    ]
    file.write([asdict(row) for row in rows])
    print_table(
        f"{env}: coverage of 95 % intervals [%], and their median width",
        (
            *("policy", "differ", "traces", "truth", "over traces and jobs", ""),
            *("over traces and few blocks", "", "over slices", ""),
        ),
        [
            (
                *(r.policy, f"{r.differ:g}", str(r.traces), f"{r.truth:.1f}"),
                *(shown(r.held, r), f"{r.width:.1f}"),
                *(shown(r.held_blocks, r), f"{r.width_blocks:.1f}"),
                *(shown(r.held_slices, r), f"{r.width_slices:.1f}"),
            )
            for r in rows
        ],
    )


if __name__ == "__main__":
    typer.run(main)
