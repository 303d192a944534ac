"""Does the age of an alarm, or of the attempt that it is raised for, tell if it is true?

    python -m experiments.alarm_ages --env failgym/Cloning-v1 [--set FIELD=VALUE ...] [--json FILE]

An alarm is a time in which the risk of an attempt is at least a threshold, window by window. It is
right if the attempt ends badly while it is on: in FAIL, or, if the forecast speaks of ends from
outside too, in EVICT or LOST. Of all alarms that are on at some time in a bin of ages the share
that is right is the precision there. By what an alarm is known the longer it lasts, or the later it
comes, precision changes with age; a bin of at least `ENOUGH` alarms that lies more than `MARGIN`
from the whole of its attempts is marked, with the interval of the difference when jobs are
resampled: alarms of a job are true or false together, and a thousand may be those of a few.

Tasks are asked about at every window; each failure is retried as long as that is legal, so that
there are attempts beyond the record. With ``--traces`` further traces are generated, by the seeds
that follow. Recorded and drawn attempts are told apart, and the first attempt of a task from later
ones: of these two all forecasts may know different shares, and who looks knows which it is, and how
often the task has failed before. FILE keeps the results of all environments, by what they are
called.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer

from experiments.information import MARGIN, called, read, scenario_of, stored
from experiments.visits import Visits, single_tasks, visits
from failgym.cli.output import Cell, JsonFile, print_line, print_table
from failgym.cli.values import assignments
from failgym.comparison.resampling import drawn, interval
from failgym.envs import FIELDS, Scenario
from failgym.traces import Outcome
from failgym.vocabulary import HOUR, MINUTE, Action
from failgym.worlds.build import build_world
from failgym.worlds.forecast import PREDICTORS

__all__ = ["AlarmTable", "Bin", "Group", "alarms_of", "binned", "groups", "raised"]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Floats32 = npt.NDArray[np.float32]

THRESHOLDS = (0.5, 0.9)
MOST_FAILURES = 3
"""Failures of a task that are told apart, as strata do (`failgym.continued`)."""
ENOUGH = 1_000
"""Alarms of a bin that is held against the whole."""
EDGES = (0, 1, 5, 15, 30, 60, 120, 240, 480, 960, 1_920)
"""Of ages [min]; the last bin is open. The first holds what comes with the start."""
RISK, WINDOW = (next(i for i, f in enumerate(FIELDS) if f.name == n) for n in ("risk", "window"))


@dataclass(frozen=True)
class AlarmTable:
    """Alarms, [n] each."""

    right: Bools
    job: Ints
    first: Bools
    """is it of the first attempt of a task?"""
    failures: Ints
    """of the task before the alarm began"""
    drawn: Bools
    """is it of an attempt beyond the record?"""
    since: Ints
    """age of the attempt when it began [ms]"""
    until: Ints
    """and in the last window that it is on [ms]"""

    def of(self, rows: Bools) -> AlarmTable:
        """Some of them."""
        return AlarmTable(**{name: values[rows] for name, values in vars(self).items()})

    def beside(self, other: AlarmTable) -> AlarmTable:
        """These and those of another trace."""
        mine, theirs = vars(self), dict(vars(other))
        theirs["job"] = other.job + int(self.job.max(initial=-1)) + 1
        return AlarmTable(**{name: np.concatenate([mine[name], theirs[name]]) for name in mine})


@dataclass(frozen=True)
class Bin:
    """Alarms that are on at some ages."""

    by: str
    """"attempt" or "alarm": whose age"""
    minutes: int
    """where the bin begins"""
    alarms: int
    precision: float
    low: float
    """of the precision less that of the whole, jobs resampled"""
    high: float

    @property
    def by_chance(self) -> bool:
        """Could the difference be chance?"""
        return self.low <= 0.0 <= self.high


@dataclass(frozen=True)
class Group:
    """Alarms of some attempts."""

    threshold: float
    where: str
    """"recorded" or "drawn" """
    attempts: str
    """"all", "first" or "later"; or "after 1", "after 2" or "after 3+" failures of the task"""
    alarms: int
    precision: float
    """NaN without alarms"""
    bins: tuple[Bin, ...]

    @property
    def uneven(self) -> list[Bin]:
        """Bins of enough alarms that are far from the whole."""
        return [
            one
            for one in self.bins
            if one.alarms >= ENOUGH and abs(one.precision - self.precision) > MARGIN
        ]


class _Retrying:
    """RETRY at every failure, else CONTINUE; windows with a risk are written down."""

    def __call__(
        self, obs: Floats32, mask: Bools, episode: Ints, decision: Ints
    ) -> tuple[Ints, Bools]:
        """See `experiments.visits.Player`."""
        retry = mask[:, int(Action.RETRY)] & (obs[:, WINDOW] == 0.0)
        high = (obs[:, WINDOW] > 0.0) & (obs[:, RISK] >= np.float32(min(THRESHOLDS)))
        return np.where(retry, int(Action.RETRY), int(Action.CONTINUE)), high


def raised(scenario: Scenario, most: int) -> Visits:
    """The windows of all attempts in which an alarm of the lowest threshold is on.

    Args:
        scenario: of the pinned world; its split is not looked at.
        most: tasks that are played, drawn alike from all.
    """
    asked = scenario.override(decide="every", every=1, kill=True, retry=True)
    given = single_tasks(asked, "all")
    slices = np.random.default_rng(0).permutation(build_world(given).slices)[:most]
    return visits(given, np.sort(slices).astype(np.int64), ("risk", "failures"), _Retrying())


def alarms_of(found: Visits, threshold: float, window: int, outside: bool) -> AlarmTable:
    """The alarms in windows of risk.

    Args:
        found: windows, in any order, all of those with at least the threshold.
        threshold: of the risk.
        window: [ms].
        outside: do alarms speak of ends from outside too?
    """
    v = found.of(found.seen[:, 0] >= np.float32(threshold))
    v = v.of(np.lexsort((v.age, v.number, v.task)))
    place = v.age // window
    follows = np.zeros(len(place), dtype=np.bool_)
    follows[1:] = (
        (v.task[1:] == v.task[:-1]) & (v.number[1:] == v.number[:-1]) & (np.diff(place) == 1)
    )
    begin = np.flatnonzero(~follows)
    last = np.append(begin[1:], len(place))[: len(begin)] - 1
    badly = (Outcome.FAIL, Outcome.EVICT, Outcome.LOST) if outside else (Outcome.FAIL,)
    at_end = place[last] == (np.maximum(v.life[last], 1) - 1) // window
    return AlarmTable(
        right=at_end & np.isin(v.ended[last], badly),
        job=v.job[begin],
        first=v.before[begin] == 0,
        failures=np.rint(np.exp2(v.seen[begin, 1]) - 1.0).astype(np.int64),
        drawn=v.drawn[begin],
        since=v.age[begin],
        until=v.age[last],
    )


def binned(alarms: AlarmTable, window: int) -> Iterator[Bin]:
    """Precision by age of attempt and of alarm; bins without alarms are left out.

    Args:
        alarms: of some attempts.
        window: [ms]; an alarm is seen at whole multiples of it.
    """
    edges = [*(edge * MINUTE for edge in EDGES), np.iinfo(np.int64).max]
    ages = {"attempt": alarms.since, "alarm": np.zeros_like(alarms.since)}
    for by, begin in ages.items():
        end = begin + (alarms.until - alarms.since)
        for low, high in pairwise(edges):
            least = -(-np.maximum(begin, low) // window) * window  # first moment in the bin
            here = (least < high) & (least <= end)
            if here.any():
                low_end, high_end = _difference(alarms, here)
                right = float(alarms.right[here].mean())
                yield Bin(by, low // MINUTE, int(here.sum()), right, low_end, high_end)


def _difference(alarms: AlarmTable, here: Bools) -> tuple[float, float]:
    """Interval of the precision of some alarms less that of all, jobs resampled."""
    jobs, of = np.unique(alarms.job, return_inverse=True)
    columns = (here & alarms.right, here, alarms.right, np.ones(len(of)))
    sums = np.stack([np.bincount(of, column, len(jobs)) for column in columns], axis=1)
    samples = drawn(len(jobs), 0) @ sums
    some = samples[:, 1] > 0.0
    found = samples[some, 0] / samples[some, 1] - samples[some, 2] / samples[some, 3]
    value = float(alarms.right[here].mean() - alarms.right.mean())
    _, low, high = interval(value, found, len(jobs))
    return low, high


def groups(scenario: Scenario, most: int, traces: int = 1) -> Iterator[Group]:
    """The alarms of a scenario, by threshold and attempts.

    Args:
        scenario: of the pinned world.
        most: tasks that are played of each trace.
        traces: how many; those behind the first are of the seeds that follow.
    """
    tables, outside = dict[float, AlarmTable](), _speaks_of_outside(scenario)
    for number in range(traces):
        found = raised(replace(scenario, trace_seed=scenario.trace_seed + number), most)
        for threshold in THRESHOLDS:
            table = alarms_of(found, threshold, scenario.window, outside)
            tables[threshold] = tables[threshold].beside(table) if number else table
    for threshold, table in tables.items():
        for where, beyond in (("recorded", False), ("drawn", True)):
            of = table.drawn == beyond
            parts = {"all": of, "first": of & table.first, "later": of & ~table.first}
            for past in range(1, MOST_FAILURES + 1):
                same = np.minimum(table.failures, MOST_FAILURES) == past
                parts[f"after {past}{'+' * (past == MOST_FAILURES)}"] = of & same
            for attempts, rows in parts.items():
                some = table.of(rows)
                share = float(some.right.mean()) if rows.any() else float("nan")
                bins = tuple(binned(some, scenario.window))
                yield Group(threshold, where, attempts, int(rows.sum()), share, bins)


def _speaks_of_outside(scenario: Scenario) -> bool:
    """Do its alarms speak of ends from outside too?"""
    named = scenario.forecast
    made = PREDICTORS[named](scenario) if isinstance(named, str) and named in PREDICTORS else named
    return bool(getattr(made, "outside", False))


def groups_in(content: Sequence[dict[str, Any]]) -> list[Group]:
    """The groups of an environment that `main` kept."""
    found = list[Group]()
    for one in content:
        bins = tuple(Bin(**read(each)) for each in one["bins"])
        said: dict[str, Any] = {**read(one), "bins": bins}
        found.append(Group(**said))
    return found


def cells_of(found: Sequence[Group]) -> list[list[str]]:
    """The lines of a table: precision of all, the lowest and the highest of bins of enough alarms,
    and those that are far from the whole.
    """
    lines: list[list[str]] = []
    for group in found:
        if not group.alarms:
            continue
        spans = [_span(group, by) for by in ("attempt", "alarm")]
        odd = ", ".join(map(_odd, group.uneven))
        lines.append(
            [
                f"{group.threshold:g}",
                group.where,
                group.attempts,
                f"{group.alarms:,}",
                f"{group.precision:.2f}",
                *spans,
                odd or "none",
            ]
        )
    return lines


def _odd(one: Bin) -> str:
    """A bin that is far from the whole."""
    chance = ", may be chance" if one.by_chance else ""
    return f"{one.by} {age(one.minutes)}: {one.precision:.2f} ({one.alarms:,} alarms{chance})"


def _span(group: Group, by: str) -> str:
    """Lowest and highest precision of the bins of enough alarms."""
    some = [one.precision for one in group.bins if one.by == by and one.alarms >= ENOUGH]
    return f"{min(some):.2f} to {max(some):.2f} ({len(some)})" if some else "too few"


def age(minutes: int) -> str:
    """The beginning of a bin, in words."""
    hours = minutes * MINUTE // HOUR
    return f"from {hours} h" if hours else f"from {minutes} min"


COLUMNS = (
    *("risk from", "attempts", "number", "alarms", "precision"),
    *("by age of attempt (bins)", "by age of alarm (bins)", "far from the whole"),
)


def main(
    env: Annotated[str, typer.Option(help="id of an environment")] = "failgym/Cloning-v1",
    set_: Annotated[list[str] | None, typer.Option("--set", metavar="FIELD=VALUE")] = None,
    most: Annotated[int, typer.Option(min=1, help="tasks played of each trace")] = 200_000,
    traces: Annotated[int, typer.Option(min=1, help="how many, by seed")] = 1,
    json_: Annotated[Path | None, typer.Option("--json", dir_okay=False)] = None,
) -> None:
    """Print the precision of alarms by their age and by that of attempts."""
    file, said = JsonFile.at(json_), assignments(set_ or [], "--set")
    found = list(groups(scenario_of(env, said), most, traces))
    name = called(env, said)
    stored(file, name, [asdict(group) for group in found])
    lines: list[tuple[Cell, ...]] = [tuple(line) for line in cells_of(found)]
    print_table(name, COLUMNS, lines)
    print_line(f"bins of at least {ENOUGH:,} alarms; far: more than {MARGIN}")


if __name__ == "__main__":
    typer.run(main)
