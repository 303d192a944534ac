"""Names that are not known: the error says which is nearest."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["check_known", "nearest", "unknown"]


def nearest(name: object, known: Iterable[str]) -> str | None:
    """The known name that is most like another, or begins with it; None if none is like it.

    Whether letters are capital makes no difference.
    """
    typed = str(name).lower()
    names = {each.lower(): each for each in known}
    near = difflib.get_close_matches(typed, list(names), 1)
    near += [each for each in names if typed and each.startswith(typed)]
    return names[near[0]] if near else None


def unknown(what: str, name: str, known: Iterable[str]) -> ValueError:
    """The error for a name that is not known: it names the nearest, or all."""
    known = list(known)
    near = nearest(name, known)
    hint = f"did you mean {near}?" if near else f"known: {', '.join(known) or 'none'}"
    return ValueError(f"unknown {what} {name!r}, {hint}")


def check_known(what: str, name: str, known: Iterable[str]) -> str:
    """A name that is known. Raises ValueError for another, naming the nearest, or all."""
    known = list(known)
    if name not in known:
        raise unknown(what, name, known)
    return name
