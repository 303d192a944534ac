"""The page of agents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from experiments.markdown import table
from experiments.result_tables.cells import estimate, shown

__all__ = ["agents"]


def agents(rows: Sequence[dict[str, Any]]) -> str:
    """Agents beside the best rule, as `experiments.agents_and_rules` wrote them."""
    columns = ["", "judged on", "slices", "trained by", "agents", "best rule", "agents above it"]
    cells = [
        [
            f"`failgym/{row['env']}`",
            f"{row['place']}",
            f"{row['slices']:,}",
            f"`{row.get('algorithm', 'maskable_ppo')}`",
            estimate(row["agents"]),
            f"`{row['rule']}` {estimate(row['rule_score'])}",
            estimate(row["above"]),
        ]
        for row in rows
        if shown(row["env"])
    ]
    return "\n".join(table(columns, cells))
