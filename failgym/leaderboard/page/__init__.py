"""A leaderboard as one self-contained HTML file, which opens without a network."""

from __future__ import annotations

from failgym.leaderboard.page.document import write_page
from failgym.leaderboard.page.submission import Entry, Submission, read_submission

__all__ = ["Entry", "Submission", "read_submission", "write_page"]
