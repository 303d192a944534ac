"""Campaigns: what the tests show, on many more random cases, longer logs and more kills.

    python -m tests.campaigns [--only NAME ...] [--resume]   # as `make check-long` does

Each has a time budget. Those that draw cases go on until it is spent; the others end by themselves
and fail if they need more. What fails says so in its own words, and the others go on. With
--resume those are left out that have ended well since a run was begun without it (`DONE`).
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).parents[1]
DONE = TOP / "build" / "campaigns.txt"
"""Names of the campaigns that ended well, a line each."""
AFTER = 120
"""Seconds that a campaign may take to end when its time is up."""


@dataclass(frozen=True)
class Campaign:
    """One of them.

    Args:
        minutes: its time budget.
        words: what follows `python -m`.
        endless: it takes cases until it is told to end, by `--minutes`.
    """

    minutes: int
    words: tuple[str, ...]
    endless: bool = False

    @property
    def command(self) -> list[str]:
        """The whole of it."""
        told = ["--minutes", str(self.minutes)] if self.endless else []
        return [sys.executable, "-m", *self.words, *told]


CORES = str(os.cpu_count() or 1)
CAMPAIGNS = {
    # The tests take the seeds below these.
    "pinned": Campaign(10, ("tests.sim.agree", "--first", "250"), endless=True),
    "scheduled": Campaign(
        15, ("tests.sim.scheduled.agree", "--first", "200", "--worlds", "1000000"), endless=True
    ),
    "readers": Campaign(
        15, ("tests.traces.readers.fuzz_campaign", "--processes", CORES), endless=True
    ),
    "commands": Campaign(10, ("tests.traces.readers.fuzz_commands", "--commands", "1000")),
    "kills": Campaign(60, ("experiments.kills", "--kills", "20")),
    # Without Ray it says so, and has nothing to do.
    "cluster": Campaign(60, ("experiments.cluster_kills", "--kills", "5")),
    # Whole logs, all slices, the environments as registered.
    "tests": Campaign(40, ("pytest", "-m", "campaign", "--numprocesses", "auto")),
}


def run(campaign: Campaign) -> str:
    """Run one; why it failed, or nothing."""
    with subprocess.Popen(campaign.command, cwd=TOP, start_new_session=True) as process:
        try:
            status = process.wait(60 * campaign.minutes + AFTER * campaign.endless)
        except BaseException as error:
            os.killpg(process.pid, signal.SIGKILL)  # and all that it has started
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            return f"not done after {campaign.minutes} minutes"
    return f"status {status}" if status else ""


def passed(resume: bool) -> set[str]:
    """The campaigns that need not be run again; none, and forgotten, unless a run is resumed."""
    DONE.parent.mkdir(exist_ok=True)
    if not resume:
        DONE.unlink(missing_ok=True)
    return set(DONE.read_text("utf-8").split()) if DONE.exists() else set()


def main() -> None:
    """Run them, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=CAMPAIGNS, default=list(CAMPAIGNS))
    parser.add_argument("--resume", action="store_true", help="leave out what has ended well")
    asked = parser.parse_args()
    done = passed(asked.resume)
    failed: dict[str, str] = {}
    for name in asked.only:
        if name in done:
            print(f"--- {name}: has ended well")
            continue
        print(f"--- {name}: at most {CAMPAIGNS[name].minutes} minutes", flush=True)
        if why := run(CAMPAIGNS[name]):
            failed[name] = why
        else:
            with DONE.open("a", encoding="utf-8") as file:
                print(name, file=file)
    for name, why in failed.items():
        print(f"failed: {name}: {why}")
    raise SystemExit(bool(failed))


if __name__ == "__main__":
    main()
