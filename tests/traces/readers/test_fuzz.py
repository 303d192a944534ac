"""A sample of the campaign in `fuzz`: damaged files make a trace or one clear line, and worlds."""

from __future__ import annotations

import pytest

from failgym.traces import FORMATS
from tests.traces.readers.fuzz import Campaign, Case, cases

INPUTS = 10
"""Of each format; the campaign tries many more."""


@pytest.fixture(scope="module")
def found() -> dict[str, list[Case]]:
    return cases()


def test_every_format_has_fixtures(found: dict[str, list[Case]]) -> None:
    assert all(found[form] for form in FORMATS)


@pytest.mark.parametrize("form", FORMATS)
def test_damaged_files_make_a_trace_or_one_clear_line(
    form: str, found: dict[str, list[Case]]
) -> None:
    """What is read is replayed exactly; how long it takes is measured by the campaign."""
    report = Campaign(seed=1, forms=[form], timed=False, found=found).run(range(INPUTS))
    assert not report.failures, "\n".join(report.failures[:3])
    assert report.traces[form] < report.inputs[form] == INPUTS
