"""Without waits, gaps, evictions and outages the scheduled world is the pinned one.

Ends, outcomes, accounts, costs and, task by task, all events and decisions are equal. Observations
are not compared: the two worlds see siblings and the system in the record and in the simulation.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest

from failgym.sim.pinned.simulator import PinnedSimulator
from failgym.sim.scheduled import ScheduledSimulator
from failgym.sim.scheduled.rules import ScheduledRules
from failgym.sim.shared.continuation import Law
from failgym.sim.shared.fields import INDEX
from failgym.sim.shared.rules import Rules
from failgym.traces import Cause, Meta, Outcome, Trace
from failgym.vocabulary import TERMS, Action, Event
from tests.sim.random_worlds import (
    random_alarms,
    random_context,
    random_continuation,
    random_rules,
    random_weights,
)

ROOM = 10_000
"""Slots of the one machine."""
STARTING = {0: Action.CLONE, 1: Action.CLONE, 2: Action.RETRY, 3: Action.RETRY}
OTHERS = {0: Action.CHECKPOINT, 1: Action.CHECKPOINT, 2: Action.CHECKPOINT, 3: Action.KILL}
"""Of ten draws, those that are not answered by CONTINUE."""
QUEUEING = (Event.QUEUED, Event.PLACED)


@pytest.mark.parametrize(
    "chunk",
    [*range(4), *(pytest.param(n, marks=pytest.mark.campaign) for n in range(4, 10))],
)
def test_infinite_capacity_is_the_pinned_world(chunk: int) -> None:
    decisions = 0
    for seed in range(chunk * 20, chunk * 20 + 20):
        rng = np.random.default_rng(seed)
        trace = seamless_trace(rng)
        shared = random_shared_rules(rng)
        rules, weights = Rules(**shared), random_weights(rng)
        context = random_context(rng, trace, rules)
        scheduler = ("fifo", "priority", "easy_backfill", "rank_hybd")[seed % 4]
        pinned = PinnedSimulator(trace, rules, context, weights, seed=seed)
        scheduled = ScheduledSimulator(
            trace, ScheduledRules(**shared, scheduler=scheduler), context, weights, seed=seed
        )
        tasks = range(trace.rows("tasks"))
        pinned.start(tasks, order="time")
        scheduled.start(tasks)
        costs = [play(sim, seed) for sim in (pinned, scheduled)]
        assert costs[1].tolist() == pytest.approx(costs[0].tolist(), rel=1e-9, abs=1e-9), seed
        assert by_task(scheduled.log) == by_task(pinned.log), seed
        assert tuple(scheduled.accounts()) == tuple(pinned.accounts()), seed
        known = [asdict(x) for x in sorted(pinned.outcomes())]
        found = [asdict(x) for x in sorted(scheduled.outcomes())]
        for ours, theirs in zip(found, known, strict=True):
            del theirs["departed"]  # in the scheduled world every task has
            assert {name: ours[name] for name in theirs} == theirs, seed
        decisions += sum(entry.kind == Event.DECISION for entry in pinned.log)
    assert decisions > 20


@pytest.mark.parametrize(
    "chunk",
    [*range(1), *(pytest.param(n, marks=pytest.mark.campaign) for n in range(1, 4))],
)
def test_so_it_is_where_records_go_on(chunk: int) -> None:
    """Where nothing is evicted: what the scheduled world simulates itself, the record has not.

    What attempts beyond the record alarm of is the same too.
    """
    decisions, alarmed = 0, 0
    for seed in range(chunk * 60, chunk * 60 + 60):
        rng = np.random.default_rng(seed)
        trace = seamless_trace(rng)
        shared = random_shared_rules(rng)
        shared |= {"beyond_record": "continued", "restarts": "record"}
        shared["spare_attempts"] = int(rng.integers(0, 5))
        rules, weights = Rules(**shared), random_weights(rng)
        context, laws = random_context(rng, trace, rules), random_continuation(rng, trace)
        laws = replace(laws, external=Law.never(laws.failure.cells))
        told = np.random.default_rng([seed, 3])
        alarms = random_alarms(told, trace.column("tasks", "job"))
        context = replace(context, forecast=replace(context.forecast, alarms=alarms))
        pinned = PinnedSimulator(trace, rules, context, weights, seed, laws)
        scheduled = ScheduledSimulator(
            trace, ScheduledRules(**shared), context, weights, seed, continuation=laws
        )
        tasks = range(trace.rows("tasks"))
        pinned.start(tasks, order="time")
        scheduled.start(tasks)
        risks = Risks(), Risks()
        costs = [
            play(sim, seed, seen) for sim, seen in zip((pinned, scheduled), risks, strict=True)
        ]
        assert costs[1].tolist() == pytest.approx(costs[0].tolist(), rel=1e-9, abs=1e-9), seed
        assert by_task(scheduled.log) == by_task(pinned.log), seed
        assert tuple(scheduled.accounts()) == tuple(pinned.accounts()), seed
        assert risks[0] == risks[1], seed
        decisions += sum(entry.kind == Event.DECISION for entry in pinned.log)
        recorded = np.bincount(trace.column("attempts", "task"))
        alarmed += sum(
            risk != np.float32(alarms.prior)
            for (_, task, number, _), risk in risks[0].items()
            if number >= recorded[task]
        )
    assert decisions > 100
    assert alarmed > 0


def random_shared_rules(rng: np.random.Generator) -> dict[str, Any]:
    """Without retries where there are checkpoints, since one may be durable as the other starts."""
    rules: dict[str, Any] = vars(random_rules(rng)) | {
        "restart_limit": 100,
        "beyond_record": "ghost",
    }
    return rules | {"retry": rules["retry"] and not rules["checkpoint"]}


def seamless_trace(rng: np.random.Generator) -> Trace:
    """Each attempt is queued, started and, if it is not the last, followed in one millisecond."""
    rows: list[dict[str, Any]] = []
    tasks = int(rng.integers(1, 7))
    job = np.sort(rng.integers(0, 3, tasks))
    for task in range(tasks):
        time = int(rng.integers(0, 30)) * 10
        for number in range(last := int(rng.integers(1, 5))):
            rows.append(_attempt(rng, task, time, final=number == last - 1))
            time = rows[-1]["end"]
    return Trace.of(
        Meta("seamless"),
        jobs={
            "original_id": ["a", "b", "c"],
            "submit": [0, 0, 0],
            "width": [max(1, int((job == i).sum())) for i in range(3)],
            "outcome": [0, 0, 0],
        },
        tasks={
            "job": job,
            "index": [int((job[:t] == job[t]).sum()) for t in range(tasks)],
            "width": rng.choice([1, 2, 5], tasks),
        },
        attempts={name: [row[name] for row in rows] for name in rows[0]},
        machines={"original_id": ["all"], "slots": [ROOM], "speed": [1.0]},
    )


def _attempt(rng: np.random.Generator, task: int, time: int, *, final: bool) -> dict[str, Any]:
    between = [(Outcome.FAIL, Cause.INTRINSIC), (Outcome.FAIL, Cause.SHARED)]
    final_ones = [(Outcome.FINISH, None), (Outcome.FAIL, Cause.SHARED), (Outcome.KILL, Cause.USER)]
    options = final_ones if final else between
    outcome, cause = options[int(rng.integers(len(options)))]
    end = time + int(rng.integers(1, 25)) * 10
    return {
        "task": task,
        "queued": time,
        "start": time,
        "end": end,
        "outcome": outcome,
        "cause": cause,
    }


Risks = dict[tuple[int, ...], np.float32]
"""Risk that is shown, by decision."""


def play(sim: Any, seed: int, risks: Risks | None = None) -> np.ndarray[Any, Any]:
    """Answer as the moment says, whatever was asked before; return the cost by term.

    Keep the risks that are shown in ``risks``.

    A task is neither killed nor saved in the millisecond of a clone or a retry: in the scheduled
    world that would still be in the queue.
    """
    cost, asked = np.zeros(len(TERMS)), defaultdict[tuple[int, ...], int](int)
    while (decision := sim.decision) is not None:
        asked[tuple(decision)] += 1
        if risks is not None:
            risks[tuple(decision)] = sim.observation()[INDEX["risk"]]
        sim.step(_answer(seed, decision, asked[tuple(decision)], sim.mask))
        cost -= sim.terms
    return cost


def _answer(seed: int, decision: Any, times: int, mask: tuple[bool, ...]) -> int:
    starting = bool(_draw(seed, decision.task, decision.time) & 1)
    answers = STARTING if starting else OTHERS
    answer = answers.get(_draw(seed, *decision, times) % 10, Action.CONTINUE)
    return int(answer) if mask[answer] else Action.CONTINUE


def _draw(*key: int) -> int:
    return hashlib.blake2b(repr([int(x) for x in key]).encode(), digest_size=1).digest()[0]


def by_task(log: Any) -> dict[int, list[tuple[int, ...]]]:
    """The events of each task, without its waiting; those of one millisecond in any order."""
    events: dict[int, list[tuple[int, ...]]] = defaultdict(list)
    for entry in log:
        if entry.kind not in QUEUEING:
            events[entry.task].append(tuple(entry))
    return {task: sorted(each) for task, each in events.items()}
