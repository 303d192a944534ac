"""The applications of Google's record, as the profile google-2011-applications repeats them.

    failgym trace import google-2011 ClusterData2011-2 --out google
    python -m experiments.google_2011_applications google google_2011_applications.csv

The CSV file beside the profile, in `failgym/traces/synthetic/profiles`, is made of the first 12.7
hours: parts 0 to 8 of task_events and 0 to 19 of job_events.

An application is what one user submits with one request, one priority, one scheduling class, and
either always one task or always several. Of those with at least `--least` jobs (5) each is a row of
the CSV file: how many jobs, and what they are like. Jobs that the end of the record cuts off are
left out. Owners are numbered by their jobs; no name of the record is in the file.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

from failgym.traces import Outcome, Trace

REQUESTS = ("cpu", "memory", "disk")
PRIORITIES = {0: 0, 1: 1, 2: 2, 8: 3, 9: 4}
"""Positions of priorities in the profile's; 2 stands for 2 to 7."""
HOUR = 3_600_000.0
MINUTE = 60_000.0


def per_job(trace: Trace) -> Any:
    """The jobs of which all tasks ended, in order of submission."""
    task, outcome = trace.column("attempts", "task"), trace.column("attempts", "outcome")
    start, end = trace.column("attempts", "start"), trace.column("attempts", "end")
    tasks = trace.rows("tasks")
    done = np.bincount(task, outcome == Outcome.FINISH, tasks) > 0
    table = pd.DataFrame(
        {
            "job": trace.column("tasks", "job"),
            "run": np.bincount(task, np.where(start >= 0, end - start, 0), tasks),
            "finished": done,
            "open": (np.bincount(task, outcome == Outcome.CENSORED, tasks) > 0) & ~done,
            **{name: trace.column("tasks", name) for name in REQUESTS},
        }
    ).groupby("job")
    jobs = trace.jobs.to_pandas().join(
        pd.DataFrame(
            {
                "tasks": table.size(),
                "finished": table.finished.mean(),
                "open": table.open.any(),
                "minutes": (table.run.median() / MINUTE).clip(lower=0.001),
                "within": (table.run.std() / table.run.mean()).fillna(0.0),
                **{name: table[name].median() for name in REQUESTS},
            }
        )
    )
    return jobs[jobs.open.eq(False)].sort_values("submit")


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
    kind = {name: jobs[name] for name in REQUESTS}
    keys = [
        jobs.user.map({user: n for n, user in enumerate(jobs.user.value_counts().index)}),
        *kind.values(),
        jobs.priority.map(PRIORITIES),
        jobs.scheduling_class,
        jobs.tasks > 1,
    ]
    names = ["owner", *REQUESTS, "priority", "scheduling_class", "several"]
    rows = [
        dict(zip(names, key, strict=True)) | application(these)
        for key, these in jobs.groupby(
            [key.rename(name) for key, name in zip(keys, names, strict=True)]
        )
        if len(these) >= least
    ]
    return (
        pd.DataFrame(rows)
        .drop(columns="several")
        .sort_values("jobs", ascending=False, kind="stable")
    )


def main(
    trace: Annotated[Path, typer.Argument(help="An imported record of google-2011.")],
    out: Annotated[Path, typer.Argument(help="The CSV file.")],
    least: Annotated[int, typer.Option(help="Jobs of an application at least.", min=2)] = 5,
) -> None:
    """Estimate the catalogue."""
    jobs = per_job(Trace.load(trace))
    found = catalogue(jobs, least)
    found.to_csv(out, index=False)
    typer.echo(f"{len(found)} applications, {found.jobs.sum()} of {len(jobs)} jobs")


if __name__ == "__main__":
    typer.run(main)
