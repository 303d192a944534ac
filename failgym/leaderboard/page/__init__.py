"""A leaderboard as one self-contained HTML file, which opens without a network."""

from __future__ import annotations

from failgym.leaderboard.page.document import write_page
from failgym.leaderboard.page.rows import rows_of
from failgym.leaderboard.page.source import PolicyRun, Source, read_source

__all__ = ["PolicyRun", "Source", "read_source", "rows_of", "write_page"]
