"""A run that is killed, whenever that is, ends as if it had not been."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from failgym.files import PARTIAL
from failgym.leaderboard import SUITES, Entry, Suite, SuiteWorlds, verify
from failgym.leaderboard.run.work_folder import WorkFolder
from failgym.leaderboard.suite.suites import Cell, Course
from failgym.traces import generate
from tests.leaderboard.boards import ROWS, TINY, actions, baseline, results, submit

POLICIES = ("replay", "random", "blind_kill")
KILLS = 2
"""`make check-long` kills runs twenty times."""
REAL = Suite("real", 1, (Course("GracePeriod-v1", slices=2, changes={"slice_tasks": 16}),), True)
"""On a trace of the user's own."""
SCRIPT = """
import sys
from pathlib import Path
sys.path.insert(0, {top!r})
from failgym.workers import Workers
from tests.leaderboard.boards import baseline, submit
if __name__ == "__main__":
    submit(Path({out!r}), *map(baseline, {policies!r}), workers=Workers({processes}))
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "run"
    submit(folder, *map(baseline, POLICIES))
    return folder


@pytest.mark.parametrize("processes", [1, 2])
def test_a_run_that_is_killed_goes_on(tmp_path: Path, whole: Path, processes: int) -> None:
    out = tmp_path / "run"
    top = str(Path(__file__).parents[2])
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(top=top, out=str(out), policies=POLICIES, processes=processes))
    rng = random.Random(processes)
    for _ in range(KILLS):
        killed = subprocess.Popen([sys.executable, script], cwd=top)
        while not (out / ".run").exists() and killed.poll() is None:
            time.sleep(0.01)
        time.sleep(rng.uniform(0.0, 1.5))
        killed.kill()  # unless it was quick, and is done
        killed.wait()
    subprocess.run([sys.executable, script], cwd=top, check=True)
    assert results(out) == results(whole)
    assert actions(out) == actions(whole)
    assert not (out / ".run").exists()


class _Stop(Exception):
    """Somebody pulls the plug."""


def test_nothing_that_is_done_is_done_again(
    tmp_path: Path, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed after every unit in turn, and between the tables and what seals them."""
    from failgym.leaderboard.submission import layout

    played: list[tuple[str, str]] = []
    real, seal = SuiteWorlds.play, layout.write_submission

    def play_and_stop(self: SuiteWorlds, cell: Cell, slices: Any, answers: Any) -> Any:
        made = real(self, cell, slices, answers)
        played.append((str(cell), str(answers.__dict__["_spec"])))
        if len(played) % 2:
            raise _Stop
        return made

    def stop(*given: object) -> None:
        monkeypatch.setattr(layout, "write_submission", seal)
        raise _Stop

    monkeypatch.setattr(SuiteWorlds, "play", play_and_stop)
    monkeypatch.setattr(layout, "write_submission", stop)
    stops = 0
    while True:
        try:
            submit(tmp_path / "run", *map(baseline, POLICIES))
            break
        except _Stop:
            stops += 1
    cells = 4 * len(POLICIES)
    assert stops == cells + 1
    assert len(played) == 2 * cells
    assert results(tmp_path / "run") == results(whole)


def test_a_run_killed_at_the_very_end_is_not_run_again(
    tmp_path: Path, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The submission is there, and half of what was needed for it is gone already."""
    from failgym.leaderboard.run import work_folder

    def half(folder: Path, **options: object) -> None:
        if folder.exists():
            (folder / "plan.json").unlink()
            next((folder / "units").iterdir()).unlink()
            raise _Stop

    out, remove = tmp_path / "run", shutil.rmtree
    monkeypatch.setattr(work_folder.shutil, "rmtree", half)
    with pytest.raises(_Stop):
        submit(out, baseline("replay"))
    monkeypatch.setattr(work_folder.shutil, "rmtree", remove)
    monkeypatch.setattr(SuiteWorlds, "play", None)
    with pytest.raises(ValueError, match="holds another submission"):
        submit(out, baseline("random"))
    submit(out, baseline("replay"))
    assert sorted(file.name for file in out.iterdir()) == sorted(
        file.name for file in whole.iterdir()
    )


def test_a_run_killed_while_it_joins_tables_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from failgym.leaderboard.run import assembly

    out, write = tmp_path / "run", assembly.write_table

    def killed(table: object, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        (path.parent / PARTIAL.replace("*", "0")).write_text("half a table")
        raise _Stop

    monkeypatch.setattr(assembly, "write_table", killed)
    with pytest.raises(_Stop):
        submit(out, baseline("replay"))
    monkeypatch.setattr(assembly, "write_table", write)
    submit(out, baseline("replay"))
    assert list(out.rglob(PARTIAL)) == []
    assert verify(out).problems == ()


def test_a_trace_that_changes_under_a_run_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of the rows would be of the one, half of the other."""
    monkeypatch.setitem(SUITES, REAL.name, REAL)
    traces = {"GracePeriod-v1": str(tmp_path / "trace")}

    def stop(*given: object) -> None:
        raise _Stop

    def run(out: str) -> None:
        submit(tmp_path / out, baseline("replay"), suite=REAL, traces=traces)

    generate("google-2011", jobs=300, seed=1).save(tmp_path / "trace")
    run("done")
    monkeypatch.setattr(WorkFolder, "save_cell", stop)
    with pytest.raises(_Stop):
        run("begun")
    shutil.rmtree(tmp_path / "trace")
    generate("google-2011", jobs=300, seed=2).save(tmp_path / "trace")
    with pytest.raises(ValueError, match="was begun with other traces"):
        run("begun")
    with pytest.raises(ValueError, match="holds another submission"):
        run("done")


def test_rows_are_in_the_order_of_policies_and_cells(whole: Path) -> None:
    rows = results(whole)
    keys = [(r["policy"], r["forecast"], r["seed"], r["slice"]) for r in rows]
    order = {name: i for i, name in enumerate((*POLICIES, "drawn", "none"))}
    assert keys == sorted(keys, key=lambda key: (order[key[0]], order[key[1]], *key[2:]))
    assert len(set(keys)) == len(keys) == ROWS * len(POLICIES)


def test_the_same_run_again_is_there_already_and_another_is_refused(
    whole: Path, tmp_path: Path
) -> None:
    before = (whole / "submission.json").read_bytes()
    submit(whole, *map(baseline, POLICIES))
    assert (whole / "submission.json").read_bytes() == before
    with pytest.raises(ValueError, match="holds another submission; use another folder"):
        submit(whole, baseline("replay"))
    (tmp_path / "mine.txt").write_text("precious")
    with pytest.raises(ValueError, match="holds files that are not of an unfinished run"):
        submit(tmp_path, baseline("replay"))


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ([], "--policy: expected at least one"),
        ([baseline("replay"), baseline("replay")], "'replay' is given twice"),
        ([Entry("nowhere", "code", {})], "was made for no environment of the suite"),
    ],
)
def test_policies_that_cannot_take_part_are_refused(
    tmp_path: Path, entries: list[Entry], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        submit(tmp_path, *entries)


@pytest.mark.parametrize(("option", "value"), [("time_limit", 0.0), ("time_limit", float("nan"))])
def test_options_that_mean_nothing_are_refused(tmp_path: Path, option: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"--{option.replace('_', '-')}: expected"):
        submit(tmp_path, baseline("replay"), **{option: value})


def test_a_damaged_reference_is_one_line(tmp_path: Path) -> None:
    """Wherever a byte is another one."""
    work, cell = WorkFolder(tmp_path), Cell("GracePeriod-v1", "none", 0)
    work.folder.mkdir()
    work.save_reference(cell, SuiteWorlds.of(TINY).reference(cell))
    file = work.reference_file(cell)
    whole, rng, said = file.read_bytes(), random.Random(1), list[str]()
    for _ in range(150):
        damaged = bytearray(whole)
        damaged[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
        file.write_bytes(damaged)
        try:
            work.reference(cell)
        except ValueError as error:
            said.append(str(error))
    assert len(said) > 75
    assert all(each.startswith(f"{file}: cannot be read: ") for each in said)
