"""The lanl-2 generator: random workflows on a cluster whose machines fail.

All is integers: weights and distances are drawn as such, compute times are products with 16-bit
fractions, rounded half up once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from failgym.traces.synthetic.outages import domains, draw_outages
from failgym.traces.synthetic.profiles.lanl import Lanl2
from failgym.traces.synthetic.quantiles import Ints, position_in_group
from failgym.traces.synthetic.ranges import check_rows, within_reach
from failgym.traces.synthetic.tables import identifiers, meta_of
from failgym.traces.trace import Trace
from failgym.vocabulary import Outcome

ONE = 1 << 16
"""The fraction 1."""


@dataclass(frozen=True)
class Edges:
    """Edges between tasks, in order of (parent, child); no two are the same."""

    parent: Ints
    child: Ints
    bytes: Ints


def generate_lanl_2(profile: Lanl2, jobs: int, rng: np.random.Generator) -> Trace:
    """A trace of `jobs` workflows after the profile."""
    span = within_reach(-(-jobs // profile.batch) * profile.batch_gap)
    low, high = profile.tasks
    sizes = rng.integers(low, high + 1, jobs)
    check_rows(int(sizes.sum()) * profile.elements, "costs")
    job, index = np.repeat(np.arange(jobs), sizes), position_in_group(sizes)
    weight = rng.integers(profile.weight[0], profile.weight[1] + 1, len(job))
    edges = _edges(profile, sizes, job, index, rng)
    machines = profile.outages.machines
    elements = np.sort(rng.permutation(machines)[: profile.elements])
    time = _compute_times(profile, weight, len(elements), rng)
    submit = np.arange(jobs) // profile.batch * profile.batch_gap
    outages = draw_outages(profile.outages, span, rng)
    return Trace.of(
        meta_of(
            profile.name,
            "Calibrated to LA-UR-05-7318 and to FLAW (Cluster Computing, 2010)",
            span,
            {"bandwidth": f"{profile.bandwidth} bytes per ms between two machines"},
        ),
        jobs={
            "original_id": identifiers(jobs),
            "name": "random workflow",
            "submit": submit,
            "width": sizes,
            "outcome": np.full(jobs, Outcome.CENSORED),
        },
        tasks={"job": job, "index": index, "stage": np.arange(len(job)), "width": 1},
        attempts={
            "task": np.arange(len(job)),
            "queued": submit[job],
            "end": np.full(len(job), span),
            "outcome": np.full(len(job), Outcome.CENSORED),
            "length": (time.sum(axis=1) + len(elements) // 2) // len(elements),
        },
        stages={"job": job, "stage": index},
        stage_edges={
            "parent": edges.parent,
            "child": edges.child,
            "bytes": edges.bytes,
            "wide": np.zeros(len(edges.bytes), dtype=np.bool_),
        },
        costs=_costs(time, elements),
        machines={
            "original_id": [f"node-{number:02d}" for number in range(machines)],
            "speed": 1.0,
            "slots": 1,
            "domain": domains(profile.outages),
        },
        outages=outages.columns(),
    )


def _edges(profile: Lanl2, sizes: Ints, job: Ints, index: Ints, rng: np.random.Generator) -> Edges:
    """Edges from earlier tasks of a workflow to later ones; every task but the first has a parent.

    A task draws one parent and then, by its workflow's meshing degree, a number of others between
    0 and twice the mean; a parent is nearer than twice the mean edge length. A parent drawn twice
    counts once. Transfer times are uniform between 0 and twice their workflow's mean.
    """
    jobs = len(sizes)
    later = np.flatnonzero(index > 0)
    others = _between(profile.meshing, jobs, rng) - ONE  # in the mean, beside the first
    drawn = rng.integers(0, ONE, len(later)) * 2 * others[job[later]] // ONE
    count = 1 + drawn // ONE + (rng.integers(0, ONE, len(later)) < drawn % ONE)
    child = np.repeat(later, count)
    reach = np.maximum(2 * _between(profile.edge_length, jobs, rng) * sizes // ONE - 1, 1)
    distance = 1 + rng.integers(0, np.minimum(reach[job[child]], index[child]))
    keys = np.sort((child - distance) * len(job) + child)
    keys = keys[np.diff(keys, prepend=-1) > 0]
    parent, child = keys // len(job), keys % len(job)
    mean = (profile.weight[0] + profile.weight[1]) * profile.unit // 2
    ratio = _between(profile.communication, jobs, rng)[job[child]]
    transfer = rng.integers(0, 2 * mean * ratio // ONE + 1)
    return Edges(parent, child, transfer * profile.bandwidth)


def _between(bounds: tuple[float, float], n: int, rng: np.random.Generator) -> Ints:
    """`n` fractions between the bounds, in 1 / ONE."""
    low, high = (math.floor(bound * ONE + 0.5) for bound in bounds)
    return rng.integers(low, high + 1, n)


def _compute_times(profile: Lanl2, weight: Ints, elements: int, rng: np.random.Generator) -> Ints:
    """The compute time of each task on each machine [ms], (tasks, elements)."""
    width = math.floor(profile.heterogeneity * ONE + 0.5)
    factor = rng.integers(0, width + 1, (len(weight), elements), dtype=np.uint32)
    time = factor.astype(np.int64)
    time += ONE - width // 2
    time *= (weight * profile.unit)[:, None]
    time += ONE // 2
    time >>= 16
    return time


def _costs(time: Ints, elements: Ints) -> dict[str, Any]:
    """The table of compute times, in order of (task, machine)."""
    tasks = len(time)
    return {
        "task": np.repeat(np.arange(tasks), len(elements)),
        "machine": np.tile(elements, tasks),
        "time": time.reshape(-1),
    }
