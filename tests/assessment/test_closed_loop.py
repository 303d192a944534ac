"""The advised rule on the machines of the record: what waiting makes of a saving, and of advice."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from failgym.assessment import MEASURES, Candidate
from failgym.assessment import closed_loop as closed
from failgym.assessment.advice import Advice, with_closed_loop
from failgym.assessment.closed_loop import SLICES, TASKS, ClosedLoop, closed_loop
from failgym.assessment.work_folder import WorkFolder
from failgym.baselines.optimal_stopping import OptimalStopping
from failgym.baselines.retry_cap import RetryCap
from failgym.envs import Scenario
from failgym.evaluation import Anchors
from failgym.evaluation.savings import completion_hours_saved, drawn_share, hours_saved
from failgym.traces import Trace
from failgym.vocabulary import Cause, Outcome
from failgym.worlds.tables import with_tables
from tests.assessment.assessing import RULES, KillAfter, assessed
from tests.assessment.records import (
    doomed,
    on_machines,
    retried,
)


def test_an_advised_rule_is_played_on_the_machines_of_the_record() -> None:
    """Jobs that are killed in the end make room for others when they are killed sooner."""
    trace = on_machines(doomed(600, long_ones_finish=False), 36)
    rules = {"optimal_stopping": RULES["optimal_stopping"]}
    found = assessed(trace, rules, measures=["kill"])
    assert found.advice is not None
    assert found.advice.answer == "adopt"
    assert found.closed is not None
    assert found.closed.why_not is None
    assert found.closed.tasks > 0
    assert found.closed.saved > 0.0
    assert found.closed.completion_hours > 0.0
    assert "on the record's own machines" in found.advice.evidence[1]


def on_own_machines(trace: Trace, work: Path | None = None, **options: Any) -> ClosedLoop:
    """The last fold of a record on its machines."""
    given: dict[str, Any] = {"key": "mine", "task_value": 4.0, "work": WorkFolder(work), **options}
    return closed_loop(trace, trace, MEASURES["kill"], "none", "mine", OptimalStopping(), **given)


def test_own_machines_are_those_of_evaluate(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is played stretch by stretch is what is played at once."""
    monkeypatch.setitem(closed._OWN_MACHINES, "slice_tasks", 10)  # pyright: ignore[reportPrivateUsage]
    trace = on_machines(doomed(600, long_ones_finish=False), 36)
    found = on_own_machines(trace)
    scenario = MEASURES["kill"].scenario(trace, 4.0, fold=5, forecast="none")
    fields = {"order": "time", "charge": "episode", "scheduler": "priority"}
    around = {"slice_tasks": 10, "warmup": TASKS, "followers": TASKS}
    own = scenario.override(world="scheduled", **fields, **around)
    place = Anchors.of(own, episodes=SLICES)
    run = place.run(OptimalStopping())
    assert found.machine_hours == pytest.approx(hours_saved([place], [run]))
    assert found.completion_hours == pytest.approx(completion_hours_saved([place], [run]))
    assert found.tasks == len(run.outcomes["task"])
    assert found.stretches == len(place.replay.slices) > 1
    assert found.drawn == pytest.approx(drawn_share([place], [run]).value)


def test_what_rests_on_drawn_attempts_on_own_machines_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of three jobs one fails and is left so: nobody knows what another attempt would have met."""
    monkeypatch.setitem(closed._OWN_MACHINES, "slice_tasks", 40)  # pyright: ignore[reportPrivateUsage]
    trace = on_machines(retried(3_000), 60)
    given: dict[str, Any] = {"key": "mine", "task_value": 4.0, "work": WorkFolder(None)}
    retry = closed_loop(trace, trace, MEASURES["retry"], "none", "mine", RetryCap(), **given)
    assert retry.why_not is None
    assert retry.drawn == 1.0
    kill = closed_loop(trace, trace, MEASURES["kill"], "none", "mine", OptimalStopping(), **given)
    assert kill.why_not is None
    assert not kill.drawn


def test_of_a_long_record_a_few_stretches_are_played(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closed, "SLICES", 3)
    monkeypatch.setitem(closed._OWN_MACHINES, "slice_tasks", 10)  # pyright: ignore[reportPrivateUsage]
    trace = on_machines(doomed(600, long_ones_finish=False), 36)
    said: list[str] = []
    found = on_own_machines(trace, step=said.append)
    assert (found.stretches, found.tasks) == (3, 30)
    assert said == [f"own machines: stretch {number} of 3" for number in (1, 2, 3)]


def test_own_machines_go_on_where_they_were_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(closed._OWN_MACHINES, "slice_tasks", 10)  # pyright: ignore[reportPrivateUsage]
    trace = on_machines(doomed(600, long_ones_finish=False), 36)
    whole = on_own_machines(trace)
    play, played = closed._saved_in, list[int]()  # pyright: ignore[reportPrivateUsage]

    def once(*given: Any) -> Any:
        played.append(given[-1])
        if len(played) == 3:
            raise KeyboardInterrupt
        return play(*given)

    monkeypatch.setattr(closed, "_saved_in", once)
    with pytest.raises(KeyboardInterrupt):
        on_own_machines(trace, tmp_path)
    assert on_own_machines(trace, tmp_path) == whole
    assert sorted(played) == sorted([*set(played), played[2]])
    count = len(played)
    assert on_own_machines(trace, tmp_path) == whole
    assert len(played) == count
    on_own_machines(trace, tmp_path, task_value=2.0)
    assert len(played) > count


def test_a_rule_that_never_acts_there_says_nothing_of_own_machines() -> None:
    advice = Advice("adopt", "Adopt it.", ("It saves.",), "blind_kill", "kill", "none")
    rule = {"blind_kill": RULES["blind_kill"]}
    [best] = [
        one
        for one in assessed(doomed(200, long_ones_finish=False), rule, measures=["kill"]).judged
        if one.kind != "chosen"
    ]
    idle = with_closed_loop(advice, ClosedLoop(None, tasks=512, stretches=2), best)
    assert "cannot be judged: it changes nothing in 512 tasks in 2 stretches" in idle.evidence[1]
    saves = ClosedLoop(None, tasks=512, stretches=2, losing=1, saved=9.0)
    last = replace(best, folds=(4, 5), by_fold=(0.0, 600.0), tasks_by_fold=(9, 200))
    told = with_closed_loop(advice, saves, last)
    assert "in 1 of these it loses" in told.evidence[1]
    assert "(as recorded it saves 3.0 a task of its last tenth)" in told.evidence[1]
    assert (told.answer, told.policy) == ("adopt", "blind_kill")
    assert "drawn" not in told.evidence[1]
    chance = with_closed_loop(advice, replace(saves, drawn=0.8), last)
    assert (
        "80 % of what it saves and loses there is of stretches in which some" in chance.evidence[1]
    )
    other = with_closed_loop(advice, saves, replace(last, folds=(3, 4)))
    assert "(as recorded its last tenth could not be judged)" in other.evidence[1]


@pytest.mark.parametrize(
    ("losing", "unmoved", "recorded", "hours", "answer"),
    [
        (2, 0, 600.0, (1.0, -9.0), "keep"),
        (2, 0, 600.0, (-9.0, 1.0), "keep"),
        (2, 0, 600.0, (1.0, 9.0), "adopt"),  # nobody waits longer, nor is time lost
        (1, 0, 600.0, (1.0, -9.0), "adopt"),  # one stretch of three may be chance
        (1, 2, 600.0, (1.0, -9.0), "adopt"),  # and so may the only one in which anything changes
        (2, 1, 600.0, (1.0, -9.0), "keep"),
        (2, 0, -300.0, (1.0, -9.0), "adopt"),  # as recorded it loses about as much
        (2, 0, -60.0, (1.0, -9.0), "keep"),
    ],
)
def test_a_rule_that_loses_since_tasks_wait_is_not_advised(
    losing: int, unmoved: int, recorded: float, hours: tuple[float, float], answer: str
) -> None:
    advice = Advice("adopt", "Adopt.", ("It saves.",), "blind_kill", "kill", "none")
    rule = {"blind_kill": RULES["blind_kill"]}
    judged = assessed(doomed(200, long_ones_finish=False), rule, measures=["kill"]).judged
    [best] = [one for one in judged if one.kind != "chosen"]
    best = replace(best, by_fold=(*best.by_fold[:-1], recorded), tasks_by_fold=(1, 1, 1, 1, 200))
    loses = ClosedLoop(None, 512, 3, losing, unmoved, -1_000.0, *hours)
    found = with_closed_loop(advice, loses, best)
    assert found.answer == answer
    if answer == "keep":
        assert found.policy is None
        assert "blind_kill loses where tasks wait for each other" in found.text
        assert found.evidence[1:] == ("It saves.",)


def test_machines_on_which_nobody_waits_change_no_advice() -> None:
    """In the last tenth most long jobs finish, so that the rule loses there, waits or no waits."""
    trace = doomed(2_000, long_ones_finish=False)
    number, killed = np.arange(2_000), trace.column("jobs", "outcome") == int(Outcome.KILL)
    spared = killed & (number >= 1_800) & (np.random.default_rng(3).random(2_000) < 0.7)
    columns = ("task", "queued", "start", "end")
    fate = np.where(spared, int(Outcome.FINISH), trace.column("attempts", "outcome"))
    attempts = {name: trace.column("attempts", name) for name in columns}
    jobs = {name: trace.column("jobs", name) for name in ("original_id", "submit", "width")}
    cause = [int(Cause.USER) if each == int(Outcome.KILL) else None for each in fate]
    outcome = fate.astype(np.int8)
    trace = with_tables(
        trace,
        jobs={**jobs, "outcome": outcome},
        attempts={**attempts, "outcome": outcome, "cause": cause},
    )
    rule = {"optimal_stopping": RULES["optimal_stopping"]}
    for record in (trace, on_machines(trace, 4_000)):
        found = assessed(record, rule, measures=["kill"], task_value=1.0)
        assert found.advice is not None
        assert found.advice.policy == "optimal_stopping"
        assert any("latest part that was judged it loses" in line for line in found.advice.evidence)
    assert found.closed is not None
    assert found.closed.saved < 0.0


def test_who_is_made_for_the_last_fold_plays_on_own_machines(tmp_path: Path) -> None:
    """It is made where it was made before, so that what took long is not done again."""

    class Noting:
        """Makes the same rule for all, and notes where."""

        def __init__(self) -> None:
            self.at: list[tuple[int, Path]] = []

        def make(self, scenario: Scenario, folder: Path) -> OptimalStopping:
            """See `Maker`."""
            self.at.append((scenario.fold, folder))
            return OptimalStopping()

        def save(self, scenario: Scenario, folder: Path, path: Path) -> Path:
            """See `Maker`."""
            raise NotImplementedError

    maker, trace = Noting(), on_machines(doomed(600, long_ones_finish=False), 1_000)
    rule = {"made": Candidate(maker, "tuned", "made", OptimalStopping())}
    found = assessed(trace, rule, measures=["kill"], work=tmp_path)
    assert found.closed is not None
    assert found.closed.tasks > 0
    assert [fold for fold, _ in maker.at] == [1, 2, 3, 4, 5, 5]
    assert maker.at[4] == maker.at[5]


@pytest.mark.parametrize(
    ("losers", "answer", "policy", "said"),
    [
        (1, "adopt", "2 h", "As recorded 1 h (kill, no forecasts) surely saves, too; where"),
        (2, "adopt", "3 h", "As recorded 1 h (kill, no forecasts) and 2 h (kill, no forecasts)"),
        (3, "keep", None, "2 h (kill, no forecasts) and 3 h (kill, no forecasts) lose there, too."),
    ],
)
def test_where_the_surest_rule_loses_on_own_machines_the_next_is_tried(
    losers: int, answer: str, policy: str | None, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To kill after one hour saves more than after two; what saves the same is not tried again."""
    tried: list[str] = []

    def played(*given: Any, **_: Any) -> ClosedLoop:
        tried.append(given[4])
        gains = -1_000.0 if len(tried) <= losers else 1_000.0
        return ClosedLoop(None, 512, 3, 3 if gains < 0.0 else 0, 0, gains, gains, gains)

    module = import_module("failgym.assessment.assess")  # the package has a function of this name
    monkeypatch.setattr(module, "closed_loop", played)
    rules = {
        f"{hours} h{again}": Candidate(KillAfter(hours), "given", [hours, again])
        for hours in (4, 3, 2, 1)
        for again in ("", " again")
    }
    found = assessed(doomed(600, long_ones_finish=False), rules, measures=["kill"])
    assert found.advice is not None
    assert (found.advice.answer, found.advice.policy) == (answer, policy)
    assert tried == ["1 h", "2 h", "3 h"][: min(losers + 1, 3)]
    behind = 1 if answer == "keep" else 2
    assert said in found.advice.evidence[behind]
    assert found.closed is not None
    assert (found.closed.saved > 0.0) == (answer == "adopt")
    if answer == "keep":
        assert "the rule 1 h loses where tasks wait" in found.advice.text
        assert found.advice.evidence[2] == (
            "Others that surely save as recorded were not tried there."
        )


def test_without_machines_nobody_knows_how_a_rule_does_there() -> None:
    found = assessed(doomed(600, long_ones_finish=False), RULES, measures=["kill"])
    assert found.closed is not None
    assert found.closed.why_not == "the record names no machines"
    assert found.advice is not None
    assert "cannot be judged: the record names no machines." in found.advice.evidence[1]


def test_a_machine_of_unknown_size_takes_as_many_tasks_as_were_once_on_it() -> None:
    """Logs of Slurm and PBS name machines, and do not say how many processors they have."""
    alone = doomed(600, long_ones_finish=False)
    jobs, nodes = alone.rows("attempts"), 6
    start, end = (alone.column("attempts", name) for name in ("start", "end"))
    node = np.arange(jobs) % nodes
    at_once = [
        max(int(((start[here] <= at) & (at < end[here])).sum()) for at in start[here])
        for here in (node == each for each in range(nodes))
    ]
    assert max(at_once) > 1
    machines = {"original_id": [f"m{i}" for i in range(nodes)], "speed": [1.0] * nodes}
    placed = {"attempt": np.arange(jobs), "machine": node, "slots": [1] * jobs}
    unknown = with_tables(alone, machines=machines, placements=placed)
    known = with_tables(unknown, machines={**machines, "slots": at_once})
    partly = with_tables(unknown, machines={**machines, "slots": [at_once[0], *[None] * 5]})
    found = on_own_machines(known)
    assert found.why_not is None
    assert found.completion_hours > 0.0
    assert on_own_machines(unknown) == on_own_machines(partly) == found


def test_machines_that_are_too_few_for_what_happened_tell_nothing() -> None:
    """Thirty jobs run at once in the mean: on twelve machines of one slot they cannot have run."""
    found = on_own_machines(on_machines(doomed(600, long_ones_finish=False), 12))
    assert found == ClosedLoop("the machines are too few for the tasks as recorded")


def test_savings_a_task_are_of_as_many_tasks_there_and_as_recorded() -> None:
    """A third of the jobs never runs: neither on own machines nor as recorded are they counted."""
    trace = doomed(600, long_ones_finish=False)
    never = np.arange(600) % 3 == 0
    columns = ("task", "queued", "end", "outcome", "cause")
    attempts: dict[str, Any] = {name: trace.column("attempts", name) for name in columns}
    start = [None if each else at for each, at in zip(never, attempts["queued"], strict=True)]
    fate = np.where(never, int(Outcome.KILL), attempts["outcome"]).astype(np.int8)
    cause = [int(Cause.USER) if each == Outcome.KILL else None for each in fate]
    end = np.where(never, attempts["queued"], attempts["end"])
    jobs = {name: trace.column("jobs", name) for name in ("original_id", "submit", "width")}
    ran = with_tables(
        on_machines(trace, 1_000),
        jobs={**jobs, "outcome": fate},
        attempts={**attempts, "start": start, "end": end, "outcome": fate, "cause": cause},
    )
    found = assessed(ran, {"optimal_stopping": RULES["optimal_stopping"]}, measures=["kill"])
    assert found.closed is not None
    assert found.closed.tasks == found.judged[0].tasks_by_fold[-1] == 40
