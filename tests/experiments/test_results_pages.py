"""Figures are written into the pages of results where they belong."""

from __future__ import annotations

from typing import Any

import pytest

from experiments.compute_curves import TUNED
from experiments.markdown import replaced
from experiments.result_tables.agents import agents, curves
from experiments.result_tables.baselines import measures, scores, tuned
from experiments.result_tables.random_rules import ablations, random_rules
from experiments.result_tables.speed import speed
from failgym.envs import SCENARIOS


def test_agents_stand_beside_the_best_rule() -> None:
    def interval(value: float) -> list[float]:
        return [value, value - 1.0, value + 1.04]

    row = {
        "env": "Cloning-v1",
        "place": "20 unseen traces",
        "slices": 1234,
        "agents": interval(21.0),
        "runs": {"maskable_ppo-0": 22.04, "maskable_ppo-1": 19.96},
        "rule": "algorithm_1 tuned",
        "rule_score": interval(-0.04),
        "above": interval(21.04),
    }
    alone = {**row, "runs": {"maskable_ppo-0": 21.0}}
    start = "| `failgym/Cloning-v1` | 20 unseen traces | 1,234 | `maskable_ppo`"
    end = "| `algorithm_1 tuned` 0.0 [-1.0, 1.0] | 21.0 [20.0, 22.1] |"
    assert agents([row, alone]).splitlines()[2:] == [
        f"{start} | 2 | 21.0 [20.0, 22.0] | 20.0 to 22.0 {end}",
        f"{start} | 1 | 21.0 [20.0, 22.0] |  {end}",
    ]


def test_curves_go_by_what_was_computed_from_the_rule_as_published_on() -> None:
    def point(learner: str, given: str, seconds: float) -> dict[str, Any]:
        return {"learner": learner, "given": given, "seconds": seconds} | {
            **{"score": seconds / 10.0, "low": -1.0, "high": 99.0}
        }

    points = [point("maskable_ppo", "20 decisions", 1_200.0), point(TUNED, "8 trials", 90.0)]
    points += [point("maskable_ppo", "10 decisions", 600.4)]
    found = {"rule": "flaw", "as_published": [46.8, 45.0, 48.0], "points": points}
    assert curves({"Workflow-v1": found}).splitlines()[2:] == [
        "| `failgym/Workflow-v1` | `flaw` | as published | 0 | 46.8 [45.0, 48.0] |",
        "| `failgym/Workflow-v1` | `maskable_ppo` | 10 decisions | 600 | 60.0 [-1.0, 99.0] |",
        "| `failgym/Workflow-v1` | `maskable_ppo` | 20 decisions | 1,200 | 120.0 [-1.0, 99.0] |",
        "| `failgym/Workflow-v1` | `flaw` | 8 trials | 90 | 9.0 [-1.0, 99.0] |",
    ]


def test_a_random_rule_stands_beside_the_best_two_that_are_shipped() -> None:
    rule = {
        **dict.fromkeys(("first", "below", "above"), "age"),
        **dict.fromkeys(("first_above", "below_above", "above_above"), 2.0),
        "window": "nothing nothing nothing kill",
    }
    rows = [
        {"policy": name, "score": [score, score - 9.0, score + 9.0], "below": below}
        for name, score, below in (
            ("random rule", 50.0, [-10.0, -12.0, -8.0]),
            ("young", 40.0, [0.0, 0.0, 0.0]),
            ("daly", 39.0, [1.0, -0.5, 2.5]),
            ("replay", 0.0, [40.0, 30.0, 50.0]),
        )
    ]
    found = {
        "rule": rule,
        "traces": [5, 6],
        "best": "young",
        "above": [10.0, 8.0, 12.0],
        "scores": rows,
    }
    last, first = "failgym/Checkpoint-v1", "failgym/Cloning-v1"
    told = random_rules({last: found, first: found}).splitlines()
    cells = (
        "50.0 [41.0, 59.0] | `young` 40.0 [31.0, 49.0] | `daly` 39.0 [30.0, 48.0]"
        " | 10.0 [8.0, 12.0] | 2"
    )
    assert told[2:4] == [f"| `{env}` | {cells} |" for env in (first, last)]
    assert (
        f"- `{last}`: not `age` > 3 min: nothing; `age` > 3 min: kill if `age` > 3 min, else"
        " nothing." in told
    )
    assert told[-1] == f"- `{last}`: beside `young`, `daly` (1.0 [-0.5, 2.5])."


def test_ablations_are_paired_with_the_policy_as_it_is() -> None:
    row: dict[str, Any] = {"policy": "young", "variant": "no clones"}
    row |= {"score": [1.0, 0.0, 2.0], "above": [-0.04, -1.0, 1.0]}
    assert ablations({"rows": [row]}).splitlines()[2] == (
        "| `young` | no clones | 1.0 [0.0, 2.0] | 0.0 [-1.0, 1.0] |"
    )


def test_what_is_not_released_stands_on_no_page(monkeypatch: pytest.MonkeyPatch) -> None:
    released, new = "Cloning-v1", "Batch-v0"
    monkeypatch.setitem(SCENARIOS, new, SCENARIOS[released].override(name=new))
    row = {name: [1.0, 0.0, 2.0] for name in ("fresh", "below", "registered")}
    found = {
        **{
            "seeds": [4, 5],
            "slices": 7_000,
            "drawn": 70,
            "units": 1,
            "unit": "job",
            "bound": "bound",
        },
        **{"room": 0.2, "room_of_cost": 0.3, "registered_room": 0.4},
        "rows": [{"policy": "young", **row}],
    }
    rates = [
        {"id": env, "episodes": 1, "decisions_per_second": 5.0, "of_cartpole": 0.5}
        for env in (f"failgym/{released}", f"failgym/{new}", "CartPole-v1")
    ]
    measured = {"rates": rates, "effort": {"settings": {}}, "first_step": {}, "whole_trace": {}}
    told = scores({env: {"env": env, **found} for env in (released, new)}).splitlines()
    assert told[0] == (
        f"`failgym/{released}`: traces 4 to 5, 7,000 slices drawn, 1 job. 100 is a bound. Room:"
        " 20.0 % of replay's machine-time, 30.0 % of its cost; on the registered trace 40.0 % of"
        " the machine-time."
    )
    assert told[-1] == "| `young` | 1.0 [0.0, 2.0] | 1.0 [0.0, 2.0] | 1.0 [0.0, 2.0] |"
    assert len(told) == 5
    rows = speed(measured)
    assert "CartPole-v1" in rows
    assert new not in rows


def test_measures_stand_beside_what_the_oracle_found() -> None:
    content = {
        **{"env": "failgym/Mitigation-v1", "slices": [3, 5], "replay": [10.0, 10.0]},
        **{"bound": [0.0, 0.0], "spent": [10.0, 10.0]},
        "oracle": {"all": [5.0, 5.0], "kill": [9.0, 9.0]},
    }
    first, *_, together, kill = measures(content).splitlines()
    assert first == "`failgym/Mitigation-v1`, 2 slices:"
    assert together == "| together | 50.0 [50.0, 50.0] | 100.0 [100.0, 100.0] |"
    assert kill == "| kill | 10.0 [10.0, 10.0] | 20.0 [20.0, 20.0] |"


def test_tuned_rules_stand_in_the_order_of_the_environments() -> None:
    def score(value: float) -> dict[str, float]:
        return {"value": value, "low": value - 1.0, "high": value + 1.0}

    best = {
        **{"papers": "young", "papers_score": score(3.0), "newer": "", "newer_score": {}},
        **{"tuned": "daly", "tuned_score": score(5.0), "gain": score(2.0)},
    }
    rows = [{"tuned": True, "adopted": True}, {"tuned": False, "adopted": False}]
    whole = {"trials": 30, "slices": None, "rows": rows, "best": best}
    found = {"Lineage-v1": whole, "Cloning-v1": {**whole, "slices": 500}}
    assert tuned(found).splitlines()[2:] == [
        f"| `failgym/{env}` | 30 on {slices} | 1 of 1 | `young` 3.0 [2.0, 4.0] |  |"
        " `daly` 5.0 [4.0, 6.0] | 2.0 [1.0, 3.0] |"
        for env, slices in (("Cloning-v1", "500"), ("Lineage-v1", "all"))
    ]


def test_only_what_stands_between_the_comments_is_replaced() -> None:
    text = "a\n<!-- x -->\nold\n<!-- /x -->\nb\n"
    assert replaced(text, "x", "new") == "a\n<!-- x -->\nnew\n<!-- /x -->\nb\n"
    with pytest.raises(ValueError, match=r"expected <!-- y --> and <!-- /y --> once"):
        replaced(text, "y", "new")
