"""`failgym demo`: every baseline in every environment it is made for."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from failgym.cli.options import Json, Seed
from failgym.cli.output import JsonFile, interactive, print_line

if TYPE_CHECKING:
    from failgym.baselines import Heuristic
    from failgym.envs import Scenario
    from failgym.evaluation import Anchors, Evaluation
    from failgym.evaluation.progress import Advance

__all__ = ["demo"]

Environments = Annotated[
    list[str] | None,
    typer.Option(
        "--env", metavar="ENV", help="Only this environment, by default every one. Repeatable."
    ),
]
Episodes = Annotated[
    int | None,
    typer.Option(help="Number of slices per environment. By default all of the test split."),
]


def demo(
    env: Environments = None, json: Json = None, episodes: Episodes = None, seed: Seed = 0
) -> None:
    """Compare all baselines on the built-in traces: one table per environment."""
    from failgym.cli.scores import LEGEND, draw, print_scores
    from failgym.envs import SCENARIOS
    from failgym.evaluation.arguments import check_count
    from failgym.evaluation.progress import progress_bar

    file = JsonFile.at(json)
    if episodes is not None:
        check_count("episodes", episodes, 1)
    chosen = dict.fromkeys(_named(name) for name in env) if env else dict.fromkeys(SCENARIOS)
    begun = time.perf_counter()
    results: dict[str, list[dict[str, object]]] = {}
    for name in chosen:
        scenario = SCENARIOS[name]
        told = not interactive()  # in a terminal each step shows itself
        if told:
            print(f"{name}: a trace, replay and the bound", file=sys.stderr, flush=True)
        anchors = draw(scenario, episodes=episodes, seed=seed)
        evaluations = [anchors.clairvoyant(), anchors.measure(anchors.replay)]
        rules = _players(scenario)
        with progress_bar(f"{name}: rules", len(rules), shown=False, lines=told) as advance:
            evaluations += _evaluated(anchors, rules, advance)
        print_scores(evaluations)
        results[f"failgym/{name}"] = [e.to_json() for e in evaluations]
    print_line(LEGEND)
    seconds = time.perf_counter() - begun
    print_line(f"{seconds:.1f} s")
    file.write({"seed": seed, "seconds": seconds, "environments": results})


def _named(name: str) -> str:
    """The registered environment of a name, with or without "failgym/". Raises ValueError."""
    from failgym.envs import SCENARIOS

    short = name.removeprefix("failgym/")
    if short not in SCENARIOS:
        raise ValueError(f"--env {name}: expected one of {', '.join(SCENARIOS)}")
    return short


def _players(scenario: Scenario) -> list[type[Heuristic]]:
    """The baselines that the environment is made for, without replay, which is an anchor."""
    from failgym.baselines import REGISTRY, Replay

    return [b for b in REGISTRY.values() if b.compatible(scenario) and b is not Replay]


def _evaluated(
    anchors: Anchors, rules: list[type[Heuristic]], advance: Advance
) -> Iterator[Evaluation]:
    """The rules on the slices of replay and the bound, one after another."""
    from failgym.cli.scores import measure

    for rule in rules:
        yield from measure(anchors, [(rule.name, rule())])
        advance(1)
