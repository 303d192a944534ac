"""What is gained for how much computing, by three ways to a policy.

    python -m experiments.compute_curves --json FILE [--env ID ...] [--shares 0.0625,0.25,1]
        [--trials 2,8,32] [--traces 8] [--first 9000] [--set FIELD=VALUE ...] [--seed 0]
        [--patience 900] [--plots DIR]

In each environment three learners are given more and more:

* ``maskable_ppo``: shares (`--shares`) of the decisions that its settings ask for;
* ``counterfactual``: shares of the traces of its settings, those to learn from and to choose on;
* the paper's rule, tuned by Optuna (`failgym.tuning`): so many sets of parameters (`--trials`).

Each is begun anew for each point. What it took is processor time of this process, from the call
until the policy is there: traces, worlds, learning and choosing. Before that the learner makes a
policy of next to nothing, so that packages are imported and kernels compiled; then all traces and
worlds are forgotten, and none is read from disk. So a point costs the same whichever came before.
Every policy is then judged on the test splits of the same fresh traces (`--first`), with 95 %
intervals over traces and their jobs. One training run a point: how runs with other seeds differ is
not in the intervals. Where no agent of a run is as harmless as its settings ask, replay is judged.
A policy that is not judged within ``--patience`` processor seconds has no score: an agent that
learned little may refuse every machine that it is offered, and is then asked again and again.

FILE keeps every point: the same command goes on after a kill. Points that were asked otherwise, or
made by other settings, are not joined with those of now: that needs another file. ``--plots`` draws
a picture of each environment.
"""

from __future__ import annotations

import json
import math
import os
import signal
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from experiments.agents_and_rules import Place
from experiments.measured_worlds import world_of
from experiments.reproduction.command import refusing
from experiments.worst_cases import check_room, fresh, known_in
from experiments.zoo import ALGORITHM, CHOSEN_ON, SCORED
from failgym.agents import load_agent
from failgym.agents.algorithms.settings_files import settings_for, settings_of
from failgym.agents.counterfactual.train import LEARNER
from failgym.agents.training.preparation import scenario_of
from failgym.agents.training.result import NoneAcceptable
from failgym.agents.training.train import train
from failgym.agents.training.training_settings import TrainingSettings
from failgym.baselines import REGISTRY
from failgym.baselines.search import search_space
from failgym.cli.options import override
from failgym.cli.output import print_line, print_table
from failgym.envs import SCENARIOS, Scenario, resolve
from failgym.evaluation import Anchors
from failgym.files import replacing
from failgym.leaderboard.statistics.bootstrap import Bootstrap
from failgym.policy import Policy
from failgym.tuning import tune

__all__ = ["PAPERS", "TUNED", "Point", "draw", "untold"]

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
SIZE = "FAILGYM_CACHE_SIZE"
"""Names how large the cache of worlds may become (`failgym.world_cache`)."""


@dataclass(frozen=True)
class Point:
    """What a learner made of so much."""

    learner: str
    given: str
    """decisions, traces or trials"""
    seconds: float
    """of a processor"""
    score: float | None
    """None where judging took too long"""
    low: float | None = None
    high: float | None = None
    patience: float | None = None
    """processor seconds that it was not judged in [s]; None if it was"""


class _TooLong(BaseException):
    """Judging takes longer than somebody wants to wait; no error, or the policy's it would be."""


def _agent(scenario: Scenario, settings: TrainingSettings) -> Policy:
    with TemporaryDirectory() as folder:
        try:
            return load_agent(train(scenario, Path(folder) / "run", settings).policy)
        except NoneAcceptable:
            return REGISTRY["replay"]()


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


def _judged(
    place: Place, policy: Policy, patience: float
) -> tuple[float, float, float] | tuple[None, None, None]:
    """Its score; none of a policy that is not judged within so many processor seconds."""
    try:
        with _at_most(patience):
            found = Bootstrap().score(place.runs([policy]))
    except _TooLong:
        return None, None, None
    return found.value, found.low, found.high


@contextmanager
def _at_most(seconds: float) -> Generator[None]:
    """Raises _TooLong once the block has taken so much processor time; in the main thread."""

    def stop(*_: object) -> None:
        raise _TooLong

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def _warm_up(scenario: Scenario, learner: str, seed: int) -> None:
    """Have a learner make a policy of next to nothing; that nothing comes of it does not matter."""
    least = {one: make for one, _, make in _asked(scenario, [0.0], [1], seed)}
    with suppress(ValueError):
        least[learner]()


def forget() -> None:
    """Forget the traces and worlds that this process holds, whoever made them."""
    for name, module in list(sys.modules.items()):
        if name.startswith("failgym.worlds."):
            for value in list(vars(module).values()):
                if not isinstance(value, type) and hasattr(value, "cache_clear"):
                    value.cache_clear()


@contextmanager
def _from_nothing() -> Generator[None]:
    """What is made in the block finds no trace and no world there, in memory or on disk."""
    before = os.environ.get(SIZE)
    os.environ[SIZE] = "0"
    forget()
    try:
        yield
    finally:
        os.environ.pop(SIZE)
        if before is not None:
            os.environ[SIZE] = before


def _measured(make: Callable[[], Policy]) -> tuple[Policy, float]:
    """A policy, and the processor time that it took to make it [s]."""
    with _from_nothing():
        begun = time.process_time()
        policy = make()
        return policy, time.process_time() - begun


def _numbers(option: str, text: str) -> list[float]:
    """Numbers above 0 with commas between them. Raises ValueError."""
    try:
        found = sorted({float(word) for word in text.split(",")})
    except ValueError:
        found = []
    if not found or not all(0.0 < one < math.inf for one in found):
        raise ValueError(f"{option}: expected numbers above 0 and commas, got {text!r}")
    return found


def _counts(option: str, text: str) -> list[int]:
    """Whole numbers, likewise. Raises ValueError."""
    found = _numbers(option, text)
    if any(not one.is_integer() for one in found):
        raise ValueError(f"{option}: expected whole numbers, got {text!r}")
    return [int(one) for one in found]


def _settings(scenario: Scenario) -> str:
    """A digest of all that says how the learners of an environment learn."""
    name, rule = scenario.name, REGISTRY[PAPERS[scenario.name]]
    made_by = [
        settings_for(ALGORITHM, name).model_dump(),
        settings_of(LEARNER, name).model_dump(),
        [asdict(SCORED[name]), CHOSEN_ON.get(name), repr(search_space(rule)), repr(rule())],
    ]
    return sha256(json.dumps(made_by, sort_keys=True, default=repr).encode()).hexdigest()[:16]


def _checked(known: dict[str, Any], about: Mapping[str, Any], name: str) -> dict[str, Any]:
    """What a file knows of an environment. Raises ValueError if it was measured otherwise."""
    for key, value in about.items():
        if known and known.get(key) != value:
            raise ValueError(
                f"--json: {name} was measured with other {key}: {known.get(key)}, and now {value}:"
                " use the same, or another file"
            )
    return known or {**about, "points": []}


def _unseen(
    scenario: Scenario, judged: Scenario, traces: int, first: int, shares: Sequence[float]
) -> list[Scenario]:
    """Where policies are judged. Raises ValueError if something is learned there."""
    found = fresh(judged, traces, first)
    taught = settings_of(LEARNER, scenario.name)
    most = math.ceil(max(1.0, *shares) * max(taught.traces, taught.chosen_on or 0))
    learned = {scenario.trace_seed}  # by the tuned rule
    for env in (taught.env, settings_for(ALGORITHM, scenario.name).env):
        begin = scenario_of(scenario, env).trace_seed
        learned |= set(range(begin, begin + most))
    if met := learned & set(range(first, first + traces)):
        raise ValueError(
            f"--first {first}: expected seeds that nothing is learned on: in"
            f" {scenario.name} something is learned on {min(met)} to {max(met)}"
        )
    return found


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
    patience: Annotated[
        float, typer.Option(min=0.01, help="Processor seconds to judge a policy in.")
    ] = 900.0,
    plots: Annotated[Path | None, typer.Option(file_okay=False, help="Folder of pictures.")] = None,
) -> None:
    """Train, judge, and keep every point."""
    with refusing(ValueError):
        content = known_in(json_file)
        scenarios = [resolve(name) for name in env] if env else list(SCENARIOS.values())
        given, counts = _numbers("--shares", shares), _counts("--trials", trials)
        found: list[tuple[Scenario, list[Scenario], dict[str, Any]]] = []
        for scenario in scenarios:
            about = {
                "world": world_of(scenario.name),
                "judged": {"traces": traces, "first": first, "set": settings or []},
                "seed": seed,
                "settings": _settings(scenario),
            }
            unseen = _unseen(scenario, override(scenario, settings), traces, first, given)
            known = _checked(content.get(scenario.name, {}), about, scenario.name)
            found.append((scenario, unseen, known))
        for scenario, unseen, known in found:
            content[scenario.name] = known
            asked = list(_asked(scenario, given, counts, seed))
            for _ in _points_of(scenario, unseen, known, asked, seed, patience):
                with replacing(json_file) as partial:
                    partial.write_text(json.dumps(content, indent=1), "utf-8")
            _show(scenario.name, known)
            if plots is not None:
                plots.mkdir(parents=True, exist_ok=True)
                draw(scenario.name, known, plots / f"{scenario.name}.png")


def _points_of(
    scenario: Scenario,
    unseen: Sequence[Scenario],
    known: dict[str, Any],
    asked: Sequence[tuple[str, str, Callable[[], Policy]]],
    seed: int,
    patience: float,
) -> Iterator[None]:
    """Measure what is not known of an environment; each time there is more to keep, yield."""
    there = {(one["learner"], one["given"]) for one in known["points"] if _told(one, patience)}
    left = {(learner, given): make for learner, given, make in asked}
    left = {about: make for about, make in left.items() if about not in there}
    rule, warm = PAPERS[scenario.name], set[str]()
    published = {"score": known.get("as_published", [None])[0], "patience": known.get("patience")}
    if not left and _told(published, patience):
        return
    place = Place("fresh", tuple(Anchors.of(one, split="test") for one in unseen))
    check_room(place.anchors)
    if not _told(published, patience):
        score = _judged(place, REGISTRY[rule](), patience)
        known.update(rule=rule, as_published=score)
        known.pop("patience", None)
        if score[0] is None:
            known["patience"] = patience
        yield
    for number, ((learner, given), make) in enumerate(left.items(), 1):
        if learner not in warm:
            _warm_up(scenario, learner, seed)
            warm.add(learner)
        policy, took = _measured(make)
        point = Point(learner, given, took, *_judged(place, policy, patience))
        if point.score is None:
            point = replace(point, patience=patience)
        others = [
            one for one in known["points"] if (one["learner"], one["given"]) != (learner, given)
        ]
        known["points"] = [*others, asdict(point)]
        print_line(
            f"{scenario.name}, {number} of {len(left)}: {learner}, {given}: {took:.0f} s,"
            f" {_text(point)}"
        )
        yield


def _told(one: Mapping[str, Any], patience: float) -> bool:
    """Is a point that a file holds measured, as well as is asked now?"""
    return one.get("score") is not None or (one.get("patience") or 0.0) >= patience


def _text(point: Point) -> str:
    if point.score is None:
        return untold(point.patience)
    return f"{point.score:.1f} [{point.low:.1f}, {point.high:.1f}]"


def untold(patience: float | None) -> str:
    """What stands in the place of a score.

    >>> untold(900.0), untold(None)
    ('not judged in 900 s', 'not judged')
    """
    return "not judged" if patience is None else f"not judged in {patience:g} s"


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
    from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

    figure: Any = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.subplots()
    points = _points(known)
    for learner in LEARNERS:
        mine = [one for one in points if one.learner == learner and one.score is not None]
        if not mine:
            continue
        seconds = [one.seconds for one in mine]
        label = f"{known['rule']}, tuned" if learner == TUNED else learner
        (line,) = axes.plot(seconds, [one.score for one in mine], marker="o", label=label)
        lows, highs = [one.low for one in mine], [one.high for one in mine]
        axes.fill_between(seconds, lows, highs, color=line.get_color(), alpha=0.15)
    published, label = known["as_published"][0], f"{known['rule']}, as published"
    if published is not None:
        axes.axhline(published, color="black", linestyle=":", label=label)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.set_xlabel("processor time [s]")
    axes.set_ylabel("score on fresh traces")
    axes.set_title(f"failgym/{name}")
    axes.legend(frameon=False, fontsize="small")
    with replacing(file) as partial:
        figure.savefig(partial, format=file.suffix.removeprefix("."), dpi=120)


if __name__ == "__main__":
    typer.run(main)
