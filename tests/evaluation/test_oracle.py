"""The oracle: what it found was played, costs no less than the bound and no more than replay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import failgym
from failgym.baselines import Replay
from failgym.envs import resolve
from failgym.evaluation.anchors import Anchors
from failgym.evaluation.oracle import MEASURES, Effort
from failgym.evaluation.oracle.plays import Plan, Stage
from failgym.evaluation.oracle.rules import allowed_by, ways_with
from failgym.evaluation.oracle.search import search
from failgym.sim.pinned.compile import compile_world, with_slices
from failgym.sim.pinned.simulator import PinnedSimulator
from failgym.vocabulary import TERMS, Action
from failgym.worlds.pinned.world import PinnedWorld
from tests.baselines.test_clairvoyant import MAKERS, Case, TooLarge, least_cost
from tests.envs.worlds import IDS, small

BRIEF = Effort(rounds=2, plays=4, alone=2)
CONTINUED = {"beyond_record": "continued", "restarts": "record", "task_value": 4.0}
EPISODE = {**CONTINUED, "waiting_price": 1.0, "charge": "episode"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of one's own."""
    monkeypatch.setenv("FAILGYM_CACHE_DIR", str(tmp_path / "worlds"))
    monkeypatch.setenv("FAILGYM_CACHE_SIZE", "1G")
    return tmp_path / "worlds"


def places(env_id: str, **fields: Any) -> Anchors:
    """A few small slices."""
    return Anchors.of(resolve(env_id, {**small(env_id), **fields}), episodes=3)


@pytest.mark.parametrize(
    ("env_id", "fields"),
    [
        *((env_id, {}) for env_id in IDS),
        ("failgym/Cloning-v1", CONTINUED),
        ("failgym/Lineage-v1", CONTINUED),
        ("failgym/Mitigation-v1", EPISODE),
    ],
)
def test_lies_between_the_bound_and_replay_and_was_played(
    env_id: str, fields: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    anchors = places(env_id, **fields)
    run = anchors.oracle(effort=BRIEF)
    cost, bound = run.costs.sum(axis=1), anchors.bound.sum(axis=1)
    assert (cost <= anchors.replay.costs.sum(axis=1) + 1e-9).all()
    assert (cost >= bound - 1e-9 * np.abs(bound) - 1e-9).all()
    assert run.illegal == 0
    if anchors.scenario.world == "pinned":
        np.testing.assert_allclose(cost, bound, rtol=1e-9, atol=1e-9)
    monkeypatch.setenv("FAILGYM_CACHE_SIZE", "0")  # nothing is read
    again = anchors.oracle(effort=BRIEF)
    assert again.costs.tobytes() == run.costs.tobytes()
    assert again.decisions == run.decisions


@pytest.mark.parametrize("env_id", ["failgym/Mitigation-v1", "failgym/Lineage-v1"])
def test_search_improves_on_the_rules_and_never_spoils_them(env_id: str) -> None:
    more = {**EPISODE, "slice_tasks": 24, "trace_seed": 1} if "Mitigation" in env_id else {}
    anchors = places(env_id, **more)
    rules = anchors.oracle(effort=Effort(rounds=0)).costs.sum(axis=1)
    searched = anchors.oracle(effort=Effort(rounds=3)).costs.sum(axis=1)
    assert (searched <= rules).all()
    if "Mitigation" in env_id:
        assert searched.sum() < rules.sum()


@pytest.mark.parametrize("measure", ["clone", "checkpoint", "kill", "retry"])
def test_confined_to_a_measure_it_uses_no_other(measure: str) -> None:
    anchors = places("failgym/Mitigation-v1", **EPISODE)
    run = anchors.oracle([measure], effort=BRIEF)
    for other, columns in {
        "clone": ["clones"],
        "checkpoint": ["checkpoints"],
        "kill": ["killed", "armed"],
        "retry": ["retries"],
    }.items():
        if other != measure:
            assert not any(run.outcomes[column].any() for column in columns)
    assert run.costs.sum() <= anchors.replay.costs.sum()


def test_all_measures_together_are_no_worse_than_one() -> None:
    anchors = places("failgym/GracePeriod-v1")
    together = anchors.oracle(effort=BRIEF).costs.sum(axis=1)
    kills = anchors.oracle(["kill"], effort=BRIEF).costs.sum(axis=1)
    assert (together <= kills + 1e-9).all()


@pytest.mark.parametrize(
    ("measures", "message"),
    [
        (["klone"], "measures: expected some of clone, checkpoint, .*, got 'klone'"),
        ([], "measures: expected at least one"),
        (["clone"], "measures: clone is not offered here"),
    ],
)
def test_measures_are_checked(measures: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        places("failgym/GracePeriod-v1").oracle(measures)


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The slices that are searched from now on."""
    searched: list[int] = []

    def counting(stage: Stage, chosen: int, **options: Any) -> Any:
        searched.append(chosen)
        return search(stage, chosen, **options)

    monkeypatch.setattr("failgym.evaluation.oracle.oracle.search", counting)
    return searched


def test_what_was_found_is_kept_and_a_killed_search_goes_on(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    anchors, searched = places("failgym/Mitigation-v1", **EPISODE), counted(monkeypatch)
    slices = anchors.replay.slices.tolist()

    def stop(done: int) -> None:
        if len(searched) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        anchors.oracle(effort=BRIEF, progress=stop)
    run = anchors.oracle(effort=BRIEF)
    assert searched == slices
    assert anchors.oracle(effort=BRIEF).costs.tobytes() == run.costs.tobytes()
    assert searched == slices
    anchors.oracle(["kill"], effort=BRIEF)
    assert searched == slices * 2
    assert len(list(folder.glob("*.oracle"))) == 2 * len(slices)


def cheaper(text: str) -> str:
    """Costs that the choices do not have."""
    return text.replace('"costs": ["0x', '"costs": ["-0x1')


def halved(text: str) -> str:
    """Half of a file."""
    return text[: len(text) // 2]


def unordered(text: str) -> str:
    """Choices that cannot be made one after the other."""
    return text.replace('"choices": [[', '"choices": [[99999, 2], [')


def empty(_: str) -> str:
    """Another document."""
    return "[]"


@pytest.mark.parametrize("spoil", [cheaper, halved, unordered, empty])
def test_a_spoiled_file_is_not_believed(
    spoil: Callable[[str], str], monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    anchors = places("failgym/GracePeriod-v1")
    run = anchors.oracle(effort=BRIEF)
    searched = counted(monkeypatch)
    files = sorted(folder.glob("*.oracle"))
    spoilt = [file for file in files if spoil(file.read_text()) != file.read_text()]
    for file in spoilt:
        file.write_text(spoil(file.read_text()))
    again = anchors.oracle(effort=BRIEF)
    assert again.costs.tobytes() == run.costs.tobytes()
    assert len(searched) == len(spoilt) > 0


def test_evaluate_tells_its_score() -> None:
    fields: dict[str, Any] = {**small("failgym/GracePeriod-v1"), "episodes": 3}
    plain = failgym.evaluate(Replay(), "failgym/GracePeriod-v1", **fields)
    told = failgym.evaluate(Replay(), "failgym/GracePeriod-v1", oracle=True, **fields)
    assert plain.oracle is None
    assert told.oracle == pytest.approx(100.0)
    assert (told.score, told.cost) == (plain.score, plain.cost)


def test_a_plan_is_followed_by_the_number_of_the_decision_within_its_task() -> None:
    anchors = places("failgym/GracePeriod-v1")
    allowed = allowed_by(anchors.scenario, None)
    stage = Stage(*(anchors.world, anchors.scenario, "task"), ways_with(allowed), allowed, 2)
    [first] = [stage.choose(0)]
    [listed] = stage.play([Plan()], listed=True)
    assert listed.costs.tobytes() == first.costs.tobytes()
    asked = next(a for a in listed.asked if a.number == 1)
    plan = Plan(answers={(asked.task, 1): int(Action.KILL)})
    [played] = stage.play([plan], listed=True)
    changed = [a for a in played.asked if a.action]
    assert [(a.task, a.number, a.action) for a in changed] == [(asked.task, 1, int(Action.KILL))]


def found_and_least(case: Case, task: int) -> tuple[float, float]:
    """What the rules and the search find on one task, and the least over all sequences."""
    trace, rules, context, weights, laws = case
    tables = compile_world(trace, rules, context, weights, continuation=laws)
    world = PinnedWorld(with_slices(tables, np.array([task]), 1))
    allowed = allowed_by(rules, None)
    stage = Stage(world, rules, "task", ways_with(allowed), allowed, 16)
    found = search(stage, 0, apart=True, effort=Effort(rounds=20))
    assert found.costs.shape == (len(TERMS),)
    sim = PinnedSimulator(trace, rules, context, weights, continuation=laws)
    return float(found.costs.sum()), least_cost(sim, task)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("cases", [3, pytest.param(8, marks=pytest.mark.campaign)])
def test_without_a_plan_it_mostly_finds_the_least_of_all_sequences(make: Any, cases: int) -> None:
    results = Counter[bool]()
    for seed in range(cases):
        case = make(np.random.default_rng(seed))
        trace, rules, context, weights, laws = case
        tables = compile_world(trace, rules, context, weights, continuation=laws)
        for task in np.flatnonzero(~tables.tasks["censored"] & (tables.tasks["rows"] > 0)):
            try:
                found, least = found_and_least(case, int(task))
            except TooLarge:
                continue
            assert found >= least - 1e-9 * abs(least) - 1e-9
            results[found <= least + 1e-9 * abs(least) + 1e-9] += 1
    assert results[True] >= cases
    assert results[True] >= 0.85 * results.total(), results


def test_every_measure_is_offered_somewhere() -> None:
    offered: set[str] = set()
    for env_id in IDS:
        for measure in MEASURES:
            try:
                allowed_by(resolve(env_id), (measure,))
            except ValueError:
                continue
            offered.add(measure)
    assert offered == set(MEASURES)
