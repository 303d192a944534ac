"""Heuristics tuned on the very traces that the agents of failgym learn from.

    python -m experiments.tuned_large [--trials 30] [--slices 300] [--env ID ...]
                                      [--policy NAME ...]

`experiments.tuned` searches on the registered environments, whose traces are small. Agents learn
from larger ones of other seeds (``env`` in ``agents/settings/<environment>/maskable_ppo.yaml``).
So that `experiments.agents_and_rules` compares like with like, heuristics are tuned on those too:
variants are tried on slices of the part that agents are trained on, and adopted if they prove
better on the part that agents are chosen by. (Those of GracePeriod-v0 were found on a trace of
100,000 jobs, seed 100, from which its agents learn no longer.) What is found lies in
``experiments/tuned_large/<environment>/<policy>.json``, the trials beside it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments.agents_and_rules import NO_RULES, TUNED_LARGE
from experiments.tuned import trained
from experiments.zoo import ALGORITHM
from failgym.agents.algorithms.settings_files import settings_for
from failgym.baselines import REGISTRY
from failgym.baselines.search import search_space
from failgym.cli.output import interactive, print_line
from failgym.envs import SCENARIOS, resolve
from failgym.evaluation.progress import progress_bar
from failgym.tuning import Grounds


def main(
    trials: Annotated[int, typer.Option(min=1, help="Sets of parameters for each.")] = 30,
    slices: Annotated[int, typer.Option(min=1, help="Drawn to try each set on.")] = 300,
    env: Annotated[
        list[str] | None, typer.Option("--env", metavar="ID", help="Repeatable; all by default.")
    ] = None,
    policy: Annotated[
        list[str] | None, typer.Option("--policy", metavar="NAME", help="Repeatable; all of them.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Where what is found lies.")] = TUNED_LARGE,
) -> None:
    """Tune every heuristic on the traces that agents learn from."""
    for scenario in [resolve(name) for name in env] if env else SCENARIOS.values():
        larger = settings_for(ALGORITHM, scenario.name).env
        if larger is None:
            print_line(f"{scenario.name}: its agents learn from the registered trace")
            continue
        learned = scenario.override(**larger)
        grounds = Grounds.of(learned, episodes=slices)
        kinds = [k for k in REGISTRY.values() if k.compatible(scenario) and search_space(k)]
        kinds = [kind for kind in kinds if kind.name in (policy or REGISTRY.keys() - NO_RULES)]
        with progress_bar(scenario.name, trials * len(kinds), interactive()) as advance:
            for kind in kinds:
                found = trained(kind, grounds, trials, out, advance)
                said = "adopted" if found.adopted else "as published"
                print_line(f"{scenario.name}, {kind.name}: {said}, {found.best.value:.1f}")


if __name__ == "__main__":
    typer.run(main)
