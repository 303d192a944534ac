"""How much memory there is is asked of the machine, its control groups and the limits set."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from failgym import memory

GB = 10**9


def machine(root: Path, free: int) -> None:
    """Files as Linux has them."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/meminfo").write_text(f"MemTotal: 99 kB\nMemAvailable: {free // 1024} kB\n")


def group(folder: Path, names: tuple[str, str, str], values: tuple[object, object, object]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    limit, usage, cache = names
    (folder / limit).write_text(f"{values[0]}\n")
    (folder / usage).write_text(f"{values[1]}\n")
    (folder / "memory.stat").write_text(f"anon 5\n{cache} {values[2]}\n")


V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
V2 = ("memory.max", "memory.current", "inactive_file")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    machine(tmp_path, 8 * GB)
    monkeypatch.setattr(memory, "_PROC", tmp_path / "proc")
    monkeypatch.setattr(memory, "_CGROUP", tmp_path / "sys")
    return tmp_path


def test_what_the_machine_has(root: Path) -> None:
    assert memory.available() == 8 * GB // 1024 * 1024


def test_what_a_group_of_version_2_leaves(root: Path) -> None:
    (root / "proc/self/cgroup").write_text("0::/a/b\n")
    group(root / "sys/a", V2, (5 * GB, 4 * GB, 2 * GB))
    group(root / "sys/a/b", V2, ("max", 4 * GB, 0))
    assert memory.available() == 3 * GB
    group(root / "sys/a/b", V2, (GB, 2 * GB, 0))
    assert memory.available() == 0


def test_what_a_container_leaves_where_only_its_own_group_is_seen(root: Path) -> None:
    (root / "proc/self/cgroup").write_text("0::/docker/4711\n")
    group(root / "sys", V2, (2 * GB, GB, 0))
    assert memory.available() == GB


def test_what_a_group_of_version_1_leaves(root: Path) -> None:
    (root / "proc/self/cgroup").write_text("7:cpu:/x\n5:memory,hugetlb:/jobs\n")
    group(root / "sys/memory/jobs", V1, (6 * GB, 3 * GB, 0))
    assert memory.available() == 3 * GB


def test_a_platform_that_does_not_tell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_PROC", tmp_path)
    monkeypatch.setattr(memory, "_CGROUP", tmp_path)
    assert memory.available() is None
    memory.check_room(2**80, "anything")


def test_what_a_limit_of_address_space_leaves() -> None:
    pytest.importorskip("resource", reason="no limits on this platform")
    code = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (3_000_000_000, 3_000_000_000))
from failgym.memory import available
print(available())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 10_000_000 < int(done.stdout) < 3_000_000_000


def test_what_there_is_no_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available", lambda: 46_400_000)
    memory.check_room(46_400_000, "a slot")
    with pytest.raises(
        MemoryError, match=r"^a slot: needs 24\.2 GB of memory, and 46 MB are free$"
    ):
        memory.check_room(24_200_000_000, "a slot")


def test_what_was_freed_is_given_back() -> None:
    """What is still in use at the end of the heap keeps all that was freed before it."""
    if platform.libc_ver()[0] != "glibc":
        pytest.skip("the allocator of this platform cannot be told to")
    other = ("LD_PRELOAD", "GLIBC_TUNABLES", "MALLOC_", "PYTHONMALLOC")
    usual = {name: value for name, value in os.environ.items() if not name.startswith(other)}
    code = """
from pathlib import Path
from failgym.memory import give_back
def used():
    text = Path("/proc/self/status").read_text()
    return int(text.partition("RssAnon:")[2].split()[0]) // 1024
blocks = [b"x" * 100_000 for _ in range(3_000)]
last = blocks[-1]
del blocks
before = used()
give_back()
print(before, used())
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=usual)
    before, after = map(int, done.stdout.split())
    if before < 250:
        pytest.skip("another allocator keeps nothing")
    assert after < 100


def test_nothing_is_raised_where_no_allocator_can_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(name: object) -> None:
        raise OSError("no dynamic loading")

    monkeypatch.setattr(memory.ctypes, "CDLL", fails)
    monkeypatch.setitem(sys.modules, "pyarrow", ModuleType("pyarrow"))
    memory.give_back()
