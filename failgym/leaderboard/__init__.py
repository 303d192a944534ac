"""The leaderboard: suites, runs that resume, submissions that anybody can verify.

- `suite`: what is played, fixed for good, and the worlds of it; `secret_seed` makes others.
- `run`: policies on a suite into the folder of a submission, on several processes; a killed run
  goes on from its `work_folder`.
- `policy_process`: a policy in a process of its own, which is not trusted; its `keeper` ends it and
  all that it has started.
- `submission`: the files of a submission, what is wrong with them at first sight, and `merging`.
- `verification`: policies are asked again, all other actions are played again; `verdict_file` is
  the host's record of what was proven of each row.
- `statistics`: scores over environments, and their intervals.
- `page`: all of it as one HTML file.
- `site`: the page, and a page with model cards for each submission, in a folder for a web server.

The command gives it what makes a policy of a SPEC: this package imports no agent.
"""

from __future__ import annotations

from failgym.leaderboard.run.run_suite import run_suite
from failgym.leaderboard.submission.entries import Entry
from failgym.leaderboard.submission.merging import merge
from failgym.leaderboard.submission.records import CODE_NOTE, Submission, read_submission
from failgym.leaderboard.suite.suite_worlds import SuiteWorlds
from failgym.leaderboard.suite.suites import SUITES, Suite, suite_named
from failgym.leaderboard.verification.result import Verification
from failgym.leaderboard.verification.verify import verify

__all__ = [
    "CODE_NOTE",
    "SUITES",
    "Entry",
    "Submission",
    "Suite",
    "SuiteWorlds",
    "Verification",
    "merge",
    "read_submission",
    "run_suite",
    "suite_named",
    "verify",
]
