"""The compiled code of a kernel for given arguments, found once instead of at every call.

numba asks at every call for the type of every array in it, some fifty to ninety: that takes as long
as the step does.
"""

# numba's types have no typed interface.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, cast

import numba
import numpy as np
import numpy.typing as npt

__all__ = ["type_of", "way_in"]

_CONFIG: Any = numba.config  # pyright: ignore[reportPrivateImportUsage]


def way_in(function: Any, *arguments: Any) -> Callable[..., Any]:
    """The compiled code of an entry for arguments of these types, to be called with no others.

    Who calls the code itself has looked at the types once; of others it would read what is not
    there.
    """
    if _CONFIG.DISABLE_JIT:
        return function
    types_of = tuple(map(type_of, arguments))
    function.compile(types_of)
    return function.get_overload(types_of)


_TYPES: dict[Hashable, Any] = {}
"""numba's types of tuples of arrays, by all that they depend on. A batch has new arrays of the same
few types, and to name the types of their records takes milliseconds."""


def type_of(value: Any) -> Any:
    """numba's type of an argument."""
    if not isinstance(value, tuple):
        return numba.typeof(value)
    about = _about(cast("tuple[Any, ...]", value))
    if about not in _TYPES:
        _TYPES[about] = numba.typeof(value)
    return _TYPES[about]


def _about(value: Any) -> Hashable:
    """All that numba's type of a tuple of arrays depends on, where no record holds records."""
    kind: type[Any] = type(value)
    if isinstance(value, tuple):
        return kind, *map(_about, cast("tuple[Any, ...]", value))
    if not isinstance(value, np.ndarray):
        return numba.typeof(value)
    array = cast("npt.NDArray[Any]", value)
    aligned = array.dtype.isalignedstruct, array.flags.aligned
    order = array.flags.c_contiguous, array.flags.f_contiguous
    return kind, array.dtype, aligned, array.ndim, order, array.flags.writeable
