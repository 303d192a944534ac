"""The page of agents."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from experiments.compute_curves import TUNED, untold
from experiments.markdown import table
from experiments.result_tables.cells import estimate, shown
from experiments.seeds import COLUMNS, cells
from experiments.worst_cases import REPLAY
from failgym.envs import SCENARIOS

__all__ = ["agents", "curves", "same_traces", "seeds", "worst"]

LEAST_RULES = 2
"""Beside the agents of an environment."""


def agents(rows: Sequence[dict[str, Any]]) -> str:
    """Agents beside the best rule, as `experiments.agents_and_rules` wrote them."""
    columns = [
        *("", "judged on", "slices", "trained by", "training runs", "agents", "lowest to highest"),
        *("best rule", "agents above it"),
    ]
    lines = [
        [
            f"`failgym/{row['env']}`",
            f"{row['place']}",
            f"{row['slices']:,}",
            f"`{row.get('algorithm', 'maskable_ppo')}`",
            f"{len(row['runs'])}",
            estimate(row["agents"]),
            _spread(row["runs"].values()),
            f"`{row['rule']}` {estimate(row['rule_score'])}",
            estimate(row["above"]),
        ]
        for row in rows
        if shown(row["env"])
    ]
    return "\n".join(table(columns, lines))


def _spread(scores: Collection[float]) -> str:
    """The lowest and the highest of the scores of training runs, if there are several."""
    return f"{min(scores):.1f} to {max(scores):.1f}" if len(scores) > 1 else ""


def same_traces(rows: Sequence[dict[str, Any]]) -> str:
    """A policy beside the published run, as `experiments.same_traces` wrote it."""
    columns = ["", "forecast", "traces", "generalist", "best rule", "above it", "other agents"]
    lines = [
        [
            *(f"`{row['env']}`", row["forecast"], f"{row['traces']}", estimate(row["score"])),
            f"`{row['rule']}` {estimate(row['rule_score'])}",
            estimate(row["above"]),
            ", ".join(f"`{name}` {one[0]:.1f}" for name, one in row["agents"].items()),
        ]
        for row in rows
    ]
    return "\n".join(table(columns, lines))


def seeds(rows: Sequence[dict[str, Any]]) -> str:
    """Training runs of learners beside the best rule, as `experiments.seeds` wrote them."""
    return "\n".join(table(COLUMNS, [cells(row, mark="`") for row in rows]))


def curves(content: dict[str, Any]) -> str:
    """What is gained for how much computing, as `experiments.compute_curves` wrote it."""
    found: list[list[str]] = []
    for env in (env for env in SCENARIOS if env in content):
        rule, points = content[env]["rule"], content[env]["points"]
        name = f"`failgym/{env}`"
        published = _judged(content[env]["as_published"], content[env].get("patience"))
        found.append([name, f"`{rule}`", "as published", "0", published])
        for one in sorted(points, key=lambda point: (point["learner"], point["seconds"])):
            learner = f"`{rule}`" if one["learner"] == TUNED else f"`{one['learner']}`"
            score = _judged([one["score"], one["low"], one["high"]], one.get("patience"))
            found.append([name, learner, one["given"], f"{one['seconds']:,.0f}", score])
    return "\n".join(table(["", "", "given", "processor [s]", "score"], found))


def _judged(score: list[Any], patience: float | None) -> str:
    return estimate(score) if score[0] is not None else untold(patience)


def worst(content: dict[str, Any]) -> str:
    """Worst slices, jobs and traces, as `experiments.worst_cases` wrote them.

    All agents, replay, and the best rules: as many as there are agents, two at least. Below the
    table stands of how many traces, slices and jobs they are the worst.
    """
    columns = ["", "policy", "score", "worst slice", "worst job", "losing jobs", "worst trace"]
    found: list[list[str]] = []
    counts: list[str] = []
    for env in (env for env in SCENARIOS if env in content):
        rows: list[dict[str, Any]] = content[env]["rows"]
        trained = [row for row in rows if row["agent"]]
        rules = [row for row in rows if not row["agent"] and row["policy"] != REPLAY]
        nothing = [row for row in rows if row["policy"] == REPLAY]
        of: dict[str, Any] = content[env]["of"]
        told = [f"{of[name]:,} {name}" for name in ("traces", "slices", "jobs") if of[name]]
        counts.append(f"- `failgym/{env}`: the worst of {', '.join(told)}.")
        kept = [*trained, *rules[: max(len(trained), LEAST_RULES)], *nothing]
        for row in sorted(kept, key=lambda one: -one["score"]):
            name = f"**`{row['policy']}`**" if row["agent"] else f"`{row['policy']}`"
            found.append(
                [
                    *(f"`failgym/{env}`", name, f"{row['score']:.1f}", f"{row['slice']:.2f}"),
                    *(
                        _shown(row["job"], 2),
                        _shown(row["losing"], 1, " %"),
                        _shown(row["trace"], 1),
                    ),
                    *(f"{row['false_kills']:.2f}", _shown(row["in_a_job"], 0)),
                ]
            )
    lines = table([*columns, "false kills of 1,000", "most in a job"], found)
    return "\n".join([*lines, "", *counts])


def _shown(value: float | None, digits: int, unit: str = "") -> str:
    return "-" if value is None else f"{value:,.{digits}f}{unit}"
