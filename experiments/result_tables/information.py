"""The page of information: what fields tell, alarms by age, errors within jobs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from experiments import alarm_ages, job_errors
from experiments import information as information_of
from experiments.markdown import table

__all__ = ["alarms", "errors_of_jobs", "information"]


def information(content: dict[str, Any]) -> str:
    """What fields tell in each environment, as `experiments.information` wrote it."""
    rows = {name: information_of.rows_in(found) for name, found in content.items()}
    told = _by_environment(rows, information_of.COLUMNS, information_of.cells_of)
    known = {name: found for name, found in rows.items() if information_of.groups_of(found)}
    apart = _by_environment(known, information_of.GROUP_COLUMNS, information_of.groups_of)
    return "\n\n".join([told, "Single groups of fields, here / on the record.", apart])


def alarms(content: dict[str, Any]) -> str:
    """Precision of alarms by age in each environment, as `experiments.alarm_ages` wrote it."""
    found = {name: alarm_ages.groups_in(groups) for name, groups in content.items()}
    return _by_environment(found, alarm_ages.COLUMNS, alarm_ages.cells_of)


def errors_of_jobs(rows: Sequence[dict[str, Any]]) -> str:
    """How learned risks err within jobs, as `experiments.job_errors` wrote it."""
    cells = [job_errors.cells_of(row) for row in job_errors.rows_in(rows)]
    return "\n".join(table(job_errors.COLUMNS, cells))


def _by_environment(
    content: dict[str, Any],
    columns: Sequence[str],
    cells_of: Callable[[Any], Sequence[Sequence[str]]],
) -> str:
    """A table for each environment, below what it is called."""
    parts: list[str] = []
    for name, found in content.items():
        env, *fields = name.split()
        said = f" with {', '.join(f'`{field}`' for field in fields)}" if fields else ""
        parts += [f"`{env}`{said}:", "", *table(columns, cells_of(found)), ""]
    return "\n".join(parts).rstrip("\n")
