"""Made-up submissions, whose policies differ by a known skill."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from failgym.envs.spaces import TERMS
from failgym.leaderboard.page.source import COLUMNS, PolicyRun, Source
from failgym.leaderboard.submission.records import file_sha256
from failgym.leaderboard.submission.tables import ANCHOR_BLOCKS, BLOCKS, RESULTS
from failgym.leaderboard.suite.suites import SUITES

__all__ = ["ENVS", "entry", "results", "store", "submission", "with_bound"]

ENVS = (
    "Cloning-v1",
    "GracePeriod-v1",
    "Checkpoint-v1",
    "Lineage-v1",
    "Workflow-v1",
    "Mitigation-v1",
)
HELP = {"drawn": 1.0, "trained": 0.6, "none": 0.2}
"""What forecasts make of a skill."""
SHARES = np.array([0.45, 0.1, 0.4, 0.03, 0.02])
"""Of the cost, by term."""


def entry(name: str, kind: str = "baseline", training_seed: int | None = None) -> PolicyRun:
    return PolicyRun(
        name,
        kind,
        training_seed,
        specs=dict.fromkeys(ENVS, name),
        files={},
        command=f"failgym leaderboard run --suite v2 --policy '{name}' --out runs/{name}",
        versions={"python": "3.11.9", "numpy": "2.4.6"},
    )


MADE_BLOCKS = 7
"""Blocks of a made-up trace."""


def results(
    skills: dict[tuple[str, int | None], float],
    *,
    envs: Sequence[str] = ENVS,
    forecasts: Sequence[str] = tuple(HELP),
    slices: int = 20,
    seed: int = 0,
) -> pd.DataFrame:
    """An episode per row, of policies by name and training seed with their skill in [0, 1]."""
    parts: list[pd.DataFrame] = []
    for at, env in enumerate(envs):
        world = np.random.default_rng([seed, at])
        replay = world.gamma(4.0, 0.5, slices) + 1.0
        bound = replay * world.uniform(0.2, 0.6, slices)
        for forecast in forecasts:
            for number, ((policy, training_seed), skill) in enumerate(skills.items()):
                rng = np.random.default_rng([seed, at, number])
                share = HELP[forecast] * (skill + 0.2 * rng.standard_normal(slices) * (skill != 0))
                cost = replay - share * (replay - bound)
                rows = pd.DataFrame(cost[:, None] * SHARES, columns=list(TERMS))
                anchors = zip(ANCHOR_BLOCKS, (replay, bound, 2.0 * replay), strict=True)
                blocks = {name: shared_out(of) for name, of in ((BLOCKS, cost), *anchors)}
                rows = rows.assign(
                    policy=policy,
                    env=env,
                    forecast=forecast,
                    training_seed=pd.array([training_seed] * slices, dtype="Int64"),
                    seed=0,
                    slice=np.arange(slices),
                    replay_cost=replay,
                    bound_cost=bound,
                    replay_spent=2.0 * replay,
                    **counted(cost, replay, bound),
                    **blocks,
                    decisions=rng.integers(100, 5_000, slices),
                    illegal=0,
                    seconds=rng.uniform(0.01, 0.1, slices),
                    status="ok",
                    reason="",
                )
                parts.append(rows[list(COLUMNS)])
    return pd.concat(parts, ignore_index=True)


def counted(
    cost: npt.NDArray[np.float64],
    replay: npt.NDArray[np.float64],
    bound: npt.NDArray[np.float64],
) -> dict[str, npt.NDArray[np.float64]]:
    """The columns in plain units: a unit of cost is half an hour of a machine."""
    apart, nothing = np.abs(replay - cost), np.zeros(len(cost))
    stake = np.full(len(cost), np.maximum(replay - bound, 0.0).sum())
    return {
        "waste_hours": 0.25 * cost,
        "completion_hours": 20.0 * cost,
        "forfeits": np.floor(cost),
        "false_kills": np.floor(0.5 * cost),
        "moved": apart,
        "moved_drawn": 0.25 * apart,
        "others_wasted": nothing,
        "others_overhead": nothing,
        "others_completion": nothing,
        "replay_hours": replay,
        "replay_waste_hours": 0.25 * replay,
        "replay_completion_hours": 20.0 * replay,
        "tasks": np.full(len(cost), 50.0),
        "stake": stake,
        "stake_in_top": 0.1 * stake,
        "stake_in_top_percent": 0.2 * stake,
    }


def shared_out(costs: npt.NDArray[np.float64]) -> pd.Series[Any]:
    """Costs of slices among blocks: each has its own, or lies across two of them."""
    count = min(len(costs), MADE_BLOCKS)
    share = np.zeros((len(costs), count))
    at = np.arange(len(costs)) * count // len(costs)
    share[np.arange(len(costs)), at] += 0.75
    share[np.arange(len(costs)), np.minimum(at + 1, count - 1)] += 0.25
    return pd.Series((share * costs[:, None]).tolist())


def with_bound(rows: pd.DataFrame, bound: pd.Series[float]) -> pd.DataFrame:
    """The rows with other costs of the bound, shared out among the blocks as before."""
    factor = (bound / rows["bound_cost"]).tolist()
    blocks = [
        [x * by for x in of] for of, by in zip(rows["bound_cost_blocks"], factor, strict=True)
    ]
    shared = pd.Series(blocks, index=rows.index)
    return rows.assign(bound_cost=bound, bound_cost_blocks=shared)


def submission(rows: pd.DataFrame, entries: Sequence[PolicyRun], folder: str = "one") -> Source:
    return Source(
        rows,
        tuple(entries),
        suite="v2, version 2",
        digest=SUITES["v2"].digest,
        failgym="0.9.0",
        traces=tuple((env, 0, f"{at:02x}" * 32) for at, env in enumerate(ENVS)),
        folder=folder,
    )


def store(made: Source, folder: Path, files: Mapping[str, dict[str, Any]] | None = None) -> Path:
    """Write a made-up submission as the folder of one.

    Args:
        made: its results and policies.
        folder: what to write; made here.
        files: policy -> its files by environment, as `submission.json` has them.
    """
    folder.mkdir(parents=True)
    rows = pa.Table.from_pandas(
        made.results.assign(weight=1.0), schema=RESULTS, preserve_index=False
    )
    pq.write_table(rows, folder / "results.parquet")
    policies = [
        {
            **vars(each),
            "files": (files or {}).get(each.name, {}),
            "specs": dict(each.specs),
            "versions": dict(each.versions),
        }
        for each in made.entries
    ]
    manifest = {
        "format": "failgym submission",
        "format_version": 4,
        "seconds": {"engine": 1.0, "policy": 1.0},
        "files": {"results.parquet": file_sha256(folder / "results.parquet")},
        "failgym": made.failgym,
        "suite": {"name": "v2", "version": 2, "digest": made.digest},
        "secret": None,
        "left_out": [],
        "traces": [{"env": env, "seed": at, "content_hash": of} for env, at, of in made.traces],
        "policies": policies,
    }
    (folder / "submission.json").write_text(json.dumps(manifest), encoding="utf-8")
    return folder
