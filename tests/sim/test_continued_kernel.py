"""The kernels where the record is continued: what is refused, copies, kept worlds, large times."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from failgym.sim.pinned.batch import Batch
from failgym.sim.pinned.compile import compile_world, with_slices
from failgym.sim.pinned.records import World
from failgym.sim.pinned.simulator import PinnedSimulator
from failgym.sim.reference import ReferenceSimulator
from failgym.sim.shared.continuation import Continuation
from failgym.sim.shared.draws import keyed
from failgym.sim.shared.jit import entry
from failgym.sim.shared.keys import Purpose, stream, uniform
from failgym.sim.shared.rules import Rules
from failgym.traces import Trace
from failgym.world_cache.file import blocks_of, read_world, write_world
from tests.sim.random_worlds import (
    continued_rules,
    random_context,
    random_continuation,
    random_policy,
    random_rules,
    random_trace,
)

ALL = {"clone": True, "checkpoint": True, "give_up": True, "retry": True}


def made(seed: int, **changes: Any) -> tuple[Trace, Rules, Any, Continuation]:
    """A random trace, rules that continue it, a context and laws."""
    rng = np.random.default_rng(seed)
    trace, rules = random_trace(rng), random_rules(rng)
    rules = replace(continued_rules(rng, rules), **ALL | changes)
    context = random_context(rng, trace, rules)
    return trace, rules, context, random_continuation(rng, trace)


def tables(seed: int, **changes: Any) -> tuple[World, Rules]:
    trace, rules, context, laws = made(seed, **changes)
    world = compile_world(trace, rules, context, seed=seed, continuation=laws)
    return with_slices(world, np.arange(trace.rows("tasks")), 2), rules


@entry
def _drawn(streams: Any, numbers: Any, purpose: int, out: Any) -> int:
    for i in range(len(streams)):
        out[i] = keyed(streams[i], numbers[i], purpose)
    return 0


@pytest.mark.parametrize("seed", [0, 7, -3, 2**63 + 5])
def test_kernels_draw_the_bits_of_the_keys(seed: int) -> None:
    rng = np.random.default_rng(0)
    tasks, numbers = rng.integers(0, 2**40, 500), rng.integers(0, 1000, 500)
    out = np.zeros(500)
    for purpose in Purpose:
        _drawn(stream(seed, tasks), numbers, int(purpose), out)
        assert out.tolist() == uniform(seed, tasks, numbers, purpose).tolist()


def test_laws_are_needed_and_of_as_many_tasks() -> None:
    trace, rules, context, laws = made(1)
    with pytest.raises(ValueError, match=r"^continuation: expected laws"):
        compile_world(trace, rules, context)
    tasks = trace.rows("tasks")
    fewer = replace(
        laws,
        cell=np.repeat(laws.cell, 2, axis=0),
        slow=np.repeat(laws.slow, 2),
        chance_cell=np.repeat(laws.chance_cell, 2),
        key=np.arange(2 * tasks),
    )
    with pytest.raises(ValueError, match=f"^continuation: expected {tasks} tasks, .* {2 * tasks}$"):
        compile_world(trace, rules, context, continuation=fewer)


def test_worlds_of_which_nothing_goes_on_hold_no_laws() -> None:
    trace, rules, context, laws = made(1)
    plain = replace(rules, beyond_record="ghost", restarts="limit")
    world = compile_world(trace, plain, context, continuation=laws)
    assert not len(world.beyond)
    assert not sum(len(array) for array in world.laws)


def test_more_drawn_time_than_fits_is_refused() -> None:
    """Attempts that may last a thousand years fit, but not ten thousand saved at each window."""
    trace, rules, context, laws = made(1, window=100, checkpoint_cost=99, spare_attempts=0)
    context = replace(context, forecast=replace(context.forecast, window=100))
    laws = replace(laws, slow=np.full(trace.rows("tasks"), 1e300))
    few, many = replace(rules, max_extra=4), replace(rules, max_extra=10_000)
    compile_world(trace, few, context, continuation=laws)
    with pytest.raises(ValueError, match=r"^task \d+: 3\.52e\+13 ms on .* too much"):
        compile_world(trace, many, context, continuation=laws)


@pytest.mark.parametrize("order", ["task", "time"])
def test_a_copy_goes_on_as_the_original(order: Any) -> None:
    for seed in range(12):
        world, rules = tables(seed)
        policy = random_policy(np.random.default_rng(seed))
        batch = Batch(world, rules, 1, order)
        batch.reset(np.zeros(1, dtype=np.int64))
        for step in range(200):
            if batch.state.episodes["done"][0]:
                break
            twin = copy.deepcopy(batch) if step % 5 == 0 else None
            action = np.array([policy(tuple(batch.output.mask[0] > 0))])
            batch.step(action)
            if twin is not None:
                twin.step(action)
                assert twin.state.runs.tolist() == batch.state.runs.tolist()
                assert twin.output.reward.tobytes() == batch.output.reward.tobytes()


def test_a_kept_world_is_the_one_that_was_kept(tmp_path: Path) -> None:
    world, _ = tables(2)
    about = type("About", (), {"name": "x", "trace": "x", "split": "all", "forecast": "none"})()
    write_world(tmp_path / "kept", "key", blocks_of(world), about)
    again = read_world(tmp_path / "kept", "key", World)
    assert again is not None
    assert again.beyond.tobytes() == world.beyond.tobytes()
    for mine, theirs in zip(again.laws, world.laws, strict=True):
        assert mine.tobytes() == theirs.tobytes()


def _later(trace: Trace, scale: int) -> Trace:
    """The same record, times a number."""
    columns = ("queued", "start", "end", "length")
    changed: dict[str, Any] = {}
    for name in ("jobs", "tasks", "attempts"):
        table = getattr(trace, name)
        changed[name] = {column: table.column(column).to_pylist() for column in table.column_names}
    for column in columns:
        told = changed["attempts"][column]
        changed["attempts"][column] = [x if x is None else x * scale for x in told]
    changed["jobs"]["submit"] = [x * scale for x in changed["jobs"]["submit"]]
    return Trace.of(trace.meta, **changed)


@pytest.mark.parametrize("seed", range(0, 60, 2))
def test_large_times_are_those_of_plain_python(seed: int) -> None:
    """Times of years, and odd ones: every rounding is the same."""
    scale = 3**16 + seed
    trace, rules, _, laws = made(seed, decide="geometric", factor=2.0)
    times = ("failure", "external", "work", "gap_after_failure", "gap_after_external")
    longer = {name: getattr(laws, name) for name in times}
    laws = replace(
        laws, **{name: replace(law, value=law.value * scale + 1) for name, law in longer.items()}
    )
    rules = replace(rules, window=rules.window * (scale - 1), checkpoint_cost=scale // 3)
    trace = _later(trace, scale)
    context = random_context(np.random.default_rng(seed), trace, rules)
    policy = random_policy(np.random.default_rng(seed))
    fast, slow = (
        kind(trace, rules, context, None, seed, laws)
        for kind in (PinnedSimulator, ReferenceSimulator)
    )
    for sim in (fast, slow):
        sim.start(range(trace.rows("tasks")))
    while slow.decision is not None:
        assert slow.decision == fast.decision
        action = policy(slow.mask)
        slow.step(action)
        fast.step(action)
    assert [tuple(entry) for entry in slow.log] == [tuple(entry) for entry in fast.log]
    assert slow.outcomes() == fast.outcomes()
