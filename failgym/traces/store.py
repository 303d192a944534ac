"""A trace as a folder of Parquet files and a `meta.json`, written whole or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Generator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from failgym.arrow import pa, pq
from failgym.traces.content import file_hash, table_hash
from failgym.traces.parquet import read_table
from failgym.traces.schema import SCHEMAS, TABLES, VERSION, Table, TraceError, make_table
from failgym.traces.tables import Meta, Tables

FORMAT = "failgym-trace"
META_FILE = "meta.json"
MOST_META = 1 << 26
"""Bytes of it that are read."""


def save_trace(trace: Tables, path: Path) -> None:
    """Write `trace` to the folder `path`, replacing an older trace. Raises TraceError."""
    with writing(path) as writer:
        for name in TABLES:
            writer.append(name, trace.table(name))
        writer.finish(trace.meta, table_hashes(trace))


class TraceWriter:
    """Writes a trace into a folder, its tables piece by piece, in any order among them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writers: dict[str, Any] = {}

    def append(self, name: str, rows: Table) -> None:
        """Add rows to a table. Raises OSError."""
        if name not in self._writers:
            file = self._folder / f"{name}.parquet"
            self._writers[name] = pq.ParquetWriter(file, SCHEMAS[name], compression="zstd")
        self._writers[name].write_table(rows)

    def finish(self, meta: Meta, hashes: Mapping[str, str] | None = None) -> None:
        """Write what is left, `meta.json` last; `hashes` are the tables', where they are known."""
        for name in TABLES:
            if name not in self._writers:
                self.append(name, make_table(name))
        self.close()
        if hashes is None:
            hashes = {name: file_hash(name, self._folder / f"{name}.parquet") for name in TABLES}
        document: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "content_hash": content_hash(hashes),
            "table_hashes": dict(hashes),
            **asdict(meta),
        }
        document["meta_hash"] = meta_hash(document)
        (self._folder / META_FILE).write_text(json.dumps(document, indent=1) + "\n", "utf-8")

    def close(self) -> None:
        """Close the files of the tables."""
        for writer in self._writers.values():
            writer.close()


@contextlib.contextmanager
def writing(path: Path) -> Generator[TraceWriter]:
    """A writer of the trace that will be at `path`, in place of an older one. Raises TraceError.

    Everything is written to a temporary folder beside `path`, which is renamed at the end unless
    an exception leaves the block; an OSError becomes a TraceError. What a save that was killed left
    there is removed, or put back if it is the only trace.
    """
    path = Path(os.path.abspath(path))
    check_destination(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _clear_leftovers(path)
        with _partial(path) as partial:
            partial.mkdir()
            writer = TraceWriter(partial)
            try:
                yield writer
            finally:
                writer.close()
            check_destination(path)  # as it is now: hours may have passed
            _swap(partial, path)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error).splitlines()[0]
        raise TraceError(f"{path}: cannot be written: {reason}") from error


def check_destination(path: str | Path) -> None:
    """Raise TraceError, in one line, if a trace must not be saved at `path`.

    It may if nothing is there, an empty folder, or a trace of any format version, which is then
    replaced. Anything else is not overwritten; a link is not followed.
    """
    path = Path(path)
    try:
        if path.is_symlink():
            raise TraceError(f"{path}: is a symbolic link: not overwritten")
        if not path.exists():
            return
        if not path.is_dir():
            raise TraceError(f"{path}: exists and is not a folder: not overwritten")
        if any(path.iterdir()) and not _is_trace(path):
            raise TraceError(f"{path}: exists and is not a saved trace: not overwritten")
    except OSError as error:
        raise TraceError(f"{path}: cannot be written: {error.strerror or error}") from error


def load_tables(path: Path) -> tuple[Meta, dict[str, Table]]:
    """The meta data and the tables of a saved trace, checked against their hashes.

    Raises TraceError: missing or incomplete folder, another format version, changed tables or
    meta data.
    """
    document = _read_document(path)
    hashes: Mapping[str, Any] = document["table_hashes"]
    tables: dict[str, Table] = {}
    for name in TABLES:
        tables[name] = read_table(path / f"{name}.parquet", name)
        if table_hash(name, tables[name]) != hashes.get(name):
            raise TraceError(
                f"{path / name}.parquet: content does not match the hash in {META_FILE}:"
                " the table was changed after it was saved"
            )
    if content_hash({name: str(hashes[name]) for name in TABLES}) != document["content_hash"]:
        raise TraceError(f"{path / META_FILE}: content_hash does not match the table hashes")
    meta = _meta(path / META_FILE, document)
    if meta_hash(document) != document["meta_hash"]:
        raise TraceError(
            f"{path / META_FILE}: does not match its meta_hash: it was changed after it was saved"
        )
    return meta, tables


@dataclass(frozen=True)
class Overview:
    """What a saved trace says of itself, its tables unread."""

    meta: Meta
    content_hash: str
    rows: Mapping[str, int]
    """Table -> rows."""


def overview(path: str | Path) -> Overview:
    """Look at a saved trace without reading its tables. Raises TraceError as loading does."""
    path = Path(path)
    document = _read_document(path)
    rows: dict[str, int] = {}
    for name in TABLES:
        file = path / f"{name}.parquet"
        try:
            rows[name] = pq.read_metadata(file).num_rows
        except (OSError, ValueError, pa.ArrowException) as error:
            reason = str(error).splitlines()[0]
            raise TraceError(f"{file}: not readable as Parquet: {reason}") from error
    return Overview(_meta(path / META_FILE, document), str(document["content_hash"]), rows)


def table_hashes(trace: Tables) -> dict[str, str]:
    """Table name -> SHA-256 (hex) of its values."""
    return {name: table_hash(name, trace.table(name)) for name in TABLES}


def content_hash(hashes: Mapping[str, str]) -> str:
    """One SHA-256 (hex) for the hashes of all tables."""
    digest = hashlib.sha256(f"{FORMAT} {VERSION}\n".encode())
    for name in TABLES:
        digest.update(f"{name} {hashes[name]}\n".encode())
    return digest.hexdigest()


def meta_hash(document: Mapping[str, Any]) -> str:
    """SHA-256 (hex) of a meta document, itself left out, as JSON with sorted keys."""
    rest = {key: value for key, value in document.items() if key != "meta_hash"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _parse_document(path: Path) -> dict[str, Any]:
    """The meta document of a trace of any format version."""
    file = path / META_FILE
    if not file.is_file():
        raise TraceError(
            f"{path}: not a saved trace: {META_FILE} is missing; expected a folder that"
            " `failgym trace import` wrote"
        )
    try:
        if file.stat().st_size > MOST_META:
            raise TraceError(f"{file}: expected at most {MOST_META} bytes")
        document: object = json.loads(file.read_text("utf-8"))
    except TraceError:
        raise
    except (OSError, ValueError, RecursionError) as error:
        raise TraceError(f"{file}: not readable as JSON: {error}") from error
    if not isinstance(document, dict):
        raise TraceError(f"{file}: expected a JSON object")
    document = cast(dict[str, Any], document)
    if document.get("format") != FORMAT:
        raise TraceError(f"{file}: format is {document.get('format')!r}, expected {FORMAT!r}")
    return document


def _is_trace(path: Path) -> bool:
    """Whether a folder holds a trace of any version, and nothing else."""
    try:
        listed = _parse_document(path).get("table_hashes")
    except TraceError:
        return False
    names = list(cast(dict[str, Any], listed)) if isinstance(listed, dict) else []
    own = {META_FILE, *(f"{name}.parquet" for name in names)}
    return not path.is_symlink() and {file.name for file in path.iterdir()} <= own


def _read_document(path: Path) -> dict[str, Any]:
    if path.is_file():
        raise TraceError(
            f"{path}: is a file, expected the folder of a saved trace;"
            " `failgym trace import` reads a log"
        )
    if not path.is_dir():
        kept = [left for left in _leftovers(path, "replaced") if _is_trace(left)]
        hint = (
            f" (a save was killed; the trace it would have replaced is {kept[0]})" if kept else ""
        )
        raise TraceError(f"{path}: no such folder: expected a saved trace{hint}")
    file, document = path / META_FILE, _parse_document(path)
    if document.get("version") != VERSION:
        raise TraceError(
            f"{file}: trace format version is {document.get('version')!r}, expected {VERSION}:"
            " import the trace again"
        )
    if not isinstance(document.get("table_hashes"), dict) or "content_hash" not in document:
        raise TraceError(f"{file}: table_hashes and content_hash are missing")
    if "meta_hash" not in document:
        raise TraceError(f"{file}: meta_hash is missing: import the trace again")
    return document


def _meta(file: Path, document: Mapping[str, Any]) -> Meta:
    def counts(key: str) -> dict[str, int]:
        value = document.get(key)
        if not isinstance(value, dict):
            raise TraceError(f"{file}: {key} is {value!r}, expected counts by reason")
        return {str(reason): int(n) for reason, n in cast(dict[str, int], value).items()}

    def texts(key: str) -> dict[str, str]:
        value = document.get(key)
        if not isinstance(value, dict):
            raise TraceError(f"{file}: {key} is {value!r}, expected texts by name")
        return {str(name): str(said) for name, said in cast(dict[str, object], value).items()}

    def text(key: str) -> str:
        value = document.get(key)
        if not isinstance(value, str):
            raise TraceError(f"{file}: {key} is {value!r}, expected a text")
        return value

    end = document.get("end")
    if end is not None and not isinstance(end, int):
        raise TraceError(f"{file}: end is {end!r}, expected milliseconds or null")
    unix_origin = document.get("unix_origin")
    if unix_origin is not None and not isinstance(unix_origin, int):
        raise TraceError(f"{file}: unix_origin is {unix_origin!r}, expected milliseconds or null")
    try:
        return Meta(
            source=text("source"),
            licence=text("licence"),
            citation=text("citation"),
            time_origin=text("time_origin"),
            end=end,
            rows_read=counts("rows_read"),
            dropped=counts("dropped"),
            noted=counts("noted"),
            remarks=texts("remarks"),
            unix_origin=unix_origin,
        )
    except (TypeError, ValueError) as error:
        if isinstance(error, TraceError):
            raise
        raise TraceError(f"{file}: counts must be integers: {error}") from error


def _leftovers(path: Path, purpose: str) -> list[Path]:
    """What saves to `path` that are no longer running left beside it, the newest first."""
    prefix = f".{path.name}.{purpose}-"
    try:
        found = [
            (folder.stat().st_mtime_ns, folder)
            for folder in path.absolute().parent.iterdir()
            if folder.name.startswith(prefix)
            and folder.name.removeprefix(prefix).isdecimal()
            and not _is_running(int(folder.name.removeprefix(prefix)))
        ]
    except OSError:
        return []
    return [folder for _, folder in sorted(found, reverse=True)]


def _is_running(process: int) -> bool:
    """Whether another process has this number; where that cannot be asked, as if it ran."""
    if process in (0, os.getpid()):  # not another: the number was given again
        return False
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)  # signal 0 only asks
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _clear_leftovers(path: Path) -> None:
    """Put back the trace that a killed save had moved away; remove what is left besides."""
    replaced = [folder for folder in _leftovers(path, "replaced") if _is_trace(folder)]
    if replaced and not (path.exists() and any(path.iterdir())):
        replaced.pop(0).rename(path)  # an empty folder is replaced
    for folder in (*replaced, *_leftovers(path, "partial")):
        shutil.rmtree(folder, ignore_errors=True)


def _swap(partial: Path, path: Path) -> None:
    """Put `partial` where `path` is; whatever was there stays there if that fails."""
    if not path.exists():
        partial.rename(path)
        return
    replaced = _sibling(path, "replaced")
    path.rename(replaced)
    try:
        partial.rename(path)
    except BaseException:
        if not path.exists():
            replaced.rename(path)
        raise
    replaced.rename(partial)  # the name of what is removed, also if this is killed meanwhile


@contextlib.contextmanager
def _partial(path: Path) -> Generator[Path]:
    """A hidden name beside `path` for a folder that is gone afterwards."""
    folder = _sibling(path, "partial")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _sibling(path: Path, purpose: str) -> Path:
    """The hidden name beside `path` that this process uses."""
    return path.with_name(f".{path.name}.{purpose}-{os.getpid()}")
