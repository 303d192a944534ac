"""What an info says: the same keys, shapes and types at every reset and step.

Entries are arrays over N episodes by key. `first` makes of them the info of a single environment,
`laid_out` that of a batched one. None is nested: what reads infos as arrays can read them all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.envs.spaces import TOTALS, totals
from failgym.sim.shared.records import Output
from failgym.vocabulary import ACTIONS

__all__ = ["Entries", "first", "laid_out", "of_decisions", "of_ends", "own", "upon_ends"]

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Entries = dict[str, npt.NDArray[Any]]
"""What is said of N episodes, by key: arrays [N, ...]."""


def of_decisions(out: Output, by_unit: bool) -> Entries:
    """What is known of open decisions, as the engine wrote it: views."""
    entries: Entries = {
        "action_mask": out.mask,
        "task": out.task,
        "slice": out.slice,
        "elapsed": out.elapsed,
        "illegal": out.illegal,
        "reward_terms": out.terms,
    }
    if by_unit:
        entries["unit"], entries["unit_cost"] = out.unit, out.unit_cost
    return entries


def of_ends(out: Output, by_unit: bool, at: Ints) -> Entries:
    """The same, of the episodes that ended in a step in which others have begun in their place.

    Args:
        at: which ones they are; the others' entries are zero.
    """
    n, final = len(out.reward), out.final
    nothing, mask = np.full(len(at), -1), np.zeros((len(at), ACTIONS), dtype=np.int8)
    mask[:, 0] = 1
    entries: Entries = {
        "action_mask": mask,
        "task": nothing,
        "slice": final["slice"][at],
        "elapsed": out.final_elapsed[at],
        "illegal": final["illegal"][at],
        "reward_terms": out.final_terms[at],
        "totals": totals(final, at),
    }
    if by_unit:
        entries |= {"unit": nothing, "unit_cost": np.zeros(len(at))}
        entries["unit_costs"] = out.final_unit_costs[at]
    return {name: _put_at(n, at, values) for name, values in entries.items()}


def _put_at(count: int, at: Ints, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """An array of so many rows, with these values at some of them, and zeros."""
    rows = np.zeros((count, *values.shape[1:]), dtype=values.dtype)
    rows[at] = values
    return rows


def upon_ends(out: Output, by_unit: bool, ended: Bools | None) -> Entries:
    """What is said of whole episodes where they have ended, zero elsewhere: arrays of their own."""
    entries: Entries = {"totals": np.zeros((len(out.reward), len(TOTALS)), dtype=np.int64)}
    if by_unit:
        entries["unit_costs"] = np.zeros(out.final_unit_costs.shape)
    if ended is not None:
        entries["totals"][ended] = totals(out.final, np.flatnonzero(ended))
        if by_unit:
            entries["unit_costs"][ended] = out.final_unit_costs[ended]
    return entries


def own(entries: Entries, known: Bools) -> Entries:
    """Entries as arrays of their own, zero where they are not known."""
    chosen = {name: np.zeros(one.shape, dtype=one.dtype) for name, one in entries.items()}
    for name, one in entries.items():
        chosen[name][known] = one[known]
    return chosen


def laid_out(entries: Entries, known: Bools) -> dict[str, Any]:
    """Entries as Gymnasium's vector environments lay them out: beside each, where it is known."""
    return entries | {f"_{name}": known.copy() for name in entries}


def first(entries: Entries) -> dict[str, Any]:
    """What is said of the first episode; it shares no memory with the entries."""
    return {name: one[0] if one.ndim == 1 else one[0].copy() for name, one in entries.items()}
