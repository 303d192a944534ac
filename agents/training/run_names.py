"""Names of the files of a training run that others look for, who need nothing else of it."""

from __future__ import annotations

__all__ = ["BEST", "RUN"]

RUN = "run.json"
"""What is trained: where it is, there is a run."""
BEST = "best.safetensors"
"""The best agent so far, a policy file."""
