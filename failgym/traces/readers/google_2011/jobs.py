"""Google's jobs: what job events tell of them, and what their tasks do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.traces.readers.counts import Counts
from failgym.traces.readers.google_2011.events import Names, Tasks, kept_rows
from failgym.traces.readers.google_2011.indices import Indices
from failgym.traces.readers.google_2011.kernel import OUTCOMES, SUBMIT
from failgym.traces.readers.google_2011.parts import INT32, Column, Part, read_part, time_column
from failgym.traces.readers.google_2011.records import Records
from failgym.traces.readers.google_2011.runs import Run
from failgym.traces.readers.sources import Advance
from failgym.vocabulary import Outcome

Ints = npt.NDArray[np.int64]
Columns = dict[str, Any]

COLUMNS = (
    time_column("time"),
    Column("missing info", "integer", used=False),
    Column("job ID", "integer", required=True),
    Column("event type", "integer", required=True),
    Column("user", "text"),
    Column("scheduling class", "integer", largest=INT32),
    Column("job name", "text"),
    Column("logical job name", "text", used=False),
)

_LISTED = np.dtype(
    [
        ("job", np.int64),
        ("submit", np.int64),  # of the first SUBMIT [us], -1: none
        ("type", np.int64),  # this and the following: of the last event, -1: missing
        ("scheduling_class", np.int64),
        ("user", np.int64),
        ("name", np.int64),
    ]
)
"""What a job's events tell."""

_HEAD = np.dtype(
    [
        ("job", np.int64),
        ("submit", np.int64),  # when any task of the job is first heard of [ms]
        ("scheduled", np.bool_),  # this and the following: of the job's first scheduled task
        ("first", np.int64),
        ("index", np.int64),
        ("user", np.int64),
        ("priority", np.int64),
        ("scheduling_class", np.int64),
    ]
)
"""What a job's tasks tell; its first scheduled task is its first task if none was scheduled."""


WAITING = 1 << 17
"""At least as many records wait before they are folded into one per job."""


@dataclass
class JobEvents:
    """The jobs that events list, by id, and the texts their numbers stand for."""

    listed: Records
    users: list[str]
    names: list[str]


@dataclass
class Jobs:
    """The jobs that have tasks, in the order of the table."""

    columns: Columns
    ids: Ints  # ascending
    row: Ints  # in the table, of each of `ids`


@dataclass
class _Folded:
    """Records of which one per job is kept, folded together now and then."""

    fold: Callable[[Records], Records]
    kept: Records
    waiting: list[Records] = field(default_factory=list[Records])

    def add(self, records: Records) -> None:
        self.waiting.append(records)
        if sum(map(len, self.waiting)) > max(WAITING, len(self.kept)):
            self.result()

    def result(self) -> Records:
        if self.waiting:
            self.kept = self.fold(np.concatenate([self.kept, *self.waiting]))
            self.waiting.clear()
        return self.kept


def read_job_events(parts: list[Part], tasks: Tasks, count: Counts, advance: Advance) -> JobEvents:
    """The jobs as their events up to the last task event list them. Raises TraceError."""
    users, names = Names.of(tasks.users.texts), Names()
    listed = _Folded(_last_events, np.empty(0, dtype=_LISTED))
    for part in parts:
        for block in read_part(part, COLUMNS, advance):
            count.read("job events", block.rows.num_rows)
            kept = kept_rows(block, count, "job event")
            late = block.integers("time")[kept] > tasks.end
            count.drop("job event after the last task event", int(late.sum()))
            kept = kept[~late]
            events: Records = np.empty(len(kept), dtype=_LISTED)
            events["job"] = block.integers("job ID")[kept]
            events["type"] = block.integers("event type")[kept]
            submit = events["type"] == SUBMIT
            events["submit"] = np.where(submit, block.integers("time")[kept], -1)
            events["scheduling_class"] = block.integers("scheduling class")[kept]
            events["user"] = users.encode(block, "user")[kept]
            events["name"] = names.encode(block, "job name")[kept]
            listed.add(_last_events(events))
    return JobEvents(listed.result(), users.texts, names.texts)


def make_jobs(tasks: Tasks, events: JobEvents, count: Counts) -> Jobs:
    """The jobs table."""
    head, width = _survey(tasks.tasks)
    ids, listed = head["job"], events.listed
    count.drop("job without tasks", len(np.setdiff1d(listed["job"], ids)))
    listed = listed[np.isin(listed["job"], ids)]
    count.note("jobs without job events", len(ids) - len(listed))
    row = np.searchsorted(ids, listed["job"])  # of the listed ones

    submit, stated = head["submit"].copy(), listed["submit"] >= 0
    submit[row[stated]] = listed["submit"][stated] // 1000
    outcome = np.full(len(ids), Outcome.CENSORED, dtype=np.int8)
    ended = np.append(OUTCOMES, -1)[listed["type"]]
    outcome[row[ended >= 0]] = ended[ended >= 0]
    name = np.full(len(ids), -1)
    name[row] = listed["name"]
    user = head["user"].copy()
    user[row] = np.where(listed["user"] >= 0, listed["user"], user[row])
    scheduling_class = head["scheduling_class"].copy()
    missing = scheduling_class[row] < 0
    scheduling_class[row[missing]] = listed["scheduling_class"][missing]
    columns: Columns = {
        "original_id": ids.astype(np.str_),
        "user": np.array([*events.users, None], dtype=object)[user],
        "name": np.array([*events.names, None], dtype=object)[name],
        "submit": submit,
        "priority": known(head["priority"]),
        "scheduling_class": known(scheduling_class),
        "width": width,
        "outcome": outcome,
    }
    order = np.lexsort((columns["original_id"], submit))
    return Jobs({key: values[order] for key, values in columns.items()}, ids, _inverse(order))


def known(values: npt.NDArray[Any]) -> Any:
    """The values, missing where they are negative."""
    return np.ma.MaskedArray(values, mask=values < 0)


def _inverse(order: Ints) -> Ints:
    """Position of each element in `order`."""
    position = np.empty(len(order), dtype=np.int64)
    position[order] = np.arange(len(order))
    return position


def _last_events(events: Records) -> Records:
    """One record per job: its last event's, with the time of its first SUBMIT."""
    events = events[np.argsort(events["job"], kind="stable")]
    _, begin = np.unique(events["job"], return_index=True)
    last = events[np.append(begin[1:], len(events)) - 1] if len(events) else events
    submits = events[events["submit"] >= 0]
    jobs, first = np.unique(submits["job"], return_index=True)
    last["submit"] = -1
    last["submit"][np.searchsorted(last["job"], jobs)] = submits["submit"][first]
    return last


def _survey(runs: list[Run]) -> tuple[Records, Ints]:
    """One record per job with tasks, ascending, and how many task indices each job has."""
    indices = Indices.none()
    folded = _Folded(_first_scheduled, np.empty(0, dtype=_HEAD))
    for run in runs:
        tasks = run.records()
        heads: Records = np.empty(len(tasks), dtype=_HEAD)
        for name in ("job", "scheduled", "index", "user", "priority", "scheduling_class"):
            heads[name] = tasks[name]
        heads["first"] = heads["submit"] = tasks["first"] // 1000
        folded.add(_first_scheduled(heads))
        indices.add(tasks["job"], tasks["index"])
    return folded.result(), indices.widths()[1]


def _first_scheduled(heads: Records) -> Records:
    order = np.lexsort((heads["index"], heads["first"], ~heads["scheduled"], heads["job"]))
    heads = heads[order]
    _, begin = np.unique(heads["job"], return_index=True)
    kept = heads[begin]
    if len(kept):
        kept["submit"] = np.minimum.reduceat(heads["submit"], begin)
    return kept
