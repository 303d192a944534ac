"""What is proven of a row stays with the row: in a merged folder, on a page, and nowhere else."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from failgym.baselines import REGISTRY
from failgym.leaderboard import (
    SUITES,
    Entry,
    Suite,
    SuiteWorlds,
    merge,
    read_submission,
    verify,
)
from failgym.leaderboard.page import read_source
from failgym.leaderboard.policy_process.players import Players
from failgym.leaderboard.submission.checks import read_results
from failgym.leaderboard.submission.lookalikes import skeleton
from failgym.leaderboard.submission.policy_names import baseline_named
from failgym.leaderboard.submission.proofs import weakest
from failgym.leaderboard.suite.suites import Course
from failgym.leaderboard.verification.verdict_file import Verdicts, read_verdicts, row_proofs
from failgym.workers import Workers
from tests.leaderboard.boards import COMMAND, TINY, baseline, edit, load, rehash, rewrite, submit
from tests.leaderboard.forged import examine

ENV = "GracePeriod-v1"


def verdict(folder: Path, **options: Any) -> Path:
    """What the host's own `verify` wrote."""
    file = folder.with_suffix(".verdict.json")
    file.write_text(json.dumps(examine(folder, **options).report()))
    return file


def proofs(folder: Path, *files: Path) -> dict[str, str]:
    """What verdicts say of each policy of a submission."""
    found = row_proofs(read_submission(folder), read_results(folder), read_verdicts(files))
    return {
        one.policy: weakest([r.proof for r in found if r.policy == one.policy]) for one in found
    }


def test_a_merged_row_keeps_what_was_proven_of_it(tmp_path: Path) -> None:
    for name, policy in (("a", "replay"), ("b", "random")):
        submit(tmp_path / name, baseline(policy))
    files = verdict(tmp_path / "a"), verdict(tmp_path / "b", ask=False)
    both = tmp_path / "both"
    merge([tmp_path / "a", tmp_path / "b"], both)
    assert proofs(both) == {"replay": "claimed", "random": "claimed"}
    assert proofs(both, *files) == {"replay": "verified", "random": "replayed"}
    assert proofs(both, files[0]) == {"replay": "verified", "random": "claimed"}
    assert proofs(both, *files, verdict(both)) == {"replay": "verified", "random": "replayed"}
    assert proofs(both, verdict(both)) == {"replay": "verified", "random": "verified"}


def test_a_row_that_was_changed_since_is_claimed(sound: Path, tmp_path: Path) -> None:
    file = verdict(sound)
    copy = Path(shutil.copytree(sound, tmp_path / "copy"))
    rewrite(copy / "results.parquet", lambda rows: rows[0].update(wasted=rows[0]["wasted"] + 1.0))
    rehash(copy)
    assert proofs(copy, file) == {"replay": "claimed", "random": "verified"}
    edit(copy, lambda c: c["policies"][1]["specs"].update({ENV: "random:seed=1"}))
    assert proofs(copy, file) == {"replay": "claimed", "random": "claimed"}


def test_a_submission_does_not_vouch_for_itself(copy: Path) -> None:
    """A verdict in its folder is not read, wherever it lies and whatever it is called."""
    content = json.dumps(examine(copy).report())
    for name in ("verdict.json", "v.json", "copy.verdict.json"):
        (copy / name).write_text(content)
    assert read_source(copy).proofs == {}
    assert set(proofs(copy).values()) == {"claimed"}


def test_a_page_shows_what_the_verdict_says(sound: Path) -> None:
    verdicts: Verdicts = read_verdicts([verdict(sound)])
    assert set(read_source(sound, verdicts).proofs.values()) == {"verified"}


def another_run(rows: list[dict[str, Any]]) -> None:
    """Results of a training run that nobody trained, free of any cost."""
    rows += [{**row, "training_seed": 7, "wasted": 0.0} for row in rows]


def elsewhere(rows: list[dict[str, Any]]) -> None:
    rows += [{**row, "env": "Cloning-v1", "wasted": 0.0} for row in rows]


def no_bad_ones(rows: list[dict[str, Any]]) -> None:
    rows[:] = [row for row in rows if row["forecast"] != "none"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (another_run, "no policy 'random', training seed 7 with a SPEC for 'GracePeriod-v1'"),
        (elsewhere, "no policy 'random' with a SPEC for 'Cloning-v1' in submission.json"),
        (no_bad_ones, "'random': GracePeriod-v1, forecast none, seed 0: is missing"),
    ],
)
def test_rows_that_no_verdict_could_know_are_not_shown(
    sound: Path, tmp_path: Path, change: Callable[[list[dict[str, Any]]], None], said: str
) -> None:
    """They would count among those of a policy that was verified."""
    file = verdict(sound)
    copy = Path(shutil.copytree(sound, tmp_path / "copy"))
    rewrite(copy / "results.parquet", change)
    rehash(copy)
    submit(tmp_path / "more", baseline("blind_kill"))
    with pytest.raises(ValueError, match=said):
        proofs(copy, file)
    with pytest.raises(ValueError, match=f"copy: results.parquet: {said}"):
        read_source(copy, read_verdicts([file]))
    with pytest.raises(ValueError, match=f"copy: results.parquet: {said}"):
        merge([tmp_path / "more", copy], tmp_path / "both")
    assert not (tmp_path / "both").exists()


@pytest.fixture
def taught(monkeypatch: pytest.MonkeyPatch) -> Suite:
    """A suite with forecasts that change what happens, and one whose do not."""
    pytest.importorskip("xgboost", reason="needs failgym[predictors]")
    trees = {"target": "unfinished", "trees": 2}
    course = replace(TINY.courses[0], trained=trees, seeds=(0,))
    shown = Course("Cloning-v1", {"target": "fail", "trees": 2}, slices=1, changes={"jobs": 400})
    suite = Suite("taught", 1, (course, shown))
    monkeypatch.setitem(SUITES, "taught", suite)
    return suite


def test_trained_forecasts_are_learned_anew_for_who_is_asked_again(
    taught: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "board"
    entry = Entry("random", "baseline", {ENV: "random", "Cloning-v1": "random"})
    submit(folder, entry, suite=taught)
    found = examine(folder)
    assert found.problems == ()
    assert {one.proof for one in found.proofs} == {"verified"}
    assert {one.forecast for one in found.proofs} == {"drawn", "trained", "none"}

    found = examine(folder, refit=False)
    assert found.problems == ()
    assert {(one.env, one.proof, one.why) for one in found.proofs if one.forecast == "trained"} == {
        (ENV, "claimed", "its predictor was not trained anew"),
        ("Cloning-v1", "replayed", "its forecasts were not learned anew"),
    }

    # What is learned here says something else: whose actions these are cannot be told.
    train = SuiteWorlds.train_predictor

    def other(worlds: SuiteWorlds, env: str) -> None:
        suite = Suite("t", 1, (Course(env, {"target": "fail", "trees": 1}, changes={"jobs": 340}),))
        train(replace(worlds, suite=suite) if env == "Cloning-v1" else worlds, env)

    monkeypatch.setattr(SuiteWorlds, "train_predictor", other)
    found = examine(folder)
    assert found.problems == ()
    cloning = [one for one in found.proofs if one.env == "Cloning-v1"]
    assert [one.proof for one in cloning] == ["verified", "replayed", "verified"]
    assert "with forecasts learned here" in cloning[1].why


def test_a_predictor_that_sees_too_much_proves_nothing(taught: Suite, tmp_path: Path) -> None:
    """Every action is the baseline's own, in a world that nobody could have been in."""
    folder, name = tmp_path / "board", f"predictors/{ENV}.npz"
    specs = {ENV: "random", "Cloning-v1": "random"}
    course = replace(taught.courses[0], trained={"target": "fail", "trees": 3})
    train = SuiteWorlds.train_predictor

    def forge(worlds: SuiteWorlds, env: str) -> None:
        train(replace(worlds, suite=Suite("t", 1, (course,))) if env == ENV else worlds, env)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SuiteWorlds, "train_predictor", forge)
        submit(folder, Entry("random", "baseline", specs), suite=taught)
    found = examine(folder)
    assert f"{name}: is not what the train split teaches" in found.problems
    assert {one.proof for one in found.proofs} == {"claimed"}


def test_a_baseline_plays_wherever_it_was_made_for(taught: Suite, tmp_path: Path) -> None:
    """Else the environments that it is bad at could be left out."""
    submit(tmp_path / "a", baseline("random"), suite=taught)
    assert examine(tmp_path / "a").problems == (
        "policy 'random': 'random' was made for Cloning-v1 too, and has no rows there",
    )


def test_code_is_never_run(sound: Path, tmp_path: Path) -> None:
    """Whatever a submission says that it is: its SPEC could name anything that can be imported."""
    seen: list[str] = []

    def watched(spec: str) -> Any:
        seen.append(spec)
        return load(spec)

    for kind in ("baseline", "agent", "code"):
        copy = Path(shutil.copytree(sound, tmp_path / kind))
        edit(copy, lambda c, kind=kind: c["policies"][0].update(specs={ENV: "os:abort"}, kind=kind))
        verify(copy, players=Players(watched, ("false",), 1.0))
    assert set(seen) == {"random"}


def test_a_baseline_that_crashes_again_has_crashed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken(REGISTRY["random"]):  # type: ignore[misc]
        def act(self, view: Any, mask: Any) -> Any:
            raise RuntimeError("no idea")

    monkeypatch.setitem(REGISTRY, "random", Broken)
    submit(tmp_path / "a", baseline("random"))
    found = verify(tmp_path / "a", players=Players(load, ("false",), 1.0))
    assert found.problems == ()
    assert {one.proof for one in found.proofs} == {"verified"}
    edit(tmp_path / "a", lambda c: None)
    rewrite(tmp_path / "a" / "results.parquet", lambda r: [x.update(reason="bribed") for x in r])
    rehash(tmp_path / "a")
    found = verify(tmp_path / "a", players=Players(load, ("false",), 1.0))
    assert {one.proof for one in found.proofs} == {"claimed"}
    assert all("fails here too, and otherwise" in one.why for one in found.proofs)


def test_merged_submissions_hold_no_policy_twice(tmp_path: Path) -> None:
    submit(tmp_path / "a", baseline("random"))
    submit(tmp_path / "b", Entry("dice", "baseline", {ENV: "random"}))
    with pytest.raises(ValueError, match="policies 'random' and 'dice' are the same one: random"):
        merge([tmp_path / "a", tmp_path / "b"], tmp_path / "both")
    with pytest.raises(ValueError, match="--policy: policies 'random' and 'dice' are the same one"):
        submit(tmp_path / "c", baseline("random"), Entry("dice", "baseline", {ENV: "random"}))
    assert not (tmp_path / "c").exists()


def test_several_processes_find_the_same(sound: Path) -> None:
    assert examine(sound, workers=Workers(2)).proofs == examine(sound).proofs


def test_an_agent_whose_file_is_at_hand_is_asked_again(tmp_path: Path) -> None:
    pytest.importorskip("sb3_contrib", reason="needs failgym[agents]")
    from failgym.cli.specs import load_policy
    from failgym.leaderboard.submission.records import PolicyFile, file_sha256
    from tests.agents.runs import an_agent

    file = an_agent(ENV)
    about = PolicyFile(name=file.name, sha256=file_sha256(file))
    folder = tmp_path / "a"
    submit(folder, Entry("ppo", "agent", {ENV: str(file)}, {ENV: about}, 0), load=load_policy)
    players = Players(load_policy, COMMAND, 600.0)
    found = verify(folder, players=players)
    assert found.problems == ()
    assert {one.proof for one in found.proofs} == {"verified"}


def test_names_that_read_alike_do(monkeypatch: pytest.MonkeyPatch) -> None:
    alike = ("Retry-Cap", "r\u0435try_cap", "\uff52etry_cap", "retry_cap\u3164", "retry\u2010cap")
    assert {skeleton(name) for name in alike} == {"retry_cap"}
    assert skeleton("b1ind_kiII") == skeleton("blind_kill")
    small = "\u0299\u029f\u026a\u0274\u1d05_\u1d0b\u026a\u029f\u029f"
    assert skeleton(small) == skeleton("blind_kill")
    assert len({skeleton(name) for name in REGISTRY}) == len(REGISTRY)
    assert skeleton("tau=-1") != skeleton("tau=1")


@pytest.mark.parametrize(
    "name",
    [
        *("blind_kill.", "blind_kill!", "[blind_kill]", "blindkill", "Blind Kill", "*BLIND-KILL*"),
        *("blind_kill tuned", "blind_kill - best", "blind_kill/2", "blind_kill, tuned"),
    ],
)
def test_a_name_of_a_baseline_is_known_with_anything_around_it(name: str) -> None:
    assert baseline_named(name) == "blind_kill"


def test_names_of_baselines_and_of_variants_are_their_own() -> None:
    for name in REGISTRY:
        assert {baseline_named(f"{name}{more}") for more in ("", ", tuned", ":seed=1")} == {name}
    assert baseline_named("mine") is None
    assert baseline_named("kind_bill") is None
