"""`failgym trace forecast`: what a predictor says of a stored trace."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from failgym.cli.folders import check_name, holds_trace
from failgym.cli.options import Json
from failgym.cli.output import Cell, JsonFile, interactive, print_line, print_table

if TYPE_CHECKING:
    from failgym.predictors import Forecast, Learned, Predictor
    from failgym.traces import Trace

__all__ = ["forecast"]

BOUNDARY = 0.7
"""Share of the jobs that a predictor learns from, as in a scenario."""
THRESHOLDS = (0.1, 0.5, 0.9)
"""Risks at which the quality of a forecast is shown."""

Spec = Annotated[
    str,
    typer.Option("--predictor", metavar="SPEC", help="name[:field=value,...], or a file."),
]
Out = Annotated[Path, typer.Option("--out", metavar="FILE", help="The file of the forecast.")]
Train = Annotated[
    Path | None,
    typer.Option("--train", metavar="DIR", help="Learn from all of this trace instead."),
]
Boundary = Annotated[
    float | None,
    typer.Option(help=f"Learn from this share of the jobs, the first ones; {BOUNDARY} by default."),
]
Save = Annotated[
    Path | None,
    typer.Option("--save", metavar="FILE", help="Also store the fitted predictor."),
]


def forecast(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a trace.")],
    predictor: Spec,
    out: Out,
    train: Train = None,
    boundary: Boundary = None,
    save: Save = None,
    json: Json = None,
) -> None:
    """Fit a predictor to the earlier part of a trace, and forecast all of it.

    `failgym evaluate --forecast FILE` reads the file, for any split of the trace.
    """
    from failgym.evaluation.progress import working
    from failgym.predictors import Learned, save_forecast, save_predictor
    from failgym.predictors.models import packages_of
    from failgym.traces import Trace

    check_name("DIR", folder)
    chosen = _Chosen.of(predictor)
    _check_learning(chosen, train, boundary, save)
    files = _Files.of(out, save, json)
    with working("loading", interactive()):
        trace = Trace.load(folder)
        known = _learns_from(chosen, trace, train, boundary)
    begun = time.perf_counter()
    with packages_of(chosen.name):
        fitted = chosen.predictor
        if known is not None:
            with working(f"fitting {chosen.name}", interactive()):
                fitted = fitted.fit(known)
        if files.predictor and isinstance(fitted, Learned):
            save_predictor(fitted, files.predictor)
            print_line(f"written to {save}")
        learned = time.perf_counter()
        with working("forecasting", interactive()):
            made = fitted.predict(trace)
    seconds = (learned - begun, time.perf_counter() - learned)
    save_forecast(made, files.forecast)
    shown = _shown(chosen, trace, known, made, seconds)
    quality = _quality(trace, made, _unseen(trace, known, boundary) if train is None else None)
    print_table("Forecast", ("", "value"), list(shown.items()))
    part = "" if known is None or train else ", of jobs submitted after the boundary"
    print_table(f"Attempts that FAIL{part}", ("risk from", *QUALITY), quality)
    print_line(f"written to {out}")
    rows = [dict(zip(("threshold", *QUALITY), row, strict=True)) for row in quality]
    files.table.write({"spec": predictor, "trace": trace.content_hash, **shown, "quality": rows})


@dataclass(frozen=True)
class _Files:
    """Where the results go."""

    forecast: Path
    predictor: Path | None
    table: JsonFile

    @classmethod
    def of(cls, out: Path, save: Path | None, json: Path | None) -> _Files:
        """Check, before any work is done, that they can be written. Raises ValueError."""
        made = cls(
            _target("--out", out, "a saved forecast"),
            _target("--save", save, "a stored predictor") if save else None,
            JsonFile.at(json),
        )
        if made.predictor == made.forecast:
            raise ValueError(f"--save: expected a file of its own, got {save}")
        if made.table.path in (made.forecast, made.predictor or made.forecast):
            raise ValueError(f"--json: expected a file of its own, got {json}")
        return made


@dataclass(frozen=True)
class _Chosen:
    """What a SPEC describes."""

    name: str
    predictor: Predictor | Learned
    learns: bool
    """does it learn, and has not yet?"""

    @classmethod
    def of(cls, spec: str) -> _Chosen:
        """Raises ValueError, in one line, for what is neither a predictor nor a file of one."""
        from failgym.known_names import unknown
        from failgym.predictors import LEARNED
        from failgym.predictors.others import OtherPredictor, other_predictors
        from failgym.worlds.forecast import DRAWN, our_names, stored_predictor

        name, _, parameters = spec.partition(":")
        if name in DRAWN or name in LEARNED:
            make: Any = DRAWN[name] if name in DRAWN else LEARNED[name]
            return cls(name, _build(name, make, parameters), name in LEARNED)
        others = other_predictors(our_names())
        if name in others:
            made = _build(name, others[name].load(), parameters)
            return cls(name, OtherPredictor(others[name], made), True)
        if not Path(spec).is_file():
            raise unknown("predictor", name, (*DRAWN, *LEARNED, *others))
        stored = stored_predictor(spec)
        return cls(stored.name, stored, False)


def _build(name: str, make: Callable[..., Any], text: str) -> Any:
    """A predictor with the parameters of a SPEC."""
    from failgym.cli.values import assignments, read_value
    from failgym.known_names import unknown

    where = f"predictor {name}"
    texts = assignments(text.split(",") if text else [], where)
    known = signature(make).parameters
    hints = get_type_hints(make.__init__ if isinstance(make, type) else make)
    for key in texts:
        if key not in known:
            raise ValueError(f"{where}: {unknown('field', key, known)}")
    try:
        return make(**{key: read_value(key, value, hints[key]) for key, value in texts.items()})
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}: {error}") from error


def _check_learning(
    chosen: _Chosen, train: Path | None, boundary: float | None, save: Path | None
) -> None:
    """Refuse options that mean nothing. Raises ValueError."""
    from failgym.predictors import Learned

    for option, value in (("--train", train), ("--boundary", boundary), ("--save", save)):
        if value is not None and not chosen.learns:
            raise ValueError(f"{option}: the predictor {chosen.name} does not learn: leave it out")
    if save is not None and not isinstance(chosen.predictor, Learned):
        raise ValueError(
            f"--save: {chosen.name} comes from another package, and failgym cannot store it"
        )
    if train is not None:
        check_name("--train", train)
        if boundary is not None:
            raise ValueError(
                "--boundary: cannot be combined with --train, which learns from all of the trace"
            )
    if boundary is not None and not 0.0 < boundary < 1.0:
        raise ValueError(f"--boundary: expected a share in (0, 1), got {boundary:g}")


def _target(option: str, path: Path, what: str) -> Path:
    """The file that a name leads to, if it may be written: a new one, or one of its kind.

    Raises:
        ValueError: in one line, before any work is done.
    """
    from failgym.predictors.models import holds_predictor
    from failgym.predictors.store import holds_forecast

    check_name(option, path)
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise ValueError(f"{option} {path}: is a folder or a device, expected a file")
    if not target.parent.is_dir():
        raise ValueError(f"{option} {path}: no such folder: {target.parent}")
    if not os.access(target.parent, os.W_OK):
        raise ValueError(f"{option} {path}: the folder {target.parent} cannot be written to")
    if any(holds_trace(above) for above in target.parents):
        raise ValueError(f"{option} {path}: lies in the folder of a saved trace: not written")
    sound = holds_forecast if option == "--out" else holds_predictor
    empty = target.is_file() and not target.stat().st_size
    if target.exists() and not empty and not sound(target):
        raise ValueError(f"{option} {path}: exists and is not {what}: not overwritten")
    return target


def _learns_from(
    chosen: _Chosen, trace: Trace, train: Path | None, boundary: float | None
) -> Trace | None:
    """The trace that a predictor is fitted to."""
    from failgym.traces import Trace

    if not chosen.learns:
        return None
    if train is not None:
        return Trace.load(train)
    return trace.split("train", BOUNDARY if boundary is None else boundary)


QUALITY = ("attempts", "share that FAIL", "alarms", "precision", "recall")


def _shown(
    chosen: _Chosen,
    trace: Trace,
    known: Trace | None,
    made: Forecast,
    seconds: tuple[float, float],
) -> dict[str, Cell]:
    """What was done, by name."""
    learned: dict[str, Cell] = {}
    if known is not None:
        learned = {"jobs learned from": known.rows("jobs"), "fitted in [s]": seconds[0]}
    return {
        "predictor": chosen.name,
        **learned,
        "jobs": trace.rows("jobs"),
        "tasks": trace.rows("tasks"),
        "attempts": trace.rows("attempts"),
        "window [ms]": made.window,
        "risks": len(made.risk),
        "mean risk": float(made.risk.mean()) if len(made.risk) else None,
        "forecast in [s]": seconds[1],
    }


def _unseen(trace: Trace, known: Trace | None, boundary: float | None) -> Any:
    """Attempts of jobs that were not learned from [attempts]; None where nothing was."""
    if known is None:
        return None
    job = trace.column("tasks", "job")[trace.column("attempts", "task")]
    at = trace.boundary(BOUNDARY if boundary is None else boundary)
    return trace.column("jobs", "submit")[job] > at


def _quality(trace: Trace, made: Forecast, unseen: Any) -> list[tuple[Cell, ...]]:
    """Precision and recall of the alarms that thresholds make of the risks."""
    from failgym.metrics import alarms, detection
    from failgym.traces import Outcome

    outcome = trace.column("attempts", "outcome")
    counts = trace.present("attempts", "start") & (outcome != Outcome.CENSORED)
    if unseen is not None:
        counts &= unseen
    bad = outcome[counts] == Outcome.FAIL
    rows: list[tuple[Cell, ...]] = []
    for threshold in THRESHOLDS:
        raised = alarms(made, threshold)[counts]
        found = detection(bad, raised)
        share = float(bad.mean()) if len(bad) else None
        values = (len(bad), share, int(raised.sum()), *map(float, found))
        rows.append((threshold, *values))
    return rows
