"""Twins: new traces that behave like a record and are learned from it.

`twin` resamples a record in its hierarchy of users, applications, jobs, tasks and attempts:

- `record`: the record as arrays, and the applications that recur in it;
- `timeline`: which job is resampled when, for whom, under which name;
- `partners`: the other job that each is mixed with, so that it lies between two;
- `lasting`: heavy tails, and how what the end of the record cut off goes on;
- `moments`: bursts of endings that stay bursts;
- `shapes`: tasks and attempts; `cut`: the end of the data; `tables`;
- `machines`, `outages`: which machine fails when, for how long;
- `private`: what a twin does not show.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from failgym.traces.order import in_order
from failgym.traces.schema import LATEST, TraceError
from failgym.traces.tables import Meta
from failgym.traces.trace import Trace
from failgym.traces.twins import machines, tables
from failgym.traces.twins.cut import Kept, kept
from failgym.traces.twins.lasting import Lasting
from failgym.traces.twins.moments import bursts, in_bursts
from failgym.traces.twins.partners import partners
from failgym.traces.twins.private import rare, requests, stand_ins
from failgym.traces.twins.record import Record, with_tasks
from failgym.traces.twins.shapes import Shapes, shapes
from failgym.traces.twins.timeline import Timeline, timeline
from failgym.vocabulary import DAY

__all__ = ["MOST_JOBS", "twin"]

MOST_JOBS = 10_000_000
"""The largest twin [jobs; outages, of a record without jobs]."""


def twin(
    trace: Trace,
    jobs: int | None = None,
    seed: int = 0,
    *,
    days: float | None = None,
    part: Literal["train", "all"] = "train",
    boundary_share: float = 0.7,
    private: int = 1,
) -> Trace:
    """A new trace that behaves like a record: the same for the same record and arguments.

    Args:
        trace: the record.
        jobs: how many; as many as what was learned from, if None. Fewer are whole applications of
            it, drawn at random; more are the record over and over, each time resampled.
        seed: at least 0.
        days: how long the twin of a record without jobs is; as long as what was learned from, if
            None. More are that time over and over, each time resampled.
        part: what it is learned from: the record's train part, or all of it.
        boundary_share: where the train part ends.
        private: each job of an application with fewer jobs is made after one of so many alike
            applications, at random; and what fewer jobs request is not requested. How many jobs
            there are of such applications, and about when, is still told.

    Raises:
        TraceError: for a record without jobs and outages, or a number out of its range; for fewer
            applications than `private`; for `days` of a record with jobs, `jobs` or `private` of
            one without; if nothing of the train part has run yet; for more jobs than come in 2,230
            years.
    """
    _check(trace, jobs, seed, part, private, days)
    source = trace.split("train", boundary_share) if part == "train" else trace
    if not source.rows("jobs"):
        return _of_outages(trace, Record(source), days, seed)
    record = Record(with_tasks(source))
    if not source.rows("tasks"):
        raise TraceError(f"{source.meta.source}: no tasks, so nothing to learn a twin from")
    if _ran(trace) and not _ran(source):
        raise TraceError(
            f"{source.meta.source}: nothing had run yet; learn from all of it (--whole)"
        )
    wanted = record.trace.rows("jobs") if jobs is None else jobs
    streams = [_generator(one) for one in np.random.SeedSequence(seed).spawn(7)]
    together = bursts(record)
    lasting = Lasting.of(record, streams[0])
    hidden = rare(record, private)
    plan = timeline(record, wanted, in_bursts(record, together) & ~hidden, streams[1])
    plan = replace(plan, donor=stand_ins(record, private, plan.donor, streams[6]))
    partner = partners(record, hidden, streams[2])
    shape = shapes(record, plan, partner, together, lasting, streams[3])
    seen = kept(record, plan, shape, lasting, wanted)
    row = machines.moved(record, plan.thinned, streams[4])
    made = _tables(record, plan, shape, seen, requests(record, private), row)
    made |= machines.tables(record, row, streams[5], seen.end)
    return in_order(_meta(trace, source, seen.end), **made)


def _of_outages(trace: Trace, record: Record, days: float | None, seed: int) -> Trace:
    """A twin of machines and their outages alone."""
    end = record.span if days is None else max(round(days * DAY), 1)
    most = record.span * MOST_JOBS / record.trace.rows("outages")
    if end > most:
        raise TraceError(f"days is {end / DAY:g}, expected at most {most / DAY:.0f}")
    streams = [_generator(one) for one in np.random.SeedSequence(seed).spawn(2)]
    row = machines.moved(record, 1.0, streams[0])
    made = machines.tables(record, row, streams[1], end)
    return in_order(_meta(trace, record.trace, end), **made)


def _check(
    trace: Trace, jobs: int | None, seed: int, part: str, private: int, days: float | None
) -> None:
    if part not in ("train", "all"):
        raise TraceError(f"part is {part!r}, expected 'train' or 'all'")
    if jobs is not None and not 1 <= jobs <= MOST_JOBS:
        raise TraceError(f"jobs is {jobs}, expected at least 1 and at most {MOST_JOBS}")
    for name, value, least in (("seed", seed, 0), ("private", private, 1)):
        if value < least:
            raise TraceError(f"{name} is {value}, expected at least {least}")
    if days is not None and not 0.0 < days <= LATEST / DAY:
        raise TraceError(f"days is {days:g}, expected more than 0 and at most {LATEST // DAY}")
    source = trace.meta.source
    if not trace.rows("jobs") and not trace.rows("outages"):
        raise TraceError(f"{source}: no jobs and no outages, so nothing to learn from")
    if trace.rows("jobs") and days is not None:
        raise TraceError(f"days is {days:g}: {source} has jobs, so say how many jobs")
    if not trace.rows("jobs") and jobs is not None:
        raise TraceError(f"jobs is {jobs}: {source} has outages alone, so say how many days")
    if not trace.rows("jobs") and private != 1:
        raise TraceError(f"private is {private}: {source} has no jobs, so no applications to mix")


def _ran(trace: Trace) -> bool:
    """Did any attempt run?"""
    return bool(trace.present("attempts", "start").any())


def _tables(
    record: Record, plan: Timeline, shape: Shapes, seen: Kept, request: Any, row: Any
) -> dict[str, Any]:
    job = np.cumsum(seen.jobs) - 1
    task = np.cumsum(seen.tasks) - 1
    width = np.bincount(shape.job[seen.tasks], minlength=len(plan.donor))
    staged = tables.stages(record, plan, shape, seen, job)
    return {
        "jobs": tables.jobs(record, plan, seen, width),
        "tasks": tables.tasks(record, shape, seen, job, request) | staged["tasks"],
        "attempts": tables.attempts(record, shape, seen, task),
        "placements": tables.placements(record, shape, seen, row),
        "windows": tables.windows(record, shape, seen),
        "stages": staged["stages"],
        "stage_edges": staged["stage_edges"],
    }


def _meta(trace: Trace, source: Trace, end: int) -> Meta:
    return Meta(
        source=f"twin of {source.meta.source}",
        licence=trace.meta.licence,
        citation=trace.meta.citation,
        time_origin=trace.meta.time_origin,
        end=end,
        remarks={"twin": f"learned from the trace of content {source.content_hash}"},
        unix_origin=trace.meta.unix_origin,
    )


def _generator(seeds: np.random.SeedSequence) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seeds))
