"""`verify`: play the actions of a submission again, and compute every number anew.

It proves that the scores are those of the actions on the slices of the suite. It does not prove how
the actions were found: whoever knows the seeds can look ahead, which is what secret seeds are for.
What was forecast matters only where kills have grace periods: the predictors of these environments
are in the submission, and are trained anew to see that they are what the train split teaches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from failgym.evaluation.progress import Advance, silent
from failgym.leaderboard.assemble import predictor_files
from failgym.leaderboard.check import (
    about_problems,
    cells_of,
    changed_files,
    expected_rows,
    file_problems,
    read_results,
    row_problems,
)
from failgym.leaderboard.claims import Claims, Found
from failgym.leaderboard.ground import Ground
from failgym.leaderboard.policy_files import policy_file_problems
from failgym.leaderboard.schema import PREDICTORS_FOLDER
from failgym.leaderboard.secret_seed import commitment
from failgym.leaderboard.submission import Submission, SuiteRecord, read_submission
from failgym.leaderboard.suites import Cell, Suite, suite_named
from failgym.leaderboard.workers import each

__all__ = ["Verification", "count_places", "verify"]


@dataclass(frozen=True)
class Verification:
    """What verifying found."""

    submission: Submission
    problems: tuple[str, ...]
    """what is wrong, a line each; none: every number is that of the actions"""
    rows: int = 0
    """whose numbers were computed anew"""
    engine_seconds: float = 0.0
    """processor time that playing the actions took, and replay and the bound [s]"""

    @property
    def ratio(self) -> float:
        """That time over what the engine's share of the run took."""
        return self.engine_seconds / max(self.submission.seconds.engine, 1e-9)


_CLAIMS: list[Claims] = []
"""Those of this process, set when it begins."""


def _begin(claims: Claims) -> None:
    _CLAIMS[:] = [claims]


_Place = tuple[str, int | None]
"""An environment and a seed; None: its predictor."""


def _examine(place: _Place) -> Found:
    env, seed = place
    return _CLAIMS[0].refit(env) if seed is None else _CLAIMS[0].examine(env, seed)


def count_places(folder: Path) -> int:
    """Steps that progress is counted in: traces and predictors. Raises ValueError."""
    found = read_submission(folder)
    trained = [name for name in found.files if name.startswith(PREDICTORS_FOLDER)]
    return len(found.traces) + len(trained) + len(found.left_out)


def verify(
    folder: Path,
    *,
    secret: bytes | None = None,
    traces: Mapping[str, str] | None = None,
    refit: bool = True,
    processes: int = 1,
    progress: Advance = silent,
) -> Verification:
    """Verify a submission.

    Args:
        folder: of the submission.
        secret: the secret seed, if it was made with one.
        traces: environment -> folder of the trace, for a suite of real traces.
        refit: train predictors anew, where they change what happens, and compare.
        processes: how many work at once.
        progress: called with the number of steps done, of `count_places`.

    Raises:
        ValueError: if there is no submission, or it cannot be read, or traces are missing.
    """
    submission = read_submission(folder)
    named = suite_named(submission.suite.name)
    ground = Ground.of(named, _traces(submission, named, traces or {}), secret)
    suite = ground.suite
    problems = [*about_problems(submission, suite), *_secret_problems(submission, secret)]
    if problems and (submission.suite != SuiteRecord.of(suite) or _hidden(submission, secret)):
        return Verification(submission, tuple(problems))
    cells = cells_of(submission, suite)
    problems += [*policy_file_problems(submission), *file_problems(submission, folder, cells)]
    try:
        results = read_results(folder)
    except ValueError as error:
        return Verification(submission, (*problems, str(error)))
    ground = replace(ground, predictors=folder / PREDICTORS_FOLDER)
    claims = Claims(folder, submission, ground, results, changed_files(submission, folder, cells))

    def examine(claims: Claims, todo: Sequence[_Place]) -> list[Found]:
        return each(_examine, todo, processes, begin=_begin, given=(claims,), done=progress)

    # A predictor that nobody could have learned is not played with.
    learned = _learned(submission, suite, cells) if refit else []
    taught = dict(zip(learned, examine(claims, [(env, None) for env in learned]), strict=True))
    claims = replace(claims, forged=frozenset(env for env, one in taught.items() if one.problems))
    places = [(course.env, seed) for course in suite.courses for seed in course.seeds]
    found = examine(claims, places)
    slices = {place: one.slices for place, one in zip(places, found, strict=True)}
    problems += row_problems(results, expected_rows(submission, cells, slices))
    problems += [problem for one in (*found, *taught.values()) for problem in one.problems]
    return Verification(
        submission,
        tuple(problems),
        sum(one.rows for one in found),
        sum(one.seconds for one in found),
    )


def _learned(submission: Submission, suite: Suite, cells: Sequence[Cell]) -> list[str]:
    """Environments whose predictor changes what happens, or could not be trained, it says."""
    stored = [Path(name).stem for name in predictor_files(suite, cells)]
    known = {course.env for course in suite.courses}
    left_out = [one.env for one in submission.left_out if one.env in known]
    return list(dict.fromkeys([*stored, *left_out]))


def _traces(submission: Submission, suite: Suite, given: Mapping[str, str]) -> dict[str, str]:
    """The user's traces, of the environments of the submission. Raises ValueError."""
    if given and not suite.real:
        raise ValueError(f"--trace: suite {suite.name} has traces of its own")
    envs = dict.fromkeys(trace.env for trace in submission.traces) if suite.real else {}
    for env in envs:
        if env not in given:
            raise ValueError(f"--trace: expected the trace that {env} was played on")
    return {env: given[env] for env in envs}


def _secret_problems(submission: Submission, secret: bytes | None) -> list[str]:
    if secret is None and submission.secret is not None:
        return ["secret seed: the submission was made with one; --secret-seed-file names it"]
    if _hidden(submission, secret):
        return ["secret seed: is not the one that the submission commits itself to"]
    return []


def _hidden(submission: Submission, secret: bytes | None) -> bool:
    """Can the slices not be known?"""
    return submission.secret != (None if secret is None else commitment(secret))
