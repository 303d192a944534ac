"""Names of the files of a training run that others look for, who need nothing else of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

__all__ = ["BEST", "FORMAT", "RUN", "holds_run"]

RUN = "run.json"
"""What is trained."""
FORMAT = "failgym training"
"""What that file says it is."""
BEST = "best.safetensors"
"""The best agent so far, a policy file."""


def holds_run(folder: Path) -> bool:
    """Is it the folder of a training run, whatever else is in it?"""
    try:
        content: Any = json.loads((folder / RUN).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(content, dict) and cast(dict[str, Any], content).get("format") == FORMAT
