"""Rules on the folds of a record: chosen on the past, joined, with what is missing."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.result_tables.real_traces import real_traces, real_traces_refused
from experiments.rolling_origin import (
    REPLAY,
    conclusion,
    folds_of,
    main,
    measured,
    missing,
    more_needed,
    row_of,
    scenario_of,
    unjudged_in,
)
from failgym.baselines import BlindKill, GracePeriod, ImmediateKill, RetryCap
from failgym.cli import run
from failgym.evaluation import Anchors
from failgym.evaluation.progress import silent
from failgym.evaluation.savings import drawn_share
from failgym.leaderboard.statistics.bootstrap import Estimate
from failgym.policy import Policy
from failgym.traces import Trace, generate
from failgym.vocabulary import HOUR
from tests.assessment.logs import torque_log

ENV = "GracePeriod-v1"
RULES: dict[str, Policy] = {
    "immediate_kill": ImmediateKill(),
    "grace_period": GracePeriod(),
    "blind_kill": BlindKill(),
}


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("traces") / "mine"
    generate("google-2011", jobs=240, seed=5).save(folder)
    return folder


def saved(scenario: Any, fold: int, split: Any, rule: Policy) -> tuple[float, float, float]:
    """What a rule saves in a fold, the room there, and replay's machine-time [machine-h]."""
    one = Anchors.of(scenario.override(fold=fold, seed=fold), split=split, episodes=3, seed=fold)
    hour = one.world.work_price * HOUR
    less = one.replay.costs.sum() - one.run(rule).costs.sum()
    return less / hour, one.possible.sum() / hour, one.spent.sum() / hour


def test_folds_are_joined_and_the_rule_of_each_is_the_best_on_its_past(record: Path) -> None:
    scenario = scenario_of(ENV, record)
    assert scenario.split == "test"
    folds, names = folds_of(scenario, RULES, 3, silent)
    row = row_of("mine", ENV, folds, names)
    future = {
        n: np.array([saved(scenario, k, "test", r) for k in range(1, 6)]) for n, r in RULES.items()
    }
    past = {n: [saved(scenario, k, "train", r)[0] for k in range(1, 6)] for n, r in RULES.items()}
    chosen: list[str] = []
    for k in range(5):
        best = max(past, key=lambda name: past[name][k])
        chosen.append(best if past[best][k] > 0.0 else REPLAY)
    assert row.chosen == chosen
    _, room, spent = future["blind_kill"].sum(axis=0)
    assert row.room_hours == pytest.approx(room)
    assert row.room_share == pytest.approx(room / spent)
    for name, found in future.items():
        assert row.savings[name].value == pytest.approx(100.0 * found[:, 0].sum() / spent)
        assert row.scores[name].value == pytest.approx(100.0 * found[:, 0].sum() / room)
    ours = sum(future[name][k, 0] for k, name in enumerate(chosen) if name != REPLAY)
    assert row.chosen_saving.value == pytest.approx(100.0 * ours / spent)
    assert row.savings[row.best].value == max(one.value for one in row.savings.values())
    assert row.more == missing(row.scores[row.best], row.savings[row.best], row.count)
    assert row.unjudged is None
    assert row.drawn == 0.0, "what is killed meets no attempt that the record does not hold"
    assert 0.0 < row.largest <= row.top <= 1.0


def test_so_many_more_jobs_bring_half_the_interval_below_the_saving() -> None:
    for value, low, high in ((1.0, -2.0, 4.0), (-2.0, -9.0, 3.0), (0.5, -0.13, 2.0)):
        more = more_needed(Estimate(value, low, high), 100)
        assert more is not None
        half = value - low if value > 0.0 else high - value
        assert half * math.sqrt(100 / (100 + more)) < abs(value)
        assert half * math.sqrt(100 / (100 + more - 1)) >= abs(value)
    assert more_needed(Estimate(1.0, 0.1, 4.0), 100) is None
    assert more_needed(Estimate(-1.0, -4.0, -0.1), 100) is None
    assert more_needed(Estimate(0.0, -1.0, 1.0), 100) == -1
    nothing = Estimate(1.0, math.nan, math.nan)
    assert more_needed(nothing, 100) == -1
    narrow, wide = Estimate(9.0, 5.0, 11.0), Estimate(9.0, -5.0, 90.0)
    assert missing(narrow, narrow, 100) is None
    assert missing(narrow, wide, 100) == more_needed(wide, 100)
    assert missing(wide, narrow, 100) == more_needed(wide, 100)
    assert missing(nothing, narrow, 100) is None
    assert missing(Estimate(0.0, -1.0, 1.0), wide, 100) == -1


def test_nothing_is_concluded_of_retries_where_none_are_recorded(tmp_path: Path) -> None:
    restarted = generate("google-2011-failing", jobs=60, seed=5)
    log, folder = tmp_path / "torque.log", tmp_path / "once"
    log.write_text(torque_log(60))
    assert (
        run(["trace", "import", "torque", str(log), "--timezone", "UTC", "--out", str(folder)]) == 0
    )
    once = Trace.load(folder)
    assert unjudged_in("Cloning-v1", restarted) is None
    why = unjudged_in("Cloning-v1", once)
    assert why is not None
    assert "fewer than 30 restarts" in why
    assert unjudged_in(ENV, once) is None
    row = {
        **{"trace": "x", "env": "Cloning-v1", "count": 9, "unit": "job", "best": "reroll"},
        **{"room_share": 0.5, "room_hours": 9.0, "largest": 0.1, "top": 0.1, "chosen": ["reroll"]},
        **{"scores": {"reroll": [9.0, 8.0, 10.0]}, "savings": {"reroll": [9.0, 8.0, 10.0]}},
        **{"chosen_score": [9.0, 8.0, 10.0], "chosen_saving": [9.0, 8.0, 10.0], "more": None},
        "drawn": None,
    }
    assert real_traces([{**row, "unjudged": why}]).endswith(
        " | not judged: fewer than 30 restarts of failed tasks are recorded |"
    )
    assert real_traces([{**row, "unjudged": None}]).endswith(" | it saves |")
    mostly = [{**row, "unjudged": None, "drawn": share} for share in (0.5, 0.501, math.nan)]
    fits = "it saves if the drawn attempts fit: 50.1 % rests on them"
    ends = [real_traces([each]).split(" | ")[-1] for each in mostly]
    assert ends == ["it saves |", f"{fits} |", "it saves |"]
    assert [conclusion(each) for each in mostly] == ["saves", fits.removeprefix("it "), "saves"]
    assert r"\*" not in real_traces([{**row, "unjudged": None}])
    little = real_traces([{**row, "unjudged": None, "room_share": 0.0495}])
    assert r"| 5.0 %\*, 9 h |" in little, "less than 5 %"
    assert little.count(r"| 9.0\* [8.0, 10.0] | 9.0 [8.0, 10.0] |") == 2, "scores, not savings"


def test_what_is_saved_by_trying_again_rests_on_drawn_attempts(tmp_path: Path) -> None:
    generate("google-2011-failing", jobs=200, seed=5).save(tmp_path / "failing")
    scenario = scenario_of("Cloning-v1", tmp_path / "failing", ["forecast=none"])
    rules: dict[str, Policy] = {"retry_cap": RetryCap()}
    folds, names = folds_of(scenario, rules, 3, silent)
    row = row_of("failing", "Cloning-v1", folds, names)
    moved = [drawn_share([fold.anchors], [fold.anchors.run(RetryCap())]).value for fold in folds]
    assert row.drawn > 0.5
    assert np.nanmin(moved) <= row.drawn <= np.nanmax(moved)


def test_a_record_that_is_too_short_is_a_row_that_says_why(tmp_path: Path) -> None:
    generate("google-2011", jobs=3, seed=5).save(tmp_path / "short")
    row = measured(tmp_path / "short", ENV, 3, None)
    assert row["reason"].startswith("fold ")
    assert "\n" not in row["reason"]
    assert row["trace"] == "short"
    assert real_traces([row]).count("\n") == 1
    assert real_traces_refused([row]).endswith(f"| short | `{ENV}` | {row['reason']} |")


def test_a_file_is_gone_on_with(record: Path, tmp_path: Path) -> None:
    file = tmp_path / "rolling.json"
    other = {"trace": "theirs", "env": ENV, "reason": "x"}
    old = {"trace": "mine", "env": ENV, "reason": "of before"}
    file.write_text(json.dumps([old, other]))
    main([record], [ENV], 2, None, file)
    rows = json.loads(file.read_text())
    assert rows[0] == other
    [mine] = rows[1:]
    assert (mine["trace"], mine["env"]) == ("mine", ENV)
    [line] = real_traces(rows).splitlines()[2:]
    assert line.startswith(f"| mine | `{ENV}` | {mine['count']} jobs | ")
