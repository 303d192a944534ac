"""What a SPEC names: a baseline that comes with failgym, or a file."""

from __future__ import annotations

import os

from failgym.baselines import REGISTRY

__all__ = ["is_at_hand", "is_shipped", "names_a_file"]


def is_shipped(spec: str) -> bool:
    """Does a SPEC name a baseline that comes with failgym?"""
    return spec.partition(":")[0] in REGISTRY


def names_a_file(spec: str) -> bool:
    """Does a SPEC name a file: of a baseline's parameters, or of an agent?"""
    return not is_shipped(spec) and spec.endswith((".json", ".safetensors"))


def is_at_hand(spec: str) -> bool:
    """Is the file here that a SPEC names, and can it be read? No name is too odd to ask for."""
    return os.path.isfile(spec) and os.access(spec, os.R_OK)
