"""The pages of intervals and of twins: what simulations and records say of their promises."""

from __future__ import annotations

import math
from typing import Any

from experiments import interval_simulation
from experiments.markdown import table
from experiments.ranks_carry_over import ASKED
from experiments.record_twins import shown
from failgym.comparison import Measured

__all__ = ["carried_over", "simulation"]


def simulation(content: dict[str, Any]) -> str:
    """How often intervals held a known truth, as `experiments.interval_simulation` wrote it."""
    rows = [interval_simulation.cells(interval_simulation.Held(**row)) for row in content["rows"]]
    return "\n".join(table(interval_simulation.TITLES, rows))


def carried_over(content: dict[str, Any]) -> str:
    """Taus of twins over those of halves, as `experiments.ranks_carry_over` wrote them."""
    cells = [
        [
            f"{row['record']}, `{row['environment'].removeprefix('failgym/')}`",
            *(f"{row['jobs']:,}", str(len(row["rules"]))),
            *(shown(_measured(row[name])) for name in ("halves", "twins", "ratio", "past_ratio")),
            _verdict(_measured(row["halves"]), _measured(row["ratio"])),
        ]
        for row in content["records"].values()
    ]
    titles = ("", "jobs played of the future", "rules", "halves", "twins", "twins / halves")
    return "\n".join(table([*titles, "past / halves", f"{ASKED:g} kept?"], cells))


def _measured(found: list[float | None]) -> Measured:
    return Measured(*(math.nan if each is None else each for each in found))


def _verdict(halves: Measured, ratio: Measured) -> str:
    """Is it kept? Where halves may agree no better than chance nothing can be asked."""
    if not halves.low > 0.0:
        return "not told"
    kept = ratio.value >= ASKED
    sure = ratio.low >= ASKED if kept else ratio.high < ASKED
    return ("yes" if kept else "no") + ("" if sure else ", not surely")
