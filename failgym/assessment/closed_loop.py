"""The advised policy on the record's own machines, where what it frees is there for others.

Savings are judged task by task, as recorded (`judging`). In the scheduled world tasks share the
machines of the record: who is killed makes room, who is run again takes it. What differs says how
far the one can be believed of the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.assessment.course import fields_of, reason, scenario_of
from failgym.assessment.makers import Maker
from failgym.assessment.measures import Measure
from failgym.assessment.playing import made
from failgym.assessment.work_folder import WorkFolder
from failgym.envs import Scenario
from failgym.evaluation import run_policy
from failgym.evaluation.anchors import drawn_slices, machine_hour_of
from failgym.evaluation.caller import check_playable
from failgym.evaluation.continuing import CONTINUING
from failgym.evaluation.savings import charged_work, completion_time, share_of_moved
from failgym.policy import Policy
from failgym.traces import Trace
from failgym.traces.machine_slots import machine_slots
from failgym.traces.machine_time import attempt_times
from failgym.vocabulary import HOUR
from failgym.worlds.build import build_world
from failgym.worlds.settings.splitting import FOLDS
from failgym.worlds.world import World

__all__ = ["SLICES", "TASKS", "ClosedLoop", "closed_loop"]

Floats = npt.NDArray[np.float64]

SLICES, TASKS = 16, 256
"""Stretches that are drawn of the last fold, and tasks of each (chosen): however long a record is,
no more is played. In the cluster are all that stood or ran when the first of as many tasks before
them was submitted, and as many tasks after them."""
_OWN_MACHINES = {
    "world": "scheduled",
    "order": "time",
    "charge": "episode",
    "scheduler": "priority",
    "slice_tasks": TASKS,
    "warmup": TASKS,
    "followers": TASKS,
}
_SAVED = "saved_and_drawn"


@dataclass(frozen=True)
class ClosedLoop:
    """What the advised policy saves where tasks share the machines of the record."""

    why_not: str | None
    """why it cannot be played; None if it was"""
    tasks: int = 0
    """that were asked about"""
    stretches: int = 0
    """of the last fold that were played"""
    losing: int = 0
    """stretches in which it loses"""
    unmoved: int = 0
    """stretches in which it changes nothing"""
    saved: float = 0.0
    """net, of all that was in the cluster with them [machine-h]"""
    machine_hours: float = 0.0
    """machine-time alone [machine-h]"""
    completion_hours: float = 0.0
    """completion time of the same, waits included [h]"""
    drawn: float | None = None
    """share of what is saved and lost, by stretch, of stretches in which some task met an attempt
    that is not recorded but drawn; None if nothing is, or nobody can tell"""


def closed_loop(
    trace: Trace,
    source: str | Trace,
    measure: Measure,
    forecast: str,
    name: str,
    who: Policy | Maker,
    *,
    key: Any,
    task_value: float,
    work: WorkFolder,
    step: Callable[[str], None] = lambda text: None,
) -> ClosedLoop:
    """Play a policy on the machines of a record, on stretches of its last fold.

    Args:
        trace: the record.
        source: what is played on: its folder, or the trace itself.
        measure: what the policy may do.
        forecast: "none" or "trained".
        name: what the policy is called.
        who: the policy, or who makes it from what was before the fold.
        key: what tells who plays from others; JSON. None: nobody can tell, and nothing is kept.
        task_value: what a task is worth that finishes, as a multiple of its machine-time.
        work: what is done stays there, stretch by stretch.
        step: called with what is being worked on.
    """
    if not trace.rows("machines"):
        return ClosedLoop("the record names no machines")
    if _too_few(trace):
        return ClosedLoop("the machines are too few for the tasks as recorded")
    try:
        alone = scenario_of(measure, source, forecast, task_value, FOLDS)
        scenario = replace(alone.override(**_OWN_MACHINES), split="test")
        about = {"closed": key, "scenario": fields_of(scenario), "trace": trace.content_hash}
        policy = made(who, key, alone, work)
        world = build_world(scenario)
        check_playable(policy, scenario, world, name)
        kept = WorkFolder(None) if key is None else work
        return _of(_stretches(world, scenario, policy, name, about, kept, step))
    except (ImportError, ValueError) as error:
        return ClosedLoop(reason(error))


def _too_few(trace: Trace) -> bool:
    """Did the tasks of a record take more machine-time than its machines had meanwhile?"""
    ran = trace.present("attempts", "start") & trace.present("attempts", "end")
    if not ran.any():
        return False
    start, end = (trace.column("attempts", name)[ran] for name in ("start", "end"))
    slots = int(machine_slots(trace).sum())
    return int(attempt_times(trace).sum()) > slots * (int(end.max()) - int(start.min()))


def _stretches(
    world: World,
    scenario: Scenario,
    policy: Policy,
    name: str,
    about: dict[str, Any],
    work: WorkFolder,
    step: Callable[[str], None],
) -> Floats:
    """`_saved_in` of the stretches that are drawn [stretches, 5]. Raises ValueError as it does."""
    drawn = drawn_slices(world.slices, SLICES).tolist()
    found: list[Floats] = []
    for number, chosen in enumerate(drawn, 1):
        step(f"own machines: stretch {number} of {len(drawn)}")

        def find(chosen: int = chosen) -> dict[str, Floats]:
            return {_SAVED: _saved_in(world, scenario, policy, name, chosen)}

        found.append(work.arrays({**about, "stretch": chosen}, find, (_SAVED,))[_SAVED])
    return np.array(found)


def _saved_in(world: World, scenario: Scenario, policy: Policy, name: str, chosen: int) -> Floats:
    """What a policy saves over replay in a stretch: replay and policy play it one after the other.

    Returns:
        Tasks that are asked about; saved net and in machine-time [machine-h], and in completion
        time [h], of all that is in the cluster with them; 1 if some task met a drawn attempt, 0 if
        none did, NaN if the world does not tell.

    Raises:
        ValueError: naming the policy, if it fails.
    """
    slices = np.array([chosen])
    replay, run = (
        run_policy(world, scenario, one, slices, order=scenario.order, name=called)
        for one, called in ((CONTINUING, None), (policy, name))
    )
    work = charged_work(world, replay) - charged_work(world, run)
    done = completion_time(world, replay, None) - completion_time(world, run, None)
    net = float((replay.costs - run.costs).sum()) / machine_hour_of(world)
    tasks = float(world.own_sizes[slices].sum())
    met = np.nan  # some task of replay or of the policy
    if replay.drawn_in is not None and run.drawn_in is not None:
        met = float(replay.drawn_in[0] or run.drawn_in[0])
    return np.array([tasks, net, float(work.sum()) / HOUR, float(done.sum()) / HOUR, met])


def _of(stretches: Floats) -> ClosedLoop:
    """All stretches as one."""
    tasks, saved, machine_hours, completion_hours, _ = stretches.sum(axis=0).tolist()
    apart, met = np.abs(stretches[:, 1]), stretches[:, 4]
    share = share_of_moved(float(apart.sum()), float((apart * met).sum())).value
    return ClosedLoop(
        why_not=None,
        tasks=int(tasks),
        stretches=len(stretches),
        losing=int((stretches[:, 1] < 0.0).sum()),
        unmoved=int((stretches[:, 1:4] == 0.0).all(axis=1).sum()),
        saved=saved,
        machine_hours=machine_hours,
        completion_hours=completion_hours,
        drawn=None if np.isnan(share) else share,
    )
