"""The page of power: what the traces of a suite tell."""

from __future__ import annotations

from typing import Any

from experiments.markdown import table
from experiments.power import Totals, power_of, traces_needed
from failgym.leaderboard import SUITES

__all__ = ["power"]

SUITE = "v2"
MATTERS, SHARE, HALF_WIDTH = 3.0, 0.9, 2.0
"""Points, share of pairs, and points that are asked for."""
COLUMNS = (
    *("", "slices of a trace", "traces measured", "needed", f"in `{SUITE}`", "half-width"),
    *("smallest difference", "of the widest tenth", "told apart", "a world", "a rule"),
)


def power(measured: dict[str, Any]) -> str:
    """What `experiments.power` wrote, of as many traces as the suite has."""
    rows: list[list[str]] = []
    for env, found in measured.items():
        totals, seeds = Totals.of_json(found), SUITES[SUITE].course(env).seeds
        here = power_of(totals, len(seeds), MATTERS)
        needed = traces_needed(totals, MATTERS, SHARE, HALF_WIDTH)
        slices = "all" if found["slices"] is None else f"{found['slices']:,}"
        rows.append(
            [
                f"`failgym/{env}`",
                f"{slices}{' by stake' if found['by_stake'] else ''}",
                str(len(found["traces"])),
                "-" if needed is None else f"{needed:,}",
                str(len(seeds)),
                f"{here.half_width:.2f}",
                f"{here.smallest:.1f}",
                f"{here.smallest_wide:.1f}",
                f"{100 * here.told_apart:.0f} %",
                f"{totals.world_seconds.mean():.1f} s",
                f"{totals.rule_seconds.mean():.2f} s",
            ]
        )
    return "\n".join(table(COLUMNS, rows))
