"""Which fields of the observation can vary in a scenario: learners are shown these.

The rule is declared here and proved by random decisions (``tests/envs/test_varying.py``). A field
is the same in all decisions of a scenario that lacks something it needs (`NEEDS`), whatever its
split. One that is not in the table may always vary: to be shown a constant costs a learner little,
not to be shown what varies hides it. Settings alone decide, and, of a generated trace, the columns
that its profile leaves empty; a trace that is given or stored may have any.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from failgym.predictors.base import CLASSES
from failgym.sim.shared.fields import FIELDS, INDEX, group_of
from failgym.traces.synthetic import PROFILES
from failgym.worlds.decisions import ASKED, DECISIONS
from failgym.worlds.forecast import spoken_of

if TYPE_CHECKING:
    from failgym.worlds.scenario import Scenario

__all__ = ["COLUMNS", "CONDITIONS", "NEEDS", "conditions_of", "varying"]

CONDITIONS: dict[str, str] = {
    "scenarios": "several scenarios: no single one has them",
    "machines": "a simulated cluster: the scheduled world",
    "WINDOW": "WINDOW decisions: clone, checkpoint or kill",
    "FAILED": "FAILED decisions: give_up or retry",
    "OUTPUT": "OUTPUT decisions: save_outputs",
    "DISPATCH": "DISPATCH decisions: place",
    "kinds": "decisions of several kinds",
    "begun": "decisions about attempts that have begun: all but DISPATCH",
    "again": "decisions that are asked again after an answer: clone, kill, retry or place",
    "choice": "several decisions allowed: one of them may be legal where another is not",
    "CHECKPOINT": "the action: checkpoint or save_outputs",
    "KILL": "the action: kill or give_up",
    "RETRY": "the action: retry or place",
    "extra": "attempts of the agent: clone or retry",
    "clone": "clone",
    "checkpoint": "checkpoint",
    "kill": "kill",
    "grace": "grace periods",
    "checkpoint_cost": "checkpoints that take time",
    "forecast": "a forecast of attempts, tasks and jobs",
    "risks": "one of attempts",
    "classes": "one of the classes of tasks and jobs",
    "node_forecast": "a forecast of machines",
}
"""What a scenario may have beside the columns of its trace, by name."""

NEEDS: tuple[tuple[str, str], ...] = (
    ("scenarios", "checkpoint_cost restore_cost mtbf may_continue"),
    ("WINDOW kinds", "window"),
    ("FAILED kinds", "failed"),
    ("OUTPUT kinds", "output"),
    ("DISPATCH kinds", "dispatch"),
    ("kill", "armed"),
    ("again", "actions_taken"),
    ("jobs.priority", "priority"),
    ("jobs.scheduling_class", "scheduling_class"),
    ("jobs.width", "job_tasks siblings_finished sibling_failed"),
    ("jobs.walltime", "walltime_left"),
    ("tasks.cpu", "cpu_request cpu_ratio"),
    ("tasks.memory", "memory_request memory_ratio"),
    ("tasks.disk", "disk_request"),
    ("tasks.width", "width"),
    ("tasks.anti_affinity", "anti_affinity"),
    ("attempts.start", "age_over_expected hazard chance_of_finish unsaved_over_lazy"),
    ("attempts.outcome", "failures last_failed sibling_failed"),
    ("windows.attempt", " ".join(FIELDS[i].name for i in group_of("usage"))),
    ("windows.cpu", "cpu mean_cpu cpu_variation cpu_ratio"),
    ("windows.memory", "memory mean_memory memory_trend"),
    ("windows.local_io", "local_io"),
    ("windows.remote_io", "remote_io"),
    ("windows.network", "network"),
    ("clone", "clones"),
    ("extra", "extra_left"),
    ("begun", "age unsaved age_over_expected age_over_siblings runtime_over_median"),
    ("begun", "risk_over_cost unsaved_over_young unsaved_over_lazy"),
    ("checkpoint", "durable_fraction"),
    ("checkpoint_cost", "risk_over_cost unsaved_over_young unsaved_over_lazy"),
    ("grace", "grace age_over_grace"),
    ("forecast", "flagged_before"),
    ("risks", "risk risk_change risk_over_cost"),
    ("classes", "grace job_confidence"),
    ("classes", " ".join(f"confidence_{name}" for name in CLASSES)),
    ("machines tasks.stage", " ".join(FIELDS[i].name for i in group_of("lineage"))),
    ("tasks.output_bytes", "output_size"),
    ("OUTPUT", "checkpoint_p95 recomputation_cost"),
    ("DISPATCH", " ".join(FIELDS[i].name for i in group_of("machine"))),
    ("node_forecast", "predicted_to_fail"),
    ("machines", "free"),
    ("clone choice", "may_clone"),
    ("CHECKPOINT choice", "may_checkpoint"),
    ("KILL choice", "may_kill"),
    ("RETRY choice", "may_retry"),
)
"""(names of conditions and columns, fields that need all of them)."""

COLUMNS = frozenset(name for needs, _ in NEEDS for name in needs.split() if "." in name)
"""Columns of a trace that fields need, as ``table.column``; of widths, any but 1."""

_ANY_OF = {
    **{kind: set(names) for kind, names in ASKED.items()},
    "begun": {*ASKED["WINDOW"], *ASKED["FAILED"], *ASKED["OUTPUT"]},
    "again": {"clone", "kill", "retry", "place"},
    "CHECKPOINT": {"checkpoint", "save_outputs"},
    "KILL": {"kill", "give_up"},
    "RETRY": {"retry", "place"},
    "extra": {"clone", "retry"},
    "clone": {"clone"},
    "checkpoint": {"checkpoint"},
    "kill": {"kill"},
}
"""Condition -> settings any of which makes it hold."""


def varying(held: Collection[str]) -> frozenset[str]:
    """Names of the fields that can vary where these conditions and columns are held."""
    lacking = {
        field
        for needs, fields in NEEDS
        if set(needs.split()) - set(held)
        for field in fields.split()
    }
    return frozenset(INDEX.keys() - lacking)


def conditions_of(scenario: Scenario) -> frozenset[str]:
    """The conditions that a scenario of the pinned or the scheduled world holds, and columns."""
    allowed = {name for name in DECISIONS if getattr(scenario, name)}
    held = {name for name, settings in _ANY_OF.items() if settings & allowed}
    further = {
        "kinds": len(held & ASKED.keys()) > 1,
        "choice": len(allowed) > 1,
        "grace": scenario.grace,
        "checkpoint_cost": scenario.checkpoint_cost > 0,
        "node_forecast": scenario.node_forecast != "none",
        "machines": scenario.world == "scheduled",
    }
    held |= {name for name, holds in further.items() if holds}
    spoken = spoken_of(scenario)
    held |= spoken | ({"forecast"} if spoken else set())
    return frozenset(held) | _columns(scenario)


def _columns(scenario: Scenario) -> frozenset[str]:
    """The `COLUMNS` that the trace of a scenario may have."""
    named = isinstance(scenario.trace, str | Path)
    profile = PROFILES.get(str(scenario.trace)) if named else None
    return COLUMNS - set(profile.empty.split() if profile else ())
