"""What baselines go by: one that cannot act is told what is missing, and told the truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from failgym.baselines import REGISTRY, BeforeWalltime, Heuristic
from failgym.baselines.base import Bools, Choices, ObservationView, choose
from failgym.envs import SCENARIOS, Scenario, resolve
from failgym.evaluation import evaluate, run_policy
from failgym.evaluation.caller import check_playable
from failgym.traces import Trace
from failgym.vocabulary import Action
from failgym.worlds.build import build_world
from failgym.worlds.decisions import DECISIONS
from failgym.worlds.inputs import INPUTS, missing_inputs
from tests.chains import single_jobs
from tests.envs.worlds import small

PINNED = ("clone", "checkpoint", "kill", "give_up", "retry")


def poor_trace() -> Trace:
    """Jobs of one task that run once and finish: no siblings, failures, walltimes, usage."""
    rows = np.arange(60)
    ends = (7_200_000 + 60_000 * (rows % 7)).tolist()
    return single_jobs(
        {"task": rows.tolist(), "start": [0] * 60, "end": ends, "outcome": [0] * 60}, 60
    )


POOR = resolve(
    "Checkpoint-v1",
    {"trace": poor_trace(), "split": "all", "forecast": "none", **dict.fromkeys(PINNED, True)},
)
"""All that the pinned world knows may be decided, and there is nothing to go by."""
QUIET = resolve("Workflow-v1", {**small("Workflow-v1"), "outages": "none", "node_forecast": "none"})
UNFORESEEN = resolve("Workflow-v1", {**small("Workflow-v1"), "node_forecast": "none"})
VARIANTS: dict[str, Heuristic] = {
    "before_walltime alone": BeforeWalltime(periodic=False),
}
BASELINES = {name: kind() for name, kind in REGISTRY.items()} | VARIANTS
GOING_BY = {name: policy for name, policy in BASELINES.items() if policy.inputs()}
"""Baselines that need something to go by."""


def without(policy: Heuristic) -> Scenario:
    """A scenario in which a policy may act, and lacks what it goes by."""
    if "node_forecast" in policy.inputs():
        return UNFORESEEN
    return QUIET if "outages" in policy.inputs() else POOR


IN_REACH = sorted(name for name, p in GOING_BY.items() if "outputs" not in p.inputs())


@pytest.mark.parametrize("name", IN_REACH)
def test_who_lacks_what_it_goes_by_never_acts_and_is_told(name: str) -> None:
    policy = GOING_BY[name]
    scenario = without(policy)
    world = build_world(scenario)
    runs = [run_policy(world, scenario, p) for p in (policy, REGISTRY["replay"]())]
    assert runs[0].decisions > 0
    assert runs[0].costs.tobytes() == runs[1].costs.tobytes(), "it never acts"
    with pytest.raises(ValueError, match=f"policy '{policy.name}': needs ") as caught:
        check_playable(policy, scenario, world)
    assert "\n" not in str(caught.value)
    for each in policy.inputs():
        assert INPUTS[each].what in str(caught.value)


@pytest.mark.parametrize("name", SCENARIOS)
def test_registered_environments_have_what_their_baselines_go_by(name: str) -> None:
    scenario = resolve(name, small(name))
    world = build_world(scenario)
    for policy in REGISTRY.values():
        if policy.compatible(scenario):
            check_playable(policy(), scenario, world)


def test_every_name_of_an_input_is_known_and_used() -> None:
    assert set().union(*(policy.inputs() for policy in BASELINES.values())) == set(INPUTS)


def test_workflows_are_missed_where_there_are_none() -> None:
    world = build_world(POOR)
    [line] = missing_inputs(world, {"outputs"})
    assert line.startswith("needs workflows")


@pytest.mark.parametrize("name", SCENARIOS)
def test_who_needs_decisions_that_are_not_offered_is_told_which(name: str) -> None:
    scenario = SCENARIOS[name]
    for policy in REGISTRY.values():
        if not policy.needs or any(getattr(scenario, d, False) for d in policy.needs):
            policy().check_offered(scenario)  # with some of its decisions a rule acts
            continue
        with pytest.raises(ValueError, match=f"that {name} does not offer: ") as caught:
            policy().check_offered(scenario)
        wanted = {d: True for d in DECISIONS if d in policy.needs}
        try:
            scenario.override(**wanted)
        except ValueError:  # there are no such decisions: another environment has them
            assert "offer: play it in " in str(caught.value)
        else:
            assert {f"{decision}=true" in str(caught.value) for decision in wanted} == {True}


@dataclass(frozen=True)
class Guarded(Heuristic):
    """A rule of somebody's own: clones what has siblings."""

    name: ClassVar[str] = "guarded"
    needs: ClassVar[frozenset[str]] = frozenset({"clone"})
    reads: ClassVar[frozenset[str]] = frozenset({"siblings"})

    def act(self, view: ObservationView, mask: Bools) -> Choices:
        """Return CLONE where the job has several tasks."""
        return choose(view.count("job_tasks") > 1, Action.CLONE)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"clone": False}, "policy 'guarded': needs decisions that Checkpoint-v1 does not offer"),
        ({}, "policy 'guarded': needs jobs of several tasks: the trace has none"),
    ],
)
def test_a_rule_states_what_it_needs_in_its_own_class(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        evaluate(Guarded(), POOR.override(**changes), split="all")


@pytest.mark.parametrize(
    ("what", "names", "said"),
    [
        ("reads", {"risk", "age"}, r"^Mine\.reads: expected names of risk, .*, got 'age'$"),
        ("needs", {"clones"}, r"^Mine\.needs: expected names of clone, .*, got 'clones'$"),
    ],
)
def test_what_there_is_not_is_refused_where_a_rule_names_it(
    what: str, names: set[str], said: str
) -> None:
    """Nothing would ever miss it, and the user of the rule would not be told."""
    with pytest.raises(ValueError, match=said):
        type("Mine", (Guarded,), {what: frozenset(names)})
