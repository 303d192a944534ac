"""Advice: adopt a policy, or keep things as they are, and on what evidence.

A policy is advised if the interval of its saving lies above 0, wide enough for all candidates at
once (`failgym.evaluation.verdict`); of several the one whose interval lies highest. Where perfect
knowledge would hardly save anything, nothing is advised.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from failgym.assessment.judging import Judged
from failgym.assessment.room import MeasureRoom
from failgym.evaluation.room import LEAST_ROOM

__all__ = ["Advice", "advice_of"]

MOSTLY = 0.5
"""Share of a saving that rests on drawn attempts above which it is said first."""
_KEEP = "Keep things as they are"


@dataclass(frozen=True)
class Advice:
    """What to do, in a sentence, and what speaks for and against it."""

    answer: Literal["adopt", "keep", "nothing to gain", "not asked"]
    text: str
    evidence: tuple[str, ...] = ()
    """sentences"""
    policy: str | None = None
    """the one to adopt"""
    measure: str | None = None
    forecast: str | None = None


def advice_of(
    rooms: Sequence[MeasureRoom],
    found: Sequence[Judged],
    unjudged: Mapping[str, str],
    period: str,
) -> Advice:
    """What to do.

    Args:
        rooms: of all measures that can be judged.
        found: policies; those that are "chosen" are evidence, and never advised.
        unjudged: measure -> why it cannot be judged.
        period: what savings are counted by, "week" say.
    """
    beside = _unjudged(unjudged)
    worth = {room.measure for room in rooms if room.share >= LEAST_ROOM}
    if not worth:
        return Advice("nothing to gain", _nothing(rooms), beside)
    if not found:
        text = "What each measure could save at most is known; no rule was tried."
        return Advice("not asked", text, beside)
    rules = [each for each in found if each.kind != "chosen" and each.measure in worth]
    good = [each for each in rules if each.verdict.answer == "adopt" and each.low is not None]
    if good:
        best = max(good, key=lambda each: each.low or 0.0)
        return Advice(
            "adopt",
            f"Adopt {best.policy} ({_measure(best, rooms)}).",
            (*_saved(best, len(rules)), *_reservations(best, period), *beside),
            *(best.policy, best.measure, best.forecast),
        )
    acting = [each for each in rules if each.acts]
    if not acting:
        return Advice("keep", f"{_KEEP}: no rule ever acts on this record.", beside)
    best = max(acting, key=lambda each: each.saved)
    return Advice("keep", f"{_KEEP}: no rule surely saves anything.", (*_unsure(best), *beside))


def _nothing(rooms: Sequence[MeasureRoom]) -> str:
    if not rooms:
        return f"{_KEEP}: this record cannot tell what any measure would be worth."
    most = max(rooms, key=lambda room: room.share)
    return (
        f"{_KEEP}: there is nothing to gain. Somebody who knew all fates would save"
        f" {100 * max(most.share, 0.0):.2f} % of the machine-time."
    )


def _measure(found: Judged, rooms: Sequence[MeasureRoom]) -> str:
    title = next(room.title for room in rooms if room.measure == found.measure)
    shown = "no forecast" if found.forecast == "none" else "forecasts learned from the past"
    return f"{title}; with {shown}"


def _saved(best: Judged, rules: int) -> tuple[str, ...]:
    low, high = best.low or 0.0, best.high or 0.0  # what is adopted has an interval
    return (
        f"On the later half of the record it would have saved {best.saved:,.0f} machine-hours net,"
        f" {100 * best.share:.1f} % of what these tasks used; surely between {low:,.0f} and"
        f" {high:,.0f}, all {rules} rules that were tried allowed for.",
        f"Machine-time alone: {best.machine_hours:,.0f} hours; {_more(best.forfeited)} would not"
        f" have finished, {best.false_kills_per_thousand:.1f} of 1,000 killed in error.",
    )


def _more(tasks: int) -> str:
    return f"{abs(tasks):,} {'more' if tasks >= 0 else 'fewer'} tasks"


def _reservations(best: Judged, period: str) -> tuple[str, ...]:
    found: list[str] = []
    if best.losing:
        found.append(
            f"It loses in {best.losing} of {best.periods} {period}s, {-best.worst:,.0f}"
            " machine-hours in the worst."
        )
    if best.drawn is not None and best.drawn > MOSTLY:
        found.append(
            f"{100 * best.drawn:.0f} % of this rests on attempts that the record does not hold, and"
            " that were drawn after those that it holds."
        )
    low = min(best.at_values, key=lambda factor: best.at_values[factor])
    if best.at_values[low] < 0.0:
        found.append(
            f"If a task that finishes is worth {low} times as much, it loses"
            f" {-best.at_values[low]:,.0f} machine-hours."
        )
    found.append(
        "All else stays as recorded: who waits for the machines that become free is not counted."
    )
    return tuple(found)


def _unsure(best: Judged) -> tuple[str, ...]:
    if best.low is None or best.high is None:
        interval = "too few jobs decide for an interval"
    else:
        interval = f"between {best.low:,.0f} and {best.high:,.0f} for all rules at once"
    if best.saved <= 0.0:
        text = f"Every rule that acts loses. The least harmful, {best.policy}, loses"
        return (f"{text} {-best.saved:,.0f} machine-hours ({interval}).",)
    text = (
        f"The best in hindsight, {best.policy}, saves {best.saved:,.0f} machine-hours ({interval})"
    )
    more = best.verdict.more
    if more is not None:
        members = "jobs" if "job" in best.verdict.unit else "slices"
        text += f"; about {more:,} more {members} like these would decide"
    return (f"{text}.",)


def _unjudged(reasons: Mapping[str, str]) -> tuple[str, ...]:
    """Measures that cannot be judged, those for one reason together."""
    of: dict[str, list[str]] = {}
    for name, why in reasons.items():
        of.setdefault(why, []).append(name)
    return tuple(
        f"Not judged: {', '.join(names)}. {why[:1].upper()}{why[1:]}." for why, names in of.items()
    )
