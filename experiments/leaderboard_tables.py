"""What the run of a suite found, as tables in Markdown.

    python -m experiments.results_pages --leaderboard DIR

A summary has the highest scores of a rule as published, of a tuned one and of trained agents, as
far as they were played. Of many rules the highest score on these very slices is a lucky one: what
agents are above it errs against them. Then a table for each environment: the score of every policy
with drawn forecasts, with trained ones and with none, and the 95 % intervals over blocks of jobs
and training runs, as on the page of the leaderboard.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from experiments.markdown import interval, table
from failgym.evaluation.result import FEW
from failgym.evaluation.room import MARK, NOTHING
from failgym.leaderboard.page.cells import Failure, Field, fields_of
from failgym.leaderboard.page.source import Source
from failgym.leaderboard.statistics.bootstrap import Bootstrap, Estimate

PUBLISHED, TUNED, AGENTS = "as published", "tuned", "agents"
COLUMNS = ("", "forecast", PUBLISHED, TUNED, AGENTS, "agents above all rules")
"""Of the summary."""
NOT_PLAYED = ""
_Best = tuple[str, Estimate] | None
"""A policy and its score, if there is one."""


class Place(NamedTuple):
    """An environment with one kind of forecast."""

    field: Field
    number: int
    """of the environment among those with this kind: names its stream of draws, as on the page"""

    def score(self, policy: str) -> Estimate | None:
        """The score of a policy, if it has one and there is something to gain."""
        cell = self.field.cell(policy)
        if cell is None or not cell.runs.scored():
            return None
        return Bootstrap().score(cell.runs, self.number)

    def best(self, policies: list[str]) -> _Best:
        """The policy with the highest score, if any has one."""
        found = [(name, score) for name in policies if (score := self.score(name)) is not None]
        return max(found, key=lambda one: one[1].value, default=None)

    def above(self, policy: str, other: str) -> Estimate:
        """The score of one policy less that of another, in pairs."""
        ours, theirs = self.field.cell(policy), self.field.cell(other)
        if ours is None or theirs is None:
            return Estimate(math.nan, math.nan, math.nan)
        return Bootstrap().difference([ours.runs], [theirs.runs], first=self.number)


def places(source: Source) -> list[Place]:
    """All of them, environment after environment."""
    fields = fields_of([source])
    numbers: dict[str, int] = {}
    found: list[Place] = []
    for field in fields:
        numbers[field.forecast] = numbers.get(field.forecast, -1) + 1
        found.append(Place(field, numbers[field.forecast]))
    envs = list(dict.fromkeys(field.env for field in fields if field.forecast == "none"))
    return sorted(found, key=lambda place: envs.index(place.field.env))


def groups(source: Source) -> dict[str, list[str]]:
    """Names of policies: rules as published and as tuned, which come from files, and agents."""
    found: dict[str, dict[str, None]] = {PUBLISHED: {}, TUNED: {}, AGENTS: {}}
    for entry in source.entries:
        rule = TUNED if entry.files else PUBLISHED
        found[AGENTS if entry.kind == "agent" else rule][entry.name] = None
    return {group: list(names) for group, names in found.items()}


def summary(source: Source) -> list[str]:
    """The lines of a table with a row for each environment and kind of forecast; columns of what
    was not played are left out.
    """
    by_group = groups(source)
    rows: list[list[str]] = []
    for place in places(source):
        best = {group: place.best(names) for group, names in by_group.items()}
        rows.append(
            [
                *(f"`failgym/{place.field.env}`", place.field.forecast),
                *(_named(place, best[group]) for group in by_group),
                _above(place, best[AGENTS], best[PUBLISHED], best[TUNED]),
            ]
        )
    played = [at for at in range(len(COLUMNS)) if any(row[at] != NOT_PLAYED for row in rows)]
    shown = table([COLUMNS[at] for at in played], [[row[at] for at in played] for row in rows])
    return [*shown, *warnings(places(source))]


def _named(place: Place, found: _Best) -> str:
    return NOT_PLAYED if found is None else f"`{found[0]}` {marked(place, interval(found[1]))}"


def _above(place: Place, agents: _Best, *rules: _Best) -> str:
    """How much the agents are above the best rule, published or tuned."""
    rule = max(filter(None, rules), key=lambda one: one[1].value, default=None)
    if agents is None or rule is None:
        return NOT_PLAYED
    return interval(place.above(agents[0], rule[0]))


def complete(source: Source) -> Iterator[str]:
    """The lines of all tables, by environment; policies with the highest scores first."""
    by_env: dict[str, list[Place]] = {}
    for place in places(source):
        by_env.setdefault(place.field.env, []).append(place)
    for env, here in by_env.items():
        names = list(dict.fromkeys(name for place in here for name in place.field.outcomes))
        names.sort(key=lambda name: -_value(here[0], name))
        yield from ("", f"## failgym/{env}", "")
        columns = ["policy", "runs", *(place.field.forecast for place in here)]
        yield from table(columns, [_row(here, name) for name in names])
        yield from warnings(here)


def marked(place: Place, score: str) -> str:
    """A score with a sign behind it if the room is little."""
    value, space, limits = score.partition(" ")
    return rf"{value}\{MARK}{space}{limits}" if place.field.room.warning else score


def warnings(here: Sequence[Place]) -> list[str]:
    """A line under a table for each place whose scores are marked."""
    said = [(place.field, place.field.room.warning) for place in here]
    found = [rf"\{MARK} `{of.env}`, {of.forecast}: {text}." for of, text in said if text]
    return [line for text in found for line in ("", text)]


def _value(place: Place, name: str) -> float:
    score = place.score(name)
    return -math.inf if score is None else score.value


def _row(here: list[Place], name: str) -> list[str]:
    cells = [cell for place in here if (cell := place.field.cell(name)) is not None]
    runs = str(len(cells[0].runs.saved)) if cells else ""
    return [f"`{name}`", runs, *(_cell(place, name) for place in here)]


def _cell(place: Place, name: str) -> str:
    score, outcome = place.score(name), place.field.outcomes.get(name)
    if isinstance(outcome, Failure):
        return f"{outcome.status}: {outcome.reason}"
    if outcome is not None and score is None:
        return NOTHING
    if score is None:
        return NOT_PLAYED
    blocks = len(place.field.blocks.trace)
    return marked(place, interval(score)) + (f" ({blocks} blocks)" if blocks < FEW else "")
