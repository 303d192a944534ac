"""What costs are counted in: worked out once for all forecasts of a split, and never of another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from failgym.envs import resolve
from failgym.traces import generate
from failgym.traces.synthetic import PROFILES
from failgym.worlds import build, source
from failgym.worlds.pinned import build as steps
from failgym.worlds.scenario import Scenario

PROFILE = "google-2011"


@pytest.fixture(autouse=True)
def nothing_at_hand(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("FAILGYM_CACHE_SIZE", "0")
    forget()
    yield
    forget()


def forget() -> None:
    for cache in (build.RECENT, steps._UNITS, source._generated, source._loaded):
        cache.cache_clear()


def prices(scenario: Scenario) -> Any:
    """The parameters of its world, which hold what each account costs."""
    build.RECENT.cache_clear()
    tables: Any = build.build_world(scenario).tables
    return tables.parameters.tolist()


def scenario(**fields: Any) -> Scenario:
    return resolve("GracePeriod-v1", {"split": "test", "jobs": 300, **fields})


def alone(of: Scenario) -> Any:
    """The same in a process that has built nothing."""
    forget()
    return prices(of)


def test_they_are_those_of_the_fold_the_weights_and_the_trace() -> None:
    ways = [
        *({}, {"forecast": "none"}, {"fold": 2}, {"fold": 4}, {"weight_wasted": 2.0}),
        *({"trace_seed": 7}, {"jobs": 400}, {"split": "validation"}),
    ]
    each = [alone(scenario(**way)) for way in ways]
    assert len({str(one) for one in each}) > 5
    forget()
    for _ in range(2):
        assert [prices(scenario(**way)) for way in ways] == each


def test_a_profile_that_was_changed_has_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    before = prices(scenario(trace=PROFILE))
    changed: Any = replace(PROFILES[PROFILE], unfinished_all=0.01)
    monkeypatch.setitem(PROFILES, PROFILE, changed)
    source._generated.cache_clear()
    after = prices(scenario(trace=PROFILE))
    assert after != before
    assert after == alone(scenario(trace=PROFILE))


def test_a_folder_that_was_replaced_has_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    generate(PROFILE, jobs=300, seed=1).save(tmp_path / "first")
    generate(PROFILE, jobs=300, seed=2).save(tmp_path / "second")
    (tmp_path / "first").rename(tmp_path / "trace")
    before = prices(scenario(trace="trace", forecast="none"))
    (tmp_path / "trace").rename(tmp_path / "first")
    (tmp_path / "second").rename(tmp_path / "trace")
    after = prices(scenario(trace="trace", forecast="none"))
    assert after != before
    assert after == alone(scenario(trace="trace", forecast="none"))


def test_a_trace_in_memory_is_not_held() -> None:
    trace = generate(PROFILE, jobs=300, seed=3)
    prices(scenario(trace=trace, forecast="none"))
    held = [part for key in steps._UNITS._things for part in key]  # type: ignore[attr-defined]
    assert held
    assert not any(part is trace for part in held)
