"""Table VIII, simulated: what the formulas leave out.

Claim
    The savings of Table VIII of Kumar et al. (DSN 2020), which are averages of formulas: here runs
    that fail are replayed, and the baselines decide window by window.

Kind and band
    Approximate. Rows named as in the table: within .015 of it. The predictors are those of the
    closed form: the cells that they were fitted to there are marked as fitted here, too. The closed
    forms stand in the notes, S_T in both readings and as printed; reading A charges periodic
    checkpoints to saved runs too, as a simulation must. Rows "alarms at the monitor's windows" and
    "all jobs charged" go beyond the paper: printed, not judged.

Choices
    - Runs of every length up to 5 h in steps of a minute fail at their ends, by the system: what
      they had not saved is lost. The saving of a run is 1 - (lost + checkpoints) / T_r, averaged
      over runs; only the run that fails is charged. All runs are simulated with an alarm and
      without, and weighed by R; so nothing is drawn. For each run that fails R (1 - P) / P others
      are flagged, halfway, and pay for a checkpoint. (P, R) is the closed form's working point.
    - Alarms before an age of T_s / P are left out, as the clipped S_ML has it.
    - Decisions come every minute, and restores cost nothing here; `Young`, `MLCheckpoint` and
      `MLPeriodic` as they are. A flagged run has its alarm just in time for a checkpoint, as S_ML
      assumes: it is 1 ms longer than whole minutes and T_s.
    - Alarms at the monitor's windows: the last multiple of 5 minutes (System A) or 1 minute (B)
      that leaves time for a checkpoint. The paper names this loss and leaves it out.
    - All jobs charged: runs that finish pay for periodic checkpoints too, as many for each that
      fails as Table IV has. The table's MTBF and its share of failed jobs contradict each other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from experiments.failing_runs import Runs
from experiments.kumar2020 import PAPER, JobKind, failure_rate
from experiments.kumar2020_table8 import (
    BAND,
    COMBINED,
    FIRST,
    LONGEST,
    ML,
    PERIODIC,
    Cell,
    Form,
    combined_area,
    fitted,
    ml_area,
    young,
)
from experiments.reproduction import Experiment, Kind, Measured, Options, Row, within
from failgym import metrics
from failgym.baselines import MLCheckpoint, MLPeriodic, Young
from failgym.evaluation.progress import Advance
from failgym.vocabulary import MINUTE, SECOND

QUICK_STEP = 7
"""Minutes from one length of runs to the next, in quick."""
MONITOR = {"A": 5 * MINUTE, "B": MINUTE}
"""Window of each system's monitor (section III) [ms]."""
MINUTES = int(LONGEST // 60)
"""Of the longest run."""
OTHER_READINGS: tuple[Form, ...] = ("A", "printed")
PAID_TWICE = "runs that an alarm saves have paid for periodic checkpoints, too"

Floats = npt.NDArray[np.float64]


class Wasted(NamedTuple):
    """Lost work and checkpoints of runs, as shares of them, [runs] each."""

    age: Floats
    """at which alarms just in time come [s]"""
    flagged: Floats
    """ML: runs that fail, with an alarm just in time"""
    monitored: dict[str, Floats]
    """the same with an alarm at a window of a system's monitor"""
    both: Floats
    """ML+Periodic: runs that fail, with an alarm just in time"""
    both_monitored: dict[str, Floats]
    periodic: Floats
    """Periodic: runs that fail; ML+Periodic: those without an alarm"""
    finishing: Floats
    """Periodic: runs that finish"""
    false: Floats
    """ML: runs that finish, with an alarm halfway"""


def simulate(cell: Cell, step: int) -> Wasted:
    """Everything that a cell needs."""
    cost = int(cell.cost * SECOND)
    start = np.arange(step // 2, MINUTES, step, dtype=np.int64) * MINUTE
    length = start + cost + 1
    failing, finishing = Runs.of(length, fail=True), Runs.of(length, fail=False)
    windows = {system: start // window * window for system, window in MONITOR.items()}
    ml, both = MLCheckpoint(), MLPeriodic()
    return Wasted(
        age=start / SECOND,
        flagged=failing.wasted(cell.cost, cell.mtbf, ml, start),
        monitored={s: failing.wasted(cell.cost, cell.mtbf, ml, at) for s, at in windows.items()},
        both=failing.wasted(cell.cost, cell.mtbf, both, start),
        both_monitored={
            s: failing.wasted(cell.cost, cell.mtbf, both, at) for s, at in windows.items()
        },
        periodic=failing.wasted(cell.cost, cell.mtbf, Young()),
        finishing=finishing.wasted(cell.cost, cell.mtbf, Young()),
        false=finishing.wasted(cell.cost, cell.mtbf, ml, start // MINUTE // 2 * MINUTE),
    )


def saving(
    wasted: Wasted, flagged: Floats, others: Floats, cost: float, point: tuple[float, float]
) -> float:
    """The mean saving of runs that fail, at a precision and recall.

    `flagged` and `others` are what runs waste that have an alarm, and that have none.
    """
    precision, recall = point
    worth = wasted.age >= cost / precision
    with_alarm = 1.0 - np.where(worth, flagged, others)
    false = recall * (1.0 - precision) / precision * np.where(worth, wasted.false, 0.0)
    return float(np.mean(recall * with_alarm + (1.0 - recall) * (1.0 - others) - false))


def of_kind(kind: JobKind, found: dict[Cell, Wasted]) -> tuple[list[Row], list[Row]]:
    """The rows of one kind of jobs: those that the table has, and those beyond it."""
    predictor, rows, more = fitted(kind), list[Row](), list[Row]()
    said = f"alarms every {MONITOR[kind.system] // MINUTE} min"
    others_per_failure = 1.0 / failure_rate(kind) - 1.0
    for cost, paper in ML[kind].items():
        wasted = next(found[cell] for cell in found if cell.cost == cost)
        closed, *point = ml_area(predictor, cost)
        name, at = f"ML, T_s={cost:.0f} s, {kind.name}", (point[0], point[1])
        nothing = np.ones_like(wasted.age)
        ours = saving(wasted, wasted.flagged, nothing, cost, at)
        rows.append(judged(name, paper, ours, f"closed form {closed:.3f}", fitted=True))
        late = saving(wasted, wasted.monitored[kind.system], nothing, cost, at)
        more.append(Row(f"{name}, {said}", paper, late))
    for cell, paper in zip(PERIODIC, COMBINED[kind], strict=True):
        wasted = found[cell]
        closed, *point = combined_area(predictor, cell)
        a, printed = (combined_area(predictor, cell, form)[0] for form in OTHER_READINGS)
        name, at = f"ML+Periodic, {cell.name}, {kind.name}", (point[0], point[1])
        ours = saving(wasted, wasted.both, wasted.periodic, cell.cost, at)
        note = f"closed form {closed:.3f}, reading A {a:.3f}, as printed {printed:.3f}"
        row = judged(name, paper, ours, note, fitted=cell == FIRST)
        rows.append(row.because(f"{PAID_TWICE}; {note}"))
        late = saving(wasted, wasted.both_monitored[kind.system], wasted.periodic, cell.cost, at)
        more.append(Row(f"{name}, {said}", paper, late))
        paid = others_per_failure * float(wasted.finishing.mean())
        note = f"{others_per_failure:.0f} runs finish for each that fails"
        more.append(Row(f"{name}, all jobs charged", paper, ours - paid, note=note))
    return rows, more


def judged(name: str, paper: float, ours: float, note: str = "", fitted: bool = False) -> Row:
    """A row of the table."""
    return Row(name, paper, ours, band=within(paper, BAND), fitted=fitted, note=note)


def periodic(cell: Cell, wasted: Wasted) -> Row:
    """A row of periodic checkpoints alone."""
    closed = metrics.mean_periodic_saving(young(cell), cell.cost, LONGEST)
    ours = float(1.0 - wasted.periodic.mean())
    return judged(f"Periodic, {cell.name}", PERIODIC[cell], ours, f"closed form {closed:.3f}")


def measure(options: Options, advance: Advance) -> Measured:
    """Simulate the four cells, and put the table together from them."""
    found: dict[Cell, Wasted] = {}
    for cell in PERIODIC:
        found[cell] = simulate(cell, QUICK_STEP if options.quick else 1)
        advance(1)
    rows = [periodic(cell, found[cell]) for cell in PERIODIC]
    beyond: list[Row] = []
    for kind in COMBINED:
        of_table, more = of_kind(kind, found)
        rows += of_table
        beyond += more
    return Measured((*rows, *beyond))


EXPERIMENT = Experiment(
    paper=PAPER,
    item="Table VIII, simulated",
    title="savings of checkpoints",
    kind=Kind.APPROXIMATE,
    measure=measure,
    seeds=0,
    steps=lambda options: len(PERIODIC),
)

if __name__ == "__main__":
    EXPERIMENT.command()
