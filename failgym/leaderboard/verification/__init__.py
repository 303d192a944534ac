"""Policies are asked again, and all other actions are played again."""

from __future__ import annotations
