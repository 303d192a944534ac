"""The leaderboard's page as a file: what it accepts, what it holds, how large it gets."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from failgym.leaderboard.page import Source, read_source, write_page
from failgym.leaderboard.page.cells import Cell, Failure, fields_of
from failgym.leaderboard.page.payload import pack, payload
from failgym.leaderboard.statistics.bootstrap import Bootstrap
from tests.leaderboard.made_up import ENVS, entry, results, store, submission

QUICK = Bootstrap(resamples=50)
MOST_BYTES = 10_000_000
"""Of a page with `MANY` submissions."""
MANY = 1_000


def board(*names: str, folder: str = "one", **options: Any) -> Source:
    skills: dict[tuple[str, int | None], float] = {(name, None): 0.5 for name in names}
    return submission(results(skills, **options), [entry(name) for name in names], folder)


def unpacked(text: str) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
    content = zlib.decompress(base64.b64decode(text))
    length = int.from_bytes(content[:4], "little")
    header, at = json.loads(content[4 : 4 + length]), 4 + length
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    for array in header["arrays"]:
        planes = np.frombuffer(content, np.uint8, 4 * array["length"], at).reshape(4, -1)
        arrays[array["name"]] = np.ascontiguousarray(planes.T).view("<f4").ravel()
        at += 4 * array["length"]
    assert at == len(content)
    return header, arrays


def written(path: Path, *submissions: Source | Path) -> str:
    write_page(submissions, path, QUICK)
    return path.read_text(encoding="utf-8")


def test_what_is_packed_comes_out_again() -> None:
    header = {"name": "</script> & ü", "list": [1, None]}
    arrays = {"a": np.array([1.5, np.nan, -3e7]), "b": np.zeros((0, 2))}
    found, values = unpacked(pack(header, arrays))
    assert {name: found[name] for name in header} == header
    np.testing.assert_array_equal(values["a"], arrays["a"].astype(np.float32))
    assert values["b"].size == 0


def test_hours_are_rounded_once_as_elsewhere() -> None:
    """As float32 4,482,222.46 hours are 4,482,222.5, and the page would show 4,482,223."""
    made = board("replay", "young")
    hours = made.results["waste_hours"] * 0.0
    saved = 4_482_222.46 / (made.results.groupby(["policy", "env", "forecast"])["env"].count())
    one = saved.reset_index(name="each")["each"].iloc[0]
    made = replace(
        made, results=made.results.assign(waste_hours=hours, replay_waste_hours=hours + one)
    )
    header, arrays = unpacked(payload([made], QUICK))
    shown = arrays["beside"].reshape(-1, len(header["beside"]))
    at = header["beside"].index("saved_hours")
    assert set(shown[:, at].tolist()) == {4_482_222.0}


def test_the_page_needs_nothing_from_elsewhere(tmp_path: Path) -> None:
    text = written(tmp_path / "page.html", board("replay", "young"))
    shell = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    assert not re.search(r"(src|href)=(?!\"#)|url\(|@import", shell)
    assert "default-src 'none'" in shell


def test_the_scripts_that_may_run_are_those_of_the_page(tmp_path: Path) -> None:
    text = written(tmp_path / "page.html", board("replay"))
    scripts = re.findall(r"<script>(.*?)</script>", text, flags=re.DOTALL)
    hashes = [base64.b64encode(hashlib.sha256(each.encode()).digest()) for each in scripts]
    assert len(scripts) == 2
    assert re.findall(r"'sha256-([^']+)'", text) == [each.decode() for each in hashes]


def test_a_page_is_the_same_whenever_it_is_written(tmp_path: Path) -> None:
    made = board("replay", "young")
    assert written(tmp_path / "a.html", made) == written(tmp_path / "b.html", made)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "b.html"]


def test_a_page_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("old", encoding="utf-8")
    with pytest.raises(ValueError, match="at least one"):
        write_page([], page)
    assert [path.read_text(encoding="utf-8") for path in tmp_path.iterdir()] == ["old"]


def test_a_folder_is_read_as_a_submission(tmp_path: Path) -> None:
    made = replace(board("replay", folder="mine"), digest="5f" * 32)  # of another version
    folder = store(made, tmp_path / "mine")
    found = read_source(folder)
    assert replace(found, results=made.results) == made
    assert written(tmp_path / "a.html", folder) == written(tmp_path / "b.html", made)
    (folder / "results.parquet").write_bytes(b"PAR1 cut off")
    with pytest.raises(ValueError, match=r"results\.parquet: cannot be read"):
        read_source(folder)
    (folder / "submission.json").write_text("[]", encoding="utf-8")
    with pytest.raises(ValueError, match=r"submission\.json: the file: "):
        read_source(folder)


def failing(rows: pd.DataFrame) -> pd.DataFrame:
    rows.loc[(rows["env"] == ENVS[0]) & (rows["slice"] == 3), "status"] = "timeout"
    return rows


def missing(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[(rows["env"] != ENVS[0]) | (rows["slice"] != 3)]


def null(rows: pd.DataFrame) -> pd.DataFrame:
    rows.loc[(rows["env"] == ENVS[0]) & (rows["slice"] == 3), "wasted"] = np.nan
    return rows


@pytest.mark.parametrize(
    ("harm", "status"), [(failing, "timeout"), (missing, "incomplete"), (null, "incomplete")]
)
def test_a_policy_has_no_score_where_an_episode_failed_or_is_missing(
    harm: Callable[[pd.DataFrame], pd.DataFrame], status: str
) -> None:
    one, other = board("replay"), board("young", folder="two")
    one = replace(one, results=harm(one.results))
    fields = [field for field in fields_of([one, other]) if field.env == ENVS[0]]
    for field in fields:
        assert isinstance(field.outcomes["young"], Cell)
        failure = field.outcomes["replay"]
        assert isinstance(failure, Failure)
        assert (failure.status, failure.episodes) == (status, 1)
    header, arrays = unpacked(payload([one, other], QUICK))
    overall = arrays["overall"].reshape(3, 2, len(header["aggregates"]), 3)
    assert np.isnan(overall[:, 0]).all()
    assert np.isfinite(overall[:, 1]).all()


def test_what_there_is_to_gain_is_known_where_all_policies_failed() -> None:
    one, other = board("replay"), board("young", folder="two")
    known = {(f.env, f.forecast): f for f in fields_of([one, other])}
    harmed = [replace(each, results=failing(each.results)) for each in (one, other)]
    for field in fields_of(harmed):
        whole = known[field.env, field.forecast]
        assert field.replay.tolist() == whole.replay.tolist()
        assert field.possible.tolist() == whole.possible.tolist()
        assert field.account == whole.account
        failed = [isinstance(outcome, Failure) for outcome in field.outcomes.values()]
        assert all(failed) == (field.env == ENVS[0])


def test_scores_are_those_of_the_bootstrap() -> None:
    skills: dict[tuple[str, int | None], float] = {
        ("ppo", 0): 0.6,
        ("ppo", 1): 0.7,
        ("replay", None): 0.0,
    }
    made = submission(
        results(skills), [entry("ppo", "agent", 0), entry("ppo", "agent", 1), entry("replay")]
    )
    fields = fields_of([made])
    assert [(field.forecast, field.env) for field in fields[:6]] == [("drawn", env) for env in ENVS]
    cells = [cell.runs for field in fields[:6] if (cell := field.cell("ppo")) is not None]
    assert [cell.saved.shape for cell in cells] == [(2, 20)] * 6
    header, arrays = unpacked(payload([made], QUICK))
    assert [policy["name"] for policy in header["policies"]] == ["ppo", "replay"]
    overall = arrays["overall"].reshape(3, 2, 4, 3)[0, 0]
    for name, found in zip(header["aggregates"], overall, strict=True):
        assert found == pytest.approx(QUICK.aggregates(cells)[name], rel=1e-5), name
    second = arrays["scores"].reshape(len(fields), 2, 3)[1, 0]
    assert second == pytest.approx(QUICK.score(cells[1], 1), rel=1e-5)


def test_slices_are_told_apart_by_their_seeds() -> None:
    one = board("replay", slices=4)
    again = board("replay", slices=4, seed=1).results.assign(seed=1)
    made = replace(one, results=pd.concat([one.results, again], ignore_index=True))
    assert [field.slices.shape for field in fields_of([made])] == [(8, 2)] * 18


@pytest.mark.parametrize(
    ("second", "complaint"),
    [
        (lambda: board("young", seed=1), "replay_cost: slice .* is not the same"),
        (lambda: replace(board("young"), digest="aa" * 32), "suite: expected one"),
        (lambda: board("replay"), "'replay', training seed None, is there twice"),
    ],
)
def test_submissions_that_do_not_belong_together_are_refused(
    second: Callable[[], Source], complaint: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=complaint):
        write_page([board("replay"), second()], tmp_path / "page.html", QUICK)


def test_results_that_are_not_whole_are_refused() -> None:
    made = board("replay")
    with pytest.raises(ValueError, match=r"expected the columns .*'seconds'"):
        replace(made, results=made.results.drop(columns="seconds"))
    with pytest.raises(ValueError, match=r"policies .*'replay'.* not in"):
        replace(made, entries=(entry("young"),))
    doubled = pd.concat([made.results, made.results[:1]], ignore_index=True)
    with pytest.raises(ValueError, match="is there twice"):
        fields_of([replace(made, results=doubled)])
    with pytest.raises(ValueError, match="forecast: expected one of"):
        fields_of([replace(made, results=made.results.assign(forecast="perfect"))])


def test_a_thousand_submissions_of_500_episodes_stay_small(tmp_path: Path) -> None:
    def size(count: int) -> int:
        made = [board(f"lab/policy-{at}", folder=f"of-{at}", slices=28) for at in range(count)]
        noise = np.random.default_rng(0)
        for each in made:
            assert len(each.results) == 504
            more = noise.standard_normal(504)  # nothing to be compressed
            each.results["wasted"] += more
            for blocks, cost in zip(each.results["cost_blocks"], more, strict=True):
                blocks[0] += cost
        return len(written(tmp_path / "page.html", *made))

    few, more = size(2), size(12)
    assert few + (MANY - 2) * (more - few) / 10 < MOST_BYTES


def turned(blocks: list[float]) -> list[float]:
    return blocks[::-1]


def one_fewer(blocks: list[float]) -> list[float]:
    return [*blocks[:-2], blocks[-2] + blocks[-1]]


@pytest.mark.parametrize(
    ("share_out", "said"),
    [
        (turned, "is not the same for all policies"),
        (one_fewer, "expected as many blocks in each row of a trace"),
    ],
)
def test_blocks_of_replay_are_the_same_for_all_policies(
    share_out: Callable[[list[float]], list[float]], said: str
) -> None:
    skills: dict[tuple[str, int | None], float] = {("young", None): 0.5, ("replay", None): 0.0}
    rows = results(skills, slices=8)
    fields_of([submission(rows, [entry(name) for name, _ in skills])])
    stated = rows["replay_cost_blocks"].tolist()
    stated[0] = share_out(stated[0])
    forged = rows.assign(replay_cost_blocks=pd.Series(stated))
    with pytest.raises(ValueError, match=f"replay_cost_blocks: .*{said}"):
        fields_of([submission(forged, [entry(name) for name, _ in skills])])
