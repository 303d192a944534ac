"""The campaign of verdicts: what it counts, and that it goes on after a kill."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("stable_baselines3")
pytest.importorskip("xgboost")
from experiments import gate
from experiments.gate import Campaign, Case, Key, dealt, judged_of, truths_of
from experiments.gate_summary import FOLDS, KEPT, RULES, Judged, Share, groups, summary
from experiments.result_tables.intervals import verdicts
from failgym.evaluation.scoring import Score
from failgym.vocabulary import HOUR

SAVES, HARMS = Score(20.0, 10.0, 30.0), Score(-9.0, -20.0, -1.0)
UNSURE, LOSES = Score(1.0, -5.0, 7.0), Score(-1.0, -7.0, 5.0)
"""Neither is told from 0; by its estimate the second loses."""
TINY = Case(
    "tiny",
    "GracePeriod-v1",
    "google-2011",
    700,
    {"job_tasks": 3, "longest": 4 * HOUR},
    {"trees": 3, "depth": 2, "models": 2, "caution": [1.0], "episodes": 100, "advice": []},
    slices=60,
)


def judged(answer: str, truth: Score, record: int = 0, smallest: float | None = 5.0) -> Judged:
    return Judged("one", record, "rule", RULES, answer, smallest, truth)


def test_harmful_policies_that_are_adopted_and_large_gains_that_are_missed_are_counted() -> None:
    found = summary(
        "all",
        [
            judged("adopt", HARMS, 0),
            judged("harm", HARMS, 1),
            judged("no evidence", HARMS, 2),
            judged("adopt", UNSURE, 3),
            judged("adopt", LOSES, 8),
            judged("no evidence", SAVES, 4, smallest=10.0),
            judged("adopt", SAVES, 5, smallest=9.0),
            judged("no evidence", SAVES, 6, smallest=10.1),
            judged("no evidence", SAVES, 7, smallest=None),
        ],
    )
    assert found.harmful_adopted == Share(1, 3, 3)
    assert found.harm_found == Share(1, 3, 3)
    assert found.missed == Share(1, 2, 2)
    assert found.losing_adopted == Share(2, 4, 4)
    assert (found.adopt, found.harm, found.none) == (4, 1, 4)
    assert (found.saving, found.unsure, found.unsure_adopted) == (4, 2, 2)
    assert found.missed_typical == Share(3, 4, 4)  # the middle of all is 5.0 to 9.0


def test_a_bracket_takes_the_verdicts_on_a_record_as_one() -> None:
    assert Share(0, 40, 10).text == "0.0 % [0.0, 30.8], 0 of 40"
    assert Share(20, 40, 10).text == Share(5, 10, 10).text.replace("5 of 10", "20 of 40")
    assert Share(0, 0, 0).text == "-"
    assert [Share(*one).kept(5.0) for one in ((0, 0, 0), (0, 200, 200), (0, 20, 20))] == [
        "not told",
        "yes",
        "yes, not surely",
    ]
    assert Share(1, 10, 10).kept(5.0) == "no, not surely"
    assert Share(90, 100, 100).kept(5.0) == "no"


def test_agents_of_folds_are_not_counted_with_those_that_are_kept() -> None:
    rows = [judged("adopt", SAVES), replace(judged("adopt", HARMS), kind=KEPT)]
    rows.append(replace(judged("adopt", HARMS), kind=FOLDS))
    named = {one.name: one.verdicts for one in groups(rows)}
    assert named == {RULES: 1, KEPT: 1, FOLDS: 1, "rules and agents that are kept": 2, "one": 2}


def test_a_page_says_whether_promises_are_kept() -> None:
    rows = [judged("no evidence", HARMS, record) for record in range(200)]
    rows.append(judged("adopt", SAVES, 200))
    content = json.loads(json.dumps({"judged": [asdict(one) for one in rows]}))
    line = verdicts(content).splitlines()[2]
    assert line.startswith("| rules | 201 | 1 | 200 | 0 | 0.0 % [0.0, 1.8], 0 of 200 | yes | ")
    assert line.endswith("| 0.0 % [0.0, 97.5], 0 of 1 | yes, not surely |")


def test_records_are_dealt_out_in_turn_and_more_add_to_them() -> None:
    cases = (TINY, replace(TINY, name="other one"))
    assert [key.file for key in dealt(cases, 3)] == ["tiny-0000", "other-one-0000", "tiny-0001"]
    assert dealt(cases, 5)[:3] == dealt(cases, 3)


def test_the_truth_is_a_ratio_of_sums_over_fresh_traces() -> None:
    fresh = [
        {"possible": 10.0, "spent": 20.0, "saved": {"a": 1.0, "b": 0.0}},
        {"possible": 30.0, "spent": 50.0, "saved": {"a": 7.0}},
    ]
    found = truths_of(fresh)
    assert set(found) == {"a"}
    assert found["a"].value == pytest.approx(20.0)


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    folder = tmp_path_factory.mktemp("gate")
    for name in ("records", "agents", "truths"):
        (folder / name).mkdir()
    found = Campaign(folder, (TINY,), (Key("tiny", 0),))
    found.record(Key("tiny", 0))
    found.truth(Key("tiny", 0))
    return found


def test_a_record_has_verdicts_and_a_fresh_trace_says_what_is_true(campaign: Campaign) -> None:
    row, fresh = campaign.row(Key("tiny", 0)), campaign.fresh(Key("tiny", 0))
    assert {one["folds"] for one in row["rules"].values()} == {5}
    named = {*row["rules"]} | ({f"{KEPT} 0", f"{FOLDS} 0"} if "learned" in row else set())
    assert set(fresh["saved"]) == named
    assert 0.0 < fresh["possible"] <= fresh["spent"]
    truths = {"tiny": dict.fromkeys(named, SAVES)}
    found = judged_of([row], truths)
    assert len(found) == len(named)
    assert {one.kind for one in found} <= {RULES, KEPT, FOLDS}


def test_what_was_done_is_not_done_again(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(gate, "generate", fails)
    campaign.record(Key("tiny", 0))
    campaign.truth(Key("tiny", 0))
    other = replace(campaign, cases=(replace(TINY, jobs=701),))
    with pytest.raises(ValueError, match="of other settings of 'tiny'"):
        other.record(Key("tiny", 0))
    with pytest.raises(ValueError, match="of other settings of 'tiny'"):
        other.truth(Key("tiny", 0))


def test_what_is_missing_is_played_and_training_goes_on(campaign: Campaign) -> None:
    record, truth = (campaign.folder / name / "tiny-0000.json" for name in ("records", "truths"))
    before, fresh = (json.loads(file.read_text()) for file in (record, truth))
    record.unlink()
    cut = {**fresh, "saved": {"immediate_kill": fresh["saved"]["immediate_kill"]}}
    truth.write_text(json.dumps({**cut, "possible": 1.0}))
    out: Path = campaign.agents(Key("tiny", 0))
    if "learned" in before:  # killed before anything was written that could be gone on with
        (out / "run.json").unlink()
    campaign.record(Key("tiny", 0))
    with pytest.raises(ValueError, match="was played in another world"):
        campaign.truth(Key("tiny", 0))
    truth.write_text(json.dumps(cut))
    campaign.truth(Key("tiny", 0))
    again = json.loads(record.read_text())
    assert {**again, "seconds": 0} == {**before, "seconds": 0}
    assert json.loads(truth.read_text()) == fresh
