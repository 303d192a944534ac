"""numba's compiled functions, kept on disk where nobody else could have put them.

What lies in a cache of numba is unpickled, and run. numba takes the first folder that it can write
to, whoever else can; here it is one that only this user could have written (`ownership`),
and where there is none, or its disk is full, functions are compiled in every process anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import warnings
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numba
import numba.misc.appdirs

from failgym.compiled.ownership import make_private, only_mine, temporary_folder

__all__ = ["keep", "njit"]

_CONFIG: Any = numba.config  # pyright: ignore[reportPrivateImportUsage]
_NJIT: Any = numba.njit
_Function = TypeVar("_Function", bound=Callable[..., Any])


def njit(*, cache: bool = False, **options: Any) -> Callable[[_Function], _Function]:
    """`numba.njit`, whose ``cache=True`` keeps the code where only this user could have written."""

    def decorate(function: _Function) -> _Function:
        dispatcher: Any = _NJIT(**options)(function)
        if cache:
            keep(dispatcher, _hash_of(function.__code__.co_filename))
        return dispatcher

    return decorate


def keep(dispatcher: Any, stamp: str | None) -> None:
    """Keep the code of a function, which is fresh as long as the stamp is the same."""
    if stamp is None or not hasattr(dispatcher, "_cache"):  # e.g. NUMBA_DISABLE_JIT=1
        return
    try:
        from failgym.compiled.kept_code import KeptCode
    except (ImportError, AttributeError):  # a numba that keeps code in another way
        return
    source = Path(dispatcher.py_func.__code__.co_filename)
    folder = _folder(source.absolute().parent, str(_CONFIG.CACHE_DIR or ""))
    if folder is not None:
        dispatcher._cache = KeptCode(dispatcher.py_func, folder, stamp)


@lru_cache(maxsize=1024)
def _hash_of(source: str) -> str | None:
    """SHA-256 of a source file; None if there is none."""
    try:
        return hashlib.sha256(Path(source).read_bytes()).hexdigest()
    except OSError:
        return None


@lru_cache(maxsize=1024)
def _folder(beside: Path, chosen: str) -> Path | None:
    """Where the code of the modules in a folder is kept; None if nowhere.

    The places are numba's, in its order, and then the temporary folder.

    Args:
        beside: the folder of the modules.
        chosen: what the user has set, NUMBA_CACHE_DIR, or "".
    """
    name = f"{beside.name}_{hashlib.sha256(os.fsencode(beside)).hexdigest()[:40]}"
    if chosen:
        kept = _usable(Path(chosen).absolute() / name)
        if kept is not None:
            return kept
        _warn(chosen)
    cache = beside / "__pycache__"
    with contextlib.suppress(OSError):
        cache.mkdir(mode=0o755, exist_ok=True)
    found = _usable(cache) or _usable(_of_user() / name)
    if found is None and (temporary := temporary_folder()) is not None:
        found = _usable(temporary / name)
    return found


def _of_user() -> Path:
    """Where numba keeps the code of a user whose packages cannot be written."""
    dirs: Any = numba.misc.appdirs.AppDirs(appname="numba", appauthor=False)
    own = Path(dirs.user_cache_dir)
    return own if own.is_absolute() else Path(os.path.expanduser("~")) / ".cache" / "numba"


def _usable(folder: Path) -> Path | None:
    """A folder that only this user could have written, and can write; made if it is missing."""
    try:
        if not folder.is_absolute():
            return None
        make_private(folder)
        writable = folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)
    except OSError:
        return None
    return folder if writable and only_mine(folder) else None


@lru_cache(maxsize=16)
def _warn(chosen: str) -> None:
    """Say once that the user's own choice was not taken."""
    warnings.warn(
        f"NUMBA_CACHE_DIR {chosen}: not used, because it cannot be written, or because others"
        " could have written what would be run from there",
        stacklevel=2,
    )
