"""Every baseline in every environment: the papers' policies in each other's worlds.

Claim
    None that is published: each paper measures its policies in its own world, with its own measure.
    Shown is the share of what doing nothing costs that a policy saves, in percent, by environment;
    it is negative where the policy does harm.

Kind and band
    New: printed, not judged.

Choices
    In each environment all decisions of its world are open, not only those of its paper, so that a
    policy for clones also meets the tasks of a paper on checkpoints: clone, checkpoint, kill, give
    up and retry in the pinned environments and in Mitigation-v1; what to save in Lineage-v1; where
    to place in Workflow-v1. A checkpoint and a restore take a minute each (Kumar et al. 2020, Table
    VIII). In the pinned environments a task gets one attempt more after its first failure, whether
    the policy starts it, as a retry or as a clone, or the cluster does because the policy has
    touched the task and does not retry (``restarts="limit"``): of what a second one adds next to
    nothing succeeds (El-Sayed et al. 2017, Fig. 6). Mitigation-v1 keeps its caps.

    Prices are those of the environment, and so is what a policy is good for: where completion time
    has no price, a clone cannot gain. The time of checkpoints costs as much as wasted work. The
    forecast of Checkpoint-v1 is its own, alarms without classes; that of the others, where tasks
    may be killed as well as cloned, has both. Checkpoint-v1 is asked every five minutes. Policies
    have the parameters of their sources.

    A generated trace per seed, smaller than the environment's own; in the pinned world all of its
    tasks, one by one, in the scheduled ones a few slices of its test split.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.reproduction import BEYOND, Experiment, Kind, Measured, Options, Row
from failgym.baselines import REGISTRY, Heuristic, Replay
from failgym.envs import SCENARIOS, Scenario
from failgym.evaluation import run_policy
from failgym.evaluation.progress import Advance
from failgym.vocabulary import MINUTE
from failgym.worlds.build import build_world

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENT", "PLACES", "Place", "measure", "policies"]

OPEN: dict[str, Any] = {
    **dict.fromkeys(("clone", "checkpoint", "kill", "give_up", "retry"), True),
    "max_extra": 1,
    "max_clones": 1,
    "restarts": "limit",
    "restart_limit": 1,
    "checkpoint_cost": MINUTE,
    "restore_cost": MINUTE,
}
"""What the pinned environments have in common here."""
QUICK_SHARE, QUICK_SHARE_SLICED = 0.2, 0.5
"""Of the jobs, in a quick run: where all tasks are looked at, and where slices are."""
EXTREME = 100.0
"""From where on colours do not change [%]."""


@dataclass(frozen=True)
class Place:
    """An environment, and how much of it is looked at."""

    env: str
    jobs: int
    slices: int = 0
    """of the test split; 0: every task of the trace, one by one"""
    fields: dict[str, Any] = field(default_factory=dict[str, Any])
    """of the scenario, changed"""

    def small(self) -> Place:
        """Less of it, for a quick run."""
        share = QUICK_SHARE_SLICED if self.slices else QUICK_SHARE
        return replace(self, jobs=int(self.jobs * share), slices=min(self.slices, 1))

    def scenario(self, seed: int) -> Scenario:
        """The environment on a trace of that seed."""
        plain = SCENARIOS[self.env]
        part: dict[str, Any] = {"split": "test"}
        if not self.slices:
            part = {"split": "all", "slice_tasks": 1, "weight_overhead": plain.weight_wasted}
        return plain.override(jobs=self.jobs, trace_seed=seed, seed=seed, **part, **self.fields)


PLACES = (
    Place("Cloning-v1", 1_000, fields=OPEN),
    Place("GracePeriod-v1", 800, fields=OPEN),
    Place(
        "Checkpoint-v1", 1_500, fields={**OPEN, "window": 5 * MINUTE, "forecast": "kumar_alarms"}
    ),
    Place("Mitigation-v1", 3_000, 2),
    Place("Lineage-v1", 20, 3),
    Place("Workflow-v1", 80, 1),
)


def policies(scenario: Scenario) -> Iterator[Heuristic]:
    """All baselines that are made for what may be decided."""
    for baseline in REGISTRY.values():
        if baseline is not Replay and baseline.compatible(scenario):
            yield baseline()


def savings(place: Place, scenario: Scenario) -> dict[str, float]:
    """Share of the cost of doing nothing that each policy saves [%]."""
    world = build_world(scenario)
    slices = np.arange(min(place.slices, world.slices)) if place.slices else None

    def cost(policy: Heuristic) -> float:
        run = run_policy(world, scenario, policy, slices, order=scenario.order, threads=1)
        return float(run.costs.sum())

    before = cost(Replay())
    return {p.name: 100.0 * (1.0 - cost(p) / before) for p in policies(scenario)}


def measure(options: Options, advance: Advance) -> Measured:
    """Every policy in every environment, on the same traces."""
    found: dict[tuple[str, str], list[float]] = {}
    for seed in range(options.seeds):
        for place in (each.small() if options.quick else each for each in PLACES):
            for policy, value in savings(place, place.scenario(seed)).items():
                found.setdefault((place.env, policy), []).append(value)
            advance(1)
    rows = tuple(Row.over(f"{env}: {policy}", values) for (env, policy), values in found.items())
    return Measured(rows, {row.name: row.ours for row in rows})


def draw(measured: Measured, figure: Figure) -> None:
    """The table in colours."""
    names = [name for name in REGISTRY if name != Replay.name]
    envs = [place.env for place in PLACES]
    table = np.array(
        [[measured.series.get(f"{env}: {name}", np.nan) for env in envs] for name in names]
    )
    figure.set_size_inches(7, 9)
    axes: Any = figure.subplots()
    axes.imshow(
        np.clip(table, -EXTREME, EXTREME), cmap="RdBu", vmin=-EXTREME, vmax=EXTREME, aspect="auto"
    )
    for (y, x), value in np.ndenumerate(table):
        if np.isfinite(value):
            colour = "white" if abs(value) > 0.6 * EXTREME else "black"
            text = f"{value:.0f}" if abs(value) >= 10.0 else f"{value:.1f}"
            axes.text(x, y, text, ha="center", va="center", color=colour, fontsize=8)
    axes.set_xticks(range(len(envs)), [env.rpartition("-v")[0] for env in envs], fontsize=8)
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set_title("saved, in % of what doing nothing costs")


EXPERIMENT = Experiment(
    paper=BEYOND,
    item="cross table",
    title="what each policy saves in each environment [%]",
    kind=Kind.NEW,
    measure=measure,
    draw=draw,
    seeds=5,
    steps=lambda options: options.seeds * len(PLACES),
)

if __name__ == "__main__":
    EXPERIMENT.command()
