"""The metrics of the papers: pure functions of the tables of task outcomes, and closed forms.

A table of outcomes is anything that maps a column's name to an array with one row per task: a
dict, a structured array, or what `as_columns` makes of the rows that a simulator returns. The
columns are those of `failgym.vocabulary.TaskOutcome`; times are in ms, work in machine-ms. Tasks
whose fate the record does not know (CENSORED) never count.
"""

from __future__ import annotations

from failgym.metrics.checkpointing import (
    daly_interval,
    mean_combined_saving,
    mean_ml_saving,
    mean_periodic_saving,
    saving_combined,
    saving_ml,
    saving_periodic,
    young_interval,
)
from failgym.metrics.columns import (
    Columns,
    as_columns,
)
from failgym.metrics.forecasts import (
    Detection,
    alarms,
    detection,
    detections,
    false_negative_rate,
    grace_period,
)
from failgym.metrics.nodes import (
    COUNTS,
    NEVER,
    Answers,
    Count,
    Failures,
    NodeDetection,
    aaa,
    aoa,
    count_answers,
    distinct_failures,
    entries_until,
    node_detection,
)
from failgym.metrics.tasks import (
    ACCOUNTS,
    OVERHEAD,
    WASTED,
    checkpoint_work,
    cloning_overhead,
    completion_ratio,
    completion_ratios,
    false_kills,
    falsely_killed,
    forfeited,
    known,
    rescued,
    resource_reduction,
    task_work,
    wasted_work,
)

__all__ = [
    "ACCOUNTS",
    "COUNTS",
    "NEVER",
    "OVERHEAD",
    "WASTED",
    "Answers",
    "Columns",
    "Count",
    "Detection",
    "Failures",
    "NodeDetection",
    "aaa",
    "alarms",
    "aoa",
    "as_columns",
    "checkpoint_work",
    "cloning_overhead",
    "completion_ratio",
    "completion_ratios",
    "count_answers",
    "daly_interval",
    "detection",
    "detections",
    "distinct_failures",
    "entries_until",
    "false_kills",
    "false_negative_rate",
    "falsely_killed",
    "forfeited",
    "grace_period",
    "known",
    "mean_combined_saving",
    "mean_ml_saving",
    "mean_periodic_saving",
    "node_detection",
    "rescued",
    "resource_reduction",
    "saving_combined",
    "saving_ml",
    "saving_periodic",
    "task_work",
    "wasted_work",
    "young_interval",
]
