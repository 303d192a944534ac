"""`verify`: ask policies again, play all other actions again, compute every number anew.

A row is a policy in an environment with a kind of forecast. It is "verified" if whoever played can
be asked again (a baseline that comes with failgym, or a policy whose file is at hand) and every
action is its own; "replayed" if the actions prove the numbers, and nobody proves who played; else
"claimed". Commands, versions of packages and times are stated by the submitter, and nobody can
check them. How the actions of code were found is not proven either: whoever knows the seeds can
look ahead, which is what secret seeds are for.

What was forecast changes what happens where kills have grace periods: the predictors of these
environments are in the submission, and are trained anew to see that they are what the train split
teaches. Elsewhere it changes what policies are shown: those that are asked again are shown what is
learned here, and a row in which one then answers otherwise is only replayed.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from failgym.evaluation.progress import Advance, silent
from failgym.leaderboard.policy_process.players import Players
from failgym.leaderboard.submission.checks import (
    about_problems,
    cells_of,
    changed_files,
    expected_rows,
    file_problems,
    read_results,
    row_problems,
    rows_of,
)
from failgym.leaderboard.submission.layout import files_of, played_envs
from failgym.leaderboard.submission.policy_names import name_problems
from failgym.leaderboard.submission.proofs import Key, RowProof, joined
from failgym.leaderboard.submission.records import (
    SUBMISSION_FILE,
    Submission,
    SuiteRecord,
    read_submission,
)
from failgym.leaderboard.submission.row_hashes import row_hashes
from failgym.leaderboard.submission.same_players import players_of, same_players
from failgym.leaderboard.submission.tables import PREDICTORS_FOLDER
from failgym.leaderboard.suite.secret_seed import commitment
from failgym.leaderboard.suite.suite_worlds import SuiteWorlds
from failgym.leaderboard.suite.suites import Cell, Suite, suite_named
from failgym.leaderboard.verification.asking_again import Asking
from failgym.leaderboard.verification.findings import Findings, Place
from failgym.leaderboard.verification.kept_findings import (
    KeptFindings,
    decided_by,
    findings_kept,
    others_kept,
)
from failgym.leaderboard.verification.policy_files import policy_file_problems
from failgym.leaderboard.verification.policy_identity import identity_problems
from failgym.leaderboard.verification.result import Verification
from failgym.leaderboard.verification.submission_check import SubmissionCheck
from failgym.leaderboard.verification.telling import Telling
from failgym.workers import ALONE, Workers, each

__all__ = ["Verification", "count_places", "verify"]


def count_places(folder: Path) -> int:
    """Steps that progress is counted in: traces and predictors. Raises ValueError."""
    found = read_submission(folder)
    suite = suite_named(found.suite.name)
    trained = {course.env for course in suite.courses if course.trained is not None}
    return len(_places(found, suite)) + len(played_envs(found.policies) & trained)


def verify(
    folder: Path,
    *,
    secret: bytes | None = None,
    traces: Mapping[str, str] | None = None,
    refit: bool = True,
    players: Players | None = None,
    ask: bool = True,
    workers: Workers = ALONE,
    work: Path | None = None,
    progress: Advance = silent,
    say: Callable[[str], None] = lambda line: None,
) -> Verification:
    """Verify a submission. With a folder to work in, the same call goes on where it was killed.

    Args:
        folder: of the submission.
        secret: the secret seed, if it was made with one.
        traces: environment -> folder of the trace, for a suite of real traces.
        refit: train predictors anew, compare those that change what happens, and show policies
            that are asked again what the others say.
        players: makes whoever is asked again, and reads SPECs; None: nobody is asked again.
        ask: ask again who can be asked.
        workers: who plays. Those of a cluster must see ``folder`` and ``work``.
        work: where what is found is kept until `forget` removes it; None: nowhere. It must not be
            the submitter's (`failgym.leaderboard.verification.kept_findings`).
        progress: called with the number of steps done, of `count_places`.
        say: called with lines that say what is done.

    Raises:
        ValueError: if there is no submission, or it cannot be read, or traces are missing; if
            another call is at work in the folder.
    """
    submission = read_submission(folder)
    named = suite_named(submission.suite.name)
    worlds = SuiteWorlds.of(named, _traces(submission, named, traces or {}), secret)
    suite = worlds.suite
    cells = cells_of(submission, suite)
    problems = [*about_problems(submission, suite), *_secret_problems(submission, secret)]
    if problems and (submission.suite != SuiteRecord.of(suite) or _hidden(submission, secret)):
        return _nothing_played(submission, cells, problems)
    problems += [*policy_file_problems(submission), *file_problems(submission, folder, cells)]
    problems = list(dict.fromkeys([*problems, *_policy_problems(submission, suite, players)]))
    try:
        results = read_results(folder)
    except ValueError as error:
        return _nothing_played(submission, cells, [*problems, str(error)])
    asking = Asking.of(players, submission) if players is not None and ask else None
    decided = decided_by(folder, submission, worlds, asking, refit) if work is not None else {}
    with _findings(work, decided, say) as (kept, learned):
        check = SubmissionCheck(
            folder,
            submission,
            replace(worlds, predictors=folder / PREDICTORS_FOLDER),
            results,
            changed_files(submission, folder, cells),
            learned,
            asking,
            refitted=refit,
            kept=kept,
        )
        return _verified(check, cells, problems, workers, Telling(say, progress))


def _policy_problems(
    submission: Submission, suite: Suite, players: Players | None
) -> Iterator[str]:
    """What is wrong with the names of policies, and with who they are, where that can be told."""
    yield from name_problems(submission.policies)
    if players is not None:
        yield from identity_problems(submission, suite, players.load)
        yield from same_players(submission.policies, players.load)


@contextmanager
def _findings(
    work: Path | None, decided: Mapping[str, Any], say: Callable[[str], None]
) -> Generator[tuple[KeptFindings | None, Path]]:
    """Where what is found is kept, if anywhere, and the folder of what is learned anew.

    Raises:
        ValueError: if another call is at work in the folder.
    """
    with ExitStack() as held:
        if work is not None:
            others = others_kept(work, decided)
            kept = held.enter_context(findings_kept(work, decided))
            if not isinstance(kept, str):
                if kept.count:
                    say(f"goes on: of {kept.count:,} traces and predictors it is known already")
                elif others:
                    say(f"{work}: findings of another {' and '.join(others)} are not used")
                yield kept, kept.learned
                return
            say(f"{work}: what is found is not kept: {kept}")
        yield None, Path(held.enter_context(TemporaryDirectory()))


def _nothing_played(
    submission: Submission, cells: Sequence[Cell], problems: Sequence[str]
) -> Verification:
    rows = rows_of(submission, cells, "nothing was played again")
    return Verification(submission, tuple(problems), tuple(rows))


def _verified(
    check: SubmissionCheck,
    cells: Sequence[Cell],
    problems: list[str],
    workers: Workers,
    telling: Telling,
) -> Verification:
    """Play everything again: what was wrong before, and what turns out to be."""
    submission, suite = check.submission, check.worlds.suite

    def examine(check: SubmissionCheck, todo: Sequence[Place]) -> list[Findings]:
        telling.begin(todo)
        shared = [check.folder / SUBMISSION_FILE, *check.worlds.trace_files]
        return each(
            check.examine,
            todo,
            workers,
            ended=telling.ended,
            named=lambda place: f"{place[0]}, seed {place[1]}",
            folder=check.learned,
            shared=shared,
        )

    try:
        # A predictor that nobody could have learned is not played with.
        learned = _learned(check, suite, cells) if check.refitted else []
        taught = dict(zip(learned, examine(check, [(env, None) for env in learned]), strict=True))
        forged = frozenset(env for env, one in taught.items() if one.problems)
        places = _places(submission, suite)
        found = examine(replace(check, forged=forged), places)
    finally:
        if check.asking is not None:
            check.asking.players.close()
    slices = {place: one.slices for place, one in zip(places, found, strict=True)}
    problems += row_problems(check.results, expected_rows(submission, cells, slices))
    problems += [problem for one in (*found, *taught.values()) for problem in one.problems]
    return Verification(
        submission,
        tuple(problems),
        _proofs(check, cells, found, bool(problems)),
        sum(one.rows for one in found),
        sum(one.engine_seconds for one in found),
        sum(one.policy_seconds for one in found),
    )


def _proofs(
    check: SubmissionCheck, cells: Sequence[Cell], found: Sequence[Findings], problems: bool
) -> tuple[RowProof, ...]:
    """What is proven of each row, with its hash. A submission with problems proves nothing."""
    rows = rows_of(check.submission, cells, "was not played again")
    proofs = joined((proof for one in found for proof in one.proofs), rows)
    if problems:
        proofs = [proof.claimed("the submission has problems") for proof in proofs]
    hashes = row_hashes(check.submission, check.results)
    players = _players(check)
    return tuple(
        replace(
            proof,
            sha256=hashes.get(proof.row, ""),
            player=players.get((proof.row[:2], proof.env), ""),
        )
        for proof in proofs
    )


def _players(check: SubmissionCheck) -> dict[tuple[Key, str], str]:
    """Policy and environment -> who was asked there, where it can be told."""
    if check.asking is None:
        return {}
    load = check.asking.players.load
    return {
        (policy.key, env): player
        for policy in check.submission.policies
        for env, player in players_of(policy, load).items()
    }


def _learned(check: SubmissionCheck, suite: Suite, cells: Sequence[Cell]) -> list[str]:
    """Environments whose predictor changes what happens, or what is shown to who is asked again, or
    could not be trained, it says.
    """
    submission = check.submission
    trained = dict.fromkeys(cell.env for cell in cells if cell.forecast == "trained")
    stored = [
        course.env
        for course in suite.courses
        if course.trained is not None
        and course.forecast_matters
        and (course.env in trained or not submission.files.keys().isdisjoint(files_of(course)))
    ]
    known = {course.env for course in suite.courses}
    left_out = [one.env for one in submission.left_out if one.env in known]
    asked: list[str] = []
    if check.asking is not None:
        excused = check.asking.excused
        asked = [
            env
            for policy in submission.policies
            for env in policy.specs
            if env in trained and (policy.key, env) not in excused
        ]
    return list(dict.fromkeys([*stored, *left_out, *asked]))


def _places(submission: Submission, suite: Suite) -> list[tuple[str, int]]:
    """Where somebody plays, or a trace is stated: environments and seeds, in order."""
    there = played_envs(submission.policies) | {trace.env for trace in submission.traces}
    return [
        (course.env, seed)
        for course in suite.courses
        if course.env in there
        for seed in course.seeds
    ]


def _traces(submission: Submission, suite: Suite, given: Mapping[str, str]) -> dict[str, str]:
    """The user's traces, of the environments of the submission. Raises ValueError."""
    if given and not suite.real:
        raise ValueError(f"--trace: suite {suite.name} generates its traces, leave the option out")
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
