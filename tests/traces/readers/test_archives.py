"""Archives: what is asked for is found, what is not sound is refused, memory is bounded."""

from __future__ import annotations

import bz2
import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from failgym.traces import TraceError
from failgym.traces.readers import archives
from failgym.traces.readers.archives import members


def tar(*files: tuple[tarfile.TarInfo, bytes], form: int = tarfile.GNU_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as archive:
        for info, content in files:
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


def told(file: Path, content: bytes) -> list[tuple[str, list[str]]]:
    """The names of the members and their lines."""
    file.write_bytes(content)
    found = members([file], (".x",), lambda consumed: None)
    return [(member.name, [text for _, text in member.lines()]) for member in found]


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_members_with_the_suffix_whatever_else_there_is(tmp_path: Path, form: int) -> None:
    link = tarfile.TarInfo("link.x")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    deep = "d/" * 60 + "deep.x"
    content = tar(
        (tarfile.TarInfo("a.x"), b"1\n2"),
        (tarfile.TarInfo("b.y"), b"no"),
        (link, b""),
        (tarfile.TarInfo("d/.hidden.x"), b"no"),
        (tarfile.TarInfo(deep), b"3\r\n" * 300),
        (tarfile.TarInfo("../up.x"), b""),
        form=form,
    )
    expected = [("a.x", ["1", "2"]), (deep, ["3"] * 300), ("../up.x", [])]
    assert told(tmp_path / "a.tar", content) == expected
    assert told(tmp_path / "a.tar.bz2", bz2.compress(content)) == expected


def test_members_that_are_not_read_are_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "a.tar"
    file.write_bytes(tar(*((tarfile.TarInfo(f"{n}.x"), bytes(5000)) for n in range(4))))
    found = members([file], (".x",), lambda consumed: None)
    assert [member.name for member in found] == ["0.x", "1.x", "2.x", "3.x"]


def test_what_an_archive_holds_is_not_quoted_at_length(tmp_path: Path) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a" * 5_000 + ".x", "1")
    content = out.getvalue().replace(b"a" * 5_000, b"b" * 5_000, 1)  # not as its directory says
    with pytest.raises(TraceError, match="not a sound archive") as raised:
        told(tmp_path / "a.zip", content)
    assert len(str(raised.value)) < len(str(tmp_path)) + 300


def test_a_name_is_fit_to_be_printed(tmp_path: Path) -> None:
    content = tar((tarfile.TarInfo("a\nb\udcff.x"), b""))
    assert told(tmp_path / "a.tar", content) == [("a?b?.x", [])]


def test_a_header_without_end_is_refused(tmp_path: Path) -> None:
    info = tarfile.TarInfo("a" * 10_000_000 + ".x")
    with pytest.raises(TraceError, match="not a sound archive: headers of more than"):
        told(tmp_path / "a.tar", tar((info, b"")))


def test_headers_one_in_the_other_are_refused(tmp_path: Path) -> None:
    chain = tarfile.TarInfo("././@LongLink")
    chain.type = tarfile.GNUTYPE_LONGNAME
    with pytest.raises(TraceError, match="not a sound archive"):
        told(tmp_path / "a.tar", tar((chain, b"a.x\0")) [:1024] * 3000)  # fmt: skip


def test_too_many_members_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MOST_MEMBERS", 3)
    content = tar(*((tarfile.TarInfo(f"{n}.x"), b"") for n in range(5)))
    with pytest.raises(TraceError, match="more than 3 members"):
        told(tmp_path / "a.tar", content)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_that_is_packed_otherwise_is_refused(tmp_path: Path, method: int) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        archive.writestr("a.x", "1")
    with pytest.raises(TraceError, match="packed neither plainly nor deflated"):
        told(tmp_path / "a.zip", out.getvalue())


def test_a_zip_that_is_damaged_is_refused(tmp_path: Path) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a.x", "1 and more")
    damaged = out.getvalue().replace(b"1 and more", b"2 and more")
    with pytest.raises(TraceError, match="not a sound archive: Bad CRC-32"):
        told(tmp_path / "a.zip", damaged)
    with pytest.raises(TraceError, match="not a sound archive"):
        told(tmp_path / "a.zip", out.getvalue()[:40])


def test_a_member_may_be_bounded(tmp_path: Path) -> None:
    file = tmp_path / "a.tar"
    file.write_bytes(tar((tarfile.TarInfo("a.x"), b"1\n" * 50)))
    for member in members([file], (".x",), lambda consumed: None):
        with pytest.raises(TraceError, match=r"member a\.x: longer than 99 bytes"):
            list(member.lines(most=99))


def test_a_member_of_a_zip_archive_without_a_name_is_passed_over(tmp_path: Path) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(zipfile.ZipInfo("a.x"), b"1")
        archive.writestr(zipfile.ZipInfo(""), b"2")
        archive.writestr(zipfile.ZipInfo("d/"), b"")
    assert told(tmp_path / "a.zip", out.getvalue()) == [("a.x", ["1"])]
