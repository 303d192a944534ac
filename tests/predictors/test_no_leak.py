"""No leakage: what a learned predictor says at a time does not depend on what comes later."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from failgym.predictors import LEARNED, Learned
from failgym.traces import Trace, generate
from failgym.vocabulary import MINUTE
from tests.predictors.frequencies import Frequencies
from tests.predictors.futures import another_future, rested, said_by
from tests.predictors.quick import QUICK, REFITTING

TRACES = {"google-2011": 150, "system-a": 500}
"""Profiles, and how many jobs of each."""
SEEDS = range(3)


@lru_cache(maxsize=4)
def traces(profile: str) -> tuple[Trace, Trace, Trace]:
    """What is learned from, and what is predicted: parts of one trace, and all of it."""
    whole = generate(profile, jobs=TRACES[profile], seed=4)
    return whole.split("train", 0.6), whole.split("test", 0.6), whole


@lru_cache(maxsize=16)
def fitted(name: str, profile: str, refitting: bool) -> Learned:
    kind: Any = LEARNED[name]
    settings = {**QUICK[name], **(REFITTING if refitting else {})}
    return kind(**settings).fit(traces(profile)[0])


def check(predictor: Learned, trace: Trace, seed: int, earliest: float = 0.15) -> None:
    """Compare what is said up to a time in the record and in another future."""
    rng = np.random.default_rng(seed)
    submits = trace.column("jobs", "submit")
    at = int(rng.integers(np.quantile(submits, earliest), np.quantile(submits, 0.85)))
    if seed % 2:  # at the very moment of a prediction
        start = trace.column("attempts", "start", missing=0)
        at = int(start[start <= at].max())
    future = another_future(trace, at, rng)
    assert future.trace.content_hash != trace.content_hash
    counts = (future.tasks, future.jobs, at)
    ours = said_by(predictor.predict(trace), trace, future.attempts, *counts)
    rows = np.arange(len(future.attempts))
    theirs = said_by(predictor.predict(future.trace), future.trace, rows, *counts)
    assert ours[0].sum() > 20
    assert ours[0].tolist() == theirs[0].tolist()
    for what, mine, other in zip(("risk", "class", "job"), ours[1:], theirs[1:], strict=True):
        np.testing.assert_allclose(mine, other, rtol=0, atol=2e-6, err_msg=what)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("profile", TRACES)
@pytest.mark.parametrize("name", LEARNED)
def test_what_comes_later_changes_nothing_said_before(name: str, profile: str, seed: int) -> None:
    check(fitted(name, profile, False), traces(profile)[1], seed)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", LEARNED)
def test_nor_does_it_where_the_predictor_learns_on(name: str, seed: int) -> None:
    profile = "google-2011"
    check(fitted(name, profile, True), traces(profile)[1], seed)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", LEARNED)
def test_nor_does_it_where_tasks_rest_before_they_are_tried_again(name: str, seed: int) -> None:
    """What is learned of a task that failed tells not whether a retry will be queued."""
    train, test = (rested(part, 1000 * MINUTE) for part in traces("google-2011")[:2])
    kind: Any = LEARNED[name]
    check(kind(**{**QUICK[name], **REFITTING}).fit(train), test, seed, earliest=0.3)


@pytest.mark.parametrize("refitting", [False, True])
@pytest.mark.parametrize("name", LEARNED)
def test_nor_does_it_where_what_was_learned_from_is_predicted_too(
    name: str, refitting: bool
) -> None:
    check(fitted(name, "google-2011", refitting), traces("google-2011")[2], 5, earliest=0.65)


@pytest.mark.parametrize("name", LEARNED)
def test_learning_on_changes_what_is_said(name: str) -> None:
    test = traces("google-2011")[1]
    said = [fitted(name, "google-2011", refitting).predict(test) for refitting in (False, True)]
    assert np.abs(said[0].risk - said[1].risk).max() > 1e-3


@pytest.mark.parametrize("profile", TRACES)
def test_a_predictor_of_running_shares_does_not_leak(profile: str) -> None:
    train, test, _ = traces(profile)
    for seed in SEEDS:
        check(Frequencies().fit(train), test, seed)


@pytest.mark.parametrize(
    "leak", ["duration", "outcome", "siblings", "later tasks", "rows", "ends at once"]
)
def test_leaks_are_found(leak: Any) -> None:
    train, test, _ = traces("google-2011")
    found = 0
    for seed in SEEDS:
        try:
            check(Frequencies(leak=leak).fit(train), test, seed)
        except AssertionError:
            found += 1
    assert found
