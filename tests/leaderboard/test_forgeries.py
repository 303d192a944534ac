"""Forgeries: what is not true of a submission is named, or shown as unproven."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from failgym.leaderboard import SUITES, entries, read_submission
from failgym.leaderboard.proofs import STATED, RowProof
from tests.leaderboard.forged import CODE, NAMES, SMALL, Forger, InProcess, examine, honest
from tests.leaderboard.forgeries import FORGERIES


@pytest.fixture(scope="module", autouse=True)
def known() -> Iterator[None]:
    """The suite is known, and whoever has a process of their own is asked in this one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SUITES, SMALL.name, SMALL)
        patch.setattr(entries, "RemotePolicy", InProcess)
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
