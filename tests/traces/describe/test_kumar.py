"""Every table after Kumar et al., counted again in plain Python on random traces."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from failgym.traces import Cause, Meta, Outcome, Trace
from failgym.traces.describe import Description, DescriptionTable, describe
from failgym.traces.describe.facts import Facts
from failgym.traces.describe.kumar import bursts
from failgym.traces.describe.usage import FailureRates, binned, correlations
from tests.traces.describe.by_hand import ByHand, Row, expect, share, spread
from tests.traces.describe.random_traces import random_trace

FAIL, CENSORED = int(Outcome.FAIL), int(Outcome.CENSORED)
SEEDS = range(3)


def both(seed: int) -> tuple[ByHand, Description]:
    trace = random_trace(seed)
    return ByHand(trace), describe(trace)


def groups(hand: ByHand) -> dict[str, list[Row]]:
    """The jobs by environment and type."""
    names = {True: "shared ", False: "non-shared ", None: ""}
    found: dict[str, list[Row]] = {"all": hand.jobs}
    for said, name in names.items():
        jobs = [job for job in hand.jobs if job["shared"] is said]
        found[f"{name}single"] = [job for job in jobs if job["nodes"] == 1]
        found[f"{name}multi"] = [job for job in jobs if job["nodes"] > 1]
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_environments(seed: int) -> None:
    hand, description = both(seed)
    total = sum(job["node_time"] for job in hand.jobs)
    table = description.table("environments")
    assert len(table.rows) == 9
    whole = {
        label: [job for job in hand.jobs if job["shared"] is shared]
        for label, shared in {"shared": True, "non-shared": False}.items()
    }
    for label, jobs in (groups(hand) | whole).items():
        spent = sum(job["node_time"] for job in jobs)
        users = {job["user"] for job in jobs} - {None}
        cells = [
            len(jobs),
            len(jobs) / len(hand.jobs),
            spent / 3_600_000,
            spent / total,
            len(users),
        ]
        expect(table, label, cells)


@pytest.mark.parametrize("seed", SEEDS)
def test_exit_categories(seed: int) -> None:
    hand, description = both(seed)
    table = description.table("exit_categories")
    known = [job for job in hand.jobs if job["exit_category"] is not None]
    total = sum(job["node_time"] for job in known)
    assert [row[0] for row in table.rows] == [
        "success",
        "system",
        "user",
        "user/system",
        "walltime",
        "odd",
    ]
    for row in table.rows:
        here = [job for job in known if job["exit_category"] == row[0]]
        spent = sum(job["node_time"] for job in here)
        assert table.cell(str(row[0]), "jobs") == len(here)
        assert table.cell(str(row[0]), "node-hours") == pytest.approx(spent / 3_600_000)
        assert table.cell(str(row[0]), "share of node-hours") == pytest.approx(spent / total)
        for label, jobs in groups(hand).items():
            among = [job for job in jobs if job["exit_category"] is not None]
            if among:
                part = sum(job["exit_category"] == row[0] for job in among) / len(among)
                assert table.cell(str(row[0]), f"share of {label}") == pytest.approx(part)


@pytest.mark.parametrize("seed", SEEDS)
def test_node_seconds_and_sizes(seed: int) -> None:
    hand, description = both(seed)
    table = description.table("node_seconds")
    chosen = groups(hand)
    for category in ("success", "odd"):
        chosen[f"exit: {category}"] = [j for j in hand.jobs if j["exit_category"] == category]
    for label, jobs in chosen.items():
        seconds = [job["node_time"] / 1000 for job in jobs if job["ran"]]
        expect(table, label, [len(seconds), *spread(seconds)])
    total = sum(job["node_time"] for job in hand.jobs)
    sizes = description.table("job_sizes")
    assert sum(int(row[1] or 0) for row in sizes.rows) == len(hand.jobs)
    for row in sizes.rows:
        low, _, high = str(row[0]).partition(" to ")
        jobs = [job for job in hand.jobs if int(low) <= job["nodes"] <= int(high or low)]
        spent = sum(job["node_time"] for job in jobs)
        expect(sizes, str(row[0]), [len(jobs), len(jobs) / len(hand.jobs), spent / total])


def last_run(job: Row) -> int | None:
    """The run time of the last run that ended, later rows first."""
    ended = [a for a in job["attempts"] if a["ran"] and a["outcome"] != CENSORED]
    return (
        max(enumerate(ended), key=lambda pair: (pair[1]["end"], pair[0]))[1]["time"]
        if ended
        else None
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_short_failures_and_requests(seed: int) -> None:
    hand, description = both(seed)
    failed = [j for j in hand.jobs if j["exit_category"] in ("system", "user", "user/system")]
    runs = [run for job in failed if (run := last_run(job)) is not None]
    short = sum(run < 60_000 for run in runs)
    row = description.table("short_failures").rows[0]
    assert row == pytest.approx((len(runs), short, short / len(runs)))
    table = description.table("requested_over_run")
    for label, end in {"all": None, "FINISH": 0, "FAIL": 1, "KILL": 2}.items():
        jobs = [j for j in hand.jobs if end is None or j["outcome"] == end]
        pairs = [(job["walltime"], last_run(job)) for job in jobs]
        over = [asked / run for asked, run in pairs if asked is not None and run]
        expect(table, label, [len(over), *spread(over)])


@pytest.mark.parametrize("seed", range(20))
def test_bursts_are_those_of_dbscan(seed: int) -> None:
    rng = np.random.default_rng(seed)
    crowded = rng.integers(0, 20, 5)[:, None] * 400_000 + rng.integers(0, 700_000, (5, 40))
    times = np.append(crowded.ravel(), rng.integers(0, 10_000_000, 60)).astype(np.float64)
    cores = [t for t in times if (abs(times - t) <= 300_000).sum() >= 25]
    clusters: list[set[float]] = []
    for core in sorted(set(cores)):
        if clusters and core - max(clusters[-1]) <= 300_000:
            clusters[-1].add(core)
        else:
            clusters.append({core})
    begins, sizes = bursts(times)
    assert len(begins) == len(sizes) == len(clusters)
    near = sum(any(abs(t - core) <= 300_000 for core in cores) for t in times.tolist())
    assert sizes.sum() == near
    for cluster, size in zip(clusters, sizes.tolist(), strict=True):
        assert size >= sum(t in cluster for t in times.tolist())


def test_a_sample_has_smaller_bursts() -> None:
    minutes = np.array([0.0, 4.0, 60.0, 61.0, 62.0, 200.0]) * 60_000
    begins, sizes = bursts(minutes, 2)
    assert (begins / 60_000).tolist() == [0.0, 60.0]
    assert sizes.tolist() == [2, 3]
    assert len(bursts(minutes, 3)[0]) == 1
    assert len(bursts(minutes)[0]) == 0


def counted(attempt: Row) -> bool:
    ended = attempt["ran"] and attempt["outcome"] != CENSORED
    return ended and attempt["cause"] != Cause.WALLTIME


def system_failed(attempt: Row) -> bool:
    of_system = attempt["job"]["exit_category"] == "system"
    machine = attempt["cause"] in (Cause.MACHINE, Cause.SHARED)
    return machine or (attempt["outcome"] == FAIL and of_system)


def tail(attempt: Row, resource: str) -> float | None:
    if resource == "node-seconds":
        return attempt["time"] * attempt["nodes"] / 1000
    values = [w[resource] for w in attempt["windows"] if w[resource] is not None]
    return values[-1] if values else attempt.get(f"mean_{resource}")


@pytest.mark.parametrize("seed", SEEDS)
def test_failure_rate_by_tenths_of_usage(seed: int) -> None:
    hand, description = both(seed)
    table = description.table("failure_rate_by_usage")
    failed: dict[str, Callable[[Row], bool]] = {"memory": lambda a: a["exit_code"] == 137}
    for resource in ("cpu", "memory", "local_io", "remote_io", "node-seconds"):
        pairs = [(tail(a, resource), a) for a in hand.attempts if counted(a)]
        if resource not in ("cpu", "memory"):
            pairs = [(u, a) for u, a in pairs if u]
            pairs = [(math.log10(u), a) for u, a in pairs if u]
        known = [(u, failed.get(resource, system_failed)(a)) for u, a in pairs if u is not None]
        usages = [u for u, _ in known]
        edges = [float(np.quantile(usages, k / 10)) for k in range(1, 10)]
        tenths: list[list[bool]] = [[] for _ in range(10)]
        for usage, bad in known:
            tenths[sum(edge < usage for edge in edges)].append(bad)
        rates = [share(sum(bad), len(bad)) for bad in tenths]
        expect(table, resource, [len(known), sum(bad for _, bad in known), *rates])


def test_bins_of_usage() -> None:
    rng = np.random.default_rng(0)
    usage, failed = rng.random(5_000) ** 2 * 3, rng.random(5_000) < 0.3
    points = binned(usage, failed)
    low, width = usage.min(), (usage.max() - usage.min()) / 25  # one for each 200
    expected: list[tuple[float, float, int]] = []
    for k in range(25):
        top = np.inf if k == 24 else low + (k + 1) * width
        here = (usage >= low + k * width) & (usage < top)
        if here.sum() >= 100:
            expected.append((low + (k + 0.5) * width, failed[here].mean(), int(here.sum())))
    assert len(expected) < 25
    assert pytest.approx(np.array(expected)) == np.array(points).T
    assert len(binned(np.ones(500), failed[:500]).rate) == 1
    assert len(binned(np.empty(0), np.empty(0, np.bool_)).rate) == 0


def test_the_fits_find_what_was_put_in() -> None:
    """A machine of memory 1 on which runs die of memory from .5 on, and I/O that does no harm."""
    rng, n = np.random.default_rng(1), 40_000
    memory, remote = rng.random(n), 10 ** rng.uniform(-2, 3, n)
    dies = rng.random(n) < 0.8 * np.maximum(memory - 0.5, 0)
    table = _correlated(memory, remote, dies)
    attempts, failures, bins, r, p, form, a, b, r2 = next(
        row[1:] for row in table.rows if row[0] == "memory: non-shared single"
    )
    assert (attempts, failures, bins, form) == (n, dies.sum(), 100, "b (x - a)+")
    assert r == pytest.approx(0.86, abs=0.05)
    assert float(str(p)) < 1e-20
    assert (a, b) == (pytest.approx(0.5, abs=0.02), pytest.approx(0.8, abs=0.05))
    assert float(str(r2)) > 0.95
    harmless = next(row[1:] for row in table.rows if row[0] == "remote_io: non-shared single")
    assert abs(float(str(harmless[3]))) < 0.35


def _correlated(memory: Any, remote: Any, dies: Any) -> DescriptionTable:
    n = len(memory)
    trace = Trace.of(
        Meta("by hand"),
        jobs={
            "original_id": [str(k) for k in range(n)],
            "submit": 0,
            "width": 1,
            "outcome": np.where(dies, Outcome.FAIL, Outcome.FINISH),
            "shared": False,
        }
        | {"submit": np.zeros(n, np.int64)},
        tasks={"job": np.arange(n), "index": 0, "width": 1},
        attempts={
            "task": np.arange(n),
            "start": 0,
            "end": 1000,
            "outcome": np.where(dies, Outcome.FAIL, Outcome.FINISH),
            "cause": np.ma.array(np.zeros(n, np.int64), mask=~dies),
            "exit_code": np.where(dies, 137, 0),
        },
        windows={"attempt": np.arange(n), "offset": 0, "memory": memory, "remote_io": remote},
    )
    made = correlations(FailureRates(Facts(trace)))
    assert isinstance(made, DescriptionTable)
    return made
