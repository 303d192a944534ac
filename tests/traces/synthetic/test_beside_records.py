"""Profiles with applications beside what is left of the records that they were learned from."""

from __future__ import annotations

import numpy as np
import pytest

from failgym.comparison import Comparison, compare
from failgym.traces import generate, read_google_2011, read_swf
from tests.traces.real_data import google_2011, real

LEARNED = 0.7
"""Share of a record's jobs that profiles were learned from."""
OF_USER, OF_NAME = "successive jobs of a user: ", "successive jobs of one name: "
ENDS, TIMES = "all tasks finish", "log run time"


def differences(found: Comparison, whats: list[str]) -> list[float]:
    """By how much the other is from the reference, in each row, on average over the others."""
    rows = [found.row(what) for what in whats]
    return [
        float(np.mean([other.value for other in row.others])) - row.reference.value for row in rows
    ]


@pytest.mark.campaign
def test_google_2011_applications() -> None:
    """Correlations within .15, AUCs of prediction within .05, told apart with at most .85."""
    record = read_google_2011(google_2011())
    later = record.split("test", LEARNED)
    jobs = record.split("train", LEARNED).rows("jobs")
    made = [generate("google-2011-applications", jobs=jobs, seed=s, usage=False) for s in (0, 1)]
    found = compare(later, *made)
    alike = [by + what for by in (OF_USER, OF_NAME) for what in (ENDS, TIMES)]
    alike += [by + what for by in (OF_USER, OF_NAME) for what in ("log tasks", "requested cpu")]
    assert max(map(abs, differences(found, alike))) < 0.15
    told = [
        f"end of a task, told at its arrival: {how}"
        for how in ("boosting, by job", "boosting, by task", "user's past alone, by job")
    ]
    assert max(map(abs, differences(found, told))) < 0.05
    for by in ("13 features", "requests", "tasks and run time"):
        assert max(other.value for other in found.row(f"told apart: jobs by {by}").others) < 0.85


@pytest.mark.campaign
@pytest.mark.parametrize("profile", ["system-a-applications", "system-b-applications"])
def test_jobs_recur_as_in_the_log_of_a_centre(profile: str) -> None:
    """Of Los Alamos, whose system is another: successive jobs are as alike, within .15."""
    log = read_swf(real("swf") / "LANL-CM5-1994-4.1-cln.swf.gz").split("test", LEARNED)
    made = [generate(profile, jobs=30_000, seed=seed, usage=False) for seed in (0, 1)]
    found = compare(log, *made)
    alike = [by + what for by in (OF_USER, OF_NAME) for what in (ENDS, TIMES)]
    assert max(map(abs, differences(found, alike))) < 0.15
