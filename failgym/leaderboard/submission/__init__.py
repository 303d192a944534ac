"""The files of a submission: written, read, checked without playing, and joined."""

from __future__ import annotations
