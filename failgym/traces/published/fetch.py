"""A published trace, fetched into a folder: one file after the other, each only once.

`SHA256SUMS` lists what is there (`sha256sum --check SHA256SUMS` checks it again), `SOURCE.txt` says
of each trace whose it is, what may be done with it, and who is to be cited. Files of these names
that failgym did not write are not replaced.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from failgym.files import replacing
from failgym.traces.published.catalogue import PUBLISHED
from failgym.traces.published.client import Client, Missing
from failgym.traces.published.download import (
    Checked,
    Digests,
    FetchError,
    check_there,
    download,
)
from failgym.traces.published.records import (
    MOST_SHARDS,
    PublishedFile,
    PublishedTrace,
    Shards,
    fits,
)

__all__ = ["SOURCE_FILE", "SUMS_FILE", "Fetched", "fetch"]

SOURCE_FILE, SUMS_FILE = "SOURCE.txt", "SHA256SUMS"
_LINE = re.compile(r"([0-9a-f]{64})  (.+)")
_ABOUT = re.compile(r"([\w.-]+): .*\npublished at: .*\nlicence: .*\ncite: .*(?:\nnote: .*)?")
"""What `_about` writes of a trace."""


@dataclass(frozen=True)
class Fetched:
    """A file of a public trace that is now on the disk."""

    path: str
    size: int
    """[bytes]"""
    sha256: str
    checked: Checked | None
    """how it was checked after it had been fetched; None: it was there before, and is unchanged"""


def _silent(_: object) -> None:
    """Say nothing of progress."""


def fetch(
    trace: PublishedTrace,
    out: Path,
    *,
    only: Sequence[str] = (),
    client: Client | None = None,
    advance: Callable[[int], None] = _silent,
    fetched: Callable[[Fetched], None] = _silent,
) -> list[Fetched]:
    """Fetch a published trace; what is there already is read and compared, and not fetched again.

    Args:
        trace: what to fetch.
        out: the folder, made if it is not there; files of others in it stay.
        only: patterns of paths (`*`, `?`, `[]`); all files, without any.
        client: asks servers; the default waits as long as they ask for, up to a quarter of an hour.
        advance: called with the bytes that came (below 0: that come again).
        fetched: called with each file as soon as it is there.

    Returns:
        The files, in the order of the table.

    Raises:
        FetchError: in a line that names the address or file; what was fetched before it stays.
        ValueError: for a pattern that no file fits.
        OSError: if something cannot be written.
    """
    trace.check(only)
    asks, found = client or Client(), list[Fetched]()
    out.mkdir(parents=True, exist_ok=True)
    sums = _begin(trace, out)
    for source in (*trace.files, *trace.shards):
        some = False
        for file in _files(source, only):
            try:
                there = _one(file, out, sums, asks, advance)
            except Missing:
                if not some:
                    raise
                break  # that was all of them
            some = True
            found.append(there)
            fetched(there)
    return found


def _files(source: PublishedFile | Shards, only: Sequence[str]) -> Iterator[PublishedFile]:
    if isinstance(source, PublishedFile):
        files = iter((source,))
    else:
        files = map(source.file, range(MOST_SHARDS))
    return (file for file in files if fits(file.path, only))


def _one(
    file: PublishedFile,
    out: Path,
    sums: dict[str, str],
    client: Client,
    advance: Callable[[int], None],
) -> Fetched:
    path = out / file.path
    if path.is_file():
        found = Digests.of(path)
        checked = _check_there(file, path, found, sums.get(file.path), client)
        advance(found.size)
    elif path.exists():
        raise FetchError(f"{path}: expected a file, or nothing")
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        found, checked = download(file, path, client, advance)
    _list(out, sums, file.path, found.sha256)
    return Fetched(file.path, found.size, found.sha256, checked)


def _check_there(
    file: PublishedFile, path: Path, found: Digests, listed: str | None, client: Client
) -> Checked | None:
    """Refuse a file of that name with other content: somebody put it there, or cut it off.

    It is compared with what the table knows of it, else with what it was when it was fetched, else
    (a kill came between the file and the list, or it is somebody's) with what the server says.

    Raises:
        FetchError: in a line with its name.
    """
    left = "not replaced: move it away to fetch it"
    if file.size not in (None, found.size) or file.sha256 not in (None, found.sha256):
        raise FetchError(f"{path}: is there, and is not the file of {file.url}: {left}")
    if file.sha256 is not None:
        return None
    if listed is not None:
        if found.sha256 != listed:
            raise FetchError(f"{path}: is there, and is not what {SUMS_FILE} lists: {left}")
        return None
    try:
        return check_there(file, found, client)
    except Missing:
        raise
    except FetchError as error:
        raise FetchError(f"{path}: is there, and {error}: {left}") from error


def _list(out: Path, sums: dict[str, str], path: str, sha256: str) -> None:
    """Add a file to the list of those that are there."""
    if sums.get(path) == sha256:
        return
    sums[path] = sha256
    with replacing(out / SUMS_FILE) as partial:
        lines = (f"{of}  {name}\n" for name, of in sorted(sums.items()))
        partial.write_text("".join(lines), encoding="utf-8")


def _begin(trace: PublishedTrace, out: Path) -> dict[str, str]:
    """Say whose the trace is, beside others in the folder.

    Returns:
        path -> SHA-256 of what is there, as far as it is known.

    Raises:
        FetchError: if a file there is somebody else's, or the files of another trace in the folder
            have the names of this one's.
    """
    sources, sums = _read_sources(out), _read_sums(out)
    if sums and not sources:
        raise _foreign(out / SUMS_FILE)
    for name in sources:
        other = PUBLISHED.get(name)
        if name != trace.name and other is not None and _share_a_path(trace, other):
            raise FetchError(
                f"{out}: holds {name}, whose files have the names of those of {trace.name}:"
                " name another folder"
            )
    sources[trace.name] = _about(trace)
    with replacing(out / SOURCE_FILE) as partial:
        partial.write_text("\n".join(sources.values()), encoding="utf-8")
    return sums


def _share_a_path(one: PublishedTrace, other: PublishedTrace) -> bool:
    paths = [
        {*(file.path for file in trace.files), *(shards.path for shards in trace.shards)}
        for trace in (one, other)
    ]
    return not paths[0].isdisjoint(paths[1])


def _about(trace: PublishedTrace) -> str:
    """What `SOURCE.txt` says of a trace, a line for each fact."""
    lines = (
        f"{trace.name}: {trace.about}",
        f"published at: {trace.page}",
        f"licence: {trace.licence}",
        f"cite: {trace.citation}",
        *([f"note: {trace.remark}"] if trace.remark else []),
    )
    return "\n".join(lines) + "\n"


def _read_sources(out: Path) -> dict[str, str]:
    """Trace -> what is said of it. Raises FetchError if somebody else wrote it."""
    text = _read(out / SOURCE_FILE)
    found: dict[str, str] = {}
    for about in text.split("\n\n") if text else []:
        said = _ABOUT.fullmatch(about.rstrip("\n"))
        if said is None:
            raise _foreign(out / SOURCE_FILE)
        found[said[1]] = f"{said[0]}\n"
    return found


def _read_sums(out: Path) -> dict[str, str]:
    """Path -> SHA-256 of what was fetched. Raises FetchError if somebody else wrote it."""
    found = [_LINE.fullmatch(line) for line in _read(out / SUMS_FILE).splitlines()]
    if None in found:
        raise _foreign(out / SUMS_FILE)
    return {line[2]: line[1] for line in found if line is not None}


def _read(path: Path) -> str:
    """The text of a file that may not be there."""
    if not path.exists():
        return ""
    try:
        return path.read_text(encoding="utf-8") if path.is_file() else "\0"
    except UnicodeDecodeError:
        return "\0"  # which failgym never wrote


def _foreign(path: Path) -> FetchError:
    return FetchError(f"{path}: is not of failgym trace fetch: not replaced, name another folder")
