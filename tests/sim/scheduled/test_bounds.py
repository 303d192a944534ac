"""Lower bounds of the cost of episodes: worked by hand, and against every and any policy."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from failgym.sim.reference.scheduled import ReferenceScheduledSimulator
from failgym.sim.scheduled.bounds import Capacity, earliest, least_costs, shortest_first
from failgym.sim.scheduled.compile import EpisodeTasks, compile_scheduled, with_members
from failgym.sim.scheduled.fates import fates
from failgym.sim.scheduled.records import World
from failgym.sim.scheduled.rules import ScheduledRules
from failgym.sim.shared.context import AGE_BUCKETS, CLASSES, SYSTEM_FIELDS, Context
from failgym.sim.shared.forecast import Forecast
from failgym.sim.shared.rules import Weights
from failgym.traces import Cause, Meta, Outcome, Trace
from tests.sim.random_worlds import random_policy
from tests.sim.scheduled.random_clusters import Cluster, random_cluster

INF = math.inf
MOST_STEPS = 400
MOST_EPISODES = 60


class TestShortestFirst:
    def test_serves_the_least_work_left(self) -> None:
        done = shortest_first(np.array([0.0, 2.0, 50.0]), np.array([10.0, 3.0, 1.0]))
        assert done.tolist() == [5, 13, 51]
        assert shortest_first(np.zeros(0), np.zeros(0)).tolist() == []

    @pytest.mark.parametrize("seed", range(20))
    def test_no_order_has_a_smaller_sum(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        release = rng.integers(0, 20, 5).astype(np.float64)
        work = rng.integers(0, 10, 5).astype(np.float64)
        least = INF
        for order in permutations(range(5)):
            now, total = 0.0, 0.0
            for i in order:
                now = max(now, release[i]) + work[i]
                total += now
            least = min(least, total)
        assert shortest_first(release, work).sum() <= least
        together = shortest_first(np.zeros(5), work)
        assert together.tolist() == np.cumsum(np.sort(work)).tolist()


def silent(trace: Trace, window: int = 300_000) -> Context:
    """Nothing expected, nothing forecast."""
    jobs, tasks, attempts = (trace.rows(name) for name in ("jobs", "tasks", "attempts"))
    forecast = Forecast.none(trace.content_hash, jobs, tasks, attempts, window)
    system = np.zeros((1, SYSTEM_FIELDS), dtype=np.float32)
    return Context(np.zeros((CLASSES, AGE_BUCKETS, 3)), system, forecast)


def finishing(
    lengths: list[int],
    *,
    submits: list[int] | None = None,
    machines: int = 1,
    down: list[tuple[int, int, int | None]] | None = None,
    **tables: Any,
) -> Trace:
    """Jobs of one task each, or one job if there are stages, that finish after their lengths."""
    n = len(lengths)
    one = "stages" in tables
    starts = [0] * n if submits is None else submits
    stage = tables.pop("stage", [None] * n)
    return Trace.of(
        Meta("finishing"),
        jobs={
            "original_id": [str(i) for i in range(1 if one else n)],
            "submit": starts[:1] if one else starts,
            "width": [n] if one else [1] * n,
            "outcome": [0] if one else [0] * n,
        },
        tasks={
            "job": [0] * n if one else range(n),
            "index": range(n) if one else [0] * n,
            "width": tables.pop("width", [1] * n),
            "stage": stage,
        },
        attempts={
            "task": range(n),
            "start": starts,
            "end": [s + d for s, d in zip(starts, lengths, strict=True)],
            "outcome": [int(Outcome.FINISH)] * n,
        },
        machines={"original_id": [str(m) for m in range(machines)], "speed": [1.0] * machines},
        outages={
            "machine": [m for m, _, _ in down or []],
            "down": [d for _, d, _ in down or []],
            "up": [u for _, _, u in down or []],
        },
        **tables,
    )


def world_of(trace: Trace, weights: Weights | None = None, **rules: Any) -> World:
    """A world of one episode of all tasks."""
    scheduled = ScheduledRules(**rules)
    world = compile_scheduled(trace, scheduled, silent(trace, scheduled.window), weights)
    n = trace.rows("tasks")
    none = np.zeros((0, 2), dtype=np.int64)
    return with_members(world, [EpisodeTasks(np.arange(n), np.ones(n, dtype=np.bool_), none)])


class TestEpisodes:
    def test_a_task_alone_takes_its_time(self) -> None:
        world = world_of(finishing([70], submits=[5]))
        assert least_costs(world).tolist() == [[0, 0, 70, 0, 0]]

    def test_tasks_share_the_slots(self) -> None:
        lengths = [30, 10, 20]
        assert least_costs(world_of(finishing(lengths)))[0, 2] == 10 + 30 + 60
        assert least_costs(world_of(finishing(lengths, machines=2)))[0, 2] == 60  # each alone: 60
        assert least_costs(world_of(finishing([30, 30, 30], machines=2)))[0, 2] == 15 + 30 + 45

    def test_of_jobs_the_last_task_counts(self) -> None:
        stages = {"job": [0], "stage": [0]}
        trace = finishing([30, 10, 20], stages=stages, stage=[0, 0, 0])
        assert least_costs(world_of(trace, completion="jobs"))[0, 2] == 60
        trace = finishing([30, 10, 20], stages=stages, stage=[0, 0, 0], machines=3)
        assert least_costs(world_of(trace, completion="jobs"))[0, 2] == 30

    def test_machines_that_are_down_offer_nothing(self) -> None:
        trace = finishing([30, 30], machines=2, down=[(1, 10, 40)])
        world = world_of(trace)
        assert least_costs(world)[0, 2] == 20 + 45
        capacity = Capacity.of(world)
        assert capacity.until(np.array([0.0, 10, 20, 40, 45])).tolist() == [0, 20, 30, 50, 60]
        assert capacity.reached(np.array([0.0, 20, 30, 50, 60])).tolist() == [0, 10, 20, 40, 45]

    def test_a_gap_without_machines_is_waited_for(self) -> None:
        world = world_of(finishing([30], down=[(0, 10, 40), (0, 60, 65)]))
        capacity = Capacity.of(world)
        assert capacity.reached(np.array([10.0, 11, 30, 31])).tolist() == [10, 41, 60, 66]
        assert least_costs(world)[0, 2] == 60

    def test_what_may_be_killed_need_not_run(self) -> None:
        trace, kept = finishing([70]), Weights(forfeited=0.25)
        assert least_costs(world_of(trace, kill=True)).tolist() == [[0, 0, 70, 0, 0]]
        assert least_costs(world_of(trace, kept, kill=True)).tolist() == [[0, 0, 0, 35, 0]]

    def test_machines_that_never_come_back_may_strand_tasks(self) -> None:
        trace = finishing([70], down=[(0, 10, None)])
        assert least_costs(world_of(trace, Weights(forfeited=0.0)))[0].sum() == 0
        assert least_costs(world_of(trace)).tolist() == [[0, 0, 70, 0, 0]]

    def test_the_critical_path_of_a_diamond(self) -> None:
        trace = diamond([10, 20, 30, 5], wide=True)
        world = world_of(trace)
        found = earliest(world, 0, fates(world))
        assert found.start.tolist() == [0, 10, 10, 40]
        assert found.finish.tolist() == [10, 30, 40, 45]
        assert found.must.all()
        assert not found.cut_off.any()
        assert least_costs(world).tolist() == [[0, 0, 10 + 30 + 40 + 45, 0, 0]]
        assert least_costs(world_of(trace, completion="jobs")).tolist() == [[0, 0, 45, 0, 0]]

    def test_what_a_killed_parent_cuts_off_may_settle_at_once(self) -> None:
        world = world_of(diamond([10, 20, 30, 5], wide=True), Weights(forfeited=0.0), kill=True)
        found = earliest(world, 0, fates(world))
        assert found.cut_off.tolist() == [False, True, True, True]
        assert not found.must.any()
        assert least_costs(world).sum() == 0

    def test_children_read_their_share_of_a_narrow_edge(self) -> None:
        lengths = [10, 20, 30, 1, 1]  # three parents, two children: 0 and 1; 1 and 2
        trace = finishing(
            lengths,
            machines=5,
            stages={"job": [0, 0], "stage": [0, 1]},
            stage=[0, 0, 0, 1, 1],
            stage_edges={"parent": [0], "child": [1], "bytes": [0], "wide": [False]},
        )
        world = world_of(trace)
        assert earliest(world, 0, fates(world)).start.tolist() == [0, 0, 0, 20, 30]

    def test_compute_times_of_the_fastest_machines_count(self) -> None:
        """The example of FLAW, Fig. 4, without its transfers and failures."""
        times = [[25, 40, 45], [30, 35, 40], [35, 40, 25], [50, 35, 45], [40, 45, 50]]
        trace = finishing(
            [1] * 5,
            machines=3,
            stages={"job": [0] * 5, "stage": range(5)},
            stage=range(5),
            stage_edges={
                "parent": [0, 0, 0, 1, 2, 3],
                "child": [1, 2, 3, 4, 4, 4],
                "bytes": [0] * 6,
                "wide": [True] * 6,
            },
            costs={
                "task": np.repeat(np.arange(5), 3),
                "machine": np.tile(np.arange(3), 5),
                "time": np.ravel(times),
            },
        )
        world = world_of(trace, scheduler="rank_hybd", completion="jobs")
        assert least_costs(world).tolist() == [[0, 0, 25 + 35 + 40, 0, 0]]

    def test_failures_are_waste_and_a_users_kill_comes_in_time(self) -> None:
        trace = Trace.of(
            Meta("killed"),
            jobs={"original_id": ["a"], "submit": [0], "width": [1], "outcome": [2]},
            tasks={"job": [0], "index": [0], "width": [3]},
            attempts={
                "task": [0, 0],
                "start": [0, 50],
                "end": [40, 90],
                "outcome": [int(Outcome.FAIL), int(Outcome.KILL)],
                "cause": [int(Cause.INTRINSIC), int(Cause.USER)],
                "length": [80, 80],
            },
            machines={"original_id": ["m"], "slots": [3], "speed": [1.0]},
        )
        world = world_of(trace)
        fate = fates(world)
        assert (fate.success[0], fate.failure[0]) == (120, 90)
        assert earliest(world, 0, fate).finish[0] == INF
        assert least_costs(world).tolist() == [[0, 0, 90, 0, 0]]


def diamond(lengths: list[int], *, wide: bool) -> Trace:
    return finishing(
        lengths,
        machines=4,
        stages={"job": [0] * 4, "stage": range(4)},
        stage=range(4),
        stage_edges={
            "parent": [0, 0, 1, 2],
            "child": [1, 2, 3, 3],
            "bytes": [0] * 4,
            "wide": [wide] * 4,
        },
    )


def compiled(cluster: Cluster) -> World:
    """A random cluster with its one episode, as the simulators play it."""
    c = cluster
    world = compile_scheduled(c.trace, c.rules, c.context, c.weights, c.seed, c.nodes)
    asked = set(c.tasks if c.own is None else c.own)
    runs, censored = world.tasks["rows"] > 0, world.tasks["censored"]
    tasks = np.array([t for t in c.tasks if runs[t]], dtype=np.int64)
    own = np.array([t in asked and not censored[t] for t in tasks], dtype=np.bool_)
    standing = np.array([s for s in c.standing if runs[s[0]]], dtype=np.int64).reshape(-1, 2)
    return with_members(world, [EpisodeTasks(tasks, own, standing)])


def paid(cluster: Cluster, world: World, sim: Any) -> float:
    """What an episode that is over has cost: from the outcomes of its own tasks, and of others."""
    p = world.parameters[0]
    own = set(world.members[world.member_own].tolist())
    outcomes = [o for o in sim.outcomes() if o.task in own]
    cost, jobs = 0.0, dict[int, list[Any]]()
    for o in outcomes:
        cost += p["wasted"] * (o.lost + o.redundant + o.ghost)
        cost += p["overhead"] * (o.checkpoint + o.restore)
        if o.recorded_outcome == Outcome.FINISH != o.outcome:
            cost += p["forfeited_work"] * o.recorded_work
            cost += p["forfeited_time"] * (o.recorded_end - o.submit)
        by_job = cluster.rules.completion == "jobs"
        jobs.setdefault(int(world.tasks["job"][o.task]) if by_job else o.task, []).append(o)
    times = [max(o.end for o in j) - min(o.submit for o in j) for j in jobs.values()]
    late = [max(time, 0) for time in times]  # what is cut off may settle before it arrives
    others = sum(sim.priced(sim.costs_of_others()))
    return float(cost + p["completion"] * sum(late) + others)


def started(cluster: Cluster) -> Any:
    """The cluster at its first decision."""
    sim = cluster.simulator(ReferenceScheduledSimulator)
    cluster.start(sim)
    return sim


def at_random(cluster: Cluster, rng: np.random.Generator) -> Any:
    """An episode under a random policy, perhaps not to its end."""
    sim, policy = started(cluster), random_policy(rng)
    for _ in range(MOST_STEPS):
        if sim.decision is None:
            break
        sim.step(policy(sim.mask))
    return sim


def every_end(cluster: Cluster) -> Iterator[Any]:
    """Episodes under all sequences of legal actions, as far as `MOST_EPISODES` go."""
    prefixes: list[list[int]] = [[]]
    for _ in range(MOST_EPISODES):
        if not prefixes:
            return
        prefix = prefixes.pop()
        sim = started(cluster)
        for action in prefix:
            sim.step(action)
        while sim.decision is not None:
            legal = [a for a in range(1, 5) if sim.mask[a]]
            prefixes += [[*prefix, action] for action in legal]
            prefix = [*prefix, 0]
            sim.step(0)
        yield sim


def compare(cluster: Cluster, sim: Any) -> str:
    """Hold the bound against what an episode cost, and say how it compares."""
    world = compiled(cluster)
    bound, cost = least_costs(world)[0].sum(), paid(cluster, world, sim)
    assert cost >= bound * (1 - 1e-9) - 1e-9
    if cost == 0.0:
        return "free"
    return "tight" if cost <= bound * (1 + 1e-6) else "more"


@pytest.mark.parametrize("clusters", [70, pytest.param(200, marks=pytest.mark.campaign)])
def test_no_policy_pays_less_on_random_clusters(clusters: int) -> None:
    seen = Counter[str]()
    for seed in range(clusters):
        cluster = random_cluster(seed)
        sim = at_random(cluster, np.random.default_rng([seed, 1]))
        seen["cut short" if sim.decision else compare(cluster, sim)] += 1
    assert seen["more"] >= 0.3 * clusters


def calm_cluster(seed: int) -> Cluster:
    """One or two tasks that fail up to twice and then finish, in a cluster that has room."""
    rng = np.random.default_rng(seed)
    columns: dict[str, list[int | None]] = {
        name: [] for name in ("task", "start", "end", "outcome", "cause", "length")
    }
    tasks = int(rng.integers(1, 3))
    for task in range(tasks):
        start, length = 0, int(rng.integers(1, 9)) * 10
        fails = int(rng.integers(0, 3))
        for number in range(fails + 1):
            last = number == fails
            end = start + (length if last else int(rng.integers(1, length)))
            outcome = Outcome.FINISH if last else Outcome.FAIL
            cause = None if last else int(Cause.INTRINSIC)
            row = (task, start, end, int(outcome), cause, length)
            for name, value in zip(columns, row, strict=True):
                columns[name].append(value)
            start = end
    trace = Trace.of(
        Meta("calm"),
        jobs={"original_id": ["a"], "submit": [0], "width": [tasks], "outcome": [0]},
        tasks={"job": [0] * tasks, "index": range(tasks), "width": rng.integers(1, 4, tasks)},
        attempts=columns,
        machines={"original_id": ["m"], "slots": [100], "speed": [1.0]},
    )
    names = ("clone", "checkpoint", "kill", "give_up", "retry")
    switches: dict[str, Any] = {name: bool(rng.random() < 0.3) for name in names}
    rules = ScheduledRules(
        **switches,
        max_extra=2,
        restart_limit=int(rng.integers(0, 4)),
        window=40,
        grace=False,
        completion=rng.choice(["tasks", "jobs"]).item(),
    )
    weights = Weights(*rng.choice([0.5, 1.0, 2.0], 4))
    everything = tuple(range(tasks))
    return Cluster(trace, rules, silent(trace, 40), weights, None, everything, None, (), seed)


def test_the_cheapest_of_all_policies_pays_no_less_and_often_just_as_much() -> None:
    seen = Counter[str]()
    for seed in range(60):
        cluster = calm_cluster(seed)
        world, ends = compiled(cluster), every_end(cluster)
        costs = [paid(cluster, world, sim) for sim in ends]
        bound = least_costs(world)[0].sum()
        assert min(costs) >= bound * (1 - 1e-9)
        seen["tight" if min(costs) <= bound * (1 + 1e-9) else "more"] += 1
    assert seen["tight"] >= 15


@pytest.mark.parametrize("seed", range(10))
def test_is_what_replay_pays_where_nothing_is_in_the_way(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    lengths = rng.integers(0, 50, n).tolist()
    stage = np.sort(rng.integers(0, 3, n)).tolist()
    trace = finishing(
        lengths,
        machines=n,
        stages={"job": [0] * 3, "stage": range(3)},
        stage=stage,
        stage_edges={
            "parent": [0, 1],
            "child": [1, 2],
            "bytes": [0, 0],
            "wide": rng.random(2) < 0.5,
        },
    )
    for completion in ("tasks", "jobs"):
        check_replay(trace, ScheduledRules(completion=completion), n)


def test_is_what_replay_pays_in_a_queue_of_the_shortest_first() -> None:
    trace = finishing([5, 8, 13, 40, 41], down=[(0, 10, 30), (0, 50, 51)])
    check_replay(trace, ScheduledRules(outputs="lost"), 5, tight=False)
    check_replay(finishing([5, 8, 13, 40, 41]), ScheduledRules(), 5)


def check_replay(trace: Trace, rules: ScheduledRules, tasks: int, *, tight: bool = True) -> None:
    """Compare the bound of an episode in which nothing is asked with what it costs."""
    everything = tuple(range(tasks))
    context = silent(trace, rules.window)
    cluster = Cluster(trace, rules, context, Weights(), None, everything, None, (), 0)
    sim = started(cluster)
    assert sim.decision is None
    assert compare(cluster, sim) == ("free" if not sim.busy() else "tight" if tight else "more")
