"""A policy in a process of its own: it may crash, hang or talk nonsense, and is told nothing."""

from __future__ import annotations

import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from failgym.envs.scenarios import resolve
from failgym.leaderboard import SUITES, Entry, Suite, verify
from failgym.leaderboard.policy_process.limits import USUAL
from failgym.leaderboard.policy_process.players import KEPT, Players
from failgym.leaderboard.policy_process.remote_policy import RemotePolicy
from failgym.leaderboard.run.tasks import RunTasks
from failgym.leaderboard.suite.episodes import Failure
from failgym.workers import Workers, each
from tests.leaderboard.boards import COMMAND, TINY, actions, baseline, code, results, submit

BAD = '''
import os, time
import numpy as np

class Policy:
    def predict(self, observation, state=None, episode_start=None, deterministic=True,
                action_masks=None):
        self.asked = getattr(self, "asked", 0) + 1
        answer = np.zeros(len(observation), dtype=np.int64)
        return (answer if self.asked < 3 else self.fail(answer)), state

class Raises(Policy):
    def fail(self, answer): raise RuntimeError("no\\nidea")

class Dies(Policy):
    def fail(self, answer): os.kill(os.getpid(), 9)

class Hangs(Policy):
    def fail(self, answer):
        while True: pass

class Floats(Policy):
    def fail(self, answer): return answer + 0.5

class Seven(Policy):
    def fail(self, answer): return answer + 7

class Long(Policy):
    def fail(self, answer): return np.append(answer, 0)

class Writes(Policy):
    def fail(self, answer):
        for descriptor in map(int, os.listdir("/dev/fd")):  # the pipe is one of them
            try: os.write(descriptor, b"0" * 64)
            except OSError: pass
        return answer

SEEN = []

class Remembers(Policy):
    """Keeps in its module what it is shown, and notices when it has been there before."""
    def predict(self, observation, **more):
        if not hasattr(self, "begun"):
            self.begun = True
            SEEN.append(1)
        assert SEEN == [1], "I know what comes next"
        return np.zeros(len(observation), dtype=np.int64), None

class Peeks(Policy):
    """Looks at all that it is given."""
    def predict(self, observation, **more):
        known = sorted(more)
        assert known == ["action_masks", "deterministic", "episode_start", "state"], known
        assert observation.dtype == np.float32 and observation.ndim == 2
        return np.zeros(len(observation), dtype=np.int64), None
'''
KINDS = {
    "Raises": ("crashed", "RuntimeError: no idea"),
    "Dies": ("crashed", "its process ended: SIGKILL"),
    "Hangs": ("timeout", "did not answer within the time limit"),
    "Floats": ("nonsense", "expected 2 whole numbers as actions, got shape [2] of float64"),
    "Seven": ("nonsense", "expected actions from 0 to 4, got 7"),
    "Long": ("nonsense", "expected 2 whole numbers as actions, got shape [3] of int64"),
    "Writes": ("nonsense", "wrote to the pipe of its answers"),
}
ENV = "GracePeriod-v1"


def test_a_policy_that_fails_fails_its_own_rows_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    course = TINY.courses[0]
    changes = {**course.changes, "forecast": "none"}
    suite = Suite("one", 1, (replace(course, seeds=(0,), changes=changes),))  # a single cell
    monkeypatch.setitem(SUITES, "one", suite)
    bad = [Entry(name, "code", {ENV: f"mine:{name}"}) for name in KINDS]
    good = [baseline("blind_kill"), Entry("Peeks", "code", {ENV: "mine:Peeks"})]
    ends = [entry for entry in bad if entry.name != "Hangs"]
    hangs = [entry for entry in bad if entry.name == "Hangs"]
    with code(tmp_path, BAD) as command:
        options: dict[str, Any] = {"suite": suite, "policy_command": command}
        submit(tmp_path / "out", *ends, *good, **options)
        submit(tmp_path / "late", *hangs, **options, time_limit=1.0)  # a busy machine is no fault
    rows = results(tmp_path / "out") + results(tmp_path / "late")
    assert len(rows) == 2 * (len(bad) + len(good))
    for name, (status, reason) in KINDS.items():
        mine = [row for row in rows if row["policy"] == name]
        assert {row["status"] for row in mine} == {status}
        assert all(reason in row["reason"] for row in mine)
        assert all(row["wasted"] is None and row["decisions"] == 0 for row in mine)
        assert all(row["replay_cost"] is not None for row in mine)
    for entry in good:
        mine = [row for row in rows if row["policy"] == entry.name]
        assert {(row["status"], row["reason"]) for row in mine} == {("ok", "")}
        assert all(row["decisions"] > 0 for row in mine)
    for name in ("out", "late"):
        assert verify(tmp_path / name).problems == ()


def test_code_does_not_remember_the_cell_before(tmp_path: Path) -> None:
    """The slices are the same ones with each forecast: it would know how they end."""
    with code(tmp_path, BAD) as command:
        entry = Entry("Remembers", "code", {ENV: "mine:Remembers"})
        submit(tmp_path / "out", entry, policy_command=command)
    assert {(row["status"], row["reason"]) for row in results(tmp_path / "out")} == {("ok", "")}


def test_a_process_of_its_own_changes_no_action(tmp_path: Path) -> None:
    """A baseline asked in our process, and the same class as somebody's code."""
    spec = "failgym.baselines.random_policy:RandomPolicy"
    submit(tmp_path, baseline("random"), Entry("mine", "code", {ENV: spec}))
    rows = results(tmp_path)
    ours, theirs = (
        [{k: v for k, v in row.items() if k != "policy"} for row in rows if row["policy"] == name]
        for name in ("random", "mine")
    )
    assert ours == theirs
    found = list(actions(tmp_path).values())
    assert found[:2] == found[2:]


def test_the_cells_of_a_policy_are_shared_by_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has its share of them; what comes out is the same."""
    policy = Entry("mine", "code", {ENV: "failgym.baselines.random_policy:RandomPolicy"})
    sizes, all_done = dict[str, list[int]](), RunTasks.all_done

    def counted(self: RunTasks, tasks: Any, workers: Workers, **more: Any) -> Any:
        mine = [len(about) for kind, about in tasks if kind == "cells"]
        sizes[str(workers)] = sizes.get(str(workers), []) + mine
        return all_done(self, tasks, workers, **more)

    monkeypatch.setattr(RunTasks, "all_done", counted)
    for name, workers in (("alone", Workers()), ("two", Workers(2))):
        submit(tmp_path / name, policy, workers=workers)
    assert sizes == {"--workers 1": [4], "--workers 2": [2, 2]}
    assert results(tmp_path / "alone") == results(tmp_path / "two")
    assert actions(tmp_path / "alone") == actions(tmp_path / "two")


def never(spec: str) -> Any:
    """Loads no baseline."""
    raise AssertionError(spec)


def test_agents_that_are_asked_in_turns_keep_their_processes() -> None:
    """Of more than are kept the last gives way, so that all the others are there again."""
    specs = [f"{at}.safetensors" for at in range(KEPT + 2)]
    players = Players(never, COMMAND)
    first = [players.player("agent", spec) for spec in specs]
    again = [players.player("agent", spec) for spec in specs]
    same = [a is b for a, b in zip(first, again, strict=True)]
    assert same == [True] * (KEPT - 1) + [False] * 3
    players.close()
    assert players.player("agent", specs[0]) is not first[0]


def test_agents_that_do_not_come_back_are_ended() -> None:
    """Those of another environment, and who makes room."""
    with closing(Players(never, COMMAND)) as players:
        places = [resolve(name) for name in ("Cloning-v1", "GracePeriod-v1")]
        begun: list[Any] = [
            players.player("agent", spec, places[0]) for spec in ("random", "replay")
        ]
        for agent in begun:
            agent.begin(1)
        last: Any = players.player("agent", "random", places[1])
        assert [agent._process for agent in begun] == [None, None]
        assert players.player("agent", "replay", places[1]) is not begun[1]
        assert players.player("agent", "random", places[1]) is last
        rest: list[Any] = [players.player("agent", f"{at}", places[1]) for at in range(KEPT - 2)]
        last = rest[-1]
        last.spec = "random"  # somebody who can be begun
        last.begin(1)
        players.player("agent", "one more", places[1])
        assert last._process is None


@pytest.mark.parametrize("hosted", [False, True])
def test_code_and_what_a_host_starts_is_alone(hosted: bool) -> None:
    with closing(Players(never, COMMAND, 60.0, replace(USUAL, hosted=hosted))) as players:
        agent: Any = players.player("agent", "random")
        agent.begin(1)
        kept: Any = players.player("agent", "replay")
        assert (agent._process is None) == hosted
        kept.begin(1)
        code: Any = players.player("code", "random")
        assert agent._process is kept._process is None
        code.begin(1)
        again: Any = players.player("code", "random")
        assert again is not code
        assert code._process is None
        again.begin(1)
        players.player("agent", "replay")
        assert again._process is None


def test_what_cannot_be_loaded_is_a_crash() -> None:
    remote = RemotePolicy(("false",), "mine:Policy", 5.0)
    with pytest.raises(Failure, match="its process ended: status 1"):
        remote.begin(1)
    remote.close()


@pytest.mark.parametrize("module", ["numba", "multiprocessing"])
def test_code_that_lies_in_the_current_folder_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    """A host may stand in the folder of a submission, with modules of any name in it."""
    (tmp_path / f"{module}.py").write_text("open('ran', 'w').close(); raise SystemExit(3)")
    monkeypatch.chdir(tmp_path)
    if module == "numba":
        with closing(RemotePolicy(COMMAND, "random", 60.0)) as remote:
            assert any(remote.made_for())
    else:
        assert each(abs, [-1], Workers(2)) == [1]
    assert not (tmp_path / "ran").exists()


def test_a_command_may_say_more_than_a_pipe_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host's wrapper that logs is not held up, and its last line is the reason of its end."""
    monkeypatch.setattr("failgym.leaderboard.policy_process.remote_policy.LOADING", 5.0)
    loud = "import sys; sys.exit(300_000 * 'so much ' + chr(10) + 'the end')"
    remote = RemotePolicy((sys.executable, "-c", loud), "random", 3.0)
    with closing(remote), pytest.raises(Failure, match=r"its process ended: .*the end") as raised:
        remote.begin(1)
    assert raised.value.status == "crashed"
