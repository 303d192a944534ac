"""A leaderboard as a static site: what is written, what it holds, what is left alone."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from failgym.baselines import Young
from failgym.baselines.stored import save_heuristic
from failgym.cli import run
from failgym.cli.policy_facts import policy_facts
from failgym.leaderboard.page import read_source, rows_of
from failgym.leaderboard.site import find_submissions, write_site
from failgym.leaderboard.site.submissions import address_of
from failgym.leaderboard.statistics.bootstrap import Bootstrap
from failgym.leaderboard.submission.records import file_sha256
from failgym.leaderboard.submission.row_hashes import row_hashes
from failgym.leaderboard.verification.verdict_file import RowVerdict
from tests.leaderboard.made_up import entry, results, store, submission

QUICK = Bootstrap(resamples=50)
EVIL = "<img src=x onerror=alert(1)></script><script>alert(2)</script>"
ENVS = ("Checkpoint-v1", "Lineage-v1")
KINDS = {"ppo": "agent", EVIL: "code"}


class Reader(HTMLParser):
    """What a browser would make of a page: its elements, its text, where its links lead."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.style = ""
        self.feed(page.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes.extend(attrs)

    def handle_data(self, data: str) -> None:
        if self.tags[-1:] == ["style"] and not self.style:
            self.style = data
        else:
            self.texts.append(data)

    @property
    def text(self) -> str:
        return "".join(self.texts)

    @property
    def links(self) -> list[str]:
        return [of for name, of in self.attributes if name in ("href", "src") and of is not None]


def board(folder: Path, *names: str, **options: Any) -> Path:
    """A submission of some policies in a folder."""
    seeds = {name: (0, 1) if name == "ppo" else (None,) for name in names}
    skills = {(name, seed): 0.5 for name in names for seed in seeds[name]}
    entries = [entry(name, KINDS.get(name, "baseline"), seed) for name, seed in skills]
    entries = [replace(one, specs=dict.fromkeys(ENVS, one.name)) for one in entries]
    made = submission(results(skills, envs=ENVS, slices=6), entries, folder.name)
    return store(replace(made, digest="5f" * 32), folder, **options)  # of another version


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    board(tmp_path / "board" / "team-a", "young", "ppo")
    board(tmp_path / "board" / "Team <b>B", EVIL)
    (tmp_path / "board" / "notes").mkdir()
    (tmp_path / "board" / "notes.txt").write_text("of the host")
    return tmp_path / "board"


def written(folder: Path, out: Path, **options: Any) -> list[str]:
    return write_site(find_submissions(folder), out, policy_facts, bootstrap=QUICK, **options)


def files(out: Path) -> dict[str, bytes]:
    found = (path for path in sorted(out.rglob("*")) if path.is_file())
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in found}


def test_there_is_a_leaderboard_and_a_page_of_each_submission(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "site"
    pages = written(folder, out)
    assert sorted(files(out)) == sorted([*pages, "site.json"])
    assert pages == ["index.html", address_of("Team <b>B"), "submissions/team-a.html"]
    index = Reader(out / "index.html")
    assert [link for link in index.links if not link.startswith("#")] == pages[1:]
    assert "Team <b>B" in index.text
    for page in pages[1:]:
        links = Reader(out / page).links
        assert links[0] == "../index.html"
        assert all(link.startswith("#policy-") for link in links[1:])


def test_what_others_have_named_is_only_ever_text(folder: Path, tmp_path: Path) -> None:
    written(folder, tmp_path / "site")
    page = Reader(tmp_path / "site" / address_of("Team <b>B"))
    assert EVIL in page.text
    assert not {"img", "script", "b"} & set(page.tags)
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    policy = dict(page.attributes)["content"]
    raw = (tmp_path / "site" / address_of("Team <b>B")).read_text("utf-8")
    assert "default-src 'none'; style-src 'sha256-" in raw
    assert "script-src" not in raw
    assert policy is not None


def test_a_name_that_looks_like_a_part_of_the_template_is_a_name(tmp_path: Path) -> None:
    board(tmp_path / "board" / "%program%", "young")
    written(tmp_path / "board", tmp_path / "site")
    assert "%program%" in Reader(tmp_path / "site" / "index.html").text


def test_a_page_loads_nothing_and_names_no_place_elsewhere(folder: Path, tmp_path: Path) -> None:
    for page in written(folder, tmp_path / "site")[1:]:
        read = Reader(tmp_path / "site" / page)
        assert all(re.match(r"#|\.\./index\.html$", link) for link in read.links)
        assert not re.search(r"https?:|url\(|@import", read.style)
        assert str(tmp_path) not in read.text


def test_a_card_says_what_the_manifest_and_the_rows_say(folder: Path, tmp_path: Path) -> None:
    written(folder, tmp_path / "site")
    text = Reader(tmp_path / "site" / "submissions" / "team-a.html").text
    made = entry("young")
    for said in (
        "a rule that comes with failgym",
        made.command,
        "numpy 2.4.6",
        "Seeds0, 1",
        "00" * 32,
        file_sha256(folder / "team-a" / "submission.json"),
        file_sha256(folder / "team-a" / "results.parquet"),
    ):
        assert said in text
    sources = [read_source(one) for one in find_submissions(folder)]
    for row in rows_of(sources, QUICK):
        if row["policy"] == "young":
            low, high = (f"{row[name]:.1f}".replace("-", "−") for name in ("low", "high"))
            score = f"{row['score']:.1f}".replace("-", "−")
            where = f"{row['env']}{row['forecast']}{row['proof']}"
            assert f"{where}{score}{low} to {high}{row['rank']}" in text


def test_proofs_are_the_hosts(folder: Path, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    from failgym.leaderboard import read_submission

    about = read_submission(folder / "team-a")
    hashes = row_hashes(about, pq.read_table(folder / "team-a" / "results.parquet"))
    verdicts = {
        sha256: RowVerdict(sha256=sha256, proof="verified", why="", player="")
        for row, sha256 in hashes.items()
        if row[:2] in (("young", None), ("ppo", 0))
    }
    written(folder, tmp_path / "site", verdicts=verdicts)
    text = Reader(tmp_path / "site" / "submissions" / "team-a.html").text
    assert "youngbaselineverified" in text
    assert "ppoagentclaimed" in text, "one training run of two is only claimed"
    assert text.count("of 6 rows: verified 6") == 2
    assert text.count("of 6 rows: claimed 6") == 1
    other = Reader(tmp_path / "site" / address_of("Team <b>B")).text
    assert "verified" not in other.replace("unverified", "")


def test_another_teams_policy_of_the_same_name_changes_no_page(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its training run would be one more of team-a's agent, with the board's weakest badge."""
    out = tmp_path / "site"
    written(folder, out)
    before = files(out)
    rival = entry("ppo", "agent", 7)
    rival = replace(rival, specs=dict.fromkeys(ENVS, "ppo"))
    made = submission(results({("ppo", 7): 0.0}, envs=ENVS, slices=6), [rival])
    store(replace(made, digest="5f" * 32), folder / "rival")
    said = invoke(capsys, folder, "--out", out)
    assert "policy 'ppo' is in rival and in team-a: expected names of one submission each" in said
    assert files(out) == before


def test_another_team_does_not_pass_for_one(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its policy's name reads the same, with a Cyrillic letter."""
    out = tmp_path / "site"
    written(folder, out)
    before = files(out)
    board(folder / "rival", "\u0440po")
    said = invoke(capsys, folder, "--out", out)
    assert r"policies '\u0440po' and 'ppo', in rival and in team-a, read alike" in said
    assert files(out) == before


def stored_with_file(tmp_path: Path) -> tuple[Path, Path]:
    """A submission whose policy has a file, which lies in another folder."""
    shelf = tmp_path / "shelf" / "deep"
    shelf.mkdir(parents=True)
    save_heuristic(Young(), shelf / "mine.json", about={"trials": 300, "by": EVIL})
    stated = {"name": "mine.json", "sha256": file_sha256(shelf / "mine.json")}
    of = {"young": {"Checkpoint-v1": stated}}
    return board(tmp_path / "board" / "team-a", "young", files=of), shelf


def test_a_file_at_hand_says_how_it_was_trained(tmp_path: Path) -> None:
    _, shelf = stored_with_file(tmp_path)
    page = tmp_path / "site" / "submissions" / "team-a.html"
    written(tmp_path / "board", tmp_path / "site")
    assert "mine.json is not at hand: only its hash is known" in Reader(page).text
    written(tmp_path / "board", tmp_path / "site", policy_files=[tmp_path / "shelf"])
    read = Reader(page)
    assert "About: trials300" in read.text
    assert EVIL in read.text
    assert "script" not in read.tags
    (shelf / "mine.json").write_text("{}")
    written(tmp_path / "board", tmp_path / "site", policy_files=[tmp_path / "shelf"])
    assert "mine.json is not at hand" in Reader(page).text, "another file of that name says nothing"


def test_an_agents_file_says_how_it_was_trained(tmp_path: Path) -> None:
    pytest.importorskip("safetensors", reason="no extra `agents`")
    pytest.importorskip("torch", reason="no extra `agents`")
    zoo = Path(__file__).parents[2] / "agents" / "zoo"
    file = next(zoo.rglob("maskable_ppo-0.safetensors"), None)  # of one environment
    if file is None:
        pytest.skip("no trained agent in the zoo")
    stated = {"name": file.name, "sha256": file_sha256(file)}
    board(tmp_path / "board" / "team-a", "ppo", files={"ppo": {"Checkpoint-v1": stated}})
    written(tmp_path / "board", tmp_path / "site", policy_files=[zoo])
    text = Reader(tmp_path / "site" / "submissions" / "team-a.html").text
    said = policy_facts(file)
    for name in ("Algorithm", "Trained in", "Trace, by content hash", "Command"):
        assert f"{name}{said[name]}" in text


def test_a_path_that_a_submitter_names_is_never_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its text would be published, and some paths never end."""
    private = tmp_path / "private" / "mine.json"
    private.parent.mkdir()
    save_heuristic(Young(), private, about={"password": "hush"})
    stated = {"name": "mine.json", "sha256": file_sha256(private)}
    of = {"young": {"Checkpoint-v1": stated, "Lineage-v1": stated}}
    folder = board(tmp_path / "board" / "team-a", "young", files=of)
    manifest = json.loads((folder / "submission.json").read_text())
    manifest["policies"][0]["specs"] = dict.fromkeys(ENVS, str(private))
    (folder / "submission.json").write_text(json.dumps(manifest))
    opened = list[Path]()

    def noted(path: Path) -> str:
        opened.append(path)
        return file_sha256(path)

    monkeypatch.setattr("failgym.leaderboard.site.policy_files.file_sha256", noted)
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    written(tmp_path / "board", tmp_path / "site", policy_files=[shelf])
    text = Reader(tmp_path / "site" / "submissions" / "team-a.html").text
    assert opened == []
    assert "hush" not in text
    assert "mine.json is not at hand" in text


@pytest.mark.parametrize(
    ("about", "shown"),
    [
        ({"x": "y" * 1_000_000}, f"{'y' * 2_000} … (1,000,000 signs)"),
        ({"x": ["y" * 2_500] * 5_000}, "… and 4,800 more"),
        ({"y" * 100_000: 1}, "… (100,007 signs)"),
        ({f"y{n}": n for n in range(50_000)}, "49,802 more names"),
        ({f"y{n}": ["z" * 1_000] * 200 for n in range(50)}, "49 more names"),
    ],
    ids=["text", "list", "name", "names", "lists"],
)
def test_what_a_file_says_is_cut_to_what_is_read(
    tmp_path: Path, about: dict[str, Any], shown: str
) -> None:
    _, shelf = stored_with_file(tmp_path / "first")
    save_heuristic(Young(), shelf / "mine.json", about=about)
    stated = {"name": "mine.json", "sha256": file_sha256(shelf / "mine.json")}
    of = {"young": {"Checkpoint-v1": stated}}
    board(tmp_path / "board" / "team-a", "young", files=of)
    written(tmp_path / "board", tmp_path / "site", policy_files=[shelf])
    page = tmp_path / "site" / "submissions" / "team-a.html"
    assert shown in Reader(page).text
    assert page.stat().st_size < 1_000_000


def test_what_is_nested_deeply_stops_no_site(tmp_path: Path) -> None:
    _, shelf = stored_with_file(tmp_path)

    def deep(path: Path) -> Mapping[str, Any]:
        made: dict[str, Any] = {}
        for _ in range(sys.getrecursionlimit()):
            made = {"a": made}
        return {"About: x": made}

    found = find_submissions(tmp_path / "board")
    write_site(found, tmp_path / "site", deep, bootstrap=QUICK, policy_files=[shelf])
    text = Reader(tmp_path / "site" / "submissions" / "team-a.html").text
    assert "nested too deeply to be shown" in text


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no links and pipes here")
def test_of_the_hosts_folders_only_regular_files_of_a_policys_size_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, shelf = stored_with_file(tmp_path)
    page = tmp_path / "site" / "submissions" / "team-a.html"
    (shelf / "mine.json").rename(tmp_path / "elsewhere.json")
    for link in (True, False):
        if link:
            (shelf / "mine.json").symlink_to(tmp_path / "elsewhere.json")
        else:
            os.mkfifo(shelf / "mine.json")
        written(tmp_path / "board", tmp_path / "site", policy_files=[tmp_path / "shelf"])
        assert "mine.json is not at hand" in Reader(page).text
        (shelf / "mine.json").unlink()
    (tmp_path / "elsewhere.json").rename(shelf / "mine.json")
    monkeypatch.setattr("failgym.leaderboard.site.policy_files.MOST_BYTES", {".json": 10})
    written(tmp_path / "board", tmp_path / "site", policy_files=[tmp_path / "shelf"])
    assert "mine.json is not at hand" in Reader(page).text


def test_a_file_that_cannot_be_read_says_why_and_not_where(tmp_path: Path) -> None:
    def refuses(path: Path) -> Mapping[str, Any]:
        raise ValueError(f"{path}: not a stored policy")

    stored_with_file(tmp_path)
    found = find_submissions(tmp_path / "board")
    shelves = [tmp_path / "shelf"]
    write_site(found, tmp_path / "site", refuses, bootstrap=QUICK, policy_files=shelves)
    text = Reader(tmp_path / "site" / "submissions" / "team-a.html").text
    assert "mine.json cannot be read: mine.json: not a stored policy" in text


def test_a_site_is_the_same_whenever_it_is_written(folder: Path, tmp_path: Path) -> None:
    written(folder, tmp_path / "a")
    written(folder, tmp_path / "b")
    written(folder, tmp_path / "b")
    assert files(tmp_path / "a") == files(tmp_path / "b")


def test_a_page_whose_submission_is_gone_goes_and_the_hosts_files_stay(
    folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "site"
    written(folder, out)
    (out / "CNAME").write_text("board.example")
    (out / "submissions" / "mine.html").write_text("of the host")
    (folder / "Team <b>B" / "submission.json").unlink()
    written(folder, out)
    expected = ["CNAME", "index.html", "site.json", "submissions/mine.html"]
    assert sorted(files(out)) == [*expected, "submissions/team-a.html"]
    assert json.loads((out / "site.json").read_text())["files"] == [
        "index.html",
        "submissions/team-a.html",
    ]


def foreign_index(out: Path) -> None:
    (out / "index.html").write_text("of the host")


def foreign_list(out: Path) -> None:
    (out / "site.json").write_text('{"of": "the host"}')


def list_of_other_places(out: Path) -> None:
    content = {"format": "failgym site", "version": 1, "files": ["../keep.txt"]}
    (out / "site.json").write_text(json.dumps(content))


@pytest.mark.parametrize("put", [foreign_index, foreign_list, list_of_other_places])
def test_what_failgym_did_not_write_is_not_replaced(
    folder: Path, tmp_path: Path, put: Callable[[Path], None]
) -> None:
    out = tmp_path / "site"
    out.mkdir()
    (tmp_path / "keep.txt").write_text("kept")
    put(out)
    before = files(out)
    with pytest.raises(ValueError, match="is not of a site that failgym wrote: not replaced"):
        written(folder, out)
    assert files(out) == before
    assert (tmp_path / "keep.txt").read_text() == "kept"


def everything(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def pages_in_a_submission_of_that_name(top: Path) -> tuple[Path, Path]:
    board(top / "submissions", "young")
    board(top / "team-b", EVIL)
    return top, top


def pages_beside_submissions(top: Path) -> tuple[Path, Path]:
    board(top / "submissions" / "team-a", "young")
    return top / "submissions", top


def pages_linked_elsewhere(top: Path) -> tuple[Path, Path]:
    board(top / "board" / "team-a", "young")
    (top / "else").mkdir()
    (top / "site").mkdir()
    (top / "site" / "submissions").symlink_to("../else")
    return top / "board", top / "site"


def pages_linked_into_a_submission(top: Path) -> tuple[Path, Path]:
    board(top / "board" / "team-a", "young")
    (top / "site").mkdir()
    (top / "site" / "submissions").symlink_to("../board/team-a")
    return top / "board", top / "site"


def site_linked_into_a_submission(top: Path) -> tuple[Path, Path]:
    board(top / "board" / "team-a", "young")
    (top / "site").symlink_to("board/team-a")
    return top / "board", top / "site"


def site_among_policies(top: Path) -> tuple[Path, Path]:
    board(top / "board" / "team-a", "young")
    (top / "shelf").mkdir()
    return top / "board", top / "shelf" / "site"


@pytest.mark.parametrize(
    "lay",
    [
        pages_in_a_submission_of_that_name,
        pages_beside_submissions,
        pages_linked_elsewhere,
        pages_linked_into_a_submission,
        site_linked_into_a_submission,
        site_among_policies,
    ],
)
def test_nothing_is_written_into_what_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], lay: Callable[[Path], tuple[Path, Path]]
) -> None:
    source, out = lay(tmp_path)
    before = everything(tmp_path)
    shelf = tmp_path / "shelf"
    given = ["--policy-files", shelf] if shelf.is_dir() else []
    assert ": not written" in invoke(capsys, source, "--out", out, *given)
    assert everything(tmp_path) == before


@pytest.mark.skipif(os.name != "posix", reason="names are text here")
def test_a_link_to_a_name_that_is_no_text_is_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = os.fsencode(board(tmp_path / "x", "young"))
    try:
        os.rename(made, made + b"\xff")
    except OSError:
        pytest.skip("the file system knows no such names")
    (tmp_path / "board").mkdir()
    os.symlink(made + b"\xff", os.fsencode(tmp_path / "board" / "team"))
    said = invoke(capsys, tmp_path / "board", "--out", tmp_path / "site")
    assert "team: leads to 'x\\udcff', expected a name in UTF-8" in said
    assert not (tmp_path / "site").exists()


def test_a_site_that_was_begun_is_finished(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from failgym.leaderboard.site import site_folder

    real, count = site_folder.replacing, iter(range(99))

    def killed(path: Path) -> Any:
        if next(count) == 2:
            raise KeyboardInterrupt
        return real(path)

    out = tmp_path / "site"
    monkeypatch.setattr(site_folder, "replacing", killed)
    with pytest.raises(KeyboardInterrupt):
        written(folder, out)
    monkeypatch.undo()
    assert not (out / "index.html").exists()
    written(folder, out)
    written(folder, tmp_path / "other")
    assert files(out) == files(tmp_path / "other")


def test_one_submission_is_a_board_too(folder: Path, tmp_path: Path) -> None:
    assert written(folder / "team-a", tmp_path / "site") == [
        "index.html",
        "submissions/team-a.html",
    ]


def invoke(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    """What the command says when it refuses, in one line."""
    assert run(["leaderboard", "site", *map(str, arguments)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    return said


def test_the_command_writes_it_and_says_so(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "site"
    assert run(["leaderboard", "site", str(folder), "--out", str(out)]) == 0
    assert f"2 submissions, 3 pages: written to {out}" in capsys.readouterr().out
    assert (out / "index.html").is_file()


def test_bad_input_is_a_line_and_leaves_the_site_as_it_was(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "site"
    written(folder, out)
    before = files(out)
    (tmp_path / "empty").mkdir()
    assert "holds no submission" in invoke(capsys, tmp_path / "empty", "--out", out)
    assert "No such file" in invoke(capsys, tmp_path / "nowhere", "--out", out)
    inside = folder / "team-a" / "site"
    assert "lies in the submission" in invoke(capsys, folder, "--out", inside)
    assert not inside.exists()
    nowhere = tmp_path / "none"
    assert f"{nowhere}: expected a folder" in invoke(
        capsys, folder, "--out", out, "--policy-files", nowhere
    )
    (folder / "team-a" / "results.parquet").write_bytes(b"PAR1 cut off")
    assert "results.parquet" in invoke(capsys, folder, "--out", out)
    assert files(out) == before
