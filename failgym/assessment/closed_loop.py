"""The advised policy on the record's own machines, where what it frees is there for others.

Savings are judged task by task, as recorded (`judging`). In the scheduled world tasks share the
machines of the record: who is killed makes room, who is run again takes it. What differs says how
far the one can be believed of the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from failgym.assessment.judging import with_mtbf
from failgym.assessment.makers import Maker
from failgym.assessment.measures import Measure
from failgym.envs import Scenario
from failgym.evaluation import Anchors
from failgym.evaluation.caller import check_playable
from failgym.evaluation.savings import completion_hours_saved, hours_saved
from failgym.policy import Policy
from failgym.traces import Trace
from failgym.worlds.settings.splitting import FOLDS

__all__ = ["ClosedLoop", "closed_loop"]

SLICES, TASKS = 8, 256
"""Stretches of the last fold that are played, and tasks of each (chosen); as many tasks before it
and after it are in the cluster too."""
_OWN_MACHINES = {
    "world": "scheduled",
    "order": "time",
    "charge": "episode",
    "scheduler": "priority",
    "slice_tasks": TASKS,
    "warmup": TASKS,
    "followers": TASKS,
}


@dataclass(frozen=True)
class ClosedLoop:
    """What the advised policy saves where tasks share the machines of the record."""

    why_not: str | None
    """why it cannot be played; None if it was"""
    tasks: int = 0
    """that were asked about"""
    saved: float = 0.0
    """net, of all that was in the cluster with them [machine-h]"""
    machine_hours: float = 0.0
    """machine-time alone [machine-h]"""
    completion_hours: float = 0.0
    """completion time of the same, waits included [h]"""


def closed_loop(
    trace: Trace,
    source: str | Trace,
    measure: Measure,
    forecast: str,
    name: str,
    who: Policy | Maker,
    folder: Path,
    task_value: float,
) -> ClosedLoop:
    """Play a policy on the machines of a record, on stretches of its last fold.

    Args:
        trace: the record.
        source: what is played on: its folder, or the trace itself.
        measure: what the policy may do.
        forecast: "none" or "trained".
        name: what the policy is called.
        who: the policy, or who makes it from what was before the fold.
        folder: what is made keeps there what is done.
        task_value: what a task is worth that finishes, as a multiple of its machine-time.
    """
    if not trace.rows("machines"):
        return ClosedLoop("the record names no machines")
    shown = {"forecast": "none"} if forecast == "none" else {}
    try:
        alone = with_mtbf(measure.scenario(source, task_value, fold=FOLDS, **shown))
        policy = who if isinstance(who, Policy) else who.make(alone, folder)
        return _played(alone.override(**_OWN_MACHINES), policy, name)
    except (ImportError, ValueError) as error:
        return ClosedLoop(" ".join(str(error).split()).rstrip("."))


def _played(scenario: Scenario, policy: Policy, name: str) -> ClosedLoop:
    """Raises ValueError if the policy cannot play there, or there is no such world."""
    place = Anchors.of(scenario, episodes=SLICES, split="test")
    check_playable(policy, place.scenario, place.world, name)
    run = place.run(policy, name=name)
    saved = float((place.replay.costs - run.costs).sum())
    return ClosedLoop(
        why_not=None,
        tasks=int(place.world.own_sizes[run.slices].sum()),
        saved=saved / place.machine_hour,
        machine_hours=hours_saved([place], [run]),
        completion_hours=completion_hours_saved([place], [run]),
    )
