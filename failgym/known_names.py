"""Names that are not known: the error says which is nearest."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["check_known", "unknown"]


def unknown(what: str, name: str, known: Iterable[str]) -> ValueError:
    """The error for a name that is not known: it names the nearest, or all."""
    known = list(known)
    near = difflib.get_close_matches(str(name), known, 1)
    hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
    return ValueError(f"unknown {what} {name!r}, {hint}")


def check_known(what: str, name: str, known: Iterable[str]) -> str:
    """A name that is known. Raises ValueError for another, naming the nearest, or all."""
    known = list(known)
    if name not in known:
        raise unknown(what, name, known)
    return name
