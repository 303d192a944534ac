"""Fault-tolerance configuration of jobs by outcome (El-Sayed et al., ICDCS 2017, section IV-B)."""

from __future__ import annotations

import numpy as np

from failgym.traces.describe.facts import Facts, Flags
from failgym.traces.describe.tables import DescriptionTable, Missing, Row, ratio
from failgym.vocabulary import Outcome

DEFAULT_SKIP = 2
"""Attempts after which Hadoop starts to skip records (mapred.skip.attempts.to.start.skipping)."""
DEFAULT_LIMIT = 4
"""Attempts that Hadoop gives a task (mapred.map.max.attempts)."""

Made = DescriptionTable | Missing


def configuration(facts: Facts) -> list[Made]:
    """The tables of this file that the trace allows, and what the others need."""
    return [
        speculation(facts),
        setting(
            facts, "skip_mode", "Attempts before skip mode (El-Sayed et al., IV-B)", DEFAULT_SKIP
        ),
        setting(
            facts, "attempt_limit", "Attempt limit of jobs (El-Sayed et al., Fig. 5)", DEFAULT_LIMIT
        ),
    ]


def speculation(facts: Facts) -> Made:
    """How many jobs, by outcome, switched speculative execution off."""
    name, title = "speculation", "Jobs without speculative execution (El-Sayed et al., IV-B)"
    known = facts.trace.present("jobs", "speculation")
    if not known.any():
        return Missing(name, title, "speculation of jobs")
    off = known & ~facts.trace.column("jobs", "speculation")
    rows: list[Row] = []
    for label, among in _groups(facts, known):
        jobs, without = int(among.sum()), int((among & off).sum())
        rows.append((label, jobs, without, ratio(without, jobs)))
    return DescriptionTable(name, title, ("outcome", "jobs", "off", "share off"), tuple(rows))


def setting(facts: Facts, name: str, title: str, default: int) -> Made:
    """How many jobs, by outcome, have another value than the default, and which is next."""
    known = facts.trace.present("jobs", name)
    if not known.any():
        return Missing(name, title, f"{name} of jobs")
    value = facts.trace.column("jobs", name)
    rows: list[Row] = []
    for label, among in _groups(facts, known):
        found, jobs = value[among], int(among.sum())
        others, counts = np.unique(found[found != default], return_counts=True)
        rows.append(
            (
                label,
                jobs,
                ratio((found < default).sum(), jobs),
                ratio((found == default).sum(), jobs),
                ratio((found > default).sum(), jobs),
                int(others[counts.argmax()]) if len(others) else None,
                int(found.max()) if jobs else None,
            )
        )
    columns = (
        "outcome",
        "jobs",
        f"share below {default}",
        f"share {default} (default)",
        f"share above {default}",
        "next most frequent",
        "most",
    )
    return DescriptionTable(name, title, columns, tuple(rows))


def _groups(facts: Facts, known: Flags) -> list[tuple[str, Flags]]:
    groups = [("all", known)]
    for outcome in (Outcome.FINISH, Outcome.FAIL, Outcome.KILL):
        groups.append((outcome.name, known & (facts.job_outcome == outcome)))
    return groups
