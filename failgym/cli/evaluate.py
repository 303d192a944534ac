"""`failgym evaluate`: scores of policies in one environment."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Annotated, Any

import typer

from failgym.cli.options import (
    Json,
    RayAddress,
    Seed,
    Settings,
    WorkersOption,
    override,
    read_workers,
)
from failgym.cli.output import JsonFile, print_line

if TYPE_CHECKING:
    from failgym.evaluation import Evaluation
    from failgym.worlds.scenario import Scenario, Split

__all__ = ["evaluate"]

Env = Annotated[str, typer.Option("--env", metavar="ID", help="The environment.")]
Policies = Annotated[
    list[str],
    typer.Option(
        "--policy",
        metavar="SPEC",
        help="name[:field=value,...], module:Class[:field=value,...] or a policy file; repeatable.",
    ),
]
Episodes = Annotated[
    int | None, typer.Option(help="Slices to draw; all of the test split by default.")
]
Traces = Annotated[
    int,
    typer.Option(
        metavar="K",
        help="Generate K traces of the profile, from trace_seed on, and score their slices"
        " together: intervals are then those of traces like these, not of this one.",
    ),
]
Forecast = Annotated[
    str | None,
    typer.Option(
        metavar="FORECAST",
        help="A predictor's name, or the file of a forecast or of a stored predictor; short for"
        " --set forecast=FORECAST.",
    ),
]


Drawn = Annotated[
    bool,
    typer.Option(
        "--drawn",
        help="Policies draw actions by their probabilities, as trained agents can, instead of"
        " taking the best one.",
    ),
]


Oracle = Annotated[
    bool,
    typer.Option(
        "--oracle",
        help="Show the bound too, and how far it was shown to be reached: the cheapest episodes"
        " found by somebody who knows all fates. May take minutes the first time.",
    ),
]

Prices = Annotated[
    bool,
    typer.Option(
        "--prices",
        help="Show scores and ranks at other prices too: a quarter and four times the value of a"
        " task (of what is forfeited), half and twice the price of waiting.",
    ),
]


def evaluate(
    env: Env,
    policy: Policies,
    forecast: Forecast = None,
    episodes: Episodes = None,
    traces: Traces = 1,
    seed: Seed = 0,
    drawn: Drawn = False,
    oracle: Oracle = False,
    prices: Prices = False,
    settings: Settings = None,
    workers: WorkersOption = "1",
    ray_address: RayAddress = None,
    json: Json = None,
) -> None:
    """Score policies between replay (0) and the clairvoyant, or a bound (100)."""
    from failgym.cli.priced import priced, print_priced
    from failgym.cli.scores import (
        LEGEND,
        draw_traces,
        measure_oracle,
        note_unproven,
        play_all,
        play_apart,
        print_scores,
    )
    from failgym.cli.specs import load_policy
    from failgym.envs import resolve
    from failgym.evaluation.caller import check_playable
    from failgym.evaluation.measuring import clairvoyant, measure
    from failgym.worlds.forecast import unattainable

    crew = read_workers(workers, ray_address)
    if drawn and crew.several:
        raise ValueError(f"{crew}: --drawn draws one action after the other: expected --workers 1")
    file = JsonFile.at(json)
    policies = [(spec, load_policy(spec)) for spec in policy]
    if forecast is not None:
        settings = [*(settings or []), f"forecast={forecast}"]
    scenario = override(resolve(env), settings)
    for spec, loaded in policies:
        check_playable(loaded, scenario, name=spec)
    split = _split(settings, scenario)
    places = draw_traces(scenario, traces, episodes=episodes, seed=seed, split=split)
    for (spec, loaded), place in product(policies, places):
        check_playable(loaded, scenario, place.world, spec)
    note_unproven(places)
    if drawn and "torch" in sys.modules:  # which agents draw from
        sys.modules["torch"].manual_seed(seed)
    if crew.several:
        runs = play_apart(places, policy, load_policy, crew)
    else:
        runs = play_all(places, policies, deterministic=not drawn)
    evaluations = [measure(places, each) for each in runs]
    beside = [measure_oracle(places), clairvoyant(places)] if oracle else [clairvoyant(places)]
    print_scores([*evaluations, *(beside if oracle else [])])
    at_prices = priced(places, policies, runs, deterministic=not drawn) if prices else []
    if at_prices:
        print_priced(at_prices)
    print_line(LEGEND)
    if note := unattainable(scenario):
        print_line(note)
    content = _content(scenario, settings, measure(places, [p.replay for p in places]), beside)
    content |= {"drawn": drawn, "policies": [each.to_json() for each in evaluations]}
    content |= {"prices": [each.to_json() for each in at_prices]} if prices else {}
    file.write(content)


def _content(
    scenario: Scenario,
    settings: list[str] | None,
    replay: Evaluation,
    beside: Sequence[Evaluation],
) -> dict[str, Any]:
    """What the file of ``--json`` says of the slices, whoever plays."""
    return {
        "env": f"failgym/{scenario.name}",
        "settings": settings or [],
        "replay": replay.to_json(),
        **{each.policy: each.to_json() for each in beside},
    }


def _split(settings: list[str] | None, scenario: Scenario) -> Split:
    """The test split, unless `--set` names one."""
    named = any(setting.startswith("split=") for setting in settings or [])
    return scenario.split if named else "test"
