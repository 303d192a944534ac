"""The page of speed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from experiments.markdown import table
from experiments.result_tables.cells import shown
from failgym.envs import SCENARIOS

__all__ = ["agent_speed", "speed"]

SINGLE = 1
"""Episodes of an environment that `gym.make` makes."""


def speed(measured: dict[str, Any]) -> str:
    """Rates, times to the first step and the whole trace, as `experiments.speed` wrote them."""
    rates: dict[str, dict[int, str]] = {}
    for row in measured["rates"]:
        if not shown(row["id"]):
            continue
        cell = f"{row['decisions_per_second']:,.0f} ({row['of_cartpole']:.2g})"
        rates.setdefault(row["id"], {})[row["episodes"]] = cell
    sizes = sorted({size for by_size in rates.values() for size in by_size})
    columns = ["decisions/s", *("single" if n == SINGLE else f"{n} episodes" for n in sizes)]
    rows = [[f"`{env}`", *(by[n] for n in sizes)] for env, by in rates.items()]
    notes = [*_settings(measured), *_first_step(measured), *_whole_trace(measured)]
    return "\n".join([*table(columns, rows), "", *notes])


def _settings(measured: dict[str, Any]) -> list[str]:
    """Which environments were not measured as registered."""
    settings: dict[str, dict[str, Any]] = measured["effort"]["settings"]
    return [
        f"- {name} with {', '.join(f'`{field}={value}`' for field, value in fields.items())}."
        for name, fields in settings.items()
    ]


def _first_step(measured: dict[str, Any]) -> list[str]:
    """From a fresh Python to the first step, the slowest of each world."""
    lines: list[str] = []
    for kind in ("pinned", "scheduled"):
        starts: list[dict[str, float]]
        starts = [times for env, times in measured["first_step"].items() if world(env) == kind]
        if not starts:
            continue
        warm = max(times["warm"] for times in starts)
        cold = [times["cold"] for times in starts if "cold" in times]
        compiled = f"; {max(cold):.0f} s where nothing is compiled yet" if cold else ""
        lines.append(
            f"- From a fresh Python to the first step, {kind} world: {warm:.1f} s{compiled}."
        )
    return lines


def world(env: str) -> str:
    """The world of an environment: "pinned" or "scheduled"."""
    return SCENARIOS[env.removeprefix("failgym/")].world


def _whole_trace(measured: dict[str, Any]) -> list[str]:
    whole = measured["whole_trace"]
    if not whole:
        return []
    return [
        f"- Algorithm 1 over {whole['tasks']:,} tasks of Google's trace, asked at every window"
        f" while it may still clone ({whole['decisions']:,} decisions):"
        f" {whole['seconds']:.1f} s, {whole['decisions_per_second']:,.0f} decisions/s,"
        f" {whole['tasks_per_second']:,.0f} tasks/s."
    ]


def agent_speed(rows: Sequence[dict[str, Any]]) -> str:
    """How fast agents answer, as `experiments.agent_speed` wrote it."""
    sizes = sorted({size for row in rows for size in row["rates"]}, key=int)
    lines = [
        [
            *(f"`failgym/{row['env']}`", f"`{row['agent']}`"),
            *(f"{row['rates'][size]:,.0f}" for size in sizes),
        ]
        for row in rows
        if shown(row["env"])
    ]
    return "\n".join(table(["", "agent", *(f"{int(size):,} at once" for size in sizes)], lines))
