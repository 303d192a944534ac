"""JSON objects of a source, one after the other, with the line at which each begins."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from failgym.traces.readers.sources import CHUNK, Advance, opened
from failgym.traces.schema import TraceError

__all__ = ["Take", "json_objects"]

Take: TypeAlias = Callable[[int, int, Any], Any]
"""Makes of an element of an array what is kept of it; called with its line, position and value."""

LARGEST_OBJECT = 3 << 24
"""The longest text of one object [characters]: bounds the memory that an object can take."""
MOST_CONTAINERS = 1_000_000
"""The most objects and arrays in one object: bounds it too."""
MOST_ELEMENTS = 1_000_000
"""The most elements of the arrays of one object that are taken one by one."""

_CONTENT = re.compile(r"[^ \t\r\n]")


def json_objects(
    path: Path, advance: Advance | None = None, take: Mapping[str, Take] | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file that holds them one after the other, or as one array of objects.

    Commas may separate objects that are not in an array. One object is in memory at a time. Of
    arrays named in `take` that lie directly in an object, it is only one element: what `take` makes
    of it stands for it, so that such an object may be of any length. Numbers are int or float
    (finite or infinite; NaN and Infinity as words are refused).

    Raises TraceError, with file and line: unreadable, corrupt or truncated; not UTF-8; not JSON;
    something else than objects; an object, or an element that is taken, too deep or too large.
    """
    reader = _Reader(path, advance, take or {})
    with opened(path) as (raw, content):
        yield from reader.objects(raw, content)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


class _Reader:
    """A window of text that moves over the file; `line` is the line number at `counted` in it."""

    def __init__(self, path: Path, advance: Advance | None, take: Mapping[str, Take]) -> None:
        self.path = path
        self.advance = advance
        self.take = take
        self.text = ""
        self.at = 0
        self.line = 1
        self.counted = 0
        self.begun = 0
        self.ended = False
        self.decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self.parse = json.JSONDecoder(parse_constant=_refuse_constant).raw_decode

    def objects(self, raw: Any, content: Any) -> Iterator[tuple[int, dict[str, Any]]]:
        self.raw, self.content, self.consumed = raw, content, 0
        in_array, any_yet, closed, due = False, False, False, True
        while (char := self._next()) is not None:
            if closed:
                self._fail(f"expected the end of the file after the array, not {char!r}")
            if char == "[" and not in_array and not any_yet:
                in_array = True
                self.at += 1
            elif char == "]" and in_array and due is not any_yet:
                closed = True
                self.at += 1
            elif char == "," and not due:
                due = True
                self.at += 1
            elif char == "{" and (due or not in_array):
                any_yet, due = True, False
                line = self._here()
                yield line, self._by_parts() if self.take else self._value()
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

    def _by_parts(self) -> dict[str, Any]:
        """The object that begins here, its parts read one after the other."""
        self.at += 1
        values: dict[str, Any] = {}
        left = [LARGEST_OBJECT, MOST_CONTAINERS, MOST_ELEMENTS]
        char = self._expect('"}')
        while char != "}":
            name = self._held(left)
            self._expect(":")
            self.at += 1
            if self._expect() == "[" and name in self.take:
                values[name] = list(self._elements(self.take[name], left))
            else:
                values[name] = self._held(left)
            char = self._expect(",}")
            if char == ",":
                self.at += 1
                self._expect('"')
        self.at += 1
        return values

    def _elements(self, take: Take, left: list[int]) -> Iterator[Any]:
        """What is taken of the elements of the array that begins here."""
        self.at += 1
        position, char = 0, self._expect()
        while char != "]":
            left[2] -= 1
            if left[2] < 0:
                self._fail(f"more than {MOST_ELEMENTS} elements in the arrays of an object")
            line = self._here()
            yield take(line, position, self._value())
            position += 1
            char = self._expect(",]")
            if char == ",":
                self.at += 1
                if self._expect() == "]":
                    self._fail("not JSON: expected a value after the comma")
        self.at += 1

    def _held(self, left: list[int]) -> Any:
        """The value that begins here; with all that is held of its object it must not be large."""
        value = self._value()
        left[0] -= self.at - self.begun
        left[1] -= self.text.count("{", self.begun, self.at)
        left[1] -= self.text.count("[", self.begun, self.at)
        if left[0] < 0:
            self._fail(f"an object longer than {LARGEST_OBJECT} characters")
        if left[1] < 0:
            self._fail(f"more than {MOST_CONTAINERS} arrays in an object")
        return value

    def _expect(self, chars: str = "") -> str:
        """The next character that is not space, which must be one of these (of any if none)."""
        char = self._next()
        if char is None:
            self._fail("not JSON: truncated: expected the end of the object")
        if chars and char not in chars:
            self._fail(f"not JSON: expected {' or '.join(chars)}, not {char!r}")
        return char

    def _value(self) -> Any:
        """The value that begins here; more is read, in doubling steps, until it is whole."""
        while True:
            try:
                value, end = self.parse(self.text, self.at)
                size, behind = end - self.at, len(self.text) - end
                if type(value) in (int, float) and behind < 4 and self._more(CHUNK):
                    continue  # the number, or its exponent, may go on
                self.begun, self.at = self.at, self.at + size
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
