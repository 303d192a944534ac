"""Train an ensemble on exact gains, round by round, and keep the agent that validates best.

Approximate policy iteration with a classifier (Lazaric, Ghavamzadeh and Munos, "Analysis of a
classification-based policy iteration algorithm", ICML 2010), on states that a mixture of policies
comes to (Ross and Bagnell, "Reinforcement and imitation learning via interactive no-regret
learning", 2014). The first round learns what an answer gains if nothing is done after it. Every
later round learns what it gains if the agent so far answers what follows, so that waiting is worth
what comes of it. What was decided stays where a later round is not sure that another answer is
better: were CONTINUE the answer to all doubts, each round would put off a little longer what the
one before would do, for ever. Rollouts, which these methods estimate gains from, are exact
here, and one of each is enough.

Of several environments the decisions are pooled, on the scale of their scores, and one ensemble
learns from all. The round is chosen by the mean of the scores in them, and how cautious the agent
is in each by the score there: one may teach less than another.

What is random follows from the seed and the numbers of round, trace and environment. So a run that
was stopped goes on from the last round that was finished, and ends with the same agent.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.agents.algorithms.learner import COUNTERFACTUAL
from failgym.agents.algorithms.settings_files import settings_of
from failgym.agents.counterfactual.choosing import (
    best_of,
    by_environment,
    false_kills_per_job,
    mean_of_worst,
    mean_validation,
    room_per_member,
    room_per_task,
)
from failgym.agents.counterfactual.fitting import decided_actions, fitted
from failgym.agents.counterfactual.places import (
    LearnedIn,
    environments_of,
    of_its_rules,
    of_its_trace,
)
from failgym.agents.counterfactual.policy import Learned
from failgym.agents.counterfactual.settings import CounterfactualSettings
from failgym.agents.counterfactual.situations import fields_shown
from failgym.agents.counterfactual.visits import Visits, visited
from failgym.agents.ensembles.decider import Decider
from failgym.agents.ensembles.ensemble import joined
from failgym.agents.ensembles.inputs import PRICES, Inputs
from failgym.agents.files.manifest import Environment, TrainedIn
from failgym.agents.files.policy_file import load_agent
from failgym.agents.files.writing import save_ensemble
from failgym.agents.training.preparation import scenario_of
from failgym.agents.training.result import TrainingResult
from failgym.agents.training.run_folder import (
    Document,
    RunFolder,
    described_run,
    read_json,
    write_json,
)
from failgym.agents.training.training_settings import TrainingSettings
from failgym.agents.training.validation import Validation
from failgym.baselines import REGISTRY
from failgym.baselines.base import Heuristic
from failgym.envs import Scenario, resolve
from failgym.envs.spaces import columns_among
from failgym.evaluation import Anchors
from failgym.evaluation.caller import Predicts
from failgym.evaluation.measuring import measure
from failgym.evaluation.progress import Advance, done_before, silent
from failgym.evaluation.verdict import Verdict, judged
from failgym.sim.shared.fields import INDEX
from failgym.worlds.source import whole_trace

__all__ = ["LEARNER", "document_of", "hyper_of", "steps_of_run", "train_counterfactual"]

UNUSED = ("steps", "n_envs", "validate_every", "checkpoint_every", "tensorboard")
"""Settings of training that mean nothing here."""


@dataclass(frozen=True)
class _Learner:
    name: str
    settings: type[CounterfactualSettings]


LEARNER = _Learner(COUNTERFACTUAL, CounterfactualSettings)


def steps_of_run(env: str | Scenario, settings: TrainingSettings) -> int:
    """What ``progress`` is called with in all: once a trace and once a fit, by round.

    Raises:
        ValueError: as `failgym.agents.train`.
    """
    given = resolve(env)
    hyper = hyper_of(given, settings)
    places, _ = environments_of(given, hyper, split=settings.split, episodes=None)
    return hyper.rounds * (sum(place.hyper.traces for place in places) + 1)


def train_counterfactual(
    env: str | Scenario,
    out: str | Path,
    settings: TrainingSettings,
    *,
    resume: bool = False,
    command: str | None = None,
    progress: Advance = silent,
    asked_for: Collection[str] = (),
) -> TrainingResult:
    """Train an ensemble; the best agent is in ``out`` as ``best.safetensors``.

    Arguments and errors are those of `failgym.agents.train`, which this is called by where
    ``settings.algo`` is "counterfactual". The same call with ``resume=True`` goes on after the last
    finished round, and ends with the same bytes.
    """
    run = _plan(env, settings, asked_for)
    folder = RunFolder(out)
    if resume:
        folder.check_same(run.document)
        if folder.result.exists():
            return TrainingResult.of(read_json(folder.result), folder.best)
    else:
        folder.check_new()
    called: str = command or f"failgym.agents.train({run.scenario.name!r}, out, {settings})"
    if resume:
        called = folder.described().get("command", called)
    anchors = run.anchors()  # says what is wrong before anything is written
    if not resume:
        folder.begin({**run.document, "command": called}, run.hyper)
    rounds: list[_Round] = []
    with _discarded(None if resume else folder):  # what cannot be visited or learned from
        rounds.append(run.round(folder, rounds, anchors, called, progress))
    while len(rounds) < run.hyper.rounds:
        rounds.append(run.round(folder, rounds, anchors, called, progress))
    result = _chosen(run, folder, rounds, anchors, called)
    write_json(folder.result, result.to_json())
    return result


def document_of(
    env: str | Scenario, settings: TrainingSettings, asked_for: Collection[str]
) -> Document:
    """What makes a run the one that it is. Raises ValueError for a run that cannot be."""
    return _plan(env, settings, asked_for).document


def _chosen(
    run: _Run,
    folder: RunFolder,
    rounds: Sequence[_Round],
    anchors: Sequence[Sequence[Anchors]],
    called: str,
) -> TrainingResult:
    """The agent that validates best, written to the folder, and what is to be said of it."""
    begun = time.perf_counter()
    found = [
        run.validations(anchors, one, caution) for one in rounds for caution in run.hyper.caution
    ]
    tried = [mean_validation(each) if run.several else next(iter(each.values())) for each in found]
    most = run.hyper.false_kills
    candidates = [*tried, *by_environment(found, most)] if run.several else tried
    best = best_of(candidates, most)
    assert best.round is not None
    scores = {"validation": best.to_json()}
    run.keep_best(folder.best, rounds[best.round - 1], best, called, scores)
    agent = load_agent(folder.best)
    seen = run.settings.split != "fit"  # then it has learned from validation jobs
    verdicts: dict[str, Verdict] = {}
    if not seen:
        for place, here in zip(run.places, anchors, strict=True):
            verdicts[place.id] = judged(here, agent, len(tried))
    scoring, learning = time.perf_counter() - begun, sum(one.seconds for one in rounds)
    steps = rounds[-1].steps
    return TrainingResult(
        env=run.document["env"],
        algo=COUNTERFACTUAL,
        seed=run.settings.seed,
        steps=steps,
        best=best,
        last=tried[-1],
        validations=tuple(candidates),
        warm_start=None,
        seconds=learning + scoring,
        validation_seconds=scoring,
        warm_start_seconds=0.0,
        steps_per_second=steps / max(learning, 1e-9),
        policy=folder.best,
        command=called,
        versions=agent.manifest.versions,
        trace_hash=run.document["trace_hash"],
        verdict=None if run.several else next(iter(verdicts.values()), None),
        verdicts=verdicts if run.several and verdicts else None,
    )


@contextmanager
def _discarded(folder: RunFolder | None) -> Generator[None]:
    """Leave nothing of a run whose first round shows that it cannot be."""
    try:
        yield
    except (ValueError, MemoryError):
        if folder is not None:
            folder.discard()
        raise


@dataclass(frozen=True)
class _Round:
    """What was learned up to the end of a round."""

    number: int
    steps: int
    """decisions that were looked into"""
    decider: Decider
    seconds: float
    """wall-clock time of this round alone [s]"""


@dataclass(frozen=True)
class _Run:
    """What is trained, all of it checked."""

    settings: TrainingSettings
    hyper: CounterfactualSettings
    scenario: Scenario
    """that training was asked for"""
    places: tuple[LearnedIn, ...]
    """the environments that are learned in"""
    advice: tuple[Heuristic, ...]
    """rules whose answers the ensemble is shown, of all environments"""
    fields: tuple[str, ...]
    environments: tuple[TrainedIn, ...]
    """what policy files say of the places, if there are several"""
    document: Document
    """what makes the run the one that it is"""

    @property
    def several(self) -> bool:
        """Are several environments learned in?"""
        return len(self.places) > 1

    @property
    def columns(self) -> npt.NDArray[np.intp]:
        """Of whole observations, that the ensemble is shown."""
        return columns_among(self.fields, tuple(INDEX))

    def anchors(self) -> list[list[Anchors]]:
        """The validation splits that agents are chosen on, by environment. Raises ValueError."""
        return [self._anchors_of(place) for place in self.places]

    def _anchors_of(self, place: LearnedIn) -> list[Anchors]:
        alone = place.scenario.kind.independent  # then a task may be a slice: scores are the same
        each = [
            Anchors.of(
                one.override(slice_tasks=1) if alone else one,
                split="validation",
                episodes=place.scored,
                seed=self.settings.seed,
            )
            for one in place.scenarios[: place.hyper.chosen_on]
        ]
        for one in each:
            one.check_room()
        return each

    def round(
        self,
        folder: RunFolder,
        before: Sequence[_Round],
        anchors: Sequence[Sequence[Anchors]],
        called: str,
        progress: Advance,
    ) -> _Round:
        """The next round, learned or, if it was finished before, read."""
        number, begun = len(before) + 1, time.perf_counter()
        file, times = folder.round(number), folder.round(number).with_suffix(".json")
        if file.exists():
            done_before(progress, sum(place.hyper.traces for place in self.places) + 1)
            seconds = read_json(times).get("seconds", 0.0) if times.exists() else 0.0
            if not isinstance(seconds, int | float):
                raise ValueError(f"{times}: seconds: expected a number, got {seconds!r}")
            return self._finished(file, before, seconds)
        found = [self._visits(place, number, before, progress) for place in self.places]
        rooms = [room_per_task(here) for here in anchors]
        visits = Visits.pooled(found, rooms) if self.several else found[0]
        follows = self.hyper.tries == "rules"
        if before:
            choices = before[-1].decider.choices
        else:
            choices = tuple(range(len(self.advice))) if follows else decided_actions(visits)
        ensemble = fitted(
            visits,
            choices,
            self.hyper.learner(self.settings.threads),
            models=self.hyper.models,
            job_share=self.hyper.job_share,
            seed=self._seed(number, 0),
        )
        progress(1)
        steps = len(visits)
        if before:
            ensemble = joined(before[-1].decider.ensemble, ensemble)
            steps += before[-1].steps
        seconds = time.perf_counter() - begun
        priced = PRICES if self.hyper.prices else ()
        decider = Decider(ensemble, choices, self.hyper.behind, self.advice, follows, priced)
        learned = _Round(number, steps, decider, seconds)
        write_json(times, {"seconds": seconds})  # first: a round is finished once its file is there
        self.keep(file, learned, self.hyper.behind, called, {})
        return learned

    def _finished(self, file: Path, before: Sequence[_Round], seconds: float) -> _Round:
        """A round that was finished before. Raises ValueError if the file is of another run."""
        agent, number = load_agent(file), len(before) + 1
        decider, manifest = agent.network, agent.manifest
        same = isinstance(decider, Decider) and (
            (decider.rounds, manifest.fields, manifest.seed, manifest.settings)
            == (number, self.fields, self.settings.seed, self.document["settings"])
            and manifest.trace_hash == self.document["trace_hash"]
            and manifest.environments == self.environments
            and all(decider.choices == one.decider.choices for one in before)
        )
        if not isinstance(decider, Decider) or not same:
            raise ValueError(f"{file}: expected round {number} of this run, got that of another")
        return _Round(number, manifest.steps, decider, seconds)

    def _visits(
        self, place: LearnedIn, number: int, before: Sequence[_Round], progress: Advance
    ) -> Visits:
        """What is learned from in an environment."""
        heard = [self.advice[rule] for rule in place.hears]
        rules: list[Predicts] = [REGISTRY[name]() for name in ("replay", *place.rules)]
        rules += heard
        found: list[Visits] = []
        for trace, scenario in enumerate(place.visiting):
            agents: list[Predicts] = [self._agent(one.decider, place, scenario) for one in before]
            of = (self.places.index(place),) if self.several else ()
            found.append(
                visited(
                    scenario,
                    [*rules, *agents],
                    behind=agents[-1] if agents else next(iter(heard), None),
                    columns=self.columns,
                    advice=self.advice,
                    inputs=self._inputs(place, scenario),
                    followed=self.hyper.tries == "rules",
                    episodes=place.hyper.episodes,
                    share=place.hyper.decisions,
                    acting=place.hyper.acting,
                    at_random=place.hyper.at_random,
                    seed=self._seed(number, 1 + trace, *of),
                    threads=self.settings.threads,
                )
            )
            progress(1)
        return Visits.joined(found)

    def _inputs(self, place: LearnedIn, scenario: Scenario) -> Inputs | None:
        """What the ensemble is shown there; None: the same everywhere."""
        return place.inputs(scenario, self.fields) if self.several or self.hyper.prices else None

    def _agent(self, decider: Decider, place: LearnedIn, scenario: Scenario) -> Learned:
        """What has been learned, as it plays in one of the scenarios of an environment."""
        told = replace(decider, inputs=self._inputs(place, scenario))
        return Learned(told, self.columns)

    def _seed(self, *of: int) -> int:
        """A seed that follows from the run's and some numbers."""
        sequence = np.random.SeedSequence([self.settings.seed, *of])
        return int(sequence.generate_state(1, np.uint32)[0])

    def validations(
        self, anchors: Sequence[Sequence[Anchors]], one: _Round, caution: float
    ) -> dict[str, Validation]:
        """The score of a round's ensemble, so cautious, by environment."""
        decider = replace(one.decider, caution=caution)
        return {
            place.id: self._validation_in(place, here, decider, one)
            for place, here in zip(self.places, anchors, strict=True)
        }

    def _validation_in(
        self, place: LearnedIn, anchors: Sequence[Anchors], decider: Decider, one: _Round
    ) -> Validation:
        """The same in an environment."""
        threads = self.settings.threads
        runs = [
            each.run(self._agent(decider, place, each.scenario), threads=threads)
            for each in anchors
        ]
        found = measure(anchors, runs)
        share = self.hyper.tail
        tail = None if share == 1.0 else mean_of_worst(anchors, runs, share)
        if tail is not None and self.several:
            tail /= room_per_member(anchors)
        return replace(
            Validation.of(one.steps, found, round=one.number, caution=decider.caution),
            false_kills_per_job=false_kills_per_job(anchors, runs),
            tail=tail,
        )

    def keep_best(
        self, file: Path, one: _Round, best: Validation, called: str, scores: dict[str, Any]
    ) -> None:
        """Write the policy file of the agent that validates best, of that round."""
        cautions = {each.env: each.caution for each in best.environments or ()}
        own = cautions.get(f"failgym/{self.scenario.name}", best.caution)
        assert own is not None
        places = tuple(
            place.model_copy(update={"caution": cautions[place.id]}) for place in self.environments
        )
        run = replace(self, environments=places)
        run.keep(file, one, own, called, scores)

    def keep(
        self, file: Path, one: _Round, caution: float, called: str, scores: dict[str, Any]
    ) -> None:
        """Write the policy file of a round's ensemble."""
        save_ensemble(
            replace(one.decider, caution=caution),
            file,
            env=self.scenario,
            fields=self.fields,
            command=called,
            steps=one.steps,
            seed=self.settings.seed,
            settings=self.document["settings"],
            scores=scores,
            environments=self.environments,
        )


def hyper_of(
    scenario: Scenario, settings: TrainingSettings, asked_for: Collection[str] = ()
) -> CounterfactualSettings:
    """The hyper-parameters of a run; ``asked_for`` is as for `document_of`. Raises ValueError."""
    hyper = settings_of(LEARNER, scenario.name, file=settings.config, hyper=settings.hyper)
    if hyper.environments:
        return hyper
    there = scenario_of(scenario, hyper.env, asked_for)
    if settings.config is None:
        hyper = of_its_rules(there, hyper, settings.hyper or ())
    return of_its_trace(there, hyper)


def _plan(env: str | Scenario, settings: TrainingSettings, asked_for: Collection[str]) -> _Run:
    """Check what is to be trained. Raises ValueError."""
    for name in UNUSED:
        if getattr(settings, name):
            raise ValueError(f"{name}: expected none: {COUNTERFACTUAL} goes by rounds")
    if settings.keep != "deterministic":
        raise ValueError(f"keep: expected 'deterministic': {COUNTERFACTUAL} draws no actions")
    given = resolve(env)
    hyper = hyper_of(given, settings, asked_for)
    if hyper.learns == "trees" and find_spec("xgboost") is None:
        raise ValueError(f"{COUNTERFACTUAL} needs XGBoost: pip install 'failgym[agents,boosting]'")
    places, advice = environments_of(
        given, hyper, split=settings.split, episodes=settings.episodes, asked_for=asked_for
    )
    scenario = next(place.scenario for place in places if place.scenario.name == given.name)
    several = len(places) > 1
    shown = settings.fields
    if several and shown == "varying":
        shown = "all"  # what is the same in all of one may tell it from others
    met = [one for place in places for one in place.scenarios]
    fields = fields_shown(shown, met, hyper.without or ())
    environments = tuple(place.described(fields) for place in places) if several else ()
    document = described_run(
        Environment.of(scenario).model_dump(),
        COUNTERFACTUAL,
        hyper,
        whole_trace(scenario).content_hash,
        seed=settings.seed,
        episodes=settings.episodes,
        fields_shown=settings.fields,
    )
    if several:
        document["environments"] = [
            one.model_dump(mode="json", exclude={"caution"}) for one in environments
        ]
    return _Run(
        settings=settings,
        hyper=hyper,
        scenario=scenario,
        places=tuple(places),
        advice=advice,
        fields=fields,
        environments=environments,
        document=document,
    )
