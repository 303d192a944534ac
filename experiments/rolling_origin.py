"""Rules on the records of real systems, five folds by time, each chosen on its past only.

    python -m experiments.rolling_origin --trace DIR [--trace DIR ...] [--env ID ...]
        [--episodes 64] [--set FIELD=VALUE ...] [--json FILE]

What `failgym trace import` wrote is played as suite ``v2-real`` plays it, with drawn forecasts: the
later half of the jobs are five folds (`failgym.envs.Scenario.fold`; Tashman, "Out-of-sample tests
of forecasting accuracy: an analysis and review", International Journal of Forecasting 2000). In
each, every heuristic that can be played is run as published on the train split, all that was known
before the fold; the one that saves most there, or replay, plays the fold as "chosen on the past".

The folds are joined. Costs are in machine-hours, since prices follow the train split and differ
between folds. Intervals are of 95 %: blocks of jobs (of slices, where tasks share machines), none
of which lies in two folds, are resampled. They say how surely jobs like those of this one record
would give the figure; nothing of other systems.

A score is a share of what the bound saves; a saving is a share of replay's machine-time. The best
rule is the best in hindsight, which its interval does not hold. Where the interval of its score or
of its saving holds 0, nothing can be concluded:
``more`` is how many more jobs of this kind (slices, where tasks share machines) would bring the
half of the interval on the side of 0 below the effect, since it shrinks with one over the root of
their number. That the effect stays what it is, is assumed. Nor can anything be concluded of
retries, clones and checkpoints where the record hardly holds a restart (``unjudged``): what another
attempt meets is drawn then, and nothing in the record checks it. Where it holds some, ``drawn`` is
the share of what the best rule saves and loses that rests on drawn attempts.

A file that is there is gone on with: rows of the same trace and environment take the place of
those in it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer

from experiments.measured_worlds import world_of
from experiments.result_tables.real_traces import condition
from failgym.assessment.measures import MEASURES
from failgym.baselines import REGISTRY
from failgym.cli.options import override
from failgym.cli.output import JsonFile, interactive, print_line, print_table
from failgym.evaluation import Anchors, Run
from failgym.evaluation.caller import check_playable
from failgym.evaluation.folds import Folds
from failgym.evaluation.progress import Advance, progress_bar
from failgym.evaluation.room import LEAST_ROOM, NOTHING
from failgym.evaluation.savings import moved, share_of_moved
from failgym.evaluation.stakes import Stakes
from failgym.evaluation.statistics.sampling_units import TracesUnits
from failgym.leaderboard.statistics.bootstrap import Bootstrap, Estimate
from failgym.leaderboard.statistics.estimators import Runs
from failgym.leaderboard.suite.suites import suite_named
from failgym.policy import Policy
from failgym.traces import Trace
from failgym.worlds.scenario import Scenario, Split
from failgym.worlds.settings.splitting import FOLDS
from failgym.worlds.source import whole_trace

Floats = npt.NDArray[np.float64]

SUITE = "v2-real"
ENVIRONMENTS = ("Cloning-v1", "GracePeriod-v1", "Checkpoint-v1", "Mitigation-v1")
"""Those that any trace of jobs will do for."""
REPLAY = "replay"
NO_RULES = frozenset({REPLAY, "random"})


@dataclass(frozen=True)
class Row:
    """The rules on the folds of one trace in one environment."""

    trace: str
    env: str
    world: str
    unit: str
    """what is counted below: "job", or "slice" where tasks share machines"""
    count: int
    """how many of them the folds hold"""
    slices: int
    room_share: float
    """of replay's machine-time, what the bound saves"""
    room_hours: float
    """the same [machine-h]"""
    largest: float
    """share of what the bound saves that one job holds, the one that holds most"""
    top: float
    """the same of the top 1 % of jobs"""
    scores: dict[str, Estimate]
    """of every rule, NaN where there is nothing to gain"""
    savings: dict[str, Estimate]
    """of every rule, over replay [% of replay's machine-time]"""
    best: str
    """the rule that saves most on the folds, in hindsight"""
    chosen: list[str]
    """the rule that saves most on the past of each fold, or replay"""
    chosen_score: Estimate
    chosen_saving: Estimate
    more: int | None
    """jobs or slices that are missing for a conclusion on the best rule; None if it can be drawn"""
    unjudged: str | None
    """why the record cannot tell what the rules would be worth (`failgym.assessment.measures`)"""
    drawn: float
    """share of what the best rule saves and loses that rests on attempts beyond the record; NaN if
    it changes nothing, or the world does not tell"""


MEASURED_BY = {"Cloning-v1": "retry", "Checkpoint-v1": "checkpoint"}
"""The measure of `assess` that an environment is about, of those that need restarts."""


@dataclass(frozen=True)
class Fold:
    """What each policy saves in one fold and on its past."""

    anchors: Anchors
    saved: Floats
    """[policies, rows] over replay, in the fold [machine-h]"""
    past: Floats
    """[policies] the same on its train split"""
    moved: Floats
    """[policies, 2] what is saved and lost in the fold, and how much of it rests on attempts beyond
    the record [machine-h]"""


def scenario_of(env: str, trace: str | Path, settings: Sequence[str] | None = None) -> Scenario:
    """The scenario that the suite plays of an environment, on a trace."""
    scenario = suite_named(SUITE).course(env).scenario().override(trace=str(trace))
    return override(scenario, list(settings or ()))


def folds_of(
    scenario: Scenario, rules: dict[str, Policy], episodes: int | None, advance: Advance
) -> tuple[list[Fold], list[str]]:
    """The folds, and the rules that can be played, in order.

    A rule that lacks what it goes by on the past of every fold is left out.

    Args:
        scenario: of any fold.
        rules: by name.
        episodes: slices to draw of each fold and of its past; all if None.
        advance: called with the number of slices that are done.

    Raises:
        ValueError: in one line, naming the fold, if one asks about nothing.
    """
    pasts, places = _anchors(scenario, "train", episodes), _anchors(scenario, "test", episodes)
    names = [
        name
        for name, rule in rules.items()
        if any(_can_play(rule, place, name) for place in (*pasts, *places))
    ]
    folds: list[Fold] = []
    for past, place in zip(pasts, places, strict=True):
        runs = [place.run(rules[name], progress=advance) for name in names]
        before = [past.run(rules[name], progress=advance) for name in names]
        folds.append(
            Fold(
                place,
                np.array([_saved(place, run) for run in runs]),
                np.array([_saved(past, run).sum() for run in before]),
                np.array([_moved(place, run) for run in runs]),
            )
        )
    return folds, names


def _anchors(scenario: Scenario, split: Split, episodes: int | None) -> list[Anchors]:
    found: list[Anchors] = []
    for fold in range(1, FOLDS + 1):
        try:
            one = scenario.override(fold=fold, seed=fold)
            found.append(Anchors.of(one, split=split, episodes=episodes, seed=fold))
        except ValueError as error:
            raise ValueError(f"fold {fold}, {split} split: {error}") from error
    return found


def _can_play(rule: Policy, place: Anchors, name: str) -> bool:
    try:
        check_playable(rule, place.scenario, place.world, name)
    except ValueError:
        return False
    return True


def _saved(place: Anchors, run: Run) -> Floats:
    """What a rule saves over replay, [rows] [machine-h]."""
    return (place.evidence.replay - place.evidence.costs(run)) / place.machine_hour


def _moved(place: Anchors, run: Run) -> Floats:
    """What it saves and loses, and what of that rests on attempts beyond the record [machine-h]."""
    return moved(place.world, place.replayed, run).sum(axis=0) / place.machine_hour


def row_of(trace: str, env: str, folds: Sequence[Fold], names: Sequence[str]) -> Row:
    """The folds joined."""
    places = [fold.anchors for fold in folds]
    evidence = [place.evidence for place in places]
    joined = Folds(places).evidence
    possible, spent = joined.possible, joined.spent
    one_record = np.zeros(joined.units.count, dtype=np.int64)
    units = TracesUnits(joined.units.of_row, one_record)
    saved = np.concatenate([fold.saved for fold in folds], axis=1)
    picked = [int(np.argmax(fold.past)) for fold in folds]
    chosen = [
        names[i] if fold.past[i] > 0.0 else REPLAY for i, fold in zip(picked, folds, strict=True)
    ]
    ours = np.concatenate(
        [
            fold.saved[i] if name != REPLAY else np.zeros(fold.saved.shape[1])
            for i, name, fold in zip(picked, chosen, folds, strict=True)
        ]
    )

    def score(values: Floats) -> Estimate:
        return Bootstrap().score(Runs(values[None], possible, spent, units).by_unit())

    def saving(values: Floats) -> Estimate:
        runs = Runs(values[None], spent, spent, units).by_unit()
        return Bootstrap(highest=math.inf).score(runs)

    scores = {name: score(values) for name, values in zip(names, saved, strict=True)}
    savings = {name: saving(values) for name, values in zip(names, saved, strict=True)}
    best = max(names, key=lambda name: savings[name].value)
    of_best = np.sum([fold.moved[names.index(best)] for fold in folds], axis=0)
    stakes = Stakes.of(evidence, [one.replay for one in evidence])
    count = len(stakes.possible)
    return Row(
        trace=trace,
        env=env,
        world=world_of(env),
        unit=stakes.name,
        count=count,
        slices=sum(len(place.replay.slices) for place in places),
        room_share=float(possible.sum() / spent.sum()) if spent.sum() > 0.0 else math.nan,
        room_hours=float(possible.sum()),
        largest=stakes.stake_of_top(1),
        top=stakes.stake_of_top(stakes.top_count),
        scores=scores,
        savings=savings,
        best=best,
        chosen=chosen,
        chosen_score=score(ours),
        chosen_saving=saving(ours),
        more=missing(scores[best], savings[best], count),
        unjudged=unjudged_in(env, whole_trace(places[0].scenario)),
        drawn=share_of_moved(*of_best.tolist()).value,
    )


def unjudged_in(env: str, trace: Trace) -> str | None:
    """Why a record cannot tell what the rules of an environment would be worth; None if it can."""
    measure = MEASURED_BY.get(env)
    return None if measure is None else MEASURES[measure].why_not(trace)


def missing(score: Estimate, saving: Estimate, count: int) -> int | None:
    """How many more jobs are needed until neither interval holds 0, as `more_needed` says.

    A score without an interval, where there is nothing to gain, is left to the saving.
    """
    known = [score, saving] if math.isfinite(score.low) else [saving]
    needed = [more for one in known if (more := more_needed(one, count)) is not None]
    return min(needed) if -1 in needed else max(needed, default=None)


def more_needed(effect: Estimate, count: int) -> int | None:
    """How many more jobs are needed for an interval that does not hold 0; None if it does not now.

    An interval's width goes with one over the root of the number of jobs.

    Args:
        effect: with its interval.
        count: jobs that it was measured on.

    Returns:
        -1 if no number is enough, since nothing is saved at all, or there is no interval.

    >>> more_needed(Estimate(1.0, -2.0, 4.0), 100)  # nine times as many make it 0 to 2
    801
    """
    value, low, high = effect
    if low > 0.0 or high < 0.0:
        return None
    half = value - low if value > 0.0 else high - value
    if value == 0.0 or not math.isfinite(half):
        return -1
    return math.floor(count * ((half / value) ** 2 - 1.0)) + 1


def measured(
    trace: Path, env: str, episodes: int | None, settings: Sequence[str] | None
) -> dict[str, Any]:
    """The row of a trace in an environment, or why there is none."""
    try:
        scenario = scenario_of(env, trace.resolve(), settings)
        rules: dict[str, Policy] = {
            name: kind()
            for name, kind in REGISTRY.items()
            if name not in NO_RULES and kind.compatible(scenario)
        }
        total = 0 if episodes is None else 2 * FOLDS * episodes * len(rules)
        with progress_bar(f"{trace.name}, {env}", total, interactive()) as advance:
            return asdict(row_of(trace.name, env, *folds_of(scenario, rules, episodes, advance)))
    except ValueError as error:
        said = " ".join(str(error).split())
        return {"trace": trace.name, "env": env, "world": world_of(env), "reason": said}


def text(estimate: Sequence[float]) -> str:
    """An estimate with its interval."""
    value, low, high = estimate
    return "-" if math.isnan(value) else f"{value:.1f} [{low:.1f}, {high:.1f}]"


def conclusion(row: dict[str, Any]) -> str:
    """What can be concluded of the best rule's saving over replay."""
    more = row["more"]
    if not row["room_share"] >= LEAST_ROOM:
        return NOTHING
    if row["unjudged"] is not None:
        return f"nothing; {row['unjudged']}"
    if more is None:
        return ("saves" if row["savings"][row["best"]][0] > 0.0 else "loses") + condition(row)
    return "nothing" if more < 0 else f"nothing; {more:,} more {row['unit']}s needed"


def show(rows: Sequence[dict[str, Any]]) -> None:
    """Print what was measured: the traces, and every rule."""
    for row in rows:
        if "reason" in row:
            print_line(f"{row['trace']}, {row['env']}: {row['reason']}")
            continue
        room = f"{100.0 * row['room_share']:.1f} % of replay's machine-time"
        print_line(
            f"{row['trace']}, {row['env']}: {row['count']:,} {row['unit']}s;"
            f" room {room}, {row['room_hours']:,.1f} machine-hours;"
            f" {100.0 * row['largest']:.1f} % of it in one {row['unit']},"
            f" {100.0 * row['top']:.1f} % in the top 1 %; to be concluded: {conclusion(row)}"
        )
        lines = [
            (name, text(row["scores"][name]), text(row["savings"][name]))
            for name in sorted(row["savings"], key=lambda name: -row["savings"][name][0])
        ]
        picked = f"chosen on the past: {', '.join(row['chosen'])}"
        lines.append((picked, text(row["chosen_score"]), text(row["chosen_saving"])))
        lines.append((REPLAY, text((0.0, 0.0, 0.0)), text((0.0, 0.0, 0.0))))
        columns = ("rule", "score", "saved, % of replay's machine-time")
        print_table(f"{row['trace']}, {row['env']}", columns, lines)


def main(
    trace: Annotated[
        list[Path], typer.Option("--trace", metavar="DIR", exists=True, file_okay=False)
    ],
    env: Annotated[
        list[str] | None,
        typer.Option("--env", metavar="ID", help="Repeatable; all that need no workflows."),
    ] = None,
    episodes: Annotated[
        int, typer.Option(min=0, help="Slices of each fold and of its past; 0: all.")
    ] = 64,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="FIELD=VALUE", help="As for evaluate.")
    ] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write it there.")] = None,
) -> None:
    """Judge the rules on the folds of traces."""
    file = JsonFile.at(json_file)
    known: list[dict[str, Any]] = []
    if file.path is not None and file.path.is_file():
        known = json.loads(file.path.read_text("utf-8"))
    for folder in trace:
        for name in env or ENVIRONMENTS:
            row = measured(folder, name.removeprefix("failgym/"), episodes or None, settings)
            key = row["trace"], row["env"]
            known = [one for one in known if (one["trace"], one["env"]) != key] + [row]
            file.write(known)
            show([row])


if __name__ == "__main__":
    typer.run(main)
