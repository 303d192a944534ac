"""The timeline of an episode: it adds up to what the engine says."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np

from failgym.envs.rendering.perfetto import trace_events
from failgym.envs.rendering.phases import phases
from failgym.envs.rendering.recorder import Recorder
from failgym.envs.rendering.timeline import ACCOUNTS, CLASSES
from failgym.sim.pinned.compile import compile_world, with_slices
from failgym.sim.pinned.simulator import PinnedSimulator
from failgym.sim.scheduled import ScheduledSimulator
from failgym.worlds.pinned.world import PinnedWorld
from failgym.worlds.scheduled.world import ScheduledWorld
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
        recorder = Recorder(PinnedWorld(with_slices(world, tasks, len(tasks))), rules, order)
        recorder.begin(0)
        follow(recorder, simulator, rng)


def test_scheduled_accounts() -> None:
    """In random small clusters, workflows among them, under random legal actions."""
    for seed in range(80):
        rng = np.random.default_rng(seed)
        cluster = random_cluster(seed)
        simulator = cluster.simulator(ScheduledSimulator)
        cluster.start(simulator)
        recorder = Recorder(ScheduledWorld(simulator.batch.world), cluster.rules, "time")
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
    document = trace_events(timeline, "run", recorder.scene.machines)
    check_format(document)
    events = machine_time_of(document)
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


FIELDS: dict[str, dict[str, type]] = {
    "M": {"name": str, "pid": int, "tid": int, "args": dict},
    "X": {"name": str, "cat": str, "ts": int, "dur": int, "pid": int, "tid": int, "args": dict},
    "i": {"name": str, "cat": str, "ts": int, "pid": int, "tid": int, "s": str, "args": dict},
    "C": {"name": str, "ts": int, "pid": int, "tid": int, "args": dict},
}
"""Of each phase of an event, as "Trace Event Format" (Google, 2016) asks for them."""
METADATA = {"process_name": ("name", str), "thread_name": ("name", str)} | {
    "process_sort_index": ("sort_index", int)
}


def check_format(document: dict[str, Any]) -> None:
    """Is a document in the trace-event format, and every thread that is used named?"""
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert document["displayTimeUnit"] in ("ms", "ns")
    named, used = set[tuple[int, int]](), set[tuple[int, int]]()
    for event in document["traceEvents"]:
        fields = FIELDS[event["ph"]]
        assert {name: type(value) for name, value in event.items() if name != "ph"} == fields
        if event["ph"] == "M":
            field, kind = METADATA[event["name"]]
            assert [(name, type(value)) for name, value in event["args"].items()] == [(field, kind)]
            named.add((event["pid"], event["tid"]))
            continue
        assert event["ts"] >= 0
        if event["ph"] == "X":
            assert event["dur"] >= 0
            used.add((event["pid"], event["tid"] if event["cat"] != "outage" else 0))
        elif event["ph"] == "i":
            assert event["s"] in ("g", "p", "t")
        else:
            assert all(isinstance(value, float) for value in event["args"].values())
        assert (event["pid"], 0) in named
    assert used <= named


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
