"""The reference of the scheduled world: what it refuses, and what the agent sees, by hand.

What happens is in the worked examples of `tests/golden/rules/scheduled`.
"""

from __future__ import annotations

from math import log2
from typing import Any

import numpy as np
import pytest

from failgym.sim.reference.scheduled import ReferenceScheduledSimulator
from failgym.sim.reference.scheduled.schedulers import Query
from failgym.sim.scheduled.rules import NodePredictions, ScheduledRules
from failgym.sim.shared.context import Context
from failgym.sim.shared.fields import INDEX
from failgym.sim.shared.forecast import Forecast
from failgym.sim.shared.rules import Weights
from failgym.traces import Cause, Meta, Outcome, Trace
from failgym.vocabulary import MINUTE, Action, Decision, Event, OpenDecision
from tests.sim.random_worlds import random_policy
from tests.sim.scheduled.random_clusters import random_cluster

Columns = dict[str, Any]


def tasks_of(*lengths: int, **columns: Any) -> dict[str, Columns]:
    """One job; each task is submitted at 0 and would run that long."""
    n = len(lengths)
    return {
        "jobs": {"original_id": ["job"], "submit": [0], "width": [n], "outcome": [0]},
        "tasks": {"job": [0] * n, "index": list(range(n)), "width": [1] * n} | columns,
        "attempts": {
            "task": list(range(n)),
            "queued": [0] * n,
            "start": [0] * n,
            "end": list(lengths),
            "outcome": [Outcome.FINISH] * n,
        },
    }


def machines(*slots: int) -> Columns:
    return {
        "original_id": [f"m{i}" for i in range(len(slots))],
        "slots": list(slots),
        "speed": [1.0] * len(slots),
    }


def chain(*sizes: int) -> dict[str, Columns]:
    """Stages one after another; edges carry these bytes."""
    n = len(sizes) + 1
    return {
        "stages": {"job": [0] * n, "stage": list(range(n))},
        "stage_edges": {
            "parent": list(range(n - 1)),
            "child": list(range(1, n)),
            "bytes": list(sizes),
            "wide": [True] * (n - 1),
        },
    }


def simulator(
    tables: dict[str, Columns],
    *,
    nodes: NodePredictions | None = None,
    weights: Weights | None = None,
    **rules: Any,
) -> ReferenceScheduledSimulator:
    trace = Trace.of(Meta("by hand"), **tables)
    jobs, tasks, attempts = (trace.rows(name) for name in ("jobs", "tasks", "attempts"))
    forecast = Forecast.none(trace.content_hash, jobs, tasks, attempts, 5 * MINUTE)
    context = Context(np.zeros((8, 24, 3)), np.zeros((1, 8), dtype=np.float32), forecast)
    return ReferenceScheduledSimulator(
        trace, ScheduledRules(**rules), context, weights, nodes=nodes
    )


def seen(sim: ReferenceScheduledSimulator, *names: str) -> list[float]:
    """Fields of the observation."""
    observation = sim.observe()
    return [float(observation[INDEX[name]]) for name in names]


def starts(sim: ReferenceScheduledSimulator) -> list[tuple[int, int, int]]:
    """Time, task and first machine of every start."""
    log = sim.log
    return [
        (entry.time, entry.task, log[i + 1].detail)
        for i, entry in enumerate(log)
        if entry.kind == Event.START
    ]


def log(x: float) -> Any:
    return pytest.approx(log2(1 + x), rel=1e-6)


def ends(sim: ReferenceScheduledSimulator) -> list[int]:
    return [outcome.end for outcome in sim.outcomes()]


# --- what is refused ----------------------------------------------------------------------------

ONE = {**tasks_of(10), "machines": machines(1)}
STAGED = {**tasks_of(10, 10, stage=[0, 1]), "machines": machines(1), **chain(5)}
BAD: dict[str, tuple[dict[str, Columns], str]] = {
    "no machines": (tasks_of(10), "scheduled world: expected machines"),
    "no slots": (
        {**tasks_of(10), "machines": machines(0)},
        "machine 0: expected at least 1 slot, got 0",
    ),
    "too wide": (
        {**tasks_of(10, width=[4]), "machines": machines(2, 1)},
        "task 0: width 4 exceeds the cluster's 3 slots",
    ),
    "overlap": (
        {**ONE, "outages": {"machine": [0, 0], "down": [5, 7], "up": [8, 9]}},
        "machine 0: outages overlap at 7 ms",
    ),
    "cycle": (
        {
            **STAGED,
            "stage_edges": {"parent": [0, 1], "child": [1, 0], "bytes": [1, 1], "wide": [True] * 2},
        },
        "stages of job 0 form a cycle",
    ),
    "cost missing": (
        {
            **tasks_of(10, 10),
            "machines": machines(1),
            "costs": {"task": 0, "machine": 0} | {"time": [5]},
        },
        "costs: expected a time of task 1 on machine 0",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_in_one_line(name: str) -> None:
    tables, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        simulator(tables)


def test_ranks_need_a_machine_that_is_wide_enough() -> None:
    tables = {**tasks_of(10, width=[3]), "machines": machines(2, 1)}
    assert simulator(tables) is not None
    with pytest.raises(ValueError, match="width 3 exceeds the largest machine's 2 slots"):
        simulator(tables, scheduler="rank_hybd")


# --- machines -----------------------------------------------------------------------------------


def test_only_machines_with_costs_belong_to_the_cluster() -> None:
    costs = {"task": [0, 1, 0, 1], "machine": [0, 0, 2, 2], "time": [30, 40, 20, 10]}
    tables = {**tasks_of(99, 99), "machines": machines(1, 1, 1), "costs": costs}
    sim = simulator(tables, scheduler="rank_hybd")
    sim.start([0, 1])
    # Ranks are mean costs, 25 and 25, so the lower row goes first, to where it ends first.
    assert starts(sim) == [(0, 0, 1), (0, 1, 0)]
    assert ends(sim) == [20, 40]


def test_outages_that_touch_are_one_and_the_longest_of_a_moment_counts() -> None:
    outages = {"machine": [0, 0, 0], "down": [5, 5, 20], "up": [7, 20, 30]}
    sim = simulator({**ONE, "outages": outages})
    sim.start([0])
    kinds = (Event.MACHINE_DOWN, Event.MACHINE_UP)
    assert [(e.time, e.kind) for e in sim.log if e.kind in kinds] == [(5, 4), (30, 5)]
    assert ends(sim) == [40]


def test_what_the_record_ends_by_the_cluster_runs_on() -> None:
    tables = tasks_of(100, 30)
    tables["attempts"] |= {
        "outcome": [Outcome.FINISH, Outcome.EVICT],
        "cause": [None, Cause.PREEMPTION],
    }
    sim = simulator({**tables, "machines": machines(2)})
    sim.start([0, 1])
    # The one finished attempt of its class that was longer than 30 ms took 100.
    assert ends(sim) == [100, 100]
    assert [outcome.recorded_outcome for outcome in sim.outcomes()] == [0, Outcome.EVICT]


# --- estimates ----------------------------------------------------------------------------------


def jobs_of_users(users: list[str | None], walltimes: list[int | None]) -> dict[str, Columns]:
    """Jobs of one task, 100 ms apart; they run for 10, 40, 21 and 25 ms."""
    tables, n = tasks_of(10, 40, 21, 25), len(users)
    submit = [0, 100, 200, 300]
    tables["jobs"] = {
        "original_id": [f"job {i}" for i in range(n)],
        "submit": submit,
        "width": [1] * n,
        "outcome": [0] * n,
        "user": users,
        "walltime": walltimes,
    }
    tables["tasks"]["job"] = list(range(n))
    ends = [time + length for time, length in zip(submit, (10, 40, 21, 25), strict=True)]
    tables["attempts"] |= {"queued": submit, "start": submit, "end": ends}
    return {**tables, "machines": machines(1)}


ESTIMATES: list[tuple[dict[str, Any], int]] = [
    ({"estimator": "last"}, 21),
    ({"estimator": "average"}, 23),  # of 10, 40 and 21
    ({"estimator": "average", "history": 2}, 30),
    ({"estimator": "median"}, 21),
    ({"estimator": "median", "history": 2}, 21),  # the lower one
    ({"estimator": "oracle"}, 25),
    ({"estimator": "user"}, 90),
]


@pytest.mark.parametrize(("rules", "expected"), ESTIMATES)
def test_estimates(rules: dict[str, Any], expected: int) -> None:
    sim = simulator(
        jobs_of_users(["u"] * 4, [None, None, None, 90]), scheduler="easy_backfill", **rules
    )
    sim.start([0, 1, 2, 3])
    assert sim.world.tasks[3].attempts[0].estimate == expected


def test_estimates_of_others_count_for_nothing_and_the_request_caps_them() -> None:
    tables = jobs_of_users(["u", "v", None, "v"], [80, 50, None, 30])
    sim = simulator(tables, scheduler="easy_backfill", estimator="last")
    sim.start([0, 1, 2, 3])
    estimates = [task.attempts[0].estimate for task in sim.world.tasks]
    # The request; the largest of the trace, as there is no user; the last of v's took 40.
    assert estimates == [80, 50, 80, 30]


# --- episodes -----------------------------------------------------------------------------------


def test_only_own_tasks_are_asked_and_charged() -> None:
    sim = simulator({**tasks_of(10, 20), "machines": machines(1)}, kill=True, window=1000)
    sim.start([0, 1], own=[1])
    assert sim.decision == OpenDecision(Decision.WINDOW, 1, 0, 10)
    assert sim.step(Action.CONTINUE) == -30.0  # it was submitted at 0 and ended at 30
    assert sim.accounts().useful == 30


def test_standing_tasks_are_there_first_and_the_episode_does_not_wait_for_them() -> None:
    sim = simulator({**tasks_of(10, 20), "machines": machines(1, 1)}, kill=True, window=1000)
    sim.start([0], standing=[(1, 500)])
    assert starts(sim) == [(0, 1, 0), (0, 0, 1)]
    sim.step(Action.CONTINUE)
    assert sim.decision is None
    assert ends(sim) == [-1, 10]


def test_an_attempt_that_the_last_machine_leaves_behind_is_censored() -> None:
    sim = simulator({**ONE, "outages": {"machine": [0], "down": [4], "up": [None]}})
    sim.start([0])
    (outcome,) = sim.outcomes()
    assert (outcome.end, outcome.outcome) == (4, Outcome.CENSORED)
    assert (outcome.outages, outcome.loss, outcome.lost) == (1, 4, 4)


# --- what the agent sees ------------------------------------------------------------------------


def test_the_system_is_what_happens_in_the_episode() -> None:
    length = 70 * MINUTE
    tables = {**tasks_of(10 * MINUTE, length, length), "machines": machines(2)}
    sim = simulator(tables, kill=True, window=65 * MINUTE)
    sim.start([0, 1, 2], own=[1])
    names = ("running", "waiting", "free", "arrival_rate", "throughput")
    assert seen(sim, *names) == [log(2), 1.0, 0, 0, 0]  # tasks 0 and 1 run, 2 waits
    sim.step(Action.CONTINUE)
    assert sim.decision == OpenDecision(Decision.WINDOW, 1, 0, 65 * MINUTE)
    # The three arrivals at 0 are more than an hour ago, the end at 10 minutes is not.
    assert seen(sim, *names) == [log(2), 0, 0, 0, 1.0]
    assert seen(sim, "arrival_change", "throughput_change", "failure_rate") == [-2.0, 1.0, 0.0]


def test_the_system_ends_attempts_when_a_machine_goes_down() -> None:
    """Two tasks on two machines; one goes down after 4 minutes, and for good after 12."""
    outages = {"machine": [0, 0], "down": [4 * MINUTE, 12 * MINUTE], "up": [6 * MINUTE, None]}
    tables = {
        **tasks_of(100 * MINUTE, 100 * MINUTE),
        "machines": machines(1, 1),
        "outages": outages,
    }
    sim = simulator(tables, kill=True, window=5 * MINUTE)
    sim.start([0, 1], own=[1])
    found: dict[int, list[float]] = {}
    while sim.decision is not None:
        names = ("running", "interruption_rate", "since_interruption")
        found[sim.decision.time // MINUTE] = seen(sim, *names)
        sim.step(Action.CONTINUE)
    assert found[0] == [log(2), 0, 0]
    assert found[5] == [log(1), pytest.approx(1 / 2), log(1)]
    assert found[10] == [log(2), pytest.approx(1 / 3), log(6)]
    assert found[15] == [log(1), pytest.approx(2 / 2), log(3)]
    assert found[60] == [log(1), pytest.approx(2 / 2), log(48)]  # since the bin of 0
    assert found[65] == [log(1), pytest.approx(1 / 2), log(53)]  # since 5 minutes
    assert found[75] == [log(1), 0, log(63)]


def test_an_output_is_offered_with_its_lineage() -> None:
    tables = {
        **tasks_of(60_000, 120_000, 5, stage=[0, 1, 2], output_bytes=[30, 40, 0]),
        "machines": machines(1),
        **chain(100, 10),
    }
    sim = simulator(tables, save_outputs=True, storage_bandwidth=0.001, window=10**9)
    sim.start([0, 1, 2])
    names = ("output", "level", "waiting_children", "output_size", "stage_budget")
    assert sim.decision == OpenDecision(Decision.OUTPUT, 0, 0, 60_000)
    assert seen(sim, *names) == [1.0, 1.0, 1.0, log(30), 1.0]  # nothing comes in
    assert seen(sim, "recomputation_cost", "checkpoint_p95") == [log(1), 0.0]
    sim.step(Action.CONTINUE)
    assert sim.decision == OpenDecision(Decision.OUTPUT, 1, 0, 180_000)
    assert seen(sim, *names) == [1.0, log(2), 1.0, log(40), 0.0]
    assert seen(sim, "recomputation_cost") == [log(3)]  # with the parent's, on this machine
    assert seen(sim, "runtime_over_median") == [2.0]  # over the lower median of 1 and 2 minutes
    sim.step(Action.CHECKPOINT)
    last = sim.outcomes()
    assert (last[1].saved, last[1].checkpoint, last[2].start) == (1, 40_000, 220_000)


def test_a_machine_is_offered_with_what_is_known_of_it() -> None:
    outages = {"machine": [0, 0, 1], "down": [0, 90, 200], "up": [10, 100, 210]}
    nodes = NodePredictions(np.array([0, 1, 1]), np.array([55]))
    tables = {**tasks_of(30, 30), "machines": machines(1, 1), "outages": outages}
    tables["attempts"] |= {"queued": [20, 40], "start": [20, 40], "end": [50, 70]}
    sim = simulator(tables, nodes=nodes, scheduler="rank_hybd", place=True)
    sim.start([0, 1])
    names = ("dispatch", "predicted_to_fail", "machine_failures", "offer_rank")
    assert sim.offered == 0
    assert seen(sim, *names) == [1.0, 0.0, 1.0, 0.0]  # 55 is after its end
    sim.step(Action.RETRY)
    assert sim.offered == 1
    assert seen(sim, *names) == [1.0, 0.0, 0.0, 1.0]
    sim.step(Action.CONTINUE)
    assert (sim.decision, sim.offered) == (OpenDecision(Decision.DISPATCH, 1, 0, 40), 0)
    assert seen(sim, *names) == [1.0, 1.0, 1.0, 0.0]
    sim.step(Action.RETRY)  # the other machine is busy: it is held until that is free
    assert sim.decision == OpenDecision(Decision.DISPATCH, 1, 0, 50)
    sim.step(Action.CONTINUE)
    assert sim.queries == [
        Query(0, 0, 0, True, False, False),
        Query(0, 0, 1, True, False, False),
        Query(1, 1, 0, True, True, False),
        Query(2, 1, 0, True, True, False),
        Query(2, 1, 1, False, False, False),
    ]


def test_an_offer_tells_times_urgency_and_how_long_the_machine_is_up() -> None:
    down = {"machine": [0, 1], "down": [30_000, 500_000], "up": [60_000, 600_000]}
    tables = {
        **tasks_of(60_000, 120_000, stage=[0, 1], output_bytes=[1, 0]),
        **chain(30_000),
        "machines": machines(1, 1) | {"speed": [1.0, 0.5]},
        "outages": down,
    }
    tables["attempts"] |= {"queued": [120_000] * 2, "start": [120_000] * 2}
    tables["attempts"]["end"] = [180_000, 240_000]
    rules: dict[str, Any] = {"scheduler": "rank_hybd", "place": True, "save_outputs": True}
    sim = simulator(tables, transfer_bandwidth=1.0, window=10**9, **rules)
    sim.start([0, 1])
    names = ("offered_time", "next_time", "upward_rank", "machine_uptime")
    # ranks: 3 min is the mean of 2 and 4; 5 min that of 1 and 2, half a minute of transfer, and 3
    assert (sim.decision, sim.offered) == (OpenDecision(Decision.DISPATCH, 0, 0, 120_000), 0)
    assert seen(sim, *names) == [log(1), log(2), log(5), log(1)]  # back since a minute
    sim.step(Action.RETRY)
    assert sim.offered == 1
    assert seen(sim, *names) == [log(2), 0.0, log(5), log(2)]  # the last one; never down as yet
    sim.step(Action.CONTINUE)
    assert sim.decision == OpenDecision(Decision.OUTPUT, 0, 0, 240_000)
    assert seen(sim, *names) == [0.0, 0.0, 0.0, 0.0]
    sim.step(Action.CONTINUE)
    assert (sim.decision, sim.offered) == (OpenDecision(Decision.DISPATCH, 1, 0, 240_000), 0)
    assert seen(sim, *names) == [log(2.5), log(4), log(3), log(3)]  # the input is on the other one
    sim.step(Action.RETRY)
    assert seen(sim, *names) == [log(4), 0.0, log(3), log(4)]


def test_of_machines_that_finish_together_the_next_one_takes_as_long() -> None:
    tables = {**tasks_of(60_000), "machines": machines(1, 1)}
    sim = simulator(tables, scheduler="rank_hybd", place=True)
    sim.start([0])
    assert (sim.offered, seen(sim, "offered_time", "next_time")) == (0, [log(1), log(1)])
    sim.step(Action.RETRY)
    assert (sim.offered, seen(sim, "offered_time", "next_time")) == (1, [log(1), 0.0])


# --- the accounts -------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(60))
def test_accounts_sum_to_busy_after_every_event(seed: int) -> None:
    cluster = random_cluster(seed)
    sim: ReferenceScheduledSimulator = cluster.simulator(ReferenceScheduledSimulator)

    def check() -> None:
        accounts = sim.accounts()
        assert sum(accounts) == sim.busy()
        assert min(accounts) >= 0
        for machine in sim.world.cluster.machines:
            assert 0 <= machine.free <= machine.slots * machine.up

    sim.on_event = check
    cluster.start(sim)
    policy = random_policy(np.random.default_rng(seed))
    while sim.decision is not None:
        sim.step(policy(sim.mask))
    check()
