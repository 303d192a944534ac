"""The environments that an agent learns in, each with its settings, all of them checked."""

from __future__ import annotations

from collections.abc import Collection, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from failgym.agents.counterfactual.environments import EnvironmentSettings
from failgym.agents.counterfactual.settings import CounterfactualSettings
from failgym.agents.counterfactual.situations import scenarios_of
from failgym.agents.ensembles.advice import MOST_ADVISERS
from failgym.agents.ensembles.inputs import PRICES, Inputs, prices_in
from failgym.agents.files.manifest import Environment, TrainedIn
from failgym.agents.training.preparation import scenario_of
from failgym.baselines import REGISTRY, STORABLE
from failgym.baselines.base import Heuristic, enabled
from failgym.envs import Scenario, resolve
from failgym.sim.shared.fields import FIELDS
from failgym.worlds.settings.source import generated
from failgym.worlds.source import whole_trace

__all__ = ["LearnedIn", "environments_of", "of_its_rules", "of_its_trace"]


@dataclass(frozen=True)
class LearnedIn:
    """An environment that is learned in."""

    scenario: Scenario
    """before a situation changes fields of it"""
    hyper: CounterfactualSettings
    """as they hold here"""
    rules: tuple[str, ...]
    """baselines that play some of the tasks"""
    hears: tuple[int, ...]
    """numbers of the rules of the advice that are asked here"""
    hidden: tuple[str, ...]
    """fields that are shown as 0"""
    scored: int | None
    """slices of each trace that agents are chosen on; all, if None"""

    @property
    def scenarios(self) -> list[Scenario]:
        """One for each trace."""
        return scenarios_of(self.scenario, self.hyper)

    @property
    def visiting(self) -> list[Scenario]:
        """The same, as they are learned in. Raises ValueError."""
        return [_visiting(one, self.hyper) for one in self.scenarios]

    @property
    def id(self) -> str:
        """Of the environment."""
        return f"failgym/{self.scenario.name}"

    def inputs(self, scenario: Scenario, fields: Sequence[str]) -> Inputs:
        """What the agent is shown in one of the scenarios, of these fields."""
        hidden = tuple(number for number, name in enumerate(fields) if name in self.hidden)
        return Inputs(self.hears, hidden, prices_in(scenario, PRICES) if self.hyper.prices else ())

    def described(self, fields: Sequence[str]) -> TrainedIn:
        """What a policy file says of it."""
        return TrainedIn(
            **Environment.of(self.scenario).model_dump(),
            trace_hash=whole_trace(self.scenario).content_hash,
            hears=self.hears,
            hidden=tuple(name for name in fields if name in self.hidden),
        )


def environments_of(
    given: Scenario,
    hyper: CounterfactualSettings,
    *,
    split: str,
    episodes: int | None,
    asked_for: Collection[str] = (),
) -> tuple[list[LearnedIn], tuple[Heuristic, ...]]:
    """Where an agent learns, and the rules of all of it.

    Args:
        given: the environment that training was asked for.
        hyper: the hyper-parameters for all.
        split: of the traces that is learned from.
        episodes: slices of each trace that agents are chosen on, where none are named.
        asked_for: fields of ``given`` that stay, though they are as registered.

    Returns:
        The environments: as the hyper-parameters name them, and if they do not name the given one,
        that one first. And the rules of the advice, each once.

    Raises:
        ValueError: in one line, naming the environment if there are several: an unknown one, fields
            that a scenario does not take, or rules that need what it does not enable.
    """
    named = list(hyper.environments)
    several = bool(named)
    if given.name not in {one.env.removeprefix("failgym/") for one in named}:
        named.insert(0, EnvironmentSettings(env=given.name))
    advice = _advice(hyper, named)
    found: list[LearnedIn] = []
    for entry in named:
        own = entry.env.removeprefix("failgym/") == given.name
        with _blamed(f"environments: {entry.env}: " if several else ""):
            base = given if own else resolve(entry.env)
            fields = {**(hyper.env or {}), **(entry.fields or {})}
            scenario = scenario_of(base, fields, asked_for if own else ()).override(split=split)
            here = hyper.model_copy(update={**entry.own, "environments": []})
            if several:
                here.check()
            here = of_its_trace(scenario, here)
            found.append(_learned_in(scenario, here, entry, advice, several, episodes))
    if several:
        _check_used(hyper, found, advice)
    return found, advice


def of_its_trace(scenario: Scenario, hyper: CounterfactualSettings) -> CounterfactualSettings:
    """The hyper-parameters where there is but one trace, if none is generated."""
    if generated(scenario.trace):
        return hyper
    return hyper.model_copy(update={"traces": 1, "chosen_on": None})


def of_its_rules(
    scenario: Scenario, hyper: CounterfactualSettings, named: Collection[str] = ()
) -> CounterfactualSettings:
    """The hyper-parameters without baselines that need what the scenario does not enable.

    Settings that come with failgym are of the environment as registered, and of fewer measures
    there may be fewer rules. Of rules that are chosen among none is left out, nor where nothing is
    to be decided.

    Args:
        scenario: where the agent learns.
        hyper: of the environment.
        named: hyper-parameters that somebody gave: these stay, and are refused if they cannot be.
    """
    if hyper.tries == "rules" or not enabled(scenario):
        return hyper
    playing: dict[str, Any] = {
        "rules": [name for name in hyper.rules if REGISTRY[name].compatible(scenario)],
        "advice": [one for one in hyper.advice if one.heuristic().compatible(scenario)],
    }
    return hyper.model_copy(update={n: kept for n, kept in playing.items() if n not in named})


def _learned_in(
    scenario: Scenario,
    hyper: CounterfactualSettings,
    entry: EnvironmentSettings,
    advice: Sequence[Heuristic],
    several: bool,
    episodes: int | None,
) -> LearnedIn:
    """Check what is said of an environment. Raises ValueError."""
    rules = list(hyper.rules)
    wanted = [one.heuristic() for one in hyper.advice]
    if several and entry.rules is None:
        rules = [name for name in rules if REGISTRY[name].compatible(scenario)]
    if several and entry.advice is None:
        wanted = [rule for rule in wanted if rule.compatible(scenario)]
    for name in rules:
        _check_rule("rules", name, REGISTRY[name], scenario)
    for rule in wanted:
        _check_rule("advice", rule.name, STORABLE[rule.name], scenario)
    _check_visit(scenario, hyper, several)
    hears = [next(n for n, one in enumerate(advice) if one == rule) for rule in wanted]
    left_out = set(entry.hidden or ())
    hidden = tuple(f.name for f in FIELDS if left_out & {f.name, f.group})
    if hidden and {f.group for f in FIELDS if f.name in hidden} & {"mask"}:
        raise ValueError("hidden: expected no field of mask: it says what is legal")
    return LearnedIn(
        scenario=scenario,
        hyper=hyper,
        rules=tuple(rules),
        hears=tuple(hears),
        hidden=hidden,
        scored=episodes if entry.scored is None else entry.scored,
    )


def _check_visit(scenario: Scenario, hyper: CounterfactualSettings, several: bool) -> None:
    """Raise ValueError if it cannot be learned in as it is to be visited."""
    for name in hyper.visit or {}:
        if several and name in PRICES:
            raise ValueError(f"visit: {name}: expected none: gains would be on another scale")
    visiting = _visiting(scenario, hyper)
    if enabled(visiting) != enabled(scenario):
        raise ValueError("visit: expected fields that change nothing of what may be decided")
    if hyper.tries == "rules" and not visiting.kind.independent:
        raise ValueError(
            f"tries: expected 'answers': in {scenario.name} tasks wait for each other, and a rule"
            " would be followed in all of them"
        )


def _advice(
    hyper: CounterfactualSettings, named: Sequence[EnvironmentSettings]
) -> tuple[Heuristic, ...]:
    """The rules of all environments, each once. Raises ValueError for too many."""
    if not hyper.environments:
        return tuple(one.heuristic() for one in hyper.advice)
    found: list[Heuristic] = []
    for advisers in (hyper.advice, *(entry.advice or () for entry in named)):
        rules = [one.heuristic() for one in advisers]
        found += [rule for n, rule in enumerate(rules) if rule not in (*found, *rules[:n])]
    if len(found) > MOST_ADVISERS:
        raise ValueError(
            f"environments: advice: expected {MOST_ADVISERS} rules in all at most, got {len(found)}"
        )
    return tuple(found)


def _check_used(
    hyper: CounterfactualSettings, found: Sequence[LearnedIn], advice: Sequence[Heuristic]
) -> None:
    """Raise ValueError for a rule for all that plays in none of the environments."""
    heard = [advice[number] for one in found for number in one.hears]
    for rule in (adviser.heuristic() for adviser in hyper.advice):
        if rule not in heard:
            raise ValueError(f"advice: {rule.name}: expected an environment that asks it")
    for name in hyper.rules:
        if not any(name in one.rules for one in found):
            raise ValueError(f"rules: {name}: expected an environment that lets it play")


def _check_rule(option: str, name: str, rule: type[Heuristic], scenario: Scenario) -> None:
    if not rule.compatible(scenario):
        needs = ", ".join(sorted(rule.needs))
        raise ValueError(f"{option}: {name} needs {needs}, which {scenario.name} does not enable")


def _visiting(scenario: Scenario, hyper: CounterfactualSettings) -> Scenario:
    """The scenario that is learned in. Raises ValueError."""
    try:
        return scenario.override(**(hyper.visit or {}))
    except ValueError as error:
        raise ValueError(f"visit: {error}") from error


@contextmanager
def _blamed(where: str) -> Generator[None]:
    """Say where, in front of what is wrong."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{where}{error}") from error
