"""The panda-10k generator: the jobs of Table 5 on a cluster that loses machines."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from failgym.traces.synthetic.profiles.panda import Panda10k
from failgym.traces.synthetic.quantiles import Ints, evenly, quotas
from failgym.traces.synthetic.ranges import check_rows, within_reach
from failgym.traces.synthetic.spark_cluster import Events, History, Workload, simulate
from failgym.traces.synthetic.tables import identifiers, in_order, meta_of, texts
from failgym.traces.trace import Trace
from failgym.vocabulary import HOUR, SECOND, Outcome


def generate_panda_10k(profile: Panda10k, jobs: int, rng: np.random.Generator) -> Trace:
    """A trace of `jobs` jobs after the profile."""
    span = within_reach(jobs / jobs_per_ms(profile) + 0.5)
    kind, scale, workload = _workload(profile, jobs, span, rng)
    losses = np.array([app.failed_nodes for app in profile.applications])
    history = simulate(
        workload, _events(profile, span, rng), losses, profile.machines, profile.detection, span
    )
    return _trace(profile, kind, scale, workload, history, span)


def jobs_per_ms(profile: Panda10k) -> float:
    """The rate of arrivals that makes the load [1/ms]."""
    work = sum(
        share * scale * app.runtime * app.nodes
        for app in profile.applications
        for scale, share in app.shares
    )
    total = sum(share for app in profile.applications for _, share in app.shares)
    return profile.load * profile.machines * total / (work * SECOND)


def _workload(
    profile: Panda10k, n: int, span: int, rng: np.random.Generator
) -> tuple[Ints, Ints, Workload]:
    """Application and scale of each job, and what the simulation knows of it."""
    rows = [
        (number, scale, share)
        for number, app in enumerate(profile.applications)
        for scale, share in app.shares
    ]
    counts = quotas([share for _, _, share in rows], n)
    row = np.repeat(np.arange(len(rows)), counts)[evenly(rng, n)]
    kind = np.array([number for number, _, _ in rows])[row]
    scale = np.array([scale for _, scale, _ in rows])[row]
    run = np.array([app.runtime for app in profile.applications])[kind] * scale * SECOND
    slowdown = np.array([app.slowdown for app in profile.applications])[kind]
    nodes = np.array([app.nodes for app in profile.applications])[kind]
    check_rows(int(nodes.sum()), "placements")
    submit = np.sort(rng.integers(0, max(span, 1), n))
    slow_run = np.floor(run * slowdown + 0.5).astype(np.int64)
    return kind, scale, Workload(submit, nodes, run, slow_run, kind)


def _events(profile: Panda10k, span: int, rng: np.random.Generator) -> Events:
    """Failure events as a Poisson process whose number is the expected one."""
    count = math.floor(profile.events_per_hour * span / HOUR + 0.5)
    check_rows(count * (2 + profile.event_machines), "outages")
    time = np.sort(rng.integers(0, max(span, 1), count))
    return Events(time, rng.integers(0, 2**31, (count, 2 + profile.event_machines)))


def _trace(
    profile: Panda10k,
    kind: Ints,
    scale: Ints,
    workload: Workload,
    history: History,
    span: int,
) -> Trace:
    n, ran = len(kind), history.start >= 0
    cut = ~ran | (history.end > span)
    outcome = np.where(cut, Outcome.CENSORED, Outcome.FINISH)
    attempt = np.repeat(np.arange(n), np.where(ran, workload.nodes, 0))
    # Jobs start in order of submission; the machines of each come in order.
    placed = attempt * profile.machines + history.machine[: len(attempt)]
    machine = np.sort(placed) % profile.machines
    return in_order(
        meta_of(
            profile.name,
            "Calibrated to Ghit and Epema, HPDC 2017",
            span,
        ),
        jobs={
            "original_id": identifiers(n),
            "name": texts([app.name for app in profile.applications], kind),
            "queue": [f"x{factor}" for factor in scale.tolist()],
            "submit": workload.submit,
            "width": 1,
            "outcome": outcome,
            "exit_category": texts(["undisturbed", "hit"], history.hit.astype(np.int64)),
        },
        tasks={"job": np.arange(n), "index": np.zeros(n, dtype=np.int64), "width": workload.nodes},
        attempts={
            "task": np.arange(n),
            "queued": workload.submit,
            "start": np.ma.array(history.start, mask=~ran),
            "end": np.where(cut, span, history.end),
            "outcome": outcome,
        },
        seen=np.ones(n, dtype=np.bool_),
        placements={"attempt": attempt, "machine": machine, "slots": 1},
        machines={
            "original_id": [f"machine-{number:05d}" for number in range(profile.machines)],
            "speed": 1.0,
            "slots": 1,
        },
        outages=_outages(profile, history, span),
    )


def _outages(profile: Panda10k, history: History, span: int) -> dict[str, Any]:
    """Lost machines, by machine and time; those that an event takes together are a group."""
    alone = np.bincount(history.event, minlength=1)[history.event] < 2
    up = history.lost_at + profile.detection
    order = np.lexsort((history.lost_at, history.lost))
    return {
        "machine": history.lost[order],
        "down": history.lost_at[order],
        "up": np.ma.array(up, mask=up > span)[order],
        "cause": "failure event",
        "group": np.ma.array(history.event, mask=alone)[order],
    }
