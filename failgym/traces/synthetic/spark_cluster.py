"""A cluster that runs gangs first come, first served, and loses machines in failure events.

The simulation behind the panda-10k profile: every job is hit at most once, keeps its machines, and
runs on for a multiple of its undisturbed run time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from failgym.compiled import njit
from failgym.traces.synthetic.quantiles import Flags, Ints

NEVER = np.iinfo(np.int64).max


class Workload(NamedTuple):
    """One entry per job, in order of submission; times in ms."""

    submit: Ints
    nodes: Ints
    run: Ints  # undisturbed
    slow_run: Ints  # if it is hit
    application: Ints


class Events(NamedTuple):
    """One row per failure event, in order of time."""

    time: Ints
    draws: Ints  # (events, 2 + machines): what decides on victims, each in [0, 2^31)


class History(NamedTuple):
    """What happened; times in ms."""

    start: Ints  # of each job; -1 if not by the end
    end: Ints  # may lie beyond the end of the data
    hit: Flags
    machine: Ints  # of each placement: those of the first job, those of the second ...
    lost: Ints  # machine of each loss
    lost_at: Ints
    event: Ints  # of each loss


class Cluster(NamedTuple):
    """The machines and what runs on them, as it goes on."""

    free: Ints  # [machines] machines that are idle, `N_IDLE` of them, the next one last
    running: Ints  # [machines] jobs that run, `N_RUNNING` of them
    back: Ints  # [machines] when a lost machine was last replaced [ms]
    counts: Ints  # N_IDLE, N_RUNNING, N_LOST


N_IDLE, N_RUNNING, N_LOST = range(3)


@njit(cache=True)
def simulate(
    jobs: Workload,
    events: Events,
    losses: Ints,
    machines: int,
    detection: int,
    span: int,
) -> History:
    """Run the jobs until `span` [ms].

    `losses` has, per application, the machines that a job loses in an event. An event goes on to
    further jobs of the same application until it took all its machines.
    """
    n, most = len(jobs.submit), len(events.time) * (events.draws.shape[1] - 2)
    first = np.cumsum(jobs.nodes) - jobs.nodes
    history = History(
        np.full(n, -1),
        np.full(n, -1),
        np.zeros(n, np.bool_),
        np.empty(int(jobs.nodes.sum()), np.int64),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
    )
    cluster = Cluster(
        np.arange(machines)[::-1].copy(),
        np.empty(machines, np.int64),
        np.zeros(machines, np.int64),
        np.array([machines, 0, 0]),
    )
    job, event, now = 0, 0, 0
    while True:
        leaver, leave = _next_end(cluster, history)
        fail = events.time[event] if event < len(events.time) else NEVER
        begin = NEVER
        if job < n and jobs.nodes[job] <= cluster.counts[N_IDLE]:
            begin = max(jobs.submit[job], now)
        now = min(leave, fail, begin)
        if now > span or now == NEVER:
            break
        if now == leave:
            _leave(jobs, cluster, history, first, leaver)
        elif now == fail:
            _fail(
                jobs, cluster, history, first, (losses, events.draws[event], detection), event, now
            )
            event += 1
        else:
            _start(jobs, cluster, history, first, job, now)
            job += 1
    lost = cluster.counts[N_LOST]
    return History(
        history.start,
        history.end,
        history.hit,
        history.machine,
        history.lost[:lost],
        history.lost_at[:lost],
        history.event[:lost],
    )


@njit(cache=True)
def _next_end(cluster: Any, history: Any) -> tuple[int, int]:
    """Which of the running jobs ends first, by its place, and when; -1 and `NEVER` without any."""
    leaver, leave = -1, NEVER
    for place in range(cluster.counts[N_RUNNING]):
        if history.end[cluster.running[place]] < leave:
            leaver, leave = place, history.end[cluster.running[place]]
    return leaver, leave


@njit(cache=True)
def _leave(jobs: Any, cluster: Any, history: Any, first: Ints, leaver: int) -> None:
    """A job ends; its machines are idle."""
    gone, counts = cluster.running[leaver], cluster.counts
    counts[N_RUNNING] -= 1
    cluster.running[leaver] = cluster.running[counts[N_RUNNING]]
    for node in range(jobs.nodes[gone]):
        cluster.free[counts[N_IDLE]] = history.machine[first[gone] + node]
        counts[N_IDLE] += 1


@njit(cache=True)
def _start(jobs: Any, cluster: Any, history: Any, first: Ints, job: int, now: int) -> None:
    """A job starts on idle machines."""
    counts = cluster.counts
    history.start[job], history.end[job] = now, now + jobs.run[job]
    for node in range(jobs.nodes[job]):
        counts[N_IDLE] -= 1
        history.machine[first[job] + node] = cluster.free[counts[N_IDLE]]
    cluster.running[counts[N_RUNNING]] = job
    counts[N_RUNNING] += 1


@njit(cache=True)
def _fail(
    jobs: Any, cluster: Any, history: Any, first: Ints, law: Any, event: int, now: int
) -> None:
    """A failure event takes machines of the jobs of one application.

    `law`: losses by application, the event's draws, and how long a machine is missing [ms].
    """
    losses, draws, detection = law
    left, counts = len(draws) - 2, cluster.counts
    running = cluster.running[: counts[N_RUNNING]]
    application = _application(jobs, running, history.hit, len(losses), draws[0])
    while application >= 0 and left:
        victim = _victim(jobs, running, history.hit, application, draws[2 + left - 1])
        if victim < 0:
            break
        history.hit[victim] = True
        history.end[victim] = max(history.start[victim] + jobs.slow_run[victim], now)
        taken, nodes = 0, jobs.nodes[victim]
        for step in range(nodes):
            machine = history.machine[first[victim] + (draws[1] + step) % nodes]
            if taken < min(losses[application], left) and cluster.back[machine] < now:
                cluster.back[machine] = now + detection
                lost = counts[N_LOST]
                history.lost[lost], history.lost_at[lost] = machine, now
                history.event[lost] = event
                counts[N_LOST] += 1
                taken += 1
        left -= max(taken, 1)


@njit(cache=True)
def _application(jobs: Workload, running: Ints, hit: Flags, applications: int, draw: int) -> int:
    """One of the applications that have running jobs not hit before; -1 if none has."""
    there = np.zeros(applications, np.int64)
    for job in running:
        if not hit[job]:
            there[jobs.application[job]] = 1
    left = draw % there.sum() if there.sum() else -1
    for application in range(applications):
        if there[application]:
            if left == 0:
                return application
            left -= 1
    return -1


@njit(cache=True)
def _victim(jobs: Workload, running: Ints, hit: Flags, application: int, draw: int) -> int:
    """One of the running jobs of an application not hit before; -1 if there is none."""
    count = 0
    for job in running:
        if jobs.application[job] == application and not hit[job]:
            count += 1
    left = draw % count if count else -1
    for job in running:
        if jobs.application[job] == application and not hit[job]:
            if left == 0:
                return job
            left -= 1
    return -1
