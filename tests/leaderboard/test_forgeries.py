"""Forgeries: what is not true of a submission is named, or shown as unproven."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from failgym.leaderboard import SUITES, read_submission
from failgym.leaderboard.policy_process import players
from failgym.leaderboard.submission.proofs import STATED, RowProof
from failgym.leaderboard.suite.episodes import Failure
from tests.leaderboard.forged import (
    AGENT,
    CODE,
    NAMES,
    SMALL,
    Forger,
    InProcess,
    examine,
    honest,
)
from tests.leaderboard.forgeries import FORGERIES, no_agent


@pytest.fixture(scope="module", autouse=True)
def known(shared_worlds: None) -> Iterator[None]:
    """The suite is known, and whoever has a process of their own is asked in this one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SUITES, SMALL.name, SMALL)
        patch.setattr(players, "RemotePolicy", InProcess)
        yield


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory, known: None) -> Path:
    return honest(tmp_path_factory.mktemp("honest") / "board")


@pytest.fixture
def forger(original: Path, tmp_path: Path) -> Forger:
    """With a copy of the submission, and of the files beside it."""
    folder = Path(shutil.copytree(original.parent, tmp_path / "forged")) / "board"
    file = folder / "submission.json"
    file.write_text(file.read_text().replace(str(original.parent), str(folder.parent)))
    return Forger(folder)


def test_an_honest_submission_is_verified_where_it_can_be(forger: Forger) -> None:
    found = examine(forger.folder)
    assert found.problems == ()
    assert {one.policy: (one.proof, one.why) for one in found.proofs} == {
        **dict.fromkeys(NAMES, ("verified", "")),
        "theirs": ("replayed", "is code, which verify never runs"),
    }
    assert found.counts == {"verified": 8, "replayed": 2, "claimed": 0}


def test_there_are_forty_and_more() -> None:
    assert len(FORGERIES) >= 40


@pytest.mark.parametrize("what", FORGERIES)
def test_a_forgery_is_named_or_unproven(forger: Forger, what: str) -> None:
    forgery = FORGERIES[what]
    forgery.change(forger)
    problems, proofs = examined(forger.folder)
    if forgery.named:
        assert any(forgery.named in problem for problem in problems), problems
        assert all(problem.isprintable() for problem in problems)
        assert {one.proof for one in proofs} <= {"claimed"}
        return
    assert problems == ()
    expected = dict.fromkeys(NAMES, "verified") | {NAMES[CODE]: "replayed"}
    if forgery.unproven is not None:
        number, proof = forgery.unproven
        del expected[NAMES[number]]
        expected[stated_name(forger, number)] = proof
    else:
        assert forgery.stated in STATED
    assert {one.policy: one.proof for one in proofs} == expected


def examined(folder: Path) -> tuple[tuple[str, ...], tuple[RowProof, ...]]:
    """Problems and proofs; what is no submission at all has one problem."""
    try:
        found = examine(folder)
    except ValueError as error:
        return (str(error),), ()
    return found.problems, found.proofs


def stated_name(forger: Forger, number: int) -> str:
    return read_submission(forger.folder).policies[number].name


def why_of_the_agent(forger: Forger) -> str:
    """Why its failure is "claimed", and no more."""
    problems, proofs = examined(forger.folder)
    assert problems == ()
    ((proof, why),) = {(one.proof, one.why) for one in proofs if one.policy == NAMES[AGENT]}
    assert proof == "claimed"
    return why


def state_failure(forger: Forger, status: str, reason: str) -> None:
    forger.fail(AGENT, status)
    mine = NAMES[AGENT]
    forger.results(lambda rows: [r.update(reason=reason) for r in rows if r["policy"] == mine])


def test_an_agent_that_cannot_be_loaded_here_has_not_crashed_for_that(forger: Forger) -> None:
    """A forger can know what `verify` says on a machine without the extra that agents need."""
    no_agent(forger)
    state_failure(forger, "crashed", "x")
    reason = why_of_the_agent(forger).split("crashed: ", 1)[1]
    state_failure(forger, "crashed", reason)
    assert why_of_the_agent(forger) == f"could not be asked again: crashed: {reason}"


def test_an_agent_out_of_time_here_is_not_proven_to_be_slow(
    forger: Forger, monkeypatch: pytest.MonkeyPatch
) -> None:
    reason = "did not answer within the time limit"

    class Slow(InProcess):
        def act(self, out: Any, live: Any, fresh: Any, at: Any) -> Any:
            raise Failure("timeout", reason)

    monkeypatch.setattr(players, "RemotePolicy", Slow)
    state_failure(forger, "timeout", reason)
    assert why_of_the_agent(forger) == f"could not be asked again: timeout: {reason}"


def test_why_an_agent_is_not_proven_is_said(forger: Forger) -> None:
    """Its library rounds otherwise on another machine; and has other limits there."""
    FORGERIES["another agent"].change(forger)
    whys = {one.why for one in examined(forger.folder)[1] if one.policy == NAMES[AGENT]}
    assert any("answers otherwise" in why and "may round otherwise" in why for why in whys)
    forger.fail(AGENT, "crashed")
    assert why_of_the_agent(forger) == "crashed, it says; answers every question here"
