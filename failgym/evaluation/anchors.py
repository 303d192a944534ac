"""`evaluate`: the score of a policy on slices of a scenario, between replay and a bound."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym import metrics
from failgym.envs.keywords import scenario_of_call
from failgym.envs.scenarios import resolve
from failgym.envs.spaces import TERMS
from failgym.evaluation.arguments import check_count
from failgym.evaluation.caller import Predicts, check_playable
from failgym.evaluation.continuing import CONTINUING
from failgym.evaluation.progress import Advance, progress_bar, silent
from failgym.evaluation.result import Evaluation
from failgym.evaluation.room import Room, spent_by
from failgym.evaluation.runner import LANES, Run, run_policy
from failgym.evaluation.scoring import score
from failgym.vocabulary import HOUR
from failgym.worlds.build import build_world, split_of
from failgym.worlds.kinds import CLAIRVOYANT
from failgym.worlds.scenario import Scenario, Split
from failgym.worlds.split import tasks_run
from failgym.worlds.world import Bound, World

__all__ = ["Anchors", "Bound", "evaluate"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_WASTED = TERMS.index("wasted")


@dataclass(frozen=True)
class Anchors:
    """The slices that policies are compared on, with what replay and the bound cost there.

    Made once and shared by all policies of a table.
    """

    scenario: Scenario
    world: World
    seed: int
    replay: Run
    bound: Floats
    """[slices, 4] least possible cost by term"""
    unproven: int = 0
    """tasks whose clairvoyant cost is only the least found: the search was cut short"""

    @classmethod
    def of(
        cls,
        env: str | Scenario,
        *,
        episodes: int | None = None,
        seed: int = 0,
        split: Split = "test",
        bound: Bound | None = None,
    ) -> Anchors:
        """Draw slices and find out what replay and the bound cost on them.

        Args:
            env: an environment's id or a scenario.
            episodes: slices to draw, without replacement; all if there are not more, or None.
            seed: of the draw, and of the bootstrap.
            split: of the trace; overrides the scenario's.
            bound: least possible costs, of a pinned world; by default the clairvoyant's.

        Raises:
            ValueError: for an unknown environment, episodes that are no positive whole number, a
                seed that is negative or no whole number, a split without tasks, or a bound for a
                scheduled world.
        """
        if episodes is not None:
            check_count("episodes", episodes, 1)
        check_count("seed", seed, 0)
        scenario = replace(resolve(env), split=split)
        world = build_world(scenario)
        slices = _draw(world.slices, episodes, seed)
        replay = run_policy(world, scenario, CONTINUING, slices, order=scenario.order)
        least, unproven = world.least_costs(scenario, slices, bound)
        return cls(scenario, world, seed, replay, least, unproven)

    @cached_property
    def spent(self) -> Floats:
        """What replay spends on each slice, which the room is measured by [slices]."""
        return spent_by(self.world, self.replay)

    @property
    def possible(self) -> Floats:
        """The room on each slice: what the bound saves over replay [slices]."""
        return self.replay.costs.sum(axis=1) - self.bound.sum(axis=1)

    @property
    def room(self) -> Room:
        """What the bound saves over replay on all slices: is there anything to gain?"""
        price, cost = self.world.work_price, float(self.possible.sum())
        hours = cost / (price * HOUR) if price > 0.0 else math.nan
        return Room(cost, float(self.replay.costs.sum()), float(self.spent.sum()), hours)

    def check_room(self) -> None:
        """Raise ValueError if there is nothing to gain: no score would tell policies apart."""
        if (reason := self.room.reason) is not None:
            raise ValueError(f"{self.scenario.name}, {self.scenario.split} split: {reason}")

    @property
    def bound_name(self) -> str:
        """What 100 is called."""
        return self.scenario.kind.bound_name

    def run(self, policy: Predicts, **options: Any) -> Run:
        """Run a policy on the slices; the options are those of `run_policy`."""
        return run_policy(
            self.world,
            self.scenario,
            policy,
            self.replay.slices,
            order=self.scenario.order,
            **options,
        )

    def measure(self, run: Run) -> Evaluation:
        """Compare what a policy did on the slices with replay and the clairvoyant."""
        outcomes, before = run.outcomes, metrics.wasted_work(self.replay.outcomes)
        return self._evaluation(
            run.policy,
            run.costs,
            wasted_work=_share(metrics.wasted_work(outcomes), before),
            checkpoint_work=_share(metrics.checkpoint_work(outcomes), before),
            completion_ratio=metrics.completion_ratio(outcomes, self._ran[outcomes["task"]]),
            forfeited=metrics.forfeited(outcomes),
            false_kills=metrics.false_kills(outcomes),
            rescued=metrics.rescued(outcomes),
            decisions=run.decisions,
            illegal=run.illegal,
            steps_per_second=run.decisions_per_second,
            same_as_replay=_same(outcomes, self.replay.outcomes),
        )

    def clairvoyant(self) -> Evaluation:
        """The bound as a row of a table; of its tasks only the cost is known.

        Of a bound that no plan stands behind, the terms mean nothing one by one.
        """
        wasted, before = self.bound[:, _WASTED].sum(), self.replay.costs[:, _WASTED].sum()
        planned = self.bound_name == CLAIRVOYANT
        return self._evaluation(
            self.bound_name,
            self.bound,
            wasted_work=_share(float(wasted), float(before)) if planned else math.nan,
            checkpoint_work=math.nan,
            completion_ratio=math.nan,
            forfeited=None,
            false_kills=None,
            rescued=None,
            decisions=0,
            illegal=0,
            steps_per_second=math.nan,
        )

    @property
    def _ran(self) -> npt.NDArray[np.bool_]:
        """Tasks of the trace of which a run is recorded; of others no completion time is."""
        return tasks_run(split_of(self.scenario, self.scenario.split))

    def _evaluation(self, policy: str, costs: Floats, **measured: Any) -> Evaluation:
        replay, bound = self.replay.costs.sum(axis=1), self.bound.sum(axis=1)
        scored = score(replay, costs.sum(axis=1), bound, self.seed, spent=self.spent)
        room = self.room
        return Evaluation(
            policy=policy,
            env=f"failgym/{self.scenario.name}",
            split=self.scenario.split,
            episodes=len(costs),
            tasks=len(self.replay.outcomes["task"]),
            seed=self.seed,
            score=scored.value,
            low=scored.low,
            high=scored.high,
            reason=room.reason,
            room=room.cost,
            room_share=room.share,
            room_of_cost=room.of_cost,
            room_hours=room.hours,
            bound=self.bound_name,
            cost=float(costs.sum()),
            costs=dict(zip(TERMS, costs.sum(axis=0).tolist(), strict=True)),
            **measured,
        )


def evaluate(
    policy: Predicts,
    env: str | Scenario,
    *,
    episodes: int | None = None,
    seed: int = 0,
    split: Split = "test",
    bound: Bound | None = None,
    deterministic: bool = True,
    lanes: int = LANES,
    name: str | None = None,
    progress: bool = False,
    **fields: Any,
) -> Evaluation:
    """Score a policy: 0 is replay, 100 the clairvoyant, or a bound in the scheduled world.

    Where the bound saves next to nothing over replay there is no score: `Evaluation.score` is NaN,
    and `Evaluation.reason` says why.

    The policy is anything with stable-baselines3's `predict`: a heuristic, a model of
    stable-baselines3 or sb3-contrib, your own. It is asked for many episodes at once. Several
    policies are compared faster with one `Anchors`.

    Args:
        policy: the policy.
        env: an environment's id or a scenario; the scenario says everything else that matters.
        episodes: slices to draw, without replacement; all if there are not more, or None.
        seed: of the draw, and of the bootstrap.
        split: of the trace.
        bound: least possible costs, of a pinned world; by default the clairvoyant's.
        deterministic: False lets a stochastic policy sample.
        lanes: episodes served together.
        name: what to call the policy.
        progress: show a bar on standard error.
        fields: other fields of the scenario that are changed, as `gymnasium.make` takes them.

    Raises:
        TypeError: for a keyword that is no field, naming the nearest.
        ValueError: for an unknown environment, a value that a field does not take, episodes, lanes
            or a seed that are no whole numbers or too small, or a split without tasks; and, naming
            the policy, if it was made for another environment, or needs a decision or an input that
            there is not, and for a `predict` that raises or returns anything but (actions, state)
            with actions of the right shape, type and range.

    >>> from failgym.baselines import Young
    >>> result = evaluate(Young(), "failgym/Checkpoint-v0", episodes=5)
    >>> result.policy, result.episodes, result.low <= result.score <= result.high
    ('young', 5, True)
    """
    check_count("lanes", lanes, 1)
    scenario = scenario_of_call(evaluate, env, fields)
    check_playable(policy, scenario, name=name)
    anchors = Anchors.of(scenario, episodes=episodes, seed=seed, split=split, bound=bound)
    check_playable(policy, anchors.scenario, anchors.world, name)

    def run(advance: Advance) -> Run:
        return anchors.run(
            policy, deterministic=deterministic, lanes=lanes, name=name, progress=advance
        )

    if not progress:
        return anchors.measure(run(silent))
    with progress_bar("evaluating", len(anchors.replay.slices)) as advance:
        return anchors.measure(run(advance))


def _draw(count: int, episodes: int | None, seed: int) -> Ints:
    """Slices drawn without replacement, in ascending order."""
    if episodes is None or episodes >= count:
        return np.arange(count)
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
    return np.sort(rng.choice(count, episodes, replace=False))


def _same(some: Mapping[str, Any], others: Mapping[str, Any]) -> bool:
    """Are these tables of outcomes equal?"""
    return all(np.array_equal(column, others[name]) for name, column in some.items())


def _share(part: float, whole: float) -> float:
    return part / whole if whole else math.nan
