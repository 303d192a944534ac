"""`assess`: what happened on a record, what could have been saved, and what to do about it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.assessment.advice import Advice, advice_of, tried_after, with_closed_loop
from failgym.assessment.beforehand import Beforehand
from failgym.assessment.closed_loop import ClosedLoop, closed_loop
from failgym.assessment.course import Course, Ground, fields_of, reason, scenario_of, with_mtbf
from failgym.assessment.happened import PERIODS, Happened, happened
from failgym.assessment.judging import (
    CHOSEN,
    Judged,
    Named,
    Sure,
    chosen_on_the_past,
    judged,
    sure_of,
)
from failgym.assessment.makers import Maker, forget, of_all
from failgym.assessment.measures import (
    MEASURES,
    TASK_VALUE,
    Measure,
    together,
    unjudged,
)
from failgym.assessment.playing import Ready, get_ready, play
from failgym.assessment.room import MeasureRoom, room_of
from failgym.assessment.work_folder import Played, WorkFolder
from failgym.baselines import STORABLE, Heuristic
from failgym.baselines.stored import parameters, save_heuristic
from failgym.envs import Scenario
from failgym.memory import give_back
from failgym.policy import Policy
from failgym.traces import Trace
from failgym.workers import ALONE, Workers

__all__ = ["Assessment", "Candidate", "assess", "judged_on", "save_adopted"]

Ints = npt.NDArray[np.int64]

FORECASTS = ("none", "trained")
"""On a record nobody has drawn forecasts."""
MOST_TRIED = 3
"""Policies that are tried on the record's own machines, one after the other, until one does not
lose there (chosen: each takes minutes)."""
CHOOSES = (
    "In each part of the record the rule that would have saved most on what could be judged before"
    " it, or none."
)


@dataclass(frozen=True)
class Candidate:
    """A policy that may be advised, or who makes one for each fold."""

    who: Policy | Maker
    kind: str
    """as in `Judged.kind`"""
    key: Any
    """what tells it from others; JSON. None: nothing does, and what it did is not kept"""
    rule: Policy | None = None
    """the rule that is tuned: only where it can be played is there anything to make"""

    @property
    def about(self) -> str:
        """What it does: the first sentence of what its class says of itself."""
        kind = type(self.rule or self.who)
        text = " ".join((kind.__doc__ or "").split("\n\n")[0].split())
        return "" if text.startswith(kind.__name__) else text.replace("`", "")

    @property
    def parameters(self) -> str:
        """Those of a rule; none of who makes one, and finds them for each fold."""
        if not isinstance(self.who, Heuristic):
            return ""
        return ", ".join(f"{name} {value}" for name, value in parameters(self.who).items())

    def save(self, scenario: Scenario, folder: Path, path: Path) -> Path | None:
        """Write what would be used from now on to a file that ``--policy`` takes.

        Args:
            scenario: of the measure, whose train split is nearly the whole record.
            folder: what is made keeps there what is done.
            path: of the file, without its ending.

        Returns:
            The file; None for a policy that has none of its own.

        Raises:
            ValueError: if nothing can be made of the record.
        """
        if not isinstance(self.who, Policy):
            return self.who.save(scenario, folder, path)
        if not isinstance(self.who, Heuristic) or not self._storable(self.who):
            return None
        file = path.with_suffix(".json")
        save_heuristic(self.who, file, about={"env": scenario.name})
        return file

    @staticmethod
    def _storable(rule: Heuristic) -> bool:
        """Would a file that names the rule be read as this very class?"""
        return STORABLE.get(rule.name) is type(rule)

    def plays_in(self, course: Course, name: str) -> bool:
        """Can it do anything under a measure?"""
        policy = self.rule or self.who
        return not isinstance(policy, Policy) or course.can_play(policy, name)


@dataclass(frozen=True)
class Assessment:
    """What is known of a record and of what could be done."""

    trace: str
    """what the user called it"""
    happened: Happened
    task_value: float
    """what a task is worth that finishes, as a multiple of its machine-time"""
    price: float | None
    """of a machine-hour"""
    currency: str
    rooms: tuple[MeasureRoom, ...] = ()
    judged: tuple[Judged, ...] = ()
    unjudged: Mapping[str, str] = field(default_factory=dict[str, str])
    """measure -> why it cannot be judged"""
    left_out: tuple[str, ...] = ()
    """what was asked for and could not be done, a sentence each"""
    advice: Advice | None = None
    closed: ClosedLoop | None = None
    """the policy that is advised, or would be if it did not lose there, on the record's own
    machines; None if there is none"""
    seconds: Mapping[str, float] = field(default_factory=dict[str, float])
    """step -> how long it took [s]"""

    def to_json(self) -> dict[str, Any]:
        """Plain values, with the shares that the page shows."""
        content = asdict(self)
        content["happened"]["wasted_share"] = self.happened.wasted_share
        for room, shown in zip(content["rooms"], self.rooms, strict=True):
            room |= {"of_whole": shown.of_whole, "says": shown.says}
        return content


def assess(
    trace: Trace,
    source: str | Trace,
    candidates: Mapping[str, Candidate],
    *,
    name: str,
    measures: Sequence[str] = tuple(MEASURES),
    forecasts: Sequence[str] = FORECASTS,
    task_value: float = TASK_VALUE,
    price: float | None = None,
    currency: str = "",
    work: Path | None = None,
    workers: Workers = ALONE,
    step: Callable[[str], None] = lambda text: None,
) -> Assessment:
    """Assess a record.

    Args:
        trace: the record.
        source: what scenarios are played on: its folder, or the trace itself.
        candidates: policies that may be advised, by name; without any only the room is found.
        name: what the report calls the record.
        measures: names of `MEASURES`.
        forecasts: "none", "trained" or both; the room is that without.
        task_value: what a task is worth that finishes, as a multiple of its machine-time.
        price: of a machine-hour, for the report.
        currency: of the price.
        work: a folder in which what is done is kept; None keeps nothing.
        workers: who plays; several need ``work``. The assessment is the same, but for its seconds.
        step: called with what is being worked on.

    Raises:
        ValueError: for a record without tasks, an unknown measure, or a value out of range; and as
            `failgym.workers.each`.
    """
    if workers.several and work is None:
        raise ValueError(f"{workers}: expected a folder of work, in which others keep what they do")
    clock = _Clock(step)
    with clock("what happened"):
        found = happened(trace)
    asked = [_measure(each) for each in dict.fromkeys(measures)]
    why_not = unjudged(trace, asked)
    able = [each for each in asked if each.name not in why_not]
    state = _State(source, task_value, clock, WorkFolder(work), _periods(found), candidates)
    shown = tuple(forecasts) if candidates else ()
    if workers.several:
        before = Beforehand(source, task_value, WorkFolder(work), candidates)
        before.all_done(able, shown, workers, step)
    rooms = state.run(able, shown, why_not)
    results = state.judge()

    def advise(barred: Sequence[Judged]) -> Advice:
        return advice_of(
            *(rooms, results, why_not, found.period, state.left_out),
            tried=bool(candidates),
            record_jobs=found.jobs,
            task_value=task_value,
            barred=barred,
        )

    advice, closed = advise(()), None
    if advice.policy is not None:
        with clock("own machines"):
            advice, closed = state.on_own_machines(trace, advise, results, rooms)
    return Assessment(
        trace=name,
        happened=found,
        task_value=task_value,
        price=price,
        currency=currency,
        rooms=tuple(rooms),
        judged=results,
        unjudged=why_not,
        left_out=tuple(state.left_out),
        advice=advice,
        closed=closed,
        seconds=clock.seconds,
    )


def save_adopted(
    found: Assessment,
    candidates: Mapping[str, Candidate],
    source: str | Trace,
    path: Path,
    work: Path | None = None,
) -> Path | None:
    """Write the policy that is advised to a file that ``--policy`` takes.

    What is tuned or learned is made from the whole record, which may take long.

    Args:
        found: the assessment.
        candidates: those that it was made with.
        source: the record, likewise.
        path: of the file, without its ending.
        work: a folder in which what is done is kept; None keeps nothing.

    Returns:
        The file; None if nothing is advised, or what is advised has no file of its own.

    Raises:
        ValueError: if nothing can be made of the record.
    """
    advice = found.advice
    if advice is None or advice.policy is None or advice.measure is None:
        return None
    one = candidates[advice.policy]
    measure = _advised(advice.measure, found.rooms)
    shown = {"forecast": "none"} if advice.forecast == "none" else {}
    scenario = with_mtbf(of_all(measure.scenario(source, found.task_value, **shown)))
    about = {"adopted": [advice.policy, one.key], "trace": found.happened.content}
    with WorkFolder(work).making({**about, "scenario": fields_of(scenario)}) as folder:
        return one.save(scenario, folder, path)


def judged_on(found: Assessment, source: str | Trace) -> Scenario | None:
    """The latest fold on which the policy that is advised was judged.

    Args:
        found: the assessment.
        source: the record that it is of, or its folder.

    Returns:
        The fold as `failgym.evaluate` plays it; None if nothing is advised.
    """
    advice = found.advice
    if advice is None or advice.policy is None or advice.measure is None:
        return None
    best = next(each for each in found.judged if advice.is_of(each))
    measure = _advised(advice.measure, found.rooms)
    fold = best.folds[-1]
    return scenario_of(measure, source, advice.forecast or "none", found.task_value, fold)


def _advised(name: str, rooms: Sequence[MeasureRoom]) -> Measure:
    """The measure of an advice: one by itself, or all that can be judged."""
    judged = [MEASURES[room.measure] for room in rooms if room.measure in MEASURES]
    return MEASURES.get(name) or together(judged)


def _measure(name: str) -> Measure:
    if name not in MEASURES:
        raise ValueError(f"measures: expected one of {', '.join(MEASURES)}, got {name!r}")
    return MEASURES[name]


def _periods(found: Happened) -> Callable[[Ints], Ints]:
    begin, length = found.periods[0].start, PERIODS[found.period]
    last = len(found.periods) - 1  # what is submitted as the record ends is of it, too
    return lambda submits: np.clip((submits - begin) // length, 0, last)


class _Clock:
    """Says what is being worked on, and how long it took; what a step freed is given back."""

    def __init__(self, step: Callable[[str], None]) -> None:
        self.say, self._name, self._begun = step, "", 0.0
        self.seconds: dict[str, float] = {}

    def __call__(self, name: str) -> _Clock:
        self.say(name)
        self._name = name
        return self

    def __enter__(self) -> None:
        self._begun = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self.seconds[self._name] = time.perf_counter() - self._begun
        give_back()


class _State:
    """An assessment under way. Worlds are dropped as soon as everything was played in them."""

    def __init__(
        self,
        source: str | Trace,
        task_value: float,
        clock: _Clock,
        work: WorkFolder,
        periods: Callable[[Ints], Ints],
        candidates: Mapping[str, Candidate],
    ) -> None:
        self._source, self._task_value, self._clock = source, task_value, clock
        self._work, self._periods, self._candidates = work, periods, candidates
        self._played: list[_PlayedBy] = []
        self.left_out: list[str] = []

    def run(
        self, measures: Sequence[Measure], forecasts: Sequence[str], why_not: dict[str, str]
    ) -> list[MeasureRoom]:
        """Find what each measure, and all together, could save, and play what there is to play.

        Args:
            measures: that may be judged.
            forecasts: that rules are shown.
            why_not: those that cannot be played join it.
        """
        rooms: list[MeasureRoom] = []
        for measure in measures:
            try:
                rooms.append(self._measure(measure, forecasts))
            except ValueError as error:
                why_not[measure.name] = reason(error)
        judged = {room.measure for room in rooms}
        if len(judged) > 1:
            whole = together([each for each in measures if each.name in judged])
            try:
                rooms.append(self._measure(whole, forecasts))
            except ValueError as error:
                self.left_out.append(f"{whole.title}: {reason(error)}.")
        return rooms

    def _measure(self, measure: Measure, forecasts: Sequence[str]) -> MeasureRoom:
        """Raises ValueError if nothing is decided in any fold."""
        with self._clock(f"room: {measure.name}"):
            course = self._course(measure, "none")
            room = room_of(course, self._work)
        skipped = course.skipped
        self.left_out += [f"{measure.name}: {each}." for each in skipped]
        if "none" in forecasts:
            self._play(course, f"{measure.name}, no forecasts")
        del course
        for forecast in (each for each in forecasts if each != "none"):
            label = f"{measure.name}, forecasts"
            try:
                with self._clock(f"{label}: record"):
                    shown = self._course(measure, forecast)
            except (ImportError, ValueError) as error:
                self.left_out.append(f"{label}: {reason(error)}.")
                continue
            self.left_out += [  # these rules are judged on fewer tasks than those without forecasts
                f"{label}: {each}." for each in shown.skipped if each not in skipped
            ]
            self._play(shown, label)
        return room

    def _course(self, measure: Measure, forecast: str) -> Course:
        return Course.of(measure, self._source, forecast, self._task_value)

    def _play(self, course: Course, label: str) -> None:
        """Play all candidates that can do something."""
        playing = {
            name: each for name, each in self._candidates.items() if each.plays_in(course, name)
        }
        ready = [self._ready(course, playing, label, n) for n in range(len(course.scenarios))]
        found: dict[str, Played] = {}
        for name, each in playing.items():
            with self._clock(f"{label}: {name}"):
                try:
                    of_each = [of_fold[name] for of_fold in ready]
                    found[name] = play(course, name, each.key, self._work, of_each)
                except (ImportError, ValueError) as error:
                    self.left_out.append(f"{label}: {name}: {reason(error)}.")
                    continue
            self.left_out += [
                f"{label}: {name}: nothing was made for {reason(note)}."
                for note in found[name].notes.tolist()
            ]
        ground = course.ground
        for name, played in found.items():
            one = self._candidates[name]
            who = Named(name, one.kind, one.about, one.parameters)
            self._played.append(_PlayedBy.of(ground, who, played))
        if any(not np.isnan(each.past) for each in found.values()):
            chosen, names = chosen_on_the_past(ground, found)
            who = Named(CHOSEN, "chosen", CHOOSES)
            self._played.append(_PlayedBy.of(ground, who, chosen, names))

    def _ready(
        self, course: Course, playing: Mapping[str, Candidate], label: str, number: int
    ) -> dict[str, Ready]:
        """Candidates before a fold."""
        step = f"{label}: before fold {course.scenarios[number].fold}"
        with self._clock(step):
            found = get_ready(
                *(course, playing, self._work, number),
                say=lambda name: self._clock.say(f"{step}: {name}"),
            )
            forget()
        return found

    def on_own_machines(
        self,
        trace: Trace,
        advise: Callable[[Sequence[Judged]], Advice],
        results: Sequence[Judged],
        rooms: Sequence[MeasureRoom],
    ) -> tuple[Advice, ClosedLoop]:
        """The advice to adopt a policy that does not lose there, of the surest few.

        Args:
            trace: the record.
            advise: what to do if some policies are not to be advised; it advises one at first.
            results: all that were judged.
            rooms: of all measures.

        Returns:
            The advice, and what its policy does there; where all lose, to keep things as they are
            since the surest does, and what that one does.
        """
        lost: list[Judged] = []
        kept: tuple[Advice, ClosedLoop] | None = None

        def next_one() -> Advice:
            """Those that save the same in each period as one that was tried are tried with it."""
            known = {each.saves for each in lost}
            return advise([each for each in results if each.saves in known])

        while (advice := next_one()).policy is not None and len(lost) < MOST_TRIED:
            best = next(each for each in results if advice.is_of(each))
            closed = self._closed(trace, advice, rooms)
            found = with_closed_loop(advice, closed, best)
            if found.policy is not None:
                return tried_after(found, lost, False) if lost else found, closed
            kept = kept or (found, closed)
            lost.append(best)
        assert kept is not None, "one was advised at first"
        return tried_after(kept[0], lost, advice.policy is not None), kept[1]

    def _closed(self, trace: Trace, advice: Advice, rooms: Sequence[MeasureRoom]) -> ClosedLoop:
        """The policy that is advised, on the record's own machines."""
        assert advice.policy is not None, "a policy is advised"
        assert advice.measure is not None, "it is advised for a measure"
        one, measure = self._candidates[advice.policy], _advised(advice.measure, rooms)
        return closed_loop(
            *(trace, self._source, measure, advice.forecast or "none", advice.policy, one.who),
            key=one.key,
            task_value=self._task_value,
            work=self._work,
            step=self._clock.say,
        )

    def judge(self) -> tuple[Judged, ...]:
        """All that was played, with intervals for all that act at once and may be advised.

        Those that save the same on every task count once, whatever the measure is called.
        """
        acting = len(
            {one.saves for one in self._played if one.who.kind != "chosen" and len(one.changed)}
        )
        with self._clock("intervals"):
            return tuple(self._judged(max(acting, 1)))

    def _judged(self, candidates: int) -> Iterator[Judged]:
        known: dict[tuple[int, bytes, bool], Sure] = {}
        for each in self._played:
            ground, played = each.ground, each.played
            key = id(ground), each.saves, len(each.changed) > 0
            if key not in known:
                known[key] = sure_of(ground, played, candidates=candidates, periods=self._periods)
            found = judged(ground, each.who, played, known[key], periods=self._periods)
            yield replace(found, chosen=each.chosen)


@dataclass(frozen=True)
class _PlayedBy:
    """What somebody did on some ground; of most tasks it is what replay does, which is known."""

    ground: Ground
    who: Named
    changed: Ints
    """rows on which it costs other than replay"""
    elsewise: Played
    """what it did, with the terms of these rows only"""
    saves: bytes
    """what tells savings from others: those that save the same on every task have the same"""
    chosen: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        ground: Ground,
        who: Named,
        played: Played,
        chosen: tuple[str, ...] = (),
    ) -> _PlayedBy:
        """Keep what somebody did; ``chosen`` is as for `judged`."""
        changed = np.flatnonzero((played.terms != ground.replay).any(axis=1))
        saves = sha256((ground.replay - played.terms).sum(axis=1).tobytes()).digest()
        few = replace(played, terms=played.terms[changed])
        return cls(ground, who, changed, few, saves, chosen)

    @property
    def played(self) -> Played:
        """What it did, of all rows."""
        terms = self.ground.replay.copy()
        terms[self.changed] = self.elsewise.terms
        return replace(self.elsewise, terms=terms)
