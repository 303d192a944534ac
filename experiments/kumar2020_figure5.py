"""Failures by network file system I/O, and bursts of jobs that lost it.

Claim
    Fig. 5 and section V-C of Kumar et al. (DSN 2020): the failure rate falls with the tail rate of
    I/O among non-shared single jobs of System A, rises among shared single ones, and has a sharp
    peak close to 46 MB/s among multi-node jobs of System B. There 33 % of all failures by the
    system are lost file systems (exit code 107), in 26 bursts of 25 jobs or more within 300 s in 5
    months, a median of 3.3 days apart.

Kind and band
    Approximate: generated jobs of system-a and system-b, which were made after this figure: marked
    as fitted. Signs of r; the rest within 15 %.

Choices
    - Bins as in Table V; the peak is the bin with the highest failure rate of the jobs of all
      seeds together.
    - Bursts in a tenth of System B's jobs, each in a tenth of the size: 2 jobs within 300 s. All
      seeds make more than two years, so that counts are not a matter of luck: per 5 months.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.kumar2020 import (
    A_SHARED,
    A_SINGLE,
    B_MULTI,
    PAPER,
    QUICK_JOBS,
    Panel,
    Pool,
    facts,
    label,
    panels,
    points,
)
from experiments.reproduction import Experiment, Kind, Measured, Options, Row, relative
from failgym.evaluation.progress import Advance
from failgym.traces import Cause, first_runs, generate
from failgym.traces.describe.fits import pearson
from failgym.traces.describe.kumar import BURST_SIZE, UNREACHABLE, bursts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

UNIT = 46.0
"""Of network file system I/O in the trace [MB/s]."""
PEAK = 46.0
"""[MB/s]"""
BURSTS, MONTHS_5, GAP, UNREACHABLE_SHARE = 26, 150.0, 3.3, 0.33
"""Bursts in so many days, median days between them, share of failures by the system."""
DAY = 86_400_000
SAMPLE = 0.1
"""Of System B's jobs: as many as `generate` takes by default."""
BURST_JOBS = 120_000
AXIS = "I/O per node [MB/s]"
SHOWN = (
    Panel("(a) A non-shared single", "A", A_SINGLE.group, "remote_io", UNIT, AXIS),
    Panel("(b) A shared single", "A", A_SHARED.group, "remote_io", UNIT, AXIS),
    Panel("(c) B non-shared multi", "B", B_MULTI.group, "remote_io", UNIT, AXIS),
)
SIGNS = (-0.55, 0.42, 0.45)
"""Pearson's r of the three (Table V)."""


def measure(options: Options, advance: Advance) -> Measured:
    """Correlations and peak by seed, bursts of all."""
    r: dict[str, list[float]] = {}
    lost: list[tuple[float, float]] = []
    gaps: list[float] = []
    counts: list[float] = []
    shares: list[float] = []
    pool = Pool()
    for seed in range(options.seeds):
        for shown in SHOWN:
            known = facts(shown.system, seed, options.quick)
            line = points(known, "remote_io", shown.group)
            found = pearson(line.usage, line.rate)
            if found is not None:
                r.setdefault(shown.title, []).append(found.r)
            pool.add(shown, known)
        facts.cache_clear()
        begins, sizes, days, share = lost_file_systems(seed, options.quick)
        gaps += np.diff(begins).tolist()
        counts.append(len(begins) / days * MONTHS_5)
        shares.append(share)
        if not seed:
            lost = list(zip(begins.tolist(), (sizes / SAMPLE).tolist(), strict=True))
        advance(1)
    rows: list[Row] = []
    for shown, paper in zip(SHOWN, SIGNS, strict=True):
        if shown.title in r:
            band = (0.0, 1.0) if paper > 0 else (-1.0, 0.0)
            rows.append(Row.over(f"{shown.title}, r", r[shown.title], paper, band, fitted=True))
    name = "(c) B non-shared multi, peak [MB/s]"
    line, band = pool.points(SHOWN[-1]), relative(PEAK, 0.15)
    peak = float(10.0 ** line.usage[line.rate.argmax()] * UNIT) if len(line.rate) else np.nan
    rows.append(Row(name, PEAK, peak, band=band, fitted=True))
    band = relative(BURSTS, 0.15)
    rows.append(Row.over("(d) bursts in 5 months", counts, BURSTS, band, fitted=True))
    median = float(np.median(gaps)) if gaps else float("nan")
    name = "(d) median days between bursts"
    rows.append(Row(name, GAP, median, band=relative(GAP, 0.15), fitted=True))
    band = relative(UNREACHABLE_SHARE, 0.15)
    name = "share of failures by the system with exit code 107"
    rows.append(Row.over(name, shares, UNREACHABLE_SHARE, band, fitted=True))
    return Measured(tuple(rows), {"panels": pool.panels(), "bursts": lost})


def lost_file_systems(seed: int, quick: bool) -> tuple[Any, Any, float, float]:
    """When bursts begin [days], their sizes, the days in all, the share of failures by the system.

    Of runs of System B with exit code 107.
    """
    count = QUICK_JOBS * 4 if quick else BURST_JOBS
    trace = first_runs(generate("system-b", jobs=count, seed=seed, usage=False))
    unreachable = trace.column("attempts", "exit_code") == UNREACHABLE
    category = trace.column("jobs", "exit_category")
    failed = int((category == "system").sum())
    cause = trace.column("attempts", "cause")
    first = unreachable & np.isin(cause, (Cause.SHARED, Cause.MACHINE))
    ends = trace.column("attempts", "end")[unreachable].astype(np.float64)
    begins, sizes = bursts(ends, max(2, int(BURST_SIZE * SAMPLE)))
    days = float(trace.column("jobs", "submit").max()) / DAY
    return begins / DAY, sizes, days, float(first.sum()) / max(failed, 1)


def draw(measured: Measured, figure: Figure) -> None:
    """The three panels, and the bursts of one seed."""
    whole: Any = figure
    rows = whole.subfigures(2, 1)
    panels(rows[0], measured.series["panels"])
    axes: Any = rows[1].add_subplot(1, 1, 1)
    for day, size in measured.series["bursts"]:
        axes.vlines(day, 0, size, color="#2f6690", linewidth=1.5)
    label(axes, "(d) bursts of lost file systems", "day", "failed jobs")


EXPERIMENT = Experiment(
    paper=PAPER,
    item="Fig. 5",
    title="failures by network file system I/O, and bursts",
    kind=Kind.APPROXIMATE,
    measure=measure,
    draw=draw,
)

if __name__ == "__main__":
    EXPERIMENT.command()
