"""Progress is told where nobody looks at a terminal, but not to those who did not ask."""

from __future__ import annotations

import pytest

from failgym.evaluation import progress
from failgym.evaluation.progress import progress_bar


def test_a_line_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([0.0, 1.0, 5.0, 6.0, 11.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    with progress_bar("demo", 2_000, shown=False, lines=True) as advance:
        for done in (100, 300, 600, 1_000):
            advance(done)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.splitlines() == [
        "demo: 400 of 2,000, 5 s, about 20 s left",
        "demo: 2,000 of 2,000, 11 s",
    ]


def test_nothing_where_no_lines_are_wanted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "LINE_EVERY", 0.0)
    with progress_bar("demo", 2, shown=False) as advance:
        advance(2)
    assert capsys.readouterr().err == ""
