"""The files in which numba keeps compiled functions, read only where they are this user's own."""

# numba's caches are not part of its typed interface.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUntypedBaseClass=false

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Generator
from functools import partial
from pathlib import Path
from typing import Any

from numba.core import caching

from failgym.compiled.ownership import is_private

__all__ = ["KeptCode"]

_CACHING: Any = caching


class _Files(_CACHING.IndexDataCacheFile):
    """The files of a function.

    One that somebody else could have written counts as missing, and so does one that is cut off.
    """

    def _load_index(self) -> Any:
        if not _is_own(self._index_path):
            return {}
        try:
            return super()._load_index()
        except Exception:  # a pickle that is cut off can fail in any way
            return {}

    def _load_data(self, name: str) -> Any:
        if not _is_own(self._data_path(name)):
            raise FileNotFoundError(name)
        return super()._load_data(name)

    @contextlib.contextmanager
    def _open_for_write(self, filepath: str) -> Generator[Any]:
        with super()._open_for_write(filepath) as file:
            if hasattr(os, "fchmod"):
                os.fchmod(file.fileno(), 0o644)  # whatever the user's mask is
            yield file


def _is_own(path: str) -> bool:
    """Is it a file, no link, that only this user and the administrator could have written?"""
    try:
        return os.name != "posix" or is_private(os.lstat(path))
    except OSError:
        return False


class _Locator(_CACHING._CacheLocator):
    """A folder that is chosen already."""

    def __init__(self, function: Any, folder: Path, stamp: str) -> None:
        self._py_file = function.__code__.co_filename
        self._line, self._folder, self._stamp = function.__code__.co_firstlineno, folder, stamp

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        return self._stamp

    def get_disambiguator(self) -> str:
        return str(self._line)


class _Content(_CACHING.CompileResultCacheImpl):
    """What is kept of a function, and what its files are called."""

    def __init__(self, locator: _Locator, function: Any) -> None:
        self._locator, self._lineno = locator, function.__code__.co_firstlineno
        name = f"{Path(function.__code__.co_filename).stem}.{function.__qualname__}"
        self._filename_base = self.get_filename_base(name, getattr(sys, "abiflags", ""))


class KeptCode(_CACHING.FunctionCache):
    """The kept code of one function. Without it everything works, more slowly at first.

    Args:
        function: the plain function.
        folder: where its files are.
        stamp: what they were made from; other files are out of date.
    """

    def __init__(self, function: Any, folder: Path, stamp: str) -> None:
        self._impl_class = partial(_Content, _Locator(function, folder, stamp))
        super().__init__(function)
        self._cache_file = _Files(self._cache_path, self._impl.filename_base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The kept code for a signature; None where there is none that can be read."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # what is cut off, or of another library, can fail in any way
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the code for a signature, if the disk has room for it."""
        try:
            super().save_overload(sig, data)
        except OSError:
            self.disable()
