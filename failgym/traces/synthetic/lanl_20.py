"""The lanl-20 generator: gangs on machines that fail, each run once.

Exits, widths and node-minutes of jobs first; then, for those that end by an outage, which one: it
says when they ran. All others come at any time. At last, machines that stay up while a job runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from failgym.traces.synthetic.gangs import Calendar, place
from failgym.traces.synthetic.outages import Outages, domains, draw_outages
from failgym.traces.synthetic.profiles.lanl import Exits, Lanl20
from failgym.traces.synthetic.quantiles import (
    Flags,
    Floats,
    Ints,
    allot,
    evenly,
    normal_score,
    quotas,
    ranks,
    skewed,
    spread,
)
from failgym.traces.synthetic.ranges import within_reach
from failgym.traces.synthetic.tables import identifiers, in_order, meta_of, texts
from failgym.traces.trace import Trace
from failgym.vocabulary import DAY, MINUTE, SECOND, Cause, Outcome

EXITS = ("completed", "failed", "killed", "syskilled", "aborted", "unknown")
"""LANL's words for how a job ends."""
OUTCOMES = np.array(
    (Outcome.FINISH, Outcome.FAIL, Outcome.KILL, Outcome.KILL, Outcome.KILL, Outcome.LOST)
)
CAUSES = np.array((-1, Cause.INTRINSIC, Cause.USER, Cause.USER, Cause.USER, -1))
"""Causes of these without an outage: a kill is somebody's, a user's or an administrator's."""
TABLE = np.array((0, 1, 2, 2, 2, 2))
"""Position of their node-minutes in the profile."""


@dataclass(frozen=True)
class Jobs:
    """One entry per job; times in ms."""

    exit: Ints
    nodes: Ints
    wait: Ints
    run: Ints
    submit: Ints
    struck: Ints  # the row of the outage that ends it; -1 for none


def generate_lanl_20(profile: Lanl20, jobs: int, rng: np.random.Generator) -> Trace:
    """A trace of `jobs` jobs after the profile."""
    span = within_reach(jobs / (profile.jobs_per_day * profile.sampling) * DAY)
    outages = draw_outages(profile.outages, span, rng)
    calendar = Calendar.of(outages)
    return _trace(profile, _jobs(profile, jobs, span, calendar, rng), span, outages, calendar, rng)


def _jobs(profile: Lanl20, n: int, span: int, calendar: Calendar, rng: np.random.Generator) -> Jobs:
    multi = allot(rng, (1.0 - profile.multi_share, profile.multi_share), n) == 1
    ends = np.empty(n, dtype=np.int64)
    for wide, exits in ((False, profile.single), (True, profile.multi)):
        here = np.flatnonzero(multi == wide)
        ends[here] = allot(rng, _shares(profile, exits), len(here))
    nodes, time = _sizes(profile, ends, multi, rng)
    run = np.minimum(_whole_seconds(time / nodes), profile.longest)
    wait = _whole_seconds(profile.wait_minutes.sample(rng, n) * MINUTE)
    struck = _struck(profile, ends, run + wait, calendar, rng)
    submit = _evenly(np.sort(rng.integers(0, max(span, 1), n)), ends, time, rng)
    hit = np.flatnonzero(struck >= 0)
    submit[hit] = calendar.down[struck[hit]] - run[hit] - wait[hit]
    order = np.argsort(submit, kind="stable")
    return Jobs(*(values[order] for values in (ends, nodes, wait, run, submit, struck)))


def _sizes(
    profile: Lanl20, ends: Ints, multi: Flags, rng: np.random.Generator
) -> tuple[Ints, Floats]:
    """Nodes and node-time [node-ms] of each job: wide ones of an exit need the most."""
    nodes, score = np.ones(len(ends), dtype=np.int64), np.full(len(ends), -8.0)
    wide = np.flatnonzero(multi)
    score[wide] = normal_score(spread(rng, rng.permutation(len(wide))))
    nodes[wide] = np.floor(profile.nodes.at_score(score[wide]) + 0.5)
    time, rho = np.empty(len(ends)), profile.width_correlation
    for number, table in enumerate(profile.node_minutes):
        here = np.flatnonzero(TABLE[ends] == number)
        # Jobs of one node rank below the others, in random order.
        rank = ranks(score[here] + 0.01 * rng.standard_normal(len(here)))
        mixed = rho * normal_score((rank + 0.5) / max(len(here), 1))
        mixed += (1.0 - rho**2) ** 0.5 * rng.standard_normal(len(here))
        time[here] = table.at(spread(rng, ranks(mixed))) * profile.node_minute
    return nodes, time


def _whole_seconds(time: Floats) -> Ints:
    """Spans of time [ms] as a log has them: whole seconds, at least one."""
    return np.maximum(np.floor(time / SECOND + 0.5), 1.0).astype(np.int64) * SECOND


def _evenly(submit: Ints, ends: Ints, time: Floats, rng: np.random.Generator) -> Ints:
    """The times of submission dealt out so that early and late jobs end and last alike."""
    order = np.empty(len(submit), dtype=np.int64)
    order[np.lexsort((time, ends))] = evenly(rng, len(submit))
    return submit[order]


def _shares(profile: Lanl20, exits: Exits) -> list[float]:
    """The shares of `EXITS`: jobs that a signal killed and "syskilled" ones as Table III has it."""
    totals = {name: share / within for name, share, within in profile.struck}
    signal = totals["killed"] / (totals["killed"] + totals["syskilled"])
    aborted = 1.0 - exits.success - exits.killed - exits.failed - exits.other
    killed = exits.killed * signal
    return [exits.success, exits.failed, killed, exits.killed - killed, aborted, exits.other]


def _struck(
    profile: Lanl20, ends: Ints, time: Ints, calendar: Calendar, rng: np.random.Generator
) -> Ints:
    """The row of the outage that ends each job; -1 for most.

    `time` is what a job takes from its submission on: the machine must have been up that long.
    """
    struck = np.full(len(ends), -1)
    uptime = calendar.uptime()
    by_uptime = np.argsort(uptime, kind="stable")
    least = np.searchsorted(uptime[by_uptime], time)  # outages from here on can end the job
    counts = quotas(
        [share for _, share, _ in profile.struck], round(profile.struck_share * len(ends))
    )
    for (name, _, _), count in zip(profile.struck, counts.tolist(), strict=True):
        may = np.flatnonzero((ends == EXITS.index(name)) & (least < len(uptime)))
        chosen = rng.permutation(may)[:count]
        struck[chosen] = by_uptime[rng.integers(least[chosen], len(uptime))]
    return struck


def _trace(
    profile: Lanl20,
    job: Jobs,
    span: int,
    outages: Outages,
    calendar: Calendar,
    rng: np.random.Generator,
) -> Trace:
    n = len(job.submit)
    start, machines = job.submit + job.wait, profile.outages.machines
    end, by_outage = start + job.run, job.struck >= 0
    outcome, cut = OUTCOMES[job.exit], end > span
    cause = np.where(by_outage, Cause.MACHINE, CAUSES[job.exit])
    outcome[cut], cause[cut] = Outcome.CENSORED, -1
    end = np.minimum(end, span)
    ran = start <= span
    fixed = np.full(n, -1)
    fixed[by_outage] = outages.machine[job.struck[by_outage]]
    run, machine = place(
        calendar, start, end, np.where(ran, job.nodes, 0), rng.integers(0, machines, n), fixed
    )
    users = skewed(rng, profile.user_skew, profile.users, n)
    return in_order(
        meta_of(
            profile.name,
            "Calibrated to El-Sayed et al., ICDCS 2017, and to LA-UR-05-7318",
            span,
        ),
        jobs={
            "original_id": identifiers(n),
            "user": [f"u{number:03d}" for number in users.tolist()],
            "submit": job.submit,
            "width": 1,
            "outcome": outcome,
            "exit_category": texts(EXITS, job.exit, cut),
        },
        tasks={"job": np.arange(n), "index": np.zeros(n, dtype=np.int64), "width": job.nodes},
        attempts={
            "task": np.arange(n),
            "queued": job.submit,
            "start": np.ma.array(start, mask=~ran),
            "end": end,
            "outcome": outcome,
            "cause": np.ma.array(cause, mask=cause < 0),
        },
        seen=np.ones(n, dtype=np.bool_),
        placements={"attempt": run, "machine": machine, "slots": 1},
        machines=_machines(profile),
        outages=outages.columns(),
    )


def _machines(profile: Lanl20) -> dict[str, Any]:
    """Nodes: a job has a node to itself."""
    return {
        "original_id": [f"node-{number:03d}" for number in range(profile.outages.machines)],
        "speed": 1.0,
        "slots": 1,
        "domain": domains(profile.outages),
    }
