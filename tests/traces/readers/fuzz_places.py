"""Where damaged files lie, and where a trace of them is to go: names, links, pipes, full disks."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Callable, Generator
from pathlib import Path

from failgym.traces import toy

__all__ = ["ALWAYS_REFUSED", "MOUNTS", "NAMES", "NEW", "PLACES", "SOURCES", "mounts_work"]

NAMES = (
    "plain",
    "a b",
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "[bold]bold",
    "[red]",
    ":bug:",
    "<script>alert(1)<script>",
    "&amp;<b>",
    "--out",
    "-x",
    "a\nb",
    "a\rb",
    "\u202eevil",
    "\udcff\udcfe",
    "ü" * 60,
    "{policy}",
    "%s%n",
    "a=b",
    "$(id)",
    "x" * 300,
)
"""Names of files and folders."""


def _as_it_is(path: Path, home: Path) -> Path:
    return path


def _linked(path: Path, home: Path) -> Path:
    (home / "link").symlink_to(path)
    return home / "link"


def _looped(path: Path, home: Path) -> Path:
    (home / "loop").symlink_to(home / "loop")
    return home / "loop"


def _pipe(path: Path, home: Path) -> Path:
    pipe = path / path.name if path.is_dir() else home / "pipe"
    if path.is_dir():  # in the place of a file that it has
        pipe = next(file for file in sorted(path.rglob("*")) if file.is_file())
        pipe.unlink()
    os.mkfifo(pipe)
    return path if path.is_dir() else pipe


def _device(path: Path, home: Path) -> Path:
    return Path("/dev/zero")


def _nowhere(path: Path, home: Path) -> Path:
    return home / "nowhere"


def _empty(path: Path, home: Path) -> Path:
    (home / "empty").mkdir()
    return home / "empty"


SOURCES: tuple[tuple[Callable[[Path, Path], Path], float], ...] = (
    (_as_it_is, 0.8),
    (_linked, 0.06),
    (_looped, 0.02),
    (_pipe, 0.05),
    (_device, 0.02),
    (_nowhere, 0.02),
    (_empty, 0.03),
)


@contextlib.contextmanager
def _new(home: Path, name: str) -> Generator[Path]:
    yield home / name


@contextlib.contextmanager
def _foreign(home: Path, name: str) -> Generator[Path]:
    (home / "out").mkdir()
    (home / "out" / "precious.txt").write_text("precious")
    yield home / "out"


@contextlib.contextmanager
def _file(home: Path, name: str) -> Generator[Path]:
    (home / "out").write_text("precious")
    yield home / "out"


@contextlib.contextmanager
def _link(home: Path, name: str) -> Generator[Path]:
    (home / "target").mkdir()
    (home / "out").symlink_to(home / "target")
    yield home / "out"


@contextlib.contextmanager
def _within(home: Path, name: str) -> Generator[Path]:
    toy().save(home / "trace")
    yield home / "trace" / "inside"


@contextlib.contextmanager
def _older(home: Path, name: str) -> Generator[Path]:
    toy().save(home / "out")
    yield home / "out"


@contextlib.contextmanager
def _mounted(home: Path, options: str) -> Generator[Path]:
    disk = home / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(disk)], check=True)
    try:
        yield disk / "out"
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@contextlib.contextmanager
def _full(home: Path, name: str) -> Generator[Path]:
    with _mounted(home, "size=8k") as out:
        yield out


@contextlib.contextmanager
def _read_only(home: Path, name: str) -> Generator[Path]:
    with _mounted(home, "ro") as out:
        yield out


PLACES = (
    *((_new, 0.74), (_foreign, 0.05), (_file, 0.03), (_link, 0.03), (_within, 0.03)),
    *((_older, 0.06), (_full, 0.03), (_read_only, 0.03)),
)
NEW = _new
MOUNTS = (_full, _read_only)
ALWAYS_REFUSED = (_foreign, _file, _link, _within, _full, _read_only)
"""Places where nothing is ever written."""


def mounts_work() -> bool:
    """Whether file systems can be mounted here."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            with _mounted(Path(folder), "size=8k"):
                return True
        except (OSError, subprocess.SubprocessError):
            return False
