"""An agent begins where a heuristic is: demonstrations, and networks fitted to them."""

from __future__ import annotations
