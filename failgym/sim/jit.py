"""How kernels are compiled: `entry` for those that Python calls, `kernel` for all others.

No reference counts, no exceptions and no allocation inside: a step is arithmetic on arrays that
exist. Compiled code is kept on disk. numba would take it for fresh as long as the file of the
function itself is unchanged, though it holds the code of every kernel called from there: here it is
kept under the content of all the engine's files. Where neither the package nor the user's cache
folder can be written, it goes to a temporary folder.
"""

# numba's cache is not part of its typed interface.
# pyright: reportPrivateUsage=false, reportUnknownMemberType=false

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba

__all__ = ["entry", "kernel"]


# Options that are not in numba's stubs.
_CONFIG: Any = numba.config  # pyright: ignore[reportPrivateImportUsage]
_NJIT: Any = numba.njit


def _stamp() -> str:
    """What the compiled code of any kernel depends on: the content of the engine's files."""
    content = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        content.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return content.hexdigest()


def _choose_folder() -> None:
    """Send the cache to a temporary folder if numba would find no place for it."""
    beside = Path(__file__).parent
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    places = [beside, home if home.exists() else home.parent]
    if not _CONFIG.CACHE_DIR and not any(os.access(place, os.W_OK) for place in places):
        _CONFIG.CACHE_DIR = str(Path(tempfile.gettempdir()) / f"failgym-{os.getuid()}")


_STAMP = _stamp()
_choose_folder()


def _compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """A decorator that compiles a kernel when it is first called, or takes it from the cache."""

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher: Any = _NJIT(cache=True, error_model="numpy", _nrt=False, **options)(function)
        dispatcher._cache._cache_file._source_stamp = _STAMP
        return dispatcher

    return decorate


entry = _compiled(nogil=True)
"""Compiled with a way in from Python; releases the lock."""
kernel = _compiled(forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
"""Compiled into the kernels that call it: a call would pass every array of the world by value,
which costs more than most kernels do. The plain function is its ``py_func``."""
