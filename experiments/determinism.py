"""The same scores and trajectories, whatever the process was started with.

    python -m experiments.determinism [--only NAME ...] [--json FILE]

In a process of its own each time: every registered environment is made from a small trace of its
own profile, two rules of its are scored, and eight episodes at once are stepped at random. The
scores, to the last bit, and a digest of all that was observed are compared with those of a process
that was started plainly. What changes: the seed of Python's hashes, locale, time zone, numbers of
threads, how a process is started (fork, forkserver, spawn), compiled code (for any processor of
this family; and none at all, NUMBA_DISABLE_JIT=1, which takes minutes).
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import failgym
from failgym.baselines import REGISTRY
from failgym.cli.output import JsonFile, print_line, print_table
from failgym.envs import MitigationVectorEnv, Scenario, resolve
from failgym.evaluation import evaluate

RULES = {
    "Cloning-v1": ("algorithm_1", "random"),
    "GracePeriod-v1": ("grace_period", "random"),
    "Checkpoint-v1": ("ml_periodic", "random"),
    "Lineage-v1": ("greedy", "random"),
    "Workflow-v1": ("flaw", "random"),
    "Mitigation-v1": ("all_measures", "random"),
}
"""Two of each environment; the second draws."""
JOBS = {
    **{"Cloning-v1": 200, "GracePeriod-v1": 200, "Checkpoint-v1": 200},
    **{"Lineage-v1": 20, "Workflow-v1": 100},
}
"""Of the traces; Mitigation-v1 is loaded as it should be with its own number only."""
TOO_LONG = "Lineage-v1"
"""Is not played where nothing is compiled: 150,000 tasks."""
EPISODES = 2
"""Slices that are scored."""
SLOTS, STEPS = 8, 40
SETTINGS: dict[str, dict[str, str]] = {
    "hash seed 0": {"PYTHONHASHSEED": "0"},
    "hash seed 12345": {"PYTHONHASHSEED": "12345"},
    "locale C": {"LC_ALL": "C", "LANG": "C"},
    "locale C.UTF-8": {"LC_ALL": "C.UTF-8"},
    "locale that is not there": {"LC_ALL": "tr_TR.UTF-8"},
    "time zone Kathmandu": {"TZ": "Asia/Kathmandu"},
    "time zone New York": {"TZ": "America/New_York"},
    "one thread": {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    "two threads": {"NUMBA_NUM_THREADS": "2", "OMP_NUM_THREADS": "2", "THREADS_OF_BATCH": "2"},
    "fork": {"START_METHOD": "fork"},
    "forkserver": {"START_METHOD": "forkserver"},
    "spawn": {"START_METHOD": "spawn"},
    "any processor": {"NUMBA_CPU_NAME": "generic"},
    "not compiled": {"NUMBA_DISABLE_JIT": "1"},
}
"""What a process is started with. Names that nobody else reads are read in `digests`."""


def digests(threads: int = 1) -> dict[str, Any]:
    """Scores, and a digest of trajectories, of every environment."""
    found: dict[str, Any] = {}
    for name, jobs in {**dict.fromkeys(failgym.ENVIRONMENTS), **JOBS}.items():
        if name == TOO_LONG and os.environ.get("NUMBA_DISABLE_JIT") == "1":
            continue
        scenario = resolve(name, {"jobs": jobs} if jobs else {})
        for rule in RULES[name]:
            score = evaluate(REGISTRY[rule](), scenario, episodes=EPISODES)
            found[f"{name}, {rule}"] = [float(score.score).hex(), float(score.cost).hex()]
        found[f"{name}, stepped"] = stepped(scenario, threads)
    return found


def stepped(scenario: Scenario, threads: int) -> str:
    """A digest of what random legal actions lead to."""
    env = MitigationVectorEnv(scenario, SLOTS, threads=threads)
    rng, content = np.random.default_rng(0), hashlib.sha256()
    observations, infos = env.reset(seed=0)
    for _ in range(STEPS):
        content.update(observations.tobytes())
        chances = rng.random((SLOTS, infos["action_mask"].shape[1])) * infos["action_mask"]
        observations, rewards, ended, _, infos = env.step(chances.argmax(axis=1))
        content.update(rewards.tobytes() + ended.tobytes())
    return content.hexdigest()


def told(connection: Any) -> None:
    """`digests`, to whoever started this process."""
    connection.send_bytes(json.dumps(digests()).encode())
    connection.close()


def of_child(method: str) -> dict[str, Any]:
    """`digests` of a process that is started by a method of `multiprocessing`."""
    context: Any = multiprocessing.get_context(method)
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=told, args=(theirs,))
    child.start()
    theirs.close()
    found: dict[str, Any] = json.loads(ours.recv_bytes())
    child.join()
    return found


def of_process(changes: Mapping[str, str]) -> dict[str, Any]:
    """`digests` of a process with such an environment. Raises RuntimeError if it fails."""
    command = [sys.executable, "-m", "experiments.determinism", "--digests"]
    here = Path(__file__).parents[1]
    done = subprocess.run(
        command, env={**os.environ, **changes}, cwd=here, capture_output=True, check=False
    )
    if done.returncode:
        raise RuntimeError(done.stderr.decode(errors="replace")[-2000:])
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def print_digests() -> None:
    """What a process that `of_process` has started prints."""
    method = os.environ.get("START_METHOD")
    threads = int(os.environ.get("THREADS_OF_BATCH", "1"))
    found = of_child(method) if method else digests(threads)
    print(json.dumps(found))


def main(
    only: Annotated[list[str] | None, typer.Option(help="Only these settings.")] = None,
    digests_only: Annotated[bool, typer.Option("--digests", hidden=True)] = False,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write it there.")] = None,
) -> None:
    """Compare processes that were started in different ways."""
    if digests_only:
        return print_digests()
    file = JsonFile.at(json_file)
    plain = of_process({})
    differing: dict[str, list[str]] = {}
    compared: dict[str, int] = {}
    for name in only or SETTINGS:
        found = of_process(SETTINGS[name])
        differing[name] = [key for key in found if found[key] != plain[key]]
        compared[name] = len(found)
        print_line(f"{name}: {', '.join(differing[name]) or 'the same'}")
    file.write({"compared": compared, "differing": differing})
    rows = [(name, compared[name], ", ".join(keys) or "none") for name, keys in differing.items()]
    print_table(
        "Beside a process that is started plainly", ("started with", "compared", "differ"), rows
    )
    if any(differing.values()):
        raise SystemExit(1)
    return None


if __name__ == "__main__":
    typer.run(main)
