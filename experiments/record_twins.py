"""Does a twin of a record's past behave like its future, and do rules rank alike on it?

    python -m experiments.record_twins --trace DIR [--profile NAME] [--seeds 3]
        [--policies ID ...] [--episodes 100] [--json FILE]

A record is cut at 70 % of its jobs (of its outages, if it has no jobs). Beside its future stand its
past, twins of the past (so many seeds, as many jobs, or as long, as the past) and a profile (as
many jobs; its default, for a record without), all at equal numbers of jobs, and over equal times
for outages (`failgym.comparison`). The last columns say by how much the twins, on average, and the
profile are further from the future than the past is: a twin should not be by more than .05. Of
times and numbers of machines the distance is the log of the ratio.

With ``--policies`` all rules of an environment are ranked on each: Kendall's tau with their ranks
on the future. The most that can be asked is that of the two halves of the future, which are cut by
time; `experiments.ranks_carry_over` draws halves of its jobs at random. Intervals are over blocks
of time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from failgym.cli.output import JsonFile, interactive, print_table
from failgym.comparison import Measured, Row, compare
from failgym.evaluation.progress import working
from failgym.traces import Trace, generate, twin

__all__ = ["Beside", "beside", "main", "tau_of_halves"]

BOUNDARY = 0.7


@dataclass(frozen=True)
class Beside:
    """One row: what is measured, on the future and on what stands beside it."""

    what: str
    future: Measured
    past: Measured
    twins: tuple[Measured, ...]
    profile: Measured | None
    by_ratio: bool = False
    """Has it a unit, so that distances are logs of ratios?"""

    @property
    def twins_further(self) -> float:
        """By how much twins are further from the future than the past is, on average; NaN where
        one of them does not say.
        """
        return self._distance(float(np.mean([one.value for one in self.twins]))) - self._distance(
            self.past.value
        )

    @property
    def profile_further(self) -> float:
        """The same of the profile."""
        if self.profile is None:
            return np.nan
        return self._distance(self.profile.value) - self._distance(self.past.value)

    def _distance(self, value: float) -> float:
        """From the future; how well traces are told apart is a distance already."""
        future = self.future.value
        if np.isnan(future):
            return value
        return abs(float(np.log(value / future))) if self.by_ratio else abs(value - future)


def beside(
    record: Trace,
    seeds: Sequence[int],
    profile: str | None,
    environments: Sequence[str],
    episodes: int,
) -> list[Beside]:
    """The rows of one record."""
    past, future = (record.split(part, BOUNDARY) for part in ("train", "test"))
    jobs = past.rows("jobs")
    twins = [twin(past, seed=seed, part="all") for seed in seeds]
    made = [] if profile is None else [generate(profile, jobs=jobs or None, seed=0)]
    found = compare(future, past, *twins, *made, environments=environments, episodes=episodes)
    return [_row(row, len(twins), bool(made)) for row in found.rows]


def _row(row: Row, twins: int, profile: bool) -> Beside:
    past, *others = row.others
    made = others[twins] if profile else None
    return Beside(row.what, row.reference, past, tuple(others[:twins]), made, row.by_ratio)


def tau_of_halves(record: Trace, environment: str, episodes: int) -> Measured:
    """Kendall's tau of the rules' ranks on the two halves of the future."""
    future = record.split("test", BOUNDARY)
    halves = [future.split(part, 0.5) for part in ("train", "test")]
    found = compare(*halves, environments=[environment], episodes=episodes)
    return next(row.others[0] for row in found.rows if "Kendall" in row.what)


def shown(found: Measured | None) -> str:
    """A number with its interval; nothing where it is not told."""
    if found is None or np.isnan(found.value):
        return ""
    if np.isnan(found.low):
        return f"{found.value:.2f}"
    return f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]"


def main(
    trace: Annotated[Path, typer.Option(metavar="DIR", help="A stored record.")],
    profile: Annotated[str | None, typer.Option(metavar="NAME", help="To stand beside it.")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Twins.")] = 3,
    policies: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Rank its rules; repeatable.")
    ] = None,
    episodes: Annotated[int, typer.Option(min=1, help="Slices that rules are scored on.")] = 100,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write it there.")] = None,
) -> None:
    """Measure a record's future beside its past, twins of it and a profile."""
    file, record = JsonFile.at(json_file), Trace.load(trace)
    with working("comparing", interactive()):
        rows = beside(record, range(1, seeds + 1), profile, policies or (), episodes)
        halves = {env: tau_of_halves(record, env, episodes) for env in policies or ()}
    plain = [
        {**asdict(row), "twins_further": row.twins_further, "profile_further": row.profile_further}
        for row in rows
    ]
    file.write({"rows": plain, "halves": {env: found._asdict() for env, found in halves.items()}})
    print_table(
        f"{record.meta.source}: its future beside what comes from its past",
        (
            "",
            "future",
            "past",
            *(f"twin {seed}" for seed in range(1, seeds + 1)),
            profile or "",
            "twins further",
            "profile further",
        ),
        [
            (
                *(row.what, shown(row.future), shown(row.past), *map(shown, row.twins)),
                shown(row.profile),
                *(
                    f"{far:+.2f}" if far == far else ""
                    for far in (row.twins_further, row.profile_further)
                ),
            )
            for row in rows
        ],
    )
    for env, found in halves.items():
        print_table(
            f"{env}: Kendall's tau of the two halves of the future", ("tau",), [(shown(found),)]
        )


if __name__ == "__main__":
    typer.run(main)
