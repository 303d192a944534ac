"""A run that was interrupted, wherever and however, ends as if it had not been."""

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

torch = pytest.importorskip("torch", reason="needs the agents extra")
pytest.importorskip("sb3_contrib", reason="needs the agents extra")

from failgym.agents.algorithms.registry import ALGORITHMS  # noqa: E402
from failgym.agents.files.policy_file import load_agent  # noqa: E402
from tests.agents.runs import (  # noqa: E402
    CLONING,
    FAILING,
    SHORT,
    STEPS,
    Crash,
    assert_same_state,
    checkpoint,
    crash_after,
    short_run,
    weights,
)

COMMAND = (sys.executable, "-c", "from failgym.cli import main; main()")


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_an_interrupted_run_ends_as_one_that_was_not(algo: str, tmp_path: Path) -> None:
    whole = short_run(tmp_path / "whole", algo)
    parts = tmp_path / "parts"
    rng = random.Random(algo)
    with pytest.raises(Crash):
        short_run(parts, algo, progress=crash_after(rng.randrange(1, STEPS // 2)))
    with pytest.raises(Crash):
        short_run(parts, algo, resume=True, progress=crash_after(rng.randrange(STEPS // 2, STEPS)))
    resumed = short_run(parts, algo, resume=True)
    assert resumed.steps == whole.steps >= STEPS
    assert resumed.validations == whole.validations
    assert resumed.best == whole.best
    assert_same_state(checkpoint(tmp_path / "whole"), checkpoint(parts))
    best, expected = load_agent(resumed.policy), load_agent(whole.policy)
    networks: list[Any] = [best.network, expected.network]
    assert_same_state(*(network.state_dict() for network in networks))
    assert best.manifest.steps == expected.manifest.steps == whole.best.steps


@pytest.mark.parametrize("credit", [None, {"scale": 5.0}])
def test_in_the_scheduled_world_too(credit: Any, tmp_path: Path) -> None:
    env = "failgym/Mitigation-v1"
    hyper = {**SHORT["maskable_ppo"], "credit": credit}
    options: dict[str, Any] = {"env": env, "episodes": 2, "algo": "maskable_ppo", "hyper": hyper}
    whole = short_run(tmp_path / "whole", **options)
    with pytest.raises(Crash):
        short_run(tmp_path / "parts", **options, progress=crash_after(400))
    resumed = short_run(tmp_path / "parts", **options, resume=True)
    assert resumed.validations == whole.validations
    assert_same_state(checkpoint(tmp_path / "whole"), checkpoint(tmp_path / "parts"))


def test_statistics_of_episodes_go_on(tmp_path: Path) -> None:
    """Returns of the episodes that were running, and the last of those that were over."""
    kept: list[Any] = []
    for name, after in (("whole", []), ("parts", [200])):
        for steps in after:
            with pytest.raises(Crash):
                short_run(tmp_path / name, progress=crash_after(steps))
        short_run(tmp_path / name, resume=bool(after))
        state = checkpoint(tmp_path / name)["model"]
        assert len(state["ended"]) == 100
        assert state["tally"]["lengths"].max() > 0
        kept.append(state)
    assert_same_state(kept[0]["ended"], kept[1]["ended"])
    assert_same_state(kept[0]["tally"], kept[1]["tally"])


def test_the_same_seed_gives_the_same_weights(tmp_path: Path) -> None:
    short_run(tmp_path / "first", seed=3)
    short_run(tmp_path / "second", seed=3, checkpoint_every=300, validate_every=384)
    short_run(tmp_path / "other", seed=4)
    first, second, other = (weights(tmp_path / n) for n in ("first", "second", "other"))
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not all(torch.equal(first[name], other[name]) for name in first)


def test_a_killed_command_goes_on(tmp_path: Path) -> None:
    options = ["train", "--env", CLONING, "--algo", "ppo", "--steps", "100000", "--n-envs", "8"]
    options += ["--set", "jobs=600", "--set", "slice_tasks=4", "--set", f"trace={FAILING}"]
    options += ["--episodes", "50"]
    options += ["--validate-every", "4000", "--checkpoint-every", "400"]
    options += [text for name in ("n_steps=16", "batch_size=64") for text in ("--hyper", name)]
    killed = tmp_path / "killed"
    with subprocess.Popen([*COMMAND, *options, "--out", str(killed)]) as process:
        try:
            wait_for(killed / "best.safetensors", process)
            time.sleep(random.random() / 4)
        finally:
            process.kill()  # SIGKILL
    assert not (killed / "result.json").exists()
    done = checkpoint(killed)["model"]["counters"]["num_timesteps"]
    assert 0 < done < 100_000
    again: dict[str, Any] = {"steps": 100_000, "checkpoint_every": 400, "validate_every": 4_000}
    again |= {"hyper": {"n_steps": 16, "batch_size": 64}}
    with pytest.raises(Crash):
        short_run(killed, **again, resume=True, progress=crash_after(done + 600))
    with pytest.raises(Crash):
        short_run(tmp_path / "whole", **again, progress=crash_after(done + 600))
    assert_same_state(checkpoint(killed), checkpoint(tmp_path / "whole"))
    load_agent(killed / "best.safetensors")


def test_ctrl_c_takes_a_checkpoint(tmp_path: Path) -> None:
    def press(done: int) -> None:
        nonlocal made
        made += done
        if made == 200:
            os.kill(os.getpid(), signal.SIGINT)

    made = 0
    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        short_run(tmp_path / "run", checkpoint_every=10_000, progress=press)
    assert signal.getsignal(signal.SIGINT) is handler
    assert checkpoint(tmp_path / "run")["model"]["counters"]["num_timesteps"] == 256
    assert short_run(tmp_path / "run", checkpoint_every=10_000, resume=True).steps == STEPS


def wait_for(file: Path, process: subprocess.Popen[bytes]) -> None:
    """Wait until a process has written a file."""
    deadline = time.monotonic() + 600
    while not file.is_file():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
