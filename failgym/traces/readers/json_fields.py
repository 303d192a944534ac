"""The fields of a JSON object, each checked, every fault with its file, line and field."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, cast

from failgym.traces.readers.sources import LONGEST_TEXT
from failgym.traces.schema import LATEST, TraceError

__all__ = ["Fields"]


@dataclass(frozen=True)
class Fields:
    """An object of a file, at a line, and where in its outermost object it is (`at`)."""

    file: Path
    line: int
    values: Mapping[str, Any]
    at: str = ""

    def has(self, name: str) -> bool:
        """Whether the field is there and not null."""
        return self.values.get(name) is not None

    def integer(self, name: str, *, least: int = 0, most: int = LATEST) -> int | None:
        """A whole number (a number with a zero fraction, or a text of digits, will do); or None."""
        value = self.values.get(name)
        if value is None:
            return None
        number = _whole(value)
        if number is None or not least <= number <= most:
            self.fail(name, f"an integer of at least {least} and at most {most}")
        return number

    def number(self, name: str, *, least: float = 0.0, most: float = 1e300) -> float | None:
        """A finite number, or a text that holds one; or None."""
        value = self.values.get(name)
        if value is None:
            return None
        number = _real(value)
        if number is None or not least <= number <= most:
            self.fail(name, f"a number of at least {least:g} and at most {most:g}")
        return number

    def text(self, name: str) -> str | None:
        """A text, or a number or truth value as it is written; or None."""
        value = self.values.get(name)
        if value is None:
            return None
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int | float):
            return str(value)
        if not isinstance(value, str) or not _encodable(value):
            self.fail(name, "a text")
        if len(value) > LONGEST_TEXT:
            self.fail(name, f"at most {LONGEST_TEXT} characters")
        return value

    def flag(self, name: str) -> bool | None:
        """A truth value; or None."""
        value = self.values.get(name)
        if value is not None and not isinstance(value, bool):
            self.fail(name, "true or false")
        return value

    def object(self, name: str) -> Fields | None:
        """A nested object; or None."""
        value = self.values.get(name)
        if value is None:
            return None
        if not isinstance(value, dict):
            self.fail(name, "an object")
        return Fields(self.file, self.line, cast(dict[str, Any], value), self._path(name))

    def objects(self, name: str) -> Iterator[Fields]:
        """The objects of an array; nothing if it is missing or null."""
        for position, value in enumerate(self.array(name)):
            path = self._path(f"{name}[{position}]")
            if not isinstance(value, dict):
                self.fail(f"{name}[{position}]", "an object", value)
            yield Fields(self.file, self.line, cast(dict[str, Any], value), path)

    def array(self, name: str) -> list[Any]:
        """The values of an array; none if it is missing or null."""
        value = self.values.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            self.fail(name, "an array")
        return cast(list[Any], value)

    def need(self, name: str, expected: str = "a value") -> None:
        """Raise TraceError unless the field is there and not null."""
        if not self.has(name):
            self.fail(name, expected)

    def fail(self, name: str, expected: str, value: object = None) -> NoReturn:
        """Raise the TraceError for a field."""
        value = self.values.get(name) if value is None else value
        shown = "missing" if value is None else _shortened(value)
        where = f"{self.file}, line {self.line}"
        raise TraceError(f"{where}: field {self._path(name)!r} is {shown}, expected {expected}")

    def _path(self, name: str) -> str:
        return f"{self.at}.{name}" if self.at else name


def _whole(value: object) -> int | None:
    if isinstance(value, str):
        digits = value.strip()
        signless = digits.removeprefix("-")
        return (
            int(digits) if signless.isascii() and signless.isdigit() and len(digits) < 30 else None
        )
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _real(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and ("_" in value or len(value) > LONGEST_TEXT):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _encodable(value: str) -> bool:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _shortened(value: object, most: int = 60) -> str:
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "an array"
    shown = ascii(value)
    return shown if len(shown) <= most else f"{shown[:most]}..."
