"""Forecasts on disk: one compressed `.npz` file of plain arrays, nothing that could execute."""

from __future__ import annotations

import os
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.predictors.base import check_trace
from failgym.sim.forecast import Forecast
from failgym.traces.trace import Trace

__all__ = ["load_forecast", "save_forecast"]

_VERSION = 1
_ARRAYS = {"offset": np.int64, "risk": np.float32, "confidence": np.float32}
_KINDS: dict[str, type[np.generic]] = {**_ARRAYS, "job_confidence": np.float32}


def save_forecast(forecast: Forecast, path: str | Path) -> None:
    """Write the forecast to the file `path`, whole or not at all. Raises OSError."""
    path = Path(path)
    partial = path.with_name(f".{path.name}.partial-{os.getpid()}")
    try:
        with partial.open("wb") as file:
            np.savez_compressed(
                file,
                version=np.int64(_VERSION),
                trace_hash=np.array(forecast.trace_hash),
                window=np.int64(forecast.window),
                offset=forecast.offset,
                risk=forecast.risk,
                confidence=forecast.confidence,
                job_confidence=forecast.job_confidence,
            )
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def load_forecast(path: str | Path, trace: Trace) -> Forecast:
    """Read the forecast of a trace from the file that `save_forecast` wrote.

    Raises:
        ValueError: in one line: no such file, not a forecast, another format version, arrays of
            wrong types or shapes, or a forecast of another trace.
    """
    content = _read(Path(path))
    try:
        if int(content["version"]) != _VERSION:
            raise ValueError(f"format version {content['version']}, expected {_VERSION}")
        for name, kind in _KINDS.items():
            if content[name].dtype != kind:
                raise ValueError(f"{name} is {content[name].dtype}, expected {np.dtype(kind)}")
        forecast = Forecast(
            trace_hash=str(content["trace_hash"]),
            window=int(content["window"]),
            **{name: content[name] for name in _KINDS},
        )
        check_shapes(check_trace(forecast, trace), trace)
    except KeyError as error:
        raise ValueError(f"{path}: not a saved forecast: {error.args[0]} is missing") from error
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error
    return forecast


def check_shapes(forecast: Forecast, trace: Trace) -> None:
    """Raise ValueError, in one line, unless the arrays have one row per attempt, task and job."""
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
    if forecast.window < 1:
        raise ValueError(f"forecast: window is {forecast.window} ms, expected at least 1")
    if risk.ndim != 1 or offset[0] != 0 or offset[-1] != len(risk) or np.any(np.diff(offset) < 0):
        raise ValueError("forecast: offset does not partition risk")


def _read(path: Path) -> dict[str, npt.NDArray[Any]]:
    if not path.is_file():
        raise ValueError(f"{path}: no such file: expected a saved forecast")
    try:
        if not zipfile.is_zipfile(path):
            raise ValueError("not an archive")
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"{path}: not readable as a saved forecast") from error
