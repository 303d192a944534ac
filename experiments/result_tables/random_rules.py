"""The page of random rules, of simple ones, and of Cloning-v1 without clones and forecast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from experiments.markdown import table
from experiments.random_rules import RANDOM
from experiments.result_tables.cells import estimate
from failgym.baselines import DecisionTree
from failgym.envs import SCENARIOS

__all__ = ["ablations", "random_rules", "simple_rules"]


def random_rules(content: dict[str, Any]) -> str:
    """The best random rule of each environment, as `experiments.random_rules` wrote it."""
    return _found(content, RANDOM)


def simple_rules(content: dict[str, Any]) -> str:
    """The same of rules that ask one question (``--questions 1``)."""
    return _found(content, "simple rule")


def _found(content: dict[str, Any], kind: str) -> str:
    found = {
        env: content[env] for env in (f"failgym/{name}" for name in SCENARIOS) if env in content
    }
    columns = ["", kind, "best shipped", "second best", f"{kind} above best", "traces"]
    rows = [
        [
            f"`{env}`",
            estimate(_scores_of(one)[RANDOM]),
            *_shipped(one)[:2],
            estimate(one["above"]),
            f"{len(one['traces'])}",
        ]
        for env, one in found.items()
    ]
    rules = [f"- `{env}`: {DecisionTree(**one['rule']).text}." for env, one in found.items()]
    close = [f"- `{env}`: {_as_good(one)}." for env, one in found.items()]
    return "\n".join(
        [
            *table(columns, rows),
            *("", "The rules, with the thresholds that were drawn:", "", *rules),
            *(
                "",
                "Shipped rules that the best of them is not surely above, and by how much it is:",
                "",
                *close,
            ),
        ]
    )


def _scores_of(one: dict[str, Any]) -> dict[str, Sequence[float]]:
    return {row["policy"]: row["score"] for row in one["scores"]}


def _shipped(one: dict[str, Any]) -> list[str]:
    """Rules with their scores, the best first."""
    scores = _scores_of(one)
    return [f"`{name}` {estimate(score)}" for name, score in scores.items() if name != RANDOM]


def _as_good(one: dict[str, Any]) -> str:
    """Shipped rules that the best is above by an interval that holds 0."""
    others = (row for row in one["scores"] if row["policy"] not in (RANDOM, one["best"]))
    close = [f"`{r['policy']}` ({estimate(r['below'])})" for r in others if r["below"][1] <= 0.0]
    return f"beside `{one['best']}`, {', '.join(close) or 'none'}"


def ablations(content: dict[str, Any]) -> str:
    """With and without clones and forecast, as `experiments.cloning_ablations` wrote them."""
    rows = [
        [f"`{row['policy']}`", row["variant"], estimate(row["score"]), estimate(row["above"])]
        for row in content["rows"]
    ]
    return "\n".join(table(["policy", "variant", "score", "above itself as it is"], rows))
