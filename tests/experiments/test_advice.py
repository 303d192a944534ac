"""The campaign of advice: what it counts, and that it goes on after a kill."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("stable_baselines3")
pytest.importorskip("xgboost")
from experiments import advice
from experiments.advice import (
    PLAYED,
    Assessments,
    advised,
    counted_among,
    truths_in,
    typical,
)
from experiments.advice_summary import Advised, counted
from experiments.gate import Key, truths_of
from experiments.result_tables.assessments import advice as advice_table
from failgym.evaluation.scoring import Score
from tests.experiments.test_gate import TINY
from tests.pages import TOP

SAVES, HARMS, UNSURE = Score(20.0, 10.0, 30.0), Score(-9.0, -20.0, -1.0), Score(1.0, -5.0, 7.0)
TRUTHS = {"good": SAVES, "bad": HARMS, "idle": UNSURE}
ROW: dict[str, Any] = {
    "case": "one",
    "number": 3,
    "answer": "keep",
    "policy": None,
    "smallest": {"good": 10.0, "bad": 1.0, "idle": 0.1},
}


def test_an_advice_beside_the_truth() -> None:
    typically = {"good": 10.5, "bad": 1.0, "idle": None}
    kept = advised(ROW, TRUTHS, typically)
    assert kept.large_typically == ()
    assert advised(ROW, TRUTHS, {**typically, "good": 9.0}).large_typically == ("good",)
    assert (kept.truth, kept.large, kept.harmful, kept.right) == (None, ("good",), False, False)
    good = advised({**ROW, "answer": "adopt", "policy": "good"}, TRUTHS, typically)
    assert (good.truth, good.right, good.harmful) == (SAVES, True, False)
    bad = advised({**ROW, "answer": "adopt", "policy": "bad"}, TRUTHS, typically)
    assert (bad.right, bad.harmful) == (False, True)
    little = advised(
        {**ROW, "smallest": {"good": 10.1, "bad": None, "idle": 0.0}}, TRUTHS, typically
    )
    assert little.large == ()


def test_what_is_counted() -> None:
    one = Advised("one", 0, "keep", None, None, ("good",), ())
    found = [
        one,
        replace(one, answer="adopt", policy="good", truth=SAVES),
        replace(one, answer="adopt", policy="bad", truth=HARMS, large=()),
        replace(one, answer="adopt", policy="idle", truth=UNSURE, large=()),
        replace(one, large=()),
    ]
    name, records, adopted, right, unsure, harmful, missed, typically = counted("all", found)
    assert (name, records, adopted, right, unsure) == ("all", 5, 3, 1, 1)
    assert str(harmful).endswith("1 of 5")
    assert str(missed).endswith("1 of 2")
    assert typically == "-"


def test_the_typical_smallest_is_the_middle_of_all_records() -> None:
    rows = [
        {**ROW, "number": number, "smallest": {"good": least, "bad": None, "idle": 1.0}}
        for number, least in enumerate((2.0, 9.0, None))
    ]
    assert typical(rows) == {"good": 9.0, "bad": None, "idle": 1.0}
    found = counted_among(rows, {"one": TRUTHS})
    assert [one.large for one in found] == [("good",), ("good",), ()]
    assert [one.large_typically for one in found] == [("good",)] * 3


def test_what_the_page_shows_is_what_was_counted() -> None:
    """From what JSON keeps: lists for tuples, null for NaN."""
    kept = Advised("one", 0, "keep", None, None, ("good",), ())
    bad = Advised("two", 0, "adopt", "bad", HARMS, (), ("good",))
    content = json.loads(json.dumps({"advised": [asdict(kept), asdict(bad)]}))
    content["cases"] = [{"name": "one"}, {"name": "two"}]
    lines = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in advice_table(content).splitlines()
    ]
    assert [line[:5] for line in lines[2:]] == [
        ["all", "2", "1", "0", "0"],
        ["one", "1", "0", "0", "0"],
        ["two", "1", "1", "0", "0"],
    ]
    assert lines[4][5].endswith("1 of 1")
    assert lines[3][6].endswith("1 of 1")


def test_the_truth_is_that_of_the_campaign_of_verdicts() -> None:
    """Of the stored one, as long as its laws are those of now."""
    content = json.loads((TOP / "experiments/measured/gate.json").read_text("utf-8"))
    truths = truths_in(content, PLAYED)
    assert [set(truths[case.name]) for case in PLAYED] == [set(case.rules) for case in PLAYED]
    other = replace(PLAYED[0], jobs=PLAYED[0].jobs + 1)
    with pytest.raises(ValueError, match="'kills' as it is now"):
        truths_in(content, [other])


def test_truths_of_what_is_spent() -> None:
    fresh = [{"possible": 5.0, "spent": 10.0, "saved": {"rule": saved}} for saved in (1.0, 2.0)]
    assert truths_of(fresh)["rule"].value == pytest.approx(30.0)
    assert truths_of(fresh, of_spent=True)["rule"].value == pytest.approx(15.0)


def test_a_record_is_assessed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(advice, "PLAYED", (TINY,))
    assessments, key = Assessments(tmp_path), Key("tiny", 0)
    assessments.assess(key)
    row = assessments.row(key)
    assert row is not None
    assert set(row["smallest"]) == set(row["saved"])
    assert row["smallest"]

    def assessed_again(*_: Any, **__: Any) -> Any:
        raise AssertionError("it was assessed before")

    monkeypatch.setattr(advice, "assess", assessed_again)
    assessments.assess(key)
    monkeypatch.setattr(advice, "PLAYED", (replace(TINY, jobs=701),))
    with pytest.raises(AssertionError, match="assessed before"):
        assessments.assess(key)
    monkeypatch.setattr(advice, "PLAYED", (TINY,))
    monkeypatch.setattr(advice, "code_hash", lambda: "another")
    with pytest.raises(AssertionError, match="assessed before"):
        assessments.assess(key)
