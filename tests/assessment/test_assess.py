"""An assessment says what `evaluate` says, advises what surely saves, and goes on after a kill."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import failgym
from failgym.assessment import MEASURES, Assessment, Candidate, assess, judging, playing, room
from failgym.assessment.advice import advice_of
from failgym.assessment.course import Course, Ground, Whole, reason, scenario_of
from failgym.assessment.judging import chosen_on_the_past
from failgym.assessment.measures import together
from failgym.assessment.room import MeasureRoom
from failgym.assessment.work_folder import FIGURES, Played
from failgym.baselines import REGISTRY
from failgym.baselines.optimal_stopping import OptimalStopping
from failgym.continued import restarts
from failgym.envs import Scenario, resolve
from failgym.evaluation.evidence import Evidence
from failgym.evaluation.statistics.interval_width import far_student
from failgym.evaluation.statistics.sampling_units import SamplingUnits
from failgym.policy import Policy
from failgym.traces import Trace, generate
from failgym.vocabulary import HOUR, Cause, Outcome
from failgym.worlds.tables import with_tables
from tests.assessment.assessing import RULES, KillAfter, assessed
from tests.assessment.records import (
    doomed,
    failing,
    in_vain,
    late_ends,
    one_long_job,
    retried,
)


@pytest.fixture(scope="module")
def google(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("traces") / "google"
    generate("google-2011-applications-failing", jobs=1_500, seed=5).save(folder)
    return folder


@pytest.fixture(scope="module")
def of_google(google: Path, shared_worlds: None) -> Assessment:
    return assess(
        Trace.load(google), str(google), RULES, name="google", forecasts=("none",), price=0.5
    )


@pytest.mark.parametrize(
    ("measure", "rule", "fields"),
    [
        ("kill", "blind_kill", {}),
        (
            *("retry", "retry_cap"),
            {"select": "all", "clone": False, "weight_completion": 0.0, "waiting_price": None},
        ),
    ],
)
def test_savings_are_those_of_evaluate(
    google: Path, of_google: Assessment, measure: str, rule: str, fields: dict[str, Any]
) -> None:
    [found] = [each for each in of_google.judged if (each.measure, each.policy) == (measure, rule)]
    policy: Policy = REGISTRY[rule]()
    evaluations = [
        failgym.evaluate(
            policy,
            MEASURES[measure].env,
            trace=str(google),
            fold=fold,
            forecast="none",
            **fields,
        )
        for fold in range(1, 6)
    ]
    assert found.acts
    hours = sum(each.saved_hours for each in evaluations)
    assert found.machine_hours == pytest.approx(hours, rel=1e-12, abs=1e-9)
    completion = sum(each.saved_completion_hours for each in evaluations)
    assert found.completion_hours == pytest.approx(completion, rel=1e-12, abs=1e-9)
    tasks = sum(each.tasks for each in evaluations)
    kills = sum(each.false_kills or 0 for each in evaluations)
    assert found.false_kills_per_thousand == pytest.approx(1000.0 * kills / tasks)
    [room] = [each for each in of_google.rooms if each.measure == measure]
    assert room.tasks == tasks


@pytest.mark.parametrize(
    ("measure", "rule"),
    [("checkpoint", "young"), ("together", "young")],
)
def test_savings_are_those_of_evaluate_under_the_rules_of_each_fold(
    google: Path, of_google: Assessment, measure: str, rule: str
) -> None:
    """Periodic checkpoints go by the losses before the fold; all measures are those known there."""
    [found] = [each for each in of_google.judged if (each.measure, each.policy) == (measure, rule)]
    judged = [MEASURES[room.measure] for room in of_google.rooms if room.measure in MEASURES]
    kind = MEASURES.get(measure) or together(judged)
    evaluations = [
        failgym.evaluate(REGISTRY[rule](), scenario_of(kind, str(google), "none", 4.0, fold))
        for fold in found.folds
    ]
    assert found.acts
    net = np.array([each.score * each.room_hours / 100.0 for each in evaluations])
    scored = ~np.isnan(net)  # where there is room for a score
    assert scored.sum() >= 3
    assert np.array(found.by_fold)[scored] == pytest.approx(net[scored], rel=1e-9, abs=1e-9)
    hours = sum(each.saved_hours for each in evaluations)
    assert found.machine_hours == pytest.approx(hours, rel=1e-12, abs=1e-9)


def test_the_net_saving_at_its_own_prices_is_the_saving(of_google: Assessment) -> None:
    assert of_google.judged
    for each in of_google.judged:
        assert each.at_values["1"] == pytest.approx(each.saved, abs=1e-6)
        if each.low is not None and each.high is not None:
            assert each.low <= each.saved <= each.high


def test_measures_together_save_at_least_what_the_best_alone_saves(of_google: Assessment) -> None:
    rooms = {room.measure: room for room in of_google.rooms}
    assert {"kill", "retry", "together"} <= rooms.keys()
    alone = [room.hours for name, room in rooms.items() if name != "together"]
    assert rooms["together"].hours >= max(alone) * (1.0 - 1e-9)
    assert rooms["together"].title == "kill, retry, clone and checkpoint at once"


def test_no_policy_saves_more_than_the_room(of_google: Assessment) -> None:
    rooms = {room.measure: room.hours for room in of_google.rooms}
    for each in of_google.judged:
        assert each.saved <= rooms[each.measure] * (1.0 + 1e-9)


def test_the_rule_chosen_on_the_past_is_one_of_those_that_were_played(
    of_google: Assessment,
) -> None:
    chosen = [each for each in of_google.judged if each.kind == "chosen"]
    assert {each.measure for each in chosen} == {each.measure for each in of_google.judged}
    for each in chosen:
        assert len(each.chosen) == 5
        assert set(each.chosen) <= {*RULES, "replay"}


def test_a_rule_that_surely_saves_is_advised() -> None:
    found = assessed(doomed(600, long_ones_finish=False), RULES)
    assert found.advice is not None
    assert (found.advice.answer, found.advice.policy) == ("adopt", "optimal_stopping")
    [best] = [each for each in found.judged if each.policy == "optimal_stopping"]
    assert best.harm == 0.0
    assert best.saved > 0.9 * found.rooms[0].hours
    assert best.low is not None
    assert best.low > 0.0
    assert any(
        "hours saved; as many tasks would have finished" in line for line in found.advice.evidence
    )


def test_where_all_finishes_there_is_nothing_to_gain() -> None:
    found = assessed(doomed(600, long_ones_finish=True), RULES)
    assert found.advice is not None
    assert found.advice.answer == "nothing to gain"
    [harmful] = [each for each in found.judged if each.policy == "blind_kill"]
    assert harmful.verdict.answer == "harm"
    assert harmful.false_kills_per_thousand > 0.0


def test_what_a_record_cannot_tell_is_not_judged() -> None:
    found = assessed(doomed(300, long_ones_finish=False), {})
    assert set(found.unjudged) == {"retry", "clone", "checkpoint"}
    assert [room.measure for room in found.rooms] == ["kill"]
    assert found.advice is not None
    assert found.advice.answer == "not asked"


def test_it_goes_on_where_it_was_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = doomed(200, long_ones_finish=False)
    before = assessed(trace, RULES, work=tmp_path, measures=["kill"])

    def play_again(*_: Any) -> Any:
        raise AssertionError("it was played before")

    monkeypatch.setattr(playing, "_played", play_again)
    after = assessed(trace, RULES, work=tmp_path, measures=["kill"])
    assert replace(after, seconds={}) == replace(before, seconds={})
    with pytest.raises(AssertionError, match="played before"):
        assessed(trace, RULES, work=tmp_path, measures=["kill"], task_value=2.0)


def test_what_is_damaged_is_played_again(tmp_path: Path) -> None:
    trace = doomed(200, long_ones_finish=False)
    before = assessed(trace, RULES, work=tmp_path, measures=["kill"])
    kept = sorted(tmp_path.iterdir())
    assert kept
    for number, file in enumerate(kept):
        content = file.read_bytes()
        file.write_bytes(content[: len(content) // 2] if number % 2 else b"")
    after = assessed(trace, RULES, work=tmp_path, measures=["kill"])
    assert replace(after, seconds={}) == replace(before, seconds={})


def test_policies_of_others_are_judged_as_well() -> None:
    mine = {"mine": Candidate(OptimalStopping(), "given", "mine")}
    found = assessed(doomed(300, long_ones_finish=False), mine, measures=["kill"])
    assert [each.kind for each in found.judged] == ["given", "chosen"]


def test_an_unknown_measure() -> None:
    with pytest.raises(ValueError, match=r"measures: expected one of kill, retry, .* got 'pray'"):
        assessed(doomed(100, long_ones_finish=False), {}, measures=["pray"])


class FromThePast:
    """Makes the same rule of every past, and says of which."""

    def __init__(self, but: int | None = None) -> None:
        self.seen: list[tuple[int, str]] = []
        self._but = but

    def make(self, scenario: Scenario, folder: Path) -> Policy:
        self.seen.append((scenario.fold, scenario.split))
        if scenario.fold == self._but or self._but == 0:
            raise ValueError("nothing to learn from")
        return OptimalStopping()

    def save(self, scenario: Scenario, folder: Path, path: Path) -> Path:
        raise NotImplementedError


def test_what_is_made_is_made_for_each_fold() -> None:
    trace, maker = doomed(300, long_ones_finish=False), FromThePast()
    made = {"made": Candidate(maker, "learned", "made")}
    found = assessed(trace, made, measures=["kill"]).judged[0]
    given = {"given": Candidate(OptimalStopping(), "given", "given")}
    plain = assessed(trace, given, measures=["kill"]).judged[0]
    assert [fold for fold, _ in maker.seen] == [1, 2, 3, 4, 5]
    assert (found.saved, found.worst) == (plain.saved, plain.worst)
    some = {"made": Candidate(FromThePast(but=2), "learned", "made")}
    without = assessed(trace, some, measures=["kill"])
    assert 0.0 < without.judged[0].saved < found.saved
    said = "made: nothing was made for part 2: nothing to learn from."
    assert without.left_out == (f"kill, no forecasts: {said}",)


def test_what_replay_plays_is_told_again(tmp_path: Path) -> None:
    trace = doomed(200, long_ones_finish=False)
    some = {"made": Candidate(FromThePast(but=2), "learned", "made")}
    one, two = (assessed(trace, some, measures=["kill"], work=tmp_path) for _ in range(2))
    assert one.left_out == two.left_out != ()


def test_what_periodic_checkpoints_go_by_is_that_of_the_past(of_google: Assessment) -> None:
    """And nobody is told that of a rule which saves no checkpoint."""
    saves = {each.measure: each.mtbf for each in of_google.judged if each.policy == "young"}
    others = {each.mtbf for each in of_google.judged if each.policy in ("blind_kill", "retry_cap")}
    assert others == {None}
    assert saves["checkpoint"] == saves["together"]
    assert saves["checkpoint"] not in (None, resolve("Checkpoint-v1").mtbf)


def test_what_can_be_made_for_no_fold_is_left_out() -> None:
    none = {"made": Candidate(FromThePast(but=0), "learned", "made")}
    found = assessed(doomed(200, long_ones_finish=False), none, measures=["kill"])
    assert found.judged == ()
    assert found.left_out == ("kill, no forecasts: made: part 1: nothing to learn from.",)


def test_of_a_long_past_some_tasks_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """They stand for all: what is saved is about what is saved on all of them."""
    course = Course.of(MEASURES["kill"], doomed(1_000, long_ones_finish=False), "none", 4.0)
    saved: list[float] = []
    for most in (300, 10_000):
        monkeypatch.setattr("failgym.assessment.course.PAST_TASKS", most)
        past = course.past()
        assert past is not None
        assert len(past.replay.slices) == min(most, past.world.slices)
        assert past.world.slices > 400
        saved.append(past.saved(OptimalStopping(), "rule"))
    assert saved[0] == pytest.approx(saved[1], rel=0.2)


def test_before_a_fold_it_is_known_what_was_saved_on_tasks_that_were_over() -> None:
    """Two rows a fold. One rule is best on the past, the other then, but on a task that lasts."""
    saved = {
        "steady": [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
        "late": [0.0, 8.0, 0.0, 8.0, -3.0, -3.0, 8.0, 8.0],
        "made": [9.0] * 8,
    }
    past = {"steady": 2.0, "late": 1.0, "made": np.nan}
    replay = np.full((8, 5), 10.0)
    submits = np.array([0, 5, 10, 15, 20, 25, 30, 35])
    ends = np.array([4, 12, 14, 20, 26, 27, 99, 99])  # the second lasts into the next fold
    ground = Ground(
        *("kill", "none", cast(Any, None), replay, np.zeros((4, len(FIGURES))), (2, 2, 2, 2)),
        *(submits, ends, None, 4.0, ()),
    )
    played = {
        name: Played(
            replay - np.array(values)[:, None] / 5.0,
            np.array(past[name]),
            np.full((4, len(FIGURES)), float(len(name))),
        )
        for name, values in saved.items()
    }
    found, names = chosen_on_the_past(ground, played)
    # 2 and 1 at first; 3 and 1 before the second; 6 and 17 before the third; 8 and 11 at last
    assert names == ("steady", "steady", "late", "late")
    terms = [played[name].terms for name in names for _ in range(2)]
    assert (found.terms == [of[row] for row, of in enumerate(terms)]).all()
    assert found.figures[:, 0].tolist() == [6.0, 6.0, 4.0, 4.0]
    losing = {name: replace(one, past=one.past - 30.0) for name, one in played.items()}
    assert chosen_on_the_past(ground, losing)[1] == ("replay",) * 4


def test_what_was_made_from_the_past_is_not_chosen_by_it() -> None:
    made = {
        "made": Candidate(FromThePast(), "learned", "made"),
        "blind_kill": RULES["blind_kill"],
    }
    found = assessed(doomed(200, long_ones_finish=False), made, measures=["kill"])
    [chosen] = [each for each in found.judged if each.kind == "chosen"]
    assert "made" not in chosen.chosen


def test_the_room_is_found_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And is called what the measures are called that are asked for, in their order."""
    trace, rules = failing(600, spared=(0, 0)), {"retry_cap": RULES["retry_cap"]}
    found = assessed(trace, rules, measures=["retry", "kill"], work=tmp_path)

    def find_again(*_: Any) -> Any:
        raise AssertionError("it was found before")

    monkeypatch.setattr(room, "_room_of", find_again)
    again = assessed(trace, rules, measures=["kill", "retry"], work=tmp_path)
    assert {one.measure: one.hours for one in again.rooms} == {
        one.measure: one.hours for one in found.rooms
    }
    titles = [each.rooms[-1].title for each in (found, again)]
    assert titles == ["retry and kill at once", "kill and retry at once"]
    with pytest.raises(AssertionError, match="found before"):
        assessed(trace, rules, measures=["kill"], work=tmp_path, task_value=2.0)


def test_who_saves_the_same_is_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """`given` does what `optimal_stopping` does; `rash` does something else."""
    judged = list[bytes]()
    real = judging.sure_of

    def seen(ground: Any, played: Any, **more: Any) -> Any:
        judged.append(played.terms.tobytes())
        return real(ground, played, **more)

    module = import_module("failgym.assessment.assess")  # the package has such a function
    monkeypatch.setattr(module, "sure_of", seen)
    some = {
        "optimal_stopping": RULES["optimal_stopping"],
        "given": Candidate(OptimalStopping(), "given", None),
        "rash": Candidate(KillAfter(0), "given", None),
    }
    found = assessed(doomed(300, long_ones_finish=False), some, measures=["kill"])
    assert len(judged) == len(set(judged)) == 2
    by_name = {each.policy: each for each in found.judged}
    assert by_name["given"].verdict == by_name["optimal_stopping"].verdict
    assert by_name["rash"].verdict != by_name["given"].verdict


def test_a_fold_in_which_nothing_is_decided_is_left_out_alone() -> None:
    """In the third fifth of the later half no job fails, so that nothing is retried there."""
    trace = failing(1_000, spared=(700, 800))
    found = assessed(trace, {"retry_cap": RULES["retry_cap"]}, measures=["retry", "kill"])
    assert {room.measure for room in found.rooms} == {"retry", "kill", "together"}
    assert [line for line in found.left_out if line.startswith("retry: part 3 of 5")]
    assert found.unjudged == {}
    [room] = [each for each in found.rooms if each.measure == "retry"]
    failed = trace.column("attempts", "outcome") == int(Outcome.FAIL)
    jobs = trace.column("attempts", "task")[failed]
    assert room.tasks == len(np.unique(jobs[jobs >= 500]))


def test_few_jobs_are_no_evidence() -> None:
    found = assessed(
        doomed(12, long_ones_finish=False, lost=1.0, apart=700), RULES, measures=["kill"]
    )
    assert found.advice is not None
    assert found.advice.answer == "keep"
    assert any("20 blocks of jobs" in line for line in found.advice.evidence)


def test_what_pays_only_up_to_a_value_of_a_task_says_so() -> None:
    """To kill every task at once saves ten hours of one in two, and loses the other's minutes."""
    trace = doomed(600, long_ones_finish=False)
    rash = {"rash": Candidate(KillAfter(0), "given", None)}
    found = assessed(trace, rash, measures=["kill"], task_value=15.0)
    assert found.advice is not None
    [each] = [one for one in found.judged if one.policy == "rash"]
    assert each.verdict.answer == "adopt"
    assert each.at_values["4"] < 0.0 < each.saved
    assert each.even_at is not None
    limit = f"is worth less than {each.even_at:.2g} times its machine-time (here 15 times)."
    assert found.advice.text.endswith(limit)
    even, loses, saves = (
        assessed(trace, rash, measures=["kill"], task_value=value)
        for value in (each.even_at, each.even_at + 1.0, 1.0)
    )
    assert even.judged[0].saved == pytest.approx(0.0, abs=1e-6)
    assert loses.judged[0].saved < 0.0
    assert loses.advice is not None
    assert loses.advice.answer == "keep"
    assert saves.advice is not None
    assert saves.advice.text.endswith("it needs no forecasts).")


def test_what_pays_only_from_a_value_of_a_task_on_says_so() -> None:
    found = assessed(retried(600), {"retry_cap": RULES["retry_cap"]}, measures=["retry"])
    [each] = [one for one in found.judged if one.policy == "retry_cap"]
    for even, said in (
        *((2.0, "is worth more than 2 times"), (0.5, ""), (5.123, "less than 5.1 times")),
        *((4.04, "less than 4.04 times"), (3.997, "more than 3.997 times")),
    ):
        advice = advice_of(
            *(found.rooms, [replace(each, even_at=even)], {}, "day"),
            tried=True,
            record_jobs=600,
            task_value=4.0,
        )
        assert advice.answer == "adopt"
        assert said in advice.text
        assert ("as long as" in advice.text) == bool(said)


def test_what_nobody_can_tell_from_others_is_played_again(tmp_path: Path) -> None:
    trace = doomed(200, long_ones_finish=False)
    for policy in (OptimalStopping(), KillAfter(0)):
        mine = {"mine": Candidate(policy, "given", None)}
        kept = assessed(trace, mine, measures=["kill"], work=tmp_path)
        fresh = assessed(trace, mine, measures=["kill"])
        assert kept.judged == fresh.judged


def test_rules_that_do_the_same_count_once() -> None:
    trace = doomed(300, long_ones_finish=False)
    rules = {name: RULES[name] for name in ("optimal_stopping", "blind_kill")}
    once = assessed(trace, rules, measures=["kill"])
    twins = {f"{name} too": replace(each, key=[name, "too"]) for name, each in rules.items()}
    twice = assessed(trace, {**rules, **twins}, measures=["kill"])
    assert once.judged[0].verdict.candidates == twice.judged[0].verdict.candidates > 1
    assert [each.low for each in once.judged[:2]] == [each.low for each in twice.judged[:2]]


def test_what_one_job_decides_is_told() -> None:
    """One job of a thousand hours is killed in the end, all others finish in ten minutes."""
    trace = one_long_job(400)
    found = assessed(trace, {"blind_kill": RULES["blind_kill"]}, measures=["kill"])
    [each] = [one for one in found.judged if one.policy == "blind_kill"]
    assert each.saved > 900.0
    assert each.without_largest <= 0.0
    assert (each.low, each.high, each.harm) == (None, None, None)  # one job says nothing of others
    assert found.advice is not None
    assert found.advice.answer == "keep"
    assert any("All of it comes from one block of jobs" in line for line in found.advice.evidence)


def test_a_fold_is_not_judged_if_nothing_was_started_again_before_it() -> None:
    """All restarts are of the last tenth, and in vain: nobody knows that in the folds before."""
    trace = in_vain(1_000, of_last=100)
    assert restarts(trace, (Outcome.FAIL,)) == 100
    found = assessed(trace, {"retry_cap": RULES["retry_cap"]}, measures=["retry"])
    assert found.unjudged["retry"].startswith("none of the 5 parts")
    assert "part 1 of 5: before it fewer than 30 restarts" in found.unjudged["retry"]
    assert found.judged == ()
    later = assessed(in_vain(1_000, of_last=480), {}, measures=["retry"])
    assert [line[:13] for line in later.left_out] == ["retry: part 1"]


def test_machine_time_of_the_later_half_is_that_of_all_of_it() -> None:
    """A measure is about some of the tasks only."""
    trace = failing(1_000, spared=(0, 0))
    found = assessed(trace, {"retry_cap": RULES["retry_cap"]}, measures=["retry"])
    start, end, task = (trace.column("attempts", name) for name in ("start", "end", "task"))
    later = np.isin(task, np.arange(500, 1_000))
    [room] = found.rooms
    assert room.whole == pytest.approx((end - start)[later].sum() / HOUR)
    assert room.spent < room.whole
    assert room.of_whole == pytest.approx(room.hours / room.whole)
    for each in found.judged:
        assert sum(each.tasks_by_fold) == 500
        assert sum(each.by_fold) == pytest.approx(each.saved)
        assert each.folds == (1, 2, 3, 4, 5)


def test_of_a_rule_of_ones_own_no_file_is_written(tmp_path: Path) -> None:
    """A file names the rule that comes with failgym, which is another."""

    class Mine(OptimalStopping):
        """Mine."""

    scenario = resolve("failgym/GracePeriod-v1")
    mine, theirs = Candidate(Mine(), "given", None), Candidate(OptimalStopping(), "given", None)
    assert mine.save(scenario, tmp_path, tmp_path / "mine") is None
    assert theirs.save(scenario, tmp_path, tmp_path / "theirs") == tmp_path / "theirs.json"
    assert not (tmp_path / "mine.json").exists()


def test_hours_of_completion_of_perfect_knowledge() -> None:
    """Tasks of one slot that are killed sooner are over sooner by what is saved."""
    [room] = assessed(doomed(300, long_ones_finish=False), {}, measures=["kill"]).rooms
    assert room.machine_hours > 100.0
    assert room.completion_hours == pytest.approx(room.machine_hours)


def test_the_most_that_could_be_saved_is_that_of_the_most_hours() -> None:
    """Nine tenths of the few hours of retries are not what could have been saved of the record."""
    few: dict[str, Any] = {
        "measure": "retry",
        "title": "retry",
        "hours": 9.0,
        "spent": 10.0,
        "share": 0.9,
    }
    most: dict[str, Any] = {
        "measure": "kill",
        "title": "kill",
        "hours": 300.0,
        "spent": 1_000.0,
        "share": 0.3,
    }
    rest: dict[str, Any] = {"whole": 4_000.0} | dict.fromkeys(
        ("machine_hours", "completion_hours", "largest", "top"), 0.0
    )
    count: dict[str, Any] = {"tasks": 10, "unit": "job", "units": 10, "half": 1}
    rooms = [MeasureRoom(**each, **rest, **count, folds=(4, 5)) for each in (few, most)]
    advice = advice_of(rooms, [], {}, "day", tried=False, record_jobs=10, task_value=4.0)
    assert advice.answer == "not asked"
    assert "At most 300 machine-hours could have been saved net on 2 of the 5 parts" in advice.text
    assert advice.text.endswith("whose tasks of known end used 4,000.")
    assert "without --quick" in advice.evidence[0]
    in_vain = advice_of(rooms, [], {}, "day", tried=True, record_jobs=10, task_value=4.0)
    assert in_vain.text.endswith("no rule that was asked for can do anything about that.")
    assert "--quick" not in in_vain.evidence[0]
    little = [replace(room, share=0.009) for room in rooms]
    nothing = advice_of(little, [], {}, "day", tried=True, record_jobs=10, task_value=4.0)
    assert "would save net 7.50 % of the machine-time of tasks whose end is known" in nothing.text


def test_what_is_advised_has_an_interval_however_wide() -> None:
    """Where tasks that finish only now are worth much, savings are many times what they used."""
    trace = retried(600)
    rule = {"retry_cap": RULES["retry_cap"]}
    found = assessed(trace, rule, measures=["retry"], task_value=100.0)
    [each] = [one for one in found.judged if one.policy == "retry_cap"]
    assert each.verdict.answer == "adopt"
    assert each.verdict.low is not None
    assert each.verdict.high is not None
    assert each.verdict.high - each.verdict.low > 100.0 * judging.WIDEST
    assert each.low is not None
    assert each.high is not None
    assert 0.0 < each.low < each.saved < each.high
    assert found.advice is not None
    assert "between 0 and 0" not in " ".join(found.advice.evidence)


def test_intervals_grow_with_what_a_task_is_worth() -> None:
    """A rule that kills at once what finishes loses more, and as widely, the more it is worth."""
    trace = doomed(400, long_ones_finish=False)
    rash = {"rash": Candidate(KillAfter(0), "given", None)}
    shown = [
        assessed(trace, rash, measures=["kill"], task_value=value).judged[0]
        for value in (4.0, 400.0)
    ]
    assert all(each.low is not None for each in shown)


def test_measures_together_are_those_that_the_past_of_each_fold_tells_of() -> None:
    """Nothing was started again before the third fold; what is killed after hours is in all."""
    trace = failing(1_000, spared=(0, 700))
    task, start, end = (trace.column("attempts", name) for name in ("task", "start", "end"))
    killed = task % 3 == 1
    fate = np.where(killed, int(Outcome.KILL), trace.column("attempts", "outcome"))
    causes = {int(Outcome.KILL): int(Cause.USER), int(Outcome.FAIL): int(Cause.INTRINSIC)}
    columns = ("original_id", "submit", "width")
    trace = with_tables(
        trace,
        jobs={
            **{name: trace.column("jobs", name) for name in columns},
            "outcome": np.where(np.arange(1_000) % 3 == 1, int(Outcome.KILL), 0).astype(np.int8),
        },
        attempts={
            **{"task": task, "queued": start, "start": start},
            "end": np.where(killed, start + 10 * HOUR, end),
            "outcome": fate.astype(np.int8),
            "cause": [causes.get(one) for one in fate.tolist()],
        },
    )
    rule = {"retry_cap": RULES["retry_cap"]}
    found = assessed(trace, rule, measures=["kill", "retry"])
    rooms = {room.measure: room for room in found.rooms}
    assert rooms["kill"].folds == rooms["together"].folds == (1, 2, 3, 4, 5)
    assert rooms["retry"].folds == (4, 5)
    assert rooms["together"].hours == pytest.approx(rooms["kill"].hours)
    [retry] = [one for one in found.judged if one.measure == "retry" and one.kind != "chosen"]
    assert retry.folds == (4, 5)
    alone = assessed(trace, rule, measures=["retry"])
    assert alone.advice is not None
    assert "2 of the 5 parts of the later half" in alone.advice.text


def test_folds_that_forecasts_leave_out_are_told() -> None:
    """Nothing has ended before the first fold, so nothing can be forecast there."""
    trace = late_ends(400)
    found = assessed(
        trace, {"blind_kill": RULES["blind_kill"]}, measures=["kill"], forecasts=("none", "trained")
    )
    assert any(line.startswith("kill, forecasts: part 1 of 5: ") for line in found.left_out)


def test_reasons_name_no_fields() -> None:
    found = assessed(doomed(1, long_ones_finish=False), RULES, measures=["kill"])
    assert "none of the 5 parts that the later half of the record" in found.unjudged["kill"]
    late = assessed(
        late_ends(400),
        {"blind_kill": RULES["blind_kill"]},
        measures=["kill"],
        forecasts=("trained",),
    )
    assert late.left_out
    assert (
        reason("scenario: select=failing leaves no task; set select=all") == "this leaves no task"
    )
    assert reason(ValueError("forecast=auto: Boosting:\n too few.")) == "Boosting: too few"
    for line in (*found.unjudged.values(), *late.left_out):
        assert "set fold" not in line
        assert "=" not in line


def test_tasks_that_are_worth_nothing_are_told_beside_the_advice() -> None:
    trace = doomed(400, long_ones_finish=False)
    rash = {"rash": Candidate(KillAfter(0), "given", None)}
    for value, told in ((0.0, True), (0.5, False)):
        found = assessed(trace, rash, measures=["kill"], task_value=value)
        assert found.advice is not None
        assert found.advice.answer == "adopt"
        assert any("counts as no loss" in line for line in found.advice.evidence) == told


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (
            "scenario: no task of the test split is ever asked about: fold=1 leaves no task in it;"
            " set fold=0, or trace to one of more jobs",
            "it holds no task",
        ),
        (
            "scenario: no task of the test split is ever asked about: select=failing leaves none of"
            " its 1,204 tasks, since no job has an attempt that failed; set select=all",
            "nothing is decided about its 1,204 tasks, since no job has an attempt that failed",
        ),
    ],
)
def test_reasons_are_plain(told: str, said: str) -> None:
    assert reason(told) == said


def test_savings_by_period_are_those_of_what_was_submitted_then() -> None:
    """Of each job that is killed in vain all but the time until then is saved, on its own day."""
    trace = doomed(600, long_ones_finish=False)
    found = assessed(trace, {"rash": Candidate(KillAfter(0), "given", None)}, measures=["kill"])
    [rash] = [one for one in found.judged if one.policy == "rash"]
    assert found.happened.period == "day"
    assert sum(rash.by_period) == pytest.approx(rash.saved)
    assert min(rash.by_period) == rash.worst
    assert sum(value < 0.0 for value in rash.by_period) == rash.losing
    assert rash.periods == len(rash.by_period)
    for low, saved, high in zip(
        rash.by_period_low, rash.by_period, rash.by_period_high, strict=True
    ):
        assert (low is None) == (high is None)
        assert low is None or high is None or low < saved < high
    assert (rash.losing, rash.surely_losing) == (0, 0)
    submit, start, end = (
        trace.column("jobs", "submit"),
        *(trace.column("attempts", name) for name in ("start", "end")),
    )
    fate, hours = trace.column("jobs", "outcome"), (end - start) / HOUR
    days = (submit - found.happened.periods[0].start) // (24 * HOUR)
    later = np.arange(600) >= 300
    assert rash.first_period == days[later].min()
    for number, saved in enumerate(rash.by_period, rash.first_period):
        here = later & (days == number)
        lost = here & (fate == int(Outcome.FINISH))
        rescued = here & (fate == int(Outcome.KILL))
        most = hours[rescued].sum() - 4.0 * hours[lost].sum()
        assert saved == pytest.approx(most, abs=0.5 * here.sum())


@pytest.mark.parametrize("candidates", [1, 10])
def test_periods_in_which_a_rule_surely_loses(candidates: int) -> None:
    """Three days of 20, none and 6 jobs. On the last the rule loses, in each job nearly as much."""
    ground, played = _of_days([1.0] * 20 + [-5.0] * 6, [0] * 20 + [2] * 6, spent=10.0)
    found = _judged(ground, played, candidates)
    assert found.by_period == pytest.approx((20.0, 0.0, -30.0), abs=0.5)
    assert (found.losing, found.surely_losing, found.periods) == (1, 1, 2)
    (low, *_), (high, *_) = found.by_period_low, found.by_period_high
    assert found.by_period_low[1] is found.by_period_high[1] is None
    assert low is not None
    assert high is not None
    reach = (high - low) / 2.0
    one = _judged(ground, played).by_period_high[0]
    assert one is not None
    free = 24.0
    quantile = (far_student(0.05 / 4.0 / each, free) for each in (candidates, 1))
    assert reach / (one - found.by_period[0]) == pytest.approx(
        next(quantile) / next(quantile), rel=0.02
    )


def test_periods_of_few_jobs_or_of_wide_intervals_tell_nothing() -> None:
    """Four jobs on the last day; and where all varies by more than twice what tasks used."""
    days = [0] * 20 + [2] * 4
    few = _judged(*_of_days([1.0] * 20 + [-5.0] * 4, days, 10.0))
    assert (few.losing, few.surely_losing) == (1, None)
    assert few.by_period_high[2] is None
    assert few.by_period_high[0] is not None
    wild = [9.0 * (-1.0) ** number for number in range(26)]
    wide = _judged(*_of_days(wild, [0] * 20 + [2] * 6, 0.5))
    assert set(wide.by_period_low) == set(wide.by_period_high) == {None}


def _judged(ground: Ground, played: Played, candidates: int = 1) -> judging.Judged:
    def days(submits: Any) -> Any:
        return submits // (24 * HOUR)

    sure = judging.sure_of(ground, played, candidates=candidates, periods=days)
    return judging.judged(ground, judging.Named("rule", "given"), played, sure, periods=days)


def _of_days(saved: list[float], days: list[int], spent: float) -> tuple[Ground, Played]:
    """Jobs of one task on one fold, and a rule that saves so much of each, more or less [h]."""
    count = len(saved)
    jobs = np.arange(count)
    values = np.array(saved) + 0.01 * np.sin(jobs)
    rows = np.zeros((count, 5))
    replay = rows + spent / 5.0
    units = SamplingUnits(jobs, "job", 1, jobs)
    used = np.full(count, spent)
    evidence = Evidence(cast(Any, None), True, units, replay.sum(axis=1), used, used)
    figures = np.zeros((1, len(FIGURES)))
    ground = Ground(
        *("kill", "none", evidence, replay, figures, (count,)),
        *(np.array(days) * 24 * HOUR, jobs, None, 4.0, (Whole(1, count, spent * count),)),
    )
    return ground, Played(replay - values[:, None] / 5.0, np.array(np.nan), figures)


def test_one_rule_is_not_all_rules() -> None:
    found = assessed(
        doomed(400, long_ones_finish=False), {"blind_kill": RULES["blind_kill"]}, measures=["kill"]
    )
    assert found.advice is not None
    assert "at once" not in " ".join(found.advice.evidence)
