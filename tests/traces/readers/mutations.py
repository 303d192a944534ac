"""Damage that files meet: what a reader must answer with a trace or with one clear line."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable

import numpy as np

Rng = np.random.Generator

MOST_BYTES = 1 << 20
"""A damaged file does not grow beyond this."""
ODD_TEXTS = (
    b"",
    b"-1",
    b"0",
    b"-0",
    b"1e999",
    b"nan",
    b"NaN",
    b"-Infinity",
    b"null",
    b"2147483648",
    b"9223372036854775807",
    b"9223372036854775808",
    b"-9223372036854775809",
    b"1" * 400,
    b"1" * 5000,
    b"0x10",
    b"1_000",
    b"1.5",
    b"\xd9\xa3",  # a digit, but not an ASCII one
    b"1970-01-01T00:00:00",
    b"9999-99-99 99:99:99",
    b"\x00",
    b"\xff\xfe",
    b"\\ud800",
    b'"',
    b"{",
    b"[" * 50,
    b"\xef\xbb\xbf",
    b"\r",
    b"\t",
    b"../../etc/passwd",
)
"""Texts to put where a field or a number was."""

_NUMBER = re.compile(rb"-?\d+(\.\d+)?")
_FIELD = re.compile(rb"[^\s,;|:{}\[\]\"=+]+")


def mutated(data: bytes, rng: Rng) -> bytes:
    """The bytes after one to four faults drawn at random."""
    for _ in range(int(rng.integers(1, 5))):
        data = _FAULTS[int(rng.integers(len(_FAULTS)))](data, rng)
    return data[:MOST_BYTES]


def _flip_bytes(data: bytes, rng: Rng) -> bytes:
    array = np.frombuffer(data, dtype=np.uint8).copy()
    if len(array):
        places = rng.integers(len(array), size=int(rng.integers(1, 9)))
        array[places] ^= rng.integers(1, 256, size=len(places)).astype(np.uint8)
    return array.tobytes()


def _cut_end(data: bytes, rng: Rng) -> bytes:
    return data[: int(rng.integers(len(data) + 1))]


def _cut_out(data: bytes, rng: Rng) -> bytes:
    first, last = sorted(rng.integers(len(data) + 1, size=2).tolist())
    return data[:first] + data[last:]


def _insert_bytes(data: bytes, rng: Rng) -> bytes:
    at = int(rng.integers(len(data) + 1))
    return data[:at] + rng.bytes(int(rng.integers(1, 9))) + data[at:]


def _with_lines(change: Callable[[list[bytes], Rng], None]) -> Callable[[bytes, Rng], bytes]:
    def fault(data: bytes, rng: Rng) -> bytes:
        lines = data.splitlines(keepends=True)
        if lines:
            change(lines, rng)
        return b"".join(lines)

    return fault


def _drop_line(lines: list[bytes], rng: Rng) -> None:
    del lines[int(rng.integers(len(lines)))]


def _repeat_line(lines: list[bytes], rng: Rng) -> None:
    at = int(rng.integers(len(lines)))
    lines[at:at] = [lines[at]] * int(rng.integers(1, 4))


def _swap_lines(lines: list[bytes], rng: Rng) -> None:
    one, other = rng.integers(len(lines), size=2).tolist()
    lines[one], lines[other] = lines[other], lines[one]


def _cut_line(lines: list[bytes], rng: Rng) -> None:
    at = int(rng.integers(len(lines)))
    lines[at] = lines[at][: int(rng.integers(len(lines[at]) + 1))]


def _swap_fields(lines: list[bytes], rng: Rng) -> None:
    at = int(rng.integers(len(lines)))
    fields = list(_FIELD.finditer(lines[at]))
    if len(fields) > 1:
        one, other = sorted(rng.choice(len(fields), size=2, replace=False).tolist())
        left, right, line = fields[one], fields[other], lines[at]
        between = line[left.end() : right.start()]
        swapped = right[0] + between + left[0]
        lines[at] = line[: left.start()] + swapped + line[right.end() :]


def _replace(pattern: re.Pattern[bytes]) -> Callable[[bytes, Rng], bytes]:
    def fault(data: bytes, rng: Rng) -> bytes:
        start = int(rng.integers(len(data) + 1))
        found = pattern.search(data, start) or pattern.search(data)
        if found is None:
            return data
        text = ODD_TEXTS[int(rng.integers(len(ODD_TEXTS)))]
        return data[: found.start()] + text + data[found.end() :]

    return fault


def _shift_number(data: bytes, rng: Rng) -> bytes:
    """A number that is near what it was, or of another size."""
    start = int(rng.integers(len(data) + 1))
    found = re.compile(rb"\d{1,15}").search(data, start)
    if found is None:
        return data
    value = int(found[0])
    changed = (value + 1, max(value - 1, 0), value * 1000, value // 1000, -value)
    text = str(changed[int(rng.integers(len(changed)))]).encode()
    return data[: found.start()] + text + data[found.end() :]


def _deepen(data: bytes, rng: Rng) -> bytes:
    at, depth = int(rng.integers(len(data) + 1)), int(rng.integers(1, 3000))
    return data[:at] + b"[" * depth + b"]" * depth + data[at:]


def _encode_again(data: bytes, rng: Rng) -> bytes:
    encoding = ("utf-16", "latin-1", "utf-32", "cp037")[int(rng.integers(4))]
    return data.decode("utf-8", "replace").encode(encoding, "replace")


def _compress(data: bytes, rng: Rng) -> bytes:
    packed = gzip.compress(data, compresslevel=1, mtime=0)
    return packed if rng.integers(2) else _flip_bytes(packed, rng)


_FAULTS: tuple[Callable[[bytes, Rng], bytes], ...] = (
    _flip_bytes,
    _cut_end,
    _cut_out,
    _insert_bytes,
    _with_lines(_drop_line),
    _with_lines(_repeat_line),
    _with_lines(_swap_lines),
    _with_lines(_cut_line),
    _with_lines(_swap_fields),
    _replace(_NUMBER),
    _replace(_NUMBER),
    _replace(_FIELD),
    _shift_number,
    _shift_number,
    _deepen,
    _encode_again,
    _compress,
)
