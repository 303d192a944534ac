"""The page of sensitivity: how rankings hold, and where they turn over."""

from __future__ import annotations

from typing import Any

from experiments import sensitivity as rankings
from experiments.markdown import table
from failgym.envs import SCENARIOS
from failgym.vocabulary import TERMS

__all__ = ["clones", "sensitivity", "turns"]

SURE = 0.7
"""Kendall's tau-b below which both rankings are shown."""


def sensitivity(content: dict[str, Any]) -> str:
    """How rankings hold when a constant is another, as `experiments.sensitivity` wrote it.

    A table for each environment, rules in the order in which they rank there; below `SURE` the
    whole ranking.
    """
    return "\n\n".join(
        "\n".join(_rankings(env, content[env])) for env in SCENARIOS if env in content
    )


def _rankings(env: str, found: dict[str, Any]) -> list[str]:
    """What the changes of an environment come to."""
    rows = rankings.rows_of(found)
    plain, *changed = rows
    said = [f"`{name}={value}`" for name, value in found["fields"].items()]
    said += [f"{found['episodes']} slices of each"] if found["episodes"] else []
    lines = [f"### {env}", "", f"{', '.join([*said, f'{plain.traces} traces'])}.", ""]
    shown = [plain, *(row for row in changed if row.alters)]
    cells = [[row.name, row.tau.text, *_scored(row, plain)] for row in shown]
    lines += [*table(["constant", "tau-b", *(f"`{rule}`" for rule in plain.scores)], cells), ""]
    idle = [row.name for row in changed if not row.alters]
    if idle:
        seen = max(row.traces for row in changed if not row.alters)
        lines.append(f"- On {seen} traces nothing at all is altered by: {', '.join(idle)}.")
    wide = [row.name for row in shown if row.tau.half_width > rankings.WIDTH]
    if wide:
        lines.append(
            f"- Wider than {2.0 * rankings.WIDTH:.1f} are the intervals of {', '.join(wide)}."
        )
    turned = [row for row in shown if row.tau.value < SURE]
    whole = [plain, *turned] if turned else []
    return [*lines, *(f"- {row.name}: {row.best(len(row.scores))}." for row in whole)]


def _scored(row: rankings.Row, plain: rankings.Row) -> list[str]:
    """The score of each rule, in the order in which they rank as it is."""
    return [f"{round(row.scores[rule], 1) + 0.0:.1f}" for rule in plain.scores]


def turns(content: dict[str, Any]) -> str:
    """Where rankings turn over, and who is best before and after."""
    cells = list[list[str]]()
    for env in (env for env in SCENARIOS if env in content):
        plain, *changed = rankings.rows_of(content[env])
        turned = [row for row in changed if row.tau.value < SURE]
        cells += [[f"`{env}`", r.name, r.tau.text, plain.best(1), r.best(1)] for r in turned]
        if not turned:
            least = min(changed, key=lambda row: row.tau.value)
            cells.append([f"`{env}`", f"none: least {least.name}", least.tau.text])
            cells[-1] += [plain.best(1), least.best(1)]
    return "\n".join(table(["", "constant", "tau-b", "best rule", "best there"], cells))


PAID = ("wasted", "completion", "forfeited")
"""What is charged for in Cloning-v1."""


def clones(content: dict[str, Any]) -> str:
    """What `algorithm_1` costs with alarms, for which it clones, and without, where it does not."""
    found = content["Cloning-v1"]["traces"].values()
    shown = (
        ("replay", "as it is", "replay"),
        ("`algorithm_1`, no forecast: it only retries", "no forecast", "algorithm_1"),
        ("`algorithm_1`, alarms: it clones, too", "as it is", "algorithm_1"),
    )
    cells = list[list[str]]()
    for name, change, rule in shown:
        of_traces = [one[change]["costs"][rule] for one in found]
        costs = [sum(terms) for terms in zip(*of_traces, strict=True)]
        paid = [costs[TERMS.index(term)] for term in PAID]
        cells.append([name, *(f"{cost:,.0f}" for cost in (*paid, sum(costs)))])
    lines = table(["", *PAID, "all"], cells)
    return "\n".join([f"On {len(found)} traces, in units of the environment:", "", *lines])
