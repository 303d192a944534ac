"""How fast failgym is, beside Gymnasium's CartPole in the same run.

    python -m experiments.speed [--runs 5] [--trace DIR] [--json FILE] [--quick]

Figures are medians over runs, on one core; runs of all subjects take turns, so that what else the
machine does falls on all of them. Only decisions that were asked are counted: a decision with
nothing to choose, or an action that CartPole's batched twin ignores because it resets, is none. A
random legal policy decides; its time is part of every figure and is shown apart.

- batched: ``gym.make_vec(id, num_envs=N, vectorization_mode="vector_entry_point")``
- single: ``gym.make(id)``, with Gymnasium's own wrappers
- first step: a fresh Python imports failgym, makes an environment, resets and steps once; cold with
  an empty cache of compiled code, warm with a full one
- whole trace: Algorithm 1 through the Policy protocol, asked at every window of every task of known
  fate, on at most two cores
"""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import typer

from failgym.baselines import Algorithm1
from failgym.cli.output import Cell, JsonFile, print_line, print_table
from failgym.envs import FIELDS, SCENARIOS, resolve
from failgym.evaluation import run_policy, whole_trace_world
from failgym.traces import Trace

CARTPOLE = "CartPole-v1"
BATCHES = (64, 256)
"""Episodes of the batched environments."""
FIRST_STEP = """
import gymnasium, failgym
env = gymnasium.make({id!r})
env.reset(seed=0)
env.step(0)
"""
"""What a fresh Python runs for the time to the first step."""


@dataclass(frozen=True)
class Target:
    """What the figures are held against."""

    batched: float = 1e6
    """decisions per second, at least"""
    single: float = 8e4
    """steps per second, at least"""
    cold: float = 20.0
    """seconds to the first step, kernels compiled, at most"""
    warm: float = 1.5
    """seconds to the first step, kernels cached, at most"""
    whole_trace: float = 30.0
    """seconds, at most"""


@dataclass(frozen=True)
class Effort:
    """How much is measured."""

    runs: int = 5
    batched: int = 400_000
    """decisions per run"""
    single: int = 40_000
    """decisions per run"""
    environments: tuple[str, ...] = tuple(SCENARIOS)
    settings: dict[str, Any] = field(default_factory=dict[str, Any])
    """fields of the scenarios that are not as registered"""
    cold: bool = True
    """compile everything anew?"""

    @property
    def ids(self) -> list[str]:
        """Of the environments."""
        return [f"failgym/{name}" for name in self.environments]


TARGET = Target()
QUICK = Effort(
    runs=1,
    batched=4_000,
    single=400,
    environments=("GracePeriod-v0",),
    settings={"jobs": 600},
    cold=False,
)
"""Enough to see that everything runs; the figures mean nothing."""


class Sample(NamedTuple):
    """One run."""

    decisions: int
    ended: int
    """episodes"""
    policy: float
    """time spent in choosing [s]"""
    env: float
    """time spent in steps and resets [s]"""

    @property
    def rate(self) -> float:
        """Decisions per second, the policy's time included."""
        return self.decisions / (self.policy + self.env)

    @property
    def env_rate(self) -> float:
        """Decisions per second of the environment alone."""
        return self.decisions / self.env


@dataclass(frozen=True)
class Subject:
    """An environment under measurement."""

    id: str
    episodes: int
    """at once"""
    play: Callable[[], Sample]
    samples: list[Sample] = field(default_factory=list[Sample])

    def median(self, name: str) -> float:
        """The median of a rate over the runs."""
        return statistics.median(getattr(sample, name) for sample in self.samples)

    @property
    def ended(self) -> float:
        """Share of decisions that ended an episode."""
        return sum(s.ended for s in self.samples) / sum(s.decisions for s in self.samples)


def batched(env_id: str, episodes: int, decisions: int, settings: dict[str, Any]) -> Subject:
    """The batched twin of a failgym environment under a random legal policy."""
    env = gym.make_vec(
        env_id, num_envs=episodes, vectorization_mode="vector_entry_point", **settings
    )
    rng = np.random.default_rng(0)
    info: dict[str, Any] = env.reset(seed=0)[1]

    def play() -> Sample:
        nonlocal info
        asked, ended, policy, stepping = 0, 0, 0.0, 0.0
        while asked < decisions:
            mask: npt.NDArray[np.int8] = info["action_mask"]
            asked += int((mask[:, 1:].max(axis=1) > 0).sum())
            begun = time.perf_counter()
            actions = (rng.random(mask.shape, np.float32) * mask).argmax(axis=1)
            chosen = time.perf_counter()
            _, _, terminated, _, info = env.step(actions)
            stepping += time.perf_counter() - chosen
            policy += chosen - begun
            ended += int(terminated.sum())
        return Sample(asked, ended, policy, stepping)

    return Subject(env_id, episodes, play)


def batched_cartpole(episodes: int, decisions: int) -> Subject:
    """The batched numpy twin of CartPole; it resets in the step after an end."""
    env = gym.make_vec(CARTPOLE, num_envs=episodes, vectorization_mode="vector_entry_point")
    rng = np.random.default_rng(0)
    env.reset(seed=0)
    resetting = np.zeros(episodes, dtype=np.bool_)

    def play() -> Sample:
        nonlocal resetting
        asked, ended, policy, stepping = 0, 0, 0.0, 0.0
        while asked < decisions:
            asked += episodes - int(resetting.sum())
            begun = time.perf_counter()
            actions = rng.integers(0, 2, episodes)
            chosen = time.perf_counter()
            _, _, terminated, truncated, _ = env.step(actions)
            stepping += time.perf_counter() - chosen
            policy += chosen - begun
            resetting = terminated | truncated
            ended += int(resetting.sum())
        return Sample(asked, ended, policy, stepping)

    return Subject(CARTPOLE, episodes, play)


def single(env_id: str, decisions: int, settings: dict[str, Any]) -> Subject:
    """An environment as `gym.make` makes it, under a random legal policy."""
    env: gym.Env[Any, Any] = gym.make(env_id, **settings)
    rng = np.random.default_rng(0)
    anything = np.ones(2, dtype=np.int8)  # CartPole has no masks
    info = env.reset(seed=0)[1]

    def play() -> Sample:
        nonlocal info
        draws: list[float] = rng.random(decisions).tolist()
        ended, policy, stepping = 0, 0.0, 0.0
        for draw in draws:
            begun = time.perf_counter()
            legal = info.get("action_mask", anything).nonzero()[0]
            action = int(legal[int(draw * len(legal))])
            chosen = time.perf_counter()
            _, _, terminated, truncated, info = env.step(action)
            if terminated or truncated:
                _, info = env.reset()
                ended += 1
            stepping += time.perf_counter() - chosen
            policy += chosen - begun
        return Sample(decisions, ended, policy, stepping)

    return Subject(env_id, 1, play)


def subjects(effort: Effort) -> list[Subject]:
    """The environments and CartPole, batched and single."""
    ids, settings = effort.ids, effort.settings
    return [
        *(batched(i, n, effort.batched, settings) for i in ids for n in BATCHES),
        *(batched_cartpole(n, effort.batched) for n in BATCHES),
        *(single(i, effort.single, settings) for i in ids),
        single(CARTPOLE, effort.single, {}),
    ]


def take_turns(measured: Sequence[Subject], runs: int) -> None:
    """Run all subjects in turn, after a round that is not counted."""
    for turn in range(runs + 1):
        for subject in measured:
            sample = subject.play()
            if turn:
                subject.samples.append(sample)


def first_step(env_id: str, cache: Path | None) -> float:
    """Seconds from a fresh Python to a first step, with a cache of its own if one is given."""
    environment = dict(os.environ)
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = str(cache)
    command = [sys.executable, "-c", FIRST_STEP.format(id=env_id)]
    begun = time.perf_counter()
    subprocess.run(command, env=environment, check=True)
    return time.perf_counter() - begun


def start_times(env_id: str, runs: int, cold: bool) -> dict[str, float]:
    """Median seconds to the first step: warm, and cold where that is measured."""
    first_step(env_id, None)  # fills the cache
    times = {"warm": statistics.median(first_step(env_id, None) for _ in range(runs))}
    if cold:
        colds: list[float] = []
        for _ in range(runs):
            with tempfile.TemporaryDirectory() as folder:
                colds.append(first_step(env_id, Path(folder)))
        times["cold"] = statistics.median(colds)
    return times


def whole_trace(folder: Path, runs: int, threads: int) -> dict[str, float]:
    """Algorithm 1 over a whole trace, asked at every window; medians, without loading."""
    scenario = resolve("Cloning-v0", {"decide": "every"})
    world = whole_trace_world(Trace.load(folder), scenario, known_only=True)
    few = np.arange(min(64, len(world.slices) - 1))
    run_policy(world, scenario, Algorithm1(), few, threads=threads)  # compiles
    results = [run_policy(world, scenario, Algorithm1(), threads=threads) for _ in range(runs)]
    return {
        "threads": threads,
        "tasks": len(results[0].outcomes["task"]),
        "decisions": results[0].decisions,
        "seconds": statistics.median(r.seconds for r in results),
        "decisions_per_second": statistics.median(r.decisions_per_second for r in results),
        "tasks_per_second": statistics.median(r.tasks_per_second for r in results),
    }


def cores() -> set[int]:
    """The cores that this process may use; nothing where the system does not say."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()


def pin(to: set[int]) -> None:
    """Run on these cores only, where the system can."""
    if to:
        os.sched_setaffinity(0, to)


def host() -> dict[str, str]:
    """Where the figures come from."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    packages = ("failgym", "gymnasium", "numba", "numpy")
    return {
        "processor": names[0] if names else platform.machine(),
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
    }


def figures(measured: Sequence[Subject]) -> list[dict[str, Any]]:
    """What is known of each subject, CartPole's of the same kind being the yardstick."""
    yardstick = {s.episodes: s.median("rate") for s in measured if s.id == CARTPOLE}
    return [
        {
            "id": s.id,
            "episodes": s.episodes,
            "decisions_per_second": s.median("rate"),
            "environment_alone": s.median("env_rate"),
            "ended": s.ended,
            "of_cartpole": s.median("rate") / yardstick[s.episodes],
        }
        for s in measured
    ]


def print_figures(rows: Sequence[dict[str, Any]], runs: int) -> None:
    """The table of rates."""
    columns = ("environment", "episodes", "decisions/s", "without\nthe policy", "steps\nthat reset")
    cells: list[tuple[Cell, ...]] = [
        (
            *(row["id"], row["episodes"], round(row["decisions_per_second"])),
            *(round(row["environment_alone"]), row["ended"], row["of_cartpole"]),
        )
        for row in rows
    ]
    title = f"Decisions per second, one core, {len(FIELDS)} fields, median of {runs}"
    shares = frozenset({"steps\nthat reset"})
    print_table(title, (*columns, "CartPole's\n= 1"), cells, shares)


def verdicts(result: dict[str, Any]) -> list[tuple[Cell, ...]]:
    """The worst figure of each kind beside its target."""
    own = [row for row in result["rates"] if row["id"] != CARTPOLE]
    many = min(row["decisions_per_second"] for row in own if row["episodes"] > 1)
    one = min(row["decisions_per_second"] for row in own if row["episodes"] == 1)
    rows: list[tuple[Cell, ...]] = [
        ("batched [decisions/s], slowest", round(many), f">= {TARGET.batched:,.0f}"),
        ("single [steps/s], slowest", round(one), f">= {TARGET.single:,.0f}"),
    ]
    starts: dict[str, dict[str, float]] = result["first_step"]
    for kind, limit in (("warm", TARGET.warm), ("cold", TARGET.cold)):
        times = [by_kind[kind] for by_kind in starts.values() if kind in by_kind]
        if times:
            rows.append((f"first step, {kind} [s], slowest", max(times), f"< {limit:g}"))
    if result["whole_trace"]:
        seconds = result["whole_trace"]["seconds"]
        rows.append(("whole trace [s]", seconds, f"< {TARGET.whole_trace:g}"))
    return rows


def main(
    runs: Annotated[int, typer.Option(min=1, help="Runs of which medians are taken.")] = 5,
    trace: Annotated[
        Path | None,
        typer.Option(metavar="DIR", exists=True, file_okay=False, help="Also run a whole trace."),
    ] = None,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write as JSON.")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="One short run, to see that it works.")
    ] = False,
) -> None:
    """Measure how fast failgym is, beside CartPole."""
    file = JsonFile.at(json)
    effort = QUICK if quick else replace(Effort(), runs=runs)
    all_cores = cores()
    pin({max(all_cores)} if all_cores else set())
    measured = subjects(effort)
    take_turns(measured, effort.runs)
    rates = figures(measured)
    print_figures(rates, effort.runs)
    starts = {
        env_id: start_times(env_id, effort.runs, cold=effort.cold and not i)
        for i, env_id in enumerate(effort.ids)  # the kernels are the same: compiled for one
    }
    pin(all_cores)  # a whole trace may use them all
    threads = max(1, len(all_cores) or os.cpu_count() or 1)
    whole = whole_trace(trace, effort.runs, min(2, threads)) if trace else {}
    result: dict[str, Any] = {
        "host": host(),
        "fields": len(FIELDS),
        "effort": asdict(effort),
        "rates": rates,
        "first_step": starts,
        "whole_trace": whole,
        "targets": asdict(TARGET),
    }
    print_table("Against the targets", ("", "measured", "target"), verdicts(result))
    if whole:
        print_line(
            f"whole trace: {whole['tasks']:,} tasks, {whole['decisions']:,} decisions,"
            f" {whole['decisions_per_second']:,.0f} decisions/s,"
            f" {whole['tasks_per_second']:,.0f} tasks/s, {whole['threads']} threads"
        )
    print_line(", ".join(f"{name} {value}" for name, value in result["host"].items()))
    file.write(result)


if __name__ == "__main__":
    typer.run(main)
