"""`failgym leaderboard`: run a suite, verify what others have run, join it, show it, publish it."""

from __future__ import annotations

import os
import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from failgym.cli.folders import check_name, holds_trace
from failgym.cli.hosting import (
    MEMORY_LIMIT,
    PROCESS_LIMIT,
    MemoryLimit,
    PolicyCommand,
    ProcessLimit,
    read_policy_command,
)
from failgym.cli.options import Json, RayAddress, WorkersOption, read_workers
from failgym.cli.output import Cell, JsonFile, interactive, print_line, print_table
from failgym.cli.proofs import print_proofs, print_verification

if TYPE_CHECKING:
    from failgym.leaderboard import Submission

__all__ = ["leaderboard"]

MOST_PROBLEMS = 50
"""Lines of them that are shown."""

leaderboard = typer.Typer(
    help="Run suites, verify, join and show submissions.", no_args_is_help=True
)

SuiteName = Annotated[
    str,
    typer.Option("--suite", metavar="S", help="The suite: smoke, v2-lite, v2 or v2-real."),
]
Policies = Annotated[
    list[str],
    typer.Option(
        "--policy",
        metavar="[NAME=]SPEC",
        help="A policy as for evaluate, or all-baselines. In the name of a file {env} stands for"
        " the environment, {seed} for the training runs of an agent, {policy} for several policies,"
        " and {fold} for the fold in suites that play folds. Repeatable.",
    ),
]
Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder to write.")]
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a submission.")]
Folders = Annotated[list[Path], typer.Argument(metavar="DIR...", help="Folders of submissions.")]
Limit = Annotated[
    float,
    typer.Option(
        "--time-limit",
        metavar="S",
        help="Seconds for a policy to answer a batch of decisions.",
    ),
]
Secret = Annotated[
    Path | None,
    typer.Option(
        "--secret-seed-file",
        metavar="FILE",
        help="File with a secret seed of the slices.",
    ),
]
Traces = Annotated[
    list[str] | None,
    typer.Option(
        "--trace",
        metavar="[ENV=]DIR",
        help="v2-real: the trace to play, for one environment or for all that need no workflows."
        " Repeatable.",
    ),
]

Refit = Annotated[
    bool,
    typer.Option(
        help="Train predictors again, where grace periods follow from their forecasts, and compare."
    ),
]

Ask = Annotated[
    bool,
    typer.Option(
        help="Ask policies again: baselines, and policies whose files are here, crashes included."
    ),
]
Work = Annotated[
    Path | None,
    typer.Option(
        "--work",
        metavar="DIR",
        help="Folder that keeps findings until the verdict is written, to go on after an"
        " interruption. By default it is beside the file of --json.",
    ),
]
VerdictFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--verdict",
        metavar="FILE",
        help="A verdict that `verify --json` wrote: rows are shown as it found them. Repeatable.",
    ),
]

PredictorsOf = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Use the predictors of this submission, so that both can be merged.",
    ),
]

_WITHOUT_WORKFLOWS = ("Cloning-v1", "GracePeriod-v1", "Checkpoint-v1", "Mitigation-v1")
"""Environments that any trace of jobs will do for."""


@leaderboard.command()
def run(
    suite: SuiteName,
    policy: Policies,
    out: Out,
    workers: WorkersOption = "1",
    ray_address: RayAddress = None,
    time_limit: Limit = 600.0,
    memory_limit: MemoryLimit = MEMORY_LIMIT,
    process_limit: ProcessLimit = PROCESS_LIMIT,
    policy_command: PolicyCommand = None,
    secret_seed_file: Secret = None,
    trace: Traces = None,
    predictors_of: PredictorsOf = None,
) -> None:
    """Run policies on a suite. The same command goes on after an interruption."""
    from failgym.cli.entries import read_entries
    from failgym.cli.specs import load_policy
    from failgym.evaluation.progress import progress_bar, working
    from failgym.leaderboard import SuiteWorlds, run_suite, suite_named
    from failgym.leaderboard.policy_process.limits import Confinement
    from failgym.leaderboard.policy_process.players import Players
    from failgym.leaderboard.policy_process.separation import check_apart
    from failgym.leaderboard.run.tasks import count_steps

    crew = read_workers(workers, ray_address)
    _check_out(out)
    starts = read_policy_command(policy_command)
    secret = () if secret_seed_file is None else (secret_seed_file,)
    confinement = Confinement(memory_limit, process_limit, policy_command is not None, secret)
    players = Players(load_policy, starts, time_limit, confinement)
    worlds = SuiteWorlds.of(suite_named(suite), _traces(suite, trace), _secret(secret_seed_file))
    with working("looking at traces", interactive()):
        worlds = worlds.playable()
    begun = time.perf_counter()
    with working("loading policies", interactive()):
        if confinement.hosted:  # before any code of theirs is loaded
            begun_before = [out / ".run"] if (out / ".run").exists() else []
            hidden = [*secret, *begun_before, *map(Path, worlds.traces.values())]
            check_apart(players, hidden, crew)
        entries, notes = read_entries(policy, worlds, players)
    for note in notes:
        print_line(note)
    steps = count_steps(worlds, entries)
    with progress_bar(suite, steps, interactive(), lines=True) as advance:
        submission = run_suite(
            worlds,
            entries,
            out,
            command=_command(),
            players=players,
            workers=crew,
            predictors_of=predictors_of,
            progress=advance,
        )
    _print(submission, out)
    print_line(f"{time.perf_counter() - begun:.1f} s: written to {out}")


@leaderboard.command()
def verify(
    folder: Folder,
    workers: WorkersOption = "1",
    ray_address: RayAddress = None,
    secret_seed_file: Secret = None,
    trace: Traces = None,
    refit: Refit = True,
    ask: Ask = True,
    time_limit: Limit = 600.0,
    memory_limit: MemoryLimit = MEMORY_LIMIT,
    process_limit: ProcessLimit = PROCESS_LIMIT,
    work: Work = None,
    json: Json = None,
) -> None:
    """Ask policies again, play all other actions again, and compute every number anew.

    A row is "verified", "replayed" or "claimed". Commands, versions and times cannot be verified.
    Where seeds are public, code may have looked ahead. --json writes the verdict for `page` and
    `merge`. With it, or with --work, the same command goes on after an interruption.
    """
    from failgym.cli.policy_process import COMMAND
    from failgym.cli.specs import load_policy
    from failgym.evaluation.progress import progress_bar
    from failgym.leaderboard import read_submission
    from failgym.leaderboard.policy_process.limits import Confinement
    from failgym.leaderboard.policy_process.players import Players
    from failgym.leaderboard.verification.kept_findings import forget
    from failgym.leaderboard.verification.verify import count_places, verify

    crew = read_workers(workers, ray_address)
    file = JsonFile.at(json)
    check_name("DIR", folder)
    kept = _work(work, file, folder)
    if crew.remote and kept is None:
        raise ValueError(f"{crew}: expected --work or --json beside it: a folder that nodes share")
    confinement = Confinement(memory_limit, process_limit)
    begun = time.perf_counter()
    name = read_submission(folder).suite.name
    with progress_bar("verifying", count_places(folder), interactive()) as advance:
        found = verify(
            folder,
            secret=_secret(secret_seed_file),
            traces=_traces(name, trace),
            refit=refit,
            players=Players(load_policy, COMMAND, time_limit, confinement),
            ask=ask,
            workers=crew,
            work=kept,
            progress=advance,
            say=lambda line: print_line(f"{time.perf_counter() - begun:.0f} s: {line}"),
        )
    seconds = time.perf_counter() - begun
    for problem in found.problems[:MOST_PROBLEMS]:
        print_line(problem)
    file.write(found.report())
    if kept is not None:
        forget(kept)
    if found.problems:
        more = len(found.problems) - MOST_PROBLEMS
        print_line(f"and {more} more") if more > 0 else None
        raise ValueError(f"{folder}: not verified: {len(found.problems)} problems")
    print_verification(found, folder, seconds)


@leaderboard.command()
def merge(folders: Folders, out: Out, verdict: VerdictFiles = None) -> None:
    """Join submissions to one suite. This verifies nothing."""
    from failgym.leaderboard import merge
    from failgym.leaderboard.submission.checks import read_results
    from failgym.leaderboard.verification.verdict_file import read_verdicts, row_proofs

    _check_out(out)
    verdicts = read_verdicts(verdict or [])
    submission = merge(folders, out)
    print_proofs(submission, row_proofs(submission, read_results(out), verdicts))
    print_line(f"{len(submission.policies)} policies: written to {out}")


@leaderboard.command()
def page(
    folders: Folders,
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="The HTML file to write.")
    ] = Path("leaderboard.html"),
    verdict: VerdictFiles = None,
) -> None:
    """Write submissions as one HTML file, which opens without a network.

    Rows that no --verdict covers are shown as claimed.
    """
    from failgym.evaluation.progress import working
    from failgym.leaderboard.page import write_page
    from failgym.leaderboard.verification.verdict_file import read_verdicts

    check_name("--out", out)
    with working("writing the page", interactive()):
        write_page(folders, out, verdicts=read_verdicts(verdict or []))
    print_line(f"written to {out}")


@leaderboard.command()
def site(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder of submissions.")],
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="The folder of the site.")
    ] = Path("site"),
    verdict: VerdictFiles = None,
    policy_files: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR",
            help="A folder with policy files: what they state about their training is shown."
            " Repeatable.",
        ),
    ] = None,
) -> None:
    """Write a static site: the page, and a page with model cards for each submission.

    Any web server can serve it, and a browser opens it from a disk. The same command brings it up
    to date. Rows that no --verdict covers are shown as claimed.
    """
    from failgym.cli.policy_facts import policy_facts
    from failgym.evaluation.progress import progress_bar
    from failgym.leaderboard.site import find_submissions, write_site
    from failgym.leaderboard.verification.verdict_file import read_verdicts

    check_name("DIR", folder)
    _check_out(out)
    folders = find_submissions(folder)
    for one in folders:
        check_name("DIR", one)
    verdicts = read_verdicts(verdict or [])
    with progress_bar("writing pages", len(folders) + 1, interactive()) as advance:
        pages = write_site(
            folders,
            out,
            policy_facts,
            verdicts=verdicts,
            policy_files=policy_files or [],
            progress=advance,
        )
    print_line(f"{len(folders)} submissions, {len(pages)} pages: written to {out}")


@leaderboard.command()
def show(
    folders: Folders,
    env: Annotated[
        str | None, typer.Option("--env", metavar="ENV", help="Show one environment only.")
    ] = None,
    forecast: Annotated[
        str | None, typer.Option("--forecast", help="Show one kind only: drawn, trained or none.")
    ] = None,
    verdict: VerdictFiles = None,
    json: Json = None,
) -> None:
    """Print the numbers of submissions: scores, ranks, what there is to gain, hours and tasks.

    They are those of the page. Rows that no --verdict covers are shown as claimed.
    """
    from failgym.cli.board import chosen, print_rows
    from failgym.evaluation.progress import working
    from failgym.leaderboard.page import read_source, rows_of
    from failgym.leaderboard.statistics.bootstrap import Bootstrap
    from failgym.leaderboard.verification.verdict_file import read_verdicts

    file, verdicts = JsonFile.at(json), read_verdicts(verdict or [])
    sources = [read_source(folder, verdicts) for folder in folders]
    with working("resampling", interactive()):
        rows = chosen(rows_of(sources, Bootstrap()), env, forecast)
    print_rows(rows)
    file.write({"suite": sources[0].suite, "digest": sources[0].digest, "rows": rows})


@leaderboard.command()
def commit(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The secret seed.")],
) -> None:
    """Print the commitment to a secret seed: publish it first, and the file after the run."""
    from failgym.leaderboard.suite.secret_seed import commitment, read_secret

    print_line(commitment(read_secret(file)))


def _check_out(out: Path, option: str = "--out") -> None:
    """Refuse a folder in that of a saved trace. Raises ValueError."""
    check_name(option, out)
    target = out.absolute()
    if any(holds_trace(above) for above in (target, *target.parents)):
        raise ValueError(f"{option} {out}: lies in the folder of a saved trace: not written")


def _work(given: Path | None, verdict: JsonFile, submission: Path) -> Path | None:
    """Where `verify` keeps what it finds: never in the submission, which is somebody else's.

    Args:
        given: the folder that was named, if any; else it is beside the verdict.
        verdict: the file.
        submission: the folder.

    Raises:
        ValueError: if it lies in the submission, or in a saved trace.
    """
    whole = Path(os.path.realpath(submission))
    if given is not None:
        _check_out(given, "--work")
        if Path(os.path.realpath(given)).is_relative_to(whole):
            raise ValueError(
                f"--work {given}: lies in the submission, expected a folder outside of it"
            )
        return given
    if verdict.path is None or verdict.streams:
        return None
    beside = verdict.path.with_name(f"{verdict.path.name}.work")
    return None if Path(os.path.realpath(beside)).is_relative_to(whole) else beside


def _secret(file: Path | None) -> bytes | None:
    from failgym.leaderboard.suite.secret_seed import read_secret

    return None if file is None else read_secret(file)


def _traces(suite: str, given: list[str] | None) -> dict[str, str]:
    """Environment -> folder of its trace. Raises ValueError."""
    from failgym.known_names import unknown
    from failgym.leaderboard import suite_named

    wanted = suite_named(suite)
    if given and not wanted.real:
        raise ValueError(f"--trace: suite {suite} generates its traces, leave the option out")
    if wanted.real and not given:
        raise ValueError(f"--trace: expected the folder of a trace for suite {suite}")
    known = [course.env for course in wanted.courses]
    traces: dict[str, str] = {}
    for text in given or []:
        env, equals, folder = text.rpartition("=")
        if equals and env not in known:
            raise ValueError(f"--trace: {unknown('environment', env, known)}")
        if not holds_trace(Path(folder)):
            raise ValueError(f"--trace {folder}: expected the folder of a stored trace")
        path = str(Path(folder).absolute())
        traces |= {env: path} if equals else dict.fromkeys(_WITHOUT_WORKFLOWS, path) | traces
    return traces


def _command() -> str:
    """What was typed, without where things lie, who works, and what a host starts policies by."""
    places = ("--out", "--secret-seed-file", "--predictors-of", "--policy-command")
    hidden = (*places, "--workers", "--ray-address")
    words = iter(sys.argv[1:])
    given = ["failgym"]
    for word in words:
        if word in hidden:
            next(words, None)
        elif not word.startswith(tuple(f"{option}=" for option in hidden)):
            given.append(word)
    return shlex.join(given)


def _print(submission: Submission, out: Path) -> None:
    """A line per policy, all training runs together: what became of its episodes."""
    from failgym.leaderboard import CODE_NOTE
    from failgym.leaderboard.submission.checks import read_results

    table = read_results(out).select(["policy", "status", "reason"]).to_pylist()
    rows: list[tuple[Cell, ...]] = []
    for name in dict.fromkeys(policy.name for policy in submission.policies):
        runs = [policy for policy in submission.policies if policy.name == name]
        mine = [row for row in table if row["policy"] == name]
        failed = [row for row in mine if row["status"] != "ok"]
        why = f"{failed[0]['status']}: {failed[0]['reason']}" if failed else ""
        kind = CODE_NOTE if runs[0].kind == "code" else runs[0].kind
        envs = {env for run in runs for env in run.specs}
        rows.append((name, kind, len(runs), len(envs), len(mine), len(failed), why))
    shown = ("policy", "kind", "runs", "environments", "episodes", "failed", "why")
    print_table(f"Suite {submission.suite.name}", shown, rows)
    for one in submission.left_out:
        print_line(f"{one.env}, forecast {one.forecast}: left out: {one.reason}")
    spent = submission.seconds
    print_line(f"engine {spent.engine:.1f} s, policies {spent.policy:.1f} s")
