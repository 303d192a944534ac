"""How well a user's past jobs foretell the next one.

Claim
    Table VI of Kumar et al. (DSN 2020): median absolute percentage errors of four predictors of
    resource usage and run time on System A. The median of the last jobs and the most similar one
    (MCS) err less than the last job alone; an average is no better than it: its best length is one
    job, or two.

Kind and band
    The errors need the paper's data: printed. They are marked as fitted, because the sessions of
    the profile system-a were made after them. Approximate, on the profile: the order. MCS and
    median are below last; average is last, within 5 % (the paper's differs by 4 at most). Sessions
    were chosen after the errors of run times, so that their order is fitted; of usage only the
    scatter was, and the order follows.

Choices
    - 70 % of the jobs, by submission, are learned from, history lengths 1 to 20 among that; the
      others are foretold online (`failgym.predictors.UserHistory`, which has the other choices).
    - Usage is the mean over a job's windows; what is foretold of a job that is run again is its
      last run.
"""

from __future__ import annotations

import numpy as np

from experiments.kumar2020 import PAPER
from experiments.reproduction import Experiment, Kind, Measured, Options, Row
from failgym.evaluation.progress import Advance
from failgym.predictors import UserHistory
from failgym.predictors.history.job_use import QUANTITIES
from failgym.predictors.history.methods import METHODS
from failgym.traces import generate

ERRORS = {
    "memory": (3.0, 3.0, 2.4, 2.2),
    "local_io": (31.9, 33.1, 23.1, 29.5),
    "remote_io": (31.8, 31.8, 26.6, 22.3),
    "network": (17.7, 17.7, 13.5, 13.0),
    "runtime": (16.7, 16.7, 13.3, 14.5),
}
"""[%], by last, average, median, MCS."""
LENGTHS = {
    "memory": (1, 1, 19, 20),
    "local_io": (1, 2, 19, 10),
    "remote_io": (1, 1, 17, 13),
    "network": (1, 1, 17, 11),
    "runtime": (1, 1, 9, 16),
}
"""The best history lengths."""
NAMES = {
    "memory": "Memory",
    "local_io": "Local IO",
    "remote_io": "Network IO",
    "network": "Network",
    "runtime": "Runtime",
}
"""Rows of the table."""
EQUAL = (0.95, 1.05)
"""Band of an average over last."""
TITLES = {"last": "Last", "average": "Average", "median": "Median", "mcs": "MCS"}
"""Columns of the table."""
INDEPENDENT = (
    "in the profile usage scatters independently among the jobs of a session, so that several"
    " together tell more than the last one"
)
JOBS, QUICK_JOBS = 15_000, 2_000


def measure(options: Options, advance: Advance) -> Measured:
    """Errors, best lengths and their order."""
    errors: list[np.ndarray[tuple[int, int], np.dtype[np.float64]]] = []
    lengths: list[np.ndarray[tuple[int, int], np.dtype[np.int64]]] = []
    for seed in range(options.seeds):
        trace = generate("system-a", jobs=QUICK_JOBS if options.quick else JOBS, seed=seed)
        learned = UserHistory().fit(trace.split("train"))
        errors.append(learned.errors(trace.split("test")))
        lengths.append(learned.lengths_)
        advance(1)
    rows: list[Row] = []
    ordered: list[Row] = []
    for column, quantity in enumerate(QUANTITIES):
        last = np.array([error[0, column] for error in errors])
        for place, method in enumerate(METHODS):
            values = np.array([error[place, column] for error in errors])
            best = sorted(int(length[place, column]) for length in lengths)
            name, paper = f"{NAMES[quantity]}, {TITLES[method]}", ERRORS[quantity][place]
            of_paper = LENGTHS[quantity][place]
            note = f"history {best[len(best) // 2]}, there {of_paper}" if place else ""
            rows.append(Row.over(f"{name} [%]", values.tolist(), paper, fitted=True, note=note))
            if place:
                ratio, there = (values / last).tolist(), paper / ERRORS[quantity][0]
                band = EQUAL if method == "average" else (0.0, 1.0)
                row = Row.over(f"{name} over Last", ratio, there, band, quantity == "runtime")
                ordered.append(row.because(INDEPENDENT) if method == "average" else row)
    return Measured((*rows, *ordered))


EXPERIMENT = Experiment(
    paper=PAPER,
    item="Table VI",
    title="errors of predictions from users' histories",
    kind=Kind.APPROXIMATE,
    measure=measure,
)

if __name__ == "__main__":
    EXPERIMENT.command()
