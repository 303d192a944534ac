"""`ScheduledBatch`: every episode goes its own way, whoever steps it and whatever room it has."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from failgym.sim.pinned import batch as pinned_batch
from failgym.sim.scheduled import ScheduledBatch, compile_scheduled
from failgym.sim.scheduled.compile import EpisodeTasks, with_members
from failgym.sim.scheduled.memory import state as room
from tests.sim.scheduled.random_clusters import Cluster, random_cluster, runnable_tasks

EPISODES = 6
STEPS = 80
SEEDS = (3, 11, 20, 34, 51)
SHOWN = ("obs", "mask", "reward", "terms", "terminated", "elapsed", "task", "slice", "illegal")
FINAL = ("slice", "illegal", "now", "forfeited", "cost")


def world_of(cluster: Cluster) -> Any:
    """The world of a cluster with three slices: all tasks, the first half, all but the first."""
    world = compile_scheduled(
        cluster.trace, cluster.rules, cluster.context, cluster.weights, cluster.seed, cluster.nodes
    )
    tasks = np.array(sorted(runnable_tasks(cluster.trace)), dtype=np.int64)
    slices = (tasks, tasks[: len(tasks) // 2 + 1], tasks[1:] if len(tasks) > 1 else tasks)
    none = np.zeros((0, 2), dtype=np.int64)
    return with_members(world, [EpisodeTasks(t, np.ones(len(t), bool), none) for t in slices])


def batch_of(cluster: Cluster, first: int, episodes: int, threads: int = 1) -> ScheduledBatch:
    """A batch of episodes, begun, whose keys are those of the episodes from ``first`` on."""
    batch = ScheduledBatch(world_of(cluster), cluster.rules, episodes, threads)
    batch.seed(np.arange(first + 1, first + 1 + episodes, dtype=np.uint64))
    batch.reset()
    return batch


def play(batch: ScheduledBatch, first: int, steps: range) -> list[list[bytes]]:
    """Step a batch by actions keyed to (episode, step); what each episode showed, step by step."""
    shown: list[list[bytes]] = []
    for step in steps:
        masks = batch.output.mask
        actions = [_action(mask, first + e, step) for e, mask in enumerate(masks)]
        out = batch.step(np.array(actions, dtype=np.int64), again=True)
        row = [_bytes(e, (getattr(out, name) for name in SHOWN)) for e in range(len(batch))]
        for e in np.flatnonzero(out.terminated):
            final = [out.final_terms, out.final_elapsed, *(out.final[name] for name in FINAL)]
            row[int(e)] += _bytes(int(e), final)
        shown.append(row)
    return shown


def _bytes(e: int, columns: Any) -> bytes:
    return b"".join(np.asarray(column[e]).tobytes() for column in columns)


def _action(mask: npt.NDArray[np.int8], episode: int, step: int) -> int:
    """A legal action, or now and then any."""
    rng = np.random.default_rng([episode, step])
    legal: Sequence[int] = np.flatnonzero(mask).tolist()
    return int(rng.integers(5)) if rng.random() < 0.1 else int(rng.choice(legal))


def alone(cluster: Cluster) -> list[list[bytes]]:
    """What episodes show that are stepped one by one."""
    each = [play(batch_of(cluster, e, 1), e, range(STEPS)) for e in range(EPISODES)]
    return [[episode[step][0] for episode in each] for step in range(STEPS)]


@pytest.mark.parametrize("seed", SEEDS)
def test_together_as_alone(seed: int) -> None:
    cluster = random_cluster(seed)
    assert play(batch_of(cluster, 0, EPISODES), 0, range(STEPS)) == alone(cluster)


@pytest.mark.parametrize("seed", SEEDS)
def test_room_that_grows_on_the_way(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = random_cluster(seed)
    expected = play(batch_of(cluster, 0, EPISODES), 0, range(STEPS))
    monkeypatch.setattr(room, "FIRST_RUNS", 1)
    batch = batch_of(cluster, 0, EPISODES)
    assert play(batch, 0, range(STEPS)) == expected
    assert max(len(batch.array("runs", e)) for e in range(EPISODES)) > 3


def test_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = random_cluster(SEEDS[0])
    expected = alone(cluster)
    monkeypatch.setattr(pinned_batch, "SMALLEST_CHUNK", 2)
    monkeypatch.setattr(room, "FIRST_RUNS", 1)
    assert play(batch_of(cluster, 0, EPISODES, threads=3), 0, range(STEPS)) == expected


@pytest.mark.parametrize("copied", ["deepcopy", "pickle"])
@pytest.mark.parametrize("seed", SEEDS[:3])
def test_a_copy_continues_as_the_original(
    seed: int, copied: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "FIRST_RUNS", 1)
    batch = batch_of(random_cluster(seed), 0, EPISODES)
    play(batch, 0, range(7))
    twin = copy.deepcopy(batch) if copied == "deepcopy" else pickle.loads(pickle.dumps(batch))
    expected = play(batch, 0, range(7, STEPS))
    assert play(twin, 0, range(7, STEPS)) == expected


def test_slices_by_number_and_left_as_they_are() -> None:
    batch = batch_of(random_cluster(SEEDS[0]), 0, 3)
    out = batch.reset(np.array([2, 0, 1]))
    assert out.slice.tolist() == [2, 0, 1]
    play(batch, 0, range(3))
    before, slices = batch.output.obs.copy(), batch.output.slice.copy()
    out = batch.reset(np.array([-2, 2, -2]))
    assert out.slice.tolist() == [slices[0], 2, slices[2]]
    assert (out.obs[[0, 2]] == before[[0, 2]]).all()


@pytest.mark.parametrize(
    ("slices", "expected"),
    [
        ([0, 3], r"^slice: expected 0 to 2, got 3$"),
        ([-3, 0], r"^slice: expected 0 to 2, got -3$"),
        ([0], r"^slices: expected shape \(2,\), got \(1,\)$"),
    ],
)
def test_slices_that_do_not_exist(slices: list[int], expected: str) -> None:
    batch = batch_of(random_cluster(SEEDS[0]), 0, 2)
    with pytest.raises(ValueError, match=expected):
        batch.reset(np.array(slices))


def test_actions_of_another_shape() -> None:
    batch = batch_of(random_cluster(SEEDS[0]), 0, 2)
    with pytest.raises(ValueError, match=r"^actions: expected shape \(2,\), got \(1,\)$"):
        batch.step(np.zeros(1, dtype=np.int64))


def test_an_episode_that_has_not_begun_is_over() -> None:
    cluster = random_cluster(SEEDS[0])
    batch = ScheduledBatch(world_of(cluster), cluster.rules, 2)
    out = batch.step(np.zeros(2, dtype=np.int64))
    assert out.terminated.all()
    assert not out.reward.any()
    assert out.mask.tolist() == [[1, 0, 0, 0, 0]] * 2
