"""How many traces tell rules apart: against what is known of made-up traces."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer import Typer
from typer.testing import CliRunner

from experiments import power
from experiments.power import Totals, power_of, traces_needed
from failgym.baselines import RetryCap
from failgym.envs import resolve
from failgym.evaluation import Anchors
from failgym.leaderboard.suite.by_stake import draw_by_stake
from failgym.leaderboard.suite.suites import Course

RULES = ("best", "second", "last")


def made_up(traces: int, seed: int = 0) -> Totals:
    """Rules that save 50, 45 and 0 of 100 on the mean, each by noise of its own."""
    rng = np.random.default_rng(seed)
    possible = rng.gamma(2.0, 50.0, traces)
    noise = rng.normal(0.0, (10.0, 10.0, 1.0), (traces, len(RULES)))
    saved = possible[:, None] * np.array([0.5, 0.45, 0.0]) + noise
    times = np.ones(traces), np.ones((traces, len(RULES)))
    return Totals(RULES, saved, possible, possible, *times)


def test_the_spread_is_what_scores_of_many_runs_have() -> None:
    """A run of 40 traces, two thousand times."""
    whole = made_up(80_000)
    runs = whole.saved.reshape(2_000, 40, 3).sum(axis=1)
    scores = 100.0 * runs / whole.possible.reshape(2_000, 40).sum(axis=1, keepdims=True)
    expected = whole.spread(whole.saved) / math.sqrt(40)
    assert scores.std(axis=0) == pytest.approx(expected, rel=0.06)


def test_so_many_pairs_are_told_apart_as_in_runs() -> None:
    """With normal intervals, which a run of 40 traces has the spread for."""
    whole, traces = made_up(40_000), 40
    power_ = power_of(whole, traces, matters=3.0)
    saved = whole.saved.reshape(-1, traces, 3)
    possible = whole.possible.reshape(-1, traces)
    told: list[float] = []
    for left, right in ((0, 1), (0, 2), (1, 2)):
        less = (saved[:, :, left] - saved[:, :, right]).sum(axis=1) / possible.sum(axis=1)
        error = whole.spread(whole.saved[:, [left]] - whole.saved[:, [right]])[0]
        told.append(float((np.abs(100.0 * less) > 1.96 * error / math.sqrt(traces)).mean()))
    assert power_.told_apart == pytest.approx(np.mean(told), abs=0.01)
    assert 0.4 < power_.told_apart < 1.0
    error = whole.spread(whole.saved[:, [0]] - whole.saved[:, [1]])[0] / math.sqrt(traces)
    assert power_.half_width == pytest.approx(1.96 * error, rel=1e-3)
    assert power_.smallest <= power_.smallest_wide


def test_what_chance_adds_to_differences_is_not_taken_for_one() -> None:
    """Rules that are equal: of twenty traces they seem to differ by points."""
    rng, told, found_apart = np.random.default_rng(2), 0, 0
    for _ in range(200):
        possible = rng.gamma(2.0, 50.0, 20)
        saved = possible[:, None] * 0.5 + rng.normal(0.0, 40.0, (20, 3))
        found = Totals(RULES, saved, possible, possible, np.ones(20), np.ones((20, 3)))
        error = found.spread(saved[:, [0]] - saved[:, [1]])[0] / math.sqrt(20)
        told += bool(abs(found.scores[0] - found.scores[1]) > error)
        found_apart += not math.isnan(power_of(found, 300, 3.0).told_apart)
    assert told / 200 == pytest.approx(0.32, abs=0.12)  # farther than one standard error
    assert found_apart / 200 < 0.75  # some pair of three seems to be


def test_one_trace_or_one_rule_is_refused() -> None:
    found = made_up(1)
    with pytest.raises(ValueError, match="expected 2 traces and 2 rules"):
        power_of(found, 10, 3.0)


def test_the_fewest_traces_are_enough_and_one_less_is_not() -> None:
    found = made_up(300)
    needed = traces_needed(found, matters=3.0, share=0.9, half_width=2.0)
    assert needed is not None
    enough, less = (power_of(found, traces, 3.0) for traces in (needed, needed - 1))
    assert enough.half_width <= 2.0
    assert enough.told_apart >= 0.9
    assert less.half_width > 2.0 or less.told_apart < 0.9
    assert traces_needed(found, matters=3.0, share=0.9, half_width=1e-4) is None


def test_the_command_measures_what_evaluate_does_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "power.json"
    app = Typer()
    app.command()(power.main)
    fields: dict[str, Any] = {"jobs": 300, "trace": "google-2011-failing"}
    words = ["--env", "failgym/Cloning-v1", "--first", "7", "--json", str(file)]
    words += [word for name, value in fields.items() for word in ("--set", f"{name}={value}")]
    done = CliRunner().invoke(app, [*words, "--traces", "2"])
    assert done.exit_code == 0, done.output
    [found] = json.loads(file.read_text()).values()
    assert list(found["traces"]) == ["7", "8"]
    at = found["rules"].index("retry_cap")
    for seed, row in found["traces"].items():
        drawn = {"trace_seed": int(seed), "seed": int(seed)}
        whole = Anchors.of(resolve("Cloning-v1", {"split": "test", **fields, **drawn}))
        saved = whole.replay.costs.sum() - whole.run(RetryCap()).costs.sum()
        assert row["saved"][at] == pytest.approx(saved)
        assert row["saved"][found["rules"].index("replay")] == 0.0

    played: list[int] = []

    def known(course: Course, seed: int) -> dict[str, Any]:
        played.append(seed)
        return found["traces"]["7"]

    monkeypatch.setattr(power, "measured", known)
    done = CliRunner().invoke(app, [*words, "--traces", "3"])
    assert done.exit_code == 0, done.output
    assert played == [9]
    done = CliRunner().invoke(app, [*words, "--traces", "3", "--slices", "2"])
    assert done.exit_code == 1
    assert "Cloning-v1: slices: expected None, got 2" in str(done.exception or done.output)
    assert len(json.loads(file.read_text())["Cloning-v1"]["traces"]) == 3


def test_slices_that_are_drawn_by_stake_stand_for_all() -> None:
    """Each counts for as many as it stands for."""
    fields: dict[str, Any] = {"jobs": 1500, "trace": "google-2011-failing", "slice_tasks": 1}
    course = Course("Cloning-v1", None, (7,), 250, by_stake=True, changes=fields)
    found = power.measured(course, 7)
    at = power._rules(course.scenario()).index("retry_cap")
    whole = Anchors.of(course.scenario().override(trace_seed=7, seed=7))
    assert len(whole.replay.slices) > 350
    drawn = draw_by_stake(whole.possible, whole.spent, 250, seed=7)
    saved = (whole.replay.costs - whole.run(RetryCap()).costs).sum(axis=1)
    assert found["saved"][at] == pytest.approx((drawn.weights * saved[drawn.slices]).sum())
    assert found["saved"][at] != pytest.approx(saved.sum(), rel=1e-9)
    assert found["possible"] == pytest.approx(whole.possible.sum(), rel=0.1)
