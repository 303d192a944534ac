"""A name that stands for several files, some words of which are left open.

{env}     the name of an environment, as in ``mine/{env}/maskable_ppo-{seed}.safetensors``
{seed}    a whole number: the files are training runs of one agent
{policy}  anything: each is a policy of its own

A word that is there twice means the same in both places.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["ENV", "POLICY", "SEED", "PatternFile", "pattern_files"]

ENV, POLICY, SEED = "{env}", "{policy}", "{seed}"
_OPEN = {POLICY: r"[^/]+", SEED: r"0|[1-9][0-9]{0,17}"}
"""What may stand for them, as regular expressions."""


class PatternFile(NamedTuple):
    """A file that a pattern stands for."""

    path: str
    policy: str
    """what stands for {policy}; "" if the pattern has none"""
    seed: int | None
    """what stands for {seed}"""


def pattern_files(pattern: str, env: str) -> list[PatternFile]:
    """The files of an environment that there are, by policy and then by seed.

    Args:
        pattern: the name of a file, which may hold `ENV`, `POLICY` and `SEED`.
        env: the environment.
    """
    of_env = pattern.replace(ENV, env)
    if POLICY not in of_env and SEED not in of_env:
        return [PatternFile(of_env, "", None)] if Path(of_env).is_file() else []
    return sorted(_matches(of_env), key=lambda file: (file.policy, file.seed or 0))


def _matches(pattern: str) -> Iterator[PatternFile]:
    wild, shape = "", ""
    seen: set[str] = set()
    for part in re.split(f"({re.escape(POLICY)}|{re.escape(SEED)})", pattern):
        if part not in _OPEN:
            wild, shape = wild + glob.escape(part), shape + re.escape(part)
            continue
        name = part.strip("{}")
        wild, shape = wild + "*", shape + (f"(?P={name})" if part in seen else _group(part, name))
        seen.add(part)
    for path in glob.iglob(wild):
        found = re.fullmatch(shape, path)
        if found and Path(path).is_file():
            said = found.groupdict()
            seed = said.get("seed")
            yield PatternFile(path, said.get("policy", ""), None if seed is None else int(seed))


def _group(part: str, name: str) -> str:
    return f"(?P<{name}>{_OPEN[part]})"
