"""What more processes and more machines do for a suite."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from experiments.many_machines import NODES, ONE
from experiments.markdown import table

PROCESSORS = 2
"""What is measured uses."""
OWN = 1.5 * PROCESSORS
"""Load that a run leaves by itself: two nodes have some processes more than processors."""

__all__ = ["machines"]

KILLED = {
    "worker": "a process that does a step",
    "node": "the second node",
    "driver": "the command",
}
"""What each kind of kill kills."""


def machines(content: dict[str, Any]) -> str:
    """Three tables, and what they were measured with, as `experiments.many_machines` wrote it."""
    policies = ", ".join(f"`{name}`" for name in content["policies"])
    place = f"on two processors ({content['host']['processor']})"
    about = f"Suite `{content['suite']}`, {policies}, {place}. {_busy(content)}"
    tables = (_runs(content), _kills(content), _paper(content))
    return "\n\n".join([about, *map("\n".join, tables)])


def _busy(content: dict[str, Any]) -> str:
    """How busy the machine was, which decides what its times mean."""
    loads = [run["load"] for run in content["runs"].values()] + [content["costs"]["load"]]
    said = f"Load of the machine before each run, what ran last included: {min(loads):.1f} to "
    said += f"{max(loads):.1f}."
    if max(loads) <= OWN:
        return said
    return f"{said} Other work made these times longer, and the efficiency lower."


def _runs(content: dict[str, Any]) -> Sequence[str]:
    """Runs that were left alone, and what a step costs each engine."""
    runs: dict[str, Any] = content["runs"]
    alone = runs[ONE]["seconds"]
    engines: list[dict[str, Any]] = content["costs"]["engines"]
    costs = dict(zip([way for way in runs if way != ONE], engines, strict=True))
    columns = ("", "suite [s]", "efficiency", "of steps that compute", "begins [s]", "a step [ms]")
    rows: list[list[str]] = []
    for way, run in runs.items():
        cells = ["-"] * 4
        if way in costs:
            cost = costs[way]
            cells = [f"{alone / 2.0 / run['seconds']:.2f}", f"{cost['efficiency']:.2f}"]
            cells += [f"{cost['begin']:.1f}", f"{1000.0 * cost['overhead']:.2f}"]
        rows.append([way, f"{run['seconds']:.0f}", *cells, _differs(run)])
    return table([*columns, "files that differ"], rows)


def _kills(content: dict[str, Any]) -> Sequence[str]:
    """Runs on two nodes in which something was killed."""
    rows = [
        [KILLED[kind], str(one["kills"]), str(one["rounds"]), _differs(one)]
        for kind, one in content["kills"].items()
    ]
    return table(["killed with SIGKILL", "times", "runs", "files that differ"], rows)


def _paper(content: dict[str, Any]) -> Sequence[str]:
    """What more processors would take."""
    papers: list[dict[str, Any]] = content["paper"]["papers"]
    times = sorted({one["times"] for one in papers})
    seconds = {(one["processors"], one["times"]): one["seconds"] for one in papers}
    steps = [taken for _, taken in content["steps"]]
    heads = [f"{len(steps) * many:,} steps [s]" for many in times]
    rows = [
        [f"{processors:,}", *(f"{seconds[processors, many]:,.0f}" for many in times)]
        for processors in sorted({one["processors"] for one in papers})
    ]
    measured = content["runs"][NODES]["seconds"]
    return [
        *table(["processors, worked out", *heads], rows),
        "",
        f"Measured on two nodes: {measured:.0f} s. The longest step takes {max(steps):.1f} s, and"
        f" {content['paper']['rest']:.0f} s of the run of one process are no step.",
    ]


def _differs(run: dict[str, Any]) -> str:
    return ", ".join(run["differences"]) or "none"
