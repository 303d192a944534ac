"""The figures beside a picture: costs and accounts up to now, and the open decision."""

from __future__ import annotations

from dataclasses import dataclass

from failgym.envs.rendering.recorder import Recorder
from failgym.envs.rendering.timeline import Mark
from failgym.envs.rendering.view import SECOND, clock, duration
from failgym.envs.spaces import TERMS
from failgym.sim.fields import INDEX
from failgym.sim.records import Action, Decision

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
    timeline, episode = recorder.timeline, recorder.episode
    own = sum(line.own for line in timeline.tasks.values())
    decision, about, legal = _open(recorder)
    return Status(
        title=f"{title}, slice {int(episode['slice'])}",
        clock=_clock(recorder),
        decision=decision,
        about=about,
        legal=legal,
        last=_answer(timeline.marks[-1]) if timeline.marks else "none yet",
        tasks=f"{timeline.settled:,} of {own:,} tasks settled",
        cluster=_cluster(recorder),
        costs=dict(zip(TERMS, episode["cost"].tolist(), strict=True)),
        accounts=timeline.totals(own=True),
    )


def _clock(recorder: Recorder) -> str:
    """What time it is: in the trace, or for the task that is served."""
    timeline, line = recorder.timeline, None
    if not recorder.episode["merged"]:
        line = timeline.tasks.get(timeline.serving)
    if line is not None:
        return f"task {line.task}, {duration(timeline.now - line.submit)} after its submission"
    return f"at {clock(timeline.now, SECOND)}"


def _open(recorder: Recorder) -> tuple[str, str, str]:
    asked = recorder.asked
    if asked is None:
        return "none: the episode is over", "", ""
    mask, observation = recorder.batch.output.mask[0], recorder.batch.output.obs[0]
    legal = ", ".join(Action(i).name for i in range(len(mask)) if mask[i])
    if asked.kind is Decision.DISPATCH:
        legal = "CONTINUE (place), RETRY (pass)"
        return asked.kind.name, f"task {asked.task}, machine {asked.machine} offered", legal
    risk = float(observation[INDEX["risk"]])
    return asked.kind.name, f"task {asked.task}, attempt {asked.number}, risk {risk:.2f}", legal


def _answer(mark: Mark) -> str:
    if mark.decision is None:
        return f"task {mark.task} killed"
    return f"{mark.decision.name} of task {mark.task}: {mark.action.name}"


def _cluster(recorder: Recorder) -> str:
    episode = recorder.episode
    if "queued" not in (episode.dtype.names or ()):
        return ""
    running, queued, down = (int(episode[name]) for name in ("running", "queued", "down"))
    return f"{running:,} running, {queued:,} waiting, {down:,} machines down"
