"""`evaluate`: the score of a policy on slices of a scenario, between replay and a bound."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.envs.keywords import scenario_of_call
from failgym.envs.scenarios import resolve
from failgym.evaluation.arguments import check_count
from failgym.evaluation.caller import Predicts, check_playable
from failgym.evaluation.continuing import CONTINUING
from failgym.evaluation.evidence import Evidence
from failgym.evaluation.ledger import Run
from failgym.evaluation.measuring import clairvoyant, measure
from failgym.evaluation.oracle.oracle import oracle_run
from failgym.evaluation.oracle.search import Effort
from failgym.evaluation.progress import Advance, progress_bar, silent
from failgym.evaluation.result import Evaluation
from failgym.evaluation.room import NothingToGain, Room, spent_by
from failgym.evaluation.runner import LANES, run_policy
from failgym.evaluation.savings import Replayed
from failgym.vocabulary import HOUR
from failgym.worlds.build import build_world, split_of
from failgym.worlds.scenario import Scenario, Split
from failgym.worlds.settings.source import generated
from failgym.worlds.split import tasks_run
from failgym.worlds.world import Bound, LeastCosts, World

__all__ = [
    "Anchors",
    "Bound",
    "anchors_of_traces",
    "drawn_slices",
    "evaluate",
    "machine_hour_of",
]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Anchors:
    """The slices that policies are compared on, with what replay and the bound cost there.

    Made once and shared by all policies of a table.
    """

    scenario: Scenario
    world: World
    seed: int
    replay: Run
    least: LeastCosts
    """least possible costs"""

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
        slices = drawn_slices(world.slices, episodes, seed)
        replay = run_policy(world, scenario, CONTINUING, slices, order=scenario.order)
        return cls(scenario, world, seed, replay, world.least_costs(scenario, slices, bound))

    @property
    def bound(self) -> Floats:
        """Least possible cost of each slice by term [slices, 5]."""
        return self.least.costs

    @property
    def unproven(self) -> int:
        """Tasks whose clairvoyant cost is only the least found: the search was cut short."""
        return self.least.unproven

    @property
    def held_unproven(self) -> tuple[float, float] | None:
        """What these tasks hold of what the bound saves, and of what replay costs, if it is known.

        They may be few and hold much: the search is longest for the largest.
        """
        proven, evidence = self.least.proven, self.evidence
        if proven is None or not evidence.by_task:
            return None
        return float(evidence.possible[~proven].sum()), float(evidence.replay[~proven].sum())

    @property
    def unproven_room(self) -> float | None:
        """What plans cheaper than those found could save beyond the bound, at most, if it is known.

        The costs of these tasks lie between what was proven and what was found. With so much more
        room scores are nearer to 0: ``room / (room + unproven_room)`` times as high.
        """
        of_tasks, lowest = self.least.of_tasks, self.least.lowest
        if of_tasks is None or lowest is None:
            return None
        return max(float((of_tasks.sum(axis=1) - lowest).sum()), 0.0)

    @cached_property
    def evidence(self) -> Evidence:
        """The same job by job, where that is known: what the bootstrap resamples."""
        return Evidence.of(self.scenario, self.world, self.replay, self.least)

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
        """Raise `NothingToGain` if there is nothing: no score would tell policies apart."""
        if (reason := self.room.reason) is not None:
            raise NothingToGain(f"{self.scenario.name}, {self.scenario.split} split: {reason}")

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
        return measure([self], [run])

    def clairvoyant(self) -> Evaluation:
        """The bound as a row of a table; of its tasks only the cost is known."""
        return clairvoyant([self])

    def oracle(
        self,
        measures: Sequence[str] | None = None,
        *,
        effort: Effort | None = None,
        progress: Advance = silent,
    ) -> Run:
        """The cheapest episodes found by somebody who knows all fates (`evaluation.oracle`).

        It is a run like a policy's, for `measure`. What is found is kept, and not looked for again.

        Args:
            measures: the only ones that may be used, of `failgym.evaluation.oracle.MEASURES`; all
                that the scenario offers, if None.
            effort: what to try on each slice.
            progress: called with the number of slices that are done.

        Raises:
            ValueError: for a measure that there is not, or is not offered.
        """
        return oracle_run(
            *(self.scenario, self.world, self.replay.slices, self.least),
            measures=measures,
            effort=effort,
            progress=progress,
        )

    @cached_property
    def replayed(self) -> Replayed:
        """What replay did, as far as policies are held against it row by row."""
        job, evidence = None, self.evidence
        if self.scenario.completion == "jobs":
            split = split_of(self.scenario, self.scenario.split)
            job = split.column("tasks", "job")[self.replay.outcomes["task"]]
        return Replayed(evidence.by_task, evidence.replay, self.replay.drawn_in, job)

    @property
    def machine_hour(self) -> float:
        """Units of cost that a machine-hour stands for; 1 where nothing has a price.

        Prices follow the train split: costs of folds are added up in machine-hours.
        """
        return machine_hour_of(self.world)

    @property
    def ran(self) -> npt.NDArray[np.bool_]:
        """Tasks of the trace of which a run is recorded; of others no completion time is."""
        return tasks_run(split_of(self.scenario, self.scenario.split))


def machine_hour_of(world: World) -> float:
    """Units of cost that a machine-hour stands for in a world; 1 where nothing has a price."""
    return world.work_price * HOUR if world.work_price > 0.0 else 1.0


def anchors_of_traces(env: str | Scenario, traces: int = 1, **options: Any) -> list[Anchors]:
    """`Anchors` of traces of one profile, whose seeds follow that of the scenario.

    Args:
        env: an environment's id or a scenario.
        traces: how many.
        options: those of `Anchors.of`.

    Raises:
        ValueError: as `Anchors.of`, and for several traces where none is generated.
    """
    check_count("traces", traces, 1)
    scenario = resolve(env)
    if traces == 1:
        return [Anchors.of(scenario, **options)]
    if not generated(scenario.trace):
        raise ValueError(f"traces: expected 1, as the trace is not generated, got {traces}")
    first = scenario.trace_seed
    return [Anchors.of(replace(scenario, trace_seed=first + i), **options) for i in range(traces)]


def evaluate(
    policy: Predicts,
    env: str | Scenario,
    *,
    episodes: int | None = None,
    traces: int = 1,
    seed: int = 0,
    split: Split = "test",
    bound: Bound | None = None,
    deterministic: bool = True,
    lanes: int = LANES,
    name: str | None = None,
    progress: bool = False,
    oracle: bool = False,
    **fields: Any,
) -> Evaluation:
    """Score a policy: 0 is replay, 100 the clairvoyant, or a bound in the scheduled world.

    Where the bound saves next to nothing over replay there is no score: `Evaluation.score` is NaN,
    and `Evaluation.reason` says why.

    The policy is anything with stable-baselines3's `predict`: a heuristic, a model of
    stable-baselines3 or sb3-contrib, your own. It is asked for many episodes at once. Several
    policies are compared faster with one `Anchors`.

    The interval is that of what is resampled (`Evaluation.unit`): the jobs of a generated trace,
    blocks of jobs of a recorded one. Of one trace it says how surely jobs like those of this trace
    would give this score; of several (``traces``), which are resampled first, traces like these.

    Args:
        policy: the policy.
        env: an environment's id or a scenario; the scenario says everything else that matters.
        episodes: slices to draw of each trace, without replacement; all if there are not more, or
            None.
        traces: traces to generate of the scenario's profile, from its ``trace_seed`` on.
        seed: of the draw, and of the bootstrap.
        split: of the trace.
        bound: least possible costs, of a pinned world; by default the clairvoyant's.
        deterministic: False lets a stochastic policy sample.
        lanes: episodes served together.
        name: what to call the policy.
        progress: show a bar on standard error.
        oracle: tell the score of the `Anchors.oracle` too, `Evaluation.oracle`: how far 100 was
            shown to be reached. That may take minutes the first time.
        fields: other fields of the scenario that are changed, as `gymnasium.make` takes them.

    Raises:
        TypeError: for a keyword that is no field, naming the nearest.
        ValueError: for an unknown environment, a value that a field does not take, episodes,
            traces, lanes or a seed that are no whole numbers or too small, several traces where
            none is generated, or a split without tasks; and, naming the policy, if it was made for
            another environment, or needs a decision or an input that there is not, and for a
            `predict` that raises or returns anything but (actions, state) with actions of the right
            shape, type and range.

    >>> from failgym.baselines import Young
    >>> result = evaluate(Young(), "failgym/Checkpoint-v1", episodes=5, jobs=3_000)
    >>> result.policy, result.episodes, result.low <= result.score <= result.high
    ('young', 5, True)
    """
    check_count("lanes", lanes, 1)
    scenario = scenario_of_call(evaluate, env, fields)
    check_playable(policy, scenario, name=name)
    places = anchors_of_traces(
        scenario, traces, episodes=episodes, seed=seed, split=split, bound=bound
    )
    for place in places:
        check_playable(policy, place.scenario, place.world, name)

    def runs(advance: Advance) -> list[Run]:
        options: dict[str, Any] = {"deterministic": deterministic, "lanes": lanes, "name": name}
        return [place.run(policy, progress=advance, **options) for place in places]

    slices = sum(len(p.replay.slices) for p in places)
    with progress_bar("evaluating", slices, progress) as advance:
        evaluation = measure(places, runs(advance))
    if not oracle:
        return evaluation
    with progress_bar("oracle", slices, progress) as advance:
        best = measure(places, [place.oracle(progress=advance) for place in places])
    return replace(evaluation, oracle=best.score)


def drawn_slices(count: int, episodes: int | None, seed: int = 0) -> Ints:
    """So many of the numbers of slices, drawn without replacement, ascending; all for None."""
    if episodes is None or episodes >= count:
        return np.arange(count)
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
    return np.sort(rng.choice(count, episodes, replace=False))
