"""A run that is killed, whenever that is, ends as if it had not been."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from failgym.leaderboard import Entry
from tests.leaderboard.boards import ROWS, actions, baseline, results, submit

POLICIES = ("replay", "random", "blind_kill")
KILLS = 3
SCRIPT = """
import sys
from pathlib import Path
sys.path.insert(0, {top!r})
from tests.leaderboard.boards import baseline, submit
if __name__ == "__main__":
    submit(Path({out!r}), *map(baseline, {policies!r}), processes={processes})
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
        os.kill(killed.pid, signal.SIGKILL)
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
    from failgym.leaderboard import assemble, units

    played: list[tuple[str, str]] = []
    real, seal = units.play, assemble.write_submission

    def play_and_stop(world: object, scenario: object, slices: object, answers: object) -> object:
        made = real(world, scenario, slices, answers)  # type: ignore[arg-type]
        played.append((str(scenario), str(answers.__dict__["_spec"])))
        if len(played) % 2:
            raise _Stop
        return made

    def stop(*given: object) -> None:
        monkeypatch.setattr(assemble, "write_submission", seal)
        raise _Stop

    monkeypatch.setattr(units, "play", play_and_stop)
    monkeypatch.setattr(assemble, "write_submission", stop)
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
    with pytest.raises(ValueError, match="holds something that is no unfinished run"):
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


@pytest.mark.parametrize(
    ("option", "value"), [("processes", 0), ("time_limit", 0.0), ("time_limit", float("nan"))]
)
def test_options_that_mean_nothing_are_refused(tmp_path: Path, option: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"--{option.replace('_', '-')}: expected"):
        submit(tmp_path, baseline("replay"), **{option: value})
