"""Bad input to the scheduled world: the same clear line from kernel, reference, gym and command."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from failgym.cli import run
from failgym.sim.reference.scheduled import ReferenceScheduledSimulator
from failgym.sim.scheduled import ScheduledSimulator
from failgym.sim.scheduled.rules import LONGEST, NodePredictions, ScheduledRules
from failgym.sim.shared.context import Context
from failgym.sim.shared.forecast import Forecast
from failgym.traces import Meta, Trace, TraceError
from failgym.vocabulary import MINUTE
from tests.sim.scheduled.test_reference_scheduled import chain, machines, tasks_of

Tables = dict[str, dict[str, Any]]
KINDS = pytest.mark.parametrize("kind", [ScheduledSimulator, ReferenceScheduledSimulator])
ONE: Tables = {**tasks_of(10), "machines": machines(1)}
TWO: Tables = {**tasks_of(10, 10, output_bytes=[100, 100]), "machines": machines(1, 1)}
STAGED: Tables = {**tasks_of(10, 10, stage=[0, 1]), "machines": machines(1), **chain(100)}


def edge(parent: int, child: int) -> Tables:
    return {"stage_edges": {"parent": [parent], "child": [child], "bytes": [1], "wide": [True]}}


def speed(value: float) -> Tables:
    return {"machines": {**machines(1), "speed": [value]}}


def costs(*rows: tuple[int, int, int]) -> Tables:
    columns = zip(*rows, strict=True)
    return {"costs": dict(zip(("task", "machine", "time"), map(list, columns), strict=True))}


def outages(*spans: tuple[int, int]) -> Tables:
    down, up = map(list, zip(*spans, strict=True))
    return {"outages": {"machine": [0] * len(down), "down": down, "up": up}}


def simulator(kind: Any, tables: Tables, nodes: NodePredictions | None = None, **rules: Any) -> Any:
    trace = Trace.of(Meta("bad"), **tables)
    jobs, tasks, attempts = (trace.rows(name) for name in ("jobs", "tasks", "attempts"))
    window = int(rules.get("window", 5 * MINUTE))
    forecast = Forecast.none(trace.content_hash, jobs, tasks, attempts, window)
    context = Context(np.zeros((8, 24, 3)), np.zeros((1, 8), dtype=np.float32), forecast)
    return kind(trace, ScheduledRules(**rules), context, nodes=nodes)


CLUSTERS: dict[str, tuple[Tables, dict[str, Any], str]] = {
    "no machines": (tasks_of(10), {}, "scheduled world: expected machines"),
    "no slots": (
        {**ONE, "machines": machines(1, 0)},
        {},
        "machine 1: expected at least 1 slot, got 0",
    ),
    "too slow": (
        {**ONE, **speed(1e-300)},
        {},
        "machine 0: expected a speed of 0.001 to 1e+06, got 1e-300",
    ),
    "too fast": (
        {**ONE, **speed(float("inf"))},
        {},
        "machine 0: expected a speed of 0.001 to 1e+06, got inf",
    ),
    "too wide": (
        {**tasks_of(10, 10, width=[1, 4]), "machines": machines(2, 1)},
        {},
        "task 1: width 4 exceeds the cluster's 3 slots",
    ),
    "too wide for one machine": (
        {**tasks_of(10, width=[3]), "machines": machines(2, 1)},
        {"scheduler": "rank_hybd"},
        "task 0: width 3 exceeds the largest machine's 2 slots",
    ),
    "outages overlap": (
        {**ONE, **outages((5, 8), (7, 9))},
        {},
        "machine 0: outages overlap at 7 ms",
    ),
    "cycle": ({**STAGED, **edge(0, 0)}, {}, "stages of job 0 form a cycle"),
    "no time on a machine": (
        {**TWO, **costs((0, 0, 1), (0, 1, 1), (1, 0, 1))},
        {},
        "costs: expected a time of task 1 on machine 1",
    ),
    "two times on a machine": (
        {**ONE, **costs((0, 0, 1), (0, 0, 2))},
        {},
        "costs: expected one time of task 0 on machine 0",
    ),
    "output": (
        TWO,
        {"storage_bandwidth": 1e-300},
        f"storage_bandwidth: output of task 0: expected at most {LONGEST} ms, got 1e+302 ms",
    ),
    "transfer": (
        STAGED,
        {"transfer_bandwidth": 1e-300},
        f"transfer_bandwidth: transfer of a stage edge: expected at most {LONGEST} ms,"
        " got 1e+302 ms",
    ),
}


@KINDS
@pytest.mark.parametrize("name", CLUSTERS)
def test_clusters_that_cannot_be(kind: Any, name: str) -> None:
    tables, rules, message = CLUSTERS[name]
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        simulator(kind, tables, **rules)


@KINDS
def test_an_edge_to_an_unknown_stage(kind: Any) -> None:
    with pytest.raises(TraceError, match=r"^table stage_edges, row 0: column 'child' is 7, "):
        simulator(kind, {**STAGED, **edge(0, 7)})


EPISODES: list[tuple[Sequence[int], Sequence[tuple[int, int]], str]] = [
    ([-1], (), "task -1: expected a task of the trace (0 to 1)"),
    ([0, 2], (), "task 2: expected a task of the trace (0 to 1)"),
    ([0], [(2, 5)], "task 2: expected a task of the trace (0 to 1)"),
    ([0, 0], (), "tasks of an episode: expected each once"),
    ([0], [(0, 5)], "tasks of an episode: expected each once"),
    ([0], [(1, -1)], "task 1: expected at least 0 ms to run, got -1"),
]


@KINDS
@pytest.mark.parametrize(("tasks", "standing", "message"), EPISODES)
def test_episodes_that_cannot_be(
    kind: Any, tasks: Sequence[int], standing: Sequence[tuple[int, int]], message: str
) -> None:
    sim = simulator(kind, TWO)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        sim.start(tasks, None, standing)


@KINDS
@pytest.mark.parametrize(
    ("offset", "time", "message"),
    [
        ([0, 1], [5], "nodes: expected predictions of 2 machines"),
        ([0, 1, 3], [5], "nodes: expected predictions of 2 machines"),
        ([0, 1, 0], [], "nodes: expected predictions of 2 machines"),
        ([0, 1, 3], [9, 5, 4], "nodes: expected the predictions of a machine in order of time"),
    ],
)
def test_predictions_of_another_cluster(
    kind: Any, offset: list[int], time: list[int], message: str
) -> None:
    nodes = NodePredictions(np.array(offset), np.array(time, dtype=np.int64))
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        simulator(kind, TWO, nodes, scheduler="rank_hybd", place=True)


@KINDS
def test_predictions_of_any_whole_numbers(kind: Any) -> None:
    parts: list[Any] = [np.array([0, 1, 2], dtype=np.int32), np.array([9, 5], dtype=np.int32)]
    nodes = NodePredictions(*parts)
    simulator(kind, TWO, nodes, scheduler="rank_hybd", place=True).start([0])


VALUES = [
    ("Workflow-v1", "scheduler", "sjf", "scheduler: expected one of fifo, priority, "),
    ("Workflow-v1", "node_accuracy", 1.5, "node_accuracy: expected in [0, 1], got 1.5"),
    ("Lineage-v1", "failed_share", -0.1, "failed_share: expected in [0, 1], got -0.1"),
    ("Lineage-v1", "storage_bandwidth", -1.0, "storage_bandwidth: expected at least 0 "),
    ("Lineage-v1", "storage_streams", 1001, "storage_streams: expected 0 to 1000, got 1001"),
    ("Mitigation-v1", "outage_shape", 0.0, "outage_shape: expected outage_shape=0.8 unless "),
    ("Mitigation-v1", "place", True, 'place: expected scheduler="rank_hybd" with it'),
    ("Mitigation-v1", "rank_by", "arrival", 'rank_by: expected scheduler="rank_hybd" with it'),
    ("Workflow-v1", "rank_by", "size", "rank_by: expected one of path, arrival"),
]


@pytest.mark.parametrize(("name", "field", "value", "message"), VALUES)
def test_values_out_of_range(
    name: str, field: str, value: Any, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    settings: dict[str, Any] = {field: value}
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        gym.make(f"failgym/{name}", **settings)
    arguments = ["--env", f"failgym/{name}", "--policy", "replay", "--set", f"{field}={value}"]
    assert run(["evaluate", *arguments, "--episodes", "1"]) == 2
    shown = capsys.readouterr().err
    assert shown.startswith(f"failgym: {message}")
    assert shown.count("\n") == 1


def test_an_unknown_estimator_is_named() -> None:
    backfilling: dict[str, Any] = {"scheduler": "easy_backfill", "preemption": False}
    with pytest.raises(ValueError, match=r"^estimator: expected one of user, last, "):
        gym.make("failgym/Mitigation-v1", estimator="guess", **backfilling)


STORED = ("no slots", "too slow", "too wide", "outages overlap", "cycle")


@pytest.mark.parametrize("name", STORED)
def test_stored_clusters_that_cannot_be(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tables, _, message = CLUSTERS[name]
    Trace.of(Meta("bad"), **tables).save(tmp_path / "bad")
    own: dict[str, Any] = {"trace": tmp_path / "bad", "split": "all", "load": 0.0, "slots": 1}
    own |= {"begin": 0, "outages": "trace", "forecast": "none", "sampling": 0.0, "longest": 0}
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        gym.make("failgym/Mitigation-v1", **own)
    given = [part for name, value in own.items() for part in ("--set", f"{name}={value}")]
    arguments = ["--env", "failgym/Mitigation-v1", "--policy", "replay", *given]
    assert run(["evaluate", *arguments, "--episodes", "1"]) == 2
    assert capsys.readouterr().err == f"failgym: {message}\n"
