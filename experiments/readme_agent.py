"""What the agent of the README scores: its lines, run as they are printed, once for each seed.

    python -m experiments.readme_agent --json experiments/measured/readme_agent.json [--seeds 3]
    python -m experiments.readme  # writes it into the README

The rule of the paper, `grace_period`, plays the same slices. Seeds that the file has are not run
again. torch has one thread: with others sums are rounded in another order, and the agent is
another. Seconds are wall time of all the lines, so run it where nothing else does.
"""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import torch
import typer

import failgym
from experiments.machine import host
from failgym.baselines import GracePeriod
from failgym.files import replacing

README = Path(__file__).parents[1] / "README.md"
LEARNS = "model.learn("
"""In the block of code that trains."""
RULE = "grace_period"


def training_code() -> str:
    """The block of the README that trains an agent. Raises ValueError without exactly one."""
    blocks: list[str] = re.findall(
        r"^```python\n(.*?)^```$", README.read_text("utf-8"), re.M | re.S
    )
    found = [block for block in blocks if LEARNS in block]
    if len(found) != 1:
        raise ValueError(f"README.md: expected one block with {LEARNS}, got {len(found)}")
    return found[0]


def judged_on(code: str) -> tuple[str, dict[str, Any]]:
    """The environment, and the fields that `failgym.evaluate` is given."""
    (name,) = re.findall(r'^name = "(.+)"$', code, re.M)
    (given,) = re.findall(r"evaluate\(model, name, (.+)\)", code)
    return name, {key: int(value) for key, value in re.findall(r"(\w+)=(\d[\d_]*)", given)}


def trained(code: str, seed: int) -> dict[str, Any]:
    """Run the lines with another seed; score, interval and seconds."""
    lines = re.sub(r"\bseed=0\b", f"seed={seed}", code)
    here, begun = Path.cwd(), time.perf_counter()
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            names: dict[str, Any] = {"__name__": "__main__"}
            exec(compile(lines, "README.md", "exec"), names)  # noqa: S102 - our own page
        finally:
            os.chdir(here)
    seconds = time.perf_counter() - begun
    return {"seed": seed, **figures(names["result"]), "seconds": round(seconds)}


def figures(result: failgym.evaluation.Evaluation) -> dict[str, float]:
    """Score and interval of an evaluation."""
    return {"score": result.score, "low": result.low, "high": result.high}


def main(
    file: Annotated[Path, typer.Option("--json", metavar="FILE", help="Where figures are kept.")],
    seeds: Annotated[int, typer.Option(min=1, help="Seeds 0, 1, 2, ...")] = 3,
) -> None:
    """Train the agent of the README with several seeds, and score it beside the paper's rule."""
    code = training_code()
    known: dict[str, Any] = json.loads(file.read_text("utf-8")) if file.exists() else {}
    if known.get("code") != code:
        known = {"code": code, "machine": host(), "agents": []}
    torch.set_num_threads(1)
    name, fields = judged_on(code)
    if "rule" not in known:
        rule = failgym.evaluate(GracePeriod(), name, **fields)
        known["rule"] = {"policy": RULE, **figures(rule)}
    for seed in range(len(known["agents"]), seeds):
        known["agents"].append(trained(code, seed))
        with replacing(file) as partial:
            partial.write_text(json.dumps(known, indent=1) + "\n", "utf-8")
        print(known["agents"][-1], flush=True)


if __name__ == "__main__":
    typer.run(main)
