"""A sample of the campaign in `fuzz`: damaged files make a trace or one clear line."""

from __future__ import annotations

import pytest

from failgym.traces import FORMATS
from tests.traces.readers.fuzz import campaign, cases


def test_every_format_has_fixtures() -> None:
    assert all(cases().values())


@pytest.mark.parametrize("form", FORMATS)
def test_damaged_files_make_a_trace_or_one_clear_line(form: str) -> None:
    report = campaign(seed=1, inputs=150, forms=[form], keep=None)
    assert not report.failures, "\n".join(report.failures[:3])
    assert report.traces[form] < report.inputs[form] == 150
