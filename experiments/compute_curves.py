"""What is gained for how much computing, by three ways to a policy.

    python -m experiments.compute_curves --json FILE [--env ID ...] [--shares 0.0625,0.25,1]
        [--trials 2,8,32] [--traces 8] [--first 9000] [--set FIELD=VALUE ...] [--seed 0]
        [--plots DIR]

In each environment three learners are given more and more:

* ``maskable_ppo``: shares (`--shares`) of the decisions that its settings ask for;
* ``counterfactual``: shares of the traces of its settings, those to learn from and to choose on;
* the paper's rule, tuned by Optuna (`failgym.tuning`): so many sets of parameters (`--trials`).

Each is begun anew for each point. What it took is processor time of this process, from the call
until the policy is there: traces, worlds, learning and choosing. Worlds are not kept, and the
kernels are compiled before. Every policy is then judged on the test splits of the same fresh
traces (`--first`), with 95 % intervals over traces and their jobs. One training run a point: how
runs with other seeds differ is not in the intervals.

FILE keeps every point: the same command goes on after a kill. ``--plots`` draws a picture of each
environment.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from experiments.agents_and_rules import Place
from experiments.measured_worlds import world_of
from experiments.zoo import ALGORITHM, CHOSEN_ON, SCORED
from failgym.agents import load_agent
from failgym.agents.algorithms.settings_files import settings_for, settings_of
from failgym.agents.counterfactual.train import LEARNER
from failgym.agents.training.train import train
from failgym.agents.training.training_settings import TrainingSettings
from failgym.baselines import REGISTRY
from failgym.cli.options import override
from failgym.cli.output import print_line, print_table
from failgym.envs import SCENARIOS, Scenario, resolve
from failgym.evaluation import Anchors
from failgym.files import replacing
from failgym.leaderboard.statistics.bootstrap import Bootstrap
from failgym.policy import Policy
from failgym.tuning import tune

__all__ = ["PAPERS", "Point", "draw"]

PAPERS = {
    "Cloning-v1": "algorithm_1",  # El-Sayed et al. 2017, Algorithm 1
    "GracePeriod-v1": "grace_period",  # Rosa et al. 2015, section IV
    "Checkpoint-v1": "ml_periodic",  # Kumar et al. 2020, section VI
    "Lineage-v1": "aware",  # Ghit and Epema 2017, AWARE
    "Workflow-v1": "flaw",  # Yu et al. 2010, FLAW
    "Mitigation-v1": "grace_period",
}
"""The rule of the paper that an environment is made of; of Mitigation-v1 the one for what gains
most there."""
TUNED = "tuned rule"
LEARNERS = (ALGORITHM, LEARNER.name, TUNED)


@dataclass(frozen=True)
class Point:
    """What a learner made of so much."""

    learner: str
    given: str
    """decisions, traces or trials"""
    seconds: float
    """of a processor"""
    score: float
    low: float
    high: float


def _agent(scenario: Scenario, settings: TrainingSettings) -> Policy:
    with TemporaryDirectory() as folder:
        result = train(scenario, Path(folder) / "run", settings)
        return load_agent(Path(folder) / "run" / result.policy)


def _learns(scenario: Scenario, share: float, seed: int) -> tuple[str, Callable[[], Policy]]:
    """MaskablePPO, with a share of its decisions; scored as often as in the zoo, or once."""
    name = scenario.name
    steps = max(1, round(share * (settings_for(ALGORITHM, name).steps or 0)))
    scored = SCORED[name]
    settings = TrainingSettings(
        ALGORITHM,
        steps=steps,
        seed=seed,
        validate_every=min(scored.every, steps),
        episodes=scored.episodes,
    )
    return f"{steps:,} decisions", lambda: _agent(scenario, settings)


def _tries(scenario: Scenario, share: float, seed: int) -> tuple[str, Callable[[], Policy]]:
    """The counterfactual learner, with a share of its traces."""
    known = settings_of(LEARNER, scenario.name)
    few = {"traces": max(1, round(share * known.traces))}
    if known.chosen_on is not None:
        few["chosen_on"] = max(1, round(share * known.chosen_on))
    settings = TrainingSettings(
        LEARNER.name, seed=seed, hyper=few, episodes=CHOSEN_ON.get(scenario.name)
    )
    return f"{few['traces']} traces", lambda: _agent(scenario, settings)


def _searches(scenario: Scenario, trials: int, seed: int) -> tuple[str, Callable[[], Policy]]:
    """The paper's rule, with so many trials."""
    rule = REGISTRY[PAPERS[scenario.name]]()
    return f"{trials} trials", lambda: tune(rule, scenario, trials=trials, seed=seed).policy


def _asked(
    scenario: Scenario, shares: Sequence[float], trials: Sequence[int], seed: int
) -> Iterator[tuple[str, str, Callable[[], Policy]]]:
    """Learner, what it is given, and how it makes a policy of it; the cheapest first."""
    for share in shares:
        yield (ALGORITHM, *_learns(scenario, share, seed))
        yield (LEARNER.name, *_tries(scenario, share, seed))
    for number in trials:
        yield (TUNED, *_searches(scenario, number, seed))


def _judged(place: Place, policy: Policy) -> tuple[float, float, float]:
    found = Bootstrap().score(place.runs([policy]))
    return found.value, found.low, found.high


def _numbers(text: str) -> list[float]:
    try:
        return sorted(float(word) for word in text.split(","))
    except ValueError as error:
        raise typer.BadParameter(f"expected numbers and commas, got {text!r}") from error


def main(
    json_file: Annotated[Path, typer.Option("--json", help="Written, and read to go on.")],
    env: Annotated[
        list[str] | None, typer.Option("--env", metavar="ID", help="Repeatable; all by default.")
    ] = None,
    shares: Annotated[str, typer.Option(help="Of what settings ask for.")] = "0.0625,0.25,1",
    trials: Annotated[str, typer.Option(help="Sets of parameters to try.")] = "2,8,32",
    traces: Annotated[int, typer.Option(min=1, help="Fresh traces to judge on.")] = 8,
    first: Annotated[int, typer.Option(min=0, help="Seed of the first of them.")] = 9_000,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FIELD=VALUE", help="Of the fresh traces, as for evaluate."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of each training run.")] = 0,
    plots: Annotated[Path | None, typer.Option(file_okay=False, help="Folder of pictures.")] = None,
) -> None:
    """Train, judge, and keep every point."""
    os.environ["FAILGYM_CACHE_SIZE"] = "0"  # whoever comes first would pay for the others
    content: dict[str, Any] = json.loads(json_file.read_text()) if json_file.is_file() else {}
    for scenario in [resolve(name) for name in env] if env else SCENARIOS.values():
        name = scenario.name
        about: dict[str, Any] = {
            "world": world_of(name),
            "judged": {"traces": traces, "first": first, "set": settings or []},
            "seed": seed,
        }
        known: dict[str, Any] = content.get(name, {})
        if any(known.get(key) != value for key, value in about.items()):
            known = about | {"points": []}
        judged = override(scenario, settings)
        unseen = [judged.override(trace_seed=first + number) for number in range(traces)]
        place = Place("fresh", tuple(Anchors.of(one, split="test") for one in unseen))
        rule = PAPERS[name]
        known |= {"rule": rule, "as_published": _judged(place, REGISTRY[rule]())}
        for learner, given, make in _asked(
            scenario, _numbers(shares), [int(one) for one in _numbers(trials)], seed
        ):
            points = [Point(**one) for one in known["points"]]
            if any((one.learner, one.given) == (learner, given) for one in points):
                continue
            begun = time.process_time()
            policy = make()
            took = time.process_time() - begun
            point = Point(learner, given, took, *_judged(place, policy))
            print_line(f"{name}, {learner}, {given}: {took:.0f} s, {_text(point)}")
            known["points"].append(asdict(point))
            content[name] = known
            with replacing(json_file) as partial:
                partial.write_text(json.dumps(content, indent=1), "utf-8")
        _show(name, known)
        if plots is not None:
            plots.mkdir(parents=True, exist_ok=True)
            draw(name, known, plots / f"{name}.png")


def _text(point: Point) -> str:
    return f"{point.score:.1f} [{point.low:.1f}, {point.high:.1f}]"


def _points(known: Mapping[str, Any]) -> list[Point]:
    return sorted((Point(**one) for one in known["points"]), key=lambda one: one.seconds)


def _show(name: str, known: Mapping[str, Any]) -> None:
    rows = [(one.learner, one.given, f"{one.seconds:.0f}", _text(one)) for one in _points(known)]
    print_table(name, ("learner", "given", "processor [s]", "score on fresh traces"), rows)


def draw(name: str, known: Mapping[str, Any], file: Path) -> None:
    """Draw the scores of an environment against processor seconds.

    Args:
        name: of the environment.
        known: what FILE holds of it.
        file: the picture, PNG or SVG.
    """
    from matplotlib.figure import Figure

    figure: Any = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.subplots()
    points = _points(known)
    for learner in LEARNERS:
        mine = [one for one in points if one.learner == learner]
        if not mine:
            continue
        seconds = [one.seconds for one in mine]
        label = f"{known['rule']}, tuned" if learner == TUNED else learner
        (line,) = axes.plot(seconds, [one.score for one in mine], marker="o", label=label)
        lows, highs = [one.low for one in mine], [one.high for one in mine]
        axes.fill_between(seconds, lows, highs, color=line.get_color(), alpha=0.15)
    published = known["as_published"][0]
    axes.axhline(published, color="black", linestyle=":", label=f"{known['rule']}, as published")
    axes.set_xscale("log")
    axes.set_xlabel("processor time [s]")
    axes.set_ylabel("score on fresh traces")
    axes.set_title(f"failgym/{name}")
    axes.legend(frameon=False, fontsize="small")
    with replacing(file) as partial:
        figure.savefig(partial, format=file.suffix.removeprefix("."), dpi=120)


if __name__ == "__main__":
    typer.run(main)
