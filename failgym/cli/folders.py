"""Checks of the folders and files that a user names, made before any work is done."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, cast

__all__ = ["check_name", "check_out", "holds_trace"]


def check_name(what: str, path: Path) -> None:
    """Refuse a name that is no text, since files of tables are opened by text. Raises ValueError.

    Args:
        what: the option or argument that the name was given for.
        path: the name.
    """
    try:
        str(path).encode("utf-8")
    except UnicodeEncodeError:
        shown = os.fsencode(path).decode("utf-8", "backslashreplace")
        raise ValueError(f"{what} {shown}: the name is not valid UTF-8") from None


def check_out(out: Path) -> None:
    """Refuse a folder that `Trace.save` would not write. Raises ValueError."""
    from failgym.traces.store import check_destination

    check_name("--out", out)
    try:
        check_destination(out)
    except ValueError as error:
        raise ValueError(f"--out {error}") from error
    if any(holds_trace(above) for above in Path(os.path.realpath(out)).parents):
        raise ValueError(f"--out {out}: lies in the folder of a saved trace: not written")
    parent = next(p for p in out.absolute().parents if p.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise ValueError(f"--out {out}: {parent} cannot be written to")


def holds_trace(folder: Path) -> bool:
    """Is it the folder of a saved trace, of whatever version and with whatever beside it?"""
    file = folder / "meta.json"
    if not file.is_file():
        return False
    from failgym.traces.store import FORMAT

    try:
        document: Any = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(document, dict) and cast(dict[str, Any], document).get("format") == FORMAT
