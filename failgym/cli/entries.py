"""Policies of a leaderboard as they are written on the command line: [NAME=]SPEC.

A SPEC is that of `failgym evaluate`. The name of a file may stand for several
(`failgym.cli.patterns`): `{env}` for one per environment, `{seed}` for the training runs of one
agent, `{policy}` for a policy each, whose NAME says `{policy}` too. In suites that play folds
`{fold}` stands for one per fold, all of which must be there. Where there is no file a policy does
not play, and a note says so.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import failgym
from failgym.additions import additions
from failgym.baselines import REGISTRY, Heuristic
from failgym.cli.patterns import ENV, POLICY, SEED, PatternFile, pattern_files
from failgym.cli.specs import ALL_BASELINES, load_policy
from failgym.evaluation.caller import made_for
from failgym.leaderboard import Entry, SuiteWorlds
from failgym.leaderboard.policy_process.players import Players
from failgym.leaderboard.submission.records import Kind, PolicyFile
from failgym.leaderboard.submission.specs import FOLD, sha256_of, specs_of
from failgym.leaderboard.suite.episodes import Failure
from failgym.worlds.inputs import FORECAST_INPUTS, missing_inputs
from failgym.worlds.scenario import Scenario

__all__ = ["ALL_BASELINES", "Wanted", "read_entries"]

_NAMED = re.compile(r"((?:[^=:/{}]|\{policy\})+)=(.+)")
LONGEST_NAME = 200
"""Signs of a name."""
AGENT, STORED = ".safetensors", ".json"
"""How names of files end: of a trained agent, of the parameters of a baseline."""


class Wanted(NamedTuple):
    """The policies that are named."""

    entries: list[Entry]
    notes: list[str]
    """a line for each option whose files are not there for all environments and training runs, and
    for each baseline that does not play where it could, for want of something in the trace"""


class _NowhereToPlay(ValueError):
    """A policy that can play in no environment of the suite."""


def read_entries(texts: Sequence[str], worlds: SuiteWorlds, players: Players) -> Wanted:
    """The policies that are named, with the environments that they were made for.

    Code is loaded in a process of its own, never here.

    Args:
        texts: [NAME=]SPEC each.
        worlds: what they meet on.
        players: asks code what it was made for.

    Raises:
        ValueError: in one line, naming the policy.
    """
    scenarios = {course.env: course.scenario() for course in worlds.suite.courses}
    wanted = Wanted([], [])
    for text in texts:
        if text == ALL_BASELINES:
            _add_baselines(wanted, scenarios, players, worlds)
            continue
        entries = _entries(text, scenarios, players, worlds, wanted.notes)
        wanted.entries.extend(entries)
        if ENV in text:
            wanted.notes.extend(_note(_split(text)[0], entries, list(scenarios)))
    return wanted


def _add_baselines(
    wanted: Wanted, scenarios: dict[str, Scenario], players: Players, worlds: SuiteWorlds
) -> None:
    """Every baseline that can play somewhere; a line for each that cannot."""
    for name in REGISTRY:
        try:
            wanted.entries.extend(_entries(name, scenarios, players, worlds, wanted.notes))
        except _NowhereToPlay as nowhere:
            wanted.notes.append(
                f"{name}: skipped: {str(nowhere).removeprefix(f'--policy {name}: ')}"
            )


def _split(text: str) -> tuple[str, str]:
    """Name and SPEC. Raises ValueError."""
    named = _NAMED.fullmatch(text)
    name, spec = (named[1], named[2]) if named else (text, text)
    if len(name) > LONGEST_NAME or not name.isprintable() or name != name.strip():
        raise ValueError(
            f"--policy {name[:50]!r}: expected at most {LONGEST_NAME} printable"
            " characters, without white space around them"
        )
    if POLICY in spec and POLICY not in name:
        raise ValueError(f"--policy {name}: expected {POLICY} in the name too: names must differ")
    if POLICY in name and POLICY not in spec:
        raise ValueError(
            f"--policy {name}: has {POLICY} in the name, expected it in the file too, got {spec!r}"
        )
    return name, spec


def _entries(
    text: str,
    scenarios: dict[str, Scenario],
    players: Players,
    worlds: SuiteWorlds,
    notes: list[str],
) -> list[Entry]:
    name, spec = _split(text)
    kind = _kind(spec)
    if SEED in spec and kind != "agent":
        raise ValueError(f"--policy {text}: {SEED} is for trained agents, {AGENT}")
    if kind == "code":
        return [Entry(name, kind, dict.fromkeys(_made_for(spec, scenarios, players), spec))]
    runs: dict[tuple[str, int | None], _Run] = {}
    lacking: list[str] = []
    for env, scenario in scenarios.items():
        for file in _by_fold(text, spec, env, worlds) if FOLD in spec else _files(spec, env):
            paths = specs_of(file.path)
            policies: list[Any] = [load_policy(one) for one in paths]
            fits = [made_for(policy, scenario) for policy in policies]
            if any(fits) and not all(fits):
                raise ValueError(
                    f"--policy {text}: {paths[fits.index(False)]} was not made for {env}, as those"
                    " of other folds were"
                )
            if not any(fits):
                continue
            lacks = next(filter(None, (_lacks(one, worlds, env) for one in policies)), None)
            if lacks:
                lacking.append(f"not played in {env}: {lacks}")
                continue
            seeds = {_trained(policy, file) for policy in policies}
            if FOLD in spec and len(seeds) > 1:
                raise ValueError(
                    f"--policy {text}: expected agents of one training seed in {env}, got"
                    f" {', '.join(sorted(map(str, seeds)))}"
                )
            run = runs.setdefault((file.policy, file.seed), _Run(min(seeds, key=str)))
            run.add(env, file.path, seeds, name)
    if not runs:
        why = "; ".join(lacking) or "was made for no environment of the suite"
        raise _NowhereToPlay(f"--policy {text}: {why}")
    notes.extend(f"{name}: {line}" for line in lacking)
    return [
        Entry(name.replace(POLICY, policy), kind, run.specs, run.files, run.seed)
        for (policy, _), run in sorted(runs.items(), key=lambda item: (item[0][0], item[0][1] or 0))
    ]


def _files(spec: str, env: str) -> list[PatternFile]:
    """What a SPEC names in an environment; what is no pattern is there, or loading it says why."""
    if not any(word in spec for word in (ENV, POLICY, SEED)):
        return [PatternFile(spec, "", None)]
    return pattern_files(spec, env)


def _by_fold(text: str, spec: str, env: str, worlds: SuiteWorlds) -> list[PatternFile]:
    """What a SPEC with a file for each fold names in an environment. Raises ValueError."""
    if not spec.endswith((STORED, AGENT)) or POLICY in spec or SEED in spec:
        raise ValueError(f"--policy {text}: {FOLD} is for files, beside {ENV} only")
    if not worlds.suite.course(env).folds:
        raise ValueError(
            f"--policy {text}: {FOLD} is for suites that play folds, {worlds.suite.name} has none"
        )
    of_env = spec.replace(ENV, env)
    missing = [one for one in specs_of(of_env) if not Path(one).is_file()]
    if ENV in spec and len(missing) == len(specs_of(of_env)):
        return []
    if missing:
        raise ValueError(f"--policy {text}: expected a file for each fold, found no {missing[0]}")
    return [PatternFile(of_env, "", None)]


@dataclass
class _Run:
    """One training run of a policy, or the only one."""

    seed: int | None
    specs: dict[str, str] = field(default_factory=dict[str, str])
    files: dict[str, PolicyFile] = field(default_factory=dict[str, PolicyFile])

    def add(self, env: str, spec: str, seeds: set[int | None], name: str) -> None:
        """Play in an environment too. Raises ValueError."""
        if seeds != {self.seed}:
            raise ValueError(
                f"--policy {name}: its agents were trained with different seeds; {SEED} in the"
                " names of their files makes them training runs"
            )
        self.specs[env] = spec
        if spec.partition(":")[0] not in REGISTRY:
            self.files[env] = PolicyFile(name=Path(spec).name, sha256=sha256_of(spec))


def _trained(policy: Any, file: PatternFile) -> int | None:
    """The seed that a policy was trained with. Raises ValueError."""
    if not file.path.endswith(AGENT):
        return None
    stated: int | None = policy.manifest.seed
    if None not in (stated, file.seed) and stated != file.seed:
        raise ValueError(f"{file.path}: was trained with seed {stated}, its name says {file.seed}")
    return file.seed if stated is None else stated


def _note(name: str, entries: Sequence[Entry], envs: Sequence[str]) -> Iterator[str]:
    """Say where files are missing, in a line, and which agents lack training runs, if any do."""
    played = {env for entry in entries for env in entry.specs}
    if missing := [env for env in envs if env not in played]:
        yield f"{name}: no file made for {', '.join(missing)}"
    for agent in dict.fromkeys(entry.name for entry in entries if entry.kind == "agent"):
        runs = Counter(env for entry in entries if entry.name == agent for env in entry.specs)
        if len(set(runs.values())) > 1:
            counted = ", ".join(f"{runs[env]} for {env}" for env in envs if env in runs)
            yield f"{agent}: not equally many training runs: {counted}"


def _kind(spec: str) -> Kind:
    if spec.partition(":")[0] in REGISTRY or spec.endswith(STORED):
        return "baseline"
    if spec.endswith(AGENT):
        return "agent"
    if ":" not in spec and spec not in additions("policies", REGISTRY):
        load_policy(spec)  # says in one line what is wrong with it
    return "code"


def _lacks(policy: Any, worlds: SuiteWorlds, env: str) -> str | None:
    """What a user's trace lacks without which a baseline never acts; None if it has all.

    Forecasts are the suite's: who plays without one is meant to.
    """
    if not worlds.suite.real or not isinstance(policy, Heuristic):
        return None
    names = policy.inputs() - FORECAST_INPUTS
    if not names:
        return None
    blind = [c for c in worlds.suite.cells() if (c.env, c.forecast) == (env, "none")]
    lacks = [missing_inputs(worlds.world(cell), names) for cell in blind]
    return "; ".join(min(lacks, key=len))  # of folds any that has all will do


def _made_for(spec: str, scenarios: dict[str, Scenario], players: Players) -> list[str]:
    """The environments that code was made for; it is asked in a process of its own."""
    try:
        made = dict(zip(failgym.ENVIRONMENTS, players.made_for(spec), strict=True))
    except Failure as failure:
        raise ValueError(f"--policy {spec}: {failure.status}: {failure}") from failure
    return [env for env in scenarios if made[env]]
