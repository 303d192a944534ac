"""Published traces: what the table says is so, and files arrive whole whatever a server does.

Only servers on this machine are asked, never those of the table.
"""

from __future__ import annotations

import email.utils
import hashlib
import importlib
import io
import itertools
import os
import random
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from failgym.cli import run
from failgym.traces import read_swf
from failgym.traces.formats import FORMATS
from failgym.traces.published import (
    PUBLISHED,
    Fetched,
    FetchError,
    PublishedFile,
    PublishedTrace,
    Shards,
    fetch,
)
from failgym.traces.published.client import Client, _Redirects
from tests.traces.file_server import FileServer, Served, serving
from tests.traces.real_data import google_2011, real

GZIP = b"\x1f\x8b"
CONTENT = GZIP + random.Random(1).randbytes(1_000_001)
OTHER = GZIP + random.Random(2).randbytes(1_000_001)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
SIZE = len(CONTENT)
DOCS = Path(__file__).parents[2] / "docs" / "traces.md"


@pytest.fixture
def server() -> Iterator[FileServer]:
    with serving() as found:
        yield found


class Waits:
    """A client that notes how long it would wait, and does not."""

    def __init__(self, **options: Any) -> None:
        self.slept: list[float] = []
        self.client = Client(sleep=self.slept.append, timeout=30.0, **options)


def published(server: FileServer, *files: tuple[str, int | None, str | None]) -> PublishedTrace:
    """A trace whose files are on the test's server."""
    made = [
        PublishedFile(path, f"{server.address}/{path}", size, sha256)
        for path, size, sha256 in files
    ]
    return PublishedTrace(
        *("tiny", "a trace of a test", "swf", server.address, "of the test", "the test"),
        tuple(made),
    )


def get(
    server: FileServer,
    out: Path,
    *files: tuple[str, int | None, str | None],
    waits: Waits | None = None,
    **options: Any,
) -> list[Fetched]:
    trace = published(server, *(files or (("a.gz", SIZE, SHA256),)))
    return fetch(trace, out, client=(waits or Waits()).client, **options)


def content(out: Path) -> dict[str, bytes]:
    """What a reader would see in the folder, and what is hidden from him."""
    found = (path for path in out.rglob("*") if path.is_file())
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in sorted(found)}


def names(out: Path) -> list[str]:
    return sorted(content(out))


WHOLE = ["SHA256SUMS", "SOURCE.txt", "a.gz"]


def test_a_file_arrives_and_is_listed(server: FileServer, tmp_path: Path) -> None:
    server.files["a.gz"] = Served(CONTENT)
    found = get(server, tmp_path)
    assert found == [Fetched("a.gz", SIZE, SHA256, "sha256")]
    assert names(tmp_path) == WHOLE
    assert (tmp_path / "a.gz").read_bytes() == CONTENT
    assert (tmp_path / "SHA256SUMS").read_text() == f"{SHA256}  a.gz\n"
    assert "cite: the test\n" in (tmp_path / "SOURCE.txt").read_text()
    [(_, headers)] = server.asked
    assert headers["User-Agent"].startswith("failgym/")


def test_what_is_there_is_not_asked_for_again(server: FileServer, tmp_path: Path) -> None:
    server.files["a.gz"] = Served(CONTENT)
    get(server, tmp_path)
    assert get(server, tmp_path) == [Fetched("a.gz", SIZE, SHA256, None)]
    (tmp_path / "SHA256SUMS").unlink()  # as if killed between the file and the list
    assert get(server, tmp_path) == [Fetched("a.gz", SIZE, SHA256, None)]
    assert (tmp_path / "SHA256SUMS").read_text() == f"{SHA256}  a.gz\n"
    assert len(server.asked) == 1


def test_a_cut_connection_goes_on_where_it_was_cut(server: FileServer, tmp_path: Path) -> None:
    server.files["a.gz"] = Served(CONTENT, cuts=[400_000, 100_000, 0])
    came = list[int]()
    get(server, tmp_path, advance=came.append)
    assert (tmp_path / "a.gz").read_bytes() == CONTENT
    assert server.ranges() == [None, "bytes=400000-", "bytes=500000-", "bytes=500000-"]
    assert sum(came) == SIZE
    assert names(tmp_path) == WHOLE


def test_without_ranges_it_begins_anew(server: FileServer, tmp_path: Path) -> None:
    server.files["a.gz"] = Served(CONTENT, ranges=False, cuts=[400_000])
    came = list[int]()
    get(server, tmp_path, advance=came.append)
    assert (tmp_path / "a.gz").read_bytes() == CONTENT
    assert sum(came) == SIZE


def test_a_file_that_was_changed_meanwhile_is_not_mixed(server: FileServer, tmp_path: Path) -> None:
    """Nobody knows its hash: only its version tells that it is another one."""
    server.files["a.gz"] = Served(CONTENT, cuts=[400_000, *[0] * 9])
    with pytest.raises(FetchError, match="given up"):
        get(server, tmp_path, ("a.gz", None, None))
    server.files["a.gz"] = Served(OTHER, version='"2"')
    [found] = get(server, tmp_path, ("a.gz", None, None))
    assert server.asked[-1][1]["If-Range"] == '"1"'
    assert (tmp_path / "a.gz").read_bytes() == OTHER
    assert found.checked == "size"


@pytest.mark.parametrize(
    "now",
    [
        Served(OTHER, version='"2"', heeds=False),
        Served(OTHER[:-9], heeds=False),
        Served(OTHER, version="", heeds=False),
        Served(OTHER[:400_000], heeds=False),  # as long as what has come of the first
        Served(OTHER[:400_000], version='"2"', heeds=False),
    ],
)
def test_a_server_that_pays_no_heed_to_the_condition_mixes_nothing(
    server: FileServer, tmp_path: Path, now: Served
) -> None:
    server.files["a.gz"] = Served(CONTENT, cuts=[400_000, *[0] * 9])
    with pytest.raises(FetchError, match="given up"):
        get(server, tmp_path, ("a.gz", None, None))
    server.files["a.gz"] = now
    came = list[int]()
    get(server, tmp_path, ("a.gz", None, None), advance=came.append)
    assert server.ranges()[-2:] == ["bytes=400000-", None]
    assert (tmp_path / "a.gz").read_bytes() == now.content
    assert sum(came) == len(now.content)


def test_a_part_without_a_version_is_not_gone_on_with(server: FileServer, tmp_path: Path) -> None:
    server.files["a.gz"] = Served(CONTENT, version="", cuts=[400_000, *[0] * 9])
    with pytest.raises(FetchError, match="given up"):
        get(server, tmp_path, ("a.gz", None, None))
    server.asked.clear()
    server.files["a.gz"] = Served(OTHER, version="")
    get(server, tmp_path, ("a.gz", None, None))
    assert server.ranges() == [None]
    assert (tmp_path / "a.gz").read_bytes() == OTHER


@pytest.mark.parametrize("version", ["", '"\x81"'])
def test_nor_is_one_within_a_run(server: FileServer, tmp_path: Path, version: str) -> None:
    server.files["a.gz"] = Served(CONTENT, version=version, cuts=[400_000])
    came = list[int]()
    get(server, tmp_path, ("a.gz", None, None), advance=came.append)
    assert server.ranges() == [None, None]
    assert sum(came) == SIZE
    assert (tmp_path / "a.gz").read_bytes() == CONTENT


def test_with_a_known_hash_a_mixed_file_is_found_out(server: FileServer, tmp_path: Path) -> None:
    server.files["a.gz"] = Served(OTHER, version="", cuts=[400_000, *[0] * 9])
    with pytest.raises(FetchError, match="given up"):
        get(server, tmp_path)
    server.files["a.gz"] = Served(CONTENT, version="")
    get(server, tmp_path)
    assert (tmp_path / "a.gz").read_bytes() == CONTENT
    assert server.ranges()[-2:] == ["bytes=400000-", None]


def test_a_wrong_hash_is_not_kept(server: FileServer, tmp_path: Path) -> None:
    server.files["a.gz"] = Served(OTHER)
    with pytest.raises(FetchError, match=f"its SHA-256 is .*, expected {SHA256}: not kept"):
        get(server, tmp_path)
    assert names(tmp_path) == ["SOURCE.txt"]


def test_another_length_than_known_is_said_at_once(server: FileServer, tmp_path: Path) -> None:
    server.files["a.gz"] = Served(CONTENT[:-1])
    with pytest.raises(FetchError, match=f"has {SIZE - 1:,} bytes, expected {SIZE:,}"):
        get(server, tmp_path)
    assert names(tmp_path) == ["SOURCE.txt"]


def test_a_server_that_never_ends_does_not_fill_the_disk(
    server: FileServer, tmp_path: Path
) -> None:
    server.files["a.gz"] = Served(CONTENT, lengths=False, endless=True)
    came = list[int]()
    with pytest.raises(FetchError, match=f"sends more than the {SIZE:,} bytes expected"):
        get(server, tmp_path, advance=came.append)
    assert max(itertools.accumulate(came)) < 2 * SIZE
    assert sum(came) == 0
    assert names(tmp_path) == ["SOURCE.txt"]


def test_the_hash_that_a_server_states_is_checked(server: FileServer, tmp_path: Path) -> None:
    server.files["a.gz"] = replace(Served.google(CONTENT), cuts=[300_000])
    [found] = get(server, tmp_path / "a", ("a.gz", None, None))
    assert (found.checked, found.sha256) == ("server", SHA256)
    server.files["a.gz"] = replace(Served.google(CONTENT), content=OTHER)
    with pytest.raises(FetchError, match=r"its md5 is .*, the server states .*: not kept"):
        get(server, tmp_path / "b", ("a.gz", None, None))
    assert names(tmp_path / "b") == ["SOURCE.txt"]


def test_what_nobody_states_is_not_called_checked(server: FileServer, tmp_path: Path) -> None:
    server.files["a.gz"] = Served(CONTENT, lengths=False)
    [found] = get(server, tmp_path, ("a.gz", None, None))
    assert found.checked == "nothing"
    assert (tmp_path / "a.gz").read_bytes() == CONTENT


def test_a_missing_file_is_a_line_with_its_address(server: FileServer, tmp_path: Path) -> None:
    server.files["a.gz"] = Served(CONTENT)
    known = [("a.gz", SIZE, SHA256), ("b.gz", None, None)]
    with pytest.raises(FetchError, match=rf"{server.address}/b\.gz: the server says 404"):
        get(server, tmp_path, *known)
    assert names(tmp_path) == WHOLE, "what was fetched before it stays"


def test_a_server_that_says_when_to_come_back_is_obeyed(server: FileServer, tmp_path: Path) -> None:
    later = email.utils.formatdate(time.time() + 100, usegmt=True)
    refusals = [(503, {"Retry-After": "7"}), (429, {"Retry-After": later}), (503, {})]
    server.files["a.gz"] = Served(CONTENT, first=list(refusals))
    waits = Waits()
    get(server, tmp_path, waits=waits)
    assert waits.slept[0] == 7.0
    assert 95.0 < waits.slept[1] <= 100.0
    assert waits.slept[2] == 4.0, "twice as long each time, where the server says nothing"
    assert (tmp_path / "a.gz").read_bytes() == CONTENT


def test_a_server_that_asks_for_hours_is_not_waited_for(server: FileServer, tmp_path: Path) -> None:
    server.files["a.gz"] = Served(CONTENT, first=[(503, {"Retry-After": "7200"})])
    waits = Waits()
    with pytest.raises(FetchError, match=r"503 .*come back in 7,200 s"):
        get(server, tmp_path, waits=waits)
    assert waits.slept == []


def test_it_gives_up_in_the_end_and_goes_on_later(server: FileServer, tmp_path: Path) -> None:
    server.files["a.gz"] = Served(CONTENT, cuts=[400_000, *[0] * 50])
    waits = Waits()
    with pytest.raises(FetchError, match=r"given up after 6 tries; 400,000 bytes are kept"):
        get(server, tmp_path, waits=waits)
    assert waits.slept == [1.0, 2.0, 4.0, 8.0, 16.0]
    assert "a.gz" not in names(tmp_path)
    server.files["a.gz"].cuts.clear()
    server.asked.clear()
    get(server, tmp_path)
    assert server.ranges() == ["bytes=400000-"]
    assert (tmp_path / "a.gz").read_bytes() == CONTENT


def test_other_refusals_are_final(server: FileServer, tmp_path: Path) -> None:
    server.files["a.gz"] = Served(CONTENT, first=[(403, {})])
    waits = Waits()
    with pytest.raises(FetchError, match="the server says 403"):
        get(server, tmp_path, waits=waits)
    assert waits.slept == []


def test_nobody_there_is_a_line(server: FileServer, tmp_path: Path) -> None:
    server.address = "http://127.0.0.1:9"  # nothing listens there
    with pytest.raises(FetchError, match=r"Connection refused.*: given up"):
        get(server, tmp_path)


def test_a_redirect_is_followed_to_the_web_only(server: FileServer, tmp_path: Path) -> None:
    server.files["b.gz"] = Served(CONTENT)
    server.files["a.gz"] = Served(b"", first=[(302, {"Location": "/b.gz"})])
    get(server, tmp_path / "a")
    assert (tmp_path / "a" / "a.gz").read_bytes() == CONTENT
    server.files["a.gz"] = Served(b"", first=[(302, {"Location": "file:///etc/hostname"})])
    with pytest.raises(FetchError, match=r"file:///etc/hostname. is not allowed"):
        get(server, tmp_path / "b")


def test_a_redirect_does_not_leave_what_is_encrypted() -> None:
    asked = urllib.request.Request("https://a.example/file")
    for leads in ("http://a.example/file", "ftp://a.example/file"):
        with pytest.raises(FetchError, match="which is not followed"):
            _Redirects().redirect_request(asked, io.BytesIO(), 302, "Found", {}, leads)
    there = "https://b.example/file"
    followed = _Redirects().redirect_request(asked, io.BytesIO(), 302, "Found", {}, there)
    assert followed is not None
    assert followed.full_url == there


def test_shards_are_fetched_until_there_are_no_more(server: FileServer, tmp_path: Path) -> None:
    for number in range(3):
        server.files[f"events-{number:012d}.gz"] = Served.google(CONTENT[: SIZE - number])
    trace = replace(
        published(server),
        shards=(Shards("t/events-{:012d}.gz", f"{server.address}/events-{{:012d}}.gz"),),
    )
    found = fetch(trace, tmp_path, client=Waits().client)
    assert [one.path for one in found] == [f"t/events-{n:012d}.gz" for n in range(3)]
    assert {one.checked for one in found} == {"server"}
    server.asked.clear()
    again = fetch(trace, tmp_path, client=Waits().client, only=["*0[02].gz"])
    assert [(one.path[-4:], one.checked) for one in again] == [("0.gz", None), ("2.gz", None)]
    server.files.clear()
    with pytest.raises(FetchError, match="404"):
        fetch(trace, tmp_path / "none", client=Waits().client)
    with pytest.raises(ValueError, match=r"matches no file of tiny, such as t/events-0{12}\.gz"):
        fetch(trace, tmp_path, only=["x*"])


ODD = {
    "a date of no calendar": (503, {"Retry-After": f"1 Jan {'9' * 20} 00:00:00 GMT"}, "503"),
    "a zone of no clock": (503, {"Retry-After": "Mon, 01 Jan 2035 00:00:00 +9999999999999"}, "503"),
    "a number of no wait": (503, {"Retry-After": "9" * 5000}, "come back in inf s"),
    "no address": (302, {"Location": "http://[bad"}, "cannot be fetched"),
    "no host": (302, {"Location": f"http://a{'b' * 80}.x/"}, "cannot be fetched"),
    "no length": (200, {"Content-Length": "9" * 5000}, "states a length of '9999"),
    "no part": (206, {"Content-Range": f"bytes 0-{'9' * 5000}/{'9' * 5000}"}, "another part"),
    "no content": (204, {}, "the server says 204 No Content, expected a file"),
    "nothing": (200, {}, "the server sent nothing"),
    "a log-in": (200, {"Content-Type": "text/html; charset=utf-8"}, r"a web page \(text/html\)"),
}


@pytest.mark.parametrize(("status", "headers", "said"), ODD.values(), ids=ODD)
def test_an_odd_answer_is_a_line_with_the_address(
    server: FileServer, tmp_path: Path, status: int, headers: dict[str, str], said: str
) -> None:
    server.files["a.gz"] = Served(CONTENT, first=[(status, dict(headers))] * 9)
    with pytest.raises(FetchError, match=rf"^{server.address}/a\.gz: .*{said}") as raised:
        get(server, tmp_path, ("a.gz", None, None))
    assert "\n" not in str(raised.value)
    assert names(tmp_path) == ["SOURCE.txt"]


@pytest.mark.parametrize("end", [".gz", ".xz", ".bz2", ".zip"])
def test_what_is_no_archive_is_not_kept_under_the_name_of_one(
    server: FileServer, tmp_path: Path, end: str
) -> None:
    server.files[f"a{end}"] = Served.google(b"<html>log in</html>")
    with pytest.raises(FetchError, match=rf"a\{end}: is no \{end} file, it begins with b'<html>"):
        get(server, tmp_path, (f"a{end}", None, None))
    assert names(tmp_path) == ["SOURCE.txt"]
    suffixes = {Path(file.path).suffix for one in PUBLISHED.values() for file in one.files}
    assert suffixes <= {".gz", ".xz", ".bz2", ".zip", ".json"}


def test_files_come_one_after_the_other(server: FileServer, tmp_path: Path) -> None:
    files = [(f"part/{n}.gz", SIZE, SHA256) for n in range(5)]
    server.files.update({path: Served(CONTENT) for path, *_ in files})
    get(server, tmp_path, *files)
    assert [path for path, _ in server.asked] == [f"/part/{n}.gz" for n in range(5)]
    assert server.at_once == 1


def test_files_of_others_stay(server: FileServer, tmp_path: Path) -> None:
    server.files["a.gz"] = Served(CONTENT)
    (tmp_path / "a.gz").write_bytes(b"mine")
    with pytest.raises(FetchError, match=r"a\.gz: is there, and is not the file of .*not replaced"):
        get(server, tmp_path)
    assert (tmp_path / "a.gz").read_bytes() == b"mine"
    assert server.asked == []


def test_a_file_that_was_there_is_read(server: FileServer, tmp_path: Path) -> None:
    """By the hash of the table, else by the list of what was fetched: its own bytes, each time."""
    for known in (("a.gz", SIZE, SHA256), ("a.gz", None, None)):
        out = tmp_path / str(known[1])
        server.files["a.gz"] = Served(CONTENT)
        get(server, out, known)
        for now in (OTHER, CONTENT[:-1], b""):
            (out / "a.gz").write_bytes(now)
            before = content(out)
            server.asked.clear()
            with pytest.raises(FetchError, match=r"a\.gz: is there, and is not .*: not replaced"):
                get(server, out, known)
            assert (content(out), server.asked) == (before, [])


def test_a_file_of_which_nothing_is_known_is_checked_with_the_server(
    server: FileServer, tmp_path: Path
) -> None:
    known = ("a.gz", None, None)
    path = tmp_path / "a.gz"
    for served, now in (
        (Served(CONTENT), CONTENT[:10]),
        (Served.google(CONTENT), OTHER),
        (Served(CONTENT, lengths=False), CONTENT),
    ):
        server.files["a.gz"] = served
        path.write_bytes(now)
        with pytest.raises(FetchError, match=r"a\.gz: is there, and .*: not replaced"):
            get(server, tmp_path, known)
        assert names(tmp_path) == ["SOURCE.txt", "a.gz"]
        assert path.read_bytes() == now
    path.write_bytes(CONTENT)
    for served, by in ((Served(CONTENT), "size"), (Served.google(CONTENT), "server")):
        server.files["a.gz"] = replace(served, first=[(503, {"Retry-After": "1"})])
        (tmp_path / "SHA256SUMS").unlink(missing_ok=True)
        [found] = get(server, tmp_path, known)
        assert (found.size, found.sha256, found.checked) == (SIZE, SHA256, by)
    assert set(server.methods) == {"HEAD"}, "it is not fetched for that"


def test_traces_in_one_folder_are_each_cited(server: FileServer, tmp_path: Path) -> None:
    server.files["a.gz"] = server.files["b.gz"] = Served(CONTENT)
    get(server, tmp_path)
    second = replace(
        published(server, ("b.gz", None, None)),
        name="second",
        licence="of the second",
        citation="the second",
        remark="of two",
    )
    for _ in range(2):
        fetch(second, tmp_path, client=Waits().client)
        get(server, tmp_path)
    said = (tmp_path / "SOURCE.txt").read_text()
    for line in (
        "licence: of the test",
        "cite: the test",
        "licence: of the second",
        "note: of two",
    ):
        assert said.count(f"{line}\n") == 1
    assert (tmp_path / "SHA256SUMS").read_text() == f"{SHA256}  a.gz\n{SHA256}  b.gz\n"


def test_traces_whose_files_have_one_name_do_not_share_a_folder(
    server: FileServer, tmp_path: Path
) -> None:
    """A file of the first would be taken for one of the second: nobody knows its hash."""
    cells = [replace(PUBLISHED[f"google-2019-{cell}"], files=()) for cell in "ab"]
    with pytest.raises(FetchError, match="404"):
        fetch(cells[0], tmp_path, client=Elsewhere(server=server))
    asked = len(server.asked)
    with pytest.raises(FetchError, match=r"holds google-2019-a, whose files have the names"):
        fetch(cells[1], tmp_path, client=Elsewhere(server=server))
    assert len(server.asked) == asked
    usage = PUBLISHED["google-2019-a-usage"]
    with pytest.raises(FetchError, match="404"):
        fetch(usage, tmp_path, client=Elsewhere(server=server))


@dataclass(frozen=True, kw_only=True)
class Elsewhere(Client):
    """Asks the test's server whomever it should ask."""

    server: FileServer
    sleep: Callable[[float], None] = lambda _: None

    def open(self, url: str, headers: Mapping[str, str], method: str = "GET") -> Any:
        return super().open(f"{self.server.address}/{url.split('/', 3)[3]}", headers, method)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("SOURCE.txt", "my notes\n"),
        ("SOURCE.txt", "a: b\npublished at: c\nlicence: d\ncite: e\n\nmy notes\n"),
        ("SHA256SUMS", f"{SHA256} *b.bin\n# mine\n"),
        ("SHA256SUMS", f"{SHA256}  a.gz\n"),
    ],
)
def test_lists_of_others_are_not_replaced(
    server: FileServer, tmp_path: Path, name: str, text: str
) -> None:
    server.files["a.gz"] = Served(CONTENT)
    (tmp_path / name).write_text(text)
    with pytest.raises(FetchError, match=rf"{name}: is not of failgym trace fetch: not replaced"):
        get(server, tmp_path)
    assert content(tmp_path) == {name: text.encode()}
    assert server.asked == []


def pipe(_: Path, at: Path) -> None:
    os.mkfifo(at)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no links and pipes here")
@pytest.mark.parametrize("make", [os.symlink, os.link, pipe])
def test_a_part_is_never_written_through_a_link(
    server: FileServer, tmp_path: Path, make: Any
) -> None:
    server.files["a.gz"] = Served(CONTENT)
    (tmp_path / "victim").write_text("precious")
    make(tmp_path / "victim", tmp_path / ".a.gz.part")
    with pytest.raises(FetchError, match=r"\.a\.gz\.part: expected a file of failgym's own"):
        get(server, tmp_path)
    assert (tmp_path / "victim").read_text() == "precious"
    assert server.asked == []


def test_a_folder_of_a_files_name_is_a_line(server: FileServer, tmp_path: Path) -> None:
    (tmp_path / "a.gz").mkdir()
    with pytest.raises(FetchError, match=r"a\.gz: expected a file, or nothing"):
        get(server, tmp_path)
    assert server.asked == []


def test_a_second_process_does_not_write_into_the_first_ones_file(
    server: FileServer, tmp_path: Path
) -> None:
    fcntl = pytest.importorskip("fcntl", reason="no locks of files here")
    server.files["a.gz"] = Served(CONTENT)
    with (tmp_path / ".a.gz.part").open("wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(FetchError, match="another process is fetching it"):
            get(server, tmp_path)
        assert (tmp_path / ".a.gz.part").exists()
    get(server, tmp_path)
    assert (tmp_path / "a.gz").read_bytes() == CONTENT


COMMAND = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # tests may be run by who ignores it
from failgym.cli import main
from failgym.traces.published import PUBLISHED, PublishedFile, PublishedTrace
address, size, sha256 = sys.argv[1:4]
file = PublishedFile("a.gz", address + "/a.gz", int(size), sha256)
PUBLISHED["tiny"] = PublishedTrace("tiny", "a", "swf", address, "l", "c", (file,))
sys.argv = ["failgym", "trace", "fetch", "tiny", "--out", sys.argv[4]]
main()
"""


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_command_goes_on_where_it_was(
    server: FileServer, tmp_path: Path, sent: signal.Signals
) -> None:
    """It is killed as it waits for a server that has sent a part and then says: later."""
    later = [(503, {"Retry-After": "600"})]
    server.files["a.gz"] = Served(CONTENT, cuts=[400_000], later=later)
    command = [sys.executable, "-c", COMMAND, server.address, str(SIZE), SHA256, str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    part = tmp_path / ".a.gz.part"
    while not (part.exists() and part.stat().st_size == 400_000):
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(sent)
    process.communicate()
    server.files["a.gz"].first.clear()
    assert "a.gz" not in names(tmp_path)
    server.asked.clear()
    assert subprocess.run(command, stdout=subprocess.DEVNULL, check=True).returncode == 0
    assert server.ranges() == ["bytes=400000-"]
    assert (tmp_path / "a.gz").read_bytes() == CONTENT


def test_the_command_fetches_what_a_reader_reads(
    server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    log = real("swf") / "KTH-SP2-1996-2.1-cln.swf.gz"
    known = PUBLISHED["kth-sp2-1996"]
    [file] = known.files
    server.files[file.path] = Served(log.read_bytes())
    here = replace(file, url=f"{server.address}/{file.path}")
    monkeypatch.setitem(PUBLISHED, known.name, replace(known, files=(here,)))
    monkeypatch.chdir(tmp_path)
    assert run(["trace", "fetch", known.name]) == 0
    said = capsys.readouterr().out
    assert f"{file.path}: 0.4 MB, SHA-256 as in failgym's table" in said
    assert f"cite: {known.citation}" in said
    found = read_swf(tmp_path / known.name)
    assert found.content_hash == read_swf(log).content_hash


def test_the_command_says_in_a_line_what_is_wrong(
    server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    trace = published(server, ("a.gz", None, None), ("huge.gz", 10**18, None))
    monkeypatch.setitem(PUBLISHED, "tiny", trace)

    def said(*arguments: str | Path) -> str:
        assert run(["trace", "fetch", *map(str, arguments)]) == 2
        line = capsys.readouterr().err
        assert line.count("\n") == 1
        return line

    out = tmp_path / "out"
    assert "expected the NAME of a published trace, or --list" in said()
    assert "unknown published trace 'tinny', did you mean tiny?" in said("tinny")
    assert "'x*': matches no file of tiny, such as a.gz" in said("tiny", "--only", "x*")
    assert "the files need" in said("tiny", "--out", out)
    assert "says 404" in said("tiny", "--out", out, "--only", "a.gz")
    (tmp_path / "file").write_text("mine")
    assert "expected a folder" in said("tiny", "--out", tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"


def test_the_table_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["trace", "fetch", "--list"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in PUBLISHED)
    assert run(["trace", "fetch", "kth-sp2-1996", "--list"]) == 0
    shown = capsys.readouterr().out
    [file] = PUBLISHED["kth-sp2-1996"].files
    assert f"{file.url}\n" in shown
    assert f"411,455 bytes, SHA-256 {file.sha256}" in shown
    assert run(["trace", "fetch", "google-2011", "--list", "--only", "task_usage/*"]) == 0
    shown = capsys.readouterr().out
    assert "part-00499-of-00500.csv.gz: size not known, no hash known" in shown


def test_the_table_is_sound() -> None:
    files = [file for trace in PUBLISHED.values() for file in trace.files]
    assert len({file.url for file in files}) == len(files)
    assert all(file.url.startswith("https://") for file in files)
    for name, trace in PUBLISHED.items():
        assert (trace.name, trace.form in FORMATS) == (name, True)
        assert trace.files or trace.shards
        assert trace.citation
        assert trace.licence
        assert len({file.path for file in trace.files}) == len(trace.files)
    listed = Path(fetch.__code__.co_filename).with_name("known_files.csv").read_text()
    known = [line for line in listed.splitlines()[1:] if not line.endswith(",,")]
    assert sum(file.sha256 is not None for file in files) == len(known), "each is of the table"


def test_no_file_is_known_to_be_empty() -> None:
    """The hash of nothing is that of a file which was absent where it was hashed."""
    files = [file for trace in PUBLISHED.values() for file in trace.files]
    assert all((file.size is None) == (file.sha256 is None) for file in files)
    assert all(file.size is None or file.size > 0 for file in files)
    assert hashlib.sha256().hexdigest() not in {file.sha256 for file in files}
    unknown = [file.path for file in PUBLISHED["wfcommons"].files if file.sha256 is None]
    assert len(unknown) == 15
    assert f"of {135 - len(unknown)}, which have 108 MB" in DOCS.read_text()
    sizes = [file.size for file in PUBLISHED["wfcommons"].files if file.size is not None]
    assert round(sum(sizes) / 1e6) == 108
    with pytest.raises(ValueError, match="0 bytes, expected at least 1"):
        PublishedFile("a", "https://a", 0, hashlib.sha256().hexdigest())


def test_a_file_of_which_nothing_is_known_is_asked_for(server: FileServer, tmp_path: Path) -> None:
    [file] = (f for f in PUBLISHED["wfcommons"].files if f.path.endswith("2mass-20d-001.json"))
    server.files["a.json"] = Served(CONTENT)
    found = get(server, tmp_path, ("a.json", file.size, file.sha256))
    assert found == [Fetched("a.json", SIZE, SHA256, "size")]
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    "name", ["google-2011", "google-2019-a", "lanl-failures", "philly", "wfcommons"]
)
def test_who_is_cited_is_whom_the_reader_names(name: str) -> None:
    trace = PUBLISHED[name]
    module = FORMATS[trace.form].module
    reader = importlib.import_module(f"failgym.traces.readers.{module}.reader")
    assert trace.citation == reader.CITATION
    assert trace.licence == getattr(reader, "LICENCE", trace.licence)


def test_hashes_are_those_of_the_files_at_hand() -> None:
    for log in ("kth-sp2-1996", "ctc-sp2-1996", "sdsc-sp2-1998", "lanl-cm5-1994"):
        [file] = PUBLISHED[log].files
        check(file, real("swf") / file.path)
    known = [file for file in PUBLISHED["google-2011"].files if file.sha256]
    assert len(known) == 29
    for file in known:
        check(file, google_2011() / file.path)


def check(file: PublishedFile, path: Path) -> None:
    content = path.read_bytes()
    assert (file.size, file.sha256) == (len(content), hashlib.sha256(content).hexdigest())


@pytest.mark.parametrize(
    ("path", "url", "sha256"),
    [
        ("../a", "https://a", None),
        ("/a", "https://a", None),
        ("a//b", "https://a", None),
        (".a", "https://a", None),
        ("a", "file:///a", None),
        ("a", "https://a", "AB"),
    ],
)
def test_a_file_lies_in_its_folder_and_comes_from_the_web(
    path: str, url: str, sha256: str | None
) -> None:
    with pytest.raises(ValueError, match="expected"):
        PublishedFile(path, url, None, sha256)
