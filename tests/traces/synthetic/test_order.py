"""Traces of clusters and workflows are in the order of those that are read from files."""

from __future__ import annotations

import pytest

from failgym.traces import Trace, generate
from failgym.traces.order import in_order
from failgym.traces.schema import SCHEMAS, TABLES


@pytest.mark.parametrize("name", ["lanl-2", "lanl-20", "panda-10k", "panda-das"])
def test_canonical_order(name: str) -> None:
    trace = generate(name, jobs=60, seed=3)
    assert in_order(trace.meta, **tables(trace)).content_hash == trace.content_hash


def tables(trace: Trace) -> dict[str, dict[str, object]]:
    return {
        name: {key: trace.table(name).column(key) for key in SCHEMAS[name].names}
        for name in TABLES
        if trace.rows(name)
    }
