"""A verdict by rolling origin: five folds by time, each judged by an agent of its own past.

The validation split is one stretch of time, and the agent that is kept was chosen on it. Here the
later half of the train split's jobs are five folds (`failgym.envs.Scenario.fold`; Tashman,
"Out-of-sample tests of forecasting accuracy: an analysis and review", International Journal of
Forecasting 2000). For each an agent is trained, and chosen, on what was known before it, in the
same way; then it plays the fold. Nothing was chosen on the folds, so there is one candidate. The
folds are joined, in machine-hours, since prices follow the past and differ between folds; blocks of
jobs are resampled, none of which lies in two folds.

The verdict is about how such agents do on this record, trained so; the agent that is kept is the
one of the whole train split. The test split is not touched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from failgym.agents.counterfactual.visits import NothingToLearn
from failgym.agents.files.policy_file import load_agent
from failgym.agents.training.result import NoneAcceptable, TrainingResult
from failgym.baselines import REGISTRY
from failgym.envs import Scenario
from failgym.evaluation import Anchors
from failgym.evaluation.caller import Predicts
from failgym.evaluation.folds import Folds
from failgym.evaluation.ledger import Run
from failgym.evaluation.room import NothingToGain
from failgym.evaluation.verdict import Verdict, verdict_on
from failgym.worlds.build import build_world
from failgym.worlds.forecast import PREDICTORS
from failgym.worlds.settings.source import generated
from failgym.worlds.settings.splitting import FOLDS
from failgym.worlds.source import whole_trace
from failgym.worlds.split import split_trace

__all__ = [
    "FOLDER",
    "WHOLE",
    "agent_of_fold",
    "fold_of",
    "places_of",
    "rolled",
    "teaches",
    "verdict_of_folds",
]

WHOLE, FOLDER = "whole", "fold-{}"
"""Folders of the run on the whole train split, and of that of a fold, in that of the result."""


def fold_of(scenario: Scenario, number: int) -> Scenario:
    """A fold, 1 to 5, of the train split of a scenario; what comes after that is not in it."""
    known = split_trace(whole_trace(scenario), scenario, "train").recorded
    return scenario.override(trace=known, fold=number, split="train")


def places_of(scenario: Scenario, episodes: int | None = None, seed: int = 0) -> list[Anchors]:
    """Where the agents are judged: the folds, in order.

    Args:
        scenario: whose train split is cut into folds, a record's.
        episodes: slices of each fold that are played (tasks in the pinned world); all by default.
        seed: of their draw.

    Raises:
        ValueError: in one line, for a generated trace, of which fresh ones can be had; a twin; a
            forecast that was learned from, or made for, the whole; naming the fold, if nothing is
            decided in it.
    """
    if generated(scenario.trace) or scenario.twin:
        raise ValueError("rolling: expected a record: of a generated trace others can be generated")
    if not isinstance(scenario.forecast, str) or scenario.forecast not in (*PREDICTORS, "none"):
        raise ValueError(
            "rolling: expected the name of a forecast, which is learned from the past of each fold:"
            " what was learned before knows the folds"
        )
    found: list[Anchors] = []
    for number in range(1, FOLDS + 1):
        fold = fold_of(scenario, number)
        alone = fold.override(slice_tasks=1) if fold.kind.independent else fold
        try:
            found.append(Anchors.of(alone, split="test", episodes=episodes, seed=seed))
        except ValueError as error:
            raise ValueError(f"rolling: fold {number} of the train split: {error}") from error
    return found


def rolled(
    scenario: Scenario,
    places: Sequence[Anchors],
    out: Path,
    trained: Callable[[Scenario, Path], TrainingResult],
    threads: int = 1,
) -> Verdict:
    """Train an agent for each fold, and judge all of them together.

    Where the past of a fold holds nothing to gain, or no agent is as harmless as it should be,
    replay plays it.

    Args:
        scenario: whose train split is cut into folds.
        places: the folds, as `places_of` gives them.
        out: the folder that the folds' runs are put into.
        trained: trains an agent in a scenario, in a folder, or goes on.
        threads: of the engine.

    Raises:
        ValueError: naming the fold, if its agent cannot be trained.
    """
    runs: list[Run] = []
    learned = 0
    for number, place in enumerate(places, 1):
        agent = agent_of_fold(scenario, number, out, trained)
        learned += agent is not None
        player = REGISTRY["replay"]() if agent is None else agent
        runs.append(place.run(player, threads=threads))
    return replace(verdict_of_folds(places, runs), learned=learned)


def agent_of_fold(
    scenario: Scenario,
    number: int,
    out: Path,
    trained: Callable[[Scenario, Path], TrainingResult],
) -> Predicts | None:
    """Train an agent on the past of a fold.

    Args:
        scenario: whose train split is cut into folds.
        number: of the fold, 1 to 5.
        out: the folder that the folds' runs are put into.
        trained: trains an agent in a scenario, in a folder, or goes on.

    Returns:
        The agent; None where replay plays the fold: its past holds nothing to gain, or no agent is
        as harmless as it should be.

    Raises:
        ValueError: naming the fold, if the agent cannot be trained.
    """
    fold = fold_of(scenario, number)
    if not teaches(fold):
        return None
    try:
        return load_agent(trained(fold, out / FOLDER.format(number)).policy)
    except (NoneAcceptable, NothingToGain, NothingToLearn):
        return None
    except ValueError as error:
        raise ValueError(f"fold {number}: {error}") from error


def verdict_of_folds(places: Sequence[Anchors], runs: Sequence[Run]) -> Verdict:
    """What was done in the folds, all joined, says; nothing was chosen on them.

    Args:
        places: the folds, as `places_of` gives them.
        runs: in each.
    """
    folds = Folds(places)
    costs, acts = folds.costs(runs), folds.acts(runs)
    found = verdict_on([folds.evidence], [costs], acts, 1, places[0].seed)
    return replace(found, folds=len(places)).of_attempts(places, runs)


def teaches(scenario: Scenario) -> bool:
    """Is there anything to learn from, and to gain where an agent would be chosen?"""
    try:
        build_world(scenario.override(split="fit"))
        Anchors.of(scenario, split="validation").check_room()
    except ValueError:
        return False
    return True
