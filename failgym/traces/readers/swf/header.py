"""The header comments of a log in Standard Workload Format 2.2 (section "Header Comments")."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

__all__ = ["Header"]

MOST_TEXT = 1 << 20
"""Header text that is kept [characters]; the comments beyond it are no header."""

_FIELD = re.compile(r";+([ \t]*)([A-Za-z][A-Za-z0-9_-]*)[ \t]*:(?!//)")
INDENT = 2
"""A line that is indented deeper goes on with the field above it, unless it names a known one."""
KNOWN = {
    name.lower(): name
    for name in (
        *("Version", "Computer", "Installation", "Acknowledge", "Information", "Conversion"),
        *("MaxJobs", "MaxRecords", "Preemption", "UnixStartTime", "TimeZone", "TimeZoneString"),
        *("StartTime", "EndTime", "MaxNodes", "MaxProcs", "MaxRuntime", "MaxMemory", "Copyright"),
        *("AllowOveruse", "MaxQueues", "Queues", "Queue", "MaxPartitions", "Partitions"),
        *("Partition", "Note"),
    )
}
"""The format's fields, which logs also write in other cases."""
_LISTED = re.compile(r"(-?[0-9]+)[ \t]+(\S.*)")
_WHOLE = re.compile(r"[+-]?[0-9]{1,15}")
_LEADING = re.compile(r"([0-9]{1,15})\b")
_EXIT_CODES = re.compile(
    r"status\b.{0,80}\b(exit|return|termination)[ _-]?(code|status|value)"
    r"|\b(exit|return|termination)[ _-]?(code|status|value)s?\b.{0,80}\bstatus\b",
    re.IGNORECASE | re.DOTALL,
)


@dataclass
class Header:
    """Lines by field, in the order in which they appear; those of a field are joined by newlines.

    The names of `KNOWN` fields are as the format spells them.

    Values stay text as the log has them: real headers hold malformed numbers, and words behind
    numbers.
    """

    lines: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    _last: str = ""
    _size: int = 0

    def add(self, line: str) -> None:
        """Take a comment line, which begins with a semicolon."""
        self._size += len(line)
        if self._size > MOST_TEXT:
            return
        match = _FIELD.match(line)
        known = KNOWN.get(match[2].lower()) if match else None
        if match and (known or len(match[1]) <= INDENT):
            self._last, text = known or match[2], line[match.end() :].strip()
        elif not (text := line.lstrip(";").strip()):
            return
        name = self._last or "Comment"
        self.lines.setdefault(name, []).append(text)

    @property
    def fields(self) -> dict[str, str]:
        """All fields."""
        return {name: self.text(name) for name in self.lines}

    def text(self, name: str) -> str:
        """A field; empty if it is not there."""
        return "\n".join(self.lines.get(name, ()))

    def number(self, name: str) -> int | None:
        """The whole number that a field is, or begins with; None for anything else."""
        text = self.text(name).strip()
        if _WHOLE.fullmatch(text):
            return int(text)
        match = _LEADING.match(text)
        return int(match[1]) if match else None

    def names(self, name: str) -> dict[int, str]:
        """What the lines of a repeated field call each number: `Queue: 3 production`."""
        matches = [_LISTED.fullmatch(line.strip()) for line in self.text(name).splitlines()]
        return {int(m[1]): m[2].strip() for m in matches if m and len(m[1]) < 16}

    @property
    def has_exit_codes(self) -> bool:
        """Does a note say that the status field holds exit codes?"""
        return _EXIT_CODES.search(self.text("Note")) is not None

    @property
    def allows_overuse(self) -> bool:
        """Does the header say that jobs may use more than they requested?"""
        return self.text("AllowOveruse").strip().lower() in ("yes", "true", "1")
