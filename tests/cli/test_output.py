"""What the command writes: `--json` destroys nothing, and printing never fails."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from failgym.cli import run
from failgym.cli.output import JsonFile, print_table
from failgym.traces import toy

COMMAND = [sys.executable, "-c", "from failgym.cli import main; main()"]


def write(path: Path) -> None:
    JsonFile.at(path).write({"a": 1})


def load(file: Path) -> Any:
    return json.loads(file.read_text("utf-8"))


def test_devices_stay_devices() -> None:
    file = JsonFile.at(Path(os.devnull))
    assert file.streams  # before writing: a mistake here must not cost the machine its device
    file.write({"a": 1})
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text("utf-8")))
    reader.start()
    write(pipe)
    reader.join(10)
    assert json.loads(read[0]) == {"a": 1}
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc")
@pytest.mark.parametrize("piped", [True, False])
def test_json_on_standard_output_follows_the_table(piped: bool, tmp_path: Path) -> None:
    file, link = tmp_path / "out.txt", tmp_path / "stdout"
    link.symlink_to("/proc/self/fd/1")  # as /dev/stdout is, which a mistake here must not replace
    with file.open("w") as out:
        command = [*COMMAND, "envs", "--json", str(link)]
        done = subprocess.run(
            command, stdout=subprocess.PIPE if piped else out, text=True, check=True
        )
    text = done.stdout if piped else file.read_text("utf-8")
    table, brace, rest = text.partition("\n{")
    assert "Environments" in table
    assert "failgym/Cloning-v1" in json.loads(brace + rest)
    assert sorted(os.listdir(tmp_path)) == ["out.txt", "stdout"]
    assert link.is_symlink()


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_a_link(there: bool, tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    target, link = tmp_path / "far" / "target.json", tmp_path / "link.json"
    if there:
        target.write_text("old")
    link.symlink_to(target)
    write(link)
    assert link.is_symlink()
    assert load(target) == {"a": 1}
    assert os.listdir(tmp_path / "far") == ["target.json"]


def test_links_in_a_circle_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(ValueError, match="--json"):
        JsonFile.at(tmp_path / "a")


def test_a_socket_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        with pytest.raises(ValueError, match="not a file that can be written"):
            JsonFile.at(Path("socket"))


@pytest.mark.parametrize("name", ["meta.json", "jobs.parquet", "new.json", "deep/new.json"])
def test_nothing_is_written_into_a_saved_trace(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "trace"
    toy().save(folder)
    (folder / "deep").mkdir()
    (tmp_path / "link.json").symlink_to(folder / name)
    before = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    for file in (folder / name, tmp_path / "link.json"):
        assert run(["envs", "--json", str(file)]) == 2
        assert "saved trace" in capsys.readouterr().err
    assert {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()} == before


def test_a_meta_json_of_something_else_does_not_matter(tmp_path: Path) -> None:
    (tmp_path / "meta.json").write_text('{"format": "other"}')
    write(tmp_path / "new.json")
    assert load(tmp_path / "new.json") == {"a": 1}


def test_a_long_name_works_or_fails_before_the_work(tmp_path: Path) -> None:
    write(tmp_path / ("n" * 250))
    assert load(tmp_path / ("n" * 250)) == {"a": 1}
    with pytest.raises(ValueError, match="too long"):
        JsonFile.at(tmp_path / ("n" * 300))


def test_what_fails_in_writing_leaves_the_old_file(tmp_path: Path) -> None:
    file = tmp_path / "old.json"
    file.write_text("old")
    with pytest.raises(TypeError):
        JsonFile.at(file).write({"a": object()})
    assert file.read_text() == "old"
    assert os.listdir(tmp_path) == ["old.json"]


def test_what_a_terminal_cannot_show_does_not_stop_the_command(tmp_path: Path) -> None:
    name = tmp_path / "Rosà.json"
    done = subprocess.run(
        [*COMMAND, "envs", "--json", str(name)],
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "Ros?.json" in done.stdout
    assert name.is_file()


def test_cells_are_never_cut_off(capsys: pytest.CaptureFixture[str]) -> None:
    words = "x" * 35
    print_table("T", ("a", "b", "c", "d"), [(words, words, words, words)])
    assert capsys.readouterr().out.count("x") == 4 * 35


def test_a_file_is_as_wide_as_cells_that_keep_to_one_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    columns = [f"n{i}" for i in range(20)]
    print_table("T", ("", *columns), [("x" * 60, *[-16_296.0] * 20)], unbroken=frozenset(columns))
    [line] = [line for line in capsys.readouterr().out.splitlines() if "x" in line]
    assert line.count("-16,296") == 20


def test_envs_shows_whole_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["envs"]) == 0
    shown = capsys.readouterr().out
    assert "…" not in shown
    assert "google-2011-applications-failing" in shown


@pytest.mark.parametrize(
    "name", ["\x1b[31mred", "[bold]bold[/bold]", ":bug:", "a\rb", "\u202eevil"]
)
def test_names_are_text_and_nothing_else(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    print_table(name, ("of", "value"), [(name, 1), (f"{name} again", name)])
    assert run(["trace", "info", f"/nowhere/{name}"]) == 2
    shown = capsys.readouterr()
    plain = name.encode("unicode_escape").decode()
    assert shown.out.count(plain) == 4
    assert plain in shown.err
    assert not {"\x1b", "\r", "\u202e"} & set(shown.out + shown.err)
