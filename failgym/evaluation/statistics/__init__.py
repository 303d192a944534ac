"""Intervals: what is resampled, how, and how wide an interval must be that knows only few."""

from __future__ import annotations
