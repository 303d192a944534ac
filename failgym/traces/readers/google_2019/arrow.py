"""Columns of a block of Google's tables of 2019, as Arrow holds it: all values at once.

What is not plainly as the format says is left to the slow way, which tells what is wrong, and
where.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.arrow import pa, pc
from failgym.traces.readers.google_2019.columns import Column, flat_names
from failgym.traces.readers.sources import LONGEST_TEXT

__all__ = ["EMPTY_LISTS", "arrow_columns"]

Codes = Mapping[str, dict[str, int]]
"""The codes of the texts of each text column."""

EMPTY_LISTS = ("", "[]", "{}")
"""Lists without anything in them, where a list is a text."""


class _Unusual(Exception):
    """A value that Arrow's functions do not tell for what it is."""


def arrow_columns(
    columns: Sequence[Column], told: Any, codes: Codes
) -> dict[str, npt.NDArray[Any]] | None:
    """The columns of a `pyarrow.Table`, by name, each of shape (rows,); None if it is unusual."""
    try:
        return {column.name: _column(column, told, codes) for column in columns}
    except (_Unusual, pa.ArrowException, UnicodeDecodeError):
        return None


def _column(column: Column, told: Any, codes: Codes) -> npt.NDArray[Any]:
    rows: int = told.num_rows
    values = _values(column.name, told)
    if values is None:
        return np.full(rows, column.missing, dtype=column.dtype)
    if column.kind == "integer":
        return _integers(column, values)
    if column.kind == "number":
        return _numbers(values)
    return _texts(values, codes[column.name]) if column.kind == "text" else _lists(values)


def _values(name: str, told: Any) -> Any:
    """The values of a column, of a structure's field too; None if they are not there."""
    structure, dot, part = name.partition(".")
    there = [one for one in flat_names(name) or (name,) if one in told.column_names]
    inside = told.column(structure) if dot and structure in told.column_names else None
    if inside is not None and not pa.types.is_null(inside.type):
        if there or not pa.types.is_struct(inside.type):
            raise _Unusual
        if inside.type.get_field_index(part) < 0:
            return None
        return _plain(pc.struct_field(inside, part))
    if len(there) > 1:
        raise _Unusual
    return _plain(told.column(there[0])) if there else None


def _plain(values: Any) -> Any:
    """The values themselves, not as positions in a dictionary; None if all are missing."""
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    return None if pa.types.is_null(values.type) else values


def _is_text(values: Any) -> bool:
    return pa.types.is_string(values.type) or pa.types.is_large_string(values.type)


def _integers(column: Column, values: Any) -> npt.NDArray[Any]:
    """Integers, or numbers or texts that hold them, or names of codes; see `Column`."""
    if _is_text(values):
        digits = pc.ascii_is_decimal(pc.ascii_ltrim(values, characters="-"))
        if not _all(digits):
            if not column.codes:
                raise _Unusual
            known = pc.index_in(values, value_set=pa.array(column.codes, values.type))
            if known.null_count != values.null_count:
                raise _Unusual
            values = known
    elif not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
        raise _Unusual
    known = values.cast(pa.int64())
    bounded = known.fill_null(column.least).to_numpy()
    fits = (bounded >= column.least) & (bounded <= column.most)
    if not (fits | (bounded == column.also)).all():
        raise _Unusual
    narrow = np.array(bounded, dtype=column.dtype)
    if known.null_count:
        narrow[known.is_null().to_numpy()] = column.missing
    return narrow


def _numbers(values: Any) -> npt.NDArray[np.float64]:
    """Numbers that are not negative, NaN where one is missing."""
    text = _is_text(values)
    if not (text or pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
        raise _Unusual
    missing = values.null_count
    numbers: npt.NDArray[np.float64] = np.array(values.cast(pa.float64()).to_numpy())
    fits = (numbers >= 0) & (numbers < 1e300)
    if not (fits | np.isnan(numbers)).all() or (text and np.isnan(numbers).sum() != missing):
        raise _Unusual
    return numbers


def _texts(values: Any, known: dict[str, int]) -> npt.NDArray[Any]:
    """The codes of texts, -1 where one is missing or empty; new texts get new codes."""
    if not _is_text(values):
        raise _Unusual
    encoded = values.dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.unify_dictionaries().combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):  # without any chunk
        return np.full(len(values), -1, dtype=np.int32)
    texts = encoded.dictionary.to_pylist()
    if any(text.isspace() or len(text) > LONGEST_TEXT for text in texts):
        raise _Unusual
    own = [known.setdefault(text, len(known)) if text else -1 for text in texts]
    of = np.array([*own, -1], dtype=np.int32)
    return of[encoded.indices.fill_null(len(own)).to_numpy()]


def _lists(values: Any) -> npt.NDArray[Any]:
    """1 where there is a list with anything in it."""
    if _is_text(values):
        empty = pc.is_in(pc.utf8_trim_whitespace(values), value_set=pa.array(EMPTY_LISTS))
        filled = pc.invert(empty).fill_null(False)
        return np.array(pc.and_(filled, values.is_valid()).to_numpy(), dtype=np.int8)
    if not (pa.types.is_list(values.type) or pa.types.is_large_list(values.type)):
        raise _Unusual
    lengths = pc.list_value_length(values).fill_null(0)
    return np.array(lengths.to_numpy() > 0, dtype=np.int8)


def _all(flags: Any) -> bool:
    return bool(pc.all(flags).as_py() in (True, None))
