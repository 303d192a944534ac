"""What is added up over a trace fits into the numbers that it is added up in, or is refused."""

from __future__ import annotations

from typing import Any

import pytest

from failgym.traces import Trace, TraceError
from failgym.traces.schema import LATEST, MOST_TOTAL, TABLES, make_table
from failgym.traces.validate import Validator
from tests.traces import traces

WIDEST = 2**31 - 1
Cells = dict[str, dict[str, Any]]


def jobs(count: int, **attempts: Any) -> Cells:
    """So many jobs of one task of one slot that run for a second, some columns changed."""
    rows = list(range(count))
    return {
        "jobs": {"original_id": [str(i) for i in rows], "submit": 0, "width": 1, "outcome": 0},
        "tasks": {"job": rows, "index": 0, "width": 1},
        "attempts": {
            **{"task": rows, "start": [0] * count, "end": [1_000] * count, "outcome": [0] * count},
            **{name: [value] * count for name, value in attempts.items()},
        },
    }


def wide(width: int, end: int, count: int = 1) -> Cells:
    made = jobs(count, end=end)
    made["tasks"]["width"] = width
    return made


def staged(sizes: list[int]) -> Cells:
    n = len(sizes)
    return {
        **jobs(1),
        "stages": {"job": [0] * (n + 1), "stage": list(range(n + 1))},
        "stage_edges": {
            "parent": list(range(n)),
            "child": list(range(1, n + 1)),
            "bytes": sizes,
            "wide": False,
        },
    }


def machines(count: int, slots: int, end: int) -> Cells:
    names = [f"m{i}" for i in range(count)]
    return {**jobs(1, end=end), "machines": {"original_id": names, "speed": 1.0, "slots": slots}}


def outputs(size: int, count: int) -> Cells:
    made = jobs(count)
    made["tasks"]["output_bytes"] = [size] * count
    return made


def costs(count: int) -> Cells:
    of = {"task": [0] * count, "machine": list(range(count)), "time": LATEST}
    return {**machines(count, 1, 1_000), "costs": of}


def outages(count: int) -> Cells:
    machine = {"original_id": ["m"], "speed": 1.0}
    return {
        **jobs(1),
        "machines": machine,
        "outages": {"machine": [0] * count, "down": [0] * count, "up": [LATEST] * count},
    }


FEW = MOST_TOTAL // LATEST
"""So many of the longest times are still added up."""
TOO_MUCH = [
    (wide(WIDEST, LATEST), "table attempts, row 0: column 'end': machine-ms"),
    (wide(WIDEST, MOST_TOTAL // WIDEST // 4, 5), "table attempts, row 4: column 'end': machine-ms"),
    (
        {
            **wide(WIDEST, 1_000),
            **{"attempts": jobs(1, outcome=1, cause=0, length=2**40)["attempts"]},
        },
        "table attempts, row 0: column 'length': machine-ms",
    ),
    (jobs(FEW + 1, end=LATEST), f"table attempts, row {FEW}: column 'end'"),
    (
        jobs(FEW + 1, start=None, end=LATEST, outcome=5),
        f"table attempts, row {FEW}: column 'end': ms from submissions to ends",
    ),
    (machines(2, WIDEST, LATEST // 4), "table machines, row 0: column 'slots': slot-ms"),
    (outputs(2**62, 3), "table tasks, row 0: column 'output_bytes': bytes"),
    (outputs(2**58, 5), "table tasks, row 4: column 'output_bytes': bytes"),
    (staged([2**59, 2**59, 1024]), "table stage_edges, row 2: column 'bytes': bytes"),
    (costs(FEW + 1), f"table costs, row {FEW}: column 'time': ms of compute times"),
    (outages(FEW + 1), f"table outages, row {FEW}: column 'up': ms of outages"),
]
ENOUGH = [
    wide(WIDEST, MOST_TOTAL // WIDEST),
    wide(2**14, LATEST),
    jobs(FEW, end=LATEST),
    machines(1, 2**14, LATEST),
    outputs(2**58, 4),
    staged([2**59, 2**59]),
    costs(FEW),
    outages(FEW),
]


@pytest.mark.parametrize(("tables", "message"), TOO_MUCH)
def test_what_would_not_fit_is_refused(tables: Cells, message: str) -> None:
    with pytest.raises(TraceError) as caught:
        Trace.of(traces.META, **tables)
    assert str(caught.value).startswith(message)
    assert "expected at most 1.15e+18 in all" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("tables", ENOUGH)
def test_up_to_there_it_is_taken(tables: Cells) -> None:
    Trace.of(traces.META, **tables)


def test_the_stated_end_of_the_data_counts() -> None:
    from failgym.traces import Meta

    with pytest.raises(TraceError, match="table machines, row 0"):
        Trace.of(Meta("x", end=LATEST), **machines(1, 2**14 + 1, 1_000))


@pytest.mark.parametrize(
    "tables", [wide(WIDEST, LATEST), jobs(FEW + 1, end=LATEST), machines(2, WIDEST, LATEST // 4)]
)
@pytest.mark.parametrize("order", [TABLES, tuple(reversed(TABLES))])
def test_pieces_are_refused_too(tables: Cells, order: tuple[str, ...]) -> None:
    made = {name: make_table(name, tables.get(name, {})) for name in TABLES}
    validator = Validator({name: table.num_rows for name, table in made.items()})
    for name in order:
        validator.check(name, made[name])
    with pytest.raises(TraceError, match=r"table (attempts|machines): .* expected at most 1\.15e"):
        validator.finish()
