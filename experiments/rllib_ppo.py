"""What RLlib's PPO learns in a few minutes, beside the heuristic of the paper.

    python -m experiments.rllib_ppo [--env ID ...] [--decisions 600000] [--traces 24]
                                    [--first 8000] [--out DIR] [--json FILE]

For each environment: PPO of RLlib's new API stack (`failgym.contrib.rllib`) on two env runners,
with what `BUDGETS` says; it begins with nothing but the biases of its actions. The clock runs from
the call until the policy file lies there. Two things are shown of it:

* RLlib's own evaluation of the test split and `failgym.evaluate` of the policy file, on the same
  slices: costs must be the same;
* the policy file against the heuristic of the paper, as published, on the test splits of traces
  that nobody has seen, paired (`experiments.agents_and_rules`).

What stands in FILE already is not trained again; with other ``--traces`` its policy file in DIR is
judged anew. It needs RLlib: run it in the environment ``build/clients-rllib`` of ``make clients``.
"""

# Ray annotates what it returns incompletely.
# pyright: reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from experiments.agents_and_rules import compared, places, text
from experiments.measured_worlds import world_of
from experiments.three_minutes import PAPERS
from failgym import evaluate
from failgym.agents import load_agent
from failgym.baselines import REGISTRY
from failgym.cli.output import Cell, JsonFile, print_line, print_table
from failgym.contrib import rllib
from failgym.contrib.rllib import Shaping, settings_of
from failgym.envs import Scenario, resolve
from failgym.evaluation.progress import silent
from failgym.leaderboard.statistics.bootstrap import Estimate
from failgym.policy import Policy

HIDDEN = ("system", "request", "usage")
"""Fields that tell jobs of one trace apart, as in ``agents/settings``."""
TRAINED_ON: dict[str, Any] = {"jobs": 60_000, "trace_seed": 100}
"""The trace, as in ``agents/settings``."""
UNSEEN_JOBS = 20_000
"""Of each trace that nobody has seen."""
PROCESSES = 4
"""Of Ray: the learner, two env runners, one that evaluates."""


@dataclass(frozen=True)
class Budget:
    """How an agent is trained."""

    shaping: Shaping
    initial_bias: tuple[float, ...]
    """of CONTINUE, CLONE, CHECKPOINT, KILL, RETRY"""
    evaluated_jobs: int
    """of the registered environment, with fewer jobs, that RLlib evaluates: it plays one episode at
    a time, a thousand decisions a second"""


BUDGETS = {
    # A retry gains on most failures, and a clone on few: it begins with neither ruled out.
    "Cloning-v1": Budget(
        Shaping(reference="replay", stakes=("CLONE", "RETRY")), (0.0, -3.0, 0.0, -3.0, 0.0), 50_000
    ),
    "GracePeriod-v1": Budget(Shaping(stakes=("KILL",)), (0.0, 0.0, 0.0, -3.0, 0.0), 5_000),
}


@dataclass(frozen=True)
class Row:
    """A training run."""

    env: str
    world: str
    """digest of the environment (`experiments.measured_worlds`)"""
    seed: int
    decisions: int
    seconds: float
    """until the policy file was there, worlds and processes included"""
    decisions_per_second: float
    """of the iterations alone"""
    slices: int
    """of the test split that RLlib evaluates"""
    rllib_cost: float
    """of all these slices, by RLlib's own evaluation"""
    cost: float
    """by `failgym.evaluate` of the policy file"""
    score: float
    """of the policy file on these slices"""
    traces: int
    """that nobody has seen"""
    unseen_slices: int
    agent: float
    """score on unseen traces"""
    rule: str
    rule_score: Estimate
    above: Estimate
    """agent less rule, over the same slices"""


def run(env: str, decisions: int, seed: int, traces: int, first: int, out: Path) -> Row:
    """Train an agent, let RLlib and failgym evaluate it, and hold it against the heuristic."""
    scenario, budget, begun = resolve(env), BUDGETS[resolve(env).name], time.perf_counter()
    settings = settings_of(env, without=HIDDEN, shaping=budget.shaping, **TRAINED_ON)
    config = rllib.ppo_config(
        settings, decisions=decisions, initial_bias=budget.initial_bias, seed=seed
    )
    slices = rllib.evaluated_on(config, env, jobs=budget.evaluated_jobs)
    algorithm = config.build_algo()
    learning, sampled = time.perf_counter(), 0
    while sampled < decisions:
        result = algorithm.train()["env_runners"]
        sampled = int(result["num_env_steps_sampled_lifetime"])
        seconds = time.perf_counter() - learning
        print_line(
            f"{scenario.name}: {sampled:,} decisions, {seconds:.0f} s,"
            f" return {result['episode_return_mean']:.3f}"
        )
    speed = sampled / (time.perf_counter() - learning)
    file = policy_file(out, scenario, seed)
    command = f"python -m experiments.rllib_ppo --env {env} --decisions {decisions}"
    rllib.save_agent(algorithm, file, command=command)
    seconds = time.perf_counter() - begun
    theirs: Any = algorithm.evaluate()["env_runners"]
    algorithm.stop()
    agent = load_agent(file)
    ours = evaluate(agent, env, jobs=budget.evaluated_jobs)
    return Row(
        *(scenario.name, world_of(env), seed, sampled, seconds, speed, slices),
        *(-theirs["episode_return_mean"] * slices, ours.cost, ours.score),
        **judged(scenario, agent, traces, first),
    )


def judged(scenario: Scenario, agent: Policy, traces: int, first: int) -> dict[str, Any]:
    """An agent against the heuristic of the paper, on traces that nobody has seen."""
    rule = PAPERS[scenario.name]
    unseen = places(scenario.override(jobs=UNSEEN_JOBS), traces, first)[-1]
    found = compared(unseen, {"agent": agent}, {rule: REGISTRY[rule]()}, silent)
    return {
        "traces": traces,
        "unseen_slices": found.slices,
        "agent": found.runs["agent"],
        "rule": rule,
        "rule_score": found.rule_score,
        "above": found.above,
    }


def policy_file(out: Path, scenario: Scenario, seed: int) -> Path:
    """Where the agent of a training run is kept."""
    return out / f"{scenario.name}-{seed}.safetensors"


def begin_ray() -> bool:
    """Begin a cluster of our own, which ends with this process; True."""
    import ray

    ray.init(address="local", num_cpus=PROCESSES, include_dashboard=False, log_to_driver=False)
    return True


def done_before(file: Path | None) -> list[Row]:
    """Rows that stand in a file already. Raises ValueError if it holds something else."""
    if file is None or not file.is_file() or not file.stat().st_size:
        return []
    try:
        return [of_json(row) for row in json.loads(file.read_text("utf-8"))]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{file}: expected what this experiment wrote: {error}") from error


def of_json(row: dict[str, Any]) -> Row:
    """A row as `asdict` and JSON have left it."""
    estimates: dict[str, Any] = {n: Estimate(*row[n]) for n in ("rule_score", "above")}
    return Row(**{**row, **estimates})


def show(rows: list[Row]) -> None:
    """Print the table."""
    cells: list[tuple[Cell, ...]] = [
        (
            *(row.env, row.seed, f"{row.decisions:,}", round(row.seconds)),
            *(f"{row.rllib_cost:.6f}", f"{row.cost:.6f}", round(row.agent, 1)),
            *(row.rule, text(row.rule_score), text(row.above)),
        )
        for row in rows
    ]
    columns = (
        *("environment", "seed", "decisions", "seconds", "cost by RLlib", "by evaluate"),
        *("agent, unseen", "heuristic", "unseen", "above it"),
    )
    print_table("PPO of RLlib", columns, cells)


def main(
    env: Annotated[
        list[str] | None, typer.Option("--env", metavar="ID", help="Repeatable; both by default.")
    ] = None,
    decisions: Annotated[int, typer.Option(min=1, help="To train on.")] = 600_000,
    seed: Annotated[int, typer.Option(min=0, help="Of the training run.")] = 0,
    traces: Annotated[int, typer.Option(min=1, help="Traces that nobody has seen.")] = 24,
    first: Annotated[int, typer.Option(min=0, help="Seed of the first of them.")] = 8_000,
    out: Annotated[Path, typer.Option(help="Folder of the policy files.")] = Path("rllib-agents"),
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write it there.")] = None,
) -> None:
    """Train with RLlib, and compare."""
    file, rows = JsonFile.at(json_file), done_before(json_file)
    names = env or [f"failgym/{name}" for name in BUDGETS]
    for name in names:
        if resolve(name).name not in BUDGETS:
            raise typer.BadParameter(f"expected one of {', '.join(BUDGETS)}", param_hint="--env")
    out.mkdir(parents=True, exist_ok=True)
    with_ray = False
    for name in names:
        scenario, known = resolve(name), {(r.env, r.world, r.seed): r for r in rows}
        row = known.get((scenario.name, world_of(name), seed))
        if row is not None and row.traces == traces:
            continue
        if row is not None:
            rows.remove(row)
            agent = load_agent(policy_file(out, scenario, seed))
            row = replace(row, **judged(scenario, agent, traces, first))
        else:
            with_ray = with_ray or begin_ray()
            row = run(name, decisions, seed, traces, first, out)
        rows.append(row)
        file.write([asdict(row) for row in rows])
    show(rows)


if __name__ == "__main__":
    typer.run(main)
