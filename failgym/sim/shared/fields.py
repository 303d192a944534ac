"""The observation: one list of named fields, the same in every environment.

Kernels address a field by its name (`AT.age` and so on), which is the constant of its position. A
new field goes into its group, and the fields of a group stand together (`group_of`). Fields that do
not apply to a scenario are zero. Two scales recur: ``log2 min`` is log2(1 + x / 1 min) of a time x,
``log2`` is log2(1 + n) of a count n.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["AT", "FIELDS", "HIGH", "INDEX", "LOW", "MASK", "Field", "columns_of", "group_of"]


@dataclass(frozen=True)
class Field:
    """One number of the observation."""

    name: str
    group: str
    unit: str
    low: float
    high: float
    meaning: str


def _group(group: str, *rows: tuple[str, str, float, float, str]) -> list[Field]:
    return [Field(name, group, unit, low, high, text) for name, unit, low, high, text in rows]


FIELDS: tuple[Field, ...] = (
    *_group(
        "decision",
        ("window", "0/1", 0, 1, "a WINDOW decision"),
        ("failed", "0/1", 0, 1, "a FAILED decision"),
        ("output", "0/1", 0, 1, "an OUTPUT decision"),
        ("dispatch", "0/1", 0, 1, "a DISPATCH decision"),
        ("armed", "0/1", 0, 1, "the task is armed to be killed"),
        ("actions_taken", "count", 0, 16, "actions already taken in this decision"),
        ("live_attempts", "count", 0, 16, "attempts of the task that are alive"),
    ),
    *_group(
        "request",
        ("priority", "1/12", 0, 1, "priority"),
        ("scheduling_class", "1/3", 0, 1, "scheduling class"),
        ("cpu_request", "of the largest machine", 0, 1, "processor requested"),
        ("memory_request", "of the largest machine", 0, 1, "memory requested"),
        ("disk_request", "of the largest machine", 0, 1, "disk requested"),
        ("width", "log2", 0, 32, "slots that the task occupies"),
        ("job_tasks", "log2", 0, 32, "tasks of the job"),
        ("anti_affinity", "0/1", 0, 1, "tasks of the job must run on different machines"),
    ),
    *_group(
        "usage",
        ("cpu", "of the largest machine", 0, 4, "mean processor use in the last whole window"),
        ("memory", "of the largest machine", 0, 4, "mean memory in the last whole window"),
        ("local_io", "as in the trace", 0, 1e6, "local disk traffic in the last whole window"),
        ("remote_io", "as in the trace", 0, 1e6, "remote disk traffic in the last whole window"),
        ("network", "as in the trace", 0, 1e6, "network traffic in the last whole window"),
        ("mean_cpu", "of the largest machine", 0, 4, "mean of cpu over the windows so far"),
        ("mean_memory", "of the largest machine", 0, 4, "mean of memory over the windows so far"),
        ("cpu_variation", "ratio", 0, 16, "standard deviation of cpu so far over its mean"),
        ("memory_trend", "of the largest machine", -4, 4, "last memory less the first window's"),
        ("max_memory", "of the largest machine", 0, 4, "largest memory so far"),
        ("memory_ratio", "ratio", 0, 16, "largest memory so far over the request"),
        ("cpu_ratio", "ratio", 0, 16, "last cpu over the request"),
    ),
    *_group(
        "history",
        ("attempt", "log2", 0, 32, "attempts of the task started before this one"),
        ("failures", "log2", 0, 32, "intrinsic failures of the task so far"),
        ("last_failed", "0/1", 0, 1, "the last attempt that ended failed intrinsically"),
        ("last_external", "0/1", 0, 1, "the last attempt that ended was ended from outside"),
        ("clones", "count", 0, 16, "clones that the agent made of the task"),
        ("extra_left", "count", 0, 16, "extra attempts that the agent may still make"),
        ("flagged_before", "probability", 0, 1, "largest risk at earlier decisions of the task"),
        ("sibling_failed", "0/1", 0, 1, "another task of the job has failed, in the record"),
        ("siblings_finished", "share", 0, 1, "other tasks of the job finished, in the record"),
    ),
    *_group(
        "progress",
        ("age", "log2 min", 0, 32, "time since the attempt started"),
        ("unsaved", "log2 min", 0, 32, "work of the attempt since its last checkpoint"),
        ("durable_fraction", "ratio", 0, 1, "durable work of the task over the expected duration"),
        ("age_over_expected", "ratio", 0, 64, "age over the expected duration given class and age"),
        (
            "age_over_siblings",
            "ratio",
            0,
            64,
            "age over the median of finished siblings' durations",
        ),
        (
            "walltime_left",
            "share",
            0,
            1,
            "share of the requested walltime left; 0 if none is known",
        ),
        ("hazard", "1/window", 0, 1, "failures per window given class and age, in the train split"),
        ("chance_of_finish", "share", 0, 1, "attempts that finish given class and age, same"),
    ),
    *_group(
        "forecast",
        ("risk", "probability", 0, 1, "forecast: this attempt ends in FAIL"),
        ("risk_change", "probability", -1, 1, "risk less the risk one window before"),
        ("confidence_finish", "probability", 0, 1, "forecast: the task finishes"),
        ("confidence_evict", "probability", 0, 1, "forecast: the task is evicted"),
        ("confidence_fail", "probability", 0, 1, "forecast: the task fails"),
        ("confidence_kill", "probability", 0, 1, "forecast: the task is killed"),
        ("job_confidence", "probability", 0, 1, "forecast: the job does not finish"),
        ("risk_over_cost", "ratio", 0, 64, "risk x unsaved work over the checkpoint cost"),
    ),
    *_group(
        "cost",
        ("checkpoint_cost", "log2 min", 0, 32, "time that a checkpoint takes"),
        ("restore_cost", "log2 min", 0, 32, "time that resuming from a checkpoint takes"),
        ("grace", "log2 min", 0, 32, "grace period of the task"),
        (
            "age_over_grace",
            "ratio",
            0,
            64,
            "time since the task's first start over its grace period",
        ),
        (
            "unsaved_over_young",
            "ratio",
            0,
            64,
            "unsaved work over Young's interval; at OUTPUT: intervals that ended during the run",
        ),
        (
            "unsaved_over_lazy",
            "ratio",
            0,
            64,
            "unsaved work over Young's interval at the rate of interruptions given class and age,"
            " in the train split",
        ),
        ("mtbf", "log2 min", 0, 32, "mean time between failures behind Young's interval"),
    ),
    *_group(
        "lineage",
        ("level", "log2", 0, 32, "level of the stage in its workflow"),
        ("waiting_children", "log2", 0, 32, "tasks that wait for the output"),
        ("output_size", "log2", 0, 64, "bytes of the output"),
        ("stage_budget", "share", 0, 1, "share of the stage's checkpoint budget used"),
        ("runtime_over_median", "ratio", 0, 64, "run time over the running median of the job"),
        ("checkpoint_p95", "log2 min", 0, 32, "95th percentile of checkpoint times so far"),
        ("recomputation_cost", "log2 min", 0, 32, "time to recompute the output if it is lost"),
    ),
    *_group(
        "machine",
        ("predicted_to_fail", "0/1", 0, 1, "the offered machine is predicted to fail"),
        ("machine_failures", "log2", 0, 32, "failures of the offered machine so far"),
        ("offer_rank", "count", 0, 64, "machines already refused for this task"),
        (
            "offered_time",
            "log2 min",
            0,
            32,
            "time until the task would be done on the offered machine, transfers included",
        ),
        (
            "next_time",
            "log2 min",
            0,
            32,
            "the same on the machine that is offered next if this one is refused; 0 if none is",
        ),
        (
            "upward_rank",
            "log2 min",
            0,
            32,
            "longest way from the task, with it, to the end of its workflow: mean run times over"
            " the machines, and transfers",
        ),
        (
            "machine_uptime",
            "log2 min",
            0,
            32,
            "time since the offered machine last came up; if never, since the trace began",
        ),
    ),
    *_group(
        "system",
        ("running", "log2", 0, 32, "attempts that run"),
        ("waiting", "log2", 0, 32, "attempts that wait"),
        ("free", "log2", 0, 32, "free slots"),
        ("arrival_rate", "log2", 0, 32, "attempts submitted in the last hour"),
        ("throughput", "log2", 0, 32, "attempts finished in the last hour"),
        ("arrival_change", "log2", -32, 32, "arrival_rate less that of the hour before"),
        ("throughput_change", "log2", -32, 32, "throughput less that of the hour before"),
        (
            "failure_rate",
            "share",
            0,
            1,
            "attempts that ended in FAIL, of those ended in the last hour",
        ),
        (
            "interruption_rate",
            "1/h",
            0,
            64,
            "attempts that the system ended in the last hour, by hour and by attempt that runs",
        ),
        (
            "since_interruption",
            "log2 min",
            0,
            32,
            "time since the system last ended an attempt; before the first, since the beginning",
        ),
    ),
    *_group(
        "mask",
        ("may_continue", "0/1", 0, 1, "CONTINUE is legal"),
        ("may_clone", "0/1", 0, 1, "CLONE is legal"),
        ("may_checkpoint", "0/1", 0, 1, "CHECKPOINT is legal"),
        ("may_kill", "0/1", 0, 1, "KILL is legal"),
        ("may_retry", "0/1", 0, 1, "RETRY is legal"),
    ),
)

INDEX: dict[str, int] = {field.name: i for i, field in enumerate(FIELDS)}
"""Position of each field in the observation."""
_Positions: Any = NamedTuple("_Positions", [(name, int) for name in INDEX])  # pyright: ignore
AT: Any = _Positions(**INDEX)
"""The same for kernels: ``AT.age`` is a constant of the compiled code."""
LOW: npt.NDArray[np.float32] = np.array([field.low for field in FIELDS], dtype=np.float32)
HIGH: npt.NDArray[np.float32] = np.array([field.high for field in FIELDS], dtype=np.float32)


def group_of(group: str) -> range:
    """Positions of the fields of a group."""
    positions = [i for i, field in enumerate(FIELDS) if field.group == group]
    return range(positions[0], positions[-1] + 1)


MASK = slice(group_of("mask").start, group_of("mask").stop)
"""Where the mask is in the observation: whether each `failgym.vocabulary.Action` is legal."""


def columns_of(
    names: Iterable[str], columns: Mapping[str, npt.ArrayLike]
) -> npt.NDArray[np.float32]:
    """A table [rows, names] of columns that are given by name."""
    return np.stack([np.asarray(columns[name], dtype=np.float64) for name in names], axis=1).astype(
        np.float32
    )
