"""What a scenario of the scheduled world sets beside `failgym.sim.shared.rules.Rules`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.sim.shared.rules import Rules

__all__ = [
    "ESTIMATORS",
    "SCHEDULERS",
    "NodePredictions",
    "ScheduledRules",
    "check_duration",
    "check_nodes",
    "check_speed",
]

LONGEST = 2**40
"""Longest time that a rule may set, 35 years [ms]."""
SLOWEST, FASTEST = 1e-3, 1e6
"""Speeds that a machine may have."""
MOST_STREAMS = 1_000
MOST_HISTORY = 1_000
SCHEDULERS = ("fifo", "priority", "easy_backfill", "rank_hybd")
ESTIMATORS = ("user", "last", "average", "median", "mcs", "oracle")


class NodePredictions(NamedTuple):
    """Moments at which machines are predicted to fail, as the engine reads them."""

    offset: npt.NDArray[np.int64]
    """[machines + 1] those of machine i are ``time[offset[i]:offset[i + 1]]``"""
    time: npt.NDArray[np.int64]
    """[predictions] ascending per machine [ms]"""


def check_speed(row: int, speed: float) -> None:
    """Raise ValueError unless a machine (trace row) has a speed that times can be divided by."""
    if not SLOWEST <= speed <= FASTEST:
        raise ValueError(
            f"machine {row}: expected a speed of {SLOWEST:g} to {FASTEST:g}, got {speed:g}"
        )


def check_duration(what: str, time: float) -> None:
    """Raise ValueError if a write or a transfer takes longer than a rule may say."""
    if not time <= LONGEST:
        raise ValueError(f"{what}: expected at most {LONGEST} ms, got {time:.3g} ms")


def check_nodes(nodes: NodePredictions, machines: int) -> NodePredictions:
    """The predictions as the engine reads them.

    Raises:
        ValueError: unless they are those of so many machines, in order of time for each.
    """
    offset, time = (np.asarray(part, dtype=np.int64) for part in nodes)
    ends = len(offset) == machines + 1 and offset[0] == 0 and offset[-1] == len(time)
    if not ends or (np.diff(offset) < 0).any():
        raise ValueError(f"nodes: expected predictions of {machines} machines")
    machine = np.repeat(np.arange(machines), np.diff(offset))
    if ((np.diff(time) < 0) & (np.diff(machine) == 0)).any():
        raise ValueError("nodes: expected the predictions of a machine in order of time")
    return NodePredictions(offset, time)


@dataclass(frozen=True)
class ScheduledRules(Rules):
    """The rules of a scheduled world that are a matter of choice; everything else is fixed.

    Raises:
        ValueError: if a value is out of range; the message names the field.
    """

    scheduler: Literal["fifo", "priority", "easy_backfill", "rank_hybd"] = "fifo"
    """Who is started next: first come, first served; by priority; EASY backfilling (Lifka 1995);
    by upward rank (RANK_HYBD, Yu and Shi 2008)."""
    rank_by: Literal["path", "arrival"] = "path"
    """``scheduler="rank_hybd"``: what comes first: by upward rank, or what has waited longest, the
    FIFO that FLAW and RANK_HYBD are compared with."""
    preemption: bool = False
    """``scheduler="priority"``: may attempts of lower priority be evicted?"""
    estimator: Literal["user", "last", "average", "median", "mcs", "oracle"] = "user"
    """``scheduler="easy_backfill"``: what run times are taken to be (Kumar et al. 2020, section
    V)."""
    history: int = 16
    """Ended jobs of a user that average, median and mcs look back at."""
    correction: bool = True
    """Is an estimate that has been overtaken raised? It becomes the requested walltime; where there
    is none, it grows by the steps of Tsafrir, Etsion and Feitelson (2007)."""
    walltime_kill: bool = False
    """Are attempts killed at their requested walltime?"""
    place: bool = False
    """DISPATCH: may a machine be passed over (``scheduler="rank_hybd"``)?"""
    save_outputs: bool = False
    """OUTPUT: may the output of a finished task be written to stable storage?"""
    outputs: Literal["kept", "lost"] = "kept"
    """What becomes of outputs on a machine that fails: unreachable while it is down (FLAW), or lost
    (Ghit and Epema 2017)."""
    unpersist: bool = False
    """Are outputs dropped from memory once they were read along narrow edges, as GraphX unpersists
    the graph of the iteration before? A recomputation then makes them again first, in its own
    slots."""
    detection_delay: int = 0
    """Time from a failure until the cluster notices it [ms]."""
    replace: bool = False
    """Is a failed machine replaced when its failure is noticed, whatever the record says?"""
    storage_streams: int = 0
    """Writes to stable storage at full speed at once; more share it. 0: no limit."""
    storage_bandwidth: float = 0.0
    """Speed of one write of an output [bytes/ms]; 0: outputs take no time to write."""
    transfer_bandwidth: float = 0.0
    """Speed of a transfer between two machines [bytes/ms]; 0: transfers take no time."""
    completion: Literal["tasks", "jobs"] = "tasks"
    """Whose unsettled time is charged as completion time."""
    charge: Literal["own", "episode"] = "own"
    """Who is charged, and until when: the slice's own tasks until they have settled, or all tasks
    that the episode holds, until all have."""

    def __post_init__(self) -> None:
        super().__post_init__()
        choices = {
            "scheduler": SCHEDULERS,
            "rank_by": ("path", "arrival"),
            "estimator": ESTIMATORS,
            "outputs": ("kept", "lost"),
            "completion": ("tasks", "jobs"),
            "charge": ("own", "episode"),
        }
        for name, allowed in choices.items():
            self._check(name, getattr(self, name) in allowed, f"one of {', '.join(allowed)}")
        by_task = self.charge == "own" or self.completion == "tasks"
        self._check("charge", by_task, "'own' where the completion of jobs is charged")
        self._check("history", 1 <= self.history <= MOST_HISTORY, f"1 to {MOST_HISTORY}")
        streams = 0 <= self.storage_streams <= MOST_STREAMS
        self._check("storage_streams", streams, f"0 to {MOST_STREAMS}")
        delay = 0 <= self.detection_delay <= LONGEST
        self._check("detection_delay", delay, f"0 to {LONGEST} ms")
        for name in ("storage_bandwidth", "transfer_bandwidth"):
            good = 0.0 <= getattr(self, name) < math.inf
            self._check(name, good, "at least 0 bytes/ms, finite")
        by_priority = not self.preemption or self.scheduler == "priority"
        self._check("preemption", by_priority, 'scheduler="priority" with it')
        for name in ("place", "rank_by"):
            given = getattr(self, name) not in (False, "path")
            by_rank = not given or self.scheduler == "rank_hybd"
            self._check(name, by_rank, 'scheduler="rank_hybd" with it')
