"""How jobs are dealt to users and sessions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from failgym.traces.synthetic import SystemA
from failgym.traces.synthetic.quantiles import Floats, Ints
from failgym.traces.synthetic.sessions import Dealt, deal

LAW = SystemA().sessions
JOBS = 20_000


@pytest.fixture(scope="module")
def run() -> Floats:
    return np.exp(np.random.default_rng(1).normal(6.0, 2.0, JOBS))


@pytest.fixture(scope="module")
def kind() -> Ints:
    return np.random.default_rng(2).integers(0, 3, JOBS)


@pytest.fixture(scope="module")
def dealt(
    run: Floats,
    kind: Ints,
) -> Dealt:
    return deal(LAW, run, kind, np.random.default_rng(3))


def test_every_job_has_a_session(dealt: Dealt) -> None:
    sizes = np.bincount(dealt.session)
    assert len(sizes) == len(dealt.user) == len(dealt.application)
    assert sizes.min() >= 1
    assert sizes.max() <= LAW.block
    assert 0 <= dealt.user.min() <= dealt.user.max() < LAW.users
    assert 0 <= dealt.application.min() <= dealt.application.max() < LAW.applications


def test_sessions_are_of_one_kind_and_time(dealt: Dealt, kind: Ints) -> None:
    for session in range(0, len(dealt.user), 7):
        jobs = np.flatnonzero(dealt.session == session)
        assert len(np.unique(kind[jobs])) == 1
        assert jobs[-1] - jobs[0] < LAW.block


def test_jobs_of_a_session_take_about_as_long(dealt: Dealt, run: Floats) -> None:
    of_session = np.argsort(dealt.session + np.random.default_rng(5).random(JOBS))
    same = np.diff(dealt.session[of_session]) == 0
    apart = np.abs(np.diff(np.log(run[of_session])))[same]
    assert np.median(apart) < 0.2
    assert np.quantile(apart, 0.99) > 1.0  # the odd ones


def test_no_user_begins_two_sessions_in_a_block(dealt: Dealt) -> None:
    _, first = np.unique(dealt.session, return_index=True)
    begun = np.stack((first // LAW.block, dealt.user))
    assert len(np.unique(begun, axis=1).T) == len(dealt.user)


def test_some_users_submit_more(dealt: Dealt) -> None:
    jobs = np.sort(np.bincount(dealt.user[dealt.session], minlength=LAW.users))[::-1]
    assert jobs[: LAW.users // 10].sum() > 0.25 * JOBS


@pytest.mark.parametrize("users", [1, 2, 5])
def test_more_sessions_than_users(
    users: int,
    run: Floats,
    kind: Ints,
) -> None:
    few = deal(replace(LAW, users=users), run, kind, np.random.default_rng(4))
    assert set(few.user.tolist()) == set(range(users))
