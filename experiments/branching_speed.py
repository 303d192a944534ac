"""How many answers a second branching tries: copies played to their end with CONTINUE.

    python -m experiments.branching_speed [--episodes 1024] [--rounds 15] [--json FILE]

In each pinned environment, with slices of one task (as agents train) on one thread. Between two
rounds the episodes go on by a random legal action, whose time does not count; ends begin anew.
Figures are medians over rounds, of processor time. The costs are those that copies stepped by the
engine end with, to the bit (`tests/test_counterfactual.py`).
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from failgym.cli.output import JsonFile, print_table
from failgym.envs import MitigationVectorEnv

ENVIRONMENTS = ("Cloning-v1", "GracePeriod-v1", "Checkpoint-v1")


def measured(env_id: str, episodes: int, rounds: int, **fields: Any) -> dict[str, Any]:
    """Answers tried per second of processor time, and per decision."""
    env = MitigationVectorEnv(env_id, episodes, autoreset_mode="SameStep", slice_tasks=1, **fields)
    env.reset(seed=0)
    env.batch.branched()  # compiles
    rng = np.random.default_rng(0)
    speeds: list[float] = []
    tried = 0
    for _ in range(rounds):
        answers = int(env.action_masks().sum())
        begun = time.process_time()
        env.batch.branched()
        speeds.append(answers / (time.process_time() - begun))
        tried += answers
        chances = rng.random((episodes, 5)) * env.action_masks()
        env.step(chances.argmax(axis=1))
    return {
        "env": env_id,
        "branches_per_second": statistics.median(speeds),
        "answers_per_decision": tried / (rounds * episodes),
    }


def main(
    episodes: Annotated[int, typer.Option(min=1, help="Decisions of a round.")] = 1_024,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds.")] = 15,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write as JSON.")] = None,
) -> None:
    """Measure how fast answers are tried."""
    file = JsonFile.at(json)
    rows = [measured(env_id, episodes, rounds) for env_id in ENVIRONMENTS]
    print_table(
        "answers tried per second of one core",
        ("", "branches/s", "answers per decision"),
        [
            (r["env"], f"{r['branches_per_second']:,.0f}", f"{r['answers_per_decision']:.2f}")
            for r in rows
        ],
    )
    file.write({"episodes": episodes, "rounds": rounds, "rows": rows})


if __name__ == "__main__":
    typer.run(main)
