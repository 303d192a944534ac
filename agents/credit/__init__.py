"""Rollout buffers that credit a decision with what its own task or job came to."""

from __future__ import annotations

from failgym.agents.credit.rollout_buffers import MaskableTaskRolloutBuffer, TaskRolloutBuffer

__all__ = ["MaskableTaskRolloutBuffer", "TaskRolloutBuffer"]
