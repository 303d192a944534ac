"""A site of submissions: the leaderboard's page, and one of each submission with its cards."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from failgym.evaluation.progress import Advance, silent
from failgym.leaderboard.page import rows_of, write_page
from failgym.leaderboard.site.html import legible
from failgym.leaderboard.site.policy_files import Describe, PolicyFiles
from failgym.leaderboard.site.site_folder import INDEX, known_files, write_files
from failgym.leaderboard.site.submission_page import submission_page
from failgym.leaderboard.site.submissions import PAGES, SubmissionRead, read_submissions
from failgym.leaderboard.statistics.bootstrap import Bootstrap
from failgym.leaderboard.submission.policy_names import at_a_glance
from failgym.leaderboard.verification.verdict_file import Verdicts

__all__ = ["write_site"]


def write_site(
    folders: Sequence[Path],
    out: Path,
    describe: Describe,
    *,
    bootstrap: Bootstrap | None = None,
    verdicts: Verdicts | None = None,
    policy_files: Sequence[Path] = (),
    progress: Advance = silent,
) -> list[str]:
    """Write a leaderboard's site into a folder, for any web server, or none.

    Args:
        folders: of submissions to one suite, which are read but not verified.
        out: the folder; that of an earlier site is brought up to date.
        describe: reads what a policy's file says of its training.
        bootstrap: of the intervals; the default's seed if None.
        verdicts: of the host; what they do not know is shown as claimed.
        policy_files: folders in which the files of policies are looked for.
        progress: called after each page.

    Returns:
        The pages, from the top of the folder.

    Raises:
        ValueError: naming the file or policy, if submissions are malformed or do not belong
            together, if two of them name a policy alike, or `out` holds what failgym did not write.
        OSError: if a file cannot be written.
    """
    known = known_files(out)
    _check_apart(folders, policy_files, out)
    found = PolicyFiles(policy_files, describe)
    submissions = read_submissions(folders, verdicts)
    _check_names(submissions)
    intervals = bootstrap or Bootstrap()
    sources = [one.source for one in submissions]
    rows = rows_of(sources, intervals)
    pages: dict[str, str | Path] = {}
    for one in submissions:
        pages[one.address] = submission_page(one, rows, found, f"../{INDEX}")
        progress(1)
    with tempfile.TemporaryDirectory() as made:
        index = Path(made) / INDEX
        write_page(sources, index, intervals, verdicts)
        write_files(out, {**pages, INDEX: index}, known)
    progress(1)
    return [INDEX, *pages]


def _check_apart(folders: Sequence[Path], policy_files: Sequence[Path], out: Path) -> None:
    """Refuse to write into what is read, or through a link. Raises ValueError.

    Args:
        folders: of submissions, whose files are sealed.
        policy_files: folders that are searched for files of policies.
        out: the folder of the site.
    """
    below = out / PAGES
    if below.is_symlink():
        raise ValueError(f"{below}: is a link: not written through")
    top, pages = Path(os.path.realpath(out)), Path(os.path.realpath(below))
    for folder in folders:
        real = os.path.realpath(folder)
        if top.is_relative_to(real) or pages.is_relative_to(real):
            raise ValueError(f"{out}: lies in the submission {folder}: not written")
        if Path(real).is_relative_to(pages):
            raise ValueError(
                f"{below}: is for pages, and holds the submission {folder}: not written"
            )
    for folder in policy_files:
        real = os.path.realpath(folder)
        if top.is_relative_to(real) or pages.is_relative_to(real):
            raise ValueError(f"{out}: lies in {folder}, where files of policies are: not written")


def _check_names(submissions: Sequence[SubmissionRead]) -> None:
    """Refuse two submissions with one page, or with policies whose names read alike.

    Training runs of one name are one policy of the board: somebody else's would change a team's
    scores, and take its badge. By a name that only reads the same somebody would pass for a team.

    Raises:
        ValueError: naming them.
    """
    for address, count in Counter(one.address for one in submissions).items():
        if count > 1:
            raise ValueError(f"{address}: {count} submissions would have this page")
    whose: dict[str, tuple[str, str]] = {}
    for one in submissions:
        for policy in one.about.policies:
            mine = one.name, policy.name
            other, name = whose.setdefault(at_a_glance(policy.name), mine)
            if other == one.name:
                continue
            where = f"in {legible(other)} and in {legible(one.name)}"
            if name == policy.name:
                raise ValueError(
                    f"policy {name!r} is {where}: expected names of one submission each; merge the"
                    " two if they are one team's"
                )
            raise ValueError(
                f"policies {name!a} and {policy.name!a}, {where}, read alike: expected"
                " names that differ"
            )
