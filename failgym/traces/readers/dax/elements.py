"""The elements of an XML file, one after the other, without entities and within bounds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NoReturn
from xml.parsers import expat

from failgym.traces.readers.json_fields import Fields
from failgym.traces.readers.sources import LONGEST_TEXT, Advance, opened
from failgym.traces.schema import TraceError

__all__ = ["Element", "elements"]

PIECE: Final = 1 << 16
"""How much is parsed at once [bytes]."""
LONGEST_TAG: Final = 1 << 20
"""A longer tag, comment or the like is none of any workflow [bytes]."""
DEEPEST: Final = 64
"""Elements lie in at most so many others."""


@dataclass(frozen=True)
class Element:
    """An element, how deep it lies (the outermost: 1), and its attributes.

    What is read as the field `text` is the text in it, of elements in which there is no other.
    """

    name: str
    depth: int
    fields: Fields


def elements(file: Path, advance: Advance) -> Iterator[Element]:
    """The elements of a file, in the order in which they end; outer ones at their beginning.

    Elements of depths 1 and 2 are given when they begin, deeper ones when they end.

    Raises TraceError: unreadable, not XML, a document type (no entity is ever expanded), too deep.
    """
    taker = _Taker(file)
    with opened(file) as (raw, content):
        consumed = fed = 0
        while not taker.ended:
            chunk = content.read(PIECE)
            fed += len(chunk)
            taker.feed(chunk)
            if fed - taker.parser.CurrentByteIndex > LONGEST_TAG:
                taker.fail(f"a tag or comment longer than {LONGEST_TAG} bytes")
            yield from taker.ready
            taker.ready.clear()
            advance(raw.tell() - consumed)
            consumed = raw.tell()


@dataclass
class _Taker:
    """What the parser calls."""

    file: Path
    ready: list[Element] = field(default_factory=list[Element])
    open: list[Element] = field(default_factory=list[Element])
    texts: list[str] = field(default_factory=list[str])
    ended: bool = False

    def __post_init__(self) -> None:
        parser: Any = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self.begin
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.text
        parser.StartDoctypeDeclHandler = self.doctype
        parser.EntityDeclHandler = self.doctype
        self.parser = parser

    def feed(self, chunk: bytes) -> None:
        """Parse what is next; nothing ends the file. Raises TraceError."""
        self.ended = not chunk
        try:
            self.parser.Parse(chunk, self.ended)
        except expat.ExpatError as error:
            raise TraceError(
                f"{self.file}, line {error.lineno}: not XML: {_reason(error)}"
            ) from error
        except (LookupError, ValueError) as error:
            if isinstance(error, TraceError):
                raise
            self.fail(f"not XML: {str(error).splitlines()[0][:200]}")

    def begin(self, name: str, attributes: dict[str, str]) -> None:
        """An element begins."""
        if len(self.open) >= DEEPEST:
            self.fail(f"more than {DEEPEST} elements in each other")
        name = name.rpartition(":")[2][:LONGEST_TEXT]
        fields = Fields(self.file, self.parser.CurrentLineNumber, attributes, name[:60])
        element = Element(name, len(self.open) + 1, fields)
        if element.depth < 3:
            self.ready.append(element)
        self.open.append(element)
        self.texts.clear()

    def end(self, _: str) -> None:
        """An element ends."""
        element = self.open.pop()
        if element.depth > 2:
            told = "".join(self.texts).strip()
            values = {**element.fields.values, "text": told} if told else element.fields.values
            fields = Fields(self.file, element.fields.line, values, element.fields.at)
            self.ready.append(Element(element.name, element.depth, fields))
        self.texts.clear()

    def text(self, text: str) -> None:
        """Text in an element, of which no more is kept than can be of use."""
        if len(self.texts) < DEEPEST:
            self.texts.append(text[:LONGEST_TEXT])

    def doctype(self, *_: object) -> None:
        """A document type, or an entity in it: it could make much of little."""
        self.fail("a document type, expected a workflow without one: entities are not expanded")

    def fail(self, reason: str) -> NoReturn:
        """Raise the TraceError."""
        raise TraceError(f"{self.file}, line {self.parser.CurrentLineNumber}: {reason}")


def _reason(error: expat.ExpatError) -> str:
    said = expat.errors.messages.get(error.code)
    return said or str(error).splitlines()[0]
