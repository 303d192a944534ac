"""What the tests of clients report: client, version, transitions compared."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import pytest

from tests.clients.transitions import Transitions, assert_same

Compare = Callable[[dict[str, Any], Transitions], None]


@pytest.fixture(autouse=True)
def reported_client(request: pytest.FixtureRequest, record_property: Any) -> None:
    """Name the client of a file (`SHOWN`) and the version of what it runs on (`CLIENT`)."""
    name = getattr(request.module, "CLIENT", "gymnasium")
    record_property("client", getattr(request.module, "SHOWN", name))
    record_property("version", version(name))


@pytest.fixture
def compare(record_property: Any) -> Compare:
    """`assert_same`, counting."""

    def counted(stored: dict[str, Any], expected: Transitions) -> None:
        record_property("transitions", assert_same(stored, expected))

    return counted
