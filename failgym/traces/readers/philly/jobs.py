"""The jobs of Microsoft's Philly log: attempts, their machines, times by the cluster's clock."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache

from failgym.traces.readers.counts import Counts
from failgym.traces.readers.growing import Growing
from failgym.traces.readers.json_fields import Fields
from failgym.traces.schema import LATEST
from failgym.vocabulary import Cause, Outcome

__all__ = ["STATUS", "Jobs", "pacific"]

STATUS: dict[str, tuple[Outcome, Cause | None]] = {
    "pass": (Outcome.FINISH, None),
    "failed": (Outcome.FAIL, Cause.INTRINSIC),
    "killed": (Outcome.KILL, Cause.USER),
}
"""A job's status -> its outcome, and why its last attempt ended so."""

MISSING = ("", "None", "null")
"""Texts that stand for a time that was not recorded."""

MOST_GPUS = 2**20
"""More GPUs than an attempt can have."""

_TIME = re.compile(r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)(?: (PST|PDT))?", re.ASCII)
_EPOCH = datetime(1970, 1, 1)
_STANDARD, _DAYLIGHT = timedelta(hours=8), timedelta(hours=7)


def pacific(text: str, not_before: int = 0) -> int | None:
    """A time `YYYY-MM-DD HH:MM:SS` of the US Pacific zone, in ms since 1970; None if it is none.

    `PST` or `PDT` may follow it. Without them, daylight saving time is the rule since 2007: from
    2:00 of the second Sunday of March to 2:00 of the first of November; the hour that comes twice
    is the first one, unless that would be earlier than `not_before` [ms since 1970].
    """
    match = _TIME.fullmatch(text.strip())
    if match is None:
        return None
    try:
        local = datetime.fromisoformat(match[1])
    except ValueError:
        return None
    begin, end = _sunday(local.year, 3, 2), _sunday(local.year, 11, 1)
    daylight = begin <= local < end
    if match[2] is not None:
        daylight = match[2] == "PDT"
    elif end - timedelta(hours=1) <= local < end:
        daylight = _since_1970(local, _DAYLIGHT) >= not_before
    return _since_1970(local, _DAYLIGHT if daylight else _STANDARD)


@cache
def _sunday(year: int, month: int, number: int) -> datetime:
    """2:00 of the month's first, second, ... Sunday."""
    first = datetime(year, month, 1, 2)
    return first + timedelta(days=(6 - first.weekday()) % 7 + 7 * (number - 1))


def _since_1970(local: datetime, behind: timedelta) -> int:
    return (local - _EPOCH + behind) // timedelta(milliseconds=1)


@dataclass
class Run:
    """An attempt as it is told; times in ms since 1970, None: not told."""

    start: int | None
    end: int | None
    machines: dict[str, int]  # name -> GPUs, maybe 0
    outcome: Outcome = Outcome.FAIL
    cause: Cause | None = Cause.INTRINSIC


@dataclass
class Jobs:
    """The tables as they grow; times in ms since 1970."""

    count: Counts
    jobs: Growing = field(
        default_factory=lambda: Growing(
            integers=("submit", "width", "outcome"), texts=("original_id", "user", "queue")
        )
    )
    tasks: Growing = field(
        default_factory=lambda: Growing(integers=("job", "index", "width"), numbers=("gpu",))
    )
    attempts: Growing = field(
        default_factory=lambda: Growing(
            integers=("task", "queued", "start", "end", "outcome", "cause")
        )
    )
    placements: Growing = field(
        default_factory=lambda: Growing(integers=("attempt", "machine", "slots"))
    )
    machines: dict[str, int] = field(default_factory=dict[str, int])
    seen: set[str] = field(default_factory=set[str])
    earliest: int = LATEST
    latest: int = 0

    def machine(self, name: str) -> int:
        """The row of a machine."""
        return self.machines.setdefault(name, len(self.machines))

    def add(self, job: Fields) -> None:
        """Take in a job. Raises TraceError."""
        count = self.count
        count.read("jobs")
        job.need("jobid", "the job's id")
        name = job.text("jobid") or ""
        status = (job.text("status") or "").strip().lower()
        if status not in STATUS:
            job.fail("status", "Pass, Failed or Killed")
        submit = _time(job, "submitted_time")
        runs = self._runs(job, submit or 0)
        if name in self.seen:
            count.drop("job that is listed twice")
            return
        self.seen.add(name)
        told = [time for run in runs for time in (run.start, run.end) if time is not None]
        if submit is None and not told:
            count.drop("job without any time")
            return
        if submit is None:
            count.note("job without a submit time: taken from its first attempt")
            submit = min(told)
        self.earliest = min(self.earliest, submit, *told)
        self.latest = max(self.latest, submit, *told)
        outcome = self._close(runs, *STATUS[status])
        row = self.jobs.add(
            original_id=name,
            user=job.text("user"),
            queue=job.text("vc"),
            submit=submit,
            width=1,
            outcome=outcome,
        )
        gpus = self._gpus(runs)
        task = self.tasks.add(job=row, index=0, width=gpus or 1, gpu=gpus)
        self._add_runs(task, submit, runs)

    def _runs(self, job: Fields, submit: int) -> list[Run]:
        runs: list[Run] = []
        latest = submit
        for attempt in job.objects("attempts"):
            self.count.read("attempts")
            start = _time(attempt, "start_time", latest)
            end = _time(attempt, "end_time", latest if start is None else start)
            latest = max(latest, start or 0, end or 0)
            runs.append(Run(start, end, _machines(attempt)))
        return runs

    def _close(self, runs: list[Run], outcome: Outcome, cause: Cause | None) -> Outcome:
        """Settle how each attempt ended, drop those that tell nothing; the job's outcome."""
        count = self.count
        for place, run in enumerate(runs[:-1]):
            if run.end is None and run.start is not None:
                later = (time for r in runs[place + 1 :] for time in (r.start, r.end))
                run.end = next((time for time in later if time is not None), None)
                if run.end is not None:
                    count.note("attempt without an end: taken to end when the next one is heard of")
        if runs:
            last = runs[-1]
            last.outcome, last.cause = outcome, cause
            if last.end is None:
                count.note("job without an end of its last attempt: still running, CENSORED")
                outcome = Outcome.CENSORED
        else:
            count.note("job without attempts: CENSORED, it never ran")
        kept = [run for run in runs[:-1] if run.start is not None or run.end is not None]
        if len(kept) < len(runs) - 1:
            count.drop("attempt without any time", len(runs) - 1 - len(kept))
        runs[:] = kept + runs[-1:]
        for run in runs:
            self._settle(run)
        return outcome

    def _settle(self, run: Run) -> None:
        """Times that fit together, and an outcome that fits them."""
        if run.end is None:
            run.outcome, run.cause = Outcome.CENSORED, None
        elif run.start is not None and run.end < run.start:
            self.count.note("attempt that ends before it begins: taken to last no time")
            run.end = run.start
        elif run.start is None and run.outcome is Outcome.FINISH:
            self.count.note("success without a start: taken to last no time")
            run.start = run.end
        elif run.start is None:
            self.count.note("attempt that ended without a start: never ran")

    def _gpus(self, runs: Sequence[Run]) -> int | None:
        """The GPUs of the job: those of its first attempt that tells; None if none does."""
        told = [gpus for run in runs if (gpus := sum(run.machines.values()))]
        if not told:
            self.count.note("job of which no GPU is told: 1 slot")
            return None
        if len(set(told)) > 1:
            self.count.note("job whose attempts have different numbers of GPUs: the first counts")
        return told[0]

    def _add_runs(self, task: int, submit: int, runs: Sequence[Run]) -> None:
        for place, run in enumerate(runs or [Run(None, None, {}, Outcome.CENSORED, None)]):
            heard = next((time for time in (run.start, run.end) if time is not None), submit)
            if heard < submit:
                self.count.note("attempt that begins before its job was submitted")
            waited = place == 0 and heard >= submit
            unheard = run.start is None and heard < submit
            row = self.attempts.add(
                task=task,
                queued=submit if waited else heard if unheard else None,
                start=run.start,
                end=run.end,
                outcome=run.outcome,
                cause=run.cause,
            )
            for name, gpus in run.machines.items():
                machine = self.machine(name)
                if gpus and run.start is not None:
                    self.placements.add(attempt=row, machine=machine, slots=gpus)


def _time(fields: Fields, name: str, not_before: int = 0) -> int | None:
    text = fields.text(name)
    if text is None or text.strip() in MISSING:
        return None
    time = pacific(text, not_before)
    if time is None or not 0 <= time <= LATEST:
        fields.fail(name, "a time YYYY-MM-DD HH:MM:SS of 1970 or later, or none")
    return time


def _machines(attempt: Fields) -> dict[str, int]:
    """The GPUs of each machine; raises TraceError."""
    machines: dict[str, int] = {}
    total = 0
    for part in attempt.objects("detail"):
        part.need("ip", "a machine")
        name = part.text("ip") or ""
        gpus = len(part.array("gpus"))
        total += gpus
        if total > MOST_GPUS:
            part.fail("gpus", f"at most {MOST_GPUS} GPUs")
        machines[name] = machines.get(name, 0) + gpus
    return machines
