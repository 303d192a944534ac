"""LATE and Spark's rule gain where slowness was chance, and lose where there was more to do.

A small cluster, made by hand. Twelve jobs of 40 tasks follow each other; 39 tasks of a job take ten
minutes and one takes a hundred. Fifty tasks of other users run beside them, so that a copy is a
small share of what runs. By rule C3 of `failgym.sim.reference` sigma of a straggler is
10^(39 / (39 + 5)) = 7.70, shrunk by its 39 siblings. If nothing of that is its own (kappa = 0) a
copy takes 100 / 7.70 = 12.99 minutes times its chance: 1 for 39 of 40 copies, 7.70 for the other.
If all is its own (kappa = 1) it takes a hundred minutes, as the straggler does.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import pytest

from failgym import evaluate
from failgym.baselines import Heuristic, Late, Replay, SparkSpeculation
from failgym.envs import resolve
from failgym.evaluation import Anchors
from failgym.traces import Trace
from failgym.vocabulary import HOUR, MINUTE
from tests.continued.records import Job, Row, trace_of

STAGES, TASKS, OTHERS = 12, 40, 50
USUAL, SLOW, APART = 10 * MINUTE, 100 * MINUTE, 3 * HOUR
COPY = 779_449
"""100 / 7.70 minutes [ms]: 6e6 / 10^(39 / 44), rounded."""
PLAYED: dict[str, Any] = {
    "boundary": 0.9,  # of 62 jobs: the others, and the first six of the twelve
    "select": "all",
    "window": MINUTE,
    "decide": "every",
    "forecast": "none",
    "beyond_record": "continued",
    "restarts": "record",
    "task_value": 4.0,
    "waiting_price": 1.0,
    **{f"weight_{term}": 1.0 for term in ("wasted", "overhead", "completion", "forfeited")},
}
RULES = {"spark": (SparkSpeculation(), 16), "late": (Late(), 18)}
"""The age at which each copies [min]. Spark: the first window above 1.5 medians, 15 minutes. LATE:
the first whose age, from 1,024 s on, is one that only stragglers reach, which take 100 minutes:
then 1.8 (1 - .18) / .18 = 8.2 medians are left. Before, 12.25 minutes are expected of a task."""


@lru_cache
def cluster() -> Trace:
    """The trace."""
    others = [Job([[(1, (STAGES + 1) * APART, "finish")]]) for _ in range(OTHERS)]
    return trace_of(others + [stage((number + 1) * APART) for number in range(STAGES)])


def stage(submit: int) -> Job:
    rows: list[list[Row]] = [[(submit, submit + USUAL, "finish")] for _ in range(TASKS - 1)]
    return Job([*rows, [(submit, submit + SLOW, "finish")]], name="stage", submit=submit)


def played(policy: Heuristic, **fields: Any) -> tuple[Anchors, dict[str, Any]]:
    """The test split, and what became of its stragglers."""
    env = resolve("failgym/Cloning-v0", {"trace": cluster(), **PLAYED, **fields})
    anchors = Anchors.of(env)
    outcomes = anchors.run(policy).outcomes
    slow = outcomes["recorded_end"] - outcomes["submit"] == SLOW
    return anchors, {name: column[slow] for name, column in outcomes.items()}


@pytest.mark.parametrize("rule", RULES)
class TestRule:
    def test_a_copy_of_what_was_slow_by_chance_overtakes_it(self, rule: str) -> None:
        policy, age = RULES[rule]
        _, slow = played(policy, task_share=0.0)
        assert len(slow["task"]) == STAGES // 2
        assert slow["clones"].tolist() == [1] * len(slow["clones"])
        took = slow["end"] - slow["submit"]
        lucky, unlucky = age * MINUTE + COPY, SLOW
        assert set(took.tolist()) <= {lucky, unlucky}
        assert (took == lucky).sum() >= len(took) - 1, "one copy in forty is slow again"
        won = took == lucky
        assert slow["useful"][won].tolist() == [COPY] * won.sum(), "the copy's"
        assert slow["redundant"][won].tolist() == [lucky] * won.sum(), "the straggler's"

    def test_a_copy_of_what_had_more_to_do_takes_as_long(self, rule: str) -> None:
        policy, age = RULES[rule]
        _, slow = played(policy, task_share=1.0)
        assert (slow["end"] - slow["submit"]).tolist() == [SLOW] * (STAGES // 2)
        assert slow["redundant"].tolist() == [SLOW - age * MINUTE] * (STAGES // 2)

    def test_nothing_but_stragglers_is_copied(self, rule: str) -> None:
        anchors, slow = played(RULES[rule][0], task_share=0.0)
        outcomes = anchors.run(RULES[rule][0]).outcomes
        assert outcomes["clones"].sum() == slow["clones"].sum()

    @pytest.mark.parametrize("draw", range(3))
    def test_it_gains_where_slowness_was_chance(self, rule: str, draw: int) -> None:
        policy, age = RULES[rule]
        share = {"task_share": 0.0, "draw_seed": draw}
        found, before = scored(policy, **share), scored(Replay(), **share)
        assert found.score > 0.0
        assert found.costs["completion"] < before.costs["completion"]
        # A lucky copy saves 100 - age - 12.99 minutes of waiting and wastes the straggler's.
        lost = STAGES // 2 * (SLOW - age * MINUTE)  # of copies that never win
        gained = (before.cost - found.cost) / (
            scored(policy, task_share=1.0).costs["wasted"] / lost
        )
        lucky = SLOW - 2 * (age * MINUTE + COPY)
        unlucky = age * MINUTE - SLOW
        possible = [n * lucky + (STAGES // 2 - n) * unlucky for n in range(STAGES // 2 + 1)]
        assert min(abs(gained - some) for some in possible) < 1.0

    def test_it_loses_where_there_was_more_to_do(self, rule: str) -> None:
        policy, _ = RULES[rule]
        found, before = scored(policy, task_share=1.0), scored(Replay(), task_share=1.0)
        assert found.costs["completion"] == pytest.approx(before.costs["completion"])
        assert found.costs["wasted"] > before.costs["wasted"] == 0.0
        assert found.cost > before.cost


def scored(policy: Heuristic, **fields: Any) -> Any:
    return evaluate(policy, "failgym/Cloning-v0", trace=cluster(), **PLAYED, **fields)
