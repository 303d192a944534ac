"""The timeline of an episode: it adds up to what the engine says."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from failgym.envs.rendering.perfetto import trace_events
from failgym.envs.rendering.phases import phases
from failgym.envs.rendering.recorder import Recorder
from failgym.envs.rendering.timeline import ACCOUNTS, CLASSES
from failgym.sim.compile import compile_world, with_slices
from failgym.sim.pinned import PinnedSimulator
from failgym.sim.scheduled import ScheduledSimulator
from tests.sim.random_worlds import random_context, random_rules, random_trace, random_weights
from tests.sim.scheduled.random_clusters import random_cluster


def test_pinned_accounts() -> None:
    """In random small worlds, under random legal actions, decision by decision."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        trace, rules = random_trace(rng), random_rules(rng)
        context, weights = random_context(rng, trace, rules), random_weights(rng)
        order: Any = rng.choice(["task", "time"])
        tasks = rng.permutation(trace.rows("tasks"))
        simulator = PinnedSimulator(trace, rules, context, weights, seed)
        simulator.start(tasks.tolist(), order)
        world = compile_world(trace, rules, context, weights, seed)
        recorder = Recorder(with_slices(world, tasks, len(tasks)), rules, order)
        recorder.begin(0)
        follow(recorder, simulator, rng)


def test_scheduled_accounts() -> None:
    """In random small clusters, workflows among them, under random legal actions."""
    for seed in range(80):
        rng = np.random.default_rng(seed)
        cluster = random_cluster(seed)
        simulator = cluster.simulator(ScheduledSimulator)
        cluster.start(simulator)
        recorder = Recorder(simulator.batch.world, cluster.rules, "time")
        recorder.begin(0)
        follow(recorder, simulator, rng)


def follow(recorder: Recorder, simulator: Any, rng: np.random.Generator) -> None:
    """Play to the end, and compare all machine-time by account after every step."""
    while simulator.decision is not None:
        assert recorder.timeline.totals() == accounts_of(simulator)
        action = int(rng.choice(np.flatnonzero(simulator.mask)))
        simulator.step(action)
        recorder.play([action])
    timeline = recorder.timeline
    assert recorder.done
    events = machine_time_of(trace_events(timeline, "run", recorder.machines))
    assert timeline.totals() == accounts_of(simulator)
    for outcome in simulator.outcomes():
        line = timeline.tasks[outcome.task]
        spent: Counter[str] = Counter()
        for attempt in line.attempts:
            for phase in phases(attempt, timeline.now):
                spent[phase.account] += (phase.end - phase.start) * attempt.width
        for account in CLASSES:
            assert events[outcome.task, account] == getattr(outcome, account)
            assert spent[account] == getattr(outcome, account), (outcome.task, account)
            assert line.accounts[account] == spent[account]
        assert sum(len(t.attempts) for t in timeline.tasks.values()) == len(timeline.attempts)
        assert len(line.attempts) == outcome.attempts
        assert (line.settled if line.settled is not None else -1) == outcome.end


def machine_time_of(document: dict[str, Any]) -> Counter[tuple[int, str]]:
    """Machine-time by (task, account) of the slices of a document in the trace-event format.

    The document is well formed: what follows from the length of a slice is its machine-time, and
    slices of one thread are nested or apart.
    """
    spent: Counter[tuple[int, str]] = Counter()
    open_until: dict[tuple[int, int], list[int]] = {}
    events = [event for event in document["traceEvents"] if event["ph"] == "X"]
    for event in sorted(events, key=lambda event: event["ts"]):  # stable: outer slices come first
        begin, end = event["ts"], event["ts"] + event["dur"]
        stack = open_until.setdefault((event["pid"], event["tid"]), [])
        while stack and stack[-1] <= begin:
            stack.pop()
        assert not stack or end <= stack[-1], event
        stack.append(end)
        if "account" in event["args"]:
            about = event["args"]
            assert about["account"] == event["cat"]
            spent[about["task"], about["account"]] += about["machine_time"]
    return spent


def accounts_of(simulator: Any) -> dict[str, int]:
    accounts = simulator.accounts()._asdict()
    return {name: accounts[name] for name in ACCOUNTS}
