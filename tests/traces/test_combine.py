"""A workload with the outages of another trace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from failgym.traces import Cause, Meta, Outcome, Trace, TraceError
from failgym.traces.combine import with_outages
from failgym.traces.schema import SCHEMAS

DAY = 86_400_000


def workload(unix_origin: int | None = None, *, ran: bool = True, **tables: Any) -> Trace:
    """One job from 0 to 1000; or one that was never run."""
    row: dict[str, Any] = {"start": [10], "end": [1000], "outcome": Outcome.FAIL}
    row["cause"] = Cause.INTRINSIC
    if not ran:
        row = {"start": [None], "end": [0], "outcome": Outcome.CENSORED}
    outcome = Outcome.FAIL if ran else Outcome.CENSORED
    return Trace.of(
        Meta(
            "jobs",
            licence="free",
            citation="A",
            end=1000 if ran else 0,
            rows_read={"jobs": 1},
            noted={"odd": 1},
            remarks={"times": "of the workload"},
            unix_origin=unix_origin,
        ),
        jobs={"original_id": ["j"], "submit": [0], "width": 1, "outcome": outcome},
        tasks={"job": [0], "index": [0], "width": 1},
        attempts={"task": [0], **row},
        **tables,
    )


def failures(
    unix_origin: int | None = None,
    records: Sequence[tuple[int, int | None]] = ((5, 9),),
    **more: Any,
) -> Trace:
    """Outages of the first of two machines."""
    down, up = zip(*records, strict=True)
    return Trace.of(
        Meta(
            "nodes",
            licence="cite",
            citation="B",
            end=3000,
            rows_read={"failures": 2},
            noted={"odd": 2},
            remarks={"times": "of the outages"},
            unix_origin=unix_origin,
        ),
        machines={"original_id": ["b", "c"], "slots": [4, 8], "speed": 1.0, "domain": ["x", "y"]},
        outages={"machine": [0] * len(down), "down": list(down), "up": list(up), **more},
    )


def told(trace: Trace) -> list[tuple[str, int, int]]:
    ids = trace.column("machines", "original_id")
    names = [str(ids[at]) for at in trace.column("outages", "machine")]
    times = (trace.column("outages", name).tolist() for name in ("down", "up"))
    return list(zip(names, *times, strict=True))


def alignment(trace: Trace) -> str:
    return trace.meta.remarks["outages of nodes"]


# --- Time -----------------------------------------------------------------------------------------


def test_by_date_if_both_know_theirs_and_overlap() -> None:
    both = with_outages(workload(DAY), failures(DAY + 100))
    assert told(both) == [("b", 105, 109)]
    assert alignment(both).startswith("aligned by date;")
    assert both.meta.unix_origin == DAY


@pytest.mark.parametrize(("here", "there"), [(None, 0), (0, None), (None, None), (0, DAY)])
def test_else_by_start(here: int | None, there: int | None) -> None:
    both = with_outages(workload(here), failures(there))
    assert told(both) == [("b", 5, 9)]
    assert alignment(both).startswith("aligned by start (")
    with pytest.raises(TraceError, match="jobs and nodes cannot be aligned by date"):
        with_outages(workload(here), failures(there), align="date")


def test_by_start_if_that_is_asked_for() -> None:
    both = with_outages(workload(DAY), failures(DAY + 100), align="start")
    assert told(both) == [("b", 5, 9)]
    assert alignment(both).startswith("aligned by start;")


def test_outages_are_cut_to_the_time_of_the_workload() -> None:
    records = [(0, 10), (20, 150), (160, 160), (400, 500), (1000, 1200), (1300, None)]
    both = with_outages(workload(100), failures(0, records))
    assert told(both) == [("b", 0, 50), ("b", 60, 60), ("b", 300, 400), ("b", 900, -1)]
    assert both.meta.noted == {
        "odd": 3,
        "outage left out: over before the workload begins": 1,
        "outage left out: it begins after the workload's end": 1,
        "outage under way when the workload begins: it begins there": 1,
        "outage that goes on after the workload's end": 1,
    }


def test_a_workload_that_was_never_run_has_no_end() -> None:
    both = with_outages(workload(ran=False), failures(None, [(5, 9), (10**9, 10**9 + 5)]))
    assert told(both) == [("b", 5, 9), ("b", 10**9, 10**9 + 5)]
    assert both.meta.end == 0


# --- Machines and outages -------------------------------------------------------------------------


def test_machines_of_one_id_are_one_machine() -> None:
    mine = workload(
        machines={"original_id": ["a", "b"], "speed": [1.0, 2.0], "slots": [1, 2]},
        placements={"attempt": [0], "machine": [1], "slots": [1]},
        outages={"machine": [1, 0], "down": [7, 50], "up": [20, None], "cause": ["own", None],
                 "group": [4, None]},
    )  # fmt: skip
    both = with_outages(mine, failures(None, [(5, 9), (30, 40)], cause=["cpu", "os"], group=[0, 0]))
    assert both.column("machines", "original_id").tolist() == ["a", "b", "c"]
    assert both.column("machines", "speed").tolist() == [1.0, 2.0, 1.0]
    assert both.column("machines", "slots").tolist() == [1, 2, 8]
    assert told(both) == [("a", 50, -1), ("b", 5, 7), ("b", 7, 20), ("b", 30, 40)]
    assert both.column("outages", "cause").tolist() == ["", "cpu", "own", "os"]
    assert both.column("outages", "group").tolist() == [-1, 5, 4, 5]
    assert both.meta.noted == {
        "odd": 3,
        "outage that begins while its machine is down, and ends the one before": 1,
    }
    assert alignment(both).endswith("1 of its 2 machines are machines of the workload")


def test_the_workload_stays_as_it_is() -> None:
    mine = workload()
    both = with_outages(mine, failures())
    for name in SCHEMAS.keys() - {"machines", "outages"}:
        assert both.table(name).equals(mine.table(name))


def test_provenance_of_both_is_kept() -> None:
    meta = with_outages(workload(), failures()).meta
    assert (meta.source, meta.licence, meta.citation) == ("jobs + nodes", "free; cite", "A; B")
    assert meta.rows_read == {"jobs": 1, "failures": 2}
    assert meta.remarks["times"] == "of the workload"
    assert meta.remarks["nodes: times"] == "of the outages"


def test_a_trace_without_machines_adds_nothing() -> None:
    with pytest.raises(TraceError, match="jobs: no machine, so no outages to add"):
        with_outages(workload(), workload())


def test_another_alignment_is_refused() -> None:
    with pytest.raises(TraceError, match="align is 'noon', expected auto, date or start"):
        with_outages(workload(), failures(), align="noon")  # type: ignore[arg-type]
