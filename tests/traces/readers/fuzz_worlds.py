"""Worlds of traces that were read from damaged files: the pinned one replays the record exactly."""

from __future__ import annotations

from dataclasses import replace

from failgym.baselines import Replay
from failgym.envs import SCENARIOS, Scenario
from failgym.evaluation import Record, compare, run_policy, whole_trace_world
from failgym.traces import Trace
from tests.traces.readers.replaying import NOTHING_ASKED

__all__ = ["replay", "simulate"]

RECORDED = replace(NOTHING_ASKED, forecast="none")
SIMULATED = SCENARIOS["Mitigation-v1"].override(load=0.0, outages="trace", slots=1, forecast="none")
WIDEST = 1 << 20
"""Slots of a machine, where the trace has none, are at most as many."""


def replay(trace: Trace) -> str:
    """What is wrong with the replay of a trace in the pinned world, "" if nothing.

    A trace that cannot be replayed is "refused: " and why.
    """
    try:
        world = whole_trace_world(trace, RECORDED)
    except ValueError as error:
        return f"refused: {error}"
    run = run_policy(world, RECORDED, Replay())
    compared = compare(run, Record.of(trace))
    return "" if compared.mismatches == 0 else f"{compared.mismatches} mismatches: {compared}"


def simulate(trace: Trace) -> str:
    """As `replay`, on the machines of the trace, where nobody knows when what ends."""
    try:
        scenario = _on_machines(trace)
        world = whole_trace_world(trace, scenario)
    except ValueError as error:
        return f"refused: {error}"
    run = run_policy(world, scenario, Replay())
    ran = run.outcomes["start"] >= 0  # a job may end before a task of it is submitted
    early = ran & (run.outcomes["start"] < run.outcomes["submit"])
    late = ran & (run.outcomes["end"] < run.outcomes["start"])
    if early.any():
        return "tasks begin before they are submitted"
    return "tasks end before they begin" if late.any() else ""


def _on_machines(trace: Trace) -> Scenario:
    if trace.rows("machines"):
        return SIMULATED
    widest = int(trace.column("tasks", "width").max(initial=1))
    return replace(SIMULATED, machines=2, slots=min(widest, WIDEST), outages="none")
