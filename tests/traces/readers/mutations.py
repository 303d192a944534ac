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
    b"<script>alert(1)</script>",
    b"\x1b[31mred",
    b"[bold]x[/bold]",
    b"n[0-65535]",
    b"1_[0-99999]",
    b"0-65535",
    b"a" * 300,
)
"""Texts to put where a field or a number was."""

LONG = 100_000
"""Signs of a field that is too long."""
LONG_PIECES = (
    *(
        b"1",
        b"a",
        b" ",
        b"\\",
        b'"',
        b"=",
        b"[",
        b"-",
        b";",
        b",",
        b".",
        b"_",
        b"{",
        b"\t",
        b"\x00",
    ),
    *(b"a=", b"1-2,", b"a/0+", b"1.", b"_1", b"(a", b"status ", b"\xc3\xa9", b"a:", b"\\u00e9"),
    *(b"<a ", b"&a;", b'"a":', b"n[1-9]"),
)
"""What fields are made of that are too long."""
DISTANT = (
    *(2**31 - 1, 2**31, 2**32, 4_102_444_800, 64_060_588_800, 253_402_300_799, 10**11),
    *(10**12, 10**13, 4_102_444_800_000, 68_719_476_735_999, 10**15, 10**16, 2**53, 2**62),
)
"""Times that are far from all others, in whatever unit."""
DATES = (
    *(b"1970-01-01T00:00:00", b"2149-12-31T23:59:59", b"3999-12-31T23:59:59"),
    *(b"01/01/1970 00:00:00", b"12/31/2149 23:59:59", b"12/31/3999 23:59:59", b"12/31/49 23:59"),
    *(b"1970-01-01 00:00:00", b"3999-12-31 23:59:59", b"3999-12-31T23:59:59Z"),
)
"""Dates that are far from all others."""
WIDE = (2, 1_000, 65_535, 100_000, 10**6, 10**9, 2**31 - 1)
"""Numbers that something may be wide, or many."""

_DATE = re.compile(rb"\d{2,4}[-/]\d\d[-/]\d{2,4}[T ]\d\d:\d\d(:\d\d)?Z?")
_NUMBER = re.compile(rb"-?\d+(\.\d+)?")
_FIELD = re.compile(rb"[^\s,;|:{}\[\]\"=+]+")


def mutated(data: bytes, rng: Rng) -> bytes:
    """The bytes after one to four faults drawn at random."""
    for _ in range(min(int(rng.geometric(0.6)), 4)):
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
        return _in_place_of(pattern, data, rng, ODD_TEXTS[int(rng.integers(len(ODD_TEXTS)))])

    return fault


def _long_field(data: bytes, rng: Rng) -> bytes:
    """A field of which there is far too much, and perhaps a sign that does not fit it."""
    piece = LONG_PIECES[int(rng.integers(len(LONG_PIECES)))]
    size = LONG if rng.integers(2) else int(rng.integers(1, LONG))
    text = (piece * (size // len(piece) + 1))[:size] + (b"", b"x", b"!", b" ")[rng.integers(4)]
    return _in_place_of(_FIELD, data, rng, text)


def _distant(data: bytes, rng: Rng) -> bytes:
    """A time that is far from all others."""
    if rng.integers(2) and _DATE.search(data):
        return _in_place_of(_DATE, data, rng, DATES[int(rng.integers(len(DATES)))])
    return _in_place_of(_NUMBER, data, rng, b"%d" % DISTANT[int(rng.integers(len(DISTANT)))])


def _wide(data: bytes, rng: Rng) -> bytes:
    """A number that makes something very wide, or very many."""
    return _in_place_of(_NUMBER, data, rng, b"%d" % WIDE[int(rng.integers(len(WIDE)))])


def _in_place_of(pattern: re.Pattern[bytes], data: bytes, rng: Rng, text: bytes) -> bytes:
    found = pattern.search(data, int(rng.integers(len(data) + 1))) or pattern.search(data)
    return data if found is None else data[: found.start()] + text + data[found.end() :]


def _many_lines(lines: list[bytes], rng: Rng) -> None:
    """One line, thousands of times."""
    at = int(rng.integers(len(lines)))
    times = min(int(rng.integers(1, 5_000)), 200_000 // (len(lines[at]) + 1))
    lines[at:at] = [lines[at]] * times


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
    return (packed, _flip_bytes(packed, rng), _cut_end(packed, rng))[rng.integers(3)]


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
    _distant,
    _distant,
    _wide,
    _wide,
    _long_field,
    _with_lines(_many_lines),
    _deepen,
    _encode_again,
    _compress,
)
