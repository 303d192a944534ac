"""The verdict on an agent: its cases, how many it was chosen among, and what it says in a line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")
from failgym.agents.training.rolling_origin import verdict_of_folds
from failgym.baselines import REGISTRY
from failgym.cli import run
from failgym.envs import resolve
from failgym.evaluation import Anchors
from failgym.evaluation.verdict import MOSTLY, Verdict, judged, verdict_of
from failgym.traces import Trace
from tests.assessment.records import in_vain, retried


@pytest.fixture(scope="module")
def anchors() -> Anchors:
    return Anchors.of("failgym/Cloning-v1", split="validation", episodes=60)


def of(anchors: Anchors, policy: str, candidates: int = 1) -> Verdict:
    return judged([anchors], REGISTRY[policy](), candidates)


def test_what_saves_is_adopted_and_what_harms_is_called_so(anchors: Anchors) -> None:
    good = of(anchors, "algorithm_1")
    assert (good.answer, good.acts, good.more) == ("adopt", True, None)
    assert good.low is not None
    assert good.low > 0.0
    assert good.text.startswith(f"adopt: score {good.score:.1f}, [{good.low:.1f}, ")
    bad = of(anchors, "spark_speculation")
    assert bad.score is not None
    assert bad.score < 0.0
    assert bad.high is not None
    assert bad.answer == ("harm" if bad.high < 0.0 else "no evidence")
    assert bad.more is None


def test_an_agent_that_never_acts_is_no_evidence(anchors: Anchors) -> None:
    found = of(anchors, "replay", 7)
    assert (found.answer, found.acts, found.score, found.more) == ("no evidence", False, 0.0, None)
    assert found.text.startswith("no evidence: keep replay; the agent never acts on ")
    assert found.text.endswith(" of the validation split, chosen among 7")


def test_more_candidates_make_a_wider_interval(anchors: Anchors) -> None:
    one, ten, many = (of(anchors, "algorithm_1", n) for n in (1, 10, 100))
    lows = [found.low for found in (one, ten, many) if found.low is not None]
    assert lows == sorted(lows, reverse=True)
    assert len(set(lows)) == 3
    assert [found.candidates for found in (one, ten, many)] == [1, 10, 100]
    assert one.score == many.score


def test_it_is_the_score_that_evaluate_gives(anchors: Anchors) -> None:
    measured = anchors.measure(anchors.run(REGISTRY["algorithm_1"]()))
    found = of(anchors, "algorithm_1")
    assert found.score == pytest.approx(measured.score)
    assert (found.units, found.unit) == (measured.units, measured.unit)
    assert found.low == pytest.approx(measured.low, abs=3.0)  # other draws, the same distribution


def test_how_many_more_would_decide_follows_from_the_root_of_their_number(
    anchors: Anchors, monkeypatch: pytest.MonkeyPatch
) -> None:
    from failgym.evaluation import verdict as module
    from failgym.evaluation.scoring import Score

    policy = REGISTRY["algorithm_1"]()
    runs = [anchors.run(policy)]

    def says(value: float, low: float, high: float) -> Verdict:
        def found(*_: object, **__: object) -> Score:
            return Score(value, low, high)

        monkeypatch.setattr(module, "score_of", found)
        return verdict_of([anchors], runs, 2)

    found = says(10.0, -10.0, 25.0)  # half as wide would do: four times as many
    assert (found.answer, found.smallest, found.more) == ("no evidence", 20.0, 3 * found.members)
    assert "for an agent like this no score below 20.0 can be told from 0" in found.text
    assert f"about {found.more:,} more" in found.text
    assert says(-1.0, -10.0, 5.0).more is None
    assert "more" not in says(-1.0, -10.0, 5.0).text
    assert says(1e-6, -1e6, 5.0).more is None  # nobody has so many
    assert says(-9.0, -10.0, -5.0).answer == "harm"
    nan = float("nan")
    nothing = says(nan, nan, nan)
    assert (nothing.answer, nothing.score, nothing.low, nothing.smallest) == (
        "no evidence",
        *3 * [None],
    )
    assert nothing.text.startswith("no evidence: there is nothing to gain on")
    few = says(5.0, nan, nan)
    assert (few.answer, few.score, few.low) == ("no evidence", 5.0, None)
    assert "decide for an interval" in few.text


def test_it_speaks_of_jobs_whatever_was_resampled(anchors: Anchors) -> None:
    found, jobs = of(anchors, "algorithm_1"), len(np.unique(anchors.evidence.units.member))
    assert found.members == jobs >= found.units
    for unit, words in (("job", "jobs"), ("block of jobs", "jobs"), ("slice", "slices")):
        assert f" on {jobs:,} {words} of the validation split" in replace(found, unit=unit).text


def test_what_rests_on_attempts_that_no_record_tells_of_is_no_evidence() -> None:
    """Of three jobs one fails and is left so; what a retry meets is drawn after those of others."""

    def on(trace: Trace) -> tuple[Verdict, Verdict]:
        scenario = resolve("failgym/Cloning-v1").override(trace=trace, forecast="none")
        place = Anchors.of(scenario, split="validation")
        run = place.run(REGISTRY["retry_cap"]())
        saves = replace(verdict_of([place], [run], 1), answer="adopt", low=1.0, high=9.0)
        return saves, saves.of_attempts([place], [run])

    saves, found = on(retried(1_200))
    assert (found.answer, found.untold) == ("adopt", None)
    assert found.drawn is not None
    assert found.drawn > MOSTLY
    words = f"{100.0 * found.drawn:.0f} % of what it saves and loses rests on attempts beyond"
    assert words in found.text
    saves, found = on(in_vain(1_200, 0))
    assert found == replace(saves, answer="no evidence", more=None, untold=found.untold)
    assert found.untold is not None
    assert found.untold.startswith("fewer than 30 restarts of failed tasks are recorded")
    assert found.text.startswith("no evidence: keep replay; score")
    assert found.text.endswith(f"; before that {found.untold}")
    scenario = resolve("failgym/Cloning-v1").override(trace=in_vain(1_200, 0), forecast="none")
    place = Anchors.of(scenario.override(slice_tasks=1), split="test")
    run = place.run(REGISTRY["retry_cap"]())
    assert verdict_of_folds([place], [run]).untold == found.untold
    harm = replace(saves, answer="harm", low=-9.0, high=-1.0)
    assert harm.of_attempts([place], [run]).answer == "harm"


def test_of_generated_traces_all_laws_are_known(anchors: Anchors) -> None:
    assert of(anchors, "algorithm_1").drawn is None


def test_folds_speak_for_no_agent_that_never_acts_or_does_harm(anchors: Anchors) -> None:
    folds = replace(of(anchors, "algorithm_1"), folds=5)
    assert folds.answer == "adopt"
    good, idle = of(anchors, "algorithm_1"), of(anchors, "replay")
    harmful, unsure = replace(good, answer="harm"), replace(good, answer="no evidence")
    assert folds.with_kept(good) == folds.with_kept(unsure) == folds
    for kept, words in ((idle, "never acts"), (harmful, "does harm")):
        found = folds.with_kept(kept)
        assert found.answer == "no evidence"
        assert found.text.startswith("no evidence: keep replay; score")
        assert found.text.endswith(f"; the agent that is kept {words} on the validation split")
        assert "told from 0" not in found.text
        assert replace(folds, answer="no evidence", low=-1.0, more=9).with_kept(kept).more is None
        lost = replace(folds, answer="harm", low=-9.0, high=-1.0).with_kept(kept)
        assert (lost.answer, lost.kept) == ("harm", words)


@pytest.mark.parametrize(("caution", "status"), [("[100.0]", 1), ("[0.0]", None)])
def test_the_exit_status_says_it_if_asked(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], caution: str, status: int | None
) -> None:
    pytest.importorskip("xgboost")
    command = [
        *("train", "--env", "failgym/GracePeriod-v1", "--algo", "counterfactual"),
        *("--hyper", "env.jobs=900", "--hyper", "traces=1", "--hyper", "trees=5"),
        *("--hyper", "advice=[]"),
        *("--hyper", f"caution={caution}", "--out", str(tmp_path / "run")),
    ]
    assert run(command) == 0
    said = capfd.readouterr().out.splitlines()[-1]
    adopted = said.startswith("adopt: ")
    assert run([*command, "--resume", "--require-gain"]) == (0 if adopted else 1)
    if status is not None:
        assert not adopted  # so cautious that it never acts
        assert "never acts" in said
