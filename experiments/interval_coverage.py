"""How often do intervals of scores hold the truth, on generated traces?

    python -m experiments.interval_coverage [--env ID] [--policy NAME ...] [--traces 400]
        [--first 6000] [--at-once 1 --at-once 3 ...] [--json FILE]

Many traces of an environment's profile are generated, and policies are run on the test split of
each. The truth is their score on all of them together. A nominal 95 % interval is then made of each
K of them, in groups that share no trace, and it is counted how often it holds the truth: as
`failgym.evaluation` makes intervals (traces, then jobs, stretched where few jobs decide), as
leaderboards do, which state what few blocks of jobs cost (traces, then these), and as both did
before (percentiles of a bootstrap over slices of 256 tasks, whatever trace
they are of). The brackets are Clopper and Pearson's interval of the share, 95 %.
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

__all__ = ["Coverage", "Sums", "coverage", "sums_of"]

Floats = npt.NDArray[np.float64]

RESAMPLES = 1_000
"""Bootstrap samples of the intervals over slices."""


@dataclass(frozen=True)
class Sums:
    """What policies save on the test split of one trace: saved by each policy, room, spent."""

    jobs: Floats
    """[jobs, policies + 2]"""
    slices: Floats
    """[slices, policies + 2]"""


@dataclass(frozen=True)
class Coverage:
    """How often the interval of a policy's score held the truth."""

    policy: str
    traces: int
    """that an interval is made of"""
    truth: float
    intervals: int
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


def sums_of(env: str, seed: int, policies: Sequence[str]) -> Sums:
    """Run policies on the test split of a trace of an environment's profile."""
    anchors = Anchors.of(resolve(env, {"trace_seed": seed}))
    evidence = anchors.evidence
    runs = [anchors.run(REGISTRY[name]()) for name in policies]
    by_row = [evidence.replay - evidence.costs(run) for run in runs]
    by_slice = [(anchors.replay.costs - run.costs).sum(axis=1) for run in runs]
    rows = (evidence.units.sums(x) for x in (*by_row, evidence.possible, evidence.spent))
    return Sums(np.stack(list(rows), 1), np.stack([*by_slice, anchors.possible, anchors.spent], 1))


def coverage(found: Sequence[Sums], policies: Sequence[str], at_once: int) -> list[Coverage]:
    """Coverage of the intervals of so many traces each."""
    total = np.sum([each.jobs.sum(axis=0) for each in found], axis=0)
    groups = [found[i : i + at_once] for i in range(0, len(found) - at_once + 1, at_once)]
    rows: list[Coverage] = []
    for at, policy in enumerate(policies):
        truth = 100.0 * float(total[at] / total[-2])
        jobs, blocks, slices = (_held([of(group, at) for group in groups], truth) for of in WAYS)
        rows.append(Coverage(policy, at_once, truth, len(groups), *jobs, *blocks, *slices))
    return rows


def _held(intervals: Sequence[tuple[float, float]], truth: float) -> tuple[int, float]:
    """How many hold the truth, and how wide they are, in the middle."""
    low, high = np.array(intervals).T
    return int(((low <= truth) & (truth <= high)).sum()), float(np.nanmedian(high - low))


def _over_jobs(group: Sequence[Sums], at: int) -> tuple[float, float]:
    """The interval over traces and their jobs."""
    return _over([each.jobs for each in group], at)


def _over_blocks(group: Sequence[Sums], at: int) -> tuple[float, float]:
    """The interval over traces and the blocks of jobs that leaderboards state."""
    return _over([_in_blocks(each.jobs) for each in group], at)


def _in_blocks(jobs: Floats) -> Floats:
    """Sums over blocks of jobs that follow each other."""
    count = min(len(jobs), BLOCKS)
    return np.add.reduceat(jobs, -(-np.arange(count) * len(jobs) // count))


def _over(units: Sequence[Floats], at: int) -> tuple[float, float]:
    sums = np.concatenate(units)
    traces = np.repeat(np.arange(len(units)), [len(each) for each in units])
    room = sums[:, -2]
    found = score(room, room - sums[:, at], 0.0 * room, spent=sums[:, -1], traces=traces)
    return found.low, found.high


def _over_slices(group: Sequence[Sums], at: int) -> tuple[float, float]:
    """Percentiles of a bootstrap over slices."""
    sums = np.concatenate([each.slices for each in group])
    rng = np.random.default_rng(0)
    drawn = rng.multinomial(len(sums), np.full(len(sums), 1.0 / len(sums)), RESAMPLES) @ sums
    low, high = np.percentile(100.0 * drawn[:, at] / drawn[:, -2], [2.5, 97.5])
    return float(low), float(high)


WAYS = (_over_jobs, _over_blocks, _over_slices)
"""Of intervals, in the order of a table."""


def shown(held: int, intervals: int) -> str:
    """A share with its interval [%]."""
    low = float(beta.ppf(0.025, held, intervals - held + 1)) if held else 0.0
    high = float(beta.ppf(0.975, held + 1, intervals - held)) if held < intervals else 1.0
    return f"{100 * held / intervals:.1f} [{100 * low:.1f}, {100 * high:.1f}]"


def _gathered(
    env: str, first: int, traces: int, policies: Sequence[str], advance: Advance
) -> list[Sums]:
    found: list[Sums] = []
    for seed in range(first, first + traces):
        found.append(sums_of(env, seed, policies))
        advance(1)
    return found


def main(
    env: Annotated[str, typer.Option(metavar="ID", help="Of the pinned world.")] = "Cloning-v0",
    policy: Annotated[list[str] | None, typer.Option(help="Repeatable.")] = None,
    traces: Annotated[int, typer.Option(min=2, help="Traces to generate.")] = 400,
    first: Annotated[int, typer.Option(min=0, help="Seed of the first of them.")] = 6_000,
    at_once: Annotated[
        list[int] | None, typer.Option(min=1, help="Traces of an interval; repeatable.")
    ] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write it there.")] = None,
) -> None:
    """Count how often intervals hold the truth."""
    file, policies = JsonFile.at(json_file), policy or ["algorithm_1"]
    with progress_bar(env, traces, interactive()) as advance:
        found = _gathered(env, first, traces, policies, advance)
    rows = [row for k in at_once or [1, 3, 5, 10] for row in coverage(found, policies, k)]
    file.write([asdict(row) for row in rows])
    print_table(
        f"{env}: coverage of 95 % intervals [%], and their median width",
        (
            *("policy", "traces", "truth", "over traces and jobs", ""),
            *("over traces and few blocks", "", "over slices", ""),
        ),
        [
            (
                *(r.policy, str(r.traces), f"{r.truth:.1f}"),
                *(shown(r.held, r.intervals), f"{r.width:.1f}"),
                *(shown(r.held_blocks, r.intervals), f"{r.width_blocks:.1f}"),
                *(shown(r.held_slices, r.intervals), f"{r.width_slices:.1f}"),
            )
            for r in rows
        ],
    )


if __name__ == "__main__":
    typer.run(main)
