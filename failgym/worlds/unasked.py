"""Why a scenario asks about no task of its trace, and which field to change, and to what."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.traces import Outcome, Trace
from failgym.worlds.scenario import Scenario
from failgym.worlds.selection import selected
from failgym.worlds.split import Part, tasks_run

__all__ = ["nobody_asked"]

Bools = npt.NDArray[np.bool_]

WINDOW = ("clone", "checkpoint", "kill")
FAILED = ("give_up", "retry")
"""Fields that allow a decision when a window is over, and when an attempt has failed."""


def nobody_asked(scenario: Scenario, part: Part, tables: Any) -> ValueError:
    """The error of a scenario that asks about no task.

    Args:
        scenario: of which no task is asked about.
        part: what its split is simulated from.
        tables: the same, compiled.
    """
    why = next(_reasons(scenario, part, tables))
    return ValueError(f"scenario: no task of the {scenario.split} split is ever asked about: {why}")


def _reasons(scenario: Scenario, part: Part, tables: Any) -> Iterator[str]:
    """What leaves none, each in a line; the last always holds."""
    tasks, within = tables.tasks, part.own_tasks
    yield from _of_decisions(scenario)
    yield from _of_split(scenario, int(within.sum()))
    yield from _of_selection(scenario, part.trace, tasks, within)
    chosen = selected(scenario, part.trace, tasks) & within
    yield from _of_record(scenario, part.whole, tasks, chosen)
    known = chosen & (tasks["rows"] > 0) & ~tasks["censored"]
    if scenario.begin and not (tasks["submit"][known] >= scenario.begin).any():
        last = int(tasks["submit"][known].max())
        yield (
            f"begin={scenario.begin} is after the last of known fate was submitted, at {last} ms;"
            " set begin=0"
        )
    yield from _of_asking(scenario, tasks, tables.risk, chosen)
    longest = int(tables.rows["duration"].max(initial=0))
    yield f"no attempt lasts until a decision, the longest {longest} ms; set window or every lower"


def _of_decisions(scenario: Scenario) -> Iterator[str]:
    names = scenario.kind.decisions
    if not any(getattr(scenario, name) for name in names):
        yield f"no decision is allowed; set one of {', '.join(names)} to true"


def _of_split(scenario: Scenario, count: int) -> Iterator[str]:
    if count:
        return
    field = "inner_boundary" if scenario.split in ("fit", "validation") else "boundary"
    if scenario.fold and field == "boundary":
        yield f"fold={scenario.fold} leaves no task in it; set fold=0, or trace to one of more jobs"
    stated, usual = getattr(scenario, field), getattr(Scenario, field)
    remedy = "split=all" if stated == usual else f"{field}={usual}"
    yield f"{field}={stated} leaves no task in it; set {remedy}"


def _of_selection(scenario: Scenario, trace: Trace, tasks: Any, within: Bools) -> Iterator[str]:
    if (selected(scenario, trace, tasks) & within).any():
        return
    fewest = int(tasks["rows"][within].min())
    if fewest > scenario.max_attempts:
        yield (
            f"max_attempts={scenario.max_attempts} leaves none of its {within.sum():,} tasks: all"
            f" have more attempts; set max_attempts={fewest} or more"
        )
    yield (
        f"select=failing leaves none of its {within.sum():,} tasks, since no job has an attempt"
        " that failed, and none that the user killed; set select=all"
    )


def _of_record(scenario: Scenario, trace: Trace, tasks: Any, chosen: Bools) -> Iterator[str]:
    if ((tasks["rows"] > 0) & ~tasks["censored"] & chosen).any():
        return
    if not tasks_run(trace).any():
        yield "the trace records no run of a task; set trace to one that does"
    remedy = "trace or jobs to more" if scenario.split == "all" else _later_boundary(trace)
    if scenario.fold and remedy.startswith("boundary"):
        remedy = f"fold=0 and {remedy}"
    yield f"all of its {chosen.sum():,} tasks still run when it ends; set {remedy}"


def _later_boundary(trace: Trace) -> str:
    """The least hundredth at which a task has ended before the boundary, if there is one."""
    ended = trace.column("attempts", "outcome") == Outcome.FINISH
    first = trace.column("attempts", "end")[ended].min(initial=np.iinfo(np.int64).max)
    share = float((trace.column("jobs", "submit") <= first).mean())
    boundary = math.floor(100.0 * share + 1.0) / 100.0
    return "split=all" if boundary >= 1.0 else f"boundary={boundary:.2f}"


def _of_asking(scenario: Scenario, tasks: Any, risk: Any, chosen: Bools) -> Iterator[str]:
    windows = [name for name in WINDOW if getattr(scenario, name)]
    failures = [name for name in FAILED if getattr(scenario, name)]
    if failures and not windows:
        yield (
            f"{' and '.join(failures)} are decided when an attempt fails, and none does; set"
            f" {', '.join(WINDOW[:-1])} or {WINDOW[-1]} to true"
        )
    others = [name for name in ("clone", "retry") if getattr(scenario, name)]
    if not min(scenario.max_extra, scenario.max_clones) and set(windows + failures) <= set(others):
        yield (
            f"max_extra={scenario.max_extra} and max_clones={scenario.max_clones} allow no other"
            " attempt; set both to 1 or more"
        )
    if windows and scenario.decide == "alarm" and risk.max(initial=0.0) < scenario.alarm:
        highest = math.floor(100.0 * float(risk.max(initial=0.0))) / 100.0
        remedy = f"alarm={highest:.2f}" if highest > 0.0 else "decide=geometric"
        yield (
            f"decide=alarm asks from a risk of {scenario.alarm} on, and none is so high;"
            f" set {remedy}"
        )
