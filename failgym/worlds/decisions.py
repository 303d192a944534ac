"""The decisions that a scenario may allow, by the kind of moment at which they are asked."""

from __future__ import annotations

__all__ = ["ASKED", "DECISIONS"]

ASKED: dict[str, tuple[str, ...]] = {
    "WINDOW": ("clone", "checkpoint", "kill"),
    "FAILED": ("give_up", "retry"),
    "OUTPUT": ("save_outputs",),
    "DISPATCH": ("place",),
}
"""Kind of decision (`failgym.vocabulary.Decision`) -> fields of a scenario any of which lets it be
asked."""
DECISIONS: tuple[str, ...] = tuple(name for names in ASKED.values() for name in names)
"""Fields of `failgym.sim.scheduled.rules.ScheduledRules` that allow a decision, in the order of
tables; those of a pinned world are in `failgym.sim.shared.rules.Rules` too."""
