"""Figures are written into the pages of results where they belong."""

from __future__ import annotations

import pytest

from experiments.markdown import replaced
from experiments.results_pages import agents


def test_agents_stand_beside_the_best_rule() -> None:
    def interval(value: float) -> list[float]:
        return [value, value - 1.0, value + 1.04]

    row = {
        "env": "Cloning-v0",
        "place": "20 unseen traces",
        "slices": 1234,
        "agents": interval(21.0),
        "rule": "algorithm_1 tuned",
        "rule_score": interval(-0.04),
        "above": interval(21.04),
    }
    assert agents([row]).splitlines()[2] == (
        "| `failgym/Cloning-v0` | 20 unseen traces | 1,234 | 21.0 [20.0, 22.0]"
        " | `algorithm_1 tuned` 0.0 [-1.0, 1.0] | 21.0 [20.0, 22.1] |"
    )


def test_only_what_stands_between_the_comments_is_replaced() -> None:
    text = "a\n<!-- x -->\nold\n<!-- /x -->\nb\n"
    assert replaced(text, "x", "new") == "a\n<!-- x -->\nnew\n<!-- /x -->\nb\n"
    with pytest.raises(ValueError, match=r"expected <!-- y --> and <!-- /y --> once"):
        replaced(text, "y", "new")
