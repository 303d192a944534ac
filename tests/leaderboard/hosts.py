"""Commands of a host that policies run under, and what is left of them afterwards."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

import failgym

MODULE = "failgym.cli.policy_process"
HOSTILE = Path(__file__).with_name("hostile.py")
LIBRARY = Path(failgym.__file__).parents[1]
PLACES = [sysconfig.get_path("purelib"), *(path for path in sys.path if "site-packages" in path)]


@dataclass(frozen=True)
class Theirs:
    """A folder of a stranger's code that everybody can read, and nobody's user to run it as."""

    folder: Path
    user: int

    @property
    def path(self) -> str:
        """Where Python finds that code, failgym and what it needs."""
        return os.pathsep.join(dict.fromkeys(map(str, (self.folder, LIBRARY, *PLACES))))

    def left(self, token: str = "") -> list[int]:
        """Processes of that user, or with a token on their command line."""
        found: list[int] = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                theirs = folder.stat().st_uid == self.user
                named = token and token.encode() in (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if (theirs or named) and int(folder.name) != os.getpid():
                found.append(int(folder.name))
        return found


@contextmanager
def strangers_code() -> Generator[Theirs]:
    """Hostile policies as a module ``mine``."""
    folder = Path(tempfile.mkdtemp(prefix="theirs-"))
    try:
        folder.chmod(0o755)
        shutil.copy(HOSTILE, folder / "mine.py")
        yield Theirs(folder, 50_000 + os.getpid() % 10_000)
    finally:
        shutil.rmtree(folder)


def as_guest(theirs: Theirs) -> tuple[str, ...]:
    """Under another user."""
    if os.getuid() != 0:
        pytest.skip("needs root, to start processes of another user")
    if shutil.which("setpriv") is None:
        pytest.skip("needs setpriv (util-linux)")
    ids = (f"--reuid={theirs.user}", f"--regid={theirs.user}")
    return ("setpriv", *ids, "--clear-groups", "--no-new-privs")


def in_namespace(theirs: Theirs) -> tuple[str, ...]:
    """Under another user, who sees no process but its own."""
    guest = as_guest(theirs)
    if shutil.which("unshare") is None:
        pytest.skip("needs unshare (util-linux)")
    unshare = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--net", "--ipc")
    return works((*unshare, *guest))


def in_bubblewrap(theirs: Theirs) -> tuple[str, ...]:
    """Among files that are listed, and nothing else."""
    if shutil.which("bwrap") is None:
        pytest.skip("needs bwrap (bubblewrap)")
    seen = dict.fromkeys(path for path in theirs.path.split(os.pathsep) if Path(path).is_dir())
    binds = [word for path in seen for word in ("--ro-bind", path, path)]
    return works(
        (
            *("bwrap", "--unshare-all", "--die-with-parent"),
            *("--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin"),
            *("--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64"),
            *("--proc", "/proc", "--dev", "/dev", "--remount-ro", "/dev"),
            *("--size", str(64 << 20), "--tmpfs", "/tmp", "--chdir", "/tmp"),
            *binds,
        )
    )


def works(command: Sequence[str]) -> tuple[str, ...]:
    """The command, unless this system does not allow it."""
    tried = subprocess.run([*command, "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"{command[0]} does not work here: {tried.stderr.strip()}")
    return tuple(command)


@cache
def starting(command: tuple[str, ...], theirs: Theirs) -> tuple[str, ...]:
    """What starts a policy under a command: with a Python that can be reached from there.

    Whether it can be is tried once for each command.
    """
    found = (*command, "env", f"PYTHONPATH={theirs.path}")
    same = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    for python in (sys.executable, f"/usr/bin/{same}", f"/usr/local/bin/{same}"):
        tried = subprocess.run(
            [*found, python, "-c", "import numpy, failgym"], capture_output=True, check=False
        )
        if tried.returncode == 0:
            return (*found, python, "-m", MODULE)
    pytest.skip(f"no Python {same} that can be reached under {command[0]}")
