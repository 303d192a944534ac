"""`failure_queries`: what a policy had to know of the failures of machines, slice by slice."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.evaluation.caller import Caller, Predicts, playing_by, policy_name
from failgym.sim.shared.rules import Rules
from failgym.worlds.world import World

__all__ = ["failure_queries"]

Ints = npt.NDArray[np.int64]


def failure_queries(
    world: World, rules: Rules, policy: Predicts, slices: Ints | None = None
) -> list[dict[str, npt.NDArray[Any]]]:
    """The queries "will this machine fail before the task would be done?" of a policy's episodes.

    Args:
        world: a compiled scheduled world with slices, in which machines are offered (``place``).
        rules: the rules that it was compiled for.
        policy: decides; asked once per step for all slices together.
        slices: [n] which slices; all by default.

    Returns:
        A table for each slice, as `failgym.metrics.count_answers` takes it: columns event, job,
        machine, asked, answered (the forecast's answer), fails (the true one), with a row for every
        task that is turned to and every machine then free.

    Raises:
        ValueError: for a world or rules in which no machine is offered, and for what the policy
            raises or returns.
    """
    if not (world.scene("time").machines and getattr(rules, "place", False)):
        raise ValueError("place: expected a scheduled world in which machines are offered")
    policy = playing_by(policy, rules)
    chosen = np.arange(world.slices) if slices is None else np.asarray(slices, np.int64)
    batch = world.batch(rules, len(chosen), "time", log=True)
    caller = Caller(policy, len(chosen), True, policy_name(policy))
    batch.reset(chosen)
    caller.begin(np.ones(len(chosen), dtype=np.bool_))
    parts: list[list[npt.NDArray[Any]]] = [[] for _ in chosen]
    while not batch.state.episodes["done"].all():
        batch.step(caller.act(batch.output, ~batch.state.episodes["done"]))
        _drain(batch, parts)
    return [_columns(np.concatenate(rows)) if rows else _columns(_none(batch)) for rows in parts]


def _drain(batch: Any, parts: list[list[npt.NDArray[Any]]]) -> None:
    """Move what has been noted down to the parts; the log of events is not kept."""
    episodes = batch.state.episodes
    for episode in np.flatnonzero(episodes["queries"]).tolist():
        count = int(episodes["queries"][episode])
        parts[episode].append(batch.array("queries", episode)[:count].copy())
    episodes["queries"] = 0
    episodes["logged"] = 0


def _none(batch: Any) -> npt.NDArray[Any]:
    """No query."""
    return batch.array("queries", 0)[:0]


def _columns(rows: npt.NDArray[Any]) -> dict[str, npt.NDArray[Any]]:
    return {name: rows[name].copy() for name in rows.dtype.names or ()}
