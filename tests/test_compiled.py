"""Compiled code is read only from where nobody else could have put it."""

from __future__ import annotations

import importlib.util
import os
import pickle
import shutil
import stat
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
import pytest

from failgym import compiled
from failgym.compiled.ownership import only_mine, temporary_folder

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="files have no owners here")
VICTIM, ATTACKER = 54_321, 54_322
"""Numbers that no user has."""
AS_ROOT = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0,
    reason="only the administrator can be other users",
)
NOWHERE = {"HOME": "/nonexistent", "XDG_CACHE_HOME": ""}
MODULE = """
from failgym.compiled import njit


@njit(cache=True)
def twice(x):
    return 2 * x
"""


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that every user can look into, as `tmp_path` is not."""
    folder = Path(tempfile.mkdtemp(prefix="failgym-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def module(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "kernels.py").write_text(MODULE)
    return folder / "kernels.py"


def forked(function: Callable[[], str], user: int | None, settings: dict[str, str]) -> str:
    """What a function answers in a new process of a user, with these variables set."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.environ.update(settings)
            tempfile.tempdir = None
            if user is not None:
                os.setgroups([])
                os.setgid(user)
                os.setuid(user)
            answer = function()
        except BaseException as error:
            answer = f"failed: {error!r}"
        os.write(write, answer.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as answered:
        answer = answered.read()
    os.waitpid(child, 0)
    return answer


def kept(
    file: Path, settings: dict[str, str], user: int | None = None, warned: bool = False
) -> tuple[int, str]:
    """Play a module as a user: how often its code was there already, and where it is kept."""

    def play() -> str:
        compiled._folder.cache_clear()
        config: Any = numba.config  # pyright: ignore[reportPrivateImportUsage]
        config.CACHE_DIR = settings.get("NUMBA_CACHE_DIR", "")
        found: Any = importlib.util.spec_from_file_location("kernels", file)
        kernels = sys.modules["kernels"] = importlib.util.module_from_spec(found)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            found.loader.exec_module(kernels)
        assert kernels.twice(21) == 42
        assert len(said) == warned
        stats = kernels.twice.stats
        return f"{sum(stats.cache_hits.values())} {stats.cache_path}"

    assert only_mine(file)  # what this imports, and the next, others may not be able to
    assert _twice(21) == 42
    answer = forked(play, user, {**NOWHERE, **settings})
    assert not answer.startswith("failed"), answer
    hits, where = answer.split(maxsplit=1)
    return int(hits), where


@compiled.njit()
def _twice(x: int) -> int:
    return 2 * x


class Planted:
    """What leaves a mark where it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (str(self.mark), "w")


def plant(files: list[Path], mark: Path) -> None:
    for file in files:
        data = pickle.dumps((Planted(mark), {}))
        head = pickle.dumps(numba.__version__) if file.suffix == ".nbi" else b""
        file.write_bytes(head + data)


def test_code_is_kept_beside_its_source_as_long_as_it_is_sound_and_ones_own(place: Path) -> None:
    file, mark = module(place / "code"), place / "mark"
    cache = file.parent / "__pycache__"
    assert [kept(file, {}) for _ in range(2)] == [(0, str(cache)), (1, str(cache))]
    (index,), (data,) = cache.glob("*.nbi"), cache.glob("*.nbc")
    plant([index, data], mark)
    index.chmod(0o666)
    assert [kept(file, {})[0] for _ in range(2)] == [0, 1], "all could have written it"
    assert not mark.exists()
    assert stat.S_IMODE(index.stat().st_mode) == 0o644
    for path in (index, data):
        path.write_bytes(path.read_bytes()[:40])
        assert kept(file, {})[0] == 0, "it is cut off"
    file.write_text(MODULE.replace("2 * x", "x + x"))
    assert kept(file, {})[0] == 0, "the source is another one"


def test_where_the_user_says(place: Path) -> None:
    where = kept(module(place / "code"), {"NUMBA_CACHE_DIR": str(place / "mine")})[1]
    assert Path(where).parent == place / "mine"
    assert stat.S_IMODE((place / "mine").stat().st_mode) == 0o700


def test_folders_that_all_can_write_are_passed_over(place: Path) -> None:
    file = module(place / "code")
    for folder in (place / "ours", file.parent / "__pycache__"):
        folder.mkdir()
        folder.chmod(0o777)
    settings = {"NUMBA_CACHE_DIR": str(place / "ours"), "XDG_CACHE_HOME": str(place / "cache")}
    where = kept(file, settings, warned=True)[1]
    assert Path(where).is_relative_to(place / "cache" / "numba")
    assert not any(place.rglob("ours/**/*.nb?"))


def test_a_disk_without_room_is_no_reason_to_stop(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from failgym.compiled import kept_code

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(kept_code._Files, "save", full)
    assert [kept(module(place / "code"), {})[0] for _ in range(2)] == [0, 0]


@AS_ROOT
class TestAnotherUser:
    """Who may write the folder that code would be read from, without being asked."""

    @pytest.fixture
    def nowhere(self, place: Path) -> dict[str, str]:
        """Of the user's own there is nothing, but a temporary folder that all may write."""
        (place / "tmp").mkdir()
        (place / "tmp").chmod(0o1777)
        return {"TMPDIR": str(place / "tmp")}

    def test_nobody_runs_what_another_user_put_there(
        self, place: Path, nowhere: dict[str, str]
    ) -> None:
        file, mark = module(place / "code"), place / "tmp" / "mark"
        hits, where = kept(file, nowhere, VICTIM)
        own = place / "tmp" / f"failgym-{VICTIM}"
        assert (hits, Path(where).parent) == (0, own)
        assert stat.S_IMODE(own.stat().st_mode) == 0o700
        assert kept(file, nowhere, VICTIM) == (1, where)
        plant([*Path(where).iterdir()], mark)
        for path in (own, *own.rglob("*")):
            os.chown(path, ATTACKER, ATTACKER)
            path.chmod(0o777 if path.is_dir() else 0o666)
        assert kept(file, nowhere, VICTIM) == (0, "None")
        assert not mark.exists()

    @pytest.mark.parametrize("target", ["elsewhere", "nowhere", "mine"])
    def test_a_link_is_not_followed(
        self, place: Path, nowhere: dict[str, str], target: str
    ) -> None:
        for name, owner in (("elsewhere", ATTACKER), ("mine", VICTIM)):
            (place / name).mkdir(mode=0o700)
            os.chown(place / name, owner, owner)
        link = place / "tmp" / f"failgym-{VICTIM}"
        link.symlink_to(place / target)
        os.lchown(link, ATTACKER, ATTACKER)
        assert forked(lambda: str(temporary_folder()), VICTIM, nowhere) == "None"

    def test_a_home_of_somebody_else_is_not_the_users_own(
        self, place: Path, nowhere: dict[str, str]
    ) -> None:
        """As under sudo, which may keep HOME."""
        file = module(place / "code")
        (file.parent / "__pycache__").mkdir()
        (file.parent / "__pycache__").chmod(0o777)
        home = place / "home"
        for folder in (home, home / ".cache", home / ".cache" / "numba"):
            folder.mkdir()
            os.chown(folder, ATTACKER, ATTACKER)
        where = kept(file, {**nowhere, "HOME": str(home)})[1]
        assert Path(where).parent == place / "tmp" / "failgym-0"
        assert not any((home / ".cache" / "numba").iterdir())

    def test_who_owns_a_folder_above_can_put_another_in_its_place(self, place: Path) -> None:
        below = place / "theirs" / "mine"
        below.mkdir(parents=True)
        assert only_mine(below)
        os.chown(place / "theirs", ATTACKER, ATTACKER)
        assert not only_mine(below)
        (place / "link").symlink_to(below)
        assert not only_mine(place / "link")

    def test_a_group_of_others_may_not_write(self, place: Path) -> None:
        place.chmod(0o775)
        assert only_mine(place)  # the administrator's own group
        os.chown(place, 0, ATTACKER)
        assert not only_mine(place)
        place.chmod(0o755)
        assert only_mine(place)


def test_in_a_sticky_folder_others_cannot_touch_what_is_mine(place: Path) -> None:
    (place / "mine").mkdir()
    for mode, safe in ((0o755, True), (0o777, False), (0o1777, True)):
        place.chmod(mode)
        assert only_mine(place / "mine") == safe
    assert not only_mine(place)
    assert not only_mine(place / "missing")
