"""The verdict: what a host's own `verify` found of each row, in a file that the host keeps.

What a submission says of itself proves nothing, so nothing of this is stored in its folder, and
nothing that lies there is read. `verify --json FILE` writes the verdict; `merge` and `page` read
it where they are told to (`--verdict FILE`), and look rows up by their hash
(`failgym.leaderboard.submission.row_hashes`). So the same row keeps what was proven of it in a
merged folder, and a row that was changed, or that the verdict does not know, is "claimed". Whoever
takes a verdict from somebody else trusts them, not failgym.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from failgym.leaderboard.submission.proofs import Key, Proof, Row, RowProof, weakest
from failgym.leaderboard.submission.records import Submission, first_error
from failgym.leaderboard.submission.row_hashes import row_hashes
from failgym.leaderboard.submission.same_players import twins
from failgym.leaderboard.submission.stated_rows import check_rows_stated

__all__ = ["RowVerdict", "Verdicts", "read_verdicts", "row_proofs", "written"]


class RowVerdict(BaseModel):
    """What was proven of a row."""

    model_config = ConfigDict(strict=True, frozen=True)

    sha256: str
    """of the row"""
    proof: Proof
    why: str
    """why no more was"""
    player: str
    """who was asked again, where it could be told"""


Verdicts = Mapping[str, RowVerdict]
"""SHA-256 of a row -> what was proven of it."""


class _Verdict(BaseModel):
    """Fields of the file that are read; the others are for people."""

    model_config = ConfigDict(strict=True)

    format: Literal["failgym verdict"]
    format_version: Literal[2]
    problems: list[str]
    proofs: list[RowVerdict]


def written(found: Mapping[str, Any]) -> dict[str, Any]:
    """The content of a verdict's file, with what else is worth saying."""
    return {"format": "failgym verdict", "format_version": 2, **found}


def read_verdicts(files: Iterable[Path]) -> Verdicts:
    """What hosts' verdicts say, the weakest where they differ.

    Raises:
        ValueError: in one line, naming the file, if it is no verdict, or that of a submission with
            problems.
    """
    found: dict[str, RowVerdict] = {}
    for file in files:
        for row in _read(file).proofs:
            known = found.setdefault(row.sha256, row)
            if weakest((known.proof, row.proof)) != known.proof:
                found[row.sha256] = row
    return found


def _read(file: Path) -> _Verdict:
    try:
        found = _Verdict.model_validate_json(file.read_bytes())
    except OSError as error:
        raise ValueError(f"--verdict {file}: {error.strerror}") from error
    except ValidationError as error:
        said = first_error(error)
        raise ValueError(
            f"--verdict {file}: expected what `verify --json` wrote: {said}"
        ) from error
    if found.problems:
        raise ValueError(f"--verdict {file}: the submission has {len(found.problems)} problems")
    return found


def row_proofs(submission: Submission, results: Any, verdicts: Verdicts) -> list[RowProof]:
    """What verdicts say of each row of a submission that has results.

    Args:
        submission: whose rows they are.
        results: its table of results.
        verdicts: of the host; a row that they do not know is "claimed".

    Raises:
        ValueError: in one line, for a row that no policy states, or that is missing.
    """
    check_rows_stated(submission, results)
    hashes = row_hashes(submission, results)
    proofs = [_of(row, sha256, verdicts) for row, sha256 in hashes.items()]
    return _without_twins(submission, proofs)


def _without_twins(submission: Submission, proofs: Sequence[RowProof]) -> list[RowProof]:
    """Verdicts of several submissions do not know of each other's players."""
    players: dict[Key, dict[str, str]] = {policy.key: {} for policy in submission.policies}
    for one in proofs:
        if one.player:
            players[one.policy, one.training_seed][one.env] = one.player
    why = {
        (twin.key, env): f"is the player of {first.said} in {env}"
        for first, twin, env in twins((one, players[one.key]) for one in submission.policies)
    }
    return [
        proof.claimed(said) if (said := why.get((proof.row[:2], proof.env))) else proof
        for proof in proofs
    ]


def _of(row: Row, sha256: str, verdicts: Verdicts) -> RowProof:
    known = verdicts.get(sha256)
    if known is None:
        return RowProof(*row, "claimed", "no verdict says more", sha256)
    return RowProof(*row, known.proof, known.why, sha256, known.player)
