"""How many decisions a second the agents that come with failgym make.

    OMP_NUM_THREADS=1 python -m experiments.agent_speed [--size 128 ...] [--rounds 7] [--json FILE]

The first training run of each kind in each environment plays its test split, and what it is asked
there is kept: decisions of tasks, as on a leaderboard. It is then asked as many of these at once as
`--size` says, again and again. Figures are medians over rounds, of processor time;
that the observation is read and the answer checked is not in them.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer

from experiments.measured_worlds import world_of
from experiments.zoo import ZOO
from failgym.agents import load_agent
from failgym.cli.output import JsonFile, print_table
from failgym.envs import SCENARIOS
from failgym.evaluation import Anchors

FIRST = "*-0.safetensors"
MOST = 32_768
"""Decisions of an agent are kept until there are so many; so many are asked in a round, at most."""
SLICES = 2
"""That are played to hear what it is asked."""


@dataclass
class Heard:
    """Answers as an agent does, and keeps what it was asked."""

    agent: Any
    observations: list[npt.NDArray[np.float32]] = field(default_factory=list[Any])
    masks: list[npt.NDArray[np.bool_]] = field(default_factory=list[Any])

    def predict(
        self, observation: npt.NDArray[np.float32], state: Any = None, **more: Any
    ) -> tuple[Any, Any]:
        """See `failgym.policy.Policy`."""
        if sum(map(len, self.observations)) < MOST:
            self.observations.append(observation.copy())
            self.masks.append(more["action_masks"].copy())
        return self.agent.predict(observation, state=state, **more)


def rate(agent: Any, heard: Heard, size: int, rounds: int) -> float:
    """Decisions per second of processor time, asked so many at once."""
    asked, masks = (np.concatenate(one) for one in (heard.observations, heard.masks))
    rng, speeds = np.random.default_rng(0), list[float]()
    for _ in range(rounds):
        calls = max(1, min(64, MOST // size))  # once at least
        rows = [rng.integers(0, len(asked), size) for _ in range(calls)]
        given = [(asked[some], masks[some]) for some in rows]
        begun = time.process_time()
        for observation, mask in given:
            agent.predict(observation, action_masks=mask)
        speeds.append(calls * size / (time.process_time() - begun))
    return statistics.median(speeds)


def measured(sizes: list[int], rounds: int) -> Iterator[dict[str, Any]]:
    """A row for each agent."""
    for env in SCENARIOS:
        place = Anchors.of(env, split="test", episodes=SLICES)
        for file in sorted((ZOO / env).glob(FIRST)):
            agent: Any = load_agent(file).playing_by(place.scenario)
            heard = Heard(agent)
            place.run(heard, threads=1)
            yield {
                "env": env,
                "world": world_of(env),
                "agent": file.stem.rpartition("-")[0],
                "rates": {str(size): rate(agent, heard, size, rounds) for size in sizes},
            }


def main(
    size: Annotated[
        list[int] | None, typer.Option(min=1, help="Asked at once; repeatable.")
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds.")] = 7,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write as JSON.")] = None,
) -> None:
    """Measure how fast agents answer."""
    file, sizes = JsonFile.at(json), size or [1, 128, 8_192]
    rows = list(measured(sizes, rounds))
    print_table(
        "decisions per second of one core",
        ("", "agent", *(f"{each:,} at once" for each in sizes)),
        [
            (row["env"], row["agent"], *(f"{row['rates'][str(each)]:,.0f}" for each in sizes))
            for row in rows
        ],
    )
    file.write(rows)


if __name__ == "__main__":
    typer.run(main)
