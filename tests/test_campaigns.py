"""Campaigns keep to their time, and those that fail are named."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests import campaigns
from tests.campaigns import CAMPAIGNS, Campaign, run
from tests.conftest import LONGEST


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_what_a_campaign_runs_exists(name: str) -> None:
    assert find_spec(CAMPAIGNS[name].words[0])
    assert CAMPAIGNS[name].minutes > 0


def test_one_that_fails_and_one_that_needs_more_time_are_named() -> None:
    assert run(Campaign(1, ("keyword",))) == ""
    assert run(Campaign(1, ("tests.no_such_campaign",))) == "status 1"
    assert run(Campaign(0, ("http.server", "0"))) == "not done after 0 minutes"


def test_one_that_was_interrupted_goes_on_with_what_has_not_ended_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    two = {
        "good": Campaign(1, ("keyword",)),
        "bad": Campaign(1, ("tests.no_such_campaign",)),
    }
    monkeypatch.setattr(campaigns, "CAMPAIGNS", two)
    monkeypatch.setattr(campaigns, "DONE", tmp_path / "build" / "done.txt")
    for words, said in (([], "at most"), (["--resume"], "has ended well"), ([], "at most")):
        monkeypatch.setattr("sys.argv", ["campaigns", "--only", "good", "bad", *words])
        with pytest.raises(SystemExit) as end:
            campaigns.main()
        assert end.value.code == 1
        out = capsys.readouterr().out
        assert f"--- good: {said}" in out
        assert "--- bad: at most" in out


def test_one_without_end_ends_when_it_is_told_to() -> None:
    assert run(Campaign(0, ("tests.sim.agree",), endless=True)) == ""


def test_the_longest_files_exist() -> None:
    assert all((Path(__file__).parents[1] / name).is_file() for name in LONGEST)
