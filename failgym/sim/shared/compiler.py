"""How numba compiles kernels: each once, as parts of the entries that call them.

Of the time that numba takes for a kernel nine tenths are spent in Python, for every combination of
types, and again for every kernel that calls it. Here a kernel is compiled for one kind of integers,
and neither linked nor made into machine code before the entry is.
"""

# numba's compiler is not part of its typed interface.
# pyright: reportPrivateUsage=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUntypedBaseClass=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Generator
from functools import lru_cache
from typing import Any

from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags
from numba.core.compiler_machinery import PassManager
from numba.core.registry import CPUDispatcher

__all__ = ["EntryDispatcher", "KernelDispatcher", "PartOfAnEntry"]

_OPTIONS = {"nopython": True, "error_model": "numpy", "_nrt": False, "boundscheck": None}
_NEVER_NEEDED = frozenset(
    {
        *("with_lifting", "inline_closure_likes", "make_function_op_code_to_jit_function"),
        *("find_literally", "literal_unroll", "LiteralPropagation", "inline_overloads"),
        *("nopython_rewrites", "annotate_types", "dump_parfor_diagnostics"),
    }
)
"""Passes of numba for what no kernel has: closures, objects, literals as types, array expressions.
After each it would look through the whole kernel again."""
_INTEGER: Any = types.Integer
_NUMBERS = types.Number, types.Boolean, types.Literal


# --- Code -----------------------------------------------------------------------------------------


class _Part(JITCodeLibrary):
    """The code of a kernel that only entries use: neither linked nor made into machine code.

    numba would do both anew for every kernel, with all that it calls, though the entry holds a copy
    of everything. Whatever else numba compiles in this process it compiles as ever.
    """

    @property
    def codegen(self) -> Any:
        return self

    def set_env(self, name: str, env: Any) -> None:
        """Without machine code there is no place for what Python objects it would use: none."""

    def get_pointer_to_function(self, name: str) -> int:
        return 0

    def finalize(self) -> None:
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage.name == "external":
                function.linkage = "linkonce_odr"
        return self._final_module


def _add_called(library: Any, found: dict[Any, None]) -> None:
    """Add the libraries that one calls, directly or not, those that are called before who calls."""
    for called in library._linking_libraries:
        if called not in found:
            if isinstance(called, _Part):
                _add_called(called, found)
            found[called] = None


class _Whole(JITCodeLibrary):
    """The code of an entry and of all kernels that it calls, each linked once."""

    def finalize(self) -> None:
        found: dict[Any, None] = {}
        _add_called(self, found)
        # A function that nobody has called yet would be left out.
        self._linking_libraries = list(reversed(found))
        super().finalize()


# --- Compilers ------------------------------------------------------------------------------------


class _ComparedAtOnce(Flags):
    """Options of a compilation, which numba compares at every operator.

    It would work out all of them each time, those left at their defaults too.
    """

    def __eq__(self, other: object) -> bool:
        if type(other) is _ComparedAtOnce:
            return self._values == other._values
        return super().__eq__(other)

    def __hash__(self) -> int:
        return hash(frozenset(self._values))


class _Typing:
    """numba's rules of types, which knows the operators on numbers that it has met before.

    numba asks all its definitions of an operator, one after the other, wherever there is one.
    """

    def __init__(self, context: Any) -> None:
        self._context, self._known = context, dict[Any, Any]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def resolve_function_type(self, func: Any, args: Any, kws: Any) -> Any:
        """The signature with which something is called."""
        numbers = all(isinstance(given, _NUMBERS) for given in args)
        if type(func) is not types.Function or kws or not numbers:
            return self._context.resolve_function_type(func, args, kws)
        asked = func, tuple(args)
        if asked not in self._known:
            self._known[asked] = self._context.resolve_function_type(func, args, kws)
        return self._known[asked]


@lru_cache(maxsize=4)
def _typing(context: Any) -> _Typing:
    return _Typing(context)


class _Lean(Compiler):
    """Compiles without the passes that kernels never need."""

    library: Any

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.state.flags = _ComparedAtOnce(self.state.flags)
        self.state.typingctx = _typing(self.state.typingctx)

    def define_pipelines(self) -> Any:
        state: Any = self.state
        state.library = self.library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        (usual,) = super().define_pipelines()
        lean: Any = PassManager(usual.pipeline_name)
        lean.passes = [step for step in usual.passes if step[0]._name not in _NEVER_NEEDED]
        lean.finalize()
        return [lean]


class PartOfAnEntry(_Lean):
    """Compiles a kernel as part of the entries that use it."""

    library = _Part


@contextlib.contextmanager
def _nothing_collected() -> Generator[None]:
    """Meanwhile Python looks for no garbage: of the millions of objects here nearly none is."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


class _EntryCompiler(_Lean):
    """Compiles an entry with all that it calls."""

    library = _Whole

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        with _nothing_collected():
            return super().compile_extra(func)


# --- Functions ------------------------------------------------------------------------------------


def _widened(given: Any) -> Any:
    """The type of an argument as kernels take it: integers of 64 bits, and no constants."""
    plain: Any = types.unliteral(given)
    if isinstance(plain, _INTEGER):
        return types.int64 if plain.signed else types.uint64
    if isinstance(plain, (types.Tuple, types.UniTuple)):
        return types.Tuple([_widened(part) for part in plain])
    return plain


class KernelDispatcher(CPUDispatcher):
    """A kernel, compiled once for all integers.

    numba would compile it anew for every width, and for every constant that it is called with.
    """

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        super().__init__(function, {}, {**_OPTIONS, **options}, PartOfAnEntry)

    def _compile_for_args(self, *args: Any, **kws: Any) -> Any:
        raise TypeError(f"{self.py_func.__qualname__} is part of entries: call one of them")

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """What a call of these types is compiled to."""
        return super().get_call_template(tuple(map(_widened, args)), kws)


class EntryDispatcher(CPUDispatcher):
    """A kernel that Python calls."""

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        super().__init__(function, {}, {**_OPTIONS, **options}, _EntryCompiler)
