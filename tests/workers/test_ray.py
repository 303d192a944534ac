"""Steps on two nodes of a Ray cluster: the same results, whoever dies."""

# pyright: reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from experiments.kills import Content, json_content, submission_content
from experiments.ray_clusters import add_node, busy_workers, cluster, kill_node
from experiments.run_all import main as run_experiments
from failgym.cli import run
from failgym.leaderboard import verify
from failgym.leaderboard.policy_process.players import Players
from failgym.leaderboard.policy_process.separation import check_apart
from failgym.workers import Workers, at_node, each, ray_cluster
from tests.assessment.records import failing
from tests.leaderboard.boards import COMMAND, baseline, load, submit
from tests.workers.test_engine import ODD, half, odd

pytest.importorskip("ray", reason="Ray is not installed")
pytestmark = pytest.mark.filterwarnings("default")  # Ray warns of itself

POLICIES = ("replay", "random", "blind_kill")
EVALUATE = (
    *("evaluate", "--env", "failgym/GracePeriod-v1", "--traces", "2", "--episodes", "5"),
    *("--set", "jobs=300", "--set", "slice_tasks=16", "--policy", "grace_period"),
)
CLONING = ("tune", "--env", "failgym/Cloning-v1", "--set", "jobs=2000", "--policy", "algorithm_1")
SMOKE = ("leaderboard", "run", "--suite", "smoke", "--policy", "algorithm_1", "--policy", "random")


def ways(made: Any) -> dict[str, list[str]]:
    """What follows `--workers`."""
    return {"alone": ["1"], "nodes": ["ray", "--ray-address", made.address]}


@pytest.fixture(scope="module")
def two_nodes() -> Generator[Any]:
    import ray

    with cluster() as made:
        yield made
        ray.shutdown()


@pytest.fixture
def workers(two_nodes: Any) -> Workers:
    return Workers(address=two_nodes.address)


@dataclass(frozen=True)
class Steps:
    """What is kept in a folder; each step leaves a file when it begins."""

    folder: Path

    def begun(self) -> int:
        return len(list(self.folder.iterdir()))

    def mark(self, name: str) -> bool:
        """Is it the first time?"""
        try:
            (self.folder / name).touch(exist_ok=False)
        except FileExistsError:
            return False
        return True

    def dies_once(self, number: int) -> int:
        """The second step dies, when it is first done."""
        if number == 1 and self.mark("died"):
            os.kill(os.getpid(), signal.SIGKILL)
        return number * number

    def dies(self, number: int) -> int:
        (self.folder / str(time.monotonic_ns())).touch()
        os.kill(os.getpid(), signal.SIGKILL)
        return number

    def where(self, number: int) -> str:
        """On which node."""
        import ray

        time.sleep(0.5)
        return ray.get_runtime_context().get_node_id()

    def waits(self, number: int) -> int:
        """Takes long where it is done first."""
        if self.mark(str(number)):
            time.sleep(2.0)
        return number + 1


def test_results_are_in_the_order_of_items(workers: Workers) -> None:
    done: list[int] = []
    assert each(half, list(range(9)), workers, done=done.append) == [n / 2 for n in range(9)]
    assert sum(done) == 9


def test_all_nodes_work(workers: Workers, tmp_path: Path) -> None:
    assert len(set(each(Steps(tmp_path).where, range(12), workers))) == 2


def test_what_a_step_raises_is_raised(workers: Workers) -> None:
    with pytest.raises(ValueError, match=r"^13 brings bad luck$"):
        each(half, [12, 13, 14], workers)


@pytest.mark.parametrize("kind", ODD)
def test_an_error_that_cannot_be_made_again_is_told(workers: Workers, kind: str) -> None:
    raised, said = ODD[kind]
    with pytest.raises(raised, match=said):
        each(odd, [kind], workers)


def test_a_step_whose_worker_dies_is_done_anew(workers: Workers, tmp_path: Path) -> None:
    assert each(Steps(tmp_path).dies_once, range(4), workers) == [0, 1, 4, 9]
    assert (tmp_path / "died").exists()


def test_a_step_that_always_kills_its_worker_is_named(
    workers: Workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_cluster, "REST", 0.01)
    with pytest.raises(ValueError, match=r"^--workers ray: step 7: .* lost 6 times; the same comm"):
        each(Steps(tmp_path).dies, [7], workers, named=lambda number: f"step {number}")
    assert len(list(tmp_path.iterdir())) == 6


def test_ray_retries_nothing_itself(workers: Workers) -> None:
    """What its memory monitor kills it would begin without end; it does so if it may retry."""
    ray = ray_cluster.connect(str(workers.address))
    steps = ray_cluster._Steps(ray, half, [1], {})
    assert steps.step._default_options["max_retries"] == 0


def test_a_node_that_is_lost_loses_nothing(
    two_nodes: Any, workers: Workers, tmp_path: Path
) -> None:
    lost: list[int] = []

    def look() -> None:
        for node in list(two_nodes.worker_nodes):
            if busy := busy_workers(node):
                lost.extend(busy)
                kill_node(two_nodes, node)

    try:
        found = each(Steps(tmp_path).waits, range(6), workers, look=look)
    finally:
        if not two_nodes.worker_nodes:
            add_node(two_nodes)
    assert found == [1, 2, 3, 4, 5, 6]
    assert lost


def test_a_node_with_another_failgym_is_refused(
    workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(at_node, "_SOURCES", "another")
    with pytest.raises(ValueError, match=r"^--workers ray: node \S+: has failgym of other sources"):
        each(half, [1], workers)


def test_a_node_with_other_packages_is_refused(
    workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(at_node, "_versions", lambda: {"numpy": "1.0"})
    with pytest.raises(ValueError, match=r"node \S+: has numpy \S+: expected 1\.0$"):
        each(half, [1], workers)


def test_a_node_that_does_not_see_the_folder_is_refused(
    workers: Workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    def of_another(path: Path) -> str:
        return "the hash of a file that lies there under this name"

    monkeypatch.setattr(ray_cluster, "_sha256", of_another)
    with pytest.raises(ValueError, match=r"does not see \S+: expected a file system that all"):
        each(half, [1], workers, folder=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_submission_is_the_same_whoever_plays(workers: Workers, tmp_path: Path) -> None:
    crews = {"alone": Workers(), "processes": Workers(2), "nodes": workers}
    for name, crew in crews.items():
        submit(tmp_path / name, *map(baseline, POLICIES), workers=crew)
    alone, *others = (submission_content(tmp_path / name) for name in crews)
    assert all(other == alone for other in others)
    players = Players(load, COMMAND)
    found = verify(tmp_path / "nodes", players=players, workers=workers)
    assert found.problems == ()
    assert {proof.proof for proof in found.proofs} == {"verified"}


def test_evaluate_writes_the_same_whoever_plays(two_nodes: Any, tmp_path: Path) -> None:
    found: list[object] = []
    for name, words in ways(two_nodes).items():
        file = tmp_path / f"{name}.json"
        assert run([*EVALUATE, "--workers", *words, "--json", str(file)]) == 0
        found.append(list(json_content(file).values()))
    assert found[0] == found[1]


def test_nodes_share_a_search(two_nodes: Any, tmp_path: Path) -> None:
    pytest.importorskip("optuna", reason="needs failgym[tuning]")
    from failgym.tuning.search import not_lost
    from tests.tuning.test_shared import study_at

    url = f"journal:{tmp_path / 'trials.log'}"
    words = ["--trials", "5", "--storage", url, "--out", str(tmp_path / "tuned.json")]
    assert run([*CLONING, *words, "--workers", *ways(two_nodes)["nodes"]]) == 0
    there = not_lost(study_at(url))
    assert len(there) == 5
    assert all(trial.state.is_finished() for trial in there)


def test_agents_are_the_same_whoever_trains(workers: Workers, tmp_path: Path) -> None:
    pytest.importorskip("stable_baselines3", reason="needs failgym[agents]")
    from failgym.agents.training.many import train_many
    from tests.agents.test_many import some

    found: list[dict[str, object]] = []
    for name, crew in (("alone", Workers()), ("nodes", workers)):
        for one in train_many(some(tmp_path / name, 2), workers=crew):
            assert one.result is not None, one.problem
        agents = sorted((tmp_path / name).glob("*/best.safetensors"))
        found.append({file.parent.name: file.read_bytes() for file in agents})
        assert [path.name for path in tmp_path.glob(f"{name}/*")] == ["0", "1"]
    assert found[0] == found[1]


def test_an_assessment_is_the_same_whoever_plays(
    two_nodes: Any, tmp_path: Path, shared_worlds: None
) -> None:
    failing(400, (0, 0)).save(tmp_path / "record")
    words = ["assess", str(tmp_path / "record"), "--no-forecasts", "--measures", "kill,retry"]
    words += ["--policies", "retry_cap", "--policies", "optimal_stopping"]
    found: list[Content] = []
    for name, workers in ways(two_nodes).items():
        out = tmp_path / name
        assert run([*words, "--out", str(out), "--workers", *workers]) == 0
        pages = {file.name: file.read_bytes() for file in out.glob("*.html")}
        found.append({**pages, **json_content(out / "report.json")})
        assert list(out.glob(".work/*.npz"))
    assert found[0] == found[1]


def test_experiments_are_the_same_whoever_runs_them(two_nodes: Any, tmp_path: Path) -> None:
    app = typer.Typer()
    app.command()(run_experiments)
    found: list[Content] = []
    for name, workers in ways(two_nodes).items():
        out = tmp_path / name
        asked = ["--only", "elsayed2017_retry_cap", "--out", str(out), "--workers", *workers]
        done = CliRunner().invoke(app, asked)
        assert done.exit_code == 0, done.output
        found.append(json_content(out / "elsayed2017_retry_cap.json"))
    assert found[0] == found[1]


def test_a_host_keeps_policies_apart_on_its_own_machine_only(workers: Workers) -> None:
    with pytest.raises(ValueError, match="is not checked on other machines"):
        check_apart(Players(load, COMMAND), [], workers)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("leaderboard", "verify", "x"), "--workers ray: expected --work or --json beside it"),
        (
            (*CLONING, "--storage", "sqlite:///t.db", "--out", "t.json"),
            "--workers ray: --storage sqlite:///t.db serves processes of one machine: expected jou",
        ),
    ],
)
def test_what_nodes_do_not_share_is_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x").mkdir()
    assert run([*words, "--workers", "ray"]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_an_address_where_nobody_listens_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--workers", "ray", "--ray-address", "127.0.0.1:1"]
    import ray

    ray.shutdown()
    assert run([*SMOKE, "--out", str(tmp_path / "out"), *options]) == 2
    said = capsys.readouterr().err
    assert said.startswith("failgym: --ray-address 127.0.0.1:1: no cluster to work on: ")
    assert said.count("\n") == 1


def listens_silently() -> socket.socket:
    """Something that is no Ray: it takes a call and says nothing."""
    return socket.create_server(("127.0.0.1", 0))


@pytest.mark.parametrize("address", ["auto", "HOST", "ray://HOST"])
@pytest.mark.parametrize("talks", [True, False])
def test_an_address_where_something_else_listens_is_one_line(
    monkeypatch: pytest.MonkeyPatch, address: str, talks: bool
) -> None:
    import threading

    import ray

    ray.shutdown()
    monkeypatch.setattr(ray_cluster, "REACH", 0.5)
    with listens_silently() as other:
        here = f"127.0.0.1:{other.getsockname()[1]}"
        monkeypatch.setenv("RAY_ADDRESS", here)

        def answer() -> None:
            line, _ = other.accept()
            with line:
                line.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                line.recv(100)

        if talks:
            threading.Thread(target=answer, daemon=True).start()
        with pytest.raises(ValueError, match=r"^--ray-address \S+.*: no cluster to work on: "):
            each(half, [1], Workers(address=address.replace("HOST", here)))


def test_an_address_of_the_environment_where_nobody_listens_is_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import ray

    ray.shutdown()
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    with pytest.raises(ValueError, match=r"^--ray-address auto \(RAY_ADDRESS=127.0.0.1:1\): no cl"):
        each(half, [1], Workers(address="auto"))


def test_a_cluster_without_processors_is_told_and_waited_for(
    workers: Workers, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ray = ray_cluster.connect(str(workers.address))
    health = ray_cluster._Health(ray)
    monkeypatch.setattr(ray_cluster, "IDLE", 0.0)
    health.check(0)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(ray, "nodes", lambda: [{"Alive": True, "Resources": {"CPU": 0.5}}])
    for _ in range(3):
        health.check(0)
    said = capsys.readouterr().err
    assert said.startswith("failgym: --workers ray: none of the cluster's 1 nodes has a processor")
    assert said.count("\n") == 1


def test_a_head_node_that_is_lost_is_one_line(
    workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    health = ray_cluster._Health(ray_cluster.connect(str(workers.address)))
    monkeypatch.setattr(ray_cluster, "HEADLESS", 0.0)
    health.asked -= 60.0
    health.check(0)  # it answers
    health.head = "127.0.0.1", 1
    health.asked -= 60.0
    health.check(0)  # not for the first time
    health.asked -= 60.0
    with pytest.raises(ValueError, match=r"^--workers ray: the cluster's head node is lost; the"):
        health.check(0)


@pytest.mark.campaign
def test_the_smoke_suite_is_the_same_whoever_plays(two_nodes: Any, tmp_path: Path) -> None:
    crews = {"1": ["1"], "2": ["2"], "ray": ["ray", "--ray-address", two_nodes.address]}
    for name, words in crews.items():
        assert run([*SMOKE, "--out", str(tmp_path / name), "--workers", *words]) == 0
    alone, *others = (submission_content(tmp_path / name) for name in crews)
    assert all(other == alone for other in others)
