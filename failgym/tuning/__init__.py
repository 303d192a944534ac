"""Better parameters of a heuristic for an environment, found and proved on its training split."""

from __future__ import annotations

from failgym.tuning.study import Grounds, Tuned, tune

__all__ = ["Grounds", "Tuned", "tune"]
