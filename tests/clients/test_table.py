"""The matrix of clients hides nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.clients.table import main

COLLECTED = """<testsuites><testsuite>
<testcase name="test_it"><properties><property name="client" value="gymnasium"/>
<property name="version" value="1.2.2"/><property name="transitions" value="7"/></properties>
</testcase>
{other}
</testsuite></testsuites>"""
BROKEN, ABSENT = (
    f'<testcase name="tests.clients.test_x"><{what} message="so">so</{what}></testcase>'
    for what in ("error", "skipped")
)


@pytest.mark.parametrize(("other", "status"), [("", 0), (ABSENT, 0), (BROKEN, 1)])
def test_what_cannot_be_collected_is_red(
    other: str, status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "tests.xml"
    report.write_text(COLLECTED.format(other=other))
    assert main([str(report)]) == status
    said = capsys.readouterr().out
    assert ("tests.clients.test_x" in said and "red" in said) == bool(status)
    assert "gymnasium" in said
