"""What the networks of Rosà et al. misclassify and save where they have to learn: on the record,
its twins and the profiles.

    python -m experiments.rosa2015_learned [--trace DIR] [--seeds 5] [--long-seeds 3] [--json FILE]

The experiments of Figs. 6 and 7 draw forecasts of the paper's quality. Here `TwoLevelNetwork`
learns from the first 70 % of the jobs and speaks of the others, followed to the end of the trace:

- `misclassified`: share of the jobs, and of the tasks considered, among four classes;
- `false negatives`: share of the tasks considered that finish and are predicted not to; and that
  are `killed` all the same with the paper's class grace periods (324, 56 and 83 minutes);
- `saved`: relative reduction of what failed tasks of failed jobs consume (RRC), by resource, with
  these periods; of time `without grace`; and of time if all were `foretold rightly`, so that grace
  periods alone decide;
- the same with `periods chosen` as in the paper: networks that have learned from the first half of
  the time before speak of the second, and periods are one percentile of the execution times of each
  class, the lowest that leaves at most 1 % of false negatives there.

Traces: a stored record of Google's cluster (``--trace``), with as many seeds of the networks; twins
of it, one for each seed; the profiles google-2011 and google-2011-applications over as long a time
as the record's first parts (half a day) and over 29 days as in the paper, a tenth of the jobs. What
is said of several traces is a ratio of sums. Intervals are those of scores
(`failgym.evaluation.statistics`): over traces, then over blocks of jobs that were submitted one
after the other. On the record the seeds of the networks are taken together; the lowest and the
highest of single ones, or of single traces, are in the file of ``--json``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from experiments.rosa2015_learned_measures import (
    Judged,
    Share,
    judged,
    largest_job,
    share_of,
    together,
)
from failgym.cli.output import JsonFile, interactive, print_line, print_table
from failgym.evaluation.progress import Advance, progress_bar, silent
from failgym.predictors import TwoLevelNetwork
from failgym.traces import Trace, generate, twin
from failgym.traces.synthetic import PROFILES, Google2011
from failgym.vocabulary import DAY, HOUR

__all__ = ["PAPER", "Found", "found_on"]

SHOWN = ("google-2011", "google-2011-applications")
HALF_A_DAY, LONG = 12.7 * HOUR, 29 * DAY
"""Length of the record's first parts, and of the paper's trace [ms]."""
LONG_SAMPLING = 0.1
"""Share of the cluster's jobs in 29 days: 35,000."""
PAPER = {
    "jobs misclassified": ".066 to .089",
    "tasks misclassified": ".266 to .318",
    "false negatives": ".094",
    "false negatives killed": ".012",
    "saved, cpu": ".49",
    "saved, memory": ".45",
    "saved, disk": ".18",
    "saved, time": ".26",
    "false negatives killed, periods chosen": ".012",
    "saved, time, periods chosen": ".26",
}
"""Sections IV-1 to IV-3; rates of misclassification by the learning window."""


@dataclass(frozen=True)
class Found:
    """The shares of one kind of trace."""

    traces: str
    count: int
    """traces, or seeds of the networks on one"""
    jobs: int
    """judged of a trace"""
    hours: float
    """from the first submission of a trace to its last"""
    largest_job: float
    """share of the time of failed tasks of failed jobs that is one job's, mean over traces"""
    shares: tuple[Share, ...]
    minutes: tuple[dict[str, float] | None, ...]
    """class grace periods that were chosen, by trace or seed"""


def found_on(
    name: str, traces: Sequence[Callable[[], Trace]], seeds: int, advance: Advance = silent
) -> Found:
    """Judge networks on traces of one kind.

    Args:
        name: of the kind.
        traces: make them; of a single one networks are trained with several seeds.
        seeds: of the networks on a single trace.
        advance: called after each.
    """
    each: list[Judged] = []
    hours = 0.0
    for number, make in enumerate(traces):
        trace = make()
        submit = trace.column("jobs", "submit")
        hours += float(submit.max() - submit.min()) / HOUR / len(traces)
        for seed in range(seeds) if len(traces) == 1 else (number,):
            each.append(judged(trace, TwoLevelNetwork(seed=seed)))
            advance(1)
    by_trace = [together(each)] if len(traces) == 1 else each
    names = dict.fromkeys(name for one in by_trace for name in one.sums)
    return Found(
        name,
        len(each),
        round(sum(len(one.submit) for one in each) / len(each)),
        hours,
        sum(map(largest_job, each)) / len(each),
        tuple(share_of(by_trace, each, name) for name in names),
        tuple(one.minutes for one in each),
    )


def _profile(name: str, length: float, sampling: float, seed: int) -> Trace:
    """Jobs of a profile that are submitted in so much time [ms]."""
    profile = PROFILES[name]
    assert isinstance(profile, Google2011)
    profile = replace(profile, sampling=sampling)
    jobs = round(profile.jobs_per_hour * sampling * length / HOUR)
    return generate(profile, jobs=jobs, seed=seed, usage=False)


def _kinds(
    record: Trace | None, seeds: int, long_seeds: int
) -> Iterator[tuple[str, list[Callable[[], Trace]]]]:
    """What networks are judged on, and how each trace of it is made."""
    if record is not None:
        yield "record", [lambda: record]
        yield "twins", [partial(twin, record, seed=seed, part="all") for seed in range(seeds)]
    for length, sampling, count, said in (
        (HALF_A_DAY, 1.0, seeds, "half a day"),
        (LONG, LONG_SAMPLING, long_seeds, "29 days"),
    ):
        for name in SHOWN if count else ():
            made = [partial(_profile, name, length, sampling, seed) for seed in range(count)]
            yield f"{name}, {said}", made


def show(found: Sequence[Found]) -> None:
    """Print a row for each share, a column for each kind of trace."""
    names = dict.fromkeys(share.what for one in found for share in one.shares)
    told = [{share.what: share for share in one.shares} for one in found]
    print_table(
        "What the networks misclassify and save",
        ("", "paper", *(one.traces for one in found)),
        [
            (name, PAPER.get(name, ""), *(_text(shares.get(name)) for shares in told))
            for name in names
        ],
    )
    for one in found:
        chosen = [list(m.values()) for m in one.minutes if m]
        said = "; ".join("/".join(f"{x:.0f}" for x in m) for m in chosen) or "none will do"
        print_line(
            f"{one.traces}: {one.hours:.1f} h, {one.jobs:,} jobs judged, {one.largest_job:.2f} of"
            f" what failed tasks take is one job's; periods chosen: {said} [min]"
        )


def _text(share: Share | None) -> str:
    if share is None:
        return ""
    return f"{share.value:.3f} [{share.low:.3f}, {share.high:.3f}]"


def main(
    trace: Annotated[
        Path | None, typer.Option(metavar="DIR", help="A stored record of Google's cluster.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=2, help="Traces, or seeds of the networks.")] = 5,
    long_seeds: Annotated[int, typer.Option(min=0, help="Traces of 29 days.")] = 3,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write it there.")] = None,
) -> None:
    """Judge the networks of Rosà et al. on the record, twins of it and the profiles."""
    file = JsonFile.at(json_file)
    record = None if trace is None else Trace.load(trace)
    found: list[Found] = []
    for name, traces in _kinds(record, seeds, long_seeds):
        count = seeds if len(traces) == 1 else len(traces)
        with progress_bar(name, count, interactive()) as advance:
            found.append(found_on(name, traces, seeds, advance))
        file.write([asdict(one) for one in found])
    show(found)


if __name__ == "__main__":
    typer.run(main)
