"""docs/hosting.md does what it says: its commands are run here, with another user."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable, Generator, Sequence
from pathlib import Path

import pytest

from failgym.cli import policy_process, run
from failgym.leaderboard import read_submission, verify
from tests.leaderboard.boards import ROWS, results
from tests.leaderboard.hosts import (
    LIBRARY,
    Theirs,
    as_guest,
    in_bubblewrap,
    starting,
    strangers_code,
)

GUIDE = LIBRARY / "docs" / "hosting.md"
Host = Callable[[Theirs], Sequence[str]]
SECRET = b"0f1e2d3c4b5a69788796"


@pytest.fixture(scope="module")
def theirs() -> Generator[Theirs]:
    with strangers_code() as found:
        yield found


def documented(word: str) -> list[str]:
    """The words of the one command of the guide that starts policies with a program."""
    blocks = re.findall(r"```sh\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)
    commands = [shlex.split(line) for block in blocks for line in _lines(block)]
    (found,) = [one for one in commands if any(part.startswith(f"{word} ") for part in one)]
    return found[1:]


def _lines(block: str) -> list[str]:
    """Commands, each with all lines that it goes on for."""
    found = [""]
    for line in block.replace("\\\n", " ").splitlines():
        found[-1] += line + " "
        if found[-1].count("'") % 2 == 0:
            found.append("")
    return found


def here(words: list[str], theirs: Theirs, folder: Path) -> list[str]:
    """The command with the users, folders and suite of this test."""
    out, seed = folder / "out", folder / "seed.txt"
    seed.write_bytes(SECRET)
    seed.chmod(0o600)
    changed = {"v2": "tiny", "out": str(out), "seed.txt": str(seed), "all-baselines": "replay"}
    changed["theirs=mine:Policy"] = "theirs=mine:Quiet"
    at = words.index("--policy-command") + 1
    command = words[at].replace("=guest", f"={theirs.user}")
    bound = [path for path in theirs.path.split(":")[1:] if Path(path).is_dir()]
    binds = " ".join(f"--ro-bind {path} {path}" for path in bound)
    command = command.replace("--ro-bind /opt/failgym /opt/failgym", binds)
    command = command.replace("--ro-bind /srv/theirs ", f"--ro-bind {theirs.folder} ")
    mine = "/srv/theirs" if command.startswith("bwrap") else str(theirs.folder)
    command = command.replace("=/srv/theirs", f"={':'.join((mine, *bound))}")
    return [changed.get(word, word) for word in (*words[:at], command, *words[at + 1 :])]


@pytest.mark.parametrize(("word", "host"), [("setpriv", as_guest), ("bwrap", in_bubblewrap)])
def test_the_commands_of_the_guide_host_a_policy(
    tmp_path: Path, theirs: Theirs, monkeypatch: pytest.MonkeyPatch, word: str, host: Host
) -> None:
    python = starting(host(theirs), theirs)[-3]  # one that can be reached from there
    monkeypatch.setattr(policy_process, "COMMAND", (python, "-m", policy_process.MODULE))
    tmp_path.chmod(0o700)
    assert run(here(documented(word), theirs, tmp_path)) == 0
    rows = results(tmp_path / "out")
    assert len(rows) == 2 * ROWS
    assert {row["status"] for row in rows} == {"ok"}, rows
    assert theirs.left() == []
    assert verify(tmp_path / "out", secret=SECRET).problems == ()
    stated = (tmp_path / "out" / "submission.json").read_text("utf-8")
    assert str(theirs.folder) not in stated
    assert read_submission(tmp_path / "out").policies[1].kind == "code"


@pytest.mark.skipif(shutil.which("false") is None, reason="needs false")
def test_a_command_that_starts_nothing_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ("leaderboard", "run", "--suite", "tiny", "--policy", "mine:Quiet")
    given += ("--policy-command", "false", "--out", str(tmp_path / "out"))
    assert run(given) == 2
    assert capsys.readouterr().err == ("failgym: --policy-command: its process ended: status 1\n")


def test_code_is_not_loaded_where_it_could_read_the_secret(
    tmp_path: Path, theirs: Theirs, capsys: pytest.CaptureFixture[str]
) -> None:
    seed, trap = tmp_path / "seed.txt", tmp_path / "loaded"
    seed.write_bytes(SECRET)
    (theirs.folder / "trap.py").write_text(f"open({str(trap)!r}, 'w')\n")
    given = ("leaderboard", "run", "--suite", "tiny", "--policy", "trap:Policy", "--out")
    given += (str(tmp_path / "out"), "--secret-seed-file", str(seed))
    assert run((*given, "--policy-command", f"env PYTHONPATH={theirs.path}")) == 2
    assert capsys.readouterr().err.startswith(
        f"failgym: --policy-command: what it starts can read {seed}"
    )
    assert not trap.exists()
