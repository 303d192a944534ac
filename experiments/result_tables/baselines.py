"""The page of baselines: their scores, what measures gain alone, what tuning makes of them."""

from __future__ import annotations

from typing import Any

from experiments import measures_alone
from experiments.markdown import table
from experiments.result_tables.cells import estimate, interval, percent, shown
from failgym.envs import SCENARIOS
from failgym.evaluation.result import plural

__all__ = ["measures", "scores", "tuned"]

_BOUNDS = {"clairvoyant": "the clairvoyant", "bound": "a bound"}
"""In words."""


def scores(measured: dict[str, Any]) -> str:
    """Every rule in every environment, as `experiments.baseline_scores` wrote them."""
    known = [measured[env] for env in filter(shown, SCENARIOS) if env in measured]
    return "\n\n".join(map(_scores, known))


def _scores(found: dict[str, Any]) -> str:
    """The table of an environment, below what it is of."""
    first, last = found["seeds"]
    columns = ["policy", "fresh traces", "below the best", "registered trace"]
    cells = [
        [f"`{row['policy']}`", *(estimate(row[name]) for name in ("fresh", "below", "registered"))]
        for row in found["rows"]
    ]
    said = (
        f"`failgym/{found['env']}`: traces {first} to {last}, {found['slices']:,} slices"
        f"{'' if found['drawn'] is None else ' drawn'},"
        f" {found['units']:,} {plural(found['unit'], found['units'])}. 100 is"
        f" {_BOUNDS[found['bound']]}. Room: {percent(found['room'])} of replay's machine-time,"
        f" {percent(found['room_of_cost'])} of its cost; on the registered trace"
        f" {percent(found['registered_room'])} of the machine-time."
    )
    return "\n".join([said, "", *table(columns, cells)])


def measures(content: dict[str, Any]) -> str:
    """What each measure gains alone, as `experiments.measures_alone` wrote it."""
    cells = [
        [gain.name, *(estimate(value) for value in (gain.of_bound, gain.of_found))]
        for gain in measures_alone.gains_of(content)
    ]
    columns = ["oracle", "of what the bound saves", "of what was found"]
    said = f"`{content['env']}`, {len(content['slices'])} slices:"
    return "\n".join([said, "", *table(columns, cells)])


def tuned(measured: dict[str, Any]) -> str:
    """The best of each kind in every environment, as `experiments.tuned` wrote them."""
    rows = [
        [
            f"`failgym/{env}`",
            f"{found['trials']} on {found['slices'] or 'all'}",
            f"{sum(row['adopted'] for row in found['rows'])} of"
            f" {sum(row['tuned'] for row in found['rows'])}",
            *(_named(found["best"], kind) for kind in ("papers", "newer", "tuned")),
            interval(found["best"]["gain"]),
        ]
        for env in filter(shown, SCENARIOS)
        if (found := measured.get(env))
    ]
    columns = ["", "trials, slices", "adopted", "of the papers", "newer", "tuned", "gain"]
    return "\n".join(table(columns, rows))


def _named(best: dict[str, Any], kind: str) -> str:
    """The best of a kind and its score; nothing if there is none of the kind."""
    name = best[kind]
    return f"`{name}` {interval(best[f'{kind}_score'])}" if name else ""
