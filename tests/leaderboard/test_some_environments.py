"""A submission is of the environments that its policies play: nothing is found out of others."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from failgym.leaderboard import SUITES, Entry, Submission, Suite, SuiteWorlds, merge, verify
from failgym.leaderboard.page import read_source, rows_of
from failgym.leaderboard.run.tasks import RunTasks, count_steps
from failgym.leaderboard.statistics.bootstrap import Bootstrap
from failgym.leaderboard.submission.records import (
    file_sha256,
    read_submission,
    write_submission,
)
from failgym.leaderboard.suite.reference import Reference
from failgym.leaderboard.suite.suites import Cell, Course
from failgym.traces import generate
from failgym.worlds import build as builder
from failgym.worlds.pinned import build
from failgym.worlds.scenario import Scenario
from tests.leaderboard.boards import TINY, actions, edit, rehash, results, submit

pytest.importorskip("xgboost", reason="needs failgym[predictors]")

GRACE, CLONING = "GracePeriod-v1", "Cloning-v1"
TRAINED = {"target": "unfinished", "trees": 2}
PAIR = Suite(
    "pair",
    1,
    (
        Course(CLONING, seeds=(0, 1), slices=2, changes={"jobs": 1_000, "slice_tasks": 16}),
        replace(TINY.courses[0], trained=TRAINED),
    ),
)
SUITES[PAIR.name] = PAIR
REAL = Suite(
    "own",
    1,
    tuple(
        replace(each, seeds=(0,), changes={"slice_tasks": 16, "forecast": "none"})
        for each in PAIR.courses
    ),
    True,
)
PREDICTOR = f"predictors/{GRACE}.npz"


def player(name: str, *envs: str) -> Entry:
    """A baseline that is said to have been made for some environments only."""
    return Entry(name, "baseline", dict.fromkeys(envs, name))


@pytest.fixture(scope="module")
def cloning(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("some") / "cloning"
    submit(folder, player("random", CLONING), suite=PAIR)
    return folder


@pytest.fixture(scope="module")
def grace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("some") / "grace"
    submit(folder, player("blind_kill", GRACE), suite=PAIR)
    return folder


def as_earlier(folder: Path, of: Path) -> None:
    """What earlier versions wrote: all traces, and the predictors of environments without rows."""
    there, other = read_submission(folder), read_submission(of)
    shutil.copytree(of / "predictors", folder / "predictors")
    said = {
        "traces": [*there.traces, *other.traces],
        "files": {**there.files, PREDICTOR: file_sha256(folder / PREDICTOR)},
    }
    write_submission(there.model_copy(update=said), folder)


@pytest.fixture
def earlier(tmp_path: Path, cloning: Path, grace: Path) -> Path:
    folder = Path(shutil.copytree(cloning, tmp_path / "earlier"))
    as_earlier(folder, grace)
    return folder


def test_nothing_is_found_out_of_an_environment_that_nobody_plays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, trained = list[str](), list[str]()
    reference, train = SuiteWorlds.reference, SuiteWorlds.train_predictor

    def seen(self: SuiteWorlds, cell: Cell) -> Reference:
        found.append(cell.env)
        return reference(self, cell)

    def taught(self: SuiteWorlds, env: str) -> None:
        trained.append(env)
        train(self, env)

    monkeypatch.setattr(SuiteWorlds, "reference", seen)
    monkeypatch.setattr(SuiteWorlds, "train_predictor", taught)
    entry, steps = player("replay", CLONING), list[int]()
    submit(tmp_path / "run", entry, suite=PAIR, progress=steps.append)
    assert (set(found), trained) == ({CLONING}, [])
    assert sum(steps) == count_steps(SuiteWorlds.of(PAIR), [entry])
    submission = read_submission(tmp_path / "run")
    assert [(one.env, one.seed) for one in submission.traces] == [(CLONING, 0), (CLONING, 1)]
    assert PREDICTOR not in submission.files
    assert verify(tmp_path / "run").problems == ()
    assert (set(found), trained) == ({CLONING}, [])


def test_what_lacks_an_environment_is_verified_and_shown(cloning: Path, grace: Path) -> None:
    for folder, env in ((cloning, CLONING), (grace, GRACE)):
        assert verify(folder).problems == ()
        rows = rows_of([read_source(folder)], Bootstrap(resamples=50))
        assert {row["env"] for row in rows} == {env}
    rows = rows_of([read_source(cloning), read_source(grace)], Bootstrap(resamples=50))
    assert {(row["env"], row["policy"]) for row in rows} == {
        (CLONING, "random"),
        (GRACE, "blind_kill"),
    }


def told(submission: Submission) -> dict[str, Any]:
    """What two equal submissions share."""
    return submission.model_dump(exclude={"seconds", "files"})


@pytest.mark.parametrize("order", [1, -1])
def test_parts_that_cover_a_suite_are_one_run_of_it(
    tmp_path: Path, cloning: Path, grace: Path, order: int
) -> None:
    both = [cloning, grace][::order]
    entries = [player("random", CLONING), player("blind_kill", GRACE)][::order]
    whole = submit(tmp_path / "whole", *entries, suite=PAIR, predictors_of=grace)
    merged = merge(both, tmp_path / "merged")
    assert told(merged) == told(whole)
    assert merged.files.keys() == whole.files.keys()
    assert results(tmp_path / "merged") == results(tmp_path / "whole")
    assert actions(tmp_path / "merged") == actions(tmp_path / "whole")
    for name in merged.files.keys() - {"results.parquet"}:
        assert (tmp_path / "merged" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert verify(tmp_path / "merged").problems == ()


def test_what_earlier_versions_wrote_is_verified_and_merged(
    tmp_path: Path, earlier: Path, grace: Path
) -> None:
    assert verify(earlier).problems == ()
    merged = merge([earlier, grace], tmp_path / "merged")
    assert [one.env for one in merged.traces] == [CLONING, CLONING, GRACE, GRACE]
    assert verify(tmp_path / "merged").problems == ()
    submit(tmp_path / "more", player("replay", GRACE), suite=PAIR, predictors_of=earlier)
    assert (tmp_path / "more" / PREDICTOR).read_bytes() == (grace / PREDICTOR).read_bytes()


def test_a_trace_or_predictor_that_nobody_plays_is_looked_at_if_it_is_stated(
    earlier: Path, tmp_path: Path, grace: Path
) -> None:
    edit(earlier, lambda c: c["traces"][2].update(content_hash="0" * 64))
    assert (
        f"trace of {GRACE}, seed 0: the submission was made on 0000" in verify(earlier).problems[0]
    )
    with pytest.raises(ValueError, match="are of different traces: not merged"):
        merge([grace, earlier], tmp_path / "merged")
    edit(earlier, lambda c: c["traces"].pop(2))
    assert "the submission was made on None" in verify(earlier).problems[0]
    (earlier / PREDICTOR).unlink()
    assert f"{PREDICTOR}: is missing" in verify(earlier).problems


def test_a_predictor_of_an_environment_that_says_nothing_of_itself_does_not_belong(
    cloning: Path, grace: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(cloning, tmp_path / "copy"))
    shutil.copytree(grace / "predictors", folder / "predictors")
    assert f"'{PREDICTOR}': does not belong to the submission" in verify(folder).problems


def test_predictors_are_learned_anew_where_the_other_submission_has_none(
    tmp_path: Path, cloning: Path, grace: Path
) -> None:
    submit(tmp_path / "run", player("blind_kill", GRACE), suite=PAIR, predictors_of=cloning)
    assert results(tmp_path / "run") == results(grace)


def test_predictors_are_compared_with_the_first_that_are_there(
    tmp_path: Path, cloning: Path, grace: Path
) -> None:
    submit(tmp_path / "other", player("replay", GRACE), suite=PAIR)
    taught = replace(PAIR.courses[1], trained={"target": "fail", "trees": 3})
    (tmp_path / "other" / PREDICTOR).unlink()
    other = SuiteWorlds(Suite("pair", 1, (taught,)), predictors=tmp_path / "other" / "predictors")
    other.train_predictor(GRACE)
    rehash(tmp_path / "other")
    with pytest.raises(ValueError, match=f"{grace} and .*other: {PREDICTOR} differs: not merged"):
        merge([cloning, grace, tmp_path / "other"], tmp_path / "merged")


def test_of_traces_of_ones_own_all_are_stated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The suite follows from them, whoever plays where."""
    monkeypatch.setitem(SUITES, REAL.name, REAL)
    generate("google-2011", jobs=1_000, seed=1).save(tmp_path / "trace")
    traces: dict[str, str] = dict.fromkeys((CLONING, GRACE), str(tmp_path / "trace"))
    own: dict[str, Any] = {"suite": REAL, "traces": traces}
    entries = player("random", CLONING), player("blind_kill", GRACE)
    for entry in entries:
        made = submit(tmp_path / entry.name, entry, **own)
        assert [one.env for one in made.traces] == [CLONING, GRACE]
        assert verify(tmp_path / entry.name, traces=traces).problems == ()
    whole = submit(tmp_path / "whole", *entries, **own)
    merged = merge([tmp_path / entry.name for entry in entries], tmp_path / "merged")
    assert told(merged) == told(whole)
    assert results(tmp_path / "merged") == results(tmp_path / "whole")
    assert verify(tmp_path / "merged", traces=traces).problems == ()


def test_what_is_left_out_is_joined_and_must_not_contradict(
    tmp_path: Path, cloning: Path, grace: Path
) -> None:
    """As of traces of one's own, on which nothing can be learned."""

    def lacks(folder: Path, env: str) -> None:
        said = [{"env": env, "forecast": "trained", "reason": "no jobs"}]
        edit(folder, lambda content: content.update(left_out=said))

    a, b = (Path(shutil.copytree(of, tmp_path / of.name)) for of in (cloning, grace))
    lacks(a, CLONING)
    assert [one.env for one in merge([a, b], tmp_path / "one").left_out] == [CLONING]
    lacks(a, GRACE)
    with pytest.raises(ValueError, match="of different forecasts that are left out: not merged"):
        merge([a, b], tmp_path / "two")


def test_the_world_of_a_cell_is_built_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept_worlds: Path
) -> None:
    """While its trace is at hand: policies read the part that they play, in whatever process."""
    built = list[Any]()
    tables, all_done = build._tables, RunTasks.all_done

    def by_others(*args: Any, **more: Any) -> Any:
        builder.RECENT.cache_clear()
        builder._build_part.cache_clear()
        return all_done(*args, **more)

    monkeypatch.setattr(RunTasks, "all_done", by_others)

    def seen(scenario: Scenario) -> Any:
        built.append(scenario)
        return tables(scenario)

    monkeypatch.setattr(build, "_tables", seen)
    changes = {"jobs": 1_000, "slice_tasks": 1}
    course = Course(CLONING, seeds=(11, 12), slices=5, by_stake=True, changes=changes)
    monkeypatch.setitem(SUITES, "by stake", Suite("by stake", 1, (course,)))
    submit(tmp_path / "run", player("give_up", CLONING), suite=SUITES["by stake"])
    assert len(built) == len(set(built)) == 2 * len(course.forecasts) == 4


def by_stake(monkeypatch: pytest.MonkeyPatch) -> Suite:
    """A suite of two traces with two kinds of forecast."""
    changes = {"jobs": 1_000, "slice_tasks": 1}
    course = Course(CLONING, seeds=(11, 12), slices=5, by_stake=True, changes=changes)
    found = Suite("by stake", 1, (course,))
    monkeypatch.setitem(SUITES, "by stake", found)
    return found


def test_a_run_that_goes_on_prepares_only_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept_worlds: Path
) -> None:
    suite, prepared, told = by_stake(monkeypatch), list[int](), list[int]()
    prepare = RunTasks._prepare

    def stops(run: RunTasks, cells: Any) -> None:
        if prepared:
            raise ValueError("stopped")
        prepared.append(cells[0].seed)
        prepare(run, cells)

    monkeypatch.setattr(RunTasks, "_prepare", stops)
    with pytest.raises(ValueError, match="stopped"):
        submit(tmp_path / "run", player("give_up", CLONING), suite=suite)

    def seen(run: RunTasks, cells: Any) -> None:
        prepared.append(cells[0].seed)
        prepare(run, cells)

    monkeypatch.setattr(RunTasks, "_prepare", seen)
    entry = player("give_up", CLONING)
    submit(tmp_path / "run", entry, suite=suite, progress=told.append)
    assert prepared == [11, 12]
    assert sum(told) == count_steps(SuiteWorlds.of(suite), [entry])


def test_without_a_cache_no_world_is_built_only_to_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAILGYM_CACHE_SIZE", "0")
    suite, played = by_stake(monkeypatch), list[Cell]()
    playing = SuiteWorlds.playing

    def seen(worlds: SuiteWorlds, cell: Cell, slices: Any) -> Any:
        played.append(cell)
        return playing(worlds, cell, slices)

    monkeypatch.setattr(SuiteWorlds, "playing", seen)
    submit(tmp_path / "run", player("give_up", CLONING), suite=suite)
    assert len(played) == len(set(played)) == len(list(suite.cells()))
