"""What decides a world, as one key: two worlds of the same key are the same, bit for bit.

- every field of the scenario but its name;
- the trace: of a stored one its `meta.json`, which holds the hash of its content, with the size and
  the time of change of its other files; of a profile all its numbers; of one in memory its content;
- the forecast: a file's content, an object's arrays or parameters;
- the content of all of failgym's sources that building a world may use, and the versions of the
  packages that these use.

What is made by code from elsewhere, such as a predictor of one's own, has no key.
"""

from __future__ import annotations

import functools
import hashlib
import json
import platform
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields, is_dataclass
from enum import Enum
from importlib import metadata
from pathlib import Path
from typing import Any, cast

import numpy as np

from failgym.predictors import Learned
from failgym.predictors.models import holds_predictor, is_fitted, module_of, predictor_in
from failgym.traces import Trace
from failgym.traces.synthetic import PROFILES

__all__ = ["ABOVE", "key_of", "sources_hash"]

ABOVE = ("agents", "assessment", "baselines", "cli", "evaluation", "leaderboard", "tuning")
"""Folders of failgym that use worlds, and that no world is built with."""
PACKAGES = ("numpy", "numba", "pyarrow", "scikit-learn", "torch", "xgboost")
"""Packages whose version may decide it."""


class _Unknown(Exception):
    """Something of which nobody knows what decides it."""


def sources_hash(package: Path) -> str:
    """SHA-256 of the content of the sources of the package that may decide a world.

    "" if there are none that can be read, as in an archive.
    """
    content, found = hashlib.sha256(), False
    try:
        for path in _sources(package):
            where = path.relative_to(package).as_posix()
            content.update(where.encode() + b"\0" + path.read_bytes() + b"\0")
            found = True
    except OSError:
        return ""
    return content.hexdigest() if found else ""


def _sources(package: Path) -> Iterator[Path]:
    """The sources of a package but for those of `ABOVE`, in one order."""
    yield from sorted(package.glob("*.py"))
    for folder in sorted(package.iterdir()):
        if folder.is_dir() and folder.name not in ABOVE:
            yield from sorted(folder.rglob("*.py"))


_PACKAGE = Path(__file__).parents[1]
_SOURCES = sources_hash(_PACKAGE)
"""When this was imported: an editor may change them while the process runs."""


def key_of(scenario: Any, code: tuple[object, ...] = (), *, anew: bool = False) -> str | None:
    """The key of a scenario's world, SHA-256 (hex); None if something of it has none.

    Args:
        scenario: a dataclass.
        code: functions and classes that its fields name.
        anew: read the sources again? They are what runs as long as the answer is the same.
    """
    sources = sources_hash(_PACKAGE) if anew else _SOURCES
    if not sources:
        return None
    try:
        values = {
            field.name: _described(getattr(scenario, field.name))
            for field in fields(scenario)
            if field.name not in ("name", "trace", "forecast")
        }
        decided = {
            "fields": values,
            "trace": _trace(scenario.trace),
            "forecast": _forecast(scenario.forecast),
            "code": [_described(each) for each in code],
            "sources": sources,
            "packages": _versions(),
        }
    except (_Unknown, OSError, ValueError):  # what cannot be read is complained of when it is used
        return None
    return hashlib.sha256(json.dumps(decided, sort_keys=True).encode()).hexdigest()


@functools.cache
def _versions() -> list[str]:
    """The packages that are there, and the kind of machine."""
    found = [sys.version, platform.machine(), sys.platform]
    for name in PACKAGES:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            found.append(f"no {name}")
    return found


def _trace(source: str | Path | Trace) -> Any:
    """What is in a trace. Raises _Unknown for a class of one's own."""
    if isinstance(source, Trace):
        if type(source) is not Trace:
            raise _Unknown
        return ["trace", source.content_hash, asdict(source.meta)]
    if str(source) in PROFILES:
        return ["profile", _described(PROFILES[str(source)])]
    return ["folder", *_files(Path(source))]


def _files(folder: Path) -> list[Any]:
    """The content of `meta.json`, and the size and the time of change [ns] of the other files."""
    meta = hashlib.sha256((folder / "meta.json").read_bytes()).hexdigest()
    others: list[Any] = []
    for file in sorted(folder.glob("*.parquet")):
        about = file.stat()
        others.append([file.name, about.st_size, about.st_mtime_ns])
    return [meta, others]


def _forecast(given: Any) -> Any:
    """What a forecast says, or what makes it. Raises _Unknown for a predictor from elsewhere."""
    if not isinstance(given, str | Path):
        return _described(given)
    name, file = str(given), Path(given)
    content = _file_hash(file) if file.is_file() else None
    if content is not None and holds_predictor(file):
        name = predictor_in(file)
    module = module_of(name)
    if module is not None and not _is_own(module):
        raise _Unknown
    return [str(given) if content is None else "", content, module]


def _file_hash(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _described(value: Any) -> Any:
    """A value as JSON that no other value has. Raises _Unknown for what is not of failgym."""
    if value is None or type(value) in (bool, int, str):
        return value
    if isinstance(value, float):
        return ["float", value.hex()]
    if isinstance(value, Path):
        return ["path", str(value)]
    if isinstance(value, np.ndarray):
        return _array(cast(Any, value))
    if isinstance(value, tuple | list):
        return ["items", *map(_described, cast("tuple[Any, ...]", value))]
    if isinstance(value, Mapping):
        items = cast(Mapping[Any, Any], value).items()
        return ["mapping", *([_described(k), _described(v)] for k, v in items)]
    if isinstance(value, functools.partial):
        made = cast("functools.partial[Any]", value)
        return ["partial", *map(_described, (made.func, made.args, made.keywords))]
    return _of_failgym(value)


def _is_own(module: str) -> bool:
    """Is a module of failgym, whose sources are known?"""
    return module.partition(".")[0] == "failgym"


def _array(array: Any) -> Any:
    """Type, shape and values of an array."""
    if array.dtype.hasobject:
        raise _Unknown
    values = np.ascontiguousarray(array).tobytes()
    return [str(array.dtype), list(array.shape), hashlib.sha256(values).hexdigest()]


def _of_failgym(value: Any) -> Any:
    """A function, a class, a member of an enumeration or a dataclass of failgym's own."""
    named: Any = value if hasattr(value, "__qualname__") else cast(Any, type(value))
    where = [str(named.__module__), str(named.__qualname__)]
    if not _is_own(where[0]) or "<" in where[1]:
        raise _Unknown
    if named is value:
        return where
    if isinstance(value, Enum):
        return [*where, value.name]
    if not is_dataclass(value):
        raise _Unknown
    state = {f.name: _described(getattr(value, f.name)) for f in fields(value) if f.init}
    learned = value.arrays() if isinstance(value, Learned) and is_fitted(value) else None
    return [*where, state, _described(learned)]
