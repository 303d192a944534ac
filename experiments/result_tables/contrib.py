"""What was measured with other libraries: RLlib's agents, and off-policy estimates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from experiments.markdown import table
from experiments.off_policy import Row, error, groups
from experiments.result_tables.cells import estimate
from failgym.contrib.off_policy import ESTIMATORS

__all__ = ["off_policy", "rllib"]


def rllib(rows: Sequence[dict[str, Any]]) -> str:
    """Agents of RLlib beside the heuristic of the paper, as `experiments.rllib_ppo` wrote them."""
    columns = [
        *("", "decisions", "time", "cost by RLlib", "by `evaluate`", "unseen traces", "agent"),
        *("heuristic of the paper", "agents above it"),
    ]
    cells = [
        [
            f"`failgym/{row['env']}`",
            f"{row['decisions']:,}",
            f"{row['seconds']:.0f} s",
            f"{row['rllib_cost']:.6f}",
            f"{row['cost']:.6f}",
            f"{row['traces']}",
            f"{row['agent']:.1f}",
            f"`{row['rule']}` {estimate(row['rule_score'])}",
            estimate(row["above"]),
        ]
        for row in rows
    ]
    return "\n".join(table(columns, cells))


def off_policy(rows: Sequence[dict[str, Any]]) -> str:
    """Errors of estimators, as `experiments.off_policy` wrote them."""
    columns = ["", "policy", "data sets", "agrees", "exact value", "mean return", *ESTIMATORS]
    cells = [
        [
            f"`failgym/{env}`",
            f"`{target}`",
            f"{len(some)}",
            f"{100 * sum(row.agreement for row in some) / len(some):.0f} %",
            f"{some[0].exact:.3f}",
            f"{error(some, None):.3f}",
            *(f"{error(some, name):.3f}" for name in ESTIMATORS),
        ]
        for (env, target), some in groups([Row(**row) for row in rows]).items()
    ]
    return "\n".join(table(columns, cells))
