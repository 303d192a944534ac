"""A policy in a process of its own, which is not trusted: limits, keeper, questions and answers."""

from __future__ import annotations
