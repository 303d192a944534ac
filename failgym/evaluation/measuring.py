"""What a policy did on the slices of one or several traces, beside replay and the bound."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from failgym import metrics
from failgym.envs.spaces import TERMS
from failgym.evaluation.evidence import score_of
from failgym.evaluation.figure import Figure
from failgym.evaluation.ledger import Run
from failgym.evaluation.result import Evaluation
from failgym.evaluation.room import Room
from failgym.evaluation.savings import (
    charged_work,
    completion_hours_saved,
    drawn_share,
    hours_saved,
)
from failgym.evaluation.stakes import Stakes, iqm_of_traces
from failgym.worlds.forecast import unattainable
from failgym.worlds.kinds import CLAIRVOYANT

if TYPE_CHECKING:
    from failgym.evaluation.anchors import Anchors

__all__ = ["clairvoyant", "measure"]

Floats = npt.NDArray[np.float64]
Outcomes = Mapping[str, npt.NDArray[Any]]

_WASTED = TERMS.index("wasted")


def measure(anchors: Sequence[Anchors], runs: Sequence[Run]) -> Evaluation:
    """Compare what a policy did on the slices of all traces with replay and the bound.

    Args:
        anchors: of each trace, all of one environment.
        runs: of the policy, on the slices of each.
    """
    pairs = list(zip(anchors, runs, strict=True))
    outcomes = _joined([run.outcomes for run in runs])
    wasted, overhead = _work([charged_work(each.world, run) for each, run in pairs])
    before, _ = _work([charged_work(each.world, each.replay) for each in anchors])
    forfeited, false_kills = sum(run.forfeited for run in runs), metrics.false_kills(outcomes)
    thousands = len(outcomes["task"]) / 1000.0
    ran = np.concatenate([each.ran[run.outcomes["task"]] for each, run in pairs])
    decisions, seconds = sum(r.decisions for r in runs), sum(r.seconds for r in runs)
    return _evaluation(
        anchors,
        runs[0].policy,
        np.concatenate([run.costs for run in runs]),
        [each.evidence.costs(run) for each, run in pairs],
        drawn_share(anchors, runs),
        saved_hours=hours_saved(anchors, runs),
        saved_completion_hours=completion_hours_saved(anchors, runs),
        wasted_work=_share(wasted, before),
        checkpoint_work=_share(overhead, before),
        completion_ratio=metrics.completion_ratio(outcomes, ran),
        forfeited=forfeited,
        forfeited_per_thousand=forfeited / thousands,
        false_kills=false_kills,
        false_kills_per_thousand=false_kills / thousands,
        rescued=metrics.rescued(outcomes),
        decisions=decisions,
        illegal=sum(run.illegal for run in runs),
        steps_per_second=decisions / max(seconds, 1e-9),
        same_as_replay=all(_same(run.outcomes, each.replay.outcomes) for each, run in pairs),
    )


def clairvoyant(anchors: Sequence[Anchors]) -> Evaluation:
    """The bound as a row of a table; of its tasks only the cost is known.

    Of a bound that no plan stands behind, the terms mean nothing one by one.
    """
    name = anchors[0].bound_name
    bound = np.concatenate([each.bound for each in anchors])
    replay = np.concatenate([each.replay.costs for each in anchors])
    wasted, before = float(bound[:, _WASTED].sum()), float(replay[:, _WASTED].sum())
    return _evaluation(
        anchors,
        name,
        bound,
        [each.evidence.replay - each.evidence.possible for each in anchors],
        Figure(math.nan, "nobody played: of the bound only the cost is known"),
        saved_hours=math.nan,
        saved_completion_hours=math.nan,
        wasted_work=_share(wasted, before) if name == CLAIRVOYANT else math.nan,
        checkpoint_work=math.nan,
        completion_ratio=math.nan,
        forfeited=None,
        forfeited_per_thousand=None,
        false_kills=None,
        false_kills_per_thousand=None,
        rescued=None,
        decisions=0,
        illegal=0,
        steps_per_second=math.nan,
    )


def _evaluation(
    anchors: Sequence[Anchors],
    policy: str,
    costs: Floats,
    row_costs: Sequence[Floats],
    drawn: Figure,
    **measured: Any,
) -> Evaluation:
    """An evaluation, of costs by slice and term, and by row of the evidence."""
    first, evidence = anchors[0], [each.evidence for each in anchors]
    scored, room = score_of(evidence, row_costs, first.seed), _room(anchors)
    stakes = Stakes.of(evidence, row_costs)
    figures = {
        "winsorised_score": stakes.winsorised_score(),
        "mean_log_cost_ratio": stakes.mean_log_cost_ratio(),
        "iqm_of_traces": iqm_of_traces(evidence, row_costs),
        "saving_in_top": stakes.saving_of_top(),
        "drawn_share": drawn,
    }
    return Evaluation(
        policy=policy,
        env=f"failgym/{first.scenario.name}",
        split=first.scenario.split,
        traces=len(anchors),
        episodes=len(costs),
        tasks=sum(len(each.replay.outcomes["task"]) for each in anchors),
        unit=evidence[0].units.name,
        units=sum(each.units.count for each in evidence),
        seed=first.seed,
        score=scored.value,
        low=scored.low,
        high=scored.high,
        reason=room.reason,
        warning=room.warning,
        room=room.cost,
        room_share=room.share,
        room_of_cost=room.of_cost,
        room_hours=room.hours,
        bound=first.bound_name,
        cost=float(costs.sum()),
        costs=dict(zip(TERMS, costs.sum(axis=0).tolist(), strict=True)),
        stake_of=stakes.name,
        stakes=len(stakes.possible),
        stake_in_top=stakes.stake_of_top(1),
        stake_in_top_percent=stakes.stake_of_top(stakes.top_count),
        **{name: figure.value for name, figure in figures.items()},
        undefined={n: figure.reason for n, figure in figures.items() if figure.reason is not None},
        forecast_note=unattainable(first.scenario),
        **measured,
    )


def _room(anchors: Sequence[Anchors]) -> Room:
    """What the bound saves over replay on all traces together."""
    rooms = [each.room for each in anchors]
    return Room(*(math.fsum(parts) for parts in zip(*map(_parts, rooms), strict=True)))


def _parts(room: Room) -> tuple[float, float, float, float]:
    return room.cost, room.replay, room.spent, room.hours


def _joined(tables: Sequence[Outcomes]) -> Outcomes:
    """One table of outcomes after the other."""
    if len(tables) == 1:
        return tables[0]
    return {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}


def _same(some: Outcomes, others: Outcomes) -> bool:
    """Are these tables of outcomes equal?"""
    return all(np.array_equal(column, others[name]) for name, column in some.items())


def _work(charged: Sequence[Floats]) -> list[float]:
    """Wasted work and overhead of all slices of all traces."""
    return np.sum([each.sum(axis=0) for each in charged], axis=0).tolist()


def _share(part: float, whole: float) -> float:
    return part / whole if whole else math.nan
