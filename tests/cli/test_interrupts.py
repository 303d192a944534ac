"""Interrupts and full disks end a command with one line, and leave nothing half-written."""

from __future__ import annotations

import contextlib
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from failgym import cli
from failgym.cli import run
from failgym.traces import generate

SCRIPT = """
import sys
from failgym.cli import main
sys.exit(main())
"""
SLOW = """
import sys, time
print("importing", flush=True)
time.sleep(60)
"""
FULL = Path("/dev/full")


@pytest.mark.parametrize("module", ["gymnasium", "typer", "numba"])
def test_an_interrupt_while_python_imports_the_command(tmp_path: Path, module: str) -> None:
    (tmp_path / "slow" / module).mkdir(parents=True)
    (tmp_path / "slow" / module / "__init__.py").write_text(SLOW)
    (tmp_path / "failgym").write_text(SCRIPT)
    code = [str(tmp_path / "failgym"), "evaluate", "--env", "failgym/Cloning-v1"]
    top = str(Path(__file__).parents[2])
    process = subprocess.Popen(
        [sys.executable, *code, "--policy", "young"],
        env={"PYTHONPATH": f"{tmp_path / 'slow'}:{top}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "importing\n"
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (130, "failgym: interrupted\n")


def test_an_interrupt_that_a_class_in_the_making_turned_into_another_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def app(**_: Any) -> None:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as interrupt:
            raise RuntimeError("Error calling __set_name__") from interrupt

    monkeypatch.setattr(cli, "_command", lambda: app)
    assert run(["envs"]) == 130
    assert capsys.readouterr().err == "failgym: interrupted\n"


def test_what_nobody_foresaw_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def app(**_: Any) -> None:
        raise RuntimeError("a mistake of ours")

    monkeypatch.setattr(cli, "_command", lambda: app)
    with pytest.raises(RuntimeError, match="a mistake of ours"):
        run(["envs"])


@pytest.mark.skipif(not FULL.exists(), reason="no /dev/full on this platform")
def test_an_output_that_is_full_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    output = FULL.open("w")
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", output)
        assert run(["envs"]) == 2
    with contextlib.suppress(OSError):  # what is left in it cannot be written either
        output.close()
    assert capsys.readouterr().err == "failgym: standard output: No space left on device\n"


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stored") / "trace"
    generate("google-2011", jobs=30, seed=3).save(folder)
    return folder


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Path]:
    """A folder on a disk that has no room left."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(disk)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a small disk cannot be mounted here")
    try:
        with (disk / "filler").open("wb", buffering=0) as filler, contextlib.suppress(OSError):
            while True:
                filler.write(b"0" * 4096)
        yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=True)


COMMANDS = {
    "json": ["envs", "--json", "{full}/file.json"],
    "trace": ["trace", "synth", "google-2011", "--jobs", "20", "--out", "{full}/trace"],
    "html": ["replay", "{stored}", "--html", "{full}/page.html"],
    "perfetto": ["replay", "{stored}", "--perfetto", "{full}/events.json"],
    "forecast": [
        *("trace", "forecast", "{stored}", "--predictor", "perfect"),
        *("--out", "{full}/forecast.npz"),
    ],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_full_disk_is_said_of_the_file_and_leaves_nothing(
    name: str, full: Path, stored: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [part.format(full=full, stored=stored) for part in COMMANDS[name]]
    assert run(arguments) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"failgym: {arguments[-1]}")
    assert line.endswith(": No space left on device")
    assert [path.name for path in full.iterdir()] == ["filler"]
