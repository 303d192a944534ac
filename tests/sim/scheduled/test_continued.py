"""Records that go on in the scheduled world: rules K1 to K6, without another simulator.

On one endless machine the world is the pinned one: `test_pinned_limit`.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from failgym.sim.scheduled import ScheduledSimulator, bounds
from failgym.sim.scheduled.attempts import RECOMPUTATION
from failgym.sim.scheduled.batch import ScheduledBatch
from failgym.sim.scheduled.compile import EpisodeTasks, compile_scheduled, with_members
from failgym.sim.scheduled.least import least_times
from failgym.sim.scheduled.records import World
from failgym.sim.scheduled.rules import ScheduledRules
from failgym.sim.shared.compile import attempts_of, rows_of, tasks_of, user_kill
from failgym.sim.shared.continuation import COUNTS, Continuation, Law
from failgym.sim.shared.continued import continue_record, machine_time_of_work
from failgym.sim.shared.keys import Purpose, uniform
from failgym.sim.shared.usage import usage_of
from failgym.traces import Cause, Meta, Outcome, Trace
from failgym.vocabulary import NEVER, Action, Event
from tests.sim.random_worlds import random_context, random_policy
from tests.sim.scheduled.random_clusters import Cluster, continued_cluster

RULES = ScheduledRules(
    clone=True,
    checkpoint=True,
    retry=True,
    give_up=True,
    window=10,
    beyond_record="continued",
    restarts="record",
    spare_attempts=4,
    checkpoint_cost=2,
    restore_cost=3,
)


# --- Worlds of one task ---------------------------------------------------------------------------


def certain(*times: float) -> Law:
    """One cell from which one of some times is drawn, each as likely; none: never."""
    share = np.arange(1, len(times) + 1) / max(len(times), 1)
    return Law(np.array([0, len(times)]), np.array(times, dtype=np.float64), share)


def certain_chance(factor: float) -> Law:
    return Law(np.array([0, 1]), np.array([factor]), np.ones(1))


def laws(tasks: int, **changes: Any) -> Continuation:
    """Nothing fails, work is 100 ms, gaps are 1 ms."""
    given: dict[str, Any] = {
        "cell": np.zeros((tasks, COUNTS), dtype=np.int64),
        **dict.fromkeys(("failure", "external", "gap_after_failure"), Law.never(1)),
        **{"work": certain(100.0), "chance": Law.never(1), "gap_after_external": Law.never(1)},
        **{"gives_up": np.zeros(1), "ends_external": np.zeros(1)},
        "slow": np.ones(tasks),
        "chance_cell": np.full(tasks, -1),
        "key": np.arange(tasks),
    }
    return Continuation(**given | changes)


Row = tuple[int | None, int | None, Outcome, Cause | None, int | None]
"""Start, end, outcome, cause, length."""
EVICTED = (Outcome.EVICT, Cause.PREEMPTION)
FAILED = (Outcome.FAIL, Cause.INTRINSIC)


def trace_of(
    *tasks: Sequence[Row], speed: float = 1.0, costs: Sequence[int] = (), down: Any = ()
) -> Trace:
    """Tasks of one slot each, submitted at 0, on one machine with room for all."""
    n = len(tasks)
    rows = [(task, *row) for task, its in enumerate(tasks) for row in its]
    columns = list(zip(*rows, strict=True))
    names = ("task", "start", "end", "outcome", "cause", "length")
    return Trace.of(
        Meta("little"),
        jobs={
            "original_id": [f"job {i}" for i in range(n)],
            "submit": [0] * n,
            "width": [1] * n,
            "outcome": [0] * n,
        },
        tasks={"job": np.arange(n), "index": [0] * n, "width": [1] * n},
        attempts={"queued": [0] * len(rows), **dict(zip(names, columns, strict=True))},
        machines={"original_id": ["only"], "slots": [100], "speed": [speed]},
        outages={
            "machine": [0] * len(down),
            "down": [at for at, _ in down],
            "up": [up for _, up in down],
        },
        costs={"task": np.arange(n), "machine": [0] * n, "time": costs} if costs else {},
    )


def compiled(trace: Trace, rules: ScheduledRules = RULES, seed: int = 0, **changes: Any) -> World:
    context = random_context(np.random.default_rng(0), trace, rules)
    continuation = laws(trace.rows("tasks"), **changes)
    return compile_scheduled(trace, rules, context, None, seed, continuation=continuation)


def played(
    trace: Trace, answers: Any, rules: ScheduledRules = RULES, **changes: Any
) -> list[tuple[int, int, Outcome]]:
    """All ends of attempts of task 0: when, number, outcome.

    Args:
        answers: (kind of decision, number, time) -> action, given once; else CONTINUE.
    """
    context = random_context(np.random.default_rng(0), trace, rules)
    given = laws(trace.rows("tasks"), **changes)
    sim = ScheduledSimulator(trace, rules, context, None, 0, continuation=given)
    sim.start(range(trace.rows("tasks")))
    left = dict(answers)
    while (decision := sim.decision) is not None:
        asked = (decision.kind.name, decision.attempt, decision.time)
        wanted = left.pop(asked, Action.CONTINUE)
        assert sim.mask[wanted]
        sim.step(wanted)
        assert sum(sim.accounts()) == sim.busy()
    assert not left, left
    ends = [entry for entry in sim.log if entry.kind == Event.END and entry.task == 0]
    return [(entry.time, entry.number, Outcome(entry.detail)) for entry in ends]


def test_a_latent_row_takes_what_is_left_of_the_work() -> None:
    """It was evicted after 30 ms of 100 (C2, C3), here it runs on; F of the machine is F / v."""
    task = [(0, 30, *EVICTED, None)]
    assert played(trace_of(task), {}) == [(100, 0, Outcome.FINISH)]
    assert played(trace_of(task, speed=2.0), {}) == [(50, 0, Outcome.FINISH)]
    assert played(trace_of(task, costs=[240]), {}) == [(240, 0, Outcome.FINISH)]


def test_a_latent_row_may_fail_later() -> None:
    """K2: of the times above what it ran alone; the cluster then goes on with what is drawn."""
    task, fails = [(0, 30, *EVICTED, None)], certain(10.0, 40.0)
    found = played(trace_of(task), {}, failure=fails, gives_up=np.ones(1))
    assert found == [(40, 0, Outcome.FAIL)]
    slower = played(trace_of(task, speed=0.5), {}, failure=fails, gives_up=np.ones(1))
    assert slower == [(80, 0, Outcome.FAIL)]
    dearer = played(trace_of(task, costs=[200]), {}, failure=fails, gives_up=np.ones(1))
    assert dearer == [(80, 0, Outcome.FAIL)]
    on = played(trace_of(task), {}, failure=fails)
    assert [number for _, number, _ in on] == list(range(len(on)))
    assert len(on) > 1


def test_drawn_attempts_are_not_ended_from_outside() -> None:
    """K3: T_ext of 5 ms would end every one of them."""
    task = [(0, 30, *FAILED, None)]
    retry = {("FAILED", 0, 30): Action.RETRY}
    found = played(trace_of(task), retry, external=certain(5.0))
    assert found == [(30, 0, Outcome.FAIL), (130, 1, Outcome.FINISH)]


def test_what_dies_with_a_machine_meets_the_same_fate_anew() -> None:
    task, down = [(0, 30, *FAILED, None)], [(50, 60)]
    retry = {("FAILED", 0, 30): Action.RETRY}
    rules = replace(RULES, checkpoint=False)
    found = played(trace_of(task, down=down), retry, rules, failure=certain(70.0))
    assert found[:3] == [(30, 0, Outcome.FAIL), (50, 1, Outcome.LOST), (130, 1, Outcome.FAIL)]


def test_positions_are_of_the_task_not_the_machine() -> None:
    """C6, K4: an attempt fails at 70 of 100 ms of work, on a machine of any speed.

    Saved at 40 of them on a machine of half the speed, the next one has 30 to go: 60 ms and the
    restore.
    """
    task = [(0, 10, *FAILED, None)]
    answers = {
        ("FAILED", 0, 20): Action.RETRY,
        ("WINDOW", 1, 100): Action.CHECKPOINT,
        ("FAILED", 1, 162): Action.RETRY,
    }
    found = played(trace_of(task, speed=0.5), answers, failure=certain(70.0))
    assert found[:3] == [
        (20, 0, Outcome.FAIL),
        (20 + 140 + 2, 1, Outcome.FAIL),
        (162 + 3 + 60, 2, Outcome.FAIL),
    ]


def test_the_cluster_goes_on_as_the_record_did() -> None:
    """C8: it declines where no row lies behind the last failure; what was evicted counts not."""
    once = [(0, 30, *FAILED, None)]
    assert played(trace_of(once), {}) == [(30, 0, Outcome.FAIL)]
    twice = [*once, (45, 60, *FAILED, None)]
    assert played(trace_of(twice), {}) == [(30, 0, Outcome.FAIL), (60, 1, Outcome.FAIL)]
    limit = replace(RULES, restarts="limit", restart_limit=2)
    assert len(played(trace_of(once), {}, limit, failure=certain(10.0))) == 3


def test_censored_tasks_do_not_go_on() -> None:
    """C1: they have no drawn attempts."""
    task = [(0, 30, *FAILED, None), (30, 50, Outcome.CENSORED, None, None)]
    found = played(trace_of(task, [(0, 500, Outcome.FINISH, None, None)]), {})
    assert [number for _, number, _ in found] == [0, 1]


def test_failures_of_latent_rows_count_for_later_ones() -> None:
    """C4: k of a row counts the latent rows before it that would fail from the start."""
    rows: list[Row] = [(at, at + 20, *EVICTED, None) for at in (0, 30, 60)]
    rows.append((90, 100, *FAILED, None))
    cells = np.array([[0, 1, 2, 3]])
    four = Law(np.arange(5), np.array([50.0, 60.0, 70.0, 80.0]), np.ones(4))
    law: dict[str, Any] = {
        **dict.fromkeys(("external", "gap_after_failure", "gap_after_external"), Law.never(4)),
        "work": Law(np.arange(5), np.full(4, 100.0), np.ones(4)),
        **{"gives_up": np.zeros(4), "ends_external": np.zeros(4), "cell": cells},
    }
    world = compiled(trace_of(rows), failure=four, **law)
    assert world.fails.tolist() == [50.0, 60.0, 70.0, 10.0]
    assert world.rows["past"].tolist() == [0, 1, 2, 3]
    assert world.beyond["before"].tolist() == [4]
    assert world.beyond["failures"].tolist() == [1]  # J goes by the record
    assert world.rows["gap"].tolist() == [10, 10, 10, -1]


def test_later_failures_are_drawn_above_what_was_seen() -> None:
    times = certain(10.0, 20.0, 30.0, 40.0, 50.0)
    tasks = [[(0, 25, *EVICTED, None)]] * 60
    world = compiled(trace_of(*tasks), failure=times, seed=3)
    u = uniform(3, np.arange(60), 0, Purpose.NEXT_FAILURE)
    h = 2 / 5
    expected = [times.value[times.share > h + (1 - h) * one][0] for one in u]
    assert world.fails.tolist() == expected
    assert set(expected) == {30.0, 40.0, 50.0}


def test_a_row_of_known_length_counts_as_one_that_finishes() -> None:
    """K1, and what lies behind a row goes by the record all the same."""
    rows: list[Row] = [(0, 30, *FAILED, None), (None, 30, Outcome.KILL, Cause.REQUEUE, 70)]
    world = compiled(trace_of(rows))
    assert world.beyond["work"].tolist() == [70.0]
    assert world.rows["gap"].tolist() == [-1, -1]
    assert world.rows["length"].tolist()[1] == 70


def test_the_machine_time_of_work() -> None:
    tasks: list[list[Row]] = [
        [(0, 30, *EVICTED, None)],
        [(0, 30, Outcome.KILL, Cause.USER, None)],
        [(0, 30, Outcome.CENSORED, None, None)],
        [(0, 30, Outcome.FINISH, None, None)],
    ]
    trace = trace_of(*tasks)
    context = random_context(np.random.default_rng(0), trace, RULES)
    a, record = attempts_of(trace), user_kill(attempts_of(trace))
    table = tasks_of(trace, a, record, RULES, context)
    rows = rows_of(a, record, context, usage_of(trace, RULES.window), 0)
    table["width"] = 3
    beyond = continue_record(RULES, laws(4), a, table, rows, 0)
    assert machine_time_of_work(table, beyond.tasks).tolist() == [300, 0, 0, 90]


def test_nobody_finishes_what_its_user_killed() -> None:
    rows: list[Row] = [(0, 30, Outcome.KILL, Cause.USER, None)]
    world = compiled(trace_of(rows))
    assert np.isinf(world.beyond["work"]).all()
    assert world.rows["length"].tolist() == [NEVER]
    assert played(trace_of(rows), {("WINDOW", 0, 10): Action.CLONE}) == [
        (30, 0, Outcome.KILL),
        (30, 1, Outcome.KILL),
    ]


def test_the_truth_is_the_time_to_the_end() -> None:
    """K6: a short attempt by its truth fills a hole in front of the head of the queue."""
    rules = replace(RULES, scheduler="easy_backfill", estimator="oracle")
    trace = trace_of([(0, 30, *EVICTED, None)], speed=0.5)
    context = random_context(np.random.default_rng(0), trace, rules)
    sim = ScheduledSimulator(
        trace, rules, context, None, 0, continuation=laws(1, failure=certain(40.0))
    )
    sim.start([0])
    assert sim.batch.runs(0)["estimate"][0] == 40


# --- Random worlds --------------------------------------------------------------------------------


def run(cluster: Cluster, policy_seed: int) -> ScheduledSimulator:
    """Play a cluster to its end; machine-time adds up at every decision."""
    sim: ScheduledSimulator = cluster.simulator(ScheduledSimulator)
    cluster.start(sim)
    policy = random_policy(np.random.default_rng(policy_seed))
    while sim.decision is not None:
        assert sum(sim.accounts()) == sim.busy()
        sim.step(policy(sim.mask))
    assert sum(sim.accounts()) == sim.busy()
    return sim


@pytest.mark.parametrize(
    "chunk",
    [*range(2), *(pytest.param(n, marks=pytest.mark.campaign) for n in range(2, 5))],
)
def test_accounts_add_up(chunk: int) -> None:
    drawn = 0
    for seed in range(chunk * 60, chunk * 60 + 60):
        sim = run(continued_cluster(seed), seed)
        drawn += sum(entry.kind == Event.START and entry.detail == 1 for entry in sim.log)
    assert drawn > 15


def undisturbed(sim: ScheduledSimulator) -> dict[tuple[int, int], tuple[int, Outcome]]:
    """How long drawn attempts ran that ended by themselves, and how."""
    began: dict[tuple[int, int], int] = {}
    found: dict[tuple[int, int], tuple[int, Outcome]] = {}
    for entry in sim.log:
        at = (entry.task, entry.number)
        if entry.kind == Event.START and entry.detail == 1:
            began[at] = entry.time
        ended = entry.kind == Event.END and entry.detail in (Outcome.FINISH, Outcome.FAIL)
        if ended and at in began:
            found[at] = (entry.time - began[at], Outcome(entry.detail))
    return found


def test_fates_do_not_depend_on_who_starts_an_attempt_or_when() -> None:
    """Where nothing is saved and all machines are alike; evicted attempts have them again."""
    compared = 0
    plain = {"checkpoint": False, "transfer_bandwidth": 0.0, "walltime_kill": False}
    for seed in range(200):
        cluster = continued_cluster(seed)
        table = {name: cluster.trace.column("machines", name) for name in ("slots", "speed")}
        if len(np.unique(table["speed"])) > 1 or cluster.trace.rows("costs"):
            continue
        cluster = replace(cluster, rules=replace(cluster.rules, **plain, retry=True, clone=True))
        first, second = (undisturbed(run(cluster, seed + 1000 * k)) for k in range(2))
        for at in first.keys() & second.keys():
            assert first[at] == second[at], (seed, at)
            compared += 1
    assert compared > 10


def test_recomputations_take_as_long_as_the_first_time() -> None:
    """K5: where nothing was saved, so that who finished a task had begun from scratch."""
    compared, of_drawn = 0, 0
    plain = {"checkpoint": False, "transfer_bandwidth": 0.0, "unpersist": False}
    plain |= {"outputs": "lost", "save_outputs": False, "walltime_kill": False}
    for seed in range(200):
        cluster = continued_cluster(seed)
        alike = len(np.unique(cluster.trace.column("machines", "speed"))) == 1
        workflow = cluster.trace.rows("stage_edges") and cluster.trace.rows("outages")
        if not (alike and workflow) or cluster.trace.rows("costs"):
            continue
        rules: Any = replace(cluster.rules, **plain)
        sim = run(replace(cluster, rules=rules), seed)
        began: dict[tuple[int, int], tuple[int, int]] = {}
        took: dict[tuple[int, int], int] = {}
        for entry in sim.log:
            at = (entry.task, entry.number)
            if entry.kind == Event.START:
                began[at] = (entry.time, entry.detail)
            if entry.kind == Event.END and entry.detail == Outcome.FINISH and at in began:
                since, detail = began[at]
                if detail == RECOMPUTATION:
                    assert entry.time - since == took[at], (seed, at)
                    compared += 1
                    of_drawn += at[1] >= len(
                        np.flatnonzero(attempts_of(cluster.trace).task == at[0])
                    )
                took.setdefault(at, entry.time - since)
    assert compared > 15
    assert of_drawn > 0


def batch_of(cluster: Cluster, episodes: int, threads: int = 1) -> ScheduledBatch:
    given = (cluster.trace, cluster.rules, cluster.context, cluster.weights, cluster.seed)
    world = compile_scheduled(*given, cluster.nodes, cluster.continuation)
    runnable = np.flatnonzero(world.tasks["rows"] > 0)
    tasks = np.array([task for task in cluster.tasks if task in runnable], dtype=np.int64)
    none = np.zeros((0, 2), dtype=np.int64)
    own = np.ones(len(tasks), dtype=np.bool_)
    world = with_members(world, [EpisodeTasks(tasks, own, none)])
    return ScheduledBatch(world, cluster.rules, episodes, threads)


def answered(batch: ScheduledBatch, keys: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Legal answers that are fixed by the key and the decisions of an episode so far."""
    actions = np.zeros(len(batch), dtype=np.int64)
    for e, key in enumerate(keys.tolist()):
        legal = np.flatnonzero(batch.output.mask[e])
        rng = np.random.default_rng([key, int(batch.state.episodes["decisions"][e])])
        actions[e] = rng.choice(legal)
    return actions


def costs(batch: ScheduledBatch, keys: npt.NDArray[Any]) -> bytes:
    """What episodes cost in the end."""
    while not batch.state.episodes["done"].all():
        batch.step(answered(batch, keys))
    return batch.state.episodes["cost"].tobytes()


def some_clusters(count: int) -> list[Cluster]:
    """Clusters that ask something, and are not over at once."""
    found: list[Cluster] = []
    for seed in range(1000):
        cluster = continued_cluster(seed)
        if cluster.standing or cluster.own is not None or not cluster.tasks:
            continue
        try:
            batch = batch_of(cluster, 1)
        except ValueError:  # no task to run
            continue
        batch.reset(np.zeros(1, dtype=np.int64))
        for _ in range(6):
            batch.step(answered(batch, np.array([seed])))
        if not batch.state.episodes["done"][0]:
            found.append(cluster)
        if len(found) == count:
            break
    return found


def test_batches_threads_and_copies_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("failgym.sim.shared.batch.SMALLEST_CHUNK", 1)
    clusters = some_clusters(25)
    assert len(clusters) == 25
    keys = np.arange(4)
    for cluster in clusters:
        batch = batch_of(cluster, 4)
        batch.reset(np.zeros(4, dtype=np.int64))
        for _ in range(6):
            batch.step(answered(batch, keys))
        twin, taken = copy.deepcopy(batch), batch.taken(np.array([2, 0]))
        whole = costs(batch, keys)
        assert costs(twin, keys) == whole
        each = len(whole) // 4
        parts = [whole[k * each : (k + 1) * each] for k in range(4)]
        assert costs(taken, keys[[2, 0]]) == parts[2] + parts[0]
        for threads, size in ((1, 1), (2, 4)):
            other = batch_of(cluster, size, threads)
            other.reset(np.zeros(size, dtype=np.int64))
            assert costs(other, keys[:size]) == b"".join(parts[:size])


def test_what_cannot_be_is_refused_in_one_line() -> None:
    trace = trace_of([(0, 30, *EVICTED, None)])
    context = random_context(np.random.default_rng(0), trace, RULES)
    with pytest.raises(ValueError, match=r"^continuation: expected laws"):
        compile_scheduled(trace, RULES, context)
    with pytest.raises(ValueError, match=r"^continuation: expected 1 tasks, as the trace has, got"):
        compile_scheduled(trace, RULES, context, continuation=laws(2))


def test_no_policy_costs_less_than_the_bound() -> None:
    positive, compared = 0, 0
    for cluster in some_clusters(30):
        batch = batch_of(cluster, 4)
        least = bounds.least_costs(batch.world)[0].sum()
        batch.reset(np.zeros(4, dtype=np.int64))
        costs(batch, np.arange(4) + cluster.seed)
        paid = batch.state.episodes["cost"].sum(axis=1)
        assert (paid >= least * (1.0 - 1e-9)).all(), cluster.seed
        positive += least > 0.0
        compared += 4
    assert compared == 120
    assert positive > 15


def test_the_bound_is_what_the_only_way_costs() -> None:
    """F of the row is 100 ms, of drawn ones 50: with checkpoints a ms may be lost to rounding."""
    task = [(0, 30, *EVICTED, None)]
    found = least_times(compiled(trace_of(task), replace(RULES, checkpoint=False)))
    assert found.tolist() == [100.0]
    fast = certain_chance(0.5)
    found = least_times(
        compiled(trace_of(task, speed=2.0), chance=fast, chance_cell=np.zeros(1, int))
    )
    assert found.tolist() == [24.0]
