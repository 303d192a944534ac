"""How fast failgym is, beside Gymnasium's CartPole in the same run.

    python -m experiments.speed [--runs 5] [--policy random] [--trace DIR] [--training]
        [--json FILE] [--quick]

Figures are medians over runs, on one core, by the processor's time: other work on the machine takes
little of it, by what it does to caches. Runs of all subjects take turns, so that this falls on all
of them; what is beside CartPole is the median of the ratios within a turn. Only decisions that were
asked are counted: a decision with nothing to choose, or an action that CartPole's batched twin
ignores because it resets, is none. A random legal policy decides, or replay, which always
continues; its time is part of every figure and is shown apart. Environments are as registered, but
for `SETTINGS`.

- batched: ``gym.make_vec(id, num_envs=N, vectorization_mode="vector_entry_point")``
- single: ``gym.make(id)``, with Gymnasium's own wrappers
- first step: a fresh Python imports failgym, makes an environment, resets and steps once; cold with
  an empty cache of compiled code (once for each world), warm with a full one
- whole trace: Algorithm 1 through the Policy protocol, asked at every window of every task of known
  fate, on one core
- training: ``learn()`` of stable-baselines3 and sb3-contrib, which need the extra ``agents``
  (`experiments.training_speed`)
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import typer

from experiments.machine import cores, host, pin
from failgym.baselines import Algorithm1
from failgym.cli.output import Cell, JsonFile, print_line, print_table
from failgym.envs import FIELDS, SCENARIOS, resolve
from failgym.evaluation import run_policy, whole_trace_world
from failgym.traces import Trace

CARTPOLE = "CartPole-v1"
BATCHES = (64, 256)
"""Episodes of the batched environments."""
HOUR = 3_600_000
SETTINGS: dict[str, dict[str, Any]] = {
    "Mitigation-v1": {
        "load": 0.0,
        "machines": 1_000,
        "slots": 2,
        "jobs": 24_000,
        "sampling": 0.7,
        "longest": 6 * HOUR,
        "begin": 4 * HOUR,
        "slice_tasks": 2_048,
    },
}
"""Fields that are not as registered: Mitigation-v1 has 1,000 machines, and as many jobs an hour as
keep nine tenths of them busy; a slice in proportion, or the warm-up of a cluster of that size, some
2,800 tasks, would be most of what is measured."""
Decides = Literal["random", "replay"]
FIRST_STEP = """
import gymnasium, failgym
env = gymnasium.make({id!r}, **{fields!r})
env.reset(seed=0)
env.step(0)
"""
"""What a fresh Python runs for the time to the first step."""


def is_pinned(name: str) -> bool:
    """Is a scenario of the pinned world?"""
    return SCENARIOS[name.removeprefix("failgym/")].kind.independent


@dataclass(frozen=True)
class Target:
    """What the figures are held against."""

    pinned: float = 1e6
    """batched decisions per second in the pinned world, at least"""
    mitigation: float = 5e5
    """the same in Mitigation-v1, 64 episodes on 1,000 machines each"""
    dags: float = 2e5
    """the same in Lineage-v1 and Workflow-v1"""
    single: float = 8e4
    """steps per second in the pinned world, at least"""
    cold: float = 20.0
    """seconds to the first step in the pinned world, kernels compiled, at most"""
    warm: float = 1.5
    """seconds to the first step, kernels cached, at most"""
    whole_trace: float = 30.0
    """seconds, at most"""

    def batched(self, name: str) -> float:
        """Batched decisions per second of an environment, at least."""
        if is_pinned(name):
            return self.pinned
        return self.mitigation if name == "Mitigation-v1" else self.dags


@dataclass(frozen=True)
class Effort:
    """How much is measured."""

    runs: int = 5
    batched: int = 400_000
    """decisions per run"""
    single: int = 40_000
    """decisions per run"""
    environments: tuple[str, ...] = tuple(SCENARIOS)
    settings: dict[str, dict[str, Any]] = field(default_factory=lambda: SETTINGS)
    """by environment: fields of the scenario that are not as registered"""
    first: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    """the same for the time to the first step"""
    policy: Decides = "random"
    cold: bool = True
    """compile everything anew?"""

    @property
    def ids(self) -> list[str]:
        """Of the environments."""
        return [f"failgym/{name}" for name in self.environments]


TARGET = Target()
FEW: dict[str, dict[str, Any]] = {"GracePeriod-v1": {"jobs": 600}, "Workflow-v1": {"jobs": 80}}
QUICK = Effort(
    runs=1,
    batched=4_000,
    single=400,
    environments=tuple(FEW),
    settings=FEW,
    first=FEW,
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

    def by_processor(self, clock: float, processor: float) -> Sample:
        """The same in the processor's time, of a run that took so long by both [s]."""
        share = processor / clock
        return self._replace(policy=share * self.policy, env=share * self.env)

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

    def run(self, counted: bool) -> None:
        """Play once, in the processor's time."""
        begun = time.perf_counter(), time.process_time()
        sample = self.play()
        took = time.perf_counter() - begun[0], time.process_time() - begun[1]
        if counted:
            self.samples.append(sample.by_processor(*took))

    def beside(self, other: Subject) -> float:
        """The median of the ratios of its rate to another's, turn by turn."""
        pairs = zip(self.samples, other.samples, strict=True)
        return statistics.median(ours.rate / theirs.rate for ours, theirs in pairs)

    @property
    def ended(self) -> float:
        """Share of decisions that ended an episode."""
        return sum(s.ended for s in self.samples) / sum(s.decisions for s in self.samples)


def batched(env_id: str, episodes: int, effort: Effort) -> Subject:
    """The batched twin of a failgym environment."""
    settings = effort.settings.get(env_id.removeprefix("failgym/"), {})
    env = gym.make_vec(
        env_id,
        num_envs=episodes,
        vectorization_mode="vector_entry_point",
        autoreset_mode="SameStep",
        **settings,
    )
    rng = np.random.default_rng(0)
    info: dict[str, Any] = env.reset(seed=0)[1]
    still = np.zeros(episodes, dtype=np.int64)

    def choose(mask: npt.NDArray[np.int8]) -> npt.NDArray[np.int64]:
        if effort.policy == "replay":
            return still
        return (rng.random(mask.shape, np.float32) * mask).argmax(axis=1)

    def play() -> Sample:
        nonlocal info
        asked, ended, policy, stepping = 0, 0, 0.0, 0.0
        while asked < effort.batched:
            mask: npt.NDArray[np.int8] = info["action_mask"]
            asked += int((mask[:, 1:].max(axis=1) > 0).sum())
            begun = time.perf_counter()
            actions = choose(mask)
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


def single(env_id: str, effort: Effort) -> Subject:
    """An environment as `gym.make` makes it."""
    settings = effort.settings.get(env_id.removeprefix("failgym/"), {})
    env: gym.Env[Any, Any] = gym.make(env_id, **settings)
    rng = np.random.default_rng(0)
    anything = np.ones(2, dtype=np.int8)  # CartPole has no masks
    still = effort.policy == "replay" and env_id != CARTPOLE
    info = env.reset(seed=0)[1]

    def choose(draw: float) -> int:
        if still:
            return 0
        legal = info.get("action_mask", anything).nonzero()[0]
        return int(legal[int(draw * len(legal))])

    def play() -> Sample:
        nonlocal info
        draws: list[float] = rng.random(effort.single).tolist()
        ended, policy, stepping = 0, 0.0, 0.0
        for draw in draws:
            begun = time.perf_counter()
            action = choose(draw)
            chosen = time.perf_counter()
            _, _, terminated, truncated, info = env.step(action)
            if terminated or truncated:
                _, info = env.reset()
                ended += 1
            stepping += time.perf_counter() - chosen
            policy += chosen - begun
        return Sample(effort.single, ended, policy, stepping)

    return Subject(env_id, 1, play)


def subjects(effort: Effort) -> list[Subject]:
    """The environments and CartPole, batched and single."""
    return [
        *(batched(i, n, effort) for i in effort.ids for n in BATCHES),
        *(batched_cartpole(n, effort.batched) for n in BATCHES),
        *(single(i, effort) for i in effort.ids),
        single(CARTPOLE, effort),
    ]


def take_turns(measured: Sequence[Subject], runs: int) -> None:
    """Run all subjects in turn, after a round that is not counted."""
    for turn in range(runs + 1):
        for subject in measured:
            subject.run(counted=turn > 0)


def first_step(env_id: str, cache: Path | None, fields: dict[str, Any]) -> float:
    """Processor seconds from a fresh Python to a first step, with a cache of its own if given."""
    environment = dict(os.environ)
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = str(cache)
    command = [sys.executable, "-c", FIRST_STEP.format(id=env_id, fields=fields)]
    before = os.times()
    subprocess.run(command, env=environment, check=True)
    after = os.times()
    return sum(after[2:4]) - sum(before[2:4])


def start_times(env_id: str, effort: Effort, cold: bool) -> dict[str, float]:
    """Median seconds to the first step: warm, and cold where that is measured."""
    fields = effort.first.get(env_id.removeprefix("failgym/"), {})
    first_step(env_id, None, fields)  # fills the cache
    warm = [first_step(env_id, None, fields) for _ in range(effort.runs)]
    times = {"warm": statistics.median(warm)}
    if cold:
        with tempfile.TemporaryDirectory() as folder:
            times["cold"] = first_step(env_id, Path(folder), fields)
    return times


def all_start_times(effort: Effort) -> dict[str, dict[str, float]]:
    """Those of every environment; kernels are the same within a world, so compiled for one."""
    compiled: set[bool] = set()
    times: dict[str, dict[str, float]] = {}
    for env_id in effort.ids:
        cold = effort.cold and is_pinned(env_id) not in compiled
        times[env_id] = start_times(env_id, effort, cold)
        compiled.add(is_pinned(env_id))
    return times


def whole_trace(folder: Path, runs: int) -> dict[str, float]:
    """Algorithm 1 over a whole trace, asked at every window; medians, without loading."""
    scenario = resolve("Cloning-v1", {"decide": "every"})
    world = whole_trace_world(Trace.load(folder), scenario, known_only=True)
    few = np.arange(min(64, world.slices))
    run_policy(world, scenario, Algorithm1(), few, threads=1)  # compiles
    times: list[float] = []
    tasks = decisions = 0
    for _ in range(runs):
        begun = time.process_time()
        run = run_policy(world, scenario, Algorithm1(), threads=1)
        times.append(time.process_time() - begun)
        tasks, decisions = len(run.outcomes["task"]), run.decisions
    seconds = statistics.median(times)
    return {
        "tasks": tasks,
        "decisions": decisions,
        "seconds": seconds,
        "decisions_per_second": decisions / seconds,
        "tasks_per_second": tasks / seconds,
    }


def training_speed(effort: Effort, quick: bool) -> dict[str, Any]:
    """What `experiments.training_speed` measures, printed, and what to keep of it."""
    from experiments import training_speed

    return training_speed.report(
        training_speed.QUICK if quick else training_speed.Effort(runs=effort.runs)
    )


def figures(measured: Sequence[Subject]) -> list[dict[str, Any]]:
    """What is known of each subject, CartPole's of the same kind being the yardstick."""
    yardstick = {s.episodes: s for s in measured if s.id == CARTPOLE}
    return [
        {
            "id": s.id,
            "episodes": s.episodes,
            "decisions_per_second": s.median("rate"),
            "environment_alone": s.median("env_rate"),
            "ended": s.ended,
            "of_cartpole": s.beside(yardstick[s.episodes]),
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
    """The worst figure of each kind beside its target, where there is one."""
    own = [row for row in result["rates"] if row["id"] != CARTPOLE]
    rows: list[tuple[Cell, ...]] = []
    for name in dict.fromkeys(row["id"].removeprefix("failgym/") for row in own):
        many = [row for row in own if row["id"] == f"failgym/{name}" and row["episodes"] > 1]
        if name == "Mitigation-v1":
            many = [row for row in many if row["episodes"] == BATCHES[0]]
        slowest = min(row["decisions_per_second"] for row in many)
        target = f">= {TARGET.batched(name):,.0f}"
        rows.append((f"{name}, batched [decisions/s], slowest", round(slowest), target))
    pinned = [row for row in own if row["episodes"] == 1 and is_pinned(row["id"])]
    if pinned:
        one = min(row["decisions_per_second"] for row in pinned)
        rows.append(("single, pinned [steps/s], slowest", round(one), f">= {TARGET.single:,.0f}"))
    starts: dict[str, dict[str, float]] = result["first_step"]
    for kind, limit in (("warm", TARGET.warm), ("cold", TARGET.cold)):
        times = [by[kind] for i, by in starts.items() if kind in by and is_pinned(i)]
        if times:
            rows.append((f"first step, pinned, {kind} [s], slowest", max(times), f"< {limit:g}"))
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
    policy: Annotated[Decides, typer.Option(help="What decides.")] = "random",
    training: Annotated[
        bool, typer.Option("--training", help="Also train with stable-baselines3.")
    ] = False,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write as JSON.")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="One short run, to see that it works.")
    ] = False,
) -> None:
    """Measure how fast failgym is, beside CartPole."""
    file = JsonFile.at(json)
    effort = replace(QUICK, policy=policy) if quick else Effort(runs=runs, policy=policy)
    all_cores = cores()
    pin({max(all_cores)} if all_cores else set())
    measured = subjects(effort)
    take_turns(measured, effort.runs)
    rates = figures(measured)
    print_figures(rates, effort.runs)
    learned = training_speed(effort, quick) if training else {}
    starts = all_start_times(effort)
    whole = whole_trace(trace, effort.runs) if trace else {}
    result: dict[str, Any] = {
        "host": host(),
        "fields": len(FIELDS),
        "effort": asdict(effort),
        "rates": rates,
        "first_step": starts,
        "whole_trace": whole,
        "targets": asdict(TARGET),
        **learned,
    }
    print_table("Against the targets", ("", "measured", "target"), verdicts(result))
    if whole:
        print_line(
            f"whole trace: {whole['tasks']:,} tasks, {whole['decisions']:,} decisions,"
            f" {whole['decisions_per_second']:,.0f} decisions/s,"
            f" {whole['tasks_per_second']:,.0f} tasks/s"
        )
    print_line(", ".join(f"{name} {value}" for name, value in result["host"].items()))
    file.write(result)


if __name__ == "__main__":
    typer.run(main)
