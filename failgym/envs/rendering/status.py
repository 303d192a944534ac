"""The figures beside a picture: costs and accounts up to now, and the open decision."""

from __future__ import annotations

from dataclasses import dataclass

from failgym.envs.rendering.entries import Asked
from failgym.envs.rendering.recorder import Recorder
from failgym.envs.rendering.timeline import Mark
from failgym.envs.rendering.view import clock, duration
from failgym.envs.spaces import TERMS
from failgym.vocabulary import SECOND, Decision

__all__ = ["Status", "status_of"]


@dataclass(frozen=True)
class Status:
    """What a picture says in words and figures."""

    title: str
    clock: str
    decision: str
    """The open decision."""
    about: str
    """Its task and attempt, or the machine that is offered."""
    legal: str
    last: str
    """The decision before, and its answer."""
    tasks: str
    cluster: str
    """Empty where there is none."""
    costs: dict[str, float]
    """Cost up to now by reward term."""
    accounts: dict[str, int]
    """Machine-time up to now by account, of the tasks that are asked about [machine-ms]."""


def status_of(recorder: Recorder, title: str) -> Status:
    """What a recorder knows, in words and figures."""
    timeline = recorder.timeline
    own = sum(line.own for line in timeline.tasks.values())
    decision, about, legal = _open(recorder.asked)
    return Status(
        title=title,
        clock=_clock(recorder),
        decision=decision,
        about=about,
        legal=legal,
        last=_answer(timeline.marks[-1]) if timeline.marks else "none yet",
        tasks=f"{timeline.settled:,} of {own:,} tasks settled",
        cluster=_cluster(recorder),
        costs=dict(zip(TERMS, recorder.costs.tolist(), strict=True)),
        accounts=timeline.totals(own=True),
    )


def _clock(recorder: Recorder) -> str:
    """What time it is: in the trace, or for the task that is served."""
    timeline, line = recorder.timeline, None
    if recorder.scene.one_by_one:
        line = timeline.tasks.get(timeline.serving)
    if line is not None:
        return f"task {line.task}, {duration(timeline.now - line.submit)} after its submission"
    return f"at {clock(timeline.now, SECOND)}"


def _open(asked: Asked | None) -> tuple[str, str, str]:
    if asked is None:
        return "none", "", ""
    legal = ", ".join(action.name for action in asked.legal)
    if asked.kind is Decision.DISPATCH:
        legal = "CONTINUE (place), RETRY (pass)"
        return asked.kind.name, f"task {asked.task}, machine {asked.machine} offered", legal
    about = f"task {asked.task}, attempt {asked.number}, risk {asked.risk:.2f}"
    return asked.kind.name, about, legal


def _answer(mark: Mark) -> str:
    if mark.decision is None:
        return f"task {mark.task} killed"
    return f"{mark.decision.name} of task {mark.task}: {mark.action.name}"


def _cluster(recorder: Recorder) -> str:
    if not recorder.scene.machines:
        return ""
    timeline = recorder.timeline
    down = sum(outage.up is None for outage in timeline.outages)
    running, waiting = len(timeline.live), len(timeline.waiting)
    return f"{running:,} running, {waiting:,} waiting, {down:,} machines down"
