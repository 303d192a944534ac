"""Policies on a suite: on several processes, resumed after a kill."""

from __future__ import annotations
