"""Policies of a leaderboard as they are written on the command line: [NAME=]SPEC.

A SPEC is that of `failgym evaluate`. A file may stand for one per environment: `{env}` in its name
is replaced by the environment's (`Cloning-v0`), and where there is no such file the policy does not
play.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import failgym
from failgym.baselines import REGISTRY, Heuristic
from failgym.cli.policy_process import COMMAND
from failgym.cli.specs import load_policy
from failgym.envs.scenario import Scenario
from failgym.evaluation.caller import check_made_for
from failgym.leaderboard import Entry, Ground
from failgym.leaderboard.play import Failure
from failgym.leaderboard.remote import RemotePolicy
from failgym.leaderboard.submission import Kind, PolicyFile, file_sha256

__all__ = ["read_entries"]

ENV = "{env}"
_NAMED = re.compile(r"([^=:/{}]+)=(.+)")
LONGEST_NAME = 200
"""Signs of a name."""


def read_entries(texts: Sequence[str], ground: Ground, time_limit: float) -> list[Entry]:
    """The policies that are named, with the environments that they were made for.

    Code is loaded in a process of its own, never here.

    Raises:
        ValueError: in one line, naming the policy.
    """
    scenarios = {course.env: course.scenario() for course in ground.suite.courses}
    return [_entry(text, scenarios, time_limit) for text in texts]


def _entry(text: str, scenarios: dict[str, Scenario], time_limit: float) -> Entry:
    named = _NAMED.fullmatch(text)
    name, spec = (named[1], named[2]) if named else (text, text)
    if len(name) > LONGEST_NAME or not name.isprintable() or name != name.strip():
        raise ValueError(
            f"--policy {name[:50]!r}: expected a name of printable signs, not too many"
        )
    kind = _kind(spec)
    if kind == "code":
        return Entry(name, kind, dict.fromkeys(_made_for(spec, scenarios, time_limit), spec))
    specs, files = dict[str, str](), dict[str, PolicyFile]()
    seeds = set[int | None]()
    for env, scenario in scenarios.items():
        one = spec.replace(ENV, env)
        if ENV in spec and not Path(one).is_file():
            continue
        policy: Any = load_policy(one)
        if not _fits(policy, scenario):
            continue
        specs[env] = one
        seeds.add(policy.manifest.seed if kind == "agent" else None)
        if one.partition(":")[0] not in REGISTRY:
            files[env] = PolicyFile(name=Path(one).name, sha256=file_sha256(Path(one)))
    if len(seeds) > 1:
        raise ValueError(f"--policy {name}: its agents were trained with different seeds")
    if not specs:
        raise ValueError(f"--policy {text}: was made for no environment of the suite")
    return Entry(name, kind, specs, files, next(iter(seeds)))


def _kind(spec: str) -> Kind:
    if spec.partition(":")[0] in REGISTRY or spec.endswith(".json"):
        return "baseline"
    if spec.endswith(".safetensors"):
        return "agent"
    if ":" not in spec:
        load_policy(spec)  # says in one line what is wrong with it
    return "code"


def _fits(policy: Any, scenario: Scenario) -> bool:
    """Was the policy made for the environment, as far as it says?"""
    try:
        check_made_for(policy, scenario)
    except ValueError:
        return False
    return not isinstance(policy, Heuristic) or policy.compatible(scenario)


def _made_for(spec: str, scenarios: dict[str, Scenario], time_limit: float) -> list[str]:
    """The environments that code was made for; it is asked in a process of its own."""
    remote = RemotePolicy(COMMAND, spec, time_limit)
    try:
        made = dict(zip(failgym.ENVIRONMENTS, remote.made_for(), strict=True))
    except Failure as failure:
        raise ValueError(f"--policy {spec}: {failure.status}: {failure}") from failure
    finally:
        remote.close()
    return [env for env in scenarios if made[env]]
