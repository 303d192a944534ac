"""What holds of every record that goes on, beyond the worked examples.

Nothing recorded changes, each attempt has one fate, work is conserved, and draws follow the laws.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from failgym.sim.reference import ReferenceSimulator
from failgym.sim.reference.fates import Draws
from failgym.sim.reference.scheduled import ReferenceScheduledSimulator
from failgym.sim.scheduled.rules import ScheduledRules
from failgym.sim.shared.context import Context
from failgym.sim.shared.continuation import COUNTS, Continuation, Law
from failgym.sim.shared.forecast import Forecast
from failgym.sim.shared.keys import Purpose, uniform
from failgym.sim.shared.rules import Rules
from failgym.traces import Cause, Meta, Outcome, Trace
from failgym.vocabulary import Action, Decision, Event, LogEntry, OpenDecision, SimOutcome
from tests.sim.golden import Example, play
from tests.sim.random_worlds import (
    random_attempts,
    random_context,
    random_continuation,
    random_law,
    random_rules,
    random_trace,
)

Attempt = tuple[int, int]
"""Task and number."""
End = tuple[int, SimOutcome]
"""Duration and outcome."""
Choice = Callable[[OpenDecision, tuple[bool, ...]], Action]

SEED = 3
RANDOM_SEED = st.integers(0, 2**32 - 1)
CUT = (SimOutcome.CANCELLED, SimOutcome.KILL)
"""Ends of drawn attempts that are not their own."""


# --- worlds and policies --------------------------------------------------------------------------


def trace_of(*tasks: Sequence[dict[str, Any]]) -> Trace:
    """One job; for each task its attempts."""
    rows = [row | {"task": task} for task, attempts in enumerate(tasks) for row in attempts]
    return Trace.of(
        Meta("by hand"),
        jobs={"original_id": ["a"], "submit": [0], "width": [len(tasks)], "outcome": [0]},
        tasks={
            "job": [0] * len(tasks),
            "index": list(range(len(tasks))),
            "width": [1] * len(tasks),
        },
        attempts={name: [row[name] for row in rows] for name in rows[0]},
    )


def failure(start: int, end: int) -> dict[str, Any]:
    return {"start": start, "end": end, "outcome": Outcome.FAIL, "cause": Cause.INTRINSIC}


def silent(trace: Trace, rules: Rules) -> Context:
    jobs, tasks, attempts = (trace.rows(name) for name in ("jobs", "tasks", "attempts"))
    none = Forecast.none(trace.content_hash, jobs, tasks, attempts, rules.window)
    return Context(np.zeros((8, 24, 3)), np.zeros((1, 8), dtype=np.float32), none)


def continued(rng: np.random.Generator, **changed: Any) -> Rules:
    """Rules of all kinds, under which records go on."""
    rules = replace(random_rules(rng), beyond_record="continued")
    drawn = {"restarts": rng.choice(["limit", "record"]).item()}
    return replace(rules, **drawn, spare_attempts=int(rng.choice([0, 1, 8])), **changed)


def simulator(trace: Trace, rules: Rules, laws: Continuation | None) -> ReferenceSimulator:
    return ReferenceSimulator(trace, rules, silent(trace, rules), None, SEED, laws)


def played(
    sim: ReferenceSimulator,
    tasks: Sequence[int],
    choose: Choice,
    order: Literal["task", "time"] = "task",
) -> ReferenceSimulator:
    sim.start(tasks, order)
    while sim.decision is not None:
        sim.step(choose(sim.decision, sim.mask))
    return sim


def wait(asked: OpenDecision, mask: tuple[bool, ...]) -> Action:
    del asked, mask
    return Action.CONTINUE


def by_attempt_and_time(salt: int) -> Choice:
    """Some legal action, the same wherever the same attempt is asked about at the same time."""

    def choose(asked: OpenDecision, mask: tuple[bool, ...]) -> Action:
        rng = np.random.default_rng([salt, asked.time, asked.attempt, int(asked.kind), *mask])
        return Action(int(rng.choice(np.flatnonzero(mask))))

    return choose


def each_once(actions: Sequence[tuple[int, int, Action]]) -> Choice:
    """Each of these actions, at its time about its attempt, once; else CONTINUE."""
    left = Counter(actions)

    def choose(asked: OpenDecision, mask: tuple[bool, ...]) -> Action:
        kind = Action.CLONE if asked.kind == Decision.WINDOW else Action.RETRY
        left[asked.time, asked.attempt, kind] -= 1
        wanted = left[asked.time, asked.attempt, kind] >= 0
        return kind if wanted and mask[kind] else Action.CONTINUE

    return choose


def logs(sim: ReferenceSimulator) -> dict[int, list[LogEntry]]:
    """What happened, task by task."""
    entries: dict[int, list[LogEntry]] = defaultdict(list)
    for entry in sim.log:
        entries[entry.task].append(entry)
    return entries


def ends(sim: ReferenceSimulator) -> dict[Attempt, End]:
    """The drawn attempts that came to ends of their own."""
    started: dict[Attempt, int] = {}
    found: dict[Attempt, End] = {}
    for entry in sim.log:
        attempt = (entry.task, entry.number)
        if entry.kind == Event.START and entry.detail:
            started[attempt] = entry.time
        elif entry.kind == Event.END and attempt in started and entry.detail not in CUT:
            found[attempt] = (entry.time - started[attempt], SimOutcome(entry.detail))
    return found


# --- the record first -----------------------------------------------------------------------------


@settings(max_examples=15, deadline=None)
@given(RANDOM_SEED)
def test_what_is_left_alone_happens_as_without_continuation(seed: int) -> None:
    """Whatever lies behind the record, and whatever is done to other tasks."""
    rng = np.random.default_rng(seed)
    trace = random_trace(rng)
    laws, rules = random_continuation(rng, trace), continued(rng)
    context = random_context(rng, trace, rules)
    touched = [task for task in range(trace.rows("tasks")) if rng.random() < 0.5]
    act = by_attempt_and_time(seed)

    def choose(asked: OpenDecision, mask: tuple[bool, ...]) -> Action:
        return act(asked, mask) if asked.task in touched else Action.CONTINUE

    tasks = range(trace.rows("tasks"))
    sim = played(ReferenceSimulator(trace, rules, context, None, SEED, laws), tasks, choose, "time")
    ghosts = replace(rules, beyond_record="ghost", restarts="limit")
    recorded = played(ReferenceSimulator(trace, ghosts, context, None, SEED), tasks, wait, "time")
    alone, before = logs(sim), logs(recorded)
    for task in set(tasks) - set(touched):
        assert alone[task] == before[task]


@settings(max_examples=15, deadline=None)
@example(1357)  # a row that never started ends with the last that did
@given(RANDOM_SEED)
def test_a_departure_that_changes_nothing_makes_no_task_run_again(seed: int) -> None:
    """A free checkpoint in its last attempt: where none overlap, a task ends as recorded."""
    rng = np.random.default_rng(seed)
    trace = random_trace(rng)
    free: dict[str, Any] = {"checkpoint": True, "checkpoint_cost": 0, "window": 10}
    every: dict[str, Any] = {"decide": "every", "every": 1, "restarts": "record"}
    rules = replace(continued(rng), **free, **every)
    last = [max(numbers, default=-1) for numbers in started_numbers(trace)]

    def save_the_last(asked: OpenDecision, mask: tuple[bool, ...]) -> Action:
        is_last = asked.attempt == last[asked.task]
        return Action.CHECKPOINT if is_last and mask[Action.CHECKPOINT] else Action.CONTINUE

    tasks = [task for task in range(trace.rows("tasks")) if runs_one_by_one(trace, task)]
    sim = played(simulator(trace, rules, random_continuation(rng, trace)), tasks, save_the_last)
    for outcome in sim.outcomes():
        assert (outcome.end, outcome.outcome) == (outcome.recorded_end, outcome.recorded_outcome)
        assert outcome.ghost == 0


def started_numbers(trace: Trace) -> list[list[int]]:
    start, first = trace.column("attempts", "start"), trace.task_first
    return [
        [row - first[task] for row in range(first[task], first[task + 1]) if start[row] >= 0]
        for task in range(trace.rows("tasks"))
    ]


def runs_one_by_one(trace: Trace, task: int) -> bool:
    """Does each of its attempts start when the one before has ended, and the last end last?

    After all that never started, too: of a tie the record's outcome is that of the later row.
    """
    rows = slice(trace.task_first[task], trace.task_first[task + 1])
    start, end = trace.column("attempts", "start")[rows], trace.column("attempts", "end")[rows]
    ran = start >= 0
    in_turn = (start[ran][1:] >= end[ran][:-1]).all()
    return bool(in_turn and ran.any() and (end[~ran] < end[ran][-1]).all())


# --- one fate -------------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(
    seed=RANDOM_SEED,
    late=st.integers(1, 9),
    extra=st.integers(2, 6),
    spare=st.integers(1, 8),
    gap=st.integers(0, 50),
)
def test_an_attempt_fares_alike_however_it_is_started(
    seed: int, late: int, extra: int, spare: int, gap: int
) -> None:
    """Attempt 2 of a task of two failures is cloned early, cloned late, retried, or restarted."""
    trace = trace_of([failure(0, 100), failure(100 + gap, 200 + gap)])
    laws = random_continuation(np.random.default_rng(seed), trace)
    rules = Rules(
        clone=True,
        retry=True,
        max_clones=2,
        max_extra=extra,
        spare_attempts=spare,
        window=10,
        beyond_record="continued",
        restarts="record",
    )
    # the clone at 0 is the recorded attempt 1
    clone, retry = (0, 0, Action.CLONE), (100, 1, Action.RETRY)
    ways = {
        "early": (clone, clone),
        "late": (clone, (10 * late, 0, Action.CLONE)),
        "retry": (clone, retry),
        "restart": (clone,),
    }
    found: dict[str, End] = {}
    for way, actions in ways.items():
        sim = played(simulator(trace, rules, laws), [0], each_once(actions))
        started = next(e for e in sim.log if e.kind == Event.START and e.number == 2)
        due = {"early": 0, "late": 10 * late, "retry": 100}
        assert started.time == due.get(way, max(started.time, 100))
        found[way] = ends(sim)[0, 2]
    assert len(set(found.values())) == 1, found


def test_fates_depend_neither_on_policies_nor_on_caps() -> None:
    """Attempts that end by themselves, met by several policies under several caps."""
    met_again = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        trace = random_trace(rng)
        laws = random_continuation(rng, trace)
        fates: dict[Attempt, End] = {}
        for salt in range(4):
            act = by_attempt_and_time(salt)
            caps = {"max_extra": int(rng.integers(1, 5)), "max_clones": int(rng.integers(0, 4))}
            may = {"checkpoint": False, "kill": False, "give_up": False, "retry": True}
            rules = replace(continued(rng), clone=True, decide="every", **may, **caps)
            tasks = rng.permutation(trace.rows("tasks"))[: int(rng.integers(1, 7))].tolist()
            for attempt, end in ends(played(simulator(trace, rules, laws), tasks, act)).items():
                met_again += attempt in fates
                assert fates.setdefault(attempt, end) == end
    assert met_again > 50


@settings(max_examples=15, deadline=None)
@given(RANDOM_SEED)
def test_a_task_fares_alike_in_traces_of_any_size(seed: int) -> None:
    """Its draws are keyed to its row in the whole trace, whatever part of it is played."""
    rng = np.random.default_rng(seed)
    tasks = [random_attempts(rng, task, 0, 10, lengths=True) for task in range(4)]
    trace = trace_of(*tasks)
    laws, rules = random_continuation(rng, trace), continued(rng)
    act = by_attempt_and_time(seed)
    together = logs(played(simulator(trace, rules, laws), range(4), act))
    for task in range(4):
        own = replace(
            laws,
            cell=laws.cell[[task]],
            slow=laws.slow[[task]],
            chance_cell=laws.chance_cell[[task]],
            key=laws.key[[task]],
        )
        alone = played(simulator(trace_of(tasks[task]), rules, own), [0], act)
        assert [e._replace(task=task) for e in alone.log] == together[task]


# --- work is conserved ----------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(
    seed=RANDOM_SEED,
    duration=st.integers(1, 100),
    more=st.integers(1, 100),
    pause=st.integers(0, 5),
    restore=st.integers(0, 5),
)
def test_what_finishes_did_its_work_once(
    seed: int, duration: int, more: int, pause: int, restore: int
) -> None:
    """At pace 1 the chain of checkpoints behind a success holds W ms, whoever did them.

    Whose attempts all fail where they come to the next window never finishes.
    """
    rng = np.random.default_rng(seed)
    work, times = duration + more, np.arange(20.0, 300.0)
    laws = Continuation(
        cell=np.zeros((1, COUNTS), dtype=np.int64),
        failure=random_law(rng, 1, times),
        external=random_law(rng, 1, times),
        work=Law(np.array([0, 1]), np.array([float(work)]), np.ones(1)),
        chance=Law.never(0),
        gap_after_failure=random_law(rng, 1, times),
        gap_after_external=random_law(rng, 1, times),
        gives_up=np.zeros(1),
        ends_external=np.zeros(1),
        slow=np.ones(1),
        chance_cell=np.array([-1]),
        key=np.array([0]),
    )
    rules = Rules(
        checkpoint=True,
        retry=True,
        max_extra=40,
        window=10,
        checkpoint_cost=pause,
        restore_cost=restore,
        beyond_record="continued",
        restarts="record",
    )

    def save_and_retry(asked: OpenDecision, mask: tuple[bool, ...]) -> Action:
        wanted = Action.CHECKPOINT if asked.kind == Decision.WINDOW else Action.RETRY
        return wanted if mask[wanted] else Action.CONTINUE

    sim = played(simulator(trace_of([failure(0, duration)]), rules, laws), [0], save_and_retry)
    (outcome,) = sim.outcomes()
    assume(outcome.outcome == SimOutcome.FINISH)
    assert outcome.useful == work


# --- draws follow the laws ------------------------------------------------------------------------


def test_a_draw_takes_the_first_value_whose_share_is_above_the_number() -> None:
    u = float(uniform(SEED, 7, 2, Purpose.NEXT_FAILURE)[()])
    for share, expected in ((u, 20), (np.nextafter(u, 1.0), 10)):
        law = Law(np.array([0, 2]), np.array([10.0, 20.0]), np.array([share, 1.0]))
        assert draws(law).time(law, 0, 2, Purpose.NEXT_FAILURE) == expected
    never = Law(np.array([0, 1]), np.array([10.0]), np.array([u]))
    assert draws(never).time(never, 0, 2, Purpose.NEXT_FAILURE) is None


def test_draws_are_as_frequent_as_the_law_says() -> None:
    law = Law(np.array([0, 3]), np.array([10.0, 20.0, 30.0]), np.array([0.2, 0.7, 0.9]))
    numbers, drawn = range(4000), draws(law)
    times = [drawn.time(law, 0, n, Purpose.NEXT_EXTERNAL) for n in numbers]
    for time, share in ((10, 0.2), (20, 0.5), (30, 0.2), (None, 0.1)):
        four_sigma = 4.0 * np.sqrt(share * (1.0 - share) / len(numbers))
        assert abs(times.count(time) / len(numbers) - share) < four_sigma


def draws(law: Law) -> Draws:
    """Of a task whose key is 7; each of its times is drawn from this law."""
    work = Law(np.array([0, 1]), np.ones(1), np.ones(1))
    laws = Continuation(
        cell=np.zeros((1, COUNTS), dtype=np.int64),
        failure=law,
        external=law,
        work=work,
        chance=Law.never(0),
        gap_after_failure=law,
        gap_after_external=law,
        gives_up=np.zeros(1),
        ends_external=np.zeros(1),
        slow=np.ones(1),
        chance_cell=np.array([-1]),
        key=np.array([7]),
    )
    return Draws(laws, 0, SEED)


# --- bad input ------------------------------------------------------------------------------------


def test_records_go_on_only_by_laws_of_the_same_tasks() -> None:
    rules = Rules(beyond_record="continued")
    trace, other = trace_of([failure(0, 9)]), trace_of([failure(0, 9)], [failure(0, 9)])
    with pytest.raises(ValueError, match=r"^continuation: expected one with .*, got none$"):
        simulator(trace, rules, None)
    laws = random_continuation(np.random.default_rng(0), other)
    with pytest.raises(ValueError, match=r"^continuation: expected as many tasks .*, 1, got 2$"):
        simulator(trace, rules, laws)


def test_the_scheduled_world_needs_laws_too() -> None:
    trace, rules = trace_of([failure(0, 9)]), ScheduledRules(beyond_record="continued")
    with pytest.raises(ValueError, match=r"^continuation: expected one with .*, got none$"):
        ReferenceScheduledSimulator(trace, rules, silent(trace, rules))


# --- corners of worlds ----------------------------------------------------------------------------


def corner(*rows: str, laws: str, actions: str, **rules: Any) -> list[str]:
    """Events of a task under these rules, written as in the worked examples."""
    example = Example("made", "by hand", "\n".join(rows), "", {}, rules, 1, continued=laws)
    return play(replace(example, actions=actions), example.simulator(ReferenceSimulator)).log


def test_up_to_the_limit_the_cluster_restarts_what_it_started() -> None:
    """C8: with a limit of 1 it restarts after its first failure, not after its second."""
    log = corner(
        "t0: 0 0 100 FAIL INTRINSIC",
        "t0: 0 150 200 FAIL INTRINSIC",
        laws="t0 0: gap=5",
        actions="0 WINDOW t0/0 CLONE",
        clone=True,
        restarts="limit",
        restart_limit=1,
        max_extra=1,
        window=1000,
    )
    # the clone, attempt 1, fails first and is not counted; what is owed for it finds 0 alive
    assert "50 END t0/1 FAIL" in log
    assert "150 START t0/2 ghost" in log
    failed_twice = corner(
        "t0: 0 0 100 FAIL INTRINSIC",
        "t0: 0 150 200 FAIL INTRINSIC",
        laws="t0 0: fail=10 gap=5",
        actions="0 WINDOW t0/0 CLONE",
        clone=True,
        restarts="limit",
        restart_limit=1,
        max_extra=1,
        window=1000,
    )
    assert failed_twice[-2:] == ["160 END t0/2 FAIL", "160 SETTLED t0 FAIL"]


def test_what_the_user_ended_finishes_only_before_the_kill() -> None:
    """C6: cloned at 0, the row that the user killed at 100 would be done at 100, or at 99."""
    for length, end in ((100, "KILL"), (99, "FINISH")):
        log = corner(
            "t0: 0 0 60 EVICT PREEMPTION L=300",
            f"t0: 0 60 100 KILL USER L={length}",
            "t0: 0 65 95 FINISH",
            laws="t0 0: work=30",
            actions="0 WINDOW t0/0 CLONE",
            clone=True,
            max_extra=1,
            window=1000,
        )
        assert f"{length} END t0/1 {end}" in log
