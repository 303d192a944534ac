"""Policies that do harm, under commands of a host: they fail their own rows; nothing is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from failgym.leaderboard import SUITES, Entry, Suite, verify
from failgym.leaderboard.policy_process.limits import Confinement
from failgym.leaderboard.policy_process.players import Players
from failgym.leaderboard.policy_process.remote_policy import RemotePolicy
from failgym.leaderboard.policy_process.separation import check_apart
from failgym.leaderboard.run.work_folder import WorkFolder
from failgym.leaderboard.suite.episodes import Failure
from failgym.sim.shared.fields import FIELDS
from failgym.vocabulary import ACTIONS
from failgym.workers import Workers
from tests.leaderboard.boards import COMMAND, TINY, actions, baseline, load, results, submit
from tests.leaderboard.hosts import (
    LIBRARY,
    Theirs,
    as_guest,
    in_bubblewrap,
    in_namespace,
    starting,
    strangers_code,
)

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="needs Linux")

ENV = "GracePeriod-v1"
MEMORY, PROCESSES = 600, 40
"""Limits [MiB, processes]; a policy that does nothing has 150 MiB, and a few threads."""
SECRET = b"7d6f1c0a55e94b3f8a2b"
LIMITS = Confinement(MEMORY, PROCESSES, hosted=True)


@pytest.fixture(scope="module")
def theirs() -> Generator[Theirs]:
    with strangers_code() as found:
        yield found


def same_user(theirs: Theirs) -> tuple[str, ...]:
    return ()


Host = Callable[[Theirs], tuple[str, ...]]


def ask_once(remote: RemotePolicy) -> None:
    """The first question of an episode."""
    remote.begin(1)
    obs, mask = np.zeros((1, len(FIELDS)), dtype=np.float32), np.ones((1, ACTIONS), dtype=np.int8)
    out: Any = SimpleNamespace(obs=obs, mask=mask)
    yes = np.ones(1, dtype=np.bool_)
    remote.act(out, yes, yes, np.zeros(1, dtype=np.int64))


ATTACKS = {
    "Sleeps": "did not answer within the time limit",
    "HoardsTogether": f"its process ended: more than {MEMORY} MiB of memory",
}
QUICK = {
    (same_user, "HoardsTogether"),
    (as_guest, "Sleeps"),
    (in_namespace, "HoardsTogether"),
    (in_bubblewrap, "Sleeps"),
}
"""Each host, and each attack twice; the other pairs are a campaign."""


@pytest.mark.parametrize(
    ("host", "attack"),
    [
        pytest.param(host, attack, marks=[] if (host, attack) in QUICK else pytest.mark.campaign)
        for host in (same_user, as_guest, in_namespace, in_bubblewrap)
        for attack in ATTACKS
    ],
)
def test_nothing_is_left_of_a_policy_under_any_command(
    theirs: Theirs, host: Host, attack: str
) -> None:
    """A session of its own, parents that ended first, children's memory: all of it is kept."""
    token = f"left-by-{attack}-{host.__name__}-{os.getpid()}"
    spec = f"mine:{attack}:token={token},size={MEMORY << 20}"
    time_limit = 1.0 if attack == "Sleeps" else 60.0
    remote = RemotePolicy(starting(host(theirs), theirs), spec, time_limit, LIMITS)
    with closing(remote), pytest.raises(Failure, match=ATTACKS[attack]):
        ask_once(remote)
    assert theirs.left(token) == []


def test_what_outlives_its_parents_ends_with_the_policy(theirs: Theirs) -> None:
    token = f"left-behind-{os.getpid()}"
    remote = RemotePolicy(starting((), theirs), f"mine:Outlives:token={token}", 60.0, LIMITS)
    with closing(remote):
        ask_once(remote)
        assert len(theirs.left(token)) > 1  # it is there, beside the policy
    assert theirs.left(token) == []


def test_a_run_that_is_killed_leaves_nothing_behind(theirs: Theirs) -> None:
    """The keeper outlives it for as long as it takes to end what there is."""
    token = f"left-by-the-dead-{os.getpid()}"
    command = starting((), theirs)
    script = (
        "from tests.leaderboard.test_host_mode import LIMITS, RemotePolicy, ask_once;"
        f"remote = RemotePolicy({command!r}, 'mine:Outlives:token={token}', 60.0, LIMITS);"
        "ask_once(remote); print('asked', flush=True); input()"
    )
    run = subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=LIBRARY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert run.stdout is not None
    assert run.stdout.readline() == b"asked\n"
    assert len(theirs.left(token)) > 2
    run.kill()
    run.communicate()
    for _ in range(1000):
        if not theirs.left(token):
            break
        time.sleep(0.02)
    assert theirs.left(token) == []


KINDS = {
    "Outlives": ("ok", ""),
    "Hoards": ("crashed", "MemoryError"),
    "HoardsShared": ("crashed", f"its process ended: more than {MEMORY} MiB of memory"),
    "Bombs": ("crashed", f"its process ended: more than {PROCESSES} processes and threads"),
    "Scribbles": ("nonsense", "wrote to the pipe of its answers"),
    "Shouts": ("ok", ""),
    "Garbage": ("nonsense", "expected 2 whole numbers as actions"),
    "EndsParent": ("ok", ""),
    "EndsEveryone": ("ok", ""),
    "Looks": ("ok", ""),
}
"""What becomes of the rows of a policy under another user."""


@pytest.fixture
def one_cell(monkeypatch: pytest.MonkeyPatch) -> Suite:
    course = TINY.courses[0]
    changes = {**course.changes, "forecast": "none"}
    suite = Suite("one", 1, (replace(course, seeds=(0,), changes=changes),))
    monkeypatch.setitem(SUITES, "one", suite)
    return suite


def secret_file(folder: Path) -> Path:
    file = folder / "seed.txt"
    file.touch(0o600)
    file.write_bytes(SECRET)
    return file


def entry(kind: str, *places: Path) -> Entry:
    where = "+".join(map(str, places))
    spec = f"mine:{kind}:token={SECRET.decode()[::-1]},size={MEMORY << 20},where={where}"
    return Entry(kind, "code", {ENV: spec})


def test_another_user_harms_only_its_own_rows_and_finds_nothing(
    tmp_path: Path, theirs: Theirs, one_cell: Suite
) -> None:
    command = starting(as_guest(theirs), theirs)
    out, file = tmp_path / "out", secret_file(theirs.folder)
    good = [baseline("blind_kill"), entry("Quiet")]
    bad = [entry(kind, out, file) for kind in KINDS]
    limits = replace(LIMITS, private=(file,))
    options: dict[str, Any] = {"policy_command": command, "confinement": limits, "secret": SECRET}
    options["suite"] = one_cell
    submit(out, *good[:1], *bad, *good[1:], **options)
    assert theirs.left() == []
    rows = results(out)
    for kind, (status, reason) in KINDS.items():
        mine = [row for row in rows if row["policy"] == kind]
        assert [row["status"] for row in mine] == [status] * 2, mine
        assert all(reason in row["reason"] for row in mine), mine
        assert bool(reason) == any(row["reason"] for row in mine), mine
    submit(tmp_path / "alone", *good, **options)
    names = [one.name for one in good]
    assert [row for row in rows if row["policy"] in names] == results(tmp_path / "alone")
    assert actions(tmp_path / "alone").items() <= actions(out).items()
    assert verify(out, secret=SECRET).problems == ()


def test_the_same_user_can_read_the_secret_and_end_its_keeper(
    tmp_path: Path, theirs: Theirs, one_cell: Suite
) -> None:
    """What docs/hosting.md says that no limit prevents; rows of others are intact even so."""
    out, file = tmp_path / "out", secret_file(tmp_path)
    options: dict[str, Any] = {"policy_command": starting((), theirs), "secret": SECRET}
    options |= {"suite": one_cell}
    submit(out, entry("Looks", file), entry("EndsParent"), entry("Quiet"), **options)
    found = {row["policy"]: (row["status"], row["reason"]) for row in results(out)}
    status, reason = found["Looks"]
    assert status == "crashed"
    assert str(file) in reason
    assert f"/proc/{os.getpid()}/mem" in reason
    assert found["EndsParent"] == ("crashed", "its keeper was ended: SIGKILL")
    assert found["Quiet"] == ("ok", "")


def test_a_command_under_which_the_run_can_be_read_is_refused(
    tmp_path: Path, theirs: Theirs, one_cell: Suite
) -> None:
    options: dict[str, Any] = {"confinement": LIMITS, "suite": one_cell}
    same = starting((), theirs)
    with pytest.raises(ValueError, match=r"what it starts can read .*/out/\.run: expected another"):
        submit(tmp_path / "out", entry("Quiet"), policy_command=same, **options)
    guest = starting(as_guest(theirs), theirs)
    open_file = theirs.folder / "open.txt"
    open_file.write_bytes(SECRET)
    options["confinement"] = replace(LIMITS, private=(open_file,))
    with pytest.raises(ValueError, match=r"can read .*open\.txt"):
        submit(tmp_path / "out", entry("Quiet"), policy_command=guest, **options)


@pytest.mark.parametrize(("host", "refused"), [(as_guest, True), (in_namespace, False)])
def test_policies_of_one_user_do_not_play_at_once_where_they_could_end_each_other(
    tmp_path: Path, theirs: Theirs, host: Host, refused: bool
) -> None:
    command = starting(host(theirs), theirs)
    players = Players(load, command, 60.0, LIMITS)
    if refused:
        with pytest.raises(ValueError, match=r"--workers 2: policies of one user could end"):
            check_apart(players, [], Workers(2))
    else:
        check_apart(players, [secret_file(tmp_path)], Workers(2))


def test_the_work_folder_is_its_owners_alone(tmp_path: Path) -> None:
    (tmp_path / ".run").mkdir(mode=0o755)  # of a run that was begun before this was so
    with WorkFolder(tmp_path).locked():
        assert (tmp_path / ".run").stat().st_mode & 0o777 == 0o700


def test_a_policy_begins_with_nothing_but_its_pipes(
    theirs: Theirs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_TOKEN_OF_THE_HOSTS", "hunter2")
    (theirs.folder / "bare.py").write_text(BARE)
    with closing(RemotePolicy(starting((), theirs), "bare:Bare", 60.0, LIMITS)) as remote:
        ask_once(remote)


BARE = """
import os
import numpy as np

class Bare:
    def predict(self, observation, **more):
        assert "A_TOKEN_OF_THE_HOSTS" not in os.environ, "environment"
        assert os.listdir(".") == [], "folder"
        kinds = [os.readlink(f"/dev/fd/{fd}").partition(":")[0] for fd in range(64) if exists(fd)]
        assert kinds == ["/dev/null"] * 3 + ["pipe"] * 2, kinds
        return np.zeros(len(observation), dtype=np.int64), None

def exists(fd):
    try: os.fstat(fd)
    except OSError: return False
    return True
"""


def test_what_a_command_says_of_its_end_is_the_reason(theirs: Theirs) -> None:
    for command, said in (
        (("sh", "-c", "echo first >&2; echo the last line >&2; exit 3"), "status 3: the last line"),
        (("/nowhere/to/be/found",), "status 127: /nowhere/to/be/found: No such file or directory"),
        (("sh", "-c", "kill -9 $$"), "SIGKILL"),
    ):
        remote = RemotePolicy(command, "mine:Quiet", 60.0, LIMITS)
        with closing(remote), pytest.raises(Failure, match=f"its process ended: {said}$"):
            remote.begin(1)


def test_a_run_that_may_not_end_what_it_starts_says_so(theirs: Theirs) -> None:
    """Not even root may without CAP_KILL; the guest's program knows nothing of our pipes."""
    guest = (*as_guest(theirs), "sh", "-c", "echo >&2; exec sleep 60 < /dev/null 2> /dev/null")
    script = (
        "import select, sys;"
        "from failgym.leaderboard.policy_process.kept_process import KeptProcess;"
        "from tests.leaderboard.test_host_mode import LIMITS;"
        "kept = KeptProcess(sys.argv[1:], LIMITS);"
        "select.select([kept.errors], [], []);"  # it runs, as the guest
        "kept.close()"
    )
    weak = ("setpriv", "--bounding-set", "-kill", sys.executable, "-c", script)
    try:
        run = subprocess.run([*weak, *guest], cwd=LIBRARY, capture_output=True, check=False)
        assert b"ValueError: --policy-command: what it starts cannot be ended by" in run.stderr
        assert len(theirs.left()) == 1
    finally:
        for pid in theirs.left():
            os.kill(pid, signal.SIGKILL)


def test_the_file_of_an_agent_is_found_from_an_empty_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("agent.safetensors").touch()
    players = Players(load, COMMAND, 60.0, LIMITS)
    found = players.player("agent", "agent.safetensors")
    assert isinstance(found, RemotePolicy)
    assert found.spec == str(tmp_path / "agent.safetensors")
    assert players.player("agent", "agent.safetensors") is found  # it plays on in one process


def test_processes_that_work_for_a_run_leave_nothing(
    tmp_path: Path, theirs: Theirs, one_cell: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = starting(in_namespace(theirs), theirs)
    monkeypatch.setenv("TMPDIR", str(theirs.folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    before = sorted(theirs.folder.iterdir())
    options: dict[str, Any] = {"policy_command": command, "confinement": LIMITS}
    submit(tmp_path, entry("Outlives"), suite=one_cell, workers=Workers(2), **options)
    assert theirs.left() == []
    assert sorted(theirs.folder.iterdir()) == before
    assert {row["status"] for row in results(tmp_path)} == {"ok"}


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ((0, 4), "--memory-limit: expected a whole number, 16 to"),
        ((1 << 30, 4), "--memory-limit: expected a whole number, 16 to"),
        ((64, 0), "--process-limit: expected a whole number, 1 to"),
    ],
)
def test_limits_that_mean_nothing_are_refused(limits: tuple[int, int], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Confinement(*limits)
