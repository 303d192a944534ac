"""Forecasts on disk: one compressed `.npz` file of plain arrays, nothing that could execute."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.files import replacing
from failgym.memory import available, size_text
from failgym.predictors.base import check_trace
from failgym.predictors.stored_alarms import alarm_arrays, alarms_in
from failgym.sim.shared.forecast import Forecast
from failgym.traces.trace import Trace

__all__ = [
    "array_names",
    "check_shapes",
    "holds_forecast",
    "load_forecast",
    "read_arrays",
    "read_forecast",
    "save_forecast",
    "write_arrays",
]

Arrays = Mapping[str, npt.NDArray[Any]]

_VERSION, _WITH_ALARMS = 1, 3
"""Of the format: of forecasts without a law of alarms, which older versions of failgym read, and of
those with one."""
MOST_BYTES = 1 << 32
"""Of the arrays in a file that is read: a small archive may unpack to anything."""
_ARRAYS = {"offset": np.int64, "risk": np.float32, "confidence": np.float32}
_KINDS: dict[str, type[np.generic]] = {**_ARRAYS, "job_confidence": np.float32}


def save_forecast(forecast: Forecast, path: str | Path) -> None:
    """Write the forecast to the file `path`, whole or not at all. Raises OSError."""
    law = forecast.alarms
    arrays: dict[str, npt.NDArray[Any]] = {
        "version": np.array(_WITH_ALARMS if law else _VERSION, dtype=np.int64),
        "trace_hash": np.array(forecast.trace_hash),
        "window": np.array(forecast.window, dtype=np.int64),
    }
    arrays |= {name: getattr(forecast, name) for name in _KINDS}
    write_arrays(path, {**arrays, **(alarm_arrays(law) if law else {})})


def load_forecast(path: str | Path, trace: Trace) -> Forecast:
    """Read the forecast of a trace from the file that `save_forecast` wrote.

    Raises:
        ValueError: in one line: no such file, not a forecast, another format version, arrays of
            wrong types or shapes, or a forecast of another trace.
    """
    forecast = read_forecast(path)
    try:
        check_shapes(check_trace(forecast, trace), trace)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    return forecast


def read_forecast(path: str | Path) -> Forecast:
    """Read a forecast, of whatever trace. Raises ValueError as `load_forecast`, but for the trace.

    Its arrays have the right types; `check_shapes` says if they fit a trace.
    """
    content = read_arrays(path, "a saved forecast")
    try:
        version = int(content["version"])
        if version not in (_VERSION, _WITH_ALARMS):
            raise ValueError(f"format version {version}, expected {_VERSION} or {_WITH_ALARMS}")
        for name, kind in _KINDS.items():
            if content[name].dtype != kind:
                raise ValueError(f"{name} is {content[name].dtype}, expected {np.dtype(kind)}")
        return Forecast(
            trace_hash=str(content["trace_hash"]),
            window=int(content["window"]),
            **{name: content[name] for name in _KINDS},
            alarms=alarms_in(content) if version == _WITH_ALARMS else None,
        )
    except KeyError as error:
        raise ValueError(f"{path}: not a saved forecast: {error.args[0]} is missing") from error
    except (OverflowError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error


def check_shapes(forecast: Forecast, trace: Trace) -> None:
    """Raise ValueError, in one line, unless the arrays have one row per attempt, task and job, and
    probabilities in them.
    """
    offset, risk = forecast.offset, forecast.risk
    expected: dict[str, tuple[int, ...]] = {
        "offset": (trace.rows("attempts") + 1,),
        "confidence": (trace.rows("tasks"), 4),
        "job_confidence": (trace.rows("jobs"),),
    }
    for name, shape in expected.items():
        got: tuple[int, ...] = getattr(forecast, name).shape
        if got != shape:
            raise ValueError(f"forecast: {name} has shape {list(got)}, expected {list(shape)}")
    if forecast.alarms is not None and len(forecast.alarms.job_true) != trace.rows("tasks"):
        tasks = len(forecast.alarms.job_true)
        raise ValueError(f"forecast: alarms of {tasks} tasks, expected {trace.rows('tasks')}")
    if forecast.window < 1:
        raise ValueError(f"forecast: window is {forecast.window} ms, expected at least 1")
    if risk.ndim != 1 or offset[0] != 0 or offset[-1] != len(risk) or np.any(np.diff(offset) < 0):
        raise ValueError("forecast: expected offset to cut risk into a piece for each attempt")
    for name in ("risk", "confidence", "job_confidence"):
        values = getattr(forecast, name)
        if not np.all((values >= 0) & (values <= 1)):
            raise ValueError(f"forecast: {name}: expected probabilities in [0, 1]")


def holds_forecast(path: str | Path) -> bool:
    """Is the file a saved forecast, sound or not?"""
    return {"trace_hash", *_KINDS} <= array_names(path)


def array_names(path: str | Path) -> frozenset[str]:
    """Names of the arrays in a file; none if it is no archive."""
    try:
        with zipfile.ZipFile(path) as archive:
            return frozenset(name.removesuffix(".npy") for name in archive.namelist())
    except (OSError, ValueError, NotImplementedError, zipfile.BadZipFile):
        return frozenset()


def write_arrays(path: str | Path, arrays: Arrays) -> None:
    """Write arrays to a compressed `.npz` file, whole or not at all.

    Raises OSError; ValueError for an array of Python objects, which could not be read again.
    """
    for name, array in arrays.items():
        if array.dtype.hasobject:
            raise ValueError(f"{name}: expected an array of numbers or texts, got Python objects")
    with replacing(Path(path)) as partial, partial.open("wb") as file:
        np.savez_compressed(file, **dict(arrays))  # pyright: ignore[reportArgumentType]


def read_arrays(path: str | Path, what: str) -> dict[str, npt.NDArray[Any]]:
    """Read the arrays of a file. Raises ValueError, in one line, if it is no archive of arrays.

    Args:
        path: the file.
        what: what it is expected to be, for the message.
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"{path}: no such file: expected {what}")
    try:
        if not zipfile.is_zipfile(path):
            raise ValueError("not an archive")
        with zipfile.ZipFile(path) as content:
            _check_size(sum(entry.file_size for entry in content.infolist()))
        with np.load(path, allow_pickle=False) as archive:
            return {name: np.asarray(archive[name]) for name in archive.files}
    except _TooLarge as error:
        raise ValueError(f"{path}: not readable as {what}: {error}") from error
    except (
        *(
            OSError,
            ValueError,
            MemoryError,
            OverflowError,
            EOFError,
            KeyError,
            NotImplementedError,
            RuntimeError,
        ),
        *(zipfile.BadZipFile, zlib.error),
    ) as error:
        raise ValueError(f"{path}: not readable as {what}") from error


class _TooLarge(Exception):
    """Arrays take more memory than they may."""


def _check_size(size: int) -> None:
    """Raise _TooLarge for arrays of so many bytes if they are too many, or not free."""
    most = min(MOST_BYTES, available() or MOST_BYTES)
    if size > most:
        raise _TooLarge(f"unpacks to {size_text(size)}, expected at most {size_text(most)}")
