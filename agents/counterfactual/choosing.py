"""By what agents are chosen beside their scores: where they do worst, and false kills."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from failgym import metrics
from failgym.agents.training.result import NoneAcceptable
from failgym.agents.training.validation import EnvironmentScore, Validation
from failgym.evaluation import Anchors
from failgym.evaluation.ledger import Run
from failgym.worlds.build import split_of

__all__ = [
    "best_of",
    "by_environment",
    "false_kills_per_job",
    "mean_of_worst",
    "mean_validation",
    "room_per_member",
    "room_per_task",
]

Floats = npt.NDArray[np.float64]


def mean_of_worst(anchors: Sequence[Anchors], runs: Sequence[Run], share: float) -> float:
    """What an agent saves in the mean of the jobs that it does worst in, beside replay.

    It is the conditional value at risk of what is saved in a job (Rockafellar and Uryasev,
    "Optimization of conditional value-at-risk", Journal of Risk 2(3), 2000); of slices, where only
    these have costs of their own. Where only some slices were drawn a job is those of its tasks
    that were.

    Args:
        anchors: of each trace.
        runs: of the agent, on the slices of each.
        share: of the jobs of all traces, above 0; the last of them counts in part.

    Returns:
        In units of cost.
    """
    saved = np.sort(np.concatenate([_saved(*pair) for pair in zip(anchors, runs, strict=True)]))
    wanted = share * len(saved)
    weight = np.clip(wanted - np.arange(len(saved)), 0.0, 1.0)
    return float(weight @ saved / wanted)


def _saved(anchors: Anchors, run: Run) -> Floats:
    """What a run saves in each job, or slice."""
    evidence = anchors.evidence
    member = evidence.units.member
    return np.bincount(member, evidence.replay - evidence.costs(run)).astype(np.float64)


def false_kills_per_job(anchors: Sequence[Anchors], runs: Sequence[Run]) -> float:
    """Tasks that finish in the record and were killed, for each job that has tasks here.

    Where only some slices were drawn, it is estimated of all: those killed in a job would be more
    if all of its tasks were played.
    """
    killed, jobs = 0.0, 0
    for each, run in zip(anchors, runs, strict=True):
        job = split_of(each.scenario, each.scenario.split).column("tasks", "job")
        asked = each.world.own_tasks
        jobs += len(np.unique(job[asked]))
        killed += metrics.false_kills(run.outcomes) * len(asked) / len(run.outcomes["task"])
    return killed / jobs


def room_per_task(anchors: Sequence[Anchors]) -> float:
    """What the bound saves over replay on a task in the mean, in units of cost."""
    return math.fsum(each.room.cost for each in anchors) / sum(
        len(each.replay.outcomes["task"]) for each in anchors
    )


def room_per_member(anchors: Sequence[Anchors]) -> float:
    """The same on a job, or slice where only these have costs."""
    members = sum(len(np.unique(each.evidence.units.member)) for each in anchors)
    return math.fsum(each.room.cost for each in anchors) / members


def best_of(candidates: Sequence[Validation], most: float | None) -> Validation:
    """The agent that is kept; of equals that of fewer rounds, and the more cautious.

    Args:
        candidates: what agents validate with.
        most: false kills a job that it may have; None: as many as it has.

    Raises:
        NoneAcceptable: if all kill falsely more often.
    """
    limit = math.inf if most is None else most
    allowed = [one for one in candidates if (one.false_kills_per_job or 0.0) <= limit]
    if not allowed:
        least = min(one.false_kills_per_job or 0.0 for one in candidates)
        raise NoneAcceptable(
            f"false_kills: expected {most:g} a job at most, the fewest are {least:.3g}"
        )

    def rank(one: Validation) -> tuple[float, int, float]:
        found = one.score if one.tail is None else one.tail
        return found, -(one.round or 0), one.caution or 0.0

    return max(allowed, key=rank)


def by_environment(
    found: Sequence[Mapping[str, Validation]], most: float | None
) -> list[Validation]:
    """Of each round the agent that is as cautious in each environment as does best there.

    A round of which all agents kill falsely too often in one of them has none.

    Args:
        found: of each agent the validation in each environment.
        most: as `best_of`.
    """
    chosen: list[Validation] = []
    for number in sorted({one.round or 0 for each in found for one in each.values()}):
        of_round = [each for each in found if all(one.round == number for one in each.values())]
        with suppress(NoneAcceptable):
            best = {env: best_of([each[env] for each in of_round], most) for env in of_round[0]}
            chosen.append(mean_validation(best))
    return chosen


def mean_validation(found: Mapping[str, Validation]) -> Validation:
    """That of an agent in several environments.

    Its score is the mean of those in each. The interval is that of a sum of independent figures, of
    each of which an interval is known (Zou and Donner, "Construction of confidence limits about
    effect measures", Statistics in Medicine 27, 2008). Of false kills the most count.

    Args:
        found: by the id of the environment; where agents are chosen by their tails, in shares of
            the room.
    """
    each = [
        EnvironmentScore(env, one.score, one.low, one.high, one.caution)
        for env, one in found.items()
    ]
    cautions = {one.caution for one in each}
    score = _mean([one.score for one in each])
    first, tails = next(iter(found.values())), [one.tail for one in found.values()]
    down = [None if one.low is None else one.score - one.low for one in each]
    up = [None if one.high is None else one.high - one.score for one in each]
    below, above = _of_sum(down), _of_sum(up)
    return replace(
        first,
        score=score,
        low=None if below is None else score - below / len(each),
        high=None if above is None else score + above / len(each),
        caution=first.caution if len(cautions) == 1 else None,
        false_kills_per_job=max(one.false_kills_per_job or 0.0 for one in found.values()),
        tail=None if None in tails else _mean([tail for tail in tails if tail is not None]),
        environments=tuple(each),
    )


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _of_sum(reaches: Sequence[float | None]) -> float | None:
    """How far the interval of a sum reaches, of how far those of its parts do."""
    known = [reach for reach in reaches if reach is not None]
    return math.sqrt(math.fsum(reach**2 for reach in known)) if len(known) == len(reaches) else None
