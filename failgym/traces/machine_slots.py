"""How many slots the machines of a trace have, where it does not say so."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from failgym.traces.trace import Trace

__all__ = ["machine_slots"]

Ints = npt.NDArray[np.int64]


def machine_slots(trace: Trace) -> Ints:
    """Slots of each machine: as the trace says, else as many as were once in use there, else one.

    Logs of batch systems name the nodes of a job and how much of them it took, and not how large
    they are. With one slot each, what ran on all processors of a node would not fit on it.

    Args:
        trace: a whole record: in a part of it fewer may have been in use.

    Returns:
        (machines,)
    """
    known = trace.present("machines", "slots")
    slots = trace.column("machines", "slots", missing=1).astype(np.int64)
    if known.all():
        return slots
    ran = trace.present("attempts", "start")[trace.column("placements", "attempt")]
    attempt, machine, taken = (
        trace.column("placements", name)[ran].astype(np.int64)
        for name in ("attempt", "machine", "slots")
    )
    at = np.concatenate([trace.column("attempts", name)[attempt] for name in ("start", "end")])
    where, change = np.concatenate([machine, machine]), np.concatenate([taken, -taken])
    order = np.lexsort((change, at, where))  # what ends makes room first
    used = np.ones(len(slots), dtype=np.int64)
    np.maximum.at(used, machine, taken)  # of what took no time, too
    np.maximum.at(used, where[order], np.cumsum(change[order]))  # those of a machine come to 0
    return np.where(known, slots, used)
