"""The tables and figures of Kumar et al. (DSN 2020), sections II, IV and VI: jobs and their exits.

Jobs are told apart by environment (may others run on their nodes?) and type (one node, several);
where the trace does not say whether nodes are shared, by type alone. A node is a machine that the
job was placed on, or a slot where there are no placements; node-seconds count all runs of a job.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from failgym.traces.describe.facts import Facts, Flags, Floats, Ints
from failgym.traces.describe.tables import (
    QUANTILE_COLUMNS,
    DescriptionTable,
    Missing,
    Row,
    quantiles,
    ratio,
)
from failgym.vocabulary import DAY, HOUR, MINUTE, SECOND, Outcome

CATEGORIES = ("success", "system", "user", "user/system", "walltime")
"""Exit categories, in the paper's order; a trace may have others."""
FAILURES = ("system", "user", "user/system")
"""Exit categories of failed jobs."""

UNREACHABLE = 107
"""Exit code of jobs that lost their file system (section V-C)."""
BURST_WINDOW = 300_000
"""Failures this close belong together [ms] (section V-C: DBSCAN's epsilon)."""
BURST_SIZE = 25
"""Failures around one that make it the core of a burst (section V-C)."""

Made = DescriptionTable | Missing


def kumar(facts: Facts) -> list[Made]:
    """The tables of this file that the trace allows, and what the others need."""
    return [
        environments(facts),
        exit_categories(facts),
        node_seconds(facts),
        job_sizes(facts),
        short_failures(facts),
        requested_over_run(facts),
        failure_bursts(facts),
    ]


def environments(facts: Facts) -> Made:
    """Table I: jobs, node-seconds and users by environment and type, and of each environment."""
    name, title = "environments", "Jobs by environment and type (Kumar et al., Table I)"
    if not facts.jobs:
        return Missing(name, title, "jobs")
    user = facts.trace.column("jobs", "user")
    known = facts.trace.present("jobs", "user")
    total = float(facts.job_node_time.sum())
    *types, every = groups(facts)
    totals = [one for one in _environments(facts) if one[0] and one[1].any()]
    rows: list[Row] = []
    for label, among in (*types, *totals, every):
        jobs, spent = int(among.sum()), float(facts.job_node_time[among].sum())
        users = len(np.unique(user[among & known])) if known.any() else None
        rows.append(
            (label, jobs, ratio(jobs, facts.jobs), spent / HOUR, ratio(spent, total), users)
        )
    columns = (
        "environment",
        "jobs",
        "share of jobs",
        "node-hours",
        "share of node-hours",
        "users",
    )
    return DescriptionTable(name, title, columns, tuple(rows))


def exit_categories(facts: Facts) -> Made:
    """Table IV: shares of the exit categories among the jobs, and of their node-seconds."""
    name, title = "exit_categories", "Exit categories (Kumar et al., Table IV)"
    known = facts.trace.present("jobs", "exit_category")
    if not known.any():
        return Missing(name, title, "exit_category of jobs")
    total = float(facts.job_node_time[known].sum())
    among = [(label, group & known) for label, group in groups(facts)]
    among = [(label, group) for label, group in among if group.any()]
    rows: list[Row] = []
    for category in categories(facts):
        here = known & (facts.exit_category == category)
        spent = float(facts.job_node_time[here].sum())
        shares = (ratio((here & group).sum(), group.sum()) for _, group in among)
        rows.append((category, int(here.sum()), *shares, spent / HOUR, ratio(spent, total)))
    labels = tuple(f"share of {label}" for label, _ in among)
    columns = ("category", "jobs", *labels, "node-hours", "share of node-hours")
    return DescriptionTable(name, title, columns, tuple(rows))


def node_seconds(facts: Facts) -> Made:
    """Fig. 1a: quantiles of the jobs' node-seconds, by environment and by exit category."""
    name, title = "node_seconds", "Node-seconds of jobs (Kumar et al., Fig. 1a)"
    if not facts.job_ran.any():
        return Missing(name, title, "jobs with an attempt that ran")
    seconds = facts.job_node_time / SECOND
    rows: list[Row] = [
        (label, *quantiles(seconds[among & facts.job_ran])) for label, among in groups(facts)
    ]
    if facts.trace.present("jobs", "exit_category").any():
        for category in categories(facts):
            among = facts.job_ran & (facts.exit_category == category)
            rows.append((f"exit: {category}", *quantiles(seconds[among])))
    return DescriptionTable(name, title, ("jobs that are", "jobs", *QUANTILE_COLUMNS), tuple(rows))


def job_sizes(facts: Facts) -> Made:
    """Fig. 1b: nodes per job, in classes between powers of two, by jobs and by node-seconds."""
    name, title = "job_sizes", "Nodes per job (Kumar et al., Fig. 1b)"
    if not facts.jobs:
        return Missing(name, title, "jobs")
    size = np.log2(np.maximum(facts.job_nodes, 1)).astype(np.int64)
    jobs = np.bincount(size)
    spent = facts.sum(size, facts.job_node_time, len(jobs))
    total = float(spent.sum())
    rows: list[Row] = []
    for k in np.flatnonzero(jobs).tolist():
        label = "1" if not k else f"{2**k} to {2 ** (k + 1) - 1}"
        rows.append((label, int(jobs[k]), ratio(jobs[k], facts.jobs), ratio(spent[k], total)))
    columns = ("nodes", "jobs", "share of jobs", "share of node-time")
    return DescriptionTable(name, title, columns, tuple(rows))


def short_failures(facts: Facts) -> Made:
    """Section V-E: failed jobs whose last run took less than a minute.

    Failed are the exit categories `FAILURES`; without categories, jobs that ended FAIL.
    """
    name, title = (
        "short_failures",
        "Failed jobs that ran under a minute (Kumar et al., V-E)",
    )
    run = last_run(facts)
    if facts.trace.present("jobs", "exit_category").any():
        failed = np.isin(facts.exit_category, FAILURES)
    else:
        failed = facts.job_outcome == Outcome.FAIL
    found = run[failed & (run >= 0)]
    if not len(found):
        return Missing(name, title, "failed jobs that ran")
    short = int((found < MINUTE).sum())
    row = (len(found), short, ratio(short, len(found)))
    columns = ("failed jobs", "under a minute", "share under a minute")
    return DescriptionTable(name, title, columns, (row,))


def requested_over_run(facts: Facts) -> Made:
    """Section V-E: requested walltime over the run time of the last run that ended."""
    name, title = "requested_over_run", "Requested time over run time (Kumar et al., V-E)"
    over = request_ratio(facts)
    if np.isnan(over).all():
        return Missing(name, title, "walltime of jobs that ran")
    known = ~np.isnan(over)
    rows: list[Row] = [("all", *quantiles(over[known]))]
    for outcome in (Outcome.FINISH, Outcome.FAIL, Outcome.KILL):
        rows.append((outcome.name, *quantiles(over[known & (facts.job_outcome == outcome)])))
    return DescriptionTable(name, title, ("outcome", "jobs", *QUANTILE_COLUMNS), tuple(rows))


def failure_bursts(facts: Facts) -> Made:
    """Section V-C: bursts of failures, clusters of DBSCAN in time.

    Of the attempts with exit code `UNREACHABLE`, and of all that ended FAIL.
    """
    name = "failure_bursts"
    title = "Bursts: 25 failures or more within 300 s (Kumar et al., V-C)"
    failed = facts.timed & (facts.outcome == Outcome.FAIL)
    if not failed.any():
        return Missing(name, title, "failed attempts")
    lost = failed & (facts.trace.column("attempts", "exit_code") == UNREACHABLE)
    kinds = {f"exit code {UNREACHABLE}": lost} if lost.any() else {}
    rows: list[Row] = []
    for label, among in {**kinds, "all FAIL": failed}.items():
        begins, sizes = bursts(facts.end[among].astype(np.float64))
        inside, gaps = int(sizes.sum()), np.diff(begins) / DAY
        rows.append(
            (
                label,
                int(among.sum()),
                len(begins),
                ratio(inside, among.sum()),
                float(np.median(gaps)) if len(gaps) else None,
                int(sizes.max(initial=0)),
            )
        )
    columns = (
        "failures",
        "count",
        "bursts",
        "share in bursts",
        "median days between",
        "largest",
    )
    return DescriptionTable(name, title, columns, tuple(rows))


def groups(facts: Facts) -> Iterator[tuple[str, Flags]]:
    """The jobs by environment and type, the groups that have any; at last all of them."""
    single = facts.job_nodes == 1
    for label, environment in _environments(facts):
        if environment.any():
            yield f"{label} single".strip(), environment & single
            yield f"{label} multi".strip(), environment & ~single
    yield "all", np.ones(facts.jobs, dtype=np.bool_)


def _environments(facts: Facts) -> list[tuple[str, Flags]]:
    """The jobs that share their nodes, those that do not, and those of which that is not known."""
    said = facts.trace.present("jobs", "shared")
    shared = facts.trace.column("jobs", "shared")
    return [("shared", said & shared), ("non-shared", said & ~shared), ("", ~said)]


def last_run(facts: Facts) -> Floats:
    """Run time of each job's last run whose end is known [ms]; NaN without one."""
    run = np.full(facts.jobs, np.nan)
    rows = np.flatnonzero(facts.timed & (facts.outcome != Outcome.CENSORED))
    rows = rows[np.argsort(facts.end[rows], kind="stable")]
    run[facts.attempt_job[rows]] = facts.run_time[rows]  # the last one written stays
    return run


def request_ratio(facts: Facts) -> Floats:
    """Requested walltime over the last run's time, per job; NaN where either is not known."""
    walltime = facts.trace.column("jobs", "walltime").astype(np.float64)
    run = last_run(facts)
    over = np.full(facts.jobs, np.nan)
    known = facts.trace.present("jobs", "walltime") & (run > 0)
    over[known] = walltime[known] / run[known]
    return over


def bursts(times: Floats, size: int = BURST_SIZE) -> tuple[Floats, Ints]:
    """When each burst begins [ms] and how many failures it holds, in order of time.

    DBSCAN in one dimension: a failure with `size` of them, itself included, no further than
    `BURST_WINDOW` is a core; cores no further apart belong together; others near one join it.
    """
    times = np.sort(times)
    low = np.searchsorted(times, times - BURST_WINDOW, side="left")
    high = np.searchsorted(times, times + BURST_WINDOW, side="right")
    core = times[high - low >= size]
    if not len(core):
        return np.empty(0), np.empty(0, dtype=np.int64)
    number = np.cumsum(np.diff(core, prepend=core[0]) > BURST_WINDOW)
    before = np.maximum(np.searchsorted(core, times, side="right") - 1, 0)
    after = np.minimum(before + 1, len(core) - 1)
    nearest = np.where(np.abs(times - core[before]) <= np.abs(times - core[after]), before, after)
    near = np.abs(times - core[nearest]) <= BURST_WINDOW
    member = number[nearest[near]]
    begins = np.full(int(number[-1]) + 1, np.inf)
    np.minimum.at(begins, member, times[near])
    return begins, np.bincount(member)


def categories(facts: Facts) -> list[str]:
    """The categories that the trace has: the paper's first, then others by name."""
    known = facts.trace.present("jobs", "exit_category")
    found = {str(category) for category in np.unique(facts.exit_category[known])}
    return [c for c in CATEGORIES if c in found] + sorted(found - set(CATEGORIES))
