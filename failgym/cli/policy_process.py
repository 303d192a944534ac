"""The process of one policy of a leaderboard: python -m failgym.cli.policy_process FDS... SPEC."""

from __future__ import annotations

import sys

from failgym.cli.specs import load_policy
from failgym.leaderboard.policy_process import serve

__all__ = ["COMMAND"]

COMMAND = (sys.executable, "-m", "failgym.cli.policy_process")
"""What starts it."""

if __name__ == "__main__":
    requests, answers, life = map(int, sys.argv[1:4])
    serve(lambda: load_policy(sys.argv[4]), requests, answers, life)
