"""What it costs that a batched environment hands out copies, or selected fields.

    python -m experiments.copy_speed [--env ID] [--steps 400] [--rounds 15] [--json FILE]

For 64, 256 and 1,024 episodes: steps per second of processor time of `MitigationVectorEnv` as it
is, with ``copy=False``, of its `answer`, which makes no infos, and of that with the fields that can
vary (`VectorSelectFields`): what `make_sb3_env` uses, showing all fields or these. The four take
turns, a block of steps each; figures are medians over rounds, and shares medians of the
shares of one round. Random legal actions, whose time does not count; ends begin anew in the same
step.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, cast

import numpy as np
import numpy.typing as npt
import typer

from failgym.cli.output import Cell, JsonFile, print_table
from failgym.envs import MitigationVectorEnv, VectorSelectFields

EPISODES = (64, 256, 1_024)
WAYS = ("copies", "copy=False", "answer", "selected")


def stepped(env: MitigationVectorEnv, way: str) -> Callable[[npt.NDArray[np.int64]], Any]:
    """What makes a step in one of the ways."""
    shown = VectorSelectFields(cast(Any, env)).shown
    ways: dict[str, Callable[[npt.NDArray[np.int64]], Any]] = {
        "answer": env.answer,
        "selected": lambda actions: shown(env.answer(actions).obs),
    }
    return ways.get(way, env.step)


def seconds_of_step(env: MitigationVectorEnv, way: str) -> Callable[[int], float]:
    """A function that makes so many steps and returns the seconds of a step."""
    rng = np.random.default_rng(0)
    env.reset(seed=0)
    step = stepped(env, way)

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


def measured(
    env_id: str, episodes: int, steps: int, rounds: int, fields: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Steps per second of each way, and their shares of what no infos make."""
    ways = [
        seconds_of_step(
            MitigationVectorEnv(
                *(env_id, episodes),
                copy=way == "copies",
                autoreset_mode="SameStep",
                **(fields or {}),
            ),
            way,
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
        "selected_of_answer": statistics.median(row[2] / row[3] for row in times),
    }


def main(
    env: Annotated[str, typer.Option(metavar="ID", help="The environment.")] = "Cloning-v1",
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
            f"{row['selected_of_answer']:.2f}",
        )
        for row in rows
    ]
    shares = ("copies /\ncopy=False", "copies /\nanswer", "selected /\nanswer")
    print_table(f"{env}: steps/s of processor time", ("episodes", *WAYS, *shares), cells)
    file.write({"env": env, "rows": rows})


if __name__ == "__main__":
    typer.run(main)
