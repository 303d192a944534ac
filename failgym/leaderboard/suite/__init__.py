"""What policies play: the suites, their worlds, and the secret seeds of hosts."""

from __future__ import annotations
