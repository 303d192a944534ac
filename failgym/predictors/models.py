"""Learned predictors by name, and on disk: a manifest and plain arrays in one `.npz` file.

A stored predictor holds no code: a JSON manifest with the name of the predictor, its
hyper-parameters and what its arrays are, and these arrays.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import Field, dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, cast, get_type_hints

import numpy as np
import numpy.typing as npt

from failgym import __version__
from failgym.predictors.learned import Arrays, Learned
from failgym.predictors.parameters import check_types, with_tuples
from failgym.predictors.store import array_names, read_arrays, write_arrays

__all__ = [
    "LEARNED",
    "MissingPackage",
    "Storable",
    "class_called",
    "holds_predictor",
    "is_fitted",
    "load_predictor",
    "module_of",
    "packages_of",
    "predictor_in",
    "save_predictor",
]

FORMAT = "failgym predictor"
VERSION = 1
WHAT = "a stored predictor"
_ARRAY = "learned/"
"""Begins the name, in the file, of what was learned."""


@dataclass(frozen=True)
class _Kind:
    """Where a predictor is defined."""

    module: str
    name: str

    def load(self) -> Any:
        return getattr(import_module(self.module), self.name)


_FORECASTING = {
    "random_forest": _Kind("failgym.predictors.forest.random_forest", "RandomForest"),
    "gradient_boosting": _Kind("failgym.predictors.boosting.gradient_boosting", "GradientBoosting"),
    "two_level_network": _Kind("failgym.predictors.network.two_level_network", "TwoLevelNetwork"),
}
_OTHERS = {"user_history": _Kind("failgym.predictors.history.user_history", "UserHistory")}
_PACKAGES = {
    "sklearn": ("scikit-learn", "predictors"),
    "torch": ("torch", "predictors"),
    "xgboost": ("xgboost", "boosting"),
}
"""Module -> the name of its package, and the smallest extra of failgym that brings it."""


class MissingPackage(ImportError, ValueError):
    """An optional package is not installed; the message says which, and how to install it."""


@contextmanager
def packages_of(name: str) -> Generator[None]:
    """Raise MissingPackage, in one line, if what a predictor needs is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module not in _PACKAGES:
            raise
        package, extra = _PACKAGES[module]
        wanted = f"{name} needs {package}: pip install 'failgym[{extra}]'"
        raise MissingPackage(wanted) from error


class _Classes(Mapping[str, type[Learned]]):
    """Name -> class, imported when it is asked for."""

    def __getitem__(self, name: str) -> type[Learned]:
        return _class_of(name, _FORECASTING)

    def __iter__(self) -> Iterator[str]:
        return iter(_FORECASTING)

    def __len__(self) -> int:
        return len(_FORECASTING)

    def __contains__(self, name: object) -> bool:
        return name in _FORECASTING


LEARNED: Mapping[str, type[Learned]] = _Classes()
"""Predictors of failures that learn, by name. A class is imported when it is asked for; raises
MissingPackage where the package that it needs is not installed."""


def class_called(name: str) -> Any:
    """The class of that name, imported; None if no predictor has it. Raises MissingPackage."""
    kinds = _FORECASTING | _OTHERS
    return next((_class_of(key, kinds) for key, kind in kinds.items() if kind.name == name), None)


def module_of(name: str) -> str | None:
    """The module of the predictor of that name, not imported; None if no predictor has it."""
    kinds = _FORECASTING | _OTHERS
    return kinds[name].module if name in kinds else None


class Storable(Protocol):
    """What is stored: a dataclass of hyper-parameters that gives its learned state as arrays."""

    name: ClassVar[str]

    def arrays(self) -> Arrays:
        """Return what was learned. Raises ValueError if nothing was."""
        ...

    def restore(self, arrays: Arrays) -> Self:
        """Restore the state that `arrays` returned."""
        ...


def is_fitted(predictor: Learned) -> bool:
    """Has it learned already?"""
    try:
        predictor.arrays()
    except ValueError:
        return False
    return True


def save_predictor(predictor: Storable, path: str | Path) -> None:
    """Write a fitted predictor to the file `path`, whole or not at all.

    Raises:
        OSError: if it cannot be written.
        ValueError: in one line: a predictor that is not fitted, that is none of failgym's, or of
            which a hyper-parameter is not of its type.
    """
    kinds = _FORECASTING | _OTHERS
    name = getattr(predictor, "name", "")
    if name not in kinds or type(predictor) is not _class_of(name, kinds):
        known = ", ".join(kinds)
        raise ValueError(f"{type(predictor).__name__}: cannot be stored, expected one of {known}")
    learned = predictor.arrays()
    parameters = {field.name: getattr(predictor, field.name) for field in _parameters(predictor)}
    check_types(name, parameters, get_type_hints(type(predictor)))
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "predictor": name,
        "failgym": __version__,
        "parameters": parameters,
        "arrays": {key: _kind_of(array) for key, array in learned.items()},
    }
    text = np.frombuffer(json.dumps(manifest).encode("utf-8"), dtype=np.uint8)
    stored = {_ARRAY + key: array for key, array in learned.items()}
    write_arrays(path, {"manifest": text, **stored})


def load_predictor(path: str | Path) -> Any:
    """Read the fitted predictor that `save_predictor` wrote: it predicts the same bits.

    Nothing of the file is executed.

    Returns:
        An instance of one of the classes of `LEARNED`, or a `UserHistory`.

    Raises:
        ValueError: in one line: no such file, not a stored predictor, another format version, an
            unknown predictor, an unknown, missing or mistyped hyper-parameter, arrays that are
            missing or do not fit, or (`MissingPackage`) a package that is not installed.
    """
    content = read_arrays(path, WHAT)
    try:
        manifest = _manifest(content)
        name = manifest["predictor"]
        predictor = _unfitted(name, manifest["parameters"])
        learned = _learned(content, manifest["arrays"])
        with packages_of(name):
            return _restored(predictor, name, learned)
    except MissingPackage:
        raise
    except ValueError as error:
        raise ValueError(f"{path}: {' '.join(str(error).split())}") from error


def holds_predictor(path: str | Path) -> bool:
    """Is the file a stored predictor, sound or not?"""
    return "manifest" in array_names(path)


def predictor_in(path: str | Path) -> str:
    """The name of the predictor in a file. Raises ValueError if there is none."""
    return str(_manifest(read_arrays(path, WHAT))["predictor"])


def _class_of(name: str, kinds: Mapping[str, _Kind]) -> Any:
    kind = kinds[name]
    with packages_of(name):
        return kind.load()


def _manifest(content: Mapping[str, npt.NDArray[Any]]) -> dict[str, Any]:
    """The manifest, with all that must be in it."""
    if "manifest" not in content:
        raise ValueError(f"not {WHAT}: manifest is missing")
    try:
        made: Any = json.loads(content["manifest"].astype(np.uint8, casting="no").tobytes())
    except (TypeError, ValueError, RecursionError):
        raise ValueError(f"not {WHAT}: the manifest is not readable") from None
    manifest = cast(dict[str, Any], made) if isinstance(made, dict) else {}
    if manifest.get("format") != FORMAT:
        raise ValueError(f"not {WHAT}: the manifest is of something else")
    if manifest.get("version") != VERSION:
        raise ValueError(f"format version {manifest.get('version')!r}, expected {VERSION}")
    for key, kind in (("predictor", str), ("parameters", dict), ("arrays", dict)):
        if not isinstance(manifest.get(key), kind):
            raise ValueError(f"{key} in the manifest: expected a {kind.__name__}")
    return manifest


def _unfitted(name: str, given: Mapping[str, Any]) -> Any:
    """The predictor with the hyper-parameters of a manifest."""
    kinds = _FORECASTING | _OTHERS
    if name not in kinds:
        raise ValueError(f"unknown predictor {name!r}, expected one of {', '.join(kinds)}")
    kind = _class_of(name, kinds)
    known = [field.name for field in _parameters(kind)]
    for key in [*given, *known]:
        if key not in known or key not in given:
            wrong = "missing" if key in known else "unknown"
            raise ValueError(f"{name}: hyper-parameter {key} is {wrong}")
    values = {key: with_tuples(value) for key, value in given.items()}
    check_types(name, values, get_type_hints(kind))
    return kind(**values)


def _learned(content: Mapping[str, npt.NDArray[Any]], expected: Mapping[str, Any]) -> Arrays:
    """The arrays that a manifest describes, and no others."""
    learned = {key[len(_ARRAY) :]: a for key, a in content.items() if key.startswith(_ARRAY)}
    for key in [*expected, *learned]:
        if key not in expected or key not in learned:
            raise ValueError(f"array {key!r} is {'missing' if key in expected else 'unknown'}")
        if _kind_of(learned[key]) != expected[key]:
            raise ValueError(f"array {key!r} is {_kind_of(learned[key])}, not {expected[key]}")
    return learned


def _kind_of(array: npt.NDArray[Any]) -> str:
    """Type and shape of an array, as text."""
    return f"{array.dtype.str} {list(array.shape)}"


def _restored(predictor: Any, name: str, learned: Arrays) -> Any:
    """The predictor with what it had learned."""
    try:
        return predictor.restore(learned)
    except ModuleNotFoundError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ValueError(f"the arrays do not fit {name}: {error}") from error


def _parameters(predictor: Any) -> list[Field[Any]]:
    return [field for field in fields(predictor) if field.init]
