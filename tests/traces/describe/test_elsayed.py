"""Every table after El-Sayed et al., counted again in plain Python on random traces."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from typing import Any

import pytest

from failgym.traces import Cause, Meta, Outcome, Trace
from failgym.traces.describe import Description, describe
from tests.traces.describe.by_hand import OUTCOMES, ByHand, Row, expect, share, spread
from tests.traces.describe.random_traces import END, random_trace
from tests.traces.traces import make

FINISH, FAIL, KILL, CENSORED = (
    int(o) for o in (Outcome.FINISH, Outcome.FAIL, Outcome.KILL, Outcome.CENSORED)
)
ENDS = {"FINISH": FINISH, "FAIL": FAIL, "KILL": KILL}
SEEDS = range(3)


def both(seed: int) -> tuple[ByHand, Description]:
    # The priorities are Google's in every other trace.
    trace = random_trace(seed, source="google-2011" if seed % 2 else "random")
    return ByHand(trace), describe(trace)


def widths(hand: ByHand) -> dict[str, list[Row]]:
    """The jobs by parallelism."""
    groups: dict[str, list[Row]] = {"": hand.jobs}
    if hand.trace.meta.source == "google-2011":
        groups["batch "] = [job for job in hand.jobs if hand.batch(job)]
    found: dict[str, list[Row]] = {}
    for label, jobs in groups.items():
        found[f"{label}all"] = jobs
        found[f"{label}single"] = [job for job in jobs if job["slots"] == 1]
        found[f"{label}multi"] = [job for job in jobs if job["slots"] > 1]
    return found


def outcome_shares(jobs: list[Row]) -> list[float | None]:
    known = [job for job in jobs if job["outcome"] != CENSORED]
    shares = [
        share(sum(job["outcome"] == end for job in known), len(known)) for end in ENDS.values()
    ]
    others = [job for job in known if job["outcome"] not in ENDS.values()]
    return [*shares, share(len(others), len(known)), share(len(jobs) - len(known), len(jobs))]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_workload(seed: int) -> None:
    hand, description = both(seed)
    submitted = min(job["submit"] for job in hand.jobs)
    users = {job["user"] for job in hand.jobs} - {None}
    found = description.table("overview").rows[0]
    expected = [(END - submitted) / 86_400_000, 12, len(users), len(hand.jobs)]
    assert found == pytest.approx([*expected, *outcome_shares(hand.jobs)])


@pytest.mark.parametrize("seed", SEEDS)
def test_durations_and_machine_time(seed: int) -> None:
    hand, description = both(seed)
    groups = {"": hand.jobs}
    if seed % 2:
        groups["batch "] = [job for job in hand.jobs if hand.batch(job)]
    for label, jobs in groups.items():
        for name, end in ENDS.items():
            times = [
                job["task_time"] / 60_000 for job in jobs if job["ran"] and job["outcome"] == end
            ]
            expect(description.table("job_durations"), label + name, [len(times), *spread(times)])
    total = sum(job["task_time"] for job in hand.jobs)
    for name, end in OUTCOMES.items():
        spent = sum(job["task_time"] for job in hand.jobs if job["outcome"] == end)
        expect(description.table("machine_time_by_job"), name, [spent / 3_600_000, spent / total])


@pytest.mark.parametrize("seed", SEEDS)
def test_parallelism_and_interruptions(seed: int) -> None:
    hand, description = both(seed)
    for label, jobs in widths(hand).items():
        whole = widths(hand)["batch all" if label.startswith("batch") else "all"]
        cells = [len(jobs), share(len(jobs), len(whole)), *outcome_shares(jobs)]
        expect(description.table("job_outcomes_by_width"), label, cells)
        weeks = sum(job["task_time"] for job in jobs) / 604_800_000
        failed, killed = (sum(job["outcome"] == end for job in jobs) for end in (FAIL, KILL))
        rates = [share(n, weeks) for n in (failed, killed, failed + killed)]
        expect(description.table("interruption_rates"), label, [weeks, failed, killed, *rates])


def test_tasks_by_kind_of_stage() -> None:
    """Of three jobs, one has no stages and one has no reducer."""
    trace = Trace.of(
        Meta("hadoop"),
        jobs={"original_id": ["a", "b", "c"], "submit": 0, "width": [3, 1, 1], "outcome": 5}
        | {"submit": [0, 0, 0]},
        stages={"job": [0, 0, 1], "stage": [0, 1, 0], "name": ["map", "reduce", "map"]},
        tasks={"job": [0, 0, 0, 1, 2], "index": [0, 1, 2, 0, 0], "width": 1}
        | {"stage": [0, 0, 1, 2, None]},
        attempts={"task": [0, 1, 2, 3, 4], "end": 0, "outcome": 5},
    )
    table = describe(trace).table("stage_widths")
    assert table.cell("map", "jobs") == 2
    assert table.cell("map", "p50") == 1.5
    assert table.cell("map", "share with 1 or none") == 0.5
    assert table.cell("reduce", "p50") == 0.5
    assert table.cell("reduce", "share with 1 or none") == 1.0


@pytest.mark.parametrize("seed", SEEDS)
def test_requests(seed: int) -> None:
    hand, description = both(seed)
    for name, end in ENDS.items():
        jobs = [job for job in hand.jobs if job["outcome"] == end]
        for resource in ("cpu", "memory", "disk"):
            means: list[float] = []
            for job in jobs:
                asked = [task[resource] for task in job["tasks"] if task[resource] is not None]
                means += [sum(asked) / len(asked)] if asked else []
            cells = [len(means), *spread(means)]
            expect(description.table("requests"), f"{resource}: {name}", cells)
        slots = [job["slots"] for job in jobs]
        expect(description.table("requests"), f"slots: {name}", [len(slots), *spread(slots)])


def attempt_mean(attempt: Row, resource: str) -> float | None:
    values = [w[resource] for w in attempt["windows"] if w[resource] is not None]
    if values:
        return sum(values) / len(values)
    return attempt.get(f"mean_{resource}")


def attempt_peak(attempt: Row, resource: str) -> float | None:
    names = ("memory", "max_memory") if resource == "memory" else (resource,)
    values = [w[n] for w in attempt["windows"] for n in names if w[n] is not None]
    if values:
        return max(values)
    return attempt["max_memory"] if resource == "memory" else None


def task_mean(task: Row, resource: str) -> float | None:
    pairs = [(max(a["time"], 1), attempt_mean(a, resource)) for a in task["attempts"]]
    known = [(weight, value) for weight, value in pairs if value is not None]
    return share(sum(w * v for w, v in known), sum(w for w, _ in known)) if known else None


@pytest.mark.parametrize("seed", SEEDS)
def test_utilisation(seed: int) -> None:
    hand, description = both(seed)
    for resource in ("cpu", "memory", "local_io", "remote_io"):
        for name, end in ENDS.items():
            means: list[float] = []
            for job in hand.jobs:
                used = [task_mean(task, resource) for task in job["tasks"]]
                known = [value for value in used if value is not None]
                if known and job["outcome"] == end:
                    means.append(sum(known) / len(known))
            cells = [len(means), *spread(means)]
            expect(description.table("utilisation"), f"{resource}: {name}", cells)
    rows = {str(row[0]) for row in description.table("utilisation").rows}
    assert not any("network" in row for row in rows)  # nothing is known of it


@pytest.mark.parametrize("seed", SEEDS)
def test_usage_over_request(seed: int) -> None:
    hand, description = both(seed)

    def peak(task: Row, resource: str) -> float | None:
        found = [attempt_peak(a, resource) for a in task["attempts"]]
        return max((value for value in found if value is not None), default=None)

    kinds: dict[str, Callable[[Row, str], float | None]] = {"mean": task_mean, "most": peak}
    for kind, value in kinds.items():
        for resource in ("cpu", "memory"):
            for name, end in ENDS.items():
                tasks = [t for t in hand.tasks if t["final"] == end and t[resource]]
                used = [(value(t, resource), t[resource]) for t in tasks]
                ratios = [u / asked for u, asked in used if u is not None]
                above = share(sum(r > 1 for r in ratios), len(ratios))
                cells = [len(ratios), *spread(ratios), above]
                row = f"{kind} {resource}: {name}"
                expect(description.table("used_over_requested"), row, cells)


@pytest.mark.parametrize("seed", SEEDS)
def test_memory_growth(seed: int) -> None:
    hand, description = both(seed)
    growth: dict[str, list[float]] = {name: [] for name in ENDS}
    for task in hand.tasks:
        memory = [
            w["memory"] for a in task["attempts"] for w in a["windows"] if w["memory"] is not None
        ]
        half = len(memory) // 2
        early, late = sum(memory[:half]), sum(memory[len(memory) - half :])
        for name, end in ENDS.items():
            if task["final"] == end and early > 0:
                growth[name].append(late / early)
    for name, ratios in growth.items():
        above = share(sum(r > 2 for r in ratios), len(ratios))
        expect(description.table("memory_growth"), name, [len(ratios), *spread(ratios), above])


@pytest.mark.parametrize("seed", SEEDS)
def test_failed_attempts_of_jobs_and_tasks(seed: int) -> None:
    hand, description = both(seed)
    for name, end in OUTCOMES.items():
        jobs = [job for job in hand.jobs if job["outcome"] == end]
        hit = sum(any(a["outcome"] == FAIL for a in job["attempts"]) for job in jobs)
        cells = [len(jobs), hit, share(hit, len(jobs))]
        expect(description.table("jobs_with_failures"), name, cells)
    tried = [len(task["attempts"]) for task in hand.tasks if task["final"] == FAIL]
    shares = [share(sum(n >= k for n in tried), len(tried)) for k in (2, 3, 4)]
    row = description.table("attempts_of_failed").rows[0]
    assert row == pytest.approx((len(tried), *shares, max(tried)))


@pytest.mark.parametrize("seed", SEEDS)
def test_attempts_that_ended_with_their_machine(seed: int) -> None:
    hand, description = both(seed)

    def by_outage(attempt: Row) -> bool:
        if attempt["cause"] == Cause.MACHINE:
            return True
        if attempt["outcome"] == CENSORED or not attempt["ran"]:
            return False
        return any(
            outage["machine"] in attempt["machines"]
            and attempt["start"] <= outage["down"] <= attempt["end"] <= outage["down"] + 60_000
            for outage in hand.outages
        )

    hit = [a for a in hand.attempts if by_outage(a)]
    assert any(a["cause"] != Cause.MACHINE for a in hit)
    for name, end in OUTCOMES.items():
        if end != CENSORED:
            every = [a for a in hand.attempts if a["ran"] and a["outcome"] == end]
            both_of = sum(by_outage(a) for a in every)
            cells = [both_of, share(both_of, len(hit)), share(both_of, len(every))]
            expect(description.table("outage_events"), name, cells)


@pytest.mark.parametrize("seed", SEEDS)
def test_after_the_first_failure(seed: int) -> None:
    hand, description = both(seed)
    for label, several in {"multi": True, "single": False}.items():
        for name, end in ENDS.items():
            left: list[float] = []
            portion: list[float] = []
            for job in hand.jobs:
                failures = [a["end"] for a in job["attempts"] if a["ran"] and a["outcome"] == FAIL]
                if failures and (job["width"] > 1) == several and job["outcome"] == end:
                    last = max(a["end"] for a in job["attempts"])
                    left.append((last - min(failures)) / 60_000)
                    if last > job["submit"]:
                        portion.append((last - min(failures)) / (last - job["submit"]))
            cells = [len(left), *spread(left), median(portion) if portion else None]
            expect(description.table("after_first_failure"), f"{label} {name}", cells)


def test_no_more_than_a_whole_life_is_left_after_a_failure() -> None:
    late = {"submit": [65, 100, 500]}
    table = describe(make(jobs=late)).table("after_first_failure")
    # The failure at 60 is before the submission at 65, the end at 700: clocks differ.
    assert table.cell("multi FINISH", "share of life left (median)") == 1.0


@pytest.mark.parametrize("seed", SEEDS)
def test_failures_of_failures(seed: int) -> None:
    hand, description = both(seed)
    known = [job for job in hand.jobs if job["outcome"] in ENDS.values()]
    failed = [job for job in known if job["outcome"] != FINISH]
    tasks = [task for job in failed for task in job["tasks"]]
    lost = sum(task["final"] != FINISH for task in tasks)
    every = sum(len(job["tasks"]) for job in known)
    expected = (len(failed) / len(known), lost / len(tasks), lost / every)
    assert description.table("failures_of_failures").rows[0] == pytest.approx(expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_configuration(seed: int) -> None:
    hand, description = both(seed)
    for label, ends in {"all": set(OUTCOMES.values()), **{n: {e} for n, e in ENDS.items()}}.items():
        jobs = [job for job in hand.jobs if job["outcome"] in ends]
        known = [job["speculation"] for job in jobs if job["speculation"] is not None]
        off = known.count(False)
        cells: list[Any] = [len(known), off, share(off, len(known))]
        expect(description.table("speculation"), label, cells)
        for name, default in {"skip_mode": 2, "attempt_limit": 4}.items():
            values = [job[name] for job in jobs if job[name] is not None]
            others = [value for value in values if value != default]
            cells = [
                len(values),
                share(sum(v < default for v in values), len(values)),
                share(values.count(default), len(values)),
                share(sum(v > default for v in values), len(values)),
                max(sorted(set(others)), key=others.count) if others else None,
                max(values, default=None),
            ]
            expect(description.table(name), label, cells)
