"""One file, fetched: gone on with where it was left, checked, and only then there.

What has come lies beside the file under a name with a dot, and with it what the server called the
version of the file (`ETag`, else `Last-Modified`). The rest is asked for on condition that it is
still that version (`Range`, `If-Range`); a server that sends all of it is listened to from the
beginning. A rest that is of another version or length than what was begun, as a server sends that
pays no heed to the condition, is not joined to it: the file is begun anew.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import http.client
import os
import re
import stat
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from failgym.files import replacing
from failgym.traces.published.client import Client, FetchError, Missing, Stopped
from failgym.traces.published.records import PublishedFile

if os.name == "posix":
    import fcntl

__all__ = ["Checked", "Digests", "FetchError", "Missing", "check_there", "download"]

CHUNK = 1 << 18
"""How much is read at once [bytes]."""
Advance = Callable[[int], None]
"""Called with the number of bytes that came, or, below 0, that have to come again."""
Checked = Literal["sha256", "server", "size", "nothing"]
"""What a file was checked by: the hash of our table, one that the server stated, its length as the
server stated it, or nothing at all."""
Stated = dict[Literal["sha256", "md5"], str]
"""Hashes of a whole file by their kinds [hexadecimal]."""
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""Follow no link, and do not wait for a reader of a pipe; where a system has neither, nothing."""
_NUMBER = r"[0-9]{1,18}"
_RANGE = re.compile(rf"bytes ({_NUMBER})-{_NUMBER}/({_NUMBER}|\*)")
_WHOLE = re.compile(rf"bytes \*/({_NUMBER})")
PACKED = {".gz": b"\x1f\x8b", ".xz": b"\xfd7zXZ\0", ".bz2": b"BZh", ".zip": b"PK"}
"""What files of a kind begin with, by the end of their names."""


@dataclass(frozen=True)
class Digests:
    """Hashes of a file [hexadecimal], and its length [bytes]."""

    sha256: str
    md5: str
    size: int

    @classmethod
    def of(cls, path: Path) -> Digests:
        """Those of a file. Raises OSError."""
        sha256, md5, size = hashlib.sha256(), hashlib.md5(usedforsecurity=False), 0
        with path.open("rb") as file:
            while block := file.read(CHUNK):
                sha256.update(block)
                md5.update(block)
                size += len(block)
        return cls(sha256.hexdigest(), md5.hexdigest(), size)


class _Notes(BaseModel):
    """What is written down of a file that has not come whole."""

    model_config = ConfigDict(strict=True, extra="forbid")

    url: str
    version: str = ""
    total: int | None = None
    stated: Stated = {}


@dataclass
class _Partial:
    """What has come of a file, and what is known of the rest."""

    path: Path
    notes: Path
    url: str
    version: str = ""
    """`ETag` or `Last-Modified` of what has come; "" if the server told none"""
    total: int | None = None
    """length of the whole file, as the server stated it [bytes]"""
    stated: Stated = field(default_factory=dict[Literal["sha256", "md5"], str])
    """hashes that the server stated"""

    @property
    def size(self) -> int:
        """How much has come [bytes]."""
        return self.path.stat().st_size

    def recall(self, known: str | None) -> None:
        """Go on with what an earlier run left, where it is certain what it is part of.

        Args:
            known: SHA-256 of the whole; with it a mistake is found out.
        """
        try:
            notes = _Notes.model_validate_json(self.notes.read_bytes())
        except (OSError, ValueError):
            notes = _Notes(url="")
        if notes.url == self.url and (notes.version or known):
            self.version, self.total, self.stated = notes.version, notes.total, notes.stated
        else:
            self.clear()

    def goes_on_with(self, version: str, total: int | None) -> bool:
        """Is what has come of the file of that version and length, as far as both are known?"""
        same = not self.version or version == self.version
        return same and (self.total is None or total in (None, self.total))

    def clear(self) -> None:
        """Begin anew."""
        self.path.write_bytes(b"")
        self.version, self.total, self.stated = "", None, {}

    def note(self) -> None:
        """Write down what it is part of."""
        with replacing(self.notes) as partial:
            content = _Notes(
                url=self.url, version=self.version, total=self.total, stated=self.stated
            )
            partial.write_text(content.model_dump_json(), encoding="utf-8")

    def remove(self) -> None:
        """Leave nothing."""
        self.notes.unlink(missing_ok=True)
        self.path.unlink(missing_ok=True)


def download(
    file: PublishedFile, path: Path, client: Client, advance: Advance
) -> tuple[Digests, Checked]:
    """Fetch a file. Nothing is there under its name until it was checked.

    Args:
        file: what and where from.
        path: where to; in a folder that is there.
        client: asks the server.
        advance: told of progress.

    Returns:
        Its hashes, and what it was checked by.

    Raises:
        Missing: if the server has none.
        FetchError: in a line with the address: another length or hash than stated, a refusal, or
            nothing more after several tries. What has come is kept, unless its hash is wrong or
            it is too long.
        OSError: if it cannot be written.
    """
    with _partial(file, path) as partial:
        begun_before = partial.size > 0
        advance(partial.size)
        _fetch(file, partial, client, advance)
        try:
            found = _check(file, partial)
        except FetchError:
            advance(-partial.size)
            partial.clear()
            if not begun_before:
                partial.remove()
                raise
            _fetch(file, partial, client, advance)  # parts of two versions, perhaps: once more
            found = _check_or_remove(file, partial)
        with partial.path.open("rb") as whole:  # or a power cut may leave the name without content
            os.fsync(whole.fileno())
        partial.path.replace(path)
        partial.notes.unlink(missing_ok=True)
        return found


def check_there(file: PublishedFile, found: Digests, client: Client) -> Checked:
    """Check a file that nobody is known to have checked, by what the server says of it now.

    Args:
        file: what it should be.
        found: hashes and length of what is there.
        client: asks the server, for what it says of the file only.

    Raises:
        Missing: if the server has none.
        FetchError: if it is another file, as the server says, or the server does not say.
    """
    size, stated = _told(file, client)
    if not stated and size is None:
        raise FetchError(f"the server states neither length nor hash of {file.url}")
    if size not in (None, found.size):
        raise FetchError(f"it has {found.size:,} bytes, and {file.url} {size:,}")
    for name, of in stated.items():
        if getattr(found, name) != of:
            raise FetchError(f"its {name} is not the one that the server states of {file.url}")
    return "server" if stated else "size"


def _told(file: PublishedFile, client: Client) -> tuple[int | None, Stated]:
    """Length and hashes of a file as the server states them. Raises FetchError."""
    tried = 0
    while True:
        try:
            with client.open(file.url, _accepted(file), "HEAD") as answer:
                whole = answer.headers.get("Content-Encoding", "identity") == "identity"
                whole = whole or file.url.endswith(".gz")
                size = _length(file, answer.headers) if whole else None
                return size, _stated(answer.headers, whole=whole)
        except Stopped as stopped:
            tried += 1
            if tried >= client.tries:
                said = f"{file.url}: {stopped}: given up after {tried} tries"
                raise FetchError(said) from stopped
            client.wait(stopped, tried)


@contextmanager
def _partial(file: PublishedFile, path: Path) -> Generator[_Partial]:
    """What has come of a file, held against other processes. Raises FetchError if one has it."""
    made = path.with_name(f".{path.name}.part")
    partial = _Partial(made, path.with_name(f".{path.name}.part.json"), file.url)
    held = _open(made)
    try:
        if os.name == "posix":
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise FetchError(f"{path}: another process is fetching it") from None
        partial.recall(file.sha256)
        try:
            yield partial
        except Missing:
            partial.remove()
            raise
        finally:
            if made.exists() and not made.stat().st_size:
                partial.remove()
    finally:
        os.close(held)


def _open(made: Path) -> int:
    """A descriptor of a file that is there or made now. Raises FetchError for anything else."""
    never = f"{made}: expected a file of failgym's own: not written through"
    try:
        held = os.open(made, os.O_RDWR | os.O_CREAT | _NO_LINKS, 0o666)
    except OSError as error:
        if made.is_symlink():
            raise FetchError(never) from error
        raise
    found = os.fstat(held)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        os.close(held)
        raise FetchError(never)
    return held


def _fetch(file: PublishedFile, partial: _Partial, client: Client, advance: Advance) -> None:
    """Ask until all has come. Raises FetchError."""
    tried, furthest = 0, partial.size
    while True:
        try:
            _ask(file, partial, client, advance)
            return
        except Stopped as stopped:
            tried = 1 if partial.size > furthest else tried + 1
            furthest = max(furthest, partial.size)
            if tried >= client.tries:
                said = f"{file.url}: {stopped}: given up after {tried} tries"
                raise FetchError(f"{said}; {furthest:,} bytes are kept") from stopped
            client.wait(stopped, tried)


def _ask(file: PublishedFile, partial: _Partial, client: Client, advance: Advance) -> None:
    """Ask once for what is missing. Raises Stopped or FetchError."""
    start = partial.size
    if start and start == file.size and file.sha256 is not None:
        return  # all of it: its hash will tell
    if start and not (partial.version or partial.stated or file.sha256):
        advance(-start)  # nothing would tell that the rest is of another version
        partial.clear()
        start = 0
    headers = _accepted(file)
    if start:
        headers["Range"] = f"bytes={start}-"
        if partial.version:
            headers["If-Range"] = partial.version
    with client.open(file.url, headers) as answer:
        if answer.status == 416:
            _satisfied(partial, answer, advance)
            return
        start = _begin(file, partial, answer, start, advance)
        with partial.path.open("r+b") as out:
            out.seek(start)
            out.truncate()
            for block in _blocks(answer):
                out.write(block)
                advance(len(block))
                if partial.total is not None and out.tell() > partial.total:
                    break  # it might never end
    if partial.total is not None and partial.size < partial.total:
        raise Stopped(f"the connection ended after {partial.size:,} of {partial.total:,} bytes")
    if partial.total is not None and partial.size > partial.total:
        expected = partial.total
        advance(-partial.size)
        partial.clear()
        raise FetchError(f"{file.url}: the server sends more than the {expected:,} bytes expected")


def _accepted(file: PublishedFile) -> dict[str, str]:
    """Headers that ask for a file as it is: of one that is packed, not unpacked on the way."""
    return {"Accept-Encoding": "gzip" if file.url.endswith(".gz") else "identity"}


def _satisfied(partial: _Partial, answer: Any, advance: Advance) -> None:
    """There is nothing behind what has come: it is whole, or of another version."""
    whole = _WHOLE.fullmatch(answer.headers.get("Content-Range", ""))
    version = _version(answer.headers) or partial.version  # such an answer need not tell it
    has_come = whole is not None and int(whole[1]) == partial.size
    if has_come and partial.goes_on_with(version, partial.size):
        partial.total = partial.size
        return
    advance(-partial.size)
    partial.clear()
    raise Stopped("the kept part is not of the file that the server has now")


def _begin(
    file: PublishedFile, partial: _Partial, answer: Any, start: int, advance: Advance
) -> int:
    """Take note of what an answer says; where in the file it begins. Raises FetchError, Stopped."""
    headers = answer.headers
    coding = headers.get("Content-Encoding", "identity")
    if coding != "identity" and not (coding == "gzip" and file.url.endswith(".gz")):
        raise FetchError(f"{file.url}: comes as {coding}, expected the file as it is")
    if headers.get_content_type() == "text/html":  # of an error, or of a network's log-in
        raise FetchError(f"{file.url}: comes as a web page (text/html), expected a file")
    total = _length(file, headers)
    if answer.status == 206:
        part = _RANGE.fullmatch(headers.get("Content-Range", ""))
        if part is None or int(part[1]) != start:
            advance(-start)
            partial.clear()
            raise Stopped(f"the server sent another part than that from byte {start:,} on")
        total = int(part[2]) if part[2] != "*" else None
        if not partial.goes_on_with(_version(headers), total):
            advance(-start)
            partial.clear()
            raise Stopped("the file was changed since it was begun")
    elif start:
        advance(-start)
        start = 0
    if file.size is not None and total is not None and total != file.size:
        raise FetchError(f"{file.url}: has {total:,} bytes, expected {file.size:,}: it was changed")
    partial.total = total if total is not None else file.size
    partial.version = _version(headers)
    partial.stated = _stated(headers, whole=answer.status == 200)
    partial.note()
    return start


def _length(file: PublishedFile, headers: Any) -> int | None:
    """`Content-Length` [bytes]; None if the server states none. Raises FetchError."""
    length: str | None = headers.get("Content-Length")
    if length is None:
        return None
    if not re.fullmatch(_NUMBER, length):
        raise FetchError(f"{file.url}: states a length of {length[:40]!r}, expected bytes")
    return int(length)


def _version(headers: Any) -> str:
    """What tells versions of a file apart: a strong `ETag`, else `Last-Modified`."""
    tag: str = headers.get("ETag", "")
    version: str = tag if tag.startswith('"') else headers.get("Last-Modified", "")
    return version if version.isprintable() and len(version) < 1_000 else ""


def _stated(headers: Any, *, whole: bool) -> Stated:
    """Hashes of the whole file that the server states: Google's, `Repr-Digest`, `Content-MD5`."""
    found: Stated = {}
    for line in headers.get_all("x-goog-hash", []):
        for text in line.split(","):
            name, _, value = text.strip().partition("=")
            if name == "md5":
                found["md5"] = _hexadecimal(value)
    for name, value in re.findall(r"([\w-]+)=:([^:]+):", headers.get("Repr-Digest", "")):
        if name == "sha-256":
            found["sha256"] = _hexadecimal(value)
    if whole and "Content-MD5" in headers:
        found.setdefault("md5", _hexadecimal(headers["Content-MD5"]))
    return {name: value for name, value in found.items() if value}


def _hexadecimal(text: str) -> str:
    """A hash in base 64 as hexadecimal; "" if it is none."""
    try:
        return base64.b64decode(text, validate=True).hex()
    except (binascii.Error, ValueError):
        return ""


def _blocks(answer: Any) -> Iterator[bytes]:
    """What comes, until it ends or breaks off. Raises Stopped."""
    try:
        while block := answer.read(CHUNK):
            yield block
    except (http.client.HTTPException, OSError) as error:
        raise Stopped(f"the connection broke off: {str(error) or type(error).__name__}") from error


def _check(file: PublishedFile, partial: _Partial) -> tuple[Digests, Checked]:
    """Is it what it should be? Raises FetchError."""
    found = Digests.of(partial.path)
    if file.size is not None and found.size != file.size:
        raise FetchError(f"{file.url}: {found.size:,} bytes came, expected {file.size:,}")
    if file.sha256 is not None:
        if found.sha256 != file.sha256:
            raise FetchError(
                f"{file.url}: its SHA-256 is {found.sha256}, expected {file.sha256}: not kept"
            )
        return found, "sha256"
    _check_kind(file, partial.path)
    for name, stated in partial.stated.items():
        if getattr(found, name) != stated:
            raise FetchError(
                f"{file.url}: its {name} is {getattr(found, name)}, the server states {stated}:"
                " not kept"
            )
    if partial.stated:
        return found, "server"
    return found, "nothing" if partial.total is None else "size"


def _check_kind(file: PublishedFile, path: Path) -> None:
    """Refuse nothing at all, and what is no archive under the name of one. Raises FetchError."""
    with path.open("rb") as came:
        begins = came.read(8)
    if not begins:
        raise FetchError(f"{file.url}: the server sent nothing")
    kind = Path(file.path).suffix
    if not begins.startswith(PACKED.get(kind, b"")):
        raise FetchError(f"{file.url}: is no {kind} file, it begins with {begins!r}: not kept")


def _check_or_remove(file: PublishedFile, partial: _Partial) -> tuple[Digests, Checked]:
    try:
        return _check(file, partial)
    except FetchError:
        partial.remove()
        raise
