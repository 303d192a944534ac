"""An honest submission of each kind of policy, and what a forger who knows the format can do."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as pq

from failgym.baselines import BlindKill, RandomPolicy
from failgym.baselines.stored import save_heuristic
from failgym.cli.specs import load_policy
from failgym.leaderboard import Entry, Verification, verify
from failgym.leaderboard.policy_process.players import OwnPolicy, Players
from failgym.leaderboard.submission.layout import action_file
from failgym.leaderboard.submission.records import PolicyFile, file_sha256
from failgym.leaderboard.suite.account import ACCOUNT
from failgym.vocabulary import TERMS
from tests.leaderboard.boards import TINY, edit, rewrite, submit

ENV = "GracePeriod-v1"
SMALL = replace(TINY, name="small", courses=(replace(TINY.courses[0], seeds=(0,)),))
FORECASTS = ("drawn", "none")
REPLAY, RANDOM, TUNED, AGENT, CODE = range(5)
"""Numbers of the policies."""
NAMES = ("replay", "random:seed=3", "blind_kill, tuned", "mine", "theirs")


class InProcess(OwnPolicy):
    """Stands for the process of an agent or of code."""

    def __init__(self, command: Sequence[str], spec: str, *more: Any, **options: Any) -> None:
        self.spec = spec
        super().__init__(load, spec)

    def close(self) -> None:
        """There is no process."""


def load(spec: str) -> Any:
    """A policy of its SPEC; a file that ends with .safetensors says in words what it does."""
    if not spec.endswith(".safetensors"):
        return load_policy(spec)
    said = json.loads(Path(spec).read_text())
    policy = load_policy(said["does"])
    manifest = SimpleNamespace(seed=said["seed"])
    return SimpleNamespace(predict=policy.predict, manifest=manifest, digest=said["does"])


def agent(path: Path, does: str, seed: int = 0) -> Path:
    """Write the file of an agent."""
    path.write_text(json.dumps({"does": does, "seed": seed}))
    return path


def honest(folder: Path) -> Path:
    """A submission of five policies, whose files lie beside its folder."""
    tuned, mine = folder.parent / "blind_kill.json", folder.parent / "mine.safetensors"
    save_heuristic(BlindKill(limit=2.0), tuned)
    save_heuristic(RandomPolicy(), folder.parent / "random.json")
    agent(mine, "random:seed=5")
    agent(folder.parent / "other.safetensors", "random:seed=6")
    files = {
        file: {ENV: PolicyFile(name=file.name, sha256=file_sha256(file))} for file in (tuned, mine)
    }
    submit(
        folder,
        Entry("replay", "baseline", {ENV: "replay"}),
        Entry("random:seed=3", "baseline", {ENV: "random:seed=3"}),
        Entry("blind_kill, tuned", "baseline", {ENV: str(tuned)}, files[tuned]),
        Entry("mine", "agent", {ENV: str(mine)}, files[mine], 0),
        Entry("theirs", "code", {ENV: "failgym.baselines.random_policy:RandomPolicy"}),
        suite=SMALL,
        load=load,
    )
    return folder


def examine(folder: Path, **options: Any) -> Verification:
    """Verify as the command does."""
    return verify(folder, players=Players(load, ("false",), 60.0), **options)


@dataclass(frozen=True)
class Forger:
    """Who changes a copy of the honest submission, and adapts every hash to it."""

    folder: Path

    def file(self, name: str) -> Path:
        """A policy's file."""
        return self.folder.parent / name

    def say(self, change: Callable[[Any], Any]) -> None:
        """Change submission.json."""
        edit(self.folder, change)

    def policy(self, number: int, **values: Any) -> None:
        """State something else of a policy; what it is called, its results and actions are too."""
        about = json.loads((self.folder / "submission.json").read_text())
        policy = about["policies"][number]
        before = (policy["name"], policy["training_seed"])
        policy.update(values)
        after = (policy["name"], policy["training_seed"])
        for forecast in FORECASTS:
            old, new = (action_file(key, ENV, forecast) for key in (before, after))
            about["files"][new] = about["files"].pop(old)
            target = self.folder / new
            target.parent.mkdir(exist_ok=True)
            (self.folder / old).rename(target)
        (self.folder / "submission.json").write_text(json.dumps(about))
        self.results(lambda rows: [self._call(row, before, after) for row in rows])

    def _call(self, row: dict[str, Any], before: Any, after: Any) -> None:
        if (row["policy"], row["training_seed"]) == before:
            row["policy"], row["training_seed"] = after

    def spec(self, number: int, spec: str, file: Path | str | None = None, **values: Any) -> None:
        """State another SPEC, and the hash of a file."""
        sha256 = file_sha256(file) if isinstance(file, Path) else file
        files = {} if file is None else {ENV: {"name": Path(spec).name, "sha256": sha256}}
        self.policy(number, specs={ENV: spec}, files=files, **values)

    def results(self, change: Callable[[list[dict[str, Any]]], Any]) -> None:
        """Change the table of results, and the hash of it."""
        rewrite(self.folder / "results.parquet", change)
        self.rehash()

    def rehash(self) -> None:
        """State the hashes of the files as they are now."""

        def change(about: Any) -> None:
            about["files"] = {name: file_sha256(self.folder / name) for name in about["files"]}

        self.say(change)

    def row(self, number: int, **values: Any) -> None:
        """Change the first episode of a policy."""
        self.results(
            lambda rows: next(r for r in rows if r["policy"] == NAMES[number]).update(values)
        )

    def actions(self, number: int, forecast: str = "drawn") -> Path:
        """The actions of a policy."""
        key = (NAMES[number], 0 if number == AGENT else None)
        return self.folder / action_file(key, ENV, forecast)

    def fail(self, number: int, status: str) -> None:
        """Declare that a policy has failed, as a run would."""
        nothing: dict[str, Any] = dict.fromkeys((*TERMS, *ACCOUNT))
        nothing |= {
            "cost_blocks": [],
            "decisions": 0,
            "illegal": 0,
            "seconds": 0.0,
            "status": status,
            "reason": "x",
        }
        for forecast in FORECASTS:
            rewrite(
                self.actions(number, forecast),
                lambda rows: [r.update(actions=[], counts=[0]) for r in rows],
            )
        self.results(lambda rows: [r.update(nothing) for r in rows if r["policy"] == NAMES[number]])

    def double(self, number: int, **values: Any) -> None:
        """Add a policy that is another one's copy."""
        about = json.loads((self.folder / "submission.json").read_text())
        policy = about["policies"][number]
        twin = {**policy, **values}
        keys = [(one["name"], one["training_seed"]) for one in (policy, twin)]
        for forecast in FORECASTS:
            old, new = (action_file(key, ENV, forecast) for key in keys)
            (self.folder / new).parent.mkdir(exist_ok=True)
            shutil.copyfile(self.folder / old, self.folder / new)
            about["files"][new] = about["files"][old]
        about["policies"].append(twin)
        (self.folder / "submission.json").write_text(json.dumps(about))
        name, seed = keys[1]
        self.results(
            lambda rows: rows.extend(
                {**row, "policy": name, "training_seed": seed}
                for row in list(rows)
                if (row["policy"], row["training_seed"]) == keys[0]
            )
        )

    def link(self, name: str) -> None:
        """Keep a file or folder elsewhere."""
        target = self.folder.parent / "elsewhere"
        (self.folder / name).rename(target)
        (self.folder / name).symlink_to(target)

    def retype(self, column: str, kind: Any) -> None:
        """Give a column of the results another type."""
        file = self.folder / "results.parquet"
        table = pq.ParquetFile(file).read()
        place = table.column_names.index(column)
        table = table.set_column(place, column, table.column(column).cast(kind))
        pq.write_table(table, file)
        self.rehash()
