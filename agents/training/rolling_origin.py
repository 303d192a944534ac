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

import numpy as np
import numpy.typing as npt

from failgym.agents.files.policy_file import load_agent
from failgym.agents.training.result import TrainingResult
from failgym.agents.training.run_folder import RunFolder
from failgym.agents.training.verdict import Verdict, verdict_on
from failgym.baselines import REGISTRY
from failgym.envs import Scenario
from failgym.evaluation import Anchors
from failgym.evaluation.caller import Predicts
from failgym.evaluation.evidence import Evidence
from failgym.evaluation.ledger import Run
from failgym.evaluation.statistics.sampling_units import TracesUnits
from failgym.vocabulary import HOUR
from failgym.worlds.build import split_of
from failgym.worlds.settings.splitting import FOLDS

__all__ = ["fold_of", "rolled"]

Floats = npt.NDArray[np.float64]

FOLDER = "fold-{}"
"""Of the run of a fold, in that of the whole."""


def fold_of(scenario: Scenario, number: int) -> Scenario:
    """A fold, 1 to 5, of the train split of a scenario; what comes after that is not in it."""
    return scenario.override(trace=split_of(scenario, "train"), fold=number, split="train")


def rolled(
    scenario: Scenario,
    out: Path,
    trained: Callable[[Scenario, Path], TrainingResult],
    *,
    episodes: int | None = None,
    seed: int = 0,
    threads: int = 1,
) -> Verdict:
    """Train an agent for each fold, and judge all of them together.

    Args:
        scenario: whose train split is cut into folds.
        out: the folder that the folds' runs are put into.
        trained: trains an agent in a scenario, in a folder, or goes on.
        episodes: slices of each fold that are played (tasks in the pinned world); all by default.
        seed: of the draw of slices.
        threads: of the engine.

    Raises:
        ValueError: naming the fold, if nothing is decided in it.
    """
    places: list[Anchors] = []
    runs: list[Run] = []
    learned = 0
    for number in range(1, FOLDS + 1):
        fold = fold_of(scenario, number)
        alone = fold.override(slice_tasks=1) if fold.kind.independent else fold
        try:
            place = Anchors.of(alone, split="test", episodes=episodes, seed=seed)
        except ValueError as error:
            raise ValueError(f"fold {number}: {error}") from error
        folder = RunFolder(out / FOLDER.format(number))
        agent: Predicts = REGISTRY["replay"]()
        try:
            agent = load_agent(trained(fold, folder.path).policy)
            learned += 1
        except ValueError as error:
            if folder.begun:
                raise ValueError(f"fold {number}: {error}") from error
            # Its past is too short, or holds nothing to gain.
        places.append(place)
        runs.append(place.run(agent, threads=threads))
    evidence = [each.evidence for each in places]
    hours = [_price(each) for each in places]
    costs = [one.costs(run) / price for one, run, price in zip(evidence, runs, hours, strict=True)]
    acts = any(
        not (run.costs == each.replay.costs).all() for each, run in zip(places, runs, strict=True)
    )
    found = verdict_on([_joined(evidence, hours)], [np.concatenate(costs)], acts, 1, seed)
    return replace(found, folds=FOLDS, learned=learned)


def _price(place: Anchors) -> float:
    """Units of cost that a machine-hour stands for; 1 where nothing has a price."""
    price = place.world.work_price
    return price * HOUR if price > 0.0 else 1.0


def _joined(evidence: Sequence[Evidence], hours: Sequence[float]) -> Evidence:
    """The rows of all folds, as those of one record, in machine-hours."""
    units = [each.units for each in evidence]
    of_row = TracesUnits.joined(units).of_row
    member = TracesUnits.joined([replace(each, of_row=each.member) for each in units]).of_row
    largest = max(each.members for each in units)

    def scaled(name: str) -> Floats:
        pairs = zip(evidence, hours, strict=True)
        return np.concatenate([getattr(each, name) / price for each, price in pairs])

    return replace(
        evidence[0],
        units=replace(units[0], of_row=of_row, member=member, members=largest),
        replay=scaled("replay"),
        possible=scaled("possible"),
        spent=scaled("spent"),
    )
