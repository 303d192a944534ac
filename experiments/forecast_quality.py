"""How good learned forecasts are, and what the papers' policies make of them.

    python -m experiments.forecast_quality [--trace DIR] [--part NAME ...] [--cache DIR]
        [--json FILE] [--quick]

Predictors are fitted on earlier jobs and judged on later ones. What is claimed, part by part, with
what the papers say beside it:

- ``profile``: precision and recall of the risk at .5, areas under ROC curves, and calibration, on
  the profile google-2011, by predictor and by what it knows. With ``--trace DIR`` (a stored trace
  with ends of attempts, such as one imported from Google's files of 2011) the same as part
  ``trace``: fitted on the first half of its time, judged on the second.
- ``sweep``: jobs, tasks and attempts by scenario of features, as El-Sayed et al. (ICDCS 2017,
  Fig. 8) have it: failures told from the configuration alone with a precision of at most 79.5 % at
  a recall above 50 %; with TaskFailFlag, recall up to 94 % at a precision of 95 % or more. Band:
  the area with TaskFailFlag > with usage > of configuration alone, for jobs.
- ``systems``: `GradientBoosting` on the profiles system-a and system-b, by environment and job type
  (Kumar et al., DSN 2020, Fig. 8). Areas that the binormal reading of their Table VIII implies:
  .949 shared single, .961 and .962 nonshared single and multi of System A, .994 nonshared multi of
  System B; single-node jobs of B are not usable there. ``tail`` reads the usage until the end, as
  the paper; ``moments`` what was known before.
- ``history``: `UserHistory` on system-a, median absolute percentage errors of last, average, median
  and MCS (Table VI). Band: median and MCS below last and average for run time.
- ``days``: `TwoLevelNetwork` by its learning window D (Rosà et al., IWQoS 2015, Fig. 4: 6.6 to
  8.9 % of jobs, 26.6 to 31.8 % of tasks). Band: the jobs' rate falls with D.
- ``grace``: class grace periods chosen on earlier days for at most 1 % of false negatives, and what
  they do on later days; relative resource consumption saved beside their 49, 45, 18 and 26 % of
  cpu, memory, disk and time. Band: with networks trained anew each day, as in the paper, the rate
  on later days is at most .004 above the target. They meet it by flagging few tasks, and so save
  next to nothing. Networks that are trained once, on the first fifth,
  are shown without a band: how often they flag tasks that finish drifts by more than that.
- ``Cloning-v1``, ``Checkpoint-v1``, ``GracePeriod-v1``, one table: Algorithm 1, ML + periodic and
  the grace policy with trained forecasts, with those drawn to the papers' quality, erring task by
  task and by whole jobs, with the record itself and with none; scores on the test splits of fresh
  traces (`SIZES`), with 95 % intervals over traces and jobs. A threshold is chosen for each
  forecast on the later part of the first trace's training split.
- ``speed``: forecasts of a million moments in under 10 s, and fitting on 200,000 attempts in under
  60 s. Medians of seconds by the clock, and of the processor's.

Assumptions: the trained risks are as they come, without a calibration of their own. The profiles
are synthetic; a figure on them is no figure of the papers' clusters.

With ``--cache DIR`` each part is kept in a file there as it is done, and is not done again by a run
of the same settings.
"""

from __future__ import annotations

import hashlib
import json as json_module
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from experiments.forecast_measures import grace_of_days, half_of_the_time, quality
from experiments.forecast_policies import CASES, Size, compared
from experiments.forecast_tables import (
    TARGET,
    Found,
    print_days,
    print_grace,
    print_history,
    print_policies,
    print_profile,
    print_speed,
    print_swept,
    print_systems,
    print_trace,
)
from failgym import __version__
from failgym.cli.output import JsonFile, interactive, print_line
from failgym.evaluation.progress import Advance, progress_bar
from failgym.predictors import (
    Calibrated,
    GradientBoosting,
    Predictor,
    RandomForest,
    TwoLevelNetwork,
    UserHistory,
)
from failgym.predictors.base import window_offsets
from failgym.predictors.boosting.curves import curves
from failgym.predictors.forest.rows import LEVELS, SCENARIOS
from failgym.predictors.forest.sweep import Sweep, sweep
from failgym.predictors.history.job_use import QUANTITIES
from failgym.predictors.history.methods import METHODS
from failgym.predictors.learned import Learned
from failgym.predictors.network.misclassification import misclassified_by_days
from failgym.traces import Trace, TraceError, generate
from failgym.traces.synthetic import PROFILES, Google2011
from failgym.vocabulary import MINUTE

Took = tuple[float, float]
"""Seconds by the clock and of the processor."""

_CASES = {case.env: case for case in CASES}


SIZES = {
    "Cloning-v1": Size(3, 20_000),
    "Checkpoint-v1": Size(3, 8_000),
    "GracePeriod-v1": Size(5, 10_000),
}
"""Of the environments' traces, by environment."""


@dataclass(frozen=True)
class Effort:
    """How much is measured."""

    jobs: int = 3_000
    """of the profile google-2011 in `profile` and `sweep`"""
    trees: int = 50
    systems: tuple[tuple[str, int, int], ...] = (
        ("system-a", 5 * MINUTE, 15_000),
        ("system-b", MINUTE, 20_000),
    )
    """profile, window [ms] (Kumar et al., section III), jobs"""
    history: int = 15_000
    """jobs of system-a"""
    days: int = 7_000
    """jobs of google-2011, 29 days"""
    grace: int = 35_000
    """jobs of google-2011, 29 days at `grace_sampling`"""
    grace_sampling: float = 0.1
    """share of the cluster's jobs"""
    grace_seeds: int = 3
    once: int = 29 * 24 * 60 * MINUTE
    """learning window of the networks that are trained once [ms]: all that is known"""
    policies: dict[str, Size] = field(default_factory=lambda: SIZES)
    """by environment"""
    speed: tuple[int, int] = (18_400, 5_200)
    """jobs of google-2011 that hold 200,000 attempts, and a million moments"""
    runs: int = 3
    """of which medians are taken"""


QUICK = Effort(
    jobs=200,
    trees=5,
    systems=(("system-a", 5 * MINUTE, 600),),
    history=1_000,
    days=400,
    grace=600,
    grace_sampling=0.02,
    grace_seeds=1,
    policies={
        "Cloning-v1": Size(2, 300, 4),
        "Checkpoint-v1": Size(2, 300, 4),
        "GracePeriod-v1": Size(2, 200, 4),
    },
    speed=(200, 100),
    runs=1,
)
"""Enough to see that everything works; its figures say nothing."""


def judged(trace: Trace, share: float, effort: Effort, advance: Advance) -> Found:
    """Every predictor that foretells failures, fitted on the early jobs, judged on the later."""
    early, late = (trace.split(part, share) for part in ("train", "test"))
    learned: dict[str, Learned | Predictor] = {
        f"RandomForest, {name}": RandomForest(scenario=name, trees=effort.trees)
        for name in SCENARIOS
    }
    learned["GradientBoosting"] = GradientBoosting()
    learned["TwoLevelNetwork"] = TwoLevelNetwork()
    learned["drawn as El-Sayed et al."] = Calibrated.elsayed()
    found: Found = []
    for name, predictor in learned.items():
        found.append(asdict(quality(name, late, predictor.fit(early).predict(late))))
        advance(1)
    return found


def profile(effort: Effort, advance: Advance) -> Found:
    """On google-2011."""
    return judged(generate("google-2011", jobs=effort.jobs, seed=0), 0.7, effort, advance)


def swept(effort: Effort, advance: Advance) -> Found:
    """By level and scenario, with the protocol of El-Sayed et al."""
    trace = generate("google-2011-failing", jobs=effort.jobs, seed=0)
    found: Found = []
    for level in LEVELS:
        for name in SCENARIOS:
            done = sweep(trace, level, name, trees=effort.trees)
            found.append({"level": level, "scenario": name, **_headline(done)})
            advance(1)
    return found


def _headline(done: Sweep) -> dict[str, float]:
    """The figures that the text of El-Sayed et al. gives of its Fig. 8."""
    half = [point.precision for point in done.points if point.recall > 0.5]
    sure = [point.recall for point in done.points if point.precision >= 0.95]
    middle = next(point for point in done.points if point.threshold == 0.5)
    return {
        "tested": done.tested,
        "failed": done.positive,
        "auc": done.auc[1.0],
        "precision": middle.precision,
        "recall": middle.recall,
        "precision_at_half": max(half, default=float("nan")),
        "recall_at_95": max(sure, default=float("nan")),
    }


def systems(effort: Effort, advance: Advance) -> Found:
    """Gradient boosting on Kumar et al.'s systems."""
    found: Found = []
    for name, window, jobs in effort.systems:
        trace = generate(name, jobs=jobs, seed=0)
        early, late = trace.split("train"), trace.split("test")
        for samples in ("tail", "moments"):
            fitted = GradientBoosting(target="system", samples=samples, window=window).fit(early)
            measured = quality(f"{name}, {samples}", late, fitted.predict(late), "system")
            areas = curves(late, fitted.scores(late), "system")
            found.append(
                {
                    "profile": name,
                    "quality": asdict(measured),
                    "types": {
                        kind: {"auc": c.auc, "attempts": c.attempts, "failures": c.failures}
                        for kind, c in areas.items()
                    },
                }
            )
            advance(1)
    return found


def history(effort: Effort, advance: Advance) -> Found:
    """Users' histories on system-a."""
    trace = generate("system-a", jobs=effort.history, seed=0)
    fitted = UserHistory().fit(trace.split("train"))
    errors = fitted.errors(trace.split("test"))
    advance(1)
    return [
        {"method": method, **dict(zip(QUANTITIES, row.tolist(), strict=True))}
        for method, row in zip(METHODS, errors, strict=True)
    ]


def by_days(effort: Effort, advance: Advance) -> Found:
    """The two-level network by its learning window."""
    trace = generate("google-2011", jobs=effort.days, seed=0, usage=False)
    rates = misclassified_by_days(trace)
    advance(1)
    return [{"days": days, **rate._asdict()} for days, rate in rates.items()]


def grace(effort: Effort, advance: Advance) -> Found:
    """Grace periods, chosen and judged on different days."""
    shape = PROFILES["google-2011"]
    assert isinstance(shape, Google2011)
    shape = replace(shape, sampling=effort.grace_sampling)
    found: Found = []
    for seed in range(effort.grace_seeds):
        trace = generate(shape, jobs=effort.grace, seed=seed, usage=False)
        for network in (TwoLevelNetwork(), TwoLevelNetwork(refit=0, memory=effort.once)):
            found.append(asdict(grace_of_days(trace, seed, TARGET, network)))
            advance(1)
    return found


def policies(env: str, effort: Effort, advance: Advance) -> Found:
    """A policy with trained and other forecasts."""
    return [asdict(row) for row in compared(_CASES[env], effort.policies[env], advance)]


def speed(effort: Effort, advance: Advance) -> Found:
    """Seconds to fit and to predict."""
    large, asked = (generate("google-2011", jobs=jobs, seed=1) for jobs in effort.speed)
    attempts, moments = large.rows("attempts"), int(window_offsets(asked, 5 * MINUTE)[-1])
    found: Found = []
    for make in (RandomForest, GradientBoosting, TwoLevelNetwork, UserHistory):
        fitting: list[Took] = []
        asking: list[Took] = []
        for _ in range(effort.runs):
            predictor: Any = make()
            fitting.append(_took(predictor.fit, large))
            asking.append(_took(predictor.predict, asked))
            advance(1)
        found.append(
            {
                "predictor": make.__name__,
                "attempts": attempts,
                "moments": moments,
                **_medians("fit", fitting),
                **_medians("predict", asking),
            }
        )
    return found


def _took(work: Callable[[Trace], Any], trace: Trace) -> Took:
    begun = time.perf_counter(), time.process_time()
    work(trace)
    return time.perf_counter() - begun[0], time.process_time() - begun[1]


def _medians(name: str, took: list[Took]) -> dict[str, float]:
    clock, processor = (statistics.median(column) for column in zip(*took, strict=True))
    return {f"{name}_seconds": clock, f"{name}_processor": processor}


@dataclass(frozen=True)
class Part:
    """A part of the experiment."""

    work: Callable[[Effort, Advance], Found]
    shown: Callable[[Found], None]
    steps: Callable[[Effort], int]
    """calls of `Advance`"""


def _steps(env: str) -> Callable[[Effort], int]:
    return lambda effort: effort.policies[env].traces * len(_CASES[env].forecasts())


PARTS = {
    "profile": Part(profile, print_profile, lambda _: len(SCENARIOS) + 3),
    "sweep": Part(swept, print_swept, lambda _: len(LEVELS) * len(SCENARIOS)),
    "systems": Part(systems, print_systems, lambda effort: 2 * len(effort.systems)),
    "history": Part(history, print_history, lambda _: 1),
    "days": Part(by_days, print_days, lambda _: 1),
    "grace": Part(grace, print_grace, lambda effort: 2 * effort.grace_seeds),
    "speed": Part(speed, print_speed, lambda effort: 4 * effort.runs),
    **{env: Part(partial(policies, env), print_policies, _steps(env)) for env in _CASES},
}


def of_trace(trace: Trace) -> Part:
    """The part that judges predictors on a stored trace."""

    def work(effort: Effort, advance: Advance) -> Found:
        return judged(trace, half_of_the_time(trace), effort, advance)

    return Part(work, print_trace, lambda _: len(SCENARIOS) + 3)


def done(name: str, part: Part, effort: Effort, of: str, cache: Path | None) -> Found:
    """What a part finds; from the cache, if it holds what was found with the same settings."""
    settings = {"failgym": __version__, "part": name, "of": of, "effort": repr(effort)}
    key = hashlib.sha256(json_module.dumps(settings).encode()).hexdigest()[:12]
    file = None if cache is None else cache / f"{name}-{key}.json"
    if file is not None and file.is_file():
        return json_module.loads(file.read_text("utf-8"))["found"]
    with progress_bar(name, part.steps(effort), interactive()) as advance:
        found = part.work(effort, advance)
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        JsonFile.at(file).write({"settings": settings, "found": found})
        found = json_module.loads(file.read_text("utf-8"))["found"]
    return found


def main(
    trace: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Also judge on this stored trace.")
    ] = None,
    part: Annotated[
        list[str] | None, typer.Option(help=f"Only these: {', '.join((*PARTS, 'trace'))}.")
    ] = None,
    cache: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep parts that are done here.")
    ] = None,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write as JSON.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Only see that it works.")] = False,
) -> None:
    """Measure forecasts, and policies with them."""
    effort = QUICK if quick else Effort()
    parts, of = dict(PARTS), ""
    wanted = part or list(PARTS)
    if trace is not None:
        try:
            stored = Trace.load(trace)
        except TraceError as error:
            raise typer.BadParameter(str(error), param_hint="--trace") from error
        parts["trace"], of = of_trace(stored), stored.content_hash
        wanted = part or [*PARTS, "trace"]
    for name in wanted:
        if name not in parts:
            known = ", ".join(parts) + ("" if trace else "; trace with --trace")
            raise typer.BadParameter(f"expected {known}; got {name!r}", param_hint="--part")
    file = JsonFile.at(json)
    results: dict[str, Found] = {}
    for name in wanted:
        results[name] = done(name, parts[name], effort, of if name == "trace" else "", cache)
        if name not in _CASES:
            parts[name].shown(results[name])
            print_line("")
    if together := [row for name in wanted if name in _CASES for row in results[name]]:
        print_policies(together)
    file.write({"quick": quick, "effort": asdict(effort), "parts": results})


if __name__ == "__main__":
    typer.run(main)
