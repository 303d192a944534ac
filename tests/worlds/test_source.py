"""The trace of a folder is read once, by whomever."""

from __future__ import annotations

from pathlib import Path

import pytest

from failgym.envs import resolve
from failgym.traces import generate
from failgym.worlds.source import stored_trace, whole_trace


def test_who_asks_for_a_stored_trace_and_scenarios_that_name_it_share_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "trace"
    generate("google-2011", jobs=20, seed=1).save(folder)
    first = stored_trace(folder)
    assert first.content_hash == generate("google-2011", jobs=20, seed=1).content_hash
    monkeypatch.chdir(tmp_path)
    assert stored_trace("trace") is first
    for fields in ({"trace": folder}, {"trace": f"{folder}/"}, {"jobs": 7, "trace_seed": 3}):
        assert whole_trace(resolve("GracePeriod-v1", {"trace": folder, **fields})) is first
    generate("google-2011", jobs=20, seed=2).save(tmp_path / "other")
    folder.rename(tmp_path / "away")
    (tmp_path / "other").rename(folder)
    assert stored_trace(folder).content_hash != first.content_hash, "it is another folder"
