"""What it costs that a batched environment hands out copies.

    python -m experiments.copy_speed [--env ID] [--steps 400] [--rounds 15] [--json FILE]

For 64, 256 and 1,024 episodes: steps per second of processor time of `MitigationVectorEnv` as it
is, with ``copy=False``, and of its `answer`, which makes no infos: what `make_sb3_env` uses. The
three take turns, a block of steps each; figures are medians over rounds, and shares medians of the
shares of one round. Random legal actions, whose time does not count; ends begin anew in the same
step.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer

from failgym.cli.output import Cell, JsonFile, print_table
from failgym.envs import MitigationVectorEnv

EPISODES = (64, 256, 1_024)
WAYS = ("copies", "copy=False", "answer")


def seconds_of_step(env: MitigationVectorEnv, answer: bool) -> Callable[[int], float]:
    """A function that makes so many steps and returns the seconds of a step."""
    rng = np.random.default_rng(0)
    env.reset(seed=0)
    step: Callable[[npt.NDArray[np.int64]], Any] = env.answer if answer else env.step

    def steps(count: int) -> float:
        spent = 0.0
        for _ in range(count):
            chances = rng.random((env.num_envs, 5), np.float32) * env.action_masks()
            actions = chances.argmax(axis=1)
            begun = time.process_time()
            step(actions)
            spent += time.process_time() - begun
        return spent / count

    return steps


def measured(env_id: str, episodes: int, steps: int, rounds: int) -> dict[str, Any]:
    """Steps per second of each way, and their shares of what no infos make."""
    ways = [
        seconds_of_step(
            MitigationVectorEnv(env_id, episodes, copy=way == "copies", autoreset_mode="SameStep"),
            answer=way == "answer",
        )
        for way in WAYS
    ]
    for way in ways:
        way(max(1, steps // 10))  # warms up
    times = [[way(steps) for way in ways] for _ in range(rounds)]
    return {
        "episodes": episodes,
        "steps_per_second": {
            name: 1.0 / statistics.median(row[i] for row in times) for i, name in enumerate(WAYS)
        },
        "copies_of_copy_false": statistics.median(row[1] / row[0] for row in times),
        "copies_of_answer": statistics.median(row[2] / row[0] for row in times),
    }


def main(
    env: Annotated[str, typer.Option(metavar="ID", help="The environment.")] = "Cloning-v0",
    steps: Annotated[int, typer.Option(min=1, help="Steps of a block.")] = 400,
    rounds: Annotated[int, typer.Option(min=1, help="Blocks of each.")] = 15,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write as JSON.")] = None,
) -> None:
    """Measure what copies cost."""
    file = JsonFile.at(json)
    rows = [measured(env, episodes, steps, rounds) for episodes in EPISODES]
    cells: list[tuple[Cell, ...]] = [
        (
            row["episodes"],
            *(f"{row['steps_per_second'][name]:,.0f}" for name in WAYS),
            f"{row['copies_of_copy_false']:.2f}",
            f"{row['copies_of_answer']:.2f}",
        )
        for row in rows
    ]
    shares = ("copies /\ncopy=False", "copies /\nanswer")
    print_table(f"{env}: steps/s of processor time", ("episodes", *WAYS, *shares), cells)
    file.write({"env": env, "rows": rows})


if __name__ == "__main__":
    typer.run(main)
