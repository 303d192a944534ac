"""What more processors would take follows from the steps; what is finished is kept."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from experiments import many_machines
from experiments.cluster_kills import Board
from experiments.many_machines import NODES, ONE, TWO, Measuring, makespan, on_paper, timed
from experiments.ray_clusters import TRIES, add_node
from experiments.result_tables.machines import machines
from failgym.workers.ray_cluster import WAITING
from tests.leaderboard.boards import TINY


@pytest.mark.parametrize(
    ("steps", "processors", "overhead", "seconds"),
    [
        ([3.0, 1.0, 2.0], 1, 0.0, 6.0),
        ([3.0, 1.0, 2.0], 2, 0.0, 3.0),
        ([1.0, 1.0, 3.0], 2, 0.0, 4.0),  # the longest comes last
        ([3.0, 1.0, 2.0], 99, 0.0, 3.0),
        ([0.1] * 100, 99, 1.0, 100.1),  # one follows the other
        ([1.0] * (WAITING + 1), 10 * WAITING, 0.0, 2.0),  # no more are handed out at once
        ([], 2, 1.0, 0.0),
    ],
)
def test_each_processor_takes_the_next_step(
    steps: list[float], processors: int, overhead: float, seconds: float
) -> None:
    assert makespan(steps, processors, overhead) == pytest.approx(seconds)


def test_phases_follow_each_other_and_the_rest_stays() -> None:
    rest, papers = on_paper([[1.0, 1.0], [4.0]], 10.0, begin=0.5, overhead=0.0)
    assert rest == pytest.approx(4.0)
    found = {(one.processors, one.times): one.seconds for one in papers}
    assert found[2, 1] == pytest.approx(0.5 + 4.0 + 1.0 + 4.0)
    assert found[2, 10] == pytest.approx(0.5 + 40.0 + 10.0 + 20.0)
    assert found[2_048, 10] == pytest.approx(0.5 + 40.0 + 1.0 + 4.0)


def test_each_step_of_one_process_is_timed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared_worlds: None
) -> None:
    file, out = tmp_path / "steps.json", tmp_path / "out"
    words = ["leaderboard", "run", "--suite", TINY.name, "--out", str(out), "--policy", "replay"]
    monkeypatch.setattr(sys, "argv", ["failgym", str(file), *words, "--workers", "1"])
    with pytest.raises(SystemExit) as ended:
        timed()
    assert ended.value.code in (0, None)
    found = json.loads(file.read_text())
    assert [kind for kind, _ in found] == ["trace"] * 2 + ["cells"] * 4
    assert all(seconds > 0.0 for _, seconds in found)
    assert (out / "submission.json").is_file()


class Busy:
    """A cluster whose nodes are there in time only at the last try; the others may join later."""

    def __init__(self, in_time: int) -> None:
        self.in_time, self.begun = in_time, list[subprocess.Popen[bytes]]()

    def add_node(self, **_: Any) -> int:
        self.begun.append(subprocess.Popen(["sleep", "60"]))
        if len(self.begun) < self.in_time:
            raise Exception("The current node timed out during startup.")
        return len(self.begun)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc on this platform")
def test_a_node_that_is_late_is_begun_again_and_leaves_nothing() -> None:
    busy, busier = Busy(3), Busy(TRIES + 1)
    assert add_node(busy) == 3
    with pytest.raises(Exception, match="timed out"):
        add_node(busier)
    first, second, third = busy.begun
    third.kill()
    ends = [one.wait() for one in (first, second, *busier.begun)]
    assert ends == [-signal.SIGKILL] * (2 + TRIES)
    third.wait()


def content() -> dict[str, Any]:
    def run(seconds: float, **more: Any) -> dict[str, Any]:
        return {"seconds": seconds, "load": 0.2, "differences": [], **more}

    engines = [
        {"begin": begin, "overhead": overhead, "efficiency": 0.95}
        for begin, overhead in ((8.0, 1e-4), (0.02, 9e-4))
    ]
    return {
        "suite": "smoke",
        "policies": ["replay", "flaw"],
        "host": {"processor": "A chip"},
        "steps": [["trace", 20.0], ["trace", 30.0], ["cells", 50.0]],
        "runs": {ONE: run(110.0), TWO: run(80.0), NODES: run(68.75)},
        "kills": {"worker": run(300.0, kills=5, rounds=2)},
        "costs": {"load": 0.4, "engines": engines},
        "paper": {
            "rest": 10.0,
            "papers": [
                {"processors": processors, "times": times, "seconds": seconds}
                for processors, times, seconds in ((2, 1, 90.0), (2_048, 1, 80.0), (2, 10, 900.0))
            ]
            + [{"processors": 2_048, "times": 10, "seconds": 180.0}],
        },
    }


def test_the_tables_say_what_was_measured_and_what_was_worked_out() -> None:
    told = machines(content()).splitlines()
    assert told[0] == (
        "Suite `smoke`, `replay`, `flaw`, on two processors (A chip)."
        " Load of the machine before each run, what ran last included: 0.2 to 0.4."
    )
    assert told[4:7] == [
        "| one process | 110 | - | - | - | - | none |",
        "| two processes | 80 | 0.69 | 0.95 | 8.0 | 0.10 | none |",
        "| two nodes | 69 | 0.80 | 0.95 | 0.0 | 0.90 | none |",
    ]
    assert "| a process that does a step | 5 | 2 | none |" in told
    assert "| processors, worked out | 3 steps [s] | 30 steps [s] |" in told
    assert "| 2,048 | 80 | 180 |" in told
    assert told[-1] == (
        "Measured on two nodes: 69 s. The longest step takes 50.0 s, and 10 s of the run of one"
        " process are no step."
    )


def test_a_busy_machine_is_said_to_be_one() -> None:
    busy = content()
    busy["runs"][TWO]["load"] = 4.0
    assert "Other work made these times longer" in machines(busy)


def test_what_is_finished_is_not_run_again(tmp_path: Path) -> None:
    known = content()
    measuring = Measuring(Board("no such suite", tmp_path), known, tmp_path / "file.json")
    measuring.whole(NODES, "nowhere")
    measuring.kill("worker", None, 5, 0)
    measuring.costs(1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("held", "said"),
    [
        ('{"suite": "v2-lite"}', "was measured with other suite: v2-lite, and now smoke: use the"),
        ("half", "expected JSON, or no file"),
    ],
)
def test_other_measurements_are_not_joined(
    held: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(many_machines, "find_spec", str)
    file = tmp_path / "machines.json"
    file.write_text(held)
    app = typer.Typer()
    app.command()(many_machines.main)
    done = CliRunner().invoke(app, ["--json", str(file)])
    assert (done.exit_code, len(done.output.strip().splitlines())) == (2, 1), done.output
    assert said in done.output
    assert file.read_text() == held
    assert list(tmp_path.iterdir()) == [file]
