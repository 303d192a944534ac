"""What `failgym trace import` was asked to read: formats, files and the options of each."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from failgym.cli.folders import check_name
from failgym.known_names import unknown

if TYPE_CHECKING:
    from failgym.traces import Trace
    from failgym.traces.formats import Format
    from failgym.workers import Workers

__all__ = ["Reading"]

Align = Literal["auto", "date", "start"]
ALIGN: tuple[Align, ...] = ("auto", "date", "start")


@dataclass(frozen=True)
class _Source:
    """Files of one format, and the options of its reader."""

    form: Format
    paths: Sequence[Path]
    options: Mapping[str, Any]

    def read(self, *, progress: bool) -> Trace:
        path = self.paths[0] if len(self.paths) == 1 else list(self.paths)
        return self.form.reader(path, **self.options, progress=progress)


@dataclass(frozen=True)
class Reading:
    """What an import reads: the log, and the log of outages if one is given."""

    source: _Source
    outages: _Source | None
    align: Align

    @classmethod
    def of(
        cls,
        form: str,
        sources: Sequence[Path],
        outages: tuple[str, Path] | None,
        align: str | None,
        **options: Any,
    ) -> Reading:
        """Check formats and options before any work is done; options that are None are not given.

        An option goes to the reader that takes it; to that of the source if both do. Raises
        ValueError for an unknown format, and an option that neither takes or that cannot be.
        """
        given = {name: value for name, value in options.items() if value is not None}
        for path in sources:
            check_name("SOURCE", path)
        first = _format(form)
        second = _format(outages[0]) if outages else None
        if outages:
            check_name("--outages", outages[1])
        elif align is not None:
            raise ValueError("--align: expected --outages beside it, whose dates it changes")
        mine: dict[str, Any] = {}
        theirs: dict[str, Any] = {}
        for name, value in given.items():
            taken = mine if name in first.options else theirs
            if taken is theirs and (second is None or name not in second.options):
                raise _not_taken(name, first, second)
            reader = second if taken is theirs and second is not None else first
            read = _READ_OF.get((reader.name, name)) or _READ.get(name, _as_it_is)
            taken[name] = read(_option(name), value)
        for taken in (mine, theirs):
            if "until" in taken and taken["until"] < taken.get("since", taken["until"]):
                raise ValueError("--until: expected a day that is not before --since")
        if align is not None and align not in ALIGN:
            raise unknown("--align", align, ALIGN)
        return cls(
            _Source(first, sources, mine),
            _Source(second, [outages[1]], theirs) if second and outages else None,
            align or "auto",
        )

    def check_workers(self, workers: Workers) -> None:
        """Is it read by several workers, if these were asked for? Raises ValueError."""
        from failgym.traces import FORMATS

        if workers.several and not self.source.form.in_steps:
            takers = ", ".join(form.name for form in FORMATS.values() if form.in_steps)
            name = self.source.form.name
            raise ValueError(f"--workers: {name} is read by one process, only {takers} by several")
        if workers.several and self.outages is not None:
            raise ValueError("--workers: cannot be combined with --outages")

    def save(self, out: Path, workers: Workers, *, progress: bool) -> None:
        """Read everything and save it as one trace. Raises TraceError."""
        form, paths = self.source.form, self.source.paths
        if form.importer is not None and self.outages is None:
            if form.in_steps:
                form.importer(paths, out, progress=progress, workers=workers)
                return
            if len(paths) == 1:
                form.importer(paths[0], out, **self.source.options, progress=progress)
                return
        made = self.source.read(progress=progress)
        if self.outages is not None:
            from failgym.traces import with_outages

            made = with_outages(made, self.outages.read(progress=progress), align=self.align)
        made.save(out)


def _format(name: str) -> Format:
    from failgym.traces.formats import OTHER_NAMES, formats

    known = formats()
    if name not in known:
        if meant := OTHER_NAMES.get(name.lower()):
            raise ValueError(f"unknown format {name!r}, did you mean {meant}?")
        raise unknown("format", name, known)
    return known[name]


def _not_taken(name: str, first: Format, second: Format | None) -> ValueError:
    from failgym.traces import FORMATS

    asked = first.name if second is None else f"{first.name} and {second.name}"
    takers = ", ".join(form.name for form in FORMATS.values() if name in form.options)
    return ValueError(f"{_option(name)}: not an option of {asked}, only of {takers}")


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _as_it_is(option: str, value: Any) -> Any:
    return value


def _node_range(option: str, text: str) -> tuple[int, int]:
    first, dash, last = text.partition("-")
    ends = (first, last if dash else first)
    if not all(end.isascii() and end.isdigit() and len(end) < 10 for end in ends):
        raise ValueError(f"{option}: expected two node numbers A-B, or one, got {text!r}")
    low, high = map(int, ends)
    if low > high:
        raise ValueError(f"{option}: expected A-B with A at most B, got {text!r}")
    return low, high


def _date(option: str, text: str) -> datetime.date:
    try:
        return datetime.datetime.strptime(text, "%Y-%m-%d").date()
    except ValueError:
        raise ValueError(f"{option}: expected a date YYYY-MM-DD, got {text!r}") from None


def _unit(option: str, value: int) -> int:
    from failgym.traces.readers.stg.reader import LONGEST_UNIT

    if not 1 <= value <= LONGEST_UNIT:
        raise ValueError(f"{option}: expected at least 1 and at most {LONGEST_UNIT}, got {value}")
    return value


def _timezone(option: str, name: str) -> str:
    import zoneinfo

    try:
        zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        expected = "a name like UTC or Europe/Berlin"
        raise ValueError(f"{option}: unknown time zone {name!r}, expected {expected}") from None
    return name


def _columns(option: str, text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        raise ValueError(f"{option}: expected names like JobID,State,Start,End, got {text!r}")
    return names


def _pairs(option: str, text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in text.split(","):
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or not value or name in found:
            raise ValueError(
                f"{option}: expected pairs like {_PAIRS[option]}, each once, got {text!r}"
            )
        found[name] = value
    return found


_PAIRS = {"--columns": "job=JobID,outcome=State", "--outcomes": "OK=finished,LOST=node_fail"}


def _fields(option: str, text: str) -> dict[str, str]:
    from failgym.traces.readers.table.fields import check_columns

    found = _pairs(option, text)
    try:
        check_columns(found)
    except ValueError as error:
        raise ValueError(f"{option}: {error}") from None
    return found


def _words(option: str, text: str) -> dict[str, str]:
    from failgym.traces.readers.table.words import words_of

    found = _pairs(option, text)
    try:
        words_of(found)
    except ValueError as error:
        raise ValueError(f"{option}: {error}") from None
    return found


def _time_unit(option: str, text: str) -> str:
    if text not in ("s", "ms"):
        raise ValueError(f"{option}: expected s or ms, got {text!r}")
    return text


def _path(option: str, value: Path) -> Path:
    check_name(option, value)
    return value


_READ: Mapping[str, Callable[[str, Any], Any]] = {
    "nodes": _node_range,
    "since": _date,
    "until": _date,
    "timezone": _timezone,
    "unit_ms": _unit,
    "topology": _path,
    "columns": _columns,
    "outcomes": _words,
    "unit": _time_unit,
}
"""How the text of an option is read; others are taken as they are."""
_READ_OF: Mapping[tuple[str, str], Callable[[str, Any], Any]] = {("table", "columns"): _fields}
"""How an option of one format is read that means something else there."""
