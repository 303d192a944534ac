"""Advice: adopt a policy, or keep things as they are, and on what evidence.

A policy is advised if the interval of its saving lies above 0, wide enough for all candidates at
once (`failgym.evaluation.verdict`); of several the one whose interval lies highest. Where perfect
knowledge would hardly save anything, nothing is advised, nor if it is where tasks share the
record's own machines that the policy loses.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from failgym.assessment.closed_loop import ClosedLoop
from failgym.assessment.judging import VALUES, Judged
from failgym.assessment.measures import MEASURES, TOGETHER
from failgym.assessment.room import MeasureRoom
from failgym.evaluation.room import LEAST_ROOM
from failgym.evaluation.verdict import MOSTLY
from failgym.vocabulary import HOUR
from failgym.worlds.settings.splitting import FOLDS

__all__ = [
    "LEAST_UNITS",
    "Advice",
    "a_period",
    "advice_of",
    "few_folds",
    "later_half",
    "shown_hours",
    "surely",
    "tried_after",
    "with_closed_loop",
    "worth_advising",
]

LEAST_UNITS = 20
"""Blocks of jobs that must have been seen for anything to be advised (chosen): of fewer, how much
they differ is hardly known."""
MORE_THAN = 1.5
"""Times as much must be lost where tasks wait as is lost as recorded for waiting to be the reason
(chosen: other tasks are drawn)."""
LEAST_LOSING = 2
"""Stretches in which a policy must lose for waiting to be the reason (chosen)."""
FEW_LINES = 3
MADE = ("tuned", "learned")
_UNWANTED = (
    "A task that ran into its time limit or was cancelled counts as one that led to nothing. The"
    " record cannot tell whether it had saved what it did: if such tasks are wanted, less is saved."
)
_KEEP = "Keep things as they are"


@dataclass(frozen=True)
class Advice:
    """What to do, in a sentence, and what speaks for and against it."""

    answer: Literal["adopt", "keep", "nothing to gain", "cannot tell", "not asked"]
    text: str
    evidence: tuple[str, ...] = ()
    """sentences"""
    policy: str | None = None
    """the one to adopt"""
    measure: str | None = None
    forecast: str | None = None

    def is_of(self, each: Judged) -> bool:
        """Is it the policy to adopt, as it was judged?"""
        asked = self.policy, self.measure, self.forecast
        return (each.policy, each.measure, each.forecast) == asked


def worth_advising(rooms: Sequence[MeasureRoom]) -> set[str]:
    """The measures that policies are advised for: those with room for it."""
    return {room.measure for room in rooms if room.share >= LEAST_ROOM}


def advice_of(
    rooms: Sequence[MeasureRoom],
    found: Sequence[Judged],
    unjudged: Mapping[str, str],
    period: str,
    left_out: Sequence[str] = (),
    *,
    tried: bool,
    record_jobs: int,
    task_value: float,
    barred: Container[Judged] = (),
) -> Advice:
    """What to do.

    Args:
        rooms: of all measures that can be judged.
        found: policies; those that are "chosen" are evidence, and never advised.
        unjudged: measure -> why it cannot be judged.
        period: what savings are counted by, "week" say.
        left_out: what could not be tried, a sentence each.
        tried: were any policies asked for?
        record_jobs: of the whole record: only some of them are judged.
        task_value: what a task is worth that finishes, as a multiple of its machine-time.
        barred: policies that are not to be advised.
    """
    beside = _unjudged(unjudged)
    if not rooms:
        text = f"{_KEEP}: this record cannot tell what any measure would be worth."
        return Advice("cannot tell", text, beside)
    worth = worth_advising(rooms)
    if not worth:
        return Advice("nothing to gain", _nothing(rooms), beside)
    rules = [each for each in found if each.kind != "chosen" and each.measure in worth]
    if not rules:
        most = max(rooms, key=lambda room: room.hours)
        text = (
            f"At most {shown_hours(most.hours)} machine-hours could have been saved net on"
            f" {later_half(most.folds)}, whose tasks of known end used {shown_hours(most.whole)}"
        )
        none = "; no rule that was asked for can do anything about that." if tried else "."
        less = "" if tried else "; without --quick a report says how much less"
        return Advice(
            "not asked",
            f"{text}{none}",
            (
                "That takes somebody who knows beforehand how every task ends. Rules know only the"
                f" past, and save less{less}.",
                *left_out[:FEW_LINES],
                *beside,
            ),
        )
    good = [each for each in rules if _surely_saves(each) and each not in barred]
    if good:
        best = max(good, key=lambda each: each.low or 0.0)
        saved, *more = _saved(best, period)
        drawn = (_drawn(best),) if best.drawn is not None and best.drawn > MOSTLY else ()
        return Advice(
            "adopt",
            f"Adopt the rule {best.policy} ({_measure(best, rooms)}){_if_worth(best, task_value)}.",
            (saved, *drawn, *more, *_reservations(best, rooms, period), *_does(best), *beside),
            *(best.policy, best.measure, best.forecast),
        )
    acting = [each for each in rules if each.acts]
    if not acting:
        return Advice("keep", f"{_KEEP}: no rule ever acts on this record.", beside)
    almost = [each for each in acting if each.verdict.answer == "adopt"]
    if almost:
        best = max(almost, key=lambda each: each.low or 0.0)
        why = "too few jobs were seen to trust a rule"
    else:
        best, why = max(acting, key=lambda each: each.saved), "no rule surely saves anything"
    return Advice("keep", f"{_KEEP}: {why}.", (*_unsure(best, rooms, record_jobs), *beside))


def with_closed_loop(advice: Advice, closed: ClosedLoop, best: Judged) -> Advice:
    """The same, and what becomes of the saving where tasks share the record's own machines.

    A policy is not advised that loses there in sum and in most of the stretches in which it changes
    anything, in two at least (chosen: one stretch may be chance), and loses clearly more than on
    the same fold as recorded. It must cost machine-time or completion time there: where it costs
    neither, it is not waiting that makes it lose, but what other attempts were drawn to meet.

    Args:
        advice: to adopt a policy.
        closed: what it does there.
        best: the policy, as it was judged where all else stays as recorded.
    """
    as_recorded = _of_last_fold(best)
    if closed.why_not is not None:
        text = (
            "How much of this is left where tasks wait for each other on your machines cannot be"
            f" judged: {closed.why_not}."
        )
    elif not (closed.saved or closed.machine_hours or closed.completion_hours):
        text = (
            "How much of this is left where tasks wait for each other on your machines cannot be"
            f" judged: it changes nothing in {_stretches(closed)}."
        )
    else:
        found = shown_hours(abs(closed.saved) / closed.tasks)
        does = f"saves {found}" if closed.saved >= 0.0 else f"loses {found}"
        sooner = "less" if closed.completion_hours >= 0.0 else "more"
        waits = shown_hours(abs(closed.completion_hours) / closed.tasks)
        text = (
            f"Played on the record's own machines, where tasks wait for each other, it {does}"
            f" machine-hours net a task ({_beside(as_recorded)}), and it takes {waits} hours"
            f" {sooner} a task until all are done: {_stretches(closed)}.{_drawn_there(closed)}"
        )
    first, *rest = advice.evidence
    if _waiting_costs(closed, as_recorded):
        why = f"the rule {best.policy} loses where tasks wait for each other on your machines"
        return Advice("keep", f"{_KEEP}: {why}.", (text, first, *rest))
    return replace(advice, evidence=(first, text, *rest))


def tried_after(advice: Advice, lost: Sequence[Judged], more: bool) -> Advice:
    """The same, and what else was tried on the record's own machines and loses there.

    Args:
        advice: to adopt a policy, or to keep things as they are since the first of these loses.
        lost: policies that surely save as recorded, the surest first, and lose there.
        more: do others surely save as recorded, and were not tried there?
    """
    names = [f"{each.policy} ({_condition(each)})" for each in lost]
    lines: list[str] = []
    if advice.answer == "adopt":
        save, lose = ("saves", "it loses") if len(names) == 1 else ("save", "they lose")
        lines.append(
            f"As recorded {_and(names)} surely {save}, too; where tasks wait for your machines"
            f" {lose}."
        )
    else:
        if len(names) > 1:
            lose = "loses" if len(names) == 2 else "lose"
            lines.append(f"{_and(names[1:])} {lose} there, too.")
        if more:
            lines.append("Others that surely save as recorded were not tried there.")
    at = 1 if advice.answer == "keep" else 2  # behind what is said of own machines
    evidence = (*advice.evidence[:at], *lines, *advice.evidence[at:])
    return replace(advice, evidence=evidence)


def _and(names: Sequence[str]) -> str:
    """
    >>> _and(["one"]), _and(["one", "two", "three"])
    ('one', 'one, two and three')
    """
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _condition(each: Judged) -> str:
    """Under what it was judged, in short."""
    return f"{each.measure}, {'no' if each.forecast == 'none' else 'learned'} forecasts"


def _of_last_fold(best: Judged) -> float | None:
    """What a policy saves a task as recorded where the closed loop is played [machine-h].

    None where the last fold was not judged, or nothing is in it.
    """
    if not best.folds or best.folds[-1] != FOLDS or not best.tasks_by_fold[-1]:
        return None
    return best.by_fold[-1] / best.tasks_by_fold[-1]


def _beside(as_recorded: float | None) -> str:
    """The same in words."""
    if as_recorded is None:
        return "as recorded its last tenth could not be judged"
    does = "saves" if as_recorded >= 0.0 else "loses"
    return f"as recorded it {does} {shown_hours(abs(as_recorded))} a task of its last tenth"


def _waiting_costs(closed: ClosedLoop, as_recorded: float | None) -> bool:
    """Does it lose since tasks wait for each other, by more than chance?"""
    if closed.why_not is not None or closed.saved >= 0.0:
        return False
    if closed.losing < LEAST_LOSING or min(closed.machine_hours, closed.completion_hours) >= 0.0:
        return False
    mostly = 2 * closed.losing > closed.stretches - closed.unmoved
    return mostly and closed.saved / closed.tasks < MORE_THAN * min(as_recorded or 0.0, 0.0)


def _drawn_there(closed: ClosedLoop) -> str:
    """What of this rests on attempts that nobody recorded."""
    if closed.drawn is None or closed.drawn <= MOSTLY:
        return ""
    return (
        f" {100.0 * closed.drawn:.0f} % of what it saves and loses there is of stretches in which"
        " some task met an attempt that was drawn."
    )


def _stretches(closed: ClosedLoop) -> str:
    """What was played of the record."""
    many = closed.stretches > 1
    drawn = f"{closed.stretches} stretches" if many else "a stretch"
    text = f"{closed.tasks:,} tasks in {drawn} of its last tenth, and what ran beside them"
    if not closed.losing:
        return text
    lost = f"{closed.losing} of these" if many else "it"
    return f"{text}; in {lost} it loses"


def _surely_saves(each: Judged) -> bool:
    """Is it evidence, of enough jobs?"""
    return each.verdict.answer == "adopt" and each.verdict.units >= LEAST_UNITS


def _if_worth(best: Judged, task_value: float) -> str:
    """What a task must be worth for a saving to be one, where a few times more or less decide."""
    even = best.even_at
    if even is None or not VALUES[0] < even / task_value < VALUES[-1]:
        return ""
    side = "less" if even > task_value else "more"
    return (
        f", as long as a task that finishes is worth {side} than {_apart_from(even, task_value)}"
        f" times its machine-time (here {task_value:g} times)"
    )


def _apart_from(value: float, other: float) -> str:
    """A value with two digits, or as many as tell it from another.

    >>> _apart_from(5.98, 4.0), _apart_from(4.04, 4.0), _apart_from(0.04, 0.05)
    ('6', '4.04', '0.04')
    """
    for digits in range(2, 15):
        if float(f"{value:.{digits}g}") != float(f"{other:.{digits}g}"):
            return f"{value:.{digits}g}"
    return f"{value:g}"


def later_half(folds: Sequence[int]) -> str:
    """What was judged of a record.

    >>> later_half([1, 2, 3, 4, 5]), later_half([4, 5])
    ('the later half of the record', '2 of the 5 parts of the later half of the record')
    """
    half = "the later half of the record"
    return half if len(folds) == FOLDS else f"{len(folds)} of the {FOLDS} parts of {half}"


def few_folds(folds: Sequence[int]) -> str:
    """The same in short, and nothing where all were judged.

    >>> few_folds([1, 2, 3, 4, 5]), few_folds([4, 5])
    ('', 'on 2 of 5 parts')
    """
    return "" if len(folds) == FOLDS else f"on {len(folds)} of {FOLDS} parts"


def a_period(period: str) -> str:
    """The name of a stretch of time with its article.

    >>> a_period("hour"), a_period("week")
    ('an hour', 'a week')
    """
    return f"an {period}" if period == "hour" else f"a {period}"


def shown_hours(value: float) -> str:
    """Hours with as many digits as they deserve.

    >>> shown_hours(123456.7), shown_hours(12.34), shown_hours(-0.001)
    ('123,457', '12.3', '0')
    """
    if abs(value) >= 100.0:
        return f"{value:,.0f}"
    if abs(value) >= 1.0:
        return f"{value:,.1f}"
    return f"{value:.2f}" if abs(value) >= 0.005 else "0"


def _nothing(rooms: Sequence[MeasureRoom]) -> str:
    most = max(rooms, key=lambda room: room.hours)
    return (
        f"{_KEEP}: there is nothing to gain. Somebody who knew all fates would save net"
        f" {100 * max(most.of_whole, 0.0):.2f} % of the machine-time of tasks whose end is known,"
        f" in {later_half(most.folds)}."
    )


def _title(found: Judged, rooms: Sequence[MeasureRoom]) -> str:
    """The measure of a policy in plain words."""
    return next(room.title for room in rooms if room.measure == found.measure)


def _measure(found: Judged, rooms: Sequence[MeasureRoom]) -> str:
    learned = "it goes by forecasts that are learned from the past"
    shown = "it needs no forecasts" if found.forecast == "none" else learned
    return f"{_title(found, rooms)}; {shown}"


def _saved(best: Judged, period: str) -> tuple[str, ...]:
    low, high = best.low or 0.0, best.high or 0.0  # what is adopted has an interval
    mean = tuple(shown_hours(value / best.periods) for value in (best.saved, low, high))
    each = (
        f": {mean[0]} {a_period(period)} in which there are such tasks, between {mean[1]} and"
        f" {mean[2]}"
    )
    return (
        f"On {later_half(best.folds)} it would have saved {shown_hours(best.saved)}"
        f" machine-hours net, {100 * best.share:.1f} % of what these tasks used: between"
        f" {shown_hours(low)} and {shown_hours(high)} with 95 % confidence{_of_all(best)}"
        f"{each if best.periods > 1 else ''}.",
        f"{_apart(best)}; {best.false_kills_per_thousand:.1f} of 1,000 tasks would have been killed"
        " in error.",
    )


def _of_all(best: Judged) -> str:
    """What an interval is for, beside this rule."""
    many = best.verdict.candidates
    return f" for all {many} ways to use a rule at once" if many > 1 else ""


def _does(best: Judged) -> tuple[str, ...]:
    """What a rule does, where its class says so."""
    return (f"What the rule does: {best.about}",) if best.about else ()


def surely(number: int | None) -> str:
    """In how many periods that is sure.

    >>> surely(0), surely(3), surely(None)
    ('surely in none', 'surely in 3', 'how surely is not known')
    """
    return "how surely is not known" if number is None else f"surely in {number or 'none'}"


def _apart(best: Judged) -> str:
    """What net is made of."""
    change = abs(best.forfeited)
    tasks = f"{change:,} {'task' if change == 1 else 'tasks'}" if change else "as many tasks"
    fate = f"{'fewer ' if best.forfeited > 0 else 'more ' if change else ''}would have finished"
    does = "saved" if best.machine_hours >= 0.0 else "lost"
    return (
        f"Machine-time alone: {shown_hours(abs(best.machine_hours))} hours {does}; {tasks} {fate}"
    )


def _reservations(best: Judged, rooms: Sequence[MeasureRoom], period: str) -> tuple[str, ...]:
    stops = {room.measure for room in rooms} if best.measure == TOGETHER else {best.measure}
    found: list[str] = []
    if best.by_fold and best.by_fold[-1] < 0.0:
        lost = shown_hours(-best.by_fold[-1])
        found.append(f"In the latest part that was judged it loses {lost} machine-hours.")
    if best.losing:
        found.append(
            f"It loses in {best.losing} of {best.periods} {period}s in which there are such tasks"
            f" ({surely(best.surely_losing)}), {shown_hours(-best.worst)} machine-hours in the"
            " worst."
        )
    found += _one_block(best)
    if best.machine_hours > 0.0 and "kill" in stops:
        found.append(_UNWANTED)
    if best.forfeited > 0 and len(set(best.at_values.values())) == 1:
        found.append("A task that no longer finishes counts as no loss here: it is worth nothing.")
    if best.forecast != "none":
        found.append("It is to be shown forecasts that are learned from the past, as it was here.")
    if best.kind in MADE:
        found.append(
            "What is written to be used is made in the same way from the whole record; how well it"
            " does is known only of its like, each made from what was before a part that it played."
        )
    if best.mtbf is not None:
        found.append(
            f"Periodic checkpoints go by the mean time between losses to the system, here"
            f" {shown_hours(best.mtbf / HOUR)} hours ({best.mtbf} ms), which no file holds."
        )
    return tuple(found)


def _one_block(best: Judged) -> tuple[str, ...]:
    """Does one block of jobs hold all of a saving?"""
    if best.without_largest > 0.0:
        return ()
    lost = shown_hours(-best.without_largest)
    rest = "nothing would have been saved" if lost == "0" else f"{lost} machine-hours would be lost"
    return (f"All of it comes from one block of jobs: without that, {rest}.",)


def _drawn(best: Judged) -> str:
    share = 100.0 * (best.drawn or 0.0)
    return (
        f"{share:.0f} % of this rests on attempts that the record does not hold, and that were"
        " drawn after those that it holds; the interval says nothing of that."
    )


def _unsure(best: Judged, rooms: Sequence[MeasureRoom], record_jobs: int) -> tuple[str, ...]:
    name = f"the rule {best.policy} ({_title(best, rooms)})"
    if best.low is None or best.high is None:
        interval = "too few jobs decide for an interval"
    else:
        ends = f"between {shown_hours(best.low)} and {shown_hours(best.high)}"
        interval = f"{ends} with 95 % confidence{_of_all(best)}"
    if best.saved <= 0.0:
        least = shown_hours(-best.saved)
        text = "No rule saves anything"
        if best.saved < 0.0 and least != "0":
            text = "Every rule that does anything loses"
        return (
            f"{text}. The least harmful, {name}, loses {least} machine-hours net ({interval}).",
            f"{_apart(best)}.",
        )
    text = f"The best in hindsight, {name}, saves {shown_hours(best.saved)} machine-hours net"
    text += f" {few}" if (few := few_folds(best.folds)) else ""
    text += f" ({interval})"
    found: list[str] = []
    if best.verdict.units < LEAST_UNITS:
        found.append(
            f"{text}; {LEAST_UNITS} blocks of jobs at least are needed to advise anything."
        )
    elif best.verdict.more is not None:
        more = math.ceil(best.verdict.more * max(record_jobs / best.verdict.members, 1.0))
        found.append(f"{text}; a record with about {more:,} more jobs would decide.")
    else:
        found.append(f"{text}.")
    found.append(f"{_apart(best)}.")
    found += _one_block(best)
    if best.drawn is not None and best.drawn > MOSTLY:
        found.append(_drawn(best))
    return tuple(found)


def _unjudged(reasons: Mapping[str, str]) -> tuple[str, ...]:
    """Measures that cannot be judged, those for one reason together."""
    of: dict[str, list[str]] = {}
    for name, why in reasons.items():
        of.setdefault(why, []).append(MEASURES[name].title)
    return tuple(
        f"Not judged: {'; '.join(titles)}. {why[:1].upper()}{why[1:]}."
        for why, titles in of.items()
    )
