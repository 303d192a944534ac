"""Figures are written into the pages of results where they belong."""

from __future__ import annotations

import pytest

from experiments.markdown import replaced
from experiments.results_pages import agents, scores, speed
from failgym.envs import SCENARIOS


def test_agents_stand_beside_the_best_rule() -> None:
    def interval(value: float) -> list[float]:
        return [value, value - 1.0, value + 1.04]

    row = {
        "env": "Cloning-v1",
        "place": "20 unseen traces",
        "slices": 1234,
        "agents": interval(21.0),
        "rule": "algorithm_1 tuned",
        "rule_score": interval(-0.04),
        "above": interval(21.04),
    }
    assert agents([row]).splitlines()[2] == (
        "| `failgym/Cloning-v1` | 20 unseen traces | 1,234 | 21.0 [20.0, 22.0]"
        " | `algorithm_1 tuned` 0.0 [-1.0, 1.0] | 21.0 [20.0, 22.1] |"
    )


def test_what_is_not_released_stands_on_no_page(monkeypatch: pytest.MonkeyPatch) -> None:
    released, new = "Cloning-v1", "Batch-v0"
    monkeypatch.setitem(SCENARIOS, new, SCENARIOS[released].override(name=new))
    row = {"policy": "young", "score": 1.0, "low": 0.0, "high": 2.0}
    demo = {"environments": {f"failgym/{env}": [row] for env in (released, new)}}
    rates = [
        {"id": env, "episodes": 1, "decisions_per_second": 5.0, "of_cartpole": 0.5}
        for env in (f"failgym/{released}", f"failgym/{new}", "CartPole-v1")
    ]
    measured = {"rates": rates, "effort": {"settings": {}}, "first_step": {}, "whole_trace": {}}
    assert scores(demo).splitlines()[0] == f"| policy | `failgym/{released}` |"
    told = speed(measured)
    assert "CartPole-v1" in told
    assert new not in told


def test_only_what_stands_between_the_comments_is_replaced() -> None:
    text = "a\n<!-- x -->\nold\n<!-- /x -->\nb\n"
    assert replaced(text, "x", "new") == "a\n<!-- x -->\nnew\n<!-- /x -->\nb\n"
    with pytest.raises(ValueError, match=r"expected <!-- y --> and <!-- /y --> once"):
        replaced(text, "y", "new")
