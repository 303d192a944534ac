"""The panda-das generator: data-analytics jobs as stages of tasks, with their run times and sizes.

The jobs of an application are made together: arrays of shape (jobs, tasks of a job).
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from failgym.traces.synthetic.profiles.panda import DagApplication, DagStage, PandaDas
from failgym.traces.synthetic.quantiles import (
    Floats,
    Ints,
    evenly,
    first_of_group,
    normal_score,
    position_in_group,
    quotas,
    stratified,
)
from failgym.traces.synthetic.ranges import check_rows, within_reach
from failgym.traces.synthetic.tables import identifiers, meta_of, texts
from failgym.traces.trace import Trace
from failgym.vocabulary import SECOND, Outcome

PARTS = 1_000
"""Run times relative to those of ordinary tasks are counted in thousandths."""

KILOBYTE = 1_000
"""Outputs are whole kilobytes, at least one."""


@dataclass(frozen=True)
class Dags:
    """The jobs of one application; edges in order of (parent, child)."""

    run: Ints  # of each task [ms], (jobs, tasks)
    output: Ints  # of each task [bytes], (jobs, tasks)
    stage: Ints  # of each task, (tasks,)
    parent: Ints  # stage, (edges,)
    child: Ints  # stage, (edges,)
    wide: Ints  # (edges,)
    bytes: Ints  # (jobs, edges)


def generate_panda_das(profile: PandaDas, jobs: int, rng: np.random.Generator) -> Trace:
    """A trace of `jobs` jobs after the profile."""
    apps = profile.applications
    counts = quotas([app.share for app in apps], jobs)
    kind = np.repeat(np.arange(len(apps)), counts)[evenly(rng, jobs)]
    work = sum(app.share * app.runtime * app.nodes for app in apps) / sum(app.share for app in apps)
    span = within_reach(jobs * work * SECOND / (profile.machines * profile.load) + 0.5)
    tasks = [sum(profile.tasks_of(app, stage) for stage in app.stages) for app in apps]
    check_rows(int(np.dot(counts, tasks)), "tasks")
    submit = np.sort(rng.integers(0, max(span, 1), jobs))
    dags = [
        _dags(profile, app, count, rng) for app, count in zip(apps, counts.tolist(), strict=True)
    ]
    return _trace(profile, kind, submit, dags, span)


def _dags(profile: PandaDas, app: DagApplication, jobs: int, rng: np.random.Generator) -> Dags:
    sizes = np.array([profile.tasks_of(app, stage) for stage in app.stages])
    run = [_run_times(profile, stage, n, jobs, rng) for stage, n in _zip(app, sizes)]
    output: list[Ints] = []
    edges: list[tuple[int, int, bool]] = []
    sent: list[Ints] = []
    for number, (stage, n) in enumerate(_zip(app, sizes)):
        read = np.full(jobs, stage.scans * app.input_bytes)
        for parent in stage.parents + stage.cached:
            edges.append((parent, number, parent in stage.parents))
            sent.append(output[parent].sum(axis=1))
            read = read + sent[-1]
        ratio = _selectivities(profile, stage, n, jobs, rng)
        size = np.maximum(np.floor(read[:, None] / n * ratio / KILOBYTE + 0.5), 1.0)
        output.append(size.astype(np.int64) * KILOBYTE)
    ends = np.array(edges, dtype=np.int64).reshape(-1, 3).T
    order = sorted(range(len(edges)), key=edges.__getitem__)
    return Dags(
        run=_scaled(app, run, profile.slots),
        output=np.concatenate(output, axis=1),
        stage=np.repeat(np.arange(len(sizes)), sizes),
        parent=ends[0, order],
        child=ends[1, order],
        wide=ends[2, order],
        bytes=np.array(sent, dtype=np.int64).reshape(len(edges), jobs)[order].T,
    )


def _zip(app: DagApplication, sizes: Ints) -> list[tuple[DagStage, int]]:
    return list(zip(app.stages, sizes.tolist(), strict=True))


def _run_times(
    profile: PandaDas, stage: DagStage, tasks: int, jobs: int, rng: np.random.Generator
) -> Ints:
    """Run times of the tasks of a stage, in `PARTS` of an ordinary one, (jobs, tasks).

    All are drawn together, then dealt out: of so many like ones as there are jobs, each gets one.
    """
    least, most = stage.times
    median = (least + most) / 2.0
    laws = [(1.0 - stage.outliers, least, most)]
    laws += [
        (stage.outliers * share, low * median, high * median) for share, low, high in profile.delays
    ]
    counts: list[int] = quotas([share for share, _, _ in laws], jobs * tasks).tolist()
    rising: list[Floats] = []
    for (_, low, high), count in zip(laws, counts, strict=True):
        place = (np.arange(count) + rng.random(count)) / max(count, 1)
        rising.append(low + (high - low) * place)
    dealt = rng.permuted(np.concatenate(rising).reshape(tasks, jobs), axis=1).T
    return np.floor(rng.permuted(dealt, axis=1) * PARTS + 0.5).astype(np.int64)


def _selectivities(
    profile: PandaDas, stage: DagStage, tasks: int, jobs: int, rng: np.random.Generator
) -> Floats:
    """Size of each task's output over that of its input, (jobs, tasks)."""
    between = profile.selectivity_stages * normal_score(stratified(rng, jobs))
    within = profile.selectivity_tasks * normal_score(
        np.clip(rng.random((jobs, tasks)), 1e-6, 1.0 - 1e-6)
    )
    return stage.selectivity * np.exp(between[:, None] + within)


def _scaled(app: DagApplication, run: list[Ints], slots: int) -> Ints:
    """Run times [ms] with which each job takes the application's run time."""
    wanted = app.runtime * SECOND
    parts = np.concatenate(run, axis=1)
    parents = [stage.parents + stage.cached for stage in app.stages]
    taken = np.array(
        [
            makespan([times[job].tolist() for times in run], parents, app.nodes * slots)
            for job in range(len(parts))
        ],
        dtype=np.int64,
    ).reshape(-1, 1)
    return (2 * parts * wanted + taken) // (2 * taken)


def makespan(run: list[list[int]], parents: list[tuple[int, ...]], slots: int) -> int:
    """When the last task ends if tasks start in order, each on the slot that is free first.

    Args:
        run: run times of the tasks of each stage.
        parents: of each stage; it starts when they are through.
        slots: how many tasks run at a time.
    """
    free = [0] * min(slots, sum(len(times) for times in run))
    through: list[int] = []
    for times, before in zip(run, parents, strict=True):
        release = max((through[parent] for parent in before), default=0)
        last = release
        for time in times:
            end = max(free[0], release) + time
            heapq.heapreplace(free, end)
            last = max(last, end)
        through.append(last)
    return max(through)


def _trace(profile: PandaDas, kind: Ints, submit: Ints, dags: list[Dags], span: int) -> Trace:
    apps = profile.applications
    sizes = np.array([len(dag.stage) for dag in dags])[kind]
    stages = np.array([len(app.stages) for app in apps])[kind]
    edges = np.array([len(dag.parent) for dag in dags])[kind]
    job, stage_job = np.repeat(np.arange(len(kind)), sizes), np.repeat(np.arange(len(kind)), stages)
    stage_number = position_in_group(stages)
    run, output = _joined(kind, sizes, [dag.run for dag in dags], [dag.output for dag in dags])
    (stage,) = _joined(kind, sizes, [dag.stage for dag in dags])
    parent, child, wide, sent = _joined(
        kind,
        edges,
        [dag.parent for dag in dags],
        [dag.child for dag in dags],
        [dag.wide for dag in dags],
        [dag.bytes for dag in dags],
    )
    behind = np.repeat(first_of_group(stages), edges)
    return Trace.of(
        meta_of(
            profile.name,
            "Calibrated to Ghit and Epema, HPDC 2017",
            span,
            {"block": f"{profile.block} bytes of input per task that reads input"},
        ),
        jobs={
            "original_id": identifiers(len(kind)),
            "name": texts([app.name for app in apps], kind),
            "submit": submit,
            "width": sizes,
            "outcome": np.full(len(kind), Outcome.CENSORED),
        },
        tasks={
            "job": job,
            "index": position_in_group(sizes),
            "stage": first_of_group(stages)[job] + stage,
            "width": 1,
            "output_bytes": output,
        },
        attempts={
            "task": np.arange(len(job)),
            "queued": submit[job],
            "end": np.full(len(job), span),
            "outcome": np.full(len(job), Outcome.CENSORED),
            "length": run,
        },
        stages={"job": stage_job, "stage": stage_number, "name": _stage_names(apps, kind)},
        stage_edges={
            "parent": behind + parent,
            "child": behind + child,
            "bytes": sent,
            "wide": wide == 1,
        },
        machines={
            "original_id": [f"node-{number:02d}" for number in range(profile.machines)],
            "speed": 1.0,
            "slots": profile.slots,
        },
    )


def _joined(kind: Ints, sizes: Ints, *columns: list[Ints]) -> list[Ints]:
    """Columns of all jobs laid end to end, from those of each application.

    An application's are of shape (its jobs, rows of a job), or (rows of a job,) if they are equal.
    """
    first = first_of_group(sizes)
    joined = [np.empty(int(sizes.sum()), dtype=np.int64) for _ in columns]
    for number in range(len(columns[0])):
        here = first[kind == number]
        for whole, column in zip(joined, columns, strict=True):
            rows = column[number]
            whole[here[:, None] + np.arange(rows.shape[-1])] = rows
    return joined


def _stage_names(apps: tuple[DagApplication, ...], kind: Ints) -> list[str]:
    names = [[stage.name for stage in app.stages] for app in apps]
    kinds: list[int] = kind.tolist()
    return [name for number in kinds for name in names[number]]
