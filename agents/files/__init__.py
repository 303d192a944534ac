"""Policy files: what they hold, and the agent that is read from one."""

from __future__ import annotations
