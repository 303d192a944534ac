"""The algorithms that agents are trained with, and their hyper-parameters in YAML files."""

from __future__ import annotations
