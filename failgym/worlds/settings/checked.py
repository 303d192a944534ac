"""`Checked`: settings that are refused where they are out of range."""

from __future__ import annotations

__all__ = ["Checked"]


class Checked:
    """Settings with checks of their values."""

    def __post_init__(self) -> None:
        """Check them: a part that can hold anything has none."""

    def _check(self, name: str, good: bool, expected: str) -> None:
        """Raise ValueError, naming the field, unless its value is good."""
        if not good:
            raise ValueError(f"{name}: expected {expected}, got {getattr(self, name)!r}")

    def _check_choice(self, name: str, allowed: tuple[str, ...]) -> None:
        """Raise ValueError, naming the field, unless its value is one of these."""
        self._check(name, getattr(self, name) in allowed, f"one of {', '.join(allowed)}")
