"""`oracle_run`: the cheapest episodes found on some slices, played once more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from failgym.evaluation.ledger import Run
from failgym.evaluation.oracle.plays import Stage
from failgym.evaluation.oracle.rules import Allowed, allowed_by, ways_with
from failgym.evaluation.oracle.search import Effort, Found, search
from failgym.evaluation.oracle.store import Store
from failgym.evaluation.progress import Advance, silent
from failgym.evaluation.runner import served
from failgym.sim.shared.records import Output
from failgym.worlds.scenario import Scenario
from failgym.worlds.world import LeastCosts, World

__all__ = ["NAME", "oracle_run", "run_of_plans"]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

NAME = "oracle"


def oracle_run(
    scenario: Scenario,
    world: World,
    slices: Ints,
    least: LeastCosts,
    *,
    measures: Sequence[str] | None = None,
    effort: Effort | None = None,
    progress: Advance = silent,
) -> Run:
    """The cheapest episodes that somebody who knows all fates was found to play.

    What is found is kept, episode by episode, where compiled worlds are; it is looked for once.

    Args:
        scenario: of the slices, with their split.
        world: the same, compiled.
        slices: which.
        least: their least possible costs.
        measures: the only ones that it may use, of `MEASURES`; all that are offered, if None.
        effort: what to try on each slice.
        progress: called with the number of slices that are done.

    Returns:
        A run: what it costs is what those episodes cost when they are played.

    Raises:
        ValueError: for a measure that there is not, or is not offered.
    """
    effort = effort or Effort()
    allowed = allowed_by(scenario, None if measures is None else tuple(measures))
    plans = _plans(world, slices, least) if measures is None else None
    finder = _Finder(scenario, world, allowed, effort)
    found = dict[int, Found]()
    for i, chosen in enumerate(slices.tolist()):
        bound = float(least.costs[i].sum())
        found[chosen] = finder.find(chosen, bound, None if plans is None else plans[i])
        progress(1)
    name = NAME if measures is None else f"{NAME}: {', '.join(measures)}"
    run = _played(scenario, world, found, slices, name)
    kept = np.array([found[chosen].costs for chosen in slices.tolist()])
    wrong = np.flatnonzero((run.costs != kept).any(axis=1))
    if len(wrong):  # what was read is not what was written
        for i in wrong.tolist():
            chosen, bound = int(slices[i]), float(least.costs[i].sum())
            found[chosen] = finder.search(chosen, bound, None if plans is None else plans[i])
        run = _played(scenario, world, found, slices, name)
    return run


def run_of_plans(
    scenario: Scenario, world: World, slices: Ints, plans: Sequence[Mapping[int, int]], name: str
) -> Run:
    """Play the plan of each of some slices of a single task.

    Args:
        scenario: of the slices, with their split.
        world: the same, compiled.
        slices: which.
        plans: of each: the action by the number of the decision, but for CONTINUE.
        name: what the run is called.

    Raises:
        ValueError: for no slices.
    """
    choices = {
        chosen: tuple(sorted(plan.items()))
        for chosen, plan in zip(slices.tolist(), plans, strict=True)
    }

    def caller(lanes: int) -> _Choices:
        return _Choices(choices, lanes)

    return served(world, scenario, caller, name, slices, order=scenario.order)


class _Finder:
    """Finds the cheapest episode of a slice, or reads what was found."""

    def __init__(self, scenario: Scenario, world: World, allowed: Allowed, effort: Effort) -> None:
        self.scenario, self.world, self.allowed, self.effort = scenario, world, allowed, effort
        self.store = Store(scenario, allowed, effort)
        self._stage: Stage | None = None

    def find(self, chosen: int, bound: float, plans: Sequence[dict[int, int]] | None) -> Found:
        """What is kept of a slice; if nothing is, `search`."""
        kept = self.store.get(chosen, bound)
        return self.search(chosen, bound, plans) if kept is None else kept

    def search(self, chosen: int, bound: float, plans: Sequence[dict[int, int]] | None) -> Found:
        """Look for the cheapest episode of a slice, and keep it."""
        if self._stage is None:
            of_world = self.world, self.scenario, self.scenario.order
            ways = ways_with(self.allowed)
            self._stage = Stage(*of_world, ways, self.allowed, self.effort.plays)
        apart = self.scenario.kind.independent
        found = search(
            *(self._stage, chosen), plans=plans, bound=bound, apart=apart, effort=self.effort
        )
        self.store.put(chosen, bound, found)
        return found


def _plans(world: World, slices: Ints, least: LeastCosts) -> list[list[dict[int, int]]] | None:
    """The clairvoyant's plans of the tasks of each slice."""
    if least.plans is None:
        return None
    ends = np.cumsum(world.own_sizes[slices]).tolist()
    parts = zip([0, *ends[:-1]], ends, strict=True)
    return [[dict(plan) for plan in least.plans[first:end]] for first, end in parts]


def _played(
    scenario: Scenario, world: World, found: dict[int, Found], slices: Ints, name: str
) -> Run:
    """Play what was found."""

    def caller(lanes: int) -> _Choices:
        return _Choices({chosen: each.choices for chosen, each in found.items()}, lanes)

    return served(world, scenario, caller, name, slices, order=scenario.order)


class _Choices:
    """Answers each episode by the number of the decision, whatever it is about."""

    def __init__(self, choices: dict[int, tuple[tuple[int, int], ...]], lanes: int) -> None:
        self._choices = choices
        self._fresh = np.zeros(lanes, dtype=np.bool_)
        self._number = np.zeros(lanes, dtype=np.int64)
        self._next = np.zeros(lanes, dtype=np.int64)
        self._slice = np.zeros(lanes, dtype=np.int64)
        self._at = np.full(lanes, -1, dtype=np.int64)
        self._action = np.zeros(lanes, dtype=np.int64)

    def begin(self, lanes: Bools) -> None:
        """Say which lanes [lanes] have begun an episode."""
        self._fresh |= lanes

    def act(self, out: Output, live: Bools) -> Ints:
        """Actions of all lanes, int64 [lanes]."""
        for lane in np.flatnonzero(self._fresh & live).tolist():
            self._slice[lane], self._number[lane], self._next[lane] = out.slice[lane], 0, 0
            self._load(lane)
        self._fresh &= ~live
        chosen = live & (self._number == self._at)
        actions = np.where(chosen, self._action, 0)
        self._number[live] += 1
        for lane in np.flatnonzero(chosen).tolist():
            self._next[lane] += 1
            self._load(lane)
        return actions

    def _load(self, lane: int) -> None:
        """The choice that comes next in a lane."""
        choices, at = self._choices[int(self._slice[lane])], int(self._next[lane])
        self._at[lane], self._action[lane] = choices[at] if at < len(choices) else (-1, 0)
