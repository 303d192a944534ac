"""A cluster that runs gangs first come, first served, and loses machines in failure events.

The simulation behind the panda-10k profile: every job is hit at most once, keeps its machines, and
runs on for a multiple of its undisturbed run time.
"""

from __future__ import annotations

from typing import NamedTuple

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
    n, width = len(jobs.submit), events.draws.shape[1] - 2
    start, end, hit = np.full(n, -1), np.full(n, -1), np.zeros(n, np.bool_)
    first = np.cumsum(jobs.nodes) - jobs.nodes
    placed = np.empty(int(jobs.nodes.sum()), np.int64)
    free, idle = np.arange(machines)[::-1].copy(), machines
    running, live = np.empty(machines, np.int64), 0
    back = np.zeros(machines, np.int64)  # when a lost machine was last replaced
    lost = np.empty(len(events.time) * width, np.int64)
    lost_at, event_of = np.empty_like(lost), np.empty_like(lost)
    count, job, event, now = 0, 0, 0, 0
    while True:
        leaver, leave = -1, NEVER
        for place in range(live):
            if end[running[place]] < leave:
                leaver, leave = place, end[running[place]]
        fail = events.time[event] if event < len(events.time) else NEVER
        begin = NEVER
        if job < n and jobs.nodes[job] <= idle:
            begin = max(jobs.submit[job], now)
        now = min(leave, fail, begin)
        if now > span or now == NEVER:
            break
        if now == leave:
            gone = running[leaver]
            live -= 1
            running[leaver] = running[live]
            for node in range(jobs.nodes[gone]):
                free[idle] = placed[first[gone] + node]
                idle += 1
        elif now == fail:
            draws = events.draws[event]
            application = _application(jobs, running[:live], hit, len(losses), draws[0])
            left = width
            while application >= 0 and left:
                victim = _victim(jobs, running[:live], hit, application, draws[2 + left - 1])
                if victim < 0:
                    break
                hit[victim] = True
                end[victim] = max(start[victim] + jobs.slow_run[victim], now)
                taken, nodes = 0, jobs.nodes[victim]
                for step in range(nodes):
                    machine = placed[first[victim] + (draws[1] + step) % nodes]
                    if taken < min(losses[application], left) and back[machine] < now:
                        back[machine] = now + detection
                        lost[count], lost_at[count], event_of[count] = machine, now, event
                        count += 1
                        taken += 1
                left -= max(taken, 1)
            event += 1
        else:
            start[job], end[job] = now, now + jobs.run[job]
            for node in range(jobs.nodes[job]):
                idle -= 1
                placed[first[job] + node] = free[idle]
            running[live] = job
            live += 1
            job += 1
    return History(start, end, hit, placed, lost[:count], lost_at[:count], event_of[:count])


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
