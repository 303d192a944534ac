"""How fast stable-baselines3 trains on failgym, beside CartPole through the same adapter.

    python -m experiments.training_speed [--runs 5] [--seconds 2] [--json FILE] [--quick]
        [--algorithm NAME ...] [--env NAME ...] [--episodes N ...]
    python -m experiments.speed --training

``learn()`` of PPO and of sb3-contrib's MaskablePPO, on one core, with `SETTINGS` for all. All
subjects learn in turn, a little at a time, so that what else the machine does falls on all of them;
figures are medians over these turns, ratios medians of the ratios within a turn. CartPole is
Gymnasium's batched numpy twin behind the same `BatchedVecEnv`.

CartPole observes four numbers where a learner is shown some sixty of failgym, for which networks,
buffers and minibatches pay, in no environment. So there is a second yardstick, "padded": CartPole
with zeros after its four numbers, as many as there are fields that can vary in the environment, and
with as many actions, so that its networks have the same shape.

The share of the environment is the time in `BatchedVecEnv.step` and `env_method`: the engine, its
dicts and its masks. Processor time counts what the process itself has used, and is steadier than
the clock where others use the same cores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer

from experiments.machine import cores, host, pin
from experiments.training_subjects import CARTPOLE, SETTINGS, Subject, padded, subject
from failgym.cli.output import Cell, JsonFile, print_line, print_table

SUBJECTS = ("Cloning-v1", "Mitigation-v1")
ALGORITHMS = ("PPO", "MaskablePPO")
BATCHES = (32, 256, 1024)
"""Episodes at once."""
CENTRAL = ("MaskablePPO", "Cloning-v1", 256)
"""What is held against padded CartPole."""


@dataclass(frozen=True)
class Target:
    """What the figures are held against."""

    of_cartpole: float = 0.85
    """share of CartPole's steps per second at 32 and 256 episodes, at least"""
    largest: float = 50_000.0
    """steps per second at 1,024 episodes, at least"""
    environment: float = 0.10
    """share of the time spent in the environment, at most"""
    of_padded: float = 0.90
    """share of padded CartPole's steps per processor second, of `CENTRAL`, at least"""
    central_environment: float = 0.12
    """share of the time of `CENTRAL` spent in the environment, at most"""


@dataclass(frozen=True)
class Effort:
    """How much is measured."""

    runs: int = 5
    seconds: float = 2.0
    """of a turn of a subject, at least"""
    batches: tuple[int, ...] = BATCHES
    algorithms: tuple[str, ...] = ALGORITHMS
    subjects: tuple[str, ...] = SUBJECTS
    settings: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    """by environment: fields of the scenario that are not as registered"""


TARGET = Target()
QUICK = Effort(
    runs=1,
    seconds=0.01,
    batches=(4,),
    settings={
        "Cloning-v1": {"jobs": 600},
        "Mitigation-v1": {"jobs": 600, "slice_tasks": 4, "sampling": 0.02, "begin": 0, "slots": 2},
    },
)
"""Enough to see that everything runs; the figures mean nothing."""


def measure(effort: Effort) -> list[dict[str, Any]]:
    """Let every algorithm learn on every environment, in turns; the figures of each."""
    import torch

    torch.set_num_threads(1)
    subjects = [
        subject(algorithm, name, episodes, effort.settings.get(name, {}))
        for algorithm in effort.algorithms
        for episodes in effort.batches
        for name in (*effort.subjects, CARTPOLE, *map(padded, effort.subjects))
    ]
    for turn in range(effort.runs + 1):
        for one in subjects:
            sample = one.learn(effort.seconds)
            if turn:  # the first round compiles and fills caches
                one.samples.append(sample)
    return figures(subjects)


def figures(measured: Sequence[Subject]) -> list[dict[str, Any]]:
    """What is known of each subject, beside both yardsticks of the same algorithm and size.

    A yardstick has no padded one of its own.
    """
    by = {(s.algorithm, s.env, s.episodes): s for s in measured}
    rows: list[dict[str, Any]] = []
    for s in measured:
        plain = by[s.algorithm, CARTPOLE, s.episodes]
        wide = by.get((s.algorithm, padded(s.env), s.episodes))
        rows.append(
            {
                **{"algorithm": s.algorithm, "env": s.env, "episodes": s.episodes},
                "fields": s.fields,
                "steps_per_second": s.median("rate"),
                "steps_per_processor_second": s.median("processor_rate"),
                "environment": s.median("share"),
                "of_cartpole": s.ratio(plain, "rate"),
                "of_cartpole_processor": s.ratio(plain, "processor_rate"),
                "of_padded_processor": None if wide is None else s.ratio(wide, "processor_rate"),
            }
        )
    return rows


def print_figures(rows: Sequence[dict[str, Any]], runs: int) -> None:
    """The table of rates."""
    names = ("steps_per_second", "steps_per_processor_second")
    ratios = ("of_cartpole", "of_cartpole_processor", "of_padded_processor")
    cells: list[tuple[Cell, ...]] = [
        (
            *(row[name] for name in ("algorithm", "env", "episodes", "fields")),
            *(round(row[name]) for name in names),
            *(row["environment"], *("-" if row[r] is None else row[r] for r in ratios)),
        )
        for row in rows
    ]
    columns = (
        *("algorithm", "environment", "episodes", "fields"),
        *("steps/s", "per second\nof processor"),
        *("in the\nenvironment", "CartPole's\n= 1", "the same,\nprocessor", "padded\n= 1"),
    )
    title = f"learn(), one core, median of {runs}"
    print_table(title, columns, cells, frozenset({"in the\nenvironment"}))


def verdicts(rows: Sequence[dict[str, Any]]) -> list[tuple[Cell, ...]]:
    """The worst figure of each kind beside its target."""
    own = [row for row in rows if row["env"] in SUBJECTS]
    lines: list[tuple[Cell, ...]] = []
    for episodes in dict.fromkeys(row["episodes"] for row in own):
        some = [row for row in own if row["episodes"] == episodes]
        if episodes == max(BATCHES):
            slowest = min(row["steps_per_second"] for row in some)
            lines.append((f"learn() of {episodes} [steps/s]", round(slowest), TARGET.largest))
        else:
            least = min(row["of_cartpole"] for row in some)
            lines.append((f"learn() of {episodes}, CartPole's = 1", least, TARGET.of_cartpole))
        most = max(row["environment"] for row in some)
        name = f"learn() of {episodes}, share of the environment"
        lines.append((name, most, f"< {TARGET.environment:g}"))
    for row in own:
        if (row["algorithm"], row["env"], row["episodes"]) == CENTRAL:
            name = " ".join(map(str, CENTRAL))
            share = row["of_padded_processor"]
            lines.append((f"{name}, padded CartPole's = 1", share, f">= {TARGET.of_padded:g}"))
            most = f"<= {TARGET.central_environment:g}"
            lines.append((f"{name}, share of the environment", row["environment"], most))
    return lines


def report(effort: Effort) -> dict[str, Any]:
    """Measure and print; what is worth keeping."""
    rows = measure(effort)
    print_figures(rows, effort.runs)
    print_table("Training against the targets", ("", "measured", "target"), verdicts(rows))
    packages = {name: version(name) for name in ("stable-baselines3", "sb3-contrib", "torch")}
    print_line(", ".join(f"{name} {value}" for name, value in packages.items()))
    return {
        "training": rows,
        "training_packages": packages,
        "training_settings": SETTINGS,
        "training_effort": asdict(effort),
        "training_targets": asdict(TARGET),
    }


def main(
    runs: Annotated[int, typer.Option(min=1, help="Turns of which medians are taken.")] = 5,
    seconds: Annotated[float, typer.Option(min=0.0, help="Of a turn of each subject.")] = 2.0,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write as JSON.")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="One short run, to see that it works.")
    ] = False,
    algorithm: Annotated[list[str] | None, typer.Option(help="Repeatable.")] = None,
    env: Annotated[list[str] | None, typer.Option(help="Repeatable.")] = None,
    episodes: Annotated[list[int] | None, typer.Option(help="At once; repeatable.")] = None,
) -> None:
    """Measure how fast stable-baselines3 trains on failgym, beside CartPole."""
    file = JsonFile.at(json)
    asked = tuple(episodes or BATCHES), tuple(algorithm or ALGORITHMS), tuple(env or SUBJECTS)
    effort = QUICK if quick else Effort(runs, seconds, *asked)
    pin(set(sorted(cores())[-1:]))
    file.write({"host": host(), **report(effort)})


if __name__ == "__main__":
    typer.run(main)
