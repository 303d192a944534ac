"""Scores over environments, and their intervals."""

from __future__ import annotations
