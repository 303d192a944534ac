"""Rolling origin: a fold is a fifth of the later half of the jobs, and its past knows no more."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from failgym.envs import Scenario, resolve
from failgym.traces import Cause, Meta, Outcome, Trace
from failgym.worlds.build import build_world, part_of
from failgym.worlds.settings.splitting import FOLDS
from failgym.worlds.source import whole_trace
from failgym.worlds.split import split_trace, split_with_earlier
from tests.envs.worlds import small

NUMBERS = range(1, FOLDS + 1)
BASE = resolve("Cloning-v1", {"select": "all", "forecast": "none"})
MITIGATION = "failgym/Mitigation-v1"

Job = tuple[int, int, Outcome]
"""Submitted at, lasts [ms], and how its only attempt ends."""
CAUSES = {Outcome.FINISH: None, Outcome.FAIL: Cause.INTRINSIC, Outcome.KILL: Cause.USER}
OUTCOMES = [Outcome.FINISH, Outcome.FAIL, Outcome.KILL]
jobs_of_traces = st.lists(
    st.tuples(st.integers(0, 40), st.integers(1, 60), st.sampled_from(OUTCOMES)),
    min_size=1,
    max_size=40,
)


def trace_of(rows: list[Job]) -> Trace:
    """Jobs in order of submission, each of a task that starts when it is submitted."""
    rows = sorted(rows)
    submit, last = (np.array(column) for column in list(zip(*rows, strict=True))[:2])
    count, ends = len(rows), [outcome for *_, outcome in rows]
    return Trace.of(
        Meta("by hand", end=100_000_000),
        jobs={
            "original_id": [f"j{i}" for i in range(count)],
            "submit": submit,
            "width": 1,
            "outcome": ends,
        },
        tasks={"job": list(range(count)), "index": 0, "width": 1},
        attempts={
            "task": list(range(count)),
            "queued": submit,
            "start": submit,
            "end": submit + last,
            "outcome": ends,
            "cause": [CAUSES[outcome] for outcome in ends],
        },
    )


def fold(number: int) -> Scenario:
    return replace(BASE, fold=number)


def origins(submit: list[int]) -> list[int]:
    """By brute force: the least times by which 50, 60, ... 100 % of the jobs were submitted."""
    ordered = sorted(submit)
    return [
        next(t for t in ordered if 10 * sum(s <= t for s in submit) >= tenths * len(submit))
        for tenths in range(FOLDS, 2 * FOLDS + 1)
    ]


@settings(deadline=None)
@given(jobs_of_traces)
def test_folds_share_nothing_and_are_all_that_was_submitted_after_the_first(
    rows: list[Job],
) -> None:
    trace = trace_of(rows)
    submit = trace.column("jobs", "submit").tolist()
    at = origins(submit)
    seen: list[int] = []
    for number in NUMBERS:
        test = split_trace(trace, fold(number), "test")
        wanted = [j for j, s in enumerate(submit) if at[number - 1] < s <= at[number]]
        assert test.jobs.tolist() == wanted
        seen += test.tasks.tolist()
    assert seen == [j for j, s in enumerate(submit) if s > at[0]]


@settings(deadline=None)
@given(jobs_of_traces, st.sampled_from(NUMBERS))
def test_the_past_of_a_fold_knows_nothing_of_what_comes(rows: list[Job], number: int) -> None:
    trace = trace_of(rows)
    at = origins(trace.column("jobs", "submit").tolist())[number - 1]
    past = split_trace(trace, fold(number), "train")
    assert past.jobs.tolist() == np.flatnonzero(trace.column("jobs", "submit") <= at).tolist()
    known = past.recorded
    assert known.column("attempts", "end").max() <= at
    over = trace.column("attempts", "end")[past.attempts] > at
    assert (known.column("attempts", "outcome")[over] == Outcome.CENSORED).all()
    same = trace.column("attempts", "outcome")[past.attempts][~over]
    assert (known.column("attempts", "outcome")[~over] == same).all()


@settings(deadline=None)
@given(jobs_of_traces, st.sampled_from(NUMBERS), st.integers(1, 50), st.sampled_from(OUTCOMES))
def test_another_future_is_the_same_past(
    rows: list[Job], number: int, longer: int, outcome: Outcome
) -> None:
    """Whatever becomes of what runs at the origin, and of all that is submitted later."""
    rows = [(2 * i, last, end) for i, (_, last, end) in enumerate(sorted(rows))]
    at = origins([submit for submit, *_ in rows])[number - 1]
    later = [
        (submit, last, end) if submit + last <= at else (submit, last + longer, outcome)
        for submit, last, end in rows
    ]
    mine, theirs = (
        split_trace(trace_of(one), fold(number), "train").recorded for one in (rows, later)
    )
    assert mine.content_hash == theirs.content_hash


@settings(deadline=None)
@given(jobs_of_traces, st.sampled_from(NUMBERS))
def test_on_machines_a_fold_runs_among_all_others_and_asks_about_its_own(
    rows: list[Job], number: int
) -> None:
    trace = trace_of(rows)
    around = split_with_earlier(trace, fold(number), "test")
    assert around.jobs.tolist() == list(range(trace.rows("jobs")))
    alone = split_trace(trace, fold(number), "test")
    assert around.jobs[around.own].tolist() == alone.jobs.tolist()


@settings(deadline=None)
@given(jobs_of_traces, st.sampled_from(NUMBERS))
def test_fit_and_validation_are_the_past_cut_once_more(rows: list[Job], number: int) -> None:
    trace = trace_of(rows)
    parts = [split_trace(trace, fold(number), name) for name in ("fit", "validation", "train")]
    fit, validation, train = (part.jobs.tolist() for part in parts)
    assert fit + validation == train


@pytest.mark.parametrize("env_id", ["failgym/Cloning-v1", MITIGATION])
def test_every_fold_is_an_environment_that_asks_about_its_own_jobs(env_id: str) -> None:
    asked: list[int] = []
    fields: dict[str, Any] = {**small(env_id), "split": "test", "select": "all"}
    for number in NUMBERS:
        scenario = resolve(env_id, {**fields, "fold": number})
        world, part = build_world(scenario), part_of(scenario, "test")
        assert world.slices >= 1
        own = np.unique(world.own_tasks)
        assert part.own_tasks[own].all()
        asked += part.tasks[own].tolist()
    assert len(set(asked)) == len(asked)


def test_a_fold_is_played_at_the_prices_and_on_the_machines_of_its_past() -> None:
    """They are those of the one boundary that lies where the fold begins."""
    fields: dict[str, Any] = {**small(MITIGATION), "split": "test"}
    folded = resolve(MITIGATION, {**fields, "fold": 4})
    cut = resolve(MITIGATION, {**fields, "boundary": 0.8})
    worlds = [build_world(one) for one in (folded, cut)]
    assert folded.origin == cut.boundary
    assert len({world.tables.parameters.tobytes() for world in worlds}) == 1
    assert len({world.scene("time").machines for world in worlds}) == 1
    other = build_world(resolve(MITIGATION, {**fields, "fold": 1}))
    assert other.tables.parameters.tobytes() != worlds[0].tables.parameters.tobytes()


def test_a_twin_is_learned_from_the_past_of_a_fold() -> None:
    record = whole_trace(resolve("Cloning-v1", small("failgym/Cloning-v1")))
    twins = [
        whole_trace(resolve("Cloning-v1", {"trace": record, "twin": 40, "sampling": 0.0, **cut}))
        for cut in ({"fold": 4}, {"boundary": 0.8}, {"fold": 1})
    ]
    hashes = [one.content_hash for one in twins]
    assert hashes[0] == hashes[1] != hashes[2]


@pytest.mark.parametrize("value", [-1, 6])
def test_a_fold_that_there_is_not_is_refused(value: int) -> None:
    with pytest.raises(ValueError, match="fold: expected 0 to 5"):
        resolve("Cloning-v1", {"fold": value})


def test_a_fold_says_where_its_boundary_is() -> None:
    with pytest.raises(ValueError, match=r"boundary: expected boundary=0.7 unless fold=0, got 0.8"):
        resolve("Cloning-v1", {"fold": 1, "boundary": 0.8})


def test_a_trace_of_too_few_jobs_is_one_line() -> None:
    trace = trace_of([(i * 7_200_000, 3_600_000, Outcome.FINISH) for i in range(4)])
    with pytest.raises(ValueError, match=r"fold=2 leaves no task in it; set fold=0, or trace"):
        build_world(replace(BASE, trace=trace, split="test", fold=2))
