"""Progress is told where nobody looks at a terminal, but not to those who did not ask."""

from __future__ import annotations

import pytest

from failgym.evaluation import progress
from failgym.evaluation.progress import done_before, progress_bar


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


def test_what_was_done_before_says_nothing_of_the_time_left(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([0.0, 5.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    with progress_bar("demo", 1_000, shown=False, lines=True) as advance:
        done_before(advance, 900)
        advance(10)
    assert capsys.readouterr().err == "demo: 910 of 1,000, 5 s, about 45 s left\n"


def test_a_bar_does_not_take_it_for_speed_either(monkeypatch: pytest.MonkeyPatch) -> None:
    from rich.progress import Progress

    bars = list[Progress]()

    def start(bar: Progress) -> None:
        bars.append(bar)

    def stop(bar: Progress) -> None:
        """Nothing was begun."""

    monkeypatch.setattr(Progress, "start", start)
    monkeypatch.setattr(Progress, "stop", stop)
    with progress_bar("demo", 1_000) as advance:
        advance(1)
        done_before(advance, 900)
        (task,) = bars[0].tasks
        assert (task.completed, task.speed) == (901, None)
        advance(1)
        advance(1)
        done_before(advance, 0)
        assert task.speed is not None


def test_whoever_only_counts_is_told_all_the_same() -> None:
    told: list[int] = []
    done_before(told.append, 3)
    done_before(told.append, 0)
    assert told == [3]
