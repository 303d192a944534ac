"""How applications recur in logs of computing centres: what system-a-applications is made after.

    failgym trace import swf CTC-SP2-1996-3.1-cln.swf.gz --out ctc
    python -m experiments.swf_applications ctc [--share 0.7] [--request] [--days 44]
        [--timezone US/Eastern]

An application is a user's program; with ``--request``, for a log that does not name programs, what
a user requests: nodes and run time. Its runs are parted into sittings: a new one begins after more
than `IDLE` hours without a run. Of the first `--share` of the jobs, in stretches of `--days` (as
long as a trace of the profile), this prints the quantiles of jobs per sitting, of sittings per
application and of the hours of sittings of `LEAST` jobs or more; for log run time and for whether
the job finishes, the correlation with the application's run before, in its sitting and before it;
and the share of runs with as many nodes, and as much time requested, as the run before. Gaps of a
sitting have the regularity of the gamma law with their mean and variance, by the median of the
sittings. With the centre's time zone, sittings that begin in office hours (9 to 17 o'clock, Monday
to Friday) are told over those of other hours of the same length.
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
from failgym.vocabulary import DAY, HOUR, SECOND

IDLE = 24
"""Hours."""
LEAST = 5
WEEK, OPEN = 7 * 24, 5 * 8
"""Hours of a week, and office hours in it."""
QUANTILES = (0.1, 0.5, 0.8, 0.9, 0.95, 0.99, 0.999)


def runs_of(trace: Trace, share: float, request: bool, days: float) -> Any:
    """The first jobs in order of (application, submission), with application and sitting."""
    jobs, attempts = trace.frame("jobs"), trace.frame("attempts")
    job = trace.column("tasks", "job")[attempts["task"]]
    jobs["run"] = (attempts["end"] - attempts["start"]).groupby(job).sum() / SECOND
    jobs["nodes"] = trace.frame("tasks").drop_duplicates("job").set_index("job")["width"]
    jobs = jobs.sort_values("submit", kind="stable").iloc[: int(share * len(jobs))]
    jobs["finishes"] = (jobs["outcome"] == Outcome.FINISH).astype(float)
    jobs["log_run"] = np.log1p(jobs["run"])
    jobs["stretch"] = jobs["submit"] // int(days * DAY)
    keys = ["user", "nodes", "walltime"] if request else ["user", "name"]
    jobs["application"] = jobs.groupby([*keys, "stretch"], dropna=False).ngroup()
    jobs = jobs.sort_values(["application", "submit"], kind="stable")
    gap = jobs.groupby("application")["submit"].diff()
    jobs["sitting"] = (gap.isna() | (gap > IDLE * HOUR)).cumsum()
    return jobs


def alike(jobs: Any, column: str, together: bool, how: str) -> float:
    """How far a column is as in the application's run before, of its sitting or of another."""
    before = jobs.groupby("application")[column].shift(1)
    same = jobs["sitting"].eq(jobs.groupby("application")["sitting"].shift(1))
    here = before.notna() & jobs[column].notna() & (same == together)
    now, then = jobs[column][here].to_numpy(), before[here].to_numpy()
    return float(np.mean(now == then) if how == "same" else np.corrcoef(now, then)[0, 1])


def office(jobs: Any, origin: int, zone: str) -> float:
    """The rate at which sittings begin in office hours over that of other hours."""
    first = jobs.groupby("sitting")["submit"].min()
    when = pd.to_datetime(origin + first, unit="ms", utc=True).dt.tz_convert(zone).dt
    inside = np.mean((when.day_of_week < 5) & (when.hour >= 9) & (when.hour < 17))
    return float(inside / (1 - inside) * (WEEK - OPEN) / OPEN)


def regularity(jobs: Any) -> float:
    """The shape of a gamma law with mean and variance of the gaps of a sitting, the median."""
    gaps = jobs.groupby("sitting")["submit"].diff().groupby(jobs["sitting"])
    mean, spread = gaps.mean(), gaps.std()
    many = (gaps.count() >= LEAST) & (spread > 0)
    return float(((mean / spread) ** 2)[many].median())


def found(jobs: Any) -> dict[str, Any]:
    """What is printed, by name."""
    sittings = jobs.groupby("sitting").agg(
        size=("submit", "size"),
        application=("application", "first"),
        first=("submit", "min"),
        last=("submit", "max"),
    )
    many = sittings[sittings["size"] >= LEAST]
    quantiles = pd.Series(QUANTILES, index=QUANTILES)
    result: dict[str, Any] = {
        "jobs per sitting, mean": sittings["size"].mean(),
        "jobs per sitting": sittings["size"].quantile(quantiles).to_dict(),
        "sittings per application, mean": sittings.groupby("application").size().mean(),
        "sittings per application": sittings.groupby("application")
        .size()
        .quantile(quantiles)
        .to_dict(),
        "hours of sittings": ((many["last"] - many["first"]) / HOUR).quantile(quantiles).to_dict(),
    }
    result["regularity of the gaps of a sitting"] = regularity(jobs)
    for column, how in (
        ("log_run", "correlation"),
        ("finishes", "correlation"),
        ("nodes", "same"),
        ("walltime", "same"),
    ):
        for together, where in ((True, "in a sitting"), (False, "from sitting to sitting")):
            result[f"{column}, {how} {where}"] = alike(jobs, column, together, how)
    return result


def main(
    trace: Annotated[Path, typer.Argument(help="An imported log.")],
    share: Annotated[float, typer.Option(min=0.01, max=1.0, help="Of the jobs, the first.")] = 0.7,
    request: Annotated[bool, typer.Option(help="Applications are what users request.")] = False,
    days: Annotated[float, typer.Option(min=1.0, help="Days of a stretch.")] = 44.0,
    timezone: Annotated[str | None, typer.Option(help="Of the centre, such as US/Pacific.")] = None,
) -> None:
    """Print how applications recur."""
    log = Trace.load(trace)
    jobs = runs_of(log, share, request, days)
    rows = found(jobs)
    if timezone is not None and log.meta.unix_origin is not None:
        rows["sittings begun in office hours over others"] = office(
            jobs, log.meta.unix_origin, timezone
        )
    for name, value in rows.items():
        shown = (
            {key: round(float(each), 2) for key, each in value.items()}
            if isinstance(value, dict)
            else round(float(value), 2)
        )
        typer.echo(f"{name}: {shown}")


if __name__ == "__main__":
    typer.run(main)
