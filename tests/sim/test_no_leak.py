"""Nothing of the future leaks: editing the record after now changes no observation and no mask."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from failgym.predictors import Calibrated, Forecast, NoForecast
from failgym.sim.pinned.simulator import PinnedSimulator
from failgym.sim.pinned.system_table import system_table
from failgym.sim.shared.context import Context, expectations, interruption_rates, interruption_times
from failgym.sim.shared.fields import INDEX
from failgym.sim.shared.rules import Rules
from failgym.traces import Cause, Meta, Outcome, Trace, generate
from failgym.traces.schema import make_table
from failgym.vocabulary import MINUTE

RULES = Rules(
    clone=True,
    checkpoint=True,
    kill=True,
    give_up=True,
    retry=True,
    decide="geometric",
    checkpoint_cost=20_000,
    restore_cost=10_000,
    max_clones=2,
)
USAGE = ("cpu", "memory", "max_memory", "local_io")
FATES = [
    (Outcome.FINISH, None),
    (Outcome.FAIL, Cause.INTRINSIC),
    (Outcome.FAIL, Cause.MACHINE),
    (Outcome.EVICT, Cause.PREEMPTION),
    (Outcome.KILL, Cause.REQUEUE),
]


def _simulator(
    trace: Trace, rules: Rules, tables: tuple[Any, Any], forecast: Forecast
) -> PinnedSimulator:
    """A simulator with the expectations and the forecast of the original trace."""
    held = Forecast(trace.content_hash, *list(vars(forecast).values())[1:])
    expected, interruptions = tables
    load, times = system_table(trace), interruption_times(trace)
    context = Context(expected, load.values, held, interruptions, times, load.bins)
    return PinnedSimulator(trace, rules, context)


def _play(sim: PinnedSimulator, actions: list[int], rng: np.random.Generator | None) -> list[Any]:
    """Play given actions, or draw as many as there is room for; what was seen at each decision."""
    seen: list[Any] = []
    for k in range(len(actions) if rng is None else actions[0]):
        if sim.decision is None:
            break
        seen.append((sim.decision, sim.mask, sim.observation().tobytes()))
        if rng is None:
            sim.step(actions[k])
            continue
        legal = [a for a in range(5) if sim.mask[a] and (a != 3 or rng.random() < 0.1)]
        action = int(rng.choice(legal))
        seen[-1] = (*seen[-1], action)
        sim.step(action)
    if sim.decision is not None:
        seen.append((sim.decision, sim.mask, sim.observation().tobytes()))
    return seen


def _edit(trace: Trace, sim: PinnedSimulator, rng: np.random.Generator) -> Trace:
    """Another future: every attempt still to end, here and in the record, may fare otherwise."""
    assert sim.decision is not None
    now = sim.decision.time
    columns = {
        name: trace.table("attempts")[name].to_pylist() for name in trace.attempts.column_names
    }
    state = sim.batch.state
    runs = state.runs[0][: state.episodes[0]["runs"]]
    started = {(int(state.tasks[0][r["local"]]["task"]), int(r["number"])): r for r in runs}
    for i, task in enumerate(columns["task"]):
        start, end, number = columns["start"][i], columns["end"][i], i - int(trace.task_first[task])
        run = started.get((task, number))
        if start is None or columns["outcome"][i] == Outcome.CENSORED or end <= now:
            continue
        if (run is not None and (not run["alive"] or run["f0"] > 0)) or (
            run is None and start <= now
        ):
            continue
        earliest = now + 1 - (start if run is None else min(start, int(run["start"])))
        duration = max(earliest, 0) + int(rng.integers(0, 30 * MINUTE))
        columns["end"][i] = start + duration
        outcome, cause = FATES[int(rng.integers(len(FATES)))]
        columns["outcome"][i], columns["cause"][i] = int(outcome), cause
    # What is measured after now may be anything too.
    windows = {name: trace.column("windows", name).copy() for name in USAGE}
    attempt, offset = trace.column("windows", "attempt"), trace.column("windows", "offset")
    over = trace.column("attempts", "start")[attempt] + offset + 5 * MINUTE
    for (task, number), run in started.items():
        row = int(trace.task_first[task]) + number
        if row < trace.task_first[task + 1]:
            of_run = attempt == row
            over[of_run] = now if run["f0"] > 0 else int(run["start"]) + offset[of_run] + 5 * MINUTE
    open_yet = over > now
    for values in windows.values():
        values[open_yet] = rng.random(int(open_yet.sum()))
    return Trace(
        trace.meta,
        jobs=trace.jobs,
        tasks=trace.tasks,
        attempts=make_table("attempts", columns),
        windows=make_table("windows", {"attempt": attempt, "offset": offset, **windows}),
    )


@pytest.mark.parametrize("forecasting", [True, False])
@pytest.mark.parametrize("seed", range(12))
def test_editing_the_future_changes_nothing_seen(forecasting: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    trace = generate("google-2011", jobs=25, seed=seed)
    forecast = (Calibrated.elsayed() if forecasting else NoForecast()).predict(trace)
    tables = expectations(trace, RULES.window), interruption_rates(trace)
    sim = _simulator(trace, RULES, tables, forecast)
    tasks = np.flatnonzero(trace.task_outcome != Outcome.CENSORED)
    sim.start(tasks.tolist(), order="time")
    seen = _play(sim, [int(rng.integers(20, 300))], rng)
    actions = [entry[3] for entry in seen if len(entry) == 4]
    if sim.decision is None:
        pytest.skip("the episode ended before the edit")
    edited = _edit(trace, sim, rng)
    assert edited.content_hash != trace.content_hash
    other = _simulator(edited, RULES, tables, forecast)
    other.start(tasks.tolist(), order="time")
    again = _play(other, actions, None)
    assert [entry[:3] for entry in again] == [entry[:3] for entry in seen]


def _never_started(trace: Trace, now: int, forecast: Forecast) -> tuple[Trace, Forecast]:
    """Another future: every task is queued once more after now, and evicted before it runs."""
    names = trace.attempts.column_names
    columns: dict[str, list[Any]] = {name: [] for name in names}
    old = {name: trace.table("attempts")[name].to_pylist() for name in names}
    offset = [0]
    for task in range(trace.rows("tasks")):
        rows = range(int(trace.task_first[task]), int(trace.task_first[task + 1]))
        for name in names:
            columns[name] += [old[name][i] for i in rows]
        offset += [int(forecast.offset[i + 1]) for i in rows]
        later = max(now, *(old["end"][i] for i in rows)) + 1
        extra = {"task": task, "queued": later, "end": later + 1, "outcome": int(Outcome.EVICT)}
        extra["cause"] = int(Cause.PREEMPTION)
        for name in names:
            columns[name].append(extra.get(name))
        offset.append(offset[-1])
    windows = {name: trace.column("windows", name) for name in ("attempt", "offset", *USAGE)}
    windows["attempt"] = windows["attempt"] + trace.column("attempts", "task")[windows["attempt"]]
    edited = Trace(
        trace.meta,
        jobs=trace.jobs,
        tasks=trace.tasks,
        attempts=make_table("attempts", columns),
        windows=make_table("windows", windows),
    )
    return edited, replace(forecast, offset=np.array(offset, dtype=np.int64))


@pytest.mark.parametrize("seed", range(6))
def test_attempts_that_never_start_do_not_show_beforehand(seed: int) -> None:
    rng = np.random.default_rng(seed)
    trace = generate("google-2011-failing", jobs=30, seed=seed)
    forecast = Calibrated.elsayed().predict(trace)
    tables = expectations(trace, RULES.window), interruption_rates(trace)
    sim = _simulator(trace, RULES, tables, forecast)
    tasks = np.flatnonzero(trace.task_outcome != Outcome.CENSORED)
    sim.start(tasks.tolist(), order="time")
    seen = _play(sim, [int(rng.integers(20, 80))], rng)
    assert sim.decision is not None
    edited, held = _never_started(trace, sim.decision.time, forecast)
    other = _simulator(edited, RULES, tables, held)
    other.start(tasks.tolist(), order="time")
    again = _play(other, [entry[3] for entry in seen if len(entry) == 4], None)
    masks_and_views = [[entry[1:3] for entry in played] for played in (seen, again)]
    assert masks_and_views[0] == masks_and_views[1]


def test_usage_is_known_when_its_window_is_over() -> None:
    attempts = {"task": 0, "queued": 0, "start": 0, "end": 4_000_000, "outcome": 0, "cause": None}
    trace = Trace.of(
        Meta("usage"),
        jobs={"original_id": ["a"], "submit": [0], "width": 1, "outcome": 0},
        tasks={"job": [0], "index": 0, "width": 1},
        attempts={name: [value] for name, value in attempts.items()},
        windows={
            "attempt": [0, 0, 0],
            "offset": [0, 300_000, 3_000_000],
            "memory": [0.1, 0.2, 0.9],
        },
    )
    tables = np.zeros((8, 24, 3)), np.zeros((8, 24))
    sim = _simulator(trace, Rules(kill=True), tables, NoForecast().predict(trace))
    sim.start([0])
    seen: dict[int, float] = {}
    while sim.decision is not None:
        seen[sim.decision.time] = float(sim.observation()[INDEX["memory"]])
        sim.step(0)
    for time, memory in seen.items():
        known = [m for end, m in ((300_000, 0.1), (600_000, 0.2), (3_300_000, 0.9)) if end <= time]
        assert memory == pytest.approx(known[-1] if known else 0.0)
