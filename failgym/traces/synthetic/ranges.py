"""What values the fields of a profile may have: said by their types, checked before generating.

To whoever reads a profile, and to a type checker, a `Share` is a float; to `check` it is a number
from 0 to 1. Every number of a profile has such a type.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Annotated, Any, Protocol, Union, cast, get_args, get_origin, get_type_hints

from failgym.traces.schema import LATEST, TraceError
from failgym.vocabulary import DAY

LONGEST_TEXT = 60
"""Characters of a value in a message."""


class Range(Protocol):
    """What a value must be, beside its type."""

    def admits(self, value: Any) -> bool:
        """Is the value, which is of the right type, within the range?"""
        ...

    def expected(self) -> str:
        """The range in words."""
        ...


@dataclass(frozen=True)
class Between:
    """Numbers between two bounds, these included."""

    low: float
    high: float

    def admits(self, value: Any) -> bool:
        """Is the number between the bounds?"""
        return bool(self.low <= value <= self.high)

    def expected(self) -> str:
        """The range in words."""
        return f"{self.low:.15g} to {self.high:.15g}"


class SomeShare:
    """Shares, or pairs of something and its share, that are not all 0."""

    def admits(self, value: Any) -> bool:
        """Is the sum of the shares above 0?"""
        parts: tuple[Any, ...] = value
        return any(_share(part) > 0 for part in parts)

    def expected(self) -> str:
        """The range in words."""
        return "shares that are not all 0"


def _share(part: Any) -> float:
    return cast(tuple[Any, float], part)[-1] if isinstance(part, tuple) else part


class Filled:
    """A tuple that is not empty."""

    def admits(self, value: Any) -> bool:
        """Is there anything in it?"""
        return bool(value)

    def expected(self) -> str:
        """The range in words."""
        return "at least one"


class Rising:
    """A least and a largest value."""

    def admits(self, value: Any) -> bool:
        """Is the first not above the second?"""
        return bool(value[0] <= value[1])

    def expected(self) -> str:
        """The range in words."""
        return "the first not above the second"


@dataclass(frozen=True)
class Within:
    """Quantile tables all of whose values lie between two bounds."""

    low: float
    high: float

    def admits(self, value: Any) -> bool:
        """Are the bounds of the table between these?"""
        return bool(self.low <= value.low and value.high <= self.high)

    def expected(self) -> str:
        """The range in words."""
        return f"a table with low and high from {self.low:.15g} to {self.high:.15g}"


Share = Annotated[float, Between(0.0, 1.0)]
"""Range of a share, 0 to 1."""
Chance = Annotated[float, Between(0.0, 0.999_999)]
"""Range of a probability that is less than 1."""
Correlation = Annotated[float, Between(-1.0, 1.0)]
"""Range of a correlation of two variables, -1 to 1."""
Amount = Annotated[float, Between(0.0, 1e9)]
"""Range of an amount that may be 0, up to 1e9."""
Factor = Annotated[float, Between(1e-6, 1e6)]
"""Range of a positive factor, 1e-6 to 1e6."""
Multiple = Annotated[float, Between(1e-3, 1e3)]
"""Range of a second factor on what a `Factor` multiplies, 1e-3 to 1e3."""
Rate = Annotated[float, Between(1e-6, 1e9)]
"""Range of a rate or of a mean time between events, 1e-6 to 1e9."""
Time = Annotated[float, Between(1.0, LATEST)]
"""Range of a mean or median time [ms]."""
Deviation = Annotated[float, Between(0.0, 5.0)]
"""Range of the standard deviation of a logarithm, 0 to 5."""
Slope = Annotated[float, Between(-5.0, 5.0)]
"""A number of either sign in an exponent, or the mean of a logarithm."""
Decades = Annotated[float, Between(0.0, 2.0)]
"""Standard deviation of a decimal logarithm."""
Level = Annotated[float, Between(0.01, 1.0)]
"""A share that is not 0."""
Power = Annotated[float, Between(0.0, 100.0)]
"""An exponent."""
Skew = Annotated[float, Between(0.1, 100.0)]
"""The power to which a uniform number is raised that stands for who, of all, it is."""
Shape = Annotated[float, Between(0.1, 100.0)]
"""Shape of a Weibull or a beta law."""
Shares = Annotated[tuple[Share, ...], SomeShare()]
"""Parts of a whole, or what is in proportion to them."""
Mix = Annotated[tuple[Share, Share, Share], SomeShare()]
"""The same of three."""
Sampling = Annotated[float, Between(1e-6, 1.0)]
"""Share of a system's jobs in a trace."""
Thinning = Annotated[float, Between(1.0, 1_000.0)]
"""Ratio of what follows to what is before."""
ExitCode = Annotated[int, Between(-11, 271)]
"""An exit status of TORQUE's."""
Count = Annotated[int, Between(1, 1_000_000)]
"""A number of things of which there are some."""
Number = Annotated[int, Between(0, 1_000_000)]
"""A number of things of which there may be none."""
Window = Annotated[int, Between(1_000, LATEST)]
"""A sampling window [ms]."""
Dense = Annotated[int, Between(1, 10_000)]
"""Windows that are kept, one after the other."""
Bytes = Annotated[int, Between(1, 10**15)]
"""A size."""
Span = Annotated[int, Between(1, LATEST)]
"""A time [ms]."""


class Consistent(Protocol):
    """A part of a profile whose fields must fit each other."""

    def faults(self) -> Iterator[tuple[str, str]]:
        """Names of fields that are within their ranges but do not fit others; what is expected."""
        ...


def check(profile: Any) -> None:
    """Check all fields of a profile, and of its parts.

    Raises:
        TraceError: for the first value out of its range; it names the field and what is expected.
    """
    for path, value, expected in _faults(type(profile), profile, ""):
        text = repr(value)
        if len(text) > LONGEST_TEXT:
            text = f"{text[:LONGEST_TEXT]}..."
        raise TraceError(f"profile {profile.name}: {path} is {text}, expected {expected}")


def within_reach(span: float) -> int:
    """A trace's span [ms] as a whole number, rounded down.

    Raises:
        TraceError: if it is longer than a trace can be.
    """
    if not span <= LATEST:
        years = LATEST / DAY / 365
        raise TraceError(
            f"the jobs would come over {span:.3g} ms, expected at most {LATEST} ({years:,.0f} "
            "years): fewer jobs, or more of them a day"
        )
    return int(span)


MOST_ROWS = 100_000_000
"""Rows of the largest table that is generated; Google's trace of 2011 has 144 million events."""


def check_rows(rows: float, table: str, most: int = MOST_ROWS) -> None:
    """Check that a table is not too large to make.

    Raises:
        TraceError: if it has more than `most` rows.
    """
    if rows > most:
        raise TraceError(
            f"{table} would have {rows:.3g} rows, expected at most {most}: fewer jobs, or smaller "
            "ones"
        )


Fault = tuple[str, Any, str]
"""Path of a field, its value, what is expected."""


def _faults(hint: Any, value: Any, path: str) -> Iterator[Fault]:
    """What is wrong with a value of the type `hint`, and with its parts; ranges come last."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        wrong = list(_faults(arguments[0], value, path))
        yield from wrong
        for each in arguments[1:]:
            if not wrong and not each.admits(value):
                yield path, value, _words(arguments[0], each)
    elif origin is tuple:
        yield from _tuple_faults(arguments, value, path)
    elif origin in (Union, UnionType):
        (some,) = (each for each in arguments if each is not NoneType)
        if value is not None:
            yield from _faults(some, value, path)
    elif is_dataclass(hint):
        yield from _dataclass_faults(hint, value, path)
    elif not _is_a(hint, value):
        yield path, value, NAMES[hint]


def _words(hint: Any, allowed: Range) -> str:
    name = f"{NAMES[hint]} from " if isinstance(allowed, Between) else ""
    return name + allowed.expected()


def _tuple_faults(hints: tuple[Any, ...], value: Any, path: str) -> Iterator[Fault]:
    is_tuple = isinstance(value, tuple)
    parts = cast(tuple[Any, ...], value) if is_tuple else ()
    if hints[-1] is Ellipsis:
        hints = (hints[0],) * len(parts)
    if not is_tuple or len(hints) != len(parts):
        yield path, value, f"a tuple of {len(hints)}" if hints else "a tuple"
        return
    for number, (hint, part) in enumerate(zip(hints, parts, strict=True)):
        yield from _faults(hint, part, f"{path}[{number}]")


def _dataclass_faults(kind: Any, value: Any, path: str) -> Iterator[Fault]:
    if not isinstance(value, kind):
        yield path, value, f"of type {kind.__name__}"
        return
    prefix, fine = f"{path}." if path else "", True
    for name, hint in _hints(kind):
        for fault in _faults(hint, getattr(value, name), prefix + name):
            fine = False
            yield fault
    if fine and hasattr(value, "faults"):
        part: Consistent = value
        for name, expected in part.faults():
            yield prefix + name, getattr(value, name), expected


@cache
def _hints(kind: Any) -> list[tuple[str, Any]]:
    """The fields of a dataclass and their types, with their ranges."""
    hints = get_type_hints(kind, include_extras=True)
    return [(field.name, hints[field.name]) for field in fields(kind)]


NAMES: dict[Any, str] = {
    float: "a number",
    int: "a whole number",
    bool: "True or False",
    str: "a text",
}


KINDS: dict[Any, type] = {float: Real, int: Integral}
"""Numbers of numpy's are numbers."""


def _is_a(hint: Any, value: Any) -> bool:
    if hint is bool or hint is str:
        return isinstance(value, hint)
    return isinstance(value, KINDS[hint]) and value is not True and value is not False
