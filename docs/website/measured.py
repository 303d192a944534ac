"""What was measured, read from the generated tables of the pages in docs/."""

from __future__ import annotations

from pathlib import Path

from experiments.markdown import generated, tables

__all__ = ["BOARD", "TOP", "best_rule"]

TOP = Path(__file__).parents[2]
BOARD = TOP / "docs" / "results" / "README.md"
"""The page with the scores of the suite, a row for each environment."""


def best_rule(env: str) -> str:
    """The published rule with the highest score on the suite.

    Args:
        env: the environment, without ``failgym/``.

    Raises:
        ValueError: if the board has no such environment.
    """
    head, *rows = tables(generated(BOARD, "board"))[0]
    at = head.index("best rule as published")
    for row in rows:
        if row[0] == f"`failgym/{env}`":
            return row[at].split("`")[1]
    raise ValueError(f"{BOARD}: expected a row of {env}")
