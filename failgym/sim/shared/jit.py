"""How kernels are compiled: `entry` for those that Python calls, `kernel` for all others.

No reference counts, no exceptions and no allocation inside: a step is arithmetic on arrays that
exist. Compiled code is kept on disk (`failgym.compiled`). numba would take it for fresh as long as
the file of the function itself is unchanged, though it holds the code of every kernel called from
there: here it is kept under the content of all the engine's files.
"""

# numba's cache is not part of its typed interface.
# pyright: reportPrivateUsage=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import ctypes
import functools
import hashlib
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.core.datamodel.registry import register_default
from numba.core.imputils import lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

from failgym import vocabulary
from failgym.compiled import keep
from failgym.sim.shared.compiler import EntryDispatcher, KernelDispatcher

__all__ = [
    "LINE",
    "called",
    "entry",
    "held",
    "kernel",
    "list_at",
    "pasted",
    "prefetch",
    "table_at",
]


_CONFIG: Any = numba.config  # pyright: ignore[reportPrivateImportUsage]


def _stamp(engine: Path, words: Path) -> str:
    """What the compiled code of any kernel depends on: the content of the engine's files."""
    content = hashlib.sha256(words.read_bytes())
    for path in sorted(engine.rglob("*.py")):
        name = path.relative_to(engine).as_posix()
        if not name.startswith("reference/"):
            content.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return content.hexdigest()


_STAMP = _stamp(Path(__file__).parent.parent, Path(vocabulary.__file__))


def _by_name(value: Any) -> Any:
    """A tuple of arrays whose records have their fields as attributes, as in compiled code."""
    if hasattr(value, "_make"):
        return value._make(map(_by_name, value))
    named = getattr(getattr(value, "dtype", None), "names", None)
    return value.view(np.recarray) if named else value


def _interpreted(function: Callable[..., Any]) -> Callable[..., Any]:
    """An entry as plain Python, for debuggers: what ``NUMBA_DISABLE_JIT=1`` asks for."""

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        with np.errstate(all="ignore"):  # as compiled code, which divides by zero without a word
            return function(*map(_by_name, arguments))

    return call


def entry(function: Callable[..., Any]) -> Any:
    """A kernel that Python calls: compiled, or taken from the cache, when it is first called.

    It releases the lock.
    """
    if _CONFIG.DISABLE_JIT:
        return _interpreted(function)
    dispatcher = EntryDispatcher(function, nogil=True)
    keep(dispatcher, _STAMP)  # all others are kept with it
    return dispatcher


def kernel(function: Callable[..., Any]) -> Any:
    """A kernel, compiled into those that call it. The plain function is its ``py_func``."""
    return _part(function, forceinline=True)


def called(function: Callable[..., Any]) -> Any:
    """A kernel, compiled once and called, or inlined where the optimiser sees fit.

    Tuples of arrays are handed on by reference (`held`). An engine of several hundred kernels
    compiles three times as fast.
    """
    return _part(function)


def pasted(function: Callable[..., Any]) -> Any:
    """Put into the code of its caller before that is compiled.

    For what returns records, which no compiled function can.
    """
    return _part(function, inline="always")


def _part(function: Callable[..., Any], **options: Any) -> Any:
    if _CONFIG.DISABLE_JIT:
        return function
    return KernelDispatcher(function, no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)


# --- Tuples of arrays, by reference ---------------------------------------------------------------


class _Held(types.Type):
    """A named tuple that kernels hand on as one pointer.

    numba passes every part of every array of a tuple as an argument of its own: some five hundred
    for the arrays of a large world, in every call and in the code of every kernel.
    """

    def __init__(self, content: Any) -> None:
        self.content = content
        self._offsets: dict[int, int] = {}
        stamp = hashlib.sha256(str(content).encode()).hexdigest()[:16]
        super().__init__(name=f"held_{content.instance_class.__name__}_{stamp}")

    def offset(self, context: Any, place: int) -> int:
        """Where a part of the named tuple begins [bytes]."""
        if place not in self._offsets:
            laid_out = context.get_value_type(self.content)
            self._offsets[place] = laid_out.get_element_offset(context.target_data, place)
        return self._offsets[place]


@register_default(_Held)
class _HeldModel(models.PrimitiveModel):  # pyright: ignore[reportUnusedClass]
    """A pointer to bytes: one to its true type would be most of the text that LLVM reads."""

    def __init__(self, manager: Any, fe_type: Any) -> None:
        super().__init__(manager, fe_type, cgutils.voidptr_t)


@infer_getattr
class _HeldAttribute(AttributeTemplate):  # pyright: ignore[reportUnusedClass]
    key = _Held

    def generic_resolve(self, held: Any, attr: str) -> Any:
        fields = held.content.fields
        return held.content[fields.index(attr)] if attr in fields else None


@lower_getattr_generic(_Held)
def _load(context: Any, builder: Any, held: Any, value: Any, attr: str) -> Any:  # pyright: ignore[reportUnusedFunction]
    place = held.content.fields.index(attr)
    kind = context.get_value_type(held.content[place])
    offset = ir.Constant(ir.IntType(64), held.offset(context, place))
    pointer = builder.bitcast(builder.gep(value, [offset], inbounds=True), kind.as_pointer())
    loaded: Any = builder.load(pointer)
    return loaded


def _held(context: Any, content: Any) -> Any:
    """The named tuple ``content``, to be handed on as one pointer while the caller runs."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(cgutils.alloca_once_value(builder, args[0]), cgutils.voidptr_t)

    signature: Any = _Held(content)(content)
    return signature, codegen


def _as_it_is(content: Any) -> Any:
    """What is handed on where nothing is compiled."""
    return content


held: Any = _as_it_is if _CONFIG.DISABLE_JIT else intrinsic(_held)


# --- Arrays by address ----------------------------------------------------------------------------


def _lay_out(context: Any, builder: Any, array_type: Any, address: Any, shape: list[Any]) -> Any:
    """The array of a type that begins at an address, row after row."""
    array = make_array(array_type)(context, builder)
    itemsize = context.get_abi_sizeof(context.get_data_type(array_type.dtype))
    strides = [context.get_constant(types.intp, itemsize)]
    for extent in shape[:0:-1]:
        strides.insert(0, builder.mul(strides[0], extent))
    pointer = builder.inttoptr(address, array.data.type)
    populate_array(array, pointer, shape, strides, strides[-1], None)
    return array._getvalue()


def _list_at(context: Any, address: Any, length: Any, dtype: Any) -> Any:
    array_type = types.Array(dtype.dtype, 1, "C")

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _lay_out(context, builder, array_type, args[0], [args[1]])

    signature: Any = array_type(types.intp, types.intp, dtype)
    return signature, codegen


def _table_at(context: Any, address: Any, rows: Any, columns: Any, dtype: Any) -> Any:
    array_type = types.Array(dtype.dtype, 2, "C")

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _lay_out(context, builder, array_type, args[0], [args[1], args[2]])

    signature: Any = array_type(types.intp, types.intp, types.intp, dtype)
    return signature, codegen


def _there(address: int, *shape: Any) -> Any:
    """The array at an address, where nothing is compiled; the last of its shape is its type."""
    *extents, dtype = (*map(int, shape[:-1]), np.dtype(shape[-1]))
    if not math.prod(extents):
        return _by_name(np.zeros(extents, dtype))
    room: Any = ctypes.c_char * (math.prod(extents) * dtype.itemsize)
    memory = room.from_address(int(address))
    return _by_name(np.frombuffer(memory, dtype).reshape(extents))


list_at: Any = _there if _CONFIG.DISABLE_JIT else intrinsic(_list_at)
"""``list_at(address, length, dtype)``: an array of which Python keeps hold."""
table_at: Any = _there if _CONFIG.DISABLE_JIT else intrinsic(_table_at)
"""``table_at(address, rows, columns, dtype)``: one of two axes."""


# --- Memory that will be read ---------------------------------------------------------------------


def _prefetch(context: Any, array: Any, index: Any) -> Any:
    """Ask for the lines of memory of a record or row; any index will do."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        memory = make_array(signature.args[0])(context, builder, args[0])
        strides: Any = memory.strides
        stride = builder.extract_value(strides, 0)
        at = builder.mul(context.cast(builder, args[1], signature.args[1], types.intp), stride)
        pointer = builder.gep(builder.bitcast(memory.data, cgutils.voidptr_t), [at])
        kinds = [ir.IntType(32)] * 3
        fetch = builder.module.declare_intrinsic(
            "llvm.prefetch", [pointer.type], ir.FunctionType(ir.VoidType(), [pointer.type, *kinds])
        )
        size = context.get_abi_sizeof(context.get_data_type(signature.args[0].dtype))
        to_read_into_all_caches = [ir.Constant(ir.IntType(32), number) for number in (0, 3, 1)]
        for line in range(0, size, LINE):
            place = builder.gep(pointer, [ir.Constant(ir.IntType(64), line)])
            builder.call(fetch, [place, *to_read_into_all_caches])
        return context.get_dummy_value()

    return types.none(array, index), codegen


LINE = 64
"""Bytes of a line of memory."""


def _nothing_fetched(array: Any, index: int) -> None:
    """What is asked for where nothing is compiled."""


prefetch: Any = _nothing_fetched if _CONFIG.DISABLE_JIT else intrinsic(_prefetch)
"""``prefetch(array, index)``: a record will be read soon. It changes nothing but the time taken."""
