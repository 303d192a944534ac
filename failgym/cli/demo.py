"""`failgym demo`: every baseline in every environment it is made for."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from failgym.cli.options import Json, Seed
from failgym.cli.output import JsonFile, print_line

__all__ = ["demo"]

Episodes = Annotated[
    int | None,
    typer.Option(help="Number of slices per environment. By default all of the test split."),
]


def demo(json: Json = None, episodes: Episodes = None, seed: Seed = 0) -> None:
    """Compare all baselines on the built-in traces: one table per environment."""
    from failgym.baselines import REGISTRY, Replay
    from failgym.cli.scores import LEGEND, draw, measure, print_scores
    from failgym.envs import SCENARIOS

    file = JsonFile.at(json)
    begun = time.perf_counter()
    results: dict[str, list[dict[str, object]]] = {}
    for name, scenario in SCENARIOS.items():
        anchors = draw(scenario, episodes=episodes, seed=seed)
        chosen = [b for b in REGISTRY.values() if b.compatible(scenario) and b is not Replay]
        evaluations = [
            anchors.clairvoyant(),
            anchors.measure(anchors.replay),
            *measure(anchors, [(baseline.name, baseline()) for baseline in chosen]),
        ]
        print_scores(evaluations)
        results[f"failgym/{name}"] = [e.to_json() for e in evaluations]
    print_line(LEGEND)
    seconds = time.perf_counter() - begun
    print_line(f"{seconds:.1f} s")
    file.write({"seed": seed, "seconds": seconds, "environments": results})
