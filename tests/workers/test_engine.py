"""Who works is an option; what comes out is the same."""

from __future__ import annotations

import subprocess
import sys
import traceback
from pathlib import Path

import pytest

from failgym.cli import run
from failgym.workers import ALONE, Workers, each, engine, outcome
from failgym.workers.outcome import Outcome

BAD = ("0", "-1", "1.5", "", "many", "1025", "１")
"""No number of processes."""


def half(number: int) -> float:
    """A step that one item makes fail."""
    if number == 13:
        raise ValueError("13 brings bad luck")
    return number / 2


@pytest.mark.parametrize("workers", [ALONE, Workers(2)], ids=str)
def test_results_are_in_the_order_of_items(workers: Workers) -> None:
    items, done, ended = list(range(9)), list[int](), list[tuple[int, float]]()
    looks: list[int] = []

    def look() -> None:
        looks.append(len(ended))

    def over(item: int, result: float) -> None:
        ended.append((item, result))

    found = each(half, items, workers, done=done.append, ended=over, look=look)
    assert found == [number / 2 for number in items]
    assert sum(done) == len(items)
    assert sorted(ended) == list(zip(items, found, strict=True))
    assert looks[-1] == len(items)


@pytest.mark.parametrize("workers", [ALONE, Workers(2)], ids=str)
def test_what_a_step_raises_is_raised(workers: Workers) -> None:
    with pytest.raises(ValueError, match=r"^13 brings bad luck$"):
        each(half, [12, 13, 14], workers)


@pytest.mark.parametrize("number", [12, 13], ids=["done", "failed"])
def test_what_a_step_freed_is_given_back(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    told: list[bool] = []
    monkeypatch.setattr(outcome, "give_back", lambda: told.append(True))
    assert (Outcome.of(half, number).error is None) == (number == 12)
    assert told == [True]


class Odd(ValueError):
    """An error that is not made again of what it says."""

    def __init__(self, first: int, second: int) -> None:
        super().__init__(f"{first} goes badly with {second}")


class Held(Exception):
    """An error that cannot be sent."""

    def __init__(self, said: str) -> None:
        super().__init__(said)
        self.held = lambda: said


def odd(kind: str) -> None:
    """Steps that fail in ways that are not told easily."""
    if kind == "words":
        raise Odd(1, 2)
    if kind == "content":
        raise Held("held")
    raise ValueError("the file is lost") from OSError(5, "Input/output error")


ODD = {
    "words": (ValueError, r"^1 goes badly with 2$"),
    "content": (RuntimeError, "^Held: held\nin a worker:"),
}


@pytest.mark.parametrize("kind", ODD)
def test_an_error_that_cannot_be_made_again_is_told(kind: str) -> None:
    raised, said = ODD[kind]
    with pytest.raises(raised, match=said):
        each(odd, [kind, kind], Workers(2))


@pytest.mark.parametrize("workers", [ALONE, Workers(2)], ids=str)
def test_what_caused_an_error_is_known(workers: Workers) -> None:
    with pytest.raises(ValueError, match=r"^the file is lost$") as raised:
        each(odd, ["cause", "cause"], workers)
    assert isinstance(raised.value.__cause__, OSError)
    assert raised.value.__cause__.errno == 5


def test_of_a_mistake_of_ours_is_told_where_it_is() -> None:
    with pytest.raises(RuntimeError) as raised:
        each(odd, ["content", "content"], Workers(2))
    assert "in odd\n" in "".join(traceback.format_exception(raised.value))


def test_no_steps_ask_nobody() -> None:
    assert each(half, [], Workers(2)) == []


@pytest.mark.parametrize("text", BAD)
def test_workers_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^--workers: expected a number, 1 to 1024, or ray, got"):
        Workers.read(text)


@pytest.mark.parametrize("number", [True, 2.0, "2", None])
def test_a_number_of_processes_is_a_number(number: object) -> None:
    with pytest.raises(ValueError, match=r"^--workers: expected"):
        Workers(number)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("address", ["here", "ray://here", ":1", "here:", "here:x", "http://here"])
def test_addresses_that_are_none_are_refused(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "find_spec", str)
    with pytest.raises(ValueError, match=r"^--ray-address: expected auto, HOST:PORT or ray://"):
        Workers.read("ray", address)
    with pytest.raises(ValueError, match=r"expected --workers ray beside it"):
        Workers.read("2", address)


def test_without_ray_the_option_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(engine, "find_spec", {}.get)
    board = ["leaderboard", "run", "--suite", "smoke", "--policy", "replay"]
    assert run([*board, "--out", str(tmp_path / "out"), "--workers", "ray"]) == 2
    said = capsys.readouterr().err
    assert said == (
        "failgym: --workers ray: Ray is not installed: pip install 'failgym[distributed]'\n"
    )
    assert not (tmp_path / "out").exists()


def test_nobody_imports_ray_who_does_not_ask_for_it() -> None:
    code = (
        "import sys; from failgym.workers import Workers, each; import failgym.cli, failgym.tuning;"
        " import failgym.leaderboard; each(abs, [1]); print('ray' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
