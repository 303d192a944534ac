"""The commands of the pages do what they say: each is run, in the order of its page.

What they read is there under the name that the page has for it, and small: logs and traces of a few
hundred jobs, generated. Commands that play a registered environment or train play a small version
of it (`shorter`). `tests/test_console.py` runs those whose output is shown, `NOT_RUN` says of the
others why they are not run here.
"""

from __future__ import annotations

import gzip
import shlex
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from failgym.cli import run
from failgym.traces import generate
from tests.pages import PAGES, Page
from tests.test_console import write_files
from tests.traces.readers.google_2011.nasty import write_nasty

DATA = Path(__file__).parent / "data"
HERE = Path(__file__).parents[1]
LEFT_OUT = ("docs/hosting.md", "docs/results/leaderboard.md")
"""Pages for another user of the machine, and for hours: tests/leaderboard has what they do."""
NOT_RUN = {
    "--install-completion": "changes the shell",
    "fetch": "needs a network, unless it lists",
    "ray": "needs a cluster; tests/workers has one",
    "theirs": "needs a submission of somebody else; tests/leaderboard joins two",
    "both": "made of the one before",
    "generalist": "learns for half an hour; tests/agents has one of two environments",
    "run-generalist/best.safetensors": "made of the one before",
    "submissions": "needs submissions of others; tests/leaderboard makes a site",
}
"""A word of a command -> why it is not run here."""
PACKAGES = {
    "maskable_ppo": "sb3_contrib",
    "counterfactual": "xgboost",
    "run/best.safetensors": "torch",
    "random_forest": "sklearn",
    "trained": "xgboost",
    "--video": "moviepy",
    "--plot": "matplotlib",
    "tune": "optuna",
    "tuned.json": "optuna",
}
"""A word of a command -> a package of the extra that it needs."""
LONG = {
    "v2": "smoke",
    "20": "2",
    "200": "2",
    "30": "2",
    "4": "2",
    "8": "2",
}
"""Words of commands that take hours, and what is run instead."""


def accounting() -> str:
    """A log of any batch system: who reads it needs columns job, submit, start, end, outcome."""
    rng = np.random.default_rng(0)
    rows = ["job,submit,start,end,outcome,JobID,State,gpus"]
    now = 1_700_000_000
    for job in range(400):
        now += int(rng.integers(60, 600))
        for attempt in range(3):
            begun, fails = now + 3_600 * attempt, rng.random() < 0.3
            how = "failed" if fails else "finished"
            taken = int(rng.integers(60, 3_000))
            cells = (job, begun, begun + 10, begun + 10 + taken, how, job, how, 0)
            rows.append(",".join(map(str, cells)))
            if not fails:
                break
    return "\n".join(rows) + "\n"


def swf_log() -> str:
    """A log of a few hundred jobs, a third of which fail."""
    rng = np.random.default_rng(1)
    lines = ["; UnixStartTime: 0", "; MaxProcs: 100"]
    now = 0
    for job in range(1, 601):
        now += int(rng.integers(60, 900))
        status = int(rng.random() > 0.3)
        seconds = int(rng.integers(60, 20_000))
        user, group, application = (int(word) for word in rng.integers(1, 9, 3))
        lines.append(
            f"{job} {now} 5 {seconds} 1 -1 -1 1 30000 -1 {status} {user} {group} {application}"
            " 1 1 -1 -1"
        )
    return "\n".join(lines) + "\n"


def furnish(folder: Path) -> None:
    """Leave what pages read by a name that they do not make themselves."""
    with gzip.open(folder / "KTH-SP2-1996-2.1-cln.swf.gz", "wt") as log:
        log.write(swf_log())
    generate("google-2011-applications", seed=0, jobs=2_000).save(folder / "google")
    shutil.copy(DATA / "lanl" / "failures.csv", folder)
    (folder / "ClusterData2011-2").mkdir()
    write_nasty(folder / "ClusterData2011-2")
    shutil.copytree(DATA / "google-2019" / "json", folder / "google-2019-a")
    (folder / "google-2019-a-usage").mkdir()
    (folder / "accounting.csv").write_text(accounting(), "utf-8")
    pd.read_csv(folder / "accounting.csv").to_parquet(folder / "accounting.parquet")
    shutil.copy(DATA / "sacct" / "duplicates.txt", folder / "jobs.txt")
    (folder / "agents").symlink_to(HERE / "agents")


def reason(words: list[str]) -> str | None:
    """Why a command is not run, or None."""
    if "--list" in words:
        return None
    named = [*words, *(word.partition("=")[0] for word in words)]
    for word, why in NOT_RUN.items():
        if word in named:
            return why
    for word, package in PACKAGES.items():
        if word in named and find_spec(package) is None:
            return f"needs {package}"
    return None


def shorter(words: list[str]) -> list[str]:
    """The same command for a small trace, or with fewer trials or steps."""
    kept = [LONG.get(word, word) for word in words]
    makes_its_trace = not any(word.startswith("trace=") for word in kept)
    if kept[0] in ("evaluate", "train", "tune") and makes_its_trace:
        kept += ["--set", "jobs=1000"]
    if kept[0] == "train" and "maskable_ppo" in kept:
        kept += ["--steps", "20000"]
    if kept[0] in ("evaluate", "assess"):  # the tutorial's log of four jobs is too small for them
        kept = [word.replace("trace=mine", "trace=google") for word in kept]
        kept = [{"mine": "google"}.get(word, word) for word in kept]
    if kept[:2] == ["leaderboard", "run"]:  # tests/leaderboard has all of them
        kept = [{"all-baselines": "grace_period"}.get(word, word) for word in kept]
    if "ClusterData2011-2" in kept:
        kept[-1] = "imported"  # `google` stays: what comes next needs more jobs than a fixture has
    return kept


def commands_of(page: Page) -> Iterator[list[str]]:
    """The commands of its blocks, but for scores that are compared with those that it shows."""
    shown = [shlex.split(command)[1:] for command, _ in page.dialogues]
    for words in page.block_commands():
        if words[0] != "evaluate" or words not in shown:
            yield words


PLAYED = [page for page in PAGES if page.name not in LEFT_OUT and list(commands_of(page))]


@pytest.mark.campaign
@pytest.mark.parametrize("page", PLAYED, ids=lambda page: page.name)
def test_commands_of_a_page_run_in_their_order(
    page: Page,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    furnish(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FAILGYM_CACHE_DIR", str(tmp_path / "worlds"))
    write_files(page, tmp_path, monkeypatch)
    ran = 0
    for words in commands_of(page):
        if reason(words) is None:
            given = shorter(words)
            status = run(given)
            assert status == 0, f"failgym {' '.join(given)}\n{capsys.readouterr().err[-2_000:]}"
            ran += 1
    if not ran:
        pytest.skip("its commands need what is not here")


def test_every_reason_not_to_run_a_command_is_needed() -> None:
    commands = [words for page in PAGES for words in page.block_commands()]
    named = {part for words in commands for word in words for part in (word, word.split("=")[0])}
    assert set(NOT_RUN) <= named


def test_most_commands_are_run() -> None:
    commands = [words for page in PLAYED for words in page.block_commands()]
    run_here = [words for words in commands if not set(NOT_RUN) & set(words) or "--list" in words]
    assert len(run_here) > 0.7 * len(commands)
