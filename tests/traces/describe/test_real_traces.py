"""What must come out of the real traces, where they are."""

from __future__ import annotations

import datetime

import pytest

from failgym.traces import FORMATS, Trace
from failgym.traces.describe import Description, DescriptionTable, describe
from tests.traces.real_data import google_2011, real


@pytest.fixture(scope="module")
def google() -> Description:
    return describe(FORMATS["google-2011"].reader(google_2011()))


def cells(table: DescriptionTable, row: str, *columns: str) -> list[object]:
    return [table.cell(row, column) for column in columns]


def test_google_jobs_with_failures_and_attempts_of_failed_tasks(google: Description) -> None:
    table = google.table("jobs_with_failures")
    assert cells(table, "FAIL", "jobs", "with a failed attempt") == [122, 120]
    assert cells(table, "FINISH", "jobs", "with a failed attempt") == [6_229, 19]
    row = google.table("attempts_of_failed").rows[0]
    assert row == pytest.approx((729, 0.863, 0.073, 0.036, 12), abs=5e-4)


def test_google_failures_of_failures(google: Description) -> None:
    row = google.table("failures_of_failures").rows[0]
    assert row == pytest.approx((0.346, 0.256, 0.245), abs=6e-4)


def test_google_batch_jobs_are_like_el_sayeds(google: Description) -> None:
    """The paper has a month, this is half a day: what is long is not seen to its end."""
    table = google.table("job_outcomes_by_width")
    assert table.cell("batch multi", "share KILL") == pytest.approx(0.893, abs=0.03)
    assert table.cell("batch single", "share FINISH") > 0.9  # type: ignore[operator]
    for group in ("batch single", "batch multi"):
        assert table.cell(group, "share FAIL") == pytest.approx(0.015, abs=0.005)
    assert table.cell("batch multi", "share of jobs") == pytest.approx(0.35, abs=0.05)
    durations = google.table("job_durations")
    assert durations.cell("batch FINISH", "p50") == pytest.approx(2.8158, rel=0.1)
    assert durations.cell("batch FINISH", "p75") == pytest.approx(7.7739, rel=0.1)


def test_google_says_what_it_lacks(google: Description) -> None:
    lacking = {str(row[0]) for row in google.table("not_made").rows}
    assert {"utilisation", "outages", "exit_categories", "requested_over_run"} <= lacking


def lanl(system: int, nodes: tuple[int, int] | None, since: str, until: str | None) -> Trace:
    days = [None if day is None else datetime.date.fromisoformat(day) for day in (since, until)]
    return FORMATS["lanl"].reader(
        real("lanl"), system=system, nodes=nodes, since=days[0], until=days[1]
    )


def test_lanl_system_2() -> None:
    """FLAW's cluster in 2001 and 2002."""
    description = describe(lanl(2, None, "2001-01-01", "2002-12-31"))
    table = description.table("outages")
    assert table.cell("outages", "value") == 1_332
    found = table.cell("MTBF of a machine that failed [days]", "value")
    assert found == pytest.approx(26.2, abs=0.05)
    assert table.cell("outages per machine, most", "value") == 137
    gaps = description.table("outage_gaps")
    assert cells(gaps, "of a machine", "Weibull shape") == pytest.approx([0.741], abs=0.001)
    assert cells(gaps, "of a machine", "Weibull scale") == pytest.approx([493], abs=0.5)
    system = cells(gaps, "of the system", "Weibull shape", "Weibull scale")
    assert system == [pytest.approx(0.883, abs=0.001), pytest.approx(12.5, abs=0.05)]
    downtimes = description.table("downtimes")
    found = cells(downtimes, "all", "p50", "mean", "p90", "mu of log", "sigma of log")
    assert found == pytest.approx([46, 128, 174, 3.94, 1.01], rel=0.01)
    causes = description.table("outages_by_cause")
    assert causes.cell("hardware", "share of outages") == pytest.approx(0.72, abs=0.005)
    assert causes.cell("software", "share of outages") == pytest.approx(0.15, abs=0.005)


def test_lanl_system_20() -> None:
    """El-Sayed's cluster: the nodes below 256, from 2002-11-21."""
    description = describe(lanl(20, (0, 255), "2002-11-21", None))
    table = description.table("outages")
    assert cells(table, "outages", "value") == [1_212]
    assert cells(table, "machines that failed", "value") == [242]
    found = cells(table, "MTBF of the system [hours]", "value")
    assert found == pytest.approx([20.3], abs=0.05)
    gaps = description.table("outage_gaps")
    system = cells(gaps, "of the system", "Weibull shape", "Weibull scale")
    assert system == [pytest.approx(0.765, abs=0.001), pytest.approx(17.57, abs=0.01)]
    machine = cells(gaps, "of a machine", "Weibull shape", "Weibull scale")
    assert machine == [pytest.approx(0.618, abs=0.001), pytest.approx(1967, abs=1)]
    found = cells(description.table("downtimes"), "all", "p50", "mean", "p95")
    assert found == pytest.approx([62, 146, 401], abs=0.5)


def test_requested_over_run_of_sdsc() -> None:
    """Users ask for several times what they use (the median of the log's finished jobs)."""
    trace = FORMATS["swf"].reader(real("swf") / "SDSC-SP2-1998-4.2-cln.swf.gz")
    table = describe(trace).table("requested_over_run")
    assert table.cell("FINISH", "p50") == pytest.approx(7, abs=1)
