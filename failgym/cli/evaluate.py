"""`failgym evaluate`: scores of policies in one environment."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from failgym.cli.completion import policy_names
from failgym.cli.options import (
    Env,
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
    from failgym.policy import Policy
    from failgym.worlds.scenario import Scenario, Split
    from failgym.worlds.world import World

__all__ = ["evaluate"]

Policies = Annotated[
    list[str],
    typer.Option(
        "--policy",
        metavar="SPEC",
        help="A policy: name[:field=value,...], module:Class[:field=value,...], a policy file, or"
        " all-baselines for every baseline that can play here. Repeatable.",
        autocompletion=policy_names,
    ),
]
Episodes = Annotated[
    int | None,
    typer.Option(help="Number of slices to draw. By default all of the test split are played."),
]
Traces = Annotated[
    int,
    typer.Option(
        metavar="K",
        help="Generate K traces of the profile, with seeds from trace_seed on, and score their"
        " slices together. Intervals then cover the differences between traces.",
    ),
]
Forecast = Annotated[
    str | None,
    typer.Option(
        metavar="FORECAST",
        help="The forecast that policies see: the name of a predictor, or the file of a forecast"
        " or of a stored predictor. Short for --set forecast=FORECAST.",
    ),
]


Drawn = Annotated[
    bool,
    typer.Option(
        "--drawn",
        help="Let agents draw their actions by probability. By default they take the best one.",
    ),
]


Oracle = Annotated[
    bool,
    typer.Option(
        "--oracle",
        help="Add the row of the oracle: the cheapest episodes that a search finds which knows how"
        " every attempt will end. May take minutes the first time.",
    ),
]

Prices = Annotated[
    bool,
    typer.Option(
        "--prices",
        help="Add scores and ranks at other prices: a quarter and four times the value of a task,"
        " half and twice the price of waiting.",
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
    """Score policies in an environment.

    0 is replay: what the cluster did without help. 100 is the bound: no policy can save more. Both
    have rows beside the policies.
    """
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
    from failgym.evaluation.measuring import clairvoyant, measure
    from failgym.worlds.forecast import unattainable

    crew = read_workers(workers, ray_address)
    if drawn and crew.several:
        raise ValueError(f"{crew}: --drawn draws one action after the other: expected --workers 1")
    file = JsonFile.at(json)
    if forecast is not None:
        settings = [*(settings or []), f"forecast={forecast}"]
    scenario = override(resolve(env), settings)
    wanted = Wanted.of(policy, scenario)
    split = _split(settings, scenario)
    places = draw_traces(scenario, traces, episodes=episodes, seed=seed, split=split)
    policies = wanted.playable(scenario, [place.world for place in places])
    note_unproven(places)
    if drawn and "torch" in sys.modules:  # which agents draw from
        sys.modules["torch"].manual_seed(seed)
    if crew.several:
        runs = play_apart(places, [spec for spec, _ in policies], load_policy, crew)
    else:
        runs = play_all(places, policies, deterministic=not drawn)
    evaluations = [measure(places, each) for each in runs]
    replay = measure(places, [place.replay for place in places])
    beside = [measure_oracle(places), clairvoyant(places)] if oracle else [clairvoyant(places)]
    asked = {each.policy for each in evaluations}
    references = [each for each in (replay, *beside) if each.policy not in asked]
    print_scores([*evaluations, *references])
    at_prices = priced(places, policies, runs, deterministic=not drawn) if prices else []
    if at_prices:
        print_priced(at_prices)
    print_line(LEGEND)
    if note := unattainable(scenario):
        print_line(note)
    content = _content(scenario, settings, replay, beside)
    content |= {"drawn": drawn, "policies": [each.to_json() for each in evaluations]}
    content |= {"prices": [each.to_json() for each in at_prices]} if prices else {}
    file.write(content)


@dataclass(frozen=True)
class Wanted:
    """The policies that are named, and the baselines that `all-baselines` stands for."""

    named: list[tuple[str, Policy]]
    baselines: list[tuple[str, Policy]]

    @classmethod
    def of(cls, specs: Sequence[str], scenario: Scenario) -> Wanted:
        """Load policies. Raises ValueError, naming the first that cannot play in a scenario."""
        from failgym.baselines import REGISTRY
        from failgym.cli.specs import ALL_BASELINES, load_policy
        from failgym.evaluation.caller import check_playable

        named = [(spec, load_policy(spec)) for spec in specs if spec != ALL_BASELINES]
        for spec, loaded in named:
            check_playable(loaded, scenario, name=spec)
        baselines: list[tuple[str, Policy]] = []
        if ALL_BASELINES in specs:
            fitting = {name: kind for name, kind in REGISTRY.items() if kind.compatible(scenario)}
            baselines = [(name, fitting[name]()) for name in fitting if name not in specs]
        return cls(named, baselines)

    def playable(self, scenario: Scenario, worlds: Sequence[World]) -> list[tuple[str, Policy]]:
        """Those that find in all worlds what they read.

        A line says which baselines are left out.

        Raises:
            ValueError: naming the first policy that was named itself and cannot play.
        """
        from failgym.evaluation.caller import check_playable

        for world in worlds:
            for spec, loaded in self.named:
                check_playable(loaded, scenario, world, spec)
        left: list[tuple[str, Policy]] = []
        for name, loaded in self.baselines:
            try:
                for world in worlds:
                    check_playable(loaded, scenario, world, name)
            except ValueError as error:
                print_line(f"left out: {error}")
            else:
                left.append((name, loaded))
        return [*self.named, *left]


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
