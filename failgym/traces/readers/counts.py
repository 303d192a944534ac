"""What a reader did with the rows of its source, by reason."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Counts:
    """Rows read, by kind; rows dropped, and rows kept that are peculiar, by reason."""

    rows_read: dict[str, int] = field(default_factory=dict[str, int])
    dropped: dict[str, int] = field(default_factory=dict[str, int])
    noted: dict[str, int] = field(default_factory=dict[str, int])

    def read(self, what: str, n: int = 1) -> None:
        """Count rows read."""
        self.rows_read[what] = self.rows_read.get(what, 0) + n

    def drop(self, reason: str, n: int = 1) -> None:
        """Count rows dropped."""
        self.dropped[reason] = self.dropped.get(reason, 0) + n

    def add(self, other: Counts) -> None:
        """Add the counts of another part of the source."""
        for mine, theirs in (
            (self.rows_read, other.rows_read),
            (self.dropped, other.dropped),
            (self.noted, other.noted),
        ):
            for what, n in theirs.items():
                mine[what] = mine.get(what, 0) + n

    def note(self, reason: str, n: int = 1) -> None:
        """Count rows kept that are peculiar."""
        self.noted[reason] = self.noted.get(reason, 0) + n
