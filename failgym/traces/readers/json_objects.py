"""JSON objects of a source, one after the other, with the line at which each begins."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from failgym.traces.readers.sources import CHUNK, Advance, opened
from failgym.traces.schema import TraceError

__all__ = ["json_objects"]

LARGEST_OBJECT = 1 << 26
"""The longest text of one object [characters]: bounds the memory that an object can take."""
MOST_CONTAINERS = 1_000_000
"""The most objects and arrays in one object: bounds it too."""

_CONTENT = re.compile(r"[^ \t\r\n]")


def json_objects(
    path: Path, advance: Advance | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file that holds them one after the other, or as one array of objects.

    One object is in memory at a time. Numbers are int or float (finite or infinite; NaN and
    Infinity as words are refused).

    Raises TraceError, with file and line: unreadable, corrupt or truncated; not UTF-8; not JSON;
    something else than objects; an object that is too deep or too large.
    """
    reader = _Reader(path, advance)
    with opened(path) as (raw, content):
        yield from reader.objects(raw, content)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


class _Reader:
    """A window of text that moves over the file; `line` is the line number at `counted` in it."""

    def __init__(self, path: Path, advance: Advance | None) -> None:
        self.path = path
        self.advance = advance
        self.text = ""
        self.at = 0
        self.line = 1
        self.counted = 0
        self.ended = False
        self.decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self.parse = json.JSONDecoder(parse_constant=_refuse_constant).raw_decode

    def objects(self, raw: Any, content: Any) -> Iterator[tuple[int, dict[str, Any]]]:
        self.raw, self.content, self.consumed = raw, content, 0
        in_array, any_yet, closed = False, False, False
        while (char := self._next()) is not None:
            if closed:
                self._fail(f"expected the end of the file after the array, not {char!r}")
            if char == "[" and not in_array and not any_yet:
                in_array = True
                self.at += 1
            elif char == "]" and in_array:
                closed = True
                self.at += 1
            elif char == "," and in_array and any_yet:
                self.at += 1
            elif char == "{":
                any_yet = True
                line = self._here()
                yield line, self._object()
            else:
                self._fail(f"expected a JSON object, not {char!r}")
        if in_array and not closed:
            self._fail("truncated: expected the end of the array")

    def _next(self) -> str | None:
        """The next character that is not space; None at the end."""
        while True:
            found = _CONTENT.search(self.text, self.at)
            self.at = len(self.text) if found is None else found.start()
            if found is not None:
                return found[0]
            if not self._more(CHUNK):
                return None

    def _object(self) -> dict[str, Any]:
        """The object that begins here; more is read, in doubling steps, until it is whole."""
        while True:
            try:
                value, self.at = self.parse(self.text, self.at)
                return value
            except RecursionError as error:
                raise TraceError(f"{self.path}, line {self._here()}: nested too deeply") from error
            except ValueError as error:
                if isinstance(error, TraceError):
                    raise
                size = len(self.text) - self.at
                if size > LARGEST_OBJECT:
                    self._fail(f"not JSON, or an object longer than {LARGEST_OBJECT} characters")
                if self.text.count("{", self.at) + self.text.count("[", self.at) > MOST_CONTAINERS:
                    self._fail(f"not JSON, or more than {MOST_CONTAINERS} arrays in an object")
                if not self._more(max(CHUNK, size)):
                    self._not_json(error)

    def _not_json(self, error: ValueError) -> NoReturn:
        if isinstance(error, json.JSONDecodeError):
            line = self._here() + self.text.count("\n", self.at, error.pos)
            truncated = error.pos >= len(self.text) or error.msg.startswith("Unterminated")
            said = "truncated: " if truncated else ""
            raise TraceError(f"{self.path}, line {line}: not JSON: {said}{error.msg}") from error
        said = str(error).splitlines()[0]
        raise TraceError(f"{self.path}, line {self._here()}: not JSON: {said}") from error

    def _more(self, size: int) -> bool:
        """Drop what is behind and read on; whether there was anything."""
        if self.ended:
            return False
        self._here()
        chunk = self.content.read(size)
        try:
            fresh = self.decode(chunk, not chunk)
        except UnicodeDecodeError as error:
            line = self.line + self.text.count("\n", self.at)
            line += chunk.count(b"\n", 0, error.start)
            raise TraceError(f"{self.path}, line {line}: not a text in UTF-8") from error
        self.text, self.at, self.counted = self.text[self.at :] + fresh, 0, 0
        self.ended = not chunk
        if self.advance is not None:
            self.advance(self.raw.tell() - self.consumed)
            self.consumed = self.raw.tell()
        return bool(chunk)

    def _here(self) -> int:
        """The line number at `at`."""
        self.line += self.text.count("\n", self.counted, self.at)
        self.counted = self.at
        return self.line

    def _fail(self, reason: str) -> NoReturn:
        raise TraceError(f"{self.path}, line {self._here()}: {reason}")
