"""The applications of Google's record, as the profile google-2011-applications repeats them.

    failgym trace import google-2011 ClusterData2011-2 --out google
    python -m experiments.google_2011_applications google google_2011_applications.csv

The CSV file beside the profile, in `failgym/traces/synthetic/profiles`, is made of the first 6.6
hours: of parts 0 to 8 of task_events and 0 to 19 of job_events what comes before 70 % of the jobs
have come (`--share`), so that the rest is there to judge the profile by. What the command prints
is the rest of the law, `Applications`, as far as the record tells it.

An application is what one user submits with one request, one priority, one scheduling class, and
either always one task or always several. Of those with at least `--least` jobs (5) each is a row of
the CSV file: how many jobs, and what they are like. Jobs that are there when the record begins, and
those that the end cuts off, are left out. Owners are numbered by their jobs; no name of the record
is in the file.

Two applications of one user take turns if at least `TURNS` of their runs in a row are of the one
and the other, as the steps of a workflow are, or if they run in one campaign: the times from the
first run of each to its last share at least `OVERLAP` of what they cover, which is less than
`ALWAYS` of the record. What takes turns has a number in common.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false

from __future__ import annotations

from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

from failgym.traces import Outcome, Trace

REQUESTS = ("cpu", "memory", "disk")
KEYS = ["owner", *REQUESTS, "priority", "scheduling_class", "several"]
PRIORITIES = {0: 0, 1: 1, 2: 2, 8: 3, 9: 4}
"""Positions of priorities in the profile's; 2 stands for 2 to 7."""
BATCH = (2, 3)
"""Positions of the priorities of batch jobs."""
ENDS = (Outcome.FINISH, Outcome.FAIL, Outcome.KILL)
TURNS = 0.8
"""Two of five runs each that come at random do so with a chance of 4 %."""
OVERLAP = 0.7
ALWAYS = 0.6
"""Chosen, as `TURNS` is, so that successive jobs of a user have numbers of tasks as unlike as in
this part of the record."""
HOUR = 3_600_000.0
MINUTE = 60_000.0


def per_job(trace: Trace) -> Any:
    """The jobs of which all tasks ended, in order of submission."""
    task, outcome = trace.column("attempts", "task"), trace.column("attempts", "outcome")
    start, end = trace.column("attempts", "start"), trace.column("attempts", "end")
    tasks = trace.rows("tasks")
    done = np.bincount(task, outcome == Outcome.FINISH, tasks) > 0
    rows = pd.DataFrame(
        {
            "job": trace.column("tasks", "job"),
            "run": np.bincount(task, np.where(start >= 0, end - start, 0), tasks),
            "finished": done,
            "open": (np.bincount(task, outcome == Outcome.CENSORED, tasks) > 0) & ~done,
            **{name: trace.column("tasks", name) for name in REQUESTS},
        }
    )
    table = rows.groupby("job")
    medians = [rows[rows.finished == end].groupby("job").run.median() for end in (False, True)]
    jobs = trace.jobs.to_pandas().join(
        pd.DataFrame(
            {
                "tasks": table.size(),
                "finished": table.finished.mean(),
                "open": table.open.any(),
                "minutes": (table.run.median() / MINUTE).clip(lower=0.001),
                "killed_ratio": medians[0] / medians[1],
                "within": (table.run.std() / table.run.mean()).fillna(0.0),
                **{name: table[name].median() for name in REQUESTS},
            }
        )
    )
    return jobs[jobs.open.eq(False) & (jobs.submit > 0)].sort_values("submit")


def keyed(jobs: Any) -> Any:
    """The jobs with what tells their applications apart: `KEYS`."""
    numbers = {user: n for n, user in enumerate(jobs.user.value_counts().index)}
    return jobs.assign(
        owner=jobs.user.map(numbers),
        priority=jobs.priority.map(PRIORITIES),
        several=jobs.tasks > 1,
    )


def application(jobs: Any) -> dict[str, float]:
    """What the jobs of one application are like."""
    log_minutes, log_tasks = np.log(jobs.minutes), np.log(jobs.tasks)
    gaps = np.diff(jobs.submit.to_numpy())
    regular = (gaps.mean() / max(float(gaps.std()), 1.0)) ** 2
    unsuccessful = jobs[jobs.outcome != Outcome.FINISH]
    return {
        "jobs": len(jobs),
        "tasks": round(float(np.exp(log_tasks.median())), 1),
        "tasks_spread": round(float(log_tasks.std()), 2),
        "minutes": round(float(np.exp(log_minutes.median())), 3),
        "minutes_spread": round(min(float(log_minutes.std()), 2.0), 2),
        "within": round(min(float(jobs.within.median()), 2.0), 4),
        "finished": round(float((jobs.outcome == Outcome.FINISH).mean()), 3),
        "failed": round(float((jobs.outcome == Outcome.FAIL).mean()), 3),
        "unfinished": round(1.0 - float(unsuccessful.finished.mean()), 3)
        if len(unsuccessful)
        else 1,
        "names": round(jobs.name.nunique() / len(jobs), 3),
        "hours": round(float(jobs.submit.max() - jobs.submit.min()) / HOUR, 2),
        "regularity": round(float(np.clip(regular, 0.02, 50.0)), 2),
    }


def catalogue(jobs: Any, least: int) -> Any:
    """The applications with at least so many jobs, the commonest first."""
    frequent = [(key, these) for key, these in jobs.groupby(KEYS) if len(these) >= least]
    submits = [these.submit.to_numpy() for _, these in frequent]
    turns = in_turns([key[0] for key, _ in frequent], submits, float(np.ptp(jobs.submit)))
    rows = [
        dict(zip(KEYS, key, strict=True)) | application(these) | {"turns": number}
        for (key, these), number in zip(frequent, turns, strict=True)
    ]
    found = pd.DataFrame(rows)
    few = jobs[jobs.groupby(KEYS)["submit"].transform("size") < least]
    found["rare"] = np.bincount(taken_after(few, found), minlength=len(found))
    return found.drop(columns="several").sort_values("jobs", ascending=False, kind="stable")


def taken_after(rare: Any, listed: Any) -> list[int]:
    """The application that each rare job resembles most in width and run time.

    One of its owner, of several tasks or not as the job; jobs without one are left out.
    """
    found: list[int] = []
    for job in rare.itertuples():
        own = listed[(listed.owner == job.owner) & (listed.several == job.several)]
        if len(own):
            far = np.abs(np.log(own.minutes / job.minutes)) + np.abs(np.log(own.tasks / job.tasks))
            found.append(int(far.idxmin()))
    return found


def in_turns(owners: list[int], submits: list[Any], span: float) -> list[int]:
    """A number for each application, the same for those that take turns; 0 for the others."""
    number = list(range(len(owners)))
    for one, other in combinations(range(len(owners)), 2):
        if owners[one] == owners[other] and together(submits[one], submits[other], span):
            joined, into = number[one], number[other]
            number = [into if each == joined else each for each in number]
    several = [each for each, times in Counter(number).items() if times > 1]
    return [several.index(each) + 1 if each in several else 0 for each in number]


def together(one: Any, other: Any, span: float) -> bool:
    """Do two applications take turns?"""
    begins, ends = (one.min(), other.min()), (one.max(), other.max())
    covered = max(ends) - min(begins)
    common = min(ends) - max(begins)
    campaign = covered < ALWAYS * span and common >= OVERLAP * covered
    return campaign or alternate(one, other) >= TURNS


def alternate(one: Any, other: Any) -> float:
    """The share of successive runs of two applications that are of the one and of the other."""
    which = np.repeat([0, 1], [len(one), len(other)])
    order = np.argsort(np.concatenate((one, other)), kind="stable")
    return float(np.mean(np.diff(which[order]) != 0))


def rest(jobs: Any, least: int, hours: float) -> dict[str, Any]:
    """What else of the law the record tells, by the fields of `Applications`."""
    runs = jobs.groupby(KEYS)["submit"].transform("size")
    rare = jobs[runs < least]
    of = rare.groupby(KEYS)
    lasts = ((of.submit.max() - of.submit.min()) / HOUR)[of.size() > 1]
    batch = jobs.priority.isin(BATCH)
    kinds = [(jobs[batch == kind], (runs < least)[batch == kind]) for kind in (False, True)]
    others = kinds[0][0]
    return {
        "jobs_per_hour": round(len(jobs) / hours, 1),
        "batch": round(float(batch.mean()), 3),
        "others": [
            [
                round(float(((others.outcome == end) & (others.several == wide)).mean()), 4)
                for end in ENDS
            ]
            for wide in (False, True)
        ],
        "rare": [
            [
                [
                    round(float(few[(of.outcome == end) & (of.several == wide)].mean()), 3)
                    for end in ENDS
                ]
                for wide in (False, True)
            ]
            for of, few in kinds
        ],
        "killed_ratio": jobs[jobs.outcome == Outcome.KILL]
        .killed_ratio.quantile([0.25, 0.5, 0.75, 0.9, 0.95])
        .round(2)
        .tolist(),
        "rare_users": round(float((~rare.owner.isin(jobs[runs >= least].owner)).mean()), 2),
        "rare_runs": of.size().quantile([0.6, 0.8, 0.95]).tolist(),
        "rare_hours": lasts.quantile([0.1, 0.5, 0.9]).round(2).tolist(),
        "rare_names": round(float((of.name.nunique() / of.size())[of.size() > 1].mean()), 2),
    }


def main(
    trace: Annotated[Path, typer.Argument(help="An imported record of google-2011.")],
    out: Annotated[Path, typer.Argument(help="The CSV file.")],
    share: Annotated[
        float, typer.Option(help="Of the jobs, the first ones.", min=0.01, max=1.0)
    ] = 0.7,
    least: Annotated[int, typer.Option(help="Jobs of an application at least.", min=2)] = 5,
) -> None:
    """Estimate the catalogue."""
    record = Trace.load(trace)
    part = record if share == 1.0 else record.split("train", share)
    jobs = keyed(per_job(part))
    found = catalogue(jobs, least)
    found.to_csv(out, index=False)
    hours = int(part.column("attempts", "end").max()) / HOUR
    typer.echo(f"{len(found)} applications, {found.jobs.sum()} of {len(jobs)} jobs, {hours:.2f} h")
    for name, value in rest(jobs, least, hours).items():
        typer.echo(f"{name}: {value}")


if __name__ == "__main__":
    typer.run(main)
