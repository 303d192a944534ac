"""JSON lines as BigQuery exports them, a block at a time: by Arrow, or row by row.

Arrow is told which type each column has, which it is learned from rows that were read one by one:
it would guess types of its own for what is nested at will, and for texts that look like dates.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, cast

from failgym.arrow import pa, pajson
from failgym.traces.readers.google_2019.block import Block, Row, Rows, is_blank
from failgym.traces.readers.sources import Advance, text_blocks
from failgym.traces.schema import TraceError

__all__ = ["json_lines", "loads"]

_ESCAPED_NAME = re.compile(rb'\\[^"\\]*"\s*:')
"""A field's name with an escaped character in it."""


_PLAIN: dict[type, Any] = {str: pa.string(), int: pa.int64(), float: pa.float64()}


def loads(text: str) -> Any:
    """What a JSON text says; raises ValueError, for NaN and Infinity too, or RecursionError."""
    return json.loads(text, parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def json_lines(path: Path, columns: Sequence[str], advance: Advance) -> Iterator[Block]:
    """The objects of a file that has one in each line. Raises TraceError."""
    types = _Types(columns)
    for first, block in text_blocks(path, advance):
        text = block.removeprefix(b"\xef\xbb\xbf") if first == 1 else block
        told = types.table(text)
        if told is None:
            rows = _rows(path, first, text)
            types.learn(rows[1])
            yield Block.of(rows)
        else:
            yield Block(told, partial(_rows, path, first, text))


class _Types:
    """What kinds of values the columns have, as far as is known.

    Columns go by name, fields of structures by `name.part`, and what is in lists by `name.`.
    """

    def __init__(self, columns: Sequence[str]) -> None:
        pairs = [name.partition(".") for name in columns]
        self.parts = {name: [p for n, _, p in pairs if p and n == name] for name, _, _ in pairs}
        self.names = {*columns, *(part for _, _, part in pairs if part)}
        self.kinds: defaultdict[str, set[type]] = defaultdict(set)

    def learn(self, rows: Iterable[Row]) -> None:
        """Learn from rows that were read one by one."""
        for name, parts in self.parts.items():
            values = self._see(name, (row.get(name) for row in rows))
            structures = [cast(Row, value) for value in values if type(value) is dict]
            for part in parts:
                self._see(f"{name}.{part}", (inside.get(part) for inside in structures))
            lists = [cast(list[Any], value) for value in values if type(value) is list]
            self._see(f"{name}.", itertools.chain.from_iterable(lists))

    def _see(self, name: str, values: Iterable[Any]) -> list[Any]:
        known = [value for value in values if value is not None]
        self.kinds[name].update(map(type, known))
        return known

    def table(self, text: bytes) -> Any:
        """The rows as a `pyarrow.Table`; None if Arrow cannot read them, or would miss any."""
        fields = {name: self._type(name) for name in self.parts if self.kinds[name]}
        if not fields or None in fields.values():
            return None
        inside = {
            part.name for kind in fields.values() if pa.types.is_struct(kind) for part in kind
        }
        strange = self.names.difference(fields, inside)
        if any(f'"{name}"'.encode() in text for name in strange):
            return None
        if b"\\" in text and _ESCAPED_NAME.search(text):
            return None
        whole = pajson.ReadOptions(use_threads=False, block_size=len(text) + 1)
        only = pajson.ParseOptions(
            explicit_schema=pa.schema(fields), unexpected_field_behavior="ignore"
        )
        try:
            text.decode("utf-8")
            told = pajson.read_json(pa.BufferReader(text), whole, only)
        except (pa.ArrowException, UnicodeDecodeError):
            return None
        return told if told.num_rows == len(text.removesuffix(b"\n").split(b"\n")) else None

    def _type(self, name: str) -> Any:
        """The type of a column that holds all its values; None if there is none."""
        kinds = self.kinds[name]
        if kinds == {dict} and self.parts[name]:
            parts = {part: self._type(f"{name}.{part}") for part in self.parts[name]}
            known = {part: kind for part, kind in parts.items() if self.kinds[f"{name}.{part}"]}
            return None if None in known.values() else pa.struct(known)
        if kinds == {list}:
            item = self._type(f"{name}.") if self.kinds[f"{name}."] else pa.null()
            return None if item is None else pa.list_(item)
        if kinds == {int, float}:
            return pa.float64()
        return _PLAIN.get(next(iter(kinds))) if len(kinds) == 1 else None


def _rows(path: Path, first: int, text: bytes) -> Rows:
    """A block of lines is parsed at once; where that fails, line by line, to say which is wrong."""
    lines = text.removesuffix(b"\n").split(b"\n")
    numbers = [number for number, line in enumerate(lines, first) if not is_blank(line)]
    texts = [line for line in lines if not is_blank(line)]
    rows: list[Row] = []
    with contextlib.suppress(ValueError, RecursionError):
        rows = loads(b"".join((b"[", b",".join(texts), b"]")).decode("utf-8"))
    if len(rows) != len(texts) or not all(type(row) is dict for row in rows):
        rows = [_object(path, number, line) for number, line in zip(numbers, texts, strict=True)]
    return numbers, rows


def _object(path: Path, number: int, line: bytes) -> Row:
    try:
        row = loads(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise TraceError(f"{path}, line {number}: not a text in UTF-8") from error
    except RecursionError as error:
        raise TraceError(f"{path}, line {number}: nested too deeply") from error
    except ValueError as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        said = reason.splitlines()[0]
        raise TraceError(f"{path}, line {number}: not JSON: {said}") from error
    if not isinstance(row, dict):
        raise TraceError(f"{path}, line {number}: expected a JSON object")
    return cast(Row, row)
