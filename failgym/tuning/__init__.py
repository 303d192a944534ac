"""The best parameters of a heuristic for an environment, found on its training split."""

from __future__ import annotations

from failgym.tuning.study import Tuned, tune

__all__ = ["Tuned", "tune"]
