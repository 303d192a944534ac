"""The leaderboard: suites, runs that resume, submissions that anybody can verify.

- `suites`: what is played, fixed for good; `ground` makes the worlds of it, `secret_seed` others.
- `run`: policies on a suite into the folder of a submission; `work` is what a kill leaves behind,
  `workers` the processes, `play` one batch of episodes.
- `policy_process`, `remote`, `wire`: a policy in a process of its own, which is not trusted.
- `keeper`, `kept_process`, `confinement`, `apart`: what holds such a process and ends all of it.
- `submission`, `schema`: the files; `merge` joins folders.
- `verify`: policies are asked again (`asking`), all other actions played again (`claims`, `claim`),
  names and SPECs compared with what was asked (`names`, `identity`). `proofs`: what that proves of
  each row; `verdict`: the host's own record of it, by the hash of the row (`fingerprints`).

The command gives it what makes a policy of a SPEC: this package imports no agent.
"""

from __future__ import annotations

from failgym.leaderboard.entries import Entry
from failgym.leaderboard.ground import Ground
from failgym.leaderboard.merge import merge
from failgym.leaderboard.run import run_suite
from failgym.leaderboard.submission import CODE_NOTE, Submission, read_submission
from failgym.leaderboard.suites import SUITES, Suite, suite_named
from failgym.leaderboard.verification import Verification
from failgym.leaderboard.verify import verify

__all__ = [
    "CODE_NOTE",
    "SUITES",
    "Entry",
    "Ground",
    "Submission",
    "Suite",
    "Verification",
    "merge",
    "read_submission",
    "run_suite",
    "suite_named",
    "verify",
]
