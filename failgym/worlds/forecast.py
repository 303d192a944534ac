"""Step 4: the forecast that a scenario names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.predictors import (
    LEARNED,
    Alarms,
    Calibrated,
    Forecast,
    Learned,
    NoForecast,
    Perfect,
    Predictor,
    check_trace,
    load_predictor,
)
from failgym.predictors.base import window_offsets
from failgym.predictors.drawn.alarms import Shown
from failgym.predictors.models import holds_predictor, is_fitted, packages_of
from failgym.predictors.others import OtherPredictor, other_predictors
from failgym.predictors.store import check_shapes, read_forecast
from failgym.traces import Trace
from failgym.worlds.cross_fitting import cross_fitted, learned_jobs
from failgym.worlds.recent import Recent, bytes_of
from failgym.worlds.scenario import Scenario
from failgym.worlds.selection import shown_tasks
from failgym.worlds.settings.source import generated
from failgym.worlds.split import Part

__all__ = [
    "ALARMS",
    "BY_JOB",
    "DRAWN",
    "FOR_SCENARIO",
    "PREDICTORS",
    "forecast_of",
    "makers",
    "our_names",
    "spoken_of",
    "stored_predictor",
    "unattainable",
]


Bools = npt.NDArray[np.bool_]

QUALITIES: dict[str, Callable[..., Calibrated]] = {
    "elsayed": Calibrated.elsayed,
    "rosa": Calibrated.rosa,
    "kumar": Calibrated.kumar,
}
"""Forecasts that are drawn from the outcomes, as good as a paper's."""


def _by_job(make: Callable[..., Calibrated], *, window: int, seed: int) -> Calibrated:
    """The same, erring by whole jobs."""
    return make(window=window, seed=seed).by_job()


BY_JOB = {f"{name}_by_job": partial(_by_job, make) for name, make in QUALITIES.items()}
"""The same, erring by whole jobs and applications, as learned forecasts do."""

ALARMS: dict[str, Callable[..., Alarms]] = {
    "elsayed_alarms": Alarms.elsayed,
    "elsayed_and_rosa": Alarms.elsayed_and_rosa,
    "kumar_alarms": Alarms.kumar,
}
"""The same qualities, in alarms whose age tells nothing; of attempts beyond a record too."""

_NO_CLASSES = ("elsayed_alarms", "kumar_alarms")

DRAWN: dict[str, Callable[..., Predictor]] = {
    "none": NoForecast,
    "perfect": Perfect,
    **QUALITIES,
    **BY_JOB,
    **ALARMS,
}
"""What makes the predictors that learn nothing, by name."""


def _trained(scenario: Scenario) -> Predictor:
    """What learns from the train split what the decisions of a scenario go by.

    Kills go by whether a task finishes at all, checkpoints by failures of the system in the last
    windows (Kumar et al. 2020, section V), the others by whether an attempt fails.
    """
    clone, checkpoint, kill = scenario.clone, scenario.checkpoint, scenario.kill
    target, samples = "fail", "moments"
    if kill and not clone and not checkpoint:
        target = "unfinished"
    elif checkpoint and not clone and not kill:
        target, samples = "system", "tail"
    return _boosting(scenario.window, scenario.seed, target, samples)


@lru_cache(maxsize=8)
def _boosting(window: int, seed: int, target: str, samples: str) -> Predictor:
    """One and the same for all worlds that ask for it, which then learn once."""
    make: Any = LEARNED["gradient_boosting"]
    return make(window=window, seed=seed, target=target, samples=samples)


def _auto(scenario: Scenario) -> Predictor:
    """`trained` on a record; on a generated trace what is drawn to the quality that a paper reports
    of such forecasts: alarms of attempts, and classes where tasks may be killed.
    """
    name = _chosen(scenario)
    return _trained(scenario) if name == "trained" else _named(name, scenario)


def _chosen(scenario: Scenario) -> str:
    """What `auto` is in a scenario."""
    if not generated(scenario.trace):
        return "trained"
    if scenario.kill:
        return "elsayed_and_rosa" if scenario.clone or scenario.checkpoint else "rosa_by_job"
    return "kumar_alarms" if scenario.checkpoint and not scenario.clone else "elsayed_alarms"


def spoken_of(scenario: Scenario) -> frozenset[str]:
    """What a scenario's forecast speaks of, as far as its name tells: *risks*, *classes*."""
    named = scenario.forecast if isinstance(scenario.forecast, str) else ""
    named = _chosen(scenario) if named == "auto" else named
    if named == "none":
        return frozenset()
    return frozenset({"risks"} if named in _NO_CLASSES else {"risks", "classes"})


FOR_SCENARIO: dict[str, Callable[[Scenario], Predictor]] = {"trained": _trained, "auto": _auto}
"""Forecasts that a scenario's decisions and trace give a meaning."""


def our_names() -> tuple[str, ...]:
    """Names that no other package can take."""
    return (*DRAWN, *LEARNED, *FOR_SCENARIO)


@lru_cache(maxsize=8)
def _made(name: str, window: int, seed: int) -> Predictor:
    """The predictor of a name, one and the same for all worlds that ask for it."""
    others = other_predictors(our_names())
    if name in others:
        return OtherPredictor.made(others[name], window=window, seed=seed)
    make: Any = DRAWN[name] if name in DRAWN else LEARNED[name]
    if "seed" in signature(make).parameters:
        return make(window=window, seed=seed)
    return make(window=window)


def _named(name: str, scenario: Scenario) -> Predictor:
    return _made(name, scenario.window, scenario.seed)


class _Predictors(Mapping[str, Callable[[Scenario], Predictor]]):
    """Name -> what makes the predictor; those of other packages are looked up when asked for."""

    def __getitem__(self, name: str) -> Callable[[Scenario], Predictor]:
        if name not in tuple(self):
            raise KeyError(name)
        return FOR_SCENARIO.get(name, partial(_named, name))

    def __iter__(self) -> Iterator[str]:
        ours = our_names()
        return iter((*ours, *other_predictors(ours)))

    def __len__(self) -> int:
        return sum(1 for _ in self)


PREDICTORS: Mapping[str, Callable[[Scenario], Predictor]] = _Predictors()
"""Predictors that a scenario may name; those that learn do so from its train split."""


def forecast_of(scenario: Scenario, part: Part, known: Part) -> Forecast:
    """The forecast of what is simulated, as a scenario names it.

    One of the whole trace serves its parts, and one of a part serves it on any cluster.

    Args:
        scenario: names it.
        part: what it is to speak of.
        known: what a predictor is fitted on that is not fitted yet. Of jobs that are in it, one
            that has learned from others speaks (`failgym.worlds.cross_fitting`).

    Raises:
        ValueError: for a name that is neither a predictor nor a file, a file that holds neither a
            forecast nor a predictor, a forecast of another trace, or a predictor that finds nothing
            to learn from or needs a package that is not installed.
    """
    wanted = scenario.forecast
    if isinstance(wanted, Forecast):
        return _aligned(wanted, part)
    if not isinstance(wanted, str):
        return _predicted(wanted, scenario, part, known)
    if wanted == "auto":
        return _of_auto(scenario, part, known)
    if wanted in PREDICTORS:
        return _predicted(PREDICTORS[wanted](scenario), scenario, part, known, named=True)
    if not Path(wanted).is_file():
        names = ", ".join(PREDICTORS)
        raise ValueError(f"forecast: expected one of {names} or a file, got {wanted!r}")
    if holds_predictor(wanted):
        return _predicted(stored_predictor(wanted), scenario, part, known)
    try:
        return _aligned(read_forecast(wanted), part)
    except ValueError as error:
        said = str(error).removeprefix(f"{wanted}: ")
        raise ValueError(f"{wanted}: {said}") from error


def _of_auto(scenario: Scenario, part: Part, known: Part) -> Forecast:
    """What `auto` says. Raises ValueError, naming the field that perhaps nobody has set."""
    try:
        return _predicted(_auto(scenario), scenario, part, known, named=True)
    except ValueError as error:
        raise ValueError(f"forecast=auto: {error}; set forecast=none") from error


_OF_ANOTHER_PACKAGE = object()
"""Stands for code of which nobody knows when it changes."""


def makers(scenario: Scenario) -> tuple[object, ...]:
    """What the name of a scenario's forecast calls: a part of what decides its world."""
    named = scenario.forecast if isinstance(scenario.forecast, str) else ""
    named = _chosen(scenario) if named == "auto" else named
    if named in other_predictors(our_names()):
        return (_OF_ANOTHER_PACKAGE,)
    return (DRAWN.get(named),)


def unattainable(scenario: Scenario) -> str | None:
    """Why nobody has the forecast of a scenario: it is drawn from how a record ends."""
    wanted = scenario.forecast
    name = wanted if isinstance(wanted, str) else getattr(wanted, "name", type(wanted).__name__)
    names = (*QUALITIES, *BY_JOB, *ALARMS, "perfect")
    drawn = name in names or isinstance(wanted, Alarms | Calibrated | Perfect)
    if not drawn or generated(scenario.trace):
        return None
    return (
        f"forecast {name}: drawn from how the tasks of the record end, which nobody knows"
        " beforehand; forecast=trained learns one from its train split"
    )


def stored_predictor(file: str) -> Learned:
    """The predictor in a file. Raises ValueError for one that forecasts no failures."""
    predictor = load_predictor(file)
    if not isinstance(predictor, Learned):
        raise ValueError(f"{file}: holds {predictor.name}, which forecasts no failures")
    return predictor


def _predicted(
    predictor: Predictor | Learned,
    scenario: Scenario,
    part: Part,
    known: Part,
    *,
    named: bool = False,
) -> Forecast:
    """What a predictor says of a part.

    It is fitted before, unless somebody gave it fitted; one that has a name is shared, and whether
    somebody has fitted it is nothing to go by.
    """
    trace = part.trace
    if isinstance(predictor, Alarms):
        shown = shown_tasks(scenario, trace) & part.own_tasks
        return predictor.predict(trace, Shown(shown, part.tasks, part.jobs))
    if isinstance(predictor, NoForecast | Perfect | Calibrated):  # they learn nothing
        return predictor.fit(known.trace).predict(trace)
    learned = learned_jobs(part, known)
    if not isinstance(predictor, Learned):  # of another package, or an object of one's own
        if not learned.any():
            return predictor.fit(known.trace).predict(trace)
        return cross_fitted(
            lambda train, _: copy(predictor).fit(train).predict(trace), part, known, learned
        )
    with packages_of(predictor.name):
        if is_fitted(predictor) and not named:
            return predictor.predict(trace)
        given = _Unfitted(predictor, repr(predictor))
        if not learned.any():
            return _fitted(given, _Content(known.trace)).predict(trace)
        return _cross_fitted(given, part, known)


@lru_cache(maxsize=1)
def _cross_fitted(given: _Unfitted, part: Part, known: Part) -> Forecast:
    """Made once for the worlds of a split that are built one after the other."""

    def said_by(train: Trace, jobs: Bools) -> Forecast:
        return _fitted(given, _Content(train)).predict_jobs(part.trace, jobs)

    return cross_fitted(said_by, part, known, learned_jobs(part, known))


class _Content:
    """A trace to learn from once, equal to all of the same content."""

    def __init__(self, trace: Trace) -> None:
        self.content_hash = trace.content_hash
        self._trace: Trace | None = trace

    def learned_by(self, predictor: Learned) -> Learned:
        """A predictor that has learned from it. The trace is let go: it may take much room."""
        assert self._trace is not None, "it is learned from once"
        fitted = predictor.fit(self._trace)
        self._trace = None
        return fitted

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Content) and self.content_hash == other.content_hash

    def __hash__(self) -> int:
        return hash(self.content_hash)


@dataclass(frozen=True)
class _Unfitted:
    """A predictor with the hyper-parameters that it has now: its fields may be set later."""

    predictor: Learned
    parameters: str


def _fitted(given: _Unfitted, train: _Content) -> Learned:
    """A fitted copy of a predictor, made once for the worlds of all splits, and for all scenarios
    that learn the same.
    """
    found = _FITTED.get((given, train))
    if found is None:
        found = _FITTED.keep((given, train), train.learned_by(copy(given.predictor)))
    return found


_FITTED: Recent[Learned] = Recent(
    lambda fitted: bytes_of(tuple(fitted.arrays().values())), most=128, room=128_000_000
)
"""Of the folds of a record there are eight each for every kind of forecast. One that learned from
the train split of GracePeriod-v1 takes a megabyte."""


def _aligned(forecast: Forecast, part: Part) -> Forecast:
    """A forecast as one of a part. Raises ValueError if it speaks of something else."""
    if forecast.trace_hash == part.trace.content_hash:
        check_shapes(forecast, part.trace)
        return forecast
    if forecast.trace_hash == part.recorded.content_hash:  # the scenario's cluster is new in it
        check_shapes(forecast, part.recorded)
    elif forecast.trace_hash == part.whole.content_hash:
        check_shapes(forecast, part.whole)
        forecast = _of_part(forecast, part)
    else:
        check_trace(forecast, part.trace)
    return replace(forecast, trace_hash=part.trace.content_hash)


def _of_part(forecast: Forecast, part: Part) -> Forecast:
    """The rows of a forecast of a whole trace that speak of a part of it.

    An attempt that does not start in the part has no windows, one that the part cuts off none after
    the cut.
    """
    begun = part.recorded.present("attempts", "start")
    said = (forecast.offset[1:] - forecast.offset[:-1])[part.attempts]
    windows = np.diff(window_offsets(part.recorded, forecast.window))
    count = np.where(begun, np.minimum(said, windows), 0)
    offset = np.concatenate(([0], np.cumsum(count))).astype(np.int64)
    of = np.repeat(np.arange(len(count)), count)
    at = forecast.offset[part.attempts[of]] + np.arange(len(of)) - offset[of]
    return replace(
        forecast,
        offset=offset,
        risk=forecast.risk[at],
        confidence=forecast.confidence[part.tasks],
        job_confidence=forecast.job_confidence[part.jobs],
        alarms=forecast.alarms and forecast.alarms.of_tasks(part.tasks),
    )
