"""A leaderboard as a folder that any web server serves: its page, and one of each submission."""

from __future__ import annotations

from failgym.leaderboard.site.policy_files import Describe
from failgym.leaderboard.site.site_folder import SITE_FILE
from failgym.leaderboard.site.submissions import find_submissions
from failgym.leaderboard.site.write import write_site

__all__ = ["SITE_FILE", "Describe", "find_submissions", "write_site"]
