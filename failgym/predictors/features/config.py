"""Configuration: what is known of jobs and tasks when they are submitted.

The "Config" variables of El-Sayed et al. (ICDCS 2017, Table IV), and what other clusters record of
the same kind. Nothing here depends on when a job arrived, on its place in the tables or on its id.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.traces.schema import fixed_width
from failgym.traces.trace import Trace

__all__ = [
    "CONFIG",
    "MISSING",
    "TEXTS",
    "Rows",
    "Vocabulary",
    "job_config",
    "learn_vocabulary",
    "task_config",
]

Rows = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float64]
Texts = npt.NDArray[np.str_]
Vocabulary = Mapping[str, Texts]
"""The words of each text column of the jobs (`TEXTS`), the most frequent first."""

MISSING = -1.0e9
"""Stands for what is not known: below all that is, so that one split of a tree parts it."""
TEXTS = ("user", "group", "name", "queue")
"""Columns of the jobs that hold texts."""
NUMBERS = (
    "width",
    "priority",
    "scheduling_class",
    "walltime",
    "shared",
    "speculation",
    "skip_mode",
    "attempt_limit",
)
"""Columns of the jobs that hold numbers."""
REQUESTS = ("cpu", "memory", "disk", "anti_affinity", "width")
"""Columns of the tasks."""
CONFIG = (
    "user",
    "group",
    "logical_job_name",
    "queue",
    "num_tasks",
    "priority",
    "scheduling_class",
    "walltime",
    "shared",
    "speculation",
    "skip_mode",
    "attempt_limit",
    "requested_cpu",
    "requested_memory",
    "requested_disk",
    "different_machines",
    "slots",
)
"""The features, by the names of Table IV where it has them: those of `TEXTS`, `NUMBERS`,
`REQUESTS`."""


def learn_vocabulary(trace: Trace, jobs: npt.NDArray[np.bool_] | None = None) -> dict[str, Texts]:
    """The words of a trace's jobs, the most frequent first and equally frequent ones by alphabet.

    ``jobs`` [jobs] are those that count, by default all. A job without a word does not.
    """
    chosen = np.ones(trace.rows("jobs"), dtype=np.bool_) if jobs is None else jobs
    return {name: _ranked(trace.column("jobs", name)[chosen]) for name in TEXTS}


def job_config(trace: Trace, vocabulary: Vocabulary) -> Rows:
    """The configuration of each job at its submission, float32 [jobs, features of `CONFIG`].

    A text is its rank by frequency in the vocabulary; a text that is not in it ranks behind all
    that are, so that trees take what is new for what is rare. Requests are means over the tasks
    that are known when the job is submitted. What is missing is `MISSING`.
    """
    job = trace.column("tasks", "job")
    known = trace.task_submit <= trace.column("jobs", "submit")[job]
    requests = [
        _mean_by(job[known], _filled(trace, "tasks", name)[known], trace.rows("jobs"))
        for name in REQUESTS
    ]
    return _matrix([*_job_columns(trace, vocabulary), *requests], trace.rows("jobs"))


def task_config(trace: Trace, vocabulary: Vocabulary) -> Rows:
    """The configuration of each task at its submission, float32 [tasks, features of `CONFIG`].

    As `job_config`, with the requests of the task itself.
    """
    job = trace.column("tasks", "job")
    own = [_filled(trace, "tasks", name) for name in REQUESTS]
    of_job = [column[job] for column in _job_columns(trace, vocabulary)]
    return _matrix([*of_job, *own], trace.rows("tasks"))


def _job_columns(trace: Trace, vocabulary: Vocabulary) -> list[Floats]:
    texts = [_ranks(trace.column("jobs", name), vocabulary[name]) for name in TEXTS]
    return [*texts, *(_filled(trace, "jobs", name) for name in NUMBERS)]


def _filled(trace: Trace, table: str, name: str) -> Floats:
    """A column as numbers, `MISSING` where it is null."""
    values = trace.column(table, name).astype(np.float64)
    return np.where(trace.present(table, name), values, MISSING)


def _ranked(texts: npt.NDArray[Any]) -> Texts:
    words, count = np.unique(fixed_width(texts[texts != ""]), return_counts=True)
    return words[np.argsort(-count, kind="stable")]


def _ranks(texts: npt.NDArray[Any], words: Texts) -> Floats:
    """The rank of each text among the words; their number for another one, `MISSING` for none."""
    texts = fixed_width(texts)
    order = np.argsort(words)
    place = np.searchsorted(words[order], texts)
    rank = np.append(order, len(words))[place]
    found = np.append(words, "")[rank] == texts
    return np.where(texts == "", MISSING, np.where(found, rank, len(words)))


def _mean_by(group: npt.NDArray[np.int64], values: Floats, groups: int) -> Floats:
    """The mean of the known values of each group, `MISSING` for one that has none."""
    known = values != MISSING
    count = np.bincount(group[known], minlength=groups)
    total = np.bincount(group[known], values[known], groups)
    return np.where(count > 0, total / np.maximum(count, 1), MISSING)


def _matrix(columns: list[Floats], rows: int) -> Rows:
    matrix = np.empty((rows, len(columns)), dtype=np.float32)
    for number, column in enumerate(columns):
        matrix[:, number] = column
    return matrix
