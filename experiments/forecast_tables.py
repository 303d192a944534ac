"""The tables of `experiments.forecast_quality`, with what the papers published beside ours."""

from __future__ import annotations

from typing import Any

from failgym.cli.output import Cell, print_table
from failgym.predictors.history.job_use import QUANTITIES

Found = list[dict[str, Any]]
"""Rows of a part of the experiment, as JSON has them."""

KUMAR = {
    "system-a": {"shared single": 0.949, "nonshared single": 0.961, "nonshared multi": 0.962},
    "system-b": {"nonshared multi": 0.994},
}
"""Areas that Table VIII of Kumar et al. implies, by profile and job type."""
REDUCTION = {"cpu": 0.49, "memory": 0.45, "disk": 0.18, "time": 0.26}
"""Relative resource consumption saved (Rosà et al., section IV-3)."""
TARGET = 0.01
"""False negatives that grace periods leave at most (Rosà et al., section IV-2)."""


def print_quality(title: str, rows: Found) -> None:
    """How well attempts, tasks and jobs are told, and how far risks are off."""
    names = ("failures", "attempts", "precision", "recall", "auc_start", "auc_highest")
    names = (*names, "auc_task", "auc_job", "error_start", "error_moments")
    columns = ("predictor", "failed", "of", "precision", "recall", "AUC\nstart", "AUC\nhighest")
    columns = (*columns, "AUC\ntask", "AUC\njob", "error\nstart", "error\nmoments")
    print_table(title, columns, [(r["predictor"], *(r[name] for name in names)) for r in rows])
    bins = [(r["predictor"], *(_bin(*each) for each in r["bins"])) for r in rows]
    tenths = [f".{i}-" for i in range(10)]
    print_table(
        "Share that failed of those whose risk at the start is", ("predictor", *tenths), bins
    )


def _bin(rows: int, predicted: float | None, observed: float | None) -> Cell:
    return observed if rows else None


def print_profile(rows: Found) -> None:
    """The table of part `profile`."""
    print_quality("google-2011 profile, attempts of later jobs", rows)


def print_trace(rows: Found) -> None:
    """That of a stored trace."""
    print_quality("stored trace, fitted on the first half of the time, judged on the second", rows)


def print_swept(rows: Found) -> None:
    """By level and scenario, beside El-Sayed et al."""
    published = {("job", "config"): "<= .795 at > .5", ("job", "flags"): ">= .95 at <= .94"}
    cells = [
        (
            *(f"{r['level']}, {r['scenario']}", r["failed"], r["tested"], r["auc"], r["precision"]),
            *(r["recall"], r["precision_at_half"], r["recall_at_95"]),
            published.get((r["level"], r["scenario"])),
        )
        for r in rows
    ]
    columns = ("level, scenario", "failed", "of", "AUC", "precision", "recall")
    columns = (*columns, "precision at\nrecall > .5", "recall at\nprecision .95")
    print_table("Scenarios of features", (*columns, "published, precision\nat recall"), cells)


def print_systems(rows: Found) -> None:
    """By job type, beside Kumar et al."""
    print_quality("Failures by the system, GradientBoosting", [row["quality"] for row in rows])
    cells = [
        (
            *(f"{row['quality']['predictor']}: {kind}", c["failures"], c["attempts"], c["auc"]),
            KUMAR[row["profile"]].get(kind),
        )
        for row in rows
        for kind, c in row["types"].items()
    ]
    print_table("By job type", ("jobs", "failed", "of", "AUC", "published"), cells)


def print_history(rows: Found) -> None:
    """By method and quantity."""
    cells = [(row["method"], *(row[name] for name in QUANTITIES)) for row in rows]
    title = "Users' histories on system-a, median absolute percentage error"
    print_table(title, ("method", *QUANTITIES), cells)


def print_days(rows: Found) -> None:
    """By learning window."""
    shares = ("job_rate", "job_false_negatives", "task_rate", "task_false_negatives")
    cells = [(str(r["days"]), r["jobs"], r["tasks"], *(r[name] for name in shares)) for r in rows]
    columns = (
        "D [days]",
        "jobs",
        "tasks\nconsidered",
        *(name.replace("_", " ") for name in shares),
    )
    print_table("TwoLevelNetwork, misclassified", columns, cells, frozenset(columns[3:]))


def print_grace(rows: Found) -> None:
    """Of each seed."""
    shares = ("unmitigated", "chosen", "held_out")
    cells: list[tuple[Cell, ...]] = [
        (
            *(f"{r['networks']}, {r['seed']}", r["days"], r["considered"], r["percentile"]),
            *(r[name] for name in shares),
            *(r["reduction"][name] for name in REDUCTION),
        )
        for r in rows
    ]
    cells.append(("published", 29, None, 84, 0.0941, None, TARGET, *REDUCTION.values()))
    columns = (
        "networks, seed",
        "days",
        "considered",
        "percentile",
        "FN without\ngrace",
        "FN where\nchosen",
    )
    columns = (*columns, "FN on\nlater days", *(f"RRC\n{name}" for name in REDUCTION))
    print_table(f"Grace periods for FN <= {TARGET}", columns, cells, frozenset(columns[7:]))


def print_policies(rows: Found) -> None:
    """By environment and forecast."""
    cells = [
        (
            *(f"{r['env']}, {r['policy']}", r["forecast"], _interval(r, "score", "low", "high")),
            f"{r['parameter']} {r['chosen']:g}",
            _interval(r, "published", "published_low", "published_high"),
        )
        for r in rows
    ]
    columns = ("policy", "forecast", "score", "chosen\nin training", "score as\npublished")
    print_table("Policies on the test splits", columns, cells, unbroken=frozenset(columns[1:]))


def _interval(row: dict[str, Any], value: str, low: str, high: str) -> str:
    figures = [row[name] for name in (value, low, high)]
    if any(figure is None for figure in figures):
        return "-"
    return "{:.1f} [{:.1f}, {:.1f}]".format(*figures)


def print_speed(rows: Found) -> None:
    """Seconds by predictor."""
    names = ("fit_seconds", "fit_processor", "predict_seconds", "predict_processor")
    cells = [(r["predictor"], *(r[name] for name in names)) for r in rows]
    columns = ("predictor", "fit [s]", "processor\n[s]", "predict [s]", "processor\n[s] ")
    sizes = f"{rows[0]['attempts']:,} attempts fitted, {rows[0]['moments']:,} moments predicted"
    print_table(f"Speed: {sizes} (targets: 60 s, 10 s)", columns, cells)
